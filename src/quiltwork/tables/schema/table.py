"""`Table`: named columns, and the references on which conditions are written."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from quiltwork import checks
from quiltwork.errors import InvalidParameter
from quiltwork.kinds import document, not_written
from quiltwork.tables.schema.columns import Cat, Column, Date, Int, Ordered, SubsetOf
from quiltwork.tables.schema.groups import Grouping
from quiltwork.tables.schema.predicates import Condition, Everything, Joined, Predicate
from quiltwork.tables.schema.selectors import HIGHEST, LOWEST, Chosen, Cut, Has, Null, Spans

MOST_PARTS = 100_000  # of one split


@not_written("it is a column of a table, seen from a condition", "write the table")
class Reference:
    """A column of a table, to be compared: t.age < 30, t.region.isin(["N", "S"]), ~t.day.is_null()."""

    __slots__ = ("column", "name")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, name: str, column: Column) -> None:
        self.name, self.column = name, column

    def __eq__(self, other: object) -> Predicate:  # type: ignore[override]
        return self.isin([other])

    def __ne__(self, other: object) -> Predicate:  # type: ignore[override]
        return ~self.isin([other])

    def __lt__(self, other: Any) -> Predicate:
        return self._span(LOWEST, self._cut(other, after=False))

    def __le__(self, other: Any) -> Predicate:
        return self._span(LOWEST, self._cut(other, after=True))

    def __gt__(self, other: Any) -> Predicate:
        return self._span(self._cut(other, after=True), HIGHEST)

    def __ge__(self, other: Any) -> Predicate:
        return self._span(self._cut(other, after=False), HIGHEST)

    def between(self, low: Any, high: Any) -> Predicate:
        """low <= value < high: half-open, so that neighbouring intervals never share a value."""
        start, end = self._cut(low, after=False), self._cut(high, after=False)
        if not start < end:
            raise InvalidParameter("between", (low, high), "two bounds in rising order", "high itself is left out")
        return self._span(start, end)

    def isin(self, values: Iterable[Any]) -> Predicate:
        """One of these values."""
        if isinstance(values, (str, bytes)):
            raise InvalidParameter("values", values, "a list of values")
        try:
            wanted = list(values)
        except TypeError:
            raise InvalidParameter("values", values, "a list of values") from None
        for value in wanted:
            self._value(value)
        if any(value is None for value in wanted):
            raise InvalidParameter("values", wanted, "free of None", f"ask for {self.name}.is_null()")
        if isinstance(self.column, Cat):
            return Condition(self.name, Chosen(frozenset(self.column.value(value) for value in wanted)))
        if isinstance(self.column, Ordered):
            # a fraction is no value of a whole-number column: its two cuts coincide and nothing is selected
            cuts = [(self._cut(value, after=False), self._cut(value, after=True)) for value in wanted]
            return Condition(self.name, Spans.of(cuts))
        raise InvalidParameter(self.name, self.column, "a column with single values", self._hint())

    def has(self, member: Any) -> Predicate:
        """Whether the set in this column holds the member."""
        if not isinstance(self.column, SubsetOf):
            raise InvalidParameter(self.name, self.column, "a SubsetOf column")
        self._value(member)
        return Condition(self.name, Has(self.column.member(member)))

    def is_null(self) -> Predicate:
        """NULL, which no comparison selects."""
        if not getattr(self.column, "nullable", False):
            raise InvalidParameter(self.name, self.column, "nullable", "say nullable=True if NULL may occur")
        return Condition(self.name, Null())

    def parts(self, edges: Iterable[Any] | None = None) -> dict[str, Predicate]:
        """Disjoint conditions that cover every record: by value, or by half-open intervals between `edges`.

        NULL is a part of its own. Values outside the edges form a part "other".
        """
        if edges is not None and (isinstance(edges, str) or not isinstance(edges, Iterable)):
            raise InvalidParameter("edges", edges, "a list of bounds in rising order")
        found = self._intervals(list(edges)) if edges is not None else self._single_values()
        if getattr(self.column, "nullable", False):
            found["NULL"] = self.is_null()
        return found

    def bands(self, edges: Iterable[Any]) -> Grouping:
        """To group by half-open intervals between `edges`: by=t.age.bands([0, 18, 65])."""
        return Grouping(self.name, edges=tuple(checks.listed("edges", edges)))

    def weeks(self) -> Grouping:
        """To group days by their week, from Monday to Sunday."""
        return Grouping(self.name, every="week")

    def months(self) -> Grouping:
        """To group days by their month."""
        return Grouping(self.name, every="month")

    def _single_values(self) -> dict[str, Predicate]:
        column = self.column
        if isinstance(column, Cat):
            plain = [str(value) for value in column.categories]
            clear = len(set(plain)) == len(plain) and "NULL" not in plain
            return {label if clear else repr(v): self == v for label, v in zip(plain, column.categories, strict=True)}
        if isinstance(column, (Int, Date)):
            first, last = int(column.domain[0][0]), int(column.domain[1][0])
            if last - first > MOST_PARTS:
                raise InvalidParameter(self.name, column, f"at most {MOST_PARTS} values", "give edges to split by")
            return {column.shown(v): Condition(self.name, Spans((((v, 0), (v + 1, 0)),))) for v in range(first, last)}
        raise InvalidParameter(self.name, column, "a column with a list of values", self._hint())

    def _intervals(self, edges: list[Any]) -> dict[str, Predicate]:
        if not isinstance(self.column, Ordered) or len(edges) < 2:
            raise InvalidParameter("edges", edges, "at least two bounds of an ordered column")
        found = {f"{a}..{b}": self.between(a, b) for a, b in itertools.pairwise(edges)}
        low, high = self.column.domain
        start, end = self._cut(edges[0], after=False), self._cut(edges[-1], after=False)
        if start > low or end < high:
            found["other"] = Condition(self.name, Spans.of([(LOWEST, start), (end, HIGHEST)]))
        return found

    def _cut(self, bound: Any, *, after: bool) -> Cut:
        if not isinstance(self.column, Ordered):
            raise InvalidParameter(self.name, self.column, "an ordered column (Int, Float or Date)", self._hint())
        return self.column.cut(self._value(bound), after=after)

    def _value(self, given: Any) -> Any:
        """What the column is compared with: never another column."""
        if isinstance(given, Reference):
            raise InvalidParameter(
                f"what {self.name} is compared with", given, f"a value of {self.name}",
                "a condition compares a column with values, not with another column; opaque(...) states other filters",
            )  # fmt: skip
        return given

    def _span(self, start: Cut, end: Cut) -> Predicate:
        return Condition(self.name, Spans(((start, end),)))

    def _hint(self) -> str:
        if isinstance(self.column, SubsetOf):
            return "ask whether it has a member"
        return "" if isinstance(self.column, (Cat, Ordered)) else "an Id only says whose record it is"

    def __repr__(self) -> str:
        return f"<column {self.name}: {self.column}>"


def column_name(name: str, given: str | Reference, allowed: str = "a column, or its name") -> str:
    """The name of a column that is given by its name or as a column of a table."""
    return given.name if isinstance(given, Reference) else checks.text(name, given, allowed)


@attrs.frozen(init=False, eq=False)
class Table:
    """The public description of a table: what a record may hold, and how many records there may be.

    Parameters
    ----------
    **columns
        What each column holds: `Cat`, `Int`, `Float`, `Date`, `SubsetOf` or `Id`.

    Examples
    --------
    >>> from quiltwork import Cat, Int
    >>> table = Table(region=Cat("N", "S"), age=Int(0, 120))
    >>> sorted(table.columns)
    ['age', 'region']
    """

    columns: Mapping[str, Column]
    least: int = 0
    most: float = math.inf

    def __init__(self, /, **columns: Column) -> None:
        if not columns:
            raise InvalidParameter("columns", columns, "at least one column")
        for name, column in columns.items():
            if not isinstance(column, Column):
                raise InvalidParameter(name, column, "a column such as Cat, Int, Float, Date, SubsetOf or Id")
        self.__attrs_init__(dict(columns), 0, math.inf)

    def rows(self, least: int = 0, most: int | None = None) -> Table:
        """The same table, with a public bound on how many records it holds; equal bounds fix its size."""
        least = checks.count("least", least)
        limit = math.inf if most is None else checks.count("most", most)
        if limit < least:
            raise InvalidParameter("most", most, f"at least {least}")
        table = Table.__new__(Table)
        table.__attrs_init__(self.columns, least, limit)
        return table

    @property
    def fixed_size(self) -> bool:
        """Whether the number of records is public and never changes."""
        return self.least == self.most

    def __getitem__(self, name: str) -> Reference:
        if name not in self.columns:
            raise InvalidParameter("column", name, "one of " + ", ".join(self.columns))
        return Reference(name, self.columns[name])

    def __getattr__(self, name: str) -> Reference:
        if name.startswith("__") or name not in self.columns:
            raise AttributeError(f"the table has no column {name!r}; it has {', '.join(self.columns)}")
        return self[name]

    @property
    def everything(self) -> Predicate:
        """The condition that every record satisfies."""
        return Everything()

    def record(self, **values: Any) -> dict[str, Any]:
        """One record, checked and in plain form; None is NULL."""
        if set(values) != set(self.columns):
            raise InvalidParameter("record", values, "one value for each of " + ", ".join(self.columns))
        found = {}
        for name, column in self.columns.items():
            null = values[name] is None
            if null and not getattr(column, "nullable", False):
                raise InvalidParameter(name, None, "not NULL", "the column is not nullable")
            found[name] = None if null else column.value(values[name])
        return found

    def names(self, given: Iterable[str | Reference], purpose: str) -> tuple[str, ...]:
        """Column names, checked."""
        if isinstance(given, (str, Reference)) or not isinstance(given, Iterable):
            raise InvalidParameter(purpose, given, "a list of column names")
        found = tuple(item.name if isinstance(item, Reference) else item for item in given)
        for name in found:
            if name not in tuple(self.columns):
                raise InvalidParameter(purpose, name, "columns of the table: " + ", ".join(self.columns))
        return tuple(dict.fromkeys(found))

    def words(self, condition: Predicate) -> str:
        """A condition as its columns write their values: days as days, not as numbers."""
        if isinstance(condition, Joined):
            return condition.words(self.words)
        if isinstance(condition, Condition) and isinstance(condition.selector, Spans):
            column = self.columns.get(condition.column)
            if isinstance(column, Ordered):
                low, high = column.domain
                inside = [(max(start, low), min(end, high)) for start, end in condition.selector.spans]
                named = [column.name_of(start, end) for start, end in inside if start < end]
                return f"{condition.column} in {' or '.join(named) or 'no value'}"
        return str(condition)

    def __repr__(self) -> str:
        return "Table(" + ", ".join(f"{name}={column}" for name, column in self.columns.items()) + ")"


# ---- as a document


def _written(table: Table) -> dict[str, Any]:
    most = None if math.isinf(table.most) else int(table.most)
    # a list, so that a column may have any name
    return {"columns": tuple(table.columns.items()), "least": table.least, "most": most}


def _read(columns: tuple[Any, ...], least: int = 0, most: int | None = None) -> Table:
    return Table(**{str(name): column for name, column in columns}).rows(least, most)


document("table/1", fields="columns", optional="least most", write=_written, read=_read)(Table)
