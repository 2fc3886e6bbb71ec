"""Permute-and-flip, and noisy max: the name of the candidate with the largest noisy score, and nothing else.

With exponential noise of scale b = 2 sensitivity / epsilon on each score noisy max is permute-and-flip.  Take a test
that accepts some winners: X is the largest noisy score among them, Y that of the others, G(u) = P(X - Y > u), and a
record moves u by at most 2 sensitivity.  The density of a largest noise is at most 1/b times the probability that
some noise exceeds, so that -G' <= min(G, 1 - G) / b.  The survival function of Laplace noise solves that with equality:
no test does better than against Laplace noise of scale 1/epsilon on one number.  The same holds for Laplace noise of
that scale, or any other whose hazard is at most 1/b.

Two candidates attain every single test, each by another distance of their scores.  Composed, the Laplace pair is a
bound; candidates that trade places are always possible: randomized response at log(2 e^(epsilon/2) - 1).

Reference: theory/sampling.md section 2.3; Ding, Kifer, Saghaian N. E., Steinke, Wang, Xiao and Zhang 2021.
"""

from __future__ import annotations

import math
from typing import ClassVar

import attrs

from quiltwork import checks
from quiltwork.errors import Unsupported
from quiltwork.losses.dominating_pair import Pair
from quiltwork.losses.families.laplace import LaplacePair
from quiltwork.losses.families.pure import response_pair
from quiltwork.losses.family import POSITIVE, Costs, Family, parameter
from quiltwork.numbers.rounding import UNIT, down
from quiltwork.numbers.stated import times, typed


@attrs.frozen
class NoisyMax(Family):
    """The best candidate by permute-and-flip, or by noisy max with exponential or Laplace noise.

    Noise of scale 2 * sensitivity / epsilon is added to each score; where one record can only raise scores, or only
    lower them, the factor 2 is not needed. Gumbel noise is the exponential mechanism, which costs less.
    """

    kind: ClassVar[str] = "noisy_max"
    words: ClassVar[str] = "permute-and-flip or noisy max, epsilon {epsilon:g}"
    label: ClassVar[str] = "Noisy max (permute-and-flip)"
    dial: ClassVar[str] = "epsilon"
    because: ClassVar[str] = "noisy max is at most Laplace noise of scale 1/epsilon (hazards of the largest noise)"
    epsilon: float = attrs.field(**parameter("epsilon", POSITIVE, "Epsilon", "0.1", check=checks.moderate))

    def pairs(self) -> dict[str, Pair]:
        return {"both": LaplacePair(self.epsilon)}

    @property
    def sandwiched(self) -> bool:
        return True

    @property
    def attained_once(self) -> bool:
        return True

    def optimistic(self) -> dict[str, Pair]:
        """Two candidates that trade places: log(2 e^(epsilon/2) - 1) = epsilon/2 + log(2 - e^(-epsilon/2))."""
        half = self.epsilon / 2
        return {"both": response_pair(down(half + math.log1p(-math.expm1(-half))) * (1 - 16 * UNIT))}

    def group(self, size: int) -> Family:
        """Scores move by as many sensitivities."""
        return NoisyMax(times(size, self.epsilon))

    def subsampled(self, rate: float) -> Family:
        raise Unsupported(
            "Poisson subsampling of noisy_max",
            "not built here: what samples of it attain is not known",
            "poisson(laplace(1, epsilon), rate) bounds it for added and removed records",
        )

    def costs(self) -> Costs:
        return Costs(epsilon=typed(self.epsilon))

    def rung(self) -> tuple[object, float]:
        return self.kind, self.epsilon
