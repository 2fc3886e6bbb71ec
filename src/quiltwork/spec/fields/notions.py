"""How a plan file writes notions of neighbour, where a loss holds, and maps between the table and a query."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Self

from pydantic import Field, model_validator

from quiltwork import tables
from quiltwork.checks import MAX_COUNT
from quiltwork.spec.fields.fields import Choice, Count, Nothing, Positive, Strict, Words, located
from quiltwork.tables.notions.metrics import Distance
from quiltwork.tables.notions.neighbors import Notion as TableNotion
from quiltwork.tables.notions.sensitivity import Holds as TableHolds
from quiltwork.tables.notions.transformations import ClipRows as TableClipRows
from quiltwork.tables.notions.transformations import Via as TableVia

Names = Annotated[tuple[Words, ...], Field(strict=False)]
SomeNames = Annotated[tuple[Words, ...], Field(strict=False, min_length=1)]
Nodes = Annotated[int, Field(ge=2, le=MAX_COUNT)]


def _made(entry: Choice, left_out: str = "") -> Any:
    """What `quiltwork.tables` makes of the kind that is given: a function of its name, with its fields."""
    return getattr(tables, entry.kind or left_out)(**dict(entry.chosen if entry.kind else ()))


class ReplaceOne(Strict):
    """One record replaced; the fixed columns cannot change."""

    fixed: Names = ()


class User(Strict):
    """All records of one person, with public caps."""

    id: Words
    max_records: Count | None = None
    max_per: dict[str, Count] | None = None


class Entry(Strict):
    """One cell of one record."""

    columns: Names = ()


class Window(Strict):
    """Any `length` consecutive values of a column."""

    column: Words
    length: Positive
    max_records: Count | None = None


class Node(Strict):
    """One node of a graph whose edges are the records."""

    max_degree: Count | None = None
    rewire: bool = True
    nodes: Nodes | None = None


class Metric(Choice):
    """One record moves by at most `within` units of a distance."""

    noun: ClassVar[str] = "distance"
    beside: ClassVar[frozenset[str]] = frozenset({"unit", "within", "diameter"})

    euclidean: SomeNames | None = None
    manhattan: SomeNames | None = None
    geo: Annotated[tuple[Words, Words], Field(strict=False)] | None = None
    unit: Words
    within: Positive = 1.0
    diameter: Positive | None = None

    def distance(self) -> Distance:
        found: Distance = getattr(tables, self.kind)(*self.chosen)
        return found


class Notion(Choice):
    """A notion of neighbour, by its name."""

    noun: ClassVar[str] = "notion of neighbour"
    bare: ClassVar[frozenset[str]] = frozenset({"add_remove", "replace_one", "entry", "edge", "node", "free_lunch"})

    add_remove: Nothing | None = None
    replace_one: ReplaceOne | None = None
    user: User | None = None
    entry: Entry | None = None
    window: Window | None = None
    edge: Nothing | None = None
    node: Node | None = None
    free_lunch: Nothing | None = None
    metric: Metric | None = None

    @model_validator(mode="after")
    def _holds(self) -> Self:
        if self.kind:
            with located(self.kind):
                self.notion()
        return self

    def notion(self) -> TableNotion:
        """The notion itself."""
        if self.entry is not None:
            return tables.entry(*self.entry.columns)
        if self.metric is not None:
            found = self.metric
            return tables.metric(found.distance(), found.unit, within=found.within, diameter=found.diameter)
        made: TableNotion = _made(self, "add_remove")
        return made


class MaybeNotion(Notion):
    """A notion of neighbour; without one, the plan's own."""

    optional: ClassVar[bool] = True


class Holds(Choice):
    """Where a loss was proved: for neighbours of the query's own input, or of the whole table."""

    noun: ClassVar[str] = "place"
    bare: ClassVar[frozenset[str]] = frozenset({"on_table"})

    on_input: Notion | None = None
    on_table: MaybeNotion | None = None

    def holds(self) -> TableHolds:
        if self.on_input is not None:
            return tables.on_input(self.on_input.notion())
        stated = self.on_table
        return tables.on_table(stated.notion()) if stated is not None and stated.kind else tables.on_table


class FlatMap(Strict):
    """Each record becomes at most `max_out` rows."""

    name: Words
    max_out: Count


class Join(Strict):
    """Joined with another table, so many rows of each kept for a key."""

    truncate: Annotated[tuple[Count, Count], Field(strict=False)]
    first: bool = False


class ClipRows(Strict):
    """At most so many rows of each person are kept."""

    id: Words
    most: Count
    first: bool = False


class Via(Choice):
    """A map between the table and what a query sees; the condition comes before it, or after it with `first`."""

    noun: ClassVar[str] = "map"

    flat_map: FlatMap | None = None
    join: Join | None = None
    clip_rows: ClipRows | None = None

    def via(self) -> TableVia:
        found: TableVia = _made(self)
        return found

    def words(self) -> str:
        """A few words for tables."""
        if self.flat_map is not None:
            return f"{self.flat_map.name}, at most {self.flat_map.max_out} rows a record"
        if self.join is not None:
            own, other = self.join.truncate
            said = f"a join that keeps {own} of our rows and {other} of the other table's for each key"
        else:
            said = f"at most {self.chosen.most} rows of each {self.chosen.id}"
        return f"{said}, before the condition" if self.chosen.first else said


class Contribution(Choice):
    """How many rows of each person the whole plan uses."""

    noun: ClassVar[str] = "bound"

    clip_rows: ClipRows | None = None

    def via(self) -> TableClipRows:
        found: TableClipRows = _made(self)
        return found
