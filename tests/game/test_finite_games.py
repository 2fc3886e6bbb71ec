"""Finite games against reference rationals, brute force and mpmath."""

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples
from tests.game.finite_cases import REFERENCE, games, laws, lie, rules, xor

from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.game.finite import FiniteGame, dominates, exactly_half, independent, uniform
from quiltwork.game.finite.theorems.gaussian_tests import beta_at
from quiltwork.numbers.stated import double_above, double_below, log_ends

HALF = Fraction(1, 2)


# ---- reference values


@pytest.mark.parametrize("name", REFERENCE["exact_games"])
def test_summary_games_equal_the_reference_as_fractions(name):
    expected = REFERENCE["exact_games"][name]
    game = FiniteGame.summary(expected["d"], expected["noise"])
    assert game.exact
    assert len(game.outputs) == expected["n_outputs"]
    for gamma, (text, value) in expected["max_BWMA"].items():
        assert game.max_bwma(gamma) == Fraction(text)
        assert game.bwma_of(game.best_response(gamma), gamma).advantage == Fraction(text)
        assert float(game.max_bwma(gamma)) == value
    assert game.advantages() == tuple(Fraction(text) for text, _ in expected["Adv_k"])
    assert game.sum_squared_posteriors() == Fraction(expected["sum_Ep2"][0])
    assert game.cel_factorised() == pytest.approx(expected["CEL_factorised"], abs=1e-10)
    assert game.cel_joint() == pytest.approx(expected["CEL_joint"], abs=1e-10)


def test_the_table_of_theorem_1():
    expected = REFERENCE["propositions"]["thm1"]["table"]
    noise = [("-1/4", "1/4"), (0, "1/2"), ("1/4", "1/4")]
    game = FiniteGame.summary([[1, 0], [0, 1], [1, 1]], noise)
    everybody = np.ones((3, 54), dtype=bool)
    played = {
        "always_one": everybody,
        "thresholded_posterior": game.best_response(HALF),
        "posterior_sampling": game.marginal_posteriors(),
        "always_zero": ~everybody,
    }
    for name, rule in played.items():
        counts = game.bwma_of(rule, HALF)
        assert float(counts.expected_true_positives) == pytest.approx(expected[name]["E_TP"], abs=1e-10)
        assert float(counts.expected_false_positives) == pytest.approx(expected[name]["E_FP"], abs=1e-10)
        assert float(counts.advantage) == pytest.approx(expected[name]["Adv05"], abs=1e-10)


# ---- brute force


@given(games(outputs=2), st.sampled_from(["1/5", "1/2", "2/3"]))
@settings(max_examples=examples(25))
def test_no_rule_does_better_than_the_thresholded_posterior(game, gamma):
    """Over every deterministic rule, of which the randomised ones are mixtures."""
    width = len(game.outputs)
    best = max(game.bwma_of(rule, gamma).advantage for rule in rules(game.candidates, width))
    assert game.max_bwma(gamma) == best == game.bwma_of(game.best_response(gamma), gamma).advantage


@given(games(), st.sampled_from(["1/5", "1/2", "2/3"]))
@settings(max_examples=examples(25))
def test_counts_and_posteriors_are_sums_over_secrets(game, gamma):
    posterior = game.marginal_posteriors()
    tp = fp = Fraction(0)
    for (b, theta), x in itertools.product(
        zip(game.secrets.tolist(), game.prior, strict=True), range(len(game.outputs))
    ):
        row = game.secrets.tolist().index(b)
        mass = theta * game.channel[row, x]
        tp += mass * sum(p * bit for p, bit in zip(posterior[:, x], b, strict=True))
        fp += mass * sum(p * (1 - bit) for p, bit in zip(posterior[:, x], b, strict=True))
    counts = game.bwma_of(posterior, gamma)
    assert (counts.expected_true_positives, counts.expected_false_positives) == (tp, fp)
    assert counts.advantage == (1 - Fraction(gamma)) * tp - Fraction(gamma) * fp


