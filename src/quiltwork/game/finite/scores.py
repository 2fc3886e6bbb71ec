"""Privacy losses as scores of an attacker: V(R) = max over a of sum_bx theta(b) R(x | b) sum_k g_k(b_k, a_k(x)).

For each candidate and output the attacker plays one number a in [0, 1], and each score is concave in it:

    advantage   g(1, a) = (1 - gamma) a,    g(0, a) = -gamma a            V = sum (A - gamma P)_+      = max BWMA(gamma)
    tpr         g(1, a) = 2 a - a^2,        g(0, a) = -a^2                V = sum A^2 / P              = sum_k E p_k^2
    cel         g(1, a) = log(a / theta),   g(0, a) = log((1 - a) / (1 - theta))    V = sum_k I(b_k; x)

with P(x) and A_k(x) as in `games`.  So V is convex in the channel, and for *any* a

    V(R) + kappa E[c] >= sum_b theta(b) min_x ( sum_k g_k(b_k, a_k(x)) + kappa c(b, x) ),

which is the bound that certifies a design: it needs no solver and can be evaluated exactly.

Reference: theory/game.md section 1, Theorem 1 corrected (b); Gneiting and Raftery 2007 (proper scores and convexity).
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Protocol

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.errors import InvalidParameter
from quiltwork.game.finite.equilibria.designs import Design
from quiltwork.numbers.laws import Table
from quiltwork.numbers.stated import log_ends

__all__ = ["AdvantageScore", "CrossEntropyScore", "Score", "SquaredScore", "float_value", "lower_bound", "upper_bound"]

Ends = tuple[Fraction, Fraction]
EDGE = 1e-12  # the cross-entropy attacker never plays exactly 0 or 1, where its score is minus infinity


class Score(Protocol):
    """One of the three, in floats for the solver and in fractions for the certificate."""

    @property
    def starts(self) -> FloatArray:
        """Actions to begin with."""
        ...

    def pays(self, action: FloatArray, rate: FloatArray) -> tuple[FloatArray, FloatArray]:
        """g(1, a) and g(0, a)."""
        ...

    def best(self, member: FloatArray, other: FloatArray) -> FloatArray:
        """The action that maximises A g(1, a) + (P - A) g(0, a), for masses A and P - A that are not both zero."""
        ...

    def exact_pays(self, action: Fraction, rate: Fraction) -> Ends:
        """Lower ends of g(1, a) and g(0, a)."""
        ...

    def exact_value(self, member: Fraction, other: Fraction, rate: Fraction) -> Fraction:
        """An upper end of the largest A g(1, a) + (P - A) g(0, a)."""
        ...


@attrs.frozen
class AdvantageScore:
    """BWMA(gamma), as an expected count."""

    gamma: Fraction

    @property
    def starts(self) -> FloatArray:
        """All there are: the score is linear, and a mixture of 0 and 1 is a rule that tosses a coin."""
        return np.array([0.0, 1.0])

    def pays(self, action: FloatArray, rate: FloatArray) -> tuple[FloatArray, FloatArray]:
        weight = float(self.gamma)
        return (1.0 - weight) * action, -weight * action

    def best(self, member: FloatArray, other: FloatArray) -> FloatArray:
        weight = float(self.gamma)
        return np.where((1.0 - weight) * member > weight * other, 1.0, 0.0)

    def exact_pays(self, action: Fraction, rate: Fraction) -> Ends:
        return (1 - self.gamma) * action, -self.gamma * action

    def exact_value(self, member: Fraction, other: Fraction, rate: Fraction) -> Fraction:
        return max((1 - self.gamma) * member - self.gamma * other, Fraction(0))


@attrs.frozen
class SquaredScore:
    """E[p^2]: the true positives of an attacker that samples from the posterior."""

    @property
    def starts(self) -> FloatArray:
        return np.linspace(0.0, 1.0, 9)

    def pays(self, action: FloatArray, rate: FloatArray) -> tuple[FloatArray, FloatArray]:
        return 2.0 * action - action**2, -(action**2)

    def best(self, member: FloatArray, other: FloatArray) -> FloatArray:
        return np.clip(member / (member + other), 0.0, 1.0)

    def exact_pays(self, action: Fraction, rate: Fraction) -> Ends:
        return 2 * action - action**2, -(action**2)

    def exact_value(self, member: Fraction, other: Fraction, rate: Fraction) -> Fraction:
        return member**2 / (member + other) if member else Fraction(0)


@attrs.frozen
class CrossEntropyScore:
    """Mutual information of each b_k with the release, in nats: minus the binary cross-entropy, up to a constant."""

    @property
    def starts(self) -> FloatArray:
        return np.concatenate(([1e-9, 1e-4], np.linspace(0.05, 0.95, 9), [1.0 - 1e-4, 1.0 - 1e-9]))

    def pays(self, action: FloatArray, rate: FloatArray) -> tuple[FloatArray, FloatArray]:
        inside = np.clip(action, EDGE, 1.0 - EDGE)
        open_ = (rate > 0.0) & (rate < 1.0)  # about a sure member there is nothing to learn
        share = np.where(open_, rate, 0.5)
        one, zero = np.log(inside / share), np.log((1.0 - inside) / (1.0 - share))
        return np.where(open_, one, 0.0), np.where(open_, zero, 0.0)

    def best(self, member: FloatArray, other: FloatArray) -> FloatArray:
        return np.clip(member / (member + other), EDGE, 1.0 - EDGE)

    def exact_pays(self, action: Fraction, rate: Fraction) -> Ends:
        if rate in (0, 1):
            return Fraction(0), Fraction(0)
        return log_ends(action / rate)[0], log_ends((1 - action) / (1 - rate))[0]

    def exact_value(self, member: Fraction, other: Fraction, rate: Fraction) -> Fraction:
        total = Fraction(0)
        for mass, share in ((member, rate), (other, 1 - rate)):
            if mass:
                total += mass * log_ends(mass / ((member + other) * share))[1]
        return total


def lower_bound(problem: Design, score: Score, actions: Table) -> Fraction:
    """No channel has a smaller loss than this, whatever actions (K, X) in [0, 1] are given."""
    people, outputs = actions.shape
    if bool((actions < 0).any()) or bool((actions > 1).any()):
        raise InvalidParameter("the actions of the attacker", "some outside [0, 1]", "in [0, 1]")
    gains = np.empty((2, people, outputs), dtype=object)
    for k in range(people):
        for x in range(outputs):
            gains[1, k, x], gains[0, k, x] = score.exact_pays(actions[k, x], problem.rates[k])
    payoff = problem.members @ gains[1] + (1 - problem.members) @ gains[0] + problem.cost
    return Fraction((problem.prior * payoff.min(axis=1)).sum())


def upper_bound(problem: Design, score: Score, channel: Table) -> Fraction:
    """What this channel loses, against the best attacker, in all."""
    joint = problem.joint(channel)
    members, others = problem.members.T @ joint, (1 - problem.members.T) @ joint
    total = problem.expense(channel)
    for k, rate in enumerate(problem.rates):
        pairs = zip(members[k].tolist(), others[k].tolist(), strict=True)
        total += sum((score.exact_value(a, b, rate) for a, b in pairs), Fraction(0))
    return total


def float_value(problem: Design, score: Score, channel: FloatArray) -> tuple[float, FloatArray, FloatArray]:
    """The loss of a channel in plain floats, its part for each candidate and output, and the attacker's actions."""
    joint = problem.law[:, None] * channel
    members, others = problem.members.T @ joint, (1 - problem.members.T) @ joint
    rates = np.asarray(problem.rates, dtype=float)[:, None]
    used = members + others > 0
    actions = np.where(used, score.best(np.where(used, members, 1.0), np.where(used, others, 1.0)), rates)
    one, zero = score.pays(actions, rates)
    parts = np.where(used, members * one + others * zero, 0.0)
    return math.fsum(parts.ravel()) + float((joint * problem.price).sum()), parts, actions
