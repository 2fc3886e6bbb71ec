"""Figure 1 and the theorems that hold: how many random mechanisms were tried, and how near they came."""

from __future__ import annotations

import math

import numpy as np

from examples.gallery.granularity import theorems
from examples.gallery.granularity.classes import BOUNDED, UNBOUNDED, near, shown, worst
from examples.gallery.granularity.classes import TABLES as WIDE
from examples.gallery.granularity.mechanisms import Tally
from examples.gallery.item import Check, Effort, Finding, Item, Study, alone
from quiltwork.document.blocks import Grid
from quiltwork.tables.notions.spaces import Space, closure, replace_one, sensitivity
from quiltwork.tables.papers.small_channels import max_divergence, truncated_geometric

GROUPS = {
    "metrics": (theorems.metrics, 1500, 150),
    "compositions": (theorems.compositions, 600, 60),
    "disjoint": (theorems.disjoint, 800, 80),
    "common_domain": (theorems.common_domain, 800, 80),
    "reciprocals": (theorems.reciprocals, 300, 30),
}
# Figure 1 is a drawing, and our text of the paper has its caption alone: the theorems of the kinds that it names.
# O: as known before, G: for any metric, CD: common domain.
INFERRED_FIGURE = (
    ("independent", "sequential, O", "II.6"),
    ("adaptive", "sequential, O", "II.7"),
    ("independent", "disjoint inputs, O", "II.8"),
    ("independent", "composition, G", "IV.1"),
    ("adaptive", "composition, G", "V.2"),
    ("independent", "sequential, G", "IV.3"),
    ("adaptive", "sequential, G", "V.3"),
    ("independent", "disjoint inputs, G", "IV.6"),
    ("adaptive", "disjoint inputs, G", "V.4"),
    ("independent", "composition, CD", "IV.11"),
    ("adaptive", "composition, CD", "V.5"),
    ("independent", "disjoint inputs, CD", "IV.12"),
    ("adaptive", "disjoint inputs, CD", "V.6"),
)


def tallies(name: str, effort: Effort) -> dict[str, Tally]:
    """One group of theorems."""
    draw, whole, quick = GROUPS[name]
    return draw(np.random.default_rng([effort.seed, *name.encode()]), effort.pick(whole, quick))


def table(found: dict[str, Tally]) -> Grid:
    rows = [
        [
            name,
            one.mechanisms,
            one.pairs,
            one.above,
            one.ratio,
        ]
        for name, one in found.items()
    ]
    columns = ["theorem", ("mechanisms", "number"), ("ordered pairs of databases", "number"),
               ("above the bound", "number"), ("tightest ratio", "number")]  # fmt: skip
    return Grid(columns, rows, "Ratios are taken where one step alone does not decide.")


def each(found: dict[str, Tally]) -> list[Check]:
    return [
        Check(f"no mechanism is above the bound of {name}", one.holds, "", f"ratio {one.ratio}", True)
        for name, one in found.items()
    ]


def told(found: dict[str, Tally]) -> str:
    """The sentence that all groups share."""
    pairs, above = sum(one.pairs for one in found.values()), sum(one.above for one in found.values())
    nearest = {name: one.tightest for name, one in found.items() if name != "VI.24, right side"}
    last, first = min(nearest, key=nearest.__getitem__), max(nearest, key=nearest.__getitem__)
    return (
        f"{pairs:,} losses of random mechanisms, computed from all their outputs: {above} above their bound. The "
        f"tightest ratios of a loss to its bound lie between {found[last].ratio} ({last}) and {found[first].ratio} "
        f"({first})."
    )


def metrics(effort: Effort) -> dict[str, Finding]:
    found = tallies("metrics", effort)
    why = (
        "Each channel is measured between neighbours and then between all tables, by add/remove and by replace-one. "
        "The largest loss, the root of rho and mu obey the triangle inequality, and delta grows as [d]. A rho is a "
        "supremum over orders: the bound takes one that is at least as large, the loss one that is at most as large."
    )
    return {"granularity-theorems-metric": Finding(told(found), why, each(found), [table(found)])}


def _compositions(found: dict[str, Tally]) -> Finding:
    why = (
        "Three steps, each behind a map of its own; the adaptive ones draw a new channel for every earlier output. "
        "Adaptive chains stay below the same bounds as independent ones, as the paper says."
    )
    return Finding(told(found), why, each(found), [table(found)])


def _disjoint(found: dict[str, Tally]) -> Finding:
    why = (
        "Tables split by value under add/remove, and random classes of ordered tables split by row number when one row "
        "changes: at most one part changes, and the maximum holds, also for the maximum of epsilon and delta together, "
        "with an epsilon of its own for each part."
    )
    return Finding(told(found), why, each(found), [table(found)])


