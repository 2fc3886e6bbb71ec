"""The paper's penalty method, for comparison: it pulls towards the target and does not stop at it.

Minimised by Adam (Kingma and Ba 2015) over log x, x the new epsilon, with fresh samples in each step:

    weight * mean(eps_i^2) / x^2 + (quantile of the log-odds of everything - quantile of the target alone)_+

Reference: seed 004, appendix P.6; theory/game.md section 5 (32 % too little at weight 0.001, and at weight 100 a total
of 1.118 times the target: never a bare penalty).

The attacker's log-odds, by simulation, and what a search on them may claim: an approximate number, never a bound.

When the data hold the member, the Bayesian attacker's log-odds move by a normal number with mean mu^2/2 and variance
mu^2.  The existing mechanisms and the new one contribute independent parts to it (after the noise of the others is
taken out of the new one's), so that two normal numbers a sample stand for all releases.

Bisection on the sampled log-odds, with the same random numbers at each epsilon: no weights to tune, and no proof.

Reference: theory/game.md section 5 (0.1 % below the closed form with 200,000 samples).
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
from quiltwork.errors import NotCertified
from quiltwork.game.gaussian.next_mechanism import NextMechanism, next_mechanism
from quiltwork.kinds import document
from quiltwork.numbers.stated import exactly


@document("next_approximate/1")
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
        hint = "it is the upper tail that a promise is about"
        level = checks.ranged("quantile", quantile, "in (1/2, 1)", lambda number: 0.5 < number < 1, hint)
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


_STEPS = 50


def sampled_bisection(
    existing: Any,
    target: Any,
    rng: np.random.Generator,
    *,
    correlation: Any = None,
    sensitivity: Any = 1.0,
    constant: Any = 1.0,
    samples: int = 200_000,
    quantile: float = 0.95,
) -> Approximate:
    """The new epsilon at which a sampled quantile of the log-odds meets that of the target; approximate.

    >>> found = sampled_bisection([1] * 4, 5, np.random.default_rng(0))
    >>> found.status, abs(found.error) < 0.02
    ('approximate', True)
    """
    odds = LogOdds.of(existing, target, correlation, sensitivity, constant, quantile)
    normals = checks.generator(rng).standard_normal((checks.count("samples", samples, 2), 2))
    # above the pull the total grows with epsilon; below it lies the other root
    low = max(float(odds.exact.forms.pull), 1e-6 * odds.exact.upper)
    high = max(2.0 * low, odds.exact.upper)
    while odds.sampled(high, normals)[0] < odds.wanted:
        high *= 2.0
    for _ in range(_STEPS):
        middle = 0.5 * (low + high)
        if odds.sampled(middle, normals)[0] < odds.wanted:
            low = middle
        else:
            high = middle
    return Approximate(f"bisection on {len(normals)} samples", low, odds.exact)


def penalty_method(
    existing: Any,
    target: Any,
    rng: np.random.Generator,
    *,
    correlation: Any = None,
    sensitivity: Any = 1.0,
    constant: Any = 1.0,
    weight: Any = 1.0,
    steps: int = 800,
    samples: int = 4000,
    quantile: float = 0.95,
    rate: float = 0.05,
) -> Approximate:
    """The new epsilon where the penalty method ends, beside the exact one; approximate, whatever it says.

    `weight` is the price of noise.  Its mu is sensitivity / sqrt(constant) times epsilon.

    >>> found = penalty_method([0.1] * 4, 0.5, np.random.default_rng(0), sensitivity=4.0, weight=100.0)
    >>> found.status, found.meets, found.ratio > 1.05
    ('approximate', False, True)
    """
    odds = LogOdds.of(existing, target, correlation, sensitivity, constant, quantile)
    draws, price = checks.generator(rng), checks.positive("weight", weight)
    count, size = checks.count("steps", steps, 1), checks.count("samples", samples, 2)
    pace = checks.rate("rate", rate)
    typical = float(np.mean([float(one) ** 2 for one in odds.exact.existing]))
    place, mean, square = 0.5 * math.log(typical), 0.0, 0.0
    for step in range(1, count + 1):
        x = math.exp(place)
        reached, slope = odds.sampled(x, draws.standard_normal((size, 2)))
        gradient = -2.0 * price * typical / (x * x) + (x * slope if reached > odds.wanted else 0.0)
        mean, square = 0.9 * mean + 0.1 * gradient, 0.999 * square + 0.001 * gradient * gradient
        away = math.sqrt(square / (1.0 - 0.999**step)) + 1e-8
        place -= pace * mean / (1.0 - 0.9**step) / away
    return Approximate(f"penalty method, weight {price:g}", math.exp(place), odds.exact)
