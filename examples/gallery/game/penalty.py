"""Appendix P.6: a penalty in the place of a constraint, beside the exact fifth mechanism."""

from __future__ import annotations

import math

import numpy as np

from examples.gallery.game.fifth import FOUR, PENALTY
from examples.gallery.item import Check, Effort, Finding, alone
from quiltwork.document.blocks import Grid
from quiltwork.game.composition import next_mechanism, penalty_method


def penalised(effort: Effort) -> dict[str, Finding]:
    """Where penalties of several weights end, beside the exact fifth; every total is evaluated exactly."""
    epsilon = 0.1
    four, target = [epsilon] * FOUR, (FOUR + 1) * epsilon
    exact = next_mechanism(four, target)
    settings = [(weight, mu) for mu in (0.5, 2.0) for weight in (1e-3, 1e-1, 1.0, 10.0, 100.0)]
    ends = [
        penalty_method(
            four,
            target,
            np.random.default_rng([effort.seed, index]),
            weight=weight,
            steps=int(effort.pick(800, 300)),
            sensitivity=mu / target,
        )
        for index, (weight, mu) in enumerate(settings)
    ]
    broken = [end for end in ends if not end.meets]
    tied = {rho: next_mechanism(four, target, correlation=rho).upper / epsilon for rho in (-0.2, 0.0, 0.5, 0.9)}
    ratio = exact.upper / epsilon
    worst = max(ends, key=lambda end: end.ratio)
    rows = [
        [
            f"{mu:g}",
            f"{weight:g}",
            f"{end.epsilon / epsilon:.4f}",
            f"{end.ratio:.4f}",
            "keeps" if end.meets else "breaks",
        ]
        for (weight, mu), end in zip(settings, ends, strict=True)
    ]
    columns = (
        ("mu at the target", "number"),
        ("weight of the error", "number"),
        ("fifth / epsilon", "number"),
        ("total / target", "number"),
        "target",
    )
    return {
        "game-appendix-p6": Finding(
            f"Four mechanisms at epsilon {epsilon:g}, target {target:g}: the exact fifth is {ratio:.4f} epsilon. A "
            f"penalty ends between {min(e.epsilon for e in ends) / epsilon:.4f} and "
            f"{max(e.epsilon for e in ends) / epsilon:.4f} epsilon; {len(broken)} of {len(ends)} runs break the "
            f"target, the worst at {worst.ratio:.4f} times it. With correlated noises the exact fifth is "
            + ", ".join(f"{value:.4f} epsilon at {rho:g}" for rho, value in tied.items())
            + ".",
            "A penalty trades the constraint against error, at whatever weight it was given, and sampled log-odds of "
            "one attacker are no supremum. The fifth epsilon has a closed form, and where noises are correlated it "
            "changes with the correlation: it has to be computed.",
            [
                Check(
                    "the penalty method keeps the target in every run",
                    not broken,
                    printed="approximately achieved",
                    ours=f"total {worst.ratio:.4f} times the target in the worst run",
                ),
                Check("the exact fifth keeps it", exact.meets(exact.upper), ours=f"{ratio:.6f} epsilon"),
                Check(
                    "the exact fifth is sqrt(21) epsilon",
                    math.isclose(ratio, math.sqrt((FOUR + 1) ** 2 - FOUR), rel_tol=1e-12),
                    ours=f"{ratio:.6f}",
                ),
            ],
            [Grid(columns, rows, "Where Adam on the penalised loss ends; totals are exact")],
        )
    }


STUDIES = (
    alone(
        "game-appendix-p6",
        "Appendix P.6",
        "A penalty on the attacker's posterior leads the fifth mechanism to where the target 5 epsilon is "
        "approximately achieved.",
        penalised,
        PENALTY,
        (2.0, 1.0),
    ),
)
