"""People by their genomes: which of many unlinked common variants each carries, simulated.

The demographic model is stdpopsim's OutOfAfrica_3G09 (Gutenkunst et al. 2009), the engine msprime's coalescent with a
flat recombination rate: genetic maps would have to be downloaded.  The frequency spectrum is realistic in shape, the
linkage is not that of a map: what comes out is called simulated.

Reference: seed 004 section 5 (binary attributes: presence of the alternate allele); theory/game.md section 2 (greedy
pruning, r^2 < 0.1 within 250 kb, on presence of the alternate allele).
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.errors import InvalidParameter, Unreachable, imported
from quiltwork.files import FilePath, place, whole_file
from quiltwork.game.people.population import MAX_ENTRIES, Half, Population, Prior

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


def _packages() -> tuple[Any, ...]:
    """Return msprime, stdpopsim and tskit, whose imports may warn about packages of their own."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return tuple(imported(name, name, "game") for name in ("msprime", "stdpopsim", "tskit"))


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


FORMAT = "quiltwork genotypes 1"


def write(path: Path, options: Mapping[str, Any], people: Population) -> None:
    """Write the file whole or not at all; an existing one is replaced."""
    header = {"format": FORMAT, "options": dict(options), "attributes": people.attributes, "source": people.source}
    try:
        with whole_file(path, binary=True) as stream:
            np.savez(
                stream,
                header=np.array(json.dumps(header)),
                candidates=np.packbits(people.candidates.astype(np.bool_), axis=1),
                reference=np.packbits(people.reference.astype(np.bool_), axis=1),
            )
    except OSError as error:
        raise InvalidParameter("cache", str(path), "a file that can be written", str(error)) from None


def read(path: Path, options: Mapping[str, Any]) -> Population | None:
    """What the file keeps, or None when there is no file or it was made with other options."""
    if not path.exists():
        return None
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as arrays:
            header = json.loads(str(arrays["header"]))
            if header["format"] != FORMAT:
                raise ValueError("another format")
            if header["options"] != dict(options):
                return None
            attributes = tuple(str(name) for name in header["attributes"])
            if len(attributes) != options["sites"]:
                raise ValueError("another number of names")
            rows = [_unpacked(arrays[name], options[name], options["sites"]) for name in ("candidates", "reference")]
            return Population(rows[0], rows[1], Half(), str(header["source"]), attributes)
    except Exception as error:  # a damaged archive fails in a dozen ways, and each means the same
        hint = f"the file is broken or not such a cache ({type(error).__name__}): remove it or name another one"
        raise InvalidParameter("cache", str(path), "a file that genotypes() wrote", hint) from None


