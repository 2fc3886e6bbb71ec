"""One pair on a grid: a measure that dominates it and one that it dominates, second order in the step.

Upper: on each cell the profile's chord (a convex function lies below its chords), right tail to infinity.
Lower: the chord minus the largest gap to three tangents, in mass form, then the convex hull; ends handled so that
neither an abrupt left edge nor the right tail costs first order.

Only P measures matter: if psi(t) = int (1 - t e^-l)+ dP' <= phi(t) for all t, composing with anything keeps the order.

Reference: theory/engine.md section 1 (Lemma 1) and section 3.
"""

from __future__ import annotations

import math

import attrs
import numpy as np

from quiltwork.checks import FloatArray, IntArray
from quiltwork.losses.dominating_pair import Pair
from quiltwork.losses.families.finite import FinitePair
from quiltwork.numbers.rounding import UNIT

SAFE = 1e-9  # relative room for the rounding of the gaps
MOST_TURNS = 200  # in which knots above the hull are removed; what is left negative then makes a lower end fail


@attrs.frozen(eq=False)
class Discrete:
    """Masses on origin + step * (first + 0, 1, 2, ...); `revealed` is what the upper side sends to infinity."""

    origin: float
    first: int
    upper: FloatArray
    lower: FloatArray
    revealed: float


def discretise(pair: Pair, step: float, low: float, high: float) -> Discrete:
    """Both sides on a grid that covers [low, high]."""
    atoms, masses = pair.atoms()
    # a knot on the heaviest atom, or on a finite end of the support, saves a first-order loss there
    ends = [end for end in (pair.high, pair.low) if math.isfinite(end)]
    origin = float(atoms[np.argmax(masses)]) if atoms.size else (ends[0] if ends else 0.0)
    first = math.floor((low - origin) / step + 1e-9) - 1
    last = math.ceil((high - origin) / step - 1e-9) + 1
    upper, lower, revealed = _density(pair, step, origin, first, last)
    if atoms.size:
        # atoms above the grid: their hockey stick is revealed and the rest sits on its last knot, or they are floored;
        # atoms below it are moved up or dropped
        left, right, wrong = origin + step * first, origin + step * (last - 1), pair.relative + 8 * UNIT
        far = atoms > right
        shown = masses * -np.expm1(np.minimum(right - atoms, 0.0)) * (1 + wrong)
        revealed += float(shown[far].sum()) * (1 + 1e-12)
        above = np.where(far, masses - shown, masses) * (1 + wrong)
        upper = upper + _split(np.clip(atoms, left, right), above, origin, step, first, upper.size, chord=True)
        kept = atoms >= left
        below = masses[kept] * (1 - wrong)
        lower = lower + _split(np.minimum(atoms[kept], right), below, origin, step, first, lower.size, chord=False)
    return Discrete(origin, first, upper, lower, revealed)


def dominating(pair: Pair, step: float, low: float, high: float) -> tuple[int, FloatArray, float]:
    """The upper side alone, with knots at whole steps from 0: the first knot, the masses, and what is revealed.

    Atoms between knots are split by the chord, which costs second order too.
    """
    first, last = math.floor(low / step) - 1, math.ceil(high / step) + 1
    knots = step * np.arange(first, last + 1)
    atoms, masses = pair.atoms()
    upper: FloatArray = np.zeros(knots.size)
    revealed = 0.0
    if not isinstance(pair, FinitePair):
        cells = pair.cells(knots)
        shrink = -math.expm1(-step)
        right = np.minimum(cells.stick / shrink, cells.mass)
        wrong = cells.stick_error / shrink + cells.mass_error
        chord = _spread(cells.mass - right, right) + _spread(wrong, wrong)
        upper, revealed, _ = _upper_ends(pair, chord, knots, (True, True))
    if atoms.size:
        if float(atoms.max()) > knots[-1]:
            revealed += float(masses[atoms > knots[-1]].sum()) * (1 + pair.relative + 8 * UNIT)
            atoms, masses = atoms[atoms <= knots[-1]], masses[atoms <= knots[-1]]
        inside = np.maximum(atoms, knots[0])
        above = masses * (1 + pair.relative + 8 * UNIT)
        upper = upper + _split(inside, above, 0.0, step, first, upper.size, chord=True)
    return first, upper, revealed


