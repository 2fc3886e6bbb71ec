"""Bayesian and Markov networks of up to four entries, loops and zeros among them.

Truth: the law of all data in fractions, every extreme mechanism (`pufferfish.heights`), every set that may be hidden.
Questions: `translate` about all entries and about one, and the influence curve.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from benchmarks.soundness.claims import Check, Kind
from benchmarks.soundness.rooms.pufferfish import odds_at_least, odds_at_most
from benchmarks.soundness.rooms.pufferfish_small import worst
from benchmarks.soundness.rooms.small_laws import Law, given
from quiltwork import pufferfish as pf

SHAPES = ((2, 2, 2, 2), (2, 2, 2), (3, 3))


def drawn(rng: np.random.Generator) -> dict[str, Any]:
    """Factors of whole weights on one to three entries, the odds that one entry may move, and an entry."""
    shape = SHAPES[int(rng.integers(len(SHAPES)))]
    count, states = len(shape), shape[0]
    factors = []
    for _ in range(int(rng.integers(count - 1, 2 * count + 1))):
        scope = rng.choice(count, int(min(count, rng.choice([1, 2, 2, 2, 3]))), replace=False)
        cells = states ** len(scope)
        weights = rng.integers(1, int(rng.choice([3, 30, 3000])), cells)
        if len(scope) == 2 and states == 2 and rng.random() < 0.3:
            same, other = sorted(int(n) for n in rng.integers(1, 50, 2))
            weights = np.array([other, same, same, other])  # likes to agree
        if rng.random() < 0.25:
            weights = np.where(rng.random(cells) < 0.3, 0, weights)
        factors.append({"scope": [int(entry) for entry in scope], "weights": [int(w) for w in weights]})
    below = int(rng.integers(1, 40))
    odds = [below + int(rng.integers(1, 60)), below]
    return {"entries": count, "states": states, "factors": factors, "odds": odds, "entry": int(rng.integers(count))}


def _law(case: dict[str, Any], shape: tuple[int, ...]) -> Law:
    """All data in C order, up to a constant."""
    tables = [(f["scope"], np.reshape(f["weights"], (shape[0],) * len(f["scope"]))) for f in case["factors"]]
    return [
        Fraction(math.prod(int(table[tuple(cell[entry] for entry in scope)]) for scope, table in tables))
        for cell in itertools.product(*map(range, shape))
    ]


def attacked(case: dict[str, Any]) -> Iterator[Check]:
    """No mechanism leaks more than `translate` says, and one of them leaks what it says from below."""
    shape, ratio = (case["states"],) * case["entries"], Fraction(*case["odds"])
    if ratio <= 1 or min(w for f in case["factors"] for w in f["weights"]) < 0:
        return
    law = _law(case, shape)
    alone = [((entry,), np.ones(case["states"])) for entry in range(case["entries"])]
    tables = [(f["scope"], np.reshape(f["weights"], (shape[0],) * len(f["scope"]))) for f in case["factors"]]
    pairs = given(shape, law)
    if not pairs:
        return
    network = pf.Network([*tables, *alone])
    epsilon = math.log(ratio) * (1 + 1e-13)  # the ratio is rounded before its logarithm is
    odds, where = worst(shape, pairs, ratio)
    said = pf.translate(network, epsilon)
    yield odds_at_most("network: translate", odds, float(said.upper), where)
    yield odds_at_least("network: translate, lower end", odds, float(said.lower), where)
    entry = case["entry"]
    own = [pair for pair, of in zip(pairs, _entries(shape, law), strict=True) if of == entry]
    if own:
        odds, where = worst(shape, own, ratio)
        said = pf.translate(network, epsilon, secrets=pf.entry_values([entry]))
        yield odds_at_most("network: translate, one entry", odds, float(said.upper), f"entry {entry}, {where}")
    curve = network.influence()
    for size in range(1, case["entries"]):
        told = _influence(shape, law, size)
        if told is None:
            yield Check("network: influence", math.isinf(curve(size)), note=f"size {size}: infinite")
        else:
            yield odds_at_most("network: influence", told, float(curve(size)), f"size {size}")


def _entries(shape: tuple[int, ...], law: Law) -> list[int]:
    """The entry of every pair that `given` lists."""
    cells = list(itertools.product(*map(range, shape)))
    found = []
    for axis, size in enumerate(shape):
        can = [any(m for m, cell in zip(law, cells, strict=True) if cell[axis] == value) for value in range(size)]
        found += [axis] * sum(can[u] and can[v] for u, v in itertools.permutations(range(size), 2))
    return found


def _influence(shape: tuple[int, ...], law: Law, size: int) -> Fraction | None:
    """max over pairs of the least, over hidden sets of so many entries, of the largest odds of the others."""
    cells, count, best = list(itertools.product(*map(range, shape))), len(shape), Fraction(1)
    for entry in range(count):
        others = [one for one in range(count) if one != entry]
        shown = [[one for one in others if one not in more] for more in itertools.combinations(others, size - 1)]
        for u, v in itertools.permutations(range(shape[entry]), 2):
            found = [_odds(cells, law, entry, u, v, told) for told in shown]
            finite = [odds for odds in found if odds is not None]
            if not finite:
                return None
            best = max(best, min(finite))  # 0 where a value never occurs
    return best


def _odds(cells: Any, law: Law, entry: int, u: int, v: int, told: list[int]) -> Fraction | None:
    """The largest P(told | u) / P(told | v); None where it is infinite, 0 where a value never occurs."""
    laws: dict[int, dict[Any, Fraction]] = {u: {}, v: {}}
    for cell, mass in zip(cells, law, strict=True):
        if mass and cell[entry] in laws:
            key = tuple(cell[one] for one in told)
            laws[cell[entry]][key] = laws[cell[entry]].get(key, Fraction(0)) + mass
    whole = {value: sum(laws[value].values(), Fraction(0)) for value in (u, v)}
    if not all(whole.values()):
        return Fraction(0)
    if set(laws[u]) - set(laws[v]):
        return None
    return max(laws[u][key] / whole[u] * whole[v] / laws[v][key] for key in laws[u])


KINDS = [Kind("pufferfish", "networks, every mechanism", drawn, attacked)]
