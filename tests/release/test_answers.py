"""Exact answers against plain Python, references, and two engines."""

import json
import math
import random
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from tests.data.services import need_spark
from tests.examples import examples
from tests.release import naive
from tests.release import worlds as made

import quiltwork as qw
from quiltwork import noise
from quiltwork.data.engines.engine import Engine
from quiltwork.release.scan import totals
from quiltwork.tables.statistics.price import Units

WORLDS = max(40, examples(300))


@pytest.mark.parametrize("nullable", [False, True])
@pytest.mark.parametrize("notion", [qw.add_remove(), qw.replace_one()], ids=["add_remove", "replace_one"])
def test_answers_are_those_of_plain_python(notion, nullable):
    rng = random.Random(nullable)
    tables = [[made.row(rng, f"{w}") for _ in range(rng.randrange(0, 12))] for w in range(WORLDS)]
    rows = [{**row, "world": w} for w, some in enumerate(tables) for row in some]
    found = made.answers(made.plan(WORLDS, notion, nullable=nullable), rows)
    for world, some in enumerate(tables):
        truth = naive.answers(some, nullable, swapped=notion == qw.replace_one())
        mine = {
            "all": found["all"][world][()][0],
            "adults": found["adults"][world][("North",)][0],
            "cost": found["cost"][world][()][1],
            "narrow": found["narrow"][world][()][1],
            "ages": found["ages"][world][("South",)][1],
        }
        assert mine == truth, world


def test_of_a_person_above_the_bound_exactly_as_many_rows_are_used():
    rng = random.Random(2)
    tables = [[made.row(rng, f"{w}") for _ in range(rng.randrange(0, 9))] for w in range(WORLDS)]
    rows = [{**row, "world": w} for w, some in enumerate(tables) for row in some]
    found = made.answers(made.plan(WORLDS, qw.user("person", 3), nullable=True), rows)
    assert [found["all"][w][()][0] for w in range(WORLDS)] == [min(3, len(some)) for some in tables]


def test_equal_rows_are_sampled_and_not_all_of_one_kind_kept():
    table = qw.Table(person=qw.Id(), region=qw.Cat("a", "b"))
    plan = qw.Plan(table, qw.user("person", 100)).count("n", by=table.region, noise=noise.laplace(1.0))
    data = {"person": ["p"] * 400, "region": ["a"] * 200 + ["b"] * 200}
    with Engine.open() as engine:
        found = totals(engine, data, table, plan.neighbors, plan.statistics, lambda *_: None)["n"].count
    assert sum(found) == 100
    assert 25 <= found[0] <= 75


def test_nan_is_missing_although_a_file_claims_that_there_is_none(tmp_path):
    """Statistics of a parquet file leave NaN out: an engine that believes them folds isnan to false."""
    values = [1.0, math.nan, 3.0, math.inf] * 500
    parquet.write_table(pa.table({"x": values}), tmp_path / "x.parquet")
    table = qw.Table(x=qw.Float(0, 2, nullable=True))
    plan = qw.Plan(table, qw.add_remove()).sum("s", of=table.x, noise=noise.laplace(1.0))
    with Engine.open() as engine:
        found = totals(engine, tmp_path / "x.parquet", table, plan.neighbors, plan.statistics, lambda *_: None)["s"]
    assert (found.count, found.sum) == ([1500], [500 * (2**27 + 2**28 + 2**28)])


def test_text_is_read_as_declared_and_nothing_else():
    table = qw.Table(
        n=qw.Int(0, 100, nullable=True), day=qw.Date("2026-01-01", "2026-12-31", nullable=True),
        tags=qw.SubsetOf(["a", "b", "c"], 2, nullable=True),
    )  # fmt: skip
    plan = qw.Plan(table, qw.add_remove())
    plan.sum("s", of=table.n, noise=noise.laplace(1.0)).count("days", by=table.day.months(), noise=noise.laplace(1.0))
    plan.count("tags", by=table.tags, noise=noise.laplace(1.0))
    data = {
        "n": ["12", " 7 ", "twelve", "1e1", "nan", None, "-5", "1e400", "0x10"],
        "day": [
            "2026-02-03",
            "2026-02-30",
            "2026-13-01",
            "02/03/2026",
            "",
            None,
            "1999-01-01",
            "2026-12-31T09:00",
            "x",
        ],
        "tags": ["a|b", "c|b|a|zzz", "", "zzz", None, "a|a|a", "b", "c", "a|b|c"],
    }
    with Engine.open() as engine:
        found = totals(engine, data, table, plan.neighbors, plan.statistics, lambda *_: None)
    assert found["s"].sum == [12 + 7 + 10 + 0 + 100]
    days = dict(zip(found["days"].labels, found["days"].count, strict=True))
    assert (days[("2026-01",)], days[("2026-02",)], days[("2026-12",)], days[("NULL",)]) == (1, 1, 1, 6)
    tags = dict(zip(found["tags"].labels, found["tags"].count, strict=True))
    assert (tags[("a",)], tags[("b",)], tags[("c",)]) == (4, 4, 1)


def reference(prefix):
    items = json.loads((Path(__file__).parent / "reference_release.json").read_text())["items"]
    return [item for item in items if item["id"].startswith(prefix)]


@pytest.mark.parametrize("item", reference("integers of clip"), ids=lambda item: item["id"])
def test_units_are_those_of_the_reference(item):
    table = qw.Table(x=qw.Float(-1e6, 1e6, nullable=True))
    plan = qw.Plan(table, qw.add_remove())
    plan.sum("s", of=table.x, clip=(item["low"], item["high"]), noise=noise.laplace(1.0))
    units = Units.of(plan.statistics[0], table)
    assert (repr(units.factor), units.farthest, units.width) == (
        item["factor"],
        item["comes_or_goes"],
        item["replaced"],
    )


def test_single_values_are_those_of_the_reference():
    (item,) = reference("integers one by one")
    raw = [None if text == "None" else float(text) for text in item["raw"]]
    table = qw.Table(place=qw.Int(0, len(raw) - 1), x=qw.Float(-1e6, 1e6, nullable=True))
    plan = qw.Plan(table, qw.add_remove())
    plan.sum("s", of=table.x, clip=(item["low"], item["high"]), by=table.place, noise=noise.laplace(1.0))
    with Engine.open() as engine:
        data = {"place": list(range(len(raw))), "x": np.array(raw, dtype=float)}
        found = totals(engine, data, table, plan.neighbors, plan.statistics, lambda *_: None)["s"]
    assert [s if n else None for s, n in zip(found.sum, found.count, strict=True)] == item["integers"]


def test_duckdb_and_spark_agree_to_the_last_bit(tmp_path):
    need_spark()
    rng = random.Random(1)
    rows = [{**made.row(rng, f"p{rng.randrange(60)}"), "world": rng.randrange(3)} for _ in range(900)]
    plan = made.plan(3, qw.user("person", 5, max_per={"region": 3}), nullable=True)
    kinds = {"world": pa.int64(), "person": pa.string(), "region": pa.string(), "age": pa.int64(), "cost": pa.float64()}
    data = pa.table({name: pa.array([row[name] for row in rows], kind) for name, kind in kinds.items()})
    parquet.write_table(data, tmp_path / "rows.parquet")
    found = []
    for url in ("duckdb://", "spark://local[2]"):
        with Engine.open(url) as engine:
            got = totals(
                engine, tmp_path / "rows.parquet", plan.table, plan.neighbors, plan.statistics, lambda *_: None
            )
        found.append({name: (one.labels, one.count, one.sum, one.histograms, one.squares) for name, one in got.items()})
    assert found[0] == found[1]
