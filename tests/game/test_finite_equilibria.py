"""Equilibria of finite games: closed forms, brute force, and certificates that hold whatever a solver says."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples
from tests.game.finite_cases import games, laws, lie

from quiltwork.errors import InvalidParameter, NotCertified, Unreachable, Unsupported
from quiltwork.game.finite import FiniteGame, distances, exactly_half, nash, stackelberg, uniform
from quiltwork.game.finite.equilibria.commitment import cutting_planes, joint_lower_bound, joint_upper_bound
from quiltwork.game.finite.equilibria.designs import (
    GRID,
    AdvantageScore,
    CrossEntropyScore,
    SquaredScore,
    design,
    lower_bound,
    simple,
    true_channel,
    upper_bound,
)

BIT = FiniteGame(["1/2", "1/2"], [[1, 0], [0, 1]])
LOSSES = ("advantage", "cel", "joint cel", "tpr")
PEOPLE = FiniteGame.summary([[1, 0], [0, 1], [1, 1]])  # eight outputs for three candidates


def privacy(loss, game, gamma=Fraction(1, 2)):
    """The privacy loss of a released game, from the game itself."""
    if loss == "advantage":
        return float(game.max_bwma(gamma))
    if loss == "tpr":
        return float(game.sum_squared_posteriors())
    prior = np.array(game.prior, dtype=float)
    if loss == "joint cel":
        return -sum(p * math.log(p) for p in prior if p > 0) - game.cel_joint()
    rates = np.array(game.rates, dtype=float)
    return sum(-r * math.log(r) - (1 - r) * math.log(1 - r) for r in rates if 0 < r < 1) - game.cel_factorised()


# ---- one bit, in closed form


@pytest.mark.parametrize(
    ("kappa", "value", "flip"), [("1/10", "119/400", "9/20"), ("3/10", "151/400", "7/20"), ("3/5", "23/50", "1/5")]
)
def test_commitment_of_one_bit_is_exact(kappa, value, flip):
    """E p^2 + kappa P(flip): both bits flip with (1 - kappa) / 2; 0.3775 and 0.460 of theory/game.md."""
    found = stackelberg(BIT, kappa, loss="tpr")
    assert found.status == "exact"
    assert found.regret == 0
    assert found.channel.tolist() == lie(flip)
    assert found.game.sum_squared_posteriors() + found.expense == Fraction(value)
    assert float(Fraction(value)) in found.value
    assert found.value.width <= 1e-15


@pytest.mark.parametrize(
    ("kappa", "value", "flip"), [("1/10", "3/10", 1), ("3/10", "2/5", 1), ("3/5", "1/2", "2/3"), (2, "1/2", 0)]
)
def test_nash_of_one_bit_costs_more_than_commitment(kappa, value, flip):
    """0.400 and 0.500 against 0.3775 and 0.460: the paper's Definition 3 is not the optimal commitment."""
    found = nash(BIT, kappa)
    assert found.status == "exact"
    assert found.regret == 0
    assert found.channel.tolist() == [[1, 0], [Fraction(flip), 1 - Fraction(flip)]]
    assert found.game.sum_squared_posteriors() + found.expense == Fraction(value)
    assert float(Fraction(value)) in found.value
    assert stackelberg(BIT, kappa, loss="tpr").value.upper <= found.value.upper


@pytest.mark.parametrize("kappa", ["1/10", "3/10", "3/5", 3])
def test_commitment_of_one_bit_against_other_losses(kappa):
    """Mutual information is a rate-distortion function; the advantage is 1/4, or a constant release at kappa / 2."""
    rate = float(Fraction(kappa))
    for loss in ("cel", "joint cel"):
        found = stackelberg(BIT, kappa, loss=loss)
        truth = math.log(2) - math.log1p(math.exp(-rate))
        assert truth in found.value
        assert found.value.met
        assert found.value.width < 1e-6
        assert found.status == "certified"
    found = stackelberg(BIT, kappa, loss="advantage")
    assert found.status == "exact"
    assert found.game.max_bwma("1/2") + found.expense == min(Fraction(1, 4), Fraction(kappa) / 2)


def test_commitment_of_two_bits_is_twice_that_of_one():
    """Cost: the number of wrong bits.  Both kinds of mutual information split into the bits."""
    bits = uniform(2), [[int(i == j) for j in range(4)] for i in range(4)]
    wrong = [[(i ^ j).bit_count() for j in range(4)] for i in range(4)]
    for loss in ("cel", "joint cel"):
        found = stackelberg(FiniteGame(*bits), 1, loss=loss, cost=wrong)
        assert 2 * (math.log(2) - math.log1p(math.exp(-1))) in found.value
        assert found.value.met


