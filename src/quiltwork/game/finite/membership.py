"""Membership vectors b in {0, 1}^K in the order of itertools.product, laws on them, and the release of their mean.

The release of seed 004 section 2 on a finite set is the mean of the members' rows plus noise of finitely many values.

Reference: seed 004 section 2; theory/game.md sections 1 and 7 (an empty data set releases 0).
"""

from __future__ import annotations

import itertools
from fractions import Fraction
from functools import lru_cache
from math import comb, prod
from typing import Any

import numpy as np

from quiltwork import checks
from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.numbers.laws import Number, Table, number
from quiltwork.numbers.stated import typed

MAX_CANDIDATES = 16  # candidates of a finite game: 65,536 membership vectors


@lru_cache(maxsize=MAX_CANDIDATES)
def bits(candidates: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """One membership vector a row: (0, ..., 0) first, the last candidate changes fastest.

    >>> bits(2).tolist()
    [[0, 0], [0, 1], [1, 0], [1, 1]]
    """
    people = checks.count("candidates", candidates, 1)
    if people > MAX_CANDIDATES:
        raise InvalidParameter("candidates", candidates, f"at most {MAX_CANDIDATES} in a finite game")
    table = np.array(list(itertools.product((0, 1), repeat=people)), dtype=np.int64)
    table.setflags(write=False)
    return table


def individuals(secrets: int, name: str = "prior") -> int:
    """K, from the number 2^K of membership vectors."""
    found = secrets.bit_length() - 1
    if secrets < 2 or secrets != 2**found or found > MAX_CANDIDATES:
        raise InvalidParameter(f"the length of {name}", secrets, f"2^K for K candidates, K from 1 to {MAX_CANDIDATES}")
    return found


def uniform(candidates: int) -> Table:
    """Every membership vector equally likely."""
    count = len(bits(candidates))
    return np.full(count, Fraction(1, count), dtype=object)


def exactly_half(candidates: int) -> Table:
    """Half of the candidates (rounded down) are members, each such set equally likely."""
    members = candidates // 2
    weight = Fraction(1, comb(candidates, members))
    return np.array([weight if row.sum() == members else Fraction(0) for row in bits(candidates)], dtype=object)


def independent(rates: Any) -> Table:
    """Each candidate is a member by a coin of its own: theta(b) = prod_k rate_k^b_k (1 - rate_k)^(1 - b_k).

    >>> [str(entry) for entry in independent(["1/4", "1/2"])]
    ['3/8', '3/8', '1/8', '1/8']
    """
    listed = checks.listed("rates", rates, "a list of rates in [0, 1], one a candidate")
    read = [number("a rate", rate) for rate in listed]
    for rate in read:
        if not 0 <= rate <= 1:
            raise InvalidParameter("a rate", rate, "in [0, 1]")
    if not 1 <= len(read) <= MAX_CANDIDATES:
        raise InvalidParameter("the number of rates", len(read), f"from 1 to {MAX_CANDIDATES}, one a candidate")
    law: list[Number] = [Fraction(1)]
    for rate in read:
        law = [mass * share for mass in law for share in (1 - rate, rate)]
    return np.array(law, dtype=object if all(isinstance(mass, Fraction) for mass in law) else float)


Output = tuple[Fraction, ...]
MAX_OUTCOMES = 2_000_000  # outcomes of the noise, over all membership vectors

_ROWS = "a table of numbers, one row a candidate"
_NOISE = "pairs (value, probability) with probabilities >= 0 of sum 1"


def summary_channel(rows: Any, noise: Any, clip: bool) -> tuple[Table, tuple[Output, ...]]:
    """P(x | b) in fractions and the outputs x, sorted; floats are read as the decimals typed."""
    table, law = _rows(rows), _noise(noise)
    people, attributes = len(table), len(table[0])
    if 2**people * len(law) ** attributes > MAX_OUTCOMES:
        raise Unsupported(
            "a finite game of this size",
            f"{len(law)}^{attributes} outcomes of the noise for each of 2^{people} membership vectors",
            "use fewer attributes, or simulate",
        )
    found: list[dict[Output, Fraction]] = []
    for row in bits(people).tolist():
        chosen = list(itertools.compress(table, row)) or [[Fraction(0)] * attributes]
        centre = [sum(column, Fraction(0)) / len(chosen) for column in zip(*chosen, strict=True)]
        masses: dict[Output, Fraction] = {}
        for outcome in itertools.product(law, repeat=attributes):
            output = tuple(_clipped(middle + value, clip) for middle, (value, _) in zip(centre, outcome, strict=True))
            mass = prod(probability for _, probability in outcome)
            masses[output] = masses.get(output, Fraction(0)) + mass
        found.append(masses)
    outputs = tuple(sorted(set().union(*found)))
    channel = [[masses.get(output, Fraction(0)) for output in outputs] for masses in found]
    return np.array(channel, dtype=object), outputs


def _clipped(value: Fraction, clip: bool) -> Fraction:
    return min(max(value, Fraction(0)), Fraction(1)) if clip else value


def _rows(rows: Any) -> list[list[Fraction]]:
    try:
        table = [[typed(number("an entry of rows", entry)) for entry in row] for row in rows]
    except TypeError:
        raise InvalidParameter("rows", rows, _ROWS) from None
    if not table or not table[0] or any(len(row) != len(table[0]) for row in table):
        raise InvalidParameter("rows", rows, f"{_ROWS}, all of one length and not empty")
    if len(table) > MAX_CANDIDATES:
        raise InvalidParameter("the number of rows", len(table), f"at most {MAX_CANDIDATES}, one a candidate")
    return table


def _noise(noise: Any) -> list[tuple[Fraction, Fraction]]:
    try:
        pairs = [tuple(pair) for pair in noise]
    except TypeError:
        raise InvalidParameter("noise", noise, _NOISE) from None
    if not pairs or any(len(pair) != 2 for pair in pairs):
        raise InvalidParameter("noise", noise, _NOISE)
    law = [
        (typed(number("a value of noise", value)), typed(number("a probability of noise", mass)))
        for value, mass in pairs
    ]
    if any(mass < 0 for _, mass in law) or sum(mass for _, mass in law) != 1:
        raise InvalidParameter("noise", noise, _NOISE)
    return [(value, mass) for value, mass in law if mass]
