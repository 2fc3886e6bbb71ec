"""Small laws written out naively, and the naive answers to compare with."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np

CONTACTS = [(0, 1), (1, 2), (0, 2), (2, 3), (3, 4), (4, 5), (5, 6)]
TREE = [(0, 1), (0, 2), (1, 3), (1, 4), (2, 5), (2, 6)]
RING = [(i, (i + 1) % 7) for i in range(7)]


def beta_binomial(entries: int, alpha: int, beta: int) -> np.ndarray:
    """One exchangeable block, in fractions: p(x) = B(alpha + k, beta + n - k) / B(alpha, beta)."""
    law = np.empty((2,) * entries, dtype=object)
    for data in itertools.product((0, 1), repeat=entries):
        weight, ones = Fraction(1), 0
        for place, value in enumerate(data):
            chance = Fraction(alpha + ones, alpha + beta + place)
            weight *= chance if value else 1 - chance
            ones += value
        law[data] = weight
    return law


def outbreak(community: Fraction, contact: Fraction) -> np.ndarray:
    """Seven people on a graph: some fall ill by themselves, and each open contact passes the illness on."""
    law = np.full((2,) * 7, Fraction(0), dtype=object)
    for opened in itertools.product((0, 1), repeat=len(CONTACTS)):
        chance = math.prod(contact if one else 1 - contact for one in opened)
        for start in itertools.product((0, 1), repeat=7):
            ill, moved = list(start), True
            while moved:
                moved = False
                for one, (a, b) in zip(opened, CONTACTS, strict=True):
                    if one and ill[a] != ill[b]:
                        ill[a] = ill[b] = 1
                        moved = True
            law[tuple(ill)] += chance * math.prod(community if one else 1 - community for one in start)
    return law


def naive_curve(law: np.ndarray, first: np.ndarray, second: np.ndarray) -> list[float]:
    """a(1), ..., a(n) of one ordered pair, in fractions where the law is: every set, every value outside it."""
    entries = law.ndim
    mass, other = sum(law[first]), sum(law[second])
    best = [math.inf] * entries
    for size in range(1, entries + 1):
        for hidden in itertools.combinations(range(entries), size):
            seen: dict[tuple[int, ...], list] = {}
            for data in np.ndindex(law.shape):
                key = tuple(value for place, value in enumerate(data) if place not in hidden)
                pair = seen.setdefault(key, [0, 0])
                pair[0] += law[data] if first[data] else 0
                pair[1] += law[data] if second[data] else 0
            worst = 0.0
            for one, two in seen.values():
                if one > 0:
                    worst = max(worst, math.log(one * other / (two * mass)) if two > 0 else math.inf)
            best[size - 1] = min(best[size - 1], worst)
        if size > 1:
            best[size - 1] = min(best[size - 1], best[size - 2])
    return best


def random_law(rng: np.random.Generator, sizes: tuple[int, ...]) -> np.ndarray:
    """A law that is rough, smooth, sparse or a chain."""
    kind = rng.integers(4)
    if kind == 0:
        return rng.dirichlet(np.full(math.prod(sizes), 0.3)).reshape(sizes)
    if kind == 1:
        return rng.dirichlet(np.full(math.prod(sizes), 5.0)).reshape(sizes)
    if kind == 2:
        law = rng.random(sizes) * (rng.random(sizes) < 0.6)
        law.flat[0] += 0.01
        law.flat[-1] += 0.01
        return law / law.sum()
    law = rng.dirichlet(np.ones(sizes[0]))
    for before, after in itertools.pairwise(sizes):
        law = law[..., None] * rng.dirichlet(np.full(after, 0.7), size=before)
    return law / law.sum()
