"""Conjecture 1: any number of constraints, by brute force in exact rationals."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction

from tests.compose.naive import hockey_stick
from tests.curves.exact import ExactProfile

from examples.gallery.constraints import rationals
from examples.gallery.constraints.showing import number
from examples.gallery.item import Check, Effort, Finding, Item, Study
from quiltwork.document.blocks import Grid

HOLDS = Item(
    "constraints-conjecture-1",
    "Conjecture 1",
    "For n active constraints the region of k releases is a mixture of heterogeneous compositions with multinomial "
    "weights, for some functions alpha_i and delta~ of the constraints.",
)
COUNTS = Item(
    "constraints-conjecture-1-counts",
    "Section V, before Conjecture 1",
    "The heterogeneous compositions C_j are defined for counts j_i of at least 1; the sum of the conjecture runs over "
    "counts from 0 to k.",
    "Conjecture 1: classes that were not drawn",
)
PAIR = Item(
    "constraints-theorem-2-pair",
    "Proof of Theorem 2",
    "The mixture of two randomized responses with weights 1 - alpha and alpha has exactly the region of both "
    "constraints together.",
)
LARGEST = {1: 4, 2: 4, 3: 3}  # constraints for k releases, so that all outputs can be written out


def envelope(rng: random.Random, n: int) -> list[rationals.Point]:
    """n active constraints: random points whose envelope has that many corners."""
    while True:
        points = [(1 + Fraction(rng.randint(0, 60), 20), Fraction(rng.randint(0, 60), 100)) for _ in range(2 * n)]
        chain = ExactProfile(points, symmetric=True).chain[1:]
        if len(chain) == n and chain[0][0] >= 1:
            return chain[::-1]


def holds(effort: Effort) -> dict[str, Finding]:
    """The formula against all outputs; then random adaptive mechanisms against the region of the formula."""
    rng = random.Random(f"{effort.seed} conjecture 1")
    rows, worst, loose, total, slopes = [], Fraction(0), Fraction(0), 0, 0
    for k, most in LARGEST.items():
        for n in range(1, most + 1):
            gap, cases, asked = Fraction(0), effort.pick(75, 5), 0
            for _ in range(cases):
                points = envelope(rng, n)
                single = rationals.composed(rationals.tight_pair(points), 1)
                both = ExactProfile(points, symmetric=True)
                loose = max(loose, *(abs(both.delta(t) - hockey_stick(single, t)) for t in rationals.knots(single)))
                outputs = rationals.composed(rationals.tight_pair(points), k)
                at = rationals.knots(outputs)
                gap = max(gap, *_apart(rationals.conjecture_1(points, k, at), [hockey_stick(outputs, t) for t in at]))
                asked += len(at)
            rows.append([str(n), str(k), str(cases), str(asked), str(gap)])
            worst, total, slopes = max(worst, gap), total + cases, slopes + asked
    broken, checks, closest, tries = 0, 0, Fraction(0), effort.pick(600, 30)
    for _ in range(tries):
        first = rationals.mechanism(rng)
        after = [rationals.mechanism(rng) for _ in first[0]]
        places = [1 + Fraction(rng.randint(0, 40), 20) for _ in range(rng.randint(1, 4))]
        points = rationals.promised([first, *after], places)
        outputs = rationals.composed(rationals.tight_pair(points), 2)
        at, attack = rationals.knots(outputs), rationals.adaptive(first, after)
        for t, side in itertools.product(at, (attack, [(q, p) for p, q in attack])):
            allowed, found = hockey_stick(outputs, t), hockey_stick(side, t)
            broken, checks = broken + (found > allowed), checks + 1
            closest = max(closest, found / allowed) if allowed else closest
    return {
        HOLDS.key: Finding(
            f"{total} random sets of up to {max(LARGEST.values())} constraints, {slopes:,} slopes: the largest gap "
            f"between the formula and the sum over all outputs is {worst}. {tries} random adaptive pairs of mechanisms "
            f"that meet their constraints: {broken} of {checks:,} deltas exceed the region, the closest "
            f"reaches {float(closest):.1%} of what it allows.",
            "The conjecture is true. With s = e^epsilon the weights are w_0 = delta_1, the reveal, and w_j = (1 + s_j) "
            "times the jump of slope at s_j of the lower convex envelope of the points (s, delta) and (-1, 1); then "
            "alpha_j = w_j / (1 - delta_1) and delta~ = 1 - (1 - delta_1)^k. The proof is in the documentation, under "
            "several guarantees at once.",
            [
                Check("the worst pair has the region of all its constraints", loose == 0, ours=f"{loose}"),
                Check("the formula is the composition of the worst pair", worst == 0, ours=f"{worst}", disproves=True),
                Check("no adaptive mechanism leaves the region", broken == 0, ours=f"{broken}", disproves=True),
            ],
            [Grid([("constraints n", "number"), ("releases k", "number"), ("cases", "number"), ("slopes", "number"),
                   ("largest gap", "number")], rows, "Exact rationals; every likelihood ratio from 1 up is a slope.")],
        )
    }  # fmt: skip


def _apart(one: list[Fraction], two: list[Fraction]) -> list[Fraction]:
    return [abs(a - b) for a, b in zip(one, two, strict=True)]


def counts(effort: Effort) -> dict[str, Finding]:
    """The total weight of the mixture, with and without classes that no release drew."""
    weights = (Fraction(1, 4), Fraction(3, 4))
    rows, totals = [], {}
    for k in (1, 2, 3, 5, 10, 20):
        found = []
        for least in (1, 0):
            drawn = [j for j in rationals.splits(k, 2) if min(j) >= least]
            found.append(sum(math.comb(k, j[0]) * weights[0] ** j[0] * weights[1] ** j[1] for j in drawn))
        totals[k] = found
        rows.append([str(k), *(number(total) for total in found)])
    return {
        COUNTS.key: Finding(
            f"For weights {weights[0]} and {weights[1]} and k = 3 the terms with all counts at least 1 have total "
            f"weight {number(totals[3][0])}; with k = 1 there are none.",
            "A misprint of one sign, N* for N: a class that no release drew has count 0. The sum in the conjecture "
            "itself is right; the definition of C_j before it leaves a part of its terms without a meaning. The "
            "smallest epsilon may also be 0.",
            [
                Check("the terms for which C_j is defined carry the whole weight",
                      all(t[0] == 1 for t in totals.values()), "counts of at least 1", number(totals[3][0]),
                      disproves=True),
                Check("with counts of at least 0 they do", all(t[1] == 1 for t in totals.values())),
            ],
            [Grid([("k", "number"), ("total weight, counts from 1", "number"), ("counts from 0", "number")], rows)],
        )
    }  # fmt: skip


def pair(effort: Effort) -> dict[str, Finding]:
    """The printed alpha against the envelope weights, and both constraints against the mixture, exactly."""
    rng = random.Random(f"{effort.seed} pair")
    cases, gap, weights, loose = effort.pick(600, 150), Fraction(0), Fraction(0), 0
    for _ in range(cases):
        first, second = rationals.two_constraints(rng)
        outcomes = list(zip(*rationals.tight_pair([first, second]), strict=True))
        both = ExactProfile([first, second], symmetric=True)
        at = rationals.knots(outcomes)
        gap = max(gap, *(abs(both.delta(t) - hockey_stick(outcomes, t)) for t in at))
        loose += any(hockey_stick(outcomes, s) != delta for s, delta in (first, second))
        _, classes = rationals.responses([first, second])
        expected = (1 - first[1]) * rationals.alpha(first, second)
        weights = max(weights, abs(classes[0][1] - expected))
    return {
        PAIR.key: Finding(
            f"{cases} random pairs in exact rationals: the mixture meets both constraints with equality in all but "
            f"{loose} cases, its profile differs from that of both constraints by at most {gap}, and the printed alpha "
            f"from the slope of the envelope by at most {weights}.",
            "The pair attains the region, so that nothing smaller can be promised; that nothing larger is needed is "
            "Blackwell's theorem.",
            [
                Check("the mixture has the region of both constraints", gap == 0, ours=f"{gap}", disproves=True),
                Check("it meets both with equality", loose == 0, ours=f"{loose}", disproves=True),
                Check("alpha is the weight of the second class", weights == 0, ours=f"{weights}", disproves=True),
            ],
        )
    }


STUDIES = (
    Study((HOLDS,), holds, (13.0, 1.0)),
    Study((COUNTS,), counts, (0.1, 0.1)),
    Study((PAIR,), pair, (0.3, 0.1)),
)