def _split(
    losses: FloatArray, masses: FloatArray, origin: float, step: float, first: int, size: int, chord: bool
) -> FloatArray:
    """Atoms onto the grid: upper by the chord (keeps P and Q mass), lower by flooring."""
    place = (losses - origin) / step
    index = np.floor(place).astype(np.int64)
    rest = place - index
    snapped = np.minimum(rest, 1 - rest) * step < 8 * UNIT * (np.abs(losses) + abs(origin) + step)
    index = np.where(snapped, np.rint(place).astype(np.int64), index)
    rest = np.where(snapped, 0.0, rest)
    out = np.zeros(size)
    if not chord:
        np.add.at(out, index - first, masses)
        return out
    right = np.where(rest > 0, masses * np.expm1(-rest * step) / math.expm1(-step), 0.0)
    np.add.at(out, index - first, masses - right)
    moved = right > 0
    np.add.at(out, index[moved] - first + 1, right[moved])
    return out


def between(pair: Pair, step: float, left: float, cells: int, tails: tuple[bool, bool]) -> Discrete:
    """Both sides of the part of a law without atoms that lies in these cells, with its tail beyond either end or not.

    Profiles of parts add up, so that bounds of the parts are bounds of the whole.
    """
    upper, lower, revealed = _density(pair, step, left, 0, cells, tails)
    return Discrete(left, 0, upper, lower, revealed)


def _density(
    pair: Pair, step: float, origin: float, first: int, last: int, tails: tuple[bool, bool] = (True, True)
) -> tuple[FloatArray, FloatArray, float]:
    size = last - first + 1
    half = origin + 0.5 * step * np.arange(2 * first, 2 * last + 1)
    cells = pair.cells(half)
    if isinstance(pair, FinitePair):  # nothing but atoms; others may have all their mass beside the grid
        return np.zeros(size), np.zeros(size), 0.0
    narrow = -math.expm1(-step / 2)
    right_half = np.minimum(cells.stick / narrow, cells.mass)
    left_half = cells.mass - right_half
    wrong = cells.stick_error / narrow + cells.mass_error
    wrong = wrong[0::2] + wrong[1::2]
    a1, b1, a2, b2 = left_half[0::2], right_half[0::2], left_half[1::2], right_half[1::2]
    middle = b1 + a2
    to_left = a1 + middle / (1 + math.exp(step / 2))
    to_right = b2 + middle / (1 + math.exp(-step / 2))
    chord, error = _spread(to_left, to_right), _spread(wrong, wrong)
    upper, revealed, right_tail = _upper_ends(pair, chord + error, half, tails)
    gaps = _gaps(a1, b1, a2, b2, middle, step) * (1 + SAFE) + 2 * wrong * step
    lower = _lower(chord, error, to_left, to_right, wrong, gaps, right_tail, step)
    return upper, lower, revealed


def _spread(left: FloatArray, right: FloatArray) -> FloatArray:
    """Cell quantities onto their two knots."""
    return np.concatenate((left, [0.0])) + np.concatenate(([0.0], right))


def _tails(pair: Pair, left: float, right: float) -> tuple[float, float, float, float]:
    """P below the grid, P above it and the hockey stick there (atoms included), P above it of the density alone.

    Past their errors: the first three upward, the last one downward.
    """
    ends = np.array([left, right])
    with np.errstate(over="ignore"):
        wrong = np.minimum(pair.tail_error(ends), 1e300) + 1e-13
    below = 0.0 if left <= pair.low else min(float(pair.below(ends[:1])[0][0] * (1 + wrong[0])), 1.0)
    if right >= pair.high:
        return below, 0.0, 0.0, 0.0
    above = float(pair.above(ends[1:])[0][0])
    atoms, masses = pair.atoms()
    density = max(above * (1 - 10 * min(float(wrong[1]), 1.0)) - float(masses[atoms > right].sum()), 0.0)
    above = min(above * (1 + float(wrong[1])), 1.0)
    stick = float(pair.stick_ends(ends[1:])[1][0]) * (1 + 1e-12)
    return below, above, min(stick, above), density


