"""Opening and closing."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from quiltwork.data import Counts, Engine, sequences
from quiltwork.data.engines.spark import java, master_of
from quiltwork.errors import InvalidParameter, MissingExtra, Unsupported

ROWS = {"who": [1, 1, 2], "when": [1, 2, 1], "state": ["a", "b", "a"]}
HEAVY = {"ibis", "duckdb", "pandas", "polars", "pyarrow", "pyspark", "rich"}


def counted(engine):
    return engine.sequences(ROWS, who="who", when="when", state="state").transition_counts()


@pytest.mark.parametrize("url", ["", "duckdb", "postgres://x", "sqlite:///x", 5, None, "://", "duckdb://relative.db"])
def test_other_addresses_are_refused(url):
    with pytest.raises(InvalidParameter, match="duckdb://"):
        Engine.open(url)


@pytest.mark.parametrize(
    "wrong", [{"settings": ["threads"]}, {"settings": "threads"}, {"progress": "yes"}, {"progress": 1}]
)
def test_wrong_options_are_refused(wrong):
    with pytest.raises(InvalidParameter, match=next(iter(wrong))):
        Engine.open(**wrong)


def test_what_was_opened_is_closed_and_removed(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with Engine.open() as engine:
        assert counted(engine) == Counts.of([["a", "b"], ["a"]])
        assert [path.stat().st_mode & 0o77 for path in tmp_path.iterdir()] == [0]
    assert list(tmp_path.iterdir()) == []
    engine.close()
    with pytest.raises(Exception, match="closed"):
        engine.connection.raw_sql("SELECT 1")


def test_a_failed_start_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(Exception, match="no_such_setting"):
        Engine.open(settings={"no_such_setting": 1})
    assert list(tmp_path.iterdir()) == []


def test_settings_reach_the_engine():
    with Engine.open(settings={"threads": 1}) as engine:
        assert engine.connection.raw_sql("SELECT current_setting('threads')").fetchone() == (1,)


def test_a_connection_of_the_caller_stays_open_and_clean(tmp_path, monkeypatch):
    monkeypatch.setattr(sequences, "ROWS_A_PART", 1)
    import ibis

    connection = ibis.duckdb.connect()
    with Engine.using(connection) as engine:
        assert counted(engine).people == 2
        (tmp_path / "t.csv").write_text("who,when,state\n1,1,a\n2,1,b\n")
        engine.sequences(tmp_path / "t.csv", who="who", when="when", state="state")
        assert connection.raw_sql("SHOW TABLES").fetchall() != []
    assert connection.raw_sql("SHOW TABLES").fetchall() == []
    connection.disconnect()
    for other in (None, "duckdb://", object()):
        with pytest.raises(InvalidParameter, match="DuckDB or Spark"):
            Engine.using(other)


def test_little_memory_is_enough(tmp_path):
    """Two million rows are sorted in a few parts within less memory than they fill."""
    with Engine.open(settings={"memory_limit": "60MB", "threads": 1}) as engine:
        engine.connection.raw_sql(
            "COPY (SELECT range % 1000 AS who, hash(range) AS at, 'state ' || (range // 1000) % 7 AS state "
            f"FROM range(2000000)) TO '{tmp_path}/t.parquet'"
        ).fetchall()
        found = engine.sequences(tmp_path, who="who", when="at", state="state")
        counts = found.transition_counts()
        assert (counts.people, counts.steps) == (1000, 1_999_000)
        assert counts.visits.tolist() == found.category_counts().counts.tolist()


def test_a_bar_moves_part_by_part(capsys, monkeypatch):
    monkeypatch.setattr(sequences, "ROWS_A_PART", 1)
    with Engine.open(progress=True) as engine:
        counted(engine)
    assert "counting steps" in capsys.readouterr().err


@pytest.mark.parametrize(("module", "extra"), [("ibis", "data"), ("duckdb", "data"), ("pyspark.sql", "spark")])
def test_a_missing_library_is_one_line_to_install(monkeypatch, module, extra):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtra, match=rf"quiltwork\[{extra}\]"):
        Engine.open("spark://local" if extra == "spark" else "duckdb://")


def test_the_room_is_light():
    report = "import quiltwork.data, sys; print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    done = subprocess.run([sys.executable, "-c", report], capture_output=True, text=True, check=True)
    assert not set(done.stdout.split()) & HEAVY


def test_places_of_spark():
    assert master_of("") == "local[*]"
    assert master_of("local[2]") == master_of("local[2]/") == "local[2]"
    assert master_of("local") == "local"
    assert master_of("host:7077") == "spark://host:7077"


def test_spark_without_java_says_so(monkeypatch, tmp_path):
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Unsupported, match="no Java"):
        java()
    tool = tmp_path / "bin" / "java"
    tool.parent.mkdir()
    tool.touch(mode=0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert Path(java()) == tool
    monkeypatch.setenv("JAVA_HOME", os.devnull)
    with pytest.raises(Unsupported, match="no Java"):
        java()


def test_what_cannot_be_opened_says_why(tmp_path):
    with pytest.raises(InvalidParameter, match="url must be an engine that can be opened"):
        Engine.open(f"duckdb://{tmp_path}/no/such/folder/base.db")
    with pytest.raises(InvalidParameter, match="url"):
        Engine.open(settings={"memory_limit": "much"})


def test_a_closed_engine_answers_no_more():
    engine = Engine.open()
    found = engine.sequences({"p": [1, 1], "h": [1, 2], "s": ["a", "b"]}, who="p", when="h", state="s")
    assert repr(engine) == "<Engine duckdb>"
    engine.close()
    assert repr(engine) == "<Engine duckdb, closed>"
    for ask in (found.transition_counts, found.lengths, lambda: engine.table("t")):
        with pytest.raises(Unsupported, match="closed"):
            ask()
