"""Additive noise in some basis, and the linear model of a release that linear attackers invert.

A channel releases centre + S (scale * B'(x - centre) + noise): with B and S the identity and scale 1 it is plain noise.
Whatever B and S are, the output is a function of scale * B'(x - centre) + noise, which is what certificates are about.

Reference: theory/game.md section 4, closed forms.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.game.people.statistic import Statistic

__all__ = ["Channel", "LinearModel"]


@attrs.frozen(eq=False)
class LinearModel:
    """y = mean + gain (b - E b) + noise of these variances, where y = project(outputs)."""

    mean: FloatArray
    gain: FloatArray
    variance: FloatArray
    prior_variances: FloatArray
    prior_rates: FloatArray
    project: Callable[[FloatArray], FloatArray]

    @classmethod
    def stacked(cls, models: Sequence[LinearModel], widths: Sequence[int]) -> LinearModel:
        """Releases with independent noise, side by side; `widths` are the columns of each one's outputs."""
        cuts = np.cumsum(widths)[:-1]

        def project(outputs: FloatArray) -> FloatArray:
            parts = np.split(outputs, cuts, axis=1)
            return np.concatenate([model.project(part) for model, part in zip(models, parts, strict=True)], axis=1)

        return cls(
            np.concatenate([model.mean for model in models]),
            np.concatenate([model.gain for model in models]),
            np.concatenate([model.variance for model in models]),
            models[0].prior_variances,
            models[0].prior_rates,
            project,
        )


@attrs.frozen(eq=False)
class Channel:
    """How a defence draws: the family of its noise, a basis, a scale and a variance for each direction."""

    family: Literal["gaussian", "laplace", "none"]
    variance: FloatArray
    scale: FloatArray
    centre: FloatArray
    basis: FloatArray | None = None
    synthesis: FloatArray | None = None  # S; the basis itself if not given

    @property
    def informative(self) -> bool:
        """Whether the output depends on the data at all."""
        return bool(np.any(self.scale > 0))

    def coordinates(self, values: FloatArray) -> FloatArray:
        """B'(x - centre)."""
        moved = values - self.centre
        return moved if self.basis is None else moved @ self.basis

    def draw(self, exact: FloatArray, rng: np.random.Generator) -> FloatArray:
        """One output for each row of exact values."""
        signal = self.coordinates(exact) * self.scale
        if self.family == "gaussian":
            signal = signal + rng.standard_normal(signal.shape) * np.sqrt(self.variance)
        elif self.family == "laplace":
            signal = signal + rng.laplace(size=signal.shape) * np.sqrt(self.variance / 2.0)
        if self.basis is None:
            return self.centre + signal
        return self.centre + signal @ (self.basis if self.synthesis is None else self.synthesis).T

    def linear(self, statistic: Statistic) -> LinearModel:
        """The linear model of this channel behind a statistic."""
        kept = self.scale > 0
        gain = statistic.gain if self.basis is None else self.basis.T @ statistic.gain
        people = statistic.population.size[0]
        return LinearModel(
            (self.scale * self.coordinates(statistic.mean[None, :])[0])[kept],
            (self.scale[:, None] * gain)[kept],
            self.variance[kept],
            statistic.variances,
            statistic.population.prior.rates(people),
            lambda outputs: self.coordinates(outputs)[:, kept],
        )
