"""Secrets: what must not be told apart.

A secret is a value of one entry, a value of several entries together, or a value of a function of all of them.  Every
pair is protected in both orders.

Reference: seed 003 Definition 2; theory/pufferfish.md 3.1 ("symmetrise S").
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

import attrs
import numpy as np

from quiltwork import checks
from quiltwork.errors import InvalidParameter
from quiltwork.kinds import document, not_written


def _pairs(value: Any) -> tuple[tuple[Any, Any], ...] | None:
    if value is None:
        return None
    try:
        found = tuple((first, second) for first, second in value)
    except (TypeError, ValueError):
        raise InvalidParameter("pairs", value, "pairs of values, such as [('home', 'hospital')]") from None
    if not found or any(first == second for first, second in found):
        raise InvalidParameter("pairs", value, "at least one pair, each of two different values")
    return tuple(dict.fromkeys((*found, *((second, first) for first, second in found))))


@attrs.frozen
class Secrets:
    """A set of ordered pairs of statements about the data, closed under exchange."""

    pairs: tuple[tuple[Any, Any], ...] | None = attrs.field(default=None, converter=_pairs)


@document("entry_values/1")
@attrs.frozen
class EntryValues(Secrets):
    """Each entry's value: "x_i = u" against "x_i = v", for the given entries (all when None) and pairs of values."""

    entries: tuple[int, ...] | None = None

    @property
    def words(self) -> str:
        """What is protected."""
        which = "each single entry" if self.entries is None else "entry " + ", ".join(map(str, self.entries))
        values = "" if self.pairs is None else f", for {len(self.pairs) // 2} pairs of values"
        return f"the value of {which}{values}"


@document("joint_values/1")
@attrs.frozen
class JointValues(Secrets):
    """The values of several entries together: every two different combinations, or the given pairs of them."""

    entries: tuple[int, ...] = ()

    @property
    def words(self) -> str:
        """What is protected."""
        return "the values of entries " + ", ".join(map(str, self.entries)) + " together"


@not_written(
    "a Python function is not data", "keep it in your program, or list the values in a JointLaw with one more entry"
)
@attrs.frozen
class FunctionValues(Secrets):
    """The value of a function of all entries: every two different values, or the given pairs of them."""

    function: Callable[[tuple[Any, ...]], Any] = attrs.field(default=None, kw_only=True)
    name: str = attrs.field(default="a function of the entries", kw_only=True)

    @property
    def words(self) -> str:
        """What is protected."""
        return self.name


@attrs.frozen(eq=False)
class AskedPairs:
    """Which entries (None: all of them) and which ordered pairs of values are asked for, as places in `names`."""

    entries: tuple[int, ...] | None
    first: np.ndarray
    second: np.ndarray
    names: tuple[Hashable, ...]

    def name(self, index: int, places: Sequence[str]) -> str:
        """A case in words: cases run through the places, and at each through the pairs."""
        place, pair = divmod(index, self.first.size)
        return f"{places[place]} is {self.names[self.first[pair]]!r} or {self.names[self.second[pair]]!r}"


def asked_pairs(
    secrets: Secrets | None, every: Sequence[Hashable], kept: Sequence[int] | np.ndarray, length: int | None, what: str
) -> AskedPairs | None:
    """What is asked about entries with the values `every`, of which those at `kept` occur; None for joint secrets."""
    asked = EntryValues() if secrets is None else secrets
    if not isinstance(asked, EntryValues):
        return None
    if asked.entries is not None and length is not None and max(asked.entries) >= length:
        raise InvalidParameter("an entry", max(asked.entries), f"below the length {length}, the number of entries")
    names = tuple(every[i] for i in kept)
    if asked.pairs is None:
        first, second = np.nonzero(~np.eye(len(names), dtype=bool))
        return AskedPairs(asked.entries, first, second, names)
    unknown = [value for pair in asked.pairs for value in pair if value not in every]
    if unknown:
        raise InvalidParameter("a secret value", unknown[0], f"one of the {what} {every}")
    pairs = [(names.index(u), names.index(v)) for u, v in asked.pairs if u in names and v in names]
    if not pairs:
        raise InvalidParameter("pairs", asked.pairs, f"pairs of {what} that occur with positive probability")
    first, second = np.array(pairs).T
    return AskedPairs(asked.entries, first, second, names)


def entry_values(entries: Sequence[int] | None = None, pairs: Any = None) -> EntryValues:
    """Each entry's value is a secret; the default everywhere.  Entries are counted from 0."""
    return EntryValues(pairs, None if entries is None else _entries(entries))


def joint_values(entries: Sequence[int], pairs: Any = None) -> JointValues:
    """The values of these entries together are a secret."""
    return JointValues(pairs, _entries(entries))


def function_values(
    function: Callable[[tuple[Any, ...]], Any], pairs: Any = None, *, name: str = "a function of the entries"
) -> FunctionValues:
    """The value of a function of the whole data (a tuple of entries) is a secret."""
    if not callable(function):
        raise InvalidParameter("function", function, "a function of the tuple of entries")
    return FunctionValues(pairs, function=function, name=checks.text("name", name))


def _entries(value: Sequence[int]) -> tuple[int, ...]:
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        raise InvalidParameter("entries", value, "a list of entries, counted from 0")
    found = tuple(checks.count("entry", entry) for entry in value)
    if not found or len(set(found)) < len(found):
        raise InvalidParameter("entries", value, "at least one entry, none twice, counted from 0")
    return found
