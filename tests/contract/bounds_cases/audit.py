"""Audits: bounds from counts, guesses, scores and one run."""

from statistics import NormalDist
from typing import Any

import numpy as np
from tests.contract.bounds_cases.draws import Draw, kind, refused

import quiltwork as qw
from quiltwork import audit


def _scores(draw: Draw, shift: float, count: int) -> Any:
    return np.array([round(NormalDist(shift, 1.0).inv_cdf(draw.share(0.0005, 0.9995)), 6) for _ in range(count)])


def _words(found: Any) -> Any:
    return {
        "epsilon": found.epsilon_lower, "mu": found.mu_lower, "ceiling": refused(lambda: found.ceiling),
        "other": refused(lambda: found.at(1e-3).epsilon_lower), "assumes": found.assumes, "because": found.because,
    }  # fmt: skip


@kind("audit/counts", 12)
def _(draw: Draw) -> Any:
    one, two = draw.count(1, 5), draw.count(1, 5)
    true, false = int(one * draw.share(0.3, 1)), int(two * draw.share(0, 0.4))
    delta, confidence = draw.pick([0.0, 1e-5, 0.01]), draw.pick([0.5, 0.9, 0.95, 0.999])
    limits = audit.Counts(true, one, false, two).limits(confidence)
    return {
        "epsilon": audit.from_counts(true, one, false, two, delta, confidence),
        "limits": [limits.fpr, limits.fnr, limits.tpr, limits.tnr],
        "counted": audit.counted(
            audit.Counts(true, one, false, two), delta, confidence, method=draw.pick(["counts", "gdp"])
        ).epsilon_lower,
    }


@kind("audit/scores", 8)
def _(draw: Draw) -> Any:
    shift, count = draw.share(0.2, 2), draw.whole(150, 400)
    inside, outside = _scores(draw, shift, count), _scores(draw, 0.0, count)
    method = draw.pick(["counts", "guesses", "gdp"])
    return {
        "method": method,
        **_words(audit.run(inside, outside, draw.pick([0.0, 1e-5]), method=method, seed=draw.whole(0, 99))),
    }


@kind("audit/threshold", 4)
def _(draw: Draw) -> Any:
    inside, outside = _scores(draw, 1.5, 200), _scores(draw, 0.0, 200)
    found = audit.run(inside, outside, 1e-5, 0.9, threshold=draw.share(0.5, 2), seed=1)
    return {**_words(found), "bound": audit.epsilon_lower_bound(inside, outside, 1e-5, method="gdp", seed=2)}


@kind("audit/one-run", 6)
def _(draw: Draw) -> Any:
    included = np.array([draw.flip() for _ in range(300)])
    scores = _scores(draw, 0.0, 300) + draw.share(0.5, 4) * included
    return _words(
        audit.one_run(scores, included, draw.pick([0.0, 1e-5]), guesses=draw.pick([None, 40, (30, 10)]), seed=5)
    )


@kind("audit/report", 5)
def _(draw: Draw) -> Any:
    inside, outside = _scores(draw, 1.0, 250), _scores(draw, 0.0, 250)
    claim = draw.pick([qw.gaussian(draw.share(0.8, 3)), qw.pure(draw.share(0.3, 3)), qw.approximate(1.0, 1e-5)])
    found = audit.report(
        claim, inside, outside, 1e-5, method=draw.pick(["counts", "both", "claim", "gdp"]), seed=draw.whole(0, 99)
    )
    return {"contradicted": found.contradicted, "grounds": found.grounds, "verdict": found.verdict(),
            "bounds": [one.epsilon_lower for one in found.audits]}  # fmt: skip


@kind("audit/report-methods", 2)
def _(draw: Draw) -> Any:
    inside, outside = _scores(draw, 1.2, 200), _scores(draw, 0.0, 200)
    claim, found = qw.gaussian(draw.share(0.8, 2)), {}
    for method in ("counts", "guesses", "gdp", "both", "claim"):
        one = audit.report(claim, inside, outside, 1e-5, method=method, seed=4)
        found[method] = [one.contradicted, one.verdict(), one.caveats, [each.epsilon_lower for each in one.audits]]
    return found
