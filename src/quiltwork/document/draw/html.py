"""A report as one HTML file: no script, no network, figures inside, fit for screens and for paper."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

import attrs

from quiltwork import __version__
from quiltwork.document import blocks
from quiltwork.document.blocks import clean, nested, slug
from quiltwork.document.draw.style import COLOURS
from quiltwork.document.draw.svg import apart, pictured

if TYPE_CHECKING:
    from quiltwork.document.page import Report

LISTED = 3  # sections up to which a page needs no table of contents
DEEPEST = 6  # levels of headings
NARROW = 64  # characters of a table that is not stretched over the page
NUMBERS = "The numbers as a table"
FOOTER = f"Made with quiltwork {__version__}. Every bound is rounded to the safe side."


def html_text(text: str) -> str:
    """For an element or a quoted attribute."""
    return html.escape(clean(text), quote=True)


def page(report: Report) -> str:
    """The whole page; the same report gives the same text."""
    lines = (
        "<!DOCTYPE html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{html_text(report.title)}</title>",
        f"<style>\n{style()}</style>",
        "</head>",
        "<body>",
        fragment(report, level=1),
        f"<footer>{FOOTER}</footer>",
        "</body>",
        "</html>",
    )
    return "\n".join(lines) + "\n"


@cache
def style() -> str:
    """The rules of the page, also for pages that hold a fragment."""
    return resources.files("quiltwork.document.draw").joinpath("templates", "report.css").read_text(encoding="utf-8")


def fragment(report: Report, level: int = 2) -> str:
    """What stands on the page, for a page of one's own; its title is a heading of this level."""
    writer = _Writer(names={block.name for block in nested(report.sections) if isinstance(block, blocks.Section)})
    body = "\n".join(writer.all(report.sections, level + 1))
    lead = f'\n<p class="lead">{html_text(report.lead)}</p>' if report.lead else ""
    head = f"<h{level}>{html_text(report.title)}</h{level}>{lead}"
    if level > 1:
        return f'<div class="report">\n{head}\n{body}\n</div>'
    contents = _contents(writer.headings, level + 1) if len(report.sections) > LISTED else ""
    return f"<header>\n{head}\n</header>\n{contents}<main>\n{body}\n</main>"


def cell(report: Report) -> str:
    """The report inside a notebook, which has none of the page's rules: dark on white."""
    names = " ".join(f"--{name}: {colour};" for name, colour in COLOURS.items())
    look = f"{names} background: #ffffff; color: {COLOURS['ink']}; padding: 1em; max-width: 60em;"
    return f'<div style="{look}">\n{fragment(report)}\n</div>'


def _contents(headings: Iterable[tuple[int, str, str]], top: int) -> str:
    """A list of the sections, without those inside them."""
    listed = "\n".join(
        f'<li><a href="#{name}">{html_text(heading)}</a></li>' for level, name, heading in headings if level == top
    )
    return f'<nav aria-label="Contents">\n<ul>\n{listed}\n</ul>\n</nav>\n'


@attrs.define
class _Writer:
    """Draws blocks one after the other, and keeps the names of one page apart."""

    headings: list[tuple[int, str, str]] = attrs.field(factory=list)
    names: set[str] = attrs.field(factory=set)  # taken; at first those that sections bring along
    used: set[str] = attrs.field(factory=set)  # those of them that are on the page by now
    pictures: int = 0

    def all(self, content: Iterable[blocks.Block], level: int) -> list[str]:
        """Each block; pictures that follow each other stand side by side."""
        found: list[str] = []
        row: list[str] = []
        for block in content:
            if isinstance(block, blocks.Picture | blocks.Chart):
                row.append(self._picture(block))
                continue
            found += _side_by_side(row)
            row = []
            found.extend(self._block(block, level))
        return [*found, *_side_by_side(row)]

    def _block(self, block: blocks.Block, level: int) -> Iterator[str]:
        if isinstance(block, blocks.Words):
            yield from (f"<p>{html_text(part)}</p>" for part in re.split(r"\n\s*\n", block.text) if part.strip())
        elif isinstance(block, blocks.Bullets) and block.items:
            yield "<ul>\n" + "\n".join(f"<li>{html_text(item)}</li>" for item in block.items) + "\n</ul>"
        elif isinstance(block, blocks.Code):
            yield f'<pre tabindex="0"><code>{html_text(block.text)}</code></pre>'
        elif isinstance(block, blocks.Facts) and block.items:
            yield '<div class="facts">\n' + "\n".join(map(_fact, block.items)) + "\n</div>"
        elif isinstance(block, blocks.Terms) and block.items:
            yield '<dl class="terms">\n' + "\n".join(map(_term, block.items)) + "\n</dl>"
        elif isinstance(block, blocks.Grid):
            yield _table(block)
        elif isinstance(block, blocks.Details):
            inner = "\n".join(self.all(block.blocks, level))
            yield f"<details>\n<summary>{html_text(block.summary)}</summary>\n{inner}\n</details>"
        elif isinstance(block, blocks.Section):
            yield self._section(block, level)

    def _section(self, block: blocks.Section, level: int) -> str:
        name = block.name
        if not name or name in self.used:
            name = self._name(name or slug(block.heading) or "section")
        self.used.add(name)
        self.headings.append((level, name, block.heading))
        tag = f"h{min(level, DEEPEST)}"
        inner = "\n".join(self.all(block.blocks, level + 1))
        return (
            f'<section aria-labelledby="{name}">\n<{tag} id="{name}">{html_text(block.heading)}</{tag}>\n'
            f"{inner}\n</section>"
        )

    def _name(self, base: str) -> str:
        name, number = base, 1
        while name in self.names:
            number += 1
            name = f"{base}-{number}"
        self.names.add(name)
        return name

    def _picture(self, block: blocks.Picture | blocks.Chart) -> str:
        """A chart has its numbers below it, for those who cannot see it."""
        self.pictures += 1
        shown = pictured(block) if isinstance(block, blocks.Chart) else block
        caption = f"\n<figcaption>{html_text(block.caption)}</figcaption>" if block.caption else ""
        numbers = ""
        if isinstance(block, blocks.Chart) and block.table is not None:
            numbers = f"\n<details>\n<summary>{NUMBERS}</summary>\n{_table(block.table)}\n</details>"
        return f"<figure>\n{apart(shown.svg, f'picture{self.pictures}-')}{caption}{numbers}\n</figure>"


