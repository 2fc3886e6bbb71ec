"""The picture that `quiltwork design --figure` writes: the errors of every test before and after, and the channel."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.document.blocks import Picture
from quiltwork.document.draw.style import COLOURS
from quiltwork.document.draw.svg import beside, picture, plain
from quiltwork.numbers.digits import single
from quiltwork.report.design.view import View, spread
from quiltwork.report.figures import allowed

SIZE = (4.8, 4.3)
POINTS = 301
NAMED = 16  # rows and columns up to which each has its label
WRITTEN = 12  # and its number
DEEPEST = 0.6  # share of the colour in a sure cell, so that its number can be read on it
LONGEST = 14  # characters of a label
MOST_BOUNDED = 2_000_000  # X * X * Y up to which Theorem B is drawn, point by point
INK, WARM, GOLD, MUTED = (COLOURS[name] for name in ("accent", "bad", "warm", "muted"))
BEFORE: dict[str, Any] = {"color": GOLD, "linewidth": 1.8, "linestyle": (0, (5, 2))}
AFTER: dict[str, Any] = {"color": INK, "linewidth": 2.0}
CLAIM: dict[str, Any] = {"color": WARM, "linewidth": 1.5, "linestyle": (0, (1, 1.5))}
BOUND: dict[str, Any] = {"color": MUTED, "linewidth": 1.5, "linestyle": (0, (6, 2, 1, 2))}


def drawn(found: View, kind: str) -> bytes:
    """Both panels; the same view gives the same bytes."""
    other = _draw_profile if found.design is None else _draw_channel
    draws = (partial(_draw_tests, found), partial(other, found))
    return beside(draws, kind, "design", found.file.title, SIZE)


def pictures(found: View) -> list[Picture]:
    """Both panels for a page."""
    tests = picture(
        "tests",
        "Trade-off curve: the misses and false alarms of whoever guesses between two secrets",
        "Whoever guesses the secret makes two kinds of error. No test lies below a curve; a target keeps the shaded "
        "region free.",
        partial(_draw_tests, found),
        SIZE,
    )
    if found.design is None:
        words = "delta for each epsilon of what was released"
        caption = "The same as pairs of epsilon and delta, beside what other ways of reasoning would say."
        return [tests, picture("profile", f"Privacy profile: {words}", caption, partial(_draw_profile, found), SIZE)]
    caption = "How likely each output (across) is for each input (down); darker is more likely."
    draw = partial(_draw_channel, found)
    return [tests, picture("mechanism", "The new mechanism: a table of probabilities", caption, draw, SIZE)]


def _draw_tests(found: View, axes: Any) -> None:
    """Misses against false alarms of whoever guesses the secret; below a curve no test can be."""
    alpha = 0.5 - 0.5 * np.cos(np.linspace(0.0, np.pi, POINTS))
    axes.plot([0, 1], [1, 0], color=MUTED, linewidth=0.8, linestyle="--")
    if found.epsilon is not None:
        delta = float(found.delta)
        least = allowed(alpha, found.epsilon, delta)
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
    axes.legend(loc="upper right", fontsize=8.5)


def _draw_channel(found: View, axes: Any) -> None:
    """P(output | input), darker is more likely; zero is white."""
    made = found.design
    if made is None:
        return
    table = made.channel
    rows, columns = table.shape
    written = rows <= WRITTEN and columns <= WRITTEN
    if written:
        _draw_cells(table, axes)
    else:
        image = axes.imshow(table, cmap="Blues", vmin=0.0, vmax=1.0, aspect="auto", interpolation="nearest")
        axes.figure.colorbar(image, ax=axes, shrink=0.85, pad=0.02, label="probability")
    axes.grid(visible=False)
    title = "the new mechanism: probability in percent" if written else "the new mechanism"
    axes.set(xlabel="output of the new mechanism", ylabel=f"input: {made.task.reads}", title=title)
    axes.title.set_fontsize(9.5)
    _label(axes.xaxis, found.output_labels)
    _label(axes.yaxis, found.input_labels)
    longest = max(len(label) for label in found.output_labels)
    if longest * min(columns, NAMED) > 56:
        axes.tick_params(axis="x", labelrotation=45)
        for label in axes.get_xticklabels():
            label.set_horizontalalignment("right")
            label.set_rotation_mode("anchor")


def _draw_cells(table: FloatArray, axes: Any) -> None:
    """Each cell in the page's own colour, with its percent."""
    from matplotlib.patches import Rectangle

    rows, columns = table.shape
    axes.set(xlim=(-0.5, columns - 0.5), ylim=(rows - 0.5, -0.5))
    for (row, column), share in np.ndenumerate(table):
        if share < 0.001:
            continue
        place = (float(column) - 0.5, float(row) - 0.5)
        axes.add_patch(Rectangle(place, 1.0, 1.0, facecolor=INK, alpha=DEEPEST * float(share), linewidth=0))
        shown: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 7.5}
        axes.text(column, row, f"{100 * share:.0f}" if share >= 0.01 else "<1", **shown)


def _label(axis: Any, labels: tuple[str, ...]) -> None:
    places = spread(len(labels), NAMED)
    cut = [label if len(label) <= LONGEST else label[: LONGEST - 2] + ".." for label in labels]
    axis.set_ticks(places, [plain(cut[place]) for place in places])


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
    axes.legend(loc="best", fontsize=8.5)


def _reach(found: View, level: float) -> float:
    """Where everything that is drawn has fallen to this delta."""
    ends = [float(found.before.release.epsilon(level).upper)]
    if found.before.claimed is not None:
        ends.append(float(found.before.release.ignoring_confounder().epsilon(level).upper))
    return max(ends)
