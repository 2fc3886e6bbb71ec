"""Redraw Figures 1, 2 and 3 of "Composition Theorems for Multiple Differential Privacy Constraints".

    python examples/regions.py build/figures

Each picture shows privacy regions: the pairs of errors (false alarms, misses) that a test of the adversary may have. A
curve is the lower boundary of a region; the closer it comes to the corner, the more the releases give away.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtr, ndtri

import quiltwork as qw
from quiltwork.compose.papers.simple_rules import one_at_a_time, with_total_variation
from quiltwork.losses.papers.two_constraints import chords, tangents

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INK, MUTED, BLUE, RED, GOLD = "#24292f", "#8b929c", "#1f5f99", "#b3342d", "#b07d12"
STYLE: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.size": 10,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": MUTED,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 11,
    "axes.titlelocation": "left",
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "legend.frameon": False,
    "legend.handlelength": 1.8,
    "svg.fonttype": "none",
    "svg.hashsalt": "quiltwork",
}
TICKS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
DASHES, DOTS = (0, (5, 2)), (0, (1.5, 1.5))


def mixture() -> Figure:
    """Figure 1: two regions, and the region when a visible coin decides which of the two mechanisms runs."""
    one, two = qw.approximate(1.3, 0.0), qw.approximate(0.5, 0.2)
    both = qw.mixture([(0.5, one), (0.5, two)])
    figure, (axes,) = squares(1)
    lower(axes, one.region().vertices, GOLD, r"$\varepsilon = 1.3$, $\delta = 0$", DASHES)
    lower(axes, two.region().vertices, RED, r"$\varepsilon = 0.5$, $\delta = 0.2$", DOTS)
    lower(axes, both.region().vertices, BLUE, "mixture, half and half", fill=True)
    axes.set_title("A mixture of two regions")
    axes.legend(loc="upper right")
    return figure


def baselines(counts: Sequence[int] = (3, 20)) -> Figure:
    """Figure 2: two constraints at once, composed exactly and by the two simpler rules."""
    points = [(0.3, 0.0), (0.15, 0.02)]
    figure, panels = squares(len(counts))
    for axes, count in zip(panels, counts, strict=True):
        total, alone = with_total_variation(points, count), one_at_a_time(points, count)
        lower(axes, (count * qw.constraints(points)).region().vertices, BLUE, "exact", fill=True)
        lower(axes, total.vertices, GOLD, "with total variation (Remark 2)", DASHES)
        lower(axes, alone.vertices, RED, "each alone (Remark 1)", DOTS)
        axes.set_title(f"{count} releases")
    title = r"$(\varepsilon, \delta) = (0.3, 0)$ and $(0.15, 0.02)$"
    panels[0].legend(loc="upper right", title=title, alignment="left")
    return figure


def gaussian(counts: Sequence[int] = (3, 10)) -> Figure:
    """Figure 3: Gaussian noise between two constraints below and two above."""

    def f(x: float) -> float:
        return float(ndtr(-ndtri(x) - 1.0))

    def slope(x: float) -> float:
        return -math.exp(-ndtri(x) - 0.5) if x > 0 else -math.inf

    below, above = tangents(f, slope, criterion="rotated"), chords(f, slope)
    alpha = 0.5 - 0.5 * np.cos(np.linspace(0.0, np.pi, 2001))
    figure, panels = squares(len(counts))
    for axes, count in zip(panels, counts, strict=True):
        exact = np.column_stack((alpha, (count * qw.gdp(1.0)).beta(alpha).lower))
        upper, under = ((count * qw.constraints(points)).region().vertices for points in (above, below))
        axes.set_title(f"{count} releases")
        views = [axes]
        if exact[np.searchsorted(alpha, 0.1), 1] < 0.1:  # everything happens in the corner
            views.append(corner(axes, 0.2))
        for view in views:
            lower(view, upper, GOLD, "two chords, above", DASHES)
            lower(view, exact, BLUE, "exact", fill=True)
            lower(view, under, RED, "two tangents, below", DOTS)
    panels[0].legend(loc="upper right", title=r"Gaussian noise, $\mu = 1$", alignment="left")
    return figure


def squares(count: int) -> tuple[Figure, list[Any]]:
    """Panels of equal scale, with the line of perfect privacy."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.7 * count, 4.9), layout="constrained")
    figure.get_layout_engine().set(wspace=0.04)
    panels = list(np.ravel(figure.subplots(1, count, sharey=True)))
    for axes in panels:
        axes.plot([0, 1], [1, 0], color=MUTED, linewidth=0.8, linestyle=(0, (4, 3)), zorder=1)
        axes.set(xlim=(0, 1), ylim=(0, 1), xticks=TICKS, yticks=TICKS, xlabel="type I error (false alarms)")
        axes.set_aspect("equal")
    panels[0].set_ylabel("type II error (misses)")
    panels[0].text(0.515, 0.505, "perfect privacy", color=MUTED, fontsize=8.5, rotation=-45, rotation_mode="anchor")
    return figure, panels


def corner(axes: Any, size: float) -> Any:
    """The corner of a panel, enlarged into its empty half."""
    inset = axes.inset_axes((0.56, 0.55, 0.43, 0.43), xlim=(0, size), ylim=(0, size))
    marks, words = (size / 2, size), (f"{size / 2:g}", f"{size:g}")
    inset.set(xticks=marks, yticks=marks, xticklabels=words, yticklabels=words, facecolor="white")
    inset.tick_params(labelsize=8.5)
    axes.indicate_inset_zoom(inset, edgecolor=MUTED, alpha=0.35)
    return inset


def lower(axes: Any, vertices: Any, colour: str, label: str, style: Any = "-", *, fill: bool = False) -> None:
    """The lower boundary of a region; filled up to the line of perfect privacy for the one that matters."""
    if fill:
        axes.fill_between(vertices[:, 0], vertices[:, 1], 1 - vertices[:, 0], color=colour, alpha=0.08, linewidth=0)
    axes.plot(vertices[:, 0], vertices[:, 1], color=colour, linewidth=1.8, linestyle=style, label=label, zorder=3)


def main(folder: str = "build/figures") -> list[Path]:
    """Write fig1, fig2 and fig3 as PNG and SVG; the same numbers give the same bytes."""
    import matplotlib

    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    written = []
    for name, draw in (("fig1", mixture), ("fig2", baselines), ("fig3", gaussian)):
        with matplotlib.rc_context(STYLE):
            figure = draw()
            for kind, metadata in (("png", {}), ("svg", {"Date": None})):
                path = target / f"{name}.{kind}"
                figure.savefig(path, metadata=metadata, dpi=160)
                written.append(path)
    return written


if __name__ == "__main__":
    for path in main(*sys.argv[1:2]):
        print(path)
