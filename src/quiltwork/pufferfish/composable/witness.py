"""Outputs that break composition: a finite number of runs after which too much is told.

Reference: seed 003 section 4 and the proof of Theorem 4; theory/pufferfish.md 2.1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.kinds import document
from quiltwork.numbers.rounding import UNIT, down
from quiltwork.pufferfish.composable.cases import Setting, log_ratio
from quiltwork.pufferfish.composable.program import Program

__all__ = ["Witness", "exceeding", "revealing"]

_MOST_RUNS = 2**50


@document("breaking_outputs/1")
@attrs.frozen
class Witness:
    """Outputs (channel, output, how often), the runs of each channel, and what they tell at least.

    `loss` is a lower bound on the log-ratio of these outputs; when it is infinite they are possible under one secret
    alone, and `probability` is the exact chance of exactly them, in any order, given that secret.
    """

    case: str
    dataset: int
    outputs: tuple[tuple[int, int, int], ...]
    runs: tuple[int, ...]
    loss: float
    probability: Fraction | None = None

    @property
    def total(self) -> int:
        """All runs together."""
        return sum(self.runs)


def _chosen(program: Program, counts: Sequence[int]) -> tuple[tuple[tuple[int, int, int], ...], tuple[int, ...]]:
    owner = program.owner
    starts = np.unique(owner, return_index=True)[1]
    outputs = tuple((int(owner[i]), int(i - starts[owner[i]]), often) for i, often in enumerate(counts) if often)
    return outputs, tuple(sum(often for j, _, often in outputs if j == channel) for channel in range(len(starts)))


def _hitting(program: Program, at: int) -> list[int]:
    """Few outputs of D that rule out every l which misses one of them: greedily the one that rules out most."""
    possible = np.flatnonzero(np.isfinite(program.top[at]))
    missing = ~np.isfinite(program.bottom[:, possible])
    left = ~program.alive[at]
    counts = [0] * program.owner.size
    while left.any():
        best = int(np.argmax(missing[left].sum(axis=0)))
        counts[int(possible[best])] = 1
        left = left & ~missing[:, best]
    return counts


def revealing(given: Setting, program: Program) -> list[Witness]:
    """For each D that no l can imitate: outputs of D that are impossible together under the other secret."""
    found = []
    case = program.case
    for at in np.flatnonzero(~program.alive.any(axis=1)).tolist():
        outputs, runs = _chosen(program, _hitting(program, at))
        chance = Fraction(0)
        for p, dataset in zip(case.p_first, case.first, strict=True):
            chance += p * math.prod(given.channels[j].rows[dataset][i] ** often for j, i, often in outputs)
        ways = math.prod(math.factorial(often) for often in runs)  # each output is taken once
        found.append(Witness(case.words, case.first[at], outputs, runs, math.inf, ways * chance))
    return found


def exceeding(program: Program, at: int, mix: FloatArray) -> Witness | None:
    """Runs whose outputs come as in the mix and tell more than the sum of the asked epsilons; None when none is found.

    With the outputs in these shares the log-ratio grows by the mix's excess for each run, and starts from
    -log 1/p(D): a number of runs that is doubled gets there.
    """
    needed = np.array(_hitting(program, at))
    share = np.where(np.isfinite(program.top[at]), mix, 0.0)
    share = share / share.sum()
    runs = 1
    while runs <= _MOST_RUNS:
        counts = np.maximum(np.rint(runs * share), needed)
        loss = _loss(program, counts)
        price = float(counts @ program.asked) * (1.0 + 2 * counts.size * UNIT)
        if loss > price:
            outputs, each = _chosen(program, [int(count) for count in counts])
            return Witness(program.case.words, program.case.first[at], outputs, each, loss)
        runs *= 2
    return None


def _loss(program: Program, counts: FloatArray) -> float:
    """log of the likelihood ratio of these outputs, rounded down; both sides must be able to produce them."""
    ends: list[tuple[float, float]] = []
    for logs, law in ((program.top, program.case.p_first), (program.bottom, program.case.p_second)):
        prior = np.array([log_ratio(p.numerator, p.denominator) for p in law])
        finite = np.where(np.isfinite(logs), logs, 0.0)
        value = np.where(np.isfinite(logs[:, counts > 0]).all(axis=1), finite @ counts + prior, -np.inf)
        size = np.abs(finite) @ counts + np.abs(prior)
        error = UNIT * ((counts.size + 24) * float(size.max()) + 4.0 * float(counts.sum()) + 2.0 * value.size + 32.0)
        largest = float(value.max())
        ends.append((largest + math.log(math.fsum(np.exp(value - largest).tolist())), error))
    (over, one), (under, two) = ends
    return down(over - under - 2.0 * (one + two))
