"""Sections II and III: who is a neighbour, and how far tables are apart."""

from __future__ import annotations

import math

import numpy as np

from examples.gallery.granularity.classes import BOUNDED, LUNCH, TABLES, UNBOUNDED, VALUES, near, shown, worst
from examples.gallery.item import Check, Effort, Finding, Study, alone
from examples.tables import halves, refused, visits
from quiltwork import tables
from quiltwork.document.blocks import Details, Grid, Words
from quiltwork.tables import on_table
from quiltwork.tables.notions.spaces import (
    Space,
    add_remove,
    conversion,
    edge,
    entry,
    graphs,
    hamming,
    insert_delete,
    multisets,
    node,
    replace_one,
    sequences,
    symmetric_difference,
)
from quiltwork.tables.papers.small_channels import joint, max_divergence, truncated_geometric

PRINTED_DIST = {("add/remove", "replace-one"): 2.0, ("replace-one", "add/remove"): math.inf}
PRINTED_LUNCH = 1.0


# ---- section II


def parallel_sizes(effort: Effort) -> dict[str, Finding]:
    """Example II.9, and what a plan says to it."""
    sizes = [[truncated_geometric(table.count(value), 3, math.inf) for table in TABLES] for value in VALUES]
    each = [truncated_geometric(len(table), 3, math.inf) for table in TABLES]
    alone_, together = worst(BOUNDED, each), worst(BOUNDED, joint(sizes))
    message = refused(visits())
    saved = float(halves(visits(), on_table).guarantee().epsilon(0).safe)
    checks = [
        Check("the exact size of a table loses nothing when one record is replaced", alone_ == 0, "0", shown(alone_)),
        Check(
            "the sizes of three parts together lose without bound", math.isinf(together), "infinite", shown(together)
        ),
        Check("a plan that states both losses for replaced rows of their own parts is refused", "II.9" in message),
    ]
    found = Finding(
        f"On the {len(TABLES)} tables of up to three records: one size loses {shown(alone_)}, the loss of three sizes "
        f"together is {shown(together)}.",
        "A replaced record may leave one part and enter another, and no guarantee for replaced rows of a part speaks "
        "of that. The plan below is refused for the same reason; with both losses stated for the table it is "
        f"accepted, and its epsilon is their sum, {saved:.3f}.",
        checks,
        [Details("What the library answers to such a plan", [Words(message)])],
    )
    return {"granularity-example-ii-9": found}


def fixed_size(effort: Effort) -> dict[str, Finding]:
    """Example III.4."""
    tables = multisets(VALUES, 3, 3)
    none, some = Space(tables, add_remove), Space(tables, replace_one)
    tell_all = np.eye(len(tables))
    loss = max((max_divergence(tell_all[i], tell_all[j]) for i, j in none.neighbours), default=0.0)
    checks = [
        Check(
            "tables of one size have no neighbours by add/remove", not none.neighbours, "0", str(len(none.neighbours))
        ),
        Check("so the identity, which tells the whole table, is 0-DP", loss == 0, "0", shown(loss)),
        Check("by replace-one the same class is connected", some.connected),
        Check("and the class of all sizes is not", not BOUNDED.connected),
    ]
    found = Finding(
        f"{len(tables)} tables of exactly three records: {len(none.neighbours) // 2} unordered pairs of neighbours by "
        f"add/remove, {len(some.neighbours) // 2} by replace-one.",
        "A guarantee about no pair at all holds of everything. Whether a class is connected has to be looked at "
        "before a loss is believed.",
        checks,
    )
    return {"granularity-example-iii-4": found}


# ---- section III: distances


def granularities(effort: Effort) -> dict[str, Finding]:
    """dist(G1, G2) by breadth-first search, on classes small enough to list."""
    names = {"add/remove": UNBOUNDED, "replace-one": BOUNDED, "free-lunch": LUNCH}
    rows, checks = [], []
    for one, first in names.items():
        for two, second in names.items():
            if one == two:
                continue
            found = conversion(first, second)
            claim = PRINTED_LUNCH if one == "free-lunch" else PRINTED_DIST.get((one, two))
            rows.append(["tables of up to 3 records", one, two, "" if claim is None else shown(claim), shown(found)])
            if claim is not None:
                says = f"dist({one}, {two})"
                checks.append(Check(says, found == claim, shown(claim), shown(found), disproves=True))
    rows += _others()
    right = sum(check.holds for check in checks)
    lead = [truncated_geometric(table.count("a") - table.count("b") + 3, 6, 1.0) for table in TABLES]
    once, twice = worst(UNBOUNDED, lead), worst(BOUNDED, lead)
    checks.append(Check("a mechanism doubles its loss from add/remove to replace-one", near(twice, 2 * once)))
    found_ = Finding(
        f"Found by counting steps: {right} of {len(PRINTED_DIST) + 2} printed distances are right. A noisy difference "
        f"of two counts loses {shown(once)} by add/remove and {shown(twice)} by replace-one, so that the factor is "
        "attained.",
        "Free-lunch neighbours are all pairs, so one step is always enough, and from add/remove the worst replacement "
        "needs a removal and an addition. The other way round no number of replacements changes the size. Edge "
        "and node, entry and row, and ordered tables, which the paper names without numbers, are in the table too.",
        checks,
        [Grid(["class", "G1", "G2", ("printed", "number"), ("dist(G1, G2)", "number")], rows)],
    )
    return {"granularity-section-iii-a-distances": found_}


