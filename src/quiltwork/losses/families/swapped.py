"""A release seen from the other world: what "remove" and "add" mean is exchanged.

A replaced record is removed from one query and added to another. Both belong to one test, so the pair of the second one
must be turned before they are composed.

Reference: theory/granularity.md section 3.3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import attrs

from quiltwork.losses.family import RELEASE, Derived, Family, parameter

if TYPE_CHECKING:
    from quiltwork.losses.dominating_pair import Pair

_OTHER = {"both": "both", "remove": "add", "add": "remove"}


@attrs.frozen
class Turned(Derived):
    """A release whose two laws are exchanged: p when the record is not there, q when it is."""

    kind: ClassVar[str] = "turned"
    words: ClassVar[str] = "{of}, with removing and adding exchanged"
    base: Family = attrs.field(**parameter("of", RELEASE))

    @property
    def because(self) -> str:  # type: ignore[override]
        return self.base.because

    def pairs(self) -> dict[str, Pair]:
        return {_OTHER[name]: pair for name, pair in self.base.pairs().items()}

    def optimistic(self) -> dict[str, Pair]:
        return {_OTHER[name]: pair for name, pair in self.base.optimistic().items()}

    def group(self, size: int) -> Family:
        return Turned(self.base.group(size))

    def swapped(self) -> Family:
        return self.base

    def subsampled(self, rate: float) -> Family:
        return Turned(self.base.subsampled(rate))

    def has_moment(self, tilt: float, rate: float = 1.0) -> bool:
        return self.base.has_moment(tilt, rate)
