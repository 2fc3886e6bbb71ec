"""Pictures of an account: the trade-off curve and the privacy profile, as files or as SVG inside a page.

Nothing global is touched and nothing depends on the clock: the same account gives the same bytes.
"""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.curves.bracket import Bracket
from quiltwork.curves.drawing import COLOURS, figure_format, inlined, rendered
from quiltwork.report.accounts import Account

if TYPE_CHECKING:
    from matplotlib.figure import Figure

POINTS = 241
USUAL_FLOOR = 1e-12
SIZE = (4.6, 3.7)


def tradeoff_svg(account: Account) -> str:
    """The trade-off curve for a page."""
    return _inline(
        account, _draw_tradeoff, "tradeoff", "Trade-off curve: least share of misses for each share of false alarms"
    )


def profile_svg(account: Account) -> str:
    """The privacy profile for a page."""
    return _inline(account, _draw_profile, "profile", "Privacy profile: delta for each epsilon, on a logarithmic scale")


def save_figure(account: Account, path: str | os.PathLike[str]) -> None:
    """Both pictures side by side, in the format that the file's name ends with."""
    kind = figure_format(path)
    Path(path).write_bytes(_rendered(account, (_draw_tradeoff, _draw_profile), kind, "account", "white"))


def _rendered(account: Account, drawings: tuple[Any, ...], kind: str, salt: str, background: str) -> bytes:
    def draw(figure: Figure) -> None:
        for drawing, axes in zip(drawings, np.ravel(figure.subplots(1, len(drawings))), strict=True):
            drawing(account, axes)

    return rendered((SIZE[0] * len(drawings), SIZE[1]), draw, kind, salt, background)


def _inline(account: Account, draw: Any, salt: str, title: str) -> str:
    return inlined(_rendered(account, (draw,), "svg", salt, "none"), title)


def _draw_tradeoff(account: Account, axes: Any) -> None:
    """Misses against false alarms: nothing below the curve can be reached by any test."""
    alpha = 0.5 - 0.5 * np.cos(np.linspace(0.0, np.pi, POINTS))
    beta = account.guarantee.beta(alpha)
    axes.plot([0, 1], [1, 0], color=COLOURS["muted"], linewidth=1.0, linestyle=(0, (4, 3)), label="nothing to learn")
    for verdict in account.verdicts[:1]:
        promised = _promised(alpha, verdict.target.epsilon, verdict.target.delta)
        axes.plot(
            alpha,
            promised,
            color=COLOURS["muted"],
            linewidth=1.2,
            linestyle=(0, (1, 2)),
            label="what the target allows",
        )
    axes.fill_between(alpha, 0.0, beta.lower, color=COLOURS["accent"], alpha=0.08, linewidth=0)
    _band(axes, alpha, beta, "these releases")
    axes.set(xlim=(0, 1), ylim=(0, 1), xlabel="false alarms", ylabel="misses")
    axes.set_aspect("equal")
    axes.legend(loc="upper right")


def _promised(alpha: FloatArray, epsilon: float, delta: float) -> FloatArray:
    """The trade-off function of a single (epsilon, delta)."""
    grown = math.exp(min(epsilon, 700.0))
    promised: FloatArray = np.maximum(np.maximum(1 - delta - grown * alpha, (1 - delta - alpha) / grown), 0.0)
    return promised


def _draw_profile(account: Account, axes: Any) -> None:
    """delta against epsilon with the targets: a target above the curve is met."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    asked = [account.delta, *(verdict.target.delta for verdict in account.verdicts)]
    floor = min((delta for delta in asked if delta > 0), default=USUAL_FLOOR) / 10
    bottom = float(account.guarantee.epsilon(floor).upper)  # from there on the curve is below the picture
    reach = _reach(account, bottom)
    epsilon = np.linspace(0.0, min(reach, bottom), POINTS)
    delta = account.guarantee.delta(epsilon)
    axes.set_yscale("log")
    _band(axes, epsilon, delta, "these releases", floor / 10)
    if 0 < float(account.total.upper) < math.inf and account.delta > 0:
        steps = {"color": COLOURS["accent"], "linewidth": 0.8, "linestyle": (0, (2, 2))}
        axes.plot([0, account.total.upper, account.total.upper], [account.delta, account.delta, floor], **steps)
    for word, mark, colour in (("met", "o", "good"), ("missed", "X", "bad"), ("undecided", "D", "bad")):
        found = [
            v.target
            for v in account.verdicts
            if v.word == word and v.target.delta > 0 and v.target.epsilon <= epsilon[-1]
        ]
        if found:
            places = [t.epsilon for t in found], [t.delta for t in found]
            axes.plot(
                *places, mark, color=COLOURS[colour], markersize=7, label=f"target {word}", zorder=5, clip_on=False
            )
    axes.set(xlim=(0, reach), ylim=(floor, 1.0), xlabel="epsilon", ylabel="delta")
    axes.yaxis.set_major_locator(LogLocator(numticks=8))
    axes.yaxis.set_major_formatter(
        FuncFormatter(lambda value, _: "1" if value == 1 else f"1e{round(math.log10(value))}")
    )
    axes.yaxis.set_minor_locator(NullLocator())
    axes.legend(loc="upper right")


def _reach(account: Account, bottom: float) -> float:
    """How far to the right the picture goes: past the curve, and past every target that is not far away."""
    end = next((end for end in (bottom, float(account.total.upper)) if 0 < end < math.inf), 1.0)
    targets = [v.target.epsilon for v in account.verdicts if v.target.epsilon <= 3 * end]
    return 1.08 * max([end, *targets])


def _band(axes: Any, places: FloatArray, values: Bracket, label: str, floor: float = 0.0) -> None:
    """The safe end as a line, both ends as a band."""
    lower, upper = np.maximum(values.lower, floor), np.maximum(values.upper, floor)
    safe = lower if values.quantity == "beta" else upper
    axes.plot(places, safe, color=COLOURS["accent"], linewidth=2.0, label=label, zorder=3)
    axes.fill_between(places, lower, upper, color=COLOURS["accent"], alpha=0.3, linewidth=0, zorder=2)
