"""What a budget promises against somebody who tests for the protected change: its trade-off curve, drawn and in words.

For every test with type I error alpha the type II error is at least beta(alpha). The points that are drawn are lower
ends of certified brackets, corners among them, and so close together that the lines between them cannot be told from
the curve by eye. A guess after a fair coin is right with probability at most (1 + delta(0)) / 2.

Reference: Dong, Roth and Su 2022, Definition 2.1 and Proposition 2.4 (trade-off functions); Kairouz, Oh and
Viswanath 2015, section 2 (operational meaning).
"""

from __future__ import annotations

from functools import lru_cache

import attrs
import numpy as np
from scipy.special import expit

from quiltwork.compose import constructors
from quiltwork.compose.loss import Loss
from quiltwork.ledger.book.limits import Limit
from quiltwork.numbers.digits import at_least, at_most
from quiltwork.numbers.rounding import down, up

__all__ = ["Promise", "promised"]

ALARMS = (0.01, 0.05, 0.1, 0.25)
WEAK = 0.5  # a budget that lets a test at 5% false alarms find more than half promises little
LEFT, TOP, SIZE = 52, 12, 288  # of the square that is drawn, in the units of its picture


@attrs.frozen
class Promise:
    """Points of the curve, some of them in words, and the path that draws it."""

    curve: tuple[tuple[float, float], ...]  # alpha and a lower bound on beta
    line: str
    area: str
    marks: tuple[tuple[float, float], ...]
    rows: tuple[tuple[str, str], ...]  # false alarms in percent, missed at least, in percent
    alarm: str
    missed: str
    right: str
    weak: bool


def loss_of(limit: Limit) -> Loss:
    """Everything that the limit allows, as one release."""
    if limit.kind == "approximate":
        return constructors.approximate(float(limit.epsilon or 0.0), float(limit.delta or 0.0))
    if limit.kind == "pure":
        return constructors.pure(float(limit.epsilon or 0.0))
    return (
        constructors.zcdp(float(limit.rho or 0.0)) if limit.kind == "zcdp" else constructors.gdp(float(limit.mu or 0.0))
    )


@lru_cache(maxsize=256)
def promised(limit: Limit) -> Promise:
    """The promise of a limit; it never changes, so it is drawn once."""
    loss = loss_of(limit)
    alpha = np.unique(np.concatenate([np.geomspace(1e-6, 0.02, 60), np.linspace(0.0, 1.0, 251), _corners(limit)]))
    beta = np.clip(np.asarray(loss.beta(alpha).lower, dtype=float), 0.0, 1.0)
    named = [max(float(loss.beta(alarm).lower), 0.0) for alarm in ALARMS]
    right = min(up((1.0 + float(loss.delta(0.0).upper)) / 2.0), 1.0)
    curve = tuple(zip(alpha.tolist(), beta.tolist(), strict=True))
    line = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in (_place(*point) for point in curve))
    return Promise(
        curve=curve,
        line=line,
        area=f"{line}L{LEFT} {TOP + SIZE}Z",
        marks=tuple(_place(x, y) for x, y in zip(ALARMS, named, strict=True)),
        rows=tuple((f"{100 * x:g}", _missed(y)) for x, y in zip(ALARMS, named, strict=True)),
        alarm="5",
        missed=_missed(named[1]),
        right=at_most(min(up(100 * right), 100.0), 3),
        weak=named[1] < WEAK,
    )


def _corners(limit: Limit) -> list[float]:
    """Where the curve of an (epsilon, delta) promise bends, and where it meets zero."""
    if limit.epsilon is None:
        return []
    rest = 1.0 - float(limit.delta or 0.0)
    return [rest * float(expit(-limit.epsilon)), rest]


def _missed(beta: float) -> str:
    return at_least(max(down(100 * beta), 0.0), 3)


def _place(alpha: float, beta: float) -> tuple[float, float]:
    return LEFT + SIZE * alpha, TOP + SIZE * (1.0 - beta)
