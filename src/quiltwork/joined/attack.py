"""The best attacker on one entry of a chain: what it really finds out, to be held beside the promise.

An attacker who knows the prior draws nothing better than the likelihood ratio of all outputs under x_i = u and x_i = v;
the forward algorithm gives it exactly, tick by tick on both sides of the entry. `attack_scores` runs the plan on
sequences drawn under each of the two values; `audit.run` of these scores is a valid lower bound on epsilon, with
confidence, beside the certified upper end. A plan whose hours share one draw of noise, say, is caught by it.

Built for two states that are the contents of a row, and ticks with Gaussian, Laplace or pure releases of their own.

Reference: theory/joining.md section 5 ("plan under a prior").
"""

from __future__ import annotations

import numpy as np

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.compose.loss import Loss
from quiltwork.curves.guarantee import Guarantee
from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.joined.sides import Kernel
from quiltwork.joined.under_chain import AlongChain
from quiltwork.joined.under_prior import UnderPrior
from quiltwork.losses.families.gaussian import Gaussian, GaussianPrivacy
from quiltwork.losses.families.laplace import Laplace
from quiltwork.losses.families.pure import Pure
from quiltwork.losses.family import Family

MAX_RUNS = 10_000_000


def attack_scores(
    promise: Guarantee, runs: int, *, entry: int | None = None, seed: int = 0
) -> tuple[FloatArray, FloatArray]:
    """Log-likelihood ratios of `runs` runs with x_i = 1, and of as many with x_i = 0, for `audit.run`.

    The entry is the middle one unless it is given. `seed` is of simulated noise, which protects nobody.
    """
    law = promise.curve.law if isinstance(promise.curve, UnderPrior) else None
    if not isinstance(law, AlongChain) or not law.attained:
        raise Unsupported(
            f"the best attacker on {promise.protects!r}",
            "it is built for a chain of two states, the contents of a row, and queries that one tick touches",
            "audit scores of an attack of your own: audit.run(scores_in, scores_out, delta)",
        )
    runs = checks.count("runs", runs, least=1)
    if runs > MAX_RUNS:
        raise InvalidParameter("runs", runs, f"at most {MAX_RUNS}")
    length = law.sides.length
    at = length // 2 if entry is None else checks.count("entry", entry)
    if at >= length:
        raise InvalidParameter("entry", entry, f"from 0 to {length - 1}")
    rng = np.random.default_rng(checks.count("seed", seed))
    losses = [law.patterns.losses((tick,)) for tick in range(length)]
    with_one, without = (_ratios(law, losses, at, value, runs, rng) for value in (1, 0))
    return with_one, without


def _ratios(
    law: AlongChain, losses: list[tuple[Loss, ...]], entry: int, value: int, runs: int, rng: np.random.Generator
) -> FloatArray:
    """log P(outputs | x_i = 1) / P(outputs | x_i = 0) of runs in which x_i has this value."""
    found = _told(losses[entry], np.full(runs, value), rng)
    left, right = law.sides.left(entry), law.sides.right(entry)
    for steps, sign in ((left or [], -1), (right, +1)):
        states, seen = np.full(runs, value), []
        for d, step in enumerate(steps, start=1):
            states = (rng.random(runs) < step.matrix[states, 1]).astype(int)
            seen.append(_told(losses[entry + sign * d], states, rng))
        found = found + _side(steps, seen, runs)
    return found


def _side(steps: list[Kernel], seen: list[FloatArray], runs: int) -> FloatArray:
    """What the outputs of one side tell about its nearest entry: from the far end inward, in ratios."""
    beyond = np.zeros(runs)  # log of E[outputs further on | 1] / E[... | 0]
    for step, own in zip(reversed(steps), reversed(seen), strict=True):
        ratio = own + beyond
        with np.errstate(divide="ignore"):
            logs = np.log(step.matrix)
        one, zero = (np.logaddexp(logs[state, 1] + ratio, logs[state, 0]) for state in (1, 0))
        beyond = one - zero
    return beyond


def _told(losses: tuple[Loss, ...], states: np.ndarray, rng: np.random.Generator) -> FloatArray:
    """The log-likelihood ratio of one tick's outputs, drawn for these states."""
    found = np.zeros(states.size)
    for part in (part for loss in losses for part in loss.parts):
        for _ in range(part.count):
            found += _drawn(part.family, states, rng)
    return found


def _drawn(family: Family, states: np.ndarray, rng: np.random.Generator) -> FloatArray:
    if isinstance(family, (Gaussian, GaussianPrivacy)):
        mu = family.mu if isinstance(family, GaussianPrivacy) else family.sensitivity / family.sigma
        return np.asarray(mu * (mu * states + rng.standard_normal(states.size)) - 0.5 * mu * mu)
    if isinstance(family, Laplace):
        gap = family.sensitivity / family.scale
        output = gap * states + rng.laplace(size=states.size)
        return np.asarray(np.abs(output) - np.abs(output - gap))
    if isinstance(family, Pure):
        kept = rng.random(states.size) < 1.0 / (1.0 + np.exp(-family.epsilon))
        return np.where(kept == (states == 1), family.epsilon, -family.epsilon)
    raise Unsupported(f"drawing from {family}", "it is not one mechanism", "use Gaussian, Laplace or pure releases")
