"""Section 5: what composition asks of mechanisms (Theorem 4), and what post-processing leaves of it (Theorem 5)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from tests.errata import printed_pufferfish_necessary as printed

from examples.gallery.item import Check, Effort, Finding, alone
from quiltwork.document.blocks import Grid
from quiltwork.document.draw.style import COLOURS
from quiltwork.document.draw.svg import picture
from quiltwork.pufferfish import case_labels, composable, leakage

HALF, QUARTER = Fraction(1, 2), Fraction(1, 4)
SECRETS = ([0, 1], [2, 3])
NEARLY = Fraction(9999, 10000)  # how surely the impossible dataset is told
SMOOTHINGS = (0.5, 0.1, 0.01)
LIES, RARE = Fraction(1, 10), (Fraction(1, 10), Fraction(1, 100))  # about a bit that is 0 so often given s1 and s2
MANY = 40


def support_measured(effort: Effort) -> Mapping[str, Finding]:
    """Theorem 4 asks something of a dataset that never occurs."""
    prior = [HALF, Fraction(0), QUARTER, QUARTER]
    channel = [[HALF, HALF], [NEARLY, 1 - NEARLY], [HALF, HALF], [HALF, HALF]]
    runs = (1, 2, 10, 40)
    leaked = max(leakage(channel, SECRETS, prior, count).epsilon.upper for count in runs)
    combined = [
        printed.equation_1(channel, 1, [2, 3], [weight, 1 - weight]) for weight in np.linspace(0, 1, 11)
    ]  # datasets 2 and 3 have one law, so that every combination asks the same
    own = [[HALF, HALF, 0], [0, 0, 1], [HALF, HALF, 0], [HALF, HALF, 0]]
    endless = printed.equation_1(own, 1, [2, 3], [0.5, 0.5])
    verdict = composable(channel, SECRETS, 0, prior)
    return {
        "pufferfish-theorem-4": Finding(
            f"Prior ({', '.join(map(str, prior))}): up to {runs[-1]} runs leak {leaked:.6g} in all, and for the "
            f"dataset of prior 0 equation (1) asks for {min(combined):.4f}; if that dataset has an output of its own, "
            f"for {'infinity' if math.isinf(endless) else f'{endless:.4f}'}.",
            "A corner case. A dataset that cannot occur cannot be told apart from anything, and the theorem speaks of "
            "every dataset; the proof takes the maximum over items of "
            '"nonnegative weight", and only those of positive weight count. If every dataset is possible under some '
            "prior, the theorem is right.",
            [
                Check(
                    "equation (1) holds with epsilon 0 for every dataset, as the composition does",
                    min(combined) <= 1e-9,
                    printed="0",
                    ours=f"{min(combined):.4f}",
                ),
                Check("no number of runs leaks anything", leaked == 0.0, ours=f"{leaked:.6g}"),
                Check(
                    "on possible datasets the condition holds with epsilon 0, exactly linearly",
                    verdict.status == "linear" and verdict.holds is True,
                ),
            ],
        )
    }


def sufficient_measured(effort: Effort) -> Mapping[str, Finding]:
    """Equation (2) with an epsilon of 0, below that of one run, and yet two runs leak more than twice."""
    channel = [[1 - LIES, LIES], [LIES, 1 - LIES]] * 2  # the bit is 0, 1 with the first secret, then with the second
    prior = [HALF * share for zero in RARE for share in (zero, 1 - zero)]
    once, twice, many = (leakage(channel, SECRETS, prior, runs).epsilon for runs in (1, 2, MANY))
    verdict = composable(channel, SECRETS, once.upper, prior)
    return {
        "pufferfish-theorem-4-sufficient": Finding(
            f"Lies of {LIES} about a bit that is 0 with probability {RARE[0]} given one secret and {RARE[1]} given the "
            f"other: equation (1) holds with {verdict.rate.upper:.4f}. One run leaks {once.upper:.4f}, two leak "
            f"{twice.lower:.4f}, and {MANY} leak {many.lower:.4f}.",
            "A slip of a word: the theorem says necessary, and so does the proof before it. (The sufficient conditions "
            "of the paper are those of section 6.) The word would be wrong: the condition bounds the rate of many "
            f"runs, and on top of it a constant is paid once: here {MANY} runs leak at most {verdict.bound(MANY):.4f}, "
            "which is what the bit itself tells about the secrets. The constant is 0 if the convex combinations carry "
            "the law given one secret onto the law given the other.",
            [
                Check(
                    "where equation (2) holds with the epsilon of one run, two runs leak at most twice that",
                    twice.lower <= 2 * once.upper or verdict.rate.lower > once.lower,
                    printed=f"at most {2 * once.upper:.4f}",
                    ours=f"{twice.lower:.4f}",
                    disproves=True,
                ),
                Check("the condition itself holds", verdict.rate.upper < once.lower, ours=f"{verdict.rate.upper:.4f}"),
                Check(
                    f"two and {MANY} runs stay within the certified rate and constant",
                    twice.upper <= verdict.bound(2) and many.upper <= verdict.bound(MANY) * (1 + 1e-12),
                    ours=f"at most {verdict.bound(2):.4f} and {verdict.bound(MANY):.4f}",
                ),
            ],
        )
    }


def limit_measured(effort: Effort) -> Mapping[str, Finding]:
    """Leakage per run against the rate of equation (1), for Example 4.3 with some smoothing."""
    counts = effort.pick((1, 2, 4, 8, 16, 32), (1, 2, 4, 8))
    lines: dict[float, list[float]] = {}
    rates: dict[float, float] = {}
    above, gaps = True, []
    for weight in SMOOTHINGS:
        made = case_labels(smoothing=weight)
        verdict = made.composable()
        told = [made.leakage(runs).epsilon for runs in counts]
        lines[weight] = [one.upper / runs for one, runs in zip(told, counts, strict=True)]
        rates[weight] = verdict.rate.upper
        above &= all(one.upper <= verdict.bound(runs) for one, runs in zip(told, counts, strict=True))
        gaps.append((verdict.rate.lower - lines[weight][-1]) * counts[-1])
    least = math.log(2)  # each case has half of its secret: no sum of likelihoods is below half of its largest
    rows = [
        (f"{weight:g}", f"{lines[weight][0]:.4f}", f"{lines[weight][-1]:.4f}", f"{rates[weight]:.4f}")
        for weight in SMOOTHINGS
    ]
    return {
        "pufferfish-theorem-4-limit": Finding(
            f"Example 4.3 with weight {SMOOTHINGS[0]:g} of uniform outputs leaks {lines[SMOOTHINGS[0]][0]:.6g} in one "
            f"run; per run, {counts[-1]} runs leak {lines[SMOOTHINGS[0]][-1]:.4f}, and the least epsilon of equation "
            f"(1) is {rates[SMOOTHINGS[0]]:.4f}.",
            "The limit of the leakage per run is the optimum of the linear program, both certified here. What is "
            f"missing does not grow with the runs: {max(gaps):.3f} nats in all after {counts[-1]}. "
            "A mechanism that leaks nothing in one run may have a rate far above 0.",
            [
                Check("no number of runs leaks more than rate and constant allow", above),
                Check(
                    f"{counts[-1]} runs leak at least their rate less log 2, the price of the prior",
                    max(gaps) <= least + 1e-6,
                    ours=f"{max(gaps):.6f} less",
                ),
                Check(
                    "the leakage per run rises towards the rate",
                    all(np.all(np.diff(line) >= -1e-12) for line in lines.values()),
                ),
            ],
            [
                Grid(
                    [("weight", "number"), ("one run", "number"), (f"{counts[-1]} runs, each", "number"), "rate"],
                    rows,
                    "Nats for each run",
                ),
                picture(
                    "pufferfish-theorem-4-limit",
                    "Leakage for each run against the number of runs, and the rate of equation (1)",
                    "Exact leakage divided by the number of runs (points), for three weights of uniform outputs; the "
                    "dashed lines are the optima of the linear programs.",
                    partial(_draw_limit, counts, lines, rates),
                ),
            ],
        )
    }


def _draw_limit(counts: Sequence[int], lines: Mapping[float, Sequence[float]], rates: Mapping, axes: Any) -> None:
    for (weight, line), colour in zip(lines.items(), ("accent", "warm", "bad"), strict=True):
        axes.plot(counts, line, color=COLOURS[colour], marker=".", label=f"{weight:g}")
        axes.axhline(rates[weight], color=COLOURS[colour], linestyle="--", linewidth=1)
    axes.set(xscale="log", xlabel="runs", ylabel="leaked for each run, nats", ylim=(-0.05, None))
    axes.set_xticks(counts, [str(count) for count in counts], minor=False)
    axes.minorticks_off()
    axes.legend(title="uniform outputs")


def processing_measured(effort: Effort) -> Mapping[str, Finding]:
    """The proof's own construction, and random mechanisms, combinations and post-processings."""
    epsilon, halves = 0.5, [0.5, 0.5]
    channel = printed.theorem_5_mechanism(epsilon, [-3.0, -5.0], [-6.0, -2.5])
    tight = [printed.equation_1(channel[:, [output]], 0, [1, 2], halves) for output in (0, 2)]
    merged = printed.equation_1(printed.theorem_5_merge(channel, 0, 0, 2)[:, None], 0, [1, 2], halves)
    left, right = printed.equation_3(channel, 0, np.array([1.0, -0.5, -0.5]), 0, 2)
    tried = effort.pick(2000, 300)
    worst = max(_growth(np.random.default_rng([effort.seed, 5, at])) for at in range(tried))
    mixed, one_hot = _geometric()
    return {
        "pufferfish-theorem-5": Finding(
            f"The construction of the proof starts at {tight[0]:.4g}, its epsilon, and merged it is at {merged:.4f}. "
            f"Of {tried} random mechanisms, combinations and post-processings, none needs more than before.",
            "The product of powers is concave and homogeneous, so each constraint is a convex cone, and "
            "post-processing only adds likelihoods with nonnegative factors. Equation (3) uses the inequality of "
            f"means under negative weights: its left side is {left:.4f}, its right side {right:.4f}. That "
            "post-processing leaves only constraints as in differential privacy does not follow: two datasets "
            f"combined may need {mixed:.4f} where the best single one needs {one_hot:.4f}.",
            [
                Check(
                    "the construction exceeds its epsilon after post-processing",
                    merged > epsilon,
                    printed=f"above {epsilon:g}",
                    ours=f"{merged:.4f}",
                    disproves=True,
                ),
                Check("both outputs of the construction are tight before", max(abs(np.array(tight) - epsilon)) < 1e-12),
                Check("no constraint of several datasets is lost by post-processing", worst <= 1e-9),
            ],
        )
    }


