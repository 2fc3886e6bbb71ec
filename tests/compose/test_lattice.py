"""Commensurability is decided on the decimals that were typed."""

import numpy as np
import pytest
from tests.compose import naive
from tests.losses import laws
from tests.losses.laws import mp

import quiltwork as qw
from quiltwork.compose.engines.lattice import LatticeEngine
from quiltwork.compose.releases import directed


def engine_of(loss):
    """The lattice engine of the first direction."""
    return LatticeEngine.of(next(iter(directed(loss.parts).values())))


@pytest.mark.parametrize(
    ("one", "two", "step"),
    [
        (0.3, 0.1, 0.2),  # .3/.1 = 2.9999999999999996 in floats
        (0.05, 0.1, 0.1),
        (1e-3, 7e-4, 2e-4),
        (0.7, 0.1, 0.2),
        (1.1, 0.3, 0.2),
        (0.15, 0.25, 0.1),
        (3.0, 2.0, 2.0),
    ],
)
def test_decimals_share_a_lattice(one, two, step):
    """Differences of a response are 2 eps, so the common step is the gcd of the doubled epsilons."""
    found = engine_of(2 * qw.pure(one) + 3 * qw.pure(two))
    assert found is not None
    assert found.measure.step == pytest.approx(step, rel=1e-14)


@pytest.mark.parametrize(("one", "two"), [(0.3, 0.1), (0.05, 0.1), (1e-3, 7e-4), (1.1, 0.3)])
def test_the_common_lattice_composes_exactly(one, two):
    loss = 4 * qw.pure(one) + 3 * qw.pure(two)
    atoms = [[(at, p) for at, p, _ in laws.response(mp.mpf(repr(e))).points] for e in (one, two)]
    law = naive.convolution([(atoms[0], 4), (atoms[1], 3)])
    for share in (-0.3, 0.0, 0.2, 0.55, 0.97):
        epsilon = share * (4 * one + 3 * two)
        found = loss.delta(epsilon, method="lattice", rtol=1e-9)
        true = naive.stick(law, epsilon)
        assert found.lower <= true <= found.upper
        assert found.relative_width < 1e-6


@pytest.mark.parametrize(("one", "two"), [(2**0.5, 1.0), (0.1, 1 / 3), (np.pi, np.e)])
def test_incommensurable_epsilons_are_declined(one, two):
    """Their decimals do have a common divisor, of order 1e-17: far too fine to use."""
    assert engine_of(qw.pure(one) + qw.pure(two)) is None


def test_one_irrational_response_is_its_own_lattice():
    found = engine_of(50 * qw.pure(np.pi))
    assert found is not None
    assert found.measure.step == pytest.approx(2 * np.pi)


def test_a_float_lattice_is_compared_with_no_other():
    alone = qw.pair([0.25, 0.75], [0.75, 0.25])
    assert engine_of(9 * alone) is not None
    assert engine_of(9 * alone + qw.pure(1.0)) is None


def test_losses_that_do_not_move_share_any_lattice():
    """Total variation reveals or says nothing: its only finite loss is zero."""
    loss = 5 * qw.constraints([(0.0, 0.01)]) + 3 * qw.pure(np.pi)
    assert engine_of(loss) is not None
    law = naive.convolution([([(at, p) for at, p, _ in laws.response(np.pi).points], 3)])
    kept = (1 - mp.mpf("0.01")) ** 5
    assert 1 - kept + kept * naive.stick(law, 1.0) in loss.delta(1.0, rtol=1e-9)


def test_densities_have_no_lattice():
    assert engine_of(qw.laplace(1.0) + qw.pure(1.0)) is None
    assert engine_of(qw.gaussian(1.0) + qw.pure(1.0)) is None


@pytest.mark.parametrize(
    ("loss", "step"),
    [
        (qw.constraints([(0.3, 0.0), (0.15, 0.02)]), 0.15),
        (qw.constraints([(0.3, 0.0), (0.1, 0.02)]), 0.2),
        (qw.discrete_laplace(0.5, 3), 4.0),
        (qw.discrete_gaussian(0.5), 4.0),
        (qw.discrete_laplace(10.0), 0.2),
    ],
)
def test_families_on_their_own_lattice(loss, step):
    found = engine_of(7 * loss)
    assert found is not None
    assert found.measure.step == pytest.approx(step, rel=1e-14)


def test_discrete_and_response_together():
    loss = 2 * qw.discrete_laplace(0.5, 2) + 3 * qw.pure(0.2)
    atoms = [
        [(at, p) for at, p, _ in law.points] for law in (laws.discrete_laplace(0.5, 2), laws.response(mp.mpf("0.2")))
    ]
    law = naive.convolution([(atoms[0], 2), (atoms[1], 3)])
    for epsilon in (0.3, 3.0, 7.5):
        found = loss.delta(epsilon, rtol=1e-9, method="lattice")
        assert naive.stick(law, epsilon) in found


def test_too_fine_a_common_step_is_declined():
    assert engine_of(qw.pure(1.0) + qw.pure(1.00000001)) is None
