"""Optimal commitment by cutting planes: linear programs in the channel, one cut for each action of the attacker.

The loss is a sum over candidates and outputs of convex functions V(A, P - A), each the maximum of the lines
A g(1, a) + (P - A) g(0, a) over a in [0, 1] (see `scores`).  The program keeps finitely many lines,

    min sum_kx t_kx + kappa E[c]   subject to   t_kx >= A_kx g_k(1, a) + (P_x - A_kx) g_k(0, a) for the a kept,

solves for the channel, and adds the line of the best action where the loss is not yet met.  The prices of the lines of
(k, x) are a law over actions; its mean is an action that does at least as well, because the score is concave, and it
proves the lower bound.  Lines are one-dimensional, so the gap falls to a quarter with each round.

Reference: Kelley 1960, "The cutting-plane method for solving convex programs"; theory/game.md section 1.
"""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.errors import NotCertified
from quiltwork.game.finite.equilibria.designs import Design
from quiltwork.game.finite.scores import Score, float_value

__all__ = ["Suggestion", "cutting_planes"]

MAX_PROGRAMS = 60  # linear programs at most
PATIENCE = 6  # rounds without progress before the answer is taken as it is
SOLVER_TOLERANCE = 1e-10  # the smallest tolerance of the solver


@attrs.frozen(eq=False)
class Suggestion:
    """What the solver found: nothing here is trusted."""

    channel: FloatArray  # (B, X)
    actions: FloatArray  # (K, X)


def cutting_planes(problem: Design, score: Score, tolerance: float) -> Suggestion:
    """A channel and an attacker whose bounds are about `tolerance` apart."""
    program = _Program(problem, score)
    best: tuple[float, FloatArray] | None = None
    most: tuple[float, FloatArray] | None = None
    gap, waited = np.inf, 0
    for _ in range(MAX_PROGRAMS):
        channel, heights, actions = program.solve()
        _, parts, answers = float_value(problem, score, channel)
        lower = _float_bound(problem, score, actions)
        best = _better(problem, score, channel, best)
        if most is None or lower > most[0]:
            most = lower, actions
        left = best[0] - most[0]
        waited = 0 if left < 0.9 * gap else waited + 1
        gap = min(gap, left)
        if gap <= 0.25 * tolerance or waited >= PATIENCE:
            break
        middle = float_value(problem, score, best[1])[2]
        if not program.add(parts - heights, answers, (actions, middle), gap):
            break
    if best is None or most is None:  # pragma: no cover - there is at least one round
        raise NotCertified("the equilibrium", "the linear program has no answer")
    return Suggestion(best[1], most[1])


def _better(
    problem: Design, score: Score, channel: FloatArray, best: tuple[float, FloatArray] | None
) -> tuple[float, FloatArray]:
    """The best channel on the way from the best one so far to a new one: corners of the program lie around it."""
    found = best
    for share in (1.0,) if best is None else (1.0, 0.5, 0.25, 0.1, 0.03):
        trial = channel if best is None else best[1] + share * (channel - best[1])
        value = float_value(problem, score, trial)[0]
        if found is None or value < found[0]:
            found = value, trial
    return found if found is not None else (np.inf, channel)


def _float_bound(problem: Design, score: Score, actions: FloatArray) -> float:
    one, zero = score.pays(actions, np.asarray(problem.rates, dtype=float)[:, None])
    payoff = problem.members @ one + (1 - problem.members) @ zero + problem.price
    return float(problem.law @ payoff.min(axis=1))


