"""autodp: Rényi moments, closed forms, and its analytical Fourier accountant (AFA)."""

from __future__ import annotations

import contextlib
import io
import math
from typing import Any

from autodp import calibrator_zoo, mechanism_zoo, transformer_zoo

from benchmarks.beside.asks import NO, UPPER, Ask
from benchmarks.beside.questions import (
    APPROXIMATE,
    BETAS,
    DELTAS,
    EPSILON,
    GAUSSIAN,
    LAPLACE,
    RESPONSE,
    SAMPLED,
    SIGMA,
    Part,
    Question,
)


def one(part: Part, **more: Any) -> Any:
    """A single release."""
    if part.kind == GAUSSIAN:
        return mechanism_zoo.GaussianMechanism(sigma=part.scale, **more)
    if part.kind == LAPLACE:
        return mechanism_zoo.LaplaceMechanism(b=part.scale, **more)
    if part.kind == RESPONSE:
        return mechanism_zoo.RandresponseMechanism(p=1 / (1 + math.exp(-part.scale)), **more)
    inner = mechanism_zoo.GaussianMechanism(sigma=part.scale)
    return transformer_zoo.AmplificationBySampling()(inner, part.more, improved_bound_flag=True)


def renyi(question: Question) -> float:
    """Composed by Rényi moments."""
    if question.kinds == {SAMPLED} and len(question.parts) == 1:
        (part,) = question.parts
        found = mechanism_zoo.SubsampleGaussianMechanism({"prob": part.more, "sigma": part.scale, "coeff": part.count})
        return float(found.get_approxDP(question.at))
    parts = question.parts
    composed = transformer_zoo.Composition()([one(part) for part in parts], [part.count for part in parts])
    return float(composed.get_approxDP(question.at))


def fourier(question: Question) -> float:
    """By characteristic functions."""
    if question.kinds == {SAMPLED}:
        (part,) = question.parts
        given = {"prob": part.more, "sigma": part.scale, "coeff": part.count}
        found = mechanism_zoo.SubsampleGaussianMechanism(given, phi_off=False, RDP_off=True)
        return float(found.get_approxDP(question.at))
    mechanisms = [one(part, phi_off=False) for part in question.parts]
    composed = transformer_zoo.ComposeAFA()(mechanisms, [part.count for part in question.parts])
    return float(composed.get_approxDP(question.at))


def gaussian(question: Question) -> Any:
    """The closed form of a Gaussian composition."""
    (part,) = question.parts
    exact = mechanism_zoo.ExactGaussianMechanism(sigma=part.scale)
    return transformer_zoo.ComposeGaussian()([exact], [part.count])


def curve(question: Question) -> list[float]:
    """Its profile or trade-off function, point by point; it talks while it searches."""
    found = gaussian(question)
    asked = found.approx_delta if question.kind == DELTAS else found.fDP
    with contextlib.redirect_stdout(io.StringIO()):
        return [float(asked(float(point))) for point in question.points]


def calibrated(question: Question) -> float:
    """Its calibrator, on Rényi moments."""
    (part,) = question.parts

    class Steps(mechanism_zoo.SubsampleGaussianMechanism):  # type: ignore[misc]
        def __init__(self, sigma: float) -> None:
            given = {"prob": part.more, "sigma": sigma, "coeff": part.count}
            mechanism_zoo.SubsampleGaussianMechanism.__init__(self, given)

    found = calibrator_zoo.eps_delta_calibrator()(Steps, question.target, question.at, [0.5, 10])
    return float(found.params["sigma"])


def asks(question: Question) -> list[Ask]:
    """All its ways."""
    if question.kind == SIGMA:
        return [Ask("Rényi", UPPER, lambda: calibrated(question))]
    if question.kind in (DELTAS, BETAS):
        return [Ask("closed form", NO, lambda: curve(question))]
    if question.kind != EPSILON or APPROXIMATE in question.kinds:
        return []
    found = [Ask("Rényi", UPPER, lambda: renyi(question))]
    if len(question.parts) == 1:
        if question.kinds == {GAUSSIAN}:
            found.append(Ask("closed form", NO, lambda: float(gaussian(question).approxDP(question.at))))
        found.append(Ask("Fourier (AFA)", NO, lambda: fourier(question)))
    return found
