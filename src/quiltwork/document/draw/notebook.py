"""Small pieces of HTML and small drawings for notebooks: escaped, without scripts, ids, sheets or fixed backgrounds.

Colours come from the page (`currentColor` and transparency), so that a value reads well in light and dark notebooks.
Where a sketch has to round, it draws the safe end; it is an illustration, never a certificate.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.document.charts import ERRORS

if TYPE_CHECKING:
    from quiltwork.curves.curve import Curve

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


SIDE, LEFT, BELOW, ABOVE = 190, 46, 34, 10  # pixels of the plane and its margins
POINTS = 61
_ACCENT = "#3d85c6"  # reads on white and on black
_FLOOR = 1e-15  # deltas below are drawn there


@attrs.frozen
class Frame:
    """A square plane: what is drawn in it is a list of SVG elements."""

    title: str
    across: str
    along: str
    x: tuple[float, float] = (0.0, 1.0)
    y: tuple[float, float] = (0.0, 1.0)
    y_ticks: tuple[tuple[float, str], ...] | None = None
    elements: list[str] = attrs.field(factory=list)

    def points(self, xs: Any, ys: Any) -> str:
        """Pixels of a line, places that are not finite left out."""
        pairs = zip(np.ravel(xs).tolist(), np.ravel(ys).tolist(), strict=True)
        return " ".join(f"{self._right(a):.1f},{self._down(b):.1f}" for a, b in pairs if math.isfinite(a + b))

    def line(self, xs: Any, ys: Any, *, dashed: bool = False) -> None:
        """A line; dashed ones are muted."""
        look = 'stroke="currentColor" stroke-opacity=".5" stroke-dasharray="4 3"' if dashed else f'stroke="{_ACCENT}"'
        self.elements.append(f'<polyline points="{self.points(xs, ys)}" fill="none" {look} stroke-width="1.5"/>')

    def dots(self, xs: Any, ys: Any) -> None:
        """A dot at each place."""
        for place in self.points(xs, ys).split():
            x, y = place.split(",")
            self.elements.append(f'<circle cx="{x}" cy="{y}" r="3.5" fill="currentColor"/>')

    def area(self, xs: Any, ys: Any) -> None:
        """A filled shape."""
        look = f'fill="{_ACCENT}" fill-opacity=".25" stroke="none"'
        self.elements.append(f'<polygon points="{self.points(xs, ys)}" {look}/>')

    def svg(self) -> str:
        """The picture as text."""
        width, height = LEFT + SIDE + 14, ABOVE + SIDE + BELOW
        bottom, right = ABOVE + SIDE, LEFT + SIDE
        ticks_y = self.y_ticks or tuple((end, _short(end)) for end in self.y)
        sides = ("middle", "end" if len(_short(self.x[1])) > 3 else "middle")
        words = [_text(self._right(x), bottom + 14, _short(x), side) for x, side in zip(self.x, sides, strict=True)]
        words += [_text(LEFT - 5, self._down(place) + 4, name, "end") for place, name in ticks_y]
        words.append(_text(LEFT + SIDE / 2, bottom + 29, self.across, "middle"))
        middle = ABOVE + SIDE / 2
        words.append(_text(12, middle, self.along, "middle", f' transform="rotate(-90 12 {middle:g})"'))
        corners = f"{LEFT},{ABOVE} {LEFT},{bottom} {right},{bottom}"
        axes = f'<polyline points="{corners}" fill="none" stroke="currentColor" stroke-opacity=".6"/>'
        named = escape(self.title, quote=True)
        return (
            f'<svg role="img" aria-label="{named}" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
            'style="max-width:100%;height:auto;background:none" xmlns="http://www.w3.org/2000/svg">'
            f"<title>{escape(self.title)}</title>" + axes + "".join(self.elements) + "".join(words) + "</svg>"
        )

    def _right(self, value: float) -> float:
        return LEFT + SIDE * _share(value, self.x)

    def _down(self, value: float) -> float:
        return ABOVE + SIDE * (1.0 - _share(value, self.y))


def errors(curve: Curve | None, title: str = "Trade-off function", corners: Sequence[tuple[float, float]] = ()) -> str:
    """The least share of misses for each share of false alarms: the safe end, and the band up to the other.

    `corners` are pairs of errors that an attack made, as dots.
    """
    frame = Frame(title, *ERRORS)
    frame.line([0, 1], [1, 0], dashed=True)
    if curve is not None:
        alphas = 0.5 - 0.5 * np.cos(np.linspace(0.0, np.pi, POINTS))  # dense where trade-off functions bend
        found = curve.beta(alphas)
        frame.area(np.concatenate((alphas, alphas[::-1])), np.concatenate((found.upper, np.flip(found.lower))))
        frame.line(alphas, found.lower)
    if corners:
        frame.dots(*zip(*corners, strict=True))
    return frame.svg()


def attacks(curves: Sequence[tuple[Any, Any]], title: str) -> str:
    """ROC curves, the first of them in colour; the dashed line is guessing."""
    frame = Frame(title, ERRORS[0], "members found")
    frame.line([0, 1], [0, 1], dashed=True)
    for place, (alarms, members) in enumerate(curves):
        frame.line(alarms, members, dashed=place > 0)
    return frame.svg()


def intervals(rows: Sequence[tuple[float, ...]], title: str) -> str:
    """Values as bars with a dot at their end and a line from the lower to the upper end, one below the other."""
    ends = np.array(rows, dtype=float).reshape(-1, 3)
    places = np.arange(len(rows), 0.0, -1.0)
    sides = (min(0.0, float(ends.min())), max(0.0, float(ends.max()))) if len(rows) else (0.0, 1.0)
    frame = Frame(title, "value and interval", "row", sides, (0.0, len(rows) + 1.0), ((len(rows), "first"),))
    for place, (value, low, high) in zip(places, ends, strict=True):
        frame.area([0.0, value, value, 0.0], [place - 0.3, place - 0.3, place + 0.3, place + 0.3])
        frame.line([low, high], [place, place])
    frame.dots(ends[:, 0], places)
    return frame.svg()


def polygon(outline: FloatArray, title: str = "Privacy region") -> str:
    """A closed shape in the plane of both errors."""
    frame = Frame(title, *ERRORS)
    frame.line([0, 1], [1, 0], dashed=True)
    frame.area(outline[:, 0], outline[:, 1])
    closed = np.concatenate((outline, outline[:1]))
    frame.line(closed[:, 0], closed[:, 1])
    return frame.svg()


def profile(epsilons: FloatArray, deltas: FloatArray, title: str = "Privacy profile") -> str:
    """delta for each epsilon, on a logarithmic scale."""
    shown = np.isfinite(epsilons)
    places, values = epsilons[shown], np.log10(np.maximum(deltas[shown], _FLOOR))
    least = float(math.floor(min(values.min(initial=-1.0), -1.0)))
    frame = Frame(
        title, "epsilon", "delta", _span(places), (least, 0.0),
        y_ticks=((least, f"1e{least:.0f}"), (0.0, "1")),
    )  # fmt: skip
    frame.line(places, values)
    return frame.svg()


def steps(sizes: Sequence[float], values: FloatArray, across: str, along: str, title: str) -> str:
    """A falling list of values, such as an influence curve; infinite ones are left out."""
    known = np.isfinite(values)
    most = float(np.max(values[known], initial=0.0)) or 1.0
    frame = Frame(title, across, along, _span(np.asarray(sizes, dtype=float)), (0.0, most))
    frame.line(np.asarray(sizes, dtype=float)[known], values[known])
    return frame.svg()


def _span(places: FloatArray) -> tuple[float, float]:
    low, high = (float(places.min()), float(places.max())) if places.size else (0.0, 0.0)
    return (low, high) if high > low else (low, low + 1.0)


def _share(value: float, ends: tuple[float, float]) -> float:
    return min(max((value - ends[0]) / (ends[1] - ends[0]), 0.0), 1.0)


def _short(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _text(x: float, y: float, words: str, anchor: str, more: str = "") -> str:
    look = f'text-anchor="{anchor}" font-size="10" fill="currentColor" font-family="sans-serif"'
    return f'<text x="{x:.1f}" y="{y:.1f}" {look}{more}>{escape(words)}</text>'
