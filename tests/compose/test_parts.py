"""Symbolic simplification before anything is computed."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import quiltwork as qw
from quiltwork.compose.releases import Part, directed, is_renyi, merged, sandwiched
from quiltwork.losses.families.gaussian import Gaussian, GaussianPair
from quiltwork.losses.families.pure import Approximate, Pure


@given(st.lists(st.tuples(st.sampled_from([0.1, 0.2, 0.3]), st.integers(0, 5)), max_size=8))
def test_equal_families_add_up_and_keep_their_order(items):
    found = merged([Part(Pure(e), k) for e, k in items])
    counts = {}
    for epsilon, count in items:
        if count:
            counts[epsilon] = counts.get(epsilon, 0) + count
    assert [(p.family.epsilon, p.count) for p in found] == list(counts.items())


def test_what_never_happens_is_dropped():
    assert merged([Part(Gaussian(1.0), 0), Part(Pure(1.0), 0)]) == ()
    assert len(merged([Part(Approximate(0.0, 0.1), 1)])) == 1


def test_gaussians_of_every_kind_become_one():
    loss = 4 * qw.gaussian(2.0) + qw.gdp(1.0) + qw.zcdp(0.5) + qw.laplace(1.0)
    (pairs,) = directed(loss.parts).values()
    found = [(pair, count) for pair, count in pairs if isinstance(pair, GaussianPair)]
    assert len(found) == 1
    assert found[0][0].mu == pytest.approx(math.sqrt(1.0 + 1.0 + 1.0))
    assert found[0][1] == 1


def test_directions():
    assert set(directed((3 * qw.laplace(1.0)).parts)) == {"both"}
    both = directed((3 * qw.laplace(1.0) + qw.poisson(qw.gaussian(1.0), 0.5)).parts)
    assert set(both) == {"remove", "add"}
    assert all(len(pairs) == 2 for pairs in both.values())


def test_kinds():
    assert is_renyi(Part(qw.zcdp(0.1).single(""), 1))
    assert not is_renyi(Part(Pure(0.1), 1))
    assert sandwiched(qw.tradeoff(lambda a: (1 - a) ** 2).parts)
    assert not sandwiched(qw.tradeoff([(0, 1), (0.25, 0.25), (1, 0)]).parts)
