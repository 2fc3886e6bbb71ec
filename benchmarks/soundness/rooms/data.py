"""Sequences in tables: counts of an engine against counts by hand."""

from __future__ import annotations

import collections
import functools
import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.soundness.claims import Check, Kind
from quiltwork.data import Engine


@functools.cache
def _engine() -> Any:
    return Engine.open()  # one for each worker


def drawn(rng: np.random.Generator) -> dict[str, Any]:
    """Rows (who, when, state) in any order."""
    rows, people, states = int(rng.integers(1, 60)), int(rng.integers(1, 8)), int(rng.integers(1, 6))
    times = rng.permutation(10 * rows)[:rows].tolist()
    who, state = rng.integers(0, people, rows).tolist(), rng.integers(0, states, rows).tolist()
    return {"rows": [list(row) for row in zip(who, times, state, strict=True)], "states": states}


def counted(case: dict[str, Any]) -> Iterator[Check]:
    """Steps between states, first states, and lengths."""
    rows = case["rows"]
    if (
        not rows
        or any(state >= case["states"] for _, _, state in rows)
        or len({(w, t) for w, t, _ in rows}) < len(rows)
    ):
        return
    table = {name: [row[i] for row in rows] for i, name in enumerate(("who", "when", "state"))}
    found = _engine().sequences(table, who="who", when="when", state="state")
    counts = found.transition_counts(states=list(range(case["states"])))
    lines: dict[int, list[int]] = collections.defaultdict(list)
    for who, _, state in sorted(rows):
        lines[who].append(state)
    steps = collections.Counter(step for line in lines.values() for step in itertools.pairwise(line))
    first = collections.Counter(line[0] for line in lines.values())
    for one, two in itertools.product(range(case["states"]), repeat=2):
        yield Check("steps between states", int(counts.matrix[one, two]) == steps[one, two], note=f"{one} to {two}")
    for state in range(case["states"]):
        yield Check("first states", int(counts.first[state]) == first[state], note=str(state))
    yield Check("longest", found.lengths().longest == max(map(len, lines.values())))
    yield Check("rows", found.lengths().total == len(rows))


KINDS = [Kind("data", "sequences", drawn, counted)]
