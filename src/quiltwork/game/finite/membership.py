"""Membership vectors b in {0, 1}^K in the order of itertools.product, and laws on them.

Reference: seed 004 section 2; theory/game.md section 1.
"""

from __future__ import annotations

import itertools
from fractions import Fraction
from functools import lru_cache
from math import comb
from typing import Any

import numpy as np

from quiltwork import checks
from quiltwork.errors import InvalidParameter
from quiltwork.numbers.laws import Number, Table, number

__all__ = ["MAX_CANDIDATES", "bits", "exactly_half", "independent", "individuals", "uniform"]

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
    return _filled([Fraction(1, count)] * count)


def exactly_half(candidates: int) -> Table:
    """Half of the candidates (rounded down) are members, each such set equally likely."""
    members = candidates // 2
    weight = Fraction(1, comb(candidates, members))
    return _filled([weight if row.sum() == members else Fraction(0) for row in bits(candidates)])


def independent(rates: Any) -> Table:
    """Each candidate is a member by a coin of its own: theta(b) = prod_k rate_k^b_k (1 - rate_k)^(1 - b_k).

    >>> [str(entry) for entry in independent(["1/4", "1/2"])]
    ['3/8', '3/8', '1/8', '1/8']
    """
    if isinstance(rates, (str, bytes)) or not hasattr(rates, "__iter__"):
        raise InvalidParameter("rates", rates, "a list of rates in [0, 1], one a candidate")
    read = [number("a rate", rate) for rate in rates]
    for rate in read:
        if not 0 <= rate <= 1:
            raise InvalidParameter("a rate", rate, "in [0, 1]")
    if not 1 <= len(read) <= MAX_CANDIDATES:
        raise InvalidParameter("the number of rates", len(read), f"from 1 to {MAX_CANDIDATES}, one a candidate")
    law: list[Number] = [Fraction(1)]
    for rate in read:
        law = [mass * share for mass in law for share in (1 - rate, rate)]
    table = _filled(law)
    return table if all(isinstance(mass, Fraction) for mass in law) else table.astype(float)


def _filled(law: list[Any]) -> Table:
    table = np.empty(len(law), dtype=object)
    table[:] = law
    return table
