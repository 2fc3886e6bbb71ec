"""A mechanism that really leaks: the lower end of what is promised for Gaussian losses.

A count that one entry changes by at most 1, with Gaussian noise, has the loss that was stated; its laws under the two
secrets are mixtures, and the best threshold on it tells them apart.
"""

from __future__ import annotations

import math

import attrs
import numpy as np
from scipy.special import ndtr

from quiltwork.checks import FloatArray
from quiltwork.compose.loss import Loss
from quiltwork.pufferfish.secrets import Secrets
from quiltwork.pufferfish.translation.translate import Translator

__all__ = ["Witness"]

PROBE = 0.1  # per-entry epsilon at which the most suspicious case is chosen
PLACES, ROUNDS = 801, 30


@attrs.frozen(eq=False)
class Witness:
    """The laws of a count under two secrets, and mu of its noise; or nothing."""

    mu: float
    laws: tuple[FloatArray, FloatArray] | None

    @classmethod
    def of(cls, loss: Loss, translator: Translator, secrets: Secrets | None) -> Witness:
        """The count that the prior offers, in its most suspicious case."""
        mu = _mu(loss)
        if mu == 0.0:
            return cls(0.0, None)
        worst = int(np.argmax(translator.cases(PROBE)))
        return cls(mu * (1.0 - 1e-12), translator.prior.query_laws(worst, secrets))

    def delta(self, epsilon: float) -> float:
        """What the best threshold on the noisy count attains, rounded down."""
        if self.laws is None or not epsilon < 700.0:
            return 0.0
        ours, theirs = self.laws
        counts, reach = np.arange(ours.size), 8.0 / self.mu
        places = np.linspace(-reach, ours.size + reach, PLACES)
        above = ndtr((counts[None, :] - places[:, None]) * self.mu)
        gain = above @ ours - math.exp(epsilon) * (above @ theirs)
        return max(float(gain.max()) - 1e-11 * (1.0 + math.exp(epsilon)), 0.0)

    def epsilon(self, delta: float) -> float:
        """An epsilon at which more than delta is still attained."""
        if not 0.0 < delta < 1.0 or self.delta(0.0) <= delta:
            return 0.0
        low, high = 0.0, 1.0
        while high < 512.0 and self.delta(high) > delta:
            low, high = high, 2.0 * high
        for _ in range(ROUNDS):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if self.delta(middle) > delta else (low, middle)
        return low


def _mu(loss: Loss) -> float:
    """mu of a composition of Gaussian releases; 0 when some release is of another kind."""
    squares = []
    for part in loss.parts:
        if part.family.square is None or not part.family.has_pair:
            return 0.0
        squares.append(part.count * part.family.square)
    return math.sqrt(math.fsum(squares))
