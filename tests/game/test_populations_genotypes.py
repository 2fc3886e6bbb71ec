"""Simulated genomes: what the options promise holds for the result, recomputed the slow way."""

from __future__ import annotations

import importlib
import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from quiltwork.errors import InvalidParameter, MissingExtra, Unreachable
from quiltwork.game.people.population import Independent, Population
from quiltwork.game.people.sources.genotypes import pruned
from quiltwork.game.populations import genotypes

genomes = importlib.import_module("quiltwork.game.people.sources.genotypes")

SMALL = {"candidates": 40, "reference": 80, "sites": 60, "seed": 3}


def naive_pruning(presence: np.ndarray, positions: np.ndarray, below: float, distance: float) -> list[int]:
    kept: list[int] = []
    for site in range(len(presence)):
        near = [other for other in kept if positions[site] - positions[other] <= distance]
        if all(np.corrcoef(presence[site], presence[other])[0, 1] ** 2 < below for other in near):
            kept.append(site)
    return kept


@pytest.mark.parametrize(("below", "distance"), [(0.1, 30.0), (0.02, 1000.0), (0.5, 5.0), (1.0, 1000.0)])
def test_pruning_is_the_greedy_one(below: float, distance: float) -> None:
    rng = np.random.default_rng(5)
    source = rng.random((12, 47)) < 0.4
    presence = source[rng.integers(0, 12, 80)] ^ (rng.random((80, 47)) < 0.1)
    presence = presence[(presence.mean(axis=1) > 0) & (presence.mean(axis=1) < 1)]
    positions = np.sort(rng.random(len(presence)) * 100)
    assert pruned(presence, positions, below, distance).tolist() == naive_pruning(presence, positions, below, distance)


def test_pruning_compares_with_kept_sites_only() -> None:
    # the second is like the first and goes; the third is like the second only, and stays
    first = np.repeat([1, 0], 50).astype(bool)
    second = np.roll(first, 20)
    third = np.roll(first, 25)
    presence, positions = np.array([first, second, third]), np.arange(3.0)
    assert np.corrcoef(second, third)[0, 1] ** 2 > 0.3
    assert pruned(presence, positions, 0.03, 10.0).tolist() == [0, 2]


@pytest.fixture(scope="module")
def packages() -> None:
    pytest.importorskip("msprime")
    pytest.importorskip("stdpopsim")


@pytest.fixture(scope="module")
def population(packages: None) -> Population:
    return genotypes(**SMALL)


def test_small_population(population: Population) -> None:
    assert population.size == (40, 60)
    assert population.reference.shape == (80, 60)
    assert population.binary
    assert population.source.startswith("simulated genomes (")
    assert len(set(population.attributes)) == 60


def test_sites_are_unlinked(population: Population) -> None:
    people = np.vstack([population.candidates, population.reference])
    positions = np.array([int(name.removeprefix("chr10:")) for name in population.attributes])
    squared = np.corrcoef(people.T) ** 2
    gaps = np.abs(positions[:, None] - positions)
    near = (gaps <= 250_000) & (gaps > 0)
    assert near.sum() > 100
    assert squared[near].max() < 0.1
    assert bool(np.all(np.diff(positions) > 0))


def test_same_seed_same_people(population: Population) -> None:
    again = genotypes(**SMALL)
    np.testing.assert_array_equal(again.candidates, population.candidates)
    np.testing.assert_array_equal(again.reference, population.reference)
    assert again.attributes == population.attributes
    other = genotypes(**{**SMALL, "seed": 4})
    assert other.attributes != population.attributes


@pytest.mark.usefixtures("packages")
def test_common_sites_by_full_genotypes() -> None:
    msprime = pytest.importorskip("msprime")
    ancestry = msprime.sim_ancestry(
        20, sequence_length=3e5, recombination_rate=1e-8, population_size=1e4, random_seed=2
    )
    # a mutation rate so high that many sites mutate more than once
    history = msprime.sim_mutations(ancestry, rate=2e-6, random_seed=3)
    matrix = history.genotype_matrix()
    once = np.array([len(site.mutations) == 1 for site in history.sites()])
    carriers = (matrix > 0).sum(axis=1)
    expected = np.flatnonzero(once & (np.minimum(carriers, 40 - carriers) >= 8))
    assert 0 < once.sum() < len(once)
    assert genomes.common_sites(history, 0.2).tolist() == expected.tolist()
    presence = genomes._presence(pytest.importorskip("tskit"), history, expected)
    folded = (matrix[expected].reshape(len(expected), 20, 2) > 0).any(axis=2)
    np.testing.assert_array_equal(presence, folded)


