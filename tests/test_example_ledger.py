"""The hospital's year runs as a stranger would run it, and leaves a ledger that holds."""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest
from tests.needs import needs

import quiltwork as qw

pytest.importorskip("sqlalchemy")
pytestmark = needs("matplotlib")

EXAMPLE = Path(__file__).parents[1] / "examples" / "ledger_hospital.py"


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """The story, and where it left its files."""
    folder = tmp_path_factory.mktemp("story") / "new" / "demo"
    done = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLE), str(folder)], capture_output=True, text=True, check=True
    )
    return folder, done.stdout


def test_the_story_is_told(told):
    _, text = told
    assert text.count("Refused: ") == 5
    for words in (
        "cost epsilon 1.94 as a whole",
        "Nothing was written: 0 new entries",
        "its lease ended before it started",
        "it may have run, so it stays spent",
        "length of stay 52 of 52, waiting times 6 of 12",
        "the chain is signed by the ledger's key",
    ):
        assert words in text


def test_what_is_left_holds(told):
    folder, _ = told
    with qw.Ledger(f"sqlite:///{folder}/hospital.db") as ledger:
        assert ledger.verify()
        assert [budget.state for budget in ledger.budgets()] == ["closed", "open"]
        spends = [entry for entry in ledger.history("questions") if entry.kind == "lapse"]
        assert len(spends) == 1
    with (folder / "hospital.jsonl").open() as lines:
        key = f"{folder}/hospital.db.key"
        with qw.Ledger.restore(f"sqlite:///{folder}/copy.db", lines, key=key) as copy:
            assert copy.verify()
    assert (folder / "questions.svg").read_bytes().startswith(b"<?xml")


def test_a_ledger_is_never_replaced(told):
    folder, _ = told
    done = subprocess.run([sys.executable, str(EXAMPLE), str(folder)], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "never replaced" in done.stderr
    assert "Traceback" not in done.stderr


def test_without_opendp_it_runs_too(monkeypatch, capsys):
    example = importlib.import_module("examples.ledger_hospital")
    monkeypatch.setattr(example, "has_opendp", lambda: False)
    example.main()
    assert "surgery about 412" in capsys.readouterr().out  # no noise, for show only
