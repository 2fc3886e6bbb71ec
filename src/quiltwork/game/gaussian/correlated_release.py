"""Several releases of one statistic whose noises are correlated: the composition that independence would misjudge.

Mechanism i releases x + sigma_i z_i, where the z_i of one attribute have the correlation matrix R.  Together they are
as informative as one release with precision 1' S^-1 1, S = diag(sigma) R diag(sigma): their best combination is a
sufficient statistic, which the linear attacker uses, and mu is the statistic's widest move times the root of that.

Reference: theory/game.md section 5 (mu^2 = Delta^2 1' S^-1 1); seed 000 Table IX (copula perturbation).
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import attrs
import numpy as np

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.compose.constructors import gdp
from quiltwork.curves.guarantee import Guarantee
from quiltwork.errors import InvalidParameter
from quiltwork.game.defenders.certificates import MIN_MU, Rows, neighbours, widest
from quiltwork.game.defenders.noise import promise
from quiltwork.game.gaussian.total import as_loss, total
from quiltwork.game.people.population import Members, Population, Statistic, rows_of_people
from quiltwork.game.releases import Draws, LinearModel, Release, drawn_members
from quiltwork.numbers.stated import typed


def _numbers(values: Any) -> tuple[float, ...]:
    return tuple(checks.listed("sigmas", values, "a list of standard deviations, one a release"))


@rows_of_people
@attrs.frozen(eq=False)
class CorrelatedGaussian(Release):
    """Copies of one statistic with Gaussian noise of these standard deviations and this correlation."""

    statistic: Statistic
    sigmas: tuple[float, ...] = attrs.field(converter=_numbers)
    correlation: Any = None
    clip: bool = False

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.statistic, Statistic):
            raise InvalidParameter("statistic", self.statistic, "a Statistic of a population")
        if not self.sigmas:
            raise InvalidParameter("sigmas", self.sigmas, "one standard deviation or more")
        for sigma in self.sigmas:
            checks.moderate("sigma", sigma)
        checks.flag("clip", self.clip)
        total(self._strengths, self.correlation)  # refuses a matrix that is no correlation

    @property
    def _strengths(self) -> list[Fraction]:
        """1 / sigma_i exactly: with correlated noise the total is monotone in none of them, so none may be rounded."""
        return [1 / typed(sigma) for sigma in self.sigmas]

    @property
    def population(self) -> Population:
        """Whom the releases are about."""
        return self.statistic.population

    @property
    def name(self) -> str:
        """How many, and how noisy."""
        return f"{len(self.sigmas)} correlated Gaussian releases"

    @property
    def dimension(self) -> int:
        """Numbers in all releases together."""
        return len(self.sigmas) * self.population.size[1]

    @property
    def covariance(self) -> FloatArray:
        """S, of the noises on one attribute."""
        count = len(self.sigmas)
        if self.correlation is None:
            matrix = np.eye(count)
        elif np.ndim(self.correlation) == 0:
            matrix = np.full((count, count), float(self.correlation))
            np.fill_diagonal(matrix, 1.0)
        else:
            matrix = np.asarray(self.correlation, dtype=float)
        return matrix * np.outer(self.sigmas, self.sigmas)

    def draw(self, count: int, rng: np.random.Generator, members: Members | None = None) -> Draws:
        """All copies of each data set's statistic, side by side."""
        chosen = drawn_members(self.population, count, rng, members)
        exact = self.statistic.exact(chosen)
        root = np.linalg.cholesky(self.covariance)
        noise = rng.standard_normal((len(self.sigmas), *exact.shape))
        outputs = np.concatenate(list(exact + np.tensordot(root, noise, axes=1)), axis=1)
        copies = np.tile(exact, len(self.sigmas))
        return Draws(chosen, np.clip(outputs, 0.0, 1.0) if self.clip else outputs, copies)

    def linear(self) -> LinearModel:
        """The best combination of the copies, and its noise."""
        precision = np.linalg.solve(self.covariance, np.ones(len(self.sigmas)))
        attributes = self.population.size[1]
        share = precision / precision.sum()

        def project(outputs: FloatArray) -> FloatArray:
            copies = outputs.reshape(len(outputs), len(share), attributes)
            return np.asarray(np.einsum("nij,i->nj", copies, share))

        return LinearModel(
            self.statistic.mean,
            self.statistic.gain,
            np.full(attributes, 1.0 / precision.sum()),
            self.statistic.variances,
            self.population.prior.rates(self.population.size[0]),
            project,
        )

    def certificate(self, rows: Rows = "any") -> Guarantee:
        """G_mu of all copies together, by the exact formula."""
        moves = neighbours(self.statistic)
        width, _ = widest(moves, rows)
        faint = width * total(self._strengths, self.correlation).upper < 2.0 * MIN_MU  # perhaps less than a curve takes
        loss = gdp(3.0 * MIN_MU) if faint else as_loss(self._strengths, self.correlation, sensitivity=width)
        because = "theory/game.md section 5: mu^2 = Delta^2 1' S^-1 1 for correlated Gaussian noise"
        return promise(moves, loss, rows, None, because)
