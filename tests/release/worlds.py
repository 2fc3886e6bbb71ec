"""Small raw tables, many of them in one scan: each is a world, and worlds are groups of one statistic.

Persons of different worlds never meet, and the cut of a person's rows looks at that person alone, so that each world is
answered as if it were the only table.
"""

from __future__ import annotations

import math
import random
from fractions import Fraction

import pyarrow as pa

import quiltwork as qw
from quiltwork import noise
from quiltwork.data.engines.engine import Engine
from quiltwork.release.scan import Totals, totals
from quiltwork.tables.statistics.price import UNITS, Drawn, Units, squared_units

REGIONS = ("North", "South")
HOSTILE = (None, math.nan, math.inf, -math.inf, 1e300, -1e300, 5e-324, -0.0, 2.5, 7.0, 49.999, 50.0, 60.0, 1e-9)
TEXTS = ("North", "South", "north", "", "nowhere", None)
AGES = (None, -7, 0, 3, 17, 18, 19, 64, 65, 120, 10**15)
SIZES = {"count": 1, "distinct": 1}
ONE = noise.laplace(1.0)


def table(worlds: int, *, nullable: bool) -> qw.Table:
    return qw.Table(
        world=qw.Int(0, worlds - 1),
        person=qw.Id(),
        region=qw.Cat(*REGIONS, nullable=nullable),
        age=qw.Int(0, 120, nullable=nullable),
        cost=qw.Float(-40.0, 60.0, nullable=nullable),
    )


def plan(worlds: int, notion: object, *, nullable: bool) -> qw.Plan:
    t = table(worlds, nullable=nullable)
    made = qw.Plan(t, notion)
    made.count("all", by=t.world, noise=ONE)
    made.count("adults", by=[t.world, t.region], where=t.age >= 18, noise=ONE)
    made.sum("cost", of=t.cost, by=t.world, where=t.age.between(3, 65), noise=ONE)
    made.sum("narrow", of=t.cost, clip=(50.0, 60.0), by=t.world, noise=ONE)
    made.sum("ages", of=t.age, clip=(10, 70), by=[t.world, t.region], noise=ONE)
    made.mean("average", of=t.cost, by=t.world, noise=ONE)
    made.variance("spread", of=t.cost, by=t.world, where=t.age >= 3, noise=ONE)
    made.keys("places", of=t.region, delta=1e-6, by=t.world, noise=ONE)
    made.quantiles("median", of=t.cost, q=0.5, by=t.world, noise=ONE)
    if isinstance(notion, qw.tables.notions.neighbors.User):
        made.distinct("people", of=t.person, by=[t.world, t.region], noise=ONE)
    return made


ADDED = ("all", "adults", "cost", "narrow", "ages", "average", "spread", "people")  # with noise on whole numbers


def one_world(notion: object, sizes: dict[str, float], *, nullable: bool) -> qw.Plan:
    """The same queries of one table, with Laplace noise of these sizes in units of the answer: what is priced."""
    t = table(2, nullable=nullable)
    made = qw.Plan(t, notion)
    some = {name: noise.laplace(size) for name, size in sizes.items()}
    made.count("all", noise=some["all"])
    made.count("adults", by=t.region, where=t.age >= 18, noise=some["adults"])
    made.sum("cost", of=t.cost, where=t.age.between(3, 65), noise=some["cost"])
    made.sum("narrow", of=t.cost, clip=(50.0, 60.0), noise=some["narrow"])
    made.sum("ages", of=t.age, clip=(10, 70), by=t.region, noise=some["ages"])
    made.mean("average", of=t.cost, noise=some["average"])
    made.variance("spread", of=t.cost, where=t.age >= 3, noise=some["spread"])
    if "people" in sizes:
        made.distinct("people", of=t.person, by=t.region, noise=some["people"])
    return made


def sizes_in_integers(made: qw.Plan) -> dict[str, float]:
    """The noise of each query as it is drawn on whole numbers."""
    found = {}
    for one in made.statistics:
        factor = Fraction(1)
        if one.verb in ("sum", "mean"):
            factor = Fraction(Units.of(one, made.table).factor)
        elif one.verb == "variance":
            factor = squared_units(one)
        found[one.name] = Drawn.of(one.noise, factor).size
    return found


def row(rng: random.Random, person: object) -> dict:
    return {
        "person": person,
        "region": rng.choice(TEXTS),
        "age": rng.choice(AGES),
        "cost": rng.choice((*HOSTILE, rng.uniform(-60, 80), rng.uniform(-60, 80))),
    }


def answers(made: qw.Plan, rows: list[dict], *, threads: int = 1) -> dict:
    """The exact answers: statistic -> world -> labels -> (count, sum, histogram)."""
    columns = {name: [one[name] for one in rows] for name in made.table.columns}
    kinds = {"world": pa.int64(), "person": pa.string(), "region": pa.string(), "age": pa.int64(), "cost": pa.float64()}
    data = pa.table({name: pa.array(values, kinds[name]) for name, values in columns.items()})
    with Engine.open("duckdb://", settings={"threads": threads}) as engine:
        found = totals(engine, data, made.table, made.neighbors, made.statistics, lambda done, total: None)
    out: dict = {}
    for name, one in found.items():
        for place, labels in enumerate(one.labels):
            histogram = one.histograms[place] if one.histograms else ends(one, place, made.table)
            values = one.count[place], one.sum[place] if one.sum else 0, histogram
            out.setdefault(name, {}).setdefault(int(labels[0]), {})[labels[1:]] = values
    return out


def ends(one: Totals, place: int, declared: qw.Table) -> dict[int, int]:
    """The totals on which the noise of a mean or of a variance is drawn."""
    if one.statistic.verb == "mean":
        units, total, n = Units.of(one.statistic, declared), one.sum[place], one.count[place]
        return {0: total - n * units.low, 1: n * units.high - total}
    if one.statistic.verb == "variance":
        near, far = one.sum[place], one.squares[place]
        return {0: near, 1: one.count[place] * UNITS - near - far, 2: far}
    return {}


def moved(before: dict, after: dict, what: str) -> Fraction:
    """By how much the answers of one world differ from those of another, all groups together."""
    total = 0
    for labels, (count, added, histogram) in before.items():
        other_count, other_added, other_histogram = after[labels]
        if what == "sum":
            total += abs(added - other_added)
        elif what == "persons":
            total += abs(sum(histogram.values()) - sum(other_histogram.values()))
        elif what == "histogram":
            keys = {*histogram, *other_histogram}
            total += sum(abs(histogram.get(key, 0) - other_histogram.get(key, 0)) for key in keys)
        else:
            total += abs(count - other_count)
    return total
