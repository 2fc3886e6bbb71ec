"""A report on the terminal."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from quiltwork.document.draw.terminal import lines
from quiltwork.document.page import Report

__all__ = ["show_report"]

STYLES = {"good": "green", "warm": "yellow", "bad": "red", "strong": "bold", "faint": "dim"}


def show_report(report: Report, console: Console) -> None:
    """The whole report as text."""
    for line in lines(report, console.width):
        console.print(Text.assemble(*((text, STYLES.get(tone, "")) for text, tone in line)), soft_wrap=True)
