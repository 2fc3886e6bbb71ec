"""How a plan file describes a table: its columns, and how many rows it may have."""

from __future__ import annotations

import keyword
import math
import unicodedata
from typing import Annotated, Any, ClassVar, Self

from pydantic import AfterValidator, Field, WithJsonSchema, model_validator

from quiltwork import tables
from quiltwork.checks import MAX_COUNT
from quiltwork.spec.fields.fields import Choice, Nothing, Strict, located, refused
from quiltwork.spec.text.document import shown
from quiltwork.tables.schema.columns import Column as TableColumn

MOST_VALUES = 10_000  # of one list
MOST_COLUMNS = 1_000


def _value(given: Any) -> Any:
    """A text, a finite number, true or false."""
    if not isinstance(given, (str, int, float)) or (isinstance(given, float) and not math.isfinite(given)):
        raise refused(f"must be text, a finite number, true or false, got {shown(given)}")
    return given


Value = Annotated[Any, AfterValidator(_value), WithJsonSchema({"type": ["string", "number", "boolean"]})]
Values = Annotated[tuple[Value, ...], Field(min_length=1, max_length=MOST_VALUES, strict=False)]
Whole = Annotated[int, Field(ge=-MAX_COUNT, le=MAX_COUNT)]
WholeSpan = Annotated[tuple[Whole, Whole], Field(strict=False)]
NumberSpan = Annotated[tuple[float, float], Field(strict=False)]
DaySpan = Annotated[tuple[str, str], Field(strict=False)]
Size = Annotated[int, Field(ge=0, le=MAX_COUNT)]


class Subsets(Strict):
    """A set of at most `max_size` of the members, which are listed, or numbered from 0 to count - 1."""

    members: Values | None = None
    count: Annotated[int, Field(ge=1, le=MOST_VALUES)] | None = None
    max_size: Size | None = None

    @model_validator(mode="after")
    def _one_list(self) -> Self:
        if (self.members is None) == (self.count is None):
            raise refused("must have either members, a list, or count, their number")
        return self

    def column(self, *, nullable: bool) -> TableColumn:
        members = range(self.count) if self.count is not None else self.members or ()
        return tables.SubsetOf(members, self.max_size, nullable=nullable)


class Column(Choice):
    """One column: the values that it may hold, and whether it may be NULL."""

    noun: ClassVar[str] = "kind of column"
    beside: ClassVar[frozenset[str]] = frozenset({"nullable"})
    bare: ClassVar[frozenset[str]] = frozenset({"id"})

    cat: Values | None = None
    int: WholeSpan | None = None
    float: NumberSpan | None = None
    date: DaySpan | None = None
    subset_of: Subsets | None = None
    id: Nothing | None = None
    nullable: bool = False

    def column(self) -> TableColumn:
        """The column of a table."""
        if self.subset_of is not None:
            return self.subset_of.column(nullable=self.nullable)
        made: Any = {"cat": tables.Cat, "int": tables.Int, "float": tables.Float, "date": tables.Date}.get(self.kind)
        return tables.Id() if made is None else made(*self.chosen, nullable=self.nullable)

    @model_validator(mode="after")
    def _holds(self) -> Self:
        if self.id is not None and self.nullable:
            raise refused("must be left out of an id, which is never NULL", ("nullable",))
        with located(self.kind):
            self.column()
        return self


class Rows(Strict):
    """Public bounds on the number of records."""

    least: Size = 0
    most: Size | None = None

    @model_validator(mode="after")
    def _rising(self) -> Self:
        if self.most is not None and self.most < self.least:
            raise refused(f"must be at least {self.least}, got {self.most}", ("most",))
        return self


class Table(Strict):
    """Columns by name."""

    columns: Annotated[dict[str, Column], Field(min_length=1, max_length=MOST_COLUMNS)]
    rows: Rows | None = None

    @model_validator(mode="after")
    def _plain_names(self) -> Self:
        for name in self.columns:
            plain = name.isidentifier() and unicodedata.normalize("NFKC", name) == name
            if not plain or keyword.iskeyword(name) or name == "self":
                problem = "must be named with letters, digits and _, and not like a word of Python: conditions use it"
                raise refused(problem, ("columns", name))
        return self

    def table(self) -> tables.Table:
        """The table itself."""
        found = tables.Table(**{name: entry.column() for name, entry in self.columns.items()})
        return found if self.rows is None else found.rows(self.rows.least, self.rows.most)
