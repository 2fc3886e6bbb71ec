"""Many attributes and more people, where long sums round: every swap of two candidates against the certificate."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from tests.soundness import game_truth as truth
from tests.soundness.confounding_checks import Check, at_most
from tests.soundness.game_checks import mu_of
from tests.soundness.game_people import ROWS, People, spread, weights

from quiltwork.game import Gaussian, Half, Population, RateDistortion, WaterFilling

DEFENDERS = (Gaussian, RateDistortion, WaterFilling)
DIGITS = 2**80  # strengths are rounded down to so many


def wide(rng: np.random.Generator) -> People:
    """Up to twelve people with up to eighty attributes, exactly half of them members."""
    count, width = int(rng.integers(2, 13)), int(2.0 ** rng.uniform(2.0, 6.3))
    rows = ROWS[rng.integers(len(ROWS))](rng, count + 1, width)
    population = Population(rows[:count], rows[count:], Half())
    make = DEFENDERS[rng.integers(len(DEFENDERS))]
    denominator = "fixed" if rng.random() < 0.5 else "members"
    return People(population, denominator, make(0.3 * min(spread(rng), 5.0), weights(rng, width)))


def within(case: People, rng: np.random.Generator) -> Iterator[Check]:
    """mu^2 of each swap: a move is a difference of two rows, divided by the number of members or by K / 2."""
    defence = case.defender.prepare(case.population, denominator=case.denominator)
    certified, channel = Fraction(mu_of(defence.certificate("pool").curve)) ** 2, defence.channel
    rows, unit = truth.whole(case.population.candidates)
    kept = np.flatnonzero(channel.scale > 0)
    if channel.basis is not None and kept.size:
        basis, more = truth.whole(channel.basis[:, kept])
        rows, unit = rows @ basis, unit * more
    else:
        rows = rows[:, kept]
    people = len(rows)
    step = Fraction(2, people) if case.fixed else Fraction(1, people // 2)
    factors = [Fraction(float(channel.scale[i])) ** 2 / Fraction(float(channel.variance[i])) for i in kept]
    least = [_whole(factor, max(factors)) for factor in factors]
    for one, two in itertools.combinations(rows, 2):
        total = sum(int(gap) ** 2 * factor for gap, factor in zip(one - two, least, strict=True))
        square = Fraction(total) * step**2 / unit**2 * max(factors) / DIGITS if total else Fraction(0)
        yield at_most(f"{type(case.defender).__name__}, many attributes: mu", square, certified)


def _whole(factor: Any, largest: Any) -> int:
    return math.floor(factor / largest * DIGITS)
