"""Nash equilibria of the general-sum game: the attacker plays the posterior, the defender answers the frozen attacker.

The defender who faces p_k(x) pays sum_k b_k p_k(x) + kappa c(b, x) for publishing x; the attacker's p is the posterior
of the channel, which is what cross-entropy makes it play.  At outputs that never happen any belief is a best response;
the one taken calls everybody a member, which deters most.

Logit equilibria: the defender answers beliefs p with R(x | b) ~ e^(-cost / T), and p is the posterior of that.
At a high temperature T there is one such point; followed to low temperatures it ends, in general, at an equilibrium.
`cooled` follows it by Newton's method at falling temperatures and is fast; `traced` follows the curve itself, which may
turn back, by its arc length.

Reference: seed 004 Definition 3; theory/game.md section 1, Theorem 1; McKelvey and Palfrey 1995, "Quantal response
equilibria for normal form games"; Turocy 2005, "A dynamic homotopy interpretation of the logistic quantal response
equilibrium correspondence".
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.game.finite.equilibria.designs import Design
from quiltwork.numbers.laws import Table

NEWTON_ROUNDS = 12  # of Newton's method at one temperature
CURVE_STEPS = 600  # along the curve


@attrs.frozen(eq=False)
class _Equations:
    """posterior(logit(p)) - p and its derivatives, by p and by log 1/T."""

    channel: FloatArray
    miss: FloatArray  # (K X,)
    slope: FloatArray  # (K X, K X)
    drift: FloatArray  # (K X,)


def _shares(problem: Design, beliefs: FloatArray, temperature: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Costs, the logit response and P(b | x), in logarithms so that rare outputs keep their posterior."""
    costs = problem.members @ beliefs + problem.price
    scores = -costs / temperature
    scores -= scores.max(axis=1, keepdims=True)
    logs = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
    weights = logs + np.log(np.maximum(problem.law, 1e-300))[:, None]
    shares = np.exp(weights - weights.max(axis=0, keepdims=True))
    return costs, np.exp(logs), shares / shares.sum(axis=0, keepdims=True)


def _equations(problem: Design, beliefs: FloatArray, temperature: float) -> _Equations:
    members = problem.members.astype(float)
    costs, channel, shares = _shares(problem, beliefs, temperature)
    answer = members.T @ shares
    # d posterior[k, x] / d log R(x | b), and log R(x | b) = -cost / T - log Z(b)
    spread = (members.T[:, None, :] - answer[:, :, None]) * shares.T[None, :, :] / temperature
    change = np.einsum("kxb,bl,by->kxly", spread, members, channel)
    own = np.einsum("kxb,bl->kxl", spread, members)
    places = np.arange(beliefs.shape[1])
    change[:, places, :, places] -= own.transpose(1, 0, 2)
    size = beliefs.size
    moved = (channel * costs).sum(axis=1)[:, None] - costs
    drift = np.einsum("kxb,bx->kx", spread, moved)
    return _Equations(channel, (answer - beliefs).ravel(), change.reshape(size, size) - np.eye(size), drift.ravel())


def cooled(problem: Design, beliefs: FloatArray, temperature: float, coldest: float) -> FloatArray:
    """The logit response at the lowest temperature, by Newton's method at falling ones."""
    while temperature > coldest:
        temperature *= 0.6
        beliefs = _settled(problem, beliefs, temperature)
    return _shares(problem, beliefs, temperature)[1]


def _settled(problem: Design, beliefs: FloatArray, temperature: float) -> FloatArray:
    members = problem.members.astype(float)
    for _ in range(NEWTON_ROUNDS):
        here = _equations(problem, beliefs, temperature)
        size = float(np.abs(here.miss).max())
        if size < 1e-12:
            break
        step = np.linalg.lstsq(here.slope, -here.miss, rcond=None)[0].reshape(beliefs.shape)
        width = 1.0
        while width > 1e-3:
            trial = np.clip(beliefs + width * step, 0.0, 1.0)
            left = float(np.abs(members.T @ _shares(problem, trial, temperature)[2] - trial).max())
            if left < size:
                break
            width *= 0.5
        else:
            trial = beliefs + 0.05 * here.miss.reshape(beliefs.shape)  # a small step of the plain iteration instead
        beliefs = trial
    return beliefs


