"""The privacy region of a composition: all of its faces where they can be listed, a fine outer polygon elsewhere.

Reference: seed 002 Theorem 1 (Algorithm 1), Theorem 3 and Conjecture 1; theory/multi-constraints.md sections 2, 3.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.compose.accountant import directions as answers
from quiltwork.compose.accountant import methods as route
from quiltwork.compose.engines.atoms import enumerate_atoms
from quiltwork.compose.engines.listed import FLOOR, ExactLaw
from quiltwork.compose.releases import Counted, Part, is_renyi, sandwiched, telling
from quiltwork.curves.polygons.profile import Profile, from_ends
from quiltwork.curves.polygons.region import Region
from quiltwork.numbers.rounding import UNIT

MOST_VALUES = 12_000_000  # values of a loss handled at a time: two constraints, 3,400 releases
SAMPLES = 400
EVERY, OUTER = "every face", "outer polygon"


def region(parts: Sequence[Part], side: str) -> Region:
    """The region of one direction, or of the worse of both."""
    parts = telling(parts)
    symmetric = side == "worst"
    if not parts:
        return Region(Profile([0.0], [0.0], symmetric=symmetric), method=f"closed form: {EVERY}")
    if not sandwiched(parts) and not any(map(is_renyi, parts)):
        sides = answers.sides(parts, side)
        if any(pair.reveal >= 1 for pairs in sides for pair, _ in pairs):
            return Region(Profile([0.0], [1.0], symmetric=symmetric), method=f"closed form: {EVERY}")
        found = _listed(sides, symmetric)
        if found is not None:
            return found
    return _outer(parts, side)


def _listed(sides: list[Counted], symmetric: bool) -> Region | None:
    """From the list of all values, in each direction."""
    found, zero = [], False
    for pairs in sides:
        # a symmetric region has its faces at epsilon >= 0; what may be there after rounding stays
        reach = math.fsum(count * max(abs(pair.low), abs(pair.high)) for pair, count in pairs)
        least = -1e-6 - 64 * UNIT * reach if symmetric else -math.inf
        atoms = enumerate_atoms(pairs, MOST_VALUES, least)
        if atoms is None:
            return None
        reveal = route.case_of(answers.no_engine(), pairs).reveal
        found.append(_faces(ExactLaw(atoms), reveal, symmetric))
        zero = zero or bool(np.any(np.abs(atoms.losses) <= 2 * atoms.hair))
    method = f"exact atoms: {EVERY}"
    profiles = [from_ends(*ends, symmetric) for ends in found]
    if len(profiles) > 1:
        return Region(larger(*profiles), method=method)
    epsilons, _, deltas = found[0]
    # epsilon 0 is a face only if the loss takes that value: else D is straight from its mirror image on
    first = 1 if symmetric and epsilons.size > 1 and not zero else 0
    return Region(profiles[0], method=method, faces=_told_apart(epsilons[first:], deltas[first:]))


def _told_apart(epsilons: FloatArray, deltas: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Faces whose deltas differ from the one before; where they do not, the smaller epsilon says it all."""
    falling = np.concatenate(([True], np.diff(np.minimum.accumulate(deltas)) < 0))
    return epsilons[falling], deltas[falling]


def _faces(law: ExactLaw, reveal: tuple[float, float], symmetric: bool) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Faces (L_j, D(L_j)): epsilons, and lower and upper ends of the deltas.

    A loss that is not a known decimal is moved up by what it may be off, so that D holds there. Symmetric: the faces at
    epsilon > 0, and D(0), left of which the mirror image begins.
    """
    losses, hair = law.losses, law.hair
    error = law.stick_errors * 1.01 + law.rounding * law.sticks + FLOOR
    error[-1] = 0.0  # nothing lies above the largest loss; elsewhere masses may have underflowed
    if law.typed:
        epsilons, shift = losses, 2 * hair * law.tails[1:] * (1 + law.relative)
        lower, upper = law.sticks - error - shift, law.sticks + error + shift
    else:
        moved = hair * (1 + 1e-9) + 4 * UNIT * np.abs(losses)
        epsilons = losses + moved
        # D falls by T_j times the move, and left of a moved face the chord exceeds it by as much
        lower, upper = law.sticks - error - 2 * (hair + moved) * law.tails[:-1], law.sticks + error
    if symmetric:
        positive = losses > 2 * hair
        near = np.zeros(2) if law.typed else np.array([2 * hair, -2 * hair])
        below, above = law.stick(near) + np.array([-1.0, 1.0]) * (law.stick_error(near) + 2 * hair * law.near(near))
        epsilons = np.concatenate(([0.0], epsilons[positive]))
        lower, upper = np.concatenate(([below], lower[positive])), np.concatenate(([above], upper[positive]))
    lower = lower + reveal[0] - 4 * UNIT * (np.abs(lower) + reveal[0])
    upper = np.minimum((np.maximum(upper, 0.0) + reveal[1]) * (1 + 4 * UNIT), 1.0)
    return epsilons, np.minimum(lower, upper), upper


def larger(one: Profile, two: Profile) -> Profile:
    """The larger of two profiles, with the knots where they cross."""
    knots = np.union1d(np.union1d(one.epsilons, two.epsilons), [0.0])
    first, second = (np.asarray(profile.delta(knots).upper) for profile in (one, two))
    gap = first - second
    turn = np.flatnonzero(np.sign(gap[:-1]) * np.sign(gap[1:]) < 0)
    share = gap[turn] / (gap[turn] - gap[turn + 1])  # of the way in t = e^eps, where both are straight
    apart = np.diff(knots)[turn]
    near = np.log1p(share * np.expm1(np.minimum(apart, 700.0)))
    crossings = knots[turn] + np.where(apart < 700.0, near, apart + np.log(share))
    knots = np.union1d(knots, crossings)
    ends = [profile.stored(knots) for profile in (one, two)]
    slack, upper = 1.0 + max(one.slack, two.slack), np.maximum(ends[0][1], ends[1][1])
    lower = np.maximum(ends[0][0], ends[1][0]) / slack * (1.0 - 4 * UNIT)
    return from_ends(knots, lower, upper, one.symmetric, max(one.floor, two.floor))


def _outer(parts: Sequence[Part], side: str) -> Region:
    """Upper ends joined by chords, which exceed D by no more than it falls from one place to the next.

    One direction also has faces at epsilon < 0; left of them D >= 1 - e^epsilon.
    """
    symmetric = side == "worst"
    places = _spread_out(parts, side)
    if not symmetric:
        places = np.concatenate((-places[:0:-1], places))
    answer = answers.delta(parts, side, places, 1e-3, None)
    first = 0.0 if symmetric else float(answer.upper[0] + np.expm1(places[0]))
    floor = max(float(np.max(answer.upper - np.append(answer.lower[1:], 0.0))), first) * (1 + 16 * UNIT)
    profile = Profile(places, answer.upper, symmetric=symmetric, floor=min(max(floor, 0.0), 1.0))
    return Region(profile, method=f"{answer.method}: {OUTER}")


def _spread_out(parts: Sequence[Part], side: str) -> FloatArray:
    """Epsilons >= 0 that cover all deltas above 1e-12."""
    reach = math.inf
    for delta in (1e-12, 1e-9, 1e-6, 1e-3, 0.5):
        reach = float(answers.epsilon(parts, side, np.array([delta]), 1e-2, None).upper[0])
        if math.isfinite(reach):
            break
    return np.linspace(0.0, reach if math.isfinite(reach) else 1.0, SAMPLES)
