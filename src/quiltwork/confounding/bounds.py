"""Proven bounds on what a composition tells about the secret, when the joint law is unknown or too large.

S - X - Y is a Markov chain, so (Theorem A), whatever the mechanisms' dependence or adaptivity,

    max_i delta_i <= delta <= min( E_t(A_s || A_s'), max_xx' E_t(K_x || K_x') ).

Theorem B (contraction of the hockey stick).  Let a = E_t(A_s || A_s'), U = {A_s > t A_s'}, V = {A_s < t A_s'}.  Then

    delta <= max over x in U, x' in V of  sum_y ( a K_x - (a + t - 1) K_x' )_+ ,

since A_s - t A_s' = a f - (a + t - 1) f' with laws f on U and f' on V, and the sum is convex in both.  The right side
grows with a and falls with t, so an upper end of a and a lower end of t give a bound.  It is a E_t'(K_x || K_x') with
t' = 1 + (t - 1)/a, and any accountant of the data may give that.

A value whose sign is not certain is put into both sets; or into none, which adds at most twice what such values weigh:
once what they gain, and once because V then weighs a + t - 1 up to their weight.  The smaller of both is taken.

Of a loss alone Theorem B is attained: the mechanism that treats all of U as one value and all others as another one,
and loses between them what the loss allows, tells a E_t'(K_x || K_x') exactly.

Reference: theory/confounding.md 2.3, Theorems A and B.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Any, Self

import attrs
import numpy as np

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.compose.loss import Loss, loss_of
from quiltwork.confounding.finite.release import Release, WorstPair
from quiltwork.confounding.pairs import distances
from quiltwork.curves.bracket import Bracket
from quiltwork.curves.finite import MOST, odds_ends
from quiltwork.curves.from_delta import FARTHEST, FromDelta
from quiltwork.curves.guarantee import Guarantee
from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.kinds import document
from quiltwork.numbers.laws import LEAST, Laws
from quiltwork.numbers.rounding import UNIT, down, up
from quiltwork.numbers.stated import Stated

if TYPE_CHECKING:
    from quiltwork.confounding.world import World

BLOCK_ENTRIES = 1 << 22
NEAR, HALVINGS = (1e-12, 1e-9, 1e-6, 1e-4, 1e-2), 40  # of lower ends: how far below the upper end they are sought


@attrs.frozen(eq=False)
class Split:
    """What Theorem B needs of a pair of secrets at one epsilon."""

    amount: float  # a, from above
    odds: float  # t, from below
    gains: np.ndarray  # values x that may lie in U
    losses: np.ndarray  # values x' that may lie in V
    doubt: float = 0.0  # twice the weight, from above, of values that may lie in either

    def sure(self) -> Split:
        """The same without the values in doubt."""
        return attrs.evolve(
            self, gains=np.setdiff1d(self.gains, self.losses), losses=np.setdiff1d(self.losses, self.gains), doubt=0.0
        )


def split(laws: Laws, first: int, second: int, epsilon: float) -> Split:
    """a, t, U and V of this pair, each on its safe side."""
    low, high = laws.masses
    below, above = (float(end) for end in odds_ends(np.array(epsilon)))
    with np.errstate(invalid="ignore", over="ignore", under="ignore"):
        surely = np.where(low[second] > 0, below * low[second] * (1.0 - 4.0 * UNIT) - LEAST, 0.0)
        surely = np.maximum(surely, 0.0)
        perhaps = np.where(high[second] > 0, above * high[second] * (1.0 + 4.0 * UNIT) + LEAST, 0.0)
    gains = np.maximum(high[first] * (1.0 + 4.0 * UNIT) - surely, 0.0)
    amount = min(up(math.fsum(gains)), 1.0) if bool(np.any(gains > 0)) else 0.0
    with np.errstate(over="ignore"):
        losses = np.maximum(perhaps * (1.0 + 4.0 * UNIT) - low[first], 0.0)
    either = (gains > 0) & (low[first] < perhaps)
    doubt = up(2.0 * math.fsum(np.maximum(gains, losses)[either])) if bool(either.any()) else 0.0
    return Split(amount, below, np.flatnonzero(gains > 0), np.flatnonzero(low[first] < perhaps), doubt)


def gain(laws: Laws, first: int, second: int, epsilon: float) -> float:
    """a of this pair from below, by values that are surely in U."""
    low, high = laws.masses
    above = float(odds_ends(np.array(epsilon))[1])
    with np.errstate(invalid="ignore", over="ignore", under="ignore"):
        perhaps = np.where(high[second] > 0, above * high[second] * (1.0 + 4.0 * UNIT) + LEAST, 0.0)
        gains = low[first] * (1.0 - 4.0 * UNIT) - perhaps * (1.0 + 4.0 * UNIT)
    return max(down(math.fsum(gains[gains > 0.0])), 0.0)


class Contraction(FromDelta):
    """Theorem B for every protected pair of secrets: the worst of them."""

    because: tuple[str, ...] = (
        "contraction of the hockey stick by the law of the data (theory/confounding.md 2.3, Theorem B)",
    )
    world: World

    def _upper(self, epsilon: float) -> float:
        best = 0.0
        for first, second in self.world.ordered:
            parts = split(self.world.laws, int(first), int(second), epsilon)
            if parts.amount > best:
                best = max(best, min(self._contracted(parts, best), parts.amount))
        return best

    @abstractmethod
    def _contracted(self, parts: Split, best: float) -> float:
        """The bound of one pair; `best` is what it must exceed to matter."""


@document("world_bounds/1", fields="release")
class Bounds(Contraction):
    """The bounds of one release; as a curve it is the best of them, with the largest single mechanism from below."""

    method = "Theorem B"

    def __init__(self, release: Release) -> None:
        self.release, self.world = release, release.world
        self.protects, self.assumes = self.world.protects, self.world.assumes

    # ---- each bound

    def marginal(self, epsilon: Any) -> Bracket:
        """The largest delta of a single mechanism: no more than the truth."""
        return reduce(Bracket.worst, (one.delta(epsilon) for one in self._alone))

    def cap(self, epsilon: Any) -> Bracket:
        """What the data themselves would tell: no release of them tells more."""
        return self._data.delta(epsilon)

    def data_level(self, epsilon: Any) -> Bracket:
        """What the release tells about the data, any two values: differential privacy of the data."""
        return self._mechanism.delta(epsilon)

    def amplified(self, epsilon: Any) -> FloatArray | float:
        """Theorem B, from above."""
        asked = checks.numbers("epsilon", epsilon, "a number >= 0", 0.0, np.inf)
        found = np.array([self._upper(float(value)) for value in np.ravel(asked)]).reshape(asked.shape)
        return float(found) if found.ndim == 0 else found

    def amplified_epsilon(self, delta: Any) -> float:
        """The smallest epsilon that Theorem B gives."""
        return float(self.epsilon(checks.probability("delta", delta)).upper)

    @cached_property
    def _alone(self) -> list[Release]:
        return [self.release.alone(index) for index in range(len(self.release.sizes))]

    @cached_property
    def _data(self) -> WorstPair:
        return WorstPair(self.world.laws, self.world.ordered, "law of the data")

    @cached_property
    def _mechanism(self) -> WorstPair:
        count = self.world.inputs
        pairs = np.array([(i, j) for i in range(count) for j in range(count) if i != j] or [(0, 0)])
        return WorstPair(self.release.table, pairs, "privacy of the data")

    # ---- the curve

    def _contracted(self, parts: Split, best: float) -> float:
        found = self._worst_values(parts, best)
        if found > best and 0.0 < parts.doubt < found:
            found = min(found, up(self._worst_values(parts.sure(), 0.0) + parts.doubt))
        return found

    def _worst_values(self, parts: Split, best: float) -> float:
        """The largest a E_t'(K_x || K_x') over x in U, x' in V; `best` is what it must exceed to matter.

        Columns are compared in their own scale, where little underflows, and brought back before they are summed.
        """
        table = self.release.table
        if not parts.losses.size:
            return parts.amount
        inner = _inner_odds(parts)
        low = table.low[parts.losses]
        with np.errstate(invalid="ignore", over="ignore", under="ignore"):
            bottom = np.where(low > 0, inner * low * (1.0 - 4.0 * UNIT) - LEAST, 0.0)
        bottom = np.maximum(bottom, 0.0)
        count = table.shape[1]
        rounding = 1.0 + (88.0 + math.log2(count + 1) + count / 4096) * UNIT
        rows = max(1, BLOCK_ENTRIES // max(bottom.size, 1))
        for start in range(0, parts.gains.size, rows):
            top = table.high[parts.gains[start : start + rows]] * (1.0 + 4.0 * UNIT)
            terms = np.maximum(top[:, None, :] - bottom[None, :, :], 0.0)
            if table.exponents.any():
                with np.errstate(under="ignore"):
                    terms = np.where(terms > 0, np.ldexp(terms, table.exponents) + LEAST, 0.0)
            most = float(terms.sum(axis=2).max())
            if most > 0:
                best = max(best, up(parts.amount * most * rounding))
        return best

    def _lower_delta(self, epsilon: FloatArray) -> FloatArray:
        return np.asarray(self.marginal(epsilon).lower)

    def _lower_epsilon(self, delta: FloatArray) -> FloatArray:
        return np.asarray(np.max([np.asarray(one.epsilon(delta).lower) for one in self._alone], axis=0))

    def _upper_beta(self, alpha: FloatArray) -> FloatArray:
        return np.asarray(np.min([np.asarray(one.beta(alpha).upper) for one in self._alone], axis=0))


class Amplified(Contraction):
    """Theorem B with any loss for the mechanisms: it needs no joint law, so that it scales to any composition.

    A lower end is what the worst mechanisms with that loss tell. With `known` there is none: the mechanisms are known
    ones, which may tell less.
    """

    method = "Theorem B, composed loss"
    because = (*Contraction.because, "the composed loss of the mechanisms between values of the data")

    known: bool = False  # whether the mechanisms are known ones

    def __init__(self, world: World, loss: Loss | Guarantee, distance: Any = None) -> None:
        if isinstance(loss, Guarantee):
            _check_replaced(loss)
        elif not isinstance(loss, Loss):
            raise InvalidParameter("loss", loss, "a quiltwork loss, or a guarantee for one changed record")
        elif loss.side != "worst":
            raise InvalidParameter("loss", loss, "a loss in both directions", "values of the data change either way")
        self.world, self.loss = world, loss
        self.distance = None if distance is None else _distances(distance, world.inputs)
        near = (
            "values of the data at distance one, farther as groups"
            if distance is not None
            else "any two values of the data"
        )
        self.protects, self.assumes = world.protects, (*world.assumes, f"the composed loss holds between {near}")
        self._known: dict[tuple[int, float], float] = {}
        self._floors: dict[float, float] = {}

    @classmethod
    def of_known(cls, world: World, loss: Loss, distance: Any = None, known: bool = True) -> Self:
        """The bound of mechanisms that are known, and may tell less than others with that loss."""
        found = cls(world, loss, distance)
        found.known = known
        return found

    def _contracted(self, parts: Split, best: float) -> float:
        found = self._with_loss(parts)
        if self.distance is not None and 0.0 < parts.doubt < found:
            found = min(found, up(self._with_loss(parts.sure()) + parts.doubt))
        return found

    def _with_loss(self, parts: Split) -> float:
        """a E_t'(loss), t' = 1 + (t - 1)/a; never more than a."""
        if not parts.gains.size:
            return 0.0
        if not parts.losses.size:
            return parts.amount
        far = 1 if self.distance is None else int(self.distance[np.ix_(parts.gains, parts.losses)].max())
        if not far:
            return 0.0  # the mechanisms cannot tell these values apart
        odds = _inner_odds(parts)
        inner = odds if math.isinf(odds) else max(down(math.log(odds) * (1.0 - 8.0 * UNIT), 4), 0.0)
        if (far, inner) not in self._known:
            loss = self.loss if far == 1 else loss_of(self.loss).group(far)
            self._known[far, inner] = float(loss.delta(inner).safe)
        share = self._known[far, inner]
        return min(up(parts.amount * share), parts.amount) if share > 0 else 0.0

    # ---- what some mechanism tells that loses so much

    @cached_property
    def attained(self) -> bool:
        """Whether any values may be treated as one: a plan keeps different contents of a record apart."""
        if self.known:
            return False
        if self.distance is not None and bool(np.any(self.distance[~np.eye(self.world.inputs, dtype=bool)] == 0)):
            return False
        return isinstance(self.loss, Loss) or self.world.inputs == 2

    def _floor(self, epsilon: float) -> float:
        """a E_t'(loss) of the pair for which it is the largest, from below; a from below and t' from above."""
        best = 0.0
        for first, second in self.world.ordered if self.attained and math.isfinite(epsilon) else ():
            amount = gain(self.world.laws, int(first), int(second), epsilon)
            if amount <= best:
                continue
            odds = 1.0 + (float(odds_ends(np.array(epsilon))[1]) - 1.0) / amount * (1.0 + 8.0 * UNIT)
            inner = up(math.log(up(odds, 2)) * (1.0 + 8.0 * UNIT), 4)
            if inner not in self._floors:
                self._floors[inner] = float(self.loss.delta(inner).lower)
            best = max(best, down(amount * self._floors[inner]))
        return best

    def _lower_delta(self, epsilon: FloatArray) -> FloatArray:
        known = np.array([self._floor(abs(one)) for one in epsilon.tolist()])
        shares = np.exp(np.minimum(epsilon, 0.0)) * (1.0 - 8.0 * UNIT)  # D(-e) = 1 - e^-e + e^-e D(e)
        below = FromDelta._lower_delta(self, epsilon) + shares * known
        return np.asarray(np.where(epsilon < 0.0, down(below), known))

    def _lower_epsilon(self, delta: FloatArray) -> FloatArray:
        return np.array([self._below(Stated(one).above, self._search(one)) for one in delta.tolist()])

    def _below(self, delta: float, upper: float) -> float:
        """An epsilon at which more than delta is told, near the largest."""
        if not self.attained or not self._floor(0.0) > delta:
            return 0.0
        low, high = 0.0, min(upper, FARTHEST)
        for near in NEAR:
            if self._floor(high * (1.0 - near)) > delta:
                return high * (1.0 - near)
        high *= 1.0 - NEAR[-1]
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if self._floor(middle) > delta else (low, middle)
            if high - low <= NEAR[0] * high:
                break
        return low


def _read(world: World, loss: Loss, distance: Any = None, known: bool = True) -> Amplified:
    """Documents of older releases do not say it: a lower end might be above what a known mechanism tells."""
    return Amplified.of_known(world, loss, distance, checks.flag("known", known))


document("amplified/1", fields="world loss", optional="distance known", read=_read)(Amplified)


def _check_replaced(given: Guarantee) -> None:
    """Two values of the data are one record that changes, not one that comes or goes."""
    if getattr(getattr(given, "notion", None), "kind", None) not in ("replace_one", "entry"):
        raise Unsupported(
            f"a bound about the secret from a guarantee for {given.protects!r}",
            "two values of the data are one record that changes, and only that may differ",
            "ask for that change first: plan.guarantee(world=world), or plan.guarantee().to(replace_one(fixed=...))",
        )
    given.loss()  # refuses what does not add up


def _inner_odds(parts: Split) -> float:
    """t' = 1 + (t - 1)/a from below; infinite only when t is."""
    if math.isinf(parts.odds):
        return math.inf
    return min(max(down(1.0 + (parts.odds - 1.0) / parts.amount * (1.0 - 8.0 * UNIT), 2), 1.0), MOST)


def _distances(distance: Any, count: int) -> np.ndarray:
    table = distances("distance", distance, count, "whole numbers >= 0")
    whole = table.shape == (count, count) and bool(np.all((table <= 2.0**53) & (table == np.rint(table))))
    if not whole or not np.array_equal(table, table.T):
        raise InvalidParameter(
            "distance", table.shape, f"a symmetric ({count}, {count}) table of whole numbers >= 0, or a function"
        )
    return table.astype(np.int64)
