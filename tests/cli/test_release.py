"""`quiltwork release` and `calibrate` of a plan file, as a stranger runs them."""

import json
import random
import re

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from tests.cli.lines import one_line

import quiltwork as qw
from quiltwork.cli import main
from quiltwork.data.engines.engine import Engine

PLAN = """\
quiltwork: 1
title: Visits
table:
  columns:
    person: id
    region: {cat: [North, South]}
    cost: {float: [0, 100], nullable: true}
neighbors: {user: {id: person, max_records: 3}}
queries:
  - {name: visits, count: {by: region}, noise: %s}
  - {name: cost, sum: {of: cost, where: region == "North"}, noise: %s}
"""
PROTECTS = "all records (at most 3) of one person, added or removed"


def run(capsys, *line, code=0):
    """What a command prints, after checking its exit code."""
    assert main([str(word) for word in line]) == code
    return capsys.readouterr()


@pytest.fixture
def files(tmp_path):
    rng = random.Random(0)
    rows = {
        "person": [rng.randrange(200) for _ in range(600)],
        "region": [rng.choice(("North", "South", "nowhere")) for _ in range(600)],
        "cost": [rng.uniform(-5, 200) for _ in range(600)],
    }
    parquet.write_table(pa.table(rows), tmp_path / "visits.parquet")
    (tmp_path / "plan.yaml").write_text(PLAN % ("{laplace: 20.0}", "{laplace: 2000.0}"))
    (tmp_path / "auto.yaml").write_text(PLAN % ("auto", "{auto: {weight: 4}}"))
    return tmp_path


def test_numbers_are_published_without_a_ledger_and_it_says_so(files, capsys):
    asked = ("release", files / "plan.yaml", files / "visits.parquet")
    found = json.loads(run(capsys, *asked, "--json").out)
    assert [row["query"] for row in found["rows"]] == ["visits", "visits", "cost"]
    assert found["receipt"] is None
    said = run(capsys, *asked, "--out", files / "r.csv", "--html", files / "r.html").out
    assert "no ledger was given" in said
    assert re.search(r"About 2(\.0\d)? times the noise.*would keep\s+half of that", said, re.DOTALL)
    assert (files / "r.csv").read_text().startswith('"query","region","value"')
    assert "nowhere" not in (files / "r.html").read_text()


def test_a_budget_pays_once_for_a_key(files, capsys):
    ledger = ("--ledger", files / "budgets.db")
    run(capsys, "ledger", "open", "people", "--epsilon", "0.5", "--delta", "1e-6", "--protects", PROTECTS, *ledger)
    asked = ("release", files / "plan.yaml", files / "visits.parquet", "--budget", "people", "--json", *ledger)
    first, again = (json.loads(run(capsys, *asked, "--key", "Q4").out) for _ in range(2))
    assert first["rows"] == again["rows"]
    assert run(capsys, "ledger", "history", *ledger).out.count(" spend ") == 1
    assert "people" in one_line(run(capsys, *asked, "--key", "Q5", code=1).err)
    assert run(capsys, "ledger", "history", *ledger).out.count(" spend ") == 1


def test_a_whole_plan_is_calibrated_and_written(files, capsys):
    asked = ("calibrate", files / "auto.yaml", "--epsilon", "1", "--delta", "1e-6")
    assert "nothing was written" in run(capsys, *asked).err
    found = json.loads(run(capsys, *asked, "--write", "--json").out)
    assert found["epsilon"]["upper"] <= 1.0
    assert set(found["noise"]) == {"visits", "cost"}
    run(capsys, "release", files / "auto.yaml", files / "visits.parquet")


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        (("release", "plan.yaml", "nowhere.parquet"), 2, "none is there"),
        (("release", "nowhere.yaml", "visits.parquet"), 2, "nowhere.yaml"),
        (("release", "auto.yaml", "visits.parquet"), 2, "calibrate"),
        (("release", "plan.yaml", "visits.parquet", "--key", "k"), 2, "budget"),
        (("release", "plan.yaml", "visits.parquet", "--budget", "b", "--ledger", "no.db"), 2, "no ledger"),
        (("release", "plan.yaml", "visits.parquet", "--out", "r.txt"), 2, ".parquet"),
        (("release", "plan.yaml", "visits.parquet", "--engine", "mysql://"), 2, "duckdb"),
        (("release", "plan.yaml", "other.parquet"), 2, "cost"),
        (("calibrate", "plan.yaml", "--epsilon", "1", "--delta", "1e-6"), 2, "nothing to calibrate"),
        (("calibrate", "no.yaml", "--epsilon", "1", "--delta", "1e-6"), 2, "plan file"),
    ],
)
def test_bad_input_is_one_line(files, monkeypatch, capsys, line, code, words):
    monkeypatch.chdir(files)
    parquet.write_table(pa.table({"person": [1], "region": ["North"]}), "other.parquet")
    assert words in one_line(run(capsys, *line, code=code).err)


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("{name: a, count: {by: nothing}, noise: auto}", "nothing"),
        ("{name: a, count: {}, sum: {of: cost}, noise: auto}", "exactly one statistic"),
        ("{name: a, noise: auto}", "exactly one statistic"),
        ("{name: a, sum: {of: region}, noise: auto}", "Int or Float"),
        ("{name: a, count: {where: cost > }, noise: auto}", "where"),
        ("{name: a, count: {}, noise: {laplace: 1, gaussian: 2}}", "exactly one kind of noise"),
        ("{name: a, count: {}, noise: {laplace: -1}}", "queries[1].noise.laplace: must be > 0"),
        ("{name: a, keys: {of: person}, noise: auto}", "delta"),
    ],
)
def test_a_statistic_that_is_wrong_in_a_file_is_named(tmp_path, capsys, query, words):
    text = (PLAN % ("auto", "auto")).rpartition("  - ")[0] + f"  - {query}\n"
    (tmp_path / "plan.yaml").write_text(text)
    assert words in run(capsys, "account", tmp_path / "plan.yaml", code=2).err


