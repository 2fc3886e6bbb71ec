"""How much noise an answer gets: `quiltwork.noise.laplace(scale)`, `gaussian(sigma)` or `auto(weight)`.

Sizes are in units of the answer: visits of a count, euros of a sum. What is drawn is discrete noise on integers.
"""

from __future__ import annotations

from typing import TypeAlias

import attrs

from quiltwork import checks
from quiltwork.kinds import document
from quiltwork.losses.family import checked

__all__ = ["Auto", "Gaussian", "Laplace", "Noise", "auto", "gaussian", "laplace"]


@document("laplace_noise/1")
@attrs.frozen
class Laplace:
    """Discrete Laplace noise of this scale."""

    scale: float = checked(checks.moderate, "scale")

    @property
    def size(self) -> float:
        return self.scale

    def __str__(self) -> str:
        return f"Laplace noise of scale {self.scale:g}"


@document("gaussian_noise/1")
@attrs.frozen
class Gaussian:
    """Discrete Gaussian noise of this standard deviation."""

    sigma: float = checked(checks.moderate, "sigma")

    @property
    def size(self) -> float:
        return self.sigma

    def __str__(self) -> str:
        return f"Gaussian noise of standard deviation {self.sigma:g}"


@document("auto_noise/1")
@attrs.frozen
class Auto:
    """Noise that `plan.calibrate` chooses; twice the weight asks for a relative variance half as large."""

    weight: float = checked(checks.moderate, "weight", default=1.0)

    def __str__(self) -> str:
        return "noise that is not chosen yet"


Noise: TypeAlias = Laplace | Gaussian | Auto


def laplace(scale: float) -> Laplace:
    """Laplace noise of this scale, in units of the answer."""
    return Laplace(scale)


def gaussian(sigma: float) -> Gaussian:
    """Gaussian noise of this standard deviation, in units of the answer."""
    return Gaussian(sigma)


def auto(weight: float = 1.0) -> Auto:
    """Noise of a size that `plan.calibrate(epsilon, delta)` chooses."""
    return Auto(weight)
