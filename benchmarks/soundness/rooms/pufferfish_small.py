"""Small priors of every kind and every extreme mechanism.

Truth: laws of two or three entries in fractions (`small_laws`), and the largest odds over all extreme mechanisms.
Questions: `translate`, `per_entry_epsilon`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from benchmarks.soundness.claims import Check, Kind
from benchmarks.soundness.listed import exp_ends
from benchmarks.soundness.rooms import small_laws
from benchmarks.soundness.rooms.pufferfish import heights, odds_at_least, odds_at_most
from quiltwork import pufferfish as pf

NEAR = Fraction(1, 10**12)  # of laws that are known in floats only
SHORT = 40  # bits of a ratio behind the point


def drawn(rng: np.random.Generator) -> dict[str, Any]:
    """A small prior, the odds that one entry may move, and a target."""
    below = int(rng.integers(1, 40))
    odds = [below + int(rng.integers(1, 60)), below]
    return {**small_laws.drawn(rng), "odds": odds, "target": round(float(np.exp(rng.uniform(-3, 1.5))), 3)}


def worst(shape: tuple[int, ...], pairs: small_laws.Pairs, ratio: Fraction) -> tuple[Fraction, str]:
    """The largest odds over all pairs and all extreme mechanisms V = ratio^h."""
    table = heights(shape)
    likely = float(ratio) ** table.astype(float)
    best, where = Fraction(1), ""
    for first, second in pairs:
        one, two = (np.array([float(m) for m in law]) / float(sum(law)) for law in (first, second))
        index = int(np.argmax((likely @ one) / (likely @ two)))
        event = [ratio ** int(h) for h in table[index]]
        tops = [
            sum((m * e for m, e in zip(law, event, strict=True)), Fraction(0)) / sum(law) for law in (first, second)
        ]
        if tops[0] / tops[1] > best:
            best, where = tops[0] / tops[1], f"heights {table[index].tolist()}"
    return best, where


def attacked(case: dict[str, Any]) -> Iterator[Check]:
    """translate and per_entry_epsilon against the worst of all mechanisms."""
    found, ratio = small_laws.built(case), Fraction(*case["odds"])
    if found is None or ratio <= 1 or case["target"] <= 0:
        return
    prior, shape, pairs = found.prior, found.shape, found.pairs
    room = 1 if found.exact else 1 - NEAR
    odds, where = worst(shape, pairs, ratio)
    said = pf.translate(prior, math.nextafter(math.log(ratio), math.inf))
    yield odds_at_most(f"small prior, {case['name']}: translate", odds * room, float(said.upper), where)
    if case["name"] not in ("any", "set", "box"):  # of sets, only some laws were tried
        yield odds_at_least(f"small prior, {case['name']}: translate, lower end", odds / room, float(said.lower), where)
    budget = pf.per_entry_epsilon(prior, case["target"])
    if 1e-3 < budget < 50:
        low, _, exponent = exp_ends(budget)
        # rounded down: the odds that are reached rise with the ratio
        near = Fraction(math.floor(Fraction(low) * Fraction(2) ** (exponent + SHORT)), 1 << SHORT)
        odds, where = worst(shape, pairs, near)
        least = odds * (1 if found.exact else 1 - NEAR)
        yield odds_at_most(f"small prior, {case['name']}: per-entry epsilon", least, case["target"], where)


KINDS = [Kind("pufferfish", "small priors, every mechanism", drawn, attacked)]
