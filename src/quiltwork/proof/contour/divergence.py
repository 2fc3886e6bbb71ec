"""The divergence of a composition as a ball, by the bounds of its releases from above and from below."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from functools import lru_cache
from typing import Any

from flint import arb

from quiltwork.proof.contour.balls import Budget, Undecided, between, exact, fraction, hi, lo, near, precision
from quiltwork.proof.contour.composed import BITS, Composed, Described, law_in
from quiltwork.proof.contour.line import rough, steer
from quiltwork.proof.contour.nodes import two_sided
from quiltwork.proof.contour.ranges import best_top, likely_top
from quiltwork.proof.fields import Refused

MOMENT = 1e6  # products of balls for one moment
UNDECIDED = (Undecided, OverflowError, ZeroDivisionError, ValueError, KeyError, TypeError)


@lru_cache(maxsize=24)
def _composed(described: str, upper: bool) -> Composed:
    return Composed(json.loads(described), upper)


class Question:
    """The divergence of a composition at one epsilon, side by side with all that was asked about it before.

    parts: (law, count), law = {"loss": JSON of one release, "direction": "remove" or "add"}; for losses that are known
    between two pairs only, "bound": "upper" or "lower" asks for one of them.
    work: products of balls allowed for each bound; no clock is read.
    """

    def __init__(self, parts: Described, epsilon: arb, work: float) -> None:
        self.eps, self._parts = epsilon, _merged(parts)
        self._budgets = {True: Budget(work), False: Budget(work)}
        one = self._parts[0][0]["loss"]["kind"] if [count for _, count in self._parts] == [1] else None
        two = any(two_sided(law["loss"]) and "bound" not in law for law, _ in self._parts)
        # attained by one release; the pair above bounded range
        exact = one == "random_allocation" or (one in ("fixed_size", "exponential") and bool(epsilon >= 0))
        self.sides = (True, False) if two and not exact else (one != "fixed_size",)

    def ball(self, upper: bool, accuracy: float) -> arb | None:
        """A ball of the bound from above, or from below, of about this relative width; None where there is none."""
        with precision(BITS):
            best: arb | None = None
            for parts in _revealed(self._parts) if upper else _chosen(self._parts, self.eps):
                try:
                    one = _composed(json.dumps(parts, sort_keys=True, default=str), upper)
                    found = one.at(self.eps, accuracy, self._budgets[upper])
                except UNDECIDED:
                    continue
                if best is None or (hi(found) < hi(best) if upper else lo(found) > lo(best)):
                    best = found
            return best


class Moments:
    """Moments of one release, of what is above it where it is known between two pairs only."""

    def __init__(self, described: dict[str, Any]) -> None:
        with precision(BITS):
            try:
                self._law = law_in(described, True)
            except UNDECIDED as reason:
                raise Refused(f"no moments: {reason}") from None
            self.kept = 1 - self._law.reveal

    def log(self, t: Fraction) -> arb:
        """log E e^(tL) of finite losses."""
        with precision(BITS):
            try:
                return self._law.moment(exact(t), Budget(MOMENT)).log()
            except UNDECIDED:
                return arb("inf")


def divergence(parts: Described, reveal: Any, epsilon: arb, accuracy: float, work: float) -> arb | None:
    """A ball that contains D(epsilon) = sup_E P(E) - e^epsilon Q(E) of the composition, or None."""
    if reveal != 0:
        return None
    try:
        question = Question(parts, epsilon, work)
    except UNDECIDED:
        return None
    found = {upper: question.ball(upper, accuracy) for upper in question.sides}
    if all(ball is None for ball in found.values()):
        return None
    if len(found) == 1:
        return found.popitem()[1]
    low, high = found[False], found[True]
    return _sides(arb(0) if low is None else low, arb(1) if high is None else high)


def _sides(low: arb, high: arb) -> arb | None:
    """From the lower end of one law to the upper end of another that is above it."""
    if lo(low) > hi(high):
        return None
    return between(low, high)


def _merged(parts: Described) -> list[tuple[dict[str, Any], int]]:
    """Equal releases once."""
    found: dict[str, tuple[dict[str, Any], int]] = {}
    for law, count in parts:
        loss = {name: value for name, value in law["loss"].items() if name != "count"}
        law = {**law, "loss": loss}
        key = json.dumps(law, sort_keys=True, default=str)
        found[key] = (law, found.get(key, (law, 0))[1] + int(count))
    return [(law, count) for law, count in found.values() if count > 0]


def _revealed(parts: Described) -> list[Described]:
    """Batches that are cut: full ones, which are rare, as what they are, or as what tells everything."""
    if not any(law["loss"]["kind"] == "truncated_poisson" for law, _ in parts) or [n for _, n in parts] == [1]:
        return [parts]
    marked = [
        ({**law, "loss": {**law["loss"], "revealed": True}}, n)
        if law["loss"]["kind"] == "truncated_poisson"
        else (law, n)
        for law, n in parts
    ]
    return [marked, parts]


def _chosen(parts: Described, eps: arb) -> list[Described]:
    """Mechanisms of bounded range with two outcomes: those that likely cost most, and those that cost alike."""
    stated = [law["loss"] for law, _ in parts if law["loss"]["kind"] == "exponential"]
    if not any(fraction(loss["epsilon"]) for loss in stated):
        return [parts]
    likely: Described = parts
    for place, (law, count) in enumerate(parts):
        if law["loss"]["kind"] == "exponential" and fraction(law["loss"]["epsilon"]):
            likely = _with_top(likely, place, law, count, near(eps))
    return [likely, parts]


def _with_top(parts: Described, place: int, law: dict[str, Any], count: int, at: float) -> Described:
    def taken(top: Fraction) -> Described:
        return [*parts[:place], ({**law, "loss": {**law["loss"], "top": top}}, count), *parts[place + 1 :]]

    def height(top: Fraction) -> float:
        made = [(law_in(one, False), n) for one, n in taken(top)]
        theta = steer(made, at).theta
        return rough(made, theta) - theta * at - math.log(theta * (1 + theta))

    stated = fraction(law["loss"]["epsilon"])
    return taken(best_top(stated, count, at) if len(parts) == 1 else likely_top(stated, height))
