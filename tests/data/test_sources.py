"""Every kind of source gives the same counts, and what is none is refused."""

import gzip

import pytest
from tests.ids import named
from tests.needs import Later

from quiltwork.data import Counts, Engine, sequences
from quiltwork.errors import InvalidParameter

ROWS = {"id": ["a", "a", "b", "a"], "at": [2, 1, 1, 3], "state": ["y", "x", "y", "x"], "odd": [None, 1.5, 2.5, "mixed"]}
ibis, pd, pa = Later("ibis"), Later("pandas"), Later("pyarrow")
csv, parquet = Later("pyarrow.csv"), Later("pyarrow.parquet")
EXPECTED = Counts.of([["x", "y", "x"], ["y"]])


def table():
    return pa.table({name: values for name, values in ROWS.items() if name != "odd"})


@pytest.fixture(scope="module")
def engine():
    with Engine.open() as engine:
        yield engine


def counted(engine, source, **more):
    return engine.sequences(source, **{"who": "id", "when": "at", "state": "state", **more}).transition_counts()


class Stream:
    """A frame of some other library that speaks Arrow, as polars frames do."""

    def __arrow_c_stream__(self, requested_schema=None):
        return table().__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize(
    "source",
    [
        lambda: ROWS,
        lambda: pd.DataFrame(ROWS),
        lambda: pd.DataFrame(ROWS, index=[7, 7, 8, 9]),
        lambda: pd.DataFrame(ROWS).astype({"state": "category", "id": "category", "at": "uint8"}),
        lambda: pd.DataFrame(ROWS).convert_dtypes(),
        table,
        lambda: table().to_batches()[0],
        lambda: pa.RecordBatchReader.from_batches(table().schema, table().to_batches()),
        lambda: table().cast(pa.schema([("id", pa.large_string()), ("at", pa.uint64()), ("state", pa.string_view())])),
        lambda: table().set_column(2, "state", table()["state"].dictionary_encode()),
        Stream,
        lambda: ibis.memtable(table()),
        lambda: ibis.memtable(table()).filter(ibis._.at < 10),
    ],
)
def test_sources_in_memory(engine, source):
    assert counted(engine, source()) == EXPECTED


def test_tables_of_the_engine(tmp_path):
    with Engine.open(f"duckdb://{tmp_path / 'base.db'}") as engine:
        engine.connection.con.register("arrow", table())
        engine.connection.raw_sql('CREATE TABLE "odd ""name""" AS SELECT * FROM arrow')
        assert counted(engine, engine.table('odd "name"')) == EXPECTED
        assert counted(engine, engine.table('odd "name"').filter(ibis._.at < 3)) == Counts.of([["x", "y"], ["y"]])
        joined = engine.table('odd "name"').inner_join(ibis.memtable(pa.table({"id": ["a"]})), "id")
        assert counted(engine, joined) == Counts.of([["x", "y", "x"]])
    with Engine.open(f"duckdb://{tmp_path / 'base.db'}") as again:  # close has let go of the file
        assert counted(again, again.table('odd "name"')) == EXPECTED


def test_tables_of_another_engine_are_refused(engine):
    with Engine.open() as other:
        other.connection.raw_sql("CREATE TABLE t AS SELECT 'a' AS id, 1 AS at, 'x' AS state")
        table = other.table("t")
        with pytest.raises(InvalidParameter, match="another connection"):
            counted(engine, table)


def test_a_table_without_data_is_refused(engine):
    with pytest.raises(InvalidParameter, match="engine can read"):
        counted(engine, ibis.table({"id": "string", "at": "int64", "state": "string"}, name="nowhere"))


@pytest.fixture(params=["parquet", "csv"])
def folder(request, tmp_path):
    """The table in two files, between things that do not belong to it."""
    place = tmp_path / f"it's a [folder] {{of}} {request.param}"
    place.mkdir()
    write = {"parquet": parquet.write_table, "csv": csv.write_csv}[request.param]
    write(table().slice(0, 2), place / f"one.{request.param}")
    write(table().slice(2), place / f"two *.{request.param.upper()}")
    (place / "_SUCCESS").touch()
    (place / "notes.txt").write_text("not data")
    return place


