"""A guarantee over many pairs of neighbours as one release: each pair has one of several losses.

For every ordered pair of neighbours some vector of distances says what all queries lose together. The supremum of the
vectors' profiles is again the profile of a pair (P*, Q*), and it dominates every member; so the whole relation may
stand wherever one dominating pair is asked for.

Composition does not commute with the supremum. In a composition with other releases each vector is composed with the
rest by itself and the worst is taken last: for a pair of neighbours with this vector, the rest loses at most its own
loss. That needs no (P*, Q*), and is tighter. Only one such release can be opened in this way: others, and further
copies of the same one, whose vector may be another, stand as the pair of a chord function above all profiles. A lower
end comes from vectors that some pair of neighbours really has.

Reference: theory/joining.md section 1, Theorem 1 and "Representation".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any, ClassVar

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.compose.dominance import Ladders
from quiltwork.compose.loss import Loss
from quiltwork.compose.releases import Part
from quiltwork.curves.bracket import Bracket
from quiltwork.curves.curve import Ends, Question
from quiltwork.errors import InvalidParameter
from quiltwork.losses.dominating_pair import Pair
from quiltwork.losses.families.constraints import ProfilePoints
from quiltwork.losses.families.pure import Pure
from quiltwork.losses.family import Costs, Family
from quiltwork.numbers.rounding import up

MAX_VECTORS = 400  # that are kept apart; more are replaced by one above them
POINTS, TAIL_POINTS, TAIL = 96, 96, 1e-25  # of the chord function: up to delta 1e-3, and from there to TAIL
FARTHEST = 60.0  # epsilon at which it ends where no epsilon has so small a delta


@attrs.frozen
class Steps:
    """What some pairs of neighbours lose: the least of `losses` at most, and `attained` at least by one of them."""

    losses: tuple[Loss, ...]
    attained: Loss | None = None

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        attained = None if self.attained is None else self.attained.to_json()
        return {"losses": [loss.to_json() for loss in self.losses], "attained": attained}

    @classmethod
    def from_json(cls, value: Any) -> Steps:
        """The inverse of to_json."""
        if not isinstance(value, dict) or not isinstance(value.get("losses"), list) or not value["losses"]:
            raise InvalidParameter("steps", value, "an object with losses and attained")
        real = value.get("attained")
        return cls(tuple(map(Loss.from_json, value["losses"])), None if real is None else Loss.from_json(real))


@attrs.frozen
class WorstVector(Family):
    """One of several compositions, whichever is the worst; which one depends on the pair of neighbours."""

    kind: ClassVar[str] = "worst_vector"
    stored: ClassVar[bool] = False  # a loss reads it by itself: it holds losses
    because: ClassVar[str] = "each pair of neighbours is composed by itself and the worst is taken last"
    steps: tuple[Steps, ...]

    @property
    def several(self) -> bool:
        return True

    def pairs(self) -> dict[str, Pair]:
        return self.above.pairs()

    @property
    def symmetric(self) -> bool:
        return True

    @property
    def sandwiched(self) -> bool:
        return True

    def optimistic(self) -> dict[str, Pair]:
        """Nothing is claimed from below of what is made from it, of samples and mixtures."""
        return Pure(0.0).pairs()

    @property
    def above(self) -> Family:
        """Points of a chord function above all profiles."""
        return _chords(self.steps)

    def group(self, size: int) -> Family:
        """Several steps need not have the same vector: the supremum is what is repeated."""
        return self.above.group(size)

    def costs(self) -> Costs:
        """Of each unit the largest amount over the steps, where it is known for all."""
        return Costs(*(self._most(partial(_amount, unit)) for unit in UNITS))

    def divergence(self, order: float) -> Fraction | None:
        return self._most(lambda family: family.divergence(order))

    def _most(self, amount: Callable[[Family], Fraction | None]) -> Fraction | None:
        found = []
        for one in self.steps:
            amounts = [(part.count, amount(part.family)) for part in one.losses[0].parts]
            if any(known is None for _, known in amounts):
                return None
            found.append(sum((count * known for count, known in amounts if known is not None), Fraction(0)))
        return max(found, default=Fraction(0))

    def fields(self) -> dict[str, Any]:
        return {"steps": [one.to_json() for one in self.steps]}

    def in_words(self) -> str:
        """What neighbours may change, each pair of them in one of several ways."""
        return f"the worst of {len(self.steps)} vectors by which neighbours may move the statistics of a plan"

    def __str__(self) -> str:
        return f"worst of {len(self.steps)} vectors"


def _amount(unit: str, family: Family) -> Fraction | None:
    found: Fraction | None = getattr(family.costs(), unit)
    return found


UNITS = tuple(field.name for field in attrs.fields(Costs))


def worst_of(steps: Sequence[Steps]) -> Loss:
    """The loss of a relation whose pairs of neighbours take these steps: the composition itself when there is one."""
    found = tuple(dict.fromkeys(one for one in steps if any(loss.parts for loss in one.losses)))
    if not found:
        return Loss(())
    if len(found) > MAX_VECTORS:
        losses = [one.losses[0] for one in found]
        ladders = Ladders.of(losses)
        found = (Steps((ladders.loss(ladders.strength(losses, up=True).max(axis=0)),)),)
    one = found[0]
    if len(found) == 1 and len(one.losses) == 1 and one.attained in (None, one.losses[0]):
        return one.losses[0]
    return Loss.of(WorstVector(found))


def worst_vector_from_json(value: Any) -> WorstVector:
    """The inverse of to_json."""
    steps = value.get("steps") if isinstance(value, dict) else None
    if not isinstance(steps, list) or not steps:
        raise InvalidParameter("steps", steps, "a list of objects with losses and attained")
    return WorstVector(tuple(map(Steps.from_json, steps)))


@lru_cache(maxsize=32)
def _chords(steps: tuple[Steps, ...]) -> Family:
    """Upper deltas of the worst step at points so near that chords between them lose little."""

    def epsilon(delta: float) -> float:
        tops = [min(float(loss.epsilon(delta).upper) for loss in one.losses) for one in steps]
        return max(tops)

    top = epsilon(0.0)
    far = top if math.isfinite(top) else epsilon(TAIL)
    far = far if math.isfinite(far) else FARTHEST
    near = min(epsilon(1e-3), far)
    bends = [float(loss.epsilon(0.0).upper) for one in steps for loss in one.losses]
    grid = np.concatenate([np.linspace(0.0, near, POINTS), np.linspace(near, far, TAIL_POINTS + 1)[1:]])
    grid = np.unique(np.concatenate([grid, [bend for bend in bends if bend < far]]))
    deltas = np.zeros(grid.size)
    for one in steps:
        found = np.min([np.ravel(loss.delta(grid).upper) for loss in one.losses], axis=0)
        deltas = np.maximum(deltas, found)
    return ProfilePoints.from_entries(epsilons=grid.tolist(), deltas=np.minimum(deltas, 1.0).tolist())


def worst_renyi(loss: Loss, order: float) -> Bracket:
    """Divergences add up on every path, so that the largest of each release do: no pair above all steps is needed."""
    plain = Loss(tuple(part for part in loss.parts if not part.family.several), loss.side)
    rest = plain.renyi(order)
    lower, upper = float(rest.lower), float(rest.upper)
    for part in loss.parts:
        if isinstance(part.family, WorstVector):
            found = [[Loss(one.parts, loss.side).renyi(order) for one in step.losses] for step in part.family.steps]
            upper += part.count * max(min(float(one.upper) for one in step) for step in found)
            known = [step.attained for step in part.family.steps if step.attained is not None]
            alone = [Loss((part.count * one).parts + plain.parts, loss.side).renyi(order) for one in known]
            lower = max([lower, *(float(one.lower) for one in alone)])
    upper = up(upper, 4 * len(loss.parts))
    return Bracket(min(lower, upper), upper, "epsilon", "Rényi moments of each vector")


def worst_ends(question: Question, loss: Loss) -> Ends:
    """Each step of one such release composed with the rest, the worst last."""
    flat = np.ravel(question.values)

    def ends(parts: Sequence[Part]) -> tuple[FloatArray, FloatArray]:
        together, method = Loss(tuple(parts), loss.side), question.how.get("method")
        if question.quantity == "beta":
            found = together.beta(flat, method=method)
        else:
            ask = together.epsilon if question.quantity == "epsilon" else together.delta
            found = ask(flat, rtol=question.rtol, method=method)
        return np.asarray(found.lower), np.asarray(found.upper)

    opened = next(part for part in loss.parts if part.family.several)
    family = opened.family
    if not isinstance(family, WorstVector):
        raise TypeError(f"{family} has no steps")
    plain = [part for part in loss.parts if not part.family.several]
    others = [Part(part.family.above, part.count) for part in loss.parts if isinstance(part.family, WorstVector)
              and part is not opened]  # fmt: skip
    copies = [Part(family.above, opened.count - 1)] if opened.count > 1 else []
    falls = question.quantity == "beta"
    safe, known = [], []
    for one in family.steps:
        sides = [ends([*step.parts, *copies, *others, *plain])[0 if falls else 1] for step in one.losses]
        safe.append(np.max(sides, axis=0) if falls else np.min(sides, axis=0))
        if one.attained is not None:
            known.append(ends([*(opened.count * one.attained).parts, *plain])[1 if falls else 0])
    if not known:
        known.append(ends(plain)[1 if falls else 0])
    name = f"worst of {len(family.steps)} vectors"
    if falls:
        lower = np.min(safe, axis=0)
        return Ends(lower, np.maximum(np.min(known, axis=0), lower), name)
    upper = np.max(safe, axis=0)
    return Ends(np.minimum(np.max(known, axis=0), upper), upper, name)
