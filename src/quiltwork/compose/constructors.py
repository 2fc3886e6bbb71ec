"""The losses that users write down."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from quiltwork import checks
from quiltwork.compose.loss import Loss
from quiltwork.errors import InvalidParameter
from quiltwork.losses.families.constraints import Constraints, ProfilePoints
from quiltwork.losses.families.discrete import DiscreteGaussian, DiscreteLaplace
from quiltwork.losses.families.finite import FiniteLaws
from quiltwork.losses.families.gaussian import Gaussian, GaussianPrivacy
from quiltwork.losses.families.laplace import Laplace
from quiltwork.losses.families.mixture import Mixture
from quiltwork.losses.families.pure import Approximate, Pure
from quiltwork.losses.families.renyi import Renyi, ZeroConcentrated
from quiltwork.losses.families.tradeoff import from_vertices
from quiltwork.losses.families.tradeoff_function import Sandwich


def gaussian(sigma: float, sensitivity: float = 1.0) -> Loss:
    """Gaussian noise of standard deviation sigma on a query of the given l2 sensitivity."""
    return Loss.of(Gaussian(sigma, sensitivity))


def laplace(scale: float, sensitivity: float = 1.0) -> Loss:
    """Laplace noise of the given scale on one number of the given sensitivity."""
    return Loss.of(Laplace(scale, sensitivity))


def discrete_gaussian(sigma: float, sensitivity: int = 1) -> Loss:
    """Discrete Gaussian noise on an integer query."""
    return Loss.of(DiscreteGaussian(sigma, sensitivity))


def discrete_laplace(scale: float, sensitivity: int = 1) -> Loss:
    """Discrete Laplace (geometric) noise on an integer query."""
    return Loss.of(DiscreteLaplace(scale, sensitivity))


def pure(epsilon: float) -> Loss:
    """Any epsilon-DP release."""
    return Loss.of(Pure(epsilon))


def approximate(epsilon: float, delta: float) -> Loss:
    """Any (epsilon, delta)-DP release."""
    return Loss.of(Approximate(epsilon, delta))


def constraints(points: Iterable[tuple[float, float]]) -> Loss:
    """A release that satisfies every listed (epsilon, delta) at once."""
    return Loss.of(Constraints(points))


def gdp(mu: float) -> Loss:
    """A mu-GDP release."""
    return Loss.of(GaussianPrivacy(mu))


def zcdp(rho: float) -> Loss:
    """A rho-zCDP release."""
    return Loss.of(ZeroConcentrated(rho))


def rdp(orders: Any, epsilons: Any) -> Loss:
    """A release with Rényi divergence at most epsilons[i] at order orders[i], all at once."""
    return Loss.of(Renyi(orders, epsilons))


def tradeoff(f: Callable[[float], float] | Iterable[tuple[float, float]], *, symmetric: bool = False) -> Loss:
    """A release whose test has at least this type II error: vertices (alpha, beta), or a convex function.

    A function is held between two finite pairs, as finely as each question needs; its values are taken as exact to
    4e-16, or to the rounding noise they show. `symmetric` says that it is its own inverse: then only the half with
    f(alpha) > alpha is read, and tests in both directions keep their digits.
    """
    symmetric = checks.flag("symmetric", symmetric)
    if callable(f):
        return Loss.of(Sandwich(f, symmetric))
    if symmetric:
        raise InvalidParameter("symmetric", symmetric, "left out for vertices", "they say themselves what they are")
    return Loss.of(from_vertices(f))


def profile(epsilons: Iterable[float], deltas: Iterable[float]) -> Loss:
    """A release whose privacy profile is known at some points: delta(epsilons[i]) <= deltas[i], both directions."""
    try:
        known = [np.ravel(np.asarray(values, dtype=float)).tolist() for values in (epsilons, deltas)]
        points = list(zip(*known, strict=True))
    except (TypeError, ValueError):
        allowed = "two lists of numbers of equal length"
        raise InvalidParameter("epsilons and deltas", (epsilons, deltas), allowed) from None
    return Loss.of(ProfilePoints(points))


def pair(p: Any, q: Any) -> Loss:
    """Two explicit laws on the same outcomes: p when the record is there, q when it is not."""
    return Loss.of(FiniteLaws(p, q))


def poisson(loss: Loss, rate: float) -> Loss:
    """The release run on a Poisson sample: each record takes part with probability `rate`."""
    rate = checks.rate("rate", rate, "it is the chance that a record is sampled")
    family = _loss(loss).single("Poisson subsampling")
    return loss if rate == 1 else Loss.of(family.subsampled(rate))


def mixture(components: Iterable[tuple[float, Loss]]) -> Loss:
    """One of several releases, chosen at random with the given weights and named in the output."""
    try:
        found = [(weight, loss) for weight, loss in components]
    except (TypeError, ValueError):
        raise InvalidParameter("components", components, "a list of (weight, loss)") from None
    return Loss.of(Mixture([(weight, _loss(loss).single("a mixture")) for weight, loss in found]))


def _loss(value: Any) -> Loss:
    if not isinstance(value, Loss):
        raise InvalidParameter("loss", value, "a quiltwork loss")
    return value
