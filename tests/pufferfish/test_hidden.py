from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples
from tests.pufferfish.random_mechanisms import leak, random_channel

from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.numbers.matrices import powers
from quiltwork.pufferfish.priors.chain.chain import MarkovChain
from quiltwork.pufferfish.priors.chain.influence import curve_at, sides
from quiltwork.pufferfish.priors.hidden_chain import HiddenMarkov
from quiltwork.pufferfish.priors.joint.program import worst_leak
from quiltwork.pufferfish.secrets import entry_values, function_values, joint_values
from quiltwork.pufferfish.translation.translate import per_entry_epsilon, translate

STICKY, COINS = [[0.85, 0.15], [0.25, 0.75]], [[0.9, 0.1], [0.3, 0.7]]
SWAPPING = [[0.05, 0.95], [0.95, 0.05]]


def naive_law(prior: HiddenMarkov, length: int, entry: int, state: int) -> np.ndarray:
    """P(x_entry = state, emissions), summed over every hidden path."""
    matrix, emission, start = prior.transition, prior.emission, np.zeros(len(prior.states))
    start[prior.chain.occurring] = prior.chain.stationary
    law = np.zeros((emission.shape[1],) * length)
    for path in itertools.product(range(len(matrix)), repeat=length):
        if path[entry] == state:
            weight = start[path[0]] * math.prod(matrix[a, b] for a, b in itertools.pairwise(path))
            table = np.ones(())
            for hidden in path:
                table = np.multiply.outer(table, emission[hidden])
            law += weight * table
    return law


def naive_pairs(prior: HiddenMarkov, length: int):
    """(entry, law of the emissions given the first secret, given the second), in the order of the cases."""
    for entry in range(length):
        by_state = [naive_law(prior, length, entry, state) for state in range(len(prior.states))]
        if prior.secret == "hidden":
            laws = [by_state[state] for state in prior.chain.occurring]
        else:
            whole, axis = sum(by_state), [1] * length
            axis[entry] = -1
            count = len(prior.symbols)
            laws = [whole * np.eye(count)[symbol].reshape(axis) for symbol in range(count)]
            laws = [law for law in laws if law.sum() > 0]
        for first, second in itertools.permutations(laws, 2):
            yield entry, first / first.sum(), second / second.sum()


def naive_influence(first: np.ndarray, second: np.ndarray, hidden: tuple[int, ...]) -> float:
    one, two = first.sum(axis=hidden), second.sum(axis=hidden)
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.nanmax(np.where(one > 0, np.log(one / two), -np.inf)))


def random_prior(rng: np.random.Generator, secret: str, states: int, symbols: int, length: int | None) -> HiddenMarkov:
    transition = rng.dirichlet(np.full(states, 0.7), states) * 0.98 + 0.02 / states
    if rng.random() < 0.3:
        transition = np.roll(transition, 1, axis=1)
    emission = rng.dirichlet(np.full(symbols, 0.7), states) * 0.98 + 0.02 / symbols
    return HiddenMarkov(transition, emission, length, secret=secret)


@pytest.mark.parametrize(("epsilon", "golden"), [(0.1, 0.2042), (0.5, 1.0581), (1.5, 2.9391)])
def test_golden(epsilon, golden):
    """theory/pufferfish.md 3.5: seven emissions, the state in the middle; equal to the linear program."""
    prior = HiddenMarkov(STICKY, COINS, length=7)
    found = prior.translations(entry_values([3]))[0].epsilons(epsilon)
    assert found.max() == pytest.approx(golden, abs=5e-5)


@pytest.mark.parametrize("secret", ["hidden", "emission"])
@pytest.mark.parametrize(("transition", "symbols", "length"), [(STICKY, 2, 5), (SWAPPING, 2, 4), (STICKY, 3, 3)])
def test_two_states_are_exact(secret, transition, symbols, length):
    emission = COINS if symbols == 2 else [[0.6, 0.3, 0.1], [0.15, 0.25, 0.6]]
    prior = HiddenMarkov(transition, emission, length, secret=secret)
    (theorem,) = prior.translations()
    assert theorem.exact
    for e in (0.1, 1.0):
        found = theorem.epsilons(e)
        brackets = [worst_leak(one, two, e) for _, one, two in naive_pairs(prior, length)]
        assert len(found) == len(brackets)
        for bound, bracket in zip(found, brackets, strict=True):
            assert bound >= bracket.lower - 1e-12
            assert bound == pytest.approx(bracket.upper, rel=1e-7)


