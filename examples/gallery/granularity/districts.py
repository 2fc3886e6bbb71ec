"""The ambulances of Examples IV.2, IV.5 and VI.8: districts, hospitals, and how many of them one record touches."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from tests.errata import printed_granularity as printed

import quiltwork as qw
from examples.gallery.granularity.classes import lacking, shown
from examples.gallery.item import Check, Effort, Finding, Item, Study, alone
from quiltwork.document.blocks import Grid
from quiltwork.document.draw.style import COLOURS
from quiltwork.document.draw.svg import picture
from quiltwork.tables import Plan, SubsetOf, Table, add_remove, on_input, on_table, replace_one
from quiltwork.tables.notions import spaces

DIAMETER = 1.0  # L
HOSPITALS = ((0.0, 0.0), (8.0, 0.0))  # eight diameters apart
PLACES = (((0.0, 0.0), (1.0, 0.0)), ((8.0, 0.0), (9.0, 0.0)))
COUNT, MOST = 50, 3
PRINTED_TOUCHED, PRINTED_SWAPPED = 3, 6
PRINTED_EPSILON, PRINTED_DELTA = 1.0, 1e-5
Record = frozenset[int]


# ---- Example IV.2


def closest(table: Sequence[Any], number: int) -> tuple[float, float]:
    """The ambulance of a district that is closest to its hospital."""
    inside = [place for place in table if place in PLACES[number]]
    found: tuple[float, float] = min(inside, key=lambda place: math.dist(place, HOSPITALS[number]))
    return found


def ambulances(effort: Effort) -> dict[str, Finding]:
    """All tables of up to four ambulances, with at least one in each district."""
    listed = spaces.multisets([place for district in PLACES for place in district], 4)
    tables = [table for table in listed if all(set(table) & set(district) for district in PLACES)]
    pairs = []  # steps, true loss, largest distance of two ambulances, whether one is replaced
    for first, second in itertools.product(tables, repeat=2):
        moved = sum(math.dist(closest(first, i), closest(second, i)) for i in range(len(PLACES)))
        steps = spaces.symmetric_difference(first, second)
        widest = max(math.dist(x, y) for x in first for y in second)
        pairs.append((steps, steps + moved, widest, spaces.replace_one(first, second)))
    neighbours = [pair for pair in pairs if pair[0] == 1]
    broken = sum(widest > DIAMETER for _, _, widest, _ in neighbours)
    ends = all(total <= steps + 2 * DIAMETER for steps, total, _, _ in pairs)
    touched = max(total for _, total, _, _ in neighbours)
    swapped = max(total for _, total, _, swap in pairs if swap)
    checks = [
        Check(
            "the largest distance of two ambulances, as we read the middle term, is at most the diameter of a district",
            broken == 0,
            shown(DIAMETER),
            shown(max(widest for _, _, widest, _ in neighbours)),
            disproves=True,
        ),
        Check("d + 2 L holds all the same, for every pair", ends),
        Check(
            "for neighbours by add/remove 1 + L is enough, and attained",
            touched == 1 + DIAMETER,
            shown(1 + 2 * DIAMETER),
            shown(touched),
        ),
        Check("by replace-one it is 2 + 2 L", swapped == 2 + 2 * DIAMETER, "", shown(swapped)),
    ]
    found = Finding(
        f"{len(tables)} tables, districts of diameter {shown(DIAMETER)}: the middle step fails for {broken} of "
        f"{len(neighbours)} ordered pairs of neighbours. The sum {'is' if ends else 'is not'} at most d + 2 L for all "
        f"{len(pairs)} ordered pairs; neighbours "
        f"lose up to {shown(touched)} by add/remove and {shown(swapped)} by replace-one.",
        "Two ambulances of different districts are far apart, so the maximum over all of them is no bound by L. That "
        "the middle term is meant with this maximum is our reading: in the text at hand it has 2 d^Eu_X, which is a "
        "distance of places and not of databases, and d^∞ is defined after it. The end follows directly, since the "
        "closest ambulance moves inside its district; a district without one has no closest ambulance, and two at the "
        "same distance need a rule.",
        checks,
        [
            picture(
                "granularity-iv-2",
                "Example IV.2: the loss against the distance of two tables",
                "Each disc stands for pairs of tables, larger for more of them: the sum of counts and moves, in "
                "blue, stays below d + 2 L. The printed middle term, in red, does not.",
                lambda axes: _losses(axes, pairs),
            )
        ],
    )
    return {"granularity-example-iv-2": found}


def _losses(axes: Any, pairs: Sequence[tuple[int, float, float, bool]]) -> None:
    middle = [(steps, steps + 2 * widest) for steps, _, widest, _ in pairs if steps]
    truth = [(steps, total) for steps, total, _, _ in pairs if steps]
    for points, colour, label in (
        (middle, "bad", "printed middle term"),
        (truth, "accent", "sum of counts and moves"),
    ):
        places, counts = np.unique(points, axis=0, return_counts=True)
        axes.scatter(*places.T, s=6 * np.sqrt(counts), color=COLOURS[colour], label=label, zorder=3)
    steps = np.array([1, max(steps for steps, _, _, _ in pairs)])
    axes.plot(steps, steps + 2 * DIAMETER, color=COLOURS["ink"], linewidth=1.2, label="d + 2 L")
    axes.set(xlabel="d: records added or removed", ylabel="loss", ylim=(0, None))
    axes.legend(loc="center right")


# ---- Examples IV.5 and VI.8


def at_most_three(count: int) -> list[Record]:
    """Sets of up to three hospitals."""
    return [frozenset(one) for size in range(MOST + 1) for one in itertools.combinations(range(count), size)]


def lists(notion: Any, loss: Any, holds: Any, count: int = COUNT) -> Plan:
    """One count for each hospital; an ambulance is in the lists of at most three."""
    table = Table(hospitals=SubsetOf(range(count), max_size=MOST))
    return Plan(table, notion).each("list", of=table.hospitals, count=True, loss=loss, holds=holds)


def touched_lists(effort: Effort) -> dict[str, Finding]:
    """Example IV.5: exhaustively for four hospitals, by a plan for fifty."""
    found = lists(add_remove(), qw.pure(1.0), on_input(add_remove())).guarantee()
    epsilon, names = found.epsilon(0.0), found.touched()
    sequential = (COUNT * qw.pure(1.0)).epsilon(0.0)
    count = 4
    records = at_most_three(count)
    tables = spaces.multisets(records, 2)
    seen = [[[record for record in table if i in record] for i in range(count)] for table in tables]
    widest, pairs = 0.0, 0
    for (one, first), (two, second) in itertools.combinations(zip(tables, seen, strict=True), 2):
        summed = sum(spaces.symmetric_difference(tuple(a), tuple(b)) for a, b in zip(first, second, strict=True))
        widest = max(widest, summed / spaces.symmetric_difference(one, two))
        pairs += 1
    conclusion = Finding(
        f"For {COUNT} hospitals a plan finds that one record touches {len(names)} lists: epsilon "
        f"{shown(float(epsilon.safe))}, in sequence {shown(float(sequential.safe))}. Of all {pairs} unordered pairs "
        f"of tables with up to two records and {count} hospitals, none has more than {shown(widest)} times its "
        "distance.",
        "A record is in the lists of its own hospitals alone. Nobody has to say which lists overlap: the plan finds "
        "the worst record from the conditions of the queries.",
        [
            Check("no pair exceeds 3 d", widest <= PRINTED_TOUCHED, "3", shown(widest), disproves=True),
            Check("3 is attained", widest == len(names) == PRINTED_TOUCHED, "3", str(len(names))),
            Check("it is less than in sequence", float(epsilon.safe) < float(sequential.lower)),
        ],
    )
    rows = []
    for number in (4, 5, 6, 8):
        least = max(len(record) for record in printed.hospitals(number))
        rows.append([str(number), str(least), str(max(len(record) for record in at_most_three(number)))])
    words = Finding(
        f"With subsets of at least three out of {rows[-1][0]} hospitals one record touches {rows[-1][1]} lists; with "
        f"at most three it touches {rows[-1][2]}.",
        "A misprint: “at least” stands twice where “at most” is meant, as the sign ≤ 3 and the rest of the example "
        "say. With at least three nothing would be gained over sequential composition.",
        [
            Check(
                "a record of at least three hospitals touches three lists",
                all(row[1] == str(PRINTED_TOUCHED) for row in rows),
                "3",
                ", ".join(row[1] for row in rows),
                disproves=True,
            ),
            Check("one of at most three does", all(row[2] == str(PRINTED_TOUCHED) for row in rows)),
        ],
        [
            Grid(
                [("hospitals", "number"), ("touched, printed “at least”", "number"), ("touched, at most", "number")],
                rows,
            )
        ],
    )
    return {"granularity-example-iv-5": conclusion, "granularity-example-iv-5-at-least": words}


def swapped_lists(effort: Effort) -> dict[str, Finding]:
    """Example VI.8: two records instead of one, and delta beside epsilon."""
    loss = qw.approximate(PRINTED_EPSILON, PRINTED_DELTA)
    found = lists(replace_one(), loss, on_table).guarantee()
    names = found.touched()
    epsilon, claim = PRINTED_SWAPPED * PRINTED_EPSILON, PRINTED_SWAPPED * PRINTED_DELTA
    delta = found.delta(epsilon)
    sequential = (COUNT * loss).delta(epsilon)
    conclusion = Finding(
        f"For {COUNT} hospitals a replaced record touches {len(names)} lists; the exact delta at epsilon "
        f"{shown(epsilon)} is {float(delta.upper):.6g}, in sequence {float(sequential.lower):.4g}.",
        "Epsilons and deltas of the touched lists add up. The exact composition is hardly below the sum, because six "
        "releases are few: what is saved is saved by counting the lists that change.",
        [
            Check("a replacement touches six lists", len(names) == PRINTED_SWAPPED, "6", str(len(names))),
            Check(
                "the guarantee holds", float(delta.upper) <= claim, "6e-5", f"{float(delta.upper):.6g}", disproves=True
            ),
            Check("and is nearly attained", float(delta.lower) > claim * (1 - 1e-3)),
        ],
    )
    return {"granularity-example-vi-8": conclusion, "granularity-example-vi-8-steps": _steps()}


def _steps() -> Finding:
    """The middle term, the i.e., and few hospitals."""
    first, second = [frozenset({0, 1, 2}), frozenset({3, 4, 5})], [frozenset({6, 7, 8}), frozenset({9, 10, 11})]
    steps = lacking(first, second)
    seen = [[[record for record in table if i in record] for table in (first, second)] for i in range(12)]
    middle = steps * sum(one != two for one, two in seen)
    true = sum(max(lacking(one, two), lacking(two, one)) for one, two in seen)
    few = {n: max(len(a | b) for a, b in itertools.combinations(at_most_three(n), 2)) for n in (4, 5, 6, 8)}
    stated = (PRINTED_EPSILON, PRINTED_SWAPPED * PRINTED_EPSILON)  # of one list, and of the conclusion
    group = {
        d: [math.expm1(e * d) / math.expm1(e) * PRINTED_SWAPPED * PRINTED_DELTA for e in stated] for d in (1, 2, 3)
    }
    return Finding(
        f"Two replacements at once: the printed middle term is {middle}, the printed end {PRINTED_SWAPPED * steps}, "
        f"the exact sum of distances {true}. With 4 and 5 hospitals a replacement touches {few[4]} and {few[5]}.",
        "The middle term multiplies two maxima that are not reached together; the end holds because each list sees "
        "its own records alone. And the conclusion is weaker than the line before it: at distance two that line "
        f"gives delta {group[2][0]:.3g}, the conclusion {group[2][1]:.3g}.",
        [
            Check(
                "the middle term is at most 6 d",
                middle <= PRINTED_SWAPPED * steps,
                str(PRINTED_SWAPPED * steps),
                str(middle),
                disproves=True,
            ),
            Check("the exact sum of distances is", true <= PRINTED_SWAPPED * steps, "", str(true)),
            Check("a replacement touches min(k, 6) lists", all(n == min(k, PRINTED_SWAPPED) for k, n in few.items())),
            Check(
                "the two forms are equal for neighbours alone", group[1][0] == group[1][1] and group[2][0] < group[2][1]
            ),
        ],
        [
            Grid(
                [("distance", "number"), ("delta, printed line", "number"), ("delta, printed conclusion", "number")],
                [[str(d), *(f"{delta:.3g}" for delta in deltas)] for d, deltas in group.items()],
                "The privacy of groups after Example VI.8, by its last line and by its “i.e.”.",
            )
        ],
    )


STUDIES: tuple[Study, ...] = (
    alone(
        "granularity-example-iv-2",
        "Example IV.2",
        "Counts and closest ambulances of two districts of diameter L are together private for at most "
        "(d^U + 2 d^Eu_X)(D, D') ≤ d^U(D, D') + 2 L with d^∞(D, D') the largest distance between an ambulance of D and "
        "one of D'. (We read 2 d^∞ for 2 d^Eu_X.)",
        ambulances,
        "Example IV.2: the distance across districts",
        (0.2, 0.2),
    ),
    Study(
        (
            Item(
                "granularity-example-iv-5",
                "Example IV.5, the bound",
                "k > 3 hospitals, each ambulance with at most three of them: the counts of all hospitals are 3 "
                "d^U-private, and not k d^U, as sequential composition gives.",
            ),
            Item(
                "granularity-example-iv-5-at-least",
                "Example IV.5, the setting",
                "Each ambulance has at least three associated hospitals, records hold subsets of at least three "
                "elements, and a single change affects at most three counts.",
                "Example IV.5: at least three",
            ),
        ),
        touched_lists,
        (0.3, 0.3),
    ),
    Study(
        (
            Item(
                "granularity-example-vi-8",
                "Example VI.8, the conclusion",
                "Counts of k hospitals that are bounded (1, 10^-5)-DP each are together bounded (6, 6 · 10^-5)-DP.",
            ),
            Item(
                "granularity-example-vi-8-steps",
                "Example VI.8, the steps",
                "The distances of the touched hospitals sum to at most 6 d for every k > 3 and every pair, so that "
                "the counts are (6 d, 6 δ_0 [d]_1)-private, i.e. bounded (6, 6 · 10^-5)-DP.",
                "Example VI.8: six hospitals",
            ),
        ),
        swapped_lists,
        (0.1, 0.1),
    ),
)