@given(laws(4), laws(4, positive=True))
@settings(max_examples=examples(30))
def test_the_trade_off_function_is_the_hull_of_all_tests(member, other):
    """Each set of rejected outputs is a test; the function is below all of them and passes through some."""
    game = FiniteGame(["1/2", "1/2"], [other, member])
    vertices = game.vertices(0)
    tests = set()
    for size in range(5):
        for chosen in itertools.combinations(range(4), size):
            alpha, power = sum(other[x] for x in chosen), sum(member[x] for x in chosen)
            tests.add((Fraction(alpha), 1 - Fraction(power)))
    assert all(beta_at(vertices, alpha) <= beta for alpha, beta in tests)
    assert set(vertices) <= tests
    assert vertices[0][0] == 0
    assert vertices[-1][1] == 0


@given(laws(4), laws(4))
@settings(max_examples=examples(25))
def test_curves_of_floats_are_safe_and_tight(member, other):
    game = FiniteGame(["1/2", "1/2"], [other, member])
    curve = game.trade_off(0)
    for alpha, beta in game.vertices(0):
        found = curve.beta(float(alpha))
        assert Fraction(found.lower) <= beta_at(game.vertices(0), Fraction(float(alpha)))
        assert found.upper == pytest.approx(float(beta), abs=1e-12)
    for epsilon in (0.0, 0.5, 2.0):
        odds = Fraction(math.exp(epsilon))
        sticks = [
            sum(max(a - odds * b, 0) for a, b in zip(*pair, strict=True)) for pair in ((member, other), (other, member))
        ]
        assert float(max(sticks)) == pytest.approx(game.loss(0).delta(epsilon).upper, abs=1e-12)


# ---- laws


@given(games(uniform=True))
@settings(max_examples=examples(40))
def test_the_advantage_at_one_half_is_a_quarter_of_the_sum(game):
    """Uniform prior: max BWMA(1/2) = (1/4) sum_k Adv_k; the paper prints 1/2."""
    assert game.max_bwma(HALF) == sum(game.advantages()) / 4


@given(games(), st.data())
@settings(max_examples=examples(25))
def test_post_processing_helps_no_attacker(game, data):
    """Proposition 3, for every measure there is here."""
    width = data.draw(st.integers(1, 3))
    after = game.after([data.draw(laws(width)) for _ in game.outputs])
    assert after.exact
    for gamma in ("1/4", "1/2", "3/4"):
        assert after.max_bwma(gamma) <= game.max_bwma(gamma)
    assert all(a <= b for a, b in zip(after.advantages(), game.advantages(), strict=True))
    assert after.sum_squared_posteriors() <= game.sum_squared_posteriors()
    assert after.informed_odds() <= game.informed_odds()
    assert dominates(game, after)
    assert after.cel_joint() >= game.cel_joint() - 1e-12
    assert after.cel_factorised() >= game.cel_factorised() - 1e-12


@given(games(most=3))
@settings(max_examples=examples(20))
def test_entropies_are_ordered_and_floats_agree(game):
    assert game.cel_factorised() >= game.cel_joint() - 1e-12
    plain = FiniteGame(game.prior.astype(float), game.channel.astype(float))
    assert not plain.exact
    assert plain.max_bwma(0.5) == pytest.approx(float(game.max_bwma(HALF)), abs=1e-13)
    assert plain.advantages() == pytest.approx([float(value) for value in game.advantages()], abs=1e-13)
    assert plain.sum_squared_posteriors() == pytest.approx(float(game.sum_squared_posteriors()), abs=1e-13)
    assert np.allclose(plain.marginal_posteriors(), game.marginal_posteriors().astype(float), rtol=0, atol=1e-13)
    for one, two in ((plain.informed_level(), game.informed_level()), (plain.marginal_level(), game.marginal_level())):
        assert one.lower <= two.upper  # brackets of one number meet
        assert two.lower <= one.upper


def test_cross_entropy_is_the_loss_of_the_posterior():
    game = FiniteGame(
        independent(["1/3", "1/2"]), [lie("1/4")[0] for _ in range(2)] + [lie("1/4")[1] for _ in range(2)]
    )
    posterior = game.marginal_posteriors().astype(float)
    loss = 0.0
    for b, row in zip(game.secrets, game.joint.astype(float), strict=True):
        for x, mass in enumerate(row):
            loss -= mass * sum(math.log(p if bit else 1 - p) for p, bit in zip(posterior[:, x], b, strict=True))
    assert game.cel_factorised() == pytest.approx(loss, abs=1e-14)


# ---- levels


