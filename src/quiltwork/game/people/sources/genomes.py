"""Simulated human genomes: a stretch of a chromosome, with ancestry from three populations, as presence of alleles.

The demographic model is stdpopsim's OutOfAfrica_3G09 (Gutenkunst et al. 2009), the engine msprime's coalescent with a
flat recombination rate: genetic maps would have to be downloaded.  The frequency spectrum is realistic in shape, the
linkage is not that of a map: what comes out is called simulated.

Reference: theory/game.md section 2.

Pruning of linked sites: of two sites that are near and alike, the later one goes.

Reference: theory/game.md section 2 (greedy, r^2 < 0.1 within 250 kb, on presence of the alternate allele).
"""

from __future__ import annotations

import importlib
import warnings
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from quiltwork.checks import FloatArray
from quiltwork.errors import MissingExtra

__all__ = ["ANCESTRIES", "CHROMOSOME", "MODEL", "Panel", "pruned", "simulated"]

MODEL = "OutOfAfrica_3G09"
CHROMOSOME = "chr10"
ANCESTRIES = ("YRI", "CEU", "CHB")
LEAST_VARIANCE = 0.01  # of presence: what nearly everybody carries says nothing about anyone


@attrs.frozen(eq=False)
class Panel:
    """The common sites of simulated people: presence (one row a site), positions in bases, ancestry of each person."""

    presence: NDArray[np.bool_]
    positions: FloatArray
    ancestry: NDArray[np.str_]
    software: str


def chromosome_length() -> float:
    """Bases of the chromosome, the longest window there is."""
    return float(_packages()[1].get_species("HomSap").genome.get_chromosome(CHROMOSOME).length)


def simulated(people: int, window: float, minor_frequency: float, seed: int) -> Panel:
    """Common sites of the first `window` bases for people of whom a third each has one of the three ancestries.

    Kept are sites that mutated once (so that there are two alleles) whose rarer allele has at least `minor_frequency`
    of the haplotypes, and whose presence coding (at least one derived allele) has a variance above 0.01.
    """
    msprime, stdpopsim, tskit = _packages()
    species = stdpopsim.get_species("HomSap")
    model = species.get_demographic_model(MODEL)
    samples = {name: people // 3 + (rank < people % 3) for rank, name in enumerate(ANCESTRIES)}
    with warnings.catch_warnings():  # notes of the simulator to its own users
        warnings.simplefilter("ignore")
        contig = species.get_contig(CHROMOSOME, left=0, right=window, mutation_rate=model.mutation_rate)
        history = stdpopsim.get_engine("msprime").simulate(
            model, contig, {name: size for name, size in samples.items() if size}, seed=seed
        )
    sites = common_sites(history, minor_frequency)
    presence = _presence(tskit, history, sites)
    frequency = presence.mean(axis=1)
    varied = frequency * (1.0 - frequency) > LEAST_VARIANCE
    names = np.array([population.metadata["name"] for population in history.populations()])
    return Panel(
        presence[varied],
        np.asarray(history.sites_position[sites][varied], dtype=float),
        names[history.nodes_population[history.individuals_nodes[:, 0]]],
        f"stdpopsim {stdpopsim.__version__}, msprime {msprime.__version__}",
    )


def common_sites(history: Any, minor_frequency: float) -> NDArray[np.intp]:
    """Sites with one mutation whose minor allele is common enough, counted on the trees: no genotypes are decoded."""
    site, node = history.mutations_site, history.mutations_node
    carriers = np.zeros(history.num_sites, dtype=np.int64)
    # mutations are sorted by site and sites by position: each tree owns one run of them
    runs = np.searchsorted(history.sites_position[site], history.breakpoints(as_array=True))
    for index, tree in enumerate(history.trees()):
        below = tree.num_samples
        for mutation in range(runs[index], runs[index + 1]):
            carriers[site[mutation]] = below(node[mutation])
    once = np.bincount(site, minlength=history.num_sites) == 1
    minor = np.minimum(carriers, history.num_samples - carriers)
    return np.flatnonzero(once & (minor / history.num_samples >= minor_frequency) & (minor > 0))


def _presence(tskit: Any, history: Any, sites: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Whether each person has a derived allele: one site at a time, so that no matrix of haplotypes is ever held."""
    nodes = history.individuals_nodes
    variant = tskit.Variant(history, samples=nodes.ravel())
    presence = np.empty((len(sites), len(nodes)), dtype=np.bool_)
    for row, site in enumerate(sites):
        variant.decode(site)
        alleles = variant.genotypes
        np.greater(alleles[0::2] | alleles[1::2], 0, out=presence[row])
    return presence


def _packages() -> tuple[Any, Any, Any]:
    """Return msprime, stdpopsim and tskit, whose imports may warn about packages of their own."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _package("msprime"), _package("stdpopsim"), _package("tskit")


def _package(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise MissingExtra(name, "game") from None


def pruned(presence: NDArray[np.bool_], positions: FloatArray, below: float, distance: float) -> NDArray[np.intp]:
    """Indices of the sites that greedy pruning keeps, from left to right.

    A site stays when its squared correlation over the n people is < `below` with every kept site to its left within
    `distance`.  With a, b the counts of carriers of two sites and c of carriers of both,
    r^2 = (n c - a b)^2 / (a (n - a) b (n - b)).  The counts are whole numbers that floats hold exactly, so that the
    result does not depend on the order of additions.  `presence` has one row a site, none of them constant, and
    `positions` ascend.
    """
    people = presence.shape[1]
    carriers = presence.sum(axis=1).astype(float)
    spread = carriers * (people - carriers)
    ends = np.searchsorted(positions, positions + distance, side="right")
    alive = np.ones(len(presence), dtype=np.bool_)
    for site in range(len(presence)):
        if not alive[site]:
            continue
        later = site + 1 + np.flatnonzero(alive[site + 1 : ends[site]])
        both = presence[later].astype(np.float32) @ presence[site].astype(np.float32)
        covariance = people * both.astype(float) - carriers[later] * carriers[site]
        alive[later] = covariance**2 < below * spread[later] * spread[site]
    return np.flatnonzero(alive)
