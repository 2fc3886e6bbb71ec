from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from tests.pufferfish.random_mechanisms import leak, random_channel

from quiltwork.errors import InvalidParameter
from quiltwork.pufferfish.priors.ising import Ising
from quiltwork.pufferfish.priors.network.junction import Factor, Junction, marginal
from quiltwork.pufferfish.priors.network.network import Network
from quiltwork.pufferfish.priors.tree import Tree
from quiltwork.pufferfish.secrets import entry_values, joint_values

AGREE = [[0.8, 0.2], [0.2, 0.8]]


def random_network(seed: int, entries: int, states: int, most: int, zeros: bool = False) -> Network:
    """Each entry has up to `most` parents among those before it."""
    rng = np.random.default_rng(seed)
    parents = [tuple(rng.choice(i, min(i, most), replace=False).tolist()) for i in range(entries)]
    tables = [rng.dirichlet(np.ones(states), size=(states,) * len(above)) for above in parents]
    if zeros:
        tables = [np.where(rng.random(table.shape) < 0.25, 0.0, table) for table in tables]
        tables = [np.where(table.sum(axis=-1, keepdims=True) > 0, table, 1.0) for table in tables]
        tables = [table / table.sum(axis=-1, keepdims=True) for table in tables]
    return Network.bayesian(parents, tables)


def naive_law(network: Network) -> np.ndarray:
    law = np.zeros((len(network.states),) * network.entries)
    for data in np.ndindex(law.shape):
        law[data] = math.prod(float(f.table[tuple(data[one] for one in f.scope)]) for f in network.factors)
    return law / law.sum()


@pytest.mark.parametrize("seed", range(4))
def test_bags_hold_the_marginals_of_the_law(seed):
    network = random_network(seed, 7, 2, 3, zeros=seed > 1)
    law = naive_law(network)
    weights, possible = network.junction.calibrated(network.factors)
    for bag, weight, mask in zip(network.junction.bags, weights, possible, strict=True):
        expected = law.sum(axis=tuple(axis for axis in range(7) if axis not in bag))
        np.testing.assert_allclose(weight.table / weight.table.sum(), expected, rtol=1e-12)
        assert np.array_equal(mask, expected > 0)
    for kept in itertools.combinations(range(7), 3):
        found, error = marginal(network.factors, kept, 2)
        expected = law.sum(axis=tuple(axis for axis in range(7) if axis not in kept))
        np.testing.assert_allclose(found.table / found.table.sum(), expected, rtol=1e-12)
        assert error < 1e-12


def test_entries_hang_together_in_the_tree_of_bags():
    rng = np.random.default_rng(5)
    for _ in range(20):
        scopes = [tuple(sorted(rng.choice(12, 2, replace=False).tolist())) for _ in range(14)]
        junction = Junction.of([*scopes, *((entry,) for entry in range(12))], 12, 2)
        assert all(any(set(scope) <= set(bag) for bag in junction.bags) for scope in scopes)
        for entry in range(12):
            holding = [place for place, bag in enumerate(junction.bags) if entry in bag]
            joined = sum(junction.above[place] in holding for place in holding)
            assert joined == len(holding) - 1


@pytest.mark.parametrize(("seed", "entries", "states", "most", "zeros"), [
    (0, 6, 2, 2, False), (1, 6, 2, 2, False), (2, 6, 2, 2, True), (3, 4, 3, 2, False), (4, 4, 3, 2, True),
])  # fmt: skip
def test_bounds_hold_for_the_worst_mechanism_of_linear_programs(seed, entries, states, most, zeros):
    network = random_network(seed, entries, states, most, zeros)
    found = network.translations()[0]
    for epsilon in (0.2, 1.5):
        worst, bound = network.joint().worst_case(epsilon), found.epsilons(epsilon)
        assert np.all(bound[bound > 0] >= worst.lower - 1e-9)  # pairs of values that cannot occur are left out there
        assert found.leaked(epsilon) <= float(np.max(worst.upper)) + 1e-9
        assert np.all(bound <= entries * epsilon * (1 + 1e-12))
    if not zeros:  # better than a group of all entries
        assert float(found.epsilons(0.2).max()) < 0.95 * entries * 0.2


@pytest.mark.parametrize("seed", range(3))
def test_influence_is_no_smaller_than_that_of_the_best_sets(seed):
    network = random_network(seed, 5, 2, 2, zeros=seed == 2)
    exact = network.joint().influence()
    for ours, best in zip(network.influence().cases.T, exact.cases.T, strict=True):
        assert np.all(ours >= best - 1e-9)
    assert network.influence()(5) == 0.0
    # the ball of an entry and its neighbours on a long path: the Markov quilt of two borders
    path = Network({(i, i + 1): AGREE for i in range(8)})
    told = path.influence(secrets=entry_values([4]))(1)
    assert told == pytest.approx(2 * math.log(4.0), abs=1e-9)


