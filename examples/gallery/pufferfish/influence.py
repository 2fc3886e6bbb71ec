"""Section 6.3, Markov chains: Figure 2a and Theorem 8, against every subset in exact rationals."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from tests.errata import printed_pufferfish as printed

from examples.gallery.item import Check, Effort, Finding, Item, Study, alone
from examples.pufferfish_figures import binary
from quiltwork.document.blocks import Grid
from quiltwork.document.draw.style import COLOURS
from quiltwork.document.draw.svg import picture
from quiltwork.pufferfish import JointLaw, entry_values

LARGEST = 12
ALIKE = (0.4, 0.3, 0.2, 0.1)  # p = q of the lines drawn
BESIDE, ABOVE = (0.5, 0.4, 0.2), 0.9  # p of the families in which q falls: up to one half, and above
FALLING = (0.5, 0.4, 0.3, 0.2, 0.1, 0.05, 0.01)
SKEWED = (0.4, 0.02)
LENGTH, REACH = 7, 3  # up to b = 3 the ends of seven entries do not matter
SHADES = ("muted", "good", "warm", "accent", "bad")


def every_subset(p: float, q: float, largest: int) -> np.ndarray:
    """Definition 7 for the middle of seven entries: all sets and all values."""
    stay = Fraction(str(p)), Fraction(str(q))
    step = ((stay[0], 1 - stay[0]), (1 - stay[1], stay[1]))

    def weight(data: tuple[int, ...]) -> Fraction:
        return (1 - stay[1 - data[0]]) * math.prod(step[a][b] for a, b in itertools.pairwise(data))

    law = JointLaw.of(weight, [(0, 1)] * LENGTH)
    values: np.ndarray = law.influence(largest, entry_values([LENGTH // 2])).values
    return values


def chains_measured(effort: Effort) -> Mapping[str, Finding]:
    """Curves for p = q, and for falling q."""
    curves = {p: binary(p, p).influence(LARGEST).values for p in (0.5, *ALIKE)}
    claimed = {p: [printed.theorem_8(p, p, b, absolute=True) for b in range(1, LARGEST + 1)] for p in ALIKE}
    spread = all(np.all(curves[far] > curves[near]) for near, far in itertools.pairwise((0.5, *ALIKE)))
    families = [[binary(p, q).influence(LARGEST).values for q in FALLING] for p in BESIDE]
    above = [binary(ABOVE, q).influence(LARGEST).values for q in FALLING]
    rising, beyond = (
        all(np.all(far >= near - 1e-12) for family in asked for near, far in itertools.pairwise(family))
        for asked in (families, [above])
    )
    told = ", ".join(f"{curve[0]:z.4f} for q = {q:g}" for q, curve in zip(FALLING, above, strict=True))
    exact = max(
        float(np.max(np.abs(every_subset(p, p, REACH) - curves[p][:REACH]))) for p in effort.pick(ALIKE, ALIKE[-1:])
    )
    last = {p: int(np.argmax(curves[p] < 0.1)) + 1 for p in ALIKE if np.any(curves[p] < 0.1)}
    p, q = SKEWED
    low, high = (binary(*pair).influence(LARGEST).values for pair in (SKEWED, (1 - p, 1 - q)))
    mirrored = max(float(np.max(np.abs(curves[p] - binary(1 - p, 1 - p).influence(LARGEST).values))) for p in ALIKE)
    formula = [printed.theorem_8(*pair, 3, absolute=True) for pair in (SKEWED, (1 - p, 1 - q))]
    return {
        "pufferfish-figure-2a": Finding(
            "For p = q a(1) is "
            + ", ".join(f"{curves[p][0]:.4f} for {p:g}" for p in ALIKE)
            + f". The curve falls below a tenth of a nat at b = {last[ALIKE[0]]} for p = q = {ALIKE[0]:g}. For p = "
            f"{ABOVE:g} it is {told}.",
            f"All curves are exact: brute force over all subsets of {LENGTH} entries differs by at most {exact:.1e}. "
            "What counts is p + q - 1: for p above one half a falling q first weakens the correlation, to none at q = "
            "1 - p. Which lines the figure draws is not printed as numbers, so only what is said of it is compared.",
            [
                Check("for p = q, nearer to one half means closer to the origin, at every b", spread),
                Check(f"a falling q alone moves the curve out, for p = {', '.join(f'{p:g}' for p in BESIDE)}", rising),
                Check(
                    f"a falling q alone moves the curve out, for p = {ABOVE:g}",
                    beyond,
                    ours=f"a(1) from {above[0][0]:.4f} down to {min(curve[0] for curve in above):z.4f}",
                ),
                Check(f"up to b = {REACH} they are those of all subsets", exact < 1e-9, ours=f"{exact:.1e} apart"),
                Check("every curve decays", all(np.all(np.diff(curve) <= 1e-12) for curve in curves.values())),
                Check(
                    "for p = q the printed formula of the appendix is exact",
                    all(np.allclose(claimed[p], curves[p], rtol=1e-9, atol=1e-12) for p in ALIKE),
                ),
            ],
            [
                picture(
                    "pufferfish-figure-2a",
                    "Influence curves of binary chains with p = q",
                    "Exact influence of an entry on all but the b nearest, itself among them.",
                    partial(_draw_curves, curves),
                )
            ],
        ),
        "pufferfish-figure-2a-symmetry": Finding(
            f"For p = q, {ALIKE[0]:g} to {ALIKE[-1]:g}, curves of (p, q) and (1 - p, 1 - q) differ by at most "
            f"{mirrored:.1e}. For p = {p:g}, q = {q:g} they are {low[2]:.4f} and {high[2]:.4f} at b = 3.",
            "Exchanging the values of every other entry turns p = q into 1 - p = 1 - q. For different p and q it "
            "gives a chain that is not homogeneous. The printed formula says so too: "
            f"{formula[0]:.4f} and {formula[1]:.4f}. That curves spread out towards 1 as well is true.",
            [
                Check("curves of (p, q) and (1 - p, 1 - q) are alike for p = q", mirrored < 1e-9),
                Check(
                    "and for different p and q",
                    bool(np.allclose(low, high, rtol=1e-6)),
                    printed="alike",
                    ours=f"{low[2]:.4f} and {high[2]:.4f}",
                ),
            ],
            [_symmetry_picture(low, high)],
        ),
    }


def _draw_curves(curves: Mapping[float, np.ndarray], axes: Any) -> None:
    for (p, curve), shade in zip(curves.items(), SHADES, strict=True):
        axes.plot(range(1, LARGEST + 1), curve, color=COLOURS[shade], marker=".", label=f"{p:g}")
    axes.set(xlabel="size b", ylabel="influence a(b), nats", xticks=range(2, LARGEST + 1, 2))
    axes.legend(title="p = q")


def _symmetry_picture(low: np.ndarray, high: np.ndarray) -> Any:
    p, q = SKEWED

    def draw(axes: Any) -> None:
        axes.plot(range(1, LARGEST + 1), low, color=COLOURS["accent"], marker=".", label=f"{p:g}, {q:g}")
        axes.plot(range(1, LARGEST + 1), high, color=COLOURS["bad"], marker=".", label=f"{1 - p:g}, {1 - q:g}")
        axes.set(xlabel="size b", ylabel="influence a(b), nats", xticks=range(2, LARGEST + 1, 2), ylim=(0, None))
        axes.legend(title="p, q")

    return picture(
        "pufferfish-figure-2a-symmetry",
        "Influence curves of two chains that symmetry would make equal",
        "Both exact. They agree at b = 1 only.",
        draw,
    )


def text_measured(effort: Effort) -> Mapping[str, Finding]:
    """Theorem 8 without absolute values."""
    p = 0.3
    claimed, truth = printed.theorem_8(p, p, 1, absolute=False), float(every_subset(p, p, 1)[0])
    ours = float(binary(p, p).influence(1)(1))
    sizes = range(1, LARGEST + 1)
    negative = sum(printed.theorem_8(p, p, size, absolute=False) < 0 for size in sizes)
    return {
        "pufferfish-theorem-8-text": Finding(
            f"p = q = {p:g}, b = 1: the printed formula gives {claimed:.4f}, the truth is {truth:.4f}. It is negative "
            f"for {negative} of {LARGEST} sizes.",
            "With p + q below 1, powers of lambda change sign with the distance, and with them the logarithms. No "
            "influence is negative: it is a maximum over values of a log-ratio of two laws.",
            [
                Check(
                    "the formula of the text is the influence",
                    abs(claimed - truth) < 1e-9,
                    printed=f"{claimed:.4f}",
                    ours=f"{truth:.4f}",
                    disproves=True,
                ),
                Check("the corrected formula is", abs(ours - truth) < 1e-9, ours=f"{ours:.4f}"),
            ],
        )
    }


def appendix_measured(effort: Effort) -> Mapping[str, Finding]:
    """Theorem 8 with absolute values: exact for positive correlation, not tight for negative."""
    places = np.arange(0.05, 1.0, effort.pick(0.1, 0.15))
    exact = below = loose = negative = 0
    for p, q in itertools.product(places, repeat=2):
        curve = binary(p, q).influence(8).values
        claimed = np.minimum.accumulate([printed.theorem_8(p, q, size, absolute=True) for size in range(1, 9)])
        below += bool(np.any(claimed < curve * (1 - 1e-9) - 1e-12))
        if p + q >= 1:
            exact += bool(np.allclose(claimed, curve, rtol=1e-9, atol=1e-12))
        else:
            negative += 1
            loose += bool(np.any(claimed > curve + 1e-9))
    truth = every_subset(*SKEWED, REACH)
    printed_curve = [printed.theorem_8(*SKEWED, size, absolute=True) for size in range(1, LARGEST + 1)]
    curve = binary(*SKEWED).influence(LARGEST).values
    positive = places.size**2 - negative
    rows = [
        (size, f"{printed_curve[size - 1]:.4f}", f"{curve[size - 1]:.4f}", f"{truth[size - 1]:.4f}")
        for size in range(1, len(truth) + 1)
    ]
    return {
        "pufferfish-theorem-8-appendix": Finding(
            f"p = {SKEWED[0]:g}, q = {SKEWED[1]:g}: printed {printed_curve[2]:.4f} at b = 3, exact {truth[2]:.4f}. On "
            f"a grid it is exact for {exact} of {positive} chains with p + q >= 1 and too large for {loose} of "
            f"{negative} others.",
            "For one order of the secrets what is told alternates with the distance, so that an uneven split is better "
            "than the printed one; and at an odd and an even distance the largest absolute values belong to different "
            "orders of the secrets. It is a valid upper bound everywhere on the grid.",
            [
                Check(
                    "the formula of the appendix is tight",
                    abs(printed_curve[2] - truth[2]) < 1e-9,
                    printed=f"{printed_curve[2]:.4f}",
                    ours=f"{truth[2]:.4f}",
                    disproves=True,
                ),
                Check("it is exact for positive correlation", exact == positive),
                Check("it is never too small", below == 0),
                Check("the corrected formula is exact", bool(np.allclose(curve[: len(truth)], truth, rtol=1e-9))),
            ],
            [
                Grid(
                    [("b", "number"), ("printed", "number"), ("corrected", "number"), ("every subset", "number")],
                    rows,
                    f"a(b) for p = {SKEWED[0]:g}, q = {SKEWED[1]:g}",
                ),
                picture(
                    "pufferfish-theorem-8-appendix",
                    "The printed curve and the exact one for a chain with negative correlation",
                    "The printed curve is above the exact one from b = 2 on.",
                    partial(_draw_printed, printed_curve, curve),
                ),
            ],
        )
    }


def _draw_printed(claimed: Sequence[float], curve: np.ndarray, axes: Any) -> None:
    sizes = range(1, LARGEST + 1)
    axes.plot(sizes, claimed, color=COLOURS["bad"], linestyle="--", marker=".", label="printed, appendix")
    axes.plot(sizes, curve, color=COLOURS["accent"], marker=".", label="exact")
    axes.set(xlabel="size b", ylabel="influence a(b), nats", xticks=range(2, LARGEST + 1, 2))
    axes.legend()


STUDIES = (
    Study(
        (
            Item(
                "pufferfish-figure-2a",
                "Figure 2a",
                "When p and q are close to 1/2 the curve lies closer to the origin and quickly decays; as p or q "
                "decreases towards 0 the correlation is stronger and the curve spreads out over b.",
            ),
            Item(
                "pufferfish-figure-2a-symmetry",
                "Section 6.3, on Figure 2a",
                'Curves for p or q that increase towards 1 are omitted "due to symmetry".',
                "Smaller things",
            ),
        ),
        chains_measured,
        (0.5, 0.5),
    ),
    alone(
        "pufferfish-theorem-8-text",
        "Theorem 8, in the text",
        "a*(b) is the sum of two logarithms, without absolute values, in powers of lambda = p + q - 1.",
        text_measured,
        errata="Theorem 8, in the text: a negative influence",
    ),
    alone(
        "pufferfish-theorem-8-appendix",
        "Theorem 8, in the appendix",
        "With absolute values the curve is optimum (tight), both sides split evenly.",
        appendix_measured,
        errata="Theorem 8, in the appendix: not tight for negative correlation",
        seconds=(0.5, 0.5),
    ),
)
