"""The pieces of a page: words, lists, facts, tables, pictures, charts, sections. Plain values, drawn by other files.

Every text is text: what a reader of HTML or Markdown would take for markup is escaped where it is drawn. Only the
markup of a `Picture` is passed on, and it is looked through first.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from typing import Any, Literal, TypeAlias
from xml.etree import ElementTree

import attrs

from quiltwork.errors import InvalidParameter

Tone = Literal["", "good", "warm", "bad"]
DASH = "\N{EN DASH}"
# control characters, halves of surrogate pairs, and marks that turn the direction of what follows
_UNFIT = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")


def clean(text: str) -> str:
    """Without characters that a file or a reader could not take."""
    return _UNFIT.sub("\N{REPLACEMENT CHARACTER}", text.replace("\r\n", "\n"))


def slug(text: str) -> str:
    """A short name of letters, digits and hyphens; may be empty."""
    return "-".join(re.findall(r"[a-z0-9]+", text.lower()))[:60].strip("-")


def as_text(value: Any, name: str = "the text of a block") -> str:
    """The text itself; anything else is refused."""
    if not isinstance(value, str):
        raise InvalidParameter(name, value, "a text")
    return value


def each_a(name: str, values: Iterable[Any], kinds: Any, allowed: str) -> tuple[Any, ...]:
    """The values, each of one of these kinds; anything else is refused."""
    found = tuple(values)
    for value in found:
        if not isinstance(value, kinds):
            raise InvalidParameter(name, value, allowed)
    return found


def _texts(values: Iterable[Any]) -> tuple[str, ...]:
    return each_a("an item of a list", values, str, "a text")


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
    return each_a(
        "a block", values, tuple(KINDS.values()), f"one of {', '.join(kind.__name__ for kind in KINDS.values())}"
    )


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
    return each_a("facts", values, Fact, "a list of Fact")


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
        for row in self.all_rows:
            if len(row) != len(self.columns):
                raise InvalidParameter("a row", [cell.text for cell in row], f"{len(self.columns)} cells")

    @property
    def all_rows(self) -> tuple[tuple[Cell, ...], ...]:
        """The rows, with the one that sums up."""
        return self.rows if self.foot is None else (*self.rows, self.foot)


_LINES = ("path", "rect", "circle", "ellipse", "line", "polyline", "polygon", "text", "tspan", "image", "use")
_HOLDERS = ("svg", "g", "defs", "title", "desc", "clipPath", "mask", "pattern", "marker", "stop")
_SHAPES = frozenset((*_LINES, *_HOLDERS, "linearGradient", "radialGradient"))
_PICTURE = "data:image/png;base64,"
# matplotlib's own rule for every element; as attributes of the root it says the same, and stays inside the picture
_HOUSE_RULE = re.compile(r"\s*<defs>\s*<style[^>]*>\s*\*\s*\{[^{}<]*\}\s*</style>\s*</defs>")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)  # matplotlib leaves its formulas there
_OUTSIDE = re.compile(r"url\(\s*['\"]?\s*(?!#)[^'\"\s)]", re.IGNORECASE)
_ODD = re.compile(r"\\|image|import|expression|@", re.IGNORECASE)  # in a style: other ways to fetch, or to hide one


def checked_svg(given: Any) -> str:
    """The markup of one svg element that fetches and runs nothing.

    A report can come back from a JSON file, so the markup of its pictures is looked through like any other input.
    """
    given = _COMMENT.sub("", given) if isinstance(given, str) else given
    if not isinstance(given, str) or "<!" in given:
        raise InvalidParameter(
            "svg", str(given)[:40], "the markup of one svg element, without declarations or comments"
        )
    markup, found = _HOUSE_RULE.subn("", given, count=1)
    if found:
        markup = markup.replace("<svg ", '<svg stroke-linejoin="round" stroke-linecap="butt" ', 1)
    try:
        root = ElementTree.fromstring(markup)
    except ElementTree.ParseError as error:
        raise InvalidParameter("svg", markup[:40], f"well-formed markup ({error})") from None
    if _local(root.tag) != "svg" or root.get("role") != "img" or not root.get("aria-label"):
        raise InvalidParameter("svg", markup[:40], 'an svg element with role="img" and an aria-label')
    for element in root.iter():
        _check(element)
    return markup


def _check(element: ElementTree.Element) -> None:
    name = _local(element.tag)
    if name not in _SHAPES:
        raise InvalidParameter("svg", f"<{name}>", "shapes and text only")
    for key, value in element.attrib.items():
        key = _local(key)
        if key in ("href", "src"):
            outside = not value.startswith(("#", _PICTURE))
        else:
            outside = key != "aria-label" and _OUTSIDE.search(value) is not None
            outside = outside or (key == "style" and _ODD.search(value) is not None)
        if outside or key.lower().startswith("on"):
            raise InvalidParameter("svg", f"{key}={value[:40]!r}", "nothing that fetches or runs")


def _local(name: str) -> str:
    return name.rpartition("}")[2]


@attrs.frozen
class Picture:
    """A picture as the markup of one svg element, with words for those who cannot see it."""

    name: str = attrs.field(converter=as_text)
    title: str = attrs.field(converter=as_text)
    caption: str = attrs.field(converter=as_text)
    svg: str = attrs.field(converter=checked_svg, repr=False)


Role = Literal["accent", "ink", "muted", "good", "warm", "bad"]
Dash = Literal["", "dash", "dot"]
Symbol = Literal["circle", "x", "diamond"]
Numbers = tuple[float | None, ...]


def _numbers(values: Any) -> Numbers:
    """Places for a drawing: what is not finite is left out."""
    return tuple(None if value is None or not math.isfinite(value) else float(value) for value in values)


def _table_of(rows: Any) -> tuple[Numbers, ...]:
    return tuple(_numbers(row) for row in rows)


def _names(values: Any) -> tuple[Any, ...]:
    """The places of a trace: names for a table of colours, numbers for all others."""
    found = tuple(values)
    return found if found and isinstance(found[0], str) else _numbers(found)


@attrs.frozen
class Axis:
    """One side of a chart; without ends the drawing chooses them."""

    title: str = attrs.field(converter=as_text)
    low: float | None = None
    high: float | None = None
    scale: Literal["linear", "log"] = "linear"


@attrs.frozen
class Trace:
    """What is drawn: a line, steps, points, or a table of colours, in the role of a colour of the page.

    `to` makes a band between two ends, `under` fills to zero, `fill` what a closed line encloses, `marks` puts a dot at
    each place. `texts` say each place, rounded to the safe side. A table of colours ("heat") has names along both sides
    and a row of shares for each `y`.
    """

    name: str = attrs.field(converter=as_text)
    x: tuple[Any, ...] = attrs.field(converter=_names)
    y: tuple[Any, ...] = attrs.field(converter=_names)
    role: Role = "accent"
    kind: Literal["line", "steps", "points", "heat"] = "line"
    dash: Dash = ""
    to: Numbers | None = attrs.field(default=None, converter=attrs.converters.optional(_numbers))
    under: bool = False
    fill: bool = False
    marks: bool = False
    thin: bool = False
    symbol: Symbol = "circle"
    texts: tuple[str, ...] = attrs.field(default=(), converter=_texts)
    z: tuple[Numbers, ...] = attrs.field(default=(), converter=_table_of)


def _traces(values: Iterable[Trace]) -> tuple[Trace, ...]:
    return tuple(values)


@attrs.frozen
class Chart:
    """A drawing as plain values, with the same numbers as a table of words: each drawer has its own way to show it."""

    name: str = attrs.field(converter=as_text)
    title: str = attrs.field(converter=as_text)
    x: Axis
    y: Axis
    traces: tuple[Trace, ...] = attrs.field(converter=_traces)
    table: Grid | None = None
    caption: str = attrs.field(default="", converter=as_text)
    square: bool = False


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


Block: TypeAlias = Words | Bullets | Code | Facts | Terms | Grid | Picture | Chart | Details | Section
KINDS: dict[str, type[Any]] = {
    kind.__name__.lower(): kind for kind in (Words, Bullets, Code, Facts, Terms, Grid, Picture, Chart, Details, Section)
}


def nested(blocks: Iterable[Block]) -> Iterator[Block]:
    """Every block, those inside others as well, in the order of reading."""
    for block in blocks:
        yield block
        if isinstance(block, Details | Section):
            yield from nested(block.blocks)