def test_swapping_states_behind_asymmetric_emissions():
    """With negative correlation what favours state 0 next door is what favours state 1 here."""
    prior = HiddenMarkov(SWAPPING, COINS, length=2)
    found = prior.translations()[0].epsilons(1.0)
    truth = [worst_leak(one, two, 1.0).lower for _, one, two in naive_pairs(prior, 2)]
    assert np.all(found >= np.array(truth) - 1e-12)


@pytest.mark.parametrize("secret", ["hidden", "emission"])
def test_three_states_are_bounded(secret):
    rng = np.random.default_rng(11)
    for _ in range(2):
        prior = random_prior(rng, secret, 3, 2, 4)
        (theorem,) = prior.translations()
        assert not theorem.exact
        assert theorem.lower is None
        for e in (0.2, 1.5):
            for bound, (_, one, two) in zip(theorem.epsilons(e), naive_pairs(prior, 4), strict=True):
                assert bound >= worst_leak(one, two, e).lower - 1e-12


@pytest.mark.parametrize("secret", ["hidden", "emission"])
@pytest.mark.parametrize("states", [2, 3])
def test_influence_is_at_least_that_of_some_set_of_emissions(secret, states):
    """Every size needs a set H for which the whole emission law stays below: the best over all sets is a lower end."""
    rng = np.random.default_rng(states)
    for _ in range(3):
        prior = random_prior(rng, secret, states, 2, 4)
        curve = prior.influence()
        assert curve.status == "certified"
        for row, (entry, one, two) in zip(curve.cases, naive_pairs(prior, 4), strict=True):
            best = [math.inf] * 4
            for size in range(1, 5):
                for hidden in itertools.combinations(range(4), size):
                    best[size - 1] = min(best[size - 1], naive_influence(one, two, hidden))
            assert np.all(row >= np.minimum.accumulate(best) - 1e-12), entry
        assert curve.values[-1] == 0.0


def test_one_interval_must_serve_all_hidden_pairs():
    """Every two states have their own best interval, but emissions mix the states: one interval for all of them."""
    rng = np.random.default_rng(8)
    gaps = []
    for _ in range(4):
        prior = random_prior(rng, "emission", 3, 2, 5)
        law = prior.chain.joint().law
        places = prior._places(prior._view(None))
        tables = sides(powers(prior.chain.matrix, 5))
        for entry in range(5):
            given = [law * np.eye(3)[u].reshape([-1 if axis == entry else 1 for axis in range(5)]) for u in range(3)]
            given = [one / one.sum() for one in given]
            naive, apart = [math.inf] * 5, [math.inf] * 5
            for size in range(1, 6):
                intervals = [
                    tuple(range(start, start + size)) for start in range(6 - size) if start <= entry < start + size
                ]
                told = [[naive_influence(a, b, h) for a, b in itertools.permutations(given, 2)] for h in intervals]
                naive[size - 1] = min(map(max, told))
                apart[size - 1] = max(map(min, zip(*told, strict=True)))
            found = curve_at(tables, places[entry], 5, one_set=True).max(axis=(1, 2))
            assert found == pytest.approx(np.maximum(np.minimum.accumulate(naive), 0.0), rel=1e-9, abs=1e-12)
            gaps.append(max(np.array(naive) - apart))
    assert max(gaps) > 0.01  # the other order is smaller indeed


def test_clear_emissions_are_the_chain_itself():
    """Without noise both secrets are the chain's own states; only the influence curve of k > 2 is looser."""
    chain = MarkovChain(STICKY)
    for secret in ("hidden", "emission"):
        prior = HiddenMarkov(STICKY, np.eye(2), secret=secret)
        assert prior.influence(6).cases == pytest.approx(chain.influence(6).cases, rel=1e-12)
        for e in (0.1, 1.0):
            found = prior.translations()[0].epsilons(e)
            assert found == pytest.approx(chain.translations()[0].epsilons(e), rel=1e-9)
    three = np.array([[0.7, 0.25, 0.05], [0.05, 0.7, 0.25], [0.25, 0.05, 0.7]])
    shown, plain = HiddenMarkov(three, np.eye(3), secret="emission").influence(8), MarkovChain(three).influence(8)
    assert np.all(shown.cases >= plain.cases - 1e-12)


