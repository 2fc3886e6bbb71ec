"""Translations against thousands of random mechanisms, and the way back."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.examples import examples, seeds, some
from tests.pufferfish import brute
from tests.pufferfish.random_mechanisms import leak, per_entry_loss, random_channel, random_likelihood

from quiltwork.errors import InvalidParameter, NotCertified, QuiltworkError
from quiltwork.pufferfish import MarkovChain, per_entry_epsilon, translate
from quiltwork.pufferfish.papers.simple_rules import totals
from quiltwork.pufferfish.prior import Prior
from quiltwork.pufferfish.secrets import Secrets, entry_values, function_values, joint_values
from quiltwork.pufferfish.translation.influence import InfluenceCurve
from quiltwork.pufferfish.translation.translate import Translator

STICKY = [[0.8, 0.2], [0.2, 0.8]]
LENGTHS = {2: 7, 3: 6, 4: 5}  # at most 2,200 datasets


def random_chain(rng: np.random.Generator) -> tuple[np.ndarray, int]:
    """Positive, negative, weak and strong correlation, zeros and cycles."""
    k = int(rng.integers(2, 5))
    matrix = rng.dirichlet(np.full(k, rng.choice([0.2, 0.7, 2.0])), size=k)
    shape = rng.integers(5)
    if shape == 1:
        matrix = np.where(rng.random((k, k)) < 0.3, 0.0, matrix)
    elif shape == 2:
        matrix = 0.95 * np.eye(k) + 0.05 * matrix
    elif shape == 3:
        matrix = 0.95 * np.roll(np.eye(k), 1, axis=1) + 0.05 * matrix
    elif shape == 4:
        matrix = matrix * (1.0 - np.eye(k))
    matrix[np.arange(k), (np.arange(k) + 1) % k] += 0.01
    return matrix / matrix.sum(axis=1, keepdims=True), int(rng.integers(1, LENGTHS[k] + 1))


def heights(rng: np.random.Generator, first: np.ndarray, second: np.ndarray, epsilon: float) -> np.ndarray:
    """log V of an event that is exactly e-DP for each entry."""
    draw = rng.random()
    if draw < 0.3:
        return epsilon * brute.integer_heights(rng, first.shape)
    if draw < 0.7:
        return epsilon * brute.favoured_heights(rng, first, second)
    return np.log(random_likelihood(rng, first.shape, epsilon)).reshape(first.shape)


# ---- soundness


@pytest.mark.parametrize("seed", seeds(6))
def test_no_mechanism_leaks_more(seed: int) -> None:
    """At least 300 random events a seed, in every ordered pair, at a random entry of a random chain."""
    rng = np.random.default_rng(seed)
    checked, closest = 0, math.inf
    while checked < 300:
        matrix, length = random_chain(rng)
        k = len(matrix)
        kind, law = rng.choice(["stationary", "any", "given"], p=[0.6, 0.2, 0.2]), rng.dirichlet(np.ones(k))
        if kind == "stationary":
            law = brute.stationary(matrix)
        chain = MarkovChain(matrix, law if kind == "given" else str(kind), length)
        table, entry = brute.chain_law(matrix, law, length), int(rng.integers(length))
        epsilon = float(np.exp(rng.uniform(-5.0, 1.5)))
        bounds = Translator.of(chain, entry_values([entry])).cases(epsilon)
        first, second = np.nonzero(~np.eye(k, dtype=bool))
        for bound, u, v in zip(bounds, first, second, strict=True):
            one, two = brute.given(table, entry, u), brute.given(table, entry, v)
            for _ in range(3):
                leaked = brute.log_leak(one, two, heights(rng, one, two, epsilon))
                assert leaked <= bound + 1e-13 * (1.0 + bound)
                closest = min(closest, bound - leaked)
                checked += 1
    assert closest < 1e-10  # some events reach the bound: the test can fail


def test_no_channel_leaks_more() -> None:
    """Whole mechanisms: randomised response, exponential mechanisms, rare events and mixtures of them."""
    rng = np.random.default_rng(99)
    for _ in range(examples(120)):
        matrix, length = random_chain(rng)
        length = min(length, 4)
        table = brute.chain_law(matrix, brute.stationary(matrix), length)
        channel = random_channel(rng, table.shape, float(rng.uniform(0.1, 2.0)))
        epsilon = per_entry_loss(channel, table.shape)
        bound = translate(MarkovChain(matrix, length=length), epsilon * (1 + 1e-12)).upper
        for entry, u, v in brute.secrets(table):
            assert leak(channel, brute.given(table, entry, u), brute.given(table, entry, v)) <= bound + 1e-12


def test_the_worst_mechanism_stays_below() -> None:
    rng = np.random.default_rng(12)
    for _ in range(examples(40)):
        matrix, length = random_chain(rng)
        length = min(length, {2: 6, 3: 4, 4: 3}[len(matrix)])
        table, epsilon = brute.chain_law(matrix, brute.stationary(matrix), length), float(np.exp(rng.uniform(-4, 1)))
        found = translate(MarkovChain(matrix, length=length), epsilon)
        entry = int(rng.integers(length))
        worst = max(
            brute.worst_leak(brute.given(table, i, u), brute.given(table, i, v), epsilon)
            for i, u, v in brute.secrets(table)
            if i == entry
        )
        assert worst <= found.upper + 1e-12
        assert found.lower <= found.upper


def test_two_states_are_exact_and_the_lower_end_is_reached() -> None:
    rng = np.random.default_rng(13)
    for _ in range(12):
        p, q = rng.uniform(0.05, 0.95, 2)
        matrix, length, epsilon = [[p, 1 - p], [1 - q, q]], int(rng.integers(1, 6)), float(rng.uniform(0.05, 2.0))
        table = brute.chain_law(matrix, brute.stationary(matrix), length)
        worst = max(
            brute.worst_leak(brute.given(table, i, u), brute.given(table, i, v), epsilon)
            for i, u, v in brute.secrets(table)
        )
        found = translate(MarkovChain(matrix, length=length), epsilon)
        assert found.upper == pytest.approx(worst, abs=1e-6)
        assert found.upper >= worst - 1e-12
        assert found.lower <= worst + 1e-7
        assert found.lower >= epsilon * (1 - 1e-12)


def test_the_lower_end_of_a_finite_chain_is_no_more_than_its_worst_case() -> None:
    """Two slow states, 520 entries: the endless chain leaks more than this one does."""
    rare, length, epsilon = 1e-4, 520, 1e-3
    matrix = np.array([[1 - rare, rare], [rare, 1 - rare]])
    value = np.ones((length, 2))
    for n in range(1, length):
        value[n] = matrix @ (np.exp(epsilon * np.array([0.0, 1.0])) * value[n - 1])
    sides = np.log(value[:, 1] / value[:, 0])
    worst = max(epsilon + sides[i] + sides[length - 1 - i] for i in range(length))
    found = translate(MarkovChain(matrix, length=length), epsilon)
    assert worst <= found.upper
    assert found.lower <= worst + 1e-12
    short = translate(MarkovChain([[0.9, 0.1], [0.1, 0.9]], length=65), 0.01)
    long = translate(MarkovChain([[0.9, 0.1], [0.1, 0.9]], length=4000), 0.01)
    assert short.lower <= long.upper


@pytest.mark.parametrize(
    ("length", "rare", "epsilon"),
    some(
        [
            *((None, 1e-4, 1e-4), (None, 1e-3, 1e-3), (None, 1e-2, 1e-3), (None, 0.2, 0.3), (5000, 1e-4, 1e-4)),
            *((5000, 1e-2, 1e-3), (5000, 1e-3, 1e-3), (5000, 0.2, 0.3)),
        ],
        4,
    ),
)
def test_any_start_bounds_the_stationary_one(length: int | None, rare: float, epsilon: float) -> None:
    """Slow chains: far inside there are more entries on the left than the influence curve looks at."""
    matrix = [[1 - rare, rare], [rare, 1 - rare]]
    known = translate(MarkovChain(matrix, length=length), epsilon)
    assert translate(MarkovChain(matrix, "any", length), epsilon).upper >= known.lower


def test_any_start_bounds_the_stationary_one_of_three_states() -> None:
    three = [[0.98, 0.02, 0.0], [0.0, 0.98, 0.02], [0.02, 0.0, 0.98]]
    assert translate(MarkovChain(three, "any"), 0.01).upper >= translate(MarkovChain(three), 0.01).lower


def test_a_given_start_that_vanishes_in_floating_point() -> None:
    """Who is still in the first state after 1000 steps was there all the time: 100 nats at 0.1 for each entry."""
    leaving = [[0.5, 0.25, 0.25], [0.0, 0.9, 0.1], [0.0, 0.1, 0.9]]
    chain = MarkovChain(leaving, [1.0, 0.0, 0.0], 1300)
    for entry in (300, 1000, 1290):
        truth = 0.1 * entry - 2.0  # E[e^(0.1 n)] for the number n of entries in state 0, given state 1, is below e^2
        assert translate(chain, 0.1, entry_values([entry], [(0, 1)])).upper >= truth


@pytest.mark.parametrize("start", ["any", "given"])
def test_states_that_cannot_be_reached(start: str) -> None:
    rng = np.random.default_rng(3)
    for matrix in ([[0.5, 0.5, 0.0]] * 3, [[0.5, 0.5, 0.0], [0.2, 0.8, 0.0], [0.0, 0.6, 0.4]]):
        laws = [np.array([0.0, 0.0, 1.0]), np.array([0.2, 0.3, 0.5]), np.array([1.0, 0.0, 0.0])]
        for law in laws:
            chain = MarkovChain(matrix, law if start == "given" else "any", 4)
            table = brute.chain_law(matrix, law, 4)
            for epsilon in (0.1, 1.0):
                bound = translate(chain, epsilon).upper
                for entry, u, v in brute.secrets(table):
                    one, two = brute.given(table, entry, u), brute.given(table, entry, v)
                    assert brute.worst_leak(one, two, epsilon) <= bound + 1e-12
                    assert brute.log_leak(one, two, heights(rng, one, two, epsilon)) <= bound + 1e-12


# ---- other secrets need the explicit law


def test_other_secrets_of_a_chain() -> None:
    rng = np.random.default_rng(14)
    chain = MarkovChain([[0.7, 0.3], [0.4, 0.6]], length=4)
    table = brute.chain_law(chain.transition, brute.stationary(chain.transition), 4)
    total = np.add.outer(np.add.outer([0, 1], [0, 1]), np.add.outer([0, 1], [0, 1]))
    asked = [
        (function_values(sum, [(1, 3)]), total == 1, total == 3),
        (joint_values([0, 3], [((0, 0), (1, 1))]), None, None),
    ]
    index = np.indices(table.shape)
    for secrets, one, two in asked:
        if one is None:
            one, two = (index[0] == 0) & (index[3] == 0), (index[0] == 1) & (index[3] == 1)
        first, second = np.where(one, table, 0.0) / table[one].sum(), np.where(two, table, 0.0) / table[two].sum()
        for epsilon in (0.1, 0.7):
            bound = translate(chain, epsilon, secrets).upper
            assert brute.worst_leak(first, second, epsilon) <= bound + 1e-12
            for _ in range(40):
                assert brute.log_leak(first, second, heights(rng, first, second, epsilon)) <= bound + 1e-12


# ---- laws


def test_best_is_never_worse_and_rises() -> None:
    rng = np.random.default_rng(20)
    for _ in range(examples(24)):
        matrix, length = random_chain(rng)
        known = int(rng.integers(2)) * length or None
        chain = MarkovChain(matrix, length=known)
        best, sixth = Translator.of(chain), Translator.of(chain, None, "theorem 6")
        before = 0.0
        for epsilon in np.exp(np.linspace(-8.0, 2.0, 7)):
            now = best.upper(epsilon)
            assert now <= sixth.upper(epsilon)
            assert now >= before
            assert now >= epsilon * (1 - 1e-12)
            if known:
                assert now <= translate(chain, epsilon, method="group").upper * (1 + 1e-15)
            before = now


def test_propagation_is_never_worse_than_theorem_6() -> None:
    """With the same steps Psi <= R_d (theory 3.5): propagation alone is at most b e + a(b) for every b."""
    rng = np.random.default_rng(31)
    for _ in range(examples(40)):
        k = int(rng.integers(2, 5))
        matrix = rng.dirichlet(np.ones(k), size=k)
        chain = MarkovChain(matrix)
        (theorem,) = chain.translations()
        for epsilon in (0.01, 0.3, 2.0):
            sixth = chain.influence(8).epsilons(epsilon)  # sizes whose distances are among the steps
            assert np.all(theorem.epsilons(epsilon) <= sixth * (1 + 1e-9))


@pytest.mark.parametrize("method", ["best", "theorem 6", "group"])
def test_the_way_back_is_safe_and_tight(method: str) -> None:
    rng = np.random.default_rng(40)
    for _ in range(examples(16)):
        matrix, length = random_chain(rng)
        chain = MarkovChain(matrix, length=length)
        before = 0.0
        for target in (1e-6, 1e-3, 0.1, 0.5, 1.0, 2.0, 5.0, 50.0):
            found = per_entry_epsilon(chain, target, method=method)  # type: ignore[arg-type]
            assert found >= before
            # the value itself is safe; adding b e and a(b) again may cost two roundings
            assert translate(chain, found, method=method).upper <= target * (1 + 5e-16)  # type: ignore[arg-type]
            assert translate(chain, found * (1 + 1e-9), method=method).upper >= target * (1 - 1e-9)  # type: ignore[arg-type]
            before = found


def test_the_way_back_without_any_promise() -> None:
    """A deterministic cycle of unknown length tells everything: no per-entry epsilon is small enough."""
    cycle = MarkovChain([[0.0, 1.0], [1.0, 0.0]])
    assert translate(cycle, 0.1).upper == math.inf
    assert per_entry_epsilon(cycle, 1.0) == 0.0
    known = MarkovChain([[0.0, 1.0], [1.0, 0.0]], length=5)
    assert translate(known, 0.1).upper == pytest.approx(0.5, rel=1e-12)
    assert per_entry_epsilon(known, 1.0) == pytest.approx(0.2, rel=1e-9)


def test_no_budget_leaks_nothing() -> None:
    for chain in (MarkovChain(STICKY), MarkovChain(STICKY, length=5), MarkovChain(STICKY, "any")):
        assert 0.0 <= translate(chain, 0.0).lower <= translate(chain, 0.0).upper < 1e-3
    assert translate(MarkovChain(STICKY, length=5), 0.0).upper < 1e-300


def test_several_pairs_take_the_worst_last() -> None:
    matrix = [[0.6, 0.3, 0.1], [0.1, 0.6, 0.3], [0.3, 0.1, 0.6]]
    chain = MarkovChain(matrix)
    for epsilon in (0.05, 0.5):
        each = [translate(chain, epsilon, entry_values(pairs=[pair])).upper for pair in ((0, 1), (0, 2), (1, 2))]
        assert translate(chain, epsilon).upper == pytest.approx(max(each), rel=1e-14)


# ---- sums of releases


def test_totals_are_bounds_in_order() -> None:
    rng = np.random.default_rng(50)
    chain = MarkovChain(STICKY)
    for _ in range(15):
        each = np.exp(rng.uniform(-4, 0, int(rng.integers(1, 6)))).tolist()
        found = totals(chain, each)
        assert found.best <= found.one_size <= found.theorem_7 * (1 + 1e-14)
        assert found.one_size <= found.naive * (1 + 1e-14)
        assert found.best >= translate(chain, math.fsum(each)).upper * (1 - 1e-15)


@pytest.mark.parametrize("epsilons", [[], [0.0], [-1.0], [math.nan], [math.inf], [0.1, True], ["a"]])
def test_bad_totals(epsilons: list[float]) -> None:
    with pytest.raises(QuiltworkError):
        totals(MarkovChain(STICKY), epsilons)


# ---- bad input


@pytest.mark.parametrize("epsilon", [-1e-9, math.nan, math.inf, True, "one", None])
def test_bad_epsilons(epsilon: float) -> None:
    with pytest.raises(QuiltworkError):
        translate(MarkovChain(STICKY), epsilon)
    with pytest.raises(QuiltworkError):
        per_entry_epsilon(MarkovChain(STICKY), epsilon)


def test_bad_priors_and_methods() -> None:
    with pytest.raises(InvalidParameter, match="prior"):
        translate(STICKY, 0.1)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="method"):
        translate(MarkovChain(STICKY), 0.1, method="guess")  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="number of entries"):
        translate(MarkovChain(STICKY), 0.1, method="group")
    with pytest.raises(QuiltworkError):
        per_entry_epsilon(MarkovChain(STICKY), 0.0)


class Guess(Prior):
    """A prior that knows its curve only roughly."""

    entries, words = 3, "the entries follow a guess"

    def influence(self, max_size: int | None = None, secrets: Secrets | None = None) -> InfluenceCurve:
        return InfluenceCurve(np.array([1, 3]), np.array([[0.1, 0.0]]), "approximate")


def test_an_approximate_curve_is_refused() -> None:
    with pytest.raises(NotCertified):
        translate(Guess(), 0.1)
    with pytest.raises(NotCertified):
        per_entry_epsilon(Guess(), 0.1)
    assert translate(Guess(), 0.1, method="group").upper == pytest.approx(0.3, rel=1e-12)


@pytest.mark.parametrize("ask", [translate, per_entry_epsilon])
def test_a_prior_in_the_place_of_a_number_is_seen(ask):
    chain = MarkovChain([[0.8, 0.2], [0.2, 0.8]])
    with pytest.raises(InvalidParameter, match=rf"swapped\? it is {ask.__name__}\(prior, "):
        ask(0.1, chain)
    with pytest.raises(InvalidParameter) as refusal:
        ask(0.1, 0.2)
    assert "swapped" not in str(refusal.value)