def traced(problem: Design, beliefs: FloatArray, temperature: float, coldest: float) -> FloatArray:
    """The logit response at the lowest temperature reached along the curve through the point at a high one."""
    beliefs = _settled(problem, beliefs, temperature)
    cold, length = -math.log(temperature), 0.1
    before = np.concatenate([np.zeros(beliefs.size), [1.0]])
    for _ in range(CURVE_STEPS):
        if cold >= -math.log(coldest):
            break
        here = _equations(problem, beliefs, math.exp(-cold))
        tangent = _tangent(here, before)
        found = None
        while found is None and length > 1e-7:
            found = _corrected(problem, beliefs, cold, tangent, length)
            length *= 1.5 if found is not None else 0.4
        if found is None:
            break
        beliefs, cold = found
        before, length = tangent, min(length, 1.0)
    return _shares(problem, beliefs, math.exp(-cold))[1]


def _tangent(here: _Equations, before: FloatArray) -> FloatArray:
    """The unit vector along the curve that goes on as before."""
    matrix = np.vstack([np.column_stack([here.slope, here.drift]), before])
    right = np.zeros(before.size)
    right[-1] = 1.0
    found = np.linalg.lstsq(matrix, right, rcond=None)[0]
    return np.asarray(found / np.linalg.norm(found))


def _corrected(
    problem: Design, beliefs: FloatArray, cold: float, tangent: FloatArray, length: float
) -> tuple[FloatArray, float] | None:
    """The point of the curve at that distance along the tangent; None where Newton's method does not find it."""
    target = np.concatenate([beliefs.ravel(), [cold]]) + length * tangent
    point = target.copy()
    for _ in range(6):
        here = _equations(problem, point[:-1].reshape(beliefs.shape), math.exp(-point[-1]))
        miss = np.concatenate([here.miss, [tangent @ (point - target)]])
        if float(np.abs(miss).max()) < 1e-10:
            return point[:-1].reshape(beliefs.shape), float(point[-1])
        matrix = np.vstack([np.column_stack([here.slope, here.drift]), tangent])
        step = np.linalg.lstsq(matrix, -miss, rcond=None)[0]
        if not bool(np.all(np.isfinite(step))) or float(np.abs(step).max()) > 2.0:
            return None
        point = point + step
    return None


COLDEST = 1e-7  # temperature, in units of the largest cost difference
UNUSED = 1e-7  # outputs of less mass are taken for never happening
SUPPORTS = (1e-6, 1e-3)  # entries of a channel that are taken for positive
RANDOM = 4  # random starts after the usual ones


def deterring(problem: Design, channel: Table) -> Table:
    """The posterior p_k(x) of this channel, and 1 at outputs that never happen; floats for a channel of floats."""
    joint = (problem.law if channel.dtype == float else problem.prior)[:, None] * channel
    law = joint.sum(axis=0)
    never = law == 0
    return np.asarray((problem.members.T @ joint + never) / (law + never))


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
    yield from _both(problem, cooled(problem, deterring(problem, start), 0.02 * scale, coldest))
    yield from _both(problem, traced(problem, rates, scale, coldest))
    yield from _both(problem, cooled(problem, deterring(problem, cold), 0.02 * scale, coldest))
    for _ in range(RANDOM):
        yield from _both(problem, cooled(problem, rng.random((people, outputs)), 0.1 * scale, coldest))


def _both(problem: Design, channel: FloatArray) -> Iterator[FloatArray]:
    for least in SUPPORTS:
        yield _polished(problem, channel, least)
    yield channel


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
    values = (channel * (members @ deterring(problem, channel) + problem.price)).sum(axis=1)
    for _ in range(30):
        joint = law[:, None] * channel
        masses = joint.sum(axis=0)
        beliefs = deterring(problem, channel)
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
