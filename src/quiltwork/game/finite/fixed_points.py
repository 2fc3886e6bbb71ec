"""Nash equilibria of the general-sum game: the attacker plays the posterior, the defender answers the frozen attacker.

The defender who faces p_k(x) pays sum_k b_k p_k(x) + kappa c(b, x) for publishing x; the attacker's p is the posterior
of the channel, which is what cross-entropy makes it play.  At outputs that never happen any belief is a best response;
the one that deters most, p = 1, is kept.  There is no potential, so the fixed point is only searched: logit responses
R(x | b) ~ e^(-cost / temperature) are followed to low temperatures by Newton's method in p, and the equations of the
support found there are solved.

Reference: seed 004 Definition 3; theory/game.md section 1, Theorem 1; McKelvey and Palfrey 1995 (logit equilibria).
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.game.finite.designs import Design
from quiltwork.game.finite.rationals import Table

__all__ = ["deterring", "regret", "searched"]

COLDEST = 1e-5  # temperature, in units of the largest cost difference
UNUSED = 1e-7  # outputs of less mass are taken for never happening
RANDOM = 6  # random starts after the usual ones


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
    warm = [(rates, scale), (_posterior(problem, start), 0.02 * scale), (_posterior(problem, cold), 0.02 * scale)]
    warm += [(rng.random((people, outputs)), 0.1 * scale) for _ in range(RANDOM)]
    for beliefs, hottest in warm:
        channel = _followed(problem, beliefs, hottest, COLDEST * scale)
        yield _polished(problem, channel)
        yield channel


def _posterior(problem: Design, channel: FloatArray) -> FloatArray:
    joint = problem.law[:, None] * channel
    law = joint.sum(axis=0)
    return np.where(law > 0, (problem.members.T @ joint) / np.where(law > 0, law, 1.0), 1.0)


def _logit(problem: Design, beliefs: FloatArray, temperature: float) -> tuple[FloatArray, FloatArray]:
    """The logit response to beliefs, and its posterior, in logarithms so that rare outputs keep theirs."""
    scores = -(problem.members @ beliefs + problem.price) / temperature
    scores -= scores.max(axis=1, keepdims=True)
    logs = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
    weights = logs + np.log(problem.law)[:, None]
    shares = np.exp(weights - weights.max(axis=0, keepdims=True))
    return np.exp(logs), shares / shares.sum(axis=0, keepdims=True)


def _followed(problem: Design, beliefs: FloatArray, temperature: float, coldest: float) -> FloatArray:
    """Newton's method for p = posterior(logit(p)), at falling temperatures."""
    while temperature > coldest:
        temperature *= 0.6
        beliefs = _settled(problem, beliefs, temperature)
    return _logit(problem, beliefs, temperature)[0]


def _settled(problem: Design, beliefs: FloatArray, temperature: float) -> FloatArray:
    shape, members = beliefs.shape, problem.members.astype(float)
    for _ in range(12):
        channel, shares = _logit(problem, beliefs, temperature)
        answer = members.T @ shares
        miss = (answer - beliefs).ravel()
        size = float(np.abs(miss).max())
        if size < 1e-12:
            break
        # d posterior[k, x] / d p[l, y] through log R(x | b) = -cost / T - log Z(b)
        spread = members.T[:, None, :] - answer[:, :, None]  # (K, X, B)
        spread = spread * shares.T[None, :, :] / -temperature
        change = np.einsum("kxb,bl,by->kxly", spread, members, -channel)
        own = np.einsum("kxb,bl->kxl", spread, members)
        for x in range(shape[1]):
            change[:, x, :, x] += own[:, x, :]
        slope = change.reshape(miss.size, miss.size) - np.eye(miss.size)
        step = np.linalg.lstsq(slope, -miss, rcond=None)[0]
        width = 1.0
        while width > 1e-3:
            trial = np.clip(beliefs + width * step.reshape(shape), 0.0, 1.0)
            left = float(np.abs(members.T @ _logit(problem, trial, temperature)[1] - trial).max())
            if left < size:
                break
            width *= 0.5
        else:
            trial = beliefs + 0.05 * (answer - beliefs)  # a small step of the plain iteration instead
        beliefs = trial
    return beliefs


def _polished(problem: Design, channel: FloatArray) -> FloatArray:
    """Gauss-Newton on the support: equal costs for each secret, rows of sum one."""
    law, members = problem.law, problem.members.astype(float)
    channel = np.where((law @ channel > UNUSED)[None, :], channel, 0.0)
    used = channel > 1e-6
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