def _unpacked(packed: Any, people: int, sites: int) -> FloatArray:
    if packed.dtype != np.uint8 or packed.shape != (people, -(-sites // 8)):
        raise ValueError("another shape")
    return np.unpackbits(packed, axis=1, count=sites).astype(float)


Progress = Callable[[str], None]
MEGABASE = 1e6
USUAL = 150.0  # pruned sites in a megabase, with the usual options and some hundred people: a first guess
PILOT = 8 * MEGABASE
TRIES = 6


def genotypes(
    candidates: int = 100,
    reference: int = 400,
    sites: int = 500,
    *,
    prior: Prior | None = None,
    minor_frequency: float = 0.05,
    prune: float = 0.1,
    window_kb: float = 250,
    seed: int = 7,
    progress: Progress | None = None,
    cache: FilePath | None = None,
) -> Population:
    """Candidates and reference people with simulated genomes, a third each of West African, European, Chinese ancestry.

    An attribute is the presence of the derived allele at a site.  Sites have two alleles, the rarer at a frequency of
    at least `minor_frequency`, and squared correlation below `prune` with one another within `window_kb`; as many as
    asked for are picked at random.  People are shuffled, so that candidates and reference share their ancestries.

    The same `seed` gives the same people under the same versions of stdpopsim and msprime.  `cache` names a file that
    keeps the result: it is read when it was made with the same options, else replaced.  `progress` is called with a
    sentence at each step.
    """
    options = Options(
        candidates=checks.count("candidates", candidates, 1),
        reference=checks.count("reference", reference, 1),
        sites=checks.count("sites", sites, 1),
        minor_frequency=checks.ranged(
            "minor_frequency", minor_frequency, "in (0, 0.5]", lambda number: 0 < number <= 0.5
        ),
        prune=checks.rate("prune", prune),
        window_kb=checks.positive("window_kb", window_kb),
        seed=checks.count("seed", seed),
    )
    if options.people * options.sites > MAX_ENTRIES:
        raise InvalidParameter("people times sites", options.people * options.sites, f"at most {MAX_ENTRIES}")
    if progress is not None and not callable(progress):
        raise InvalidParameter("progress", progress, "a function of one sentence")
    found = None
    if cache is not None:
        path = place("cache", cache)
        found = read(path, attrs.asdict(options))
        if found is None and not os.access(path.parent, os.W_OK):  # refuse before the work, not after it
            raise InvalidParameter("cache", str(path), "a file in a directory that can be written")
    if found is None:
        found = _drawn(options, progress or (lambda sentence: None))
        if cache is not None:
            write(path, attrs.asdict(options), found)
    return found if prior is None else attrs.evolve(found, prior=prior)


@attrs.frozen(kw_only=True)
class Options:
    """What decides the simulated people, and so what a cached result must agree with."""

    candidates: int
    reference: int
    sites: int
    minor_frequency: float
    prune: float
    window_kb: float
    seed: int

    @property
    def people(self) -> int:
        """Candidates and reference together."""
        return self.candidates + self.reference


def _drawn(options: Options, progress: Progress) -> Population:
    streams = np.random.SeedSequence(options.seed)
    rng = np.random.default_rng(streams)
    panel, kept, window = _enough(options, 1 + int(streams.spawn(1)[0].generate_state(1)[0]) // 2, progress)
    chosen = np.sort(rng.choice(kept, options.sites, replace=False))
    source = (
        f"simulated genomes ({MODEL}, flat {CHROMOSOME} rate, {'/'.join(ANCESTRIES)} thirds, "
        f"{options.sites} of {len(kept)} pruned sites in {window / MEGABASE:.3g} Mb; {panel.software}; "
        f"seed {options.seed})"
    )
    names = tuple(f"{CHROMOSOME}:{int(position)}" for position in panel.positions[chosen])
    return Population.of(
        panel.presence[chosen].T, options.candidates, options.reference, seed=rng, source=source, attributes=names
    )


def _enough(options: Options, seed: int, progress: Progress) -> tuple[Panel, NDArray[np.intp], float]:
    """A panel with enough unlinked sites: the window grows by what the last one yielded."""
    longest = float(_packages()[1].get_species("HomSap").genome.get_chromosome(CHROMOSOME).length)  # bases
    window = (options.sites / USUAL + 0.5) * MEGABASE
    if window > 1.5 * PILOT:  # the work grows with its square: a small one first tells how long it must be
        window = PILOT
    expected = 0.0
    for _ in range(TRIES):
        progress(f"simulating {window / MEGABASE:.3g} Mb of {options.people} genomes")
        panel = simulated(options.people, window, options.minor_frequency, seed)
        progress(f"pruning {len(panel.positions)} common sites")
        kept = pruned(panel.presence, panel.positions, options.prune, 1000.0 * options.window_kb)
        progress(f"{len(kept)} unlinked sites, {options.sites} wanted")
        if len(kept) >= options.sites:
            return panel, kept, window
        expected = len(kept) / window * longest
        if window >= longest or expected < 0.8 * options.sites:
            break
        # at most the whole chromosome; a tenth more than the yield asks for, and always a real step
        window = min(max(1.1 * options.sites / len(kept), 1.5) * window, longest)
    raise Unreachable(
        f"{options.sites} unlinked common sites",
        f"{CHROMOSOME} of {options.people} people (about {expected:.0f} expected on the whole of it)",
        "ask for fewer sites or more people, or raise prune or lower window_kb or minor_frequency",
    )