def test_levels_of_randomised_response_and_of_xor():
    coin = FiniteGame(["1/2", "1/2"], lie("1/4"))
    assert coin.informed_odds() == 3
    assert math.log(3) in coin.informed_level()
    assert coin.informed_level() == coin.marginal_level()
    assert coin.informed_level().width < 1e-14
    hidden = xor()
    assert hidden.marginal_level() == coin.after([[1], [1]]).informed_level()  # both exactly zero
    assert hidden.marginal_level().upper == 0
    assert hidden.informed_level().upper == math.inf
    assert hidden.advantages() == (0, 0)
    worst = hidden.worst_informed()
    assert (worst.odds, worst.secret) == (math.inf, 0)


@given(games(most=3, positive=True))
@settings(max_examples=examples(30))
def test_the_informed_level_is_the_worst_of_all_neighbours(game):
    odds = max(
        max(game.channel[i, x] / game.channel[j, x], game.channel[j, x] / game.channel[i, x])
        for i, j in itertools.combinations(range(len(game.prior)), 2)
        if abs(game.secrets[i] - game.secrets[j]).sum() == 1
        for x in range(len(game.outputs))
    )
    assert game.informed_odds() == odds
    worst = game.worst_informed()
    step = 2 ** (game.candidates - 1 - worst.individual)
    pair = game.channel[worst.secret, worst.output], game.channel[worst.secret + step, worst.output]
    assert max(pair) / min(pair) == odds


@given(st.fractions(min_value=Fraction(1, 10**9), max_value=10**9), st.integers(-400, 400))
@settings(max_examples=examples(50))
def test_logarithms_hold_the_truth(value, power):
    """Against 60 digits; also ratios near one and far outside the range of floats."""
    for ratio in (value * Fraction(2) ** (4 * power), 1 + value / 10**20):
        low, high = log_ends(ratio)
        with mpmath.workdps(60):
            truth = mpmath.log(mpmath.mpf(ratio.numerator) / ratio.denominator)
            assert mpmath.mpf(low.numerator) / low.denominator <= truth <= mpmath.mpf(high.numerator) / high.denominator
        assert float(high - low) <= 1e-15 * (2 + 2 * abs(float(low)))


@given(st.fractions())
@settings(max_examples=examples(50))
def test_rounding_of_fractions_is_outward_and_tight(value):
    assert Fraction(double_below(value)) <= value <= Fraction(double_above(value))
    assert double_above(value) <= np.nextafter(double_below(value), np.inf)


def test_rounding_of_fractions_outside_the_floats():
    huge = Fraction(10) ** 400
    assert (double_below(huge), double_above(huge)) == (np.finfo(float).max, math.inf)
    assert (double_below(-huge), double_above(-huge)) == (-math.inf, -np.finfo(float).max)
    assert (double_below(1 / huge), double_above(1 / huge)) == (0.0, 5e-324)


# ---- construction


def test_priors_and_summaries():
    assert uniform(2).tolist() == [Fraction(1, 4)] * 4
    assert exactly_half(2).tolist() == [0, HALF, HALF, 0]
    assert independent(["1/4", 0.5]).tolist() == [0.375, 0.375, 0.125, 0.125]
    game = FiniteGame.product_prior(["1/4"], lie("1/4"))
    assert game.rates.tolist() == [Fraction(1, 4)]
    exact = FiniteGame.summary([[1, 0], [0, 1]])  # no noise: the mean itself, and nothing for no members
    assert exact.outputs == ((0, 0), (0, 1), (HALF, HALF), (1, 0))
    clipped = FiniteGame.summary([[1], [0]], [("-1/4", 0.5), (0.25, 0.5)], clip=True)
    assert clipped.outputs == ((0,), (Fraction(1, 4),), (Fraction(3, 4),), (1,))
    assert clipped.channel[0].tolist() == [HALF, HALF, 0, 0]


def test_outputs_that_never_happen_leave_the_prior():
    game = FiniteGame(["3/4", "1/4"], [[1, 0], [1, 0]])
    assert game.marginal_posteriors().tolist() == [[Fraction(1, 4), Fraction(1, 4)]]
    assert game.sum_squared_posteriors() == Fraction(1, 16)
    assert game.cel_joint() == pytest.approx(math.log(4) - 0.75 * math.log(3), abs=1e-15)


