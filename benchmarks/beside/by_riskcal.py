"""riskcal: dp_accounting's distributions, turned into epsilons, noise and trade-off functions."""

from __future__ import annotations

from typing import Any

from dp_accounting.pld import privacy_loss_distribution as pld
from riskcal import analysis
from riskcal.accountants.ctd import CTDAccountant
from riskcal.calibration import blackbox

from benchmarks.beside.asks import Ask
from benchmarks.beside.parts import GAUSSIAN, SAMPLED
from benchmarks.beside.questions import BETAS, EPSILON, SIGMA, Question
from benchmarks.verdicts import NO, UPPER_IDEAL


def epsilon(question: Question) -> float:
    """From a history of steps, as Opacus keeps it."""
    found = CTDAccountant()
    found.history = [(part.scale, part.more if part.kind == SAMPLED else 1.0, part.count) for part in question.parts]
    return float(found.get_epsilon(delta=question.at))


def betas(question: Question) -> Any:
    """From the distribution of dp_accounting, building it included."""
    (part,) = question.parts
    built = pld.from_gaussian_mechanism(part.scale).self_compose(part.count)
    return analysis.get_beta_from_pld(built, alpha=question.points)


def closed(question: Question) -> Any:
    """For those who know that it is mu-GDP."""
    mu = sum(part.count / part.scale**2 for part in question.parts) ** 0.5
    return analysis.get_beta_from_gdp(mu=mu, alpha=question.points)


def calibrated(question: Question) -> float:
    """Its search, with its tolerance of 0.001 in epsilon."""
    (part,) = question.parts
    return float(
        blackbox.find_noise_multiplier_for_epsilon_delta(
            accountant=CTDAccountant,
            sample_rate=part.more,
            num_steps=part.count,
            epsilon=question.target,
            delta=question.at,
        )
    )


def asks(question: Question) -> list[Ask]:
    """All its ways."""
    if not question.kinds <= {GAUSSIAN, SAMPLED}:
        return []
    if question.kind == EPSILON:
        return [Ask("CTD h 1e-4", UPPER_IDEAL, lambda: epsilon(question))]
    if question.kind == SIGMA:
        name = f"CTD h 1e-4, epsilon within 0.001 of {question.target:g}"
        return [Ask(name, UPPER_IDEAL, lambda: calibrated(question))]
    if question.kind == BETAS:
        return [
            Ask("from a PLD, h 1e-4", NO, lambda: betas(question)),
            Ask("closed form", NO, lambda: closed(question)),
        ]
    return []
