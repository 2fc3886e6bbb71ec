"""Gaussian priors: what the rest tells of an entry, and two responses about two correlated entries.

Truth: conditional variances by linear systems in many digits, over all sets of entries; four outcomes in many digits.
Questions: `leak` of covariances and autoregressions; delta and epsilon of `guarantee`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from tests.truth.numbers import mp

import quiltwork as qw
from benchmarks.soundness.claims import Check, Kind, covers
from quiltwork.pufferfish import AutoRegressive, GaussianPrior, guarantee

NEAR = mp.mpf(10) ** -40


def correlated(rng: np.random.Generator) -> dict[str, Any]:
    """A covariance of few decimals, or an autoregression."""
    count = int(rng.integers(2, 6))
    root = np.round(rng.normal(0, 1, (count, count)), 2)
    square = root @ root.T + float(10.0 ** rng.uniform(-2, 0)) * np.eye(count)
    return {
        "covariance": np.round(square, 6).tolist(),
        "gap": round(float(10.0 ** rng.uniform(-1, 1)), 3),
        "rho": round(float(rng.uniform(-0.97, 0.97)), 3) or 0.5,
        "sigma": round(float(10.0 ** rng.uniform(-1, 1)), 3),
        "length": int(rng.integers(2, 9)),
    }


def _told(covariance: Any, gap: Any, size: int) -> Any:
    """max over entries of the least mu over all sets of `size` that hide it: gap sqrt(R^2 / (1 - R^2)) / sigma."""
    count, worst = covariance.rows, mp.zero
    for entry in range(count):
        others, best = [i for i in range(count) if i != entry], mp.inf
        for told in itertools.combinations(others, count - size):
            if not told:
                best = mp.zero
                continue
            block = mp.matrix([[covariance[i, j] for j in told] for i in told])
            toward = mp.matrix([covariance[i, entry] for i in told])
            known = (toward.T * mp.lu_solve(block, toward))[0]
            best = min(
                best, gap * mp.sqrt(max(known, 0) / (covariance[entry, entry] - known) / covariance[entry, entry])
            )
        worst = max(worst, best)
    return worst


def leaked(case: dict[str, Any]) -> Iterator[Check]:
    """leak(b) is no less than the exact one, and hardly more."""
    count, gap = len(case["covariance"]), mp.mpf(case["gap"])
    if min(case["gap"], case["sigma"]) <= 0 or not 0 < abs(case["rho"]) < 1 or case["length"] < 1:
        return
    try:
        prior = GaussianPrior(case["covariance"], gap=case["gap"])
    except qw.QuiltworkError:
        return
    exact_law = mp.matrix([[mp.mpf(x) for x in row] for row in case["covariance"]])
    for size in range(1, count + 1):
        yield _close("Gaussian prior", _told(exact_law, gap, size), prior.leak(size), f"{size} entries")
    rho, sigma, length = mp.mpf(case["rho"]), mp.mpf(case["sigma"]), min(case["length"], 7)
    chain = AutoRegressive(case["rho"], sigma=case["sigma"], gap=case["gap"], length=length)
    law = mp.matrix([[sigma**2 * rho ** abs(i - j) for j in range(length)] for i in range(length)])
    for size in range(1, length + 1):
        yield _close("autoregression", _told(law, gap, size), chain.leak(size), f"{size} of {length} entries")


def signed(rng: np.random.Generator) -> dict[str, Any]:
    """Two correlated entries, of which signs are told by randomized response."""
    return {
        "rho": round(float(rng.uniform(-0.97, 0.97)), 3),
        "epsilon": round(float(10.0 ** rng.uniform(-1, 1.2)), 3),
        "gap": round(float(10.0 ** rng.uniform(-0.5, 0.7)), 3),
        "at": round(float(rng.normal()), 3),
        "cut": round(float(rng.normal()), 3),
        "deltas": (10.0 ** -rng.uniform(0.3, 5, 3)).tolist(),
        "epsilons": np.round(rng.exponential(1.0, 4), 3).tolist(),
    }


def guessed(case: dict[str, Any]) -> Iterator[Check]:
    """x_1 > 0 and x_2 > cut, each told by a response of this epsilon: four outcomes given x_1 = u and x_1 = u - gap."""
    rho, epsilon, gap = case["rho"], case["epsilon"], case["gap"]
    if not -1 < rho < 1 or epsilon <= 0 or gap <= 0:
        return
    right = 1 / (1 + mp.exp(-mp.mpf(epsilon)))
    laws = []
    for value in (mp.mpf(case["at"]) + mp.mpf(gap) / 2, mp.mpf(case["at"]) - mp.mpf(gap) / 2):
        above = mp.ncdf((rho * value - mp.mpf(case["cut"])) / mp.sqrt(1 - mp.mpf(rho) ** 2))
        one, two = (right if value > case["at"] else 1 - right), above * right + (1 - above) * (1 - right)
        laws.append([a * b for a in (one, 1 - one) for b in (two, 1 - two)])

    def truth(place: float) -> Any:
        grow = mp.exp(mp.mpf(place))
        return max(
            mp.fsum(max(p - grow * q, mp.zero) for p, q in zip(*pair, strict=True)) for pair in (laws, laws[::-1])
        )

    promise = guarantee(qw.pure(epsilon), GaussianPrior([[1.0, rho], [rho, 1.0]], gap=gap))
    for place, upper in zip(
        case["epsilons"], np.asarray(promise.delta(np.array(case["epsilons"])).upper).tolist(), strict=True
    ):
        yield covers("Gaussian prior: delta", truth(place) * (1 - NEAR), upper, f"epsilon {place!r}")
    for share in case["deltas"]:
        upper = float(promise.epsilon(share).upper)
        if math.isfinite(upper):
            yield Check(
                "Gaussian prior: epsilon",
                bool(truth(upper) <= share * (1 + NEAR)),
                note=f"delta {share!r}, said {upper!r}",
            )


def _close(name: str, truth: Any, said: float, note: str) -> Check:
    holds = said >= truth * (1 - NEAR) and said <= truth * (1 + mp.mpf("1e-6")) + mp.mpf("1e-6")
    margin = float(abs(said - truth) / truth) if truth else math.nan
    return Check(
        f"{name}: what the rest tells", bool(holds), margin or math.nan, f"{note}: {mp.nstr(truth, 17)}, said {said!r}"
    )


KINDS = [
    Kind("pufferfish", "Gaussian priors", correlated, leaked),
    Kind("pufferfish", "Gaussian prior, two signs", signed, guessed),
]
