"""What is published: the law of the noise, intervals, thresholds, prices, and one draw for one payment."""

import math
import os
import random
import signal
import sys
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from scipy import stats
from tests.examples import seeds
from tests.release.test_answers import reference

import quiltwork as qw
from quiltwork import noise
from quiltwork.errors import (
    AlreadyRun,
    BudgetExceeded,
    InvalidParameter,
    QuiltworkError,
    Unreachable,
    Unreadable,
    Unsupported,
)
from quiltwork.release import draw, run, scan
from quiltwork.tables.statistics.intervals import gaussian_mean, half_width, laplace_mean
from quiltwork.tables.statistics.price import Drawn
from quiltwork.tables.statistics.threshold import reveal, single_key, threshold

PEOPLE = qw.user("person", 2)


def table():
    return qw.Table(
        person=qw.Id(), region=qw.Cat("N", "S"), age=qw.Int(0, 99), cost=qw.Float(0, 100, nullable=True), code=qw.Id()
    )


def data(rows=300, seed=0):
    rng = random.Random(seed)
    return {
        "person": [rng.randrange(rows // 2) for _ in range(rows)],
        "region": [rng.choice("NSX") for _ in range(rows)],
        "age": [rng.randrange(-5, 120) for _ in range(rows)],
        "cost": [rng.uniform(-10, 120) for _ in range(rows)],
        "code": [rng.choice(("flu", "flu", "flu", f"rare{rng.randrange(1000)}")) for _ in range(rows)],
    }


def plan(notion=PEOPLE, size=50.0):
    t = table()
    made = qw.Plan(t, notion).count("visits", by=t.region, noise=noise.laplace(size))
    return made.sum("cost", of=t.cost, clip=(0, 50), noise=noise.gaussian(50 * size))


# ---- the law of the noise


@pytest.mark.parametrize("kind", [noise.laplace, noise.gaussian], ids=["laplace", "gaussian"])
@pytest.mark.parametrize("scaled", [1.0, 0.7, 1.3])
def test_noise_has_the_size_that_is_priced(kind, scaled):
    """4,000 draws: the ratio of variances is within 6 standard errors, false alarm below 1e-8; 0.7 is 20 away."""
    priced, really = (Drawn.of(kind(size), Fraction(7)) for size in (6.0, 6.0 * scaled))
    found = np.array(draw.noisy(really, [10] * 4000), dtype=float) - 10
    variance = 2 * priced.size**2 if priced.law == "laplace" else priced.size**2
    error = math.sqrt((5 if priced.law == "laplace" else 2) / 4000)
    assert (abs(np.mean(found**2) / variance - 1) < 6 * error) == (scaled == 1.0)


@pytest.mark.parametrize("item", reference("half width"), ids=lambda item: item["id"])
def test_half_widths_are_those_of_the_reference(item):
    law = "laplace" if "scale" in item else "gaussian"
    assert half_width(law, float(item.get("scale", item.get("sigma"))), float(item["confidence"])) == item["half"]


@pytest.mark.parametrize("item", reference("threshold"), ids=lambda item: item["id"])
def test_thresholds_are_those_of_the_reference(item):
    law = "laplace" if "scale" in item else "gaussian"
    size = float(item.get("scale", item.get("sigma")))
    tau = threshold(law, size, single_key(float(item["delta"]), item["keys"]))
    assert tau == item["threshold"]
    assert float(item["reveal"]) <= reveal(law, size, tau) <= float(item["reveal"]) * (1 + 1e-9)
    assert tau == 2 or reveal(law, size, tau - 1) > single_key(float(item["delta"]), item["keys"])


@pytest.mark.parametrize("item", reference("loss of keys"), ids=lambda item: item["id"])
def test_the_loss_of_keys_is_at_least_that_of_the_reference_and_near(item):
    t = table()
    chance = reveal("laplace", item["scale"], item["threshold"])
    delta = -math.expm1(item["keys"] * math.log1p(-chance)) * (1 + 1e-9)
    made = qw.Plan(t, qw.user("person", item["keys"])).keys(
        "k", of=t.code, delta=delta, noise=noise.laplace(item["scale"])
    )
    found = float(made.guarantee().delta(float(item["epsilon"])).upper)
    assert float(item["delta"]) <= found <= float(item["delta"]) * 1.02 + 2e-6


@pytest.mark.parametrize("truth", [0.02, 0.5, 0.9])
def test_intervals_of_means_hold_the_mean_in_as_many_cases(truth):
    """400 draws at 95 %: fewer than 360 has a chance below 1e-5."""
    rng = np.random.default_rng(1)
    n, size, inside = 200, 25.0, [0, 0]
    for _ in range(400):
        u, v = n * truth + rng.laplace(0, size), n * (1 - truth) + rng.laplace(0, size)
        low, high = laplace_mean(u, v, size, 0.95)
        inside[0] += low <= truth <= high
        total, count = n * (2 * truth - 1) + rng.normal(0, size), n + rng.normal(0, size)
        low, high = gaussian_mean(total, count, (size, size), 0.95)
        inside[1] += low <= 2 * truth - 1 <= high
    assert min(inside) >= 360


def test_published_intervals_hold_the_exact_answer_in_as_many_cases():
    """Every statistic of one scan, drawn anew: 95 % within 5 standard errors."""
    t, rows = table(), data()
    made = qw.Plan(t, qw.add_remove())
    made.count("n", by=t.region, noise=noise.laplace(9.0)).sum("s", of=t.cost, by=t.region, noise=noise.gaussian(300.0))
    made.mean("m", of=t.cost, by=t.region, noise=noise.laplace(500.0))
    with scan.Engine.open() as engine:
        exact = scan.totals(engine, rows, t, made.neighbors, made.statistics, lambda *_: None)
    for one in made.statistics:
        found = exact[one.name]
        for place, labels in enumerate(found.labels):
            factor = 2**28 / 100
            truth = {"n": found.count[place], "s": found.sum and found.sum[place] / factor}.get(one.name)
            if one.name == "m":
                truth = found.sum[place] / factor / found.count[place]
            drawn = [draw.published(found, t, made.neighbors, 0.95)[place] for _ in range(100)]
            hit = sum(row["lower"] <= truth <= row["upper"] for row in drawn)
            assert hit >= 95 - 5 * math.sqrt(100 * 0.05 * 0.95), (one.name, labels, hit)


@pytest.mark.parametrize("kind", [noise.laplace, noise.gaussian], ids=["laplace", "gaussian"])
@pytest.mark.parametrize("clip", [(0, 100), (20, 60)])
def test_the_parts_of_a_mean_are_its_sum_and_count(kind, clip):
    """400 draws: intervals hold in 95 % of them within 5 standard errors, and values have no bias beyond 6."""
    t, rows = table(), data()
    made = qw.Plan(t, qw.add_remove()).mean("m", of=t.cost, clip=clip, parts=True, noise=kind(700.0))
    with scan.Engine.open() as engine:
        exact = scan.totals(engine, rows, t, made.neighbors, made.statistics, lambda *_: None)["m"]
    truth = {"m: sum": exact.sum[0] / (2**28 / clip[1]), "m: count": exact.count[0]}
    drawn = [{row["query"]: row for row in draw.published(exact, t, made.neighbors, 0.95)} for _ in range(400)]
    for name, value in truth.items():
        off = np.array([one[name]["value"] - value for one in drawn])
        assert abs(off.mean()) <= 6 * off.std() / 20
        hits = sum(one[name]["lower"] <= value <= one[name]["upper"] for one in drawn)
        assert 380 - 5 * math.sqrt(400 * 0.05 * 0.95) <= hits <= 399
    alone = qw.Plan(t, qw.add_remove()).mean("m", of=t.cost, clip=clip, noise=kind(700.0))
    assert epsilon(alone, 1e-6) == epsilon(made, 1e-6)
    assert [row["query"] for row in alone.release(rows).rows] == ["m"]


def test_quantiles_are_near_the_true_ones_and_sorted():
    t = table()
    made = qw.Plan(t, qw.add_remove()).quantiles("q", of=t.age, q=[0.25, 0.5, 0.75], noise=noise.laplace(2.0))
    rows = data(2000)
    values = [row["value"] for row in made.release(rows).rows]
    ages = np.clip(rows["age"], 0, 99)
    assert values == sorted(values)
    for q, value in zip((0.25, 0.5, 0.75), values, strict=True):
        rank = np.mean(ages <= value)
        assert abs(rank - q) < 0.05


def test_what_is_drawn_is_never_less_than_what_is_claimed():
    for size in np.random.default_rng(0).uniform(0.1, 1e6, 2000):
        drawn = Drawn.of(noise.laplace(float(size)), Fraction(107374.1824))
        assert Fraction(drawn.drawn) >= max(Fraction(drawn.size), Fraction(repr(drawn.size)))


def test_the_bound_of_a_whole_plan_is_enforced_or_refused():
    t = table()
    plans = {
        notion: qw.Plan(t, notion, contribution=qw.clip_rows("person", 2)).count("n", noise=noise.laplace(1.0))
        for notion in (qw.user("person"), qw.add_remove())
    }
    rows = {name: values[:1] * 50 for name, values in {**data(), "age": [5], "region": ["N"]}.items()}
    counted = scan.totals
    with pytest.MonkeyPatch.context() as patch:
        seen = []
        patch.setattr(run, "totals", lambda *given: seen.append(counted(*given)) or seen[-1])
        found = plans[qw.user("person")].release(rows)
    assert seen[0]["n"].count == [2]
    assert float(found.guarantee.epsilon(0.0).upper) == pytest.approx(2.0, rel=1e-9)
    with pytest.raises(Unsupported, match="contribution bound"):
        plans[qw.add_remove()].release(rows)


def test_without_a_key_every_release_is_paid_for(ledger):
    first, second = (plan().release(data(), ledger=ledger, budget="people") for _ in range(2))
    assert first.rows != second.rows
    assert spends(ledger) == 2


def test_keys_that_few_persons_have_are_not_shown():
    t = table()
    made = qw.Plan(t, PEOPLE).keys("codes", of=t.code, delta=1e-6, noise=noise.laplace(2.0))
    assert [row["code"] for row in made.release(data()).rows] == ["flu"]


# ---- prices


def epsilon(made, delta=0.0):
    return float(made.guarantee().epsilon(delta).upper)


@pytest.mark.parametrize("records", [1, 2, 6])
def test_a_key_that_many_records_have_alone_is_priced_as_often_as_it_is_shown(records):
    """All records of a week with one key that nobody else has: shown with P(k + Z >= tau), else never."""
    t = qw.Table(day=qw.Date("2026-01-01", "2026-12-31"), code=qw.Id())
    made = qw.Plan(t, qw.window(t.day, 7, max_records=records))
    made.keys("codes", of=t.code, delta=1e-6, noise=noise.laplace(1.0))
    tau = threshold("laplace", 1.0, single_key(1e-6, 1))
    shown = math.exp(-(tau - records) / 1.0) / (1 + math.exp(-1.0))
    assert made.guarantee().delta(50.0).upper >= shown
    with pytest.raises(InvalidParameter, match="laplace"):
        made.keys("more", of=t.code, delta=1e-6, noise=noise.gaussian(3.0)).guarantee()


def test_prices_are_derived_from_the_notion():
    t = table()

    def pure(notion, **asked):
        verb = asked.pop("verb")
        return epsilon(qw.Plan(t, notion).measure(verb, "q", noise=noise.laplace(80.0), **asked))

    wide = {"verb": "sum", "of": t.age, "clip": (50, 60)}
    assert pure(qw.add_remove(), verb="count") == pytest.approx(1 / 80, rel=1e-9)
    assert pure(qw.replace_one(), verb="count") == 0
    assert pure(qw.add_remove(), **wide) == pytest.approx(60 / 80, rel=1e-9)
    assert pure(qw.replace_one(), **wide) == pytest.approx(10 / 80, rel=1e-9)  # and not 120 / 80
    assert pure(qw.replace_one(), **wide, where=t.region == "N") == pytest.approx(60 / 80, rel=1e-9)
    assert pure(qw.user("person", 5), **wide) == pytest.approx(300 / 80, rel=1e-9)
    assert pure(qw.user("person", 5), verb="distinct", of=t.person) == pytest.approx(1 / 80, rel=1e-9)
    assert pure(qw.user("person", 5), verb="count", by=t.region) == pytest.approx(5 / 80, rel=1e-9)
    assert pure(qw.add_remove(), verb="quantiles", of=t.age, q=0.5) == pytest.approx(1 / 80, rel=1e-9)
    assert pure(qw.add_remove(), verb="mean", of=t.age, clip=(50, 60)) == pytest.approx(10 / 80, rel=1e-9)


def test_a_whole_plan_is_calibrated_from_the_safe_side():
    t = table()
    made = qw.Plan(t, PEOPLE).count("visits", by=t.region, noise=noise.auto())
    made.sum("cost", of=t.cost, clip=(0, 50), noise=noise.auto(weight=16.0))
    for delta in (0.0, 1e-6):
        found = made.calibrate(1.0, delta)
        assert 1 - 1e-4 <= epsilon(found, delta) <= 1.0  # the whole of it
        assert all(one.ready for one in found.statistics)
    sizes = {one.name: one.noise.size for one in made.calibrate(1.0, 1e-6).statistics}
    assert sizes["cost"] / sizes["visits"] == pytest.approx(50 / 16 ** (1 / 3), rel=0.01)  # 50 times the shift
    made.keys("codes", of=t.code, delta=1e-7, noise=noise.laplace(100.0))  # with a delta of its own: Gaussian noise
    sizes = {one.name: one.noise.size for one in made.calibrate(1.0, 1e-6).statistics}
    assert sizes["cost"] / sizes["visits"] == pytest.approx(25, rel=0.01)  # and 16 times the weight
    with pytest.raises(InvalidParameter, match=r"calibrate"):
        made.guarantee()
    with pytest.raises(InvalidParameter, match=r"nothing to calibrate"):
        found.calibrate(1.0)
    with pytest.raises(Unreachable, match=r"visits"):
        plan(size=0.1).count("more", noise=noise.auto()).calibrate(0.5, 1e-6)


def test_many_noises_of_several_laws_spend_the_whole_target():
    """Laplace noise that errs less than Gaussian gets the whole delta, too; beside fixed noise of a part of it."""
    t = table()
    made = qw.Plan(t, PEOPLE).count("visits", by=t.region, noise=noise.auto())
    made.distinct("persons", of=t.person, noise=noise.auto(2.0)).quantiles("age", of=t.age, q=0.5, noise=noise.auto())
    assert 1 - 1e-4 <= epsilon(made.calibrate(2.0, 1e-6), 1e-6) / 2 <= 1
    made.keys("codes", of=t.code, delta=1e-7, noise=noise.auto()).count("all", noise=noise.laplace(60.0))
    assert 1 - 1e-4 <= epsilon(made.calibrate(2.0, 1e-6), 1e-6) / 2 <= 1


def test_what_another_budget_would_mean_is_known():
    mixed = plan()
    mixed.distinct("persons", of=mixed.table.person, noise=noise.laplace(30.0))
    for made, delta in ((plan(), 1e-6), (mixed, 1e-3), (plan(size=3.0), 1e-9)):
        cost = epsilon(made, delta)
        for share in (0.5, 2.0):
            other = made.scaled(share * cost, delta)
            assert share * (1 - 1e-2) <= epsilon(other, delta) / cost <= share
            factors = {
                round(a.noise.size / b.noise.size, 4) for a, b in zip(other.statistics, made.statistics, strict=True)
            }
            assert len(factors) == 1
    with pytest.raises(Unreachable, match="multiple"):
        mixed.scaled(0.5, 0.0)  # Gaussian noise has no epsilon at delta 0
    stated = plan().add("elsewhere", loss=qw.pure(1.0), holds=qw.on_input(qw.add_remove()))
    with pytest.raises(Unreachable, match="multiple"):
        stated.scaled(0.5, 1e-6)


def test_errors_are_known_before_any_data():
    found = {one["query"]: one for one in plan().errors()}
    assert found["visits"]["error"] == half_width("laplace", 50.0, 0.95)
    assert found["cost"]["error"] == pytest.approx(1.96 * 2500, rel=1e-3)
    said = "cost: Gaussian noise of standard deviation 2500; 95 % of errors, in cost, are within 4900"
    assert said in str(plan().errors())


def test_a_guarantee_that_was_kept_speaks_of_sums_in_their_own_units():
    found = plan().guarantee()
    assert "sum of cost" in found.explain()
    assert qw.loads(qw.dumps(found)).explain() == found.explain()


# ---- refused, before anything is read or spent


def refusals():
    t = table()

    def ask(verb, **asked):
        return lambda: qw.Plan(t, PEOPLE).measure(verb, "q", **{"noise": noise.laplace(1.0), **asked})

    return {
        "sum of a category": ask("sum", of=t.region),
        "sum of nothing": ask("sum"),
        "count of a column": ask("count", of=t.age),
        "clip the other way": ask("sum", of=t.age, clip=(60, 50)),
        "clip outside": ask("sum", of=t.age, clip=(200, 300)),
        "distinct ages": ask("distinct", of=t.age),
        "no level": ask("quantiles", of=t.age, q=[]),
        "level 2": ask("quantiles", of=t.age, q=2),
        "gaussian quantiles": ask("quantiles", of=t.age, q=0.5, noise=noise.gaussian(1.0)),
        "keys without delta": ask("keys", of=t.code),
        "noise as a number": ask("count", noise=5.0),
        "noise of nothing": lambda: noise.laplace(0.0),
        "twice the same column": ask("count", by=[t.region, t.region]),
        "weeks of a category": ask("count", by=t.region.weeks()),
        "another table's column": ask("sum", of=qw.Table(age=qw.Int(0, 5)).age),
        "a node": lambda: qw.Plan(t, qw.node(3)).count("q", noise=noise.laplace(1.0)),
        "an opaque filter": ask("count", where=qw.opaque("x", stability=1)),
        "nothing to run": lambda: qw.Plan(t, PEOPLE).release(data()),
        "missing column": lambda: plan().release({"region": ["N"]}),
        "missing file": lambda: plan().release("nowhere.parquet"),
        "floats as keys": lambda: plan().release({**data(), "person": np.full(300, 0.5)}),
        "lists as numbers": lambda: plan().release(pa.table({**data(), "cost": [[1.0]] * 300})),
        "a budget alone": lambda: plan().release(data(), budget="b"),
        "a key alone": lambda: plan().release(data(), key="k"),
        "another ending": lambda: plan().release(data()).save("numbers.txt"),
    }


@pytest.mark.parametrize("case", refusals(), ids=str)
def test_bad_input_is_refused_in_one_clear_error(case, monkeypatch):
    monkeypatch.setattr(run, "published", lambda *_: [])  # nothing is drawn for these
    with pytest.raises((InvalidParameter, Unsupported)) as caught:
        refusals()[case]()
    assert "\n" not in str(caught.value)


def test_an_empty_table_is_published_like_any_other():
    rows = plan().release({name: [] for name in data()}).rows
    assert [row.get("region") for row in rows] == ["N", "S", None]


def test_errors_of_an_engine_do_not_quote_the_data(monkeypatch):
    secret = "1234 secret"

    def broken(*_, **__):
        raise RuntimeError(f"could not convert {secret!r}")

    monkeypatch.setattr(scan, "_batch", broken)
    with pytest.raises(QuiltworkError) as caught:
        plan().release(data())
    assert secret not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


# ---- one payment, one draw


@pytest.fixture
def ledger(tmp_path):
    with qw.Ledger(f"sqlite:///{tmp_path}/budgets.db") as found:
        found.open("people", protects=PEOPLE, epsilon=1.0, delta=1e-6)
        yield found


def spends(ledger):
    return [entry.kind for entry in ledger.history("people")].count("spend")


def test_a_key_is_paid_for_and_drawn_once(ledger):
    first = plan().release(data(), ledger=ledger, budget="people", key="2026-Q4")
    again = plan().release("a file that is not even there", ledger=ledger, budget="people", key="2026-Q4")
    assert (again.rows, again.receipt) == (first.rows, first.receipt)
    assert spends(ledger) == 1
    assert plan().release(data(), ledger=ledger, budget="people", key="2027-Q1").rows != first.rows
    assert spends(ledger) == 2
    assert ledger.verify()
    with pytest.raises(AlreadyRun):
        plan(size=60.0).release(data(), ledger=ledger, budget="people", key="2026-Q4")


@pytest.mark.parametrize("case", ["missing file", "missing column", "wrong type"])
def test_data_that_cannot_be_used_cost_nothing(case, ledger):
    given = {
        "missing file": "nowhere.parquet",
        "missing column": {"region": ["N"]},
        "wrong type": {**data(), "person": np.full(300, 0.5)},
    }[case]
    with pytest.raises(InvalidParameter) as caught:
        plan().release(given, ledger=ledger, budget="people", key="k")
    assert "\n" not in str(caught.value)
    assert spends(ledger) == 0


def test_a_stream_is_counted_although_it_can_be_read_once(ledger, monkeypatch):
    """It is looked at before it is paid for; then nothing was left of it, and the numbers were those of no rows."""
    counted, seen = run.totals, []
    monkeypatch.setattr(run, "totals", lambda *given: seen.append(counted(*given)) or seen[-1])
    stream = pa.table(data()).to_reader()
    plan().release(stream, ledger=ledger, budget="people", key="k")
    assert sum(seen[0]["visits"].count) > 100
    rest = pa.table(data()).to_reader()
    with pytest.raises(BudgetExceeded):
        plan(size=1.0).release(rest, ledger=ledger, budget="people", key="l")
    assert rest.read_all().num_rows == 300  # of a refused release nothing is read


def test_a_refused_release_reads_nothing(ledger, monkeypatch):
    for name in ("totals", "read_through"):
        monkeypatch.setattr(run, name, lambda *_: pytest.fail("the data were read"))
    with pytest.raises(BudgetExceeded):
        plan(size=1.0).release(data(), ledger=ledger, budget="people", key="k")
    assert spends(ledger) == 0


def test_a_scan_that_fails_is_done_again_under_its_key_and_paid_once(ledger, tmp_path):
    """A file that is damaged after it was read through; mended, it is published for the same payment."""
    path, through = tmp_path / "rows.parquet", run.read_through
    parquet.write_table(pa.table(data()), path)
    whole = path.read_bytes()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run, "read_through", lambda *given: (through(*given), path.write_bytes(whole[:500])))
        with pytest.raises(Unreadable, match="with key 'k', which is paid for"):
            plan().release(path, ledger=ledger, budget="people", key="k")
    assert spends(ledger) == 1
    path.write_bytes(whole)
    assert plan().release(path, ledger=ledger, budget="people", key="k").receipt is not None
    assert spends(ledger) == 1


def test_another_plan_cannot_use_what_was_paid_for(ledger, monkeypatch):
    """A process that died after paying leaves its payment to the same plan alone."""
    with monkeypatch.context() as patched:
        patched.setattr(run, "totals", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            plan().release(data(), ledger=ledger, budget="people", key="k")
    t = table()
    other = qw.Plan(t, PEOPLE).count("visits", by=t.region, noise=noise.laplace(50.0), where=t.age < 50)
    other.sum("cost", of=t.cost, clip=(0, 50), noise=noise.gaussian(2500.0))
    with pytest.raises(AlreadyRun):
        other.release(data(), ledger=ledger, budget="people", key="k")
    assert plan().release(data(), ledger=ledger, budget="people", key="k").receipt is not None
    assert spends(ledger) == 1


def killed(url, point):
    """A process that releases, and is killed when it comes to that point; what it printed, if anything."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            count = [0]

            def step(real):
                def stepped(*given, **said):
                    count[0] += 1
                    if count[0] == point:
                        os.kill(os.getpid(), signal.SIGKILL)
                    return real(*given, **said)

                return stepped

            for name in ("totals", "published", "Released"):
                setattr(run, name, step(getattr(run, name)))
            with qw.Ledger(url) as book:
                for name in ("spend", "keep_result", "result"):
                    setattr(book, name, step(getattr(book, name)))
                found = plan().release(data(), ledger=book, budget="people", key="k")
                os.write(write, repr([row["value"] for row in found.rows]).encode())
        finally:
            os._exit(0)
    os.close(write)
    os.waitpid(child, 0)
    with os.fdopen(read) as stream:
        return stream.read()


@pytest.mark.parametrize("seed", seeds(4, least=1))  # five points each: a campaign has hundreds
def test_a_killed_release_is_neither_paid_twice_nor_drawn_twice(tmp_path, seed):
    url, rng = f"sqlite:///{tmp_path}/budgets.db", random.Random(seed)
    with qw.Ledger(url) as book:
        book.open("people", protects=PEOPLE, epsilon=1.0, delta=1e-6)
    shown = [killed(url, rng.randrange(1, 10)) for _ in range(5)]
    with qw.Ledger(url) as book:
        last = plan().release(data(), ledger=book, budget="people", key="k")
        assert spends(book) == 1
        assert book.verify()
    assert {text for text in shown if text} <= {repr([row["value"] for row in last.rows])}


HOUSE = ("/quiltwork/release/", "/quiltwork/ledger/", "/quiltwork/mechanisms/sampling", "/sqlalchemy/engine/")


def killed_at_line(url, point):
    """A process that releases, and is killed at that line of the house or of the database's driver; what it printed,
    and how many lines it came to.
    """
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        count = 0

        def trace(frame, event, _):
            nonlocal count
            if event == "call":
                return trace if any(part in frame.f_code.co_filename for part in HOUSE) else None
            if event == "line":
                count += 1
                if count == point:
                    os.kill(os.getpid(), signal.SIGKILL)
            return trace

        try:
            made = plan()
            made.guarantee().epsilon(1e-6)
            with qw.Ledger(url) as book:
                sys.settrace(trace)
                found = made.release(data(), ledger=book, budget="people", key="k")
                sys.settrace(None)
            os.write(write, f"{count} {[row['value'] for row in found.rows]!r}".encode())
        finally:
            os._exit(0)
    os.close(write)
    os.waitpid(child, 0)
    with os.fdopen(read) as stream:
        lines, _, shown = stream.read().partition(" ")
        return int(lines or 0), shown


def opened(folder, name):
    """A ledger of its own with a budget."""
    url = f"sqlite:///{folder}/{name}.db"
    with qw.Ledger(url) as book:
        book.open("people", protects=PEOPLE, epsilon=1.0, delta=1e-6)
    return url


def ended(url, points):
    """How far a release came that was killed at these lines, one after the other under one key; then it is finished.

    AssertionError where numbers were there that nobody paid for, or were drawn or paid for twice.
    """
    printed = [killed_at_line(url, point)[1] for point in points]
    with qw.Ledger(url) as book:
        paid = spends(book)
        assert paid <= 1
        kept = book.result("people", "k")
        assert kept is None or paid == 1  # never numbers that nobody paid for
        last = plan().release(data(), ledger=book, budget="people", key="k")
        assert spends(book) == 1
        assert book.verify()
    values = repr([row["value"] for row in last.rows])
    assert {text for text in printed if text} <= {values}
    assert kept is None or repr([row["value"] for row in kept.rows]) == values
    return "not paid" if not paid else "paid, nothing kept" if kept is None else "kept"


@pytest.mark.parametrize("seed", seeds(3, least=1))  # three lines each: `benchmarks/release_kills.py` has any number
def test_a_release_that_is_killed_at_any_line_is_paid_once_and_shown_once(tmp_path, seed):
    rng = random.Random(seed)
    lines, shown = killed_at_line(opened(tmp_path, "whole"), None)
    assert shown
    for attempt in range(3):
        ended(opened(tmp_path, f"killed{attempt}"), [rng.randrange(1, lines + 1) for _ in range(2)])


# ---- results


def test_results_are_written_and_read_back(tmp_path, ledger):
    found = plan().release(data(), ledger=ledger, budget="people", key="k")
    frame = found.to_pandas()
    assert list(frame.columns) == ["query", "region", "value", "lower", "upper"]
    assert (frame.lower <= frame.value).all()
    assert (frame.value <= frame.upper).all()
    for name in ("numbers.parquet", "numbers.csv", "numbers.json"):
        assert found.save(tmp_path / name).stat().st_size > 100
    assert qw.loads(qw.dumps(found)).rows == found.rows
    assert "at most 2 records" in found.explain()
    assert not any("no person has more than" in line for line in found.guarantee.assumes)  # it is made so


def test_a_plan_with_statistics_is_written_and_read_back():
    again = qw.loads(qw.dumps(plan()))
    assert run.plan_hash(again) == run.plan_hash(plan())
    assert float(again.guarantee().epsilon(1e-6).upper) == float(plan().guarantee().epsilon(1e-6).upper)


def test_the_noise_on_counts_is_the_discrete_law():
    found = np.array(draw.noisy(Drawn.of(noise.laplace(2.0), Fraction(1)), [0] * 4000))
    ratio = math.exp(-0.5)
    expected = [(1 - ratio) / (1 + ratio) * ratio ** abs(k) * 4000 for k in range(-6, 7)]
    counts = [int((found == k).sum()) for k in range(-6, 7)]
    rest = 4000 - sum(counts)
    statistic = stats.chisquare([*counts, rest], [*expected, 4000 - sum(expected)])
    assert statistic.pvalue > 1e-6
