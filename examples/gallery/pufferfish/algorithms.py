"""Algorithms 1 and 2: which point of the influence curve they take."""

from __future__ import annotations

from collections.abc import Mapping

from tests.errata import printed_pufferfish as printed

from examples.gallery.item import Check, Effort, Finding, alone
from quiltwork.pufferfish import MarkovChain, translate

STAY = 0.8


def algorithms_measured(effort: Effort) -> Mapping[str, Finding]:
    """The least over the points of the curve, as printed, and the largest."""
    entries = 100
    prior = MarkovChain([[STAY, 1 - STAY], [1 - STAY, STAY]], length=entries)
    curve = prior.influence(entries)
    points = list(zip(curve.sizes.tolist(), curve.values.tolist(), strict=True))
    claimed = printed.algorithms_1_and_2(points, 1.0, entries)
    largest = max((1.0 - influence) / size for size, influence in points)
    group = 1.0 / entries
    reached = translate(prior, largest, method="theorem 6").upper
    return {
        "pufferfish-algorithms-1-2": Finding(
            f"p = q = {STAY:g}, {entries} entries, epsilon 1: the printed loop ends at {claimed:.4f}, group privacy "
            f"of all entries allows {group:.4f}, and the best point of the curve {largest:.7f}.",
            'A misprint, on the safe side: the text says that "the maximum should be selected over the entire" '
            "curve. Each point is valid by itself, so that the largest may be taken, starting from 0. With the minimum "
            "over the entire curve the algorithms never beat group privacy, as the paper's tables do.",
            [
                Check(
                    "the printed loop selects the maximum over the curve, as the text asks",
                    claimed >= largest * (1 - 1e-9),
                    printed=f"{claimed:.4f}",
                    ours=f"{largest:.7f}",
                    disproves=True,
                ),
                Check(
                    "with the maximum they beat group privacy", largest > group, ours=f"{group:.4f} by group privacy"
                ),
                Check("and keep the target", reached <= 1.0 + 1e-9, ours=f"{reached:.6f}"),
            ],
        )
    }


STUDIES = (
    alone(
        "pufferfish-algorithms-1-2",
        "Algorithms 1 and 2",
        "The per-entry epsilon is the minimum over all points of the influence curve, from infinity; where a(b) is at "
        "least epsilon, epsilon / |I|.",
        algorithms_measured,
        errata="Algorithms 1 and 2: the least instead of the largest",
    ),
)
