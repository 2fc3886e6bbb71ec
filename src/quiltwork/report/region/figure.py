"""The picture that `quiltwork region --figure` writes: the region, and its profile beside it."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from quiltwork.curves.polygons.profile import Profile
from quiltwork.curves.polygons.region import Region
from quiltwork.document.blocks import Picture
from quiltwork.document.draw.style import COLOURS
from quiltwork.document.draw.svg import beside, picture
from quiltwork.report.figures import band, plain_powers
from quiltwork.report.region.view import USUAL_DELTA, View, spread, upper

DRAWN = 600  # faces in the picture
SIZE = (4.6, 4.0)
BESIDE: dict[str, Any] = {"color": COLOURS["bad"], "linestyle": (0, (4, 2)), "linewidth": 1.4, "label": "one at a time"}


def drawn(found: View, kind: str) -> bytes:
    """The region beside its profile; the same view gives the same bytes."""
    draws = (partial(_draw_region, found), partial(_draw_profile, found))
    return beside(draws, kind, "region", found.heading, SIZE)


def pictures(found: View) -> list[Picture]:
    """Both panels for a page."""
    return [
        picture(
            "region",
            "Privacy region: every pair of false alarms and misses that some test may reach",
            "Every pair of error rates that some test may reach. The smaller the region, the less can be told apart.",
            partial(_draw_region, found),
            SIZE,
        ),
        picture(
            "region-profile",
            "Privacy profile: delta for each epsilon, on a logarithmic scale",
            "The same as pairs of epsilon and delta; each straight side of the region is one corner here.",
            partial(_draw_profile, found),
            SIZE,
        ),
    ]


def thinned(region: Region) -> Region:
    """A region around this one with few enough faces to draw."""
    size = region.epsilons.size
    if size <= DRAWN:
        return region
    chosen = np.unique(np.concatenate((np.linspace(0, size - 1, DRAWN // 2).astype(int), spread(region, DRAWN // 2))))
    return Region(Profile(region.epsilons[chosen], region.deltas[chosen], symmetric=region.profile.symmetric))


def _draw_region(found: View, axes: Any) -> None:
    """Every pair of error rates that some test may reach."""
    outline = thinned(found.region).polygon
    axes.plot([0, 1], [1, 0], color=COLOURS["muted"], linewidth=0.8, linestyle="--", zorder=1)
    axes.fill(*outline.T, color=COLOURS["accent"], alpha=0.2, linewidth=0)
    axes.plot(*np.vstack((outline, outline[:1])).T, color=COLOURS["accent"], linewidth=1.5, label="all at once")
    if found.naive:
        axes.plot(*thinned(found.naive).polygon.T, **BESIDE)
    axes.set(xlim=(0, 1), ylim=(0, 1), xlabel="type I error (false alarms)", ylabel="type II error (misses)")
    axes.set_aspect("equal")


def _draw_profile(found: View, axes: Any) -> None:
    """delta against epsilon; a target above the curve is met."""
    deltas = [at for name, at, _ in found.answers if name == "delta"] + [v.target.delta for v in found.verdicts]
    reveal = upper(found.reveal)
    floor = max(min((delta for delta in deltas if delta > 0), default=USUAL_DELTA) / 100, 0.8 * reveal)
    seen = (upper(found.loss.epsilon(delta)) for delta in (floor, 1.01 * reveal, 0.5) if delta < 1)
    reach = max([next((end for end in seen if 0 < end < math.inf), 1.0), *(v.target.epsilon for v in found.verdicts)])
    places = np.linspace(0.0, 1.04 * reach, DRAWN)
    axes.set_yscale("log")
    band(axes, places, found.loss.delta(places), "all at once" if found.naive else "all together", floor / 10)
    axes.set(xlim=(0.0, places[-1]), ylim=(floor, 1.0), xlabel="epsilon", ylabel="delta")
    plain_powers(axes)
    if found.naive:
        axes.plot(places, found.naive.delta(places).upper, **BESIDE)
    for verdict in found.verdicts:
        mark = {
            "marker": "o" if verdict.word == "met" else "X",
            "color": COLOURS["good" if verdict.word == "met" else "bad"],
        }
        words = f"target, {verdict.word}"
        axes.plot(verdict.target.epsilon, verdict.target.delta, markersize=7, linestyle="none", label=words, **mark)
    axes.legend(loc="lower left")
