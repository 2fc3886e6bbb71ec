"""Remark 2 with its eta, and what the intersection of two regions is."""

from __future__ import annotations

import numpy as np
from tests.errata import printed

import quiltwork as qw
from examples.gallery.constraints.figure_2 import POINTS
from examples.gallery.constraints.showing import number, power
from examples.gallery.item import Check, Effort, Finding, Item, Study
from quiltwork.compose.papers.simple_rules import (
    kairouz_oh_viswanath,
    one_at_a_time,
    total_variation,
    with_total_variation,
)
from quiltwork.document.blocks import Grid

ETA = Item(
    "constraints-remark-2-eta",
    "Remark 2",
    "The constraint (epsilon_2, delta_2) bounds the total variation by eta = delta_2 + (1 - delta_2) "
    "(epsilon_2 - 1) / (epsilon_2 + 1).",
    "Remark 2: the total variation",
)
HULL = Item(
    "constraints-remarks-intersection",
    "Remarks 1 and 2",
    "The region of the composition lies in the intersection of two composed regions, each known from earlier work.",
    "Remarks 1 and 2: the intersection of two regions",
)
SMALL = (0.05, 0.15, 0.5, 1.0, 2.0, 5.0)


def eta(effort: Effort) -> dict[str, Finding]:
    """The printed eta, the corrected one, and the total variation of the worst pair as this library has it."""
    epsilon, delta = POINTS[1]
    wrong, right = printed.remark_2_eta(epsilon, delta), total_variation(POINTS)
    found = qw.constraints(POINTS).delta(0.0, rtol=1e-9)
    rows = []
    low = 0
    for place in SMALL:
        literal, true = printed.remark_2_eta(place, delta), total_variation([(place, delta)])
        low += literal < true
        rows.append([f"{place:g}", number(literal), number(true)])
    encloses = found.lower * (1 - 1e-14) <= right <= found.upper * (1 + 1e-14)
    return {
        ETA.key: Finding(
            f"For the second constraint of Figure 2 the printed eta is {number(wrong)}; with e^epsilon for epsilon it "
            f"is {number(right)}.",
            "A misprint, epsilon for e^epsilon: no total variation is negative. The worst pair of both constraints "
            f"has {number(found.upper)}, certified to {power(found.upper - found.lower)}. The printed eta is too "
            f"small for {low} of {len(SMALL)} epsilons in the table, and a total variation that is too small makes "
            "the bound unsound.",
            [
                Check("the printed eta is a total variation", 0 <= wrong <= 1, "eta", number(wrong), disproves=True),
                Check("the corrected eta is the total variation of the worst pair", encloses, "", number(right)),
            ],
            [Grid([("epsilon_2", "number"), ("eta, printed", "number"), ("eta, corrected", "number")], rows,
                  f"Both with delta_2 = {delta:g}.")],
        )
    }  # fmt: skip


def hull(effort: Effort) -> dict[str, Finding]:
    """Containment for growing k, and where the hull of both profiles lies below the smaller of the two deltas."""
    counts = effort.pick((1, 2, 3, 5, 8, 13, 20, 30, 50), (1, 2, 3, 8, 20))
    contained = 0
    for k in counts:
        found = (k * qw.constraints(POINTS)).region()
        contained += all(rule(POINTS, k).includes(found) for rule in (one_at_a_time, with_total_variation))
    places = np.arange(0.0, 0.9, 0.01)
    alone = kairouz_oh_viswanath(*POINTS[1], 3).delta(places)
    joined = (3 * qw.constraints([POINTS[0], (0.0, total_variation(POINTS))])).region().delta(places)
    smaller, both = np.minimum(alone.lower, joined.lower), with_total_variation(POINTS, 3).delta(places)
    below = smaller - both.upper
    most, strict = int(np.argmax(below)), int(np.sum(below > 1e-9))
    rows = [
        [f"{places[i]:.2f}", *(number(column[i]) for column in (alone.upper, joined.upper, smaller, both.upper))]
        for i in (0, 15, most, 30, 45, 60)
    ]
    above = float(np.max(both.lower - np.minimum(alone.upper, joined.upper)))
    return {
        HULL.key: Finding(
            f"Both intersections contain the exact region at {contained} of {len(counts)} counts up to k = "
            f"{counts[-1]}. At k = 3 "
            f"the intersection of Remark 2 lies strictly below the smaller of its two deltas at {strict} of "
            f"{len(places)} epsilons, most at {places[most]:.2f}: {number(both.upper[most])} instead of "
            f"{number(smaller[most])}.",
            "The remarks hold as statements on regions. A program that takes the smaller delta at each epsilon "
            "computes something larger, which is not convex in e^epsilon and so no profile; the intersection is the "
            "lower convex hull of both.",
            [
                Check("the exact region lies inside both", contained == len(counts),
                      ours=f"{contained} of {len(counts)} counts", disproves=True),
                Check("the hull is never above the smaller delta", above <= 1e-12, ours=power(max(above, 0.0))),
            ],
            [Grid([("epsilon", "number"), ("(epsilon_2, delta_2) alone", "number"), ("first with eta", "number"),
                   ("smaller of the two", "number"), ("intersection", "number")], rows, "Deltas for k = 3.")],
        )
    }  # fmt: skip


STUDIES = (Study((ETA,), eta, (0.1, 0.1)), Study((HULL,), hull, (0.1, 0.1)))
