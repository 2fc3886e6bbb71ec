"""Values of reference/release.json that no other file looks at; and that each of its items is looked at by one."""

import math

import numpy as np
import pyarrow as pa
import pytest
from tests.data.services import need_spark
from tests.examples import some
from tests.release.test_answers import reference

import quiltwork as qw
from quiltwork import noise
from quiltwork.data.engines.engine import Engine
from quiltwork.release.scan import totals
from quiltwork.tables.statistics.intervals import two_laplace_tail
from quiltwork.tables.statistics.price import Drawn, level, rank_range
from quiltwork.tables.statistics.threshold import reveal, single_key, threshold

HERE = (
    "domination of", "best selection", "tail of", "user(person, 3)", "the same with Gaussian", "replace_one",
    "add_remove, mean", "spread of shift", "range of the quantile",
)  # fmt: skip
ELSEWHERE = ("integers", "threshold", "loss of keys", "half width", "one vector", "five vectors")


def test_every_item_is_looked_at():
    assert all(item["id"].startswith((*HERE, *ELSEWHERE)) for item in reference(""))
    assert all(reference(prefix) for prefix in (*HERE, *ELSEWHERE))


def hostile(low, high, factor):
    """Ties, their neighbours, ends, subnormals, infinities, NaN, NULL, huge numbers and plain ones: seed 0."""
    rng = np.random.default_rng(0)
    ties = (rng.integers(0, 2**20, 2000) + 0.5) / factor
    ends = [
        low, high, np.nextafter(low, high), np.nextafter(high, low), np.nextafter(low, -np.inf),
        np.nextafter(high, np.inf), 0.0, -0.0, 5e-324, -5e-324, 1e308, -1e308, math.inf, -math.inf, math.nan,
    ]  # fmt: skip
    near = np.concatenate([np.nextafter(ties, np.inf), np.nextafter(ties, -np.inf), ties, -ties])
    plain, far = rng.uniform(low - 1, high + 1, 20_000), rng.standard_cauchy(20_000) * high
    return [None, *ends, *near.tolist(), *plain.tolist(), *far.tolist()]


@pytest.mark.parametrize("url", ["duckdb://", "spark://local[2]"])
def test_sums_of_hostile_values_are_those_of_the_reference(url):
    items = reference("integers of clip")
    if url != "duckdb://":
        need_spark()
        items = some(items[1:], 1)
    with Engine.open(url) as engine:
        for item in items:
            table = qw.Table(x=qw.Float(-1e6, 1e6, nullable=True))
            plan = qw.Plan(table, qw.add_remove())
            plan.sum("s", of=table.x, clip=(item["low"], item["high"]), noise=noise.laplace(1.0))
            data = pa.table({"x": pa.array(hostile(item["low"], item["high"], float(item["factor"])), pa.float64())})
            found = totals(engine, data, table, plan.neighbors, plan.statistics, lambda *_: None)["s"]
            assert (found.sum, found.count) == ([item["sum_of_hostile(seed 0)"]], [item["summed"]])


@pytest.mark.parametrize("item", reference("tail of"), ids=lambda item: item["id"])
def test_tails_of_two_noises_are_those_of_the_reference(item):
    found = two_laplace_tail(*(np.array(item[name]) for name in ("x", "a", "b")))
    assert found / 2 == pytest.approx(float(item["tail"]), rel=1e-12)


@pytest.mark.parametrize("item", reference("domination of"), ids=lambda item: item["id"])
@pytest.mark.parametrize("shift", [1, 2, 7])
def test_the_lattice_is_dominated_by_the_gaussian_of_the_reference(item, shift):
    """Theorem 1: never above continuous noise whose sensitivity is larger by eta, and no less is enough."""
    sigma, eta = float(item["sigma"]), float(item["eta"])
    lattice = Drawn("gaussian", sigma).loss(shift)
    above = qw.gaussian(sigma, sensitivity=shift * (1 + eta * (1 + 1e-9)))
    for epsilon in (0.0, 0.3, 1.0, 3.0):
        assert lattice.delta(epsilon).lower <= above.delta(epsilon).upper
    if shift == 1:  # the largest step is the first: with less than eta the theorem's end fails
        less = qw.gaussian(sigma, sensitivity=1 + 0.9 * eta)
        assert lattice.delta(0.0).upper > less.delta(0.0).lower