def _others() -> list[list[str]]:
    """Granularities that the paper only names."""
    rows = []
    for nodes, degree in ((4, None), (4, 1), (4, 2), (5, 1)):
        listed = graphs(nodes, degree)
        edges, nodes_ = Space(listed, edge), Space(listed, node)
        name = f"graphs of {nodes} nodes" + ("" if degree is None else f", degree up to {degree}")
        rows.append([name, "edge", "node", "", shown(conversion(edges, nodes_))])
        rows.append([name, "node", "edge", "", shown(conversion(nodes_, edges))])
    cells = sequences([(x, y) for x in "ab" for y in "ab"], 2, 2)
    by_entry, by_row = Space(cells, entry), Space(cells, hamming)
    rows.append(["2 rows of 2 columns", "entry", "row", "", shown(conversion(by_entry, by_row))])
    rows.append(["2 rows of 2 columns", "row", "entry", "", shown(conversion(by_row, by_entry))])
    ordered = sequences("ab", 3)
    moved = conversion(Space(ordered, insert_delete), Space(ordered, hamming))
    rows.append(["ordered tables of up to 3 rows", "insert or delete", "change a row", "", shown(moved)])
    return rows


def canonical(effort: Effort) -> dict[str, Finding]:
    """Distances inside a class, and their restriction to a smaller one."""
    same = sum(
        UNBOUNDED.distances[i, j] == symmetric_difference(one, two)
        for i, one in enumerate(TABLES)
        for j, two in enumerate(TABLES)
    )
    small = Space([tuple(word) for word in ("a", "ac", "abc", "bc", "b")], add_remove)
    inside = small.distances[small.place(("a",)), small.place(("b",))]
    outside = UNBOUNDED.distances[UNBOUNDED.place(("a",)), UNBOUNDED.place(("b",))]
    checks = [
        Check("for all tables, steps by add/remove count the symmetric difference", same == len(TABLES) ** 2),
        Check("in a smaller class the distance may be larger", inside > outside),
    ]
    found = Finding(
        f"{same} of {len(TABLES) ** 2} ordered pairs of tables of up to three records agree. In the class a, ac, abc, "
        f"bc, b the tables a and b are {shown(inside)} steps apart, and {shown(outside)} in the class of all tables.",
        "With fewer tables there are fewer ways, so a guarantee must be counted in steps that stay inside the class.",
        checks,
    )
    return {"granularity-section-iii-canonical-metric": found}


def given(effort: Effort) -> dict[str, Finding]:
    """d(D, D') as the library answers it for two given tables, beside the lengths of chains in the listed class."""
    table = tables.Table(value=tables.Cat(*VALUES))
    notions = {
        "add/remove": tables.add_remove(),
        "replace-one": tables.replace_one(),
        "free lunch": tables.free_lunch(),
    }
    checks = []
    for (name, notion), space in zip(notions.items(), (UNBOUNDED, BOUNDED, LUNCH), strict=True):
        rows = [[{"value": value} for value in one] for one in space.databases]
        wrong = sum(
            tables.distance(table, one, two, notion) != space.distances[i, j]
            for i, one in enumerate(rows)
            for j, two in enumerate(rows)
        )
        checks.append(Check(f"{name}: every pair of tables has the length of its shortest chain", wrong == 0))
    return {
        "granularity-definition-iii-1-two-tables": Finding(
            f"{len(TABLES)} tables of up to three records, every ordered pair under three notions.",
            "The metric of a notion is the least number of steps between neighbours. Of two given tables it follows "
            "from the records in which they differ: quiltwork tables plan.yaml --between one.csv two.csv.",
            checks,
        )
    }


STUDIES: tuple[Study, ...] = (
    alone(
        "granularity-example-ii-9",
        "Example II.9",
        "Parallel composition does not hold for bounded DP: the sizes of disjoint parts are each bounded 0-DP, and "
        "together not bounded DP for any epsilon.",
        parallel_sizes,
        seconds=(0.1, 0.1),
    ),
    alone(
        "granularity-example-iii-4",
        "Example III.4",
        "On tables of a fixed size N the unbounded notion has no neighbours, so that every mechanism, the identity as "
        "well, is unbounded 0-DP. The bounded notion is connected there, and disconnected on all tables.",
        fixed_size,
        seconds=(0.1, 0.1),
    ),
    alone(
        "granularity-section-iii-a-distances",
        "Section III-A",
        "dist(U, B) = 2 and dist(B, U) is infinite, so that unbounded epsilon-DP implies bounded 2 epsilon-DP and not "
        "conversely; the free-lunch distance is 1, and free-lunch DP implies all others.",
        granularities,
        seconds=(0.1, 0.1),
    ),
    alone(
        "granularity-section-iii-canonical-metric",
        "Section III, canonical metrics",
        "On all tables the unbounded metric is the size of the symmetric difference; on a subclass the metric is not "
        "always the restriction.",
        canonical,
        seconds=(0.1, 0.1),
    ),
    alone(
        "granularity-definition-iii-1-two-tables",
        "Definition III.1, two given tables",
        "Each notion of neighbour has a metric d(D, D') on tables, and privacy says how far outputs may be apart for "
        "tables at each distance.",
        given,
        seconds=(0.2, 0.2),
    ),
)
