"""The worst of many compositions: one curve over all reachable vectors.

delta(eps) is the largest of the vectors' deltas, which is again convex in e^eps; epsilon and beta follow. Vectors whose
Chernoff bound lies below what another one is known to cost are never composed.

Reference: theory/granularity.md section 3, Theorem 1 ("compose per vector, take the maximum last").
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, cast

import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.compose.dominance import Ladders
from quiltwork.compose.engines.characteristic import log_peak
from quiltwork.compose.loss import Loss
from quiltwork.compose.worst_vector import Steps, WorstVector, worst_of
from quiltwork.curves.bracket import Bracket
from quiltwork.curves.curve import BETA_RTOL, BaseCurve, Ends
from quiltwork.curves.guarantee import value_of
from quiltwork.kinds import document
from quiltwork.tables.worst_step.additive import TILTS, loss_moments
from quiltwork.tables.worst_step.many_compositions import OUTSIDE, ManyCompositions
from quiltwork.tables.worst_step.vectors import Bound, Reach, Vector

MOST_COMPOSED = 400  # distinct releases composed for one question; vectors that are left keep their Chernoff bound
MOST_WITNESSED = 100  # of them for the witness
FIRST, MOST_FIRST = 8, 120  # vectors composed one by one before anything else, and the releases in them
WITNESSES = 3  # reachable vectors that are composed in any case
CHERNOFF, GRID = "Chernoff bounds", "one grid for all"


@document("worst_vector/1", fields="vectors bounds")
class Worst(BaseCurve):
    """A curve: the maximum over vectors, with bounds for those that were not listed."""

    def __init__(self, vectors: Sequence[Vector], bounds: Sequence[Bound] = (), *, reach: Any = None) -> None:
        """With `reach` given `later`, the search for what one step can do starts with the first question."""
        self._reach: Any = Reach(tuple(vectors), tuple(bounds)) if reach is None else reach

    @property
    def reach(self) -> Reach:
        """Everything that one step can do."""
        return cast(Reach, value_of(self._reach))

    @cached_property
    def vectors(self) -> tuple[Vector, ...]:
        """One vector for each loss, a reachable one where there is one."""
        found: dict[Loss, Vector] = {}
        for vector in self.reach.vectors:
            if vector.loss not in found or (vector.exact and not found[vector.loss].exact):
                found[vector.loss] = vector
        return tuple(found.values())

    @property
    def bounds(self) -> tuple[Bound, ...]:
        """Bounds for the vectors that were not listed."""
        return self.reach.bounds

    def as_loss(self) -> Loss:
        """The worst vector as a loss."""
        return worst_of(self._steps)

    @property
    def _steps(self) -> list[Steps]:
        steps = [Steps((vector.loss,), vector.attained if vector.exact else None) for vector in self.vectors]
        return [*steps, *(Steps(bound.losses) for bound in self.bounds)]

    def to_prove(self) -> Loss:
        """Every vector with what some neighbours attain, for proofs: a bound is never taken for the truth."""
        return Loss.of(WorstVector(tuple(dict.fromkeys(self._steps)))) if self._steps else Loss(())

    def _epsilon(self, delta: FloatArray, rtol: float) -> Ends:
        return self._worst(lambda loss: _ends(loss.epsilon(delta, rtol=rtol)), self._loose_epsilon(delta), 0.0, rtol)

    def _delta(self, epsilon: FloatArray, rtol: float) -> Ends:
        return self._worst(lambda loss: _ends(loss.delta(epsilon, rtol=rtol)), self._loose_delta(epsilon), 0.0, rtol)

    def _beta(self, alpha: FloatArray) -> Ends:
        # the least beta is the largest -beta
        loose = -self._loose_beta(alpha)
        return _negative(self._worst(lambda loss: _negative(_ends(loss.beta(alpha))), loose, -1.0, BETA_RTOL))

    def __repr__(self) -> str:
        return f"<Worst of {len(self.vectors)} vectors" + (f" and {len(self.bounds)} bounds>" if self.bounds else ">")

    def witness(self, delta: float, rtol: float = 1e-3) -> Vector | None:
        """The reachable vector with the largest epsilon at this delta, among the most suspicious ones."""
        x = np.array([delta])
        loose = self._loose_epsilon(x)[:, 0]
        best, value, composed = None, -1.0, 0
        exact = [i for i in np.argsort(-loose, kind="stable") if self.vectors[i].exact]
        for i in exact[:FIRST]:
            if loose[i] > value and composed <= MOST_WITNESSED:
                composed += len(self.vectors[i].loss.parts)
                found = float(np.asarray(self.vectors[i].loss.epsilon(x, rtol=rtol).upper)[0])
                if found > value:
                    best, value = self.vectors[i], found
        return best

    # ---- the maximum

    def _worst(self, ask: Callable[[Loss], Ends], loose: FloatArray, least: float, rtol: float) -> Ends:
        """The largest answer; vectors that cannot be the worst, by their loose bounds, are not composed.

        The most suspicious ones are composed first. The others are taken together: a composition that dominates all of
        them, when it is no worse than what was found, answers for all; otherwise they are halved.
        """
        state = _State(np.full(loose.shape[1], least), np.full(loose.shape[1], least), rtol)
        order = np.argsort(-loose.max(axis=1), kind="stable")
        done, taken = 0, set[int]()
        for i in order[:FIRST]:
            if done and state.composed >= MOST_FIRST:
                break
            sharp = done > 0 and self._many is not None and state.absorbs(loose[i], GRID)
            if not done or not (sharp or bool(np.all(loose[i] <= state.upper))):
                state.take(ask(self.vectors[i].loss), self.vectors[i], ask)
                taken.add(int(i))
            done += 1
        seen = 0
        for i in [i for i in order if self.vectors[i].exact][:WITNESSES]:
            if i not in taken and seen <= MOST_WITNESSED and not bool(np.all(loose[i] <= state.lower)):
                state.witness(ask(self.vectors[i].attained))
                seen += len(self.vectors[i].attained.parts)
        groups = [order[done:]]
        while groups:
            group = groups.pop()
            group = group[[not state.absorbs(loose[i], self._loose) for i in group]] if group.size else group
            if not group.size:
                continue
            if state.composed >= MOST_COMPOSED:
                state.raise_to(loose[group].max(axis=0), self._loose)
            elif group.size == 1:
                state.take(ask(self.vectors[group[0]].loss), self.vectors[group[0]], ask)
            else:
                envelope = self._ladders.loss(self._strengths[group].max(axis=0))
                state.composed += len(envelope.parts)
                if not state.absorbs(ask(envelope).upper, "their envelope"):
                    groups += self._halves(group)
        for bound in self.bounds:
            upper = np.min([ask(loss).upper for loss in bound.losses], axis=0)
            state.raise_to(upper, f"bound by {bound.method}")
        count = len(self.vectors)
        name = f"worst of {count} vector{'s' if count != 1 else ''}: {', '.join(state.names)}"
        return Ends(state.lower, state.upper, name)

    @cached_property
    def _ladders(self) -> Ladders:
        return Ladders.of(vector.loss for vector in self.vectors)

    @cached_property
    def _strengths(self) -> FloatArray:
        return self._ladders.strength([vector.loss for vector in self.vectors], up=True)

    def _halves(self, group: np.ndarray) -> list[np.ndarray]:
        """Two groups of vectors that are more alike, split where they differ most."""
        rows = self._strengths[group]
        widest = int(np.argmax(rows.std(axis=0)))
        order = group[np.argsort(rows[:, widest], kind="stable")]
        return [order[: order.size // 2], order[order.size // 2 :]]

    # ---- bounds of all vectors at once

    @cached_property
    def _many(self) -> ManyCompositions | None:
        """Where nearly every loss is another, so that few envelopes stand for many: all on one grid."""
        if len(self.vectors) <= FIRST or not self._ladders.coarse:
            return None
        total, _, largest = self._moments
        with np.errstate(all="ignore"):
            passed = np.nanmin((total - math.log(OUTSIDE)) / TILTS, axis=1)
        return ManyCompositions([vector.loss for vector in self.vectors], np.minimum(passed, largest))

    @property
    def _loose(self) -> str:
        return CHERNOFF if self._many is None else GRID

    @cached_property
    def _moments(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Of every vector: log moments at TILTS, the mass that reveals everything, and the largest loss."""
        found = [loss_moments(vector.loss) for vector in self.vectors]
        logs = np.array([one.logs for one in found]) + 1e-12
        reveals = -np.expm1(-np.array([one.hidden for one in found])) * (1 + 1e-12)
        return logs, reveals, np.array([one.largest for one in found]) * (1 + 1e-12)

    def _loose_epsilon(self, delta: FloatArray) -> FloatArray:
        """Chernoff bounds, or the largest loss where that is less: vectors x deltas."""
        if len(self.vectors) < 2:
            return np.full((len(self.vectors), delta.size), math.inf)
        total, reveal, tops = self._moments
        found = np.empty((len(self.vectors), delta.size))
        with np.errstate(all="ignore"):
            for j, value in enumerate(delta):
                room = np.log(np.maximum(value - reveal, 0.0))
                bounds = (total + log_peak(TILTS) - room[:, None]) / TILTS
                found[:, j] = np.min(np.where(np.isnan(bounds), math.inf, bounds), axis=1)
        found = np.maximum(found + 1e-9 * (1 + np.abs(found)), 0.0)
        found = np.minimum(found, tops[:, None])
        return found if self._many is None else np.minimum(found, self._many.epsilon(delta))

    def _loose_delta(self, epsilon: FloatArray) -> FloatArray:
        found = self._chernoff_delta(epsilon)
        return found if self._many is None else np.minimum(found, self._many.delta(epsilon))

    def _chernoff_delta(self, epsilon: FloatArray) -> FloatArray:
        if len(self.vectors) < 2:
            return np.ones((len(self.vectors), epsilon.size))
        total, reveal, _ = self._moments
        found = np.empty((len(self.vectors), epsilon.size))
        with np.errstate(all="ignore"):
            for j, value in enumerate(epsilon):
                logs = total + log_peak(TILTS) - value * TILTS
                best = np.min(np.where(np.isnan(logs), math.inf, logs), axis=1)
                found[:, j] = np.exp(np.minimum(best, 0.0)) * (1 + 1e-9) + reveal + 1e-300
        return np.minimum(found, 1.0)

    def _loose_beta(self, alpha: FloatArray) -> FloatArray:
        """beta >= 1 - delta(eps) - e^eps alpha and its mirror, for every epsilon."""
        epsilon = np.concatenate((np.linspace(0.0, 2.0, 41), np.geomspace(2.1, 100.0, 60)))
        kept = 1.0 - self._chernoff_delta(epsilon)
        found = np.empty((len(self.vectors), alpha.size))
        for j, value in enumerate(alpha):
            best = np.maximum(kept - np.exp(epsilon) * value, np.exp(-epsilon) * (kept - value)).max(axis=1)
            found[:, j] = np.maximum(best * (1 - 1e-9) - 1e-12, 0.0)
        return found