def _growth(rng: np.random.Generator) -> float:
    """How much more a random post-processing needs than a random mechanism, under a random combination."""
    count, outputs = int(rng.integers(3, 6)), int(rng.integers(2, 6))
    channel = np.maximum(rng.dirichlet(np.full(outputs, 0.6), count), 1e-6)
    weights = rng.dirichlet(np.ones(count - 1))
    coarser = channel @ rng.dirichlet(np.full(int(rng.integers(1, 5)), 0.5), outputs)
    others = list(range(1, count))
    kept = coarser[:, coarser[0] > 1e-14]
    return printed.equation_1(kept, 0, others, weights) - printed.equation_1(channel, 0, others, weights)


def _geometric() -> tuple[float, float]:
    """A dataset whose law is the geometric mean of two others: the least epsilon, mixed and with one alone."""
    two = np.array([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1]])
    middle = np.sqrt(two[0] * two[1])
    channel = np.vstack([middle / middle.sum(), two])
    mixed = min(printed.equation_1(channel, 0, [1, 2], [w, 1 - w]) for w in np.linspace(0, 1, 101))
    return mixed, min(printed.equation_1(channel, 0, [1, 2], weights) for weights in ([1.0, 0.0], [0.0, 1.0]))


STUDIES = (
    alone(
        "pufferfish-theorem-4",
        "Theorem 4",
        "Mechanisms that compose linearly satisfy equation (1) for every dataset for which s1 is true, with some "
        "convex combination of datasets for which s2 is true.",
        support_measured,
        errata="Theorem 4: datasets that are not possible",
    ),
    alone(
        "pufferfish-theorem-4-sufficient",
        "Proof of Theorem 4",
        'After strong duality the proof speaks of "the sufficient condition in Equation 2", which it calls necessary '
        "before.",
        sufficient_measured,
        errata="Theorem 4: necessary, not sufficient",
    ),
    alone(
        "pufferfish-theorem-4-limit",
        "Proof sketch of Theorem 4",
        "Divided by the number of runs r, and for r to infinity, the leakage of r runs becomes the optimum of a linear "
        "program.",
        limit_measured,
        seconds=(2.0, 1.0),
    ),
    alone(
        "pufferfish-theorem-5",
        "Theorem 5",
        "A non-redundant set of constraints with a convex combination of two or more datasets is not invariant under "
        "post-processing; so mechanisms should satisfy differential privacy.",
        processing_measured,
        errata="Theorem 5: every constraint survives post-processing",
        seconds=(1.0, 0.5),
    ),
)