def _upper_ends(
    pair: Pair, upper: FloatArray, half: FloatArray, tails: tuple[bool, bool]
) -> tuple[FloatArray, float, float]:
    """Left tail moved up to the first knot; right tail: its hockey stick revealed, the rest on the last knot."""
    below, above, stick, density = _tails(pair, float(half[0]), float(half[-1]))
    below *= tails[0]
    if not tails[1]:
        above = stick = density = 0.0
    upper = upper.copy()
    upper[0] += below * (1 + 1e-13)
    upper[-1] += max(above - stick, 0.0)
    return upper, stick, density


def _gaps(
    a1: FloatArray, b1: FloatArray, a2: FloatArray, b2: FloatArray, middle: FloatArray, step: float
) -> FloatArray:
    """Per cell, the chord over the tangents at its left end, middle and right end: positive terms only."""
    shrink, half, whole = math.exp(-step / 2), math.expm1(step / 2), math.expm1(step)
    later = math.exp(step / 2) * half
    left_a, left_b = a1, b1 * shrink
    right_a, right_b = a2 * shrink, b2 * shrink * shrink
    centre = middle * shrink
    with np.errstate(all="ignore"):
        f1 = np.where(left_a + left_b > 0, left_b / (left_a + left_b), 1.0)
        f2 = np.where(right_a + right_b > 0, right_a / (right_a + right_b), 1.0)
    first = left_a * f1 * half + centre * f1 * half * (later / whole)
    second = right_b * f2 * later + centre * f2 * later * (half / whole)
    return np.maximum(first, second)


