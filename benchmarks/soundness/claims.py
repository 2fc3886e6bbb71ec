"""A check, and how a bracket is held against a truth that is a fraction or a number of many digits."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import attrs
import numpy as np

NAN = math.nan
EQUAL = 1e-25  # a smaller part is none: truths have no more digits


@attrs.frozen(slots=True)
class Check:
    """One claim about one question: whether it holds, how far inside the truth lies, how wide the bracket is.

    Margin and width are relative to the truth; a bound that equals the truth has no margin.
    """

    claim: str
    holds: bool
    margin: float = NAN
    note: str = ""
    width: float = NAN


@attrs.frozen
class Kind:
    """One kind of random case: how to draw one, and what to ask about it.

    A plain case is a dictionary that JSON can hold, questions included, and `ask(case)` depends on nothing else: it can
    be replayed and made smaller. Other cases are drawn again from their seed, and are asked with `ask(case, rng)`.
    """

    room: str
    name: str
    draw: Callable[[np.random.Generator], Any]
    ask: Callable[..., Iterator[Any]]
    plain: bool = True

    @property
    def title(self) -> str:
        """Room and kind."""
        return f"{self.room}: {self.name}"


def relative(room: Any, size: Any) -> float:
    """Distance over size; exact equality has no margin."""
    part = abs(float(room / size)) if room and size else 0.0
    return part if part > EQUAL else NAN


def at_most(claim: str, small: Any, large: Any, note: str = "") -> Check:
    """small <= large; floats are read as the fractions they are."""
    if isinstance(small, float) and math.isinf(small):
        return Check(claim, small < 0 or small == large, NAN, note)
    if isinstance(large, float) and math.isinf(large):
        return Check(claim, large > 0, NAN, note)
    a, b = (Fraction(value) if isinstance(value, float) else value for value in (small, large))
    return Check(claim, bool(a <= b), relative(b - a, max(abs(a), abs(b))), note)


def inside(claim: str, lower: float, low: Any, high: Any, upper: float, note: str = "") -> Check:
    """A truth that lies in [low, high] (fractions, or many digits) meets [lower, upper]; both ends are one claim."""
    if math.isinf(upper) and math.isinf(lower):
        return Check(claim, False, NAN, note)
    exact: Any = Fraction if isinstance(low, Fraction) else type(low)
    first = exact(lower)
    below, above = high - first, (exact(upper) - low if math.isfinite(upper) else math.inf)
    size = abs(low) or abs(high)
    margins = [relative(gap, size) for gap in (below, above) if not (isinstance(gap, float) and math.isinf(gap))]
    real = [margin for margin in margins if not math.isnan(margin)]
    holds = bool(lower <= upper and below >= 0 and above >= 0)
    width = (
        float(Fraction(upper) - Fraction(lower)) / float(size) if size and math.isfinite(upper) and float(size) else NAN
    )
    return Check(claim, holds, min(real, default=NAN), note, width)


def covers(claim: str, truth: Any, upper: float, note: str = "") -> Check:
    """An upper end alone: no less than the truth."""
    if math.isinf(upper):
        return Check(claim, upper > 0, NAN, note)
    room = (Fraction(upper) if isinstance(truth, Fraction) else type(truth)(upper)) - truth
    return Check(claim, bool(room >= 0), relative(room, truth), note)


def ends(bracket: Any) -> Iterator[tuple[float, float]]:
    """(lower, upper) of every question of a bracket."""
    return zip(np.ravel(bracket.lower).tolist(), np.ravel(bracket.upper).tolist(), strict=True)


def ordered(claim: str, bracket: Any, places: list[float]) -> Check:
    """What is known to fall with the question: no lower end may pass the upper end of an earlier place."""
    rows = sorted(zip(places, ends(bracket), strict=True))
    wrong = [place for (_, before), (place, after) in itertools.pairwise(rows) if after[0] > before[1]]
    return Check(claim, not wrong, NAN, f"near {wrong[0]!r}" if wrong else "")
