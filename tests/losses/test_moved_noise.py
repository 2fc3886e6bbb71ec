"""Mixtures of moved noise against the same in 70 digits: every number lies within the error that is stated for it."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from tests.truth import moved_noise
from tests.truth.numbers import mp

from quiltwork.losses.families.gaussian import Gaussian, GaussianPair
from quiltwork.losses.families.laplace import Laplace, LaplacePair
from quiltwork.losses.families.poisson import PoissonPair
from quiltwork.losses.families.sampling.gaussian_mixture import GaussianMixture
from quiltwork.losses.families.sampling.sampled_group import SampledGroup, noise_of
from quiltwork.losses.moved_ratio import GaussianNoise, LaplaceNoise
from quiltwork.numbers.rounding import UNIT

LEAST = 1e-280  # below, doubles lose digits
GROUPS = [  # noise, its scale, rate, size, whether exchanged
    ("gaussian", 1.0, 0.01, 1, False),
    ("gaussian", 0.7, 0.2, 3, True),
    ("gaussian", 1e-3, 0.3, 2, False),  # places 1000 apart
    ("gaussian", 1e-3, 1e-9, 2, True),
    ("gaussian", 1e6, 0.5, 2, False),
    ("gaussian", 2.0, 0.9999999, 4, False),
    ("laplace", 2.0, 0.02, 3, False),
    ("laplace", 10.0, 0.4, 9, True),  # x and the first place on different scales
    ("laplace", 0.01, 0.9959281968485121, 3, False),
    ("laplace", 1e5, 1e-10, 2, True),
]
MIXTURES = [
    ([0.0, 1.0, 2.0], [0.9, 0.08, 0.02]),
    ([1.0, 3.0], [0.75, 0.25]),
    ([0.0, 7e-4, 2e4], [0.55, 0.4, 0.05]),
    ([0.0, 1.0], [1e-20, 1.0]),
    ([0.0, 10.0], [0.99, 0.01]),
]


def _group(noise, scale, rate, size, exchanged):
    base = (Gaussian if noise == "gaussian" else Laplace)(scale)
    family = SampledGroup(base, rate, size, exchanged)
    return family.pairs(), moved_noise.sampled_group(noise, noise_of(base)[1], rate, size, exchanged)


def _mixture(sensitivities, weights):
    return GaussianMixture(sensitivities, weights, 1.0).pairs(), moved_noise.gaussian_mixture(sensitivities, weights)


CASES = [*((_group, case) for case in GROUPS), *((_mixture, case) for case in MIXTURES)]


def _asked(pair, truth, rng):
    """Losses of random outputs, and beside the ends of the support."""
    outputs = rng.uniform(float(truth.places[0]) - 4, float(truth.places[-1]) + 6, 4)
    losses = [float(truth.loss(x)) for x in outputs] + [0.0, float(rng.normal())]
    for end in (pair.low, pair.high):
        room = 8 * pair.rounding + 1e-9 * abs(end)
        losses += [end - room, end + room] if math.isfinite(end) else []
    return np.unique([loss for loss in losses if math.isfinite(loss)])


@pytest.mark.parametrize(("made", "case"), CASES, ids=lambda part: getattr(part, "__name__", str(part)))
def test_tails_sticks_and_cells_are_within_their_errors(made, case):
    pairs, exact = made(*case)
    rng = np.random.default_rng(7)
    for name, pair in pairs.items():
        truth = exact.swapped() if name == "add" else exact
        losses = _asked(pair, truth, rng)
        spots, cells = pair._spot(losses).x, pair.cells(losses)
        found = *pair.above(losses), *pair.below(losses), pair.stick(losses)
        wrong = *[pair.tail_error(losses)] * 4, pair.stick_error(losses)
        for i, loss in enumerate(losses):
            x = truth.threshold(loss, float(spots[i]))
            p, q = truth.beyond(x)
            for value, error, true in zip(
                found, wrong, (p, q, *truth.beyond(x, False), p - mp.exp(mp.mpf(loss)) * q), strict=True
            ):
                if true > LEAST:
                    assert abs(value[i] - true) <= error[i] * max(value[i], true), (name, loss)
        for i, (left, right) in enumerate(itertools.pairwise(losses)):
            mass, stick = truth.cell(left, right, spots[i : i + 2].tolist())
            if mass > LEAST:
                assert abs(cells.mass[i] - mass) <= cells.mass_error[i], (name, left, right)
            if stick > LEAST:
                assert abs(cells.stick[i] - stick) <= cells.stick_error[i], (name, left, right)


@pytest.mark.parametrize("case", GROUPS[:2] + GROUPS[6:8], ids=str)
def test_errors_are_small_for_usual_parameters(case):
    for pair in _group(*case)[0].values():
        losses = np.linspace(max(pair.low, -1.0), min(pair.high, 1.0), 9)[1:-1]
        assert float(pair.stick_error(losses).max()) < 1e-9
        assert float(pair.tail_error(losses).max()) < 1e-9


@pytest.mark.parametrize("removed", [True, False])
@pytest.mark.parametrize("base", [Gaussian(0.8), Laplace(0.5)], ids=str)
def test_one_move_is_the_sampled_pair(base, removed):
    known = GaussianPair(1 / 0.8) if isinstance(base, Gaussian) else LaplacePair(2.0)
    sampled = PoissonPair(known, 0.1, removed)
    moved = SampledGroup(base, 0.1).pairs()["remove" if removed else "add"]
    losses = np.linspace(-2.0, 2.0, 41)
    np.testing.assert_allclose(moved.stick(losses), sampled.stick(losses), rtol=1e-9, atol=1e-300)
    for first, second in zip(moved.above(losses), sampled.above(losses), strict=True):
        np.testing.assert_allclose(first, second, rtol=1e-9)
    for name in ("mass", "stick"):
        first, second = (getattr(pair.cells(losses), name) for pair in (moved, sampled))
        np.testing.assert_allclose(first, second, rtol=1e-9, atol=1e-17)
    assert moved.high == pytest.approx(sampled.high, rel=1e-12)


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_no_smaller_or_turned_move_is_worse(noise):
    """Lemma 1.1 on a grid: all moves within their bounds, the sums integrated over a fine grid of outputs."""
    x = np.linspace(-14, 14, 2801)
    density = np.exp(-x * x / 2) if noise == "gaussian" else np.exp(-np.abs(x))
    step = 1 / density.sum()

    def law(place):
        far = x - place
        return step * (np.exp(-far * far / 2) if noise == "gaussian" else np.exp(-np.abs(far)))

    steps = np.linspace(-1, 1, 9)
    for t in (0.3, 1.0, 2.5):
        worst = 0.7 * law(0.0) + 0.3 * law(1.5) - t * (0.6 * law(0.0) + 0.4 * law(-2.0))
        most = np.maximum(worst, 0).sum()
        for u in 1.5 * steps:
            for v in 2.0 * steps:
                other = 0.7 * law(0.0) + 0.3 * law(u) - t * (0.6 * law(0.0) + 0.4 * law(v))
                assert np.maximum(other, 0).sum() <= most + 1e-4


def test_a_stick_that_rounds_to_nothing_is_not_called_nothing():
    """Beside the largest loss the value is rounding: its upper end stays above the truth."""
    pair = GaussianMixture([0.0, 10.0], [0.99, 0.01], 1.0).pairs()["add"]
    truth = moved_noise.gaussian_mixture([0.0, 10.0], [0.99, 0.01]).swapped()
    losses = -math.log(0.99) * (1 - 2.0 ** -np.arange(40, 50))
    upper = pair.stick(losses) * (1 + pair.stick_error(losses))
    for loss, most in zip(losses, upper, strict=True):
        assert most >= truth.delta(loss) > 0


def test_the_ends_of_the_support_are_rounded_outward():
    for made, case in CASES:
        pairs, exact = made(*case)
        for name, pair in pairs.items():
            truth = exact.swapped() if name == "add" else exact
            reach = 60 if truth.gaussian else 0
            if math.isfinite(pair.high):
                assert pair.high >= truth.loss(truth.places[-1] + reach) - mp.mpf(10) ** -60
            if math.isfinite(pair.low):
                assert pair.low <= truth.loss(truth.places[0] - reach) + mp.mpf(10) ** -60


def test_log_ratios_are_known_to_the_stated_roundings():
    rng = np.random.default_rng(3)
    for noise in (GaussianNoise(), LaplaceNoise()):
        place, x = 10.0 ** rng.uniform(-4, 4, 200), 10.0 ** rng.uniform(-4, 4, 200)
        found, room = noise.log_ratio(place, x), UNIT * noise.log_ratio_ulps(place, x)
        for c, at, value, most in zip(place, x, found, room, strict=True):
            c, at = Fraction(c), Fraction(at)
            exact = c * (at - c / 2) if isinstance(noise, GaussianNoise) else abs(at) - abs(at - c)
            assert abs(Fraction(value) - exact) <= most
