"""`quiltwork calibrate`: the noise that meets a target, as a line for a plan file, or for a whole plan file."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from quiltwork.cli.options import AsJson, one_of, single
from quiltwork.errors import InvalidParameter

if TYPE_CHECKING:
    from quiltwork.compose.loss import Loss

DIGITS = 8


Mechanism = Literal["gaussian", "laplace", "discrete_gaussian", "discrete_laplace", "pure", "gdp", "zcdp"]
# the parameter that is turned, and whether it is noise or a budget of each release
DIALS: dict[Mechanism, tuple[str, bool]] = {
    "gaussian": ("sigma", True),
    "laplace": ("scale", True),
    "discrete_gaussian": ("sigma", True),
    "discrete_laplace": ("scale", True),
    "pure": ("epsilon", False),
    "gdp": ("mu", False),
    "zcdp": ("rho", False),
}


@single(
    "quiltwork calibrate gaussian --epsilon 1 --delta 1e-6 --count 1000 --rate 0.01",
    "quiltwork calibrate laplace --epsilon 0.5 --delta 0 --sensitivity 2",
    "quiltwork calibrate plan.yaml --epsilon 1 --delta 1e-6 --write",
)
def calibrate(
    what: Annotated[
        str,
        typer.Argument(
            help=f"What to tune: {', '.join(DIALS)}; or a table plan whose noises are auto.",
            show_default=False,
            autocompletion=one_of(*DIALS),
        ),
    ],
    epsilon: Annotated[float, typer.Option(help="Target epsilon of everything together.", show_default=False)],
    delta: Annotated[float, typer.Option(help="Target delta.", show_default=False)],
    count: Annotated[int, typer.Option(help="How many such releases there will be.")] = 1,
    rate: Annotated[float, typer.Option(help="Poisson sampling rate of each release.")] = 1.0,
    sensitivity: Annotated[float | None, typer.Option(help="Sensitivity of the query.", show_default="1")] = None,
    write: Annotated[bool, typer.Option("--write", help="Of a plan file: put the noises into the file.")] = False,
    as_json: AsJson = False,
) -> None:
    """Find the least noise (or the largest budget of each release) that meets a target."""
    if what not in DIALS:
        if (count, rate, sensitivity) != (1, 1.0, None):
            raise InvalidParameter(
                "count, rate and sensitivity", (count, rate, sensitivity), "left out for a plan file"
            )
        _file(Path(what), epsilon, delta, write, as_json)
        return
    if write:
        raise InvalidParameter("write", write, "left out", "only a plan file is written to")
    mechanism = what
    from quiltwork import checks
    from quiltwork.cli.terminal import waiting
    from quiltwork.compose import constructors
    from quiltwork.compose.calibrate import calibrate as search
    from quiltwork.numbers.digits import at_least, at_most
    from quiltwork.numbers.digits import single as said
    from quiltwork.report.parts import ends
    from quiltwork.spec import plan_of
    from quiltwork.spec.text.document import yaml_text

    parameter, noise = DIALS[mechanism]
    family = getattr(constructors, mechanism)
    checks.count("count", count, least=1)
    checks.rate("rate", rate)
    known = _sensitivity(mechanism, noise, sensitivity)

    def make(value: float) -> Loss:
        return count * constructors.poisson(family(value, *known), rate)

    with waiting("searching"):
        found = search(make, epsilon, delta, start=float(known[0]) if known else 1.0)
    value = float((at_most if noise else at_least)(found, DIGITS))  # rounded to the safe side; this is certified below
    bracket = make(value).epsilon(delta, rtol=1e-6)
    release = plan_of([(mechanism, make(value))]).to_dict()["releases"][0]
    if as_json:
        answer = {
            "schema": "quiltwork/calibration/1",
            "mechanism": mechanism,
            "parameter": parameter,
            "value": value,
            "target": {"epsilon": epsilon, "delta": delta},
            "epsilon": bracket.to_json(),
            "release": release,
        }
        print(json.dumps(answer, indent=2, allow_nan=False))
    else:
        print(f"{parameter} = {value!r}")
        print(f"epsilon between {ends(bracket)} at delta {said(delta)}, target {said(epsilon)}")
        print(f"\nreleases:\n{yaml_text([release])}", end="")


def _file(path: Path, epsilon: float, delta: float, write: bool, as_json: bool) -> None:
    """Choose every automatic noise of a plan file."""
    from quiltwork.cli.terminal import plan_at, waiting
    from quiltwork.numbers.digits import single as said
    from quiltwork.report.parts import ends
    from quiltwork.spec.fields.statistics import StatisticQuery
    from quiltwork.spec.files.file import of_another_kind, read_any
    from quiltwork.spec.files.table_plan import TablePlan

    if not path.exists():
        raise InvalidParameter("what to tune", str(path), f"one of {', '.join(DIALS)}, or a plan file that is there")
    given = plan_at(path, read_any)
    if not isinstance(given, TablePlan):
        raise of_another_kind(path, given)
    with waiting("searching"):
        found = given.calibrated(epsilon, delta)
        bracket = found.guarantee().epsilon(delta)
    noises = {one.name: one.noise for one in found.queries if isinstance(one, StatisticQuery)}
    if write:
        path.write_text(found.to_json() if path.suffix == ".json" else found.to_yaml(), encoding="utf-8")
    if as_json:
        answer = {
            "schema": "quiltwork/plan_calibration/1",
            "target": {"epsilon": epsilon, "delta": delta},
            "epsilon": bracket.to_json(),
            "noise": {name: {noise.kind: noise.chosen} for name, noise in noises.items()},
            "errors": found.plan().errors(),
            "written": write,
        }
        print(json.dumps(answer, indent=2, allow_nan=False))
        return
    print(found.plan().errors())
    print(f"epsilon between {ends(bracket)} at delta {said(delta)}, target {said(epsilon)}")
    print(f"wrote {path}" if write else "nothing was written: --write puts the noises into the file", file=sys.stderr)


def _sensitivity(mechanism: Mechanism, noise: bool, given: float | None) -> tuple[float, ...]:
    """The second argument of the mechanism, if it has one."""
    from quiltwork import checks

    if not noise:
        if given is not None:
            raise InvalidParameter("sensitivity", given, f"left out: {mechanism} has none")
        return ()
    value = checks.positive("sensitivity", 1.0 if given is None else given)
    if mechanism.startswith("discrete"):
        if value != int(value):
            raise InvalidParameter("sensitivity", given, f"a whole number for {mechanism}")
        return (int(value),)
    return (value,)
