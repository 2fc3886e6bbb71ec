"""The pieces of a report: words, lists, facts, tables, pictures, sections. Plain values, drawn by other files.

Every text is text: what a reader of HTML or Markdown would take for markup is escaped where it is drawn. Only the
markup of a `Picture` is passed on, and it is looked through first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Literal, TypeAlias

import attrs

from quiltwork.errors import InvalidParameter
from quiltwork.report.layout.svg import checked

__all__ = [
    "Block",
    "Bullets",
    "Cell",
    "Code",
    "Details",
    "Fact",
    "Facts",
    "Grid",
    "Picture",
    "Section",
    "Terms",
    "Words",
    "as_text",
    "nested",
]

Tone = Literal["", "good", "warm", "bad"]
DASH = "\N{EN DASH}"


def as_text(value: Any, name: str = "the text of a block") -> str:
    """The text itself; anything else is refused."""
    if not isinstance(value, str):
        raise InvalidParameter(name, value, "a text")
    return value


def _texts(values: Iterable[Any]) -> tuple[str, ...]:
    return tuple(as_text(value, "an item of a list") for value in values)


def _tone(value: Any) -> Tone:
    if value not in ("", "good", "warm", "bad"):
        raise InvalidParameter("tone", value, "'', 'good', 'warm' or 'bad'")
    return value  # type: ignore[no-any-return]


def _anchor(value: Any) -> str:
    """The name of a place on the page, or none."""
    if not isinstance(value, str) or not re.fullmatch(r"([a-z0-9]+(-[a-z0-9]+)*)?", value):
        raise InvalidParameter("the name of a section", value, "small letters, digits and single hyphens")
    return value


def _blocks(values: Iterable[Any]) -> tuple[Block, ...]:
    found = tuple(values)
    for value in found:
        if not isinstance(value, tuple(KINDS.values())):
            raise InvalidParameter("a block", value, f"one of {', '.join(kind.__name__ for kind in KINDS.values())}")
    return found


@attrs.frozen
class Words:
    """One paragraph, or several with an empty line between them."""

    text: str = attrs.field(converter=as_text)


@attrs.frozen
class Bullets:
    """A list of short texts."""

    items: tuple[str, ...] = attrs.field(converter=_texts)


@attrs.frozen
class Code:
    """Text of a fixed width, kept as it is."""

    text: str = attrs.field(converter=as_text)


@attrs.frozen
class Fact:
    """One thing to see at a glance: what it is, its value, and a smaller line."""

    label: str = attrs.field(converter=as_text)
    value: str = attrs.field(converter=as_text)
    note: str = attrs.field(default="", converter=as_text)
    tone: Tone = attrs.field(default="", converter=_tone)


def _facts(values: Iterable[Any]) -> tuple[Fact, ...]:
    found = tuple(values)
    for value in found:
        if not isinstance(value, Fact):
            raise InvalidParameter("facts", value, "a list of Fact")
    return found


@attrs.frozen
class Facts:
    """Facts beside each other."""

    items: tuple[Fact, ...] = attrs.field(converter=_facts)


@attrs.frozen
class Terms:
    """Facts below each other, as a glossary has them: what it is on the left, its text on the right.

    A text with a tone is short, and shown as a badge.
    """

    items: tuple[Fact, ...] = attrs.field(converter=_facts)


@attrs.frozen
class Cell:
    """A cell that is more than a text: a smaller line under it, a colour, bold, or a bar of this share of the width.

    `link` is the name of a section of the same report.
    """

    text: str = attrs.field(converter=as_text)
    note: str = attrs.field(default="", converter=as_text)
    tone: Tone = attrs.field(default="", converter=_tone)
    strong: bool = False
    share: float | None = None
    link: str = attrs.field(default="", converter=_anchor)


def _cell(value: Any) -> Cell:
    """A cell from what rows are usually made of; None is a dash, a whole number gets its separators."""
    if isinstance(value, Cell):
        return value
    if value is None:
        return Cell(DASH)
    if isinstance(value, int) and not isinstance(value, bool):
        return Cell(f"{value:,}")
    if not isinstance(value, str):
        raise InvalidParameter(
            "a cell", value, "a text, a whole number, None or a Cell", "round numbers to a side first"
        )
    return Cell(value)


def _row(values: Iterable[Any]) -> tuple[Cell, ...]:
    if isinstance(values, str):
        raise InvalidParameter("a row", values, "a list of cells")
    return tuple(_cell(value) for value in values)


def _rows(rows: Iterable[Any]) -> tuple[tuple[Cell, ...], ...]:
    return tuple(_row(row) for row in rows)


def _columns(values: Iterable[Any]) -> tuple[tuple[str, bool], ...]:
    found = []
    for value in values:
        if isinstance(value, str):
            found.append((value, False))
        elif len(value) == 2 and isinstance(value[0], str) and value[1] in ("number", "", True, False):
            found.append((value[0], bool(value[1])))
        else:
            raise InvalidParameter("a column", value, "a text, or a text and 'number'")
    return tuple(found)


@attrs.frozen
class Grid:
    """A table: columns are texts, or pairs of a text and "number"; a last row that sums up may follow."""

    columns: tuple[tuple[str, bool], ...] = attrs.field(converter=_columns)
    rows: tuple[tuple[Cell, ...], ...] = attrs.field(converter=_rows)
    caption: str = attrs.field(default="", converter=as_text)
    foot: tuple[Cell, ...] | None = attrs.field(default=None, converter=attrs.converters.optional(_row))

    def __attrs_post_init__(self) -> None:
        if not self.columns:
            raise InvalidParameter("columns", (), "at least one")
        for row in (*self.rows, *(() if self.foot is None else (self.foot,))):
            if len(row) != len(self.columns):
                raise InvalidParameter("a row", [cell.text for cell in row], f"{len(self.columns)} cells")


@attrs.frozen
class Picture:
    """A picture as the markup of one svg element, with words for those who cannot see it."""

    name: str = attrs.field(converter=as_text)
    title: str = attrs.field(converter=as_text)
    caption: str = attrs.field(converter=as_text)
    svg: str = attrs.field(converter=checked, repr=False)


@attrs.frozen
class Details:
    """Blocks that a reader opens when they are wanted; on paper they are open."""

    summary: str = attrs.field(converter=as_text)
    blocks: tuple[Block, ...] = attrs.field(converter=_blocks)


@attrs.frozen
class Section:
    """A heading and what stands under it; a section may hold sections.

    Cells that link to the section use its `name`; without one it is named after its heading.
    """

    heading: str = attrs.field(converter=as_text)
    blocks: tuple[Block, ...] = attrs.field(converter=_blocks)
    name: str = attrs.field(default="", converter=_anchor)


Block: TypeAlias = Words | Bullets | Code | Facts | Terms | Grid | Picture | Details | Section
KINDS: dict[str, type[Any]] = {
    kind.__name__.lower(): kind for kind in (Words, Bullets, Code, Facts, Terms, Grid, Picture, Details, Section)
}


def nested(blocks: Iterable[Block]) -> Iterator[Block]:
    """Every block, those inside others as well, in the order of reading."""
    for block in blocks:
        yield block
        if isinstance(block, Details | Section):
            yield from nested(block.blocks)
