"""Every value of a composed finite loss with its masses, while they are few enough to list.

Releases of one kind first: two outcomes are a binomial, two constraints the bivariate lattice, losses on a lattice are
convolved copy by copy, anything else squares and multiplies. Then the kinds are added. Only products and sums of
positive numbers occur, so masses keep their relative accuracy down to the smallest double.

Reference: seed 002 Theorem 1 and Theorem 3; theory/multi-constraints.md sections 2, 3.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import reduce

import attrs
import numpy as np
from numpy.typing import NDArray

from quiltwork.checks import FloatArray
from quiltwork.compose.engines.two_constraints import binomial, bivariate, is_extended
from quiltwork.losses.dominating_pair import Lattice, Pair
from quiltwork.losses.families.constraints import common_divisor
from quiltwork.losses.families.finite import FinitePair
from quiltwork.numbers.rounding import UNIT
from quiltwork.numbers.stated import typed

LEAST = 1e-290
WORK = 500  # products in a convolution that cost as much as one value in a list
SHORT = 200  # products for one cell of the bivariate lattice
ROWS = 256  # of a lattice that are looked at together
CROWDED = 8  # a kernel with fewer than this many places for a mass is convolved as a whole


@attrs.frozen(eq=False)
class Atoms:
    """Losses, ascending, with masses under P and Q; what they may be off by.

    `wrong` bounds the relative error of each P mass above 1e-300, `relative` that of all P and Q masses, `hair` the
    absolute error of a loss.
    """

    losses: FloatArray
    p: FloatArray
    q: FloatArray
    wrong: FloatArray
    relative: float
    hair: float
    typed: bool = False  # losses are the doubles nearest to known decimals, as if a user had typed them


def enumerate_atoms(parts: Sequence[tuple[Pair, int]], most: int, least: float = -math.inf) -> Atoms | None:
    """The law of the sum of all parts, or None when listing it would handle more than `most` values at a time.

    Values below `least` may be left out.
    """
    if not parts or not all(_listable(pair) for pair, _ in parts):
        return None
    total: Atoms | None = None
    for i, (pair, count) in enumerate(parts):
        cut = least if len(parts) == 1 else -math.inf
        one = power(pair, count, most, cut) if isinstance(pair, FinitePair) else None
        if one is None:
            return None
        cut = least if i + 1 == len(parts) else -math.inf
        total = one if total is None else add(total, one, most, cut)
        if total is None:
            return None
    return None if total is None else _typed(total, parts)


def _typed(atoms: Atoms, parts: Sequence[tuple[Pair, int]]) -> Atoms:
    """Sums of stated losses replaced by the decimals that they are, when these have at most 15 digits."""
    losses = [loss for pair, _ in parts if isinstance(pair, FinitePair) for loss in set(np.abs(pair.losses).tolist())]
    if not all(isinstance(pair, FinitePair) and pair.stated for pair, _ in parts) or len(losses) > 1000:
        return atoms
    units = [typed(loss) for loss in losses if loss > 0]
    unit = reduce(common_divisor, units) if units else Fraction(1)
    reach = float(np.abs(atoms.losses).max())
    places = next((n for n in range(16) if 10**n % unit.denominator == 0), None)
    if places is None or reach * 10**places > 1e15 or unit < 64 * atoms.hair:
        return atoms
    index = np.rint(atoms.losses / float(unit))
    exact = index * unit.numerator / unit.denominator  # a whole number over a whole number: rounded once
    return attrs.evolve(atoms, losses=exact, hair=UNIT * reach, typed=True)


def _listable(pair: Pair) -> bool:
    return isinstance(pair, FinitePair) and pair.whole and float(pair.p.max()) > 0


def power(pair: FinitePair, count: int, most: int, least: float = -math.inf) -> Atoms | None:
    """The law of `count` copies; values below `least` may be left out."""
    if pair.losses.size == 1:
        return _one_outcome(pair, count)
    ratios = float(min(pair.p.min(), pair.q.min())) > LEAST  # smaller masses, even 0, are added but not divided by
    if pair.losses.size == 2 and count + 1 <= most and ratios:
        return _two_outcomes(pair, count)
    lattice = pair.lattice()
    if _two_constraints(pair) and count > 8 and (count + 1) ** 2 <= most and ratios and not _short(lattice, count):
        return _lattice(pair, count, least)
    if lattice is not None and _span(lattice) * count <= most and _work(lattice, count) <= WORK * most:
        return _dense(pair, lattice, count)
    base = Atoms(pair.losses, pair.p, pair.q, np.full(pair.p.size, pair.relative), pair.relative, _hair(pair, 1))
    result: Atoms | None = None
    while True:
        if count & 1:
            result = base if result is None else add(result, base, most)
            if result is None:
                return None
        count >>= 1
        if not count:
            return result
        squared = add(base, base, most)
        if squared is None:
            return None
        base = squared


def _hair(pair: FinitePair, count: int) -> float:
    """Losses that a user stated are off by the rounding of a decimal and of one product; others by what they say."""
    own = 4 * UNIT * float(np.abs(pair.losses).max()) if pair.stated else pair.rounding
    return count * own


def _one_outcome(pair: FinitePair, count: int) -> Atoms:
    """A loss that never varies, beside what is revealed."""
    with np.errstate(under="ignore"):
        p, q = np.exp(count * np.array(_log_kept(pair)))
    wrong = _relative(pair, count)
    return Atoms(count * pair.losses, np.array([p]), np.array([q]), np.array([wrong]), wrong, _hair(pair, count))


def _two_outcomes(pair: FinitePair, count: int) -> Atoms:
    ups = np.arange(count + 1.0)
    low, high = pair.losses.tolist()
    own = _relative(pair, count)
    p, wrong = binomial(count, float(pair.p[1]), float(pair.p[0]))
    q, q_wrong = binomial(count, float(pair.q[1]), float(pair.q[0]))
    log_p, log_q = _log_kept(pair)
    return Atoms(
        low * (count - ups) + high * ups,
        p * math.exp(count * log_p),
        q * math.exp(count * log_q),
        wrong + own,
        float(max(wrong.max(), q_wrong.max())) + own,
        _hair(pair, count),
    )


def _relative(pair: FinitePair, count: int) -> float:
    """What a product of `count` masses owes to them, and to the finite mass to that power."""
    return 2 * count * pair.relative + (8 - 4 * count * min(_log_kept(pair))) * UNIT


def _log_kept(pair: FinitePair) -> tuple[float, float]:
    """Logs of the finite mass under P and Q: one minus what is hidden, unless that would leave too few digits."""
    sides = (pair.p, pair.reveal), (pair.q, pair.vanish)
    first, second = (math.log1p(-part) if part < 0.5 else math.log(math.fsum(masses)) for masses, part in sides)
    return first, second


def _two_constraints(pair: FinitePair) -> bool:
    symmetric = np.array_equal(pair.losses, -pair.losses[::-1]) and np.array_equal(pair.p, pair.q[::-1])
    return pair.losses.size == 4 and bool(symmetric)


def _lattice(pair: FinitePair, count: int, least: float) -> Atoms:
    pd, pc, pb, pa = pair.p.tolist()
    inner, outer = pair.losses[2:].tolist()
    masses, wrong = bivariate(count, (pa, pb, pc, pd))
    masses *= math.exp(count * _log_kept(pair)[0])
    mirrored = masses[::-1, ::-1]  # -L is (k - u, k - v), and Q is P seen from there
    columns: list[list[FloatArray]] = [[], [], [], []]
    u = np.arange(count + 1)
    for start in range(0, count + 1, ROWS):
        rows = slice(start, start + ROWS)
        v = u[rows, None]
        losses = outer * (u + v - count) + inner * (u - v)
        kept = losses >= least
        for column, part in zip(columns, (losses, masses[rows], mirrored[rows], wrong[rows]), strict=True):
            column.append(part[kept])
    del masses, mirrored, wrong
    return _merged([_joined(column) for column in columns], _relative(pair, count), _hair(pair, count))


def _joined(parts: list[FloatArray]) -> FloatArray:
    """One after the other; the parts are given up."""
    found = np.concatenate(parts)
    parts.clear()
    return found


def _short(lattice: Lattice | None, count: int) -> bool:
    """Whether a convolution copy by copy is cheaper than a cell for every pair of counts, and no less sharp."""
    return lattice is not None and not is_extended(count) and _span(lattice) * lattice.indices.size <= SHORT


def _span(lattice: Lattice) -> int:
    return int(lattice.indices[-1] - lattice.indices[0])


def _work(lattice: Lattice, count: int) -> int:
    """Products that a convolution copy by copy needs, about."""
    return count * count * max(_span(lattice), 1) * lattice.indices.size


def _dense(pair: FinitePair, lattice: Lattice, count: int) -> Atoms:
    """On its own lattice: one more copy at a time, so that each mass meets few roundings."""
    places = lattice.indices - lattice.indices[0]
    places = places // max(int(np.gcd.reduce(places)), 1)
    step = (float(pair.losses[-1]) - float(pair.losses[0])) / max(int(places[-1]), 1)
    p, q = (_copies(places, one, count) for one in (pair.p, pair.q))
    live = (p > 0) | (q > 0)
    live[0] = live[-1] = True  # the extremes stay, whether their mass underflowed or not
    index = np.flatnonzero(live)
    wrong = count * (pair.relative + (places.size + 1) * UNIT)
    losses = count * float(pair.losses[0]) + step * index
    hair = _hair(pair, count) + 4 * UNIT * count * float(np.abs(pair.losses).max())
    return Atoms(losses, p[live], q[live], np.full(index.size, wrong), wrong, hair)


def _copies(places: NDArray[np.int64], masses: FloatArray, count: int) -> FloatArray:
    """The law of `count` copies of masses at places 0, ..., on all places."""
    law, span = np.ones(1), int(places[-1])
    kernel = np.zeros(span + 1)
    kernel[places] = masses
    crowded = places.size * CROWDED > span
    with np.errstate(under="ignore"):
        for _ in range(count):
            if crowded:
                law = np.convolve(law, kernel)
                continue
            longer = np.zeros(law.size + span)
            for place, mass in zip(places.tolist(), masses.tolist(), strict=True):
                longer[place : place + law.size] += mass * law
            law = longer
    return law


def add(one: Atoms, two: Atoms, most: int, least: float = -math.inf) -> Atoms | None:
    """The law of the sum of two independent losses; values below `least` may be left out."""
    if one.losses.size * two.losses.size > most // 2:  # pairs of values cost more than cells of a lattice
        return None
    with np.errstate(under="ignore"):
        losses = np.add.outer(one.losses, two.losses)
        # a direction may have no loss at all above `least`: its largest stays
        kept = losses >= min(least, float(losses[-1, -1])) if math.isfinite(least) else slice(None)
        masses = np.multiply.outer(one.p, two.p), np.multiply.outer(one.q, two.q)
        columns = [array[kept].ravel() for array in (losses, *masses, np.add.outer(one.wrong, two.wrong))]
    return _merged(columns, 2 * UNIT, one.hair + two.hair)


def _merged(columns: list[FloatArray], more: float, hair: float) -> Atoms:
    """Losses, P, Q and errors sorted; values that rounding alone can tell apart become one.

    `more` is an error that all masses share. The columns are given up one by one: lists may be long.
    """
    order = np.argsort(columns[0])
    losses, p, q, wrong = (columns.pop(0)[order].astype(float, copy=False) for _ in range(4))
    del order
    worst = float(wrong.max()) + more
    hair += 2 * UNIT * max(abs(float(losses[0])), abs(float(losses[-1])))
    starts = np.concatenate(([0], np.flatnonzero(np.diff(losses) > 2 * hair) + 1))
    if starts.size < losses.size:
        ends = np.concatenate((starts[1:], [losses.size]))
        hair += float((losses[ends - 1] - losses[starts]).max())
        more += int((ends - starts).max()) * UNIT
        losses, off = losses[ends - 1], np.add.reduceat(p * wrong, starts)
        p, q = np.add.reduceat(p, starts), np.add.reduceat(q, starts)
        with np.errstate(divide="ignore", invalid="ignore"):
            wrong = np.where(p > 0, np.minimum(off / p, worst), worst)
    return Atoms(losses, p, q, wrong + more, worst + more, hair)