def _common_domain(effort: Effort, found: dict[str, Tally]) -> Finding:
    gap, most = attained(effort)
    why = (
        "A mechanism that reads f alone cannot tell apart what f does not: so the least distance over tables with "
        f"the same values counts. Theorem IV.11 is tight for any filters: noisy distances through {most} random sets "
        f"of filters reach the bound, up to {gap:.1e}. VI.14 is printed without the f in d_i^f; the row is for the "
        "form with it."
    )
    checks = [*each(found), Check("IV.11 is attained for every set of filters that was drawn", gap < 1e-11)]
    return Finding(told(found), why, checks, [table(found)])


def attained(effort: Effort) -> tuple[float, int]:
    """How far mechanisms stay below the bound of IV.11 that are built to reach it, and how many sets of filters."""
    rng = np.random.default_rng([effort.seed, 11])
    widest, count = 0.0, effort.pick(60, 15)
    for number in range(count):
        space = (UNBOUNDED, BOUNDED)[number % 2]
        filters = [[value for value in "abc" if rng.random() < 0.6] for _ in range(int(rng.integers(1, 5)))]
        epsilons = rng.uniform(0.05, 2.0, len(filters))
        seen = [[tuple(x for x in one if x in kept) for one in WIDE] for kept in filters]
        costs = {
            (i, j): math.fsum(e for e, view in zip(epsilons, seen, strict=True) if view[i] != view[j])
            for i, j in space.neighbours
        }
        start, end = max(costs, key=lambda pair: costs[pair])
        loss = 0.0
        for epsilon, view in zip(epsilons, seen, strict=True):
            distance = closure(space.distances, view)[start]
            whole = np.where(np.isfinite(distance), distance, 0).astype(int)
            most = max(1, int(whole.max()))
            channel = [truncated_geometric(int(n), most, float(epsilon)) for n in whole]
            if worst(space, channel) > epsilon + 1e-12:
                raise AssertionError("a mechanism that is built to be private is not")
            loss += max_divergence(channel[start], channel[end])
        widest = max(widest, abs(loss - costs[start, end]))
    return widest, count


def reciprocals(effort: Effort) -> dict[str, Finding]:
    found = tallies("reciprocals", effort)
    first = np.array([[1.0, 0.0], [1.0, 0.0]])  # always 0
    kernels = [np.array([[0.5, 0.5], [0.5, 0.5]]), np.eye(2)]  # after 0 nothing, after 1 everything
    together = (first[:, :, None] * np.stack(kernels, axis=1)).reshape(2, -1)
    whole, inside = max_divergence(*together), max_divergence(*kernels[1])
    checks = [
        *each(found),
        Check("parts of an adaptive mechanism may be less private than the whole", inside > whole, "", shown(inside)),
    ]
    why = (
        "What is computed from a release, and each release of several, loses no more than all of them. Not so a step "
        f"given earlier outputs: a step that tells everything after an output that never comes has {shown(inside)} "
        f"loss, and the whole {shown(whole)}."
    )
    return {"granularity-theorems-reciprocal": Finding(told(found), why, checks, [table(found)])}


def reversed_order(effort: Effort) -> dict[str, Finding]:
    """A class and a partition for which Theorem IV.12 says something and Theorem IV.6 does not apply."""
    space = Space([("a",), ("b",)], replace_one)
    part = Space([(), ("a",)], replace_one)
    stretch = sensitivity(lambda table: tuple(x for x in table if x == "a"), space, part)
    channel = [truncated_geometric(one.count("a"), 1, 1.0) for one in space.databases]
    loss = worst(space, channel)
    checks = [
        Check(
            "the condition of IV.6, that a part moves by at most one step, holds wherever IV.12 applies",
            stretch <= 1,
            "1",
            shown(stretch),
        ),
        Check("IV.12 holds there, with the epsilon of the part", near(loss, 1.0), "", shown(loss)),
    ]
    found = Finding(
        f"Tables of one record, a or b, and one part, the records a. The distance of the part after a replacement is "
        f"{shown(stretch)}, so IV.6 does not apply. A noisy count of the part is 1-DP, and IV.12 says so: it "
        f"loses {shown(loss)}.",
        "IV.6 needs a condition that IV.12 does not, so with the same notion of neighbour on the parts it says "
        "nothing here; with another one, taken over from the tables, it would. The other way round it works at "
        "once: preprocessing turns a statement about a part into one about the table, and IV.12 applies.",
        checks,
    )
    return {"granularity-section-iv-d-order": found}


