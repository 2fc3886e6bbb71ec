"""Poisson subsampling: profiles by amplification, products of rates, what is refused."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples, some
from tests.losses import laws
from tests.losses.laws import mp

import quiltwork as qw
from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.losses.dominating_pair import Pair
from quiltwork.losses.families.gaussian import GaussianPair
from quiltwork.losses.families.laplace import LaplacePair
from quiltwork.losses.families.poisson import Poisson, PoissonPair
from quiltwork.losses.families.pure import Pure

BASES = {
    "gaussian": (qw.gaussian(0.8), laws.Gaussian(1 / 0.8)),
    "laplace": (qw.laplace(0.5), laws.Laplace(2.0)),
    "response": (qw.approximate(0.7, 0.01), laws.response(0.7, 0.01)),
    "discrete": (qw.discrete_laplace(1.25, 2), laws.discrete_laplace(1.25, 2)),
}


def away(law, epsilon):
    """A float beside the atoms of a law: on an atom itself the naive tails would have to decide."""
    return all(abs(epsilon - float(at)) > 1e-9 for at, _, _ in law.atoms())


@pytest.mark.parametrize("name", BASES)
@pytest.mark.parametrize("rate", [1e-6, 0.03, 0.6, 0.999])
@pytest.mark.parametrize("side", ["remove", "add"])
def test_single_release_by_the_definition(name, rate, side):
    base, law = BASES[name]
    loss, truth = qw.poisson(base, rate).direction(side), laws.Poisson(law, rate, side == "remove")
    for epsilon in (-1.5 * rate, -0.2 * rate, 0.3 * rate, 0.9 * rate, 2.5 * rate):
        if away(truth, epsilon):
            found, true = loss.delta(epsilon), truth.stick(epsilon) + truth.reveal
            assert found.lower - mp.mpf("1e-45") <= true <= found.upper + mp.mpf("1e-45")


@pytest.mark.parametrize("top", [1e-9, 0.3, 4.0, 600.0, 1e6])
@pytest.mark.parametrize("rate", [1e-6, 0.3, 0.999])
def test_the_rounding_of_two_atoms_is_that_of_the_listed_ones(top, rate):
    base = LaplacePair(top)
    assert base.rounding == Pair.rounding.fget(base)
    for pair in (PoissonPair(base, rate, True), PoissonPair(base, rate, False)):
        assert Pair.rounding.fget(pair) < pair.rounding == Pair.rounding.fget(pair) + pair._reading
    assert PoissonPair(GaussianPair(top), rate, True).rounding == 0.0  # no atoms


@settings(max_examples=examples(40))
@given(rate=st.floats(1e-6, 0.999), epsilon=st.floats(0.0, 4.0))
def test_amplification_lemma(rate, epsilon):
    """remove: D(log(1 + q(e^eps - 1))) = q D0(eps) (Balle, Barthe, Gaboardi 2018)."""
    at = math.log1p(rate * math.expm1(epsilon))
    found = qw.poisson(qw.gaussian(1.0), rate).direction("remove").delta(at)
    base = qw.gaussian(1.0).delta(epsilon)
    assert found.lower <= rate * base.upper * (1 + 1e-9)
    assert rate * base.lower * (1 - 1e-9) <= found.upper


def test_rate_one_is_the_base():
    assert qw.poisson(qw.gaussian(1.0), 1.0) == qw.gaussian(1.0)
    assert qw.poisson(qw.gaussian(1.0), 1) == qw.gaussian(1.0)


def test_sampling_twice_multiplies_the_rates():
    assert qw.poisson(qw.poisson(qw.gaussian(1.0), 0.5), 0.25) == qw.poisson(qw.gaussian(1.0), 0.125)


def test_a_base_that_reveals_reveals_less_often():
    loss = qw.poisson(qw.approximate(0.5, 1.0), 0.25)
    assert 0.25 in loss.direction("remove").delta(3.0)
    assert 1 - 0.75**4 in (4 * loss).direction("remove").delta(30.0)
    # added: what is revealed is only that the record was not sampled, loss -log(3/4)
    assert loss.direction("add").delta(-math.log(0.75) + 1e-9).upper < 1e-9


@pytest.mark.parametrize("removed", [True, False])
@pytest.mark.parametrize("base", [GaussianPair(1.0), LaplacePair(0.8)], ids=["gaussian", "laplace"])
def test_ends_of_the_support(base, removed):
    pair = PoissonPair(base, 0.3, removed)
    high = math.log1p(0.3 * math.expm1(0.8)) if isinstance(base, LaplacePair) else math.inf
    low = math.log1p(0.3 * math.expm1(-0.8)) if isinstance(base, LaplacePair) else math.log1p(-0.3)
    expected = (low, high) if removed else (-high, -low)
    assert (pair.low, pair.high) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("rate", [1e-6, 0.5, 0.999])
def test_below_the_least_loss_the_profile_is_one_minus_t(rate):
    """remove: L > log(1-q) always, so D(t) = 1 - t there; no warning, no cancellation."""
    pair = PoissonPair(GaussianPair(1.0), rate, True)
    at = np.array([math.log1p(-rate) - 1e-3, math.log1p(-rate) - 5.0, -300.0])
    np.testing.assert_allclose(pair.stick(at), -np.expm1(at), rtol=1e-14)
    assert (pair.stick_error(at) < 1e-12).all()


def test_deltas_of_1e_100_and_beyond():
    """DP-SGD-like single release, far out: relative accuracy is kept."""
    law, loss = laws.Poisson(laws.Gaussian(1.25), 0.01), qw.poisson(qw.gaussian(0.8), 0.01).direction("remove")
    for epsilon in (20.0, 26.0, 40.0):
        true = law.stick(epsilon)
        assert true < mp.mpf("1e-55")
        found = loss.delta(epsilon)
        assert true in found
        assert found.relative_width < 1e-9


def test_a_sample_of_nothing_tells_nothing():
    assert qw.poisson(qw.gaussian(1.0), 0.0).epsilon(1e-6).upper == 0.0


@pytest.mark.parametrize("bad", [-0.1, 1.0000001, math.nan, math.inf, "0.5", None, True, [0.5]])
def test_bad_rates_are_named(bad):
    with pytest.raises(InvalidParameter, match=r"^rate must be in \[0, 1\]"):
        qw.poisson(qw.gaussian(1.0), bad)
    with pytest.raises(InvalidParameter, match=r"^rate must be in \(0, 1\]"):
        Poisson(Pure(1.0), bad)


@pytest.mark.parametrize("bad", [3, None, "gaussian", [qw.gaussian(1.0)]])
def test_only_losses_are_sampled(bad):
    with pytest.raises(InvalidParameter, match=r"^loss must be"):
        qw.poisson(bad, 0.5)


@pytest.mark.parametrize(
    "loss", [2 * qw.gaussian(1.0), qw.gaussian(1.0) + qw.pure(1.0), qw.gaussian(1.0).direction("add"), qw.compose()]
)
def test_compositions_are_not_one_release(loss):
    with pytest.raises(Unsupported, match="Poisson subsampling"):
        qw.poisson(loss, 0.5)


def test_bases_with_two_directions_sample_the_removed_one():
    """(1-q) Q + q P against Q, whichever of P and Q is the wider law."""
    p, q = [0.25, 0.5, 0.25], [0.5, 0.375, 0.125]
    for loss in (
        qw.poisson(qw.pair(p, q), 0.25),
        qw.poisson(qw.tradeoff([(0, 1), (0.125, 0.75), (0.5, 0.25), (1, 0)]), 0.25),
    ):
        for side in ("remove", "add"):
            law = laws.Poisson(laws.Finite(p, q), 0.25, side == "remove")
            for epsilon in (-0.05, 0.0, 0.05, 0.1):
                assert law.stick(epsilon) in loss.direction(side).delta(epsilon)


def test_groups_are_refused_with_a_reason():
    with pytest.raises(Unsupported, match="group privacy"):
        qw.poisson(qw.pure(1.0), 0.5).group(2)
    assert qw.poisson(qw.gaussian(1.0), 0.5).group(1) == qw.poisson(qw.gaussian(1.0), 0.5)


@pytest.mark.parametrize("scale", [2e-3, 1.4e-3, 1.36e-3, 1.3e-3, 1e-3, 1e-5])
@pytest.mark.parametrize("rate", [0.01, 0.5])
def test_bases_that_hide_next_to_nothing(scale, rate):
    """P and Q of the base hardly overlap: delta(eps) = 1 - (1 - q) e^eps when adding, up to e^(-1 / (2 scale)).

    One atom of the base is then below the least double, while its e^-loss is above the largest one.
    """
    loss = qw.poisson(qw.laplace(scale), rate)
    with mp.workdps(40):
        truth = mp.log((1 - mp.mpf("1e-3")) / (1 - mp.mpf(str(rate))))
    found = loss.direction("add").epsilon(1e-3)
    assert found.lower <= truth <= found.upper
    taken = loss.direction("remove").delta(0.1)
    assert taken.lower <= rate <= taken.upper + 1e-12


@pytest.mark.parametrize(
    ("scale", "rate"),
    some([(1.36e-3, 0.01), (1.36e-3, 0.5), (1.4e-3, 0.5), (1.3e-3, 0.5), (1e-3, 0.01), (1e-5, 0.5)], 2),
)
def test_many_bases_that_hide_next_to_nothing(scale, rate):
    """At 1.36e-3 the rare atom has lost digits, at 1.3e-3 and below it is no double any more."""
    taken = (7 * qw.poisson(qw.laplace(scale), rate)).direction("remove").delta(0.1)
    assert taken.lower <= 1 - (1 - rate) ** 7 <= taken.upper + 1e-12


@pytest.mark.parametrize("mu", some([1e3, 1e5, 1e30], 2))
def test_edges_beyond_every_double(mu):
    found = (7 * qw.poisson(qw.gdp(mu), 0.5)).direction("remove").delta(1.0)
    assert found.lower <= 1 - 0.5**7 <= found.upper
