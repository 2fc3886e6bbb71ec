"""The bar: real progress on a terminal, silence elsewhere, drawn by whoever is asked to."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from quiltwork import progress
from quiltwork.cli import terminal
from quiltwork.cli.terminal import draw_bar as draw
from quiltwork.progress import Progress, draw_with, plain_line, reporting, steps


@pytest.fixture(autouse=True)
def _plain() -> Iterator[None]:
    before = progress._drawers[0]
    draw_with(plain_line)
    yield
    draw_with(before)


def test_pipes_stay_clean(capsys):
    assert list(steps(3, "counting")) == [0, 1, 2]
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("drawer", [plain_line, draw])
def test_a_terminal_sees_the_label(capsys, monkeypatch, drawer):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    draw_with(drawer)
    assert list(steps(3, "counting")) == [0, 1, 2]
    seen = capsys.readouterr()
    assert "counting" in seen.err
    assert seen.out == ""


def test_one_step_has_no_bar_and_no_bar_can_be_asked_for(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert list(steps(1, "counting")) == [0]
    assert list(steps(3, "counting", shown=False)) == [0, 1, 2]
    assert list(steps(0, "counting")) == []
    assert capsys.readouterr().err == ""


def test_the_line_moves_and_is_wiped(capsys):
    with reporting("counting", True) as report:
        assert report is not None
        report(1, 4)
        report(4, 4, "done")
    first, second, blank, end = capsys.readouterr().err.split("\r")[1:]
    assert "counting" in first
    assert "25%" in first
    assert second.startswith("done")
    assert "100%" in second
    assert len(first) == len(second) == len(blank)
    assert blank.strip() == end == ""


def test_the_drawer_is_told_everything():
    told = []

    @contextmanager
    def keeping(label: str) -> Iterator[Progress]:
        yield lambda done, total, words="": told.append((label, done, total, words))

    draw_with(keeping)
    assert list(steps(2, "counting", shown=True)) == [0, 1]
    assert told == [("counting", 0, 2, ""), ("counting", 1, 2, "")]


def test_a_loop_that_is_left_ends_its_bar(capsys):
    for step in steps(5, "counting", shown=True):
        if step == 2:
            break
    del step
    assert capsys.readouterr().err.endswith("\r")


def test_the_module_is_light():
    code = "import sys, quiltwork.progress; assert 'rich' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=600)


def test_long_work_says_so_on_a_terminal_and_wipes_it(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(terminal, "PATIENCE", 0.0)
    seen = ""
    with terminal.waiting("accounting"):
        while "accounting ... 0 s" not in seen:
            seen += capsys.readouterr().err
    assert capsys.readouterr().err.endswith("\r" + " " * 26 + "\r")


def test_long_work_is_silent_in_pipes(capsys, monkeypatch):
    monkeypatch.setattr(terminal, "PATIENCE", 0.0)
    with terminal.waiting("accounting"):
        pass
    assert capsys.readouterr() == ("", "")
