"""OpenDP: the privacy maps of composed measurements, through zero-concentrated privacy."""

from __future__ import annotations

from typing import Any

import opendp.prelude as dp

from benchmarks.beside.asks import UPPER, Ask
from benchmarks.beside.questions import DELTAS, EPSILON, GAUSSIAN, LAPLACE, RESPONSE, Part, Question

dp.enable_features("contrib", "honest-but-curious")


def one(part: Part) -> Any:
    """A measurement of one number that moves by 1; a pure release is Laplace noise of its epsilon."""
    space = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
    if part.kind == GAUSSIAN:
        return dp.m.make_gaussian(*space, scale=part.scale)
    scale = part.scale if part.kind == LAPLACE else 1 / part.scale
    return dp.c.make_pureDP_to_zCDP(dp.m.make_laplace(*space, scale=scale))


def profile(question: Question) -> Any:
    """The curve of the whole composition."""
    each = [measurement for part in question.parts for measurement in [one(part)] * part.count]
    return dp.c.make_zCDP_to_approxDP(dp.c.make_composition(each)).map(1.0)


def deltas(question: Question) -> list[float]:
    found = profile(question)
    return [float(found.delta(float(epsilon))) for epsilon in question.points]


def asks(question: Question) -> list[Ask]:
    """All its ways."""
    if not question.kinds <= {GAUSSIAN, LAPLACE, RESPONSE}:
        return []
    if question.kind == EPSILON:
        return [Ask("zCDP", UPPER, lambda: float(profile(question).epsilon(question.at)))]
    return [Ask("zCDP", UPPER, lambda: deltas(question))] if question.kind == DELTAS else []
