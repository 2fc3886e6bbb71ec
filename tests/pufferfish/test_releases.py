"""Releases under a prior: the budget is spent and not exceeded, and the noise is what was claimed."""

import math

import numpy as np
import pytest

import quiltwork as qw
from quiltwork import mechanisms
from quiltwork.errors import InvalidParameter, Unreachable
from quiltwork.pufferfish import (
    AutoRegressive,
    Independent,
    MarkovChain,
    gaussian,
    histogram,
    laplace,
    markov_quilt,
    per_entry_epsilon,
    top_k,
)

CHAIN = MarkovChain([[0.8, 0.2], [0.2, 0.8]])
COUNTS = [500, 300, 20]


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_the_target_is_met_and_nearly_used_up(epsilon: float) -> None:
    releases = [
        histogram(COUNTS, CHAIN, epsilon),
        top_k(COUNTS, 2, CHAIN, epsilon),
        top_k(COUNTS, 2, CHAIN, epsilon, by="peeling"),
        laplace(100, CHAIN, epsilon, sensitivity=1),
        laplace(1.5, CHAIN, epsilon, sensitivity=2.0),
    ]
    for released in releases:
        spent = float(released.guarantee.epsilon(0.0).upper)
        assert spent <= epsilon
        assert spent == pytest.approx(epsilon, rel=1e-6)


def test_scales_follow_the_per_entry_budget() -> None:
    budget = per_entry_epsilon(CHAIN, 1.0)
    assert histogram(COUNTS, CHAIN, 1.0).noise.scale == pytest.approx(2.0 / budget, rel=1e-9)
    assert top_k(COUNTS, 2, CHAIN, 1.0).noise.scale == pytest.approx(2.0 / budget, rel=1e-9)
    assert top_k(COUNTS, 2, CHAIN, 1.0, by="peeling").noise.scale == pytest.approx(3.0 / budget, rel=1e-9)
    assert top_k(COUNTS, 1, CHAIN, 1.0).noise.law.startswith("exponential")
    assert laplace(7, CHAIN, 1.0, sensitivity=3).noise.scale == pytest.approx(3.0 / budget, rel=1e-9)


def test_the_baselines_are_noisier_in_the_order_that_is_known() -> None:
    finite = MarkovChain(CHAIN.transition, length=100)
    ours = histogram(COUNTS, finite, 1.0)
    theorem_6 = histogram(COUNTS, finite, 1.0, method="theorem 6")
    group = histogram(COUNTS, finite, 1.0, method="group")
    quilt = markov_quilt(COUNTS, finite, 1.0)
    assert ours.noise.scale < theorem_6.noise.scale < group.noise.scale
    assert theorem_6.noise.scale < quilt.noise.scale == pytest.approx(len(COUNTS) / 2 * theorem_6.noise.scale)
    assert group.noise.scale == pytest.approx(2 * 100, rel=1e-9)
    for released in (theorem_6, group, quilt):
        assert float(released.guarantee.epsilon(0.0).upper) <= 1.0


def test_gaussian_noise_meets_epsilon_and_delta() -> None:
    released = gaussian(100, CHAIN, 1.0, 1e-6, sensitivity=1)
    assert float(released.guarantee.epsilon(1e-6).upper) <= 1.0
    assert isinstance(released.value, int)
    less = qw.pufferfish.guarantee(mechanisms.gaussian_loss(0.98 * released.noise.scale, 1), CHAIN)
    assert float(less.epsilon(1e-6).upper) > 1.0


def test_a_gaussian_prior_takes_bounded_sums() -> None:
    total = mechanisms.bounded_sum([0.5, -0.25, 3.0], -1.0, 1.0)
    prior = AutoRegressive(0.3, 1.0, 0.5)
    released = gaussian(total, prior, 2.0, 1e-5)
    assert float(released.guarantee.epsilon(1e-5).upper) <= 2.0


def test_independent_entries_cost_no_more_than_without_a_prior() -> None:
    released = histogram(COUNTS, Independent(), 1.0)
    assert released.noise.scale == pytest.approx(2.0, rel=1e-9)


def test_histograms_are_drawn_with_the_noise_that_is_claimed() -> None:
    """Counts of zero noise follow the discrete Laplace law; false alarm 1e-7, and a scale of .7 is caught."""
    draws, categories = 40, 250
    values = np.concatenate([histogram([1000] * categories, CHAIN, 2.0).value - 1000 for _ in range(draws)])
    scale = histogram([1], CHAIN, 2.0).noise.scale
    assert not _alarm(values, scale)
    assert _alarm(np.round(0.7 * values), scale)
    assert _alarm(np.round(1.4 * values), scale)


def _alarm(values: np.ndarray, scale: float) -> bool:
    """Whether the share of values within one scale is impossible for this scale (Hoeffding, two sides, 1e-7)."""
    ratio = math.exp(-1.0 / scale)
    inside = math.floor(scale)
    expected = 1.0 - 2.0 * ratio ** (inside + 1) / (1.0 + ratio)
    slack = math.sqrt(math.log(2.0 / 1e-7) / (2.0 * values.size))
    return bool(abs(np.mean(np.abs(values) <= inside) - expected) > slack)


def test_nothing_is_drawn_when_something_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    from quiltwork.mechanisms import sampling

    def refuse(*_: object) -> None:
        raise AssertionError("noise was drawn")

    for name in ("discrete_laplace", "discrete_gaussian", "lattice_laplaces", "lattice_gaussians", "peel"):
        monkeypatch.setattr(sampling, name, refuse)
    for call in (
        lambda: histogram([1, -1], CHAIN, 1.0),
        lambda: histogram([1.5], CHAIN, 1.0),
        lambda: histogram(COUNTS, CHAIN, -1.0),
        lambda: histogram(COUNTS, CHAIN, math.nan),
        lambda: histogram(COUNTS, "chain", 1.0),
        lambda: histogram(COUNTS, CHAIN, 1.0, method="magic"),
        lambda: top_k(COUNTS, 4, CHAIN, 1.0),
        lambda: top_k(COUNTS, 0, CHAIN, 1.0),
        lambda: top_k(COUNTS, 2, CHAIN, 1.0, by="luck"),
        lambda: laplace(1, CHAIN, 1.0),
        lambda: laplace(1, CHAIN, 0.0, sensitivity=1),
        lambda: gaussian(1, CHAIN, 1.0, 0.0, sensitivity=1),
        lambda: gaussian(1, CHAIN, 1.0, 2.0, sensitivity=1),
        lambda: markov_quilt([], CHAIN, 1.0),
    ):
        with pytest.raises(InvalidParameter):
            call()


def test_a_prior_that_tells_everything_leaves_no_budget() -> None:
    alternating = MarkovChain([[0.0, 1.0], [1.0, 0.0]])
    with pytest.raises(Unreachable, match="length"):
        histogram(COUNTS, alternating, 1.0)
    assert histogram(COUNTS, MarkovChain([[0.0, 1.0], [1.0, 0.0]], length=4), 1.0).noise.scale == pytest.approx(8.0)


def test_a_release_says_what_it_is() -> None:
    text = repr(histogram(COUNTS, CHAIN, 1.0))
    assert "discrete Laplace" in text
    assert "the value of each single entry" in text
