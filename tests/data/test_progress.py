"""The bar: real progress on a terminal, silence elsewhere."""

import importlib.util
import sys

from quiltwork.data.progress import steps


def test_pipes_stay_clean(capsys):
    assert list(steps(3, "counting")) == [0, 1, 2]
    assert capsys.readouterr() == ("", "")


def test_a_terminal_sees_the_label(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
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


def test_without_rich_the_work_goes_on(capsys, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert list(steps(2, "counting", shown=True)) == [0, 1]
    assert capsys.readouterr().err == ""
