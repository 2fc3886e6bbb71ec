"""Totals that add up: exact on answers without noise, nearer to the truth with noise, and labelled."""

import attrs
import numpy as np
import pytest

import quiltwork as qw
from quiltwork import noise
from quiltwork.data.engines.engine import Engine
from quiltwork.errors import InvalidParameter
from quiltwork.release import consistent
from quiltwork.release.draw import published
from quiltwork.release.scan import totals


def plan():
    t = qw.Table(region=qw.Cat("N", "S", "E"), age=qw.Int(0, 99, nullable=True), cost=qw.Float(0, 10))
    made = qw.Plan(t, qw.add_remove()).count("all", noise=noise.laplace(5.0))
    made.count("regions", by=t.region, noise=noise.laplace(5.0)).count(
        "old", where=t.age >= 50, noise=noise.gaussian(8.0)
    )
    made.count("both", by=[t.region, t.age.bands([0, 50, 100])], noise=noise.laplace(5.0))
    made.sum("cost", of=t.cost, noise=noise.laplace(50.0)).sum("by", of=t.cost, by=t.region, noise=noise.laplace(50.0))
    return made.quantiles("age", of=t.age, q=0.5, noise=noise.laplace(9.0))


def data(rows=400):
    rng = np.random.default_rng(0)
    ages = [None if rng.random() < 0.1 else int(rng.integers(0, 100)) for _ in range(rows)]
    return {
        "region": rng.choice(["N", "S", "E"], rows, p=[0.7, 0.29, 0.01]),
        "age": ages,
        "cost": rng.uniform(0, 10, rows),
    }


def value(found, query, name="consistent", **groups):
    rows = [row for row in found.rows if row["query"] == query and all(row[k] == v for k, v in groups.items())]
    return sum(row[name] for row in rows)


@pytest.mark.parametrize("nonnegative", [False, True])
def test_parts_add_up_to_their_whole(nonnegative):
    made = plan()
    drawn = made.release(data())
    found = consistent(drawn, made, nonnegative=nonnegative)
    whole = value(found, "all")
    assert value(found, "regions") == pytest.approx(whole)
    assert value(found, "both") == pytest.approx(whole)
    for region in "NSE":
        assert value(found, "both", region=region) == pytest.approx(value(found, "regions", region=region))
    assert value(found, "by") == pytest.approx(value(found, "cost"))
    assert [row["value"] for row in found.rows] == [row["value"] for row in drawn.rows]
    assert [row["consistent"] for row in found.rows if row["query"] == "age"] == [None]
    assert any("post-processing" in line for line in found.words)
    if nonnegative:
        assert min(row["consistent"] for row in found.rows if row["query"] != "age") >= -1e-9
    assert found.to_pandas().columns[-1] == "consistent"
    assert qw.loads(qw.dumps(found)).rows == found.rows


def test_fits_are_nearer_to_the_truth_than_what_was_drawn():
    """200 draws: the squared error of all counts falls by a fifth at least."""
    made = plan()
    with Engine.open() as engine:
        exact = totals(engine, data(), made.table, made.neighbors, made.statistics, lambda *_: None)
    truth = [n for one in made.statistics[:4] for n in exact[one.name].count]
    released, off = made.release(data()), np.zeros(2)
    for _ in range(200):
        rows = [row for one in made.statistics for row in published(exact[one.name], made.table, made.neighbors, 0.95)]
        found = consistent(attrs.evolve(released, rows=tuple(rows)), made)
        for kind, name in enumerate(("value", "consistent")):
            off[kind] += sum((row[name] - n) ** 2 for row, n in zip(found.rows, truth, strict=False))
    assert off[1] <= 0.8 * off[0]


def test_another_plan_is_refused():
    with pytest.raises(InvalidParameter, match="plan that was released"):
        consistent(plan().release(data()), plan().count("more", noise=noise.laplace(1.0)))