def composed(effort: Effort) -> dict[str, Finding]:
    """Figure 1 and the groups of theorems that it shows."""
    groups = {name: tallies(name, effort) for name in ("compositions", "disjoint", "common_domain")}
    return {
        "granularity-figure-1": _figure(groups),
        "granularity-theorems-composition": _compositions(groups["compositions"]),
        "granularity-theorems-disjoint": _disjoint(groups["disjoint"]),
        "granularity-theorems-common-domain": _common_domain(effort, groups["common_domain"]),
    }


def _figure(groups: dict[str, dict[str, Tally]]) -> Finding:
    """Figure 1 as a table: every theorem of the kinds in its caption, and whether it was found to hold."""
    known = {name: one for group in groups.values() for names, one in group.items() for name in names.split(", ")}
    rows, checks = [], []
    for column, row, name in INFERRED_FIGURE:
        one = known[name]
        rows.append([column, row, name, "holds" if one.holds else "fails", one.pairs, one.ratio])
        checks.append(
            Check(f"{name} holds", one.holds, "", f"{one.above} of {one.pairs} ordered pairs above", disproves=True)
        )
    holding = sum(check.holds for check in checks)
    columns = [
        "column",
        "row",
        "theorem",
        "found",
        ("ordered pairs of databases", "number"),
        ("tightest ratio", "number"),
    ]
    return Finding(
        f"{holding} of {len(checks)} theorems of the kinds that the caption names hold on every random mechanism.",
        "The text at hand has the caption and not the drawing, so that which theorems stand in it is inferred, and its "
        "arrows are not compared. Every theorem here is a special case of the composition theorem of its column, or of "
        "its version for a common domain, and each adaptive one contains the independent one beside it. A random "
        "search proves nothing by itself: what plans build on is one theorem on distance vectors, proved in the "
        "documentation, which contains them.",
        checks,
        [
            Grid(
                columns,
                rows,
                "Theorems of the kinds in the caption of Figure 1. O: known before, G: for any metric, CD: for a "
                "common domain.",
            )
        ],
    )


STUDIES: tuple[Study, ...] = (
    Study(
        (
            Item(
                "granularity-figure-1",
                "Figure 1, caption",
                "Overview of the theorems proved in this paper, adaptive or independent: generalizations of sequential "
                "composition and of the best bound for disjoint inputs; O is the original theorem, G the generalized "
                "version, CD common domain; arrows indicate that a result directly implies the other.",
            ),
            Item(
                "granularity-theorems-composition",
                "Theorems IV.1, IV.3, V.2, V.3, VI.4, VI.5, VI.13, VI.15 and VI.21",
                "Mechanisms behind maps f_i are together private for the sum of d_i(f_i(D), f_i(D')), deltas add up, "
                "squares add up for zero-concentrated and Gaussian privacy; adaptive composition costs nothing more.",
            ),
            Item(
                "granularity-theorems-disjoint",
                "Theorems II.8, IV.6, IV.12, V.4, V.6, VI.6, VI.16, VI.24 and VI.26",
                "On the parts of a compatible partition the loss of all mechanisms together is at most the maximum: of "
                "epsilon, of epsilon and delta, of rho, of mu.",
            ),
            Item(
                "granularity-theorems-common-domain",
                "Proposition IV.10, Theorems IV.11, V.5, VI.14 and VI.22",
                "Mechanisms that depend on f_i(D) alone are together private for the sum of d_i^(f_i), the least "
                "distance over databases with the same images.",
            ),
        ),
        composed,
        (21.0, 2.0),
    ),
    alone(
        "granularity-theorems-metric",
        "Proposition II.2, Theorems III.3, VI.3, VI.12 and VI.20",
        "A mechanism is private for neighbours if and only if it is private for the metric: epsilon d, "
        "(epsilon d, delta [d]_epsilon), rho d², mu d.",
        metrics,
        seconds=(6.0, 0.6),
    ),
    alone(
        "granularity-theorems-reciprocal",
        "Theorems VII.1 to VII.3",
        "All four notions survive post-processing; if a composed mechanism is private, so is each of its outputs; "
        "given earlier outputs, a step need not be.",
        reciprocals,
        seconds=(3.6, 0.4),
    ),
    alone(
        "granularity-section-iv-d-order",
        "Section IV-D, after Theorem IV.12",
        "Theorem IV.12 does not need Δp_i ≤ 1 and is therefore also a consequence of preprocessing (Proposition "
        "III.6) applied to Theorem IV.6.",
        reversed_order,
        "Smaller things",
        (0.1, 0.1),
    ),
)
