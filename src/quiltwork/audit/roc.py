"""The errors of an attack at every threshold, for a picture; no bound is read off them."""

from __future__ import annotations

import attrs
import numpy as np

from quiltwork.checks import FloatArray

MOST = 600  # steps in a picture


@attrs.frozen(eq=False)
class Steps:
    """False alarms and misses, from "nobody is in" (0, 1) to "everybody is in" (1, 0)."""

    false_alarms: FloatArray
    misses: FloatArray


def steps(scores_in: FloatArray, scores_out: FloatArray) -> Steps:
    """One point for each different score, so that equal scores move together; thinned when there are many.

    >>> found = steps(np.array([1.0, 2.0]), np.array([0.0, 1.0]))
    >>> found.false_alarms.tolist(), found.misses.tolist()
    ([0.0, 0.0, 0.5, 1.0], [1.0, 0.5, 0.0, 0.0])
    """
    levels = np.unique(np.concatenate([scores_in, scores_out]))[::-1]
    if levels.size > MOST:  # evenly along the curve's two ends, where few scores make many steps, and between them
        place = 0.5 - 0.5 * np.cos(np.linspace(0.0, np.pi, MOST))
        levels = levels[np.unique((place * (levels.size - 1)).round().astype(int))]
    sorted_in, sorted_out = np.sort(scores_in), np.sort(scores_out)
    alarms = 1.0 - np.searchsorted(sorted_out, levels) / sorted_out.size
    misses = np.searchsorted(sorted_in, levels) / sorted_in.size
    return Steps(np.concatenate([[0.0], alarms]), np.concatenate([[1.0], misses]))