# ---- certificates


@given(games(outputs=3), st.data())
@settings(max_examples=examples(20))
def test_every_attacker_bounds_every_channel(game, data):
    """Weak duality, exactly: no attacker's bound is above what any channel loses."""
    kappa, width = data.draw(st.sampled_from(["0", "1/3", "2"])), len(game.outputs)
    problem = design(game, kappa, "changed")
    channel = np.array([data.draw(laws(width)) for _ in game.prior], dtype=object)
    inside = st.fractions(Fraction(1, 100), Fraction(99, 100), max_denominator=100)
    actions = np.array(data.draw(st.lists(inside, min_size=game.candidates * width, max_size=game.candidates * width)))
    actions = actions.astype(object).reshape(game.candidates, width)
    for score in (AdvantageScore(Fraction(1, 3)), SquaredScore(), CrossEntropyScore()):
        assert lower_bound(problem, score, actions) <= upper_bound(problem, score, channel)
    posterior = np.array([data.draw(laws(len(game.prior), positive=True)) for _ in range(width)], dtype=object).T
    assert joint_lower_bound(problem, posterior) <= joint_upper_bound(problem, channel)


@given(games(outputs=3), st.data())
@settings(max_examples=examples(15))
def test_upper_bounds_are_the_losses_of_the_game(game, data):
    problem = design(game, "1/2", "changed")
    rows = [data.draw(laws(len(game.outputs))) for _ in game.prior]
    channel, released = np.array(rows, dtype=object), FiniteGame(game.prior, rows)
    expense = float(problem.expense(channel))
    gamma = Fraction(1, 3)
    assert upper_bound(problem, AdvantageScore(gamma), channel) == released.max_bwma(gamma) + problem.expense(channel)
    assert upper_bound(problem, SquaredScore(), channel) == released.sum_squared_posteriors() + problem.expense(channel)
    both = upper_bound(problem, CrossEntropyScore(), channel), joint_upper_bound(problem, channel)
    for bound, loss in zip(both, ("cel", "joint cel"), strict=True):
        assert float(bound) == pytest.approx(privacy(loss, released) + expense, abs=1e-12)


@pytest.mark.parametrize("loss", LOSSES)
def test_the_bracket_holds_against_a_grid_of_channels(loss):
    """Every channel of two outputs on a grid loses at least the lower end, and the best is near the upper one."""
    game, gamma = FiniteGame([0.7, 0.3], [[0.9, 0.1], [0.2, 0.8]]), Fraction(1, 4)
    found = stackelberg(game, 0.4, loss=loss, gamma=gamma)
    assert found.value.met
    grid = np.linspace(0, 1, 41)
    problem = design(game, 0.4, "changed")
    values = []
    for a in grid:
        for b in grid:
            channel = [[1 - a, a], [1 - b, b]]
            cost = float((problem.law[:, None] * np.array(channel) * problem.price).sum())
            values.append(privacy(loss, FiniteGame([0.7, 0.3], channel), gamma) + cost)
    assert min(values) >= found.value.lower - 1e-12
    assert min(values) <= found.value.upper + 0.003
    assert privacy(loss, found.game, gamma) + float(found.expense) == pytest.approx(found.value.upper, abs=1e-9)


@pytest.mark.parametrize("loss", LOSSES)
def test_three_candidates_and_distances(loss):
    """The value is between its own bounds, evaluated again here, and below every constant or honest release."""
    found = stackelberg(PEOPLE, "1/2", loss=loss, cost="distance")
    assert found.value.met
    assert found.status == ("exact" if loss == "advantage" else "certified")
    released, cost = found.game, distances(PEOPLE)
    assert all(row.sum() == 1 and min(row) >= 0 for row in released.channel)
    expense = float((released.joint * cost).sum() / 2)
    assert privacy(loss, released) + expense == pytest.approx(found.value.upper, abs=1e-9)
    others = [PEOPLE.channel, *(np.tile(row, (8, 1)) for row in np.eye(8, dtype=int))]
    for channel in others:
        game = FiniteGame(PEOPLE.prior, channel.tolist())
        assert privacy(loss, game) + float((game.joint * cost).sum() / 2) >= found.value.lower - 1e-12


