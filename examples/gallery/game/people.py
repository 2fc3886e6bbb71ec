"""The people of the room: simulated genomes cut to the size of each figure, and how large everything is.

One panel of genomes is simulated in each process, or read from the variant call file that `--data` has; every figure
takes its candidates, its reference people and its sites from it.  The paper has 800 candidates; the sizes here fit one
core.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import attrs
import numpy as np

from examples.gallery.item import Effort
from quiltwork.checks import FloatArray
from quiltwork.errors import InvalidParameter
from quiltwork.game.attackers.knowledge import Budget
from quiltwork.game.people.population import Half, Members, Population, Prior
from quiltwork.game.populations import from_vcf, genotypes


@attrs.frozen
class Size:
    """How many people and sites, how long the players train, and how many releases are drawn."""

    candidates: int
    reference: int
    sites: int  # where the paper has 5,000
    panel: int  # where the paper has 4,000, and the most there are
    steps: int  # of the generator
    trainings: int  # from the beginning, with other random numbers
    ridge: int  # releases that the largest ridge regression sees
    test: int
    budget: Budget


VCF = ("*.vcf", "*.vcf.gz")
WHOLE = Size(200, 300, 1000, 4000, 800, 2, 20_000, 300, Budget(train=4000, calibrate=400, steps=400))
QUICK = Size(60, 150, 200, 600, 250, 1, 6_000, 150, Budget(train=2000, calibrate=200, steps=150))


def size(effort: Effort) -> Size:
    """The sizes of a run."""
    found: Size = effort.pick(WHOLE, QUICK)
    return found


@cache
def _panel(candidates: int, reference: int, sites: int, seed: int, file: Path | None) -> Population:
    if file is not None:
        return from_vcf(file, candidates, reference, attributes=sites, seed=seed)
    return genotypes(candidates, reference, sites, seed=seed)


def whose(effort: Effort) -> str:
    """Which genomes these are, as a sentence begins."""
    file = effort.file(*VCF)
    return "Simulated genomes" if file is None else f"Genomes of {file.name}"


def genomes(effort: Effort, sites: int, candidates: int | None = None, prior: Prior | None = None) -> Population:
    """Simulated genomes: the first candidates of the panel, and sites spread evenly over it."""
    chosen = size(effort)
    panel = _panel(chosen.candidates, chosen.reference, chosen.panel, effort.seed, effort.file(*VCF))
    columns = np.linspace(0, chosen.panel - 1, sites).astype(int)
    people = chosen.candidates if candidates is None else candidates
    rows, others = panel.candidates[:people, columns], panel.reference[:, columns]
    return Population(rows, others, Half() if prior is None else prior, f"{whose(effort)}, {sites} SNVs")


@attrs.frozen
class Some:
    """Exactly `members` of the candidates, each such set equally likely: five of twenty in Figure 1g."""

    members: int

    def check(self, candidates: int) -> None:
        """There must be others."""
        if not 0 < self.members < candidates:
            raise InvalidParameter("members", self.members, f"between 1 and {candidates - 1}")

    def draw(self, count: int, candidates: int, rng: np.random.Generator) -> Members:
        """Membership of `count` data sets, one a row."""
        order = rng.random((count, candidates)).argsort(axis=1)
        inside = np.zeros((count, candidates), dtype=np.bool_)
        np.put_along_axis(inside, order[:, : self.members], True, axis=1)
        return inside

    def rates(self, candidates: int) -> FloatArray:
        """P(b_k = 1)."""
        return np.full(candidates, self.members / candidates)

    def covariance(self, candidates: int) -> FloatArray:
        """Cov(b) = n (K - n) / (K (K - 1)) (I - 11'/K)."""
        n = self.members
        scale = n * (candidates - n) / (candidates * (candidates - 1.0))
        return scale * (np.eye(candidates) - 1.0 / candidates)


def told(population: Population, members: int | None = None) -> str:
    """Sizes in words, for what was measured."""
    people, attributes = population.size
    inside = people // 2 if members is None else members
    return f"{inside} of {people} candidates, {attributes} attributes"
