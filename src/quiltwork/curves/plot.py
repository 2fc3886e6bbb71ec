"""Pictures of curves: the band between the two certified ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.curves.bracket import Bracket
from quiltwork.document.charts import ERRORS
from quiltwork.document.draw.style import COLOURS
from quiltwork.errors import InvalidParameter, MissingExtra, Unsupported

if TYPE_CHECKING:
    from quiltwork.curves.curve import Curve
    from quiltwork.curves.polygons.region import Region

_INK, _MUTED = COLOURS["accent"], COLOURS["muted"]
_POINTS = 401
_FLOOR = 1e-16  # smaller deltas are left out of the picture, unless all are smaller


def plot_curve(curve: Curve, ax: Any = None, *, kind: str = "tradeoff", label: str | None = None) -> Any:
    """Draw one view of a curve: "tradeoff", "profile", or the "region" of one that has it; returns the axes."""
    if kind == "tradeoff":
        return plot_tradeoff(curve, ax, label=label)
    if kind == "profile":
        return plot_profile(curve, ax, label=label)
    if kind != "region":
        raise InvalidParameter("kind", kind, "'tradeoff', 'profile' or 'region'")
    if hasattr(curve, "polygon"):
        return plot_region(cast("Region", curve), ax, label=label)
    make = getattr(curve, "region", None)
    if not callable(make):
        raise Unsupported(
            f"the region of {curve!r}", "it is not made of straight pieces", "draw its trade-off function instead"
        )
    return plot_region(make(), ax, label=label)


def plot_profile(curve: Curve, ax: Any = None, epsilons: Any = None, *, label: str | None = None) -> Any:
    """Draw delta against epsilon on a logarithmic scale; returns the axes."""
    ax = axes(ax)
    places = np.asarray(_epsilons(curve) if epsilons is None else epsilons, dtype=float)
    values = curve.delta(places)
    largest = float(np.max(values.upper))
    floor = _FLOOR if largest > _FLOOR else largest * 1e-6
    if largest > 0:
        ax.set_yscale("log")
    _band(ax, places, values, floor, label)
    ax.set_ylim(top=1.0)
    return _finish(ax, "epsilon", "delta", label)


def plot_tradeoff(curve: Curve, ax: Any = None, alphas: Any = None, *, label: str | None = None) -> Any:
    """Draw the least type II error against the type I error, with the line of blind guessing; returns the axes."""
    ax = _square(ax)
    dense = 0.5 - 0.5 * np.cos(np.linspace(0.0, np.pi, _POINTS))  # near both ends, where trade-off functions bend
    places = np.asarray(dense if alphas is None else alphas, dtype=float)
    _band(ax, places, curve.beta(places), 0.0, label)
    return _finish(ax, *ERRORS, label)


def plot_region(region: Region, ax: Any = None, *, label: str | None = None) -> Any:
    """Fill the error pairs that some test may reach; returns the axes."""
    ax, outline = _square(ax), region.polygon
    ax.fill(outline[:, 0], outline[:, 1], facecolor=_INK, alpha=0.2, edgecolor=_INK, linewidth=1.5, label=label)
    return _finish(ax, *ERRORS, label)


def axes(ax: Any) -> Any:
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError:
        raise MissingExtra("matplotlib", "report") from None
    return pyplot.subplots(figsize=(5.0, 4.0), layout="constrained")[1]


def _epsilons(curve: Curve) -> FloatArray:
    """From 0 to where delta has fallen to 1e-12, or as far as it falls."""
    for target in (1e-12, 1e-9, 1e-6, 1e-3, 0.1, 0.5):
        end = float(curve.epsilon(target).upper)
        if np.isfinite(end):
            return np.linspace(0.0, max(1.05 * end, 0.1), _POINTS)
    return np.linspace(0.0, 10.0, _POINTS)


def _band(ax: Any, places: FloatArray, values: Bracket, floor: float, label: str | None) -> None:
    shown = np.greater(values.upper, floor) if floor else np.ones(places.shape, dtype=bool)
    lower, upper = (np.where(shown, np.maximum(end, floor), np.nan) for end in values)
    safe = lower if values.quantity == "beta" else upper
    (line,) = ax.plot(places, safe, linewidth=1.8, label=label, zorder=3, **({} if label else {"color": _INK}))
    ax.fill_between(places, lower, upper, color=line.get_color(), alpha=0.25, linewidth=0, zorder=2)


def _square(ax: Any) -> Any:
    """Axes of the two errors, with the line of blind guessing."""
    ax = axes(ax)
    ax.plot([0, 1], [1, 0], color=_MUTED, linewidth=0.8, linestyle="--", zorder=1)
    ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
    return ax


def _finish(ax: Any, across: str, along: str, label: str | None) -> Any:
    ax.set(xlabel=across, ylabel=along)
    ax.grid(visible=True, color=_MUTED, alpha=0.25, linewidth=0.5)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    if label is not None:
        ax.legend(frameon=False)
    return ax
