"""autodp: Rényi moments, closed forms, and its analytical Fourier accountant (AFA).

The Fourier accountant does not get along with the scipy of today: it searches e^epsilon with `minimize_scalar` and
bounds of 0 and 1, which older versions did not apply, so that epsilon is about 0; and for samples it calls
`scipy.integrate.quadrature`, which is gone.
"""

from __future__ import annotations

import contextlib
import io
import math
from typing import Any

from autodp import calibrator_zoo, dp_bank, mechanism_zoo, transformer_zoo

from benchmarks.beside.asks import Ask
from benchmarks.beside.parts import APPROXIMATE, GAUSSIAN, LAPLACE, RESPONSE, SAMPLED, Part
from benchmarks.beside.questions import BETAS, DELTAS, EPSILON, SIGMA, Question
from benchmarks.verdicts import NO, UPPER_IDEAL


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
    """By characteristic functions; for samples the direction that is larger here."""
    mechanisms = []
    for part in question.parts:
        if part.kind == SAMPLED:
            inner = mechanism_zoo.GaussianMechanism(sigma=part.scale, phi_off=False, RDP_off=True)
            mechanisms.append(transformer_zoo.AmplificationBySampling_pld(neighboring="remove_only")(inner, part.more))
        else:
            mechanisms.append(one(part, phi_off=False))
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


def closed(question: Question) -> list[float]:
    """Its profile of one Gaussian of the whole size."""
    sigma = sum(part.count / part.scale**2 for part in question.parts) ** -0.5
    return [math.exp(dp_bank.get_logdelta_ana_gaussian(sigma, float(epsilon))) for epsilon in question.points]


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
        return [Ask("Rényi", UPPER_IDEAL, lambda: calibrated(question))]
    if question.kind == DELTAS:
        return [
            Ask("closed form", NO, lambda: closed(question)),
            Ask("approx_delta (Rényi)", UPPER_IDEAL, lambda: curve(question)),
        ]
    if question.kind == BETAS:
        return [Ask("closed form", NO, lambda: curve(question))]
    if question.kind != EPSILON or APPROXIMATE in question.kinds:
        return []
    found = [Ask("Rényi", UPPER_IDEAL, lambda: renyi(question))]
    if len(question.parts) == 1:
        if question.kinds == {GAUSSIAN}:
            found.append(Ask("closed form", NO, lambda: float(gaussian(question).approxDP(question.at))))
        found.append(Ask("Fourier (AFA)", NO, lambda: fourier(question)))
    return found
