"""People by their genomes: which of many unlinked common variants each carries, simulated.

Reference: seed 004 section 5 (binary attributes: presence of the alternate allele); theory/game.md section 2.

A file that keeps simulated people, so that minutes of simulation are spent once.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.errors import InvalidParameter, Unreachable
from quiltwork.game.people.population import MAX_ENTRIES, Population
from quiltwork.game.people.priors import Half, Prior
from quiltwork.game.people.sources import genomes
from quiltwork.game.people.sources.from_csv import FilePath, file_path
from quiltwork.game.people.sources.genomes import pruned

__all__ = ["Rows", "check_writable", "genotypes", "place", "read", "write"]

FORMAT = "quiltwork genotypes 1"


@attrs.frozen(eq=False)
class Rows:
    """Binary rows of candidates and reference people, names of the attributes and where they come from."""

    candidates: FloatArray
    reference: FloatArray
    attributes: tuple[str, ...]
    source: str


def place(name: str, path: FilePath) -> Path:
    """The path of a file that is there, or could be."""
    target = file_path(name, path)
    if target.is_dir() or not target.parent.is_dir():
        raise InvalidParameter(name, str(target), "a file in a directory that exists")
    return target


def check_writable(name: str, path: Path) -> None:
    """Refuse before the work, not after it."""
    if not os.access(path.parent, os.W_OK):
        raise InvalidParameter(name, str(path), "a file in a directory that can be written")


def write(path: Path, options: Mapping[str, Any], rows: Rows) -> None:
    """Write the file whole or not at all; an existing one is replaced."""
    draft = path.with_name(f"{path.name}.{secrets.token_hex(6)}.part")
    header = {"format": FORMAT, "options": dict(options), "attributes": rows.attributes, "source": rows.source}
    try:
        with draft.open("xb") as stream:
            np.savez(
                stream,
                header=np.array(json.dumps(header)),
                candidates=np.packbits(rows.candidates.astype(np.bool_), axis=1),
                reference=np.packbits(rows.reference.astype(np.bool_), axis=1),
            )
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(draft, path)
    except OSError as error:
        raise InvalidParameter("cache", str(path), "a file that can be written", str(error)) from None
    finally:
        with suppress(OSError):
            draft.unlink()


def read(path: Path, options: Mapping[str, Any]) -> Rows | None:
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
            return Rows(rows[0], rows[1], attributes, str(header["source"]))
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
        minor_frequency=_fraction("minor_frequency", minor_frequency, 0.5),
        prune=_fraction("prune", prune, 1.0),
        window_kb=checks.positive("window_kb", window_kb),
        seed=checks.count("seed", seed),
    )
    if options.people * options.sites > MAX_ENTRIES:
        raise InvalidParameter("people times sites", options.people * options.sites, f"at most {MAX_ENTRIES}")
    if progress is not None and not callable(progress):
        raise InvalidParameter("progress", progress, "a function of one sentence")
    if cache is not None:
        path = place("cache", cache)
        known = read(path, attrs.asdict(options))
        if known is not None:
            return _population(known, prior)
        check_writable("cache", path)
    found = _drawn(options, progress or (lambda sentence: None))
    if cache is not None:
        write(path, attrs.asdict(options), found)
    return _population(found, prior)


def _population(rows: Rows, prior: Prior | None) -> Population:
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


def _drawn(options: Options, progress: Progress) -> Rows:
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
    return Rows(people.candidates, people.reference, names, source)


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
