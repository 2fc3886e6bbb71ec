from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples
from tests.pufferfish.random_mechanisms import leak, random_channel
from tests.pufferfish.small_laws import TREE

from quiltwork.errors import InvalidParameter
from quiltwork.pufferfish.priors.chain.chain import MarkovChain
from quiltwork.pufferfish.priors.joint.law import JointLaw
from quiltwork.pufferfish.priors.joint.program import worst_leak
from quiltwork.pufferfish.priors.tree import Tree
from quiltwork.pufferfish.secrets import entry_values, function_values
from quiltwork.pufferfish.translation.translate import per_entry_epsilon, translate

FLIP = [[0.8, 0.2], [0.3, 0.7]]


def random_tree(rng: np.random.Generator, entries: int, states: int, zeros: bool = False) -> Tree:
    """A random shape with the entries in random order, and a matrix of its own for each edge."""
    order = rng.permutation(entries)
    parents: list[int | None] = [None] * entries
    for place in range(1, entries):
        parents[order[place]] = int(order[rng.integers(place)])
    kernels = [None if parent is None else rng.dirichlet(np.full(states, 0.7), states) for parent in parents]
    root = rng.dirichlet(np.ones(states))
    if zeros:
        root[-1] = 0.0
        for kernel in kernels:
            if kernel is not None:
                kernel[rng.random(kernel.shape) < 0.25] = 0.0
                kernel += np.eye(states) * 1e-3
                kernel /= kernel.sum(axis=1, keepdims=True)
        root /= root.sum()
    return Tree(parents, kernels, root)


def naive_law(tree: Tree) -> np.ndarray:
    law = np.zeros((len(tree.states),) * tree.entries)
    for data in np.ndindex(law.shape):
        law[data] = math.prod(
            tree.root[value] if parent is None else tree.transition[node][data[parent], value]
            for node, (parent, value) in enumerate(zip(tree.parents, data, strict=True))
        )
    return law


def naive_pairs(tree: Tree):
    """The laws given the two secrets of every case, in order; None where one of them cannot occur."""
    law = naive_law(tree)
    for entry in range(tree.entries):
        shape = [-1 if axis == entry else 1 for axis in range(tree.entries)]
        given = [law * row.reshape(shape) for row in np.eye(len(tree.states))]
        for one, two in itertools.permutations(given, 2):
            yield (one, two) if one.sum() > 0 and two.sum() > 0 else None


def ising() -> Tree:
    """The tree of theory/pufferfish.md 3.4: coupling .5, field .1, as a law from the root down."""
    law = np.zeros((2,) * 7)
    for data in np.ndindex(law.shape):
        spins = [2 * value - 1 for value in data]
        law[data] = math.exp(sum(0.5 * spins[a] * spins[b] for a, b in TREE) + 0.1 * sum(spins))
    law /= law.sum()
    parents: list[int | None] = [None] * 7
    kernels: list[np.ndarray | None] = [None] * 7
    for a, b in TREE:
        pair = law.sum(axis=tuple(axis for axis in range(7) if axis not in (a, b)))
        parents[b], kernels[b] = a, pair / pair.sum(axis=1, keepdims=True)
    return Tree(parents, kernels, law.sum(axis=tuple(range(1, 7))))


def test_golden():
    """reference/pufferfish.json: mgf_exact and small_graph_curves of "tree_ising", entry 0."""
    tree, root = ising(), entry_values([0])
    for e, golden in {0.1: 0.2744784533638007, 0.5: 1.372568961536754, 1.5: 3.4707864095403327}.items():
        assert tree.translations(root)[0].epsilons(e).max() == pytest.approx(golden, rel=1e-9)
    exact = [2.3518367730461773, 2.0397689333863713, 1.6685475338889617, 1.175918386523089, 0.8638505468632822]
    exact += [0.49262914736587327, 0.0]
    found = tree.influence(None, root).values
    assert np.all(found >= np.array(exact) - 1e-12)
    for size in (1, 2, 4, 5, 7):  # at 3 and 6 the best set is no ball within a branch
        assert found[size - 1] == pytest.approx(exact[size - 1], rel=1e-9)


