"""Random people, priors, denominators, prices and noises: the cases of certified defences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import numpy as np

from quiltwork.game import Half, Independent, Population, Statistic

Row = Callable[[np.random.Generator, int, int], Any]


@attrs.frozen(eq=False)
class People:
    """A population, how its statistic is divided, and what is to be done to it."""

    population: Population
    denominator: str
    defender: Any
    options: dict[str, Any] = attrs.field(factory=dict)

    @property
    def half(self) -> bool:
        """Whether the number of members is public."""
        return isinstance(self.population.prior, Half)

    @property
    def fixed(self) -> bool:
        """Whether sums are divided by K / 2."""
        return self.denominator == "fixed"

    @property
    def whole(self) -> bool:
        """Whether one person may be all of the data."""
        return not self.half and not self.fixed

    @property
    def statistic(self) -> Statistic:
        """What would be published without noise."""
        return Statistic(self.population, self.denominator)

    @property
    def size(self) -> int:
        """For picking the smallest counterexample."""
        return int(self.population.candidates.size)

    def to_json(self) -> dict[str, Any]:
        """All that is needed to look at it again."""
        rows = {"candidates": self.population.candidates.tolist(), "reference": self.population.reference.tolist()}
        words = {"prior": repr(self.population.prior), "denominator": self.denominator, "defender": repr(self.defender)}
        return {**rows, **words, **{name: repr(value) for name, value in self.options.items()}}


def _binary(rng: np.random.Generator, people: int, attributes: int) -> Any:
    return (rng.random((people, attributes)) < rng.uniform(0.05, 0.95)).astype(float)


def _coarse(rng: np.random.Generator, people: int, attributes: int) -> Any:
    return rng.integers(0, 9, (people, attributes)) / 8.0


def _doubles(rng: np.random.Generator, people: int, attributes: int) -> Any:
    return rng.random((people, attributes))


def _alike(rng: np.random.Generator, people: int, attributes: int) -> Any:
    """Rows that differ in their last digits only, where differences cancel."""
    return np.clip(rng.random(attributes) + 10.0 ** rng.uniform(-14, -3) * rng.random((people, attributes)), 0.0, 1.0)


def _small(rng: np.random.Generator, people: int, attributes: int) -> Any:
    return rng.random((people, attributes)) * 10.0 ** rng.uniform(-30, 0, (1, attributes))


ROWS: tuple[Row, ...] = (_binary, _binary, _coarse, _doubles, _alike, _small)


def people(rng: np.random.Generator, defender: Any, most: int = 6, attributes: int = 4, **options: Any) -> People:
    """Up to `most` candidates with up to so many attributes; `defender` is called with rng and their number."""
    count, width = int(rng.integers(2, most + 1)), int(rng.integers(1, attributes + 1))
    rows = ROWS[rng.integers(len(ROWS))](rng, count + 2, width)
    prior: Any = Half()
    if rng.random() < 0.4:
        rates = rng.uniform(0.05, 0.95, count)
        prior = Independent(tuple(map(float, rates)) if rng.random() < 0.5 else float(rates[0]))
    denominator = "fixed" if rng.random() < 0.5 else "members"
    return People(Population(rows[:count], rows[count:], prior), denominator, defender(rng, width), options)


def spread(rng: np.random.Generator) -> float:
    """A size of noise; often one that is typed."""
    size = float(10.0 ** rng.uniform(-3, 1.5))
    return float(f"{size:.2g}") if rng.random() < 0.5 else size


def weights(rng: np.random.Generator, attributes: int) -> tuple[float, ...] | None:
    """Prices of the attributes, some of them 0, not all; often none are stated."""
    if rng.random() < 0.5:
        return None
    found = np.where(rng.random(attributes) < 0.25, 0.0, np.exp(rng.normal(0.0, 1.5, attributes)))
    found[rng.integers(attributes)] = 1.0
    return tuple(map(float, np.clip(found, 0.0, 1e6)))


def correlation(rng: np.random.Generator, count: int) -> Any:
    """None, one number for all pairs, or a matrix of decimals that is far enough from singular."""
    kind = rng.random()
    if kind < 0.25:
        return None
    if kind < 0.6:
        return round(float(rng.uniform(-0.9 / max(count - 1, 1), 0.97)), 3)
    factor = rng.normal(size=(count, int(rng.integers(1, count + 2))))
    gram = factor @ factor.T + 10.0 ** rng.uniform(-1.5, 0.5) * np.eye(count)
    root = np.sqrt(np.diag(gram))
    matrix = np.round(gram / np.outer(root, root), 4)
    if np.linalg.eigvalsh(matrix).min() < 1e-3:
        return None
    return matrix if rng.random() < 0.5 else matrix.tolist()