def _side_by_side(row: list[str]) -> list[str]:
    if not row:
        return []
    return ['<div class="figures">\n' + "\n".join(row) + "\n</div>"]


def _tone(tone: str, more: str = "") -> str:
    classes = " ".join(filter(None, (more, tone)))
    return f' class="{classes}"' if classes else ""


def _note(fact: blocks.Fact) -> str:
    return f"\n<small>{html_text(fact.note)}</small>" if fact.note else ""


def _fact(fact: blocks.Fact) -> str:
    value = f"<strong{_tone(fact.tone)}>{html_text(fact.value)}</strong>"
    return f'<div class="fact">\n<span class="muted">{html_text(fact.label)}</span>\n{value}{_note(fact)}\n</div>'


def _term(fact: blocks.Fact) -> str:
    value = html_text(fact.value)
    value = f'<span class="badge {fact.tone}">{value}</span>' if fact.tone else value
    return f"<dt>{html_text(fact.label)}</dt>\n<dd>{value}{_note(fact)}</dd>"


def _table(grid: blocks.Grid) -> str:
    caption = f"\n<caption>{html_text(grid.caption)}</caption>" if grid.caption else ""
    look = "narrow" if _width(grid) <= NARROW else "stack" if len(grid.columns) > 2 else ""
    head = "".join(
        f'<th scope="col"{_tone("", "number" if number else "")}>{html_text(name)}</th>'
        for name, number in grid.columns
    )
    body = "\n".join(_row(row, grid) for row in grid.rows)
    foot = f"\n<tfoot>\n{_row(grid.foot, grid)}\n</tfoot>" if grid.foot is not None else ""
    return (
        f'<div class="scroll" tabindex="0" role="group" aria-label="{html_text(grid.caption or "Table")}">\n'
        f"<table{_tone(look)}>{caption}\n<thead>\n<tr>{head}</tr>\n</thead>\n<tbody>\n{body}\n</tbody>{foot}\n</table>\n</div>"
    )


def _width(grid: blocks.Grid) -> int:
    """Characters that a line takes when every column is as wide as its longest cell."""
    longest = [
        max(len(name), *(max(len(row[index].text), len(row[index].note)) for row in grid.all_rows), 0)
        for index, (name, _) in enumerate(grid.columns)
    ]
    return sum(longest) + 4 * len(longest)


def _row(row: tuple[blocks.Cell, ...], grid: blocks.Grid) -> str:
    """A row; its first cell names it, unless that is a number. Each says its column, for screens that stack them."""
    cells = []
    for index, (cell, (name, number)) in enumerate(zip(row, grid.columns, strict=True)):
        tag, more = ("th", ' scope="row"') if index == 0 and not number else ("td", "")
        more += f' data-label="{html_text(name)}"' if name and (index or number) else ""
        cells.append(f"<{tag}{more}{_tone(cell.tone, 'number' if number else '')}>{_inside(cell)}</{tag}>")
    return f"<tr>{''.join(cells)}</tr>"


def _inside(cell: blocks.Cell) -> str:
    text = html_text(cell.text)
    if cell.link:
        text = f'<a href="#{cell.link}">{text}</a>'
    if cell.strong:
        text = f"<strong>{text}</strong>"
    if cell.share is not None:
        text += f'<span class="bar" style="width: {100 * min(max(cell.share, 0.0), 1.0):.1f}%"></span>'
    return f"{text}<small>{html_text(cell.note)}</small>" if cell.note else text