def test_files_folders_and_lists(engine, folder):
    one, two = sorted(path for path in folder.iterdir() if path.name.startswith(("one", "two")))
    assert counted(engine, folder) == EXPECTED
    assert counted(engine, str(folder)) == EXPECTED
    assert counted(engine, [one, str(two)]) == EXPECTED
    assert counted(engine, (two, one)) == EXPECTED
    assert counted(engine, two) == Counts.of([["x"], ["y"]])


def test_patterns(engine, tmp_path):
    for name, part in (("a1", table().slice(0, 2)), ("a2", table().slice(2)), ("b1", table())):
        (tmp_path / name[0]).mkdir(exist_ok=True)
        parquet.write_table(part, tmp_path / name[0] / f"{name}.parquet")
    assert counted(engine, tmp_path / "a" / "*.parquet") == EXPECTED
    assert counted(engine, f"{tmp_path}/**/a[12].parquet") == EXPECTED
    assert counted(engine, f"{tmp_path}/?/b1.parquet") == EXPECTED


def test_an_address_is_left_to_the_engine(engine, tmp_path):
    parquet.write_table(table(), tmp_path / "t.parquet")
    assert counted(engine, (tmp_path / "t.parquet").as_uri()) == EXPECTED


def test_columns_of_a_folder_name_are_not_read(engine, tmp_path):
    (tmp_path / "year=2026").mkdir()
    parquet.write_table(table(), tmp_path / "year=2026" / "t.parquet")
    with pytest.raises(InvalidParameter, match=r"'year'.*\['id', 'at', 'state'\]"):
        counted(engine, tmp_path / "year=2026", state="year")


CSV = 'id,at,state\n007,2,"y, ""really"""\n007,1,01\n7,1,1\n007,3,true\n'


def test_csv_holds_texts_and_order(engine, tmp_path):
    (tmp_path / "t.csv").write_text(CSV)
    with gzip.open(tmp_path / "t.csv.gz", "wt") as file:
        file.write(CSV)
    for name in ("t.csv", "t.csv.gz"):
        assert counted(engine, tmp_path / name) == Counts.of([["01", 'y, "really"', "true"], ["1"]])


def test_csv_columns_may_change_places_between_files(engine, tmp_path):
    (tmp_path / "1.csv").write_text("id,at,state\na,1,x\n")
    (tmp_path / "2.csv").write_text("state,id,at\ny,a,2\n")
    assert counted(engine, tmp_path) == Counts.of([["x", "y"]])


@pytest.mark.parametrize(
    ("moments", "order"),
    [
        (["10", "9", "+11"], [1, 0, 2]),
        (["2026-11-16T08:00:00", "2026-11-16 07:59", "2026-11-17"], [1, 0, 2]),
        (["2026-11-16T08:00:00.000002Z", "2026-11-16T08:00:00.000001Z", "2026-11-16T08:00:01Z"], [1, 0, 2]),
    ],
)
def test_csv_moments_are_numbers_or_iso(engine, tmp_path, moments, order):
    lines = [f"a,{moment},s{place}" for place, moment in enumerate(moments)]
    (tmp_path / "t.csv").write_text("\n".join(["id,at,state", *lines]))
    assert counted(engine, tmp_path / "t.csv") == Counts.of([[f"s{place}" for place in order]])


@pytest.mark.parametrize("moment", ["1.5", "16/11/2026", "2026-13-01", "noon", "10e3", "0x10", "99999999999999999999"])
def test_csv_moments_of_doubtful_order_are_refused(engine, tmp_path, moment):
    (tmp_path / "t.csv").write_text(f"id,at,state\na,1,x\na,{moment},x\n")
    with pytest.raises(InvalidParameter, match="all whole numbers, or all ISO moments"):
        counted(engine, tmp_path / "t.csv")