def test_a_zero_sum_equilibrium_is_a_saddle_point():
    """Nash = Stackelberg for the advantage: neither side gains, exactly."""
    found = nash(PEOPLE, "1/2", loss="advantage", cost="distance")
    value = found.game.max_bwma("1/2") + found.expense
    counts = found.game.bwma_of(found.attacker, "1/2")
    assert counts.advantage == found.game.max_bwma("1/2")  # the attacker's rule is a best response
    weights = PEOPLE.secrets - Fraction(1, 2)
    payoff = weights @ found.attacker + distances(PEOPLE) / 2
    assert (PEOPLE.prior * payoff.min(axis=1)).sum() == value  # no channel does better against it


@pytest.mark.parametrize(("loss", "value"), [("advantage", "1/12"), ("cel", 0), ("joint cel", 0), ("tpr", "25/144")])
def test_without_costs_nothing_is_told(loss, value):
    game = FiniteGame(["7/12", "5/12"], lie("1/8"))
    found = stackelberg(game, 0, loss=loss, gamma="1/3")
    assert float(Fraction(value)) in found.value
    assert found.value.met


def test_secrets_and_people_that_are_certain():
    """Rows of probability zero stay laws; a sure member adds nothing to information and everything to positives."""
    game = FiniteGame(exactly_half(2), [[1, 0], [1, 0], [0, 1], [0, 1]])
    for loss in LOSSES:
        found = stackelberg(game, 1, loss=loss)
        assert found.value.met
        assert found.channel.shape == (4, 2)
        assert found.channel[0].tolist() == found.game.output_law.tolist()
        assert found.attacker.shape == ((4, 2) if loss == "joint cel" else (2, 2))
        assert (found.attacker != 0).any(axis=1).sum() == 2  # both candidates, or both secrets that may be
    assert nash(game, 1).attacker.shape == (2, 2)
    sure = FiniteGame([0, 0, "1/2", "1/2"], [[1, 0], [1, 0], [1, 0], [0, 1]])  # the first is a member
    assert math.log(2) - math.log1p(math.exp(-0.6)) in stackelberg(sure, "3/5", loss="cel").value
    assert 1.46 in stackelberg(sure, "3/5", loss="tpr").value


def test_large_weights_give_the_honest_release():
    for loss in LOSSES:
        found = stackelberg(BIT, 10**6, loss=loss)
        assert float(found.expense) < 1e-6
        assert found.value.met
    assert nash(BIT, 10**6).channel.tolist() == [[1, 0], [0, 1]]


def test_what_a_solver_says_is_repaired():
    """Negative entries, rows that do not sum to one, no row at all: a channel comes out, near the suggestion."""
    suggested = np.array([[0.5, 0.5 + 1e-9, -1e-9], [np.nan, 0.0, 0.0], [1 / 3, 1 / 3, 1 / 3]])
    channel = true_channel(suggested)
    assert all(row.sum() == 1 and min(row) >= 0 for row in channel)
    assert abs(channel[0].astype(float) - [0.5, 0.5, 0.0]).max() < 1e-8
    assert all(entry.denominator <= GRID for entry in channel.ravel())
    assert simple(channel, 12)[2].tolist() == [Fraction(1, 3)] * 3


def test_a_wrong_attacker_only_widens_the_bracket():
    """A bound from nonsense is a bound; what is no attacker is refused."""
    problem = design(BIT, "3/5", "changed")
    found = cutting_planes(problem, SquaredScore(), 1e-6)
    good = np.array([[Fraction(1, 5), Fraction(4, 5)]], dtype=object)
    assert lower_bound(problem, SquaredScore(), good) == Fraction(23, 50)
    assert lower_bound(problem, SquaredScore(), 1 - good) < Fraction(23, 50)
    assert upper_bound(problem, SquaredScore(), true_channel(found.channel)) >= Fraction(23, 50)
    with pytest.raises(InvalidParameter):
        lower_bound(problem, SquaredScore(), good + 1)
    with pytest.raises(InvalidParameter):
        joint_lower_bound(problem, np.array([[Fraction(1)] * 2] * 2, dtype=object))


