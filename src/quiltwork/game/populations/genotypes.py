"""People by their genomes: which of many unlinked common variants each carries, simulated.

Reference: seed 004 section 5 (binary attributes: presence of the alternate allele); theory/game.md section 2.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from quiltwork import checks
from quiltwork.errors import InvalidParameter, Unreachable
from quiltwork.game.population import LARGEST, Population
from quiltwork.game.populations import genomes, stored
from quiltwork.game.populations.files import FilePath
from quiltwork.game.populations.linkage import pruned
from quiltwork.game.priors import Half, Prior

__all__ = ["genotypes"]

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
        minor_frequency=_fraction("minor_frequency", minor_frequency, 0.5),
        prune=_fraction("prune", prune, 1.0),
        window_kb=checks.positive("window_kb", window_kb),
        seed=checks.count("seed", seed),
    )
    if options.people * options.sites > LARGEST:
        raise InvalidParameter("people times sites", options.people * options.sites, f"at most {LARGEST}")
    if progress is not None and not callable(progress):
        raise InvalidParameter("progress", progress, "a function of one sentence")
    if cache is not None:
        path = stored.place("cache", cache)
        known = stored.read(path, attrs.asdict(options))
        if known is not None:
            return _population(known, prior)
        stored.check_writable("cache", path)
    found = _drawn(options, progress or (lambda sentence: None))
    if cache is not None:
        stored.write(path, attrs.asdict(options), found)
    return _population(found, prior)


def _population(rows: stored.Rows, prior: Prior | None) -> Population:
    names: Any = rows.attributes  # a tuple already, which the converter of the field hides from the type checker
    return Population(rows.candidates, rows.reference, Half() if prior is None else prior, rows.source, names)


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


def _fraction(name: str, value: float, most: float) -> float:
    number = checks.real(name, value, f"in (0, {most:g}]")
    if not 0 < number <= most:
        raise InvalidParameter(name, value, f"in (0, {most:g}]")
    return number


def _drawn(options: Options, progress: Progress) -> stored.Rows:
    streams = np.random.SeedSequence(options.seed)
    rng = np.random.default_rng(streams)
    panel, kept, window = _enough(options, 1 + int(streams.spawn(1)[0].generate_state(1)[0]) // 2, progress)
    chosen = np.sort(rng.choice(kept, options.sites, replace=False))
    source = (
        f"simulated genomes ({genomes.MODEL}, flat {genomes.CHROMOSOME} rate, {'/'.join(genomes.ANCESTRIES)} thirds, "
        f"{options.sites} of {len(kept)} pruned sites in {window / MEGABASE:.3g} Mb; {panel.software}; "
        f"seed {options.seed})"
    )
    names = tuple(f"{genomes.CHROMOSOME}:{int(position)}" for position in panel.positions[chosen])
    people = Population.of(
        panel.presence[chosen].T, options.candidates, options.reference, seed=rng, source=source, attributes=names
    )
    return stored.Rows(people.candidates, people.reference, names, source)


def _enough(options: Options, seed: int, progress: Progress) -> tuple[genomes.Panel, NDArray[np.intp], float]:
    """A panel with enough unlinked sites: the window grows by what the last one yielded."""
    longest = genomes.chromosome_length()
    window = (options.sites / USUAL + 0.5) * MEGABASE
    if (
        window > 1.5 * PILOT
    ):  # the work grows with the square of the window: a small one first tells how long it must be
        window = PILOT
    expected = 0.0
    for _ in range(TRIES):
        progress(f"simulating {window / MEGABASE:.3g} Mb of {options.people} genomes")
        panel = genomes.simulated(options.people, window, options.minor_frequency, seed)
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
        f"{genomes.CHROMOSOME} of {options.people} people (about {expected:.0f} expected on the whole of it)",
        "ask for fewer sites or more people, or raise prune or lower window_kb or minor_frequency",
    )
