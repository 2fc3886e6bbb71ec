"""A release seen from the other world: the same pair, the directions exchanged."""

import json

import numpy as np
import pytest

import quiltwork as qw
from quiltwork.compose.loss import Loss
from quiltwork.errors import InvalidParameter
from quiltwork.losses.families.gaussian import Gaussian
from quiltwork.losses.families.poisson import Poisson
from quiltwork.losses.families.swapped import Turned
from quiltwork.losses.family import family_from_json

EPSILONS = np.array([-0.5, 0.0, 0.4, 1.2])
P = [0.4853049192798989, 0.014069281997766891, 0.5006257987223341]
Q = [0.12359033197592753, 0.12477101409546641, 0.7516386539286061]
BASES = {
    "pair": qw.pair(P, Q),
    "reveals one way": qw.pair([0.1, 0.9], [0.0, 1.0]),
    "sampled Gaussian": qw.poisson(qw.gaussian(2.0), 0.2),
    "sampled Laplace": qw.poisson(qw.laplace(1.0), 0.3),
    "vertices": qw.tradeoff([(0.0, 0.8), (0.3, 0.2), (1.0, 0.0)]),
}


def turned(loss):
    (part,) = loss.parts
    return Loss.of(Turned(part.family))


@pytest.mark.parametrize("name", BASES)
def test_directions_are_exchanged(name):
    base = BASES[name]
    for side, other in (("remove", "add"), ("add", "remove")):
        found, expected = turned(base).direction(side), base.direction(other)
        np.testing.assert_array_equal(found.delta(EPSILONS).upper, expected.delta(EPSILONS).upper)
        np.testing.assert_array_equal(found.delta(EPSILONS).lower, expected.delta(EPSILONS).lower)
        assert found.beta(0.1).lower == expected.beta(0.1).lower
        assert found.epsilon(0.2).upper == expected.epsilon(0.2).upper


@pytest.mark.parametrize("name", BASES)
def test_the_worse_of_both_directions_stays(name):
    np.testing.assert_array_equal(turned(BASES[name]).delta(EPSILONS).upper, BASES[name].delta(EPSILONS).upper)


@pytest.mark.parametrize("name", ["pair", "sampled Gaussian"])
def test_two_directions_of_one_composition_agree(name):
    """(P, Q) x (Q, P) is its own mirror image."""
    both = BASES[name] + turned(BASES[name])
    removed, added = (both.direction(side).delta(EPSILONS) for side in ("remove", "add"))
    np.testing.assert_allclose(removed.upper, added.upper, rtol=3e-3)
    assert np.all(removed.lower <= added.upper)
    assert np.all(added.lower <= removed.upper)


def test_a_product_in_mixed_directions():
    """By the sum over outcomes, and the reference value of seed 001."""
    epsilon = 0.9747385780901975
    p, q = np.outer(P, Q).ravel(), np.outer(Q, P).ravel()
    exact = float(np.maximum(p - np.exp(epsilon) * q, 0.0).sum())
    found = (BASES["pair"] + turned(BASES["pair"])).delta(epsilon, rtol=1e-9)
    assert exact == pytest.approx(0.2911604975134924, abs=1e-12)
    assert found.lower <= exact <= found.upper
    assert found.upper == pytest.approx(exact, abs=1e-9)


def test_a_mixed_product_of_a_sampled_gaussian_stands_above_quadrature():
    """Upper ends against a fine sum over a grid of both outputs."""
    rate, sigma = 0.3, 0.8
    x = np.linspace(-9.0, 10.0, 2001)
    step = x[1] - x[0]
    q = np.exp(-(x**2) / (2 * sigma**2)) / np.sqrt(2 * np.pi) / sigma
    p = (1 - rate) * q + rate * np.exp(-((x - 1) ** 2) / (2 * sigma**2)) / np.sqrt(2 * np.pi) / sigma
    base = qw.poisson(qw.gaussian(sigma), rate)
    for epsilon in (0.2, 0.6):
        exact = float(np.maximum(np.outer(p, q) - np.exp(epsilon) * np.outer(q, p), 0.0).sum()) * step**2
        found = (base + turned(base)).delta(epsilon)
        assert found.lower * (1 - 1e-4) <= exact <= found.upper * (1 + 1e-4)


def test_symmetric_releases_have_no_other_side():
    np.testing.assert_array_equal(
        turned(qw.gaussian(1.0)).delta(EPSILONS).upper, qw.gaussian(1.0).delta(EPSILONS).upper
    )
    assert set(Turned(Gaussian(1.0)).pairs()) == {"both"}


def test_rules_pass_through():
    family = Turned(Poisson(Gaussian(1.0), 0.1))
    assert family.because == family.base.because
    assert family.slack == family.base.slack
    assert family.sandwiched == family.base.sandwiched
    assert Turned(Gaussian(1.0)).group(3) == Turned(Gaussian(1.0).group(3))
    assert Turned(Gaussian(1.0)).subsampled(0.5) == Turned(Gaussian(1.0).subsampled(0.5))
    assert str(family).startswith("turned(")


def test_functions_are_held_as_finely_when_turned():
    """An open trade-off function waits for the question on either side."""
    base = qw.tradeoff(lambda alpha: max(0.0, 1 - alpha / 0.4) ** 2)
    for side, other in (("remove", "add"), ("add", "remove")):
        found, expected = turned(base).direction(side).delta(0.5), base.direction(other).delta(0.5)
        assert found.lower <= expected.upper
        assert expected.lower <= found.upper
        assert found.upper - found.lower <= 2e-3 * found.upper


# ---- stored losses


@pytest.mark.parametrize("name", list(BASES))
def test_stored_and_read_back(name):
    loss = turned(BASES[name]) + qw.pure(0.1)
    text = json.dumps(loss.to_json())
    again = Loss.from_json(json.loads(text))
    assert again == loss
    assert [part.family.to_json() for part in again.parts] == [part.family.to_json() for part in loss.parts]
    side = Loss.from_json(json.loads(json.dumps(loss.direction("add").to_json())))
    assert side == loss.direction("add")
    assert side != loss.direction("remove")


@pytest.mark.parametrize(
    "value",
    [
        {"kind": "turned"},
        {"kind": "turned", "base": "pure"},
        {"kind": "turned", "base": {"kind": "nothing"}},
        {"kind": "turned", "base": {"kind": "pure", "epsilon": 0.1}, "more": 1},
        {"kind": "turned", "base": {"kind": "turned"}},
    ],
)
def test_stored_nonsense_is_refused(value):
    with pytest.raises(InvalidParameter):
        family_from_json(value)
