"""The picture of a leaderboard: ROC curves of all attackers, and the same where false alarms are rare."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from quiltwork.curves.drawing import drawn_figure, figure_format, rendered
from quiltwork.game.attackers.knowledge import Knowledge

if TYPE_CHECKING:
    from quiltwork.game.leaderboard import Leaderboard

__all__ = ["drawn"]

SIZE = (11.6, 4.3)
FLOOR = 1e-3  # the least share of false alarms in the second panel
POINTS = 300  # of a curve in the picture
PLAIN: dict[Any, Any] = {"axes.grid": False}
DASHES = {Knowledge.T1: "-", Knowledge.T2: "--", Knowledge.T3: ":"}
INKS = ("#1f4e79", "#b3342d", "#3c7a3c", "#8a5a00", "#6b3fa0", "#00707a", "#a0527d", "#555a63")


def drawn(board: Leaderboard, path: Any = None, kind: str | None = None) -> Any:
    """Draw it: the figure itself, or its bytes when only a format is given, or written when a path is given."""
    if path is None and kind is None:
        return drawn_figure(SIZE, lambda figure: _drawn(board, figure), PLAIN)
    chosen = figure_format(path) if path is not None else str(kind)
    picture = rendered(SIZE, lambda figure: _drawn(board, figure), chosen, "ladder", style=PLAIN)
    if path is None:
        return picture
    Path(path).write_bytes(picture)
    return Path(path)


def _drawn(board: Leaderboard, figure: Any) -> None:
    left, right = figure.subplots(1, 2)
    _curves(board, left, right)
    title = "AUC on test releases\nT1 all rows, T2 own row, T3 the others too"
    figure.legend(loc="outside right upper", fontsize=8, frameon=False, title=title, title_fontsize=8, alignment="left")
    heading = f"{board.release}: attackers retrained against it"
    figure.suptitle(heading.replace("$", r"\$"), fontsize=10.5)  # a name is text, never mathematics


def _curves(board: Leaderboard, left: Any, right: Any) -> None:
    rates = np.unique(np.concatenate((np.linspace(0, 1, POINTS), np.geomspace(FLOOR, 1, POINTS))))
    for axes in (left, right):
        axes.plot(rates, rates, color="#8a8f98", linewidth=0.8, linestyle="-", zorder=1)
    for place, entry in enumerate(board.entries):
        found = entry.roc.at(rates)
        best = entry is board.best
        look = {
            "color": INKS[place % len(INKS)],
            "linestyle": DASHES[entry.knows],
            "linewidth": 2.2 if best else 1.0,
            "zorder": 3 if best else 2,
        }
        label = f"{entry.name} ({entry.knows.name}) {entry.auc.estimate:.3f}"
        left.plot(rates, found, label=label, **look)
        shown = rates >= FLOOR
        right.plot(rates[shown], np.maximum(found[shown], FLOOR), **look)
    left.set(xlabel="others called members (false alarms)", ylabel="members found", xlim=(0, 1), ylim=(0, 1))
    left.set_aspect("equal")
    right.set(xscale="log", yscale="log", xlim=(FLOOR, 1), ylim=(FLOOR, 1))
    right.set(xlabel="false alarms, where they are rare", ylabel="members found")
    right.set_aspect("equal")
