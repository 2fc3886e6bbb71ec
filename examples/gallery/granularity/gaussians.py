"""Section VI: Gaussian privacy and Rényi divergences."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from tests.errata import printed_granularity as printed

import quiltwork as qw
from examples.gallery.granularity.classes import EXACT, TABLES, UNBOUNDED, changed, near, shown, split
from examples.gallery.item import Check, Effort, Finding, Item, Study, alone
from quiltwork.checks import FloatArray
from quiltwork.document.blocks import Grid
from quiltwork.document.draw.style import COLOURS
from quiltwork.document.draw.svg import picture
from quiltwork.tables.papers.small_channels import (
    gaussian_mu,
    joint,
    max_divergence,
    randomized_response,
    renyi_divergence,
)

# ---- Theorem VI.23 and the weak triangle


def pure_as_gaussian(effort: Effort) -> dict[str, Finding]:
    """Randomized response needs more than mu = epsilon."""

    def pair(epsilon: float) -> tuple[FloatArray, FloatArray]:
        return randomized_response(0, epsilon), randomized_response(1, epsilon)

    needed = {epsilon: gaussian_mu(*pair(epsilon)) for epsilon in (0.1, 0.5, 1.0, 2.0, 4.0, 8.0)}
    zero, one = pair(1.0)
    twice = gaussian_mu(joint([zero, zero]), joint([one, one]))
    claim = {epsilon: printed.theorem_vi23([epsilon]) for epsilon in needed}
    pairs, tightest = _response_pairs(effort)
    above = [epsilon for epsilon in needed if needed[epsilon] > claim[epsilon]]
    checks = [
        Check("a 1-DP mechanism is 1-Gaussian private", needed[1.0] <= claim[1.0], "1", shown(needed[1.0]), True),
        Check("two of them need no more than the root of the sum of squares of the needed mu",
              twice <= printed.theorem_vi23([needed[1.0]] * 2) + EXACT, "", shown(twice)),
        Check("no random pair of laws needs more than randomized response", tightest <= 1 + 1e-9),
    ]  # fmt: skip
    found = Finding(
        f"Randomized response with epsilon 1 needs mu = {needed[1.0]:.7f}; two of them need {twice:.6f}, printed "
        f"{printed.theorem_vi23([1.0, 1.0]):.6f}. Over {pairs} random pairs of laws, the "
        f"largest ratio of their mu to that of randomized response with the same epsilon is {tightest:.4f}.",
        "A misprint: the theorem says d_i-DP where d_i-Gaussian privacy is meant. Pure epsilon becomes mu = -2 z(1 "
        f"/ (1 + e^epsilon)), z the normal quantile, which is above epsilon for {', '.join(map(shown, above))} of "
        "those tried.",
        checks,
        [
            picture(
                "granularity-vi-23",
                "Theorem VI.23: the Gaussian mu that a pure epsilon needs",
                "In red the printed reading, mu = epsilon. In blue what randomized response needs, and no pure "
                "mechanism more.",
                _needed_mu,
            ),
            Grid([("epsilon", "number"), ("printed mu", "number"), ("needed mu", "number")],
                 [[shown(e), shown(claim[e]), f"{needed[e]:.6f}"] for e in needed]),
        ],
    )  # fmt: skip
    return {"granularity-theorem-vi-23": found}


def _needed_mu(axes: Any) -> None:
    epsilons = np.linspace(0.01, 8.0, 120)
    mus = [gaussian_mu(randomized_response(0, e), randomized_response(1, e)) for e in epsilons]
    axes.plot(epsilons, epsilons, color=COLOURS["bad"], linewidth=1.6, label="printed")
    axes.plot(epsilons, mus, color=COLOURS["accent"], linewidth=2.0, label="needed")
    axes.set(xlabel="epsilon", ylabel="mu", xlim=(0, 8), ylim=(0, None))
    axes.legend(loc="upper left")


def _response_pairs(effort: Effort) -> tuple[int, float]:
    """Random pairs of laws on three outputs: their mu over what their own epsilon allows."""
    rng = np.random.default_rng([effort.seed, 23])
    count, tightest = effort.pick(2000, 300), 0.0
    for _ in range(count):
        p, q = rng.dirichlet(np.ones(3), 2)
        epsilon = max(max_divergence(p, q), max_divergence(q, p))
        allowed = gaussian_mu(randomized_response(0, epsilon), randomized_response(1, epsilon))
        tightest = max(tightest, gaussian_mu(p, q) / allowed)
    return count, tightest


def weak_triangle(effort: Effort) -> dict[str, Finding]:
    """The weak triangle inequality at the ends of its range, and inside."""
    p, q, r = [0.5, 0.5], [0.25, 0.75], [0.2, 0.8]
    undefined = []
    for alpha, k in ((1, 2), (2, 1), (1, 1)):
        try:
            printed.weak_triangle(p, q, r, alpha, k)
        except ZeroDivisionError:
            undefined.append(f"alpha = {alpha}, k = {k}")
    rng = np.random.default_rng([effort.seed, 6])
    count, tightest = effort.pick(2000, 300), 0.0
    for _ in range(count):
        laws = rng.dirichlet(np.ones(3), 3)
        alpha, k = 1 + rng.exponential(2.0), 1 + rng.exponential(1.0)
        bound = printed.weak_triangle(*laws, alpha, k, renyi_divergence)
        tightest = max(tightest, renyi_divergence(laws[0], laws[2], alpha) / bound)
    checks = [
        Check("the inequality can be computed for all alpha, k >= 1", not undefined),
        Check("it holds for alpha, k > 1", tightest <= 1 + 1e-9, "", f"ratio {tightest:.4f}"),
    ]
    found = Finding(
        f"Zero divisors at {'; '.join(undefined) or 'none of the ends'}. Inside, the largest ratio of the two sides "
        f"over {count} random triples is {tightest:.4f}.",
        "A slip at the ends of a range: the order (k alpha - 1) / (k - 1) needs k > 1, and the divergence alpha > "
        "1. Inside the inequality holds, and so do its limits.",
        checks,
    )
    return {"granularity-section-vi-b-weak-triangle": found}


# ---- Example VI.25


def two_parts(effort: Effort) -> dict[str, Finding]:
    """Two records in two parts, one Gaussian release each."""
    left, right = printed.theorem_vi24((1.0, 1.0), (1, 1))
    both, single, linear = qw.gdp(1.0) + qw.gdp(1.0), qw.gdp(math.sqrt(2)), qw.gdp(2.0)
    epsilons = np.linspace(0.0, 4.0, 41)
    together = both.delta(epsilons, rtol=1e-6, method="characteristic function")  # that of a sum, without its mu
    alone_, bound = (loss.delta(epsilons, method="closed form") for loss in (single, linear))
    widest = float(np.max(together.upper - together.lower))
    same = bool(np.all(together.lower <= alone_.upper) and np.all(alone_.lower <= together.upper))
    below = bool(np.all(together.upper < bound.lower))
    example = Finding(
        f"The two parts give mu = {left:.7f}, the maximum times the distance {shown(right)}. Two releases of mu = 1, "
        f"by the characteristic function of their sum, have the curve of one of mu = {left:.4f} by its closed form, up "
        f"to brackets of {widest:.0e}; it is below that of mu = {shown(right)} at {len(epsilons)} epsilons up to "
        f"{epsilons[-1]:.0f}.",
        "Squares of mu add up, and two parts at distance one each are nearer than one part at distance two.",
        [
            Check("mu is the root of two", near(left, math.sqrt(2)), "√2", f"{left:.7f}"),
            Check("certified, on two roads: two releases of mu = 1 are one of that mu", same, "", f"{widest:.0e} wide"),
            Check("certified: its delta is less than that of mu = 2", below),
        ],
        [
            picture(
                "granularity-vi-25",
                "Example VI.25: delta of two parts at distance one each, and of the general bound",
                "In blue the certified curve of both releases together, in red the curve of the maximum times the "
                "distance.",
                lambda axes: _profiles(axes, epsilons, together, bound),
            )
        ],
    )
    cut = [split(table, "ab") for table in TABLES]
    most = max(changed(cut[i], cut[j]) for i, j in UNBOUNDED.neighbours)
    unequal, larger = printed.theorem_vi24((1.0, 2.0), (1, 0)), printed.theorem_vi24((1.0, 2.0), (0, 1))
    neighbours = printed.theorem_vi24((1.0, 1.0), (1, 0))
    sentence = Finding(
        f"The partition of Example VI.25 changes {most} part for neighbours, so it is compatible; two records in two "
        f"parts have {left:.4f} and {shown(right)}. With mu = (1, 2) and only the first part changed the sides are "
        f"{shown(unequal[0])} and {shown(unequal[1])}.",
        "Compatibility speaks of neighbours, and for them there is equality when the changed part has the largest mu. "
        "Further apart several parts change, and the bound for each part is tighter.",
        [
            Check("a compatible partition gives no tighter bound", most > 1 or near(left, right), shown(right),
                  f"{left:.4f}", disproves=True),
            Check("there is equality when all parts but one are at distance 0", near(*unequal), shown(unequal[1]),
                  shown(unequal[0]), disproves=True),
            Check("equality holds when that part has the largest mu", near(*larger) and near(*neighbours)),
        ],
    )  # fmt: skip
    return {"granularity-example-vi-25": example, "granularity-after-example-vi-25": sentence}


def _profiles(axes: Any, epsilons: FloatArray, together: Any, bound: Any) -> None:
    for curve, colour, label in ((bound, "bad", "mu = 2"), (together, "accent", "two parts")):
        axes.fill_between(epsilons, curve.lower, curve.upper, color=COLOURS[colour], alpha=0.3, linewidth=0)
        axes.plot(epsilons, curve.upper, color=COLOURS[colour], linewidth=2.0, label=label)
    axes.set(xlabel="epsilon", ylabel="delta", xlim=(0, 4), ylim=(0, None))
    axes.legend(loc="upper right")


STUDIES: tuple[Study, ...] = (
    alone(
        "granularity-theorem-vi-23",
        "Theorem VI.23",
        "Mechanisms that are d_i-DP are together Gaussian private for the root of d_1² + ... + d_k².",
        pure_as_gaussian,
        "Theorem VI.23: pure is not Gaussian",
        (0.6, 0.2),
    ),
    alone(
        "granularity-section-vi-b-weak-triangle",
        "Section VI-B",
        "The Rényi divergence has a weak triangle inequality for all alpha, k ≥ 1: D_alpha(P‖R) ≤ k alpha/(k alpha - "
        "1) D_((k alpha - 1)/(k - 1))(P‖Q) + D_(k alpha)(Q‖R).",
        weak_triangle,
        "Section VI-B: the weak triangle",
        (0.8, 0.1),
    ),
    Study(
        (
            Item(
                "granularity-example-vi-25",
                "Example VI.25",
                "Two records in two parts: d^Δ = 2, while the Gaussian theorem gives √2 < 2.",
            ),
            Item(
                "granularity-after-example-vi-25",
                "After Example VI.25",
                "A compatible partition makes (VI.2) an equality, so the theorem gives no tighter bound; there is "
                "equality when all parts but one have distance 0.",
                "After Example VI.25: compatible partitions do gain",
            ),
        ),
        two_parts,
        (0.3, 0.3),
    ),
)
