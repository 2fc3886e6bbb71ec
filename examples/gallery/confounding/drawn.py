"""Pictures of this room: two privacy profiles over each other, and plain lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.document.blocks import Picture
from quiltwork.document.draw.style import COLOURS
from quiltwork.document.draw.svg import picture

DASHED = (0, (4, 2))


def profiles(name: str, title: str, caption: str, truth: Any, ignoring: Any, reach: float) -> Picture:
    """delta of the joint law as a certified band, and of the product that ignores the confounder."""
    epsilons = np.linspace(0.0, reach, 161)

    def draw(axes: Any) -> None:
        true, claimed = truth.delta(epsilons), ignoring.delta(epsilons)
        axes.fill_between(epsilons, true.lower, true.upper, color=COLOURS["accent"], alpha=0.3, linewidth=0)
        axes.plot(epsilons, true.upper, color=COLOURS["accent"], linewidth=2.0, label="joint law, certified")
        axes.plot(epsilons, claimed.midpoint, color=COLOURS["bad"], linestyle=DASHED, label="product of the parts")
        axes.set(xlim=(0, reach), ylim=(0, None), xlabel="epsilon", ylabel="delta")
        axes.legend(loc="upper right")

    return picture(name, title, caption, draw)


def lines(
    name: str,
    title: str,
    caption: str,
    places: Sequence[float] | FloatArray,
    curves: Sequence[tuple[Any, str, Any, str]],
    labels: tuple[str, str],
    logarithmic: tuple[bool, bool] = (False, False),
) -> Picture:
    """Several curves (values, colour, line style, words) over the same places."""

    def draw(axes: Any) -> None:
        for values, colour, style, words in curves:
            axes.plot(places, values, color=COLOURS[colour], linestyle=style, label=words)
        for scale, chosen in zip((axes.set_xscale, axes.set_yscale), logarithmic, strict=True):
            if chosen:
                scale("log")
        axes.set(xlabel=labels[0], ylabel=labels[1])
        axes.legend(loc="best")

    return picture(name, title, caption, draw)
