"""Every curve of the package draws itself on given axes, and every value shows itself in a notebook."""

from __future__ import annotations

import json
import re
import sys
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest
from tests.curves.every import MAKERS, MARKER, PROFILE, READOUT, RELEASE, chain, curve_classes
from tests.examples import some
from tests.needs import Later, needs

import quiltwork as qw
from quiltwork import audit, game
from quiltwork import confounding as cf
from quiltwork import pufferfish as pf
from quiltwork.curves import Guarantee, Profile
from quiltwork.curves.views import Views
from quiltwork.errors import InvalidParameter, MissingExtra, Unsupported
from quiltwork.release.released import Released
from quiltwork.report.answers.account import account
from quiltwork.spec import parse_plan

pytestmark = needs("matplotlib")
matplotlib, figures = Later("matplotlib"), Later("matplotlib.figure")

HOSTILE = '<script>alert("1")</script>&'


@pytest.fixture(scope="module", autouse=True)
def _no_screen():
    matplotlib.use("Agg")


def test_every_curve_of_the_package_is_tried_below():
    found = curve_classes()
    assert set(found) == set(MAKERS)
    assert all(issubclass(one, Views) for one in found.values())


class Balanced(HTMLParser):
    """Tags that open and close in order, and what they say of themselves."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.problems: list[str] = []

    def handle_starttag(self, tag, attrs):
        if tag != "br":
            self.open.append(tag)
        if tag in ("script", "style", "link", "iframe", "img", "html", "body"):
            self.problems.append(tag)
        for name, value in attrs:
            if name in ("id", "class", "src", "href") or name.startswith("on"):
                self.problems.append(f"{tag} {name}")
            fixed = re.findall(r"(?:background|color)\s*:\s*([^;]+)", value or "")
            self.problems += [f"{name}: {colour}" for colour in fixed if colour not in ("none", "currentColor")]

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag):
        if tag != "br" and (not self.open or self.open.pop() != tag):
            self.problems.append(f"</{tag}>")


def check_html(text: str) -> None:
    """Self-contained, balanced, without names that could clash or colours that need a light page."""
    page = Balanced()
    page.feed(text)
    page.close()
    assert not page.open
    assert not page.problems
    assert "<script" not in text
    assert "NaN" not in text
    for picture in re.findall(r"<svg.*?</svg>", text, re.DOTALL):
        assert "nan" not in picture
        assert ElementTree.fromstring(picture).get("role") == "img"


@pytest.fixture(scope="module", params=sorted(MAKERS))
def curve(request):
    made = MAKERS[request.param]()
    assert type(made).__name__ == request.param
    return made


@pytest.mark.parametrize("kind", some([None, "profile", "tradeoff"], 2))
def test_axes_in_axes_out(curve, kind):
    """Nothing but the given axes is touched: no figure of pyplot, no style."""
    from matplotlib import pyplot

    before, styled = pyplot.get_fignums(), dict(matplotlib.rcParams)
    ax = figures.Figure().subplots()
    assert curve.plot(ax, label="total", **({} if kind is None else {"kind": kind})) is ax
    ax.figure.canvas.draw()
    assert ax.get_legend().get_texts()[0].get_text() == "total"
    assert ax.lines
    assert pyplot.get_fignums() == before
    assert dict(matplotlib.rcParams) == styled


def test_curves_show_themselves(curve):
    shown = curve._repr_html_()
    check_html(shown)
    assert "<svg" in shown
    assert "1e-06" in shown
    assert "object at 0x" not in shown


def test_new_axes_and_regions():
    from matplotlib import pyplot

    ax = PROFILE.plot()
    assert ax.figure.number in pyplot.get_fignums()
    pyplot.close(ax.figure)
    for one in (PROFILE, PROFILE.region(), qw.pure(1.0), PROFILE.tradeoff()):
        ax = figures.Figure().subplots()
        assert one.plot(ax, kind="region") is ax
        assert ax.patches
    with pytest.raises(InvalidParameter, match="kind"):
        PROFILE.plot(figures.Figure().subplots(), kind="pie")
    with pytest.raises(Unsupported, match="straight pieces"):
        RELEASE.plot(figures.Figure().subplots(), kind="region")


def test_without_matplotlib_the_page_stays_and_plot_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtra, match=r"quiltwork\[report\]"):
        qw.gaussian(1.0).plot()
    assert "<svg" in qw.gaussian(1.0).guarantee()._repr_html_()


# ---- values that are no curves


def board():
    people = game.populations.independent(candidates=6, reference=10, attributes=10, seed=1)
    attackers = [game.FixedThreshold(), game.LinearGaussian()]
    return game.ladder(attackers, game.Gaussian(0.1), people, validation=20, test=30, shown=False)


def report(curve=None):
    found = audit.counted(audit.Counts(900, 1000, 10, 1000), 1e-5)
    return audit.AuditReport.of(curve, found, title=HOSTILE, claim=HOSTILE)


def ledger_values(tmp_path):
    ledger = qw.Ledger(f"sqlite:///{tmp_path}/budgets.db")
    ledger.open(HOSTILE, epsilon=2.0, delta=1e-6, protects=HOSTILE)
    receipt = ledger.spend(HOSTILE, qw.gaussian(40.0), note=HOSTILE)
    balance = ledger.balance(HOSTILE)
    return [balance, balance.budget, receipt, ledger.verify()]


def plan_account():
    plan = {
        "quiltwork": 1,
        "title": HOSTILE,
        "protects": HOSTILE,
        "releases": [{"name": HOSTILE, "gaussian": {"sigma": 4.0}, "count": 3}],
    }
    plan["targets"] = [{"epsilon": 3.0, "delta": 1e-6}]
    return account(parse_plan(json.dumps(plan)))


def released_values(_):
    """Hostile names, a missing group, and nothing at all."""
    row = {"query": HOSTILE, "region": HOSTILE, "value": 12, "lower": 3.5, "upper": 20.5}
    about = {
        "statistics": (),
        "guarantee": qw.gaussian(9.0).guarantee(HOSTILE),
        "confidence": 0.95,
        "words": (HOSTILE,),
    }
    return [Released(tuple(rows), plan_hash="", **about) for rows in ([row, {**row, "region": None}], [])]


VALUES = {
    "account": lambda _: [plan_account()],
    "audit": lambda _: [report(), report(qw.gdp(1.0)), report().audit],
    "bracket": lambda _: [qw.gaussian(1.0).epsilon(1e-6), qw.gaussian(1.0).epsilon([1e-6, 1e-9])],
    "design": lambda _: [MARKER.design(RELEASE, odds=2, delta="1/20", cost="absolute")],
    "guarantee": lambda _: [Guarantee(PROFILE, HOSTILE, HOSTILE, HOSTILE, HOSTILE)],
    "influence": lambda _: [chain().influence(20), pf.InfluenceCurve([1], [[float("inf")]], method=HOSTILE)],
    "leaderboard": lambda _: [board()],
    "ledger": ledger_values,
    "release": released_values,
    "nothing": lambda _: [qw.compose(), qw.gaussian(1.0).direction("add"), Profile([0.0], [1.0])],
}


@pytest.mark.parametrize("kind", sorted(VALUES))
def test_values_show_themselves(kind, tmp_path):
    for value in VALUES[kind](tmp_path):
        check_html(value._repr_html_())


def test_a_guarantee_says_everything():
    shown = qw.gaussian(2.0).guarantee("one person", ["records are independent"], "row 7")._repr_html_()
    for text in ("one person", "records are independent", "row 7", "It follows from", "<svg", "at most", "1e-12"):
        assert text in shown
    approximate = Guarantee(RELEASE.ignoring_confounder(), "the secret")._repr_html_()
    assert "not certified" in approximate
    assert "at most" not in approximate


def test_long_tables_are_cut():
    region = qw.gaussian(1.0).region()
    assert len(region.epsilons) > 20
    shown = region._repr_html_()
    assert f"... and {len(region.epsilons) - 12:,} more rows" in shown
    assert shown.count("<tr>") < 40


def test_a_readout_without_a_curve_says_why():
    world = cf.World.gaussian([[0, 0], [1, 1]], [[1, 0], [0, 1]])
    unknown = cf.Readout(world, READOUT.readings, None, "there is no closed form")
    shown = unknown._repr_html_()
    check_html(shown)
    assert "no closed form" in shown


@pytest.mark.parametrize("made", [board, lambda: report(qw.gdp(1.0))])
def test_boards_and_audits_draw_on_axes_or_to_a_file(made, tmp_path):
    value = made()
    for kind in ("all", "rare") if isinstance(value, game.Leaderboard) else ("errors", "epsilons"):
        ax = figures.Figure().subplots()
        assert value.plot(ax, kind=kind) is ax
        assert ax.lines
        assert ax.get_legend() is not None
    both = figures.Figure().subplots(1, 2)
    assert value.plot(both) is both
    assert all(ax.lines for ax in both)
    value.plot(tmp_path / "one.svg")
    value.plot(path=str(tmp_path / "two.svg"))
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()
    assert len(value.plot().axes) == 2
    with pytest.raises(InvalidParameter, match="kind"):
        value.plot(figures.Figure().subplots(), kind="pie")
    with pytest.raises(InvalidParameter, match="axes"):
        value.plot(figures.Figure().subplots(1, 3))


def test_influence_curves_draw_on_axes():
    ax = figures.Figure().subplots()
    assert chain().influence(4).plot(ax) is ax
    assert ax.lines[0].get_xdata().tolist() == [1, 2, 3, 4]
