"""What the methods cost, counted in terms and not in seconds."""

from __future__ import annotations

import math
from typing import Any

from tests.errata import printed
from tests.errata import transform as plain
from tests.errata.terms import terms_of_a_transform, terms_of_the_recurrence, terms_of_theorem_3
from tests.truth import constraints as truth

from examples.gallery.constraints.figure_2 import POINTS, PRINTED_POINTS
from examples.gallery.constraints.showing import plot, power
from examples.gallery.item import Check, Effort, Finding, Item, Study
from quiltwork.document.blocks import Grid
from quiltwork.document.draw.style import COLOURS

TRANSFORM = Item(
    "constraints-section-4-transform",
    "Section IV-C, transforms",
    "Methods based on the fast Fourier transform can achieve arbitrarily close bounds, but are harder to use and more "
    "computationally expensive.",
    "Section IV: the cost of a transform",
)
COMPLEXITY = Item(
    "constraints-theorem-1-complexity",
    "Section I-C, on Theorem 1",
    "Theorem 1 has a lower computational complexity than the optimal composition of Murtagh and Vadhan.",
)

GRID = 2**16  # points of a fine grid, as a general transform would use


def transform(effort: Effort) -> dict[str, Finding]:
    """Terms for growing k; and that one transform really gives the delta of Figure 2."""
    counts = (3, 5, 10, 20, 40, 80, 160)
    columns = {
        "Theorem 3 as printed": [terms_of_theorem_3(k) for k in counts],
        "one transform, exact losses": [terms_of_a_transform(k) for k in counts],
        f"one transform, {GRID:,} points": [terms_of_a_transform((GRID - 1) // 4)] * len(counts),
        "recurrence of this library": [terms_of_the_recurrence(k) for k in counts],
    }
    rate = math.log2(columns["Theorem 3 as printed"][-1] / columns["Theorem 3 as printed"][-2])
    first, *transforms, _ = columns.values()
    cheaper = [k for i, k in enumerate(counts) if all(column[i] < first[i] for column in transforms)]
    error = plain_error(20)

    def draw(axes: Any) -> None:
        for (label, values), colour in zip(columns.items(), ("bad", "warm", "muted", "accent"), strict=True):
            axes.loglog(counts, values, "o-", color=COLOURS[colour], label=label)
        axes.set(xticks=counts, xlabel="releases k", ylabel="terms")
        axes.set_xticks([], minor=True)
        axes.set_xticklabels([str(k) for k in counts])
        axes.legend(loc="upper left")

    place = counts.index(20)
    theirs, other, fine, ours = (column[place] for column in columns.values())
    return {
        TRANSFORM.key: Finding(
            f"For Figure 2 with k = 20, Theorem 3 as printed looks at {theirs:,} terms, one transform of the exact "
            f"losses at {other:,}, one on a fine grid at {fine:,}, the recurrence of this library at {ours:,}. "
            f"Doubling k multiplies the first by 2^{rate:.2f}.",
            "Theorem 3 sums every (a, b, c, d) for every slope, about k^5 / 12 terms. A transform gives all slopes at "
            "once; on the exact losses of Figure 2 it is cheaper at every k of the table, with an error of "
            f"{power(error)} at k = 20, and even on a grid of {GRID:,} points, which no loss of these constraints "
            f"needs, from k = {min(cheaper)} on. What a transform in "
            "doubles does not give is a small delta, unless it is tilted. The paper gives no cost and no k, and for "
            "few releases on such a grid it is right: so this only differs.",
            [
                Check("a transform needs more terms than Theorem 3 at every k of the table", not cheaper,
                      "more expensive", f"fewer from k = {min(cheaper)} on, on either grid"),
                Check("the transform gives the deltas of Figure 2", error < 1e-12, ours=power(error)),
            ],
            [
                plot(TRANSFORM.key, "Terms of four ways to compose two constraints",
                     f"epsilon = ({POINTS[0][0]:g}, {POINTS[1][0]:g}), all slopes. Both axes are logarithmic.", draw),
                Grid([("k", "number"), *((name, "number") for name in columns)],
                     [[str(k), *(f"{column[i]:,}" for column in columns.values())] for i, k in enumerate(counts)]),
            ],
        )
    }  # fmt: skip


def plain_error(k: int) -> float:
    """The largest error of delta at the slopes of Figure 2, from one plain transform of the law of one loss."""
    step = POINTS[1][0]
    losses, masses = plain.composed(PRINTED_POINTS, step, k)
    exact = truth.composed([(PRINTED_POINTS, k)])
    places = [step * place for place in range(0, 2 * k, 3)]
    return max(abs(plain.delta(losses, masses, place) - float(exact.delta(place))) for place in places)


def complexity(effort: Effort) -> dict[str, Finding]:
    """Terms of one delta: Algorithm 1, the formula of Murtagh and Vadhan over all subsets, and over groups of them."""
    rows, fewer, gains = [], True, []
    for x, y in ((2, 3), (5, 5), (10, 15), (20, 20), (50, 50)):
        slopes = len(printed.algorithm_1_slopes(0.5, 0.2, x, y))
        ours, subsets = (x + 1) * (y + 1), 2 ** (x + y)
        grouped = len({(one, two) for one in range(x + 1) for two in range(y + 1)})  # subsets by how many of each
        fewer = fewer and slopes * ours < subsets if x + y > 10 else fewer
        gains.append(grouped - ours)
        rows.append(
            [f"{x} and {y}", f"{ours:,}", f"{slopes * ours:,}", f"{subsets:,}" if x < 20 else power(subsets),
             f"{grouped:,}"]
        )  # fmt: skip
    return {
        COMPLEXITY.key: Finding(
            f"For x = 10 and y = 15 one delta of Algorithm 1 has at most {rows[2][1]} terms and the whole region "
            f"{rows[2][2]}; the sum over all subsets of the releases has {rows[2][3]} for one delta, and with equal "
            f"epsilons grouped {rows[2][4]}.",
            "With two different epsilons, outputs are told apart by two counts. The exact formula of Murtagh and "
            "Vadhan is for arbitrary epsilons, where the problem is hard in general. For epsilons of two values its "
            "subsets fall into groups of equal terms, and then it costs what Algorithm 1 does: the gain is the "
            "grouping. Their approximation by rounding is not counted here.",
            [
                Check("the whole region costs fewer terms than one sum over all subsets, beyond 10 releases", fewer),
                Check("one delta costs fewer terms than their sum with equal epsilons grouped", min(gains) > 0,
                      "lower", f"{rows[2][1]} and {rows[2][4]} for {rows[2][0]} releases"),
            ],
            [Grid(["releases", ("terms of one delta", "number"), ("of the whole region", "number"),
                   ("all subsets, one delta", "number"), ("groups of subsets", "number")], rows)],
        )
    }  # fmt: skip


STUDIES = (Study((TRANSFORM,), transform, (0.3, 0.3)), Study((COMPLEXITY,), complexity, (0.1, 0.1)))
