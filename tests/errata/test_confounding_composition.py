"""Seed 000, section III and appendices C, J, L: composition. Printed statements that fail, and what holds."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import ndtr
from tests.errata import printed_confounding as printed
from tests.errata.confounding_worlds import (
    COPY,
    HALF,
    LIES,
    SECRET_ITSELF,
    TWIN,
    all_binary,
    crossing,
    noisy_twin,
    part_of_the_data,
    released,
    xor_pad,
)

import quiltwork as qw
from quiltwork.confounding import World, gaussian_copula, repeated

# ---- Proposition 1 (ii)


def test_proposition_1_without_an_inverse_and_without_dependence():
    """x = (s, r): no x has P(x | s) = 1, so that G is not invertible, and L^G is 0 all the same."""
    found = part_of_the_data()
    assert found.world.data.max() < 1  # not invertible by Definition 2
    np.testing.assert_allclose(found.dependence(), 1.0, rtol=1e-14)
    assert (found.laws.exact == found.product().exact).all()
    for odds in (Fraction(1), Fraction(3, 2), Fraction(5)):
        assert found.exact_delta(odds) == found.ignoring_confounder().exact_delta(odds)


def test_proposition_1_holds_for_some_mechanisms_if_the_data_differ():
    """Two laws of the data that are not both a point: the same answer twice has L^G != 0, in 50 random worlds.

    P(1 | x) proportional to 1 + t h(x) has c_s(1, 1) = 1 + t^2 Var_s(h) / (1 + t E_s(h))^2. If this is one number for
    both secrets, for every h and t, then so are all variances and all means, and the two laws are one.
    """
    rng = np.random.default_rng(3)
    for world in range(50):
        data = rng.dirichlet(np.ones(3), 2)
        if world % 5 == 0:
            data[0] = [1.0, 0.0, 0.0]
        answer = rng.dirichlet(np.ones(2), 3)
        found = released(data, answer, answer).dependence()
        assert np.abs(np.log(found[0] / found[1])).max() > 1e-4
        same = released(data[[1, 1]], answer, answer).dependence()
        np.testing.assert_allclose(*same, rtol=1e-12)  # data that do not tell the secrets apart: never


# ---- Theorems 1 (i) to (iii), 3 and 5, Proposition 4


def test_theorem_1_i_holds_of_everything():
    """(0, 1) is a guarantee that a release of the secret itself has."""
    told = released(SECRET_ITSELF, SECRET_ITSELF)
    assert told.exact_delta(1) == 1
    assert told.exact_odds(Fraction(999, 1000)) is None


def test_theorem_1_ii_no_bound_from_the_parts_can_exist():
    """Each mechanism is (0, 0); together they tell all but for the flips, and delta tends to 1 at every epsilon."""
    for flip in (Fraction(1, 10), Fraction(1, 1000), Fraction(1, 10**6)):
        pad = xor_pad(flip)
        assert [pad.alone(index).exact_delta(1) for index in (0, 1)] == [0, 0]
        right = 1 - 2 * flip * (1 - flip)
        assert pad.exact_delta(1) == 2 * right - 1
        assert pad.exact_delta(1000) == max(right - 1000 * (1 - right), 0)
    assert pad.exact_delta(1000) > Fraction(997, 1000)
    assert xor_pad(0).exact_odds(Fraction(99, 100)) is None


def test_ignoring_the_confounder_underestimates_where_noise_cancels():
    pad = xor_pad(Fraction(1, 10))
    assert pad.exact_odds() == Fraction(41, 9)
    assert pad.exact_delta(1) == Fraction(16, 25)
    assert (pad.ignoring_confounder().exact_odds(), pad.ignoring_confounder().exact_delta(1)) == (1, 0)
    assert pad.ignoring_confounder().direction == "underestimates"
    both = all_binary()
    assert both.epsilon(0).lower > both.ignoring_confounder().epsilon(0).upper + 0.03


def test_theorem_3_ii_as_printed_fails_where_noise_is_shared():
    """opt_ < opt and dt_ < dt, printed for every epsilon and delta with L^G != 0: twice the truth on noisy twins."""
    data, channel = TWIN
    product, twin = printed.product(data, channel, channel), noisy_twin()
    assert np.abs(np.log(twin.dependence()[0] / twin.dependence()[1])).max() > 1  # L^G is not 0
    odds = [Fraction(n, 10) for n in range(11, 86)]
    assert all(printed.stick(product, t) > twin.exact_delta(t) for t in odds)
    assert (printed.stick(product, Fraction(3)), twin.exact_delta(3)) == (Fraction(7199, 20000), 0)
    ignoring = twin.ignoring_confounder()
    assert [ignoring.exact_delta(t) for t in odds] == [printed.stick(product, t) for t in odds]
    assert twin.epsilon(0).upper < 1.09834025385 < 2.14424134644 < ignoring.epsilon(0).lower
    assert ignoring.direction == "overestimates"


@pytest.mark.parametrize("make", [noisy_twin, all_binary, crossing])
def test_theorem_3_ii_the_strict_sign_fails_at_the_ends(make):
    """From delta(0) on both epsilons are 0, from the largest loss on both deltas; every trade-off is 0 at level 1."""
    found = make()
    ignoring = found.ignoring_confounder()
    large = max(found.exact_delta(1), ignoring.exact_delta(1))
    assert large < 1
    assert found.exact_odds(large) == ignoring.exact_odds(large) == 1
    odds = max(found.exact_odds(), ignoring.exact_odds())
    assert found.exact_delta(odds) == ignoring.exact_delta(odds) == 0
    assert max(found.beta(1.0).upper, ignoring.beta(1.0).upper) < 1e-300


def test_theorem_3_i_its_condition_is_not_necessary():
    """Noisy twins at delta 1/100 each keep to basic composition, though L^G reaches 1.046 and log D is 0.0097."""
    twin = noisy_twin()
    true, product = twin.laws.exact, twin.product().exact
    odds, delta = twin.alone(0).exact_odds(Fraction(1, 100)) ** 2, Fraction(2, 100)
    law = [(p, p / q) for p, q in zip(*product, strict=True)]
    share, ratio = max(law, key=lambda one: one[1])
    scale = odds / (ratio * (1 - delta / share))  # D of the proof: only the largest loss counts here
    assert printed.scaled_excess(law, 1, odds) < printed.scaled_excess(law, scale, odds) == delta
    assert math.log(scale) == pytest.approx(0.0097, abs=5e-5)
    parts = zip(*true, *product, strict=True)
    assert max(math.log(t * q / (u * p)) for t, u, p, q in parts) == pytest.approx(1.0459, abs=5e-5)
    assert twin.exact_delta(odds) == 0 < delta  # and basic composition holds


def test_the_losses_of_the_parts_are_not_independent():
    """Noisy twins: under the composition both losses agree with probability 0.9802; independent, less often."""
    law = noisy_twin().laws.exact[0].reshape(2, 2)
    alone = law.sum(axis=1)
    assert law[0, 0] + law[1, 1] == Fraction(9802, 10000)
    assert alone[0] ** 2 + alone[1] ** 2 == Fraction(62005, 100000)


def test_opt_of_the_product_is_not_optimal_composition():
    """Odds 2, told half of the time: OptComp of two (log 2, 0) has delta(0) = 1/3, the product itself 1/4."""
    half, third, sixth = HALF, Fraction(1, 3), Fraction(1, 6)
    channel = [[half, third, sixth], [half, sixth, third]]
    product = printed.product(SECRET_ITSELF, channel, channel)
    assert released(SECRET_ITSELF, channel).exact_odds() == 2
    assert printed.stick(product, Fraction(1)) == Fraction(1, 4)
    worst = qw.compose(2 * qw.approximate(math.log(2), 0.0)).delta(0.0)
    assert worst.lower == pytest.approx(1 / 3, rel=1e-9)


def test_theorem_5_as_printed_fails_for_every_number_of_copies():
    """k lies with probability 0.3 about one bit: the truth stays below log 3, the product grows without end."""
    world = World(data=COPY)
    psi = world.release(LIES).effective(0)
    for copies in (2, 4, 12):
        truth = world.release(repeated(LIES, copies)).epsilon(0)
        claimed = copies * math.log(psi[0, 0] / psi[1, 0])
        assert truth.upper < min(math.log(3), claimed - 0.05)
    assert (truth.upper, claimed) == (pytest.approx(1.0985, abs=1e-4), pytest.approx(4.8656, abs=1e-4))


def test_theorem_3_ii_as_printed_fails_both_ways_in_one_example():
    """Too small at epsilon 0 and too large at log 1.5: no order between the two profiles."""
    both = crossing()
    ignoring = both.ignoring_confounder()
    assert (both.exact_delta(1), ignoring.exact_delta(1)) == (Fraction(79, 500), Fraction(141, 1000))
    assert (both.exact_delta("3/2"), ignoring.exact_delta("3/2")) == (Fraction(3, 250), Fraction(63, 2000))
    assert ignoring.direction == "crosses"


def test_how_often_the_printed_direction_is_wrong():
    """300 random worlds: at delta = 0 the product is too small in some and too large in others, and many cross."""
    rng = np.random.default_rng(0)
    said = []
    for _ in range(300):
        first, second = rng.dirichlet(np.ones(2), 3), rng.dirichlet(np.ones(2), 3)
        said.append(released(rng.dirichlet(np.ones(3), 2), first, second).ignoring_confounder().direction)
    for word in ("underestimates", "overestimates", "crosses"):
        assert said.count(word) > 20


@pytest.mark.parametrize("copies", [2, 3, 10])
def test_theorem_3_ii_as_printed_fails_for_gaussian_data(copies):
    """x ~ N(s, 1) and y_i = x + N(0, 1): both laws are Gaussian tests, and the printed order is reversed for all."""
    found = World.gaussian([0, 1], sd=1).release(*[1] * copies)
    assert found.curve.square == Fraction(copies, 1 + copies)  # mu^2; the product has mu^2 = copies / 2
    product = qw.gdp(math.sqrt(copies / 2))
    for epsilon in (0.0, 0.5, 1.0, 3.0):
        assert found.delta(epsilon).upper < product.delta(epsilon).lower
    assert found.ignoring_confounder().direction == "overestimates"
    if copies == 2:
        assert found.epsilon(0.01).safe == pytest.approx(1.766816837036, abs=1e-10)
        assert product.epsilon(0.01).safe == pytest.approx(2.317789040304, abs=1e-10)


def test_proposition_4_as_printed_fails():
    """T(D_[2]) <= T(D_1,2) at every level: the true test of noisy twins has the larger type II error."""
    twin = noisy_twin()
    for alpha in (0.05, 0.1, 0.15):
        assert twin.beta(alpha).lower > twin.ignoring_confounder().beta(alpha).upper + 0.05
    both = crossing()
    difference = [
        float(both.beta(alpha).midpoint) - float(both.ignoring_confounder().beta(alpha).midpoint)
        for alpha in np.linspace(0.02, 0.98, 49)
    ]
    assert min(difference) < -1e-3 < 1e-3 < max(difference)


def test_proposition_4_equality_without_independence():
    """x = (s, r), both outputs tell r and a lie about s of their own: dependent, and as informative as the product."""
    zero, lie = Fraction(0), Fraction(1, 4)
    channel = [
        [(1 - lie if bit == s else lie) if coin == r else zero for bit, coin in itertools.product((0, 1), repeat=2)]
        for s, r in itertools.product((0, 1), repeat=2)
    ]
    found = released([[HALF, HALF, zero, zero], [zero, zero, HALF, HALF]], channel, channel)
    assert (found.laws.exact != found.product().exact).any()
    assert found.exact_odds() == 9
    for odds in (Fraction(1), Fraction(3), Fraction(5), Fraction(9)):  # both are linear in between
        assert found.exact_delta(odds) == found.ignoring_confounder().exact_delta(odds)


def test_the_conjugate_is_convex_and_no_trade_off():
    """f(a) = 1 - a: f*(y) = max(y, -1) is convex, not concave, and f*(1) = 1 where a trade-off function has 0."""
    values = [printed.conjugate(lambda level: 1 - level, slope) for slope in (-3.0, -1.0, 1.0)]
    assert values == [-1.0, -1.0, 1.0]
    assert values[1] < (values[0] + values[2]) / 2


def test_both_are_at_least_the_largest_of_the_parts():
    """What does hold: each mechanism is a part of either, so neither lies below any of them."""
    rng = np.random.default_rng(1)
    for _ in range(50):
        found = released(rng.dirichlet(np.ones(4), 2), rng.dirichlet(np.ones(2), 4), rng.dirichlet(np.ones(3), 4))
        for epsilon in (0.0, 0.3, 1.0):
            parts = max(float(found.alone(index).delta(epsilon).lower) for index in (0, 1))
            assert float(found.delta(epsilon).upper) >= parts
            assert float(found.ignoring_confounder().delta(epsilon).upper) >= parts


# ---- Lemma 5


def test_lemma_5_cross_entropy_does_not_order_tests():
    """Noisy twins: the true posterior has the smaller loss, and the other experiment is the more informative one."""
    twin = noisy_twin()
    true, product = twin.laws.values, twin.product().values
    losses = printed.cross_entropy(true, true), printed.cross_entropy(true, product)
    assert losses == (pytest.approx(0.56498, abs=1e-5), pytest.approx(0.64787, abs=1e-5))
    assert losses[0] < losses[1]  # (i) of the lemma holds, as Lemma 4 says it must
    assert twin.beta(0.1).lower > twin.ignoring_confounder().beta(0.1).upper  # and (ii) does not
    assert printed.cross_entropy(product, product) == pytest.approx(
        0.47148, abs=1e-5
    )  # each with its own law: reversed


def test_lemma_5_even_matched_entropies_do_not_order_tests():
    """An erasure of 0.45 leaves less entropy than lies of 0.11, and tells two values apart less often."""
    erased, lied = np.array([[0.55, 0.45, 0.0], [0.0, 0.45, 0.55]]), np.array([[0.89, 0.11], [0.11, 0.89]])
    entropies = []
    for table in (erased, lied):
        joint = 0.5 * table
        posterior = table / table.sum(axis=0)
        inside = joint > 0
        entropies.append(float(-(joint[inside] * np.log2(posterior[inside])).sum()))
    assert entropies == [pytest.approx(0.45, abs=1e-12), pytest.approx(0.49992, abs=1e-5)]
    world = World(data=SECRET_ITSELF)
    assert world.release(erased).delta(0.0).upper < 0.5501 < 0.7799 < world.release(lied).delta(0.0).lower
    assert world.release(erased).delta(3.0).lower > 0.54 > world.release(lied).delta(3.0).upper


# ---- equation (11)


def test_equation_11_is_an_identity_where_it_is_defined():
    found = crossing()
    parts = [np.log(found.effective(index)[0] / found.effective(index)[1]) for index in (0, 1)]
    alone = np.add.outer(*parts).ravel()
    rest = np.log(found.dependence()[0] / found.dependence()[1])
    whole = np.log(found.laws.values[0] / found.laws.values[1])
    np.testing.assert_allclose(rest + alone, whole, atol=1e-14)


def test_equation_11_has_no_density_when_two_outputs_are_one():
    """y_1 = y_2 = x with x ~ N(s, 1): all mass lies on the diagonal, where the product of densities has none.

    In cells of width h the dependence density grows like 1/h, without a limit.
    """
    largest = []
    for cells in (20, 40, 80):
        edges = np.linspace(-4.0, 5.0, cells + 1)
        law = np.diff(ndtr(edges[None, :] - np.array([[0.0], [1.0]])), axis=1)
        law /= law.sum(axis=1, keepdims=True)
        same = World(data=law).release(np.eye(cells), np.eye(cells))
        largest.append(float(np.nanmin(same.dependence()[0][np.eye(cells, dtype=bool).ravel()])))
    assert largest[1] > 1.8 * largest[0]
    assert largest[2] > 1.8 * largest[1]


# ---- equation (12)


def test_equation_12_adds_copulas_that_are_not_factors():
    """x ~ N(s, 1), unit noises of correlation 1/2: the loss has slope 2/7 in each output; (12) has 1/6 or 5/42."""
    truth = np.linalg.solve([[2.0, 1.5], [1.5, 2.0]], np.ones(2))
    assert truth == pytest.approx([2 / 7] * 2, rel=1e-12)
    assert printed.equation_12(1 / 2) == pytest.approx([1 / 6] * 2, rel=1e-12)  # the copula of the noises
    assert printed.equation_12(3 / 4) == pytest.approx([5 / 42] * 2, rel=1e-12)  # that of the outputs


def test_equation_12_is_an_identity_with_one_dependence_density():
    """Tied noises and a confounder, in tables: the joint law over the product of the parts holds all of both."""
    tied = World(data=COPY).release(joint=gaussian_copula(LIES, LIES, 0.5), outputs=[2, 2])
    alone = World(data=COPY).release(LIES).laws.values
    parts = np.add.outer(*[np.log(alone[0] / alone[1])] * 2).ravel()
    rest, whole = (np.log(rows[0] / rows[1]) for rows in (tied.dependence(), tied.laws.values))
    assert np.abs(rest).max() > 0.1
    np.testing.assert_allclose(rest + parts, whole, atol=1e-12)
