"""Dominance without composing, against the engine."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples

import quiltwork as qw
from quiltwork.compose import dominance as strength
from quiltwork.compose.dominance import Ladders, distinct, dominated, front
from quiltwork.compose.scaling import turned

EPSILONS = np.array([0.0, 0.2, 0.7, 1.5])
POOLS = [
    [*(qw.pure(e) for e in (0.1, 0.2, 0.3, 0.4)), qw.approximate(0.1, 1e-2), qw.approximate(0.2, 1e-2)],
    [*(qw.gdp(m) for m in (0.1, 0.25, 0.5)), qw.gaussian(4.0), qw.gaussian(2.0, sensitivity=3.0), qw.gaussian(8.0)],
    [qw.laplace(4.0), qw.laplace(8.0), qw.laplace(1.0, sensitivity=0.3)],
    [qw.zcdp(0.1), qw.zcdp(0.02), qw.gdp(0.3), qw.gdp(0.6)],
]


@st.composite
def compositions(draw, least):
    """Compositions of a few releases of one pool."""
    pool = draw(st.sampled_from(POOLS))
    one = st.lists(st.sampled_from(pool), max_size=3).map(lambda parts: sum(parts, qw.Loss(())))
    return draw(st.lists(one, min_size=least, max_size=4))


def above(one, two):
    """Whether the first composition is at least as revealing, as far as can be seen."""
    return bool(np.all(one.delta(EPSILONS).upper >= two.delta(EPSILONS).lower))


@given(found=compositions(2), rungs=st.sampled_from([2, 3, 24]))
@settings(max_examples=examples(25))
def test_dominated_compositions_tell_less(found, rungs):
    """However few rungs there are: heights are rounded against the claim."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(strength, "MOST_RUNGS", rungs)
        ladders = Ladders.of(found)
    up, down = ladders.strength(found, up=True), ladders.strength(found, up=False)
    for i, j in np.argwhere((up[:, None, :] <= down[None, :, :]).all(axis=2)):
        assert above(found[j], found[i])
    kept = front(up, down)
    for i in range(len(found)):
        assert i in kept or any(above(found[int(k)], found[i]) for k in kept)


@given(found=compositions(1), rungs=st.sampled_from([2, 24]))
@settings(max_examples=examples(25))
def test_envelopes_tell_more_than_each(found, rungs):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(strength, "MOST_RUNGS", rungs)
        ladders = Ladders.of(found)
    rows = ladders.strength(found, up=True)
    envelope = ladders.loss(rows.max(axis=0))
    for loss in found:
        assert above(envelope, loss)
    if len(found) == 1 and not ladders.coarse:
        assert np.all(np.abs(envelope.delta(EPSILONS).upper - found[0].delta(EPSILONS).upper) <= 2e-3)


@pytest.mark.parametrize("family", [qw.pure, qw.gdp, qw.zcdp, lambda e: qw.laplace(1 / e)])
def test_every_ladder_is_an_order(family):
    """More of a thing dominates less of it, and never the other way round."""
    losses = [family(size) for size in (0.1, 0.2, 0.4)]
    ladders = Ladders.of(losses)
    rows = ladders.strength(losses, up=True)
    assert ladders.width == 3
    assert (rows[0] <= rows[1]).all()
    assert (rows[1] <= rows[2]).all()
    assert not (rows[1] <= rows[0]).all()
    assert front(rows, rows).tolist() == [2]


def test_long_ladders_keep_both_ends():
    losses = [qw.gdp(round(0.01 * i, 2)) for i in range(1, 101)]
    ladders = Ladders.of(losses)
    (rungs,) = ladders.rungs.values()
    heights = [height for height, _ in rungs]
    assert ladders.coarse
    assert len(heights) == strength.MOST_RUNGS
    assert (heights[0], heights[-1]) == (1.0, 0.01)
    up, down = ladders.strength(losses, up=True), ladders.strength(losses, up=False)
    assert (down <= up).all()
    for loss, row in zip(losses, up, strict=True):
        (part,) = ladders.loss(row).parts
        assert part.count == 1
        assert part.family.mu >= loss.parts[0].family.mu
    for loss, row in zip(losses, down, strict=True):
        (part,) = ladders.loss(row).parts
        assert part.family.mu <= loss.parts[0].family.mu


def test_equal_rows_of_a_coarse_ladder_are_all_looked_at():
    rows = np.array([[1.0, 2.0], [1.0, 2.0], [0.0, 1.0]])
    fine = Ladders.of([qw.gdp(0.1)])
    coarse = Ladders.of([qw.gdp(0.01 * i) for i in range(1, 40)])
    assert distinct(fine, rows).tolist() == [0, 2]
    assert distinct(coarse, rows).tolist() == [0, 1, 2]


def test_families_without_an_order_are_compared_with_themselves_only():
    losses = [qw.approximate(0.1, 1e-3), qw.approximate(0.2, 1e-2), 2 * qw.approximate(0.1, 1e-3)]
    rows = Ladders.of(losses).strength(losses, up=True)
    assert front(rows, rows).tolist() == [1, 2]


def test_a_turned_loss_is_another_loss():
    one_way = qw.pair([0.7, 0.3], [0.2, 0.8])
    losses = [one_way, turned(one_way), qw.pure(0.1), None]
    ladders = Ladders.of(loss for loss in losses if loss is not None)
    rows = ladders.strength(losses, up=True)
    assert ladders.width == 3
    assert not rows[3].any()
    assert front(rows, rows).tolist() == [0, 1, 2]


@pytest.mark.parametrize("size", [1, 7, 700])
def test_fronts_against_all_pairs(size):
    """Enough rows that they are taken in blocks."""
    rng = np.random.default_rng(size)
    up = rng.integers(0, 5, size=(size, 4)).astype(float)
    kept = front(up, up)
    below = (up[:, None, :] <= up[None, :, :]).all(axis=2)
    strict = below & (up[:, None, :] < up[None, :, :]).any(axis=2)
    expected = [i for i in range(size) if not strict[i].any() and not (up[:i] == up[i]).all(axis=1).any()]
    assert rowset(up[kept]) == rowset(up[expected])
    assert len(kept) == len(expected)


def rowset(rows):
    return set(map(tuple, rows.tolist()))


def test_fronts_with_rounded_rows_lose_nothing():
    """`down` below `up`: fewer rows are dominated, and each that is left out lies below a kept one."""
    rng = np.random.default_rng(4)
    up = rng.integers(0, 6, size=(600, 4)).astype(float)
    down = np.maximum(up - rng.integers(0, 2, size=up.shape), 0)
    kept = front(up, down)
    rest = np.setdiff1d(np.arange(600), kept)
    assert dominated(up[rest], down[kept]).all()
    assert len(kept) >= len(front(up, up))


def test_dominated_by_nothing():
    rows = np.ones((2, 3))
    assert not dominated(rows, np.zeros((0, 3))).any()
    assert dominated(rows, np.ones((1, 3))).all()
    assert dominated(np.zeros((2, 0)), np.zeros((1, 0))).all()
    assert front(np.zeros((0, 3)), np.zeros((0, 3))).size == 0
