"""What all pictures share: colours, style, formats, and the same bytes from the same picture.

Nothing global is touched and nothing depends on the clock.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from quiltwork import checks
from quiltwork.errors import InvalidParameter, imported

# A page replaces each colour by the variable of the same name, so that figures follow its light or dark theme.
COLOURS = {
    "ink": "#24292f",
    "muted": "#8b929c",
    "accent": "#1f5f99",
    "good": "#2e7d4f",
    "bad": "#b3342d",
    "warm": "#b0700f",
}
FORMATS = ("svg", "png", "pdf")
STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 9.5,
    "text.color": COLOURS["ink"],
    "axes.labelcolor": COLOURS["ink"],
    "axes.edgecolor": COLOURS["muted"],
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": COLOURS["muted"],
    "grid.alpha": 0.25,
    "grid.linewidth": 0.5,
    "xtick.color": COLOURS["muted"],
    "ytick.color": COLOURS["muted"],
    "xtick.labelcolor": COLOURS["ink"],
    "ytick.labelcolor": COLOURS["ink"],
    "legend.frameon": False,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
}
_DATES: dict[str, Any] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}


def figure_format(path: str | os.PathLike[str]) -> str:
    """The picture format that a file name asks for."""
    kind = Path(path).suffix.lower().removeprefix(".")
    if kind not in FORMATS:
        endings = " or ".join(f".{name}" for name in FORMATS)
        raise InvalidParameter("figure", os.fspath(path), f"a file name that ends in {endings}")
    return kind


def draw_on(axes: Any, kind: str, panels: Mapping[str, Callable[[Any], None]]) -> list[Any]:
    """Draw one panel on axes of the caller, or all of them on as many axes; the axes that were drawn on."""
    checks.one_of("kind", kind, panels)
    if not isinstance(axes, (Sequence, np.ndarray)):
        panels[kind](axes)
        return [axes]
    each = list(np.ravel(np.asarray(axes, dtype=object)))
    if len(each) != len(panels):
        raise InvalidParameter("axes", axes, "matplotlib axes, or two of them")
    for draw, one in zip(panels.values(), each, strict=True):
        draw(one)
    return each


def drawn_figure(size: tuple[float, float], draw: Callable[[Any], None], style: dict[Any, Any] | None = None) -> Any:
    """A matplotlib figure of this size, drawn in the house style."""
    figures = imported("matplotlib.figure", "matplotlib", "report")
    with imported("matplotlib", "matplotlib", "report").rc_context({**STYLE, **(style or {})}):
        figure = figures.Figure(figsize=size, layout="constrained")
        draw(figure)
    return figure


def rendered(
    size: tuple[float, float],
    draw: Callable[[Any], None],
    kind: str,
    salt: str,
    background: str = "white",
    style: dict[Any, Any] | None = None,
) -> bytes:
    """The bytes of a picture; `salt` makes the names inside an SVG the same every time."""
    figure = drawn_figure(size, draw, style)
    import matplotlib

    buffer = io.BytesIO()
    with matplotlib.rc_context({**STYLE, **(style or {}), "svg.hashsalt": salt}):
        figure.savefig(buffer, format=kind, metadata=_DATES[kind], facecolor=background, dpi=160)
    return buffer.getvalue()


def inlined(picture: bytes, title: str) -> str:
    """The svg element alone: themed, named for screen readers, without ids that two figures would share."""
    text = picture.decode()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'<g id="[\w.]+_\d+">', "<g>", text)
    text = re.sub(r"font: ([\d.]+)px [^;\"]*", r"font-size: \1px", text)
    for name, colour in COLOURS.items():
        text = text.replace(colour, f"var(--{name})")
    return text.replace("<svg ", f'<svg role="img" aria-label="{title}" ', 1).strip()
