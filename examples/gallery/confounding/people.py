"""The people of Figure 1, simulated, and the two strongest attackers on Gaussian releases about them.

The paper has single-nucleotide variants of 800 people on chromosome 10, and does not say how
many variants.  Ours are simulated by the coalescent: as many people, and 5000 unlinked variants.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np

from examples.gallery.game.people import VCF
from examples.gallery.item import Effort
from examples.game_composition import Size, World
from quiltwork.game.attackers.knowledge import Budget
from quiltwork.game.attackers.linear import LinearGaussian
from quiltwork.game.attackers.optimal import OptimalTest
from quiltwork.game.defenders.certificates import neighbours, widest
from quiltwork.game.defenders.noise import Gaussian
from quiltwork.game.gaussian.correlated_release import CorrelatedGaussian
from quiltwork.game.measures import Interval, Roc, auc_interval, roc
from quiltwork.game.people.population import Statistic
from quiltwork.game.populations import from_vcf, genotypes
from quiltwork.game.releases import SummaryStatistics

__all__ = ["ATTACKERS", "Genomes", "genomes"]

ATTACKERS = {
    "linear": "knows all rows and the mechanism",
    "informed": "also knows who of the others is in the data",
}


@attrs.frozen(eq=False)
class Genomes(World):
    """Simulated genomes as a `World` of the tables, attacked in one of two ways."""

    attacker: str = "linear"
    seed: int = 7

    def attacked(self, sigmas: Sequence[float], correlation: Any = None) -> tuple[Interval, Roc]:
        """All releases together, by the linear-Gaussian attacker or by the informed optimal test.

        Copies of one Gaussian statistic have a sufficient combination, which the informed test is given.
        """
        rng = np.random.default_rng([self.seed, 11])
        together = CorrelatedGaussian(self.statistic, tuple(float(sigma) for sigma in sigmas), correlation)
        draws = together.draw(self.size.releases, rng)
        if self.attacker == "linear":
            scores = LinearGaussian().fit(together, rng, Budget()).scores(draws.outputs)
        else:
            model = together.linear()
            merged = Gaussian(float(np.sqrt(model.variance[0]))).prepare(self.statistic)
            test = OptimalTest().fit(SummaryStatistics(merged, clip=False), rng, Budget())
            scores = test.scores(model.project(draws.outputs), draws.members)
        return auc_interval(scores, draws.members), roc(scores, draws.members)

    def by(self, attacker: str) -> Genomes:
        """The same people under another attack."""
        return attrs.evolve(self, attacker=attacker)


def genomes(effort: Effort) -> Genomes:
    """800 people with 5000 variants; under `quick` fewer of both, and fewer releases."""
    people, sites, releases = effort.pick((800, 5000, 100), (120, 200, 40))
    file = effort.file(*VCF)
    if file is None:
        statistic = Statistic(genotypes(people, 1, sites, seed=effort.seed))
    else:
        statistic = Statistic(from_vcf(file, people, 1, attributes=sites, seed=effort.seed))
    reach = widest(neighbours(statistic), "pool")[0]
    return Genomes(statistic, Size(people=people, attributes=sites, releases=releases), reach, seed=effort.seed)
