"""Section IV, parts of a table: partitions, when they give the maximum, and what holds by replace-one."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from tests.errata import printed_granularity as printed

from examples.gallery.granularity.classes import (
    BOUNDED,
    TABLES,
    UNBOUNDED,
    VALUES,
    changed,
    near,
    noisy_counts,
    shown,
    split,
    worst,
)
from examples.gallery.item import Check, Effort, Finding, Study, alone
from quiltwork.document.blocks import Grid
from quiltwork.tables.notions.spaces import (
    Space,
    closure,
    hamming,
    insert_delete,
    quotient,
    sequences,
    symmetric_difference,
)

EPSILONS = (1.0, 0.7, 0.3)


def partition_meets(effort: Effort) -> dict[str, Finding]:
    """Section IV-B: the printed definition of a partition."""
    cut = [split(table, VALUES) for table in TABLES]
    allowed = sum(printed.partition(parts) for parts in cut)
    apart = sum(all(not set(one) & set(two) for one, two in itertools.combinations(parts, 2)) for parts in cut)
    checks = [
        Check("the partition of Example IV.4 is one by the printed definition", allowed == len(TABLES), disproves=True),
        Check("its parts are disjoint, for every table", apart == len(TABLES)),
    ]
    found = Finding(
        f"The split of a table by the values of its records fulfils the printed definition for {allowed} of "
        f"{len(TABLES)} tables; its parts are disjoint for {apart}.",
        "A misprint: an equality sign became its negation; everything after it uses disjoint parts.",
        checks,
    )
    return {"granularity-section-iv-b-partition": found}


def compatible(effort: Effort) -> dict[str, Finding]:
    """Section IV-C: which partitions are compatible with a granularity."""
    cut = [split(table, VALUES) for table in TABLES]
    passing = sum(printed.compatible(cut[i], cut[j]) for i, j in BOUNDED.neighbours)
    channel = noisy_counts(EPSILONS)
    swaps, single = worst(BOUNDED, channel), worst(UNBOUNDED, channel)
    some = [split(table, "ab") for table in TABLES]
    outside = [(i, j) for i, j in UNBOUNDED.neighbours if changed(some[i], some[j]) == 0]
    refused = sum(not printed.compatible(some[i], some[j]) for i, j in outside)
    refused_too = sum(not printed.compatible_by_count(some[i], some[j]) for i, j in outside)
    most = {space: max(changed(cut[i], cut[j]) for i, j in space.neighbours) for space in (UNBOUNDED, BOUNDED)}
    two = worst(UNBOUNDED, noisy_counts(EPSILONS[:2]))
    counted = sum(printed.compatible_by_count(cut[i], cut[j]) for i, j in BOUNDED.neighbours)
    checks = [
        Check(
            "the words and the formula after their “i.e.” let the same replacements pass",
            passing == counted,
            "the same",
            f"{passing} and {counted}",
            disproves=True,
        ),
        Check("at most one part changes by add/remove, two by replace-one", list(most.values()) == [1, 2]),
        Check("where at most one changes, the loss is the maximum", near(single, max(EPSILONS)), "", shown(single)),
        Check("so it is when some records are in no part", near(two, max(EPSILONS[:2])), "", shown(two)),
    ]
    found = Finding(
        f"{passing} of {len(BOUNDED.neighbours)} ordered pairs by replace-one pass the printed words, {counted} the "
        f"formula after them; counts with epsilons {', '.join(map(shown, EPSILONS))}, whose maximum is "
        f"{shown(max(EPSILONS))}, then lose {shown(swaps)}. With a value in no part, {len(outside)} ordered pairs of "
        f"neighbours change no part: the words refuse {refused} of them, the formula after them {refused_too}.",
        "“At most one j such that all other parts are equal” is true when there is no such j, and false when nothing "
        "changed. A slip of words: what is meant, and what the theorems need, is that at most one part changes.",
        checks,
    )
    return {"granularity-section-iv-c-compatible": found}


def equation(effort: Effort) -> dict[str, Finding]:
    """Equation (IV.1): four databases of two rows, parts are the rows."""
    space = Space([("a0", "b0"), ("a1", "b0"), ("a1", "b1"), ("a2", "b1")], hamming)
    labels = list(zip(*space.databases, strict=True))
    seen = [quotient(space.distances, label) for label in labels]
    chained = [closure(space.distances, label) for label in labels]
    fits = all(changed(space.databases[i], space.databases[j]) <= 1 for i, j in space.neighbours)
    true, summed = space.distances, sum(seen)
    ends = (0, len(space.databases) - 1)
    rows = [
        [f"{one} and {two}", shown(true[i, j]), *(shown(part[i, j]) for part in seen), shown(summed[i, j]),
         shown(sum(part[i, j] for part in chained))]
        for (i, one), (j, two) in itertools.combinations(enumerate(" ".join(d) for d in space.databases), 2)
    ]  # fmt: skip
    checks = [
        Check("each step changes one part: the partition is compatible", fits),
        Check(
            "then the distances of the parts sum to the distance",
            np.array_equal(summed, true),
            shown(true[ends]),
            shown(summed[ends]),
            disproves=True,
        ),
        Check("with shortest chains the sum is at most the distance", bool(np.all(sum(chained) <= true))),
    ]
    found = Finding(
        f"Between the first and the last of four databases the distance is {shown(true[ends])}, and the parts see "
        f"{shown(seen[0][ends])} and {shown(seen[1][ends])}, which sum to {shown(summed[ends])}.",
        f"The distance through a map has no triangle inequality: {shown(seen[0][0, 3])} for the first part, and "
        f"{shown(seen[0][0, 1])} + {shown(seen[0][1, 3])} by the second database. Theorem IV.12 survives, as "
        "neighbours decide it.",
        checks,
        [Grid(["databases", ("d", "number"), ("first part", "number"), ("second part", "number"), ("sum", "number"),
               ("sum of chains", "number")], rows)],
    )  # fmt: skip
    return {"granularity-equation-iv-1": found}


def by_index(effort: Effort) -> dict[str, Finding]:
    """Example IV.7: ordered tables, parts by the number of the row modulo three."""

    def parts(rows: tuple[str, ...]) -> list[tuple[Any, ...]]:
        return [tuple((n, x) for n, x in enumerate(rows) if n % 3 == k) for k in range(3)]

    listed = sequences("ab", 4)
    cut = [parts(rows) for rows in listed]
    change, insert = Space(listed, hamming), Space(listed, insert_delete)
    most = [max(changed(cut[i], cut[j]) for i, j in space.neighbours) for space in (change, insert)]
    moved = max(symmetric_difference(cut[i][k], cut[j][k]) for i, j in change.neighbours for k in range(3))
    checks = [
        Check("a changed row changes one part", most[0] == 1, "1", str(most[0]), disproves=True),
        Check("by one row that goes and one that comes", moved == 2, "", f"{moved} rows"),
    ]
    found = Finding(
        f"{len(listed)} ordered tables of up to four rows, three parts: one changed row touches {most[0]} part, one "
        f"row put in or taken out touches up to {most[1]}.",
        "The number of a row stays when its value changes, so a split by numbers is compatible. It is not when rows "
        "may come and go: then all later rows move, and the maximum is no bound.",
        checks,
    )
    return {"granularity-example-iv-7": found}


STUDIES: tuple[Study, ...] = (
    alone(
        "granularity-section-iv-b-partition",
        "Section IV-B",
        "A k-partitioning function has parts of D with p_i(D) ∩ p_j(D) ≠ ∅ for i ≠ j.",
        partition_meets,
        "Smaller things",
        (0.1, 0.1),
    ),
    alone(
        "granularity-section-iv-c-compatible",
        "Section IV-C",
        "A partition is compatible if for neighbours there is at most one j such that p_i(D) = p_i(D') for all i ≠ "
        "j, i.e. I_p(D, D') = 1; then the loss is the maximum of the epsilons.",
        compatible,
        "Section IV-C: compatible partitions",
        (0.1, 0.1),
    ),
    alone(
        "granularity-equation-iv-1",
        "Equation (IV.1)",
        "If p is compatible, then the distances d^(p_i) of all parts sum to d.",
        equation,
        "Equation (IV.1): compatible is not enough",
        (0.1, 0.1),
    ),
    alone(
        "granularity-example-iv-7",
        "Example IV.7",
        "A split of ordered tables by row numbers is compatible with the bounded metric, so that the maximum of the "
        "epsilons holds for it.",
        by_index,
        seconds=(0.1, 0.1),
    ),
)
