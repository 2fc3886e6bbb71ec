"""Undominated cells and the bound for the others, against the composition of every cell."""

import numpy as np
import pytest
from tests.examples import seeds
from tests.tables import naive
from tests.tables.arrangements import arranged, everyone

import quiltwork as qw
from quiltwork.compose import dominance as strength
from quiltwork.compose.scaling import total
from quiltwork.tables.cells import heaviest as depths
from quiltwork.tables.worst_step import fronts
from quiltwork.tables.worst_step.fronts import Rates, strongest
from quiltwork.tables.worst_step.vectors import Vector
from quiltwork.tables.worst_step.worst import Worst

POOLS = {
    "one": [qw.pure(0.3)],
    "counts": [qw.pure(0.3), 2 * qw.pure(0.3)],
    "ladders": [qw.pure(0.2), qw.pure(0.5), qw.gdp(0.4), qw.gdp(0.2)],
    "apart": [qw.approximate(0.1, 1e-3), qw.approximate(0.3, 1e-4), qw.pure(0.2), None],
    "orders": [qw.zcdp(0.02), qw.zcdp(0.1), qw.gdp(0.4)],
}
LIMITS = {
    "none": ({}, {}),
    "search": ({"MOST_LISTED": 0}, {}),
    "few compared": ({"MOST_LISTED": 0, "MOST_COMPARED": 1, "MOST_INCOMPARABLE": 1}, {}),
    "few kept": ({"MOST_COMPARED": 0}, {"MOST_KEPT": 2}),
    "few branches": ({"MOST_LISTED": 0}, {"MOST_NODES": 1}),
}


def front_of(seed, pool, several=False):
    arrangement = arranged(seed, columns=2, queries=9, several=several)
    rng = np.random.default_rng(seed)
    losses = [POOLS[pool][int(rng.integers(len(POOLS[pool])))] for _ in range(arrangement.queries)]
    return arrangement, losses, strongest(arrangement, losses)


def composed(row, losses):
    return total((losses[int(i)], 1) for i in np.flatnonzero(row) if losses[int(i)] is not None)


def check(arrangement, losses, found):
    """The curve of the kept cells and the bound stands above every cell."""
    vectors = [Vector(composed(row, losses), (), "") for row in found.cells.touched]
    curve = Worst(vectors, () if found.bound is None else (found.bound,))
    all_losses = naive.maximal({composed(row, losses) for row in np.unique(everyone(arrangement), axis=0)})
    lower, upper = naive.worst_delta(all_losses, rtol=1e-4)
    answer = curve.delta(naive.EPSILONS, rtol=1e-4)
    assert np.all(answer.upper >= lower)
    assert np.all(answer.lower <= upper)
    for row in found.cells.touched:  # what is kept is a cell
        assert (everyone(arrangement) == row).all(axis=1).any()
    return answer, upper


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("pool", POOLS)
@pytest.mark.parametrize("seed", seeds(2, least=1))
@pytest.mark.parametrize("several", [False, True], ids=["boxes", "unions"])
def test_every_cell_is_dominated_or_bounded(monkeypatch, seed, pool, limit, several):
    for module, values in zip((fronts, depths), LIMITS[limit], strict=True):
        for name, value in values.items():
            monkeypatch.setattr(module, name, value)
    arrangement, losses, found = front_of(seed, pool, several)
    answer, upper = check(arrangement, losses, found)
    if limit == "none":
        assert found.bound is None
        assert np.all(answer.upper <= upper * (1 + 1e-3) + 1e-12)


@pytest.mark.parametrize("listed", [fronts.MOST_LISTED, 0])
def test_many_different_losses_are_all_kept_apart(monkeypatch, listed):
    """Thirty Gaussian losses on a ladder of few rungs: rounding must not hide the stronger of two."""
    monkeypatch.setattr(fronts, "MOST_LISTED", listed)
    monkeypatch.setattr(strength, "MOST_RUNGS", 3)
    arrangement = arranged(7, columns=2, queries=12)
    losses = [qw.gdp(round(0.1 + 0.05 * i, 2)) for i in range(arrangement.queries)]
    found = strongest(arrangement, losses)
    assert found.ladders.coarse
    answer, upper = check(arrangement, losses, found)
    if found.bound is None:
        assert np.all(answer.upper <= upper * (1 + 1e-3) + 1e-12)


def test_kept_cells_do_not_dominate_each_other():
    _, losses, found = front_of(0, "ladders")
    down = found.cells.touched.astype(float) @ found.ladders.strength(losses, up=False)
    below = (found.strengths[:, None, :] <= down[None, :, :]).all(axis=2)
    np.fill_diagonal(below, False)
    assert not below.any()


# ---- the rates behind the bound


@pytest.mark.parametrize("pool", POOLS)
@pytest.mark.parametrize("seed", range(2))
def test_bounds_stand_above_all_subsets_of_their_cost(pool, seed):
    """Any set of queries whose costs stay below a number is below the losses of that number."""
    rng = np.random.default_rng(seed)
    losses = [POOLS[pool][int(rng.integers(len(POOLS[pool])))] for _ in range(8)]
    rates = Rates.of(losses)
    for _ in range(3):
        row = rng.integers(2, size=8).astype(bool)
        rest = row.astype(float) @ rates.costs
        loss = composed(row, losses)
        for bound in rates.bound(rest):
            assert np.all(bound.delta(naive.EPSILONS).upper >= loss.delta(naive.EPSILONS).lower)
            assert bound.epsilon(1e-6).upper >= loss.epsilon(1e-6).lower


def test_rates_without_an_order_count():
    """A loss that reveals nothing finite at any order still has a cost, and the bound says that anything may happen."""
    losses = [qw.rdp([2.0], [0.1]), qw.pair([0.5, 0.5, 0.0], [0.0, 0.5, 0.5]), qw.gdp(0.1)]
    rates = Rates.of(losses)
    assert (rates.cost > 0).all()
    loss = composed(np.ones(3, dtype=bool), losses)
    for bound in rates.bound(rates.costs.sum(axis=0)):
        assert np.all(bound.delta(naive.EPSILONS).upper >= loss.delta(naive.EPSILONS).lower)


def test_a_release_that_tells_everything_is_bounded_by_1():
    losses = [qw.approximate(0.0, 1.0), qw.pure(0.1)]
    rates = Rates.of(losses)
    for bound in rates.bound(rates.costs.sum(axis=0)):
        assert bound.delta(1.0).upper == 1.0
