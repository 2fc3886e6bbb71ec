"""The privacy region of a composition: all of its faces where they can be listed, a fine outer polygon elsewhere.

Reference: seed 002 Theorem 1 (Algorithm 1), Theorem 3 and Conjecture 1; theory/multi-constraints.md sections 2, 3.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.compose.accountant.directions import Divergence, SmallestEpsilon, sides
from quiltwork.compose.engines.atoms import enumerate_atoms
from quiltwork.compose.engines.listed import FLOOR, ExactLaw
from quiltwork.compose.releases import Counted, Known, Part, is_renyi, reveal_everything, sandwiched, telling
from quiltwork.curves.polygons.profile import Profile, from_ends, slack_and_floor, with_room
from quiltwork.curves.polygons.region import Region
from quiltwork.numbers.rounding import UNIT

MOST_VALUES = 12_000_000  # values of a loss handled at a time: two constraints, 3,400 releases
AT_ONCE = 1 << 18  # faces
SAMPLES = 400
EVERY, OUTER = "every face", "outer polygon"


def region(parts: Sequence[Part], side: str) -> Region:
    """The region of one direction, or of the worse of both."""
    parts = telling(parts)
    symmetric = side == "worst"
    if not parts:
        return Region(Profile([0.0], [0.0], symmetric=symmetric), method=f"closed form: {EVERY}")
    if not sandwiched(parts) and not any(map(is_renyi, parts)):
        directions = sides(parts, side)
        if any(map(reveal_everything, directions)):
            return Region(Profile([0.0], [1.0], symmetric=symmetric), method=f"closed form: {EVERY}")
        found = _listed(directions, symmetric)
        if found is not None:
            return found
    return _outer(parts, side)


def _listed(directions: list[Counted], symmetric: bool) -> Region | None:
    """From the list of all values, in each direction."""
    profiles, zero = list[Profile](), False
    for pairs in directions:
        # a symmetric region has its faces at epsilon >= 0; what may be there after rounding stays
        reach = math.fsum(count * max(abs(pair.low), abs(pair.high)) for pair, count in pairs)
        least = -1e-6 - 64 * UNIT * reach if symmetric else -math.inf
        atoms = enumerate_atoms(pairs, MOST_VALUES, least)
        if atoms is None:
            return None
        zero = zero or bool((np.abs(atoms.losses) <= 2 * atoms.hair).any())
        held = [ExactLaw(atoms)]
        del atoms  # of millions of values each column counts
        epsilons, deltas, slack, floor = _faces(held.pop().without_masses(), Known.of(pairs).reveal, symmetric)
        profiles.append(with_room(epsilons, deltas, slack, floor, symmetric))
    method = f"exact atoms: {EVERY}"
    if len(profiles) > 1:
        return Region(larger(*profiles), method=method)
    # epsilon 0 is a face only if the loss takes that value: else D is straight from its mirror image on
    first = 1 if symmetric and epsilons.size > 1 and not zero else 0
    return Region(profiles[0], method=method, faces=_told_apart(epsilons[first:], deltas[first:]))


def _told_apart(epsilons: FloatArray, deltas: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Faces whose deltas differ from the one before; where they do not, the smaller epsilon says it all."""
    lowest = np.minimum.accumulate(deltas)
    falling = np.ones(deltas.size, dtype=bool)
    np.less(lowest[1:], lowest[:-1], out=falling[1:])
    return epsilons[falling], deltas[falling]


def _faces(law: ExactLaw, reveal: tuple[float, float], symmetric: bool) -> tuple[FloatArray, FloatArray, float, float]:
    """Faces (L_j, D(L_j)): epsilons, upper ends of the deltas, and slack and floor that lead to the lower ones.

    Symmetric: the faces at epsilon > 0, and D(0), left of which the mirror image begins.
    """
    losses, hair = law.losses, law.hair
    first = int(np.searchsorted(losses, 2 * hair, side="right")) if symmetric else 0
    ahead = 1 if symmetric else 0  # places for D(0)
    epsilons, lower, upper = (np.zeros(losses.size - first + ahead) for _ in range(3))
    if symmetric:
        near = np.zeros(2) if law.typed else np.array([2 * hair, -2 * hair])
        around = law.stick(near) + np.array([-1.0, 1.0]) * (law.stick_error(near) + 2 * hair * law.near(near))
        lower[0], upper[0] = around
    for start in range(first, losses.size, AT_ONCE):
        part = slice(start, min(start + AT_ONCE, losses.size))
        into = slice(start - first + ahead, part.stop - first + ahead)
        epsilons[into], lower[into], upper[into] = _some_faces(law, part)
    del law, losses
    for ends, share, sign in ((lower, reveal[0], -1), (upper, reveal[1], 1)):
        if sign > 0:
            np.maximum(ends, 0.0, out=ends)
        ends += share + sign * 4 * UNIT * (np.abs(ends) + share)
    np.minimum(upper, 1.0, out=upper)
    np.minimum(lower, upper, out=lower)
    return epsilons, upper, *slack_and_floor(lower, upper)


def _some_faces(law: ExactLaw, part: slice) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Epsilons and both ends of the deltas there, without what is revealed.

    A loss that is not a known decimal is moved up by what it may be off, so that D holds there.
    """
    losses, sticks, hair = law.losses[part], law.sticks[part], law.hair
    error = law.stick_errors[part] * 1.01 + law.rounding * sticks + FLOOR
    if part.stop == law.losses.size:
        error[-1] = 0.0  # nothing lies above the largest loss; elsewhere masses may have underflowed
    if law.typed:
        shift = 2 * hair * law.tails[part.start + 1 : part.stop + 1] * (1 + law.relative)
        return losses, sticks - error - shift, sticks + error + shift
    moved = hair * (1 + 1e-9) + 4 * UNIT * np.abs(losses)
    # D falls by T_j times the move, and left of a moved face the chord exceeds it by as much
    return losses + moved, sticks - error - 2 * (hair + moved) * law.tails[part], sticks + error


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
    answer = Divergence(places).answer(parts, side)
    first = 0.0 if symmetric else float(answer.upper[0] + np.expm1(places[0]))
    floor = max(float(np.max(answer.upper - np.append(answer.lower[1:], 0.0))), first) * (1 + 16 * UNIT)
    profile = Profile(places, answer.upper, symmetric=symmetric, floor=min(max(floor, 0.0), 1.0))
    return Region(profile, method=f"{answer.method}: {OUTER}")


def _spread_out(parts: Sequence[Part], side: str) -> FloatArray:
    """Epsilons >= 0 that cover all deltas above 1e-12."""
    reach = math.inf
    for delta in (1e-12, 1e-9, 1e-6, 1e-3, 0.5):
        reach = float(SmallestEpsilon(np.array([delta]), 1e-2).answer(parts, side).upper[0])
        if math.isfinite(reach):
            break
    return np.linspace(0.0, reach if math.isfinite(reach) else 1.0, SAMPLES)