def test_noise_hides():
    """Emissions that say nothing tell nothing; a hidden state behind noise can leak less than the entry's epsilon."""
    silent = HiddenMarkov(STICKY, [[0.4, 0.6], [0.4, 0.6]])
    assert translate(silent, 1.0).upper <= 1e-12
    noisy = translate(HiddenMarkov(STICKY, [[0.55, 0.45], [0.45, 0.55]]), 1.0)
    assert noisy.upper < 1.0
    assert noisy.lower == pytest.approx(noisy.upper, rel=1e-6)  # not the entry's own epsilon
    shown = translate(HiddenMarkov(STICKY, [[0.4, 0.6], [0.4, 0.6]], secret="emission"), 1.0)
    assert shown.upper == pytest.approx(1.0, rel=1e-12)  # independent entries
    assert shown.lower == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize("secret", ["hidden", "emission"])
def test_extreme_epsilons(secret):
    prior = HiddenMarkov(STICKY, COINS, secret=secret)
    nothing = translate(prior, 0.0)
    assert nothing.lower <= 0.0 <= nothing.upper <= 1e-300
    for e in (1e-300, 1e-9, 50.0, 700.0, 1e5):
        bracket = translate(prior, e)
        assert 0.0 <= bracket.lower <= bracket.upper < math.inf
        assert bracket.upper == pytest.approx(bracket.lower, rel=1e-4, abs=1e-6)


def test_long_and_endless_chains():
    for secret in ("hidden", "emission"):
        endless, long = (HiddenMarkov(STICKY, COINS, length, secret=secret) for length in (None, 1000))
        finite = [HiddenMarkov(STICKY, COINS, length, secret=secret) for length in (2, 9, 25)]
        for e in (0.1, 1.0):
            values = [translate(prior, e) for prior in (*finite, long, endless)]
            assert all(a.upper <= b.upper + 1e-9 for a, b in itertools.pairwise(values))
            assert values[-2].lower == pytest.approx(values[-2].upper, rel=1e-6)
            assert values[-1].lower == pytest.approx(values[-1].upper, rel=1e-6)
        assert endless.influence().values[-1] <= 1e-4
        assert not long.translations()[0].exact  # the bound is that of every length
        assert per_entry_epsilon(endless, 1.0) > per_entry_epsilon(endless, 1.0, method="theorem 6")


def test_random_mechanisms():
    rng = np.random.default_rng(3)
    for _ in range(40):
        secret = str(rng.choice(["hidden", "emission"]))
        states, symbols, length = (int(rng.integers(2, 4)) for _ in range(3))
        prior, e = random_prior(rng, secret, states, symbols, length), float(rng.choice([0.1, 0.7, 2.0]))
        channel = random_channel(rng, (symbols,) * length, e)
        bounds = prior.translations()[0].epsilons(e)
        sixth = prior.influence().epsilons(e)
        for bound, other, (_, one, two) in zip(bounds, sixth, naive_pairs(prior, length), strict=True):
            assert leak(channel, one, two) <= min(bound, other) + 1e-9


@settings(max_examples=examples(20), deadline=None)
@given(st.floats(1e-4, 3.0), st.integers(0, 2**32 - 1))
def test_bounds_rise_with_epsilon_and_stay_below_the_hidden_chain(e, seed):
    prior = random_prior(np.random.default_rng(seed), "hidden", 3, 3, None)
    found = prior.translations()[0].epsilons(e)
    assert np.all(found <= prior.translations()[0].epsilons(1.1 * e) + 1e-12)
    assert np.all(found <= prior.chain.translations()[0].epsilons(e).max() * (1 + 1e-9))


