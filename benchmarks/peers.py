"""How the engine's benchmark asks dp_accounting: privacy loss distributions on a grid, both directions."""

from collections.abc import Iterable

import dp_accounting
from dp_accounting.pld import PLDAccountant, common
from dp_accounting.pld import privacy_loss_distribution as pld

DEFAULT_STEP = 1e-4
STEPS = (1e-2, 5e-3, 3e-3, 2e-3, 1e-3, 5e-4, 2e-4, 1.3e-4)
"""Coarser grids than the default, coarsest first."""


def gaussian(sigma: float, count: int, step: float, rate: float = 1.0) -> pld.PrivacyLossDistribution:
    """Poisson-subsampled Gaussian noise; both directions, pessimistic."""
    one = pld.from_gaussian_mechanism(sigma, value_discretization_interval=step, sampling_prob=rate)
    return one.self_compose(count)


def laplace(scale: float, count: int, step: float) -> pld.PrivacyLossDistribution:
    return pld.from_laplace_mechanism(scale, value_discretization_interval=step).self_compose(count)


def response(epsilon: float, count: int, step: float) -> pld.PrivacyLossDistribution:
    """Randomized response, the dominating pair of any pure release."""
    one = common.DifferentialPrivacyParameters(epsilon, 0)
    return pld.from_privacy_parameters(one, value_discretization_interval=step).self_compose(count)


def distinct(rows: Iterable[tuple[float, float, int]], step: float) -> pld.PrivacyLossDistribution:
    """Different subsampled Gaussians: (sigma, rate, count) each."""
    total = pld.identity(step)
    for sigma, rate, count in rows:
        total = total.compose(gaussian(sigma, count, step, rate))
    return total


def closed_gaussian(sigma: float, delta: float) -> float:
    """dp_accounting's own closed form, for those who know that Gaussians add up."""
    return dp_accounting.get_epsilon_gaussian(sigma, delta)


def calibrated_sigma(rate: float, count: int, epsilon: float, delta: float, step: float, tolerance: float) -> float:
    """dp_accounting's search for the noise of DP-SGD, from a sensible first guess."""

    def event(sigma: float) -> dp_accounting.DpEvent:
        one = dp_accounting.PoissonSampledDpEvent(rate, dp_accounting.GaussianDpEvent(sigma))
        return dp_accounting.SelfComposedDpEvent(one, count)

    return dp_accounting.calibrate_dp_mechanism(
        lambda: PLDAccountant(value_discretization_interval=step),
        event,
        epsilon,
        delta,
        dp_accounting.LowerEndpointAndGuess(0.5, 4.0),
        tol=tolerance,
    )
