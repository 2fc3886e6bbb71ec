"""Smooth trade-off functions that are their own inverse, each with its derivative."""

import math

from scipy.special import ndtr, ndtri


def gauss(mu):
    """G_mu and its derivative."""
    return (
        lambda x: float(ndtr(-ndtri(x) - mu)),
        lambda x: -math.exp(-mu * ndtri(x) - mu * mu / 2) if x > 0 else -math.inf,
    )


def parabola(top):
    """(sqrt(a) - sqrt(x))^2, which ends at x = a: for a < 1 something is revealed."""
    root = math.sqrt(top)
    return (
        lambda x: max(root - math.sqrt(x), 0.0) ** 2,
        lambda x: -max(root - math.sqrt(x), 0.0) / math.sqrt(x) if x > 0 else -math.inf,
    )


def hyperbola(bend):
    """(1 - x)/(1 + b x): its own inverse, with finite slopes -(1 + b) and -1/(1 + b) at the ends."""
    return lambda x: (1 - x) / (1 + bend * x), lambda x: -(1 + bend) / (1 + bend * x) ** 2
