"""Section IV by replace-one: disjoint parts, and the distance through a filter."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from tests.errata import printed_granularity as printed

from examples.gallery.granularity.classes import (
    BOUNDED,
    TABLES,
    VALUES,
    lacking,
    near,
    noisy_counts,
    shown,
    worst,
)
from examples.gallery.item import Check, Effort, Finding, Item, Study, alone
from quiltwork.document.blocks import Grid
from quiltwork.document.draw.style import COLOURS
from quiltwork.document.draw.svg import picture
from quiltwork.tables.notions.spaces import Space, multisets, quotient, replace_one, symmetric_difference
from quiltwork.tables.papers.small_channels import joint, max_divergence, truncated_geometric

EPSILONS = (1.0, 0.7, 0.3)


DISTRICTS = ("aA", "bB", "cC")  # of two places each


def lost(space: Space, counted: Sequence[str]) -> tuple[list[float], float]:
    """What a replacement loses inside each district and across two, when each tells a noisy count of these places."""
    channel = joint(
        [
            [truncated_geometric(sum(x in places for x in table), 2, epsilon) for table in space.databases]
            for places, epsilon in zip(counted, EPSILONS, strict=True)
        ]
    )
    inside, across = dict.fromkeys(DISTRICTS, 0.0), 0.0
    for i, j in space.neighbours:
        loss = max_divergence(channel[i], channel[j])
        left, entered = (
            next(x for x in one if lacking(one, two) and one.count(x) > two.count(x))
            for one, two in itertools.permutations((space.databases[i], space.databases[j]))
        )
        if left.lower() == entered.lower():
            inside[left.lower() + left.upper()] = max(inside[left.lower() + left.upper()], loss)
        else:
            across = max(across, loss)
    return list(inside.values()), across


def disjoint_swaps(effort: Effort) -> dict[str, Finding]:
    """Corollary IV.13 and Example IV.14, and the corollary for one part."""
    space = Space(multisets("".join(DISTRICTS), 2), replace_one)
    inside, across = lost(space, DISTRICTS)
    places, beyond = lost(space, [district[1] for district in DISTRICTS])
    claimed, total = printed.corollary_iv13(EPSILONS), sum(EPSILONS)
    doubled = printed.corollary_iv13([EPSILONS[0]] * len(EPSILONS))
    stated, kept, sharp = (", ".join(map(shown, values)) for values in (EPSILONS, inside, places))
    checks = [
        Check(
            "counts of districts: inside a district a replacement loses at most its epsilon",
            all(loss <= epsilon + 1e-12 for loss, epsilon in zip(inside, EPSILONS, strict=True)),
            stated,
            kept,
            disproves=True,
        ),
        Check(
            "counts of one place in each: inside a district it loses the epsilon, so that less cannot be promised",
            all(near(loss, epsilon) for loss, epsilon in zip(places, EPSILONS, strict=True)),
            stated,
            sharp,
        ),
        Check(
            "the largest sum of two bounds every replacement", max(across, beyond) <= claimed + 1e-12, disproves=True
        ),
        Check(
            "and is attained by the counts of districts: the bound is tight",
            near(across, claimed),
            shown(claimed),
            shown(across),
        ),
    ]
    tight = Finding(
        f"Three districts with epsilons {stated}, on {len(space.databases)} tables. Noisy counts of the districts, as "
        f"in the examples: a replacement inside a district loses {kept}, across two up to {shown(across)}. Noisy "
        f"counts of one of the two places of each district: {sharp} and {shown(beyond)}. The bound is "
        f"{shown(claimed)}, the sum of all {shown(total)}.",
        "A replaced record leaves one district and enters another, and no third one sees it. Inside a district the "
        "count of the district does not move; a count of one of its places does. The noise is geometric here, Laplace "
        f"in the paper. With equal epsilons of {shown(EPSILONS[0])} the bound is {shown(doubled)}, and the same "
        "follows from the add/remove guarantee: the gain is for unequal ones.",
        checks,
    )
    try:
        value = shown(printed.corollary_iv13(EPSILONS[:1]))
    except ValueError:
        value = ""
    one = worst(BOUNDED, noisy_counts(EPSILONS[:1]))
    single = Finding(
        f"With one part the printed maximum {'is ' + value if value else 'is over no pairs and has no value'}; the "
        f"count loses {shown(one)}.",
        "The corollary asks nothing of k, and its formula needs two parts. For one part, where nothing is composed, "
        "the answer is its epsilon.",
        [
            Check("the formula has a value for k = 1", bool(value)),
            Check("the loss of one part is its epsilon", near(one, EPSILONS[0]), "", shown(one)),
        ],
    )
    return {"granularity-corollary-iv-13": tight, "granularity-corollary-iv-13-one-part": single}


def filtered(effort: Effort) -> dict[str, Finding]:
    """Corollary IV.15: the distance through a filter, with room to pad, for tables of up to two records."""
    space = Space(multisets(VALUES, 4), replace_one)
    small = [i for i, table in enumerate(space.databases) if len(table) <= 2]
    rows, violated, loose, exact, pairs = [], {}, {}, {}, []
    for kept in ("abc", "ab", "a"):
        seen = [tuple(x for x in table if x in kept) for table in space.databases]
        true = quotient(space.distances, seen)
        found = [
            (
                float(true[i, j]),
                printed.corollary_iv15(space.distances[i, j], seen[i], seen[j], symmetric_difference),
                max(lacking(seen[i], seen[j]), lacking(seen[j], seen[i])),
            )
            for i, j in itertools.product(small, repeat=2)
        ]
        violated[kept] = sum(int(claim < truth) for truth, claim, _ in found)
        loose[kept] = sum(int(claim > truth) for truth, claim, _ in found)
        exact[kept] = sum(int(larger == truth) for truth, _, larger in found)
        pairs.append((kept, found))
        rows.append([" ".join(kept), len(found), violated[kept], loose[kept], exact[kept]])
    sizes = [truncated_geometric(len(table), 3, math.inf) for table in TABLES]
    empty, one = TABLES.index(()), TABLES.index(("a",))
    told, between = max_divergence(sizes[empty], sizes[one]), worst(BOUNDED, sizes)
    claim = printed.corollary_iv15(BOUNDED.distances[empty, one], (), ("a",), symmetric_difference)
    total = len(small) ** 2
    checks = [
        Check(
            "the printed distance bounds all pairs when nothing is filtered out", violated["abc"] == 0, disproves=True
        ),
        Check("it does when something is", violated["ab"] == violated["a"] == 0),
        Check("then the larger one-sided difference is exact", exact["ab"] == exact["a"] == total),
    ]
    finding = Finding(
        f"Of {total} ordered pairs of tables of up to two records of three values, {violated['abc']} violate the "
        f"printed distance when Y = X. The exact size loses {shown(between)} between neighbours and has a loss that is "
        f"{shown(told)} between the empty table and one record, where {shown(claim)} is claimed.",
        "A value outside Y pads a table without being seen, so that sizes may change. Where there is one, the exact "
        f"distance is the larger of the two one-sided differences; the printed one is larger for {loose['ab']} pairs "
        f"when Y has two values, for {loose['a']} when it has one.",
        checks,
        [
            Grid(["values in Y", ("ordered pairs", "number"), ("printed is too small", "number"),
                  ("printed is too large", "number"), ("larger difference is exact", "number")], rows),
            picture(
                "granularity-iv-15",
                "Corollary IV.15: printed distance against the true one",
                "Each disc is a pair of a printed and a true distance, larger for more pairs of tables. Above the line "
                "the printed distance is loose, below it is false; true distances may be infinite.",
                lambda axes: _against_truth(axes, pairs[:2]),
            ),
        ],
    )  # fmt: skip
    return {"granularity-corollary-iv-15": finding}


def _against_truth(axes: Any, pairs: list[tuple[str, list[tuple[float, float, int]]]]) -> None:
    """Printed against true distances, with infinity at the end of the axis."""
    end = 5.0
    for (kept, found), colour, aside in zip(pairs, ("bad", "accent"), (0.06, -0.06), strict=True):
        values, counts = np.unique([(min(t, end), min(c, end)) for t, c, _ in found], axis=0, return_counts=True)
        label = "Y = X" if kept == VALUES else "Y without c"
        axes.scatter(
            values[:, 0] + aside, values[:, 1], s=14 * counts, color=COLOURS[colour], alpha=0.75, label=label, zorder=3
        )
    axes.plot([0, 4.4], [0, 4.4], color=COLOURS["muted"], linewidth=1.0, linestyle=(0, (4, 3)))
    ticks = [0, 1, 2, 3, 4, end]
    names = ["0", "1", "2", "3", "4", "inf"]
    axes.set(
        xticks=ticks, xticklabels=names, yticks=ticks[:-1], yticklabels=names[:-1], xlim=(-0.5, 5.6), ylim=(-0.5, 4.6)
    )
    axes.set(xlabel="true distance", ylabel="printed distance")
    axes.legend(loc="upper left", markerscale=0.4)


STUDIES: tuple[Study, ...] = (
    Study(
        (
            Item(
                "granularity-corollary-iv-13",
                "Corollary IV.13, Examples IV.9 and IV.14",
                "Disjoint parts under bounded DP: ε is the largest sum of two, max over i ≠ j of ε_i + ε_j, and this "
                "is tight; much better than the sum over all. For noisy counts of districts, up to ε_i inside a "
                "district and up to ε_i + ε_j across two.",
            ),
            Item(
                "granularity-corollary-iv-13-one-part",
                "Corollary IV.13, k = 1",
                "For a k-partitioning function, whatever k is, ε is the maximum of ε_i + ε_j over i and j in [k] "
                "with i ≠ j.",
                "Corollary IV.13: one part",
            ),
        ),
        disjoint_swaps,
        (0.1, 0.1),
    ),
    alone(
        "granularity-corollary-iv-15",
        "Corollary IV.15",
        "A d^B-private mechanism that reads only f(D) = D ∩ Y is private for the minimum of d^B(D, D') and the size "
        "of the symmetric difference of f(D) and f(D').",
        filtered,
        "Corollary IV.15: false without padding",
        (0.1, 0.1),
    ),
)
