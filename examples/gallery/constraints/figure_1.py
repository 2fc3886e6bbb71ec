"""Figure 1 and what stands behind it: Lemma 1 and Corollary 1."""

from __future__ import annotations

import itertools
import random
from fractions import Fraction

import numpy as np
from tests.compose.naive import trade_off
from tests.curves.exact import ExactTradeOff

import quiltwork as qw
from examples.gallery.constraints import rationals
from examples.gallery.constraints.showing import dashed, dotted, exact, number, regions
from examples.gallery.item import Check, Effort, Finding, Item, Study
from quiltwork.document.blocks import Grid

FIRST, SECOND, SHARE = (1.3, 0.0), (0.5, 0.2), 0.5

FIGURE = Item(
    "constraints-figure-1",
    "Figure 1",
    "The trade-off functions of (1.3, 0) and (0.5, 0.2) and their mixture with weights 0.5. The mixture region does "
    "not necessarily include the union of the original regions, and is not necessarily included in it.",
)
LEMMA = Item(
    "constraints-lemma-1",
    "Lemma 1 and Corollary 1",
    "The trade-off function of an observed-class mixture is the least weighted sum of the single ones, over all ways "
    "to split the type I error; its region is the weighted sum of the single regions.",
)


def figure(effort: Effort) -> dict[str, Finding]:
    """The two regions, their mixture, and a certified witness for each half of the claim."""
    one, two = (qw.approximate(*point) for point in (FIRST, SECOND))
    both = qw.mixture([(SHARE, one), (1 - SHARE, two)])
    alphas = np.linspace(0.0, 1.0, 2001)
    first, second, mixed = (loss.region().beta(alphas) for loss in (one, two, both))
    low, high = np.minimum(first.lower, second.lower), np.minimum(first.upper, second.upper)
    left_out, added = np.asarray(mixed.lower - high), np.asarray(low - mixed.upper)
    i, j = int(np.argmax(left_out)), int(np.argmax(added))
    certified = sum(map(bool, (left_out[i] > 0, added[j] > 0)))
    rows = [
        [word, number(alphas[n], 4), *(number(curve.lower[n]) for curve in (first, second, mixed))]
        for word, n in (("in the union, not in the mixture", i), ("in the mixture, not in the union", j))
    ]
    columns = ["a point of the boundary", ("type I error", "number")]
    columns += [(f"misses, ({e:g}, {d:g})", "number") for e, d in (FIRST, SECOND)] + [("misses, mixture", "number")]
    areas = [loss.region().area() for loss in (one, two, both)]
    return {
        FIGURE.key: Finding(
            f"Areas: {number(areas[0])} and {number(areas[1])}, and {number(areas[2])} for the mixture. At type I "
            f"error {number(alphas[i], 4)} the union reaches {number(left_out[i], 3)} below the mixture; at "
            f"{number(alphas[j], 4)} the mixture reaches {number(added[j], 3)} below the union.",
            f"{certified} of 2 witnesses are certified: the lower end of one curve lies above the upper end of the "
            "other. One such pair of errors shows what is not so necessarily.",
            [
                Check("a pair of errors of the union lies outside the mixture", left_out[i] > 0,
                      ours=number(left_out[i], 3)),
                Check("a pair of errors of the mixture lies outside the union", added[j] > 0, ours=number(added[j], 3)),
            ],
            [
                regions(
                    FIGURE.key,
                    "Figure 1: two privacy regions and their mixture",
                    "Lower boundaries of the regions. A visible coin decides which of the two mechanisms runs.",
                    [
                        dashed(f"epsilon {FIRST[0]:g}, delta {FIRST[1]:g}", one.region().vertices),
                        dotted(f"epsilon {SECOND[0]:g}, delta {SECOND[1]:g}", two.region().vertices),
                        exact("mixture, half and half", both.region().vertices),
                    ],
                ),
                Grid(columns, rows),
            ],
        )
    }  # fmt: skip


def corners(pair: rationals.Pair) -> list[tuple[Fraction, Fraction]]:
    """The vertices of a trade-off function: tests that reject at the largest likelihood ratios."""
    places = set(itertools.accumulate(_rejected(pair), initial=Fraction(0)))
    outcomes = list(zip(*pair, strict=True))
    return sorted((place, trade_off(outcomes, place)) for place in {*places, Fraction(1)})


def _rejected(pair: rationals.Pair) -> list[Fraction]:
    return [q for p, q in sorted(zip(*pair, strict=True), key=lambda one: -(one[0] / one[1]))]


def least_sum(weights: list[Fraction], curves: list[list[tuple[Fraction, Fraction]]], t: Fraction) -> Fraction:
    """Equation (6) by trying: at the minimum all but one of the t_i are corners of their curve."""
    functions = [ExactTradeOff(curve) for curve in curves]
    best = Fraction(1)
    for free in range(len(curves)):
        others = [i for i in range(len(curves)) if i != free]
        for chosen in itertools.product(*(curves[i] for i in others)):
            rest = (t - sum(weights[i] * place for i, (place, _) in zip(others, chosen, strict=True))) / weights[free]
            if 0 <= rest <= 1:
                spent = sum(weights[i] * height for i, (_, height) in zip(others, chosen, strict=True))
                best = min(best, spent + weights[free] * functions[free].beta(rest))
    return best


def lemma(effort: Effort) -> dict[str, Finding]:
    """Random mixtures in exact rationals: Neyman and Pearson on the joint law against the printed minimum."""
    rng = random.Random(f"{effort.seed} lemma")
    cases, asked, gap, outside = effort.pick(400, 25), 0, Fraction(0), 0
    for _ in range(cases):
        count = rng.choice((2, 2, 3))
        pairs, weights = [rationals.mechanism(rng) for _ in range(count)], rationals.law(rng, count)
        curves = [corners(pair) for pair in pairs]
        joint = [(w * p, w * q) for w, pair in zip(weights, pairs, strict=True) for p, q in zip(*pair, strict=True)]
        for t in [Fraction(rng.randint(0, 64), 64) for _ in range(8)]:
            asked += 1
            gap = max(gap, abs(trade_off(joint, t) - least_sum(weights, curves, t)))
        # Corollary 1: a weighted sum of points of the single regions is a point of the mixture
        points = [rng.choice(curve) for curve in curves]
        place, height = (sum(w * point[i] for w, point in zip(weights, points, strict=True)) for i in (0, 1))
        outside += trade_off(joint, place) > height
    return {
        LEMMA.key: Finding(
            f"{cases} random mixtures of two or three tests, {asked} type I errors in exact rationals: the largest "
            f"difference is {gap}. {outside} of {cases} weighted sums of corners fall outside the mixture.",
            "The left side is the best test on the joint law of class and output, the right side the printed minimum.",
            [
                Check("equation (6) holds", gap == 0, ours=f"largest difference {gap}", disproves=True),
                Check("no weighted sum leaves the region", outside == 0, ours=f"{outside}", disproves=True),
            ],
        )
    }


STUDIES = (Study((FIGURE,), figure, (0.2, 0.1)), Study((LEMMA,), lemma, (1.8, 0.1)))
