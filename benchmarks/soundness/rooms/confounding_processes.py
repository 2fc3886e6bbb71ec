"""Feedback worlds: what transcripts tell about the first or the last state.

Truth: the sum over every path of states, data and outputs, in fractions.  Questions: the exact release, the bound step
by step, and the bound of every horizon.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from tests.soundness import confounding_truth as truth

from benchmarks.soundness.claims import Check, Kind, covers, ends, inside
from quiltwork.confounding import Process

SECRETS = ("first", "last")


def drawn(rng: np.random.Generator) -> dict[str, Any]:
    """Tables by whole weights; with feedback one law of the next state for each state, value and output."""
    states, values, outputs = (int(n) for n in rng.integers(2, 4, 3))
    feedback = bool(rng.random() < 0.5)
    most = int(rng.choice([3, 10, 1000]))

    def rows(count: int, width: int) -> list[list[int]]:
        found = rng.integers(0, most + 1, (count, width))
        found[np.arange(count), rng.integers(0, width, count)] += 1
        return [[int(entry) for entry in row] for row in found]

    horizon = int(rng.integers(1, (3 if states * values * outputs <= 12 else 2) + 1))
    return {
        "first": rows(1, states), "data": rows(states, values), "mechanism": rows(values, outputs),
        "moves": rows(states * values * outputs if feedback else states, states), "feedback": feedback,
        "horizon": horizon, "longer": int(rng.integers(1, horizon + 1)),
        "epsilons": [0.0, *rng.exponential(1.0, 5).tolist()],
    }  # fmt: skip


def _laws(rows: list[list[int]]) -> list[list[Fraction]]:
    if min(entry for row in rows for entry in row) < 0:
        raise ValueError("a weight is negative")
    return [[Fraction(entry, sum(row)) for entry in row] for row in rows]


def told(case: dict[str, Any]) -> Iterator[Check]:
    """Every transcript, path by path."""
    first, data, mechanism, moves = (_laws(case[name]) for name in ("first", "data", "mechanism", "moves"))
    states, values, outputs, horizon = len(data), len(mechanism), len(mechanism[0]), case["horizon"]
    if states < 2 or horizon < 1:
        return

    def step(s: int, x: int, y: int) -> list[Fraction]:
        return moves[(s * values + x) * outputs + y] if case["feedback"] else moves[s]

    nested = moves
    if case["feedback"]:
        nested = [[[step(s, x, y) for y in range(outputs)] for x in range(values)] for s in range(states)]
    process = Process(first[0], data, mechanism, nested)
    joint: dict[str, dict[Any, Fraction]] = {about: defaultdict(Fraction) for about in SECRETS}
    for start in range(states):
        here = {(start, ()): first[0][start]}
        for _ in range(horizon):
            after: dict[Any, Fraction] = defaultdict(Fraction)
            for (s, seen), mass in here.items():
                for x, y, t in itertools.product(range(values), range(outputs), range(states)):
                    after[t, (*seen, y)] += mass * data[s][x] * mechanism[x][y] * step(s, x, y)[t]
            here = after
        for (last, seen), mass in here.items():
            joint["first"][start, seen] += mass
            joint["last"][last, seen] += mass
    for about in SECRETS:
        yield from _held(case, process, about, _given(joint[about], states, outputs, horizon))


def _given(joint: dict[Any, Fraction], states: int, outputs: int, horizon: int) -> list[list[Fraction]]:
    """P(transcript | state) of the states that can be."""
    seen = list(itertools.product(range(outputs), repeat=horizon))
    rows = [[joint[state, one] for one in seen] for state in range(states)]
    return [[mass / sum(row) for mass in row] for row in rows if any(row)]


def _held(case: dict[str, Any], process: Process, about: Any, laws: list[list[Fraction]]) -> Iterator[Check]:
    if len(laws) < 2:
        return
    rows, horizon = truth.Table.of(laws), case["horizon"]
    pairs = list(itertools.permutations(range(len(laws)), 2))
    release = process.release(horizon, about)
    odds = truth.odds(rows, pairs, Fraction(0))
    yield Check("feedback world: exact odds", release.exact_odds() == odds, note=f"{about}: {odds}")
    bound = None if about == "last" and case["feedback"] else process.bound(horizon, about)
    later = process.endless(case["longer"]) if about == "first" and 1 <= case["longer"] <= horizon else None
    for place, (lower, upper) in zip(case["epsilons"], ends(release.delta(np.array(case["epsilons"]))), strict=True):
        low, high = truth.exp_ends(place)
        exact = truth.delta(rows, pairs, high), truth.delta(rows, pairs, low)
        note = f"about the {about} state, {horizon} steps, epsilon {place!r}"
        yield inside("feedback world: delta", lower, *exact, upper, note)
        if later is not None:
            yield covers("feedback world: bound of every horizon", exact[0], float(later.delta(place).upper), note)
        if bound is not None:
            yield covers("feedback world: bound step by step", exact[0], float(bound.delta(place).upper), note)
    if bound is not None:
        most = float(bound.epsilon(0.0).upper)
        fits = math.isinf(most) or (odds is not None and odds <= truth.exp_ends(most)[1])
        note = f"{about}: odds {odds}, said {most!r}"
        yield Check("feedback world: largest loss of the bound", bool(fits), note=note)


KINDS = [Kind("confounding", "feedback worlds", drawn, told)]
