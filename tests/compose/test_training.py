"""Training runs: counts in rationals, each way of drawing batches, refusals, laws."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import quiltwork as qw
from quiltwork.compose.training import SAMPLING, training
from quiltwork.errors import InvalidParameter
from quiltwork.losses.family import families

BUILT = [name for name in SAMPLING if name != "random_allocation" or name in families()]


@given(
    examples=st.integers(1, 10**7),
    share=st.floats(0.001, 1.0),
    epochs=st.one_of(st.integers(1, 300), st.floats(0.01, 300.0)),
)
def test_steps_are_counted_in_rationals(examples, share, epochs):
    batch = max(1, int(examples * share))
    steps = math.ceil(Fraction(repr(epochs)) * examples / batch)
    (part,) = training(examples, batch, epochs, 1.0).parts
    assert part.count == steps
    rate = getattr(part.family, "rate", 1.0)
    assert Fraction(rate) >= Fraction(batch, examples)  # never a rate below the stated one
    assert rate <= np.nextafter(batch / examples, 2.0)
    (part,) = training(examples, batch, epochs, 1.0, "shuffle").parts
    assert part.count == math.ceil(epochs)
    assert part.family.batches == math.ceil(Fraction(examples, batch))


@pytest.mark.parametrize(("epochs", "steps"), [(0.1, 1), (0.3, 3), (0.7, 7), (1.1, 11), (2.3, 23)])
def test_a_decimal_is_what_was_typed(epochs, steps):
    """In doubles 0.7 * 10 is 7 and 0.3 * 10 is 3, but 1.1 * 10 is 11.000000000000002: one step too many."""
    assert training(10, 1, epochs, 1.0).count == steps


def test_each_way_of_drawing_batches_is_its_loss():
    assert training(1000, 10, 2, 1.5) == 200 * qw.poisson(qw.gaussian(1.5), 0.01)
    assert training(1000, 10, 2, 1.5, "fixed_size") == 200 * qw.fixed_size(qw.gaussian(1.5, 2.0), 10, 1000)
    assert safe(training(1000, 10, 2, 1.5, "shuffle")) == safe(2 * qw.gaussian(1.5))
    assert training(10, 10, 3, 1.5) == 3 * qw.gaussian(1.5)
    if "random_allocation" in families():
        assert training(1000, 10, 2, 1.5, "random_allocation") == 2 * qw.random_allocation(qw.gaussian(1.5), 100)


def safe(loss, delta=1e-6):
    return loss.epsilon(delta).safe


def test_shuffling_is_no_sampling():
    """theory/sampling.md 7.3: sigma 1, 100 batches, delta 1e-6."""
    found = training(1000, 10, 1, 1.0, "shuffle").epsilon(1e-6)
    assert 4.67 < found.lower <= 4.680843320557752 * (1 + 1e-4)  # the test on the largest output, on cells
    assert found.upper == pytest.approx(4.8866, abs=1e-4)
    assert found.lower > 4 * safe(training(1000, 10, 1, 1.0))
    assert safe(training(1000, 10, 1, 1.0)) == pytest.approx(0.954, abs=1e-3)


def test_the_lower_end_of_shuffling_is_attained_by_a_simulated_attack():
    """P and Q of 7.3, drawn: the largest output above a threshold. False alarm rate of this test: below 1e-6."""
    rng, runs, batches, sigma = np.random.default_rng(5), 40_000, 10, 1.0
    noise = rng.normal(0, sigma, (2, runs, batches))
    noise[0, :, 0] += 2.0
    noise[1, :, 0] += 1.0
    top = noise.max(axis=2)
    threshold = 3.5
    inside, outside = (top > threshold).mean(axis=1)
    slack = 5 * math.sqrt(0.25 / runs)
    bound = training(batches, 1, 1, sigma, "shuffle").delta(1.0)
    assert inside - math.e * outside <= bound.upper + slack * (1 + math.e)
    assert bound.lower <= bound.upper


@pytest.mark.parametrize("sampling", BUILT)
def test_more_noise_costs_less_and_more_epochs_cost_more(sampling):
    costs = [safe(training(500, 50, 1, noise, sampling), 1e-5) for noise in (1.0, 2.0, 4.0)]
    assert costs[0] > costs[1] > costs[2]
    longer = [safe(training(500, 50, epochs, 2.0, sampling), 1e-5) for epochs in (1, 4)]
    assert longer[0] < longer[1]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("examples", (0, 1, 1, 1.0)),
        ("examples", (True, 1, 1, 1.0)),
        ("examples", (1.5, 1, 1, 1.0)),
        ("batch", (10, 0, 1, 1.0)),
        ("batch", (10, 11, 1, 1.0)),
        ("batch", (10, "2", 1, 1.0)),
        ("epochs", (10, 1, 0, 1.0)),
        ("epochs", (10, 1, -1, 1.0)),
        ("epochs", (10, 1, math.nan, 1.0)),
        ("epochs", (10, 1, math.inf, 1.0)),
        ("noise_multiplier", (10, 1, 1, 0.0)),
        ("noise_multiplier", (10, 1, 1, math.nan)),
        ("noise_multiplier", (10, 1, 1, None)),
        ("sampling", (10, 1, 1, 1.0, "loader")),
        ("sampling", (10, 1, 1, 1.0, None)),
        ("steps", (2**53, 1, 10, 1.0)),
    ],
)
def test_bad_arguments_are_named(name, arguments):
    with pytest.raises(InvalidParameter, match=f"^{name} must be"):
        training(*arguments)
