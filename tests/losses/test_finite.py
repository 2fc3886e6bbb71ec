"""Finite pairs and pair(p, q): laws, lattices hidden in them, subsampling by the definition."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.losses import laws
from tests.losses.laws import mp

import quiltwork as qw
from quiltwork.errors import InvalidParameter
from quiltwork.losses.families.finite import FinitePair, from_laws, mixed_loss

masses = st.lists(st.integers(0, 12), min_size=2, max_size=6)


def normalised(weights):
    """Dyadic-ish floats that sum to one, and the rationals they stand for."""
    total = sum(weights)
    return np.array([w / total for w in weights]), [Fraction(w, total) for w in weights]


def hockey_stick(p, q, t):
    """The definition, in rationals."""
    return sum(max(a - t * b, Fraction(0)) for a, b in zip(p, q, strict=True))


@given(p=masses, q=masses, t=st.fractions(Fraction(1, 40), 40, max_denominator=40))
def test_profile_by_the_definition(p, q, t):
    size = min(len(p), len(q))
    p, q = p[:size], q[:size]
    assume(sum(p) and sum(q))
    (p, exact_p), (q, exact_q) = normalised(p), normalised(q)
    pair = from_laws(p, q)
    found = float(pair.stick(np.array([math.log(t)]))[0]) + pair.reveal
    assert found == pytest.approx(float(hockey_stick(exact_p, exact_q, t)), rel=1e-12, abs=1e-14)


@given(p=masses, q=masses)
def test_swapping_the_pair_is_swapping_the_laws(p, q):
    size = min(len(p), len(q))
    p, q = p[:size], q[:size]
    assume(sum(p) and sum(q))
    (p, _), (q, _) = normalised(p), normalised(q)
    one, two = from_laws(p, q).swapped(), from_laws(q, p)
    assert (one.reveal, one.vanish) == (two.reveal, two.vanish)
    loss = np.linspace(-3, 3, 14) + 1e-3
    np.testing.assert_allclose(one.stick(loss), two.stick(loss), rtol=1e-12, atol=1e-15)


@given(
    p=masses,
    q=masses,
    rate=st.floats(1e-6, 1.0, exclude_max=True),
    t=st.fractions(Fraction(1, 20), 20, max_denominator=30),
)
def test_subsampling_by_the_definition(p, q, rate, t):
    """(1-r) Q + r P against Q, both ways, in rationals."""
    size = min(len(p), len(q))
    p, q = p[:size], q[:size]
    assume(sum(p) and sum(q))
    (p, exact_p), (q, exact_q) = normalised(p), normalised(q)
    share = Fraction(rate)
    blend = [(1 - share) * b + share * a for a, b in zip(exact_p, exact_q, strict=True)]
    pair = from_laws(p, q).subsampled(rate)
    for found, first, second in ((pair, blend, exact_q), (pair.swapped(), exact_q, blend)):
        value = float(found.stick(np.array([math.log(t)]))[0]) + found.reveal
        assert value == pytest.approx(float(hockey_stick(first, second, t)), rel=1e-9, abs=1e-13)


@given(loss=st.floats(-800, 800), rate=st.floats(1e-9, 1 - 1e-9))
def test_mixed_loss_keeps_its_digits(loss, rate):
    """log(1 - q + q e^l), also where 1 - q + q e^l is small, where it is near 1, and where e^l overflows."""
    with mp.workdps(400):
        true = mp.log1p(mp.mpf(rate) * mp.expm1(mp.mpf(loss)))
    assert abs(mixed_loss(np.array([loss]), rate)[0] - true) <= 4e-16 * (abs(true) + mp.mpf("1e-300")) * 4


@pytest.mark.parametrize("rate", [0.9, 0.999999, 1 - 1e-12])
def test_rates_near_one_keep_the_largest_loss(rate):
    """epsilon at delta = 0 of the added direction: -log(1 - q + q e^-10)."""
    found = qw.poisson(qw.pure(10.0), rate).direction("add").epsilon(0.0)
    true = -mp.log(1 - mp.mpf(rate) + mp.mpf(rate) * mp.exp(-10))
    assert found.lower <= true <= found.upper
    assert found.relative_width < 1e-12


def test_equal_ratios_are_merged():
    pair = from_laws(np.array([0.25, 0.25, 0.5]), np.array([0.125, 0.125, 0.75]))
    assert pair.losses.size == 2
    assert sorted(pair.p) == [0.5, 0.5]


def test_disjoint_laws_reveal_everything():
    loss = qw.pair([1.0, 0.0], [0.0, 1.0])
    assert loss.delta(5.0).lower == 1.0
    assert math.isinf(loss.epsilon(0.5).lower)
    assert loss.beta(0.2).upper <= 1e-299
    assert (4 * loss).delta(1.0).lower == 1.0


def test_equal_laws_reveal_nothing():
    loss = 10 * qw.pair([0.25, 0.75], [0.25, 0.75])
    assert loss.epsilon(1e-9).upper <= 1e-9
    assert loss.delta(0.0).upper <= 1e-9
    assert 0.75 in loss.beta(0.25)


@pytest.mark.parametrize(
    ("losses", "step"),
    [
        ([-1.0, 1.0], 2.0),
        ([-0.3, 0.0, 0.3], 0.3),
        ([0.5], 1.0),
        ([0.1, 0.3, 0.7], 0.2),
    ],
)
def test_a_lattice_through_the_atoms_is_found(losses, step):
    masses_ = np.full(len(losses), 1.0 / len(losses))
    lattice = FinitePair(np.array(losses), masses_, masses_).lattice()
    assert lattice is not None
    np.testing.assert_allclose(
        float(lattice.offset) + float(lattice.step) * lattice.indices, losses, rtol=1e-14, atol=1e-16
    )
    assert float(lattice.step) == pytest.approx(step)
    assert not lattice.exact  # a lattice of floats is never compared with another


@pytest.mark.parametrize("losses", [[0.0, 1.0, math.pi], [0.0, 1e-9, 1.0], [-1.0, 0.123456, 1.0]])
def test_no_lattice_is_invented(losses):
    masses_ = np.full(3, 1 / 3)
    assert FinitePair(np.array(losses), masses_, masses_).lattice() is None


def test_symmetric_pairs_have_one_direction():
    assert set(qw.pair([0.25, 0.75], [0.75, 0.25]).parts[0].family.pairs()) == {"both"}
    assert set(qw.pair([0.25, 0.75], [0.5, 0.5]).parts[0].family.pairs()) == {"remove", "add"}


def test_directions_are_the_two_orders():
    p, q = [0.2, 0.3, 0.5], [0.5, 0.3, 0.2]
    p[0], p[1] = 0.1, 0.4
    loss, law, back = qw.pair(p, q), laws.Finite(p, q), laws.Finite(q, p)
    for epsilon in (-1.0, 0.0, 0.4, 0.9):
        assert law.stick(epsilon) in loss.direction("remove").delta(epsilon)
        assert back.stick(epsilon) in loss.direction("add").delta(epsilon)
        assert max(law.stick(epsilon), back.stick(epsilon)) in loss.delta(epsilon)


def test_delta_exactly_on_an_atom_holds_the_truth():
    """The float nearest to an atom is not the atom: what is left beyond it is of order 1e-17, not zero."""
    p, q = [0.3, 0.7], [0.6, 0.4]
    law = laws.Finite(p, q)
    for way in (0, -1, 1):
        at = math.nextafter(math.log(0.7 / 0.4), way * math.inf) if way else math.log(0.7 / 0.4)
        assert law.stick(at) in qw.pair(p, q).direction("remove").delta(at)


@pytest.mark.parametrize(
    ("p", "q", "name"),
    [
        ([0.5, 0.4], [0.5, 0.5], "p"),
        ([0.5, 0.5], [0.5, 0.6], "q"),
        ([0.5, 0.5], [1.0], "p and q"),
        ([1.5, -0.5], [0.5, 0.5], "p"),
        ([math.nan, 1.0], [0.5, 0.5], "p"),
        ([math.inf, 1.0], [0.5, 0.5], "p"),
        ([], [], "p"),
        ([[0.5, 0.5]], [[0.5, 0.5]], "p"),
        ("ab", "ab", "p"),
        (["x", "y"], [0.5, 0.5], "p"),
        (0.5, 0.5, "p"),
        (None, [1.0], "p"),
        ([0.5, 0.5], 3, "q"),
    ],
)
def test_bad_laws_are_named(p, q, name):
    with pytest.raises(InvalidParameter, match=rf"\b{name} must be"):
        qw.pair(p, q)


def test_sums_are_refused_not_repaired():
    with pytest.raises(InvalidParameter, match=r"sum of p must be 1, got 0\.9999"):
        qw.pair([0.4999, 0.5], [0.5, 0.5])
    qw.pair([1 / 3] * 3, [1 / 3] * 3)  # rounding is not an error
