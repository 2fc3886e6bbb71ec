"""Gaussian noise on an answer whose sensitivity is random and not seen.

The record moves the answer by c_i with probability p_i: the pair is sum p_i N(c_i, sigma^2) against N(0, sigma^2).
Vectors of these norms, in any dimension and direction, are dominated by it.

Reference: theory/sampling.md section 6; Choquette-Choo et al. 2024 (mixture of Gaussians mechanisms).
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

import attrs
import numpy as np

from quiltwork import checks
from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.losses.families.sampling.sampled_group import one_sided
from quiltwork.losses.family import NUMBERS, POSITIVE, Family, parameter
from quiltwork.losses.moved_noise import MovedNoisePair
from quiltwork.losses.moved_ratio import GaussianNoise
from quiltwork.numbers.laws import TOLERANCE
from quiltwork.numbers.stated import typed

if TYPE_CHECKING:
    from quiltwork.losses.dominating_pair import Pair

MAX_COMPONENTS = 1024


def _numbers(name: str, value: Any) -> tuple[float, ...]:
    found = checks.numbers(name, value, "a list of finite numbers >= 0", 0.0, math.inf)
    if found.ndim != 1 or not 1 <= found.size <= MAX_COMPONENTS or not all(map(math.isfinite, found.tolist())):
        raise InvalidParameter(name, value, f"a list of 1 to {MAX_COMPONENTS} finite numbers >= 0")
    return tuple(found.tolist())


@attrs.frozen
class GaussianMixture(Family):
    """Gaussian noise of standard deviation sigma on an answer of random sensitivity, sensitivities[i] by weights[i]."""

    kind: ClassVar[str] = "gaussian_mixture"
    words: ClassVar[str] = "Gaussian noise, sigma {sigma:g}, one of {sensitivities} sensitivities at random"
    because: ClassVar[str] = "mixture of Gaussians: one test, many means (Choquette-Choo et al. 2024)"
    sensitivities: tuple[float, ...] = attrs.field(**parameter("sensitivities", NUMBERS, check=_numbers))
    weights: tuple[float, ...] = attrs.field(**parameter("weights", NUMBERS, check=_numbers))
    sigma: float = attrs.field(**parameter("sigma", POSITIVE, hint="it is the noise's standard deviation"))

    def __attrs_post_init__(self) -> None:
        lengths = len(self.sensitivities), len(self.weights)
        if lengths[0] != lengths[1]:
            raise InvalidParameter("the lengths of sensitivities and weights", lengths, "the same")
        total = math.fsum(self.weights)
        if abs(total - 1.0) > TOLERANCE:
            raise InvalidParameter("the sum of weights", total, "1", "add what is missing or rescale")
        if max(self.sensitivities) > 0:
            checks.moderate("the largest sensitivity / sigma", max(self.sensitivities) / self.sigma)

    @property
    def reveals_nothing(self) -> bool:
        return not any(weight > 0 and move > 0 for move, weight in self._moves())

    def _moves(self) -> list[tuple[float, Fraction]]:
        """Sensitivities over sigma, each once, with weights that sum to 1 exactly; none at all comes first."""
        total = sum(map(Fraction, self.weights), Fraction(0))
        found: dict[float, Fraction] = {0.0: Fraction(0)}
        for sensitivity, weight in zip(self.sensitivities, self.weights, strict=True):
            move = sensitivity / self.sigma
            found[move] = found.get(move, Fraction(0)) + Fraction(weight) / total
        return sorted((move, weight) for move, weight in found.items() if weight or not move)

    def pairs(self) -> dict[str, Pair]:
        return _pairs(self)

    def _removed(self) -> Pair:
        moves = self._moves()
        p, q, gaps = (np.array(values) for values in one_sided([weight for _, weight in moves]))
        return MovedNoisePair(GaussianNoise(), np.array([move for move, _ in moves]), p, q, gaps)

    def group(self, size: int) -> Family:
        raise Unsupported(
            "group privacy of a random sensitivity",
            "not built here: how the sensitivities of several records depend on each other is not stated",
            "gaussian(sigma, the largest sensitivity).group(n) is safe",
        )

    def subsampled(self, rate: float) -> Family:
        """A record that is not sampled has sensitivity 0."""
        weights = (float(1 - typed(rate)), *(rate * weight for weight in self.weights))
        return GaussianMixture((0.0, *self.sensitivities), weights, self.sigma)


@lru_cache(maxsize=32)
def _pairs(mixture: GaussianMixture) -> dict[str, Pair]:
    removed = mixture._removed()
    return {"remove": removed, "add": removed.swapped()}
