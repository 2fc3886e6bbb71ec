"""Who is in the data, before anything is released: the membership vector b in {0, 1}^K.

Two priors are usual.  `Half`: exactly half of the candidates, each half equally likely (the paper's).  `Independent`:
each candidate by a coin of its own, which one-run audits need, because under `Half` the members tell about each other.

Reference: seed 004 section 4; theory/game.md sections 4 (covariance of exactly-half sampling) and 6.
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import attrs
import numpy as np
from numpy.typing import NDArray

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.errors import InvalidParameter
from quiltwork.kinds import document

__all__ = ["Half", "Independent", "Members", "Prior"]

Members = NDArray[np.bool_]


@runtime_checkable
class Prior(Protocol):
    """A law of membership vectors of any number of candidates."""

    def check(self, candidates: int) -> None: ...

    def draw(self, count: int, candidates: int, rng: np.random.Generator) -> Members: ...

    def rates(self, candidates: int) -> FloatArray: ...

    def covariance(self, candidates: int) -> FloatArray: ...


@document("half/1")
@attrs.frozen
class Half:
    """Exactly half of the candidates are members (rounded down), each such set equally likely."""

    def check(self, candidates: int) -> None:
        """At least two candidates, so that there are members and others."""
        if candidates < 2:
            raise InvalidParameter("candidates", candidates, "at least 2 under the exactly-half prior")

    def size(self, candidates: int) -> int:
        """How many members there are."""
        return candidates // 2

    def draw(self, count: int, candidates: int, rng: np.random.Generator) -> Members:
        """Membership of `count` data sets, one a row."""
        self.check(candidates)
        order = rng.random((count, candidates)).argsort(axis=1)
        members = np.zeros((count, candidates), dtype=np.bool_)
        np.put_along_axis(members, order[:, : self.size(candidates)], True, axis=1)
        return members

    def rates(self, candidates: int) -> FloatArray:
        """P(b_k = 1)."""
        return np.full(candidates, self.size(candidates) / candidates)

    def covariance(self, candidates: int) -> FloatArray:
        """Cov(b) = n (K - n) / (K (K - 1)) (I - 11'/K), which is K / (4 (K - 1)) (I - 11'/K) for even K."""
        self.check(candidates)
        n = self.size(candidates)
        scale = n * (candidates - n) / (candidates * (candidates - 1.0))
        return scale * (np.eye(candidates) - 1.0 / candidates)


def _rate(value: Any) -> float | tuple[float, ...]:
    """Rates strictly between 0 and 1: a sure member has no membership to infer."""
    rates = checks.numbers("rate", value, "in (0, 1)", 0.0, 1.0)
    if rates.ndim > 1 or bool(np.any((rates == 0) | (rates == 1))):
        raise InvalidParameter("rate", value, "one number in (0, 1), or a list of them")
    return float(rates) if rates.ndim == 0 else tuple(float(rate) for rate in rates)


@document("independent_members/1")
@attrs.frozen
class Independent:
    """Each candidate is a member by a coin of its own; `rate` is one number, or one a candidate."""

    rate: float | tuple[float, ...] = attrs.field(default=0.5, converter=_rate)

    def check(self, candidates: int) -> None:
        """One rate for all, or as many as candidates."""
        if isinstance(self.rate, tuple) and len(self.rate) != candidates:
            raise InvalidParameter("rate", len(self.rate), f"one rate, or {candidates}: one a candidate")

    def draw(self, count: int, candidates: int, rng: np.random.Generator) -> Members:
        """Membership of `count` data sets, one a row."""
        return np.asarray(rng.random((count, candidates)) < self.rates(candidates))

    def rates(self, candidates: int) -> FloatArray:
        """P(b_k = 1)."""
        self.check(candidates)
        return np.broadcast_to(np.asarray(self.rate, dtype=float), (candidates,)).copy()

    def covariance(self, candidates: int) -> FloatArray:
        """Cov(b), which is diagonal."""
        rates = self.rates(candidates)
        return np.diag(rates * (1.0 - rates))
