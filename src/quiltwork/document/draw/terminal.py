"""A page as lines for a terminal: headings, facts, lists, tables in columns. Pictures are left out, charts say a table.

A line is made of pieces, each a text and its tone; whoever prints it has colours for them. Widths are counted in cells,
so that wide letters stand straight, and control characters never reach the terminal.
"""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from quiltwork.document import blocks
from quiltwork.document.blocks import clean

if TYPE_CHECKING:
    from quiltwork.document.page import Report

Line = tuple[tuple[str, str], ...]
GAP = "  "
NARROWEST = 12  # cells of a column of words that has to give way
NAME = 24  # cells that a column of words keeps as long as heads of numbers can give way
EMPTY: Line = ()


def lines(report: Report, width: int) -> Iterator[Line]:
    """The whole page, no line longer than `width` where words can be parted."""
    yield from _wrapped(report.title, width, "strong")
    if report.lead:
        yield from _wrapped(report.lead, width)
    yield from _all(report.sections, width)


def _all(content: Iterable[blocks.Block], width: int) -> Iterator[Line]:
    before: blocks.Block | None = None
    for block in content:
        if before is not None and (isinstance(block, blocks.Grid) or isinstance(before, blocks.Grid)):
            yield EMPTY
        yield from _block(block, width)
        before = block


def _block(block: blocks.Block, width: int) -> Iterator[Line]:
    if isinstance(block, blocks.Section | blocks.Details):
        yield EMPTY
        yield from _wrapped(block.heading if isinstance(block, blocks.Section) else block.summary, width, "strong")
        yield from _all(block.blocks, width)
    elif isinstance(block, blocks.Words):
        for part in clean(block.text).splitlines():
            yield from _wrapped(part, width) if part.strip() else [EMPTY]
    elif isinstance(block, blocks.Code):
        yield from (((line, ""),) for line in clean(block.text).splitlines())
    elif isinstance(block, blocks.Bullets):
        for item in block.items:
            yield from _wrapped(item, width, first="- ", later="  ")
    elif isinstance(block, blocks.Facts | blocks.Terms):
        for fact in block.items:
            yield from _fact(fact, width)
    elif isinstance(block, blocks.Grid):
        yield from _table(block, width)


def _wrapped(text: str, width: int, tone: str = "", first: str = "", later: str = "") -> Iterator[Line]:
    for line in textwrap.wrap(clean(text), width, initial_indent=first, subsequent_indent=later) or [first]:
        yield ((line, tone),)


def _fact(fact: blocks.Fact, width: int) -> Iterator[Line]:
    """The value has its tone; what does not fit stands below."""
    label, value = f"{clean(fact.label)}: ", clean(fact.value)
    note = f" ({clean(fact.note)})" if fact.note else ""
    head = ((label, ""), (value, fact.tone or "strong"))
    if cells(label + value + note) <= width:
        yield (*head, (note, "")) if note else head
        return
    if cells(label + value) <= width:
        yield head
    else:
        yield from _wrapped(label + value, width, later="  ")
    if fact.note:
        yield from _wrapped(fact.note, width, first="  ", later="  ")


def _table(grid: blocks.Grid, width: int) -> Iterator[Line]:
    if grid.caption:
        yield from _wrapped(grid.caption, width, "faint")
    heads, texts = [name for name, _ in grid.columns], [[_said(cell) for cell in row] for row in grid.all_rows]
    widths = _widths([heads, *texts], [number for _, number in grid.columns], width)
    yield from _row(heads, ["strong"] * len(widths), grid, widths)
    for index, (text, row) in enumerate(zip(texts, grid.all_rows, strict=True)):
        last = index == len(grid.rows)
        yield from _row(text, [cell.tone or ("strong" if cell.strong or last else "") for cell in row], grid, widths)


def _said(cell: blocks.Cell) -> str:
    return " ".join(clean(f"{cell.text} ({cell.note})" if cell.note else cell.text).split())


def _widths(rows: Sequence[Sequence[str]], numbers: Sequence[bool], width: int) -> list[int]:
    """Every column as wide as its longest cell; where that is too much, the widest columns of words give way.

    They keep room for a name; before they lose that, heads of numbers take several lines.
    """
    found = [max(cells(row[index]) for row in rows) for index in range(len(numbers))]
    room = width - len(GAP) * (len(found) - 1)
    _shrink(found, numbers, room, NAME)
    for index, number in enumerate(numbers):
        if number and sum(found) > room:
            body = max((cells(row[index]) for row in rows[1:]), default=0)
            found[index] = max(body, *(cells(word) for word in rows[0][index].split()))
    _shrink(found, numbers, room, NARROWEST)
    return found


def _shrink(found: list[int], numbers: Sequence[bool], room: int, least: int) -> None:
    while sum(found) > room:
        index = max((i for i, number in enumerate(numbers) if not number), key=lambda i: found[i], default=None)
        if index is None or found[index] <= least:
            return
        found[index] -= 1


def _row(texts: Sequence[str], tones: Sequence[str], grid: blocks.Grid, widths: Sequence[int]) -> Iterator[Line]:
    """A row takes as many lines as its longest cell."""
    parted = [_parted(text, wide) for text, wide in zip(texts, widths, strict=True)]
    for index in range(max(len(part) for part in parted)):
        line = []
        for place, (part, wide) in enumerate(zip(parted, widths, strict=True)):
            text = part[index] if index < len(part) else ""
            space = " " * (wide - cells(text))
            shown = space + text if grid.columns[place][1] else text + space
            line.append((shown + GAP, tones[place]))
        while line and not line[-1][0].strip():
            line.pop()
        yield (*line[:-1], (line[-1][0].rstrip(), line[-1][1])) if line else EMPTY


def _parted(text: str, width: int) -> list[str]:
    return [text] if cells(text) <= width else textwrap.wrap(text, width)


def cells(text: str) -> int:
    r"""Cells of a terminal that a text takes.

    >>> cells("epsilon"), cells("\u4e2d\u6587"), cells("e\u0301")
    (7, 4, 1)
    """
    return sum(
        0 if unicodedata.combining(letter) else 2 if unicodedata.east_asian_width(letter) in "WF" else 1
        for letter in text
    )
