"""Pictures inside a page and as files: names are kept apart, and a copy can stand alone."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from quiltwork.document.blocks import Picture
from quiltwork.document.draw.style import COLOURS, inlined, rendered

__all__ = ["alone", "apart", "beside", "picture", "plain"]

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