@pytest.mark.usefixtures("packages")
def test_frequency_and_ancestry_of_a_panel() -> None:
    panel = genomes.simulated(31, 2e5, 0.1, 11)
    assert [int((panel.ancestry == name).sum()) for name in ("YRI", "CEU", "CHB")] == [11, 10, 10]
    carriers = panel.presence.mean(axis=1)
    # an allele of frequency >= f is carried by a share >= f, and one of frequency <= 1 - f by fewer than all
    assert carriers.min() >= 0.1
    assert (carriers * (1 - carriers)).min() > 0.01
    # ancestry is real: neighbours by shared alleles have the same ancestry far more often than one in three
    rows = panel.presence.T.astype(float) - carriers
    alike = rows @ rows.T
    np.fill_diagonal(alike, -np.inf)
    assert (panel.ancestry[alike.argmax(axis=1)] == panel.ancestry).mean() > 0.5


@pytest.mark.usefixtures("packages")
def test_candidates_and_reference_share_their_ancestries(monkeypatch: pytest.MonkeyPatch) -> None:
    panels: list[Any] = []
    simulated = genomes.simulated

    def remembered(*arguments: Any) -> Any:
        panels.append(simulated(*arguments))
        return panels[-1]

    monkeypatch.setattr(genomes, "simulated", remembered)
    population = genotypes(75, 75, 60, seed=9)
    panel = panels[-1]
    chosen = np.isin(panel.positions.astype(int), [int(name[6:]) for name in population.attributes])
    whole = panel.presence[chosen].T
    assert len(np.unique(whole, axis=0)) == 150
    ancestry = {row.tobytes(): name for row, name in zip(whole, panel.ancestry, strict=True)}
    drawn = [ancestry[row.astype(bool).tobytes()] for row in population.candidates]
    # 75 of 150 people without replacement: 25 of each ancestry expected, deviation 2.9; in order: 50, 25, 0
    assert all(12 <= drawn.count(name) <= 38 for name in ("YRI", "CEU", "CHB"))


@pytest.mark.usefixtures("packages")
def test_window_grows_until_there_are_enough_sites() -> None:
    said: list[str] = []
    population = genotypes(10, 10, 100, seed=1, progress=said.append)
    assert population.size == (10, 100)
    assert sum(sentence.startswith("simulating") for sentence in said) >= 2


@pytest.mark.usefixtures("packages")
def test_out_of_reach() -> None:
    with pytest.raises(Unreachable, match="ask for fewer sites"):
        genotypes(2, 2, 5000, minor_frequency=0.5, prune=0.001, window_kb=10_000)


@pytest.mark.parametrize(
    "wrong",
    [
        {"candidates": 0},
        {"candidates": True},
        {"reference": 0},
        {"sites": 0},
        {"sites": 2.5},
        {"sites": 2**40},
        {"minor_frequency": 0.0},
        {"minor_frequency": 0.6},
        {"minor_frequency": float("nan")},
        {"prune": 0.0},
        {"prune": 1.1},
        {"window_kb": -1},
        {"window_kb": float("inf")},
        {"seed": -1},
        {"progress": "loud"},
        {"cache": 7},
        {"cache": " "},
        {"cache": "no/such/directory/cache.npz"},
    ],
)
def test_bad_options(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter):
        genotypes(**wrong)


@pytest.mark.parametrize("package", ["msprime", "stdpopsim"])
@pytest.mark.usefixtures("packages")
def test_missing_package(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtra, match=rf"{package} is not installed.*quiltwork\[game\]"):
        genotypes(**SMALL)


