"""The attacker's log-odds, by simulation, and what a search on them may claim: an approximate number, never a bound.

When the data hold the member, the Bayesian attacker's log-odds move by a normal number with mean mu^2/2 and variance
mu^2.  The existing mechanisms and the new one contribute independent parts to it (after the noise of the others is
taken out of the new one's), so that two normal numbers a sample stand for all releases.

Reference: theory/game.md section 5; seed 004, appendix P.6.
"""

from __future__ import annotations

import math
from typing import Any, NoReturn

import attrs
import numpy as np
from scipy.special import ndtri

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.curves.bracket import Bracket
from quiltwork.errors import InvalidParameter, NotCertified
from quiltwork.game.composition.fifth import NextMechanism, next_mechanism
from quiltwork.game.composition.numbers import exactly

__all__ = ["Approximate", "LogOdds"]


@attrs.frozen
class Approximate:
    """Where a search on samples ended, beside the exact answer.

    `total` and `meets` are evaluated exactly for the epsilon found; the search itself promises nothing.
    """

    method: str
    epsilon: float
    exact: NextMechanism
    status: str = attrs.field(init=False, default="approximate")

    @property
    def total(self) -> Bracket:
        """The true total with this epsilon."""
        return self.exact.total(self.epsilon)

    @property
    def meets(self) -> bool:
        """Whether the true total is at most the target."""
        return self.exact.meets(self.epsilon)

    @property
    def ratio(self) -> float:
        """The true total over the target: above 1 the target is broken."""
        return float(self.total.midpoint) / float(self.exact.target)

    @property
    def error(self) -> float:
        """How far this epsilon is from the largest admissible one, relative to it."""
        return self.epsilon / self.exact.upper - 1.0

    def guarantee(self) -> NoReturn:
        """Refused: a quantile of samples near its target is no proof that the target is kept."""
        raise NotCertified(f"the epsilon found by {self.method}", "use next_mechanism, which is exact")

    def __str__(self) -> str:
        kept = "keeps" if self.meets else "breaks"
        return f"{self.method}: epsilon {self.epsilon:.6g} ({self.error:+.1%}), {kept} the target at x{self.ratio:.4f}"


@attrs.frozen
class LogOdds:
    """The log-odds as a function of the new epsilon x: mean mu^2/2, deviation mu, mu^2 = old^2 + new(x)^2."""

    exact: NextMechanism
    scale: float
    quantile: float

    @classmethod
    def of(
        cls, existing: Any, target: Any, correlation: Any, sensitivity: Any, constant: Any, quantile: Any
    ) -> LogOdds:
        """Validate everything once; `scale` is mu over epsilon."""
        exact = next_mechanism(existing, target, correlation)
        scale = float(exactly("sensitivity", sensitivity)) / math.sqrt(float(exactly("constant", constant)))
        level = checks.real("quantile", quantile, "in (1/2, 1)")
        if not 0.5 < level < 1:
            raise InvalidParameter("quantile", quantile, "in (1/2, 1)", "it is the upper tail that a promise is about")
        return cls(exact, checks.moderate("sensitivity / sqrt(constant)", scale), level)

    @property
    def wanted(self) -> float:
        """The quantile of one mechanism that has the target for itself."""
        mu = self.scale * float(self.exact.target)
        return float(ndtri(self.quantile)) * mu + 0.5 * mu * mu

    def sampled(self, epsilon: float, normals: FloatArray) -> tuple[float, float]:
        """The quantile of the sampled log-odds, and its slope in epsilon along the samples that make it up."""
        old = self.scale * math.sqrt(float(self.exact.forms.spent))
        slope = self.scale / math.sqrt(float(self.exact.forms.rest))
        new = slope * (epsilon - float(self.exact.forms.pull))
        odds = 0.5 * (old * old + new * new) + normals @ np.array([old, new])
        place = self.quantile * (len(odds) - 1)
        low = int(place)
        high = min(low + 1, len(odds) - 1)
        order = np.argpartition(odds, (low, high))
        pair, share = order[[low, high]], np.array([1.0 - (place - low), place - low])
        return float(share @ odds[pair]), float(share @ (slope * (new + normals[pair, 1])))


def generator(rng: Any) -> np.random.Generator:
    """Simulations take a generator of their own."""
    if not isinstance(rng, np.random.Generator):
        raise InvalidParameter("rng", rng, "a numpy.random.Generator, for example numpy.random.default_rng(0)")
    return rng
