"""What a plan tells about single entries of a Markov chain: the best of couple, propagate and the whole sequence.

Reference: theory/joining.md section 2.
"""

from __future__ import annotations

import math
from functools import cached_property

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.compose.loss import Loss
from quiltwork.curves.from_delta import FARTHEST, FromDelta
from quiltwork.joined.coupling import numbers_apart, survival
from quiltwork.joined.propagation import Propagation
from quiltwork.joined.sides import Sides
from quiltwork.joined.windows import Windows
from quiltwork.kinds import not_written
from quiltwork.numbers.rounding import up
from quiltwork.numbers.stated import Stated
from quiltwork.pufferfish.priors.chain.chain import MarkovChain

MOST_TERMS = 2_000_000  # windows over all entries; of longer sides the rest counts as everything
ROUNDS, POINTS = 7, 17  # of a search for epsilon: grids, each inside the last one's cell
SEARCHED = 40  # values of c that are tried by propagation
CHORDS = 600  # points of a profile
SUMMED = 1.0 + 1e-12  # rounding of the sums over windows


@attrs.frozen(eq=False, slots=False)
class Profile:
    """delta_W of windows that cost alike: the largest over a few losses, rounded up."""

    losses: tuple[Loss, ...]

    def deltas(self, epsilons: FloatArray) -> FloatArray:
        """At these epsilons, of any sign."""
        found = np.zeros(epsilons.size)
        for loss in self.losses:
            found = np.maximum(found, np.ravel(loss.delta(epsilons, rtol=1e-4).upper))
        return found

    @cached_property
    def top(self) -> float:
        """The largest loss."""
        return max((float(loss.epsilon(0.0).upper) for loss in self.losses), default=0.0)

    @cached_property
    def _chords(self) -> tuple[FloatArray, FloatArray]:
        """e^epsilon - 1 and delta at points so near that chords between them lose little."""
        half = max((float(loss.epsilon(1e-2).upper) for loss in self.losses), default=0.0)
        far = min(self.top, FARTHEST, 40.0 * max(half, 1e-6))
        epsilons = np.geomspace(1e-4 * far, far, CHORDS)
        return np.expm1(epsilons), self.deltas(epsilons)

    def shifted(self, c: float) -> float:
        """The least e with delta(e) <= c (e^e - 1), from the safe side; the largest loss when c = 0.

        delta is convex in g = e^e and lies below its chords, c (g - 1) is a line: where the first chord crosses it.
        """
        if c == 0.0 or self.top == 0.0:
            return self.top
        grown, deltas = self._chords
        over = deltas - c * grown * (1.0 - 1e-12)
        fits = np.flatnonzero(over <= 0.0)
        if not fits.size:
            return self.top
        at = int(fits[0])
        if at == 0:
            return up(math.log1p(grown[0]), 4)
        share = over[at - 1] / (over[at - 1] - over[at])
        crossing = grown[at - 1] + share * (grown[at] - grown[at - 1])
        return min(up(math.log1p(crossing * (1.0 + 1e-12)), 4), self.top)


