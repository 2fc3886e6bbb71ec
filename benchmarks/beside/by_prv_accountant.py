"""prv_accountant: a lower and an upper end, of a width that is chosen in advance; one direction."""

from __future__ import annotations

from collections.abc import Sequence

import prv_accountant as prv
from prv_accountant.dpsgd import find_noise_multiplier

from benchmarks.beside.asks import Ask
from benchmarks.beside.parts import APPROXIMATE, GAUSSIAN, LAPLACE, RESPONSE, Part
from benchmarks.beside.questions import BETAS, DELTAS, SIGMA, Question
from benchmarks.verdicts import BOTH_IDEAL, NO, UPPER_IDEAL

ERRORS = (0.1, 0.01)


def one(part: Part) -> prv.PrivacyRandomVariable:
    """A single release."""
    if part.kind == GAUSSIAN:
        return prv.GaussianMechanism(noise_multiplier=part.scale)
    if part.kind == LAPLACE:
        return prv.LaplaceMechanism(mu=1 / part.scale)
    if part.kind == RESPONSE:
        return prv.PureDPMechanism(part.scale)
    if part.kind == APPROXIMATE:
        return prv.ApproximateDPMechanism(part.scale, part.more)
    return prv.PoissonSubsampledGaussianMechanism(noise_multiplier=part.scale, sampling_probability=part.more)


def accountant(parts: Sequence[Part], error: float, delta: float) -> tuple[prv.PRVAccountant, list[int]]:
    counts = [part.count for part in parts]
    found = prv.PRVAccountant(
        prvs=[one(part) for part in parts], eps_error=error, delta_error=delta, max_self_compositions=counts
    )
    return found, counts


def ends(question: Question, error: float) -> tuple[float, float]:
    """Lower and upper epsilon."""
    found, counts = accountant(question.parts, error, question.at / 1000)
    low, _, high = found.compute_epsilon(question.at, counts)
    return float(low), float(high)


def deltas(question: Question) -> list[float]:
    """The upper end at each epsilon, as compute_delta has it, of one composition."""
    found, counts = accountant(question.parts, ERRORS[0], 1e-9)
    composed = found.compute_composition(counts)
    upper = lambda epsilon: composed.compute_delta_estimate(epsilon - found.eps_error) + found.delta_error  # noqa: E731
    return [float(upper(epsilon)) for epsilon in question.points]


def asks(question: Question) -> list[Ask]:
    """All its ways."""
    if question.kind == BETAS:
        return []
    if question.kind == DELTAS:
        return [Ask("eps_error 0.1, composed once", UPPER_IDEAL, lambda: deltas(question), slow=True)]
    if question.kind == SIGMA:
        (part,) = question.parts
        return [  # it checks that the upper end of epsilon is below the target plus eps_error
            Ask(
                f"find_noise_multiplier, epsilon below {question.target:g} + {error:g}",
                NO,
                lambda error=error: float(
                    find_noise_multiplier(part.more, part.count, question.target, question.at, eps_error=error)
                ),
                slow=error < 0.1,
            )
            for error in ERRORS
        ]
    return [
        Ask(f"eps_error {error:g}", BOTH_IDEAL, lambda error=error: ends(question, error), slow=error < 0.1)
        for error in ERRORS
    ]
