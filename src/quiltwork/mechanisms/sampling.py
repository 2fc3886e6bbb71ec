"""The only place that draws noise: OpenDP's samplers, which use exact arithmetic and the system's random bits.

Integers get discrete noise. A double is a multiple of 2^-1074, and OpenDP adds discrete noise of that granularity
before it rounds to a double again, so that the noise has no gaps that would tell the value (Mironov 2012). Results
saturate at the ends of their type. Rounding and saturation are post-processing. The time a draw takes is not hidden.

Reference: theory/pufferfish.md 7.6; Canonne, Kamath and Steinke 2020 (samplers); McKenna and Sheldon 2020 (selection).
"""

from __future__ import annotations

from typing import Any

from quiltwork.errors import MissingExtra

__all__ = ["discrete_gaussian", "discrete_laplace", "lattice_gaussians", "lattice_laplaces", "peel"]

GRANULARITY = 2.0**-1074  # of doubles, and of the noise on them


def opendp() -> Any:
    """OpenDP's package, ready for use. Its prelude would load scikit-learn too, and pandas with it."""
    try:
        import opendp as dp
        import opendp.domains
        import opendp.measurements
        import opendp.measures
        import opendp.metrics
        import opendp.mod
    except ImportError:
        raise MissingExtra("opendp", "noise") from None
    dp.mod.enable_features("contrib")
    return dp


def _drawn(law: str, kind: type, values: list[Any], scale: float) -> list[Any]:
    """Each value plus its own draw of discrete noise: on integers, or on multiples of 2^-1074, rounded to doubles."""
    dp = opendp()
    laws = {
        "laplace": (dp.measurements.make_laplace, dp.metrics.l1_distance),
        "gaussian": (dp.measurements.make_gaussian, dp.metrics.l2_distance),
    }
    make, distance = laws[law]
    entry = dp.domains.atom_domain(T="i64") if kind is int else dp.domains.atom_domain(T="f64", nan=False)
    found = make(dp.domains.vector_domain(entry), distance(T="i64" if kind is int else "f64"), scale=scale)(values)
    return [kind(value) for value in found]


def discrete_laplace(values: list[int], scale: float) -> list[int]:
    """Each value plus its own draw, mass proportional to e^(-|x| / scale)."""
    return _drawn("laplace", int, values, scale)


def discrete_gaussian(values: list[int], sigma: float) -> list[int]:
    """Each value plus its own draw, mass proportional to e^(-x^2 / 2 sigma^2)."""
    return _drawn("gaussian", int, values, sigma)


def lattice_laplaces(values: list[float], scale: float) -> list[float]:
    """Each value plus its own draw of discrete Laplace noise on multiples of 2^-1074, rounded to doubles."""
    return _drawn("laplace", float, values, scale)


def lattice_gaussians(values: list[float], sigma: float) -> list[float]:
    """Each value plus its own draw of discrete Gaussian noise on multiples of 2^-1074, rounded to doubles."""
    return _drawn("gaussian", float, values, sigma)


def peel(scores: list[int], k: int, scale: float) -> list[int]:
    """k indices in order, each drawn from those left with probability proportional to e^(score / scale).

    For the zero-concentrated measure OpenDP draws candidates uniformly with replacement and keeps one with probability
    e^((score - best) / scale), in rational arithmetic: that is the exponential mechanism, exactly. For the pure measure
    it would draw without replacement (permute and flip), to which the bound of `top_k_loss` does not belong.
    """
    dp = opendp()
    space = dp.domains.vector_domain(dp.domains.atom_domain(T="i64")), dp.metrics.linf_distance(T="i64")
    select = dp.measurements.make_noisy_top_k(*space, dp.measures.zero_concentrated_divergence(), k=k, scale=scale)
    return [int(index) for index in select(scores)]
