"""Readings of odometers.

Truth: the chance that the loss of any prefix passes its reading, by all paths of responses; for noise, that of the last
prefix, by its tail. Question: whether the chance is within delta.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from tests.truth.numbers import mp

import quiltwork as qw
from benchmarks.soundness.claims import Check, Kind
from quiltwork.compose.filters.opening import gdp_filter, pure_filter, renyi_filter, zcdp_filter


def lived(rng: np.random.Generator) -> dict[str, Any]:
    """Responses or Gaussian noise, one after the other, within a limit."""
    return {
        "kind": str(rng.choice(["pure", "zcdp", "gdp", "renyi"])),
        "steps": [round(float(rng.uniform(0.05, 0.9)), 3) for _ in range(int(rng.integers(1, 9)))],
        "more": round(float(rng.choice([0.0, rng.exponential(0.3)])), 3),
        "deltas": (10.0 ** -rng.uniform(0.3, 4, 4)).tolist(),
        "order": round(float(1.1 + rng.exponential(4)), 2),
    }


def read(case: dict[str, Any]) -> Iterator[Check]:
    """The chance that the loss of any prefix passes its reading: all paths of responses; the last one, of noise."""
    steps, kind = case["steps"], case["kind"]
    if not steps or min(steps) <= 0 or case["order"] <= 1.01:
        return
    cost = {"pure": lambda e: Fraction(repr(e)), "zcdp": lambda e: Fraction(repr(e)) ** 2 / 2}.get(kind)
    if kind in ("pure", "zcdp"):
        spent = list(itertools.accumulate(map(cost, steps)))
        kept = (pure_filter if kind == "pure" else zcdp_filter)(spent[-1] + Fraction(repr(case["more"])))
        amounts = [(one, Fraction(0)) if kind == "pure" else (one,) for one in spent]
    else:
        parts = [qw.gdp(e) for e in steps]
        kept = (
            gdp_filter(float(sum(e * e for e in steps)) ** 0.5 + case["more"] + 1e-9)
            if kind == "gdp"
            else renyi_filter(case["order"], sum(e * e for e in steps) * case["order"] / 2 + case["more"] + 1e-9)
        )
        amounts = [kept.cost(qw.compose(*parts[: i + 1])) for i in range(len(parts))]
    for delta in case["deltas"]:
        marks = [kept.reading(amount, delta) for amount in amounts]
        if kind in ("pure", "zcdp"):
            chance = 0.0
            for path in itertools.product((1, -1), repeat=len(steps)):
                loss = list(itertools.accumulate(s * e for s, e in zip(path, steps, strict=True)))
                if any(one > mark + 1e-12 for one, mark in zip(loss, marks, strict=True)):
                    chance += math.prod(1 / (1 + math.exp(-s * e)) for s, e in zip(path, steps, strict=True))
        else:
            mu2 = sum(e * e for e in steps)
            chance = float(mp.ncdf(-(mp.mpf(marks[-1]) - mp.mpf(mu2) / 2) / mp.sqrt(mu2)))
        yield Check(
            f"odometer, {kind}",
            chance <= delta * (1 + 1e-9),
            abs(1 - chance / delta),
            f"delta {delta!r}: passed with {chance!r}",
        )


KINDS = [Kind("ledger", "odometers", lived, read)]
