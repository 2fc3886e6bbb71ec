"""The compositions that are compared: ours, how the peers are asked for the same, and the truth."""

import dataclasses
import functools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import quiltwork as qw
from benchmarks import peers

TRUTHS = json.loads((Path(__file__).parent / "truths.json").read_text(encoding="utf-8"))
DISTINCT = [(1 + 0.01 * j, 0.005, 50) for j in range(200)]
RATE, COUNT, EPSILON, DELTA = 0.01, 10_000, 1.0, 1e-5  # of the calibrated DP-SGD
SIGMA = float(TRUTHS["sigma"]["epsilon 1 delta 1e-05 rate 0.01 count 10000"])


@dataclasses.dataclass(frozen=True)
class Case:
    """One question: epsilon at `delta`. Everything, from the constructor to the answer, is inside the clock."""

    name: str
    truth: float
    loss: Callable[[], qw.Loss]
    delta: float
    grid: Callable[[float], Any]  # dp_accounting's distribution at a discretisation interval
    faster: float | None = None  # bar: times faster than dp_accounting's default
    faster_coarse: float | None = None  # bar: times faster than its coarsest grid within 1e-3

    def ours(self) -> qw.Bracket:
        return self.loss().epsilon(self.delta)

    def theirs(self, step: float) -> float:
        return float(self.grid(step).get_epsilon_for_delta(self.delta))


def truth(key: str) -> float:
    """The larger of the two directions."""
    return max(map(float, TRUTHS["epsilon"][key].values()))


def dpsgd(sigma: float, rate: float, count: int) -> qw.Loss:
    return count * qw.poisson(qw.gaussian(sigma), rate)


def distinct(number: int = len(DISTINCT)) -> qw.Loss:
    return qw.compose(*(dpsgd(*row) for row in DISTINCT[:number]))


FASTER = {(0.8, 0.01, 10**4, 1e-5): 500, (1.0, 0.001, 10**5, 1e-5): 200}  # than dp_accounting's default grid


def _dpsgd_case(sigma: float, rate: float, count: int, delta: float) -> Case:
    return Case(
        f"DP-SGD sigma {sigma:g}, rate {rate:g}, {_power(count)}, delta {delta:g}",
        truth(f"dpsgd {sigma:g} {rate:g} {count} {delta:g}"),
        functools.partial(dpsgd, sigma, rate, count),
        delta,
        lambda step: peers.gaussian(sigma, count, step, rate),
        faster=FASTER.get((sigma, rate, count, delta), 100),
        faster_coarse=10,
    )


def _response_case(delta: float) -> Case:
    return Case(
        f"randomized response 0.1 x 1000, delta {delta:g}",
        truth(f"response 0.1 1000 {delta:g}"),
        lambda: 1000 * qw.pure(0.1),
        delta,
        functools.partial(peers.response, 0.1, 1000),
        faster=50,
    )


def _power(count: int) -> str:
    return f"T 1e{len(str(count)) - 1}"


LONG = [_dpsgd_case(1.0, 0.001, count, 1e-5) for count in (10**4, 10**5, 10**6)]
"""The same release ever more often."""

SMALL_DELTAS = [_dpsgd_case(0.8, 0.01, 10**4, delta) for delta in (1e-5, 1e-12, 1e-20, 1e-50, 1e-100)]

GAUSSIAN = Case(
    "Gaussian mu 0.1 x 1000, delta 1e-06",
    truth("gaussian 0.1 1000 1e-06"),
    lambda: 1000 * qw.gaussian(10.0),
    1e-6,
    functools.partial(peers.gaussian, 10.0, 1000),
    faster=100,
)

OTHERS = [
    *map(_response_case, (1e-6, 1e-12, 1e-50)),
    Case(
        "randomized response 0.1 x 500 + 0.05 x 500, delta 1e-06",
        truth("response 0.1 500 + 0.05 500 1e-06"),
        lambda: 500 * qw.pure(0.1) + 500 * qw.pure(0.05),
        1e-6,
        lambda step: peers.response(0.1, 500, step).compose(peers.response(0.05, 500, step)),
    ),
    Case(
        "Laplace scale 10 x 1000, delta 1e-06",
        truth("laplace 0.1 1000 1e-06"),
        lambda: 1000 * qw.laplace(10.0),
        1e-6,
        functools.partial(peers.laplace, 10.0, 1000),
    ),
]


def _distinct_case(number: int, faster: float) -> Case:
    return Case(
        f"{number} distinct subsampled Gaussians x 50, delta 1e-06",
        truth(f"distinct {number} 1e-06"),
        functools.partial(distinct, number),
        1e-6,
        functools.partial(peers.distinct, DISTINCT[:number]),
        faster=faster,
    )


SEVERAL, MANY = _distinct_case(20, 50), _distinct_case(200, 400)

STRICT = _response_case(1e-12).name
"""Where dp_accounting's upper bound is below the truth."""
