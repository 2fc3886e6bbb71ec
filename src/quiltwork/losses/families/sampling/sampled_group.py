"""Several records under Poisson sampling, and records that are exchanged: each enters the sample by itself.

Of n records i are sampled with the binomial weight p_i, and move the answer by at most i times the sensitivity of one:
the pair is sum p_i N(. - i s) against N when they are removed, and against sum p_i N(. + i s) when n others take their
place (n = 1: one record exchanged).  No move of another size or direction is worse, in any dimension.

Reference: theory/sampling.md sections 1.1, 3 and 6.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

import attrs
import numpy as np

from quiltwork import checks
from quiltwork.errors import Unsupported
from quiltwork.losses.families.discrete import DiscreteGaussian, DiscreteLaplace
from quiltwork.losses.families.gaussian import GaussianPair
from quiltwork.losses.families.laplace import LaplacePair
from quiltwork.losses.families.sampling.moved_lattice import moved_lattice
from quiltwork.losses.family import COMES, EXCHANGED, FLAG, RATE, RELEASE, WHOLE, Family, parameter
from quiltwork.losses.moved_noise import MovedNoisePair
from quiltwork.losses.moved_ratio import GaussianNoise, LaplaceNoise, Noise
from quiltwork.numbers.rounding import UNIT
from quiltwork.numbers.stated import Stated, times, typed

if TYPE_CHECKING:
    from quiltwork.losses.dominating_pair import Pair

DISCRETE = (DiscreteGaussian, DiscreteLaplace)
MAX_SIZE = 256  # records whose binomial weights are kept apart
LEAST_WEIGHT = Fraction(1, 10**290)  # doubles hold it with all digits


def moved_pair(
    base: Family, moves: list[int], p: list[float], q: list[float], gaps: list[float], reading: float
) -> Pair:
    """Mixtures p and q of a release's noise, moved by so many records each; `gaps` are p - q."""
    one, other, apart = (np.array(values) for values in (p, q, gaps))
    if isinstance(base, DISCRETE):
        return moved_lattice(base, [i * base.sensitivity for i in moves], one, other, apart, reading)
    noise, move = noise_of(base)
    checks.moderate("the sensitivity of the group over its noise", move * max(moves))
    return MovedNoisePair(noise, np.array([i * move for i in moves]), one, other, apart, reading)


def noise_of(base: Family) -> tuple[Noise, float]:
    """The noise that stands for a release at every distance, and how far one record moves it."""
    pair = base.pairs().get("both")
    if base.linear and isinstance(pair, GaussianPair):
        return GaussianNoise(), pair.mu
    if base.linear and isinstance(pair, LaplacePair):
        return LaplaceNoise(), pair.top
    if isinstance(base, DISCRETE):
        gaussian = isinstance(base, DiscreteGaussian)
        return (GaussianNoise() if gaussian else LaplaceNoise()), base.sensitivity / getattr(base, base.dial)
    raise Unsupported(
        f"group privacy, or an exchanged record, under Poisson sampling of {base.kind}",
        "not built here: its laws at several distances are not known together",
        "take Gaussian or Laplace noise, also discrete, or leave out the sampling",
    )


def one_sided(weights: list[Fraction]) -> tuple[list[float], list[float], list[float]]:
    """A mixture of moves, the first of them none, against the noise itself: p, q and their gaps."""
    rest = -sum(weights[1:], Fraction(0))
    q = [1.0] + [0.0] * (len(weights) - 1)
    return [float(weight) for weight in weights], q, [float(rest)] + [float(weight) for weight in weights[1:]]


@attrs.frozen
class SampledGroup(Family):
    """A release on a Poisson sample of rate `rate`, of which `size` records change at once.

    They are removed or added, or with `exchanged` others take their place.
    """

    kind: ClassVar[str] = "sampled_group"
    words: ClassVar[str] = "{of}, on a Poisson sample of rate {rate:g}, {size:g} records at once"
    because: ClassVar[str] = "Poisson subsampling of records that change together: one test, many means"
    base: Family = attrs.field(**parameter("of", RELEASE))
    rate: float = attrs.field(**parameter("rate", RATE, hint="it is the chance that a record is sampled"))
    size: int = attrs.field(default=1, **parameter("size", WHOLE))
    exchanged: bool = attrs.field(default=False, **parameter("exchanged", FLAG))

    @property
    def change(self) -> str:
        return EXCHANGED if self.exchanged else COMES

    def __attrs_post_init__(self) -> None:
        noise_of(self.base)
        if self.size > MAX_SIZE:
            raise Unsupported(
                f"{self.size} records under Poisson sampling",
                f"at most {MAX_SIZE} are kept apart",
                "leave out the sampling",
            )
        noise, (first, *_, last) = noise_of(self.base)[0], self._weights()
        told = (first, last) if noise.bounded else () if self.exchanged else (first,)
        if any(0 < weight < LEAST_WEIGHT for weight in told):  # the largest loss would hang on a weight that underflows
            raise Unsupported(
                f"{self.size} records under Poisson sampling of rate {self.rate:g}",
                f"that all of them, or none, are sampled has a chance below {float(LEAST_WEIGHT):g}",
                "take a smaller group, or leave out the sampling",
            )

    def _weights(self) -> list[Fraction]:
        """The binomial law of how many are sampled."""
        rate, size = Fraction(self.rate), self.size
        return [math.comb(size, i) * rate**i * (1 - rate) ** (size - i) for i in range(size + 1)]

    @property
    def _reading(self) -> float:
        """How many roundings (1 - rate)^size of the rate as typed is off that of its double, past the usual ones."""
        least, most = sorted(Stated(self.rate).readings)
        if least == most:
            return 0.0
        return max(math.expm1(self.size * math.log1p((most - least) / (1 - most))) / UNIT - self.size, 0.0)

    def pairs(self) -> dict[str, Pair]:
        return _pairs(self)

    def _removed(self) -> Pair:
        return moved_pair(self.base, list(range(self.size + 1)), *one_sided(self._weights()), self._reading)

    def _exchanged(self) -> Pair:
        size, weights = self.size, self._weights()
        side = [float(weight) for weight in weights[1:]]
        nothing = [0.0] * size
        p, q = [*nothing, float(weights[0]), *side], [*reversed(side), float(weights[0]), *nothing]
        gaps = [*(-weight for weight in reversed(side)), 0.0, *side]
        return moved_pair(self.base, list(range(-size, size + 1)), p, q, gaps, self._reading)

    def has_moment(self, tilt: float, rate: float = 1.0) -> bool:
        """That of the farthest move; moments are jointly convex in the two laws, so no mixture has a larger one."""
        whole = self.base.group(self.size * (2 if self.exchanged else 1))
        return whole.has_moment(
            tilt, -math.expm1(self.size * math.log1p(-chance)) if (chance := rate * self.rate) < 1 else 1.0
        )

    def group(self, size: int) -> Family:
        return attrs.evolve(self, size=self.size * size)

    def subsampled(self, rate: float) -> Family:
        """Sampling twice is sampling once at the product of the rates."""
        return attrs.evolve(self, rate=times(typed(rate), self.rate))


@lru_cache(maxsize=32)
def _pairs(group: SampledGroup) -> dict[str, Pair]:
    if group.exchanged:
        return {"both": group._exchanged()}
    removed = group._removed()
    return {"remove": removed, "add": removed.swapped()}
