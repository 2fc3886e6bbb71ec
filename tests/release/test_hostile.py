"""Tables that are made to break something: no value chooses an error, and no message shows one."""

import datetime
import math
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from tests.data.services import need_spark

import quiltwork as qw
from quiltwork import noise
from quiltwork.data.engines.engine import Engine
from quiltwork.errors import InvalidParameter, QuiltworkError
from quiltwork.release.scan import totals
from quiltwork.tables.statistics.intervals import gaussian_mean, laplace_mean

ONE = noise.laplace(1.0)


def counted(plan, data, url="duckdb://"):
    with Engine.open(url) as engine:
        return totals(engine, data, plan.table, plan.neighbors, plan.statistics, lambda *_: None)


def numbers():
    t = qw.Table(n=qw.Int(0, 100, nullable=True))
    return qw.Plan(t, qw.add_remove()).sum("s", of=t.n, noise=ONE)


SECRET = "Alice 1234"
FAR = [10**40, -(10**40), math.inf, -math.inf, math.nan, Decimal("1e999"), Decimal("NaN")]
RARE = [
    SECRET, *FAR, b"\xff", [1], {}, "\ud800", pd.NA, np.array([1, 2]), Decimal("sNaN"), 10**5000,
    datetime.datetime(1, 1, 1, tzinfo=datetime.timezone(datetime.timedelta(hours=14))),
]  # fmt: skip


@pytest.mark.parametrize("kind", [dict, pd.DataFrame])
@pytest.mark.parametrize("column", ["number", "whole", "text", "person", "day", "tags", "flag", "level"])
def test_objects_among_others_are_no_error_and_change_no_other(kind, column):
    """A list has no type before all its values are looked at: each is read by itself."""
    t = qw.Table(
        number=qw.Float(0, 10, nullable=True), whole=qw.Int(0, 10, nullable=True), text=qw.Cat("a", "b", nullable=True),
        person=qw.Id(), day=qw.Date("2026-01-01", "2026-12-31", nullable=True),
        tags=qw.SubsetOf(["x", "y"], 2, nullable=True), flag=qw.Cat(True, False, nullable=True),
        level=qw.Cat(1, 2, nullable=True),
    )  # fmt: skip
    usual = {
        "number": [1, 2.5, "3"], "whole": [1, True, 3.0], "text": ["a", "b", "a"], "person": [1, "2", 3.0],
        "day": [datetime.date(2026, 2, 1), "2026-03-05", datetime.datetime(2026, 4, 1, 9)],
        "tags": [["x"], "x|y", {"y"}], "flag": [True, False, True], "level": [1, 2, 1.0],
    }  # fmt: skip
    plan = qw.Plan(t, qw.user("person", 2))
    plan.sum("sum", of=t.number, noise=ONE).sum("whole", of=t.whole, noise=ONE).count("all", noise=ONE)
    plan.count("text", by=t.text, noise=ONE).count("day", by=t.day.months(), noise=ONE)
    plan.count("tags", by=t.tags, noise=ONE).count("flag", by=t.flag, noise=ONE).count("level", by=t.level, noise=ONE)

    def columns(cells):
        filler = dict.fromkeys(usual) | {"person": "other"}
        rows = {name: [*values, *({**filler, column: cell}[name] for cell in cells)] for name, values in usual.items()}
        objects = {}
        for name, values in rows.items():
            objects[name] = np.empty(len(values), dtype=object)
            for place, value in enumerate(values):
                objects[name][place] = value
        return kind(rows) if kind is dict else kind(objects, dtype=object)

    without, beside = counted(plan, columns([])), counted(plan, columns(RARE))
    for name, one in without.items():  # of another person two rows are used; each odd one may be a person
        more = [after - before for before, after in zip(one.count, beside[name].count, strict=True)]
        assert min(more) >= 0
        assert sum(more) <= (2 if column != "person" else len(RARE)), name
    if column not in ("number", "whole"):
        assert (without["sum"].sum, without["whole"].sum) == (beside["sum"].sum, beside["whole"].sum)


def test_objects_are_read_as_their_column_is_declared():
    assert counted(numbers(), {"n": [1, 2.5, "3", " 4 ", "five", None, math.nan, True, 10**30, "1e400", np.int8(7)]})[
        "s"
    ].sum == [1 + 2 + 3 + 4 + 1 + 100 + 100 + 7]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC", "America/New_York"])
