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
EQUAL = 1e-30  # a smaller part is none: truths in many digits are known to 40 of them


@attrs.frozen(slots=True)
class Check:
    """One claim about one question: whether it holds, how far on the safe side the bound is, how wide the bracket is.

    Margin and width are relative to the truth. The margin is that of the end which protects (the upper one of epsilon
    and delta, the lower one of beta); a bound that equals the truth, as well as that is known, has none.
    """

    claim: str
    holds: bool
    margin: float = NAN
    note: str = ""
    width: float = NAN


@attrs.frozen(slots=True)
class Skip:
    """A question without a truth, or without an answer that was promised: counted apart, never as a check."""

    why: str


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


def protecting(claim: str) -> bool:
    """Whether a claim is about the end that protects; what says that a bound is not too loose has no margin."""
    loose = ", upper end" if "beta" in claim else ", lower end"
    return not claim.endswith(loose) and "hardly" not in claim and "no more noise" not in claim


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


def inside(
    claim: str, lower: float, low: Any, high: Any, upper: float, note: str = "", protects: str = "upper"
) -> Check:
    """A truth that lies in [low, high] (fractions, or many digits) meets [lower, upper]; both ends are one claim."""
    if math.isinf(upper) and math.isinf(lower):
        return Check(claim, False, NAN, note)
    exact: Any = Fraction if isinstance(low, Fraction) else type(low)
    first, size = exact(lower), abs(low) or abs(high)
    below, above = high - first, (exact(upper) - low if math.isfinite(upper) else math.inf)
    holds = bool(lower <= upper and below >= 0 and above >= 0)
    margin = NAN
    if protects == "lower":
        margin = surely(low - first, high - low, size)
    elif math.isfinite(upper):
        margin = surely(exact(upper) - high, high - low, size)
    width = (
        float(Fraction(upper) - Fraction(lower)) / float(size) if size and math.isfinite(upper) and float(size) else NAN
    )
    return Check(claim, holds, margin, note, width)


def surely(gap: Any, unknown: Any, size: Any) -> float:
    """A gap beyond what is not known of the truth, over its size."""
    return relative(gap, size) if gap > unknown else NAN


def covers(claim: str, truth: Any, upper: float, note: str = "") -> Check:
    """An upper end alone: no less than the truth."""
    if math.isinf(upper):
        return Check(claim, upper > 0, NAN, note)
    room = (Fraction(upper) if isinstance(truth, Fraction) else type(truth)(upper)) - truth
    return Check(claim, bool(room >= 0), relative(room, truth), note)


def decided(what: str, fits: bool, granted: bool, note: str) -> Check:
    """A request was granted if and only if it fits: one claim, named after what should have been."""
    return Check(
        f"{what}: granted what fits" if fits else f"{what}: refused what does not fit", granted == fits, note=note
    )


def ends(bracket: Any) -> Iterator[tuple[float, float]]:
    """(lower, upper) of every question of a bracket."""
    return zip(np.ravel(bracket.lower).tolist(), np.ravel(bracket.upper).tolist(), strict=True)


def ordered(claim: str, bracket: Any, places: list[float]) -> Check:
    """What is known to fall with the question: no lower end may pass the upper end of an earlier place."""
    rows = sorted(zip(places, ends(bracket), strict=True))
    wrong = [place for (_, before), (place, after) in itertools.pairwise(rows) if after[0] > before[1]]
    return Check(claim, not wrong, NAN, f"near {wrong[0]!r}" if wrong else "")
