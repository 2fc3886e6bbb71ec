"""Equilibria of finite games: what a defender should publish against an attacker who knows the strategy.

`stackelberg`: the defender commits first.  Against the advantage (BWMA) or cross-entropy the game is zero-sum up to a
term in the channel alone, so that Nash = Stackelberg = minimax, and the problem is convex.  With the true positives of
posterior sampling as loss (the paper's (4)) commitment is still convex, but the Nash equilibrium of the simultaneous
game is another one and costs more: `nash`.

What a solver returns is a suggestion.  It is repaired to a true channel, evaluated in rational numbers, and bracketed
from below by the attacker's own bound (`scores`); both ends hold whatever the solver did.

Reference: seed 004 Definitions 1 and 3, Theorem 1; theory/game.md section 1, Theorem 1 corrected.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Literal

import attrs
import numpy as np

from quiltwork import checks
from quiltwork.curves import Bracket
from quiltwork.errors import Unreachable, Unsupported
from quiltwork.game.finite.equilibria.commitment import barrier, cutting_planes, joint_lower_bound, joint_upper_bound
from quiltwork.game.finite.equilibria.designs import (
    AdvantageScore,
    CrossEntropyScore,
    Design,
    Score,
    SquaredScore,
    design,
    exactly,
    lower_bound,
    rounded,
    simple,
    true_channel,
    upper_bound,
)
from quiltwork.game.finite.equilibria.nash import deterring, regret, searched
from quiltwork.game.finite.game import FiniteGame, weight_of
from quiltwork.kinds import document
from quiltwork.numbers.laws import Number, Table, number
from quiltwork.numbers.stated import double_above, double_below

Status = Literal["exact", "certified", "approximate"]
BELIEFS = 600  # candidates times outputs up to which a fixed point is searched
SNAPPED = 3000  # entries of a channel up to which simple fractions are tried
DENOMINATORS = (12, 120, 1000, 10**5)


@document("equilibrium/1")
@attrs.frozen(eq=False)
class Equilibrium:
    """A channel, what it loses, the attacker it was found against, and how far both are from optimal.

    `attacker` has one row a candidate and one column an output: the probability of saying member ("advantage") or the
    belief p_k(x); for "joint cel" one row a membership vector, q(b | x).  `regret` is an upper bound on what players
    could still gain: the gap of `value` for a commitment, the defender's gain for a fixed point.  `status` is "exact"
    when it is zero, "certified" when `value` holds the optimum, and "approximate" for a fixed point that is only nearly
    one.
    """

    game: FiniteGame
    value: Bracket
    attacker: Table
    regret: Number
    status: Status
    loss: str
    kappa: Number
    expense: Fraction  # kappa E[cost] of the channel

    @property
    def channel(self) -> Table:
        """R(x | b), in fractions; secrets of probability zero publish from the output law."""
        return self.game.channel


def stackelberg(
    game: FiniteGame,
    kappa: Any,
    *,
    loss: str = "cel",
    gamma: Any = Fraction(1, 2),
    cost: Any = "changed",
    tolerance: float = 1e-6,
) -> Equilibrium:
    """The channel a defender should commit to: least privacy loss + kappa E[cost], certified from both sides.

    `loss`: "cel" (sum_k I(b_k; x) in nats), "joint cel" (I(b; x)), "advantage" (max BWMA(gamma)) or "tpr"
    (sum_k E p_k^2).  `cost`: "changed" (the probability of not publishing what the game's own channel would),
    "distance" (the mean absolute distance from it, when outputs are numbers) or a table c(b, x).  The outputs are those
    of the game; floats are taken for the doubles they are.

    >>> bit = FiniteGame(["1/2", "1/2"], [[1, 0], [0, 1]])
    >>> found = stackelberg(bit, "3/5", loss="tpr")
    >>> found.status, found.value.upper, found.channel[0].tolist()
    ('exact', 0.46, [Fraction(4, 5), Fraction(1, 5)])
    """
    score = _score(loss, gamma)
    problem, accuracy = design(game, kappa, cost), checks.positive("tolerance", tolerance)
    if score is None:
        channel, attacker, low, high = _joint(problem, accuracy)
    else:
        channel, attacker, low, high = _factorised(problem, score, loss != "cel", accuracy)
    met = float(high - low) <= accuracy
    value = Bracket(double_below(low), double_above(high), "cost", "optimal commitment", met)
    return _equilibrium(game, problem, channel, value, attacker, high - low, loss, kappa)


def nash(
    game: FiniteGame,
    kappa: Any,
    *,
    loss: str = "tpr",
    gamma: Any = Fraction(1, 2),
    cost: Any = "changed",
    tolerance: float = 1e-6,
    seed: int = 0,
) -> Equilibrium:
    """A point where neither player gains by a change of strategy; parameters as for `stackelberg`.

    For "tpr" the game is not zero-sum: the attacker plays the posterior, the defender answers the frozen attacker.
    The fixed point is searched, and its regret is evaluated exactly; Unreachable when none below `tolerance` is found.
    There may be several equilibria.  For the other losses this is the commitment.

    >>> bit = FiniteGame(["1/2", "1/2"], [[1, 0], [0, 1]])
    >>> found = nash(bit, "3/5")
    >>> found.regret, found.value.upper, found.channel[1].tolist()
    (Fraction(0, 1), 0.5, [Fraction(2, 3), Fraction(1, 3)])
    """
    score = _score(loss, gamma)
    if loss != "tpr" or score is None:
        return stackelberg(game, kappa, loss=loss, gamma=gamma, cost=cost, tolerance=tolerance)
    problem, accuracy = design(game, kappa, cost), checks.positive("tolerance", tolerance)
    beliefs = problem.members.shape[1] * problem.shape[1]
    if beliefs > BELIEFS:
        raise Unsupported("a Nash equilibrium of this size", f"{beliefs} beliefs are more than {BELIEFS}")
    start = cutting_planes(problem, score, 1e-4).channel
    best: tuple[Fraction, Fraction, Table, Table] | None = None
    for suggested in searched(problem, start, checks.count("seed", seed)):
        for channel in _candidates(true_channel(suggested)):
            attacker = deterring(problem, channel)
            paid, left = regret(problem, channel, attacker)
            if best is None or left < best[0]:
                best = left, paid, channel, attacker
            if left == 0:
                break
        if best is not None and best[0] <= Fraction(accuracy):
            break
    if best is None or best[0] > Fraction(accuracy):
        found = "none" if best is None else f"{float(best[0]):.3g}"
        raise Unreachable(f"regret {accuracy:g}", "the fixed points searched", f"the least regret found is {found}")
    left, paid, channel, attacker = best
    value = Bracket(double_below(paid), double_above(paid), "cost", "fixed point", certified=left == 0)
    return _equilibrium(game, problem, channel, value, attacker, left, loss, kappa)


# ---- suggestions made true


def _score(loss: str, gamma: Any) -> Score | None:
    """The score of a loss; None for the joint one, which has a solver of its own."""
    scores: dict[str, Score | None] = {
        "advantage": AdvantageScore(weight_of(gamma)),
        "cel": CrossEntropyScore(),
        "joint cel": None,
        "tpr": SquaredScore(),
    }
    return scores[checks.one_of("loss", loss, scores)]


def _candidates(channel: Table) -> list[Table]:
    """The channel and, when it is small, simple fractions near it: an equilibrium in them is exact."""
    if channel.size > SNAPPED:
        return [channel]
    return [*(simple(channel, largest) for largest in DENOMINATORS), channel]


def _factorised(
    problem: Design, score: Score, rational: bool, tolerance: float
) -> tuple[Table, Table, Fraction, Fraction]:
    # a channel is off by the root of the gap: small problems are solved further, to be read as simple fractions
    found = cutting_planes(problem, score, min(tolerance, 1e-9) if rational and problem.cost.size <= 64 else tolerance)
    channel, actions = true_channel(found.channel), exactly(found.actions)
    if not rational:
        inside = exactly(np.clip(found.actions, 1e-12, 1.0 - 1e-12))
        return channel, inside, lower_bound(problem, score, inside), upper_bound(problem, score, channel)
    low, high = lower_bound(problem, score, actions), upper_bound(problem, score, channel)
    if channel.size <= SNAPPED:
        for largest in DENOMINATORS:
            neat, rule = simple(channel, largest), rounded(actions, largest)
            reached, proved = upper_bound(problem, score, neat), lower_bound(problem, score, rule)
            if reached == proved:
                return neat, rule, proved, reached
    return channel, actions, low, high


def _joint(problem: Design, tolerance: float) -> tuple[Table, Table, Fraction, Fraction]:
    found = barrier(problem, tolerance)
    channel, posterior = true_channel(found.channel), exactly(found.actions)
    sums = posterior.sum(axis=0)
    posterior = np.asarray(posterior / np.where(sums > 1, sums, 1))
    return channel, posterior, joint_lower_bound(problem, posterior), joint_upper_bound(problem, channel)


def _equilibrium(
    game: FiniteGame,
    problem: Design,
    channel: Table,
    value: Bracket,
    attacker: Table,
    left: Fraction,
    loss: str,
    kappa: Any,
) -> Equilibrium:
    status: Status = "exact" if left == 0 else "certified" if value.certified else "approximate"
    law = problem.joint(channel).sum(axis=0)
    whole = np.empty((len(game.prior), channel.shape[1]), dtype=object)
    whole[:] = law
    whole[problem.kept] = channel
    prior = np.full(len(game.prior), Fraction(0), dtype=object)
    prior[problem.kept] = problem.prior
    if loss == "joint cel":  # one row a membership vector
        full = np.full((len(game.prior), attacker.shape[1]), Fraction(0), dtype=object)
        full[problem.kept] = attacker
        attacker = full
    released = FiniteGame(prior, whole, game.outputs)
    weight = number("kappa", kappa)
    return Equilibrium(released, value, attacker, left, status, loss, weight, problem.expense(channel))
