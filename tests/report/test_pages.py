"""Figures and HTML: self-contained, reproducible, well formed, and safe with hostile words."""

import re
import sys
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

import quiltwork as qw
from quiltwork.errors import InvalidParameter, MissingExtra
from quiltwork.report import Account, account
from quiltwork.report.figures import COLOURS, profile_svg, save_figure, tradeoff_svg
from quiltwork.report.html import html_report
from quiltwork.spec import plan_of, read_plan


@pytest.fixture(scope="module")
def hospital() -> Account:
    return account(read_plan("examples/plans/hospital.yaml"))


@pytest.fixture(scope="module")
def page(hospital) -> str:
    return html_report(hospital)


class Outline(HTMLParser):
    """Open elements, ids and addresses of a page."""

    VOID = frozenset({"meta", "br", "hr", "img", "input", "link"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.addresses: list[str] = []
        self.tags: set[str] = set()

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        found = dict(attributes)
        self.ids += [found["id"]] if "id" in found else []
        self.addresses += [v for k, v in attributes if k in ("src", "href", "xlink:href", "action", "data")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def outline(page: str) -> Outline:
    found = Outline()
    found.feed(page)
    found.close()
    assert found.open == []
    return found


def test_the_page_is_whole(page):
    found = outline(page)
    assert len(found.ids) == len(set(found.ids))
    assert not found.tags & {"script", "link", "iframe", "img", "object"}


def test_the_page_needs_no_network(page):
    assert all(address.startswith("#") for address in outline(page).addresses)
    assert not re.search(r"url\((?!#)", page)
    assert "@import" not in page
    assert set(re.findall(r"https?://[^\s\"'<]+", page)) <= {
        "http://www.w3.org/2000/svg",
        "http://www.w3.org/1999/xlink",
    }


def test_the_page_says_what_matters(page, hospital):
    text = re.sub(r"<[^>]+>", "", page)
    assert "Hospital statistics 2026" in text
    assert "epsilon &le; 2.134" in page
    assert "all met" in text
    assert "one patient&#39;s records, added or removed" in text
    for entry in hospital.entries:
        assert entry.name in text
    for baseline in hospital.baselines:
        assert baseline.name in text
    for line in (*hospital.guarantee.assumes, *hospital.guarantee.because):
        assert line in text


def test_the_page_is_reproducible(page, hospital):
    assert html_report(hospital) == page


def test_a_missed_target_and_an_infinite_total():
    found = html_report(account(read_plan("examples/plans/too_much.yaml")))
    assert "not met" in found
    assert 'class="verdict missed"' in found
    found = html_report(account(plan_of([("a", qw.approximate(1.0, 0.1))])))
    assert "epsilon is not bounded" in found
    assert "none stated" in found
    outline(found)


def test_hostile_words_are_only_words():
    nasty = "<script>alert('x')</script> & {{ 7 * 7 }}"
    plan = plan_of([(nasty, qw.gaussian(1.0))], title=nasty, protects=nasty, assumes=[nasty])
    found = html_report(account(plan))
    assert "script" not in outline(found).tags
    assert "{{ 7 * 7 }}" in found


@pytest.mark.parametrize("draw", [tradeoff_svg, profile_svg])
def test_figures_follow_the_page(hospital, draw):
    text = draw(hospital)
    root = ElementTree.fromstring(text)
    assert root.attrib["role"] == "img"
    assert root.attrib["aria-label"]
    assert "var(--accent)" in text
    assert not any(colour in text for colour in COLOURS.values())
    assert "<text" in text
    assert draw(hospital) == text


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
    assert ElementTree.fromstring(profile_svg(found)) is not None
    assert ElementTree.fromstring(tradeoff_svg(found)) is not None


@pytest.mark.parametrize(("name", "start"), [("f.svg", b"<?xml"), ("f.png", b"\x89PNG"), ("F.PDF", b"%PDF")])
def test_saved_figures(hospital, tmp_path, name, start):
    first, second = tmp_path / name, tmp_path / f"again-{name}"
    save_figure(hospital, first)
    save_figure(hospital, second)
    assert first.read_bytes().startswith(start)
    assert first.read_bytes() == second.read_bytes()


def test_unknown_formats(hospital, tmp_path):
    with pytest.raises(InvalidParameter, match=r"\.svg or \.png or \.pdf"):
        save_figure(hospital, tmp_path / "f.gif")


@pytest.mark.parametrize("package", ["matplotlib", "jinja2"])
def test_missing_extras_say_how_to_install(hospital, monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtra, match=r"pip install 'quiltwork\[report\]'"):
        html_report(hospital)
