"""The picture that `quiltwork region --figure` writes: the region, and its profile beside it."""

from __future__ import annotations

import io
import math
from typing import Any

import numpy as np

from quiltwork.cli.account import COLOURS
from quiltwork.cli.region import USUAL_DELTA, View, spread, upper
from quiltwork.curves.profile import Profile
from quiltwork.curves.region import Region
from quiltwork.errors import MissingExtra

DRAWN = 600  # faces in the picture
SIZE = (9.2, 4.0)
BESIDE: dict[str, Any] = {"color": "#b3342d", "linestyle": (0, (4, 2)), "linewidth": 1.4, "label": "one at a time"}


def drawn(found: View, kind: str) -> bytes:
    """The region beside its profile; the same view gives the same bytes."""
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtra("matplotlib", "report") from None
    dates = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "region", "font.size": 9.5}):
        figure = Figure(figsize=SIZE, layout="constrained")
        left, right = figure.subplots(1, 2)
        _draw_region(found, left)
        _draw_profile(found, right)
        copies = "" if found.times == 1 else f", {found.times:,} times"
        figure.suptitle(found.title.replace("$", r"\$") + copies, fontsize=10.5)  # a title is text, never mathematics
        buffer = io.BytesIO()
        figure.savefig(buffer, format=kind, metadata=dates[kind], dpi=160)
    return buffer.getvalue()


def thinned(region: Region) -> Region:
    """A region around this one with few enough faces to draw."""
    size = region.epsilons.size
    if size <= DRAWN:
        return region
    chosen = np.unique(np.concatenate((np.linspace(0, size - 1, DRAWN // 2).astype(int), spread(region, DRAWN // 2))))
    return Region(Profile(region.epsilons[chosen], region.deltas[chosen], symmetric=region.profile.symmetric))


def _draw_region(found: View, axes: Any) -> None:
    """Every pair of error rates that some test may reach."""
    from quiltwork.curves.plot import plot_region

    plot_region(thinned(found.region), axes)
    if found.naive:
        axes.plot(*thinned(found.naive).polygon.T, **BESIDE)


def _draw_profile(found: View, axes: Any) -> None:
    """delta against epsilon; a target above the curve is met."""
    from quiltwork.curves.plot import plot_profile

    deltas = [at for name, at, _ in found.answers if name == "delta"] + [v.target.delta for v in found.verdicts]
    reveal = upper(found.reveal)
    floor = max(min((delta for delta in deltas if delta > 0), default=USUAL_DELTA) / 100, 0.8 * reveal)
    seen = (upper(found.loss.epsilon(delta)) for delta in (floor, 1.01 * reveal, 0.5) if delta < 1)
    reach = max([next((end for end in seen if 0 < end < math.inf), 1.0), *(v.target.epsilon for v in found.verdicts)])
    places = np.linspace(0.0, 1.04 * reach, DRAWN)
    plot_profile(found.loss, axes, places)
    axes.get_lines()[0].set_label("all at once" if found.naive else "all together")
    axes.set(xlim=(0.0, places[-1]), ylim=(floor, 1.0), yscale="log")
    if found.naive:
        axes.plot(places, found.naive.delta(places).upper, **BESIDE)
    for verdict in found.verdicts:
        mark = {"marker": "o" if verdict.word == "met" else "X", "color": COLOURS[verdict.word]}
        words = f"target, {verdict.word}"
        axes.plot(verdict.target.epsilon, verdict.target.delta, markersize=7, linestyle="none", label=words, **mark)
    axes.legend(frameon=False, loc="lower left")
