"""The picture that `quiltwork design --figure` writes: the errors of every test before and after, and the channel."""

from __future__ import annotations

import io
import math
from typing import Any

import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.cli.design_view import View, spread
from quiltwork.confounding.design import Design
from quiltwork.curves.digits import single
from quiltwork.errors import MissingExtra

SIZE = (9.6, 4.3)
POINTS = 301
NAMED = 16  # rows and columns up to which each has its label
WRITTEN = 12  # and its number
LONGEST = 14  # characters of a label
MOST_BOUNDED = 2_000_000  # X * X * Y up to which Theorem B is drawn, point by point
INK, WARM, GOLD, MUTED = "#1f4e79", "#b3342d", "#c77f00", "#8a8f98"
BEFORE: dict[str, Any] = {"color": GOLD, "linewidth": 1.8, "linestyle": (0, (5, 2))}
AFTER: dict[str, Any] = {"color": INK, "linewidth": 2.0}
CLAIM: dict[str, Any] = {"color": WARM, "linewidth": 1.5, "linestyle": (0, (1, 1.5))}
BOUND: dict[str, Any] = {"color": MUTED, "linewidth": 1.5, "linestyle": (0, (6, 2, 1, 2))}


def drawn(found: View, kind: str) -> bytes:
    """Both panels; the same view gives the same bytes."""
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtra("matplotlib", "report") from None
    dates = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}
    style: dict[Any, Any] = {"svg.fonttype": "none", "svg.hashsalt": "design", "font.size": 9.5}
    with matplotlib.rc_context({**style, "legend.frameon": False}):
        figure = Figure(figsize=SIZE, layout="constrained")
        left, right = figure.subplots(1, 2)
        _draw_tests(found, left)
        if found.design is None:
            _draw_profile(found, right)
        else:
            _draw_channel(found, found.design, right)
        figure.suptitle(_plain(found.file.title), fontsize=10.5)
        buffer = io.BytesIO()
        figure.savefig(buffer, format=kind, metadata=dates[kind], dpi=160)
    return buffer.getvalue()


def _plain(text: str) -> str:
    """Text, never mathematics."""
    return text.replace("$", r"\$")


def _draw_tests(found: View, axes: Any) -> None:
    """Misses against false alarms of whoever guesses the secret; below a curve no test can be."""
    alpha = 0.5 - 0.5 * np.cos(np.linspace(0.0, np.pi, POINTS))
    axes.plot([0, 1], [1, 0], color=MUTED, linewidth=0.8, linestyle="--")
    if found.epsilon is not None:
        delta = float(found.delta)
        least = _promised(alpha, found.epsilon, delta)
        words = f"target: no test below\n(epsilon {found.epsilon:.4g}, delta {single(delta)})"
        axes.fill_between(alpha, 0.0, least, color=MUTED, alpha=0.22, linewidth=0, label=words)
    axes.plot(alpha, found.before.release.beta(alpha).lower, label="released before", **BEFORE)
    if found.design is not None:
        axes.plot(alpha, found.design.after.beta(alpha).lower, label="with the new mechanism", **AFTER)
    elif found.before.claimed is not None:
        claim = found.before.release.ignoring_confounder()
        axes.plot(alpha, claim.beta(alpha).lower, label="ignoring the confounder", **CLAIM)
    axes.set(xlim=(0, 1), ylim=(0, 1), xlabel="false alarms", ylabel="misses", title="guessing between two secrets")
    axes.title.set_fontsize(9.5)
    axes.set_aspect("equal")
    axes.grid(color=MUTED, alpha=0.25, linewidth=0.5)
    axes.legend(loc="upper right", fontsize=8.5)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def _promised(alpha: FloatArray, epsilon: float, delta: float) -> FloatArray:
    """The trade-off function of the target."""
    grown = math.exp(min(epsilon, 700.0))
    least: FloatArray = np.maximum(np.maximum(1 - delta - grown * alpha, (1 - delta - alpha) / grown), 0.0)
    return least


