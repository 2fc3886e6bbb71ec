"""Pictures of a guarantee: the trade-off curve and the privacy profile, as files or as SVG inside a page.

Nothing global is touched and nothing depends on the clock: the same guarantee gives the same bytes.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.curves.bracket import Bracket
from quiltwork.curves.curve import Curve
from quiltwork.document.blocks import Picture
from quiltwork.document.draw.style import COLOURS, figure_format
from quiltwork.document.draw.svg import beside, picture
from quiltwork.report.accounts import Verdict

POINTS = 241
USUAL_FLOOR = 1e-12


class Shown(Protocol):
    """A guarantee at one delta, with the targets that it is held against."""

    @property
    def guarantee(self) -> Curve: ...

    @property
    def delta(self) -> float: ...

    @property
    def total(self) -> Bracket: ...

    @property
    def verdicts(self) -> Sequence[Verdict]: ...


@attrs.frozen(eq=False)
class Lone:
    """What a picture needs, where there is no account."""

    guarantee: Curve
    delta: float
    total: Bracket
    verdicts: tuple[Verdict, ...] = ()


def tradeoff_picture(shown: Shown) -> Picture:
    """The trade-off curve for a page."""
    return picture(
        "tradeoff",
        "Trade-off curve: least share of misses for each share of false alarms",
        "An attacker who tests whether the protected difference is there makes two kinds of error. No test reaches the "
        "shaded region below the curve.",
        partial(_draw_tradeoff, shown),
    )


def profile_picture(shown: Shown) -> Picture:
    """The privacy profile for a page."""
    return picture(
        "profile",
        "Privacy profile: delta for each epsilon, on a logarithmic scale",
        "The same guarantee as pairs of epsilon and delta. The curve is drawn with both certified ends; where they are "
        "closer than the line is wide, they look like one.",
        partial(_draw_profile, shown),
    )


def save_figure(shown: Shown, path: str | os.PathLike[str]) -> None:
    """Both pictures side by side, in the format that the file's name ends with."""
    Path(path).write_bytes(drawn(shown, figure_format(path)))


def drawn(shown: Shown, kind: str) -> bytes:
    """Both pictures side by side."""
    draws = (partial(_draw_tradeoff, shown), partial(_draw_profile, shown))
    return beside(draws, kind, "account")


def _draw_tradeoff(shown: Shown, axes: Any) -> None:
    """Misses against false alarms: nothing below the curve can be reached by any test."""
    alpha = 0.5 - 0.5 * np.cos(np.linspace(0.0, np.pi, POINTS))
    beta = shown.guarantee.beta(alpha)
    axes.plot([0, 1], [1, 0], color=COLOURS["muted"], linewidth=1.0, linestyle=(0, (4, 3)), label="nothing to learn")
    for verdict in shown.verdicts[:1]:
        promised = allowed(alpha, verdict.target.epsilon, verdict.target.delta)
        axes.plot(
            alpha,
            promised,
            color=COLOURS["muted"],
            linewidth=1.2,
            linestyle=(0, (1, 2)),
            label="what the target allows",
        )
    axes.fill_between(alpha, 0.0, beta.lower, color=COLOURS["accent"], alpha=0.08, linewidth=0)
    band(axes, alpha, beta, "these releases")
    axes.set(xlim=(0, 1), ylim=(0, 1), xlabel="false alarms", ylabel="misses")
    axes.set_aspect("equal")
    axes.legend(loc="upper right")


def allowed(alpha: FloatArray, epsilon: float, delta: float) -> FloatArray:
    """The trade-off function of a single (epsilon, delta)."""
    grown = math.exp(min(epsilon, 700.0))
    promised: FloatArray = np.maximum(np.maximum(1 - delta - grown * alpha, (1 - delta - alpha) / grown), 0.0)
    return promised


def _draw_profile(shown: Shown, axes: Any) -> None:
    """delta against epsilon with the targets: a target above the curve is met."""
    asked = [shown.delta, *(verdict.target.delta for verdict in shown.verdicts)]
    floor = min((delta for delta in asked if delta > 0), default=USUAL_FLOOR) / 10
    bottom = float(shown.guarantee.epsilon(floor).upper)  # from there on the curve is below the picture
    reach = _reach(shown, bottom)
    epsilon = np.linspace(0.0, min(reach, bottom), POINTS)
    delta = shown.guarantee.delta(epsilon)
    axes.set_yscale("log")
    band(axes, epsilon, delta, "these releases", floor / 10)
    if 0 < float(shown.total.upper) < math.inf and shown.delta > 0:
        steps = {"color": COLOURS["accent"], "linewidth": 0.8, "linestyle": (0, (2, 2))}
        axes.plot([0, shown.total.upper, shown.total.upper], [shown.delta, shown.delta, floor], **steps)
    for word, mark, colour in (("met", "o", "good"), ("missed", "X", "bad"), ("undecided", "D", "bad")):
        found = [
            v.target
            for v in shown.verdicts
            if v.word == word and v.target.delta > 0 and v.target.epsilon <= epsilon[-1]
        ]
        if found:
            places = [t.epsilon for t in found], [t.delta for t in found]
            axes.plot(
                *places, mark, color=COLOURS[colour], markersize=7, label=f"target {word}", zorder=5, clip_on=False
            )
    axes.set(xlim=(0, reach), ylim=(floor, 1.0), xlabel="epsilon", ylabel="delta")
    plain_powers(axes)
    axes.legend(loc="upper right")


def plain_powers(axes: Any) -> None:
    """Powers of ten upwards, written as people type them."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    axes.yaxis.set_major_locator(LogLocator(numticks=8))
    axes.yaxis.set_major_formatter(
        FuncFormatter(lambda value, _: "1" if value == 1 else f"1e{round(math.log10(value))}")
    )
    axes.yaxis.set_minor_locator(NullLocator())


def _reach(shown: Shown, bottom: float) -> float:
    """How far to the right the picture goes: past the curve, and past every target that is not far away."""
    end = next((end for end in (bottom, float(shown.total.upper)) if 0 < end < math.inf), 1.0)
    targets = [v.target.epsilon for v in shown.verdicts if v.target.epsilon <= 3 * end]
    return 1.08 * max([end, *targets])


def band(axes: Any, places: FloatArray, values: Bracket, label: str, floor: float = 0.0) -> None:
    """The safe end as a line, both ends as a band."""
    lower, upper = np.maximum(values.lower, floor), np.maximum(values.upper, floor)
    safe = lower if values.quantity == "beta" else upper
    axes.plot(places, safe, color=COLOURS["accent"], linewidth=2.0, label=label, zorder=3)
    axes.fill_between(places, lower, upper, color=COLOURS["accent"], alpha=0.3, linewidth=0, zorder=2)
