"""Kinds of questions whose answers are frozen: numbers drawn from a name, and answers as JSON has them."""

import random
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any

import numpy as np

import quiltwork as qw

UNIT = 4096


class Draw:
    """Numbers that depend on a name and on nothing else: few decimals, so that they can be typed again."""

    def __init__(self, name: str) -> None:
        self._source = random.Random(name)

    def share(self, low: float = 0.0, high: float = 1.0) -> float:
        """A number in between, four decimals."""
        return round(low + (high - low) * self._source.random(), 4)

    def power(self, low: float, high: float) -> float:
        """10^x for an x in between, three significant digits."""
        return float(f"{10.0 ** (low + (high - low) * self._source.random()):.3g}")

    def whole(self, low: int, high: int) -> int:
        """A whole number, ends included."""
        return low + int((high - low + 1) * self._source.random())

    def count(self, low: float, high: float) -> int:
        """A whole number near 10^x."""
        return max(1, int(self.power(low, high)))

    def pick(self, options: Any) -> Any:
        """One of these."""
        return options[self.whole(0, len(options) - 1)]

    def weights(self, size: int, least: int = 1) -> list[int]:
        """Whole weights that sum to 2^12, so that shares are exact doubles."""
        cuts = sorted(self.whole(0, UNIT - least * size) for _ in range(size - 1))
        return [b - a + least for a, b in zip([0, *cuts], [*cuts, UNIT - least * size], strict=True)]

    def row(self, size: int, least: int = 1) -> list[float]:
        """Probabilities."""
        return [w / UNIT for w in self.weights(size, least)]

    def rows(self, count: int, size: int, least: int = 1) -> list[list[float]]:
        """A row of probabilities each."""
        return [self.row(size, least) for _ in range(count)]

    def fractions(self, count: int, size: int, least: int = 1) -> list[list[Fraction]]:
        """The same as fractions."""
        return [[Fraction(w, UNIT) for w in self.weights(size, least)] for _ in range(count)]

    def flip(self, chance: float = 0.5) -> bool:
        """Yes or no."""
        return self._source.random() < chance


Ask = Callable[[Draw], Any]
KINDS: dict[str, tuple[Ask, int]] = {}


def kind(name: str, count: int) -> Callable[[Ask], Ask]:
    """Register a kind of question with its number of cases."""

    def keep(ask: Ask) -> Ask:
        known = KINDS.get(name)
        if known is not None and known[0].__code__ != ask.__code__:  # a search for doctests runs the same file again
            raise ValueError(f"two kinds are called {name}")
        KINDS[name] = ask, count
        return ask

    return keep


def answers(name: str, numbers: Iterable[int] | None = None) -> dict[str, Any]:
    """The answers of a kind, of all or of these cases, by the names of the cases."""
    ask, count = KINDS[name]
    return {f"{name}/{n}": _answer(ask, f"{name}/{n}") for n in (range(count) if numbers is None else numbers)}


def _answer(ask: Ask, name: str) -> Any:
    try:
        return plain(ask(Draw(name)))
    except qw.QuiltworkError as refusal:
        return {"refused": type(refusal).__name__, "because": str(refusal)}


def plain(value: Any) -> Any:
    """An answer as JSON has it: brackets by their ends, guarantees by their words, fractions as text."""
    if isinstance(value, qw.Bracket):
        found = {"lower": plain(value.lower), "upper": plain(value.upper), "method": value.method}
        return found if value.met else {**found, "met": False}
    if isinstance(value, qw.Guarantee):
        return {
            "protects": value.protects, "assumes": list(value.assumes), "because": list(value.because),
            "witness": value.witness,
        }  # fmt: skip
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, dict):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"an answer of type {type(value).__name__} has no JSON form here")


def refused(ask: Callable[..., Any], *given: Any, **options: Any) -> Any:
    """One answer among others, or its refusal."""
    try:
        return plain(ask(*given, **options))
    except qw.QuiltworkError as refusal:
        return f"{type(refusal).__name__}: {refusal}"
