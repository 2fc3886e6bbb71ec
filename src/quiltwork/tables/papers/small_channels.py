"""Small channels as arrays of probabilities, and their exact divergences.

A law is an array of probabilities of the outputs 0, 1, ...; a channel is a law for each database, one a row. What is
computed here is exact for the given numbers up to rounding to nearest, and infinity is a legal answer. It is for tests,
for examples and for counterexamples: what is published as a guarantee comes from `quiltwork.compose`, which rounds
outward.

Reference: seed 001 section VI (divergences), sections IV and V (independent and adaptive composition).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from scipy.special import expit, logsumexp, ndtri

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.errors import InvalidParameter
from quiltwork.numbers.laws import doubles, probabilities

Step = Callable[[tuple[int, ...]], Any]

MOST_OUTPUTS = 2**20  # of a joint law


# ---- divergences


def max_divergence(p: Any, q: Any) -> float:
    """The largest privacy loss: the logarithm of the largest p/q.

    Infinite when P puts mass where Q has none. P is epsilon-close to Q if and only if this is at most epsilon.

    Reference: seed 001 Definition VI.9 at order infinity.

    >>> max_divergence([0.5, 0.5], [0.25, 0.75]) == math.log(2), max_divergence([0.5, 0.5], [1, 0])
    (True, inf)
    """
    _, losses = _losses(p, q)
    return max(0.0, float(losses.max()))


def hockey_stick(p: Any, q: Any, epsilon: float) -> float:
    """The least delta at an epsilon: the sum of p - e^epsilon q where that is positive.

    delta = sum of p (1 - e^(epsilon - L)) over the losses L > epsilon, so that small answers keep their digits. At
    epsilon = 0 it is the total variation, at infinity the mass of P where Q has none.

    Reference: theory/granularity.md section 3 (H at gamma = e^epsilon).

    >>> hockey_stick([0.5, 0.5, 0.0], [0.25, 0.5, 0.25], 0), hockey_stick([0.5, 0.5], [1, 0], math.inf)
    (0.25, 0.5)
    """
    least = float(_at_least("epsilon", epsilon, 0.0))
    masses, losses = _losses(p, q)
    if math.isinf(least):
        return math.fsum(masses[np.isinf(losses)])
    beyond = losses > least
    return math.fsum(masses[beyond] * -np.expm1(least - losses[beyond]))


def renyi_divergence(p: Any, q: Any, order: float) -> float:
    """The Rényi divergence of an order >= 1: relative entropy at 1, the largest loss at infinity.

    D_a(P || Q) = log(sum of p e^((a - 1) L)) / (a - 1), infinite when P puts mass where Q has none.

    Reference: seed 001 Definition VI.9.

    >>> round(renyi_divergence([0.5, 0.5], [0.25, 0.75], 2), 12) == round(math.log(4 / 3), 12)
    True
    """
    alpha = float(_at_least("order", order, 1.0))
    masses, losses = _losses(p, q)
    if math.isinf(alpha) or math.isinf(losses.max()):
        return max(0.0, float(losses.max()))
    if alpha == 1.0:
        return max(0.0, math.fsum(masses * losses))
    scaled = (alpha - 1) * losses
    if scaled.max() < 1.0:  # near 1 the logarithm is that of 1 plus something small
        total = math.log1p(math.fsum(masses * np.expm1(scaled)))
    else:
        total = float(logsumexp(scaled, b=masses))
    return max(0.0, total / (alpha - 1))


def gaussian_mu(p: Any, q: Any) -> float:
    """The smallest mu for which telling P from Q is as hard as telling N(0, 1) from N(mu, 1).

    The trade-off function of P and Q is made of straight pieces and the Gaussian one is convex, so that its vertices
    decide: mu is the largest z(P(S)) - z(Q(S)), z(x) the point that a standard normal exceeds with probability x, over
    the sets S of outputs with the smallest p/q. The opposite order gives the same mu, as the Gaussian curve is its own
    inverse; both are computed. Infinite when either law puts mass where the other has none.

    Reference: seed 001 Definitions VI.18 and VI.19.

    >>> round(gaussian_mu(randomized_response(0, 1.0), randomized_response(1, 1.0)), 6)
    1.232035
    """
    first, second = _pair(p, q)
    if np.any((first > 0) != (second > 0)):
        return math.inf
    return max(_vertices(first, second), _vertices(second, first))


def _vertices(p: FloatArray, q: FloatArray) -> float:
    """Largest difference of quantiles over the vertices of T(P, Q), from type I error 0 on."""
    inside = p > 0
    order = np.argsort(_ratio(p[inside], q[inside]), kind="stable")
    p, q = p[inside][order], q[inside][order]
    # sums from both ends: one minus a sum would lose the small side
    return max([0.0, *(_exceeded(p, cut) - _exceeded(q, cut) for cut in range(1, len(p)))])


def _exceeded(law: FloatArray, cut: int) -> float:
    """The point that a standard normal exceeds with the probability of the first `cut` outputs."""
    head, tail = math.fsum(law[:cut]), math.fsum(law[cut:])
    return float(-ndtri(head)) if head < tail else float(ndtri(tail))


# ---- laws


def randomized_response(bit: int, epsilon: float) -> FloatArray:
    """The bit, told truthfully with probability e^epsilon / (1 + e^epsilon).

    >>> randomized_response(0, math.log(3)).round(12).tolist(), randomized_response(1, math.inf).tolist()
    ([0.75, 0.25], [0.0, 1.0])
    """
    if checks.count("bit", bit) > 1:
        raise InvalidParameter("bit", bit, "0 or 1")
    strength = float(_at_least("epsilon", epsilon, 0.0))
    law = np.array([expit(strength), expit(-strength)])
    return law[::-1].copy() if bit else law


def truncated_geometric(value: int, most: int, epsilon: float) -> FloatArray:
    """A count from 0 to `most` with two-sided geometric noise, and what leaves that range moved to its ends.

    The largest loss between two counts is exactly epsilon times their difference.

    >>> truncated_geometric(1, 2, math.log(2)).round(12).tolist()
    [0.333333333333, 0.333333333333, 0.333333333333]
    """
    count, top = checks.count("value", value), checks.count("most", most)
    if count > top:
        raise InvalidParameter("value", value, f"an integer from 0 to {top}")
    if top >= MOST_OUTPUTS:
        raise InvalidParameter("most", most, f"below {MOST_OUTPUTS}", "every output is listed")
    strength = float(_at_least("epsilon", epsilon, 0.0))
    if top == 0 or math.isinf(strength):
        certain = np.zeros(top + 1)
        certain[count] = 1.0
        return certain
    law = np.exp(-strength * np.abs(np.arange(top + 1) - count))
    law[1:-1] *= math.tanh(strength / 2)
    law[[0, -1]] /= 1 + math.exp(-strength)
    return law


def joint(channels: Iterable[Any]) -> FloatArray:
    """The joint law of independent outputs; the last output runs fastest.

    Takes laws, or channels with one row for each database.

    >>> joint([[0.5, 0.5], [0.25, 0.75]]).tolist()
    [0.125, 0.375, 0.125, 0.375]
    """
    given = [_channel("channels", channel) for channel in channels]
    if not given:
        raise InvalidParameter("channels", [], "at least one law")
    if len({channel.shape[:-1] for channel in given}) > 1:
        raise InvalidParameter("channels", [channel.shape for channel in given], "over the same databases")
    _few(math.prod(channel.shape[-1] for channel in given))
    found = given[0].copy()
    for channel in given[1:]:
        found = (found[..., :, None] * channel[..., None, :]).reshape(*found.shape[:-1], -1)
    return found


def adaptive(steps: Sequence[Step]) -> FloatArray:
    """The joint law of a chain in which every step sees the outputs of the earlier ones.

    A step is a function from the tuple of earlier outputs to a law, or to a channel with one row for each database; how
    many outputs it has may depend on the earlier ones. Paths are in lexicographic order.

    Reference: seed 001 Definition V.1, where the empty tuple is the one input of the first step.

    >>> adaptive([lambda earlier: [0.5, 0.5], lambda earlier: [1, 0] if earlier == (0,) else [0.25, 0.75]]).tolist()
    [0.5, 0.0, 0.125, 0.375]
    """
    if not steps:
        raise InvalidParameter("steps", steps, "at least one function")
    paths: list[tuple[tuple[int, ...], FloatArray]] = [((), np.array(1.0))]
    for step in steps:
        longer: list[tuple[tuple[int, ...], FloatArray]] = []
        for earlier, mass in paths:
            channel = _channel("step", step(earlier))
            if mass.shape not in ((), channel.shape[:-1]):
                raise InvalidParameter(
                    "step", channel.shape, "over the same databases after all outputs", repr(earlier)
                )
            longer += [((*earlier, i), mass * channel[..., i]) for i in range(channel.shape[-1])]
            _few(len(longer))
        paths = longer
    return np.stack([mass for _, mass in paths], axis=-1)


# ---- checks


def _channel(name: str, given: Any) -> FloatArray:
    """A law or a matrix of laws: probabilities whose last axis sums to 1."""
    allowed = "probabilities that sum to 1: one law, or one row for each database"
    return doubles(probabilities(name, given, (1, 2), allowed))


def _pair(p: Any, q: Any) -> tuple[FloatArray, FloatArray]:
    first, second = _channel("p", p), _channel("q", q)
    if first.ndim != 1 or first.shape != second.shape:
        raise InvalidParameter("q", second.shape, f"one law over the same outputs as p, which has shape {first.shape}")
    return first, second


def _losses(p: Any, q: Any) -> tuple[FloatArray, FloatArray]:
    """Masses and losses log(p/q) of the outputs that P has."""
    first, second = _pair(p, q)
    inside = first > 0
    return first[inside], _ratio(first[inside], second[inside])


def _ratio(p: FloatArray, q: FloatArray) -> FloatArray:
    """log(p/q) for p > 0, accurate also where p and q are close."""
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        near = np.abs(p - q) <= q / 2
        return np.where(near, np.log1p((p - q) / q), np.log(p) - np.log(q))


def _at_least(name: str, value: Any, low: float) -> FloatArray:
    allowed = f"a number >= {low:g} (inf is legal)"
    found = checks.numbers(name, value, allowed, low, math.inf)
    if found.ndim:
        raise InvalidParameter(name, value, allowed)
    return found


def _few(outputs: int) -> None:
    if outputs > MOST_OUTPUTS:
        raise InvalidParameter("channels", outputs, f"at most {MOST_OUTPUTS} outputs together")
