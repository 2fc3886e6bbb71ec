"""Propagation through zeros: what the next entry lets through, pair by pair, where few states follow each one.

When a person only moves to neighbouring cells, two cells that are far apart have no next cell in common.  The ratio of
their laws is infinite, and `propagation`, with one slope for all pairs of states, lets everything through.  Yet
neighbouring cells tell nearly the same, so that each pair of states needs a slope of its own.

Theorem.  Let g > 0 have g(y) <= e^L[y, w] g(w) for all states y, w.  If pi >= 0 has

    sum over w of pi(y, w) = M_u(y)   and   sum over y of pi(y, w) e^L[y, w] <= e^kappa M_v(w)   for every y and w,

then M_u . g <= e^kappa M_v . g.

Proof.  M_u . g = sum of pi(y, w) g(y) <= sum over w of g(w) sum over y of pi(y, w) e^L[y, w] <= e^kappa M_v . g.

Only states that can follow u or v take part, and nothing is divided by zero: where M_v(w) = 0, pi(y, w) = 0.  The least
kappa is a linear program (`kernels`) whose dual is the worst g, so that nothing is lost.

Corollary.  Let V be the likelihood of a mechanism in which one entry's value y rather than w costs own[y, w], and
S_n[u, v] a bound on log E[V | u] / E[V | v] over the n entries beyond one of value u or v.  Then S_0 = 0 and
S_n = kappa(own + S_(n-1)) are such bounds; and where S is a bound for every n, min(S, C) is one as soon as

    min(S, kappa(own + C)) <= C,

because kappa rises with L: by induction S_n <= C.  For small losses kappa is the cost of the best coupling of two next
entries, and S over the loss of an entry is how many entries it takes until two coupled chains meet.

Which C to try is guessed: the expected number of entries in which the two laws differ, improved by iteration.

Reference: theory/pufferfish.md 3.3 (kernels as certificates) and 3.5 (one slope for all pairs).
"""

from __future__ import annotations

import math
from functools import cached_property

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.numbers.rounding import UNIT, up
from quiltwork.pufferfish.translation.kernels import Kernels

MOST_FOLLOWING, MOST_WORK = 9, 400_000  # states after one; numbers in all programs together
MOST_SLOPE = 30.0  # beyond this e^L spoils the solver's digits, and other bounds are better
MEETINGS, MET = 1000, 0.05  # entries that are compared; until laws differ by so little
CELLS = 32  # losses of an entry in each octave
ROUNDS, FEW_ROUNDS = 64, 8  # of a search for an anchor; from an anchor on
PERIOD, FASTEST = 8, 0.95  # after how many rounds a search jumps ahead; the slowest fall of steps that is trusted
SETTLED, RAISED = 0.05, (1.03, 1.1, 1.25)  # a step that is small against an entry's loss; what guesses are raised by


