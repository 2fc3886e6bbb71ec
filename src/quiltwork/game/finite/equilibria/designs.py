"""The defender's problem: a channel R(x | b) that minimises privacy loss + kappa E[cost], in rational numbers.

theta are the probabilities of the membership vectors, c(b, x) what it costs to publish x when the members are b.
Numbers given as floats are taken for the doubles they are, so that everything behind the solver is evaluated exactly.

Privacy losses are scores of an attacker: V(R) = max over a of sum_bx theta(b) R(x | b) sum_k g_k(b_k, a_k(x)).  For
each candidate and output the attacker plays one number a in [0, 1], and each score is concave in it:

    advantage   g(1, a) = (1 - gamma) a,    g(0, a) = -gamma a            V = sum (A - gamma P)_+      = max BWMA(gamma)
    tpr         g(1, a) = 2 a - a^2,        g(0, a) = -a^2                V = sum A^2 / P              = sum_k E p_k^2
    cel         g(1, a) = log(a / theta),   g(0, a) = log((1 - a) / (1 - theta))    V = sum_k I(b_k; x)

with P(x) and A_k(x) as in `game`.  So V is convex in the channel, and for *any* a

    V(R) + kappa E[c] >= sum_b theta(b) min_x ( sum_k g_k(b_k, a_k(x)) + kappa c(b, x) ),

which is the bound that certifies a design: it needs no solver and can be evaluated exactly.

Reference: seed 004 equation (4); theory/game.md section 1, Theorem 1 corrected (b); Gneiting and Raftery 2007 (proper
scores and convexity).
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property
from typing import Any

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.game.finite.game import FiniteGame
from quiltwork.game.finite.membership import bits, individuals
from quiltwork.numbers.laws import Table, doubles, number, read_table
from quiltwork.numbers.stated import log_ends

MAX_ENTRIES = 50_000  # of a channel that is still designed
MAX_PRICE = 10**9  # of kappa times a cost, next to privacy losses of a few units
GRID = 2**52  # channels of a solver are rounded to multiples of 1/GRID, so that exact sums stay short

_COST = "'changed', 'distance', or a table of finite numbers with one row a secret and one column an output"


@attrs.frozen(eq=False, slots=False)
class Design:
    """One problem, all of it in fractions; secrets of probability zero are left out."""

    prior: Table  # (B,), all positive
    members: np.ndarray[Any, np.dtype[np.int64]]  # (B, K)
    cost: Table  # (B, X), times kappa
    kept: np.ndarray[Any, np.dtype[np.int64]]  # the rows of the game that are here

    @cached_property
    def rates(self) -> Table:
        """theta_k."""
        return np.asarray(self.members.T @ self.prior)

    @cached_property
    def law(self) -> FloatArray:
        """The prior in floats, for solvers."""
        return doubles(self.prior)

    @cached_property
    def price(self) -> FloatArray:
        """kappa c(b, x) in floats, for solvers."""
        return doubles(self.cost)

    @property
    def shape(self) -> tuple[int, int]:
        """Secrets and outputs."""
        return int(self.cost.shape[0]), int(self.cost.shape[1])

    def joint(self, channel: Table) -> Table:
        """theta(b) R(x | b)."""
        return np.asarray(self.prior[:, None] * channel)

    def expense(self, channel: Table) -> Fraction:
        """kappa E[cost], exactly."""
        return Fraction((self.joint(channel) * self.cost).sum())


def design(game: FiniteGame, kappa: Any, cost: Any) -> Design:
    """The problem of this game: its prior, its outputs, and costs relative to what its channel would publish."""
    if not isinstance(game, FiniteGame):
        raise InvalidParameter("game", game, "a FiniteGame")
    if game.channel.size > MAX_ENTRIES:
        raise Unsupported("an equilibrium of this size", f"{game.channel.size:,} entries are more than {MAX_ENTRIES:,}")
    weight = Fraction(number("kappa", kappa))
    if weight < 0:
        raise InvalidParameter("kappa", kappa, "at least 0")
    prior = exactly(game.prior)
    prior = prior / prior.sum()
    kept = np.flatnonzero(prior > 0)
    members = bits(individuals(len(prior)))[kept]
    costs = (weight * _costs(game, cost))[kept]
    if abs(costs).max() > MAX_PRICE:
        raise InvalidParameter("kappa times the largest cost", float(weight), f"at most {MAX_PRICE:g}")
    return Design(prior[kept], members, costs, kept)


def distances(game: FiniteGame) -> Table:
    """c(b, x): the mean absolute distance of x from what the channel publishes for b; outputs must be numbers.

    >>> distances(FiniteGame.summary([[1], [0]]))[2].tolist()
    [Fraction(1, 1), Fraction(1, 2), Fraction(0, 1)]
    """
    try:
        rows = [output if isinstance(output, tuple) else (output,) for output in game.outputs]
        labels = [[Fraction(number("an output", value)) for value in row] for row in rows]
    except InvalidParameter:
        raise InvalidParameter("the outputs of the game", game.outputs[:3], "numbers, or tuples of numbers") from None
    if not labels[0] or any(len(row) != len(labels[0]) for row in labels):
        raise InvalidParameter("the outputs of the game", game.outputs[:3], "tuples of one length")
    table = np.array(labels, dtype=object)
    metric = abs(table[:, None, :] - table[None, :, :]).sum(axis=2) / table.shape[1]
    return np.asarray(exactly(game.channel) @ metric)


def _costs(game: FiniteGame, cost: Any) -> Table:
    if isinstance(cost, str) and cost == "changed":
        return np.asarray(1 - exactly(game.channel))
    if isinstance(cost, str) and cost == "distance":
        return distances(game)
    table = read_table("cost", cost, 2, _COST)
    if table.shape != game.channel.shape:
        raise InvalidParameter("the shape of cost", table.shape, f"{game.channel.shape}: {_COST}")
    return np.asarray(exactly(table))


exactly = np.vectorize(Fraction, otypes=[object])  # each entry of a table as the fraction that it is
rounded = np.vectorize(Fraction.limit_denominator, otypes=[object])  # the nearest of denominators up to a largest one


def true_channel(suggested: FloatArray) -> Table:
    """A channel near the suggested one: multiples of 1/GRID, none negative, rows of sum one exactly."""
    scaled = np.rint(np.clip(np.nan_to_num(suggested, nan=0.0), 0.0, 1.0) * GRID)
    found = np.empty(suggested.shape, dtype=object)
    for index, row in enumerate(scaled):
        whole = [int(entry) for entry in row]
        total = sum(whole)
        if not total:
            whole, total = [1] * len(whole), len(whole)
        parts = [entry * GRID // total for entry in whole]  # brought to the sum GRID, the rest to the largest
        parts[parts.index(max(parts))] += GRID - sum(parts)
        found[index] = [Fraction(part, GRID) for part in parts]
    return found


def simple(channel: Table, largest: int) -> Table:
    """A channel of nearby fractions with denominators up to `largest`; what is missing in a row goes to its largest."""
    found: Table = rounded(channel, largest)
    for row in found:
        row[int(np.argmax(row))] += 1 - row.sum()
    return channel if bool((found < 0).any()) else found


Ends = tuple[Fraction, Fraction]
EDGE = 1e-12  # the cross-entropy attacker never plays exactly 0 or 1, where its score is minus infinity


# Each score in floats for the solver, and in fractions for the certificate


@attrs.frozen
class AdvantageScore:
    """BWMA(gamma), as an expected count."""

    gamma: Fraction

    @property
    def starts(self) -> FloatArray:
        """Actions to begin with; all there are: the score is linear, and a mixture of 0 and 1 tosses a coin."""
        return np.array([0.0, 1.0])

    def pays(self, action: FloatArray, rate: FloatArray) -> tuple[FloatArray, FloatArray]:
        """g(1, a) and g(0, a)."""
        weight = float(self.gamma)
        return (1.0 - weight) * action, -weight * action

    def best(self, member: FloatArray, other: FloatArray) -> FloatArray:
        """The action that maximises A g(1, a) + (P - A) g(0, a), for masses A and P - A that are not both zero."""
        weight = float(self.gamma)
        return np.where((1.0 - weight) * member > weight * other, 1.0, 0.0)

    def exact_pays(self, action: Fraction, rate: Fraction) -> Ends:
        """Lower ends of g(1, a) and g(0, a)."""
        return (1 - self.gamma) * action, -self.gamma * action

    def exact_value(self, member: Fraction, other: Fraction, rate: Fraction) -> Fraction:
        """An upper end of the largest A g(1, a) + (P - A) g(0, a)."""
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


Score = AdvantageScore | SquaredScore | CrossEntropyScore


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
