"""Releases under a prior: the least noise that a proof allows, drawn by OpenDP, with the guarantee it carries.

A target for the secrets is translated into a per-entry budget, the budget into a noise scale, and the scale into a
draw; the guarantee is then computed again from what was really drawn.  Nothing is drawn before everything is checked.

Reference: theory/pufferfish.md sections 3 and 5.
"""

from __future__ import annotations

from typing import Any, Generic, Literal, TypeVar

import attrs
import numpy as np
from numpy.typing import NDArray

from quiltwork import checks, mechanisms
from quiltwork.compose.calibrate import calibrate
from quiltwork.curves.guarantee import Guarantee
from quiltwork.errors import InvalidParameter, Unreachable
from quiltwork.kinds import document
from quiltwork.mechanisms.histograms import checked_counts
from quiltwork.mechanisms.totals import total_of
from quiltwork.pufferfish.guarantee import guarantee
from quiltwork.pufferfish.prior import ENTRY, Prior
from quiltwork.pufferfish.secrets import Secrets
from quiltwork.pufferfish.translation.translate import Method, Translator

Value_co = TypeVar("Value_co", covariant=True)
Selection = Literal["best", "peeling", "histogram"]


@document("released/1")
@attrs.frozen(eq=False)
class Released(Generic[Value_co]):
    """A released value, its noise, its loss for one entry, and what that means for the secrets."""

    value: Value_co
    noise: mechanisms.Noise
    loss: Any
    guarantee: Guarantee

    def __repr__(self) -> str:
        return f"<Released {self.value!r}; {self.noise}; protects {self.guarantee.protects}>"


def laplace(
    total: Any,
    prior: Prior,
    epsilon: float,
    *,
    sensitivity: float | None = None,
    secrets: Secrets | None = None,
    method: Method = "best",
) -> Released[int | float]:
    """A total plus Laplace noise, epsilon-private for the secrets.

    `total` is a number with its per-entry `sensitivity`, or `mechanisms.bounded_sum(values, low, high)`.
    """
    given = total_of(total, sensitivity)
    budget = _budget(prior, epsilon, secrets, method)
    scale = mechanisms.laplace_scale(budget, given.sensitivity)
    promise = guarantee(mechanisms.laplace_loss(scale, given.sensitivity), prior, secrets, method=method)
    return _released(mechanisms.laplace(given, scale), promise)


def gaussian(
    total: Any,
    prior: Prior,
    epsilon: float,
    delta: float,
    *,
    sensitivity: float | None = None,
    secrets: Secrets | None = None,
) -> Released[int | float]:
    """A total plus Gaussian noise, (epsilon, delta)-private for the secrets."""
    given = total_of(total, sensitivity)
    target, chance = checks.positive("epsilon", epsilon), checks.rate("delta", delta)

    def promised(sigma: float) -> Guarantee:
        return guarantee(mechanisms.gaussian_loss(sigma, given.sensitivity), prior, secrets)

    start = 10.0 * float(given.sensitivity) / target
    sigma = calibrate(promised, target, chance, start=start, tolerance=1e-4, rtol=1e-4) * (1.0 + 1e-5)
    promise = promised(sigma)
    if float(promise.epsilon(chance).upper) > target:
        raise Unreachable(f"epsilon {target:g} at delta {chance:g}", f"sigmas near {sigma:g}")
    return _released(mechanisms.gaussian(given, sigma), promise)


def histogram(
    counts: Any, prior: Prior, epsilon: float, *, secrets: Secrets | None = None, method: Method = "best"
) -> Released[NDArray[np.int64]]:
    """All counts with discrete Laplace noise, epsilon-private for the secrets, however many categories there are.

    An entry that changes moves one count down and another up: the scale is 2 over the per-entry budget.
    """
    scale = mechanisms.histogram_scale(_budget(prior, epsilon, secrets, method))
    promise = guarantee(mechanisms.histogram_loss(scale), prior, secrets, method=method)
    return _released(mechanisms.histogram(counts, scale), promise)


def top_k(
    counts: Any,
    k: int,
    prior: Prior,
    epsilon: float,
    *,
    by: Selection = "best",
    secrets: Secrets | None = None,
    method: Method = "best",
) -> Released[tuple[int, ...]]:
    """The k largest categories, in order, epsilon-private for the secrets.

    `by` is "peeling" (the exponential mechanism, k + 1 units of budget), "histogram" (the largest of a noisy
    histogram, two units for every k), or "best": peeling for k = 1, where its noise is smaller, else the histogram.
    """
    k = checks.count("k", k, least=1)
    if by not in ("best", "peeling", "histogram"):
        raise InvalidParameter("by", by, "'best', 'peeling' or 'histogram'")
    budget = _budget(prior, epsilon, secrets, method)
    if by == "peeling" or (by == "best" and k == 1):
        scale = mechanisms.top_k_scale(budget, k)
        promise = guarantee(mechanisms.top_k_loss(k, scale), prior, secrets, method=method)
        return _released(mechanisms.top_k(counts, k, scale), promise)
    scale = mechanisms.histogram_scale(budget)
    promise = guarantee(mechanisms.histogram_loss(scale), prior, secrets, method=method)
    return _released(mechanisms.top_k_of_histogram(counts, k, scale), promise)


def markov_quilt(
    counts: Any, prior: Prior, epsilon: float, *, secrets: Secrets | None = None
) -> Released[NDArray[np.int64]]:
    """The Markov Quilt Mechanism as a baseline: Theorem 6's budget, split over the m counts (scale m over the budget).

    Reference: Song, Wang and Chaudhuri (2017); theory/pufferfish.md 5.2 says why this is needlessly weak.
    """
    given = checked_counts(counts)
    budget = _budget(prior, epsilon, secrets, "theorem 6")
    scale = max(len(given) / 2, 1.0) * mechanisms.histogram_scale(budget)
    promise = guarantee(mechanisms.histogram_loss(scale), prior, secrets, method="theorem 6")
    return _released(mechanisms.histogram(given, scale), promise)


def _budget(prior: Prior, epsilon: float, secrets: Secrets | None, method: Method) -> float:
    """The per-entry epsilon that the target allows; refused when there is none."""
    target = checks.positive("epsilon", epsilon)
    budget = Translator.of(prior, secrets, method).inverse(target)
    if budget <= 0.0:
        raise Unreachable(
            f"epsilon {target:g} for the secrets",
            "per-entry budgets above 0",
            "the entries tell too much about each other; give the prior a length, or raise epsilon",
        )
    return budget


def _released(drawn: mechanisms.Release[Any], promise: Guarantee) -> Released[Any]:
    return Released(drawn.value, drawn.noise, drawn.loss.stated_for(ENTRY), promise)
