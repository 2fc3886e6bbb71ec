from __future__ import annotations

import math

import numpy as np
import pytest
from tests.pufferfish.random_mechanisms import leak, random_channel
from tests.pufferfish.small_laws import RING, TREE

from quiltwork.errors import InvalidParameter
from quiltwork.pufferfish.priors.ising import Ising
from quiltwork.pufferfish.secrets import entry_values

# reference/pufferfish.json: small_graph_curves (b = 1 .. 7) and mgf_exact (eps: linear program, Theorem 6), entry 0
CURVES = {
    "tree": "2.3518367730461773 2.0397689333863713 1.6685475338889617 1.175918386523089 0.8638505468632822 "
    "0.49262914736587327 0",
    "ring": "2.0673640273042175 1.417631242242296 0.7678984571803744 0.5231654271982893 0.2784323972162046 "
    "0.18824000774807048 0",
}
LEAKS = {
    "tree": {
        0.1: (0.2744784533638004, 0.7),
        0.5: (1.3725689615367545, 2.8518367730461773),
        1.5: (3.4707864095403327, 3.8518367730461773),
    },
    "ring": {
        0.1: (0.2102889894133632, 0.7),
        0.5: (1.0890614468472535, 2.267898457180374),
        1.5: (3.007757882182715, 3.5673640273042175),
    },
}


def model(name):
    if name == "tree":
        return Ising(dict.fromkeys(TREE, 0.5), fields=0.1)
    return Ising(dict.fromkeys(RING, 0.4), fields=[-0.2] * 7)


@pytest.mark.parametrize("name", ["tree", "ring"])
def test_reference(name):
    ising, secrets = model(name), entry_values([0])
    curve = ising.influence(secrets=secrets)
    assert np.allclose(curve.values, [float(one) for one in CURVES[name].split()], rtol=0, atol=1e-11)
    (theorem,) = ising.translations(secrets)
    for epsilon, (exact, theorem_6) in LEAKS[name].items():
        assert float(theorem.epsilons(epsilon).max()) == pytest.approx(exact, abs=1e-11)
        assert curve.epsilon(epsilon) == pytest.approx(theorem_6, abs=1e-11)
        assert np.allclose(ising.worst_case(epsilon, secrets).upper, theorem.epsilons(epsilon), rtol=0, atol=1e-6)


def test_weights_are_those_of_spins():
    ising = Ising({(0, 1): 0.3, (1, 2): -0.7}, fields=[0.1, 0.0, -0.4])
    weights = {}
    for x in np.ndindex(2, 2, 2):
        s = [2 * value - 1 for value in x]
        weights[x] = math.exp(0.3 * s[0] * s[1] - 0.7 * s[1] * s[2] + 0.1 * s[0] - 0.4 * s[2])
    total = math.fsum(weights.values())
    for x, weight in weights.items():
        assert ising.joint().law[x] == pytest.approx(weight / total, rel=1e-14)
    assert 0.0 < ising.joint().relative_error < 1e-14


def test_matrix_and_mapping_are_the_same():
    matrix = np.array([[0.0, 0.5, 0.0], [0.5, 0.0, -0.2], [0.0, -0.2, 0.0]])
    assert np.array_equal(Ising(matrix).joint().law, Ising({(1, 0): 0.5, (1, 2): -0.2}).joint().law)


def test_repulsive_trees_are_flipped():
    """Signs on a tree can be exchanged away, and then nothing but the names of the values changes."""
    signs = [1, -1, -1, 1, -1, 1]
    mixed = Ising({edge: 0.5 * sign for edge, sign in zip(TREE, signs, strict=True)})
    plain = Ising(dict.fromkeys(TREE, 0.5))
    (found,), (same,) = mixed.translations(), plain.translations()
    assert found.exact
    assert np.allclose(found.epsilons(0.8), same.epsilons(0.8), rtol=0, atol=1e-12)
    assert np.allclose(mixed.worst_case(0.8, entry_values([3])).upper, found.epsilons(0.8)[6:8], rtol=0, atol=1e-6)


def test_frustrated_rings_go_to_the_program():
    ising = Ising({(0, 1): -0.5, (1, 2): -0.5, (0, 2): -0.5})
    (theorem,) = ising.translations()
    assert theorem.name == "linear program"
    rng = np.random.default_rng(6)
    bounds = theorem.epsilons(0.9)
    for _ in range(50):
        channel = random_channel(rng, (2, 2, 2), 0.9)
        for bound, case in zip(bounds, ising.joint().cases(), strict=True):
            assert leak(channel, ising.joint().law * case.first, ising.joint().law * case.second) <= bound + 1e-12


def test_no_couplings_is_independence():
    ising = Ising({}, fields=[0.3, -0.2])
    assert ising.influence().values.max() < 1e-13
    assert float(ising.translations()[0].epsilons(0.4).max()) == pytest.approx(0.4, abs=1e-12)
    assert ising.entries == 2
    assert "Ising" in ising.words


def test_sixteen_entries():
    ising = Ising({(i, i + 1): 0.3 for i in range(15)})
    (theorem,) = ising.translations()
    assert theorem.exact
    curve = ising.influence(4, entry_values([8]))
    # in the middle of a chain with P(agree) = 1 / (1 + e^-0.6), theory 4.1: both neighbours tell
    agree = 1 / (1 + math.exp(-0.6))
    assert curve(1) == pytest.approx(2 * math.log(agree / (1 - agree)), abs=1e-9)
    ours, theirs = ising.query_laws(0, entry_values([8]))
    assert ours.sum() == pytest.approx(1.0)
    assert ours @ np.arange(17) > theirs @ np.arange(17)
    assert ising.atoms(0, 1, entry_values([8])).losses.max() == pytest.approx(curve(1), abs=1e-12)


@pytest.mark.parametrize(
    "couplings",
    [
        {(0, 0): 1.0},
        {(0, 1): 1.0, (1, 0): 1.0},
        {(0, 1): math.nan},
        {(0, 1): "strong"},
        {(0, 1): True},
        {0: 1.0},
        {(-1, 1): 1.0},
        [[0.0, 1.0], [0.5, 0.0]],
        [[1.0, 0.0], [0.0, 1.0]],
        [1.0, 2.0],
        "all",
        {(0, 16): 1.0},
    ],
)
def test_bad_couplings(couplings):
    with pytest.raises(InvalidParameter):
        Ising(couplings)


@pytest.mark.parametrize("fields", [[0.1], [[0.1, 0.2]], [math.nan, 0.0], math.inf, "up", None, True, [0.0] * 17, []])
def test_bad_fields(fields):
    with pytest.raises(InvalidParameter):
        Ising({(0, 1): 0.5}, fields)


def test_couplings_beyond_floats():
    with pytest.raises(InvalidParameter, match="scale them down"):
        Ising({(0, 1): 400.0}).influence()


def test_every_prior_writes_out_its_law_in_the_same_way():
    ising = Ising({(0, 1): 0.3})
    assert ising.joint().law.shape == (2, 2)
    assert ising.joint() is ising.joint()  # it is large, and written out once
