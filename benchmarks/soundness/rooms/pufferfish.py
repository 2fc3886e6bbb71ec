"""Correlated records: listed laws against every extreme mechanism; other priors against random mechanisms."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from tests.pufferfish import brute
from tests.pufferfish.random_mechanisms import random_likelihood
from tests.soundness.pufferfish_priors import KINDS as PRIORS

import quiltwork as qw
from benchmarks.soundness.claims import Check, Kind
from benchmarks.soundness.listed import exp_ends
from quiltwork.pufferfish import JointLaw, guarantee, translate

SHAPES = ((2, 2), (2, 3), (3, 2), (2, 2, 2), (3, 3), (2, 4))
EVENTS = 40  # for each prior and epsilon
SLACK = 1e-11  # of truths in floating point


# ---- listed laws, all extreme mechanisms


@functools.cache
def heights(shape: tuple[int, ...]) -> np.ndarray:
    """Every function to 0, 1, ..., n on the datasets that moves by at most 1 when one entry changes, least value 0.

    Events V with V(D) <= r V(D') for neighbours are cones; on their extreme rays tight rules join all datasets, so that
    V = r^h with h whole: the worst mechanism is among these.
    """
    cells = list(itertools.product(*map(range, shape)))
    near = [
        (i, j) for i, a in enumerate(cells) for j, b in enumerate(cells)
        if i < j and sum(x != y for x, y in zip(a, b, strict=True)) == 1
    ]  # fmt: skip
    found = np.array(list(itertools.product(range(len(shape) + 1), repeat=1)), dtype=np.int8)
    for column in range(1, len(cells)):
        grown = np.repeat(found, len(shape) + 1, axis=0)
        grown = np.column_stack([grown, np.tile(np.arange(len(shape) + 1, dtype=np.int8), len(found))])
        for i, j in near:
            if j == column:
                grown = grown[np.abs(grown[:, i] - grown[:, j]) <= 1]
        found = grown
    return found[found.min(axis=1) == 0]


def drawn(rng: np.random.Generator) -> dict[str, Any]:
    """Weights of all datasets, and the odds that one entry may move."""
    shape = SHAPES[int(rng.integers(len(SHAPES)))]
    count = math.prod(shape)
    scale = int(rng.choice([1, 3, 10, 1000, 10**6]))
    weights = [int(w) for w in np.floor(rng.dirichlet(np.full(count, rng.choice([0.2, 1.0, 4.0]))) * scale * count)]
    if rng.random() < 0.5:
        weights = [w + 1 for w in weights]
    below = int(rng.integers(1, 40))
    return {
        "shape": list(shape),
        "weights": weights,
        "odds": [below + int(rng.integers(1, 60)), below],
        "uses": int(rng.integers(1, 4)),
    }


def listed(case: dict[str, Any]) -> Iterator[Check]:
    """The bound is no less than what the worst mechanism leaks, and its lower end no more."""
    shape, weights = tuple(case["shape"]), case["weights"]
    ratio = Fraction(*case["odds"])
    total = sum(weights)
    if not total or ratio <= 1 or len(weights) != math.prod(shape) or shape not in SHAPES or case["uses"] < 1:
        return
    law = np.array([w / total for w in weights]).reshape(shape)
    values = [
        int(np.count_nonzero(law.sum(axis=tuple(a for a in range(law.ndim) if a != axis)))) for axis in range(law.ndim)
    ]
    if max(values) < 2:
        return  # nothing is secret
    prior = JointLaw(law / law.sum())
    entry = math.nextafter(math.log(ratio), math.inf)
    worst, where = _worst(shape, weights, ratio)
    said = translate(prior, entry)
    yield odds_at_most("listed law: translate", worst, float(said.upper), where)
    yield odds_at_least("listed law: translate, lower end", worst, float(said.lower), where)
    uses = case["uses"]
    found = guarantee(uses * qw.pure(math.nextafter(entry / uses, math.inf)), prior).epsilon(0.0)
    yield odds_at_most("listed law: guarantee of several releases", worst, float(found.upper), where)
    curve = prior.influence()
    for size in range(1, len(shape) + 1):
        least = max(brute.influence(law, *secret, size) for secret in brute.secrets(law))
        bound = float(curve(size))
        holds = bound >= least * (1 - SLACK) - SLACK and bound <= least * (1 + 1e-9) + 1e-9
        both = math.isinf(bound) and math.isinf(least)
        yield Check(
            "listed law: influence", holds or both, _room(bound, least), f"{size} entries: {bound!r}, listed {least!r}"
        )


def _worst(shape: tuple[int, ...], weights: list[int], ratio: Fraction) -> tuple[Fraction, str]:
    """The largest odds over all secrets and extreme mechanisms: the best by floats, evaluated in fractions."""
    cells = list(itertools.product(*map(range, shape)))
    table = heights(shape)
    likely = float(ratio) ** table.astype(float)
    best, where = Fraction(1), ""
    for axis in range(len(shape)):
        masks = [np.array([cell[axis] == value for cell in cells]) for value in range(shape[axis])]
        sums = [sum(w for w, inside in zip(weights, mask, strict=True) if inside) for mask in masks]
        given = [np.array(weights) * mask / max(size, 1) for mask, size in zip(masks, sums, strict=True)]
        for u, v in itertools.permutations(range(shape[axis]), 2):
            if not sums[u] or not sums[v]:
                continue
            index = int(np.argmax((likely @ given[u]) / (likely @ given[v])))
            event = [ratio ** int(h) for h in table[index]]
            one, two = (
                sum((w * e for w, e, inside in zip(weights, event, masks[side], strict=True) if inside), Fraction(0))
                / sums[side]
                for side in (u, v)
            )
            if one / two > best:
                best, where = one / two, f"entry {axis}, {u} against {v}, heights {table[index].tolist()}"
    return best, where


def odds_at_most(claim: str, odds: Fraction, bound: float, note: str) -> Check:
    """log odds <= bound."""
    if math.isinf(bound):
        return Check(claim, bound > 0, math.nan, note)
    _, high, exponent = exp_ends(bound)
    most = Fraction(high) * Fraction(2) ** exponent
    size = math.log(odds) if odds > 1 else 1.0
    gap = (bound - math.log(odds)) / size
    margin = gap if gap > 1e-15 else math.nan  # the logarithm is a float
    return Check(claim, odds <= most, margin, f"{note}, said {bound!r}", math.nan)


def odds_at_least(claim: str, odds: Fraction, bound: float, note: str) -> Check:
    """The worst mechanism by floats is the worst but for their rounding."""
    low, _, exponent = exp_ends(bound)
    return Check(
        claim,
        Fraction(low) * Fraction(2) ** exponent <= odds * (1 + Fraction(1, 10**12)),
        math.nan,
        f"{note}, said {bound!r}",
    )


# ---- other priors, random mechanisms


def attacked(case: Any, rng: np.random.Generator) -> Iterator[Check]:
    """Events of mechanisms that are private for each entry: the largest leak over all secrets is within the bound."""
    prior, law, entry = case
    pairs = [(brute.given(law, i, u), brute.given(law, i, v)) for i, u, v in brute.secrets(law)]
    if not pairs:
        return
    firsts, seconds = (np.array([np.ravel(pair[side]) for pair in pairs], dtype=float) for side in (0, 1))
    bound = float(translate(prior, entry).upper)
    values = np.array([np.ravel(random_likelihood(rng, law.shape, entry)) for _ in range(EVENTS)])
    leak = float((np.log(firsts @ values.T) - np.log(seconds @ values.T)).max())
    note = f"entry {entry!r}, bound {bound!r}, leak {leak!r}"
    yield Check("prior: leak of events", leak <= bound + SLACK * (1 + bound), _room(bound, leak), note)
    yield from _approximate(prior, entry, values, firsts, seconds, rng)


def _approximate(
    prior: Any, entry: float, values: np.ndarray, firsts: np.ndarray, seconds: np.ndarray, rng: np.random.Generator
) -> Iterator[Check]:
    """max(V - delta / (e^e - 1), 0) is an event of a mechanism that is (e, delta)-private for each entry.

    It is kept below 1 - e^-e, so that its complement is one as well.
    """
    delta = float(10.0 ** rng.uniform(-6, -1))
    asked = np.array([0.3, 1.0, 2.5]) * entry
    promise = guarantee(qw.approximate(entry, delta), prior)
    most = -math.expm1(-entry) + delta / math.expm1(entry)
    found = np.maximum(most * values / values.max() - delta / math.expm1(entry), 0.0)
    for epsilon, bound in zip(asked.tolist(), np.asarray(promise.delta(asked).upper).tolist(), strict=True):
        spent = float((firsts @ found.T - math.exp(epsilon) * (seconds @ found.T)).max())
        note = f"epsilon {epsilon!r}, delta {delta!r}, bound {bound!r}, event {spent!r}"
        yield Check("prior: (epsilon, delta) events", spent <= bound + SLACK, _room(bound, spent), note)


def _room(bound: float, least: float) -> float:
    """A margin beyond the rounding of the truth."""
    gap = bound - least
    return gap / least if math.isfinite(bound) and least > 1e-9 and gap > SLACK * (1 + bound) else math.nan


def attack(name: str) -> Kind:
    """One kind of prior."""

    def draw(rng: np.random.Generator) -> Any:
        while True:
            try:
                prior, law = PRIORS[name](rng)
            except qw.QuiltworkError:
                continue  # no single stationary law
            return prior, law, float(np.exp(rng.uniform(-4.0, 1.0)))

    return Kind("pufferfish", name, draw, attacked, plain=False)


KINDS = [Kind("pufferfish", "listed laws, every mechanism", drawn, listed), *map(attack, PRIORS)]