def test_two_values_are_exact():
    rng = np.random.default_rng(4)
    for entries in (1, 2, 3, 5, 6):
        tree = random_tree(rng, entries, 2)
        (theorem,) = tree.translations()
        assert theorem.exact
        for e in (0.1, 1.0):
            found = theorem.epsilons(e)
            for bound, pair in zip(found, naive_pairs(tree), strict=True):
                bracket = worst_leak(*pair, e)
                assert bound >= bracket.lower - 1e-12
                assert bound == pytest.approx(bracket.upper, rel=1e-7)


def test_three_values_are_bounded():
    rng = np.random.default_rng(6)
    for _ in range(2):
        tree = random_tree(rng, 4, 3)
        (theorem,) = tree.translations()
        assert not theorem.exact
        for e in (0.2, 1.5):
            for bound, pair in zip(theorem.epsilons(e), naive_pairs(tree), strict=True):
                assert bound >= worst_leak(*pair, e).lower - 1e-12


@pytest.mark.parametrize("states", [2, 3])
def test_values_that_cannot_occur(states):
    rng = np.random.default_rng(states)
    silent = 0
    for _ in range(3):
        tree = random_tree(rng, 4, states, zeros=True)
        bounds, sixth = tree.translations()[0].epsilons(0.7), tree.influence()
        exact = tree.translations()[0].exact
        for bound, row, pair in zip(bounds, sixth.cases, naive_pairs(tree), strict=True):
            if pair is None:
                silent += 1
                assert bound == 0.0
                assert np.all(row == 0.0)
            else:
                truth = worst_leak(*pair, 0.7)
                assert bound >= truth.lower - 1e-12
                if exact:
                    assert bound == pytest.approx(truth.upper, rel=1e-7)
    assert silent > 0


@pytest.mark.parametrize("states", [2, 3])
def test_influence_against_every_set(states):
    rng = np.random.default_rng(9)
    equal = 0
    for _ in range(4):
        tree = random_tree(rng, 5 if states == 2 else 4, states)
        curve, exact = tree.influence(), JointLaw(naive_law(tree)).influence()
        assert curve.status == "certified"
        assert curve.sizes.tolist() == exact.sizes.tolist()
        assert np.all(curve.cases >= exact.cases - 1e-12)
        assert curve.cases[:, 0] == pytest.approx(exact.cases[:, 0], rel=1e-9)  # size 1 leaves no choice
        assert np.all(curve.cases[:, -1] == 0.0)
        equal += np.sum(np.abs(curve.cases - exact.cases) < 1e-9)
    assert equal > 40 if states == 2 else equal > 0


def test_a_path_is_a_chain():
    """Any numbering; the stationary law at the root makes every entry alike."""
    order = [3, 0, 5, 1, 4, 2]  # the path, from one end to the other, rooted at its third entry
    parents: list[int | None] = [None] * 6
    for place in (1, 0):
        parents[order[place]] = order[place + 1]
    for place in (3, 4, 5):
        parents[order[place]] = order[place - 1]
    tree, chain = Tree(parents, FLIP, [0.6, 0.4]), MarkovChain(FLIP, length=6)
    back = [2 * order.index(i) + side for i in range(6) for side in (0, 1)]
    for e in (0.1, 1.0):
        assert tree.translations()[0].epsilons(e) == pytest.approx(chain.translations()[0].epsilons(e)[back], rel=1e-9)
    assert tree.influence().cases == pytest.approx(chain.influence().cases[back], rel=1e-9, abs=1e-12)


def test_a_star_by_hand():
    """H takes leaves one by one; each leaf that is left tells log 4."""
    star = Tree([None, 0, 0, 0], [[0.8, 0.2], [0.2, 0.8]], [0.5, 0.5])
    curve = star.influence()
    assert curve.cases[0] == pytest.approx(np.log(4) * np.array([3, 2, 1, 0]), rel=1e-12)
    e = 0.7
    one = math.log((1 + 0.8 * math.expm1(e)) / (1 + 0.2 * math.expm1(e)))
    assert star.translations()[0].epsilons(e)[0] == pytest.approx(e + 3 * one, rel=1e-12)


