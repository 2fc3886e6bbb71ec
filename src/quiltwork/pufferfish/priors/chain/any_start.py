"""Propagation along a chain of which nothing is known about the first entry.

Cut the chain m entries before the one that is asked for, at x = z.  Given z, what lies further back tells nothing
more, and the entries in between are a chain with a known start, so that their propagation S_z is known.  Whatever the
law of z,

    left side <= max over z of ( log P^m[z, u] / P^m[z, v] + S_z(u, v) ) + max over z of log P^m[z, v] / P^m[z, u].

Proof.  E[V | u] / E[V | v] = (sum w_z A_z(u) / sum w_z A_z(v)) (sum w_z p_z(v) / sum w_z p_z(u)) with weights w_z,
p_z(u) = P^m[z, u] and A_z(u) = p_z(u) E_z[V | u]; each quotient of sums is at most the largest quotient.  Any m will
do, and i entries cost at most i e.

Reference: theory/pufferfish.md 3.5 and 4.2 (all initial laws).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.numbers.matrices import TINY, Powers, powers
from quiltwork.numbers.rounding import UNIT, up
from quiltwork.pufferfish.prior import Translation
from quiltwork.pufferfish.priors.chain.given_start import GivenTranslator
from quiltwork.pufferfish.priors.chain.influence import Place, given_laws, sides
from quiltwork.pufferfish.priors.chain.stationary import BECAUSE, one_side
from quiltwork.pufferfish.translation.propagation import ENDLESS_ENTRIES, OneSide

__all__ = ["AnyTranslator"]

REACH, MOST_STATES = 32, 12  # how far back the cut may be, and up to how many states it is tried


@attrs.frozen(eq=False, slots=False)
class AnyTranslator:
    """Translations of one chain for every initial law."""

    matrix: FloatArray

    @cached_property
    def right(self) -> OneSide:
        """Entries after this one."""
        return one_side(self.matrix)

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
