"""The picture of an audit: how few errors are possible, how few were made, and the epsilons that this leaves.

Nothing global is touched and nothing depends on the clock: the same report gives the same bytes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from quiltwork.audit.bounds.counts import Limits
from quiltwork.audit.bounds.gdp import epsilon_of
from quiltwork.audit.result import Audit
from quiltwork.checks import FloatArray
from quiltwork.document.draw.style import COLOURS, drawn_figure, inlined, rendered
from quiltwork.errors import InvalidParameter
from quiltwork.numbers.digits import single

if TYPE_CHECKING:
    from quiltwork.audit.report import AuditReport

SIZE = (4.8, 4.9)
POINTS = 241
LOWEST = 1e-12  # delta in the picture when none above 0 is asked
_MORE: dict[Any, Any] = {"axes.axisbelow": True, "legend.fontsize": 8.5}


def panels(report: AuditReport, drawings: tuple[Any, ...] = ()) -> Any:
    """A matplotlib figure with the errors on the left and the epsilons on the right."""
    return drawn_figure(_size(drawings), lambda figure: _draw(report, drawings, figure), _MORE)


def drawn(
    report: AuditReport, kind: str, *, drawings: tuple[Any, ...] = (), salt: str = "audit", background: str = "white"
) -> bytes:
    """The file's bytes."""
    return rendered(
        _size(drawings), lambda figure: _draw(report, drawings, figure), kind, salt, background, style=_MORE
    )


def inline(report: AuditReport, draw: Any, salt: str, title: str) -> str:
    """The svg element of one panel, for a page."""
    return inlined(drawn(report, "svg", drawings=(draw,), salt=salt, background="none"), title)


def drawn_on(report: AuditReport, axes: Any, kind: str = "errors") -> Any:
    """Draw one panel on axes of the caller, or both on two of them, and give them back."""
    panels = {"errors": draw_errors, "epsilons": draw_epsilons}
    if kind not in panels:
        raise InvalidParameter("kind", kind, "'errors' or 'epsilons'")
    if not isinstance(axes, (Sequence, np.ndarray)):
        panels[kind](report, axes)
        return axes
    both = list(np.ravel(np.asarray(axes, dtype=object)))
    if len(both) != len(panels):
        raise InvalidParameter("axes", axes, "matplotlib axes, or two of them")
    for draw, one in zip(panels.values(), both, strict=True):
        draw(report, one)
    return axes


def _size(drawings: tuple[Any, ...]) -> tuple[float, float]:
    return SIZE[0] * (len(drawings) or 2), SIZE[1]


def _draw(report: AuditReport, drawings: tuple[Any, ...], figure: Any) -> None:
    """Every panel; without a choice both, with a title."""
    chosen = drawings or (draw_errors, draw_epsilons)
    for draw, axes in zip(chosen, np.ravel(figure.subplots(1, len(chosen))), strict=True):
        draw(report, axes)
    if len(chosen) > 1:
        figure.suptitle(report.title.replace("$", r"\$"), fontsize=10.5)  # a title is text, never mathematics


def draw_errors(report: AuditReport, axes: Any) -> None:
    """Misses against false alarms: below the blue line nobody can come, at or below the red one somebody did."""
    axes.plot([0, 1], [1, 0], color=COLOURS["muted"], linewidth=1.0, linestyle=(0, (4, 3)), label="blind guessing")
    if report.curve is not None:
        alpha = 0.5 - 0.5 * np.cos(np.linspace(0.0, np.pi, POINTS))
        beta = np.asarray(report.curve.beta(alpha).safe)
        axes.fill_between(alpha, 0.0, beta, color=COLOURS["accent"], alpha=0.10, linewidth=0)
        axes.plot(alpha, beta, color=COLOURS["accent"], linewidth=2.0, label="guaranteed: nobody below")
    if report.roc is not None:
        shown = {"color": COLOURS["ink"], "linewidth": 1.0, "alpha": 0.75, "label": "the attack, all thresholds"}
        axes.plot(report.roc.false_alarms, report.roc.misses, **shown)
    for audit in report.audits:
        corner = audit.limits
        if corner is not None:
            _draw_corner(axes, audit, corner, "X" if report.contradicted else "o")
    axes.set(xlim=(0, 1), ylim=(0, 1), xlabel="false alarms", ylabel="misses")
    axes.set_aspect("equal")
    _legend(axes)


