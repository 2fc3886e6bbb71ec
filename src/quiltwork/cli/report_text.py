"""A report on the terminal: headings, lines and tables; pictures are left out."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console
from rich.text import Text

from quiltwork.cli.account import grid
from quiltwork.report.layout.blocks import Block, Bullets, Code, Details, Facts, Grid, Section, Words
from quiltwork.report.layout.page import Report

__all__ = ["show_report"]

TONES = {"good": "green", "bad": "red"}


def show_report(report: Report, console: Console) -> None:
    """The whole report as text."""
    console.print(Text(report.title, style="bold"))
    if report.lead:
        console.print(Text(report.lead))
    _show(report.sections, console)


def _show(blocks: Iterable[Block], console: Console) -> None:
    for block in blocks:
        if isinstance(block, Section | Details):
            console.print()
            console.print(Text(block.heading if isinstance(block, Section) else block.summary, style="bold"))
            _show(block.blocks, console)
        elif isinstance(block, Words | Code):
            console.print(Text(block.text))
        elif isinstance(block, Bullets):
            for item in block.items:
                console.print(Text(f"- {item}"))
        elif isinstance(block, Facts):
            for fact in block.items:
                note = f" ({fact.note})" if fact.note else ""
                console.print(Text.assemble(f"{fact.label}: ", (fact.value, TONES.get(fact.tone, "bold")), note))
        elif isinstance(block, Grid):
            console.print(_table(block))


def _table(block: Grid) -> object:
    table = grid(*block.columns)
    for row in (*block.rows, *(() if block.foot is None else (block.foot,))):
        cells = [f"{cell.text} ({cell.note})" if cell.note else cell.text for cell in row]
        table.add_row(*(Text(text, style=TONES.get(cell.tone, "")) for text, cell in zip(cells, row, strict=True)))
    return table
