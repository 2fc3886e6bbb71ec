"""Binary attributes from a table of numbers and categories.

Reference: theory/game.md section 2; prototype of the Adult check (90 attributes from the 32,561 rows of adult.data).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quiltwork.errors import InvalidParameter

__all__ = ["Table", "binarised"]

Table = Mapping[str, NDArray[Any]]  # columns of floats (NaN: not known) or of texts, all of one length
RAREST = 0.005


def binarised(table: Table) -> tuple[NDArray[np.bool_], tuple[str, ...]]:
    """One column a category, and one a decile threshold of each number ("age>37"), with their names.

    Thresholds that coincide count once, and columns that hold for less than 1/200 of the rows, or for all but that, are
    left out.  A number that is not known exceeds no threshold; a category that is not known ("?") is one of its own.
    """
    columns: list[NDArray[np.bool_]] = []
    names: list[str] = []
    for name, values in table.items():
        if values.dtype.kind == "f":
            known = values[~np.isnan(values)]
            cuts = np.unique(np.quantile(known, np.arange(1, 10) / 10)) if known.size else known
            columns += list(values > cuts[:, None])
            names += [f"{name}>{cut:g}" for cut in cuts]
        else:
            levels, codes = np.unique(values, return_inverse=True)
            columns += list(codes == np.arange(len(levels))[:, None])
            names += [f"{name}={level}" for level in levels]
    rows = np.array(columns, dtype=np.bool_).T
    share = rows.mean(axis=0) if rows.size else np.zeros(0)
    kept = np.flatnonzero((share > RAREST) & (share < 1.0 - RAREST))
    if not kept.size:
        raise InvalidParameter("table", f"{len(columns)} columns", "a table in which some attribute varies")
    return rows[:, kept], tuple(names[index] for index in kept)
