"""Optimal commitment against the joint attacker: mutual information I(b; x) + kappa E[c] is a rate-distortion problem.

With M(b, x) = e^(-kappa c(b, x)), the best channel for an output law r is R(x | b) = r(x) M(b, x) / (M r)(b), and what
is left is min over r of -sum_b theta(b) log (M r)(b).  It is solved by a barrier method on

    -sum_b theta(b) log (M r)(b) + sum_x r(x) - t sum_x log r(x),     r > 0,

whose minimiser satisfies sum_b theta(b) M(b, x) / (M r)(b) = 1 - t / r(x) <= 1: so the attacker
q(b | x) = theta(b) M(b, x) / (M r)(b) has columns of sum at most one, and any such q proves

    I(b; x) + kappa E[c] >= sum_b theta(b) min_x ( log(q(b | x) / theta(b)) + kappa c(b, x) ).

Reference: Berger 1971, "Rate Distortion Theory"; Boyd and Vandenberghe 2004, chapter 11; theory/game.md section 1.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.errors import InvalidParameter
from quiltwork.game.finite.equilibria.commitment import Suggestion
from quiltwork.game.finite.equilibria.designs import Design
from quiltwork.numbers.laws import Table
from quiltwork.numbers.stated import log_ends

__all__ = ["barrier", "joint_lower_bound", "joint_upper_bound"]

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