@not_written("it knows its plan and its prior", "write the plan and the prior")
class UnderChain(FromDelta):
    """A curve: the worst entry and pair of values, for queries whose windows are known."""

    method = "coupling and propagation along the chain"
    close = 1e-9

    def __init__(self, windows: Windows, chain: MarkovChain) -> None:
        self.windows, self.sides = windows, Sides(chain, len(windows.ticks))
        self.propagation = Propagation(self.sides)
        self.profiles: list[Profile] = []
        self._known: dict[tuple[Loss, ...], int] = {}
        self._numbers: dict[tuple[int, int], int] = {}

    # ---- windows

    def _sides_of(self, entry: int) -> tuple[int, int]:
        """How many entries on each side are followed one by one."""
        length = self.sides.length
        most = max(4, int(math.sqrt(MOST_TERMS / length)))
        return min(entry, most), min(length - 1 - entry, most)

    def _profile(self, first: int, last: int) -> int:
        """The number of a window's profile: windows that cost alike share one."""
        key = (first, last)
        if key not in self._numbers:
            losses = self.windows.losses(first, last)
            if losses not in self._known:
                self._known[losses] = len(self.profiles)
                self.profiles.append(Profile(losses))
            self._numbers[key] = self._known[losses]
        return self._numbers[key]

    @cached_property
    def _places(self) -> list[list[list[tuple[int, int]]]]:
        """For each entry the windows by how many entries differ to its left and to its right."""
        length, found = self.sides.length, []
        for i in range(length):
            left, right = self._sides_of(i)
            firsts = [i - n if n < left or left == i else 0 for n in range(left + 1)]
            lasts = [i + n if n < right or right == length - 1 - i else length - 1 for n in range(right + 1)]
            found.append([[(first, last) for last in lasts] for first in firsts])
        return found

    @cached_property
    def _index(self) -> list[np.ndarray]:
        return [np.array([[self._profile(*place) for place in row] for row in rows]) for rows in self._places]

    # ---- couple

    @cached_property
    def _chances(self) -> list[tuple[FloatArray, FloatArray]]:
        """How many entries differ on each side: (n, u, v)."""
        found = []
        for i in range(self.sides.length):
            left, right = self._sides_of(i)
            both = (self.sides.left(i), left), (self.sides.right(i), right)
            one, two = (numbers_apart(survival(steps, count, self.sides.states)) for steps, count in both)
            found.append((one, two))
        return found

    def coupled(self, epsilons: FloatArray) -> FloatArray:
        """The largest over entries and pairs of the mean of delta_W, rounded up."""
        index = self._index
        table = np.array([profile.deltas(epsilons) for profile in self.profiles])
        worst = np.zeros(epsilons.size)
        for i, (left, right) in enumerate(self._chances):
            means = np.einsum("luv,ruv,lre->uve", left, right, table[index[i]], optimize=True)
            means[~self._asked(i)] = 0.0
            worst = np.maximum(worst, means.max(axis=(0, 1)))
        everything = self.profiles[self._profile(0, self.sides.length - 1)].deltas(epsilons)
        return np.minimum(np.minimum(worst * SUMMED, everything), 1.0)

    def worst_case(self, delta: float) -> str:
        """The entry, the two values and the window that weighs most, by coupling at this delta."""
        epsilon = np.array([min(self._coupled_epsilon(delta), FARTHEST)])
        index, table = self._index, np.array([profile.deltas(epsilon)[0] for profile in self.profiles])
        best, found = -1.0, (0, 0, 0, 0, 0)
        for i, (left, right) in enumerate(self._chances):
            terms = np.einsum("luv,ruv,lr->uvlr", left, right, table[index[i]])
            means = np.where(self._asked(i), terms.sum(axis=(2, 3)), -1.0)
            if float(means.max()) > best * (1 + 1e-9):
                u, v = divmod(int(np.argmax(means)), means.shape[1])
                before, after = divmod(int(np.argmax(terms[u, v])), terms.shape[3])
                best, found = float(means.max()), (i, u, v, *self._places[i][before][after])
        i, u, v, first, last = found
        names = [self.sides.chain.states[self.sides.chain.occurring[one]] for one in (u, v)]
        return (
            f"{self.windows.when} {self._tick(i)}, {names[0]} against {names[1]}; what weighs most is a change from "
            f"{self._tick(first)} to {self._tick(last)}"
        )

    def _tick(self, entry: int) -> str:
        return self.windows.tick_names[entry]

    def _asked(self, entry: int) -> np.ndarray:
        """Pairs of values that the entry can have."""
        seen = self.sides.possible[entry]
        return np.asarray(seen[:, None] & seen[None, :] & ~np.eye(len(seen), dtype=bool))

    # ---- propagate

    def _kappa(self, c: float) -> float:
        """The worst kappa when every window costs e(W) at this c."""
        known: dict[int, float] = {}

        def cost(first: int, last: int) -> float:
            number = self._profile(first, last)
            if number not in known:
                known[number] = self.profiles[number].shifted(c)
            return known[number]

        kappas = self.propagation.worst(cost)
        return max(float(kappas[i][self._asked(i)].max(initial=0.0)) for i in range(self.sides.length))

    @cached_property
    def pure(self) -> float:
        """epsilon at delta 0 by propagation of largest losses; infinite when one is unbounded."""
        return self._kappa(0.0)

    def propagated_epsilon(self, delta: float, most: float) -> float:
        """The least kappa with c (e^kappa - 1) <= delta, if it is below `most`."""
        best = min(self.pure, most)
        if delta == 0.0 or not math.isfinite(most) or best == 0.0:
            return best
        low = math.log(delta) - _log_expm1(best)  # at smaller c a kappa that is below `most` has delta to spare
        high = low + 12.0
        for _ in range(SEARCHED):  # c (e^kappa - 1) rises with c: bisection on its logarithm
            if high - low < 1e-7:
                break
            middle = 0.5 * (low + high)
            kappa = self._kappa(math.exp(middle))
            if kappa > 0 and middle + _log_expm1(kappa) <= math.log(delta) - 1e-12:
                low, best = middle, min(best, kappa)
            elif kappa == 0.0:
                low, best = middle, 0.0
            else:
                high = middle
        return best

    def propagated_delta(self, epsilon: float, most: float) -> float:
        """c (e^epsilon - 1) at the least c whose kappa is no larger, if that is below `most`."""
        if self.pure <= epsilon:
            return 0.0
        if most <= 0.0 or epsilon <= 0.0:
            return most
        high = math.log(most) - _log_expm1(epsilon)
        low, best = high - 60.0, most
        for _ in range(SEARCHED):
            middle = 0.5 * (low + high)
            if high - low < 1e-6:
                break
            if self._kappa(math.exp(middle)) <= epsilon:
                high, best = middle, min(best, up(math.exp(middle) * math.expm1(epsilon), 4))
            else:
                low = middle
        return best

    # ---- the curve

    def _upper(self, epsilon: float) -> float:
        found = float(self.coupled(np.array([epsilon]))[0])
        return self.propagated_delta(epsilon, found) if math.isfinite(epsilon) else found

    def _search(self, delta: float) -> float:
        stated = Stated(delta).below
        if stated <= 0.0:
            return min(self.pure, self.profiles[self._profile(0, self.sides.length - 1)].top)
        return self.propagated_epsilon(stated, self._coupled_epsilon(stated))

    def _coupled_epsilon(self, delta: float) -> float:
        """Where the coupled bound falls to delta: a grid, and finer ones inside the cell that was found."""
        if float(self.coupled(np.array([0.0]))[0]) <= delta:
            return 0.0
        if not float(self.coupled(np.array([math.inf]))[0]) <= delta:
            return math.inf
        grid = np.concatenate([[0.0], np.geomspace(1e-3, FARTHEST, POINTS)])
        for _ in range(ROUNDS):
            fits = self.coupled(grid) <= delta
            if not fits.any():
                return math.inf
            at = int(np.argmax(fits))
            low, high = float(grid[max(at - 1, 0)]), float(grid[at])
            if high - low <= self.close * high:
                break
            grid = np.linspace(low, high, POINTS)
        return high

    def _lower_delta(self, epsilon: FloatArray) -> FloatArray:
        found = FromDelta._lower_delta(self, epsilon)
        for loss in self._attained:
            found = np.maximum(found, np.ravel(loss.delta(epsilon).lower))
        return found

    def _lower_epsilon(self, delta: FloatArray) -> FloatArray:
        found = np.zeros_like(delta)
        for loss in self._attained:
            found = np.maximum(found, np.ravel(loss.epsilon(delta).lower))
        return found

    @cached_property
    def _attained(self) -> tuple[Loss, ...]:
        """What queries of one entry's own tick really tell, whatever else is released."""
        asked = [i for i in range(self.sides.length) if self._asked(i).any()]
        return tuple(dict.fromkeys(loss for i in asked for loss in self.windows.alone(i)))


def _log_expm1(x: float) -> float:
    return math.log(math.expm1(x)) if x < 30.0 else x + math.log1p(-math.exp(-x))
