"""Secrets that are not in the data: worlds and releases in fractions, and the other kinds of that room."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from tests.soundness import confounding_truth as truth
from tests.soundness.confounding_kinds import KINDS as OLDER

from benchmarks.soundness.claims import Check, Kind, ends, inside
from quiltwork.confounding import World


def drawn(rng: np.random.Generator) -> dict[str, Any]:
    """P(data | secret) and channels by whole weights; each row is divided by its sum."""
    secrets, values = int(rng.integers(2, 4)), int(rng.integers(2, 5))
    channels = [_rows(rng, values, int(rng.integers(2, 4))) for _ in range(int(rng.integers(1, 4)))]
    epsilons = [0.0, *rng.exponential(1.0, 12).tolist(), *(-rng.exponential(0.7, 3)).tolist()]
    deltas = [0.0, *(10.0 ** -rng.uniform(0, 8, 6)).tolist()]
    alphas = [0.0, *rng.uniform(0, 1, 6).tolist()]
    return {
        "data": _rows(rng, secrets, values), "channels": channels, "epsilons": epsilons, "deltas": deltas,
        "alphas": alphas,
    }  # fmt: skip


def _rows(rng: np.random.Generator, rows: int, columns: int) -> list[list[int]]:
    most = int(rng.choice([3, 10, 100, 10**6]))
    found = rng.integers(0, most + 1, (rows, columns))
    found[:, 0] += 1
    return [[int(entry) for entry in row] for row in found]


def _fractions(rows: list[list[int]]) -> list[list[Fraction]]:
    if min(entry for row in rows for entry in row) < 0:
        raise ValueError("a weight is negative")
    return [[Fraction(entry, sum(row)) for entry in row] for row in rows]


def told(case: dict[str, Any]) -> Iterator[Check]:
    """All outputs together, given each secret: every ordered pair of secrets, in fractions."""
    data, channels = _fractions(case["data"]), [_fractions(channel) for channel in case["channels"]]
    if len(data) < 2 or not channels:
        return
    release = World(data=data).release(*channels)
    rows = truth.Table.of(data).through(truth.beside(*map(truth.Table.of, channels)))
    pairs = [(i, j) for i in range(len(data)) for j in range(len(data)) if i != j]
    if case["epsilons"]:
        for place, (lower, upper) in zip(
            case["epsilons"], ends(release.delta(np.array(case["epsilons"]))), strict=True
        ):
            low, high = truth.exp_ends(place)
            exact = truth.delta(rows, pairs, high), truth.delta(rows, pairs, low)
            yield inside("finite world: delta", lower, *exact, upper, f"epsilon {place!r}")
    for share in case["deltas"]:
        odds, found = truth.odds(rows, pairs, Fraction(share)), release.epsilon(share)
        yield _logs(odds, float(found.lower), float(found.upper), f"delta {share!r}")
        exact_odds = release.exact_odds(Fraction(share))
        yield Check("finite world: exact odds", exact_odds == odds, note=f"delta {share!r}: {exact_odds} for {odds}")
    if case["alphas"]:
        for alpha, (lower, upper) in zip(case["alphas"], ends(release.beta(np.array(case["alphas"]))), strict=True):
            value = truth.beta(rows, pairs, Fraction(alpha))
            yield inside("finite world: beta", lower, value, value, upper, f"alpha {alpha!r}", "lower")


def _logs(odds: Fraction | None, lower: float, upper: float, note: str) -> Check:
    """The logarithm of exact odds; None is infinite."""
    note = f"{note}, odds {odds}, said [{lower!r}, {upper!r}]"
    if odds is None:
        return Check("finite world: epsilon", upper == float("inf"), note=note)
    if odds == 1:
        return Check("finite world: epsilon", lower <= 0 <= upper, note=note)
    place = truth.log(odds)
    found = inside("finite world: epsilon", lower, place, place, upper, note)
    return found


KINDS = [
    Kind("confounding", "finite worlds", drawn, told),
    *(Kind("confounding", name, draw, ask, plain=False) for name, (draw, ask) in OLDER.items()),
]
