"""What a plan costs in a budget: one loss for each distance vector, of which a pair of neighbours has one.

A filter adds up amounts of each unit on every path, and grants when its rule holds for the sums. For a pair of
neighbours with vector v the plan costs what the loss of v costs; so the largest amount of each unit over all vectors,
each for itself, is what it costs at most, whatever the pair. The losses stay apart: the dominating pair of all of them
together would cost more.

Reference: theory/joining.md sections 1 (Theorem 1, representation 4) and 3.3.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

import attrs

from quiltwork.compose.loss import Loss
from quiltwork.errors import InvalidParameter
from quiltwork.kinds import document


def _losses(given: Any) -> tuple[Loss, ...]:
    found = tuple(dict.fromkeys(given))
    if not found or not all(isinstance(one, Loss) and one.parts and one.side == "worst" for one in found):
        raise InvalidParameter("losses", given, "losses such as quiltwork.gaussian(2.0), for adding and removing")
    return found


@document("worst_of/1", plain=True)
@attrs.frozen
class WorstOf:
    """Losses one of which any pair of neighbours has."""

    schema: ClassVar[str] = "quiltwork/worst_of/1"
    losses: tuple[Loss, ...] = attrs.field(converter=_losses)

    def __mul__(self, times: int) -> Self:
        """So many runs of the same plan: a pair of neighbours has the same vector each time."""
        return type(self)(tuple(times * one for one in self.losses))

    def to_json(self) -> dict[str, Any]:
        """Tagged and versioned."""
        return {"schema": self.schema, "losses": [one.to_json() for one in self.losses]}

    @classmethod
    def from_json(cls, value: Any) -> Self:
        """The inverse of to_json."""
        listed = value.get("losses") if isinstance(value, dict) and value.get("schema") == cls.schema else None
        if not isinstance(listed, list):
            raise InvalidParameter("loss", value, f"an object with schema {cls.schema!r} and losses")
        return cls(tuple(map(Loss.from_json, listed)))

    def __str__(self) -> str:
        return f"worst of {len(self.losses)} losses"