class _Program:
    """The variables are R (B, X), t (K, X), A (K, X) and P (X), in this order."""

    def __init__(self, problem: Design, score: Score) -> None:
        from scipy import sparse as scipy_sparse

        sparse: Any = scipy_sparse
        self.problem, self.score = problem, score
        secrets, outputs = problem.shape
        people = problem.members.shape[1]
        self.people, self.outputs, self.entries = people, outputs, secrets * outputs
        self.rates = np.asarray(problem.rates, dtype=float)
        self.width = self.entries + 2 * people * outputs + outputs
        each = sparse.identity(outputs, format="csr")
        rows = sparse.kron(sparse.identity(secrets), np.ones((1, outputs)))
        masses = sparse.kron((problem.members * problem.law[:, None]).T, each)
        total = sparse.kron(problem.law[None, :], each)
        nothing = sparse.csr_matrix((people * outputs, people * outputs))
        self.equal = sparse.bmat(
            [
                [rows, None, None, sparse.csr_matrix((secrets, outputs))],
                [masses, nothing, -sparse.identity(people * outputs), None],
                [total, None, None, -each],
            ],
            format="csr",
        )
        self.right = np.concatenate([np.ones(secrets), np.zeros(people * outputs + outputs)])
        self.costs = np.concatenate(
            [
                (problem.law[:, None] * problem.price).ravel(),
                np.ones(people * outputs),
                np.zeros((people + 1) * outputs),
            ]
        )
        low, high = np.zeros(self.width), np.full(self.width, np.inf)
        low[self.entries : self.entries + people * outputs] = -np.inf
        high[: self.entries] = 1.0
        self.bounds = np.column_stack([low, high])
        starts = score.starts
        places = np.arange(people * outputs)
        # the prior rate is one of them: without costs nothing is told, and that is the attacker's answer
        self.places = np.concatenate([np.repeat(places, starts.size), places])
        self.lines = np.concatenate([np.tile(starts, people * outputs), np.repeat(self.rates, outputs)])

    def solve(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Channel, heights t and the attacker's mean actions."""
        from scipy import optimize, sparse

        linprog: Any = optimize.linprog
        count, cells = self.lines.size, self.people * self.outputs
        one, zero = self.score.pays(self.lines, self.rates[self.places // self.outputs])
        first, index = self.entries, np.arange(count)
        columns = [first + cells + self.places, first + 2 * cells + self.places % self.outputs, first + self.places]
        above = sparse.csr_matrix(
            (np.concatenate([one - zero, zero, -np.ones(count)]), (np.tile(index, 3), np.concatenate(columns))),
            shape=(count, self.width),
        )
        options = {"primal_feasibility_tolerance": SOLVER_TOLERANCE, "dual_feasibility_tolerance": SOLVER_TOLERANCE}
        found = linprog(
            self.costs, above, np.zeros(count), self.equal, self.right, self.bounds, method="highs", options=options
        )
        if found.x is None or found.ineqlin is None or found.ineqlin.marginals is None:
            raise NotCertified("the equilibrium", f"the linear program was not solved: {found.message}")
        channel = np.clip(found.x[:first].reshape(self.problem.shape), 0.0, None)
        channel /= channel.sum(axis=1, keepdims=True)
        heights = found.x[first : first + cells].reshape(self.people, self.outputs)
        prices = np.maximum(-found.ineqlin.marginals, 0.0)
        weights = np.bincount(self.places, prices, cells)
        means = np.bincount(self.places, prices * self.lines, cells) / np.where(weights > 0, weights, 1.0)
        actions = np.clip(np.where(weights > 0, means, self.score.starts[0]), 0.0, 1.0)
        return channel, heights, actions.reshape(self.people, self.outputs)

    def add(self, missing: FloatArray, answers: FloatArray, others: tuple[FloatArray, ...], gap: float) -> bool:
        """New lines where the loss is above its heights, and at other actions of interest; False if there are none."""
        cells = np.arange(self.people * self.outputs)
        wanted = missing.ravel() > 0.05 * gap / cells.size
        places = np.concatenate([cells[wanted], *([cells] * len(others))])
        lines = np.concatenate([answers.ravel()[wanted], *(actions.ravel() for actions in others)])
        known = set(zip(self.places.tolist(), np.round(self.lines, 9).tolist(), strict=True))
        pairs = list(zip(places.tolist(), np.round(lines, 9).tolist(), strict=True))
        first = {pair: index for index, pair in reversed(list(enumerate(pairs)))}
        fresh = np.array([pair not in known and first[pair] == index for index, pair in enumerate(pairs)], dtype=bool)
        self.places = np.concatenate([self.places, places[fresh]])
        self.lines = np.concatenate([self.lines, lines[fresh]])
        return bool(fresh.any())
