"""The report of a plan: self-contained, reproducible, well formed, and safe with hostile words."""

import sys
from xml.etree import ElementTree

import pytest
from tests.report.outline import check_page, tables_of, text_of

import quiltwork as qw
from quiltwork.document.draw.style import COLOURS
from quiltwork.document.draw.svg import figure, pictured
from quiltwork.document.page import Report
from quiltwork.errors import MissingExtra
from quiltwork.report import Account, account
from quiltwork.report.pages.account import account_report
from quiltwork.spec import parse_plan, plan_of, read_plan


@pytest.fixture(scope="module")
def hospital() -> Account:
    return account(read_plan("examples/plans/hospital.yaml"))


@pytest.fixture(scope="module")
def report(hospital) -> Report:
    return account_report(hospital)


@pytest.fixture(scope="module")
def page(report) -> str:
    return report.to_html()


def test_the_page_is_whole_and_needs_no_network(page):
    found = check_page(page)
    assert found.tags.count("svg") == 2


def test_the_page_says_what_matters(page, hospital):
    text = text_of(page)
    assert "Hospital statistics 2026" in text
    assert "epsilon \N{LESS-THAN OR EQUAL TO} 2.14" in text
    assert "all met" in text
    assert "one patient's records, added or removed" in text
    for entry in hospital.entries:
        assert entry.name in text
    for baseline in hospital.baselines:
        assert baseline.name in text
    for line in (*hospital.guarantee.assumes, *hospital.guarantee.because):
        assert " ".join(line.split()) in text


def test_markdown_says_the_same(report, hospital):
    text = report.to_markdown()
    tables = tables_of(text)
    assert [len(table) - 2 for table in tables] == [2, 6, 5, len(hospital.entries) + 1, len(hospital.baselines) + 1]
    assert "certified privacy loss: **epsilon \N{LESS-THAN OR EQUAL TO} 2.14**" in text.lower()


def test_the_page_is_reproducible(page, hospital):
    assert account_report(hospital).to_html() == page


def test_the_report_carries_the_numbers(report, hospital):
    assert report.data["kind"] == "plan"
    assert report.data["account"] == hospital.to_json()
    assert report.met


def test_a_missed_target_and_an_infinite_total():
    found = account_report(account(read_plan("examples/plans/too_much.yaml")))
    assert not found.met
    assert '<strong class="bad">not met</strong>' in found.to_html()
    assert '<td data-label="Verdict" class="bad">missed</td>' in found.to_html()
    found = account_report(account(plan_of([("a", qw.approximate(1.0, 0.1))])))
    assert "epsilon is not bounded" in found.to_html()
    assert "none stated" in found.to_html()
    check_page(found.to_html())


BUDGETED = """
quiltwork: 1
budgets: [{name: small, epsilon: 0.1, delta: 1.0e-6}, {name: large, epsilon: 9, delta: 1.0e-6}]
releases: [{name: a, gaussian: {sigma: 20}, count: 10}]
"""


def test_budgets_that_the_plan_names():
    found = account(parse_plan(BUDGETED))
    assert [answer.fits for answer in found.budgets] == [False, True]
    assert not found.met
    report = account_report(found)
    text = text_of(report.to_html())
    assert "exceeded" in text
    assert "does not fit" in text
    assert found.to_json()["budgets"][0]["fits"] is False


def test_hostile_words_are_only_words():
    nasty = "<script>alert('x')</script> & {{ 7 * 7 }} | `x` [a](b)"
    plan = plan_of([(nasty, qw.gaussian(1.0))], title=nasty, protects=nasty, assumes=[nasty])
    found = account_report(account(plan))
    check_page(found.to_html())
    assert "{{ 7 * 7 }}" in found.to_html()
    tables_of(found.to_markdown())


@pytest.mark.parametrize("name", ["tradeoff", "profile"])
def test_figures_follow_the_page(report, name):
    text = report.pictures[name].svg
    root = ElementTree.fromstring(text)
    assert root.attrib["role"] == "img"
    assert root.attrib["aria-label"]
    assert "var(--accent)" in text
    assert not any(colour in text for colour in COLOURS.values())
    assert "<text" in text
    pictured.cache_clear()
    assert report.pictures[name].svg == text


@pytest.mark.parametrize(
    ("loss", "delta"),
    [
        (qw.pure(0.5), 0.0),
        (qw.gaussian(1.0), 0.0),
        (qw.gaussian(1.0), 1.0),
        (qw.approximate(1.0, 1.0), 1e-6),
        (50 * qw.laplace(0.5), 1e-6),
        (qw.zcdp(0.5), 1e-9),
        (qw.pair([0.5, 0.5, 0.0], [0.5, 0.25, 0.25]), 1e-6),
    ],
)
def test_figures_of_extreme_plans(loss, delta):
    found = account(plan_of([("a", loss)], targets=[{"epsilon": 1.0, "delta": delta}]))
    pictures = account_report(found).pictures
    assert [ElementTree.fromstring(pictures[name].svg) is not None for name in ("tradeoff", "profile")] == [True, True]


@pytest.mark.parametrize(("kind", "start"), [("svg", b"<?xml"), ("png", b"\x89PNG"), ("pdf", b"%PDF")])
def test_figures_as_files(report, kind, start):
    charts = list(report.drawings.values())
    first, second = (figure(charts, kind, "account") for _ in range(2))
    assert first.startswith(start)
    assert first == second


def test_a_missing_extra_says_how_to_install_it(report, monkeypatch):
    pictured.cache_clear()
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtra, match=r"pip install 'quiltwork\[report\]'"):
        report.to_html()
