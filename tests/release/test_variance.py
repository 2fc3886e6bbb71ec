"""Variances: of three noisy totals that one record moves together, with the range that noise does not contradict."""

import math
import random
from fractions import Fraction

import numpy as np
import pytest

import quiltwork as qw
from quiltwork import noise
from quiltwork.release import draw, scan
from quiltwork.tables.statistics.intervals import variance_of, variance_range
from quiltwork.tables.statistics.price import UNITS


def values(rows=400):
    rng = random.Random(1)
    return [rng.choice((rng.gauss(40, 15), rng.uniform(-10, 120), math.nan, None)) for _ in range(rows)]


def asked(kind, clip=(0, 100)):
    t = qw.Table(x=qw.Float(0, 100, nullable=True))
    return t, qw.Plan(t, qw.add_remove()).variance("v", of=t.x, clip=clip, noise=kind)


def exact(t, made, data):
    with scan.Engine.open() as engine:
        return scan.totals(engine, data, t, made.neighbors, made.statistics, lambda *_: None)["v"]


@pytest.mark.parametrize("clip", [(0, 100), (20, 60)])
def test_totals_are_those_of_plain_python(clip):
    t, made = asked(noise.laplace(1.0), clip)
    found, low, high = exact(t, made, {"x": values()}), *clip
    kept = [min(max(v, low), high) for v in values() if v is not None and not math.isnan(v)]
    shares = [(v - low) / (high - low) for v in kept]
    assert found.count == [len(kept)]
    assert found.squares == [sum(round(s * s * UNITS) for s in shares)]
    assert found.sum == [sum(min(round((1 - s) * (1 - s) * UNITS), UNITS - round(s * s * UNITS)) for s in shares)]
    middle = found.count[0] * UNITS - found.sum[0] - found.squares[0]
    share = variance_of(found.sum[0], middle, found.squares[0])
    assert share * (high - low) ** 2 == pytest.approx(np.var(kept), rel=1e-6)


@pytest.mark.parametrize("kind", [noise.laplace(90_000.0), noise.gaussian(90_000.0)], ids=["laplace", "gaussian"])
def test_the_range_holds_the_exact_variance_at_least_as_often_as_it_says(kind):
    """400 draws at 95 %: fewer than 360 has a chance below 1e-5; ranges are not so wide that they say nothing."""
    t, made = asked(kind)
    found = exact(t, made, {"x": 10 * values()})
    middle = found.count[0] * UNITS - found.sum[0] - found.squares[0]
    truth = 100**2 * variance_of(found.sum[0], middle, found.squares[0])
    rows = [draw.published(found, t, made.neighbors, 0.95)[0] for _ in range(400)]
    assert sum(row["lower"] <= truth <= row["upper"] for row in rows) >= 360
    assert all(row["lower"] <= row["value"] <= row["upper"] for row in rows)
    off = np.array([row["value"] for row in rows]) - truth
    assert np.median([row["upper"] - row["lower"] for row in rows]) <= 12 * off.std()


@pytest.mark.parametrize("seed", range(40))
def test_the_range_is_that_of_a_fine_grid(seed):
    rng = random.Random(seed)
    totals = [rng.choice((0, rng.randrange(-50, 400), rng.randrange(0, 40))) for _ in range(3)]
    width = rng.choice((1, 20, 300))
    low, high = variance_range(tuple(totals), width)
    grids = [np.linspace(max(one - width, 0), max(one + width, 0), 41) for one in totals]
    found = [variance_of(a, b, c) for a in grids[0] for b in grids[1] for c in grids[2] if a + b + c > 0]
    found = found or [low, high]
    assert low <= min(found) + 1e-12
    assert max(found) <= high + 1e-12
    if sum(grid[0] for grid in grids) > 0:
        assert min(found) == pytest.approx(low, abs=1e-9)  # in a corner
        assert max(found) == pytest.approx(high, abs=0.01)


def test_the_price_is_that_of_one_total_that_moves_by_the_squared_width():
    def pure(notion, nullable=False):
        t = qw.Table(person=qw.Id(), age=qw.Int(0, 99, nullable=nullable))
        made = qw.Plan(t, notion).variance("v", of=t.age, clip=(50, 60), noise=noise.laplace(800.0))
        return float(made.guarantee().epsilon(0.0).upper)

    assert pure(qw.add_remove()) == pytest.approx(100 / 800, rel=1e-6)
    assert pure(qw.replace_one()) == pytest.approx(200 / 800, rel=1e-6)
    assert pure(qw.user("person", 3)) == pytest.approx(300 / 800, rel=1e-6)


def test_whole_numbers_of_any_size_and_no_records_at_all():
    t = qw.Table(n=qw.Int(0, 2**53, nullable=True))
    made = qw.Plan(t, qw.add_remove()).variance("v", of=t.n, noise=noise.laplace(1e25))
    assert exact(t, made, {"n": [0, 2**53]}).squares == [UNITS]
    assert exact(t, made, {"n": [2**60, None]}).sum == [0]
    row = made.release({"n": np.array([], dtype=np.int64)}).rows[0]
    assert 0 <= row["lower"] <= row["value"] <= row["upper"] <= Fraction(2**104)


def test_it_is_calibrated_and_written_in_a_plan_file():
    text = """
quiltwork: 1
table: {columns: {person: id, cost: {float: [0, 5000]}}}
neighbors: {user: {id: person, max_records: 2}}
queries:
  - {name: spread, variance: {of: cost, clip: [0, 1000]}, noise: auto}
  - {name: visits, count: true, noise: auto}
"""
    found = qw.spec.parse_table_plan(text).calibrated(1.0, 1e-6).plan()
    assert 1 - 1e-4 <= float(found.guarantee().epsilon(1e-6).upper) <= 1
    sizes = {one.name: one.noise.size for one in found.statistics}
    assert sizes["spread"] / sizes["visits"] == pytest.approx(1000**2, rel=0.01)
    assert "squared, divided by the records" in found.errors()[0]["of"]
