"""Pictures inside a page and as files: charts are drawn with matplotlib, and a copy of a picture can stand alone."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np

from quiltwork.document.blocks import Axis, Chart, Picture, Trace
from quiltwork.document.draw.style import COLOURS, inlined, rendered

SIZE = (4.6, 4.2)
BELOW = 0.5  # inches from a chart to its legend
BESIDE = 40  # letters of two names that fit beside each other
DASHES: dict[str, Any] = {"": "-", "dash": (0, (4, 3)), "dot": (0, (1, 2))}
MARKS = {"circle": "o", "x": "X", "diamond": "D"}
NAMED, WRITTEN, LONGEST = 16, 12, 14  # names along a table of colours, cells up to which each is written, letters
DEEPEST = 0.6  # share of the colour in a sure cell, so that its number can be read on it
Draw = Callable[[Any], None]


def picture(name: str, title: str, caption: str, draw: Draw, size: tuple[float, float] = SIZE) -> Picture:
    """A block of one drawing; `draw` is given matplotlib axes, the title is what a screen reader says."""
    found = rendered(size, lambda figure: draw(figure.subplots()), "svg", name, "none")
    return Picture(name, title, caption, inlined(found, html.escape(title, quote=True)))


def plain(text: str) -> str:
    """A title or a label is text, never mathematics."""
    return text.replace("$", r"\$")


def apart(markup: str, prefix: str) -> str:
    """The same picture with its own names, so that two pictures on one page never share an id."""
    markup = re.sub(r'\bid="([^"]*)"', rf'id="{prefix}\1"', markup)
    markup = re.sub(r"url\(#([^)]*)\)", rf"url(#{prefix}\1)", markup)
    return re.sub(r'href="#([^"]*)"', rf'href="#{prefix}\1"', markup)


def alone(markup: str) -> str:
    """The picture as a file: colours instead of a page's variables, on white."""
    for name, colour in COLOURS.items():
        markup = markup.replace(f"var(--{name})", colour)
    body = markup.replace("<svg ", '<svg style="background: #ffffff" ', 1)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{body}\n'


@lru_cache(maxsize=64)
def pictured(chart: Chart) -> Picture:
    """A chart as a picture for a page."""
    return picture(chart.name, chart.title, chart.caption, partial(draw_chart, chart))


def row_of_charts(charts: Sequence[Chart], title: str = "") -> Draw:
    """Draws charts side by side, under one title, on a matplotlib figure."""

    def draw(figure: Any) -> None:
        for chart, axes in zip(charts, np.ravel(figure.subplots(1, len(charts))), strict=True):
            draw_chart(chart, axes)
        if title:
            figure.suptitle(plain(title), fontsize=10.5)

    return draw


def figure(charts: Sequence[Chart], kind: str, salt: str, title: str = "") -> bytes:
    """Charts side by side, as the bytes of a file; the same charts give the same bytes."""
    return rendered((SIZE[0] * len(charts), SIZE[1]), row_of_charts(charts, title), kind, salt)


def draw_chart(chart: Chart, axes: Any) -> None:
    """A chart on matplotlib axes."""
    for trace in chart.traces:
        (_heat if trace.kind == "heat" else _points if trace.kind == "points" else _line)(trace, axes)
    heat = any(trace.kind == "heat" for trace in chart.traces)
    if not heat:
        for side, ends, scale in ((chart.x, axes.set_xlim, axes.set_xscale), (chart.y, axes.set_ylim, axes.set_yscale)):
            scale(side.scale)
            if side.low is not None and side.high is not None:
                ends(side.low, side.high)
        plain_powers(axes, chart.x, chart.y)
    axes.set_xlabel(plain(chart.x.title))
    axes.set_ylabel(plain(chart.y.title))
    if chart.square:
        axes.set_aspect("equal")
    if not heat and (len(chart.traces) > 1 or chart.traces[0].name != chart.y.title):
        _legend(axes)


