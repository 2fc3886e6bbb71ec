"""Exact laws of the mechanisms, and tests of samples against them with a stated false-alarm rate."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from scipy import stats

from quiltwork.mechanisms import sampling

ALARM = 1e-7  # of every test of a sample: a right mechanism fails one run in ten million
BROKEN = [0.7, 1.4]  # of the right scale: these must be caught


def binomial_alarm(hits: int, draws: int, chance: float, tests: int) -> bool:
    """Whether a count is out of line with its exact binomial law; two-sided, one of `tests` (Bonferroni)."""
    law = stats.binom(draws, chance)
    return bool(2 * min(law.cdf(hits), law.sf(hits - 1)) * tests < ALARM)


def outcomes_alarm(sample: Iterable[Any], law: Mapping[Any, float]) -> bool:
    """Whether the counts of outcomes contradict this law; an impossible outcome does at once."""
    counts = Counter(sample)
    draws = sum(counts.values())
    if set(counts) - set(law):
        return True
    return any(binomial_alarm(counts[outcome], draws, chance, len(law)) for outcome, chance in law.items())


def noise_alarm(noise: Sequence[float], cdf: Callable[[float], float], sizes: Sequence[float], step: int) -> bool:
    """Whether the shares below zero, or of at most these sizes, contradict the law of a symmetric noise.

    `step` is 1 for noise on the integers and 0 for noise without atoms.
    """
    array = np.asarray(noise)
    events = [((array < 0), cdf(-step)), *(((np.abs(array) <= x), cdf(x) - cdf(-x - step)) for x in sizes)]
    return any(binomial_alarm(int(event.sum()), len(array), chance, len(events)) for event, chance in events)


def integers_alarm(noise: Sequence[int], cdf: Callable[[int], float]) -> bool:
    """Dvoretzky-Kiefer-Wolfowitz: whether the whole distribution function on the integers is contradicted."""
    array = np.asarray(noise)
    points = range(int(array.min()) - 1, int(array.max()) + 1)
    gap = max(abs(float((array <= x).mean()) - cdf(x)) for x in points)
    return gap > math.sqrt(math.log(2 / ALARM) / (2 * len(array)))


def discrete_laplace_cdf(scale: float) -> Callable[[float], float]:
    """P(X <= x) for mass proportional to e^(-|x| / scale)."""
    fade = math.exp(-1 / scale)

    def cdf(x: float) -> float:
        x = math.floor(x)
        return fade ** (-x) / (1 + fade) if x < 0 else 1 - fade ** (x + 1) / (1 + fade)

    return cdf


def discrete_gaussian_cdf(sigma: float) -> Callable[[float], float]:
    """P(X <= x) for mass proportional to e^(-x^2 / 2 sigma^2), summed."""
    reach = math.ceil(40 * sigma)
    support = np.arange(-reach, reach + 1)
    mass = np.exp(-0.5 * (support / sigma) ** 2)
    total = np.cumsum(mass) / mass.sum()
    return lambda x: float(total[min(max(math.floor(x) + reach, 0), 2 * reach)])


def peel_law(counts: Sequence[int], k: int, weight: Any) -> dict[tuple[int, ...], Any]:
    """P(s_1, ..., s_k), each picked with chance proportional to weight^count among those left.

    With a Fraction as weight = e^t every probability is exact.
    """
    law = {}
    for order in itertools.permutations(range(len(counts)), k):
        left, chance = list(range(len(counts))), weight**0
        for pick in order:
            chance *= weight ** counts[pick] / sum(weight ** counts[j] for j in left)
            left.remove(pick)
        law[order] = chance
    return law


def scaled_noise(patch: pytest.MonkeyPatch, factor: float) -> None:
    """Every sampler draws with `factor` times the scale it is given: what a wrong implementation would do."""

    def broken(sampler: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *args: sampler(*args[:-1], factor * args[-1])

    for name in sampling.__all__:
        patch.setattr(sampling, name, broken(getattr(sampling, name)))


def no_noise(patch: pytest.MonkeyPatch) -> None:
    """Any draw fails the test."""

    def drew(*args: Any) -> Any:
        raise AssertionError(f"noise was drawn: {args}")

    for name in sampling.__all__:
        patch.setattr(sampling, name, drew)