def _lower(
    chord: FloatArray,
    error: FloatArray,
    to_left: FloatArray,
    to_right: FloatArray,
    wrong: FloatArray,
    gaps: FloatArray,
    right_tail: float,
    step: float,
) -> FloatArray:
    """Knots lowered by the larger gap beside them, then the convex hull, all in masses (theory section 3, i-vii)."""
    cells = gaps.size
    lowering = np.zeros(cells + 1)
    lowering[:-1] = gaps
    lowering[1:] = np.maximum(lowering[1:], gaps)
    lowering[0] = max(lowering[0], lowering[1])
    shrink = -math.expm1(-step)
    # right end: everything beyond knot r is floored onto r; the last segment stays under the tangent there
    beyond = np.zeros(cells + 1)
    beyond[:-1] = np.cumsum((to_left + to_right)[::-1])[::-1]
    beyond = (beyond + right_tail * (1 - 1e-12)) * (1 - 1e-12)
    at_end = np.maximum(lowering[:-1], (to_right + wrong) * shrink)
    good = np.nonzero((beyond[1:] + to_right - 2 * wrong) * shrink >= at_end)[0]
    end = int(good[-1]) + 1 if good.size else 1
    start, floor, total = _left_end(chord, lowering, end, step)
    while True:
        mass = (chord - error)[: end + 1].copy()
        mass[end] = beyond[end] + to_right[end - 1] - wrong[end - 1]
        down = lowering[: end + 1].copy()
        down[end], down[end - 1] = 0.0, at_end[end - 1]
        if start and start < end - 1:
            down[start] = floor[start] * (1 + SAFE)
            mass[start] = total[start] * (1 - 1e-12) - float(error[: start + 1].sum()) + floor[start] * (1 - SAFE)
            mass[:start] = 0.0
            down[:start] = down[start]
        else:
            down[0] = max(down[0], down[min(1, end)])
        change = np.diff(down)
        mass[1:] += change / shrink
        mass[:-1] -= change / math.expm1(step)
        hull = convex(mass, step)
        if bool((hull >= 0).all()):
            break
        end -= max(1, end // 16)  # any smaller end is valid; geometric steps keep this cheap
        if end < 2:
            return np.zeros(cells + 1)
    return np.concatenate((hull, np.zeros(cells + 1 - hull.size)))


def _left_end(chord: FloatArray, lowering: FloatArray, end: int, step: float) -> tuple[int, FloatArray, FloatArray]:
    """phi >= 1 - t: keep psi = 1 - t up to the first knot where phi exceeds it by the lowering (no mass is lost).

    V_i = phi_i - (1 - t_i) by the positive recursion V_(i+1) = V_i e^h + (e^h - 1) C_i.
    """
    total = np.cumsum(chord)
    index = np.arange(chord.size - 1)
    reach = 600 / step
    scale = np.exp(-step * np.minimum(index + 1, reach))
    floor = np.zeros(chord.size)
    floor[1:] = np.cumsum(math.expm1(step) * scale * total[:-1]) / scale
    ready = np.nonzero((floor[1:end] >= lowering[1:end]) & (index[1:end] < reach))[0] if end > 1 else np.zeros(0)
    return (int(ready[0]) + 1 if ready.size else 0), floor, total


def convex(mass: FloatArray, step: float) -> FloatArray:
    """Convex hull in mass form: a knot with negative mass lies above the chord of its neighbours, so it goes.

    Its mass is chord-redistributed to the nearest kept knots (P and Q mass kept); repeated until none is negative.
    Negative Q mass at the left end may move right: (tau_1 - t)+ >= (tau_0 - t)+.
    """
    mass = mass.copy()
    kept = np.arange(-1, mass.size - 1), np.arange(1, mass.size + 1)  # the nearest that stay before and after each
    changed: IntArray = np.arange(1, mass.size - 1)  # only a knot whose mass changed can have become negative
    for _ in range(MOST_TURNS):
        gone = changed[mass[changed] < 0]
        if not gone.size:
            break
        touched = _take_one(mass, kept, int(gone[0]), step) if gone.size == 1 else _take(mass, kept, gone, step)
        changed = touched[(touched > 0) & (touched < mass.size - 1)]
    j = 0
    while j < mass.size - 1 and mass[j] < 0:
        mass[j + 1] += mass[j] * math.exp(step)
        mass[j] = 0.0
        j += 1
    return mass


def _take(mass: FloatArray, kept: tuple[IntArray, IntArray], gone: IntArray, step: float) -> IntArray:
    """Masses of some knots go to the nearest that stay, which are returned; neighbours go together."""
    before, after = kept
    breaks = np.flatnonzero(after[gone[:-1]] != gone[1:])
    firsts, lasts = np.concatenate(([0], breaks + 1)), np.concatenate((breaks, [gone.size - 1]))
    left, right = before[gone[firsts]], after[gone[lasts]]
    after[left], before[right] = right, left
    a, b = (np.repeat(ends, lasts - firsts + 1) for ends in (left, right))
    share = np.expm1(-(gone - a) * step) / np.expm1(-(b - a) * step)
    value = mass[gone]
    mass[gone] = 0.0
    np.add.at(mass, b, value * share)
    np.add.at(mass, a, value * (1 - share))
    return np.unique(np.concatenate((left, right)))


def _take_one(mass: FloatArray, kept: tuple[IntArray, IntArray], gone: int, step: float) -> IntArray:
    """The same for a single knot: a long chain of turns is often one of these after the other."""
    before, after = kept
    a, b = int(before[gone]), int(after[gone])
    after[a], before[b] = b, a
    share, value = np.expm1(-(gone - a) * step) / np.expm1(-(b - a) * step), mass[gone]
    mass[gone] = 0.0
    mass[b] += value * share
    mass[a] += value * (1 - share)
    return np.array([a, b])