def _legend(axes: Any) -> None:
    """Names below the chart, where they hide no line."""
    from matplotlib.transforms import ScaledTranslation

    place = axes.transAxes + ScaledTranslation(0.0, -BELOW, axes.figure.dpi_scale_trans)
    names = sorted(map(len, axes.get_legend_handles_labels()[1]))
    look = {"fontsize": 8.5, "borderaxespad": 0.0, "ncols": 2 if sum(names[-2:]) <= BESIDE else 1}
    axes.legend(loc="upper left", bbox_to_anchor=(0.0, 0.0), bbox_transform=place, **look)


def _array(values: Sequence[float | None]) -> Any:
    return np.array([math.nan if value is None else value for value in values], dtype=float)


def _line(trace: Trace, axes: Any) -> None:
    colour, x, y = COLOURS[trace.role], _array(trace.x), _array(trace.y)
    if trace.to is not None:
        axes.fill_between(x, y, _array(trace.to), color=colour, alpha=0.3, linewidth=0, zorder=2)
        return
    width = 0.9 if trace.thin else 1.3 if trace.dash else 1.9
    look: dict[str, Any] = {"color": colour, "linewidth": width, "linestyle": DASHES[trace.dash], "zorder": 3}
    if trace.marks:
        look |= {"marker": "o", "markersize": 3.5, "clip_on": False}
    steps = {"drawstyle": "steps-post"} if trace.kind == "steps" else {}
    axes.plot(x, y, label=plain(trace.name), **look, **steps)
    if trace.fill:
        axes.fill(x, y, color=colour, alpha=0.2, linewidth=0)
    if trace.under:
        axes.fill_between(x, 0.0, y, color=colour, alpha=0.08, linewidth=0)


def _points(trace: Trace, axes: Any) -> None:
    look: dict[str, Any] = {"color": COLOURS[trace.role], "marker": MARKS[trace.symbol], "linestyle": "none"}
    axes.plot(_array(trace.x), _array(trace.y), label=plain(trace.name), markersize=7, zorder=5, clip_on=False, **look)


def _heat(trace: Trace, axes: Any) -> None:
    """Darker is more likely; on a page the ground shows through."""
    shares = np.array([_array(row) for row in trace.z])
    text = COLOURS["accent"].removeprefix("#")
    image = np.zeros((*shares.shape, 4))
    image[..., :3] = [int(text[place : place + 2], 16) / 255 for place in (0, 2, 4)]
    image[..., 3] = DEEPEST * shares
    axes.imshow(image, aspect="auto", interpolation="nearest")
    axes.grid(visible=False)
    if max(shares.shape) <= WRITTEN:
        for (row, column), share in np.ndenumerate(shares):
            if share >= 0.001:
                said = f"{100 * share:.0f}" if share >= 0.01 else "<1"
                axes.text(column, row, said, ha="center", va="center", fontsize=7.5)
    for axis, names in ((axes.xaxis, trace.x), (axes.yaxis, trace.y)):
        places = np.unique(np.linspace(0, len(names) - 1, min(len(names), NAMED)).round().astype(int)).tolist()
        cut = [names[place] if len(names[place]) <= LONGEST else names[place][: LONGEST - 2] + ".." for place in places]
        axis.set_ticks(places, [plain(name) for name in cut])
    if max(len(name) for name in trace.x) * min(len(trace.x), NAMED) > 56:
        axes.tick_params(axis="x", labelrotation=45)
        for label in axes.get_xticklabels():
            label.set_horizontalalignment("right")
            label.set_rotation_mode("anchor")


def plain_powers(axes: Any, x: Axis | None = None, y: Axis | None = None) -> None:
    """Powers of ten upwards, written as people type them; between less than two of them plain numbers."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    for axis, side in ((axes.xaxis, x), (axes.yaxis, Axis("", scale="log") if x is None and y is None else y)):
        if side is None or side.scale != "log":
            continue
        if side.low is not None and side.high is not None and side.high < 100 * side.low:
            axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            continue
        axis.set_major_locator(LogLocator(numticks=8))
        axis.set_major_formatter(FuncFormatter(lambda value, _: _power(value)))
        axis.set_minor_locator(NullLocator())


def _power(value: float) -> str:
    return f"{value:g}" if 0.01 <= value <= 1000 else f"1e{round(math.log10(value))}"
