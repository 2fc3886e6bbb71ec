"""Every pair against its law written out in 50 digits: tails, hockey sticks, cells and the exchange of the worlds."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.examples import examples, some
from tests.losses import laws
from tests.losses.laws import mp

from quiltwork.losses.dominating_pair import tail_cells
from quiltwork.losses.families.discrete import DiscreteGaussian, DiscreteLaplace
from quiltwork.losses.families.finite import FinitePair, from_laws
from quiltwork.losses.families.gaussian import GaussianPair
from quiltwork.losses.families.laplace import LaplacePair
from quiltwork.losses.families.mixture import mixed_pair
from quiltwork.losses.families.poisson import PoissonPair
from quiltwork.losses.families.pure import response_pair

FINITE_P, FINITE_Q = [0.25, 0.0, 0.125, 0.5, 0.125], [0.125, 0.25, 0.25, 0.375, 0.0]


def subsampled(pair, rate, removed):
    """The Poisson pair of a finite pair, one direction."""
    found = pair.subsampled(rate)
    return found if removed else found.swapped()


# name: (pair, law, centre and scale of its loss)
CASES = {
    "gaussian": (GaussianPair(1.0), laws.Gaussian(1.0), 0.5, 1.0),
    "gaussian narrow": (GaussianPair(1e-4), laws.Gaussian(1e-4), 0.0, 1e-4),
    "gaussian wide": (GaussianPair(30.0), laws.Gaussian(30.0), 450.0, 30.0),
    "laplace": (LaplacePair(0.7), laws.Laplace(0.7), 0.0, 0.5),
    "laplace narrow": (LaplacePair(1e-4), laws.Laplace(1e-4), 0.0, 1e-4),
    "laplace wide": (LaplacePair(25.0), laws.Laplace(25.0), 0.0, 15.0),
    "response": (response_pair(0.6), laws.response(0.6), 0.0, 0.6),
    "response with a reveal": (response_pair(0.6, 0.125), laws.response(0.6, 0.125), 0.0, 0.6),
    "response of nothing": (response_pair(0.0, 0.25), laws.response(0.0, 0.25), 0.0, 1.0),
    "finite": (from_laws(np.array(FINITE_P), np.array(FINITE_Q)), laws.Finite(FINITE_P, FINITE_Q), 0.0, 1.0),
    "discrete gaussian": (DiscreteGaussian(1.5, 2).pairs()["both"], laws.discrete_gaussian(1.5, 2), 0.0, 1.3),
    "discrete laplace": (DiscreteLaplace(1.25, 3).pairs()["both"], laws.discrete_laplace(1.25, 3), 0.0, 1.5),
    "mixture": (
        mixed_pair([(0.25, LaplacePair(0.7)), (0.5, GaussianPair(0.5)), (0.25, response_pair(0.6, 0.125))]),
        laws.Mixture([(0.25, laws.Laplace(0.7)), (0.5, laws.Gaussian(0.5)), (0.25, laws.response(0.6, 0.125))]),
        0.0,
        0.6,
    ),
    "mixture of finite": (
        mixed_pair([(0.25, response_pair(1.1)), (0.75, response_pair(0.6, 0.125))]),
        laws.Mixture([(0.25, laws.response(1.1)), (0.75, laws.response(0.6, 0.125))]),
        0.0,
        0.6,
    ),
}
for removed in (True, False):
    way = "remove" if removed else "add"
    for rate in (1e-6, 0.01, 0.5, 0.999):
        CASES[f"poisson({rate}) gaussian {way}"] = (
            PoissonPair(GaussianPair(1.25), rate, removed),
            laws.Poisson(laws.Gaussian(1.25), rate, removed),
            0.0,
            1.0 if rate > 0.1 else rate,
        )
        CASES[f"poisson({rate}) laplace {way}"] = (
            PoissonPair(LaplacePair(1.25), rate, removed),
            laws.Poisson(laws.Laplace(1.25), rate, removed),
            0.0,
            1.0 if rate > 0.1 else rate,
        )
    CASES[f"poisson response {way}"] = (
        subsampled(response_pair(0.6, 0.125), 0.25, removed),
        laws.Poisson(laws.response(0.6, 0.125), 0.25, removed),
        0.0,
        0.3,
    )
WITH_DENSITY = [name for name, case in CASES.items() if not isinstance(case[0], FinitePair)]
every_pair = pytest.mark.parametrize("name", CASES)
with_density = pytest.mark.parametrize("name", WITH_DENSITY)


def places(name, count=25):
    """Losses across the bulk and far into both tails, never on an atom."""
    _, law, centre, scale = CASES[name]
    rng = np.random.default_rng([ord(letter) for letter in name])
    spots = centre + scale * np.concatenate((rng.uniform(-3, 3, count), rng.uniform(-25, 25, count // 3)))
    atoms = np.array([float(at) for at, _, _ in law.atoms()])
    if atoms.size:
        spots = spots[np.abs(spots[:, None] - atoms).min(axis=1) > 1e-9 * scale]
    return spots


@every_pair
def test_tails_and_the_mass_at_infinity_make_one(name):
    pair, _, _, _ = CASES[name]
    loss = places(name)
    (p_above, q_above), (p_below, q_below) = pair.above(loss), pair.below(loss)
    np.testing.assert_allclose(p_above + p_below + pair.reveal, 1.0, rtol=1e-13)
    np.testing.assert_allclose(q_above + q_below + pair.vanish, 1.0, rtol=1e-13)


@every_pair
def test_tails_are_those_of_the_law_also_where_they_are_tiny(name):
    pair, law, _, _ = CASES[name]
    loss = places(name)
    found, error = [*pair.above(loss), *pair.below(loss)], pair.tail_error(loss)
    for i, x in enumerate(loss.tolist()):
        for values, true in zip(found, [*law.tails(x), *law.below(x)], strict=True):
            if true > 1e-280:
                assert abs(values[i] - true) <= error[i] * true
            else:
                assert values[i] <= 1e-279
    assert np.median(error) < 1e-9  # the claim says something


@every_pair
def test_stick_lies_within_its_claimed_error(name):
    pair, law, _, _ = CASES[name]
    loss = places(name)
    value, (low, high) = pair.stick(loss), pair.stick_ends(loss)
    checked = 0
    for i, x in enumerate(loss.tolist()):
        true = law.stick(x)
        if true > 1e-280:
            assert low[i] <= true <= high[i]
            assert low[i] <= value[i] <= high[i]
            checked += high[i] - low[i] < 1e-9 * high[i]
        else:
            assert value[i] <= 1e-279
    assert checked > 5  # the claim says something


@every_pair
def test_stick_is_what_tails_say(name):
    """D = P(L > l) - e^l Q(L > l): an independent code path in every pair."""
    pair, _, _, _ = CASES[name]
    loss = np.clip(places(name), -600, 600)
    p, q = pair.above(loss)
    grown = np.exp(loss) * q
    inside = grown < 1e3
    assert (np.abs(pair.stick(loss) - (p - grown))[inside] <= 1e-12 * (1 + grown[inside])).all()


@every_pair
def test_swapped_twice_changes_nothing(name):
    pair, _, _, _ = CASES[name]
    loss = places(name)
    twice = pair.swapped().swapped()
    for ours, theirs in ((pair.above, twice.above), (pair.below, twice.below)):
        for a, b in zip(ours(loss), theirs(loss), strict=True):
            np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(pair.stick(loss), twice.stick(loss))
    assert (pair.low, pair.high, pair.reveal, pair.vanish) == (twice.low, twice.high, twice.reveal, twice.vanish)


@every_pair
def test_swapping_is_the_mirror_of_the_profile(name):
    """D'(1/t) = (D(t) - 1 + t)/t, with the reveal mass in D and the vanishing mass in D'."""
    pair, law, _, _ = CASES[name]
    loss = np.clip(places(name), -20, 20)
    mirrored = pair.swapped()
    low, high = (end + pair.vanish for end in mirrored.stick_ends(-loss))
    for i, x in enumerate(loss.tolist()):
        with mp.workdps(400):
            t = mp.exp(mp.mpf(x))
            true = (law.stick(x) + law.reveal - 1 + t) / t
        room = 1e-15 * pair.vanish + mp.mpf("1e-36")
        assert low[i] - room <= true <= high[i] + room
    np.testing.assert_allclose(mirrored.reveal, pair.vanish)
    assert (mirrored.low, mirrored.high) == (-pair.high, -pair.low)


@every_pair
def test_ends_of_the_support_hold_all_mass(name):
    pair, law, _, _ = CASES[name]
    if math.isfinite(pair.high):
        assert pair.above(np.array([pair.high + 1e-9 * (1 + abs(pair.high))]))[0][0] == 0.0
    if math.isfinite(pair.low):
        assert pair.below(np.array([pair.low - 1e-9 * (1 + abs(pair.low))]))[0][0] == 0.0
    for end, sign in ((pair.high, 1), (pair.low, -1)):
        found = [float(at) for at, _, _ in law.atoms()]
        if math.isfinite(end) and found:
            assert sign * max(sign * x for x in found) == pytest.approx(end, rel=1e-14)


@every_pair
def test_atoms_are_those_of_the_law(name):
    pair, law, _, _ = CASES[name]
    losses, masses = pair.atoms()
    true = sorted((float(at), float(p)) for at, p, _ in law.atoms() if p > 1e-290)
    kept = masses > 1e-290
    assert losses[kept] == pytest.approx([at for at, _ in true], rel=1e-13, abs=1e-15)
    assert masses[kept] == pytest.approx([p for _, p in true], rel=1e-11)
    assert (np.diff(losses) >= 0).all()


def wrong_cells(pair, law, edges):
    """Error over claimed error of every cell, mass and stick."""
    cells = pair.cells(edges)
    out = []
    for i in range(edges.size - 1):
        mass, stick = law.cell(edges[i], edges[i + 1])
        for found, true, claimed in (
            (cells.mass[i], mass, cells.mass_error[i]),
            (cells.stick[i], stick, cells.stick_error[i]),
        ):
            out.append(float(abs(mp.mpf(float(found)) - true) / (mp.mpf(float(claimed)) + mp.mpf("1e-290"))))
    return out


@pytest.mark.parametrize(
    ("name", "width"), some([(name, width) for name in WITH_DENSITY for width in (1e-4, 0.03, 0.7)], len(WITH_DENSITY))
)
def test_cells_lie_within_their_claimed_errors(name, width):
    pair, law, centre, scale = CASES[name]
    for start in (-8.0, -2.5, -0.4, 0.3, 1.9, 5.0):
        edges = centre + scale * (start + width * np.arange(5))
        assert max(wrong_cells(pair, law, edges)) <= 1.0


@with_density
def test_cells_and_atoms_make_up_the_whole_law(name):
    pair, _, centre, scale = CASES[name]
    edges = centre + scale * np.linspace(-20, 20, 2001)
    continuous = pair.cells(edges).mass.sum() + pair.below(edges[:1])[0][0] + pair.above(edges[-1:])[0][0]
    assert continuous + pair.atoms()[1].sum() + pair.reveal == pytest.approx(1.0, abs=1e-12)


def test_finite_pairs_have_no_cells():
    cells = response_pair(0.5).cells(np.linspace(-1, 1, 9))
    assert not cells.mass.any()
    assert not cells.stick_error.any()


def test_tail_cells_use_the_small_side_of_each_law_separately():
    """At mu = 8 the medians are 64 apart: far right under Q is still left of the median of P."""
    pair, law = GaussianPair(8.0), laws.Gaussian(8.0)
    edges = np.array([-40.0, -39.0, 0.0, 1.0, 39.0, 40.0])
    p, q, p_error, q_error = tail_cells(pair, edges)
    for i in range(edges.size - 1):
        true = [a - b for a, b in zip(law.tails(edges[i]), law.tails(edges[i + 1]), strict=True)]
        assert abs(p[i] - true[0]) <= p_error[i]
        assert abs(q[i] - true[1]) <= q_error[i]
    assert p_error[0] < 1e-10 * p[0]
    assert q_error[-1] < 1e-10 * q[-1]


@settings(max_examples=examples(40))
@given(
    kind=st.sampled_from(["gaussian", "laplace"]),
    scale=st.floats(-4, math.log10(30)),
    rate=st.floats(1e-6, 0.999),
    removed=st.booleans(),
    spot=st.floats(-12, 12),
)
def test_random_subsampled_sticks_lie_within_their_claims(kind, scale, rate, removed, spot):
    size = 10**scale
    base, base_law = (
        (GaussianPair(size), laws.Gaussian(size)) if kind == "gaussian" else (LaplacePair(size), laws.Laplace(size))
    )
    pair, law = PoissonPair(base, rate, removed), laws.Poisson(base_law, rate, removed)
    loss = spot * min(size, 3.0)
    assume(all(abs(loss - float(at)) > 1e-9 * (1 + abs(loss)) for at, _, _ in law.atoms()))
    true = law.stick(loss)
    low, high = (float(end[0]) for end in pair.stick_ends(np.array([loss])))
    assert low <= true + mp.mpf("1e-280")
    assert true <= high + mp.mpf("1e-280")


@settings(max_examples=examples(150))
@given(
    kind=st.sampled_from(["laplace", "gaussian"]),
    size=st.floats(-3.0, 1.4).map(lambda x: float(f"{10**x:.4g}")),
    rate=st.one_of(
        st.floats(-6.0, -0.01).map(lambda x: float(f"{10**x:.6g}")),
        st.floats(-9.0, -1.0).map(lambda x: 1 - float(f"{10**x:.2g}")),
    ),
    removed=st.booleans(),
    gap=st.one_of(st.floats(-17.0, -1.0).map(lambda x: 10**x), st.integers(-6, 6).map(lambda n: n * 2.0**-53)),
)
def test_sticks_near_the_largest_loss_are_never_rounded_to_zero(kind, size, rate, removed, gap):
    """The place is rounded there, and a relative error of a stick that was rounded to 0 would say 0 at both ends."""
    assume(kind == "laplace" or not removed)  # the loss of a removed record under Gaussian noise has no end
    base, base_law = (
        (GaussianPair(size), laws.Gaussian(size)) if kind == "gaussian" else (LaplacePair(size), laws.Laplace(size))
    )
    pair, law = PoissonPair(base, rate, removed), laws.Poisson(base_law, rate, removed)
    loss = pair.high * (1 - gap)
    grown = mp.expm1(mp.mpf(size) if removed else -mp.mpf(size)) if kind == "laplace" else -mp.one
    top = mp.log1p(mp.mpf(rate) * grown) * (1 if removed else -1)
    true = law.stick(loss) if loss < top else mp.zero
    low, high = (float(end[0]) for end in pair.stick_ends(np.array([loss])))
    assert low <= true <= high + mp.mpf("1e-300")


@pytest.mark.parametrize("delta", [1e-5, 1e-30, 1e-100, 1e-200])
def test_sticks_keep_their_digits_at_tiny_deltas(delta):
    """The loss at which D = delta, found in 50 digits: the double-precision stick there is right to 1e-11."""
    law, pair = laws.Gaussian(0.5), GaussianPair(0.5)
    at = float(
        mp.findroot(
            lambda x: mp.log(law.stick(x)) - mp.log(mp.mpf(delta)),
            (0.45 * math.sqrt(-2 * math.log(delta)), 0.5 * math.sqrt(-2 * math.log(delta))),
        )
    )
    assert abs(pair.stick(np.array([at]))[0] / law.stick(at) - 1) < 1e-11