def test_games_are_read_only_and_say_what_they_are():
    game = FiniteGame(["1/2", "1/2"], lie("1/4"))
    with pytest.raises(ValueError, match="read-only"):
        game.channel[0, 0] = 1
    assert str(game) == "finite game: 1 candidates, 2 outputs, in fractions"
    assert "floats" in repr(FiniteGame([0.5, 0.5], lie("1/4")))


# ---- bad input

FAIR = ["1/2", "1/2"]


@pytest.mark.parametrize(
    ("prior", "channel"),
    [
        (["1/2", "1/3"], lie("1/4")),  # not normalised
        ([0.5, 0.4], lie("1/4")),
        (["3/2", "-1/2"], lie("1/4")),  # negative
        ([1.5, -0.5], lie("1/4")),
        ([math.nan, 1.0], lie("1/4")),
        ([math.inf, 0.0], lie("1/4")),
        (np.array([np.nan, 1.0]), lie("1/4")),
        ([True, False], lie("1/4")),  # booleans are no probabilities
        (["1", "x"], lie("1/4")),
        (["1e999999999", "0"], lie("1/4")),
        ([None, 1], lie("1/4")),
        ([1j, 1], lie("1/4")),
        ([], lie("1/4")),
        ("1/2", lie("1/4")),
        (0.5, lie("1/4")),
        ([["1/2", "1/2"]], lie("1/4")),
        (["1/3", "1/3", "1/3"], [[1], [1], [1]]),  # no power of two
        ([1], [[1]]),
        (FAIR, [["1/2", "1/2"]]),  # too few rows
        (FAIR, [["1/2", "1/2"], ["1/2", "1/3"]]),
        (FAIR, [["1/2", "1/2"], [1]]),  # rows of several lengths
        (FAIR, [[], []]),
        (FAIR, [1, 1]),
    ],
)
def test_games_that_are_none(prior, channel):
    with pytest.raises(InvalidParameter):
        FiniteGame(prior, channel)


def test_questions_that_are_none():
    game = FiniteGame(FAIR, lie("1/4"))
    for gamma in (-0.1, 1.1, math.nan, True, "a", None):
        with pytest.raises(InvalidParameter, match="gamma"):
            game.max_bwma(gamma)
    for rule in ([[2, 0]], [[0.5, -0.1]], [[1, 0], [0, 1]], [[math.nan, 0]], "rule", [["x", 0]], [[1], [1, 0]], 1):
        with pytest.raises(InvalidParameter):
            game.bwma_of(rule, HALF)
    for k in (1, -1, 0.0, True):
        with pytest.raises(InvalidParameter):
            game.vertices(k)
    for processing in ([[1]], [["1/2"], ["1/2"]], 3):
        with pytest.raises(InvalidParameter):
            game.after(processing)
    with pytest.raises(InvalidParameter, match="outputs"):
        FiniteGame(FAIR, lie("1/4"), outputs=("a",))
    with pytest.raises(Unsupported, match="certain"):
        FiniteGame([0, 1], lie("1/4")).advantages()


@pytest.mark.parametrize(
    ("rows", "noise"),
    [
        ([], [(0, 1)]),
        ([[]], [(0, 1)]),
        ([[1], [1, 0]], [(0, 1)]),
        ([[math.nan]], [(0, 1)]),
        (3, [(0, 1)]),
        ([[1]] * 17, [(0, 1)]),
        ([[1]], []),
        ([[1]], [(0, "1/2")]),
        ([[1]], [(0, 2), (1, -1)]),
        ([[1]], [(0, 1, 2)]),
        ([[1]], 5),
    ],
)
def test_summaries_that_are_none(rows, noise):
    with pytest.raises(InvalidParameter):
        FiniteGame.summary(rows, noise)


def test_limits_of_size():
    with pytest.raises(Unsupported, match="size"):
        FiniteGame.summary([[0] * 14, [1] * 14], [(-1, "1/3"), (0, "1/3"), (1, "1/3")])
    for rates in ([], ["1/2"] * 17, ["3/2"], [math.nan], "1/2", 0.5):
        with pytest.raises(InvalidParameter):
            independent(rates)
    for people in (0, 17, 1.0, True):
        with pytest.raises(InvalidParameter):
            uniform(people)
