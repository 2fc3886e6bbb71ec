"""Transition frequencies of observed sequences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.data.counts import Counts
from quiltwork.errors import InvalidParameter

__all__ = ["LOUD", "QUIET", "counted", "frequencies"]

LOUD = (
    "a prior that is fitted on the private data themselves carries no guarantee: its numbers assume that the chain was "
    "known before; pass public=True if these sequences are other, public data"
)
QUIET = "fitted, not known beforehand: no guarantee if the private data were used"


def counted(sequences: Any, states: Sequence[Any] | None) -> Counts:
    """Counts of lists of states, of a table read by `quiltwork.data`, or counts as they are."""
    if hasattr(sequences, "transition_counts"):
        found: Counts = sequences.transition_counts(states)
    elif isinstance(sequences, Counts):
        found = sequences
        if states is not None and tuple(states) != found.states:
            raise InvalidParameter("states", states, f"those of the counts, {found.states}")
    else:
        found = Counts.of(sequences, states)
    if not found.steps:
        raise InvalidParameter("sequences", f"{found.people} sequences", "sequences with at least one transition")
    return found


def frequencies(counts: Counts, smoothing: float | None) -> tuple[FloatArray, str]:
    """Rows of frequencies; with smoothing, what was never seen gets that probability and the rest shrinks."""
    matrix = counts.matrix.astype(float)
    sums = matrix.sum(axis=1, keepdims=True)
    if smoothing is None:
        if bool(np.any(sums == 0)):
            state = counts.states[int(np.argmax(sums[:, 0] == 0))]
            raise InvalidParameter(
                "sequences", f"state {state!r} is never left", "a transition out of every state", "or give smoothing"
            )
        return matrix / sums, "transition frequencies"
    size = len(matrix)
    tau = checks.positive("smoothing", smoothing)
    if tau * size >= 1.0:
        raise InvalidParameter("smoothing", smoothing, f"below 1 / {size}, the number of states")
    # a state that is never left goes anywhere else with equal chances
    matrix = np.where(sums > 0, matrix, 1.0 - np.eye(size))
    matrix = matrix / matrix.sum(axis=1, keepdims=True)
    missing = matrix == 0
    smooth = np.where(missing, tau, matrix * (1.0 - tau * missing.sum(axis=1, keepdims=True)))
    return smooth, f"transition frequencies smoothed by {tau:g}, which is another prior and not a safer bound"