def test_large_trees():
    """A hub of many leaves, and a long path whose middle is an endless chain."""
    hub = Tree([None] + [0] * 300, FLIP, [0.6, 0.4])
    assert hub.influence().sizes.tolist() == [*range(1, 65), 301]
    assert hub.influence(10).sizes.tolist() == list(range(1, 11))
    path, chain = Tree([None, *range(120)], FLIP, [0.6, 0.4]), MarkovChain(FLIP)
    middle = entry_values([60])
    for e in (0.1, 1.0):
        found = path.translations(middle)[0].epsilons(e)
        assert found == pytest.approx(chain.translations()[0].epsilons(e), rel=1e-9)
    curve = path.influence(20, middle)
    assert curve.cases == pytest.approx(chain.influence(20).cases, rel=1e-9)
    assert per_entry_epsilon(path, 1.0, middle) == pytest.approx(per_entry_epsilon(chain, 1.0), rel=1e-6)


def test_fewer_sizes_are_still_a_bound(monkeypatch):
    tree = Tree([None, *range(30)], FLIP, [0.6, 0.4])
    full = tree.influence()
    monkeypatch.setattr("quiltwork.pufferfish.priors.tree.MOST_CELLS", 62 * 5)
    few = tree.influence()
    assert few.sizes.size == 5
    assert few.sizes[0] == 1
    for size, column in zip(few.sizes, few.cases.T, strict=True):
        assert np.all(column == full.cases[:, size - 1])


def test_random_mechanisms():
    rng = np.random.default_rng(3)
    for _ in range(40):
        entries, states = int(rng.integers(1, 5)), int(rng.integers(2, 4))
        tree, e = random_tree(rng, entries, states, bool(rng.integers(2))), float(rng.choice([0.1, 0.7, 2.0]))
        channel = random_channel(rng, (states,) * entries, e)
        bounds = np.minimum(tree.translations()[0].epsilons(e), tree.influence().epsilons(e))
        for bound, pair in zip(bounds, naive_pairs(tree), strict=True):
            if pair is not None:
                assert leak(channel, *pair) <= bound + 1e-9


@settings(max_examples=examples(25), deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(1e-4, 5.0))
def test_laws(seed, e):
    """Bounds rise with epsilon, stay below group privacy and, for two values, are never worse than Theorem 6."""
    tree = random_tree(np.random.default_rng(seed), 6, 2)
    found = tree.translations()[0].epsilons(e)
    assert np.all(found <= tree.translations()[0].epsilons(1.1 * e) + 1e-12)
    assert np.all(found <= 6 * e * (1 + 1e-12))
    assert np.all(found >= e)
    assert np.all(found <= tree.influence().epsilons(e) * (1 + 1e-9))
    bracket = translate(tree, e)
    assert bracket.upper - bracket.lower <= 2e-7 * (1.0 + bracket.upper)


def test_extreme_epsilons():
    tree = Tree([None, 0, 0, 1], [[0.8, 0.2], [0.0, 1.0]], [0.3, 0.7])
    assert translate(tree, 0.0).upper <= 1e-300
    for e in (1e-300, 1e-9, 50.0, 700.0, 1e5):
        bracket = translate(tree, e)
        assert bracket.upper == pytest.approx(bracket.lower, rel=1e-6, abs=1e-6)
        assert e < bracket.upper <= 4 * e * (1 + 1e-12)


