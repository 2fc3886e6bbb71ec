"""Integer noise: the loss lattice is exact, sensitivities shift it, sizes are limited."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples
from tests.losses import laws

import quiltwork as qw
from quiltwork.errors import InvalidParameter
from quiltwork.losses.families import discrete
from quiltwork.losses.families.discrete import DiscreteGaussian, DiscreteGaussianPair, DiscreteLaplace


@settings(max_examples=examples(30))
@given(
    sigma=st.sampled_from([0.3, 0.5, 1.0, 1.7, 4.0]),
    sensitivity=st.integers(1, 4),
    epsilon=st.floats(-2.0, 6.0),
)
def test_discrete_gaussian_by_the_definition(sigma, sensitivity, epsilon):
    law = laws.discrete_gaussian(sigma, sensitivity)
    found = qw.discrete_gaussian(sigma, sensitivity).delta(epsilon)
    assert found.lower <= law.stick(epsilon) <= max(found.upper, 1e-290)


@settings(max_examples=examples(30))
@given(
    scale=st.sampled_from([0.2, 0.5, 1.0, 3.3, 40.0]),
    sensitivity=st.integers(1, 6),
    epsilon=st.floats(-2.0, 6.0),
)
def test_discrete_laplace_by_the_definition(scale, sensitivity, epsilon):
    law = laws.discrete_laplace(scale, sensitivity)
    found = qw.discrete_laplace(scale, sensitivity).delta(epsilon)
    assert found.lower <= law.stick(epsilon) <= max(found.upper, 1e-290)


@pytest.mark.parametrize(
    "family", [DiscreteGaussian(1.5, 2), DiscreteLaplace(0.7, 3), DiscreteGaussian(0.3), DiscreteLaplace(1.1)]
)
def test_the_lattice_is_exact_and_complete(family):
    pair = family.pairs()["both"]
    lattice = pair.lattice()
    assert lattice is not None
    assert lattice.exact
    losses = [float(lattice.offset + lattice.step * int(i)) for i in lattice.indices]
    np.testing.assert_allclose(losses, pair.losses, rtol=1e-15)
    assert math.fsum(pair.p) == pytest.approx(1.0, abs=1e-14)
    assert math.fsum(pair.q) == pytest.approx(1.0, abs=1e-14)


def test_steps_come_from_the_typed_decimal():
    assert DiscreteGaussian(0.1).pairs()["both"].lattice().step == Fraction(50)
    assert DiscreteLaplace(0.3).pairs()["both"].lattice().step == Fraction(10, 3)


def test_discrete_laplace_of_one_is_randomized_response():
    """Sensitivity 1: two atoms, loss +-1/scale."""
    one, two = 5 * qw.discrete_laplace(2.0), 5 * qw.pure(0.5)
    for epsilon in (0.0, 0.7, 2.0):
        assert one.delta(epsilon, rtol=1e-9).intersect(two.delta(epsilon, rtol=1e-9)).relative_width < 1e-8


def test_wide_discrete_gaussian_is_nearly_continuous():
    """Canonne, Kamath, Steinke: at sigma = 20 the two profiles agree to many digits."""
    for delta in (1e-3, 1e-9):
        one, two = qw.discrete_gaussian(20.0).epsilon(delta), qw.gaussian(20.0).epsilon(delta)
        assert one.upper == pytest.approx(two.upper, rel=2e-3)


def test_groups_scale_the_sensitivity():
    assert DiscreteGaussian(2.0, 3).group(4) == DiscreteGaussian(2.0, 12)
    assert DiscreteLaplace(2.0).group(5) == DiscreteLaplace(2.0, 5)


@pytest.mark.parametrize("make", [qw.discrete_gaussian, qw.discrete_laplace])
@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf, "1", None, True, [1.0]])
def test_bad_scales_are_named(make, bad):
    with pytest.raises(InvalidParameter, match=r"^(sigma|scale) must be"):
        make(bad)


@pytest.mark.parametrize("make", [qw.discrete_gaussian, qw.discrete_laplace])
@pytest.mark.parametrize("bad", [0, -1, 1.5, 1.0, "1", None, True, math.nan])
def test_sensitivities_are_whole_numbers(make, bad):
    with pytest.raises(InvalidParameter, match=r"^sensitivity must be an integer from 1"):
        make(1.0, bad)


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: qw.discrete_laplace(1.0, 10**8), "sensitivity"),
        (lambda: qw.discrete_laplace(1e-320), "scale"),
        (lambda: qw.discrete_laplace(1e-7, 1000), "scale"),
        (lambda: qw.discrete_gaussian(1e-200), "sigma"),
        (lambda: qw.discrete_gaussian(1e-7, 1000), "sigma"),
    ],
)
def test_what_would_not_fit_is_refused(make, name):
    with pytest.raises(InvalidParameter, match=f"^{name} must be"):
        make()


@pytest.mark.parametrize(("sigma", "sensitivity"), [(20.0, 1), (31.7, 12), (15.0, 90)])
def test_runs_of_outputs_hold_the_law_between_them(sigma, sensitivity, monkeypatch):
    """Wide noise under sampling: one pair that dominates and one that is dominated, second order in the runs."""
    monkeypatch.setattr(discrete, "CELLS", 500)
    pair = DiscreteGaussianPair(sigma, sensitivity)
    law = laws.discrete_gaussian(sigma, sensitivity)
    most, least = pair.in_cells(True), pair.in_cells(False)
    size = sensitivity / sigma
    epsilon = np.concatenate((size * np.linspace(-6, 9, 61) + size**2 / 2, [0.0]))
    true = np.array([float(law.stick(e)) for e in epsilon])
    upper = most.stick(epsilon - most.rounding) * (1 + most.relative + 1e-12)
    lower = least.stick(epsilon + least.rounding) * (1 - least.relative - 1e-12)
    assert np.all(true <= upper)
    assert np.all(lower <= true)
    usual = (epsilon >= 0) & (epsilon <= size**2 / 2)
    assert np.all(upper[usual] - lower[usual] < 0.06 * upper[usual])  # runs of a quarter of a deviation
