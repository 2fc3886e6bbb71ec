"""Finite channels, priors and secrets as exact rationals: what `composable` and `leakage` read.

A float is taken as the rational that it is. A case is one law of the data and one ordered pair of secrets (s, s') that
both have positive probability under it; it holds the datasets that are *possible* given s and given s', and their
conditional probabilities, exactly.

Reference: theory/pufferfish.md 2.1 ("D and beta both in supp(theta)").
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import attrs
import numpy as np

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.errors import InvalidParameter
from quiltwork.numbers.laws import probabilities

__all__ = ["Case", "Channel", "Law", "Setting", "log_ratio", "setting"]

Law = tuple[Fraction, ...]
Pair = tuple[tuple[int, ...], tuple[int, ...]]

MAX_ENTRIES = 2**18  # of one channel
_LN2 = math.log(2.0)


def log_ratio(first: int, second: int) -> float:
    """log(first/second) of positive integers of any size, wrong by at most 2^-53 (2 + 8 |log|).

    >>> log_ratio(3, 3), round(log_ratio(10**400, 1), 9)
    (0.0, 921.034037198)
    """
    shift = first.bit_length() - second.bit_length()
    if abs(shift) < 1000:
        return math.log(first / second)  # a quotient of integers is correctly rounded
    scaled = first / (second << shift) if shift > 0 else (first << -shift) / second
    return math.log(scaled) + shift * _LN2


@attrs.frozen(eq=False)
class Channel:
    """P(output | dataset), one row a dataset, and the logarithms (-inf for 0, error as in `log_ratio`).

    `names` holds equal numbers where the probabilities are exactly equal.
    """

    rows: tuple[Law, ...]
    logs: FloatArray
    names: np.ndarray

    @property
    def outputs(self) -> int:
        """How many outputs there are."""
        return len(self.rows[0])


@attrs.frozen(eq=False)
class Case:
    """One law and one ordered pair of secrets: the possible datasets of each side and their probabilities."""

    law: int
    pair: int
    turned: bool
    first: tuple[int, ...]
    second: tuple[int, ...]
    p_first: Law
    p_second: Law

    @property
    def words(self) -> str:
        """Which case this is."""
        return f"prior {self.law}, pair {self.pair}" + (", turned" if self.turned else "")


@attrs.frozen(eq=False)
class Setting:
    """Everything that was given, checked."""

    channels: tuple[Channel, ...]
    pairs: tuple[Pair, ...]
    laws: tuple[Law, ...]
    cases: tuple[Case, ...]


def setting(channels: Any, secrets: Any, prior: Any) -> Setting:
    """Read channels, secrets and priors; both orders of each pair become cases, where both sides are possible."""
    found = _channels(channels)
    datasets = len(found[0].rows)
    pairs, laws = _pairs(secrets, datasets), _laws(prior, datasets)
    cases = []
    for law, weights in enumerate(laws):
        for pair, sides in enumerate(pairs):
            one, two = (_given(weights, side) for side in sides)
            if one and two:
                cases.append(_case(law, pair, False, one, two))
                cases.append(_case(law, pair, True, two, one))
    if not cases:
        raise InvalidParameter("secrets", secrets, "both possible under at least one prior", "nothing is asked")
    return Setting(found, pairs, laws, tuple(cases))


def _case(law: int, pair: int, turned: bool, one: dict[int, Fraction], two: dict[int, Fraction]) -> Case:
    return Case(law, pair, turned, tuple(one), tuple(two), tuple(one.values()), tuple(two.values()))


def _given(weights: Law, side: tuple[int, ...]) -> dict[int, Fraction]:
    possible = {dataset: weights[dataset] for dataset in side if weights[dataset]}
    total = sum(possible.values())
    return {dataset: weight / total for dataset, weight in possible.items()}


# ---- reading


def _sequence(name: str, value: Any, allowed: str) -> list[Any]:
    if isinstance(value, (str, bytes, dict)) or not isinstance(value, Iterable):
        raise InvalidParameter(name, value, allowed)
    found = list(value)
    if not found:
        raise InvalidParameter(name, value, allowed, "an empty list asks nothing")
    return found


def _deep(value: Any) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, (str, bytes))


def _channel(value: Any) -> Channel:
    given = probabilities("a channel", value, 2, "one row a dataset, one entry an output")
    if given.size > MAX_ENTRIES:
        raise InvalidParameter("a channel", given.shape, f"at most {MAX_ENTRIES} entries")
    rows = tuple(tuple(map(Fraction, row)) for row in given)
    logs = np.array([[_log(entry) for entry in row] for row in rows])
    known: dict[Fraction, int] = {}
    names = np.array([[known.setdefault(entry, len(known)) for entry in row] for row in rows])
    return Channel(rows, logs, names)


def _log(entry: Fraction) -> float:
    return log_ratio(entry.numerator, entry.denominator) if entry else -math.inf


def _channels(value: Any) -> tuple[Channel, ...]:
    allowed = "an array datasets x outputs, or several of them"
    outer = _sequence("channels", value, allowed)
    inner = _sequence("channels", outer[0], allowed)
    found = tuple(_channel(one) for one in outer) if _deep(inner[0]) else (_channel(outer),)
    if len({len(one.rows) for one in found}) > 1:
        raise InvalidParameter("channels", [len(one.rows) for one in found], "channels of the same datasets")
    return found


def _laws(value: Any, datasets: int) -> tuple[Law, ...]:
    allowed = f"probabilities of the {datasets} datasets, or several such lists"
    if value is None:
        raise InvalidParameter("prior", value, allowed, "what composes depends on which datasets are possible")
    outer = _sequence("prior", value, allowed)
    given = outer if _deep(outer[0]) else [outer]
    found = tuple(tuple(map(Fraction, probabilities("prior", one, 1, allowed))) for one in given)
    if any(len(law) != datasets for law in found):
        raise InvalidParameter("prior", [len(law) for law in found], allowed)
    return found


def _pairs(value: Any, datasets: int) -> tuple[Pair, ...]:
    allowed = "a pair of sets of dataset numbers, such as ([0, 1], [2, 3]), or several pairs"
    outer = _sequence("secrets", value, allowed)
    inner = _sequence("secrets", outer[0], allowed)
    return tuple(_pair(one, datasets, allowed) for one in (outer if _deep(inner[0]) else [outer]))


def _pair(value: Any, datasets: int, allowed: str) -> Pair:
    sides = _sequence("secrets", value, allowed)
    if len(sides) != 2:
        raise InvalidParameter("secrets", value, allowed)
    one, two = (tuple(_dataset(at, datasets) for at in _sequence("secrets", side, allowed)) for side in sides)
    if len({*one, *two}) < len(one) + len(two):
        raise InvalidParameter("secrets", value, "two sets with no dataset in common, none named twice")
    return one, two


def _dataset(value: Any, datasets: int) -> int:
    at = checks.count("a dataset", value)
    if at >= datasets:
        raise InvalidParameter("a dataset", value, f"from 0 to {datasets - 1}")
    return at
