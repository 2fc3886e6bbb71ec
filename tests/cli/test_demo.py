"""`quiltwork demo` as a person meets it; the tour itself is tested in the report room."""

import json
import re

import pytest
from tests.cli.lines import one_line
from tests.cli.test_start import on_terminal

import quiltwork.report.tour as command
from quiltwork.cli import main
from quiltwork.report.tour import STOPS, Stop, Tour
from quiltwork.report.tour.stops import Told


@pytest.fixture
def short(monkeypatch):
    """A tour of two stops, one of which cannot be made."""

    def tour(steps):
        list(steps(2))
        told = Told("epsilon at most 1", [], {"epsilon": 1.0})
        return Tour((Stop("plan", STOPS["plan"], told), Stop("design", STOPS["design"], None, "highspy is missing")))

    monkeypatch.setattr(command, "tour", tour)


def test_it_says_where_the_report_is(short, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["demo"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert "The report is in quiltwork-demo.html; open it in a browser." in out
    assert "epsilon at most 1" in out
    assert "left out: highspy is missing" in out
    assert (tmp_path / "quiltwork-demo.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


@pytest.mark.parametrize("kind", ["html", "md", "json"])
def test_json_and_formats(short, tmp_path, capsys, kind):
    target = tmp_path / f"tour.{kind}"
    assert main(["demo", "--out", str(target), "--json"]) == 0
    out, err = capsys.readouterr()
    assert err == f"wrote {target}\n"
    assert [stop["name"] for stop in json.loads(out)["stops"]] == ["plan", "design"]
    assert target.exists()


@pytest.mark.parametrize(
    ("out", "words"), [("tour.txt", "ends in"), ("no/such/folder/tour.html", "out must be"), ("tour", "ends in")]
)
def test_bad_input_is_refused_before_the_work(monkeypatch, capsys, out, words):
    monkeypatch.setattr(command, "tour", lambda steps: pytest.fail("it went on tour"))
    assert main(["demo", "--out", out]) == 2
    assert words in one_line(capsys.readouterr().err)


@pytest.mark.slow
def test_the_whole_demo_on_a_terminal(tmp_path):
    code, shown = on_terminal("demo", "--out", "tour.html", cwd=tmp_path)
    assert code == 0
    assert re.search(r"touring .*\d/8 .*\d:\d\d:\d\d", shown)
    assert "designing" not in shown  # one bar at a time
    assert "attackers " not in shown.partition("A tour of quiltwork")[0]
    for heading in STOPS.values():
        assert heading in shown
    assert "left out" not in shown
    page = (tmp_path / "tour.html").read_text(encoding="utf-8")
    assert page.count("<svg") >= 8
    assert [path.name for path in tmp_path.iterdir()] == ["tour.html"]
