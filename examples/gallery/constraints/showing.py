"""Numbers as text, and pictures of regions in the colours of the page."""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from typing import Any

import attrs

from examples.regions import DASHES, DOTS, TICKS, lower
from quiltwork.checks import FloatArray
from quiltwork.document.blocks import Picture
from quiltwork.document.draw.style import COLOURS, inlined, rendered

SIZE = (5.4, 5.2)


def number(value: Any, digits: int = 6) -> str:
    """A few significant digits, to the nearest: for tables."""
    return f"{float(value):.{digits}g}"


def power(value: Any) -> str:
    """A small number by its size."""
    return "0" if value == 0 else f"{float(value):.1e}"


@attrs.frozen
class Line:
    """The lower boundary of a region, ready to be drawn."""

    label: str
    vertices: FloatArray = attrs.field(eq=False)
    colour: str = "accent"
    style: Any = "-"
    fill: bool = False


def exact(label: str, vertices: FloatArray) -> Line:
    return Line(label, vertices, "accent", "-", True)


def dashed(label: str, vertices: FloatArray) -> Line:
    return Line(label, vertices, "warm", DASHES)


def dotted(label: str, vertices: FloatArray) -> Line:
    return Line(label, vertices, "bad", DOTS)


def regions(name: str, title: str, caption: str, lines: Sequence[Line], zoom: float = 0.0) -> Picture:
    """Regions over each other; `zoom` enlarges the corner up to this error into the empty half of the picture."""

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        axes.plot([0, 1], [1, 0], color=COLOURS["muted"], linewidth=0.8, linestyle=(0, (4, 3)), label="nothing leaks")
        axes.set(xlim=(0, 1), ylim=(0, 1), xticks=TICKS, yticks=TICKS)
        axes.set(xlabel="type I error (false alarms)", ylabel="type II error (misses)")
        axes.set_aspect("equal")
        views = [axes, corner(axes, zoom)] if zoom else [axes]
        for view in views:
            for line in lines:
                lower(view, line.vertices, COLOURS[line.colour], line.label, line.style, fill=line.fill)
        if zoom:
            figure.legend(loc="outside lower center", ncols=2, handles=axes.get_legend_handles_labels()[0])
        else:
            axes.legend(loc="upper right")

    return drawn(name, title, caption, draw, SIZE)


def corner(axes: Any, size: float) -> Any:
    """The corner of a panel, enlarged into its empty half."""
    inset = axes.inset_axes((0.55, 0.52, 0.44, 0.44), xlim=(0, size), ylim=(0, size))
    marks = (size / 2, size)
    inset.set(xticks=marks, yticks=marks, xticklabels=[f"{m:g}" for m in marks], yticklabels=[f"{m:g}" for m in marks])
    axes.indicate_inset_zoom(inset, edgecolor=COLOURS["muted"], alpha=0.5)
    return inset


def plot(name: str, title: str, caption: str, draw: Callable[[Any], None]) -> Picture:
    """An ordinary diagram; `draw` is given matplotlib axes."""
    return drawn(name, title, caption, lambda figure: draw(figure.subplots()), (5.4, 3.8))


def drawn(
    name: str, title: str, caption: str, draw: Callable[[Any], None], size: tuple[float, float]
) -> Picture:  # fmt: skip
    svg = inlined(rendered(size, draw, "svg", name, "none"), html.escape(title, quote=True))
    return Picture(name, title, caption, svg)
