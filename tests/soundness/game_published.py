"""Releases that are really published, with nothing drawn, and tables of classifiers, against their certificates.

`publish` is asked for every data set with its samplers replaced: what they would have been given are the doubles whose
differences the certificate must cover, rounding and all.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from typing import Any
from unittest import mock

import attrs
import numpy as np
from tests.soundness import game_truth as truth
from tests.soundness.confounding_checks import Check, at_most
from tests.soundness.game_checks import cells, chance, mu_of
from tests.soundness.game_people import People, people, spread, weights

from quiltwork.errors import Unsupported
from quiltwork.game import Gaussian, Half, Laplace, Population, RateDistortion, WaterFilling, publish
from quiltwork.game.classifier import QueryRows
from quiltwork.mechanisms import sampling

MANY = 40  # pairs of data sets that are asked about
DEFENDERS = {"gaussian": Gaussian, "laplace": Laplace, "filling": WaterFilling, "distortion": RateDistortion}


def published(rng: np.random.Generator) -> People:
    """Any closed-form defence; more people than elsewhere, so that sums have something to round."""
    make = list(DEFENDERS.values())[rng.integers(len(DEFENDERS))]
    return people(rng, lambda rng, width: make(min(spread(rng), 5.0), weights(rng, width)), most=14)


def _data_sets(case: People, rng: np.random.Generator) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Neighbouring pairs at random, each once."""
    count, found = case.population.size[0], []
    for _ in range(MANY):
        if case.half:
            inside = rng.permutation(count) < count // 2
            change = (rng.choice(np.flatnonzero(inside)), rng.choice(np.flatnonzero(~inside)))
        else:
            inside, change = rng.random(count) < rng.random(), (rng.integers(count),)
        other = inside.copy()
        other[list(change)] ^= True
        found.append((tuple(inside.astype(int).tolist()), tuple(other.astype(int).tolist())))
    return list(dict.fromkeys(found))


def _given(defence: Any, members: tuple[int, ...]) -> tuple[list[Fraction] | None, Any]:
    """What a sampler of unit noise would be given, and what is promised; None when no noise is needed."""
    seen: list[list[float]] = []

    def draw(values: list[float], scale: float) -> list[float]:
        assert scale == 1.0
        seen.append(list(values))
        return list(values)

    with mock.patch.multiple(sampling, lattice_gaussians=draw, lattice_laplaces=draw):
        found = publish(defence, np.array(members))
    return ([Fraction(value) for value in seen[0]] if seen else None), found


def promised(case: People, rng: np.random.Generator) -> Iterator[Check]:
    """The doubles of neighbouring data sets differ by no more than the guarantee says."""
    defence = case.defender.prepare(case.population, denominator=case.denominator)
    if case.whole:
        try:
            _given(defence, (1,) * case.population.size[0])
        except Unsupported:
            yield Check("publish: refuses a random number of members", True)
        else:  # a constant may be published
            yield Check("publish: refuses a random number of members", not defence.channel.informative)
        return
    for one, two in _data_sets(case, rng):
        (first, release), (second, other) = _given(defence, one), _given(defence, two)
        note = f"members {one} and {two}"
        if first is None or second is None:
            yield Check("publish: a constant is one", release.shares == other.shares, note=note)
            continue
        curve, gaps = release.guarantee.curve, [a - b for a, b in zip(first, second, strict=True)]
        if isinstance(case.defender, Laplace):
            loss = sum(map(abs, gaps), Fraction(0))
            yield at_most("publish, Laplace: pure epsilon", loss, float(curve.epsilon(0.0).upper), note)
        else:
            square = sum((gap**2 for gap in gaps), Fraction(0))
            yield at_most("publish, Gaussian: rho", square / 2, Fraction(curve.single("rho").rho), note)
            if rng.random() < 0.05 and square:
                place = float(rng.exponential(0.5))
                upper = float(curve.delta(place).upper)
                yield chance("publish, Gaussian: delta", truth.gaussian_delta(square, place), upper, note)


# ---- classifiers


@attrs.frozen(eq=False)
class Queries:
    """A table with one row a query."""

    release: QueryRows

    @property
    def size(self) -> int:
        """For picking the smallest counterexample."""
        return int(self.release.population.candidates.size)

    def to_json(self) -> dict[str, Any]:
        """All that is needed to look at it again."""
        return {"candidates": self.release.population.candidates.tolist(), "noise": repr(self.release.noise)}


def queries(rng: np.random.Generator) -> Queries:
    """Class probabilities: of doubles, of float32, or nearly certain ones."""
    count, classes = int(rng.integers(2, 7)), int(rng.integers(2, 5))
    kind = rng.random()
    rows = rng.dirichlet(np.full(classes, 10.0 ** rng.uniform(-1.5, 1.0)), count)
    if kind < 0.3:
        rows = rows.astype(np.float32).astype(float)
    elif kind < 0.5:
        rows = np.eye(classes)[rng.integers(classes, size=count)]
    noise = (Gaussian if rng.random() < 0.6 else Laplace)(max(spread(rng), 1e-2))
    return Queries(QueryRows(Population(rows, rows[:1], Half()), noise))


def swapped(case: Queries, rng: np.random.Generator) -> Iterator[Check]:
    """Every swap of two candidates, and for any rows that of two certain classes, is within the certificate."""
    release = case.release
    rows, unit = truth.whole(release.population.candidates)
    gaps = [[Fraction(int(x), unit) for x in one - two] for one, two in itertools.combinations(rows, 2)]
    certain = [Fraction(1), Fraction(-1), *[Fraction(0)] * (rows.shape[1] - 2)]
    ceiling_asked = rng.random() < 0.1
    for which, found in (("pool", gaps), ("any", [*gaps, certain])):
        curve = release.certificate(which).curve
        if release.law.family == "gaussian":
            squares = [sum(x**2 for x in gap) / Fraction(release.law.size) ** 2 for gap in found]
            for square in squares:
                yield at_most(f"query rows, Gaussian, {which}: mu", square, Fraction(mu_of(curve)) ** 2)
            if ceiling_asked:
                area, bound = truth.gaussian_area(max(squares)), release.auc_ceiling(which)
                yield chance(f"query rows, Gaussian, {which}: AUC", area, bound)
            continue
        losses = [sum(map(abs, gap)) / Fraction(release.law.size) for gap in found]
        for loss in losses:
            yield at_most(f"query rows, Laplace, {which}: pure epsilon", loss, float(curve.epsilon(0.0).upper))
        if rng.random() < 0.2 and max(losses):
            gap = found[int(np.argmax([float(loss) for loss in losses]))] if rng.random() < 0.5 else found[-1]
            yield from cells(f"query rows, Laplace, {which}", curve, [float(x) / release.law.size for x in gap], rng)
        if ceiling_asked and 1e-6 < max(losses) < 30:
            shifts = [float(x) / release.law.size for x in found[int(np.argmax([float(loss) for loss in losses]))]]
            area = truth.least_area(*truth.laplace_cells([s for s in shifts if s], 10))
            bound = release.auc_ceiling(which)
            yield chance(f"query rows, Laplace, {which}: AUC", area, bound, f"shifts {shifts}")
