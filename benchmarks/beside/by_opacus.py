"""Opacus: its Rényi, PRV and GDP accountants, for Gaussian steps with or without sampling."""

from __future__ import annotations

from opacus.accountants import create_accountant
from opacus.accountants.utils import get_noise_multiplier

from benchmarks.beside.asks import Ask
from benchmarks.beside.parts import GAUSSIAN, SAMPLED
from benchmarks.beside.questions import EPSILON, SIGMA, Question
from benchmarks.verdicts import NO, UPPER_IDEAL

CLAIMS = {"rdp": UPPER_IDEAL, "prv": UPPER_IDEAL, "gdp": NO}  # gdp is a central limit, not a bound


def epsilon(question: Question, name: str) -> float:
    """From a history of steps."""
    found = create_accountant(name)
    found.history = [(part.scale, part.more if part.kind == SAMPLED else 1.0, part.count) for part in question.parts]
    return float(found.get_epsilon(question.at))


def calibrated(question: Question, name: str) -> float:
    """Its search, with its tolerance of 0.01 in epsilon."""
    (part,) = question.parts
    return float(
        get_noise_multiplier(
            target_epsilon=question.target,
            target_delta=question.at,
            sample_rate=part.more,
            steps=part.count,
            accountant=name,
        )
    )


def asks(question: Question) -> list[Ask]:
    """All its ways."""
    if not question.kinds <= {GAUSSIAN, SAMPLED} or question.kind not in (EPSILON, SIGMA):
        return []
    call = epsilon if question.kind == EPSILON else calibrated
    names = [name for name in CLAIMS if name != "gdp" or len(question.parts) == 1]
    words = "" if question.kind == EPSILON else f", epsilon within 0.01 of {question.target:g}"
    return [Ask(name.upper() + words, CLAIMS[name], lambda name=name: call(question, name)) for name in names]