def _draw_corner(axes: Any, audit: Audit, corner: Limits, mark: str) -> None:
    colour = COLOURS[_hue(audit)]
    across, along = hull(corner)
    sure = f"{single(100 * audit.confidence)}%"
    line = {"color": colour, "linewidth": 1.6, "label": f"audited ({audit.method}): at or below, {sure}"}
    axes.plot(across, along, **line)
    axes.plot([corner.fpr], [corner.fnr], mark, color=colour, markersize=7, zorder=5, clip_on=False)


def hull(corner: Limits) -> tuple[FloatArray, FloatArray]:
    """What every true trade-off curve lies below: the hull of the corner, its mirror image and blind guessing."""
    if corner.fpr + corner.fnr >= 1.0:
        return np.array([0.0, 1.0]), np.array([1.0, 0.0])
    one, two = sorted([(corner.fpr, corner.fnr), (corner.fnr, corner.fpr)])
    points = [(0.0, 1.0), one, two, (1.0, 0.0)] if one != two else [(0.0, 1.0), one, (1.0, 0.0)]
    return np.array([p[0] for p in points]), np.array([p[1] for p in points])


def draw_epsilons(report: AuditReport, axes: Any) -> None:
    """delta against epsilon: what is left of a red line is refuted, what is right of the blue one is guaranteed."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    floor = max(min(report.delta / 1000, 1e-4), 1e-300) if report.delta > 0 else LOWEST
    deltas = np.geomspace(floor, 1.0, POINTS)
    axes.set_yscale("log")
    ends = []
    if report.curve is not None:
        epsilons = np.asarray(report.curve.epsilon(deltas).safe)
        known = np.isfinite(epsilons)
        axes.fill_betweenx(deltas[known], epsilons[known], 1e9, color=COLOURS["accent"], alpha=0.10, linewidth=0)
        axes.plot(epsilons[known], deltas[known], color=COLOURS["accent"], linewidth=2.0, label="guaranteed: at most")
        near = np.asarray(report.curve.epsilon(max(report.delta, floor)).safe)
        ends += [float(end) for end in (near, *epsilons[known][:1]) if math.isfinite(end)]
    for audit in report.audits:
        ends.append(_draw_audit(axes, audit, deltas))
    reach = 1.08 * max([end for end in ends if math.isfinite(end)] + [0.5])
    if report.delta > 0:
        label = f"delta = {single(report.delta)}"
        axes.axhline(report.delta, color=COLOURS["muted"], linewidth=1.0, linestyle=(0, (2, 2)), label=label)
    axes.set(xlim=(0, reach), ylim=(floor, 1.0), xlabel="epsilon", ylabel="delta")
    axes.yaxis.set_major_locator(LogLocator(numticks=8))
    axes.yaxis.set_major_formatter(
        FuncFormatter(lambda value, _: "1" if value == 1 else f"1e{round(math.log10(value))}")
    )
    axes.yaxis.set_minor_locator(NullLocator())
    _legend(axes)


def _draw_audit(axes: Any, audit: Audit, deltas: FloatArray) -> float:
    """The refuted epsilons at each delta; returns the largest that should be seen."""
    colour = COLOURS[_hue(audit)]
    corner = audit.limits
    if corner is None:
        label = f"audited ({audit.method}): at least"
        place = max(audit.delta, float(deltas[0]))
        axes.plot([audit.epsilon_lower], [place], ">", color=colour, markersize=7, label=label, zorder=5)
        axes.plot([0, audit.epsilon_lower], [place, place], color=colour, linewidth=1.6)
        return audit.epsilon_lower
    if audit.method == "gdp":
        mu = audit.mu_lower or 0.0
        found = np.array([epsilon_of(mu, float(delta)) for delta in deltas])
        axes.plot(found, deltas, color=colour, linewidth=1.6, linestyle=(0, (4, 2)), label="audited (gdp), if Gaussian")
        return float(found[0]) if mu > 0 else 0.0
    found = np.array([corner.epsilon(float(delta)) for delta in deltas])
    axes.fill_betweenx(deltas, 0.0, found, color=colour, alpha=0.10, linewidth=0)
    axes.plot(found, deltas, color=colour, linewidth=1.6, label="audited (counts): at least")
    return float(found[0])


def _legend(axes: Any) -> None:
    """Below the axes, where it hides nothing."""
    axes.legend(loc="upper left", bbox_to_anchor=(-0.02, -0.2), borderaxespad=0.0, ncols=1)


def _hue(audit: Audit) -> str:
    return "warm" if audit.method == "gdp" else "bad"
