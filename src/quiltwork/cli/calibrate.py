"""`quiltwork calibrate`: the noise that meets a target, as a line for a plan file."""

from __future__ import annotations

import json
from collections.abc import Callable

import attrs

from quiltwork import checks
from quiltwork.compose import constructors
from quiltwork.compose.calibrate import calibrate
from quiltwork.compose.loss import Loss
from quiltwork.errors import InvalidParameter
from quiltwork.numbers.digits import at_least, at_most, single
from quiltwork.report.text import ends
from quiltwork.spec import plan_of
from quiltwork.spec.text.write import yaml_text

DIGITS = 8


@attrs.frozen
class Dial:
    """A mechanism and the parameter that is turned: noise, or else a budget of each release."""

    parameter: str
    loss: Callable[..., Loss]
    noise: bool = True
    whole: bool = False  # the sensitivity is a whole number


DIALS = {
    "gaussian": Dial("sigma", constructors.gaussian),
    "laplace": Dial("scale", constructors.laplace),
    "discrete_gaussian": Dial("sigma", constructors.discrete_gaussian, whole=True),
    "discrete_laplace": Dial("scale", constructors.discrete_laplace, whole=True),
    "pure": Dial("epsilon", constructors.pure, noise=False),
    "gdp": Dial("mu", constructors.gdp, noise=False),
    "zcdp": Dial("rho", constructors.zcdp, noise=False),
}


def run(
    mechanism: str, epsilon: float, delta: float, count: int, rate: float, sensitivity: float | None, as_json: bool
) -> int:
    """Search, round to the safe side, and certify what is printed."""
    dial = DIALS[mechanism]
    checks.count("count", count, least=1)
    checks.rate("rate", rate)
    known = _sensitivity(mechanism, dial, sensitivity)

    def make(value: float) -> Loss:
        return count * constructors.poisson(dial.loss(value, *known), rate)

    found = calibrate(make, epsilon, delta, start=float(known[0]) if known else 1.0)
    value = float((at_most if dial.noise else at_least)(found, DIGITS))
    bracket = make(value).epsilon(delta, rtol=1e-6)
    release = plan_of([(mechanism, make(value))]).to_dict()["releases"][0]
    if as_json:
        answer = {
            "schema": "quiltwork/calibration/1",
            "mechanism": mechanism,
            "parameter": dial.parameter,
            "value": value,
            "target": {"epsilon": epsilon, "delta": delta},
            "epsilon": bracket.to_json(),
            "release": release,
        }
        print(json.dumps(answer, indent=2, allow_nan=False))
    else:
        print(f"{dial.parameter} = {value!r}")
        print(f"epsilon between {ends(bracket)} at delta {single(delta)}, target {single(epsilon)}")
        print(f"\nreleases:\n{yaml_text([release])}", end="")
    return 0


def _sensitivity(mechanism: str, dial: Dial, given: float | None) -> tuple[float, ...]:
    """The second argument of the mechanism, if it has one."""
    if not dial.noise:
        if given is not None:
            raise InvalidParameter("sensitivity", given, f"left out: {mechanism} has none")
        return ()
    value = checks.positive("sensitivity", 1.0 if given is None else given)
    if dial.whole:
        if value != int(value):
            raise InvalidParameter("sensitivity", given, f"a whole number for {mechanism}")
        return (int(value),)
    return (value,)