def test_states_and_symbols_that_never_occur():
    transition = [[0.8, 0.2, 0.0], [0.3, 0.7, 0.0], [0.5, 0.4, 0.1]]  # the third is left for good
    emission = [[0.9, 0.1, 0.0, 0.0], [0.3, 0.5, 0.2, 0.0], [0.0, 0.0, 0.0, 1.0]]
    hidden = HiddenMarkov(transition, emission, 3, states=["a", "b", "c"])
    assert len(hidden.influence().cases) == 3 * 2
    shown = HiddenMarkov(transition, emission, 3, symbols="wxyz", secret="emission")
    curve = shown.influence()
    assert len(curve.cases) == 3 * 6
    assert curve.name_of(0) == "the emission of entry 0 is 'w' or 'x'"
    for prior in (hidden, shown):
        found = prior.translations()[0].epsilons(0.7)
        for bound, (_, one, two) in zip(found, naive_pairs(prior, 3), strict=True):
            assert bound == pytest.approx(worst_leak(one, two, 0.7).upper, rel=1e-7)
    for prior, pair in ((hidden, ("a", "c")), (shown, ("w", "z"))):
        with pytest.raises(InvalidParameter, match="pairs"):
            prior.influence(None, entry_values(pairs=[pair]))
    with pytest.raises(InvalidParameter, match="symbols that occur"):
        HiddenMarkov(STICKY, [[1.0, 0.0], [1.0, 0.0]], secret="emission")


def test_joint_law_of_emissions():
    prior = HiddenMarkov(STICKY, COINS, 3, secret="emission")
    naive = sum(naive_law(prior, 3, 0, state) for state in (0, 1))
    assert prior.joint().law == pytest.approx(naive, rel=1e-12)
    total = function_values(sum)
    found = translate(prior, 0.5, total)
    assert 0 < found.upper <= 1.5 + 1e-12
    assert len(prior.influence(None, joint_values([0, 1])).cases) == 12
    with pytest.raises(Unsupported, match="hidden states"):
        HiddenMarkov(STICKY, COINS, 3).joint()
    with pytest.raises(InvalidParameter, match="secrets"):
        HiddenMarkov(STICKY, COINS, 3).influence(None, joint_values([0, 1]))
    for length in (None, 40):
        with pytest.raises(InvalidParameter, match="length"):
            HiddenMarkov(STICKY, COINS, length, secret="emission").joint()


def test_views():
    prior = HiddenMarkov(STICKY, COINS, 6, states=("well", "ill"), symbols=("-", "+"))
    asked = entry_values([1, 4], [("well", "ill")])
    curve = prior.influence(None, asked)
    assert len(curve.cases) == 4
    assert curve.name_of(2) == "the state of entry 4 is 'well' or 'ill'"
    assert curve.epsilons(0.2).shape == prior.translations(asked)[0].epsilons(0.2).shape
    with pytest.raises(InvalidParameter, match="an entry"):
        prior.influence(None, entry_values([6]))
    with pytest.raises(InvalidParameter, match="secret value"):
        prior.influence(None, entry_values(pairs=[("well", "+")]))
    assert "6 entries" in prior.words
    assert prior.entries == 6
    assert repr(prior) == "<HiddenMarkov 2 states, 2 symbols, length 6, secret: hidden>"
    assert HiddenMarkov(STICKY, COINS).influence(2).name_of(0) == "the state of an entry is 0 or 1"


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"transition": [[0.5, 0.6], [0.5, 0.5]]}, "row 0 of transition"),
        ({"transition": [[math.nan, 0.5], [0.5, 0.5]]}, "transition"),
        ({"transition": [[1.0]], "emission": [[1.0]]}, "number of states"),
        ({"emission": [[0.5, 0.6], [0.5, 0.5]]}, "row 0 of emission"),
        ({"emission": [[-0.5, 1.5], [0.5, 0.5]]}, "emission"),
        ({"emission": [0.5, 0.5]}, "shape of emission"),
        ({"emission": [[0.5, 0.5]]}, "rows of emission"),
        ({"emission": []}, "emission"),
        ({"length": 0}, "length"),
        ({"length": True}, "length"),
        ({"states": ("a",)}, "states"),
        ({"symbols": ("a", "a")}, "symbols"),
        ({"secret": "both"}, "secret"),
    ],
)
def test_bad_input(change, match):
    with pytest.raises(InvalidParameter, match=match):
        HiddenMarkov(**{"transition": STICKY, "emission": COINS, **change})


@pytest.mark.parametrize("size", [0, -1, 1.5, True])
def test_bad_sizes(size):
    with pytest.raises(InvalidParameter, match="max_size"):
        HiddenMarkov(STICKY, COINS).influence(size)
