"""Pictures of the room: ROC curves of the paper's attackers, and of the best retrained one, with their range."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from examples.gallery.game.attacks import BEST, Area, Attacked
from quiltwork.document.blocks import Picture
from quiltwork.document.draw.style import COLOURS
from quiltwork.document.draw.svg import picture

RATES = np.linspace(0.0, 1.0, 201)
INKS = (COLOURS["accent"], COLOURS["good"], COLOURS["warm"], COLOURS["muted"])
SIZE = (5.4, 4.2)


def draw_area(axes: Any, area: Area, label: str, colour: str, style: str = "-", width: float = 1.4) -> None:
    """One attacker: the mean curve, and the range over trainings where there are several."""
    curves = area.at(RATES)
    if len(curves) > 1:
        axes.fill_between(RATES, curves.min(axis=0), curves.max(axis=0), color=colour, alpha=0.15, linewidth=0)
    axes.plot(RATES, curves.mean(axis=0), style, color=colour, linewidth=width, label=f"{label} {area.mean:.3f}")


def frame(axes: Any) -> None:
    """Axes of a ROC, with the line of guessing."""
    axes.plot(RATES, RATES, color=COLOURS["muted"], linewidth=0.8)
    axes.set(xlabel="others called members (false alarms)", ylabel="members found", xlim=(0, 1), ylim=(0, 1.005))
    axes.legend(fontsize=8, loc="lower right", title="AUC", title_fontsize=8)


def curves(name: str, title: str, caption: str, areas: Sequence[tuple[str, Area]], best: Area | None) -> Picture:
    """Several attackers, or one against several defences; the best retrained one in red."""

    def draw(axes: Any) -> None:
        for place, (label, area) in enumerate(areas):
            draw_area(axes, area, label, INKS[place % len(INKS)])
        if best is not None:
            draw_area(axes, best, BEST, COLOURS["bad"], "--", 2.0)
        frame(axes)

    return picture(name, title, caption, draw, SIZE)


def attackers(name: str, title: str, found: Attacked, names: Sequence[str]) -> Picture:
    """The attackers of one defence as the paper draws them, and the best retrained one."""
    caption = (
        f"Solid: the paper's attackers. Dashed: the best of the attackers trained afterwards ({found[BEST].who}). "
        "All curves are completed to (1, 1)."
    )
    return curves(name, title, caption, [(one, found[one]) for one in names], found[BEST])


def points(name: str, title: str, caption: str, drawn: Any, size: tuple[float, float] = SIZE) -> Picture:
    """Any other drawing on one pair of axes."""
    return picture(name, title, caption, drawn, size)
