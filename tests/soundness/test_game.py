"""A part of the campaign about the game and audits; `python -m benchmarks.soundness` runs all of it."""

import math
import sys
from fractions import Fraction

import attrs
import numpy as np
import pytest
from tests.soundness import game_audits, game_checks, game_finite, game_next, game_truth
from tests.soundness.game_kinds import KINDS
from tests.truth.residues import LaplacePower

from quiltwork.game.classifier import table
from quiltwork.game.defenders import certificates, closed_forms, noise, private
from quiltwork.game.learned import following

FEW = {"equilibrium": 1, "classifier": 2, "publish": 3, "next sigma": 2, "many attributes": 3, "limits, many trials": 2}
LESS = 1.0 - 1e-12


def _wrong(kind, turns, seed=2024):
    draw, ask = KINDS[kind]
    found = []
    for turn in range(turns):
        rng = np.random.default_rng([seed, list(KINDS).index(kind), turn])
        found += list(ask(draw(rng), rng))
    assert found
    return [check for check in found if not check.holds]


@pytest.mark.parametrize("kind", KINDS)
def test_every_claim_holds(kind):
    wrong = _wrong(kind, FEW.get(kind, 5))
    assert not wrong, "\n".join(map(str, wrong[:5]))


@pytest.mark.parametrize(
    ("kind", "module", "claim"),
    [
        ("Gaussian", noise, "Gaussian, pool rows: mu"),
        ("water-filling", closed_forms, "WaterFilling, pool rows: mu"),
        ("many attributes", closed_forms, "many attributes: mu"),
    ],
)
def test_a_sensitivity_that_is_too_small_is_caught(monkeypatch, kind, module, claim):
    """Too small by a part in 1e12."""

    def narrow(*arguments):
        width, pair = certificates.widest(*arguments)
        return width * LESS, pair

    monkeypatch.setattr(module, "widest", narrow)
    assert any(claim in check.claim for check in _wrong(kind, 20))


def test_pure_noise_that_is_too_small_is_caught(monkeypatch):
    """A share that moves less by a part in 1e12; a name that costs next to nothing; a fresh reading that moves less."""
    share, name, widest = private._widest_share, private.noisy_max, following.widest
    monkeypatch.setattr(private, "_widest_share", lambda moves: share(moves) * LESS)
    assert any(check.claim == "sup-norm noise, pool rows: epsilon" for check in _wrong("sup-norm noise", 20))
    monkeypatch.setattr(private, "noisy_max", lambda epsilon: name(epsilon / 1000))
    assert any(check.claim == "peeling: epsilon" for check in _wrong("peeling", 6))
    monkeypatch.setattr(following, "widest", lambda *given: (widest(*given)[0] * 0.99, None))
    assert any(check.claim == "behind others: the target" for check in _wrong("behind others", 20))


def test_a_wrong_number_of_shares_is_caught(monkeypatch):
    """One share less than a swap can move."""
    count = noise._most_shares
    monkeypatch.setattr(noise, "_most_shares", lambda *arguments: (max(count(*arguments)[0] - 1, 0), (0, 1)))
    assert any(check.claim == "Laplace, pool rows: pure epsilon" for check in _wrong("Laplace", 20))


def test_a_swap_of_queries_that_is_too_small_is_caught(monkeypatch):
    """By a part in 1e12."""
    swap = table.widest_swap
    monkeypatch.setattr(table, "widest_swap", lambda *arguments: (swap(*arguments)[0] * LESS, (0, 1)))
    assert any("pool" in check.claim for check in _wrong("classifier", 6))


def test_a_published_guarantee_without_the_pool_is_caught(monkeypatch):
    """Neighbours that move half as far."""
    step = certificates.neighbours
    monkeypatch.setattr(
        sys.modules["quiltwork.game.publish"],  # the room has a function of that name
        "neighbours",
        lambda statistic: attrs.evolve(step(statistic), step=step(statistic).step / 2),
    )
    wrong = {check.claim for check in _wrong("publish", 12)}
    assert wrong >= {"publish, Gaussian: rho", "publish, Laplace: pure epsilon"}


def test_a_next_mechanism_that_is_too_strong_is_caught(monkeypatch):
    """One double more than is admissible."""
    solve = game_next.next_mechanism

    def stronger(*arguments):
        plan = solve(*arguments)
        return attrs.evolve(plan, upper=math.nextafter(plan.upper, math.inf))

    monkeypatch.setattr(game_next, "next_mechanism", stronger)
    assert "next: upper keeps the target" in {check.claim for check in _wrong("next mechanism", 10)}


def test_a_tail_that_is_too_small_is_caught(monkeypatch):
    """Tails, limits and p-values below the truth by a part in 1e12, a part in 1e9 and a hundredth."""
    tail, limit, test = game_audits.lower_tail, game_audits.upper_limit, game_audits.TESTS["guesses"]
    monkeypatch.setattr(game_audits, "lower_tail", lambda *arguments: tail(*arguments) * LESS)
    monkeypatch.setattr(game_audits, "upper_limit", lambda *arguments: (limit(*arguments)[0] * (1 - 1e-9), 1e-9))
    assert {"tail", "limit: rate"} <= {check.claim for check in _wrong("limits, few trials", 10)}
    low = (lambda *arguments: test[0](*arguments) * 0.99, test[1])
    monkeypatch.setitem(game_audits.TESTS, "guesses", low)
    assert "guesses: p-value" in {check.claim for check in _wrong("guesses", 10)}


def test_a_value_of_a_game_that_is_too_large_is_caught(monkeypatch):
    """A lower end that a channel near the best one goes below."""
    solve = game_finite.stackelberg

    def proud(*arguments, **options):
        found = solve(*arguments, **options)
        value = attrs.evolve(found.value, lower=found.value.lower + 0.05, upper=found.value.upper + 0.05)
        return attrs.evolve(found, value=value)

    monkeypatch.setattr(game_finite, "stackelberg", proud)
    assert any("lower end" in check.claim for check in _wrong("equilibrium", 2))


def test_the_truth_itself():
    """Values known by hand, or from elsewhere."""
    third = Fraction(1, 3)
    assert game_truth.at_most_tail(1, 3, third) == Fraction(20, 27)
    assert abs(game_truth.digits_tail(1, 3, third) - Fraction(20, 27)) < Fraction(1, 10**39)
    assert game_truth.coins_p_value(2, 1, 1, 0.0, 0.5) == Fraction(7, 8)
    assert abs(game_truth.one_run_p_value(1, 1, 1, 0.0, 0.25) - Fraction(3, 4)) < Fraction(1, 10**15)
    assert game_truth.inverse_form([[Fraction(1), third], [third, Fraction(1)]], [Fraction(1)] * 2) == Fraction(3, 2)
    rows = np.array([[1.0], [0.0], [0.5]])
    assert max(abs(move[0]) for move in game_truth.moves(rows, True, False)) == 1
    assert max(abs(move[0]) for move in game_truth.moves(rows, False, True)) == Fraction(2, 3)
    assert game_checks.mu_of(noise.gdp(0.5)) == 0.5
    laws = game_truth.laplace_cells([0.7, 0.7], 200)
    exact = float(LaplacePower(0.7, 2).delta(0.3))
    assert exact * (1 - 1e-4) < game_truth.least_delta(*laws, 0.3) <= exact
