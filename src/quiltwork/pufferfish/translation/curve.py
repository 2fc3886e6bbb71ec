"""The curve of a composed per-entry loss under a prior: translated once, the penalty paid once.

Bounds by shifting (which hold the pure ones) and bounds by size hold for every case; the least is taken for each case,
then the worst case.  The lower ends are what some mechanism with this loss really leaks.

Reference: theory/pufferfish.md 3.2 and 3.6; `shift`.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.compose.loss import Loss
from quiltwork.curves.curve import BaseCurve, Ends
from quiltwork.errors import InvalidParameter
from quiltwork.kinds import document
from quiltwork.losses.families.pure import Pure
from quiltwork.numbers.rounding import down, up
from quiltwork.pufferfish.secrets import Secrets
from quiltwork.pufferfish.translation.approximate import Shift
from quiltwork.pufferfish.translation.by_size import BySize
from quiltwork.pufferfish.translation.translate import Translator
from quiltwork.pufferfish.translation.witness import Witness

__all__ = ["Leaks"]

METHOD = "translated once"
MAX_SINGLE_EPSILONS = 4  # epsilons that are answered one by one


class Leaks(BaseCurve):
    """Epsilon, delta and beta of the secrets, for a loss that every entry has."""

    def __init__(self, loss: Loss, translator: Translator, secrets: Secrets | None = None) -> None:
        self.loss, self.translator, self.secrets = loss, translator, secrets
        self.shift = Shift(loss, translator)
        own = translator.prior if translator.own_cases else None
        self.by_size = BySize(loss, own, translator.curve, secrets)

    def _epsilon(self, delta: FloatArray, rtol: float) -> Ends:
        upper = np.array([float(self._epsilons(value, rtol).max()) for value in delta.tolist()])
        lower = np.zeros(delta.size)
        if self.translator.direct:
            lower = np.asarray(self.loss.epsilon(delta, rtol=rtol).lower)
        lower = np.maximum(lower, [self._witness.epsilon(value) for value in delta.tolist()])
        if all(isinstance(part.family, Pure) for part in self.loss.parts):
            attained = down(self.translator.lower(float(self.loss.epsilon(0.0).lower)))
            lower = np.where(delta == 0.0, np.maximum(attained, lower), lower)
        return Ends(np.minimum(lower, upper), upper, METHOD)

    def _delta(self, epsilon: FloatArray, rtol: float) -> Ends:
        """Long lists are read off the chords between points of the curve."""
        size = np.abs(epsilon)
        upper = self.shift.deltas(size)
        if epsilon.size <= MAX_SINGLE_EPSILONS:
            known = [min(float(d), self.shift.delta_at(float(e), rtol)) for e, d in zip(size, upper, strict=True)]
            upper = np.array([self.by_size.delta(float(e), d, rtol) for e, d in zip(size, known, strict=True)])
        # both orders are protected: D(-eps) = 1 - e^-eps + e^-eps D(eps)
        upper = np.where(epsilon < 0.0, np.minimum(up(-np.expm1(-size) + np.exp(-size) * upper, 4), 1.0), upper)
        lower = np.asarray(self.loss.delta(epsilon, rtol=rtol).lower) * self.translator.direct
        lower = np.maximum(lower, [self._witness.delta(value) for value in epsilon.tolist()])
        return Ends(np.minimum(lower, upper), upper, METHOD)

    def _beta(self, alpha: FloatArray) -> Ends:
        """Every (epsilon, delta) that holds bounds it from below, in both orders."""
        epsilons, kept = self._points
        with np.errstate(over="ignore"):
            one = kept[:, None] - np.exp(epsilons)[:, None] * alpha
            two = np.exp(-epsilons)[:, None] * (kept[:, None] - alpha)
        lower = np.maximum(np.maximum(one, two).max(axis=0) * (1.0 - 1e-12) - 1e-15, 0.0)
        upper = np.asarray(self.loss.beta(alpha).upper) if self.translator.direct else 1.0 - alpha
        return Ends(lower, np.maximum(upper, lower), METHOD)

    def __repr__(self) -> str:
        return f"<Leaks of {self.loss} about the secrets of {self.translator.prior}>"

    def worst_case(self, delta: float) -> str:
        """The case with the largest epsilon."""
        return self.translator.curve.name_of(int(np.argmax(self._epsilons(delta, 1e-3))))

    # ---- the bounds

    def _epsilons(self, delta: float, rtol: float) -> FloatArray:
        entry = self.shift.entry_for(delta, rtol)
        count = len(self.translator.curve.cases)
        known = np.full(count, math.inf) if math.isinf(entry) else np.broadcast_to(self.translator.cases(entry), count)
        return self.by_size.epsilons(delta, known, rtol)

    @cached_property
    def _points(self) -> tuple[FloatArray, FloatArray]:
        """Epsilons and 1 - delta that hold."""
        epsilons, deltas = self.shift.points
        still = self.by_size.delta(0.0, float(self.shift.deltas(np.zeros(1))[0]), 1e-2)
        return np.append(epsilons, 0.0), 1.0 - np.append(deltas, still)

    @cached_property
    def _witness(self) -> Witness:
        return Witness.of(self.loss, self.translator, self.secrets)


# ---- as a document


def stated_loss(given: Any) -> Loss:
    """The loss that a document holds."""
    if not isinstance(given, Loss):
        raise InvalidParameter("loss", given, "the document of a loss")
    return given


def _written(value: Leaks) -> dict[str, Any]:
    translator = value.translator
    return {"loss": value.loss, "prior": translator.prior, "secrets": value.secrets, "method": translator.asked[1]}


def _read(loss: Any, prior: Any, secrets: Any = None, method: Any = "best") -> Leaks:
    return Leaks(stated_loss(loss), Translator.of(prior, secrets, method), secrets)


document("leaks/1", fields="loss prior", optional="secrets method", write=_written, read=_read)(Leaks)
