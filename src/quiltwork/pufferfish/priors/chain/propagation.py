"""From per-entry privacy to the secrets of a Markov chain: propagation from both sides of an entry.

eps(u, v) <= e + S_left(u, v) + S_right(u, v): condition on one side at a time, and pay one's own entry once.  The right
side is the chain itself.  The left side is, for a stationary chain, the chain read backwards; with a given first law,
the kernel P(x_(i-1) | x_i) of every entry; and for every first law what `AnyTranslator` proves.

Reference: theory/pufferfish.md 3.4, 3.5, 3.6 (ii) and 4.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import Any, overload

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.numbers.matrices import TINY, Powers, power_error, powers, stationary_error
from quiltwork.numbers.rounding import UNIT, up
from quiltwork.pufferfish.prior import Atoms, Translation
from quiltwork.pufferfish.priors.chain.attained import attained, reversed_chain
from quiltwork.pufferfish.priors.chain.influence import Place, given_laws, sides
from quiltwork.pufferfish.translation.propagation import ENDLESS_ENTRIES, OneSide, Spread
from quiltwork.pufferfish.translation.transport import Transport, differing

BECAUSE = "Lipschitz propagation along the chain: each side lets through what its transition law allows"
MANY_STATES = 40
STEPS, FEW_STEPS = (1, 2, 3, 4, 6, 8, 12, 16), (1, 2, 3, 4, 6, 8)
FAR_STEPS = (12, 16, 24, 32, 48, 64, 96, 128)  # where some shorter steps are impossible
MIN_PROBABILITY = 1e-250
MOST_WORK = 3e6  # entries times cubed states, beyond which only Theorem 6 is used
REACH, MOST_STATES = 32, 12  # how far back the cut may be, and up to how many states it is tried
SAME = 1e-9  # relative: a chain that is so close to itself backwards is taken with a larger error
SUSPECTS, MOST_DIFFERING = (
    4,
    100,
)  # pairs that are tried for a lower end, of each kind; states up to which laws are compared
REMEMBERED = 64  # per-entry losses whose bounds are kept: a search asks for the last one again


def one_side(matrix: FloatArray, entry_error: float = 4 * UNIT) -> OneSide:
    """The tables of one direction: two states need single steps only, others gain from longer ones.

    Where some steps are impossible a table tells nothing until every state reaches what every other one reaches.
    """
    size = len(matrix)
    steps: tuple[int, ...] = (1,) if size == 2 else STEPS if size <= MANY_STATES else FEW_STEPS
    found = powers(matrix, steps[-1], entry_error)
    if size > 2 and not same_reach(found.possible[-1]):
        found = powers(matrix, FAR_STEPS[-1], entry_error)
        steps += tuple(d for d in FAR_STEPS if d > steps[-1] and same_reach(found.possible[d - 1]))
    transport = Transport.of(matrix, power_error(matrix, entry_error))
    return OneSide(LazySpreads(found, steps), steps, transport)


def same_reach(possible: np.ndarray) -> bool:
    """Whether all states reach the same ones."""
    return bool(np.all(possible == possible[0]))


class LazySpreads(Sequence[Spread]):
    """The tables of some powers, each made when it is looked up: long steps are seldom worth it."""

    def __init__(self, found: Powers, steps: Sequence[int]) -> None:
        self._powers, self._steps = found, steps
        self._made: dict[int, Spread] = {}

    def __len__(self) -> int:
        return len(self._steps)

    @overload
    def __getitem__(self, place: int) -> Spread: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Spread]: ...
    def __getitem__(self, place: int | slice) -> Spread | Sequence[Spread]:
        if isinstance(place, slice):
            return [self[i] for i in range(*place.indices(len(self)))]
        if place not in self._made:
            d = self._steps[place]
            self._made[place] = Spread.of(
                self._powers.matrices[d - 1], self._powers.possible[d - 1], d * self._powers.error
            )
        return self._made[place]


@attrs.frozen(eq=False, slots=False)
class _Forward:
    """A chain read forwards, whatever its first entry."""

    matrix: FloatArray

    @cached_property
    def right(self) -> OneSide:
        """Entries after this one."""
        return one_side(self.matrix)


@attrs.frozen(eq=False, slots=False)
class ChainTranslator(_Forward):
    """Translations of one stationary chain; `emission` hides its states behind what they emit."""

    stationary: FloatArray
    length: int | None = None
    emission: Spread | None = None

    @cached_property
    def left(self) -> OneSide:
        """Entries before this one."""
        return one_side(*self._backward)

    @cached_property
    def _backward(self) -> tuple[FloatArray, float]:
        """The chain read backwards, and the relative error of its entries."""
        return reversed_chain(self.matrix, self.stationary), 4 * UNIT + 2.2 * stationary_error(len(self.matrix))

    @cached_property
    def sides(self) -> tuple[OneSide, OneSide]:
        """Left and right; where few states follow each one, a chain that is the same backwards has one side."""
        if self.right.transport is None:
            return self.left, self.right
        backward, error = self._backward
        apart = np.abs(backward - self.matrix) / np.where(self.matrix > 0, self.matrix, 1.0)
        if bool(np.any((backward > 0) != (self.matrix > 0))) or float(apart.max()) > SAME:
            return self.left, self.right
        both = one_side(self.matrix, error + 1.1 * float(apart.max()))
        return both, both

    def own(self, epsilon: float) -> FloatArray:
        """What the entry itself tells about its state."""
        size = len(self.matrix)
        if self.emission is not None:
            return self.emission.each(epsilon)
        return np.asarray(epsilon * (1.0 - np.eye(size)))

    def at(self, epsilon: float, places: Sequence[tuple[int | None, int | None]]) -> list[FloatArray]:
        """The bounds for every ordered pair of states, with so many entries on each side (None for any number)."""
        own = self.own(epsilon)
        sides: list[list[Any]] = []
        for side, counts in zip(self.sides, zip(*places, strict=True), strict=True):
            if sides and side is self.sides[0] and counts == tuple(place[0] for place in places):
                sides.append(sides[0])
                continue
            known = [count for count in counts if count is not None and count <= ENDLESS_ENTRIES]
            finite = side.upto(own, max(known)) if known else []
            endless = side.settled(own) if len(known) < len(counts) else None
            sides.append([endless if count is None or count > ENDLESS_ENTRIES else finite[count] for count in counts])
        return [np.asarray(up(own + left + right, 2)) for left, right in zip(*sides, strict=True)]

    def translations(self, places: Sequence[Place], first: np.ndarray, second: np.ndarray) -> tuple[Translation, ...]:
        """Propagation at these places; two plain states make it exact."""

        @lru_cache(maxsize=REMEMBERED)
        def epsilons(epsilon: float) -> FloatArray:
            found = self.at(epsilon, [(place.before, place.after) for place in places])
            bound = np.concatenate([one[first, second] for one in found])
            return bound if self.length is None else np.minimum(bound, up(self.length * epsilon))

        def lower(epsilon: float) -> float:
            if self.emission is not None:
                return 0.0
            found, most = epsilons(epsilon).reshape(len(places), first.size), 0.0
            place = int(np.argmax(found.max(axis=1)))
            here = places[place]
            if self.length is not None and here.before is None:  # the middle entry
                here = attrs.evolve(here, before=(self.length - 1) // 2, after=self.length // 2)
            for pair in self._suspects(found[place], first, second):
                leaked = attained(self.matrix, self.stationary, int(first[pair]), int(second[pair]), epsilon, here)
                most = max(most, leaked)
            return most

        return (Translation("propagation", BECAUSE, epsilons, lower=lower),)

    def _suspects(self, bounds: FloatArray, first: np.ndarray, second: np.ndarray) -> list[int]:
        """Pairs that may leak most: those with the largest bounds, and those whose laws differ for longest."""
        scores = [bounds]
        if len(self.matrix) <= MOST_DIFFERING:
            scores.append(differing(self.matrix)[first, second])
        return list(
            dict.fromkeys(int(pair) for score in scores for pair in np.argsort(-score, kind="stable")[:SUSPECTS])
        )


@attrs.frozen(eq=False, slots=False)
class GivenTranslator(_Forward):
    """Translations for one chain, entry by entry; `laws` are those of the entries and which states are possible."""

    laws: Sequence[tuple[FloatArray, np.ndarray]]

    @property
    def usable(self) -> bool:
        """Whether no possible state has a probability near underflow, where kernels backwards lose their digits."""
        for law, possible in self.laws:
            rare = (law[:, None] * self.matrix < MIN_PROBABILITY) & (self.matrix > 0)
            if bool(np.any(possible & ((law < MIN_PROBABILITY) | rare.any(axis=1)))):
                return False
        return True

    @cached_property
    def backward(self) -> list[Spread]:
        """The kernel from each entry, the first one excepted, to the one before it."""
        found = []
        for i, (law, possible) in enumerate(self.laws[:-1]):
            weights = law[None, :] * self.matrix.T
            sums = weights.sum(axis=1, keepdims=True)
            # a state that cannot occur has no secret: its row may be any law
            rows = np.where(sums > TINY, weights / np.maximum(sums, TINY), law[None, :])
            reached = possible[None, :] & (self.matrix.T > 0)
            seen = np.where(reached.any(axis=1, keepdims=True), reached, possible[None, :])
            found.append(Spread.of(rows, seen, (2.0 * i + 6.0) * (len(law) + 6) * UNIT))
        return found

    def lefts(self, own: FloatArray) -> list[FloatArray]:
        """What the entries before each one can add."""
        found: list[FloatArray] = [np.zeros_like(own)]
        for spread in self.backward:
            found.append(spread.through(own + found[-1]))
        return found

    def bounds(self, epsilon: float) -> list[FloatArray]:
        """The bound for every ordered pair of states, at each entry."""
        size, count = len(self.matrix), len(self.laws)
        own = epsilon * (1.0 - np.eye(size))
        left, right = self.lefts(own), self.right.upto(own, count - 1)
        return [np.asarray(up(own + left[i] + right[count - 1 - i], 2)) for i in range(count)]

    def translations(
        self, places: Sequence[Place], silent: Sequence[np.ndarray], first: np.ndarray, second: np.ndarray
    ) -> tuple[Translation, ...]:
        """Propagation at these places; a place that stands for several entries takes the worst of them."""
        count = len(self.laws)
        if not self.usable or count > ENDLESS_ENTRIES:
            return ()

        def epsilons(epsilon: float) -> FloatArray:
            bounds = self.bounds(epsilon)
            found = []
            for place, quiet in zip(places, silent, strict=True):
                worst = np.max([bounds[i] for i in _entries(place, count)], axis=0)
                found.append(np.where(quiet, 0.0, np.minimum(worst[first, second], up(count * epsilon))))
            return np.concatenate(found)

        return (Translation("propagation", BECAUSE, epsilons),)


def _entries(place: Place, count: int) -> range:
    """The entries that a place stands for."""
    if place.before is None or place.after is None:
        return range(count)
    return range(place.before, count - place.after)


@attrs.frozen(eq=False, slots=False)
class AnyTranslator(_Forward):
    """Translations of one chain of which nothing is known about the first entry.

    Cut the chain m entries before the one that is asked for, at x = z.  Given z, what lies further back tells nothing
    more, and the entries in between are a chain with a known start, so that their propagation S_z is known.  Whatever
    the law of z,

        left side <= max over z of ( log P^m[z, u] / P^m[z, v] + S_z(u, v) ) + max over z of log P^m[z, v] / P^m[z, u].

    Proof.  E[V | u] / E[V | v] = (sum w_z A_z(u) / sum w_z A_z(v)) (sum w_z p_z(v) / sum w_z p_z(u)) with weights w_z,
    p_z(u) = P^m[z, u] and A_z(u) = p_z(u) E_z[V | u]; each quotient of sums is at most the largest quotient.  Any m
    will do, and i entries cost at most i e.
    """

    @cached_property
    def _steps(self) -> Powers:
        return powers(self.matrix, REACH)

    @cached_property
    def _known(self) -> list[GivenTranslator]:
        """The chain from each first state."""
        starts = np.eye(len(self.matrix))
        return [GivenTranslator(self.matrix, given_laws(self.matrix, start, REACH + 1)) for start in starts]

    def cuts(self, epsilon: float) -> list[FloatArray]:
        """The bound on the left side when it is cut m entries back, m = 1, 2, ...; the least so far."""
        size = len(self.matrix)
        own = epsilon * (1.0 - np.eye(size))
        lefts = [known.lefts(own) for known in self._known]
        columns = sides(self._steps).left
        found: list[FloatArray] = []
        for m in range(1, REACH + 1):
            matrix, possible = self._steps.matrices[m - 1], self._steps.possible[m - 1]
            with np.errstate(divide="ignore"):
                top = np.where(possible, np.log(np.maximum(matrix, TINY)), -np.inf)
                bottom = np.where(possible & (matrix > TINY), np.log(matrix), -1e300)
            with np.errstate(invalid="ignore"):
                told = [top[z][:, None] - bottom[z][None, :] + lefts[z][m] for z in range(size)]
                worst = np.max(told, axis=0) + columns[m - 1].T
            # a state that m steps cannot reach: nothing is known
            worst = np.where(np.isnan(worst) | (worst > 1e200) | (worst == -np.inf), np.inf, worst)
            deepest = float(np.abs(top[possible]).max(initial=0.0))
            slack = 4.0 * m * self._steps.error + 32.0 * UNIT * (1.0 + deepest)
            worst = np.maximum(worst, 0.0) + slack
            np.fill_diagonal(worst, 0.0)
            found.append(np.asarray(worst if not found else np.minimum(worst, found[-1])))
        return found

    def translations(self, places: Sequence[Place], first: np.ndarray, second: np.ndarray) -> tuple[Translation, ...]:
        """Propagation at these places; one place may stand for every later entry, and a merged one for all."""
        if not all(known.usable for known in self._known):
            return ()

        def epsilons(epsilon: float) -> FloatArray:
            own = epsilon * (1.0 - np.eye(len(self.matrix)))
            cuts, found = self.cuts(epsilon), []
            endless = self.right.settled(own)
            for place in places:
                after = endless
                if place.after is not None and place.after <= ENDLESS_ENTRIES:
                    after = self.right.after(own, place.after)
                found.append(up(own + self._left(place, epsilon, cuts) + after, 2)[first, second])
            return np.concatenate(found)

        return (Translation("propagation", BECAUSE, epsilons),)

    def _left(self, place: Place, epsilon: float, cuts: Sequence[FloatArray]) -> FloatArray:
        size = len(self.matrix)
        if place.before is None:  # any entry: the worst of all, however many there are before it
            return np.asarray(np.max([cuts[-1], *(self._at(i, epsilon, cuts) for i in range(REACH + 1))], axis=0))
        return self._at(place.before, epsilon, cuts) if place.before else np.zeros((size, size))

    def _at(self, index: int, epsilon: float, cuts: Sequence[FloatArray]) -> FloatArray:
        whole = up(index * epsilon) * (1.0 - np.eye(len(self.matrix)))
        return np.asarray(np.minimum(whole, cuts[min(index, REACH) - 1])) if index else whole


def told(own: FloatArray, other: FloatArray, error: float) -> tuple[FloatArray, FloatArray]:
    """Weights of one law and log ratios against the other, both rounded up; `error` is relative."""
    seen = own > 0
    with np.errstate(divide="ignore"):
        losses = np.log(own[seen]) - np.log(other[seen])
    with np.errstate(invalid="ignore"):
        slack = np.where(np.isfinite(losses), 2.2 * error + 8.0 * UNIT * (1.0 + np.abs(losses)), 0.0)
    return np.asarray(up(own[seen] * (1.0 + 1.1 * error))), np.asarray(losses + slack)


def chain_atoms(forward: Powers, stationary: FloatArray, first: int, second: int, size: int) -> Atoms:
    """What the two nearest entries outside the interval of this size that tells least tell, as a finite law.

    Given x_i the left and the right neighbour are independent: the loss of both is the sum of two losses.
    """
    matrix = forward.matrices[0]
    entry_error = 4 * UNIT + 2.2 * stationary_error(len(matrix))
    backward = powers(reversed_chain(matrix, stationary), size, entry_error)

    def both(left: int) -> list[tuple[FloatArray, FloatArray]]:
        found = []
        for steps, distance in ((backward, left), (forward, size + 1 - left)):
            rows = steps.matrices[distance - 1]
            found.append(told(rows[first], rows[second], distance * steps.error))
        return found

    near, far = min((both(left) for left in range(1, size + 1)), key=lambda pair: pair[0][1].max() + pair[1][1].max())
    weights = up(np.multiply.outer(near[0], far[0]).ravel())
    return Atoms(weights, up(np.add.outer(near[1], far[1]).ravel()))
