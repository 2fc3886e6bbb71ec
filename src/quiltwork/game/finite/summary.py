"""The release of seed 004 section 2 on a finite set: the mean of the members' rows plus noise of finitely many values.

Reference: seed 004 section 2; theory/game.md section 7 (an empty data set releases 0).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.game.finite.membership import MAX_CANDIDATES, bits
from quiltwork.numbers.laws import Table, number
from quiltwork.numbers.stated import typed

__all__ = ["Output", "summary_channel"]

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
        centre = _mean(table, row)
        masses: dict[Output, Fraction] = {}
        for outcome in itertools.product(law, repeat=attributes):
            output = tuple(_clipped(middle + value, clip) for middle, (value, _) in zip(centre, outcome, strict=True))
            mass = Fraction(1)
            for _, probability in outcome:
                mass *= probability
            masses[output] = masses.get(output, Fraction(0)) + mass
        found.append(masses)
    outputs = tuple(sorted(set().union(*found)))
    channel = np.empty((len(found), len(outputs)), dtype=object)
    channel[:] = [[masses.get(output, Fraction(0)) for output in outputs] for masses in found]
    return channel, outputs


def _mean(table: Sequence[Sequence[Fraction]], members: Sequence[int]) -> list[Fraction]:
    size = sum(members)
    chosen = [row for row, member in zip(table, members, strict=True) if member]
    return (
        [sum(column, Fraction(0)) / size for column in zip(*chosen, strict=True)]
        if size
        else [Fraction(0)] * len(table[0])
    )


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
