"""Optimal commitment: cutting planes against each candidate's score, a barrier method against the joint attacker.

Cutting planes.  The loss is a sum over candidates and outputs of convex functions V(A, P - A), each the maximum of the
lines A g(1, a) + (P - A) g(0, a) over a in [0, 1] (see `designs`).  The program keeps finitely many lines,

    min sum_kx t_kx + kappa E[c]   subject to   t_kx >= A_kx g_k(1, a) + (P_x - A_kx) g_k(0, a) for the a kept,

solves for the channel, and adds the line of the best action where the loss is not yet met.  The prices of the lines of
(k, x) are a law over actions; its mean is an action that does at least as well, because the score is concave, and it
proves the lower bound.  Lines are one-dimensional, so the gap falls to a quarter with each round.

Rate-distortion.  Against the joint attacker the loss is mutual information, I(b; x) + kappa E[c].  With
M(b, x) = e^(-kappa c(b, x)), the best channel for an output law r is R(x | b) = r(x) M(b, x) / (M r)(b), and what is
left is min over r of -sum_b theta(b) log (M r)(b).  It is solved by a barrier method on

    -sum_b theta(b) log (M r)(b) + sum_x r(x) - t sum_x log r(x),     r > 0,

whose minimiser satisfies sum_b theta(b) M(b, x) / (M r)(b) = 1 - t / r(x) <= 1: so the attacker
q(b | x) = theta(b) M(b, x) / (M r)(b) has columns of sum at most one, and any such q proves

    I(b; x) + kappa E[c] >= sum_b theta(b) min_x ( log(q(b | x) / theta(b)) + kappa c(b, x) ).

Reference: Kelley 1960, "The cutting-plane method for solving convex programs"; Berger 1971, "Rate Distortion Theory";
Boyd and Vandenberghe 2004, chapter 11; theory/game.md section 1.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.errors import InvalidParameter, NotCertified
from quiltwork.game.finite.equilibria.designs import Design, Score, float_value
from quiltwork.numbers.laws import Table
from quiltwork.numbers.stated import log_ends

MAX_PROGRAMS = 60  # linear programs at most
STEPS = (1.0, 0.5, 0.25, 0.1, 0.03)  # of the way to a new channel
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
    best: tuple[float, FloatArray] = (np.inf, np.zeros(0))
    most: tuple[float, FloatArray] = (-np.inf, np.zeros(0))
    gap, waited = np.inf, 0
    for _ in range(MAX_PROGRAMS):
        channel, heights, actions = program.solve()
        _, parts, answers = float_value(problem, score, channel)
        lower = _float_bound(problem, score, actions)
        # the best channel on the way from the best one so far to a new one: corners of the program lie around it
        start = best[1] if best[1].size else channel
        for trial in (start + share * (channel - start) for share in STEPS):
            best = min(best, (float_value(problem, score, trial)[0], trial), key=lambda pair: pair[0])
        if lower > most[0]:
            most = lower, actions
        left = best[0] - most[0]
        waited = 0 if left < 0.9 * gap else waited + 1
        gap = min(gap, left)
        if gap <= 0.25 * tolerance or waited >= PATIENCE:
            break
        middle = float_value(problem, score, best[1])[2]
        if not program.add(parts - heights, answers, (actions, middle), gap):
            break
    return Suggestion(best[1], most[1])


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


MIN_ENTRY = 1e-250  # of an entry of q: its logarithm must be finite
NEWTON_STEPS = 60  # of Newton's method for one t
FINEST = 1e-11  # what floats can still resolve; the certificate says what was reached


def barrier(problem: Design, tolerance: float) -> Suggestion:
    """A channel and a joint attacker q(b | x) whose bounds are about `tolerance` apart."""
    law, price = problem.law, problem.price
    shifted = price - price.min(axis=1, keepdims=True)  # a constant for each secret changes nothing
    kernel = np.exp(-shifted)
    outputs = kernel.shape[1]
    masses = np.full(outputs, 1.0 / outputs)
    size = 1.0 / outputs
    while True:
        masses = _centred(kernel, law, masses, size)
        if size * outputs <= 0.01 * max(tolerance, FINEST):
            break
        size *= 0.2
    mixed = kernel @ masses
    channel = masses[None, :] * kernel / mixed[:, None]
    posterior = np.maximum(law[:, None] * kernel / mixed[:, None], MIN_ENTRY)
    return Suggestion(channel / channel.sum(axis=1, keepdims=True), posterior / np.maximum(posterior.sum(axis=0), 1.0))


def _centred(kernel: FloatArray, law: FloatArray, masses: FloatArray, size: float) -> FloatArray:
    """The minimiser for one t, by Newton's method in log r, which keeps r positive."""

    def height(r: FloatArray) -> float:
        return float(-(law @ np.log(kernel @ r)) + r.sum() - size * np.log(r).sum())

    here = height(masses)
    for _ in range(NEWTON_STEPS):
        ratio = kernel / (kernel @ masses)[:, None]
        slope = 1.0 - law @ ratio - size / masses
        bend = (ratio * law[:, None]).T @ ratio + np.diag(size / masses**2)
        # scaled by r: the step is relative
        scaled = bend * np.outer(masses, masses)
        step = np.linalg.solve(scaled + 1e-15 * np.trace(scaled) * np.eye(masses.size), -slope * masses)
        fall = float(-(slope * masses) @ step)
        if fall <= 1e-9 * size:
            break
        width = min(1.0, 0.9 / max(float(-step.min()), 1e-300))
        while True:
            trial = masses * (1.0 + width * step)
            there = height(trial)
            if there <= here - 0.1 * width * fall or width < 1e-6:
                break
            width *= 0.5
        masses, here = trial, there
    return masses


def joint_lower_bound(problem: Design, posterior: Table) -> Fraction:
    """The bound of the module docstring for a q(b | x) > 0 with columns of sum at most one."""
    if bool((posterior <= 0).any()) or bool((posterior.sum(axis=0) > 1).any()):
        raise InvalidParameter("the joint attacker", "columns that are no laws", "positive, of sum at most 1")
    total = Fraction(0)
    for mass, row, costs in zip(problem.prior.tolist(), posterior.tolist(), problem.cost.tolist(), strict=True):
        total += mass * min(log_ends(q / mass)[0] + price for q, price in zip(row, costs, strict=True))
    return total


def joint_upper_bound(problem: Design, channel: Table) -> Fraction:
    """I(b; x) + kappa E[c] of this channel: the upper end of sum J log(J / (theta P))."""
    joint = problem.joint(channel)
    law = joint.sum(axis=0)
    total = problem.expense(channel)
    for mass, row in zip(problem.prior.tolist(), joint.tolist(), strict=True):
        for entry, output in zip(row, law.tolist(), strict=True):
            if entry:
                total += entry * log_ends(entry / (mass * output))[1]
    return total
