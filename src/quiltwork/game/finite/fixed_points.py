"""Nash equilibria of the general-sum game: the attacker plays the posterior, the defender answers the frozen attacker.

The defender who faces p_k(x) pays sum_k b_k p_k(x) + kappa c(b, x) for publishing x; the attacker's p is the posterior
of the channel, which is what cross-entropy makes it play.  At outputs that never happen any belief is a best response;
the one taken calls everybody a member, which deters most.

Reference: seed 004 Definition 3; theory/game.md section 1, Theorem 1; McKelvey and Palfrey 1995 (logit equilibria).
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.game.finite.designs import Design
from quiltwork.game.finite.logit import cooled, traced
from quiltwork.game.finite.rationals import Table

__all__ = ["deterring", "regret", "searched"]

COLDEST = 1e-7  # temperature, in units of the largest cost difference
UNUSED = 1e-7  # outputs of less mass are taken for never happening
SUPPORTS = (1e-6, 1e-3)  # entries of a channel that are taken for positive
RANDOM = 4  # random starts after the usual ones


def deterring(problem: Design, channel: Table) -> Table:
    """The posterior p_k(x) of this channel, and 1 at outputs that never happen."""
    joint = problem.joint(channel)
    law = joint.sum(axis=0)
    members = problem.members.T @ joint
    never = law == 0
    return np.asarray((members + never) / (law + never))


def regret(problem: Design, channel: Table, attacker: Table) -> tuple[Fraction, Fraction]:
    """What the defender pays against the frozen attacker, and how much less the best answer would."""
    payoff = problem.members @ attacker + problem.cost
    paid = Fraction((problem.joint(channel) * payoff).sum())
    return paid, paid - Fraction((problem.prior * payoff.min(axis=1)).sum())


def searched(problem: Design, start: FloatArray, seed: int) -> Iterator[FloatArray]:
    """Channels that may be equilibria, each from another start."""
    rng = np.random.default_rng(seed)
    people, outputs = problem.members.shape[1], problem.shape[1]
    scale = people + float(np.ptp(problem.price))
    rates = np.repeat(np.asarray(problem.rates, dtype=float)[:, None], outputs, axis=1)
    cold = (problem.price == problem.price.min(axis=1, keepdims=True)).astype(float)
    cold /= cold.sum(axis=1, keepdims=True)
    coldest = COLDEST * scale
    yield from _both(problem, cooled(problem, rates, scale, coldest))
    yield from _both(problem, cooled(problem, _posterior(problem, start), 0.02 * scale, coldest))
    yield from _both(problem, traced(problem, rates, scale, coldest))
    yield from _both(problem, cooled(problem, _posterior(problem, cold), 0.02 * scale, coldest))
    for _ in range(RANDOM):
        yield from _both(problem, cooled(problem, rng.random((people, outputs)), 0.1 * scale, coldest))


def _both(problem: Design, channel: FloatArray) -> Iterator[FloatArray]:
    for least in SUPPORTS:
        yield _polished(problem, channel, least)
    yield channel


def _posterior(problem: Design, channel: FloatArray) -> FloatArray:
    joint = problem.law[:, None] * channel
    law = joint.sum(axis=0)
    return np.where(law > 0, (problem.members.T @ joint) / np.where(law > 0, law, 1.0), 1.0)


def _polished(problem: Design, channel: FloatArray, least: float) -> FloatArray:
    """Gauss-Newton on the support: equal costs for each secret, rows of sum one."""
    law, members = problem.law, problem.members.astype(float)
    channel = np.where((law @ channel > UNUSED)[None, :], channel, 0.0)
    used = channel > least
    channel = np.where(used, channel, 0.0)
    if not bool(used.any(axis=1).all()):
        return channel
    channel /= channel.sum(axis=1, keepdims=True)
    secret, output = np.nonzero(used)
    count, secrets = secret.size, len(law)
    values = (channel * (members @ _posterior(problem, channel) + problem.price)).sum(axis=1)
    for _ in range(30):
        joint = law[:, None] * channel
        masses = joint.sum(axis=0)
        beliefs = _posterior(problem, channel)
        costs = members @ beliefs + problem.price
        miss = np.concatenate([costs[used] - values[secret], channel.sum(axis=1) - 1.0])
        if float(np.abs(miss).max()) < 1e-15:
            break
        slope = np.zeros((count + secrets, count + secrets))
        same = output[:, None] == output[None, :]
        inner = np.einsum("ik,ijk->ij", members[secret], members[secret][None, :, :] - beliefs.T[output][:, None, :])
        slope[:count, :count] = np.where(same, inner * law[secret][None, :] / masses[output][:, None], 0.0)
        slope[np.arange(count), count + secret] = -1.0
        slope[count + secret, np.arange(count)] = 1.0
        step = np.linalg.lstsq(slope, -miss, rcond=None)[0]
        inside = channel[used] + step[:count]
        width = 1.0
        if inside.min() < 0.0:
            bad = inside < 0.0
            width = float(0.9 * (channel[used][bad] / -step[:count][bad]).min())
        channel = channel.copy()
        channel[used] += width * step[:count]
        values = values + width * step[count:]
    return np.clip(channel, 0.0, 1.0)
