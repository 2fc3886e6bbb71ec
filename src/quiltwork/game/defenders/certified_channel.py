"""A channel with a certificate: what every closed-form defender becomes once it knows the statistic."""

from __future__ import annotations

from collections.abc import Callable

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.curves.guarantee import Guarantee
from quiltwork.errors import InvalidParameter
from quiltwork.game.defenders.distances import Rows
from quiltwork.game.people.population import Population, rows_of_people
from quiltwork.game.people.priors import Members
from quiltwork.game.people.statistic import Statistic
from quiltwork.game.releases.channel import Channel

__all__ = ["PlainDefence", "statistic_of"]


@rows_of_people
@attrs.frozen(eq=False)
class PlainDefence:
    """Noise from a channel; the certificate is proved by the defender that made it."""

    name: str
    statistic: Statistic
    channel: Channel
    prove: Callable[[Rows | None], Guarantee]

    def defend(self, exact: FloatArray, members: Members, rng: np.random.Generator) -> FloatArray:
        """Simulated outputs; see `quiltwork.mechanisms` for noise that protects people."""
        return self.channel.draw(exact, rng)

    def certificate(self, rows: Rows | None = None) -> Guarantee:
        """The proven guarantee: for any rows, or for this pool of candidates, which is public."""
        return self.prove(rows)


def statistic_of(population: Population | Statistic, denominator: str) -> Statistic:
    """The statistic that a defender is asked to defend."""
    if isinstance(population, Statistic):
        return population
    if not isinstance(population, Population):
        raise InvalidParameter("population", population, "a Population")
    return Statistic(population, denominator)