def test_no_moment_is_too_far(unit, zone):
    t = qw.Table(day=qw.Date("2026-01-01", "2026-12-31", nullable=True))
    plan = qw.Plan(t, qw.add_remove()).count("c", by=t.day.months(), noise=ONE)
    scale = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    moments = pa.array([2**62, -(2**62), 1770000000 * scale, None], pa.int64()).cast(pa.timestamp(unit, zone))
    found = counted(plan, pa.table({"day": moments}))["c"]
    assert dict(zip(found.labels, found.count, strict=True))[("2026-02",)] == 1
    assert sum(found.count) == 4


def test_the_type_of_large_numbers_without_a_sign_does_not_tell_how_large_they_are():
    plan = qw.Plan(qw.Table(day=qw.Date("2026-01-01", "2026-12-31")), qw.add_remove()).count("n", noise=ONE)
    plan.count("d", by=plan.table.day.months(), noise=ONE)
    told = []
    for least in (1, 2**63):
        with pytest.raises(InvalidParameter) as caught:
            counted(plan, pa.table({"day": pa.array([least], pa.uint64())}))
        told.append(str(caught.value))
    assert told[0] == told[1]


def test_categories_do_not_choose_how_others_are_read():
    """The type of a pandas category follows from which values there are."""
    for values in ([1.0, 2.0], [1.0, 2.0, SECRET]):
        plan = qw.Plan(qw.Table(person=qw.Id()), qw.user("person", 1)).count("n", noise=ONE)
        assert counted(plan, pd.DataFrame({"person": pd.Categorical(values)}))["n"].count == [len(values)]


def test_categories_of_polars_are_read():
    """Texts that Arrow calls string_view, in a dictionary: Arrow itself cannot look them up."""
    texts = pa.array(["a", "b"]).cast(pa.string_view())
    plan = qw.Plan(qw.Table(x=qw.Cat("a", "b")), qw.add_remove())
    plan.count("n", by=plan.table.x, noise=ONE)
    codes = pa.array([0, 1, None, 1], pa.uint32())
    found = counted(plan, pa.table({"x": pa.DictionaryArray.from_arrays(codes, texts)}))["n"]
    assert found.count == [1, 2]


@pytest.mark.parametrize("kind", [pa.list_(pa.string()), pa.binary(), pa.timestamp("us"), pa.struct({"a": pa.int64()})])
def test_persons_of_a_type_in_which_two_may_be_written_alike_are_refused(kind):
    plan = qw.Plan(qw.Table(person=qw.Id()), qw.user("person", 1)).count("n", noise=ONE)
    with pytest.raises(InvalidParameter, match="person"):
        counted(plan, pa.table({"person": pa.array([None], kind)}))


def test_large_numbers_without_a_sign_are_clamped():
    data = pa.table({"n": pa.array([1, 2**63 + 5, 2**64 - 1, None], pa.uint64())})
    assert counted(numbers(), data)["s"].sum == [201]


def test_both_zeros_are_one_value_under_a_cap():
    """A cap on the rows with one value: 0.0 and -0.0 are equal, and a query of zeros sees both."""
    t = qw.Table(person=qw.Id(), x=qw.Float(0, 10))
    plan = qw.Plan(t, qw.user("person", 10, max_per={"x": 1})).count("zeros", where=t.x <= 0, noise=ONE)
    found = counted(plan, {"person": ["a"] * 4, "x": np.array([0.0, -0.0, 0.0, -0.0])})["zeros"].count[0]
    assert found <= float(plan.guarantee().epsilon(0.0).upper) * (1 + 1e-9)


@pytest.mark.parametrize("ends", [(-1e308, 1e308), (0, 1e-310), (0, 5e-324)])
def test_ends_that_no_unit_fits_are_refused_when_the_plan_is_made(ends):
    t = qw.Table(x=qw.Float(*ends))
    for verb in ("sum", "mean"):
        with pytest.raises(QuiltworkError, match="clip"):
            qw.Plan(t, qw.add_remove()).measure(verb, "s", of=t.x, noise=ONE)


def refused():
    t = qw.Table(person=qw.Id(), x=qw.Float(0, 10))
    return qw.Plan(t, qw.user("person", 2)).sum("s", of=t.x, noise=ONE)


