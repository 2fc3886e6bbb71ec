"""One query of a plan: which records it keeps, what it reads of them, how it is protected, and where that holds."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Required, TypedDict

import attrs

from quiltwork.checks import settle
from quiltwork.compose.loss import Loss
from quiltwork.kinds import document
from quiltwork.tables.notions.sensitivity import Holds
from quiltwork.tables.notions.transformations import ClipRows, FlatMap, Via
from quiltwork.tables.schema.predicates import Box, Everything, Predicate, opaque_parts


class Asked(TypedDict, total=False):
    """What a query is asked with, in a plan and in a session."""

    loss: Required[Loss]
    holds: Required[Holds]
    where: Predicate | None
    reads: Iterable[str] | None
    count: bool
    via: Via | None


@document("query/1")
@attrs.frozen(eq=False)
class Query:
    """A filter, a projection and a protected release.

    `reads` are the columns that matter beyond the filter: none for a count, None for all of them. Beside a `via` that
    makes rows of single records they are the columns that this map looks at; which rows a clip or a join keeps depends
    on all of a record. `adaptive` says that whether or where it runs depends on earlier outputs, so that it counts as
    touching every record. `inside` is its loss when a kept record turns into another kept one, where that is known to
    be less than that of two records. `shown` says what is released where its loss is in other units than the answer.
    """

    name: str
    loss: Loss
    holds: Holds
    where: Predicate = attrs.field(factory=Everything)
    reads: frozenset[str] | None = None
    via: Via | None = None
    adaptive: bool = False
    inside: Loss | None = None
    shown: str | None = None
    boxes: tuple[Box, ...] | None = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        found = None if self.adaptive else self.where.boxes()
        settle(self, boxes=None if found is None else tuple(found))

    def in_words(self) -> str:
        """What is released, for people."""
        return self.loss.in_words() if self.shown is None else self.shown

    @property
    def stability(self) -> float:
        """How many rows of its input one added or removed record changes."""
        declared = math.prod(part.stability for part in opaque_parts(self.where))
        return declared * (1 if self.via is None else self.via.stability)

    @property
    def opaque(self) -> bool:
        """Whether its filter cannot be analysed, so that it counts as touching every record."""
        return self.boxes is None

    @property
    def counted(self) -> bool:
        """Whether only the number of rows matters that it sees."""
        return self.reads is not None and not self.reads

    @property
    def filtered_last(self) -> bool:
        """Whether its condition comes after its map, so that records outside of it may push out rows inside of it."""
        return self.via is not None and self.via.first and bool(self.where.columns)

    @property
    def counts(self) -> bool:
        """Whether only the number of kept records matters: a swap inside the filter leaves it unchanged."""
        return self.only_counts and not self.opaque

    @property
    def record_by_record(self) -> bool:
        """Whether each row of its input comes from one record, so that an added record never drops a row."""
        plain = self.via is None or isinstance(self.via, FlatMap)
        return plain and not opaque_parts(self.where)

    @property
    def only_counts(self) -> bool:
        """Whether, whatever records it keeps, only their number matters."""
        return self.counted and self.via is None and self.record_by_record

    @property
    def looks_at(self) -> frozenset[str] | None:
        """The columns on which its input depends; None when that may be all of them."""
        seen = self._seen
        return None if seen is None or self.opaque else seen | self.where.columns

    @property
    def _seen(self) -> frozenset[str] | None:
        """The columns by which it tells records apart that its filter keeps; None for all of them.

        How many rows a map makes of a record may depend on all of it; how many rows of a person are kept does not.
        """
        if self.via is None or (isinstance(self.via, FlatMap) and self.reads):
            return self.reads
        if isinstance(self.via, ClipRows) and self.counted and not self.filtered_last:
            return frozenset((self.via.id,))
        return None

    def reads_any(self, columns: frozenset[str]) -> bool:
        """Whether a change of these columns is seen beyond the filter."""
        return self._seen is None or bool(self._seen & columns)
