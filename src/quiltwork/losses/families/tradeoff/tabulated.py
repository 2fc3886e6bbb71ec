"""A trade-off function that was given by a program, as a document keeps it: by its samples.

It is held between finite pairs and refined as the program is, from the same samples, so that a loss which was written
and read again promises the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import attrs
import numpy as np

from quiltwork import checks
from quiltwork.errors import InvalidParameter
from quiltwork.losses.families.tradeoff.function import NOISIEST, SLACK, Sandwich, checked
from quiltwork.losses.families.tradeoff.table import COLUMNS, WIDE, Table
from quiltwork.losses.family import FLAG, NON_NEGATIVE, NUMBERS, Entry, Family, Fields, parameter

SAMPLES = "alphas from 0 to 1 and as many betas, as many of them in each level as `levels` says, 0 and 1 in the first"


def read_table(said: Any) -> Table:
    """A table, or what a document says about one, checked as a program is."""
    if isinstance(said, Table):
        return said
    if not isinstance(said, Mapping) or set(said) != COLUMNS:
        raise InvalidParameter("trade-off", type(said).__name__, f"a record of {', '.join(sorted(COLUMNS))}")
    alpha = checks.numbers("alphas", said["alphas"], SAMPLES, 0.0, 1.0)
    beta = checks.numbers("betas", said["betas"], SAMPLES, 0.0, 1.0)
    levels = np.ravel(checks.numbers("levels", said["levels"], SAMPLES, 0.0, float(alpha.size)))
    counts = np.rint(levels).astype(int).tolist()
    if counts != levels.tolist() or alpha.ndim != 1 or alpha.shape != beta.shape or sum(counts) != alpha.size:
        raise InvalidParameter("levels", counts, SAMPLES, f"there are {alpha.size} alphas and {beta.size} betas")
    if np.unique(alpha).size < alpha.size or not {0.0, 1.0} <= set(alpha[: counts[0]].tolist()):
        raise InvalidParameter("alphas", f"{alpha.size} places", SAMPLES, "each of them once")
    noise = checks.non_negative("noise", said["noise"])
    if not SLACK <= noise <= NOISIEST:
        raise InvalidParameter("noise", noise, f"from {SLACK:g} to {NOISIEST:g}")
    starts = np.cumsum(counts)[:-1]
    places, values = (tuple(tuple(part.tolist()) for part in np.split(one, starts)) for one in (alpha, beta))
    table = Table(places, values, noise)
    for level in range(len(counts)):
        checked(table, *table.samples(WIDE / 2**level))
    return table


@attrs.frozen
class TabulatedTradeOff(Sandwich):
    """A trade-off function known by samples of a program."""

    kind: ClassVar[str] = "tabulated_tradeoff"
    title: ClassVar[str] = "TabulatedTradeOff"
    words: ClassVar[str] = "trade-off function, {alphas} samples"
    stored: ClassVar[bool] = True
    function: Table = attrs.field(converter=read_table)
    symmetric: bool = attrs.field(default=False, **parameter("symmetric", FLAG))
    step: float | None = None

    @classmethod
    def entries(cls) -> tuple[Entry, ...]:
        numbers = (Entry(name, NUMBERS) for name in ("alphas", "betas", "levels"))
        return (*numbers, Entry("noise", NON_NEGATIVE), Entry("symmetric", FLAG, default=False))

    @classmethod
    def from_entries(cls, **entries: Any) -> Family:
        return cls({name: entries[name] for name in COLUMNS}, entries["symmetric"])

    @classmethod
    def entries_of(cls, fields: Fields) -> dict[str, Any]:
        return {**fields["function"], "symmetric": fields["symmetric"]}