@pytest.mark.parametrize(
    ("plan", "data", "budget", "code", "words"),
    [
        ("plan.yaml", "nowhere.parquet", "people", 2, "none is there"),
        ("plan.yaml", "damaged.parquet", "people", 2, "can be read"),
        ("plan.yaml", "inside.parquet", "people", 2, "can be read, then try again$"),
        ("plan.yaml", "wide.csv", "people", 2, "can be read, then try again$"),
        ("plan.yaml", "folder", "people", 2, "none is there"),
        ("plan.yaml", "visits.txt", "people", 2, ".parquet"),
        ("plan.yaml", "column.parquet", "people", 2, "cost"),
        ("plan.yaml", "type.parquet", "people", 2, "person"),
        ("plan.yaml", "lists.parquet", "people", 2, "cost"),
        ("plan.yaml", "header.csv", "people", 2, "first line"),
        ("auto.yaml", "visits.parquet", "people", 2, "calibrate"),
        ("plan.yaml", "visits.parquet", "nobody", 2, "nobody"),
        ("plan.yaml", "visits.parquet", "spent", 1, "epsilon"),
        ("plan.yaml", "visits.parquet", "others", 2, "protects"),
    ],
)
def test_what_cannot_be_published_is_one_line_and_nothing_is_read_or_spent(
    files, monkeypatch, capsys, plan, data, budget, code, words
):
    monkeypatch.chdir(files)
    monkeypatch.setattr("quiltwork.release.run.totals", lambda *_: pytest.fail("the data were read"))
    rows = {"person": [1.5], "region": ["North"], "cost": [1.0]}
    parquet.write_table(pa.table(rows), "type.parquet")
    parquet.write_table(pa.table({**rows, "person": [1], "cost": [[1.0]]}), "lists.parquet")
    parquet.write_table(pa.table({"person": [1], "region": ["North"]}), "column.parquet")
    (files / "damaged.parquet").write_bytes(b"PAR1 Alice")
    whole = (files / "visits.parquet").read_bytes()
    (files / "inside.parquet").write_bytes(whole[:40] + bytes(400) + whole[440:])  # the footer says nothing of it
    (files / "wide.csv").write_text("person,region,cost\n1,North,2\nAlice,North,3,4\n")
    (files / "header.csv").write_text("Alice,North,12\n")
    (files / "visits.txt").write_text("Alice\n")
    (files / "folder").mkdir()
    with qw.Ledger(f"sqlite:///{files}/budgets.db") as book:
        book.open("people", epsilon=3.0, delta=1e-6, protects=PROTECTS)
        book.open("spent", epsilon=0.01, delta=1e-6, protects=PROTECTS)
        book.open("others", epsilon=3.0, delta=1e-6, protects="one record, added or removed")
    found = run(capsys, "release", plan, data, "--ledger", "budgets.db", "--budget", budget, "--key", "k", code=code)
    assert re.search(words, one_line(found.err))
    assert "Alice" not in found.err + found.out
    with qw.Ledger(f"sqlite:///{files}/budgets.db") as book:
        assert not [
            entry for name in ("people", "spent", "others") for entry in book.history(name) if entry.kind == "spend"
        ]


def test_a_table_of_a_database_file_is_published_by_its_name(files, monkeypatch, capsys):
    monkeypatch.chdir(files)
    with Engine.open(f"duckdb://{files}/house.duckdb") as made:
        made.connection.raw_sql("CREATE TABLE visits AS SELECT * FROM 'visits.parquet'")
    engine = ("--engine", f"duckdb://{files}/house.duckdb")
    found = json.loads(run(capsys, "release", "plan.yaml", "visits", *engine, "--json").out)
    assert [row["query"] for row in found["rows"]] == ["visits", "visits", "cost"]
    for name in ("visits", "nowhere"):
        place = engine if name == "nowhere" else ("--engine", f"duckdb://{files}/nowhere.duckdb")
        assert "nowhere" in one_line(run(capsys, "release", "plan.yaml", name, *place, code=2).err)
    assert not (files / "nowhere.duckdb").exists()


def test_an_empty_table_is_published_like_any_other(files, capsys):
    parquet.write_table(parquet.read_table(files / "visits.parquet").slice(0, 0), files / "none.parquet")
    found = json.loads(run(capsys, "release", files / "plan.yaml", files / "none.parquet", "--json").out)
    assert [row["query"] for row in found["rows"]] == ["visits", "visits", "cost"]
