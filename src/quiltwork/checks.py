"""Small validators: each returns the clean value or raises InvalidParameter."""

from __future__ import annotations

import json
import math
import operator
from collections.abc import Callable, Collection
from contextlib import suppress
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from quiltwork.errors import InvalidParameter

FloatArray = NDArray[np.floating[Any]]
IntArray = NDArray[np.integer[Any]]
Number = float | FloatArray
Word = TypeVar("Word")

MAX_COUNT = 2**53  # larger integers are not exact in floating point


def real(name: str, value: Any, allowed: str = "a finite number", hint: str = "") -> float:
    """A finite float; booleans, strings and arrays are refused."""
    refused = isinstance(value, (bool, str, bytes, list, tuple, dict)) or value is None or value is np.ma.masked
    if refused or np.iscomplexobj(value):
        raise InvalidParameter(name, value, allowed, hint)
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise InvalidParameter(name, value, allowed, hint) from None
    if not math.isfinite(number):
        raise InvalidParameter(name, value, allowed, hint)
    return number


def ranged(name: str, value: Any, allowed: str, holds: Callable[[float], bool], hint: str = "") -> float:
    """A finite number in a range, which `allowed` says in words."""
    number = real(name, value, allowed, hint)
    if not holds(number):
        raise InvalidParameter(name, value, allowed, hint)
    return number


def positive(name: str, value: Any, hint: str = "") -> float:
    """A finite number greater than zero."""
    return ranged(name, value, "a finite number > 0", lambda number: number > 0, hint)


def moderate(name: str, value: Any, hint: str = "") -> float:
    """A number in [1e-100, 1e100]: room enough for every use, and squares neither underflow nor overflow."""
    return ranged(name, value, "in [1e-100, 1e100]", lambda number: 1e-100 <= number <= 1e100, hint)


def non_negative(name: str, value: Any, hint: str = "") -> float:
    """A finite number that is at least zero."""
    return ranged(name, value, "a finite number >= 0", lambda number: number >= 0, hint)


def loss_bound(name: str, value: Any, hint: str = "") -> float:
    """A number in [0, 1e100]: an epsilon above hides nothing, and its square would overflow."""
    non_negative(name, value, hint)
    return ranged(name, value, "a finite number >= 0, at most 1e100", lambda number: number <= 1e100, hint)


def positive_or_infinite(name: str, value: Any, hint: str = "") -> float:
    """A number above zero, infinity included."""
    number = math.inf if value == math.inf else real(name, value, "a number > 0, infinity included", hint)
    if not number > 0:
        raise InvalidParameter(name, value, "a number > 0, infinity included", hint)
    return number


def probability(name: str, value: Any, hint: str = "") -> float:
    """A number in [0, 1]."""
    return ranged(name, value, "in [0, 1]", lambda number: 0 <= number <= 1, hint)


def rate(name: str, value: Any, hint: str = "") -> float:
    """A sampling rate in (0, 1]."""
    return ranged(name, value, "in (0, 1]", lambda number: 0 < number <= 1, hint)


def count(name: str, value: Any, least: int = 0) -> int:
    """An integer in [least, 2**53]; floats and booleans are refused."""
    allowed = f"an integer from {least} to 2**53"
    if isinstance(value, bool):
        raise InvalidParameter(name, value, allowed)
    try:
        number = operator.index(value)
    except TypeError:
        raise InvalidParameter(name, value, allowed) from None
    if not least <= number <= MAX_COUNT:
        long = number.bit_length() > 256  # such a number is too long to print
        raise InvalidParameter(name, f"an integer of {number.bit_length()} bits" if long else value, allowed)
    return number


def numbers(name: str, value: Any, allowed: str, low: float, high: float) -> FloatArray:
    """A float array (any shape, also 0-d) with every entry in [low, high]; NaN is refused."""
    if isinstance(value, (bool, str, bytes)) or value is None:
        raise InvalidParameter(name, value, allowed)
    try:
        if np.iscomplexobj(value):
            raise InvalidParameter(name, value, allowed)
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise InvalidParameter(name, value, allowed) from None
    if array.size == 0:
        raise InvalidParameter(name, value, allowed, "an empty array asks nothing")
    if not bool(np.all((array >= low) & (array <= high))):
        raise InvalidParameter(name, value, allowed)
    return array


def settle(value: object, /, **fields: Any) -> None:
    """Set fields of a frozen value to what was read of them; its arrays are locked."""
    for name, clean in fields.items():
        if isinstance(clean, np.ndarray):
            clean.setflags(write=False)
        object.__setattr__(value, name, clean)


def text(name: str, value: Any, allowed: str = "a non-empty text", hint: str = "") -> str:
    """A text that is more than white space."""
    if not isinstance(value, str) or not value.strip():
        raise InvalidParameter(name, value, allowed, hint)
    return value


def flag(name: str, value: Any) -> bool:
    """True or False, nothing that merely resembles them."""
    if not isinstance(value, (bool, np.bool_)):
        raise InvalidParameter(name, value, "True or False")
    return bool(value)


def one_of(name: str, value: Word, allowed: Collection[str], hint: str = "") -> Word:
    """One of these words."""
    if not isinstance(value, str) or value not in allowed:
        words = list(map(repr, allowed))
        raise InvalidParameter(
            name, value, " or ".join(words) if len(words) == 2 else f"one of {', '.join(words)}", hint
        )
    return value


def listed(name: str, value: Any, allowed: str = "a list") -> list[Any]:
    """The entries of a list, tuple or array; a text is none of them."""
    with suppress(TypeError):  # also an array without axes
        if not isinstance(value, (str, bytes)):
            return list(value)
    raise InvalidParameter(name, value, allowed)


def generator(rng: Any) -> np.random.Generator:
    """Simulations take a generator of their own."""
    if not isinstance(rng, np.random.Generator):
        raise InvalidParameter("rng", rng, "a numpy.random.Generator, for example numpy.random.default_rng(0)")
    return rng


def field(check: Callable[..., Any], *more: Any) -> Callable[[Any, Any, Any], None]:
    """A validator of attrs: the field must pass this check, under its own name."""

    def validate(_: Any, attribute: Any, value: Any) -> None:
        check(attribute.name, value, *more)

    return validate


def strict_json(text: str) -> Any:
    """The value of a JSON text; ValueError also for keys that come twice, NaN and infinities."""
    return json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        # parsers disagree on which of two equal keys counts, so that one text would have two meanings
        raise ValueError("a key occurs twice")
    return found


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number")
