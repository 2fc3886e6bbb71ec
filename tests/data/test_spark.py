"""Spark gives the numbers of DuckDB, from every kind of source."""

import contextlib
import datetime
import glob
import gzip

import numpy as np
import pytest
from tests.data import naive
from tests.data.services import need_spark
from tests.needs import Later

from quiltwork.data import Counts, Engine, sequences
from quiltwork.errors import InvalidParameter

pytestmark = pytest.mark.slow
ibis, pd, pa = Later("ibis"), Later("pandas"), Later("pyarrow")
parquet = Later("pyarrow.parquet")
NAMES = {"who": 'a "person"; DROP TABLE t --', "when": "it's `when`", "state": "état 1.x", "group": "group by"}


@pytest.fixture(scope="module")
def spark():
    need_spark()
    with Engine.open("spark://local[2]") as engine:
        yield engine


@pytest.fixture(scope="module")
def duck():
    with Engine.open() as engine:
        yield engine


@pytest.fixture(scope="module")
def rows():
    """A few thousand rows out of order, with names that no query may stumble over."""
    rng = np.random.default_rng(20261116)
    who = np.repeat(np.arange(300), rng.integers(1, 25, 300))
    when = [
        datetime.datetime(2026, 1, 1) + datetime.timedelta(minutes=int(minute)) for minute in rng.permutation(who.size)
    ]
    states = np.array(["home", "work", "it's", "a\\b", 'say "so"', "ünï", ""])
    order = rng.permutation(who.size)
    return pa.table(
        {
            NAMES["who"]: pa.array(who[order] - 150),
            NAMES["when"]: pa.array([when[place] for place in order]),
            NAMES["state"]: pa.array(states[rng.integers(0, states.size, who.size)]),
            NAMES["group"]: pa.array((who[order] % 5).astype(np.int32)),
        }
    )


def read(engine, source):
    return engine.sequences(source, **NAMES)


def answers(found):
    return (
        found.rows,
        found.dropped,
        found.states(),
        found.transition_counts(),
        found.category_counts(),
        found.group_counts(),
        found.lengths(),
        found.group_lengths(),
    )


def test_both_engines_give_the_same_answers(spark, duck, rows):
    theirs = answers(read(spark, rows))
    assert theirs == answers(read(duck, rows))
    plain = list(zip(*(rows[NAMES[role]].to_pylist() for role in ("who", "when", "state")), strict=True))
    counts = theirs[3]
    assert (counts.matrix.tolist(), counts.first.tolist()) == naive.transitions(plain, counts.states)


