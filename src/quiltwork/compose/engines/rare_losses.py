"""Releases that hardly ever tell anything and then a lot: the rare large losses are counted apart.

A Gaussian on a sample of 1e-5 has losses near 1e-5 and, once in a million releases, one near 10: no grid is fine
enough for the former and long enough for the latter. So the law of one such release is cut in two, P = A + B, with A
the losses up to some c on a fine grid and B those above c on a coarse one. Of k releases j are above c, and

    D(eps) = sum_j binom(k, j) int D_j(eps - b) dB^j(b),        D_j that of k - j copies of A and of all other releases.

Bounds on A and B are bounds on P: their profiles add up, and composition keeps the order (Lemma 1). More jumps than are
counted, and what is cut off at the right, go to infinity in the upper bound and away in the lower one.

Reference: theory/engine.md sections 1 (Lemma 1), 3 and 4.

Many small losses together: their D from one transform, certified on one side for every epsilon.

The rounding of a transform grows to the left of its tilt's centre. There D is convex in t = e^eps, from the mass of P
at t = 0 down with the mass of Q: it lies above mass_P - t mass_Q and below the chord from t = 0 to what is known.

Reference: theory/engine.md section 4.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import attrs
import numpy as np
from scipy import fft

from quiltwork.checks import FloatArray
from quiltwork.compose.engines.discretise import Discrete, between, discretise
from quiltwork.compose.engines.engine import Declined, Engine, Logs, View
from quiltwork.compose.engines.fft import Convolution, Measure, convolve
from quiltwork.compose.engines.grid import MASS, MOST_CELLS, lattice_part, support
from quiltwork.compose.engines.low_tilt import gentle_tilt
from quiltwork.compose.engines.views.solve import SteeredEngine
from quiltwork.compose.releases import Counted
from quiltwork.curves.curve import Ends
from quiltwork.losses.dominating_pair import Pair
from quiltwork.losses.families.poisson import PoissonPair
from quiltwork.losses.transforms.transform import TooCostly
from quiltwork.numbers.rounding import UNIT

LEFT = 8.0  # spreads from the centre to where the line takes over


@attrs.frozen(eq=False)
class Crowd:
    """D(eps) on one side: from the transform right of `left`, at and before it `mass` minus `slope` e^eps."""

    law: Convolution | None  # None: nothing is left, and D = (1 - e^eps)+
    side: int
    mass: float
    slope: float
    left: float

    @property
    def centre(self) -> float:
        return 0.0 if self.law is None else self.law.centre

    @property
    def spread(self) -> float:
        return 0.0 if self.law is None else self.law.spread

    def __call__(self, epsilon: FloatArray) -> FloatArray:
        """D where epsilon is above `left`."""
        if self.law is None:
            return -np.expm1(np.minimum(epsilon, 0.0))
        with np.errstate(over="ignore"):
            found = np.exp(self.law.logs(epsilon, self.side))
        found[np.isnan(found)] = self.mass if self.side > 0 else 0.0
        return np.minimum(found, self.mass)


def crowd_of(measure: Measure, tilt: float, side: int) -> Crowd:
    """The sum of all these losses, seen at this tilt, bounded above (side 1) or below (-1)."""
    if not measure.parts:
        return Crowd(None, side, 1.0, 1.0, 0.0)
    law = convolve(measure, tilt)
    if law is None:
        raise TooCostly
    first, second = measure.moments(np.array([0.0, -1.0]))[0].tolist()
    reach = [abs(part.offset) + measure.step * float(np.abs(part.indices).max()) for part in measure.parts]
    wrong = math.fsum(
        part.count * ((64 + 8 * far) * UNIT + part.relative + part.loss_error)
        for part, far in zip(measure.parts, reach, strict=True)
    )
    mass = math.exp(min(first + side * wrong, 700.0))
    left = law.centre - LEFT * law.spread
    if side < 0:
        return Crowd(law, side, mass, math.exp(second + wrong), left)
    there = float(Crowd(law, side, mass, 0.0, left)(np.array([left]))[0])
    return Crowd(law, side, mass, (mass - there) * math.exp(-left) * (1 - 8 * UNIT * (1 + abs(left))), left)


RARE = 0.05  # sampling rates
CUT = 1e-15  # tail mass of all releases that goes to infinity, and of more jumps than are counted
FINE, COARSE = 1 << 15, 1 << 14  # cells of A and of B
HEAD = 2  # cells that become one point where they hold nearly everything
KEPT = 2 * COARSE  # cells of several jumps together
REACH = 100  # B goes at most this many times as far as A
USUALLY = 0.05  # jumps that are expected, where that leaves A short enough
MOST_JUMPS = 30
RIGHT, BLOCK = 10.0, 64  # spreads from which on D_j is small, and cells that are then taken together
FAR, LARGEST = 300.0, 700.0  # epsilons up to which e^eps and e^-place have all their digits, and a safe exponent
GENTLY = 1 + 1e-11  # sums of many positive numbers, outward

Laid = tuple[Pair, int, Discrete]


class JumpEngine(SteeredEngine):
    """One view for every epsilon; it has no tilts of its own."""

    method = "grid"

    def __init__(self, pairs: Counted) -> None:
        self.pairs = pairs
        pair, count = _rarest(pairs)
        rest = [other for other in pairs if other[0] is not pair]
        reach = _Reach.of(pair, count, rest)
        above, below = _cut_above(pair, reach), _cut_below(pair, reach)
        most = _most_jumps(count * float(above.big.sum()) * GENTLY, count)
        self._upper, self._lower = (_Side.of(cut, pair, count, rest, most) for cut in (above, below))

    def moments(self, theta: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        return self._upper.whole.moments(theta)

    def everywhere(self, complement: bool) -> View | None:
        return None if complement else JumpView(self._upper, self._lower)

    def view(self, theta: float, log_width: float) -> View | None:
        return None

    def beta(self, alpha: FloatArray, mirror: Callable[[], Engine]) -> Ends:
        raise Declined  # one epsilon at a time is too slow for a whole curve


@attrs.frozen(eq=False)
class JumpView(View):
    """Both bounds at any epsilon."""

    upper: _Side
    lower: _Side
    theta: float = 1.0  # of D, not of its complement

    @property
    def centre(self) -> float:
        return self.upper.jumps[0].crowd.centre

    @property
    def spread(self) -> float:
        return self.upper.jumps[0].crowd.spread

    def middle(self, epsilon: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore"):
            return np.log(self.upper(epsilon))

    def logs(self, epsilon: FloatArray) -> Logs:
        with np.errstate(divide="ignore"):
            high, low = np.log(self.upper(epsilon)), np.log(self.lower(epsilon))
        return Logs(high, low, high)


def _rarest(parts: Counted) -> tuple[Pair, int]:
    """The release on a small sample whose losses reach furthest."""
    rare = [
        (pair, count) for pair, count in parts if isinstance(pair, PoissonPair) and pair.removed and pair.rate < RARE
    ]
    if not rare or any(pair.reveal for pair, _ in rare):
        raise TooCostly
    return max(rare, key=lambda part: support(part[0], CUT / part[1])[1])


@attrs.frozen
class _Reach:
    """Where the losses of one release begin, where it is cut in two, and where it is cut off."""

    low: float
    middle: float
    high: float

    @classmethod
    def of(cls, pair: Pair, count: int, rest: Counted) -> _Reach:
        low, high = support(pair, CUT / count)
        spans = [right - left for left, right in (support(other, CUT / n) for other, n in rest)]
        widest = max(spans, default=0.0) * FINE / MOST_CELLS  # the others must fit on the fine grid as well
        middle = max(high / REACH, support(pair, USUALLY / count)[1], 2 * widest)
        if not (math.isfinite(low) and low < 0 < 2 * middle < high):
            raise TooCostly
        return cls(low, middle, high)

    @property
    def step(self) -> float:
        return (self.middle - self.low) / FINE


@attrs.frozen(eq=False)
class _Cut:
    """One bound on the law of one release: masses of A from `origin` on, those of B from `edge` on, and the rest."""

    side: int
    origin: float
    step: float
    small: FloatArray
    edge: float
    stride: float
    big: FloatArray
    revealed: float = 0.0


def _cut_above(pair: Pair, reach: _Reach) -> _Cut:
    edge = reach.low + reach.step * FINE
    stride = (reach.high - edge) / COARSE
    small = between(pair, reach.step, reach.low, FINE, (True, False))
    big = between(pair, stride, edge, COARSE, (False, True))
    most, least = (mass * (1 + pair.relative + 8 * UNIT) for mass in _atoms(pair, reach))
    small.upper[0] += least
    big.upper[-1] += most
    return _Cut(1, reach.low, reach.step, small.upper, edge, stride, big.upper, big.revealed)


def _cut_below(pair: Pair, reach: _Reach) -> _Cut:
    """Where nearly all mass sits in the first cells, it becomes one point of that P and Q mass (post-processing).

    The grid begins at that point: rounding it down to a knot would cost its distance for each of the releases.
    """
    most, least = (mass * (1 - pair.relative - 8 * UNIT) for mass in _atoms(pair, reach))
    head = np.array([reach.low + HEAD * reach.step])
    (p,), (q,), (wrong,) = (*pair.below(head), pair.tail_error(head))
    if p < 0.5:
        edge, step, origin = reach.low + reach.step * FINE, reach.step, reach.low
        small = between(pair, step, origin, FINE, (True, False)).lower
        small[0] += least
    else:
        p, q = p * (1 - wrong - 4 * UNIT), q * (1 + wrong + 4 * UNIT)
        origin = math.log(p / q) - 4 * UNIT
        step = (float(head[0]) - origin) / HEAD
        cells = round((reach.middle - float(head[0])) / step)
        edge = float(head[0]) + step * cells
        small = np.append(np.zeros(HEAD), between(pair, step, float(head[0]), cells, (False, False)).lower)
        small[0] += p
    stride = (reach.high - edge) / COARSE
    big = between(pair, stride, edge, COARSE, (False, True)).lower
    big[-1] += most
    return _Cut(-1, origin, step, small, edge, stride, big)


def _atoms(pair: Pair, reach: _Reach) -> tuple[float, float]:
    """Masses at the largest and at the least loss, where cells end and begin there; else tails hold them."""
    losses, masses = pair.atoms()
    if not losses.size:
        return 0.0, 0.0
    return float(masses[-1]) * (reach.high == pair.high), float(masses[0]) * (reach.low == pair.low)


def _laid(pair: Pair, count: int, step: float) -> Discrete:
    low, high = support(pair, CUT / count)
    if (high - low) / step > MOST_CELLS:
        raise TooCostly
    return discretise(pair, step, low, high)


def _most_jumps(expected: float, count: int) -> int:
    """The least J beyond which jumps have a probability of at most CUT."""
    for jumps in range(MOST_JUMPS):
        if jumps >= count or _more_jumps(expected, jumps) <= CUT:
            return min(jumps, count)
    raise TooCostly


def _more_jumps(expected: float, jumps: int) -> float:
    """binom(k, j) b^j <= (k b)^j / j!, summed over j > J as a geometric series."""
    share = expected / (jumps + 2)
    return expected ** (jumps + 1) / math.factorial(jumps + 1) / (1 - share) if share < 1 else math.inf


@attrs.frozen(eq=False)
class _Jumps:
    """j jumps at once: where they lead, with which masses, and what the others do meanwhile."""

    crowd: Crowd
    places: FloatArray
    masses: FloatArray
    blocks: FloatArray  # sums of masses
    beyond: FloatArray  # sums of masses from each place on
    fading: FloatArray  # the same of masses times e^-place

    @classmethod
    def of(cls, crowd: Crowd, places: FloatArray, masses: FloatArray) -> _Jumps:
        blocks = np.add.reduceat(masses, np.arange(0, masses.size, BLOCK))
        beyond, fading = (np.append(np.cumsum(x[::-1])[::-1], 0.0) for x in (masses, masses * np.exp(-places)))
        return cls(crowd, places, masses, blocks, beyond, fading)

    def __call__(self, epsilon: float) -> float:
        """int D_j(eps - b) dB^j(b): a line for large jumps, blocks for small ones, each place for those between."""
        crowd, side = self.crowd, self.crowd.side
        turn = int(np.searchsorted(self.places, epsilon - crowd.left))  # from here on eps - b is at most `left`
        small = int(np.searchsorted(self.places, epsilon - crowd.centre - RIGHT * crowd.spread)) // BLOCK
        near = slice(small * BLOCK, max(turn, small * BLOCK))
        found = float((self.masses[near] * crowd(epsilon - self.places[near])).sum()) + self._line(epsilon, turn)
        if small:
            ends = np.arange(small) * BLOCK + (BLOCK - 1 if side > 0 else 0)
            found += float((self.blocks[:small] * crowd(epsilon - self.places[ends])).sum())
        return float(found)

    def _line(self, epsilon: float, turn: int) -> float:
        """What the jumps from `turn` on give: their masses times mass - slope e^(eps - b)."""
        crowd, side = self.crowd, self.crowd.side
        if epsilon < FAR:
            fading = math.exp(epsilon) * float(self.fading[turn])
        else:
            ahead = epsilon - self.places[turn:]
            if side < 0 and ahead.size and ahead[0] > LARGEST:
                return 0.0
            fading = float((self.masses[turn:] * np.exp(np.minimum(ahead, LARGEST))).sum())
        line = crowd.mass * float(self.beyond[turn]) * GENTLY**side - crowd.slope * fading * GENTLY**-side
        return max(line, 0.0)


@attrs.frozen(eq=False)
class _Side:
    """One bound: the sum over the number of jumps, and what is added to it or taken from it."""

    side: int
    whole: Measure  # of no jump
    jumps: tuple[_Jumps, ...]
    extra: float

    @classmethod
    def of(cls, cut: _Cut, pair: Pair, count: int, rest: Counted, most: int) -> _Side:
        side, laid = cut.side, [(other, n, _laid(other, n, cut.step)) for other, n in rest]
        others = [
            lattice_part(d.origin, d.first, d.upper if side > 0 else d.lower, n, other.rounding) for other, n, d in laid
        ]

        def after(number: int) -> Measure:
            left = () if number == count else (lattice_part(cut.origin, 0, cut.small, count - number, pair.rounding),)
            return Measure(cut.step, (*left, *others))

        whole = after(0)
        tilt = gentle_tilt(whole)
        one = count * cut.big
        laws, beyond, wrong = _laws(one, count, most)
        jumps = []
        for number, masses in enumerate(laws):
            at = number * cut.edge + cut.stride * np.arange(masses.size)
            places = at + side * (16 * UNIT * at + number * pair.rounding)
            jumps.append(_Jumps.of(crowd_of(after(number), tilt, side), places, masses))
        top = max(jump.crowd.mass for jump in jumps)
        extra = wrong * top
        if side > 0:
            # each further jump has the mass of B in the place of that of A, which may be below 1
            further = float(one.sum()) / min(float(cut.small.sum()), 1.0) * GENTLY
            more = _more_jumps(further, most) if most < count else 0.0
            extra += (beyond + more) * top + _revealed(cut, count, laid)
        return cls(side, whole, tuple(jumps), extra * GENTLY)

    def __call__(self, epsilon: FloatArray) -> FloatArray:
        found = np.array([sum(jump(one) for jump in self.jumps) for one in epsilon.tolist()])
        return found * GENTLY + self.extra if self.side > 0 else np.maximum(found / GENTLY - self.extra, 0.0)


def _laws(one: FloatArray, count: int, most: int) -> tuple[list[FloatArray], float, float]:
    """binom(k, j) B^j for j up to the most, from k B; the mass beyond the grid, and what transforms may get wrong."""
    length = fft.next_fast_len(KEPT + one.size, real=True)
    noise, spectrum = 12 * UNIT * (math.log2(length) + 1), fft.rfft(one, length)
    total, size = float(one.sum()), _size(one)
    law: FloatArray = np.ones(1)
    weight, lost, off, beyond, wrong = 1.0, 0.0, 0.0, 0.0, 0.0
    laws = [law]
    for number in range(1, most + 1):
        found = np.maximum(fft.irfft(fft.rfft(law, length) * spectrum, length), 0.0)[: law.size + one.size - 1]
        off = off * total + noise * (_size(law) * total + float(law.sum()) * size)  # in the 2-norm
        lost = lost * total + float(found[KEPT:].sum())
        law, weight = found[:KEPT], weight * (1 - (number - 1) / count) / number
        laws.append(weight * law)
        beyond += weight * lost
        wrong += weight * off * math.sqrt(KEPT + one.size)
    return laws, beyond * GENTLY, wrong * GENTLY


def _size(law: FloatArray) -> float:
    return math.sqrt(float(np.square(law).sum()))


def _revealed(cut: _Cut, count: int, laid: Sequence[Laid]) -> float:
    """The probability that some release is beyond its grid, as on any grid; refused where mass got lost."""
    ways = [(1.0, count, math.fsum(cut.small) + math.fsum(cut.big), cut.revealed)]
    ways += [(1.0 - other.reveal, n, math.fsum(found.upper), found.revealed) for other, n, found in laid]
    logs = shown = 0.0
    for finite, n, mass, revealed in ways:
        if mass + revealed < finite * (1 - MASS):
            raise TooCostly
        logs += n * math.log(mass)
        shown += n * math.log1p(revealed / mass)
    return math.exp(min(logs, 700.0)) * math.expm1(shown) * (1 + 1e-12)
