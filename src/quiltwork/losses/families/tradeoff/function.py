"""A trade-off function given by a program, held between two finite pairs on a grid of losses.

Samples of a convex f give two polygons: chords lie above it; neighbouring chords, extended, lie below it. Each polygon
is then moved to losses that are multiples of one step, where composition is exact: the lower one by splitting every
atom onto its two neighbours (P and Q mass kept), the upper one by chords whose slopes are powers of e^step, from both
ends until they meet. Both moves cost second order in the step, so halving it makes a bracket four times narrower.

A program is trusted to err by no more than it shows: its rounding noise is measured on rows of neighbouring points
and on all of its samples, and both polygons keep that distance. An error that is smooth on the scale of the samples, or
hides between them, is a property of the function that was stated, and no composition can see it.

Reference: theory/multi-constraints.md section 5, for any convex f instead of a symmetric one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any, ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from quiltwork.checks import FloatArray
from quiltwork.errors import InvalidParameter
from quiltwork.losses.dominating_pair import Lattice, Pair
from quiltwork.losses.families.finite import FinitePair, from_laws
from quiltwork.losses.families.tradeoff.chords import chords
from quiltwork.losses.families.tradeoff.table import WIDE, Table
from quiltwork.losses.families.tradeoff.vertices import Vertices, directed, hull
from quiltwork.losses.family import Family
from quiltwork.numbers.rounding import UNIT

Program = Callable[[float], float]
Function = Program | Table
SLACK = 4e-16  # absolute accuracy of a user's function, if it does not show to be worse
DENSE = 4  # samples in one step of the grid
MOST, MOST_KEPT = 1 << 16, 1 << 14  # samples; in a document
FINEST = 2.0**-22  # spacing
ROUNDS = 24
WORST = 1e-12  # a function that bends the wrong way by more, and by more than its rounding noise, is not convex
SINGLE = 2.0**-22  # four roundings of single precision
NOISIEST = 1e-6  # rounding noise of a function that can still be held
TAIL = 6  # slacks of P or Q mass at either end that count as revealed: their losses would be noise
USUAL = 1 / 64  # step when nobody asked for a width


def _values(function: Program, alpha: FloatArray) -> FloatArray:
    """f at each alpha: in one call if it takes arrays, else one by one."""
    at_once: Any = function
    with np.errstate(all="ignore"):  # a function may look at log(0) and set it right afterwards
        try:
            found: FloatArray = np.asarray(at_once(alpha), dtype=np.float64)
            probes = (0, alpha.size // 2)
            if found.shape == alpha.shape and all(found[i] == float(function(alpha[i])) for i in probes):
                return found
        except Exception:
            pass  # a program for one number may do anything with an array; its own errors come one by one below
        return np.array([_value(function, a) for a in alpha.tolist()])


def _value(function: Program, alpha: float) -> float:
    try:
        return float(function(alpha))
    except (TypeError, ValueError, ArithmeticError) as error:
        allowed = "a function of one number in [0, 1], both ends included"
        raise InvalidParameter("trade-off", function, allowed, f"at {alpha:.4g}: {error}") from None


@lru_cache(maxsize=64)
def accuracy(function: Function) -> float:
    """SLACK, or the rounding noise of f: how far it rises above chords so short that nothing else could bend it up.

    A function of 1 - alpha is a staircase where alpha is below the roundoff, and may be steep there: its stairs count.
    One in single precision has stairs everywhere, and rounds its argument as well.
    """
    if isinstance(function, Table):
        return function.noise
    centre = np.concatenate((np.geomspace(1e-16, 0.47, 30), np.geomspace(2e-4, 0.47, 10)))[:, None]
    near = centre * (1 + np.arange(12) * 2.0**-36)
    alpha = np.where(np.arange(40)[:, None] < 30, near, 1.0 - near)
    beta = _values(function, alpha.ravel()).reshape(alpha.shape)
    noise = 1.5 * float(np.max(_risen(alpha, beta)))
    stairs = np.geomspace(3e-19, 2.0**-49, 24)
    steps = 4.0 * float(
        np.max(_risen(stairs, _values(function, stairs)))
    )  # half a stair shows at least a quarter of it
    inner = beta[(beta > 0) & (beta < 1)]
    single = SINGLE if inner.size and np.array_equal(inner, inner.astype(np.float32)) else 0.0
    return max(SLACK, min(max(noise, steps if steps > WORST else 0.0, single), NOISIEST))


def seen_accuracy(function: Function, spacing: float) -> float:
    """The accuracy of f, or what all its samples show: one above a chord of others tells of at least half its noise."""
    return max(accuracy(function), 1.5 * float(np.max(_risen(*samples(function, spacing)))))


def _risen(alpha: FloatArray, beta: FloatArray) -> FloatArray:
    """How far each point lies above the chord of its neighbours."""
    share = (alpha[..., 1:-1] - alpha[..., :-2]) / (alpha[..., 2:] - alpha[..., :-2])
    risen: FloatArray = beta[..., 1:-1] - (beta[..., :-2] + share * (beta[..., 2:] - beta[..., :-2]))
    return risen


@lru_cache(maxsize=64)
def samples(function: Function, spacing: float) -> tuple[FloatArray, FloatArray]:
    """(alpha, f(alpha)) such that the slopes of neighbouring chords differ by a factor of about e^spacing.

    Splitting stops where chords are as good as the digits of f. A function may be slow: no place is asked for twice.
    """
    if isinstance(function, Table):
        return function.samples(spacing)
    alpha, beta = samples(function, 2 * spacing) if spacing < WIDE else _first(function)
    slack = accuracy(function)
    for _ in range(ROUNDS):
        fall, width = -np.diff(beta), np.diff(alpha)
        with np.errstate(divide="ignore", invalid="ignore"):
            loss = np.log(np.maximum(fall, 0.0)) - np.log(width)
            jump = np.nan_to_num(np.abs(np.diff(loss)), nan=0.0, posinf=50.0)
        bend = np.maximum(np.append(jump, 0.0), np.append(0.0, jump))
        pieces = np.minimum(np.ceil(bend / spacing), 8.0)
        # chords miss f by about fall * bend / 8, and that much less when split: no use below slack
        pieces = np.minimum(pieces, np.floor(np.sqrt(np.maximum(fall * bend, 0.0) / (8 * slack))))
        split = np.flatnonzero((pieces >= 2) & (width > 1e-9 * alpha[:-1] * (1 - alpha[:-1])))
        if not split.size or alpha.size + pieces[split].sum() > MOST:
            break
        new = np.setdiff1d(_between(alpha[split], alpha[split + 1], pieces[split].astype(np.int64)), alpha)
        order = np.argsort(np.concatenate((alpha, new)), kind="stable")
        values = np.concatenate((beta, _values(function, new)))[order]
        alpha = np.concatenate((alpha, new))[order]
        beta = checked(function, alpha, values)
    return alpha, beta


def _first(function: Program) -> tuple[FloatArray, FloatArray]:
    """Steep functions have told most of what they tell at tiny alphas; near 1 doubles end at 1e-16."""
    near_0, near_1 = np.geomspace(1e-80, 0.5, 200), 1.0 - np.geomspace(1e-16, 0.5, 60)
    alpha = np.unique(np.concatenate(([0.0], near_0, near_1, [1.0])))
    return alpha, checked(function, alpha, _values(function, alpha))


def _between(left: FloatArray, right: FloatArray, pieces: NDArray[np.int64]) -> FloatArray:
    """Points that cut intervals into pieces, even on the logarithm of the distance to the nearer of 0 and 1."""
    inner = pieces - 1
    place = np.arange(inner.sum()) - np.repeat(np.cumsum(inner) - inner, inner) + 1
    left, right, share = np.repeat(left, inner), np.repeat(right, inner), place / np.repeat(pieces, inner)
    with np.errstate(divide="ignore", invalid="ignore"):
        low = left * np.exp(share * np.log(right / left))
        high = 1.0 - (1.0 - left) * np.exp(share * np.log((1.0 - right) / (1.0 - left)))
    return np.where((left == 0) | (right == 1), left + share * (right - left), np.where(right <= 0.5, low, high))


def checked(function: Function, alpha: FloatArray, beta: FloatArray) -> FloatArray:
    """Values inside [0, 1 - alpha]; what is no trade-off function, beyond rounding, is refused with the place."""
    beta, slack = beta.copy(), accuracy(function)
    if abs(beta[-1]) <= slack:
        beta[-1] = 0.0
    allowed = "convex and falling with 0 <= f(alpha) <= 1 - alpha"
    worst = max(WORST, slack)
    wrong = ~((beta >= -slack) & (beta <= 1 - alpha + worst))
    if wrong.any():
        i = int(np.argmax(wrong))
        raise InvalidParameter("trade-off", function, allowed, f"f({alpha[i]:.4g}) = {beta[i]:.4g}")
    if np.any(np.diff(beta) > max(1e-14, 2 * slack)):
        place = float(alpha[np.argmax(np.diff(beta))])
        raise InvalidParameter("trade-off", function, allowed, f"it rises near {place:.4g}, by more than rounding")
    slopes = np.diff(beta) / np.diff(alpha)
    dent = (slopes[:-1] - slopes[1:]) * np.minimum(np.diff(alpha)[:-1], np.diff(alpha)[1:])
    if np.any(dent > 4 * worst):  # three values, each off by that much
        place = float(alpha[1:-1][np.argmax(dent)])
        hint = f"it bends the wrong way near {place:.4g}, by more than rounding"
        raise InvalidParameter("trade-off", function, allowed, hint)
    return np.maximum(beta, 0.0)


def below(alpha: FloatArray, beta: FloatArray, slack: float = SLACK) -> Vertices:
    """A polygon under f: samples lowered by their slack, and where the chords on both sides of an interval meet."""
    low = np.maximum(beta - slack, 0.0)
    slope, width = np.diff(low) / np.diff(alpha), np.diff(alpha)
    left, right = slope[:-2], slope[2:]
    a, b, c, d = alpha[1:-2], low[1:-2], alpha[2:-1], low[2:-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        x = (d - right * c - b + left * a) / (left - right)
        x = np.where(np.isfinite(x), np.clip(x, a, c), 0.5 * (a + c))
        # a chord is off by 2 slacks at its far end: extended r times its width, by 2 r beyond; the rest is rounding
        one = b + left * (x - a) - 2 * slack * (x - a) / width[:-2] - 8 * UNIT
        two = d - right * (c - x) - 2 * slack * (c - x) / width[2:] - 8 * UNIT
    meet = np.maximum(np.minimum(np.minimum(one, two), np.maximum(b, d)), 0.0)
    # f(0) lies above every chord from the first sample; a long one is the more accurate, a short one the steeper
    far = np.array([2, min(int(np.searchsorted(alpha, 1e3 * alpha[1])), alpha.size - 1)])
    share = alpha[1] / (alpha[far] - alpha[1])
    first = float(np.max(low[1] + share * (low[1] - low[far] - 2 * slack)))
    places = np.concatenate(([0.0], alpha[1:-1], x, [1.0]))
    heights = np.concatenate(([max(min(float(low[0]), first), 0.0)], low[1:-1], meet, [0.0]))
    heights = np.where(heights < slack, 0.0, heights)  # their slopes would be noise
    order = np.argsort(places, kind="stable")
    return tuple(hull(places[order], heights[order]))


def above(alpha: FloatArray, beta: FloatArray, slack: float = SLACK) -> Vertices:
    """A polygon over f: the samples raised by their slack, joined by chords.

    Zeros too: what lies below the slack may be rounded to 0, and a 0 would be an outcome that only Q shows.
    """
    most = np.where(alpha < 1, np.minimum(np.nextafter(1.0 - alpha, 2.0), 1.0), 0.0)
    return tuple(hull(alpha, np.minimum(beta + slack, most)))


def tabulated(function: Function) -> Table:
    """The samples that documents keep: of every spacing down to the finest with at most MOST_KEPT of them."""
    if isinstance(function, Table):
        return function
    levels = [samples(function, WIDE)]
    while WIDE / 2 ** len(levels) >= FINEST:
        finer = samples(function, WIDE / 2 ** len(levels))
        if finer[0].size > MOST_KEPT:
            break
        levels.append(finer)
    return Table.of(levels, accuracy(function))


@attrs.frozen(eq=False)
class OnGrid:
    """Both sides on one grid of losses; `slack` is how far the upper one may lie below f after all, by rounding."""

    promised: FinitePair
    possible: FinitePair
    slack: float


@lru_cache(maxsize=4)
def polygons(function: Function, spacing: float, symmetric: bool) -> tuple[Vertices, Vertices]:
    """Polygons under and over f."""
    alpha, beta = samples(function, spacing)
    slack = seen_accuracy(function, spacing)
    under, over = below(alpha, beta, slack), above(alpha, beta, slack)
    if not symmetric:
        return under, over
    under, over = mirrored(under), mirrored(over)
    # the mirror image must hold f on the right of the diagonal too, at every sample and up to the digits of f
    right = alpha >= beta
    least, most = (np.interp(alpha[right], *np.array(side).T) for side in (under, over))
    if bool(np.any((least > beta[right] + 4 * slack) | (most < beta[right] - 4 * slack))):
        raise InvalidParameter(
            "trade-off", function, "its own inverse, f(f(alpha)) = alpha", "leave out symmetric=True"
        )
    return under, over


def mirrored(vertices: Vertices) -> Vertices:
    """The part left of the diagonal and its mirror image; the hull takes away a wrong bend between them.

    Under f the hull only lowers the polygon; over f it joins points over f by chords. Both stay on their side.
    """
    x, y = np.array(vertices).T
    left = int(np.argmax(x >= y))
    rise, run = x[left] - y[left], (x[left] - y[left]) - (x[left - 1] - y[left - 1])
    middle = x[left] - (x[left] - x[left - 1]) * rise / run
    places = np.concatenate((x[:left], [middle], y[:left][::-1]))
    heights = np.concatenate((y[:left], [middle], x[:left][::-1]))
    if y[0] < 1:
        places, heights = np.append(places, 1.0), np.append(heights, 0.0)
    return tuple(hull(places, heights))


@lru_cache(maxsize=32)
def on_grid(function: Function, step: float, symmetric: bool) -> OnGrid:
    """The sandwich of f at this step."""
    under, over = polygons(function, step / DENSE, symmetric)
    tail = TAIL * seen_accuracy(function, step / DENSE) + 8 * UNIT
    promised = _split(under, step, tail)
    masses, slack = chords(over, step, tail)
    return OnGrid(promised, _pair(step, *masses), slack)


def _split(vertices: Vertices, step: float, tail: float) -> FinitePair:
    """The pair of a polygon with every atom split onto the two grid losses beside it: D only rises."""
    alpha, beta = np.array(vertices).T
    q, p = np.diff(alpha), -np.diff(beta)
    both = (p > 0) & (q > 0)
    reveal, vanish = 1.0 - float(beta[0]), math.fsum(q[~both])
    p, q = p[both], q[both]
    # losses fall along alpha: what is beyond the cut at either end is given up
    kept = (np.cumsum(p) > tail) & (np.cumsum(q[::-1])[::-1] > tail)
    reveal, vanish = reveal + math.fsum(p[~kept]), vanish + math.fsum(q[~kept])
    p, q = p[kept], q[kept]
    if not p.size:
        return from_laws(np.array([1.0, 0.0]), np.array([0.0, 1.0]))
    loss = np.log(p / q)
    size, positive = np.abs(loss), loss >= 0
    # the larger mass of an atom is kept, the smaller may only shrink: a loss away from 0 by more than its rounding
    lift = 2 * UNIT * (2 + size)
    reveal += 2 * math.fsum((lift * p)[~positive])
    vanish += 2 * math.fsum((lift * q)[positive])
    index = np.floor((size + lift) / step)
    far = np.maximum(p, q) * (np.expm1(np.minimum(index * step - size - lift, 0.0)) / math.expm1(-step))
    near = np.maximum(np.maximum(p, q) - far, 0.0)
    places, larger = np.concatenate((index, index + 1)), np.concatenate((near, far))
    smaller, positive = larger * np.exp(-step * places), np.tile(positive, 2)
    places = np.where(positive, places, -places).astype(np.int64)
    first = int(places.min())
    cells = [np.bincount(places - first, np.where(side, larger, smaller)) for side in (positive, ~positive)]
    p, q = (np.asarray(masses, dtype=np.float64) for masses in cells)
    live = np.flatnonzero((p > 0) & (q > 0))
    return _pair(step, live + first, p[live], q[live], reveal, vanish)


def _pair(step: float, index: Any, p: FloatArray, q: FloatArray, reveal: float, vanish: float) -> FinitePair:
    index = np.asarray(index, dtype=np.int64)
    return FinitePair(
        step * index.astype(float),
        p,
        q,
        reveal=reveal,
        vanish=vanish,
        lattice=Lattice(Fraction(0), Fraction(step), index, p),
        relative=32 * UNIT,
        reveal_error=16 * UNIT,
        stated=True,
    )


def _hashable(function: Function) -> Function:
    """Callables that compare by value and have no hash count as themselves alone."""
    try:
        hash(function)
    except TypeError:
        return function if isinstance(function, Table) else partial(function)
    return function


@attrs.frozen
class Sandwich(Family):
    """A trade-off function given by a program; `step` is None until a question decides how fine it must be."""

    kind: ClassVar[str] = "tabulated_tradeoff"  # as which it is written
    stored: ClassVar[bool] = False
    because: ClassVar[str] = "the stated trade-off function (Dong, Roth and Su 2022), held between finite pairs"
    function: Function = attrs.field(converter=_hashable)
    symmetric: bool = False
    step: float | None = None

    def __attrs_post_init__(self) -> None:
        polygons(self.function, WIDE, self.symmetric)  # a function that is no trade-off function is refused at once

    def _held(self) -> OnGrid:
        return on_grid(self.function, USUAL if self.step is None else self.step, self.symmetric)

    def pairs(self) -> dict[str, Pair]:
        """What is promised; `optimistic` has what is possible."""
        return self._tests(self._held().promised)

    def optimistic(self) -> dict[str, Pair]:
        return self._tests(self._held().possible)

    def _tests(self, pair: FinitePair) -> dict[str, Pair]:
        return {"both": pair} if self.symmetric else directed(pair)

    @property
    def sandwiched(self) -> bool:
        return True

    @property
    def is_open(self) -> bool:
        return self.step is None

    def refined(self, step: float) -> Family:
        return attrs.evolve(self, step=step) if self.is_open else self

    @property
    def slack(self) -> float:
        return self._held().slack

    def fields(self) -> dict[str, Any]:
        """A program cannot be written down: its samples can, as `TabulatedTradeOff`."""
        return {"function": tabulated(self.function).to_json(), "symmetric": self.symmetric}

    def in_words(self) -> str:
        return f"trade-off function {getattr(self.function, '__name__', '')}".rstrip(" ")

    def __str__(self) -> str:
        return f"tradeoff({getattr(self.function, '__name__', 'function')})"