def test_no_key_is_shown_more_often_than_any_mechanism_may():
    """Laplace noise beside the best selection of each key (Desfontaines, Voss, Gipson and Mandayam 2022)."""
    (item,) = reference("best selection")
    chance, epsilon, best = single_key(1e-6, 5), 0.2, [0.0]
    for _ in range(item["half_at"]):
        last = best[-1]
        best.append(min(math.exp(epsilon) * last + chance, 1 - math.exp(-epsilon) * (1 - last - chance), 1.0))
    assert best[1:4] == pytest.approx([float(one) for one in item["pi_1_2_3"]], rel=1e-9)
    assert best[-1] >= 0.5 > best[-2]
    tau = threshold("laplace", 5.0, chance)
    for records, most in enumerate(best[1:], 1):
        assert reveal("laplace", 5.0, tau - records + 1) <= most * (1 + 1e-9)


def epsilon(plan, delta=0.0):
    return float(plan.guarantee().epsilon(delta).upper)


def columns(kind=qw.Float):
    return qw.Table(person=qw.Id(), region=qw.Cat("N", "S", "E"), x=kind(0, 900))


@pytest.mark.parametrize("law", ["user(person, 3)", "the same with Gaussian"])
def test_prices_of_plans_are_those_of_the_reference(law):
    (item,) = reference(law)
    t = columns()
    kind, sizes = (noise.laplace, (20, 30_000, 25)) if "user" in law else (noise.gaussian, (60, 40_000, 45))
    plan = qw.Plan(t, qw.user("person", 3))
    plan.count("n", by=t.region, noise=kind(sizes[0])).sum("s", of=t.x, by=t.region, noise=kind(sizes[1]))
    found = epsilon(plan.count("all", noise=kind(sizes[2])), float(item["delta"]))
    assert float(item["epsilon"]) <= found * (1 + 1e-12)
    assert found == pytest.approx(float(item["epsilon"]), rel=1e-9 if "user" in law else 2e-4)


def test_prices_of_single_queries_are_those_of_the_reference():
    t = qw.Table(x=qw.Int(0, 100), region=qw.Cat("N", "S"))
    kept, filtered = reference("replace_one")
    for item, where in ((kept, None), (filtered, t.region == "N")):
        plan = qw.Plan(t, qw.replace_one()).sum("s", of=t.x, clip=(50, 60), where=where, noise=noise.laplace(80.0))
        assert epsilon(plan) == pytest.approx(float(item["epsilon"]), rel=1e-12)
    (mean,) = reference("add_remove, mean")
    plan = qw.Plan(t, qw.add_remove()).mean("m", of=t.x, clip=(10, 90), noise=noise.laplace(400.0))
    assert epsilon(plan) == pytest.approx(float(mean["epsilon"]), rel=1e-12)


def test_one_coordinate_is_the_worst_as_in_the_reference():
    """Four records of one person: all in one region, and two in each of two (Theorem 2)."""
    (item,) = reference("spread of shift")
    one, two = (float(item[name].removeprefix("np.float64(").rstrip(")")) for name in ("one coordinate", "two"))
    noises = Drawn("laplace", 5.0)
    assert float(noises.loss(4).delta(0.3).upper) == pytest.approx(one, rel=1e-9)
    assert float((noises.loss(2) + noises.loss(2)).delta(0.3).upper) == pytest.approx(two, rel=1e-9)
    t = columns()
    plan = qw.Plan(t, qw.user("person", 4)).count("n", by=t.region, noise=noise.laplace(5.0))
    assert float(plan.guarantee().delta(0.3).upper) == pytest.approx(one, rel=1e-9)


@pytest.mark.parametrize("item", reference("range of the quantile"), ids=lambda item: item["id"])
def test_ranges_of_quantile_scores_are_those_of_the_reference(item):
    """No more than the reference's bound, by a score that knows ties."""
    assert item["found"] <= rank_range(level(item["q"])) <= item["bound"]