def test_the_root_may_be_anywhere():
    """Turning edges around changes the parameters, not the law."""
    tree = random_tree(np.random.default_rng(12), 5, 3)
    law = naive_law(tree)
    edges = [(node, parent) for node, parent in enumerate(tree.parents) if parent is not None]
    for root in range(5):
        parents: list[int | None] = [None] * 5
        kernels: list[np.ndarray | None] = [None] * 5
        reached = [root]
        for node in reached:
            for edge in edges:
                for other in set(edge) - {node} if node in edge else ():
                    if other not in reached:
                        reached.append(other)
                        pair = law.sum(axis=tuple(axis for axis in range(5) if axis not in (node, other)))
                        pair = pair if node < other else pair.T
                        parents[other], kernels[other] = node, pair / pair.sum(axis=1, keepdims=True)
        turned = Tree(parents, kernels, law.sum(axis=tuple(axis for axis in range(5) if axis != root)))
        assert turned.translations()[0].epsilons(0.5) == pytest.approx(tree.translations()[0].epsilons(0.5), rel=1e-9)
        assert turned.influence().cases == pytest.approx(tree.influence().cases, rel=1e-9, abs=1e-12)


def test_joint_law_and_other_secrets():
    tree = random_tree(np.random.default_rng(1), 4, 2)
    assert tree.joint().law == pytest.approx(naive_law(tree), rel=1e-12)
    total = function_values(sum)
    assert 0 < translate(tree, 0.5, total).upper <= 2.0 + 1e-12
    with pytest.raises(InvalidParameter, match="entries"):
        Tree([None, *range(40)], FLIP, [0.5, 0.5]).influence(None, total)


def test_views_and_words():
    tree = Tree([None, 0, 0], FLIP, [0.5, 0.5], states=("well", "ill"))
    asked = entry_values([2], [("ill", "well")])
    curve = tree.influence(None, asked)
    assert curve.name_of(0) == "entry 2 is 'ill' or 'well'"
    assert curve.cases[0].tolist() == tree.influence().cases[5].tolist()
    assert tree.translations(asked)[0].epsilons(0.3)[0] == tree.translations()[0].epsilons(0.3)[5]
    assert "3 entries" in tree.words
    assert repr(tree) == "<Tree 3 entries, 2 states>"
    with pytest.raises(InvalidParameter, match="an entry"):
        tree.influence(None, entry_values([3]))
    with pytest.raises(InvalidParameter, match="secret value"):
        tree.influence(None, entry_values(pairs=[("well", 1)]))
    with pytest.raises(InvalidParameter, match="max_size"):
        tree.influence(0)
    alone = Tree([None], FLIP, [0.5, 0.5])
    assert alone.influence().values.tolist() == [0.0]
    assert alone.translations()[0].epsilons(0.3) == pytest.approx([0.3, 0.3], rel=1e-12)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"parents": []}, "root"),
        ({"parents": [None, None, 0]}, "root"),
        ({"parents": [1, 2, 0]}, "root"),
        ({"parents": [None, 2, 1]}, "cycle"),
        ({"parents": [None, 1, 0]}, "cycle"),
        ({"parents": [None, 0, 3]}, "from 0 to 2"),
        ({"parents": [None, 0, -1]}, "a parent"),
        ({"parents": [None, 0, True]}, "a parent"),
        ({"parents": [None, 0, 0.0]}, "a parent"),
        ({"parents": "abc"}, "parents"),
        ({"parents": 3}, "parents"),
        ({"transition": [[0.8, 0.3], [0.3, 0.7]]}, "row 0"),
        ({"transition": [[math.nan, 0.3], [0.3, 0.7]]}, "transition"),
        ({"transition": [[0.8, 0.2]]}, "shape"),
        ({"transition": [None, FLIP]}, "transition"),
        ({"transition": [FLIP, None, FLIP]}, "transition"),
        ({"transition": [None, FLIP, np.eye(3)]}, "shapes"),
        ({"transition": [[1.0]], "root": [1.0]}, "number of states"),
        ({"root": [0.5, 0.6]}, "sum of root"),
        ({"root": [1.0]}, "shape of root"),
        ({"root": [-0.5, 1.5]}, "root"),
        ({"states": ("a", "a")}, "states"),
        ({"transition": [[1 - 1e-260, 1e-260], [1.0, 0.0]], "root": [1.0, 0.0]}, "least probability"),
    ],
)
def test_bad_input(change, match):
    with pytest.raises(InvalidParameter, match=match):
        Tree(**{"parents": [None, 0, 0], "transition": FLIP, "root": [0.5, 0.5], **change})
