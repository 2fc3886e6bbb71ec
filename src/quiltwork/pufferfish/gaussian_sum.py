"""Gaussian losses in closed form, for many group sizes and epsilons at once."""

from __future__ import annotations

import math

import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.compose.loss import Loss
from quiltwork.curves.rounding import up
from quiltwork.losses.gaussian import Gaussian, GaussianPrivacy, log_stick

__all__ = ["gaussian_delta", "gaussian_mu"]


def gaussian_mu(loss: Loss) -> float | None:
    """mu of a composition of Gaussian releases, rounded up; None when some release is of another kind."""
    squares = []
    for part in loss.parts:
        family = part.family
        if isinstance(family, GaussianPrivacy):
            mu = family.mu
        elif isinstance(family, Gaussian):
            mu = family.sensitivity / family.sigma
        else:
            return None
        squares.append(part.count * mu * mu)
    total = math.sqrt(math.fsum(squares)) if squares else 0.0
    return up(total * (1.0 + 1e-14)) if total > 0 else None


def gaussian_delta(mu: FloatArray, epsilon: FloatArray) -> FloatArray:
    """The hockey stick of mu-GDP at epsilon, elementwise, rounded up."""
    value, error = log_stick(mu, epsilon)  # type: ignore[arg-type]  # elementwise in mu as well
    with np.errstate(over="ignore"):
        found = np.exp(np.minimum(np.where(np.isnan(value), 0.0, value) + error, 0.0))
    most = np.where(epsilon >= 0, np.minimum(mu / 2.5, 1.0), 1.0)  # D <= D(0) <= mu / sqrt(2 pi)
    return np.asarray(up(np.minimum(found, most)))
