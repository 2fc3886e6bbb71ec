"""The theorems that hold, each on random mechanisms over classes small enough to list; what Figure 1 draws.

Each function below fills one group of the table, from theorem to `Tally`.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from examples.gallery.granularity.classes import losses
from examples.gallery.granularity.mechanisms import (
    Chain,
    Draw,
    Tally,
    all_of,
    changing,
    concentrated,
    concentrated_most,
    draw_chain,
    draw_channel,
    gaussian,
    hockey_sticks,
    neighbour_most,
    pure,
    several,
)
from quiltwork.checks import FloatArray
from quiltwork.tables.notions.spaces import Space, add_remove, hamming, multisets, quotient, replace_one, sequences

TABLES = multisets("ab", 3)  # 10 tables
SPACES = (Space(TABLES, add_remove), Space(TABLES, replace_one))
Tallies = dict[str, Tally]


def grown(distances: FloatArray, epsilon: float) -> FloatArray:
    """[d]_epsilon."""
    if epsilon == 0:
        return distances
    with np.errstate(over="ignore"):
        found: FloatArray = np.expm1(epsilon * distances) / math.expm1(epsilon)
    return found


def metrics(rng: Draw, count: int) -> Tallies:
    """A loss for neighbours is a loss for every distance: pure, approximate, zero-concentrated, Gaussian."""
    found = {name: Tally() for name in ("II.2, III.3", "VI.3", "VI.12", "VI.20")}
    for number in range(count):
        space = SPACES[number % 2]
        near, far = space.neighbours, space.distances
        channel = draw_channel(rng, len(TABLES), 3)
        epsilon = neighbour_most(near, losses(channel))
        found["II.2, III.3"].compare(losses(channel), epsilon * far, far > 1)
        part = float(rng.uniform(0.1, 0.9)) * epsilon
        delta = neighbour_most(near, hockey_sticks(channel, part))
        found["VI.3"].compare(hockey_sticks(channel, part * far), delta * grown(far, part), far > 1)
        rho, mus = neighbour_most(near, concentrated_most(channel)), gaussian(channel)
        found["VI.12"].compare(concentrated(channel), rho * far**2, far > 1)
        found["VI.20"].compare(mus, neighbour_most(near, mus) * far, far > 1)
    return found


def compositions(rng: Draw, count: int) -> Tallies:
    """Losses of steps add up, each at the distance that its map makes of the two databases."""
    whole = list(range(len(TABLES)))
    found: Tallies = {}
    for _ in range(count):
        for same, adaptive in ((False, False), (True, False), (False, True), (True, True)):
            maps = [whole] * 3 if same else changing(TABLES, rng, 3)
            chain = draw_chain(rng, maps, adaptive)
            name = {
                (False, False): "IV.1",
                (True, False): "IV.3, II.6",
                (False, True): "V.2",
                (True, True): "V.3, II.7",
            }
            parts = chain.seen(pure)
            tally = found.setdefault(name[same, adaptive], Tally())
            tally.compare(losses(chain.channel), all_of(parts), several(parts))
            if adaptive:
                _other_notions(found, chain, float(rng.uniform(0.1, 0.9)), same)
    return found


def _other_notions(found: Tallies, chain: Chain, share: float, same: bool) -> None:
    """The same chain, counted by delta, Rényi divergences and mu."""
    channel = chain.channel
    epsilons = [share * one for one in chain.seen(pure)]
    deltas = []
    for i, (label, kernels) in enumerate(zip(chain.labels, chain.kernels, strict=True)):
        places = np.ix_(label, label)
        apart = np.max([share * pure(kernel) for kernel in kernels], axis=0)
        deltas.append(np.max([hockey_sticks(kernel, apart) for kernel in kernels], axis=0)[places])
        if not np.allclose(apart[places], epsilons[i]):
            raise AssertionError("two ways to the same distance differ")
    approximate, zero, normal = ("VI.5", "VI.15", "VI.23 (corrected)") if same else ("VI.4", "VI.13", "VI.21")
    telling = several(epsilons)
    found.setdefault(approximate, Tally()).compare(hockey_sticks(channel, all_of(epsilons)), all_of(deltas), telling)
    found.setdefault(zero, Tally()).compare(concentrated(channel), all_of(chain.seen(concentrated)), telling)
    root = np.sqrt(all_of([mu**2 for mu in chain.seen(gaussian)]))
    found.setdefault(normal, Tally()).compare(gaussian(channel), root, telling)


# ---- disjoint parts


def disjoint(rng: Draw, count: int) -> Tallies:
    """Compatible partitions: the maximum. Tables by value under add/remove, and rows of ordered tables by number."""
    found: Tallies = {}
    rows = sequences("ab", 3, 3)
    for number in range(count):
        if number % 2:
            listed, relation = list(TABLES), add_remove
            parts = [[tuple(x for x in table if x == value) for table in listed] for value in "ab"]
        else:  # a random class of its own: fewer tables, fewer steps
            kept = sorted(int(i) for i in rng.choice(len(rows), 6, replace=False))
            listed, relation = [rows[i] for i in kept], hamming
            parts = [[(row[i],) for row in listed] for i in range(3)]
        space = Space(listed, relation)
        own = [Space(sorted(set(part)), relation) for part in parts]
        labels = [[small.place(one) for one in part] for small, part in zip(own, parts, strict=True)]
        for adaptive in (False, True):
            chain = draw_chain(rng, labels, adaptive)
            _stated_on_parts(found, chain, space, own, adaptive, rng.uniform(0.1, 0.9, len(own)))
            _stated_on_tables(found, chain, space, adaptive)
    return found


def _stated_on_parts(
    found: Tallies, chain: Chain, space: Space, own: list[Space], adaptive: bool, shares: FloatArray
) -> None:
    """IV.6, V.4 and their counterparts: the statement is about each part, as a class of its own."""

    def most(part: int, measure: Any) -> float:
        return max(neighbour_most(own[part].neighbours, measure(kernel)) for kernel in chain.kernels[part])

    def largest(measure: Any) -> list[float]:
        return [most(part, measure) for part in range(len(own))]

    far, channel = space.distances, chain.channel
    name = "V.4" if adaptive else "IV.6, II.8"
    found.setdefault(name, Tally()).compare(losses(channel), max(largest(losses)) * far, far > 1)
    if adaptive:
        epsilons = [float(share) * loss for share, loss in zip(shares, largest(losses), strict=True)]
        deltas = [most(part, partial(hockey_sticks, epsilons=one)) for part, one in enumerate(epsilons)]
        sticks = hockey_sticks(channel, max(epsilons) * far)
        found.setdefault("VI.6", Tally()).compare(sticks, max(deltas) * grown(far, max(epsilons)), far > 1)
        zero = max(largest(concentrated_most)) * far**2
        found.setdefault("VI.16", Tally()).compare(concentrated(channel), zero, far > 1)
        mus = largest(gaussian)
        found.setdefault("VI.26", Tally()).compare(gaussian(channel), max(mus) * far, far > 1)
        seen = [
            mu * small.distances[np.ix_(label, label)]
            for mu, small, label in zip(mus, own, chain.labels, strict=True)
        ]  # fmt: skip
        root = np.sqrt(all_of([one**2 for one in seen]))
        found.setdefault("VI.24", Tally()).compare(gaussian(channel), root, several(seen))
        found.setdefault("VI.24, right side", Tally()).compare(root, max(mus) * far, far > 1)


def _stated_on_tables(found: Tallies, chain: Chain, space: Space, adaptive: bool) -> None:
    """IV.12 and V.6: the statement is about neighbouring tables."""
    worst = max(neighbour_most(space.neighbours, one) for one in chain.seen(losses))
    name = "V.6" if adaptive else "IV.12"
    far = space.distances
    found.setdefault(name, Tally()).compare(losses(chain.channel), worst * far, far > 1)


# ---- common domain


def common_domain(rng: Draw, count: int) -> Tallies:
    """Mechanisms that read f alone: the distance is the least one over databases with the same values of f."""
    found = {name: Tally() for name in ("IV.10", "IV.11", "V.5", "VI.14 (corrected)", "VI.22", "IV.13")}
    for number in range(count):
        space = SPACES[number % 2]
        near, far = space.neighbours, space.distances
        maps = changing(TABLES, rng, 3)
        through = [quotient(far, labels) for labels in maps]
        telling = several(through)
        for adaptive in (False, True):
            chain = draw_chain(rng, maps, adaptive)
            parts = [neighbour_most(near, one) for one in chain.seen(losses)]
            bound = all_of([scaled(epsilon, seen) for epsilon, seen in zip(parts, through, strict=True)])
            found["V.5" if adaptive else "IV.11"].compare(losses(chain.channel), bound, telling)
        first = chain.kernels[0][0][chain.labels[0]]
        found["IV.10"].compare(losses(first), scaled(neighbour_most(near, losses(first)), through[0]), far > 1)
        rhos = [neighbour_most(near, one) for one in chain.seen(concentrated_most)]
        squares = all_of([scaled(rho, seen**2) for rho, seen in zip(rhos, through, strict=True)])
        found["VI.14 (corrected)"].compare(concentrated(chain.channel), squares, telling)
        mus = [neighbour_most(near, one) for one in chain.seen(gaussian)]
        root = np.sqrt(all_of([scaled(mu, seen) ** 2 for mu, seen in zip(mus, through, strict=True)]))
        found["VI.22"].compare(gaussian(chain.channel), root, telling)
        parts_ = [[tuple(x for x in table if x == value) for table in TABLES] for value in "ab"]
        swaps = draw_chain(rng, [[repr(one) for one in part] for part in parts_], False)
        bounded = SPACES[1]
        pair = [neighbour_most(bounded.neighbours, one) for one in swaps.seen(losses)]
        found["IV.13"].compare(losses(swaps.channel), sum(pair) * bounded.distances)
    return found


def scaled(factor: float, distances: FloatArray) -> FloatArray:
    """A multiple of distances, where nothing times infinity is infinity: no step, no promise."""
    return np.where(np.isinf(distances), math.inf, factor * np.where(np.isinf(distances), 0.0, distances))


# ---- post-processing and reciprocals


def reciprocals(rng: Draw, count: int) -> Tallies:
    """What follows a release, or is part of it, loses no more: pure, delta at half the loss, Rényi, mu."""
    found = {name: Tally() for name in ("VII.1", "VII.2", "VII.3")}
    for _ in range(count):
        chain = draw_chain(rng, changing(TABLES, rng, 3), True)
        alone = draw_chain(rng, changing(TABLES, rng, 3), False)
        for measure in (pure, _half, concentrated, gaussian):
            channel = chain.channel
            after = draw_channel(rng, channel.shape[1], 3)
            found["VII.1"].compare(measure(channel @ after), measure(channel))
            outputs = channel.reshape(len(channel), 2, 2, 2)
            for step in range(3):
                rest = tuple(axis for axis in (1, 2, 3) if axis != step + 1)
                found["VII.3"].compare(measure(outputs.sum(axis=rest)), measure(channel))
                part = alone.kernels[step][0][alone.labels[step]]
                found["VII.2"].compare(measure(part), measure(alone.channel))
    return found


def _half(channel: FloatArray) -> FloatArray:
    """delta at epsilon = 1/2, which stands for all of them."""
    return hockey_sticks(channel, 0.5)