@attrs.frozen(eq=False, slots=False)
class Transport:
    """The kernels of one matrix of transitions whose entries have this relative error."""

    matrix: FloatArray
    error: float
    _anchors: dict[int, tuple[Kernels, FloatArray] | None] = attrs.field(init=False, factory=dict)
    _found: dict[tuple[int, bytes], FloatArray] = attrs.field(init=False, factory=dict)

    @classmethod
    def of(cls, matrix: FloatArray, error: float) -> Transport | None:
        """None where nothing is impossible, or too many states follow one."""
        size, following = len(matrix), int((matrix > 0).sum(axis=1).max())
        few = following <= MOST_FOLLOWING and (size * following) ** 2 <= MOST_WORK
        few = few and size > 2 and not bool(np.all(matrix > 0))
        return cls(matrix, error) if few else None

    def through(self, slope: FloatArray, kernels: Kernels | None = None) -> FloatArray:
        """kappa of every ordered pair, rounded up; `kernels` are where the search starts, and change."""
        largest = float(slope.max())
        if not largest <= MOST_SLOPE:
            return np.where(np.eye(len(slope), dtype=bool), 0.0, max(largest, 0.0))
        found = (kernels or Kernels.of(self.matrix)).least(slope)
        # true rows differ by `error` and add up to 1: what is common to all g counts no error
        slack = 4.0 * self.error * min(1.0, math.expm1(largest)) + 16.0 * (len(slope) + 8) * UNIT
        found = np.asarray(up(np.maximum(found, 0.0) * (1.0 + 32.0 * UNIT) + slack, 2))
        np.fill_diagonal(found, 0.0)
        return found

    def settled(self, own: FloatArray, known: FloatArray) -> FloatArray:
        """The least bound for a side of any length that is found, next to one that is `known`; it may be infinite.

        What holds for a larger loss holds: losses are raised to the next of `CELLS` in each octave, and solved once.
        """
        cost = float(own.max())
        if not 0.0 < cost <= MOST_SLOPE:
            return known
        cell = math.ceil(CELLS * math.log2(cost))
        raised = np.maximum(own / cost * 2.0 ** (cell / CELLS), own)
        key = cell, raised.tobytes()
        if key not in self._found:
            self._found[key] = self._solved(raised)
        return np.asarray(np.minimum(known, self._found[key]))

    def _solved(self, own: FloatArray) -> FloatArray:
        """From the bound where every entry costs the next power of 2, scaled down as far as it then is a bound."""
        share, power = math.frexp(float(own.max()))  # own <= 2^power
        anchor = self._anchor(power - 1 if share == 0.5 else power)
        if anchor is None:
            return np.full(own.shape, np.inf)
        kernels, above = anchor[0].copy(), anchor[1]
        for raised in RAISED if share > 0.5 else ():
            found = self._above(own, share * raised * above, above, kernels, FEW_ROUNDS)
            if found is not None:
                return found
        return above

    def _anchor(self, power: int) -> tuple[Kernels, FloatArray] | None:
        """A bound where every entry costs this power of 2, and the kernels that show it; None when none is found."""
        if power not in self._anchors:
            cost, kernels = math.ldexp(1.0, power), Kernels.of(self.matrix)
            own = cost * (1.0 - np.eye(len(self.matrix)))
            unknown = np.full(own.shape, np.inf)
            found = self._above(own, RAISED[0] * self._near(own, kernels), unknown, kernels, ROUNDS)
            self._anchors[power] = None if found is None else (kernels, found)
        return self._anchors[power]

    def _near(self, own: FloatArray, kernels: Kernels) -> FloatArray:
        """About where iteration settles: a guess, with jumps ahead as if all steps fell by the same ratio."""
        cost = float(own.max())
        now, last = cost * self._meeting, np.ones(own.shape)
        for n in range(1, ROUNDS + 1):
            if not float((own + now).max()) <= MOST_SLOPE:
                break
            new = self.through(own + now, kernels)
            step, now = new - now, new
            if n % PERIOD == 0:
                if float(step.max()) <= SETTLED * cost:
                    break
                ratio = min(max(float((step * last).sum() / (last * last).sum()), 0.0), FASTEST)
                now = np.maximum(now + step * (ratio / (1.0 - ratio)), 0.0)
            last = step
        return now

    def _above(
        self, own: FloatArray, guess: FloatArray, known: FloatArray, kernels: Kernels, rounds: int
    ) -> FloatArray | None:
        """A bound next to what is known: a guess that falls until it maps to something no larger."""
        now, held = np.minimum(guess, known), False
        for _ in range(rounds):
            if not float((own + now).max()) <= MOST_SLOPE:
                return None
            image = np.minimum(self.through(own + now, kernels), known)
            held = held or bool(np.all(image <= now))
            fall, now = float((now - image).max()), np.minimum(now, image) if held else image
            if held and fall <= SETTLED * float(own.max()):
                break
        return now if held else None

    @cached_property
    def _meeting(self) -> FloatArray:
        return differing(self.matrix)


def differing(matrix: FloatArray) -> FloatArray:
    """About how many entries further on the laws after each two states differ: the sum of distances in variation."""
    total, power, last = np.zeros(matrix.shape), matrix, np.inf
    for _ in range(MEETINGS):
        distance = 0.5 * np.abs(power[:, None, :] - power[None, :, :]).sum(axis=2)
        total += distance
        largest = float(distance.max())
        if largest <= MET:
            return np.asarray(total + distance * (largest / max(last - largest, MET * largest)))
        power, last = power @ matrix, largest
    return total
