"""Samples of a trade-off function, kept level by level: what a document holds of a program.

Level i holds the places that halving the spacing for the i-th time adds. A question that is answered from samples at
one spacing finds the same samples in the table, and gets the same ends; where it would go beyond the finest level, that
level serves it, and its bracket is wider.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import attrs
import numpy as np

from quiltwork.checks import FloatArray

WIDE = 1 / 64  # spacing of the first level
COLUMNS = {"alphas", "betas", "levels", "noise"}  # of a table in a document


@attrs.frozen(cache_hash=True, repr=False)
class Table:
    """Places and values by level, and how accurate the program is; it stands for the function."""

    alpha: tuple[tuple[float, ...], ...]
    beta: tuple[tuple[float, ...], ...]
    noise: float

    @classmethod
    def of(cls, levels: Iterable[tuple[FloatArray, FloatArray]], noise: float) -> Table:
        """From samples of finer and finer spacing, each of which holds the one before."""
        places, values = list[tuple[float, ...]](), list[tuple[float, ...]]()
        before: FloatArray = np.empty(0)
        for alpha, beta in levels:
            new = ~np.isin(alpha, before)
            places.append(tuple(alpha[new].tolist()))
            values.append(tuple(beta[new].tolist()))
            before = alpha
        return cls(tuple(places), tuple(values), noise)

    def samples(self, spacing: float) -> tuple[FloatArray, FloatArray]:
        """All that the function showed at this spacing, or at the finest that is kept."""
        return _joined(self, min(max(round(math.log2(WIDE / spacing)), 0) + 1, len(self.alpha)))

    def to_json(self) -> dict[str, Any]:
        """All levels one after the other, and how many samples each has."""
        alphas, betas = ([v for level in one for v in level] for one in (self.alpha, self.beta))
        return {"alphas": alphas, "betas": betas, "levels": [len(level) for level in self.alpha], "noise": self.noise}

    def __repr__(self) -> str:
        return f"table of {sum(map(len, self.alpha))} samples"


@lru_cache(maxsize=16)
def _joined(table: Table, levels: int) -> tuple[FloatArray, FloatArray]:
    alpha, beta = (np.array([v for level in one[:levels] for v in level]) for one in (table.alpha, table.beta))
    order = np.argsort(alpha, kind="stable")
    return alpha[order], beta[order]
