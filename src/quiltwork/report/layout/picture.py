"""Drawings as blocks of a report, or as files of their own."""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from quiltwork.curves.drawing import inlined, rendered
from quiltwork.report.layout.blocks import Picture

__all__ = ["beside", "picture"]

SIZE = (4.6, 3.7)
Draw = Callable[[Any], None]


def picture(name: str, title: str, caption: str, draw: Draw, size: tuple[float, float] = SIZE) -> Picture:
    """A block of one drawing; `draw` is given matplotlib axes, the title is what a screen reader says."""
    found = rendered(size, lambda figure: draw(figure.subplots()), "svg", name, "none")
    return Picture(name, title, caption, inlined(found, html.escape(title, quote=True)))


def beside(draws: Sequence[Draw], kind: str, salt: str, title: str = "", size: tuple[float, float] = SIZE) -> bytes:
    """Drawings side by side under one title, as the bytes of a file; the same drawings give the same bytes."""

    def draw(figure: Any) -> None:
        for one, axes in zip(draws, np.ravel(figure.subplots(1, len(draws))), strict=True):
            one(axes)
        if title:
            figure.suptitle(plain(title), fontsize=10.5)

    return rendered((size[0] * len(draws), size[1]), draw, kind, salt)


def plain(text: str) -> str:
    """A title or a label is text, never mathematics."""
    return text.replace("$", r"\$")
