"""Section 4: mechanisms that tell nothing in one run and everything in a few, in exact rationals."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from tests.errata import printed_pufferfish_necessary as printed

from examples.gallery.item import Check, Effort, Finding, Item, Study, alone
from quiltwork.document.blocks import Grid
from quiltwork.document.draw.style import COLOURS
from quiltwork.document.draw.svg import picture
from quiltwork.pufferfish import Collapse, case_labels, leakage, paired_datasets, xor_of_bits

BITS = (3, 4, 5)
UNEVEN = ((0.5, 0.3, 0.2), (0.9, 0.1))  # the data given each secret
TRUE, FALSE = (0.1, 0.2), (0.5, 0.6)  # P(1a | true) and P(2a | false)
ERRORS = 5.0  # standard errors that a mean of simulated runs may be off: one false alarm in a million


def _nats(told: Any) -> str:
    return "infinite" if math.isinf(told) else f"{told:.6g}"


def _runs(made: Collapse, most: int = 3) -> Grid:
    """What k runs leak, and how likely they tell the secret for sure."""
    rows = []
    for runs in range(1, most + 1):
        one, two = made.revealed(runs)
        told = made.leakage(runs).epsilon
        rows.append((runs, _nats(told.upper), str(one), str(two)))
    columns = [("runs", "number"), ("leaked, nats", "number"), ("told for sure, s1", "number"), ("s2", "number")]
    return Grid(columns, rows, f"Exact, {made.name}")


def pairs_measured(effort: Effort) -> Mapping[str, Finding]:
    """Example 4.1: expected runs exactly, and by playing."""
    made = paired_datasets(*UNEVEN)
    bound = 1 + 1 / (1 - max(map(max, UNEVEN)))
    exact = [float(runs) for runs in made.expected_runs]
    games, rng = effort.pick(20_000, 2_000), np.random.default_rng([effort.seed, 41])
    played = [_played(np.array(law), games, rng) for law in reversed(UNEVEN)]
    once, twice = made.leakage(1).epsilon, made.leakage(2).epsilon
    even = [float(runs) for runs in paired_datasets().expected_runs]
    return {
        "pufferfish-example-4-1": Finding(
            f"With data laws {UNEVEN[0]} and {UNEVEN[1]}: {exact[0]:.4f} and {exact[1]:.4f} runs are expected, and the "
            f"bound is {bound:.4g}; {games} games took {played[0][0]:.3f} and {played[1][0]:.3f} on average.",
            "The output is a pair of datasets, one of them true, and its law is the same under both secrets: exactly 0 "
            "is leaked. Two different outputs tell which half stayed. The bound takes the worst dataset for all; with "
            f"two equally likely datasets on each side it is attained ({even[0]:.4g} runs).",
            [
                Check("one run leaks nothing", once.upper == 0.0, printed="0", ours=f"{once.upper:.6g}"),
                Check("two runs may tell the secret for sure", math.isinf(twice.lower), ours=_nats(twice.lower)),
                Check("expected runs are within the bound", max(exact) <= bound, ours=f"{max(exact):.4f}"),
                Check(
                    f"simulated games agree within {ERRORS:g} standard errors",
                    all(
                        abs(mean - value) <= ERRORS * error for (mean, error), value in zip(played, exact, strict=True)
                    ),
                ),
            ],
            [_runs(made)],
        )
    }


def _played(law: np.ndarray, games: int, rng: np.random.Generator) -> tuple[float, float]:
    """Runs until the other half of the output has changed: the mean over games, and its standard error."""
    first = rng.choice(law.size, games, p=law)
    runs = 1 + rng.geometric(1 - law[first])
    return float(runs.mean()), float(runs.std(ddof=1) / math.sqrt(games))


def xor_measured(effort: Effort) -> Mapping[str, Finding]:
    """Example 4.2: what runs tell about single bits, and about two bits."""
    made = [xor_of_bits(bits) for bits in BITS]
    once = max(one.leakage(1).epsilon.upper for one in made)
    sure = {bits: one.revealed(2)[0] for bits, one in zip(BITS, made, strict=True)}
    expected = {runs for one in made for runs in one.expected_runs}
    first = made[0]
    same = [at for at, data in enumerate(first.datasets) if data[0] == data[1]]
    differ = [at for at in range(len(first.datasets)) if at not in same]
    joint = leakage(first.channel, [(same, differ)], first.prior, 1).epsilon
    tuples = [at for at, output in enumerate(first.outputs) if output[0] == "A"]
    (prior,) = first.prior
    share = sum(weight * sum(law[at] for at in tuples) for weight, law in zip(prior, first.channel, strict=True))
    return {
        "pufferfish-example-4-2": Finding(
            f"For {', '.join(map(str, BITS))} bits one run leaks {once:.6g} about any single bit; two runs tell all "
            f"bits with probability {sure[BITS[0]]}, and {min(expected)} runs are expected.",
            "Exact sums over all datasets and outputs. Zero leakage is relative to the list of secrets: whether the "
            f"first two bits are equal is told by one run whenever it is of type A, with probability {share}.",
            [
                Check("one run leaks nothing about any bit", once == 0.0, printed="0", ours=f"{once:.6g}"),
                Check("two runs may tell everything", all(value == Fraction(1, 2) for value in sure.values())),
                Check("three runs are expected", expected == {Fraction(3)}, printed="3", ours=str(min(expected))),
                Check(
                    "one run may tell x1 xor x2, no secret of the list",
                    math.isinf(joint.lower),
                    ours=_nats(joint.lower),
                ),
            ],
            [_runs(first), _open_picture(first)],
        )
    }


def _open_picture(made: Collapse) -> Any:
    runs = list(range(1, 9))
    shares = [1 - float(made.revealed(k)[0]) for k in runs]
    return picture(
        "pufferfish-example-4-2",
        "Probability that the data are still open, against the number of runs",
        "One run tells nothing about any bit. From the second run on, what is still open halves with each run.",
        partial(_draw_open, runs, shares),
    )


def _draw_open(runs: list[int], shares: list[float], axes: Any) -> None:
    axes.bar(runs, shares, color=COLOURS["accent"], width=0.7)
    axes.set(xlabel="runs", ylabel="probability that nothing is told for sure", xticks=runs, ylim=(0, 1.05))


def tuple_measured(effort: Effort) -> Mapping[str, Finding]:
    """The proof of Theorem 2: the probability of each tuple."""
    rows, right, totals = [], [], []
    for bits in BITS:
        made = xor_of_bits(bits)
        tuples = [at for at, output in enumerate(made.outputs) if output[0] == "A"]
        laws = [
            [sum(made.channel[data][at] for data in side) / len(side) for at in tuples]
            for secret in made.secrets
            for side in secret
        ]
        values = {share for law in laws for share in law}
        claimed = Fraction(printed.theorem_2_tuple(bits))
        right.append(values == {Fraction(1, 2**bits)})
        totals.append(len(tuples) * claimed + Fraction(1, 2))
        rows.append((bits, str(claimed), str(min(values)), str(totals[-1])))
    return {
        "pufferfish-theorem-2-proof": Finding(
            f"Each tuple has probability {rows[0][2]} for {BITS[0]} bits, {rows[-1][2]} for {BITS[-1]}; the printed "
            f"value would give all outputs together probability {totals[0]}.",
            "A slip in the proof. Given a bit, 2^(n-1) datasets remain and half of the runs are of type A; the "
            "printed value has lost that "
            "half, so that tuples alone would fill the whole law. The theorem does not depend on it.",
            [
                Check(
                    "the printed probabilities, with those of type B, sum to 1",
                    all(total == 1 for total in totals),
                    ours=str(totals[0]),
                    disproves=True,
                ),
                Check("each tuple has probability 2^-n, for every bit and value", all(right)),
            ],
            [
                Grid(
                    [
                        ("bits", "number"),
                        ("printed", "number"),
                        ("exact", "number"),
                        ("sum with the printed", "number"),
                    ],
                    rows,
                    "Probability of one output of type A given any secret",
                )
            ],
        )
    }


def labels_measured(effort: Effort) -> Mapping[str, Finding]:
    """Example 4.3 and Theorem 3: the epsilon of one run, and how soon the secret is told."""
    made = case_labels(TRUE, FALSE)
    once, expected = made.leakage(1).epsilon, set(made.expected_runs)
    claimed = printed.theorem_3(*TRUE, *FALSE)
    corrected = max(claimed, printed.theorem_3(*FALSE, *TRUE))  # the same eight ratios and their reciprocals
    low, _ = printed.theorem_3_first_interval(*TRUE, *FALSE)
    attained = TRUE[0] / FALSE[1]
    return {
        "pufferfish-example-4-3": Finding(
            f"For P(1a | true) in {TRUE} and P(2a | false) in {FALSE} one run leaks {once.upper:.6f}; two runs tell "
            f"the secret with probability {made.revealed(2)[0]}, and {min(expected)} runs are expected.",
            "Each likelihood ratio is largest at a corner of the two intervals, and all four are summed exactly.",
            [
                Check("one run leaks a finite epsilon", math.isfinite(once.upper), ours=f"{once.upper:.6f}"),
                Check("two runs may tell the secret for sure", math.isinf(made.leakage(2).epsilon.lower)),
                Check("three runs are expected", expected == {Fraction(3)}, printed="3", ours=str(min(expected))),
            ],
            [_runs(made)],
        ),
        "pufferfish-theorem-3": Finding(
            f"For P(1a | true) in {TRUE} and P(2a | false) in {FALSE} the printed epsilon is {claimed:.6f}; one run "
            f"leaks {once.lower:.6f}.",
            "Ratios are positive, so the absolute value inside the logarithm does nothing, and a ratio below 1 counts "
            f"for less than nothing. In the proof, the ratio of (1a, 2a) is said to start at {low:.4f}; "
            f"{attained:.4f} is attained.",
            [
                Check(
                    "one run leaks at most the printed epsilon",
                    once.lower <= claimed,
                    printed=f"{claimed:.6f}",
                    ours=f"{once.lower:.6f}",
                    disproves=True,
                ),
                Check(
                    "with the absolute value outside the logarithm the formula is exact (Theta has every combination "
                    "of ends)",
                    abs(corrected - once.upper) < 1e-12,
                    ours=f"{corrected:.6f}",
                ),
                Check("the first interval of the proof holds", attained >= low, disproves=True),
            ],
        ),
    }


STUDIES = (
    alone(
        "pufferfish-example-4-1",
        "Example 4.1, Theorem 1",
        "A mechanism that outputs the data beside a random dataset of the other secret has zero leakage; run again and "
        "again it reveals the data after at most 1 + 1 / (1 - max Pr(D | s)) expected runs, and as few as two.",
        pairs_measured,
        seconds=(0.1, 0.1),
    ),
    alone(
        "pufferfish-example-4-2",
        "Example 4.2, Theorem 2",
        "Xors of n fair bits, or a parity: zero leakage about every bit in one run, all bits revealed by as few as two "
        "runs, 3 expected.",
        xor_measured,
        seconds=(1.0, 1.0),
    ),
    alone(
        "pufferfish-theorem-2-proof",
        "Proof of Theorem 2",
        "Given a secret, each output of type A has probability 2^(-n+1).",
        tuple_measured,
        errata="Theorem 2: the probability of a tuple",
    ),
    Study(
        (
            Item(
                "pufferfish-example-4-3",
                "Example 4.3",
                "With many priors that know a little, a mechanism may have a finite epsilon in one run; the expected "
                "number of runs to reveal the secret is 3.",
            ),
            Item(
                "pufferfish-theorem-3",
                "Theorem 3",
                "The mechanism of Example 4.3 satisfies Pufferfish privacy with the maximum of log|U_T / L_F|, "
                "log|L_T / U_F| and six more such terms.",
                "Theorem 3: an epsilon that is too small",
            ),
        ),
        labels_measured,
    ),
)