def test_parts_and_files_change_nothing(spark, duck, rows, tmp_path, monkeypatch):
    expected = read(duck, rows).transition_counts()
    folder = tmp_path / "it's a [folder] {of} files"
    folder.mkdir()
    parquet.write_table(rows.slice(0, 1000), folder / "one.parquet")
    parquet.write_table(rows.slice(1000), folder / "two *.parquet")
    (folder / "_SUCCESS").touch()
    monkeypatch.setattr(sequences, "ROWS_A_PART", rows.num_rows // 3)
    for source in (folder, f"{glob.escape(str(folder))}/*.parquet", sorted(folder.glob("*.parquet"))):
        assert read(spark, source).transition_counts() == expected


def test_csv_is_read_alike(spark, duck, tmp_path, monkeypatch):
    monkeypatch.setattr(sequences, "ROWS_A_PART", 3)  # so that the table is also kept
    lines = ["id,at,state", '007,2026-01-02,"y, ""really"""', "007,2026-01-01T10:00,01", "7,2026-01-01 10:00:00Z,1"]
    text = "\n".join([*lines, '007,2026-01-03,"two\nlines"', '7,2026-01-05,""', "7,,1", ""])
    (tmp_path / "one.csv").write_text(text, encoding="utf-8")
    with gzip.open(tmp_path / "two.csv.gz", "wt", encoding="utf-8") as file:
        file.write("id,at,state\nü,2026-01-01,true\n")
    expected = Counts.of([["01", 'y, "really"', "two\nlines"], ["1"], ["true"]])
    for engine in (duck, spark):
        found = engine.sequences(tmp_path, who="id", when="at", state="state", missing="drop")
        assert (found.dropped, found.transition_counts()) == (2, expected)
        with pytest.raises(InvalidParameter, match="'at': 1, 'state': 1"):
            engine.sequences(tmp_path, who="id", when="at", state="state")


@pytest.mark.parametrize(
    "text",
    [
        "id,at,state\na,1,x\na,2\n",  # a row too short
        "id,at,state\na,1,x\na,1.5,x\n",  # no whole number
        "id,at,state\na,1,x\na,2026-13-01,x\n",  # no month
        "id,when,state\na,1,x\n",  # no such column
    ],
)
def test_bad_csv_is_refused_by_both(spark, duck, tmp_path, text):
    (tmp_path / "t.csv").write_text(text)
    for engine in (duck, spark):
        with pytest.raises(InvalidParameter):
            engine.sequences(tmp_path / "t.csv", who="id", when="at", state="state")


def test_csv_headers_that_differ_are_not_mixed_up(spark, tmp_path):
    (tmp_path / "1.csv").write_text("id,at,state\na,1,x\n")
    (tmp_path / "2.csv").write_text("state,at,id\na,2,y\n")
    with pytest.raises(InvalidParameter, match="engine can read"):
        spark.sequences(tmp_path, who="id", when="at", state="state")


def test_files_that_spark_would_skip_are_refused(spark, rows, tmp_path):
    parquet.write_table(rows, tmp_path / "_hidden.parquet")
    with pytest.raises(InvalidParameter, match="begin with _"):
        read(spark, tmp_path / "_hidden.parquet")


@pytest.mark.parametrize("states", [[3, 1, 2], [True, False], [datetime.date(2026, 1, 2), datetime.date(2026, 1, 1)]])
def test_states_keep_their_kind(spark, duck, states):
    source = {"who": [1] * len(states), "when": list(range(len(states))), "state": states}
    found = [
        engine.sequences(source, who="who", when="when", state="state").transition_counts() for engine in (spark, duck)
    ]
    assert found[0] == found[1]
    assert [type(state) for state in found[0].states] == [type(state) for state in found[1].states]


def test_frames_and_tables(spark, duck):
    frame = pd.DataFrame({"id": ["a", "a", "b"], "at": [2, 1, 1], "state": ["y", "x", "y"]})
    frame = frame.astype({"at": "uint64", "state": "category"})
    spark.session.createDataFrame(pa.table({"id": ["a"], "at": [1], "state": ["x"]})).createOrReplaceTempView("here")
    for source, histories in [
        (frame, [["x", "y"], ["y"]]),
        (ibis.memtable(pa.Table.from_pandas(frame)), [["x", "y"], ["y"]]),
        (spark.table("here"), [["x"]]),
    ]:
        assert spark.sequences(source, who="id", when="at", state="state").transition_counts() == Counts.of(histories)
    mixed = spark.table("here").inner_join(ibis.memtable(pa.table({"id": ["a"]})), "id")
    with pytest.raises(InvalidParameter, match="only in memory"):
        spark.sequences(mixed, who="id", when="at", state="state")
    with pytest.raises(InvalidParameter, match="another connection"):
        duck.sequences(spark.table("here"), who="id", when="at", state="state")


def test_ties_missing_values_and_empty_tables(spark):
    def found(rows, **more):
        return spark.sequences(naive.columns(rows), who="who", when="when", state="state", **more)

    with pytest.raises(InvalidParameter, match="arbitrary"):
        found([(1, 1, "a"), (1, 1, "b")]).transition_counts()
    with pytest.raises(InvalidParameter, match="'when': 2"):
        found([(1, 1.0, "a"), (1, None, "b"), (1, float("nan"), "c")])
    assert found([(1, 1.0, "a"), (1, float("nan"), "b")], missing="drop").states() == ("a",)
    assert found([]).transition_counts(["a"]) == Counts(["a"], [[0]], [0])
    with pytest.raises(InvalidParameter, match="not in the list: 'b'"):
        found([(1, 1, "a"), (1, 2, "b")]).transition_counts(["a"])


def test_one_spark_serves_many_engines(spark, rows):
    expected = read(spark, rows).transition_counts()
    with Engine.open("spark://local[2]", settings={"spark.sql.shuffle.partitions": 3}) as second:
        assert read(second, rows).transition_counts() == expected
        assert second.session.conf.get("spark.sql.shuffle.partitions") == "3"
    with Engine.using(spark.connection) as third:
        assert read(third, rows).lengths() == read(spark, rows).lengths()
    assert read(spark, rows).transition_counts() == expected  # still running
    assert spark.session.conf.get("spark.sql.shuffle.partitions") == "8"
    with pytest.raises(InvalidParameter, match="runs in this process"), contextlib.ExitStack() as undo:
        undo.enter_context(Engine.open("spark://local[1]"))


def test_spark_keeps_to_itself(spark):
    settings = spark.session.sparkContext.getConf()
    assert settings.get("spark.ui.enabled") == "false"
    assert settings.get("spark.driver.bindAddress") == settings.get("spark.driver.host") == "127.0.0.1"
    assert spark.session.sparkContext.uiWebUrl is None
