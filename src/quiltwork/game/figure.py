"""The picture of a leaderboard: ROC curves of all attackers, and the same where false alarms are rare."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from quiltwork.errors import InvalidParameter, MissingExtra
from quiltwork.game.attackers.knowledge import Knowledge

if TYPE_CHECKING:
    from quiltwork.game.leaderboard import Leaderboard

__all__ = ["drawn"]

SIZE = (11.6, 4.3)
FLOOR = 1e-3  # the least share of false alarms in the second panel
POINTS = 300  # of a curve in the picture
FORMATS = ("svg", "png", "pdf")
DASHES = {Knowledge.T1: "-", Knowledge.T2: "--", Knowledge.T3: ":"}
INKS = ("#1f4e79", "#b3342d", "#3c7a3c", "#8a5a00", "#6b3fa0", "#00707a", "#a0527d", "#555a63")


def drawn(board: Leaderboard, path: Any = None, kind: str | None = None) -> Any:
    """Draw it: the figure itself, or its bytes when only a format is given, or written when a path is given."""
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtra("matplotlib", "report") from None
    chosen = kind or ("png" if path is None else Path(path).suffix.lstrip(".").lower())
    if chosen not in FORMATS:
        raise InvalidParameter("figure", str(path), "a path that ends in .svg, .png or .pdf")
    style: dict[Any, Any] = {"svg.fonttype": "none", "svg.hashsalt": "ladder", "font.size": 9.5}
    with matplotlib.rc_context({**style, "axes.spines.top": False, "axes.spines.right": False}):
        figure = Figure(figsize=SIZE, layout="constrained")
        left, right = figure.subplots(1, 2)
        _curves(board, left, right)
        title = "AUC on test releases\nT1 all rows, T2 own row, T3 the others too"
        figure.legend(
            loc="outside right upper", fontsize=8, frameon=False, title=title, title_fontsize=8, alignment="left"
        )
        title = f"{board.release}: attackers retrained against it"
        figure.suptitle(title.replace("$", r"\$"), fontsize=10.5)
        if path is None and kind is None:
            return figure
        dates: dict[str, Any] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}
        buffer = io.BytesIO()
        figure.savefig(buffer, format=chosen, metadata=dates[chosen], dpi=160)
    if path is None:
        return buffer.getvalue()
    Path(path).write_bytes(buffer.getvalue())
    return Path(path)


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
