"""Trade-off functions that are held between two polygons: grids are refined until the answer is narrow enough.

A sandwich is second order in its step: the width so far tells whether half of it will do, or a quarter is needed. Very
fine grids of many releases are too long for the exact engines; hence the coarse start.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.compose.releases import Part, is_open, refined
from quiltwork.curves.curve import Ends

COARSEST, FINEST = 2.0**-4, 2.0**-20  # steps of a sandwich
WIDEST = 64.0  # range of losses that counts, where a release in a mixture has no end
MAX_CELLS, MAX_CELLS_TOGETHER = 1 << 16, 1 << 21  # of its grid, for one release and for all of them


def refine(
    rtol: float,
    narrow: Callable[[FloatArray, FloatArray], np.ndarray],
    parts: Sequence[Part],
    ask: Callable[[Sequence[Part]], Ends],
) -> Ends:
    """The answer on finer and finer grids until it is as narrow as asked, or no longer gets narrower."""
    step, finest, idle = COARSEST, _finest(parts), 0
    best = _named_step(ask(refined(parts, step)), step)
    met = bool(narrow(best.lower, best.upper).all())
    while not met and step > finest and idle < 2:
        before = _widths(best)
        step = max(step / (2 if before.max() <= 4 * rtol else 4), finest)
        found = _named_step(ask(refined(parts, step)), step)
        best = Ends(np.maximum(best.lower, found.lower), np.minimum(best.upper, found.upper), found.method)
        after = _widths(best)
        met = bool(narrow(found.lower, found.upper).all()) or bool(np.all(after <= rtol))
        idle = 0 if np.any((after < 0.6 * before) & (before > rtol)) else idle + 1
    return attrs.evolve(best, lower=best.lower + 0.0)  # no negative zeros


def _named_step(ends: Ends, step: float) -> Ends:
    return attrs.evolve(ends, method=f"{ends.method}, sandwich step 1/{round(1 / step)}")


def _finest(parts: Sequence[Part]) -> float:
    """The finest step worth trying: a power of 2 that leaves one release, and all of them together, few enough cells.

    The standard deviation of one loss is about a seventeenth of its range, and an engine looks at 20 of the total.
    """
    held = refined([part for part in parts if is_open(part)], COARSEST)
    widest = max(min(pair.high - pair.low, WIDEST) for part in held for pair in part.family.pairs().values())
    count = sum(part.count for part in held)
    step = max(widest, COARSEST) * max(1 / MAX_CELLS, math.sqrt(count) / MAX_CELLS_TOGETHER)
    return min(max(2.0 ** math.ceil(math.log2(step)), FINEST), COARSEST)


def _widths(ends: Ends) -> FloatArray:
    """Relative widths; 1 where nothing is known."""
    low, high = ends.lower, ends.upper
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(low == high, 0.0, np.where(np.isfinite(high), (high - low) / high, 1.0))
