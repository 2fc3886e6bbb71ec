"""The runner of all benchmarks: which form runs where, and what a failure does."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from benchmarks import all as everything
from benchmarks.all import LONG, QUICK, SECTIONS, USUAL, Outcome


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(everything, "ROOT", tmp_path)
    monkeypatch.setattr(everything, "BUILD", tmp_path / "build")
    (tmp_path / "build").mkdir()
    return tmp_path / "build"


def test_every_script_is_there() -> None:
    here = Path(everything.__file__).parent
    assert all((here / section.script).is_file() for section in SECTIONS)


def test_only_full_runs_write_documentation() -> None:
    for section in SECTIONS:
        for mode in (QUICK, USUAL, LONG):
            told = " ".join(section.command(mode))
            assert (str(everything.DOCS / "") in told) == bool(section.full(mode) and section.page)
            assert not (mode == QUICK and section.full(mode))


def test_failure_and_time_are_reported(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = everything.run("good", [sys.executable, "-c", "print('fine')"], 60)
    bad = everything.run("bad", [sys.executable, "-c", "raise SystemExit('broken')"], 60)
    late = everything.run("late", [sys.executable, "-c", "import time; time.sleep(60)"], 0.3)
    never = everything.run("never", [sys.executable, "-c", "pass"], -1)
    assert good.problem == ""
    assert (folder / "good.txt").read_text() == "fine\n"
    assert bad.problem == "failed with exit code 1"
    assert "broken" in capsys.readouterr().out
    assert late.problem == "stopped: the time is over"
    assert never.problem == "not run: the time is over"


def test_the_exit_code_is_that_of_the_worst(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        everything, "run", lambda name, command, seconds: Outcome(name, 1.0, "" if name == "start" else "failed")
    )
    assert everything.main(["--quick", "--only", "start"]) == 0
    assert everything.main(["--quick", "--only", "start", "plans"]) == 1
    assert "plans: failed" in capsys.readouterr().out