class _State:
    """The largest answer so far."""

    def __init__(self, lower: FloatArray, upper: FloatArray, rtol: float) -> None:
        self.lower, self.upper, self.rtol = lower, upper, rtol
        self.composed, self.names = 0, dict[str, None]()

    def absorbs(self, upper: FloatArray, name: str) -> bool:
        """Whether an answer at most this large widens the result by less than was allowed; then it is taken in."""
        room = np.where(np.isfinite(self.lower), np.abs(self.lower), 0.0) * self.rtol / 2
        if not bool(np.all((upper <= self.upper) | (upper <= self.lower + room))):
            return False
        self.raise_to(upper, name)
        return True

    def raise_to(self, upper: FloatArray, name: str) -> None:
        """Vectors that were not composed one by one cost at most this."""
        if not bool(np.all(upper <= self.upper)):
            self.upper = np.maximum(self.upper, upper)
            self.names[name] = None

    def take(self, found: Ends, vector: Vector, ask: Callable[[Loss], Ends]) -> None:
        self.composed += max(len(vector.loss.parts), 1)
        self.names[found.method] = None
        self.upper = np.maximum(self.upper, found.upper)
        if vector.exact:
            self.witness(found if vector.attained == vector.loss else ask(vector.attained))

    def witness(self, found: Ends) -> None:
        """A reachable step costs at least this."""
        self.lower = np.maximum(self.lower, found.lower)


def _ends(found: Bracket) -> Ends:
    return Ends(np.asarray(found.lower), np.asarray(found.upper), found.method)


def _negative(ends: Ends) -> Ends:
    return Ends(-ends.upper + 0.0, -ends.lower + 0.0, ends.method)
