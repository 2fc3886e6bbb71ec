"""The exact summary statistic of a set of members, and its first-order picture around the prior.

    members   x(b) = sum_k b_k d_k / sum_k b_k      the mean row of the members; an empty set gives 0
    fixed     x(b) = (2 / K) sum_k b_k d_k          a public denominator, as audits in one run need

Around the prior mean, x(b) = mean + gain (b - E b): exactly so for a fixed denominator and for the exactly-half prior,
to first order for independent members with a random size.

Reference: seed 004 section 4; theory/game.md sections 3, 4 and 6.
"""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.errors import InvalidParameter
from quiltwork.game.people.population import Population, rows_of_people
from quiltwork.game.people.priors import Half, Members

__all__ = ["DENOMINATORS", "Statistic", "members_of"]

DENOMINATORS = ("members", "fixed")


def members_of(value: Any, candidates: int) -> Members:
    """Membership vectors, one a row, as booleans."""
    allowed = f"a matrix of 0 and 1 with {candidates} columns, one row a data set"
    try:
        members = np.asarray(value)
    except ValueError:  # lists of different lengths
        raise InvalidParameter("members", value, allowed) from None
    if members.ndim != 2 or members.shape[1] != candidates or members.dtype.kind not in "biuf":
        raise InvalidParameter("members", f"{members.dtype} of shape {members.shape}", allowed)
    if not bool(np.all((members == 0) | (members == 1))):
        raise InvalidParameter("members", "other numbers", allowed)
    return np.asarray(members, dtype=np.bool_)


@rows_of_people
@attrs.frozen(eq=False)
class Statistic:
    """What would be published without a defence."""

    population: Population = attrs.field()
    denominator: str = attrs.field(default="members")

    @population.validator
    def _people(self, _: Any, value: Any) -> None:
        if not isinstance(value, Population):
            raise InvalidParameter("population", value, "a Population")

    @denominator.validator
    def _known(self, _: Any, value: str) -> None:
        if value not in DENOMINATORS:
            raise InvalidParameter("denominator", value, " or ".join(map(repr, DENOMINATORS)))

    def exact(self, members: Members) -> FloatArray:
        """The statistic of each data set, one a row."""
        inside = members_of(members, self.population.size[0])
        sums = inside.astype(float) @ self.population.candidates
        if self.denominator == "fixed":
            return np.asarray(sums * (2.0 / inside.shape[1]))
        return np.asarray(sums / np.maximum(inside.sum(axis=1, keepdims=True), 1))

    @property
    def fixed_size(self) -> int | None:
        """The number of members when it is public: under the exactly-half prior."""
        prior = self.population.prior
        return prior.size(self.population.size[0]) if isinstance(prior, Half) else None

    @property
    def mean(self) -> FloatArray:
        """E x(b), to first order for a random size."""
        rates = self.population.prior.rates(self.population.size[0])
        total = rates @ self.population.candidates
        return np.asarray(total * (2.0 / len(rates)) if self.denominator == "fixed" else total / rates.sum())

    @property
    def gain(self) -> FloatArray:
        """m x K, with rows that sum to 0 under the exactly-half prior, where the sum of b - E b is 0 as well."""
        rows, (people, _) = self.population.candidates, self.population.size
        if self.denominator == "fixed":
            centre = rows.mean(axis=0) if self.fixed_size is not None else 0.0
            return np.asarray((rows - centre).T * (2.0 / people))
        return np.asarray((rows - self.mean).T / self.population.prior.rates(people).sum())

    @property
    def variances(self) -> FloatArray:
        """v with Cov(b) acting as diag(v) on the gain: the variances, scaled up by K / (K - 1) for exactly half."""
        people = self.population.size[0]
        rates = self.population.prior.rates(people)
        scale = people / (people - 1.0) if self.fixed_size is not None else 1.0
        return rates * (1.0 - rates) * scale

    @property
    def factor(self) -> FloatArray:
        """F with Cov(x) = F F'."""
        return self.gain * np.sqrt(self.variances)
