"""`Cost`: by how much an epsilon grows, as an interval that holds the truth.

Both epsilons lie in their brackets, so the difference lies between lower - upper and upper - lower, rounded outward.
"""

from __future__ import annotations

import math
from typing import Any

import attrs

from quiltwork.curves.bracket import Bracket
from quiltwork.numbers.digits import at_least, at_most
from quiltwork.numbers.json import json_numbers
from quiltwork.numbers.rounding import difference, down, up

__all__ = ["Cost", "signed"]


@attrs.frozen
class Cost:
    """By how much epsilon grows: the truth lies between the ends; negative is a saving.

    `published` is how far the upper end moves, which is what may be published; it says most where brackets are wide.
    """

    lower: float
    upper: float
    published: float = 0.0

    @classmethod
    def of(cls, before: Bracket, after: Bracket, sign: int = 0) -> Cost:
        """After less before; `sign` is +1 when it cannot be negative, -1 when it cannot be positive."""
        lower, upper = _less(after.lower, before.upper, down), _less(after.upper, before.lower, up)
        if sign > 0:
            lower = max(lower, 0.0)
        if sign < 0:
            upper = min(upper, 0.0)
        return cls(min(lower, upper), max(lower, upper), _less(after.upper, before.upper, up))

    def __str__(self) -> str:
        """Both ends, rounded outward, with their signs.

        >>> str(Cost(0.10001, 0.10009)), str(Cost(-0.5, -0.25)), str(Cost(0.0, 0.0))
        ('+0.1 to +0.1001', '-0.5 to -0.25', '0')
        """
        if self.lower == -math.inf and self.upper == math.inf:
            return "unknown"
        one, two = signed(at_least(self.lower)), signed(at_most(self.upper))
        return one if one == two else f"{one} to {two}"

    def words(self) -> str:
        """The same as a verb.

        >>> Cost(0.125, 0.25).words(), Cost(-0.5, -0.25).words(), Cost(0.0, 0.0).words()
        ('grows by 0.125 to 0.25', 'falls by 0.25 to 0.5', 'stays as it was')
        """
        if self.lower == self.upper == 0:
            return "stays as it was"
        if self.lower >= 0:
            return f"grows by {_span(self.lower, self.upper)}"
        if self.upper <= 0:
            return f"falls by {_span(-self.upper, -self.lower)}"
        rest = f"; its upper end moves by {signed(at_most(self.published))}" if math.isfinite(self.published) else ""
        return ("may grow or fall" if str(self) == "unknown" else f"changes by {self}") + rest

    def to_json(self) -> dict[str, Any]:
        """Plain values; infinities are strings."""
        return {name: json_numbers(value) for name, value in attrs.asdict(self).items()}


def _less(one: Any, two: Any, outward: Any) -> float:
    """one - two, rounded outward; the far end where both are infinite."""
    if math.isinf(one) and one == two:
        return -math.inf if outward is down else math.inf
    if math.isinf(one) or math.isinf(two):
        return float(one) - float(two)
    found, rest = difference(one, two)
    return float(found) if float(rest) == 0.0 else float(outward(float(found)))


def _span(least: float, most: float) -> str:
    one, two = at_least(least), at_most(most)
    return one if one == two else f"{one} to {two}"


def signed(text: str) -> str:
    """A number with its sign; zero has none."""
    return text if text in ("0", "-0") or text.startswith("-") else f"+{text}"