def _draw_channel(found: View, made: Design, axes: Any) -> None:
    """P(output | input), darker is more likely; zero is white."""
    table = made.channel
    rows, columns = table.shape
    picture = axes.imshow(table, cmap="Blues", vmin=0.0, vmax=1.0, aspect="auto", interpolation="nearest")
    axes.set(xlabel="output of the new mechanism", ylabel=f"input: {made.task.reads}", title="the new mechanism")
    axes.title.set_fontsize(9.5)
    _label(axes.xaxis, found.output_labels)
    _label(axes.yaxis, found.input_labels)
    longest = max(len(label) for label in found.output_labels)
    if longest * min(columns, NAMED) > 56:
        axes.tick_params(axis="x", labelrotation=45)
        for label in axes.get_xticklabels():
            label.set_horizontalalignment("right")
            label.set_rotation_mode("anchor")
    if rows <= WRITTEN and columns <= WRITTEN:
        for (row, column), share in np.ndenumerate(table):
            if share >= 0.001:
                colour = "white" if share > 0.6 else "#24292f"
                shown = {"ha": "center", "va": "center", "color": colour, "fontsize": 7.5}
                axes.text(column, row, f"{100 * share:.0f}" if share >= 0.01 else "<1", **shown)
    words = "probability, cells in percent" if rows <= WRITTEN and columns <= WRITTEN else "probability"
    axes.figure.colorbar(picture, ax=axes, shrink=0.85, pad=0.02, label=words)


def _label(axis: Any, labels: tuple[str, ...]) -> None:
    places = spread(len(labels), NAMED)
    cut = [label if len(label) <= LONGEST else label[: LONGEST - 2] + ".." for label in labels]
    axis.set_ticks(places, [_plain(cut[place]) for place in places])


def _draw_profile(found: View, axes: Any) -> None:
    """delta against epsilon: the truth, what ignoring the confounder says, and the bound that needs no joint law."""
    release, before = found.before.release, found.before
    reach = next((end for level in (1e-3, 1e-2, 0.1, 0.5) if (end := _reach(found, level)) < math.inf), 1.0)
    reach = 1.15 * max(reach, found.epsilon or 0.0, 0.1)
    places = np.linspace(0.0, reach, POINTS)
    curves = [("all of it together", release.delta(places).upper, BEFORE)]
    if before.claimed is not None:
        curves.append(("ignoring the confounder", release.ignoring_confounder().delta(places).upper, CLAIM))
    if before.bound is not None and release.table.shape[0] ** 2 * release.table.shape[1] <= MOST_BOUNDED:
        few = places[:: POINTS // 50]
        curves.append(("Theorem B", np.interp(places, few, release.bounds().amplified(few)), BOUND))
    for words, deltas, style in curves:
        axes.plot(places, deltas, label=words, clip_on=False, **style)
    top = 1.08 * max(float(np.max(deltas)) for _, deltas, _ in curves)
    if found.epsilon is not None:
        mark = {"marker": "X", "color": WARM, "markersize": 8, "linestyle": "none", "clip_on": False}
        axes.plot(found.epsilon, float(found.delta), label="target, refused", zorder=5, **mark)
    axes.set(xlim=(0.0, reach), ylim=(0.0, max(top, 1.5 * float(found.delta), 0.01)))
    axes.set(xlabel="epsilon", ylabel="delta", title="what was released")
    axes.title.set_fontsize(9.5)
    axes.grid(color=MUTED, alpha=0.25, linewidth=0.5)
    axes.legend(loc="best", fontsize=8.5)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def _reach(found: View, level: float) -> float:
    """Where everything that is drawn has fallen to this delta."""
    ends = [float(found.before.release.epsilon(level).upper)]
    if found.before.claimed is not None:
        ends.append(float(found.before.release.ignoring_confounder().epsilon(level).upper))
    return max(ends)
