"""Small pieces of HTML for notebooks: escaped, without scripts, ids, sheets or fixed backgrounds.

Colours come from the page (`currentColor` and transparency), so that a value reads well in light and dark notebooks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

__all__ = ["MOST_ROWS", "block", "capped", "details", "items", "muted", "paragraphs", "strong", "table"]

MOST_ROWS = 12  # rows that a notebook shows; the rest is counted

_LINE = "border-bottom:1px solid rgba(128,128,128,.35)"
_CELL = f"padding:.15em .9em .15em 0;text-align:{{side}};{_LINE};background:none;font-variant-numeric:tabular-nums"


def strong(text: object) -> str:
    """The one number that matters."""
    return f"<strong>{escape(str(text))}</strong>"


def muted(text: object) -> str:
    """A remark."""
    return f'<small style="opacity:.75">{escape(str(text))}</small>'


def paragraphs(lines: Iterable[object]) -> str:
    """One paragraph a line."""
    return "".join(f"<p>{escape(str(line))}</p>" for line in lines)


def items(lines: Iterable[object]) -> str:
    """A list."""
    return '<ul style="margin:.2em 0">' + "".join(f"<li>{escape(str(line))}</li>" for line in lines) + "</ul>"


def details(summary: str, inside: str) -> str:
    """Folded away until somebody asks; `inside` is HTML."""
    return f"<details><summary>{escape(summary)}</summary>{inside}</details>"


def table(heads: Sequence[object], rows: Iterable[Sequence[object]], caption: str = "", *, lefts: int = 1) -> str:
    """A table of texts: the first `lefts` columns hold words, the others numbers, which stand to the right."""
    sides = ["left" if place < lefts else "right" for place in range(len(heads))]
    styles = [_CELL.format(side=side) for side in sides]
    named = (
        f'<caption style="text-align:left;white-space:nowrap;opacity:.75">{escape(caption)}</caption>'
        if caption
        else ""
    )
    head = "".join(
        f'<th scope="col" style="{style}">{escape(str(cell))}</th>' for cell, style in zip(heads, styles, strict=True)
    )
    body = "".join(
        "<tr>"
        + "".join(f'<td style="{style}">{escape(str(cell))}</td>' for cell, style in zip(row, styles, strict=True))
        + "</tr>"
        for row in rows
    )
    look = "border-collapse:collapse;margin:.4em 0;background:none"
    inside = f"{named}<thead><tr>{head}</tr></thead><tbody>{body}</tbody>"
    return f'<div style="overflow-x:auto"><table style="{look}">{inside}</table></div>'


def capped(heads: Sequence[object], rows: Sequence[Sequence[object]], caption: str = "", *, lefts: int = 1) -> str:
    """A table that stays short, with a remark on what is left out."""
    shown, left = table(heads, rows[:MOST_ROWS], caption, lefts=lefts), len(rows) - MOST_ROWS
    return shown if left <= 0 else shown + muted(f"... and {left:,} more rows")


def block(*parts: str) -> str:
    """Everything about one value; parts are HTML."""
    return '<div style="line-height:1.45">' + "".join(parts) + "</div>"
