"""How this library is asked; everything from the constructors to the answer."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import quiltwork as qw
from benchmarks.beside.parts import APPROXIMATE, GAUSSIAN, LAPLACE, RESPONSE, SAMPLED, Part
from benchmarks.beside.questions import DELTAS, EPSILON, SIGMA, Question

NAME = "quiltwork"
RTOL, SHARP = 1e-3, 1e-8  # the width that is asked for by default, and that of a second answer
SHARPER = f"rtol {SHARP:g}"
MAKE = {
    GAUSSIAN: lambda part: qw.gaussian(part.scale),
    SAMPLED: lambda part: qw.poisson(qw.gaussian(part.scale), part.more),
    LAPLACE: lambda part: qw.laplace(part.scale),
    RESPONSE: lambda part: qw.pure(part.scale),
    APPROXIMATE: lambda part: qw.approximate(part.scale, part.more),
}


def loss(parts: Iterable[Part]) -> qw.Loss:
    """The composition."""
    return qw.compose(*(part.count * MAKE[part.kind](part) for part in parts))


def answer(question: Question, rtol: float = RTOL) -> Any:
    """A Bracket, or a sigma that is safe."""
    if question.kind == EPSILON:
        return loss(question.parts).epsilon(question.at, rtol=rtol)
    if question.kind == SIGMA:
        (part,) = question.parts
        return qw.calibrate(
            lambda sigma: part.count * qw.poisson(qw.gaussian(sigma), part.more), question.target, question.at
        )
    found = loss(question.parts)
    return found.delta(question.points) if question.kind == DELTAS else found.beta(question.points)
