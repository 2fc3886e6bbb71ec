"""OpenDP: the privacy maps of composed measurements, through zero-concentrated privacy or by adding up."""

from __future__ import annotations

import math
from typing import Any

import opendp.prelude as dp

from benchmarks.beside.asks import Ask
from benchmarks.beside.parts import APPROXIMATE, GAUSSIAN, LAPLACE, RESPONSE, Part
from benchmarks.beside.questions import DELTAS, EPSILON, Question
from benchmarks.verdicts import UPPER

dp.enable_features("contrib", "honest-but-curious")


SPACE = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)  # one number, which moves by 1


def one(part: Part) -> Any:
    """A measurement in zCDP; a pure release is Laplace noise of its epsilon."""
    return (
        dp.m.make_gaussian(*SPACE, scale=part.scale) if part.kind == GAUSSIAN else dp.c.make_pureDP_to_zCDP(pure(part))
    )


def pure(part: Part) -> Any:
    return dp.m.make_laplace(*SPACE, scale=part.scale if part.kind == LAPLACE else 1 / part.scale)


def stated(part: Part) -> Any:
    """A release of which no more is known than its epsilon and delta."""
    bounds = lambda distance: (distance * part.scale, distance * part.more)  # noqa: E731
    measure = dp.fixed_smoothed_max_divergence()
    return dp.m.make_user_measurement(*SPACE, measure, function=lambda value: value, privacy_map=bounds)


def added(question: Question) -> float:
    """Epsilons add up; so do deltas, which must stay below the one asked for."""
    make = stated if APPROXIMATE in question.kinds else pure
    total = dp.c.make_composition([made for part in question.parts for made in [make(part)] * part.count]).map(1.0)
    epsilon, delta = total if isinstance(total, tuple) else (total, 0.0)
    return float(epsilon) if delta <= question.at else math.inf


def profile(question: Question) -> Any:
    """The curve of the whole composition."""
    each = [measurement for part in question.parts for measurement in [one(part)] * part.count]
    return dp.c.make_zCDP_to_approxDP(dp.c.make_composition(each)).map(1.0)


def deltas(question: Question) -> list[float]:
    found = profile(question)
    return [float(found.delta(float(epsilon))) for epsilon in question.points]


def asks(question: Question) -> list[Ask]:
    """All its ways."""
    in_zcdp = question.kinds <= {GAUSSIAN, LAPLACE, RESPONSE}
    if question.kind == DELTAS and in_zcdp:
        return [Ask("zCDP", UPPER, lambda: deltas(question))]
    if question.kind != EPSILON:
        return []
    found = [Ask("zCDP", UPPER, lambda: float(profile(question).epsilon(question.at)))] if in_zcdp else []
    if question.kinds <= {LAPLACE, RESPONSE} or question.kinds == {APPROXIMATE}:
        found.append(Ask("added up", UPPER, lambda: added(question)))
    return found
