"""Groups of records by the values of a column: one for each value, bands between edges, weeks or months of a date."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import attrs

from quiltwork.errors import InvalidParameter
from quiltwork.kinds import document
from quiltwork.tables.schema.columns import Date, Ordered, SubsetOf
from quiltwork.tables.schema.predicates import Predicate

if TYPE_CHECKING:
    from quiltwork.tables.schema.table import Reference, Table

PERIODS = ("week", "month")


@document("grouping/1")
@attrs.frozen
class Grouping:
    """A column to group by: its values, bands between `edges`, or the weeks or months of its days."""

    column: str
    edges: tuple[Any, ...] | None = None
    every: str | None = None

    def __str__(self) -> str:
        return self.column if self.every is None else f"{self.every} of {self.column}"

    def parts(self, table: Table) -> dict[str, Predicate]:
        """The groups by their labels; together they cover every record, and only those of a set-valued column overlap.

        Bands are named by the values in them: whole numbers and days by the first and the last, so 0..17 from 0 to 18.
        Weeks begin on Mondays and are named by them, months are named like 2026-01; NULL is a group of its own.
        """
        reference = table[self.column]
        if self.every is not None:
            return self._periods(reference)
        if isinstance(reference.column, SubsetOf) and self.edges is None:
            return {str(member): reference.has(member) for member in reference.column.members}
        parts = reference.parts(self.edges)
        if self.edges is None or not isinstance(reference.column, Ordered):
            return parts
        cuts = [reference.column.cut(edge, after=False) for edge in self.edges]
        bands = [reference.column.name_of(*span) for span in pairwise(cuts)]  # 0..17 holds 17 and not 18; [0, 18)
        labels = [*bands, *list(parts)[len(bands) :]]
        return dict(zip(labels, parts.values(), strict=True)) if len(set(labels)) == len(parts) else parts

    def _periods(self, reference: Reference) -> dict[str, Predicate]:
        column = reference.column
        if not isinstance(column, Date):
            raise InvalidParameter(self.column, column, "a Date column", f"to be grouped by {self.every}s")
        first, last = column.low, column.high + datetime.timedelta(1)
        starts = list(self._starts(first, last))
        found = {self._label(start): reference.between(a, b) for start, (a, b) in self._spans(starts, first, last)}
        if column.nullable:
            found["NULL"] = reference.is_null()
        return found

    def _starts(self, first: datetime.date, last: datetime.date) -> Iterable[datetime.date]:
        if self.every == "week":
            start = first - datetime.timedelta(first.weekday())
            while start < last:
                yield start
                start += datetime.timedelta(7)
        else:
            start = first.replace(day=1)
            while start < last:
                yield start
                start = (start + datetime.timedelta(32)).replace(day=1)

    def _spans(
        self, starts: Sequence[datetime.date], first: datetime.date, last: datetime.date
    ) -> Iterable[tuple[datetime.date, tuple[datetime.date, datetime.date]]]:
        for start, end in pairwise([*starts, last]):
            yield start, (max(start, first), min(end, last))

    def _label(self, start: datetime.date) -> str:
        return start.isoformat() if self.every == "week" else start.isoformat()[:7]
