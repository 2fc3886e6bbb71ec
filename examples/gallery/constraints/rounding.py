"""Theorems 1 to 3 as a program would compute them: right as mathematics, and what doubles make of the formulas.

The paper claims nothing about doubles, so that what doubles lose is told and decides no verdict.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

from tests.errata import printed
from tests.errata.doubles import (
    COUNTS,
    PAIRS,
    SIZES,
    exact_start,
    halfway,
    late_starts,
    lost_by_the_ceiling,
    lost_by_the_sign,
    region,
    weights,
)
from tests.truth import constraints as truth
from tests.truth.numbers import mp

import quiltwork as qw
from examples.gallery.constraints import literal
from examples.gallery.constraints.figure_2 import PRINTED_POINTS
from examples.gallery.constraints.showing import number, plot, power
from examples.gallery.item import Check, Effort, Finding, Item, Study
from quiltwork.document.blocks import Grid
from quiltwork.document.draw.style import COLOURS

SHARE = 0.4  # of k: where this library is asked

CEILING = Item(
    "constraints-theorem-3-ceiling",
    "Theorem 3, ceiling",
    "The region is the intersection over all u, v with u at least the ceiling of (k epsilon_1 - v (epsilon_1 - "
    "epsilon_2)) / (epsilon_1 + epsilon_2): the slopes that are not negative.",
    "Theorem 3: a ceiling that misses a tie",
)
STARTS = Item(
    "constraints-algorithm-1-ties",
    "Algorithm 1",
    "Slopes are kept when epsilon_1 (x - 2 a*) + epsilon_2 (y - 2 b*) is not negative, and the inner sum begins at a "
    "ceiling a_0(b).",
    "Algorithm 1: off by one, without harm",
)
OVERFLOW = Item(
    "constraints-theorem-3-overflow",
    "Theorem 3, exponentials",
    "delta_{u,v} is a sum of differences of exponentials e^(a epsilon_1 + b epsilon_2), for any k.",
    "Theorem 3: overflow",
)
ALPHA = Item(
    "constraints-theorem-2-alpha",
    "Theorem 2",
    "The weight alpha is a quotient of differences of exponentials.",
    "Theorem 2: the weight alpha at small epsilon",
)


def ceiling(effort: Effort) -> dict[str, Finding]:
    """How often the ceiling of a double loses a slope, and what that does to the total variation."""
    dropped, cases, all_ties, wrong = 0, 0, True, 0
    for (e1, e2), k in itertools.product(PAIRS, COUNTS):
        missing = lost_by_the_ceiling(e1, e2, k)
        places = itertools.product(range(k + 1), repeat=2)
        right = {(u, v) for u, v in places if e1 * (u + v - k) + e2 * (u - v) >= 0}  # in fractions
        wrong += set(printed.theorem_3_slopes(e1, e2, k)) != right
        all_ties = all_ties and all(slope == 0 for slope in missing)
        cases, dropped = cases + 1, dropped + bool(missing)
    rows, loose = [], []
    for e1, e2 in ((0.2, 0.05), (0.2, 0.15), (0.31, 0.17)):
        first, second = halfway(e1, e2)
        literal = float(region(printed.theorem_3(first, second, 6)).delta(0.0).upper)
        true = float((6 * qw.constraints([first, second])).delta(0.0, rtol=1e-9).upper)
        loose.append(literal - true)
        rows.append([f"({e1:g}, {e2:g})", number(literal), number(true), power(abs(literal - true))])
    return {
        CEILING.key: Finding(
            f"Over the epsilons that are multiples of one twentieth and {len(COUNTS)} counts, doubles lose a slope in "
            f"{dropped} of {cases} cases, each time one that is exactly zero. For {rows[0][0]} and k = 6 the region "
            f"then has total variation {rows[0][1]} instead of {rows[0][2]}.",
            "The condition is right. In doubles a quotient that is a whole number may come out a little larger, and "
            "its ceiling is one too many. The region that is left is too large, which is safe but not exact. This "
            "library has no ceiling: a tie enters as a term that is worth nothing.",
            [
                Check("in exact arithmetic the ceiling keeps the slopes that are not negative, and no others",
                      wrong == 0, ours=f"{wrong} of {cases} cases differ", disproves=True),
                Check("what doubles lose is always a slope of exactly zero", all_ties),
                Check("the region in doubles is never too small", min(loose) > -1e-12,
                      ours=f"too large by up to {power(max(loose))}"),
            ],
            [Grid(["epsilons, k = 6", ("total variation, formula in doubles", "number"), ("exact", "number"),
                   ("difference", "number")], rows)],
        )
    }  # fmt: skip


def starts(effort: Effort) -> dict[str, Finding]:
    """The two tests of Algorithm 1 in doubles, and that neither changes the region."""
    late = asked = lost = settings = wrong = 0
    worst, one_of_each = 0.0, True
    for (e1, e2), (x, y) in itertools.product(PAIRS, SIZES[: effort.pick(4, 3)]):
        missing, true = lost_by_the_sign(e1, e2, x, y)
        off, number_asked = late_starts(e1, e2, x, y, true)
        settings, lost = settings + 1, lost + bool(missing)
        wrong += sum(not begins_right(e1, e2, x, y, *place, b) for place in true for b in range(y + 1))
        late, asked = late + len(off), asked + number_asked
        one_of_each = one_of_each and not {(x - a, y - b) for a, b in missing} & missing
        for a, b in {place[:2] for place in off}:
            starts = (printed.algorithm_1_start, exact_start)
            sums = [printed.algorithm_1_delta(float(e1), float(e2), x, y, a, b, start) for start in starts]
            worst = max(worst, abs(sums[0] - sums[1]))
    return {
        STARTS.key: Finding(
            f"In {lost} of {settings} settings doubles drop a slope that is exactly zero; in {late} of {asked:,} "
            f"evaluations a_0(b) is one too large. The largest change of a delta is {power(worst)}.",
            "Of two mirrored zero slopes one always stays, and the term that is skipped is a tie, so that it is zero. "
            "The formulas are right, and here rounding is harmless.",
            [
                Check(
                    "in exact arithmetic the sum begins at the first term that is not negative",
                    wrong == 0,
                    ours=f"{wrong} of {asked:,} begin elsewhere",
                    disproves=True,
                ),
                Check("of two mirrored slopes doubles keep one", one_of_each),
                Check("doubles change no delta", worst < 1e-14, ours=power(worst)),
            ],
        )
    }


def begins_right(e1: Any, e2: Any, x: int, y: int, a_star: int, b_star: int, b: int) -> bool:
    """Whether a_0(b), in fractions, is the first a with a term that is not negative."""
    start = printed.algorithm_1_start(e1, e2, x, y, a_star, b_star, b)

    def worth(a: int) -> bool:
        return bool((a - x + a_star) * e1 + (b - y + b_star) * e2 >= 0)

    return worth(start) and not (start > 0 and worth(start - 1))


def overflow(effort: Effort) -> dict[str, Finding]:
    """The smallest k at which one term cannot be written as a double, and this library beyond it."""
    first, second = (1.0, 0.0), (0.5, 0.1)

    def fails(k: int) -> bool:
        half = (k + 1) // 2  # the smallest slope of u = v, at which all releases in the first class count
        try:
            printed.theorem_3_term(first, second, k, half, half, (k, 0, 0, 0))
        except OverflowError:
            return True
        return False

    low, high = 1, 2000
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if fails(middle) else (middle, high)
    rows, answered = [], 0
    for k in (high - 1, high, 800, 1000):
        found = (k * qw.constraints([first, second])).delta(SHARE * k)
        answered += found.met and found.lower > 0
        ends = [number(end, 8) for end in (found.lower, found.upper)]
        rows.append([f"{k:,}", "overflows" if fails(k) else "a number", *ends])
    k, weight = 800, 1 - literal.alpha(*((str(epsilon), str(delta)) for epsilon, delta in (first, second)))
    term = (weight / (mp.e + 1)) ** k * (mp.exp(k) - 1)  # u = v = k / 2
    return {
        OVERFLOW.key: Finding(
            f"With epsilon = ({first[0]:g}, {second[0]:g}) the first term cannot be computed from k = {high} on. This "
            f"library answers: at k = {rows[-1][0]}, delta at epsilon = {SHARE * 1000:g} is between {rows[-1][2]} and "
            f"{rows[-1][3]}.",
            "The sum is right, and no double is as large as its terms. The library keeps logarithms of probabilities, "
            "and takes differences only inside expm1.",
            [
                Check(f"with many digits the first term at k = {k} is a probability", 0 < term < 1,
                      ours=str(mp.nstr(term, 3))),
                Check("this library certifies every delta of the table", answered == len(rows),
                      ours=f"{answered} of {len(rows)}"),
            ],
            [Grid([("k", "number"), "first term", ("this library, lower", "number"),
                   ("this library, upper", "number")], rows,
                  f"Deltas at epsilon = {SHARE:g} k.")],
        )
    }  # fmt: skip


def alpha(effort: Effort) -> dict[str, Finding]:
    """Relative errors of alpha: as printed, as one minus its complement, and without subtraction."""
    sizes = [10.0**-n for n in range(0, 16)]
    rows, lost, kept, apart, unsafe = [], [], [], [], 0
    for size in sizes:
        first, second = (size, 0.0), (size / 2, size / 10)
        e1, e2, d2 = (mp.mpf(value) for value in (size, size / 2, size / 10))
        with mp.workdps(120):
            true = (mp.exp(e2) - (1 - d2) * mp.exp(e1) + d2) / (mp.exp(e2) - mp.exp(e1))
            _, envelope = truth.weights([first, second])  # by the slopes of the envelope, larger epsilon first
            apart.append(float(abs(envelope[1] / true - 1)))
        try:
            lost.append(float(abs(printed.alpha(first, second) / true - 1)))
            unsafe += printed.alpha(first, second) > true
        except ZeroDivisionError:
            lost.append(math.inf)
        _, (second_weight, first_weight) = weights(first, second)
        kept.append(float(max(abs(second_weight / true - 1), abs(first_weight / (1 - true) - 1))))
        rows.append([f"{size:g}", number(true, 10), power(lost[-1]) if lost[-1] < 1e300 else "none", power(kept[-1])])
    _, mass = truth.weights(PRINTED_POINTS)

    def draw(axes: Any) -> None:
        shown = [(size, value) for size, value in zip(sizes, lost, strict=True) if 0 < value < math.inf]
        axes.loglog(*zip(*shown, strict=True), "o-", color=COLOURS["bad"], label="formula in doubles")
        axes.loglog(sizes, [max(v, 1e-17) for v in kept], "s-", color=COLOURS["accent"], label="without subtraction")
        axes.set(xlabel="epsilon_1", ylabel="relative error of the weights", ylim=(5e-18, 3))
        axes.legend(loc="upper right")

    return {
        ALPHA.key: Finding(
            f"For Figure 2 alpha is {number(mass[1], 12)}. With epsilon_2 half of epsilon_1 the formula in doubles has "
            f"the relative error {power(lost[3])} at {sizes[3]:g}, {power(lost[8])} at {sizes[8]:g} and "
            f"{power(lost[-1])} at {sizes[-1]:g}; the form without subtraction stays below {power(max(kept))}.",
            "The formula is right. In doubles numerator and denominator are differences of numbers near 1, and "
            f"their digits are lost as epsilon shrinks. In {unsafe} of {len(sizes)} cases alpha comes out too large, "
            "which is the unsafe side: the larger epsilon then has too little weight.",
            [
                Check("with many digits the printed formula is the weight of the envelope", max(apart) < 1e-40,
                      ours=power(max(apart)), disproves=True),
                Check("the form without subtraction is it in doubles", max(kept) < 1e-14, ours=power(max(kept))),
            ],
            [
                plot(ALPHA.key, "Relative error of the weight alpha against epsilon",
                     "delta_1 = 0, delta_2 a tenth and epsilon_2 a half of epsilon_1.", draw),
                Grid([("epsilon_1", "number"), ("alpha", "number"), ("relative error, formula in doubles", "number"),
                      ("without subtraction", "number")], rows[::3]),
            ],
        )
    }  # fmt: skip


STUDIES = (
    Study((CEILING,), ceiling, (1.3, 1.3)),
    Study((STARTS,), starts, (3.1, 0.6)),
    Study((OVERFLOW,), overflow, (0.1, 0.1)),
    Study((ALPHA,), alpha, (0.4, 0.4)),
)