@pytest.mark.parametrize("loss", LOSSES)
def test_a_tolerance_that_cannot_be_met_is_said(loss):
    """The bracket is as good as floats allow, and says that it is wider than asked."""
    game = FiniteGame([0.7, 0.3], [[0.9, 0.1], [0.2, 0.8]])
    found = stackelberg(game, 0.4, loss=loss, tolerance=1e-25)
    assert found.value.met == (found.regret <= 1e-25)
    assert found.value.width < 1e-7


# ---- Nash equilibria of the general-sum game


def exact_regret(game, found, cost):
    """By the definition: the best deterministic answer of each membership vector to the frozen attacker."""
    total = Fraction(0)
    for b, theta, row, costs in zip(game.secrets, found.game.prior, found.channel, cost, strict=True):
        pays = [sum(b * found.attacker[:, x]) + costs[x] for x in range(len(row))]
        total += theta * (sum(p * r for p, r in zip(pays, row, strict=True)) - min(pays))
    return total


@pytest.mark.parametrize("kappa", ["1/10", "1/2", 5])
def test_fixed_points_of_three_candidates(kappa):
    found = nash(PEOPLE, kappa, cost="distance")
    cost = Fraction(kappa) * distances(PEOPLE)
    assert found.regret == exact_regret(PEOPLE, found, cost)
    assert found.regret <= Fraction(1, 10**12)
    assert found.status == ("exact" if found.regret == 0 else "approximate")
    used = found.game.output_law > 0
    assert (found.attacker[:, used] == found.game.marginal_posteriors()[:, used]).all()  # the attacker's best response
    assert (found.attacker[:, ~used] == 1).all()
    assert found.value.upper >= stackelberg(PEOPLE, kappa, loss="tpr", cost="distance").value.lower
    if found.status == "approximate":
        with pytest.raises(NotCertified):
            found.value.safe  # noqa: B018 - asking is the test


def test_random_games_have_fixed_points():
    """Also where the path of logit equilibria turns back; each regret is evaluated again."""
    rng = np.random.default_rng(3)
    for _ in range(5):
        prior, channel = rng.dirichlet(np.full(8, 0.5)), rng.dirichlet(np.full(4, 0.5), 8)
        game = FiniteGame(prior, channel)
        found = nash(game, 0.3)
        cost = (1 - np.array([[Fraction(x) for x in row] for row in game.channel], dtype=object)) * Fraction(0.3)
        assert exact_regret(game, found, cost) == found.regret <= Fraction(1, 10**6)


def test_no_fixed_point_within_an_absurd_tolerance():
    game = FiniteGame([0.3, 0.2, 0.1, 0.4], [[0.7, 0.3], [0.1, 0.9], [0.4, 0.6], [0.2, 0.8]])
    with pytest.raises(Unreachable, match="regret"):
        nash(game, 0.2, tolerance=1e-40)


# ---- bad input


@pytest.mark.parametrize(
    "options",
    [
        {"kappa": -1},
        {"kappa": math.nan},
        {"kappa": "x"},
        {"kappa": True},
        {"kappa": 1e30},
        {"kappa": 1, "loss": "auc"},
        {"kappa": 1, "gamma": 2},
        {"kappa": 1, "gamma": math.nan},
        {"kappa": 1, "cost": "free"},
        {"kappa": 1, "cost": [[1, 0]]},
        {"kappa": 1, "cost": [[math.nan, 0], [0, 1]]},
        {"kappa": 1, "cost": [[math.inf, 0], [0, 1]]},
        {"kappa": 1, "tolerance": 0},
        {"kappa": 1, "tolerance": math.nan},
    ],
)
def test_problems_that_are_none(options):
    for solve in (stackelberg, nash):
        with pytest.raises(InvalidParameter):
            solve(BIT, **options)


def test_games_that_cannot_be_designed():
    with pytest.raises(InvalidParameter, match="FiniteGame"):
        stackelberg([[1, 0], [0, 1]], 1)
    for labels in (("a", "b"), ((1, 2), (1,)), ((), ())):
        with pytest.raises(InvalidParameter, match="outputs"):
            distances(FiniteGame(["1/2", "1/2"], [[1, 0], [0, 1]], labels))
    wide = FiniteGame([0.5, 0.5], np.full((2, 30_000), 1 / 30_000))
    with pytest.raises(Unsupported, match="size"):
        stackelberg(wide, 1)
    with pytest.raises(Unsupported, match="size"):
        nash(FiniteGame([0.5, 0.5], np.full((2, 700), 1 / 700)), 1)
    with pytest.raises(InvalidParameter):
        nash(BIT, 1, seed=-1)