@pytest.mark.parametrize(
    "source",
    [
        [{"person": SECRET, "x": 1.0}],
        [[SECRET, 1.0]],
        {"person": SECRET, "x": [1.0]},
        {"person": [SECRET], "x": [1.0, 2.0]},
        pa.table({"person": [SECRET], "x": [[1.0]]}),
        {"person": [SECRET], "x": np.array([b"Alice 1234"])},
        np.array([[SECRET, "1"]]),
        pd.Series([SECRET]),
        pa.array([SECRET]),
        {SECRET},
        SECRET.encode(),
        (SECRET for _ in range(1)),
    ],
    ids=[
        "list of dicts",
        "list of lists",
        "a text",
        "lengths",
        "lists as numbers",
        "bytes",
        "array",
        "series",
        "arrow",
        "set",
        "only bytes",
        "generator",
    ],
)
def test_no_refusal_shows_a_value(source):
    with pytest.raises(QuiltworkError) as caught:
        refused().release(source)
    assert SECRET not in str(caught.value)
    assert "Alice" not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [f"{SECRET},12\nBob,13\n", f"person,x\n{SECRET},1\nBob,2,3\n", f'person,x\n"{SECRET},1\nBob,2\n'],
    ids=["no header", "a longer line", "an open quote"],
)
def test_no_text_file_is_quoted(text, tmp_path):
    (tmp_path / "rows.csv").write_text(text)
    with pytest.raises(QuiltworkError) as caught:
        refused().release(tmp_path / "rows.csv")
    assert "Alice" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("row", ["#a,1", "9,#"])
def test_no_row_of_a_text_file_chooses_how_the_others_are_read(row, tmp_path):
    """DuckDB would take a first # for the beginning of comments, in the rows of all other persons, too."""
    rows, read = ["1,2", "2,3 # three", "3,#4"], []
    for number, more in enumerate(([], [row])):
        path = tmp_path / f"{number}.csv"
        path.write_text("\n".join(["person,x", *more, *rows, ""]))
        with Engine.open() as engine:
            read.append(engine.fetch(engine.csv([str(path)])).to_pydict()["x"][-3:])
    assert read[0] == read[1] == ["2", "3 # three", "#4"]


def test_spark_does_not_log_a_row_that_it_cannot_read(tmp_path, capfd):
    """And an empty table of lists is one of no rows, as on DuckDB."""
    need_spark()
    (tmp_path / "rows.csv").write_text(f"person,x\n{SECRET},1\nBob,2,3\n")
    t = qw.Table(tags=qw.SubsetOf(["x", "y"], 2))
    tags = qw.Plan(t, qw.add_remove()).count("n", by=t.tags, noise=ONE)
    with Engine.open("spark://local[2]") as engine:
        nobody = pa.table({"tags": pa.array([], pa.list_(pa.string()))})
        assert totals(engine, nobody, t, tags.neighbors, tags.statistics, lambda *_: None)["n"].count == [0, 0]
        with pytest.raises(QuiltworkError) as caught:
            refused().release(tmp_path / "rows.csv", engine=engine)
    told = "".join(capfd.readouterr()) + str(caught.value)
    assert "Alice" not in told
    assert "Bob" not in told


# ---- intervals of means: of many records they are narrow


@pytest.mark.parametrize("records", [50, 5_000, 5_000_000])
@pytest.mark.parametrize("truth", [0.0, 0.013, 0.5, 1.0])
def test_intervals_of_means_hold_as_often_as_they_say_and_are_as_narrow_as_they_can_be(records, truth):
    """600 draws at 95 %: within 4 standard errors, where no end of the range cuts the intervals off."""
    rng, size, hits, widths = np.random.default_rng(records), 10.0, [0, 0], [[], []]
    for _ in range(600):
        u, v = records * truth + rng.laplace(0, size), records * (1 - truth) + rng.laplace(0, size)
        total, count = records * (2 * truth - 1) + rng.normal(0, size), records + rng.normal(0, size)
        ends = laplace_mean(u, v, size, 0.95), gaussian_mean(total, count, (size, size), 0.95)
        for kind, ((low, high), place) in enumerate(zip(ends, (truth, 2 * truth - 1), strict=True)):
            hits[kind] += low <= place <= high
            widths[kind].append(high - low)
    assert min(hits) >= 548
    assert max(hits) <= (600 if truth in (0.0, 1.0) or records == 50 else 592)
    assert np.median(widths[0]) <= 8 * size / records
    assert np.median(widths[1]) <= 8 * size / records
