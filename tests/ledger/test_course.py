"""The course of a budget: replayed entries, the balance after them, the picture, and the report."""

import json
from datetime import UTC, datetime, timedelta
from xml.etree import ElementTree

import pytest
from tests.report.outline import check_page, tables_of, text_of

import quiltwork as qw
from quiltwork.document.page import Report
from quiltwork.ledger.book.terms import Blocks
from quiltwork.ledger.course import POINTS, Following, drawn, followed
from quiltwork.report.pages.budget import budget_report, forecasts

NASTY = "a <script>x</script> | $x$ `b`"


@pytest.fixture
def clock():
    """A time that a test sets."""
    return [datetime(2026, 1, 5, 9, tzinfo=UTC)]


@pytest.fixture
def ledger(tmp_path, clock):
    with qw.Ledger(f"sqlite:///{tmp_path}/a.db", clock=lambda: clock[0]) as book:
        yield book


def spend(ledger, clock, name, times, loss=None):
    for index in range(times):
        clock[0] += timedelta(days=1)
        ledger.spend(name, qw.gaussian(60.0) if loss is None else loss, note=f"day {index} {NASTY}")


def test_every_entry_is_a_step(ledger, clock):
    ledger.open(NASTY, epsilon=2.0, delta=1e-6, protects=NASTY)
    spend(ledger, clock, NASTY, 12)
    ledger.pause(NASTY)
    course = followed(ledger, NASTY)
    assert len(course.times) == 14
    assert course.times == sorted(course.times)
    assert course.spent == sorted(course.spent)
    assert course.spent[0] == 0.0
    assert course.spent[-1] == float(ledger.balance(NASTY).spent.upper)
    assert [word for _, word in course.changes] == ["paused"]
    data = json.loads(json.dumps(course.to_json(), allow_nan=False))
    assert data["spent"] == course.spent
    assert len(data["times"]) == 14


def test_a_long_history_is_thinned_but_ends_at_its_end(ledger, clock, monkeypatch):
    monkeypatch.setitem(POINTS, "adaptive", 5)
    ledger.open("b", epsilon=2.0, delta=1e-6, protects="one")
    spend(ledger, clock, "b", 23)
    course = followed(ledger, "b")
    assert len(course.times) <= 7
    assert course.spent[-1] == float(ledger.balance("b").spent.upper)


def test_a_fresh_period_begins_with_nothing(ledger, clock):
    ledger.open("b", epsilon=2.0, delta=1e-6, protects="one", refresh=timedelta(days=5))
    spend(ledger, clock, "b", 7)
    course = followed(ledger, "b")
    assert course.spent.count(0.0) == 2
    assert course.spent[-1] < max(course.spent)


def test_the_picture(ledger, clock):
    ledger.open(NASTY, epsilon=2.0, delta=1e-6, protects="one")
    spend(ledger, clock, NASTY, 3)
    course = followed(ledger, NASTY)
    picture = drawn(course, "svg")
    assert drawn(course, "svg") == picture
    root = ElementTree.fromstring(picture.decode())
    assert NASTY in "".join(root.itertext())
    assert drawn(course, "png").startswith(b"\x89PNG")


def test_the_report_of_an_adaptive_budget(ledger, clock):
    ledger.open(NASTY, epsilon=2.0, delta=1e-6, protects=NASTY)
    spend(ledger, clock, NASTY, 3)
    spend(ledger, clock, NASTY, 2, qw.laplace(50.0))
    report = budget_report(ledger, NASTY)
    check_page(report.to_html())
    tables_of(report.to_markdown())
    assert Report.from_json(json.loads(json.dumps(report.to_json(), allow_nan=False))) == report
    balance = ledger.balance(NASTY)
    text = text_of(report.to_html())
    for part in (*balance.amounts[0].texts(), balance.percent, balance.read):
        assert part in text
    assert "Laplace noise, scale 50" in text
    assert budget_report(ledger, NASTY).to_html() == report.to_html()


def test_forecasts_are_those_of_the_ledger(ledger, clock):
    ledger.open("b", epsilon=2.0, delta=1e-6, protects="one")
    spend(ledger, clock, "b", 3)
    spend(ledger, clock, "b", 2, qw.laplace(50.0))
    found = forecasts(ledger, ledger.balance("b"), list(ledger.history("b")))
    assert [count for _, count, _ in found] == [
        ledger.forecast("b", qw.laplace(50.0)).count,
        ledger.forecast("b", qw.gaussian(60.0)).count,
    ]


def test_the_report_of_a_planned_budget(ledger, clock):
    ledger.open("p", epsilon=1.0, delta=1e-6, protects="one", kind="planned", plan=[("stay", qw.gaussian(40.0), 52)])
    ledger.spend("p", release="stay", times=4)
    ledger.close("p")
    report = budget_report(ledger, "p")
    check_page(report.to_html())
    text = text_of(report.to_html())
    assert "closed" in text
    assert "stay" in text
    assert report.data["forecasts"] == []


def test_blocks(ledger, clock):
    ledger.open("b", epsilon=2.0, delta=1e-6, protects="one", blocks=Blocks("day", ["mon", "tue"]))
    ledger.spend("b", qw.gaussian(60.0), blocks=["mon"])
    report = budget_report(ledger, "b")
    assert "in mon" in text_of(report.to_html())


def test_a_budget_without_a_spend(ledger):
    ledger.open("b", epsilon=2.0, delta=1e-6, protects="one")
    check_page(budget_report(ledger, "b").to_html())


def test_an_unknown_budget(ledger):
    with pytest.raises(qw.QuiltworkError, match="'x'"):
        budget_report(ledger, "x")


def test_a_course_is_continued_where_it_ended(ledger, clock):
    """What is read again and again is read once, and says the same; also after a clock that was ahead, and a break."""
    ledger.open("a", epsilon=2.0, delta=1e-6, protects="x", refresh=timedelta(days=30))
    going = Following(ledger.budget("a"))
    for _ in range(3):
        spend(ledger, clock, "a", 5)
        assert going.gone_on(ledger) == followed(ledger, "a")
    begun, clock[0] = clock[0], clock[0] + timedelta(days=400)
    ledger.spend("a", qw.gaussian(60.0))
    clock[0] = begun
    ledger.accept_clock("it was a year ahead")
    spend(ledger, clock, "a", 2)
    course = going.gone_on(ledger)
    assert course == followed(ledger, "a")
    assert course.last.spent == ledger.balance("a").spent
    assert course.times == sorted(course.times) or clock[0] < max(course.times)


def test_many_points_are_thinned(ledger, clock):
    ledger.open("p", epsilon=1000.0, protects="x")
    going = Following(ledger.budget("p"))
    for _ in range(9):
        ledger.spend_many([("p", qw.pure(0.25))] * 100)
        course = going.gone_on(ledger)
    assert POINTS["adaptive"] / 2 < len(course.times) <= 2 * POINTS["adaptive"] + 2
    assert (course.spent[0], course.spent[-1]) == (0.0, 225.0)
    assert course.spent == sorted(course.spent)
