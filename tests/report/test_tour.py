"""The tour: every stop against the library asked directly, and what is left out when an extra is missing."""

import math

import pytest

import quiltwork as qw
from quiltwork.curves import Bracket
from quiltwork.document.page import Report
from quiltwork.report import tour as whole
from quiltwork.report.tour import STOPS, Stop, Tour
from quiltwork.report.tour import tour as make
from quiltwork.report.tour.stops import given
from quiltwork.spec import parse_plan, parse_prior, parse_table_plan, parse_world


@pytest.fixture(scope="module")
def made() -> Tour:
    for package in ("matplotlib", "sqlalchemy", "highspy"):
        pytest.importorskip(package)
    return make()


def numbers(made, name):
    (stop,) = (stop for stop in made.stops if stop.name == name)
    assert stop.told is not None, stop.missing
    return stop.told.data


def test_every_stop_is_made(made):
    assert [stop.name for stop in made.stops] == list(STOPS)
    assert all(stop.told is not None for stop in made.stops)


def test_the_plan(made):
    data = numbers(made, "plan")
    assert Bracket.from_json(data["epsilon"]) == parse_plan(given("plan.yaml")).loss().epsilon(data["delta"])
    assert data["met"]


def test_the_region(made):
    data = numbers(made, "region")
    both = data["runs"] * qw.constraints([(0.3, 0.0), (0.15, 0.02)])
    assert Bracket.from_json(data["epsilon"]) == both.epsilon(data["delta"])
    assert float(both.epsilon(data["delta"]).upper) < data["one_at_a_time"]


def test_the_tables(made):
    data = numbers(made, "tables")
    assert Bracket.from_json(data["epsilon"]) == parse_table_plan(given("tables.yaml")).guarantee().epsilon(1e-6)
    assert data["met"]


def test_the_prior(made):
    data = numbers(made, "influence")
    file = parse_prior(given("prior.yaml"))
    from quiltwork.pufferfish.guarantee import guarantee

    leaked = guarantee(qw.pure(data["per_entry"]), file.model(), None).epsilon(0.0)
    assert 0.98 * data["target"] < float(leaked.upper) <= data["target"]
    assert data["group_privacy"] <= data["target"] / data["entries"]
    assert data["per_entry"] > 3 * data["group_privacy"]


def test_the_design(made):
    data = numbers(made, "design")
    file = parse_world(given("world.yaml"))
    assert data["lower_bound"] <= data["cost"] <= 1.001 * data["lower_bound"]
    before = file.release().epsilon(0.02)
    found = Bracket.from_json(data["before"])
    assert float(found.lower) <= float(before.upper)
    assert float(before.lower) <= float(found.upper)


def test_the_ledger(made):
    data = numbers(made, "ledger")
    assert data["spent"] == 11
    assert "patients" in data["refused"]
    assert data["holds"]
    assert 0 < data["used"] < 1


def test_the_attack_and_the_audit(made):
    weak, strong = numbers(made, "attack")["defences"]
    assert weak["auc"] > strong["auc"] > 0.5
    assert weak["certified_epsilon"] > strong["certified_epsilon"]
    data = numbers(made, "audit")
    assert not data["contradicted"]
    assert 0 < data["audited"]["counts"] < data["audited"]["gdp"] < data["certified"] < math.inf


def test_the_report_holds_all_of_it(made):
    page = made.report()
    assert [section.heading for section in page.sections] == ["In short", *STOPS.values()]
    assert len(page.pictures) >= 8
    text = page.to_html()
    assert "<script" not in text
    assert "http://" not in text.replace("http://www.w3.org", "")
    again = Report.from_json(page.to_json())
    assert again.to_html() == text


def raising(error):
    def stop():
        raise error

    return stop


def test_what_is_missing_is_said(monkeypatch):
    monkeypatch.setattr(whole.stops, "ledger", raising(ModuleNotFoundError("no", name="sqlalchemy.orm")))
    monkeypatch.setattr(whole.stops, "design", raising(qw.errors.MissingExtra("highspy", "design")))
    for name, line in (
        ("ledger", "left out: sqlalchemy is not installed: pip install 'quiltwork[ledger]'"),
        ("design", "left out: highspy is not installed: pip install 'quiltwork[design]'"),
    ):
        stop = whole._made(name)
        assert stop.told is None
        assert stop.line == line
    page = Tour((stop,)).report()
    assert "pip install" in page.to_markdown({})
    assert Tour((stop,)).to_json()["stops"][0]["numbers"] is None


def test_other_errors_are_not_hidden(monkeypatch):
    monkeypatch.setattr(whole.stops, "plan", raising(ModuleNotFoundError("no", name="antigravity_lost")))
    with pytest.raises(ModuleNotFoundError):
        whole._made("plan")


def test_steps_are_told():
    seen = []

    def steps(count):
        for index in range(count):
            seen.append((index, count))
            if index == 2:
                return
            yield index

    found = make(steps)
    assert [stop.name for stop in found.stops] == ["plan", "region"]
    assert seen == [(0, 8), (1, 8), (2, 8)]
    assert isinstance(found.stops[0], Stop)
