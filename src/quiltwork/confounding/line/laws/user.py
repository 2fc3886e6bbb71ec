"""A density of the user's own on the line."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, ClassVar

import attrs
import numpy as np

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.confounding.line.laws.components import Component
from quiltwork.confounding.line.laws.densities import KINK, Pair, Shapes, as_column, sure
from quiltwork.errors import InvalidParameter
from quiltwork.kinds import not_written
from quiltwork.numbers.rounding import UNIT


def _mode(value: Any) -> float:
    return checks.real("mode", value)


@not_written("its density is a Python function", "keep it in your program, or state a mixture of named laws")
@attrs.frozen(eq=False)
class Unimodal(Component):
    """The user's own density: rising up to the mode, falling after it, with both tails.

    `accuracy` is the relative error that its three functions are trusted to; the answers are certified given that.
    """

    kind: ClassVar[str] = "user"
    pdf: Callable[[FloatArray], Any]
    cdf: Callable[[FloatArray], Any]
    sf: Callable[[FloatArray], Any]
    mode: float = attrs.field(converter=_mode)
    support: tuple[float, float] = (-math.inf, math.inf)
    accuracy: float = 1e-12
    draws: Callable[[np.random.Generator, int], Any] | None = None
    spread: float = attrs.field(init=False, default=1.0)
    logs: Any = attrs.field(default=None, repr=False, kw_only=True)
    exact: tuple[Fraction, ...] = attrs.field(default=(), repr=False, init=False)

    def __repr__(self) -> str:
        return f"Unimodal(mode={self.mode:g}, support={self.support})"

    def __attrs_post_init__(self) -> None:
        low, high = (float(end) for end in self.support)
        if not low <= self.mode <= high or low == high:
            raise InvalidParameter("mode", self.mode, f"inside the support {self.support}")
        checks.ranged("accuracy", self.accuracy, "in [1e-15, 1e-3]", lambda number: 1e-15 <= number <= 1e-3)
        peak = self._at_mode(self.pdf)
        if not 0.0 < peak < math.inf:
            raise InvalidParameter("the density at the mode", peak, "positive and finite")
        whole = self._at_mode(self.cdf) + self._at_mode(self.sf)
        if not abs(whole - 1.0) <= 1e-6:
            raise InvalidParameter("cdf + sf at the mode", whole, "1", "they must belong to one law")
        checks.settle(self, spread=1.0 / (2.5 * peak))

    def _at_mode(self, function: Callable[[FloatArray], Any]) -> float:
        return float(np.asarray(function(np.array([self.mode])), dtype=float)[0])

    @classmethod
    def of(cls, dist: Any, mode: float, *, accuracy: float = 1e-12) -> Unimodal:
        """From a frozen scipy distribution with this mode."""
        low, high = dist.support()
        return cls(
            dist.pdf, dist.cdf, dist.sf, mode, (float(low), float(high)), accuracy,
            lambda rng, count: dist.rvs(size=count, random_state=rng), logs=(dist.logpdf, dist.logcdf, dist.logsf),
        )  # fmt: skip

    @classmethod
    def shapes(cls, parts: Sequence[Any]) -> Shapes:
        (part,) = parts
        return UserShapes(part)

    def sample(self, rng: np.random.Generator, count: int) -> FloatArray:
        return super().sample(rng, count) if self.draws is None else np.asarray(self.draws(rng, count), dtype=float)


def _logged(function: Callable[[FloatArray], Any]) -> Callable[[FloatArray], FloatArray]:
    def log(x: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore"):
            found: FloatArray = np.log(np.asarray(function(x), dtype=float))
        return found

    return log


def _known(what: str, x: FloatArray, found: FloatArray) -> None:
    wrong = np.isnan(found)
    if bool(wrong.any()):
        raise InvalidParameter(f"{what} at {float(x[wrong][0]):g}", math.nan, "a number")


class UserShapes(Shapes):
    """One density of the user's own, as right as the user says."""

    def __init__(self, law: Unimodal) -> None:
        logs = law.logs or tuple(_logged(function) for function in (law.pdf, law.cdf, law.sf))
        (self._log_pdf, self._log_cdf, self._log_sf), self.accuracy = logs, law.accuracy
        self._ends = np.array([end for end in law.support if math.isfinite(end)])
        self.place(as_column([law.mode]))
        self.spread = as_column([law.spread])
        self.share = np.exp(np.asarray(self._log_cdf(self.centre[0]), dtype=float))[:, None]
        self.peak = np.asarray(self._log_pdf(self.centre), dtype=float)
        self.tail_error = np.zeros_like(self.centre)

    def log_density(self, x: FloatArray) -> Pair:
        with np.errstate(all="ignore"):  # what is no number is refused
            found = np.asarray(self._log_pdf(x), dtype=float)[None, :]
        _known("the density", x, found[0])
        if bool(np.any((found > self.peak + 4.0 * self.accuracy) & (found < np.inf))):
            raise InvalidParameter(
                "mode", float(self.centre[0, 0]), "where the density is largest",
                f"it is larger at {float(x[np.argmax(np.where(found[0] < np.inf, found[0], -np.inf))]):g}",
            )  # fmt: skip
        found = np.where(found < np.inf, found, np.nan)  # nothing is known there
        return found, np.full(found.shape, self.accuracy)

    def log_tail(self, x: FloatArray) -> Pair:
        right = x >= self.centre[0]
        found = np.empty(x.shape)
        with np.errstate(all="ignore"):
            found[right], found[~right] = self._log_sf(x[right]), self._log_cdf(x[~right])
        found[np.isinf(x)] = -np.inf  # whatever the functions say there
        _known("a tail", x, found)
        return sure(found[None, :], np.full((1, x.size), self.accuracy / UNIT))

    def from_centre(self, x: FloatArray) -> Pair:
        """On either side, what is left of that side: the mode need not be the median."""
        tail, error = self.log_tail(x)
        side = np.where(x >= self.centre, 1.0 - self.share, self.share)
        return np.maximum(side - np.exp(tail), 0.0), side * error + self.accuracy

    def log_slope(self, x: FloatArray) -> FloatArray:
        return np.zeros((1, x.size))

    def log_bend(self, a: FloatArray, b: FloatArray) -> FloatArray:
        return np.full((1, a.size), KINK)

    def kinks(self) -> FloatArray:
        step = np.maximum(np.spacing(np.abs(self._ends)), 1e-290)  # below that few functions keep their digits
        return np.concatenate([self._ends - step, self._ends, self._ends + step])

    def _steps(self, count: int) -> FloatArray:
        return 0.5 * np.sinh(np.linspace(-5.5, 5.5, max(count, 3)))