def test_csv_blanks_are_missing(engine, tmp_path):
    (tmp_path / "t.csv").write_text('id,at,state\na,1,x\na,,x\na,2,""\n')
    with pytest.raises(InvalidParameter, match="'at': 1, 'state': 1"):
        counted(engine, tmp_path / "t.csv")
    assert counted(engine, tmp_path / "t.csv", missing="drop") == Counts.of([["x"]])


def test_csv_rows_of_another_width_are_an_error(engine, tmp_path):
    (tmp_path / "t.csv").write_text("id,at,state\na,1,x\na,2\n")
    with pytest.raises(InvalidParameter, match="engine can read"):
        counted(engine, tmp_path / "t.csv")


def test_long_csv_is_parsed_once_and_released(tmp_path, monkeypatch):
    monkeypatch.setattr(sequences, "ROWS_A_PART", 2)
    csv.write_csv(table(), tmp_path / "t.csv")
    with Engine.open() as engine:
        found = engine.sequences(tmp_path / "t.csv", who="id", when="at", state="state")
        (tmp_path / "t.csv").unlink()
        assert found.transition_counts() == EXPECTED


@pytest.mark.parametrize(
    "source",
    ["nothing.parquet", "no/*.csv", "", 5, None, [], [1, 2], b"t.csv", {"id"}, object()],
    ids=named,
)
def test_what_is_no_source_is_refused(engine, source, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidParameter):
        counted(engine, source)


def test_an_array_is_no_source(engine):
    with pytest.raises(InvalidParameter):
        counted(engine, pa.array([1]))


def test_files_of_other_kinds_are_refused(engine, tmp_path):
    (tmp_path / "t.json").write_text("{}")
    (tmp_path / "broken.parquet").write_text("no parquet")
    (tmp_path / "empty.csv").write_text("")
    csv.write_csv(table(), tmp_path / "t.csv")
    for source, problem in [
        (tmp_path / "t.json", "ends in .parquet"),
        (tmp_path, "files of one kind"),
        (tmp_path / "broken.parquet", "engine can read"),
        (tmp_path / "empty.csv", "one column of the source|engine can read"),
    ]:
        with pytest.raises(InvalidParameter, match=problem):
            counted(engine, source)


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        (lambda: pd.DataFrame({"id": [1, "a"], "at": [1, 2], "state": ["x", "y"]}), "id"),
        (lambda: pd.DataFrame([[1, 1, "x", "y"]], columns=["id", "at", "state", "state"]), "more than once"),
        (lambda: pa.table([[1], [1], [1], ["x"]], names=["id", "id", "at", "state"]), "more than once"),
        (lambda: {"id": [1, 2], "at": [1], "state": ["x"]}, "length"),
        (lambda: {"id": [2**64], "at": [1], "state": ["x"]}, "too (large|big)"),
    ],
)
def test_frames_that_make_no_table_are_refused(engine, source, problem):
    with pytest.raises(InvalidParameter, match=problem):
        counted(engine, source())


def test_numbers_beyond_64_signed_bits_are_told_apart(engine):
    """Two people whose numbers differ in the last bit, on either side of what a signed number can be."""
    ids = pa.array([2**63 - 1, 2**63, 2**63], pa.uint64())
    frame = pa.table({"id": ids, "at": [1, 1, 2], "state": ["x", "x", "y"]})
    small = pa.table({"id": [1, 2, 2], "at": [1, 1, 2], "state": ["x", "x", "y"]})
    assert counted(engine, frame) == counted(engine, small)


def test_missing_numbers_of_pandas_are_missing(engine):
    frame = pd.DataFrame({"id": ["a", "a"], "at": [1, None], "state": ["x", "y"]})
    with pytest.raises(InvalidParameter, match="'at': 1"):
        counted(engine, frame)
