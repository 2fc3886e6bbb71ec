"""What a plan tells about single entries of correlated records: a coupling, propagation, or the whole sequence.

A case is an entry and two values that it can have. A coupling gives each case a law of patterns, the ticks at which its
two copies differ; then delta(epsilon) is at most the mean of what the patterns cost, and the worst case counts. So all
cases are one matrix of weights, and one product with the deltas of all patterns answers for them together.

Reference: theory/joining.md section 2.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from functools import cached_property

import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.compose.loss import Loss
from quiltwork.curves.from_delta import FARTHEST, FromDelta
from quiltwork.joined.patterns import Patterns
from quiltwork.joined.revealing import Revealed
from quiltwork.joined.weighted_sum import Floor
from quiltwork.kinds import not_written
from quiltwork.numbers.rounding import down, up
from quiltwork.numbers.stated import Stated
from quiltwork.pufferfish.prior import ATTAINED

ROUNDS, POINTS = 9, 9  # of a search for epsilon: grids, each inside the last one's cell
SEARCHED = 24  # values of c that are tried by propagation
BETA_POINTS, BETA_SHIFTS = 65, (1e-9, 1e-6, 1e-4, 1e-2, 1e-1)  # for trade-off functions
SUMMED = 1.0 + 1e-10  # rounding of sums of weights
CLEARLY, CLOSE = 1e-3, 1e-6  # by how much revealing must win before its epsilon is searched, and how closely


class Correlated(ABC):
    """What a prior says about the entries of one person, for the patterns of a plan."""

    patterns: Patterns
    because: tuple[str, ...] = ()
    told: tuple[int, ...] = ()  # ticks at which every two contents of a row are asked for
    attained: bool = False  # whether some mechanism with the stated losses tells as much as propagation allows at c = 0

    @cached_property
    def weights(self) -> FloatArray:
        """(cases, profiles): the chance, rounded up, that the copies of a case differ in a pattern of this cost."""
        return np.ones((1, 1))

    @cached_property
    def numbers(self) -> np.ndarray:
        """The profile of each column."""
        return np.array([self.patterns.everything])

    def kappa(self, c: float) -> float:
        """delta(kappa) <= c (e^kappa - 1) for every case, by propagation; infinite where none is built."""
        return self.cost(self.patterns.everything, c)

    @abstractmethod
    def words(self, case: int, number: int) -> str:
        """The entry and the values of a case, and a pattern of this cost."""

    def reveals(self, case: int) -> tuple[Revealed, ...]:
        """Hidden sets of a case, with what the rest tells; none where that is not built."""
        return ()

    @property
    def floors(self) -> tuple[Floor, ...]:
        """What releases of several ticks tell together, where that is known."""
        return ()

    def cost(self, number: int, c: float) -> float:
        """e(W) of a profile: the least e with delta_W(e) <= c (e^e - 1)."""
        return self.patterns.profiles[number].shifted(c)


@not_written("it knows its plan and its prior", "write the plan and the prior")
class UnderPrior(FromDelta):
    """A curve: the worst entry and pair of values."""

    method = "coupling, propagation and revealing"
    close = 1e-9

    def __init__(self, law: Correlated) -> None:
        self.law, self.patterns = law, law.patterns

    # ---- couple

    def coupled(self, epsilons: FloatArray) -> FloatArray:
        """The largest over the cases of the mean of delta_W, rounded up."""
        return np.asarray(self._each_coupled(epsilons).max(axis=0, initial=0.0))

    def _each_coupled(self, epsilons: FloatArray) -> FloatArray:
        """(cases, epsilons)."""
        each = self.law.weights @ self._deltas(epsilons)
        everything = self.patterns.profiles[self.patterns.everything].deltas(epsilons)
        return np.asarray(np.minimum(np.minimum(each * SUMMED, everything), 1.0))

    def _deltas(self, epsilons: FloatArray) -> FloatArray:
        return np.array([self.patterns.profiles[number].deltas(epsilons) for number in self.law.numbers])

    def worst_case(self, delta: float) -> str:
        """The entry, the two values and the pattern that weighs most, by coupling at this delta."""
        epsilon = np.array([min(self._coupled_epsilon(delta), FARTHEST)])
        terms = self.law.weights * self._deltas(epsilon)[:, 0]
        case = int(np.argmax(terms.sum(axis=1) * (1.0 + 1e-9 * (np.arange(len(terms)) == 0))))
        return self.law.words(case, int(self.law.numbers[np.argmax(terms[case])]))

    def _coupled_epsilon(self, delta: float) -> float:
        """Where the coupled bound falls to delta: a grid, and finer ones inside the cell that was found."""
        everything = self.patterns.profiles[self.patterns.everything].losses
        most = max((float(loss.epsilon(delta).upper) for loss in everything), default=0.0)
        low, high = 0.0, min(most, FARTHEST)
        ends = self.coupled(np.array([low, high]))
        if ends[0] <= delta or high == 0.0:
            return 0.0
        if not ends[1] <= delta:
            return most
        grid = np.geomspace(1e-2 * high, high, POINTS + 1)[:-1]
        for _ in range(ROUNDS):
            fits = self.coupled(grid) <= delta
            if fits.any():
                at = int(np.argmax(fits))
                low, high = float(grid[at - 1]) if at else low, float(grid[at])
            else:
                low = float(grid[-1])
            if high - low <= self.close * high:
                break
            grid = np.linspace(low, high, POINTS + 2)[1:-1]
        return high

    # ---- reveal

    def revealed(self, epsilon: float, enough: float = 0.0) -> float:
        """delta of the worst case, each by coupling or by revealing; no more than `enough` is not told apart."""
        epsilon = min(epsilon, FARTHEST)
        coupled, known = self._each_coupled(np.array([epsilon]))[:, 0], dict[Revealed, float]()
        worst = enough
        for case in np.argsort(-coupled, kind="stable").tolist():
            if coupled[case] <= worst:
                break
            best = float(coupled[case])
            for told in self.law.reveals(case):
                if told not in known:
                    known[told] = told.delta(self.patterns.profiles[told.number], epsilon)
                best = min(best, known[told])
                if best <= worst:
                    break
            if best > worst and enough:
                return best
            worst = max(worst, best)
        return worst

    def _revealed_epsilon(self, delta: float, most: float) -> float:
        """Where the better of coupling and revealing falls to delta, if that is clearly below `most`."""
        low, high = 0.0, most * (1.0 - CLEARLY)
        if not 0.0 < most < FARTHEST or not self.revealed(high, delta) <= delta:
            return most
        while high - low > CLOSE * high:
            middle = 0.5 * (low + high)
            low, high = (low, middle) if self.revealed(middle, delta) <= delta else (middle, high)
        return high

    # ---- propagate

    @cached_property
    def pure(self) -> float:
        """epsilon at delta 0 by propagation of largest losses; infinite when one is unbounded."""
        everything = self.patterns.profiles[self.patterns.everything].top
        return min(self.law.kappa(0.0), everything)

    def propagated_epsilon(self, delta: float, most: float) -> float:
        """The least kappa with c (e^kappa - 1) <= delta, if it is below `most`."""
        best = min(self.pure, most)
        if delta <= 0.0 or not math.isfinite(most) or best == 0.0:
            return best
        goal = math.log(delta) - 1e-12
        low = goal - _log_expm1(best)
        kappa = self.law.kappa(math.exp(low))
        if kappa >= best:  # kappa falls with c, and at larger c it has no delta left: nothing is won
            return best
        best, spare = kappa, goal - low - _log_expm1(kappa)  # c (e^kappa - 1) rises with c; what is left of delta
        high, over = math.inf, 0.0
        step = spare
        for _ in range(SEARCHED):
            middle = (
                low + step if math.isinf(high) else low + (high - low) * min(max(spare / (spare + over), 0.05), 0.95)
            )
            kappa = self.law.kappa(math.exp(middle))
            if kappa == 0.0:
                return 0.0
            rest = goal - middle - _log_expm1(kappa)
            if rest >= 0.0:
                won, best = best - min(best, kappa), min(best, kappa)
                low, spare, step = middle, rest, 2.0 * rest
                if won <= 1e-5 * best:
                    break
            else:
                high, over = middle, -rest
            if high - low <= 1e-5:
                break
        return best

    def propagated_delta(self, epsilon: float, most: float) -> float:
        """c (e^epsilon - 1) at the least c whose kappa is no larger, if that is below `most`."""
        if self.pure <= epsilon:
            return 0.0
        if most <= 0.0 or epsilon <= 0.0:
            return most
        high = math.log(most) - _log_expm1(epsilon)
        if self.law.kappa(math.exp(high)) > epsilon:  # a smaller c has no smaller kappa
            return most
        low, best = high - 60.0, most
        for _ in range(SEARCHED):
            if high - low < 1e-3:
                break
            middle = max(0.5 * (low + high), high - 4.0) if high - low > 8.0 else 0.5 * (low + high)
            if self.law.kappa(math.exp(middle)) <= epsilon:
                high, best = middle, min(best, up(math.exp(middle) * math.expm1(epsilon), 8))
            else:
                low = middle
        return best

    # ---- the curve

    def _upper(self, epsilon: float) -> float:
        found = self.revealed(epsilon)
        return self.propagated_delta(epsilon, found) if epsilon <= FARTHEST else found

    def _search(self, delta: float) -> float:
        stated = Stated(delta).below
        if stated <= 0.0:
            return self.pure
        return self.propagated_epsilon(stated, self._revealed_epsilon(stated, self._coupled_epsilon(stated)))

    @cached_property
    def _points(self) -> tuple[FloatArray, FloatArray]:
        """Coupling on a grid, and what propagation says for a few c: each (epsilon, delta) holds by itself."""
        most = self._coupled_epsilon(1e-9)
        epsilons = np.linspace(0.0, max(min(most, 20.0), 0.1), BETA_POINTS)
        kappas = [(self.law.kappa(c), c) for c in BETA_SHIFTS] + [(self.pure, 0.0)]
        kept = [(kappa, up(c * math.expm1(kappa), 8) if c else 0.0) for kappa, c in kappas if kappa <= FARTHEST]
        ends, deltas = (np.array([one[i] for one in kept]) for i in (0, 1))
        found = np.concatenate([self.coupled(epsilons), deltas])
        return np.concatenate([epsilons, ends]), down(1.0 - np.minimum(found, 1.0))

    def _lower_delta(self, epsilon: FloatArray) -> FloatArray:
        found = FromDelta._lower_delta(self, epsilon)
        for loss in self._attained:
            found = np.maximum(found, np.ravel(loss.delta(epsilon).lower))
        for floor in self.law.floors:
            found = np.maximum(found, floor.delta(epsilon))
        return found

    def _lower_epsilon(self, delta: FloatArray) -> FloatArray:
        found = np.zeros_like(delta)
        for loss in self._attained:
            found = np.maximum(found, np.ravel(loss.epsilon(delta).lower))
        for floor in self.law.floors:
            found = np.maximum(found, floor.epsilon(delta))
        if self.law.attained and bool(np.any(delta == 0.0)):
            found = np.where(delta == 0.0, np.maximum(found, self.pure * (1.0 - ATTAINED) - ATTAINED), found)
        return found

    @cached_property
    def _attained(self) -> tuple[Loss, ...]:
        """What queries of one entry's own tick really tell, whatever else is released."""
        return tuple(dict.fromkeys(loss for tick in self.law.told for loss in self.patterns.alone(tick)))


def _log_expm1(x: float) -> float:
    return math.log(math.expm1(x)) if x < 30.0 else x + math.log1p(-math.exp(-x))
