"""The heaviest cells, found without listing all of them, against a list of all of them."""

import numpy as np
import pytest
from tests.examples import seeds
from tests.tables.arrangements import arranged, everyone

from quiltwork.tables.cells import heaviest as depths
from quiltwork.tables.cells.cells import Arrangement
from quiltwork.tables.cells.heaviest import ascended, heaviest

SHAPES = {
    "boxes": {},
    "one column": {"columns": 1},
    "no ordered column": {"columns": 0, "queries": 4},
    "four columns": {"columns": 4, "queries": 5},
    "unions": {"several": True, "queries": 6},
    "opaque": {"dark": True},
}
LIMITS = {
    "none": {},
    "few kept": {"MOST_KEPT": 3},
    "one kept": {"MOST_KEPT": 1},
    "few branches": {"MOST_NODES": 2},
    "no branches": {"MOST_NODES": 0},
    "little work": {"MOST_SUMS": 50},
}


def looked(seed, shape, shares, merge=True):
    arrangement = arranged(seed, **SHAPES[shape])
    rng = np.random.default_rng(seed)
    costs = rng.uniform(0.1, 1.0, size=(arrangement.queries, 2))
    strengths = rng.integers(0, 3, size=(arrangement.queries, 4)).astype(float)
    return arrangement, costs, strengths, heaviest(arrangement, costs, strengths, np.array(shares), merge=merge)


def check(arrangement, costs, strengths, found):
    """Every cell lies below a kept one, in touched queries or strengths, or below the rest in every cost."""
    cells = everyone(arrangement).astype(float)
    sums, rows = cells @ costs, cells @ strengths
    small = (sums <= found.rest * (1 + 1e-12)).all(axis=1)
    kept = arrangement.cells(found.picks).touched.astype(float)
    np.testing.assert_allclose(kept @ costs, found.sums, rtol=1e-12)
    np.testing.assert_allclose(kept @ strengths, found.strengths, rtol=1e-12)
    dominated = (rows[~small, None, :] <= found.strengths[None, :, :]).all(axis=2).any(axis=1)
    assert dominated.all()
    return sums


@pytest.mark.parametrize("merge", [True, False])
@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", seeds(2, least=1))
def test_no_cell_escapes(monkeypatch, seed, shape, limit, merge):
    for name, value in LIMITS[limit].items():
        monkeypatch.setattr(depths, name, value)
    check(*looked(seed, shape, [0.75, 0.95], merge))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", range(2))
def test_the_largest_cost_is_found(seed, shape):
    """Without limits the best cell is among the kept ones, and all that passes the share."""
    arrangement, costs, strengths, found = looked(seed, shape, [0.75, 0.95])
    sums = check(arrangement, costs, strengths, found)
    np.testing.assert_allclose(found.sums.max(axis=0), sums.max(axis=0), rtol=1e-12)
    assert (found.rest < sums.max(axis=0)).all()


@pytest.mark.parametrize("seed", range(2))
def test_with_no_share_every_strength_is_kept(seed):
    arrangement, _, strengths, found = looked(seed, "boxes", [0.0, 0.0])
    rows = everyone(arrangement).astype(float) @ strengths
    assert (rows[:, None, :] <= found.strengths[None, :, :]).all(axis=2).any(axis=1).all()
    assert not found.rest.any()


def test_equal_costs_leave_a_cell(monkeypatch):
    """All cells cost the same: whatever is left out, one of them is kept as a witness."""
    monkeypatch.setattr(depths, "MOST_KEPT", 1)
    arrangement = arranged(0, queries=4, dark=True)
    costs = np.zeros((arrangement.queries, 1))
    costs[-1] = 1.0  # only the query that every record touches costs anything
    strengths = np.random.default_rng(0).integers(0, 3, size=(arrangement.queries, 4)).astype(float)
    found = heaviest(arrangement, costs, strengths, np.array([0.75]), merge=True)
    assert found.picks.shape[0] > 0
    check(arrangement, costs, strengths, found)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("several", [False, True])
def test_ascent_ends_where_no_single_column_helps(seed, several):
    arrangement = arranged(seed, queries=8, several=several)
    costs = np.random.default_rng(seed).uniform(-1.0, 1.0, size=arrangement.queries)
    start = np.zeros(len(arrangement.sheets), dtype=np.int64)
    picks = ascended(arrangement, costs, start)

    def worth(cell):
        return float(arrangement.cells(np.array(cell)[None, :]).touched[0] @ costs)

    assert worth(picks) >= worth(start)
    for s, sheet in enumerate(arrangement.sheets):
        for k in range(len(sheet.names)):
            other = picks.copy()
            other[s] = k
            assert worth(other) <= worth(picks) + 1e-12
    held = ascended(arrangement, costs, start, frozenset(("kind",)))
    changed = [sheet.column for s, sheet in enumerate(arrangement.sheets) if held[s] != start[s]]
    assert changed in ([], ["kind"])


def test_no_queries_is_no_cost():
    arrangement = Arrangement((), np.zeros(0, dtype=np.int64), np.zeros(0, dtype=bool), 0)
    found = heaviest(arrangement, np.zeros((0, 1)), np.zeros((0, 0)), np.array([0.75]), merge=True)
    assert found.picks.shape[1] == 0
    assert not found.sums.any()