@pytest.fixture
def no_simulation(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: Any) -> None:
        raise AssertionError("simulated although a cache was there")

    monkeypatch.setattr(genomes, "simulated", refuse)


@pytest.fixture(scope="module")
def cached(population: Population, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("cache") / "people.npz"
    first = genotypes(**SMALL, cache=path)
    np.testing.assert_array_equal(first.candidates, population.candidates)
    assert [file.name for file in path.parent.iterdir()] == ["people.npz"]  # no draft is left behind
    return path


@pytest.mark.usefixtures("no_simulation")
def test_cache_gives_the_same_people(population: Population, cached: Path) -> None:
    again = genotypes(**SMALL, cache=str(cached), prior=Independent(0.3))
    np.testing.assert_array_equal(again.candidates, population.candidates)
    np.testing.assert_array_equal(again.reference, population.reference)
    assert (again.source, again.attributes) == (population.source, population.attributes)
    assert again.prior == Independent(0.3)


@pytest.mark.usefixtures("no_simulation")
@pytest.mark.parametrize("other", [{"seed": 4}, {"sites": 61}, {"prune": 0.2}, {"candidates": 41}])
def test_cache_of_other_options_is_not_used(other: dict[str, Any], cached: Path) -> None:
    with pytest.raises(AssertionError, match="simulated although"):
        genotypes(**{**SMALL, **other}, cache=cached)


def test_cache_of_other_options_is_replaced(cached: Path, tmp_path: Path) -> None:
    path = tmp_path / "people.npz"
    path.write_bytes(cached.read_bytes())
    changed = {**SMALL, "sites": 30}
    people = genotypes(**changed, cache=path)
    assert genomes.read(path, {**changed, "minor_frequency": 0.05, "prune": 0.1, "window_kb": 250.0}) is not None
    assert people.size == (40, 30)


def _bits(data: bytes) -> bytes:
    place = data.index(b"candidates.npy") + 200  # inside the packed rows
    return data[:place] + bytes([data[place] ^ 4]) + data[place + 1 :]


def _foreign(data: bytes) -> bytes:
    stream = io.BytesIO()
    np.savez(stream, candidates=np.eye(3))
    return stream.getvalue()


@pytest.mark.usefixtures("no_simulation")
@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: b"words",
        lambda data: data[:-40],
        lambda data: data[: len(data) // 2],
        _bits,
        _foreign,
    ],
    ids=["empty", "text", "cut", "half", "one bit", "another file"],
)
def test_broken_cache(damage: Callable[[bytes], bytes], cached: Path, tmp_path: Path) -> None:
    path = tmp_path / "people.npz"
    broken = damage(cached.read_bytes())
    path.write_bytes(broken)
    with pytest.raises(InvalidParameter, match="broken or not such a cache"):
        genotypes(**SMALL, cache=path)
    assert path.read_bytes() == broken  # what is not ours is left as it is


@pytest.mark.usefixtures("no_simulation")
@pytest.mark.parametrize("part", ["format", "attributes", "candidates"])
def test_cache_that_contradicts_itself(part: str, cached: Path, tmp_path: Path) -> None:
    with np.load(cached) as kept:
        arrays = dict(kept)
    header = json.loads(str(arrays["header"]))
    if part == "format":
        header["format"] = "quiltwork genotypes 2"
    elif part == "attributes":
        header["attributes"] = header["attributes"][1:]
    else:
        arrays["candidates"] = arrays["candidates"][1:]
    np.savez(tmp_path / "people.npz", **{**arrays, "header": np.array(json.dumps(header))})
    with pytest.raises(InvalidParameter, match="broken or not such a cache"):
        genotypes(**SMALL, cache=tmp_path / "people.npz")


def test_failed_write_leaves_nothing(cached: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    people = Population(np.eye(2), np.eye(2), source="test", attributes=("a", "b"))

    def full(*arguments: Any) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(genomes.os, "replace", full)
    with pytest.raises(InvalidParameter, match="no space left"):
        genomes.write(tmp_path / "people.npz", {}, people)
    assert list(tmp_path.iterdir()) == []