def test_a_network_that_likes_to_agree_is_exact():
    rng = np.random.default_rng(2)
    for flips in ((1, 1, 1), (-1, 1, -1)):
        couplings = {(i, j): 0.5 * flips[i] * flips[j] for i, j in ((0, 1), (1, 2), (0, 2))}
        fields = rng.normal(0, 0.4, 3)
        factors = {pair: np.exp([[s, -s], [-s, s]]) for pair, s in couplings.items()}
        network = Network(factors | {(i,): np.exp([-field, field]) for i, field in enumerate(fields)})
        ising = Ising(couplings, fields).translations()[0]
        found = network.translations()[0]
        for epsilon in (0.1, 2.0, 12.0):
            np.testing.assert_allclose(found.epsilons(epsilon), ising.epsilons(epsilon), rtol=0, atol=1e-8)
            assert 0 <= float(found.epsilons(epsilon).max()) - found.leaked(epsilon) < 1e-7
    frustrated = Network({(i, j): np.exp([[-1, 1], [1, -1]]) for i, j in ((0, 1), (1, 2), (0, 2))})
    assert frustrated.translations()[0].name == "propagation"


def test_on_trees_it_is_the_tree():
    for kernel, root, count in (
        (AGREE, [0.4, 0.6], 40),
        ([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.3, 0.3, 0.4]], [0.3, 0.3, 0.4], 15),
    ):
        above = [None, *((i - 1) // 2 for i in range(1, count))]
        tree = Tree(above, kernel, root)
        network = Network.bayesian([() if i is None else (i,) for i in above], [root, *([kernel] * (count - 1))])
        for epsilon in (0.1, 1.0):
            expected = tree.translations()[0].epsilons(epsilon)
            np.testing.assert_allclose(network.translations()[0].epsilons(epsilon), expected, atol=1e-9)
            tables = network._propagation.tables(epsilon)
            off = ~np.eye(len(root), dtype=bool)
            np.testing.assert_allclose(np.concatenate([table[off] for _, table in tables]), expected, atol=1e-9)


def test_random_mechanisms_stay_below():
    network, rng = random_network(8, 4, 2, 2), np.random.default_rng(0)
    law = naive_law(network)
    bound = network.translations()[0].epsilons(0.7)
    for _ in range(20):
        channel = random_channel(rng, (2,) * 4, 0.7)
        for entry in range(4):
            ones = np.moveaxis(law, entry, 0)
            shape = [-1 if axis == entry else 1 for axis in range(4)]
            first, second = (law * row.reshape(shape) / ones[value].sum() for value, row in enumerate(np.eye(2)))
            assert leak(channel, first, second) <= bound[2 * entry] + 1e-9


def test_secrets_about_several_entries_are_written_out():
    network = random_network(1, 5, 2, 2)
    asked = joint_values([0, 1])
    expected = network.joint().translations(asked)[0].epsilons(0.3)
    np.testing.assert_array_equal(network.translations(asked)[0].epsilons(0.3), expected)


@pytest.mark.parametrize(("factors", "words"), [
    ({(0, 0): AGREE}, "one axis for each entry"),
    ({(0, 2): AGREE}, "none for entry 1"),
    ({(0, 1): [[1, 2]]}, "of one length"),
    ({(0, 1): [[0, 0], [0, 0]]}, "none are possible"),
    ({(0, 1): [[1e-200, 1], [1, 1]]}, "at least 1e-100"),
    ({(i, j): AGREE for i in range(20) for j in range(i)}, "induced width"),
    ({(0, 900): AGREE}, "below 500"),
    ([1, 2], "mapping"),
])  # fmt: skip
def test_refusals(factors, words):
    with pytest.raises(InvalidParameter, match=words):
        Network(factors)


@pytest.mark.parametrize(("parents", "tables", "words"), [
    ([(1,), (0,)], [AGREE, AGREE], "without a cycle"),
    ([(), (5,)], [[0.5, 0.5], AGREE], "without a cycle"),
    ([(), (0,)], [[0.5, 0.5]], "one for each entry"),
    ([(), (0,)], [[0.5, 0.5], [[0.9, 0.2], [0.5, 0.5]]], "adding up to 1"),
])  # fmt: skip
def test_refusals_of_bayesian_networks(parents, tables, words):
    with pytest.raises(InvalidParameter, match=words):
        Network.bayesian(parents, tables)


def test_factors_have_a_scale_of_their_own():
    """Five weights of 1e100 in one bag overflowed; only ratios matter."""
    plain = Network([((0, 1), AGREE)] * 5 + [((1, 2), AGREE)])
    for scale in (1e100, 1e-99):
        large = Network([((0, 1), scale * np.array(AGREE))] * 5 + [((1, 2), AGREE)])
        assert np.array_equal(large.translations()[0].epsilons(0.5), plain.translations()[0].epsilons(0.5))
        assert np.array_equal(large.influence().cases, plain.influence().cases)
        np.testing.assert_allclose(large.joint().law, plain.joint().law, rtol=1e-14)


def test_digits_that_are_lost_on_the_way_are_refused():
    """8.1e-323 has four bits, and the next group of entries raised it to 1e-122 with an error of one percent."""
    rare, common = [1.0, 3e-81], [[1e-100, 1e-100], [1e100, 1e100]]
    rescued = [((0, 1), AGREE), *([((0,), rare)] * 4), ((0, 1), AGREE), ((0, 2), common), ((1, 3), AGREE)]
    with pytest.raises(InvalidParameter, match="1e-280"):
        Network(rescued)


def test_a_factor_that_says_nothing_changes_nothing():
    plain = Network({(0, 1): AGREE})
    more = Network([((0, 1), AGREE), ((1, 0), np.ones((2, 2))), ((1,), [1.0, 1.0])])
    np.testing.assert_allclose(plain.translations()[0].epsilons(0.4), more.translations()[0].epsilons(0.4), atol=1e-9)
    assert Factor((0,), np.ones(2)).onto([0]).scope == (0,)
