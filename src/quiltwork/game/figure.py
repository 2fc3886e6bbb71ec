"""The picture of a leaderboard: ROC curves of all attackers, and the same where false alarms are rare."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.document.draw.style import drawn_figure, figure_format, rendered
from quiltwork.errors import InvalidParameter
from quiltwork.game.attackers.knowledge import Knowledge

if TYPE_CHECKING:
    from quiltwork.game.leaderboard import Leaderboard

__all__ = ["drawn", "drawn_on"]

SIZE = (11.6, 4.3)
FLOOR = 1e-3  # the least share of false alarms in the second panel
POINTS = 300  # of a curve in the picture
PLAIN: dict[Any, Any] = {"axes.grid": False}
DASHES = {Knowledge.T1: "-", Knowledge.T2: "--", Knowledge.T3: ":"}
RATES: FloatArray = np.unique(np.concatenate((np.linspace(0, 1, POINTS), np.geomspace(FLOOR, 1, POINTS))))
# the first four are the house colours, which a report turns over in the dark; the others are seen on both grounds
INKS = ("#1f5f99", "#b3342d", "#2e7d4f", "#b0700f", "#8a5cc4", "#0f8791", "#b9578f", "#777f8a")


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


def drawn_on(board: Leaderboard, axes: Any, kind: str = "all") -> Any:
    """Draw it on axes of the caller, or on two of them, and give them back."""
    if kind not in ("all", "rare"):
        raise InvalidParameter("kind", kind, "'all' or 'rare'")
    if isinstance(axes, (Sequence, np.ndarray)):
        both = list(np.ravel(np.asarray(axes, dtype=object)))
        if len(both) != 2:
            raise InvalidParameter("axes", axes, "matplotlib axes, or two of them")
        _all(board, both[0])
        _rare(board, both[1])
        both[0].legend(fontsize=8, frameon=False)
        return axes
    (_all if kind == "all" else _rare)(board, axes)
    axes.legend(fontsize=8, frameon=False)
    return axes


def _drawn(board: Leaderboard, figure: Any) -> None:
    left, right = figure.subplots(1, 2)
    _all(board, left)
    _rare(board, right)
    title = "AUC on test releases\nT1 all rows, T2 own row, T3 the others too"
    look = {"fontsize": 8, "frameon": False, "title_fontsize": 8, "alignment": "left"}
    figure.legend(*left.get_legend_handles_labels(), loc="outside right upper", title=title, **look)
    heading = f"{board.release}: attackers retrained against it"
    figure.suptitle(heading.replace("$", r"\$"), fontsize=10.5)  # a name is text, never mathematics


def _all(board: Leaderboard, axes: Any) -> None:
    _curves(board, axes, RATES)
    axes.set(xlabel="others called members (false alarms)", ylabel="members found", xlim=(0, 1), ylim=(0, 1))
    axes.set_aspect("equal")


def _rare(board: Leaderboard, axes: Any) -> None:
    _curves(board, axes, RATES[RATES >= FLOOR], FLOOR)
    axes.set(xscale="log", yscale="log", xlim=(FLOOR, 1), ylim=(FLOOR, 1))
    axes.set(xlabel="false alarms, where they are rare", ylabel="members found")
    axes.set_aspect("equal")


def _curves(board: Leaderboard, axes: Any, rates: FloatArray, floor: float = 0.0) -> None:
    axes.plot(rates, rates, color="#8a8f98", linewidth=0.8, linestyle="-", zorder=1)
    for place, entry in enumerate(board.entries):
        best = entry is board.best
        axes.plot(
            rates,
            np.maximum(entry.roc.at(rates), floor),
            color=INKS[place % len(INKS)],
            linestyle=DASHES[entry.knows],
            linewidth=2.2 if best else 1.0,
            zorder=3 if best else 2,
            label=f"{entry.name} ({entry.knows.name}) {entry.auc.estimate:.3f}",
        )
