"""Two ends of the scale: publish nothing about the members, or publish the statistic as it is.

A defence that is worse than a constant at its own error is useless; that is the test every learned defence must pass.

Reference: theory/game.md sections 0 (item 2) and 4.
"""

from __future__ import annotations

from typing import Literal

import attrs
import numpy as np

from quiltwork.compose.loss import compose
from quiltwork.curves.guarantee import Guarantee
from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.game.defenders.certified_channel import PlainDefence, statistic_of
from quiltwork.game.defenders.distances import Rows, neighbours
from quiltwork.game.defenders.noise import POOL, asked_rows
from quiltwork.game.people.population import Population
from quiltwork.game.people.statistic import Statistic
from quiltwork.game.releases.channel import Channel
from quiltwork.kinds import document

__all__ = ["Constant", "Exact"]


@document("constant_defender/1")
@attrs.frozen
class Constant:
    """The mean over all candidates (`at="candidates"`, whose rows are then public), or the reference frequencies."""

    at: Literal["candidates", "reference"] = "candidates"

    def __attrs_post_init__(self) -> None:
        if self.at not in ("candidates", "reference"):
            raise InvalidParameter("at", self.at, "'candidates' or 'reference'")

    @property
    def name(self) -> str:
        """What is published."""
        return "constant: candidates' mean" if self.at == "candidates" else "constant: reference frequencies"

    def prepare(self, population: Population | Statistic, *, denominator: str = "members") -> PlainDefence:
        """The defence of one statistic."""
        statistic = statistic_of(population, denominator)
        attributes = statistic.population.size[1]
        centre = statistic.mean if self.at == "candidates" else statistic.population.frequencies
        channel = Channel("none", np.zeros(attributes), np.zeros(attributes), centre)
        assumes = (POOL,) if self.at == "candidates" else ("the reference sample is public",)
        because = ("what is released does not depend on the members",)

        def prove(rows: Rows | None) -> Guarantee:
            asked_rows(rows)
            return Guarantee(compose(), neighbours(statistic).protects, assumes, because)

        return PlainDefence(self.name, statistic, channel, prove)


@document("exact_defender/1")
@attrs.frozen
class Exact:
    """No defence: the statistic itself."""

    @property
    def name(self) -> str:
        """None at all."""
        return "no defence"

    def prepare(self, population: Population | Statistic, *, denominator: str = "members") -> PlainDefence:
        """The release without noise."""
        statistic = statistic_of(population, denominator)
        attributes = statistic.population.size[1]
        channel = Channel("none", np.zeros(attributes), np.ones(attributes), np.zeros(attributes))

        def prove(rows: Rows | None) -> Guarantee:
            raise Unsupported("a certificate of a release without noise", "it protects nobody")

        return PlainDefence(self.name, statistic, channel, prove)
