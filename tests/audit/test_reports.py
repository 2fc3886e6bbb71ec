"""Reports: when a guarantee is contradicted, in words, as JSON, as a picture and as a page."""

import json
import math
import re
from html.parser import HTMLParser

import attrs
import numpy as np
import pytest

import quiltwork as qw
from quiltwork import audit
from quiltwork.audit import AuditReport, Counts
from quiltwork.audit.bounds.counts import MAX_STEPS_DRAWN, steps
from quiltwork.audit.page import REFUTED, audit_report_page, hull
from quiltwork.curves import Guarantee
from quiltwork.errors import InvalidParameter, MissingExtra
from quiltwork.numbers.digits import single

RNG = np.random.default_rng(7)
INSIDE, OUTSIDE = RNG.normal(1, 1, 4000), RNG.normal(0, 1, 4000)
STRONG = audit.counted(Counts(900, 1000, 10, 1000), 1e-5)  # epsilon is at least 3.8719


def held(curve, found=STRONG, **more):
    return AuditReport.of(curve, found, **more)


# ---- the verdict


def test_a_claim_at_another_delta_is_contradicted_by_the_corner():
    """(1, 1e-3) says nothing about delta 1e-5, but it limits every attacker."""
    report = held(qw.approximate(1.0, 1e-3))
    assert math.isinf(report.certified)
    assert report.contradicted
    assert len(report.grounds) == 1


def test_above_the_certified_epsilon_is_a_contradiction():
    low = STRONG.epsilon_lower
    assert held(qw.pure(low - 1e-6)).contradicted
    assert not held(qw.pure(low + 1e-3)).contradicted
    assert held(qw.approximate(low - 1e-3, 1e-6)).contradicted
    assert held(qw.approximate(low - 1e-3, 1e-6)).grounds[-1].startswith("At delta = 1e-05 the guarantee says")


def test_the_rows_that_contradict_are_marked():
    """At the asked delta all may be well, and at another not: that row says so."""
    report = held(qw.compose(qw.gaussian(0.65)))
    rows = deltas_of(report)
    marked = {row[0].text for row in rows if row[1].note == REFUTED}
    assert marked == {single(one.delta) for one in report.rows if one.audited[0] > one.certified}
    assert 0 < len(marked) < len(rows)
    assert not any(row[1].note for row in deltas_of(held(qw.pure(9.0))))


def test_what_needs_the_gaussian_assumption_marks_no_row():
    found = audit.counted(STRONG.counts, 1e-5, method="gdp")
    report = held(qw.pure(0.5 * (STRONG.epsilon_lower + found.epsilon_lower)), found)
    assert report.caveats
    assert not any(row[1].note for row in deltas_of(report))


def deltas_of(report):
    """The rows of the table of epsilons at several deltas."""
    numbers = next(one for one in audit_report_page(report, "words").sections if one.heading == "The numbers")
    return numbers.blocks[-1].rows


def test_a_corner_below_the_curve_is_a_contradiction():
    """A curve can be refuted where its epsilon at the asked delta is not: mu-GDP needs no other assumption."""
    mu = audit.counted(STRONG.counts, 1e-5, method="gdp").mu_lower
    just, not_yet = qw.gdp(mu * (1 - 1e-6)), qw.gdp(mu * (1 + 1e-6))
    assert STRONG.epsilon_lower < just.epsilon(1e-5).lower
    assert held(just).contradicted
    assert "false alarms misses at most" in held(just).grounds[0]
    assert not held(not_yet).contradicted


def test_an_epsilon_that_needs_the_gaussian_assumption_says_so():
    found = audit.counted(STRONG.counts, 1e-5, method="gdp")
    middle = 0.5 * (STRONG.epsilon_lower + found.epsilon_lower)
    report = held(qw.pure(middle), found)
    assert not report.contradicted
    assert "only if the worst case is Gaussian" in report.caveats[0]
    assert report.caveats[0] in report.explain()
    assert not held(qw.pure(middle)).contradicted


def test_no_guarantee_no_verdict():
    report = audit.report(None, INSIDE, OUTSIDE)
    assert not report.contradicted
    assert report.certified is None
    assert report.to_json()["contradicted"] is None
    assert "No guarantee" in report.verdict()
    assert {row.certified for row in report.rows} == {None}


def test_rows_hold_at_once():
    report = held(qw.gdp(4.0))
    assert [row.delta for row in report.rows] == sorted({1e-8, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1})
    for row in report.rows:
        assert row.audited == (STRONG.at(row.delta).epsilon_lower,)
        assert row.certified == pytest.approx(float(qw.gdp(4.0).epsilon(row.delta).upper), rel=1e-6)
    assert report.certified == next(row.certified for row in report.rows if row.delta == 1e-5)


def test_two_bounds_share_the_allowed_error():
    report = audit.report(qw.gdp(1.0), INSIDE, OUTSIDE, method="both", confidence=0.9)
    assert [found.method for found in report.audits] == ["counts", "gdp"]
    assert [found.confidence for found in report.audits] == pytest.approx([0.95, 0.95])
    assert report.confidence == 0.9
    assert "By method gdp:" in report.explain()


def test_guesses_answer_at_one_delta():
    report = audit.report(qw.pure(0.5), INSIDE, OUTSIDE, method="guesses")
    assert [row.delta for row in report.rows] == [1e-5]
    assert report.contradicted
    assert report.grounds[0].startswith("At delta")


def test_words():
    guarantee = Guarantee(qw.gdp(5.0), "one person, added or removed")
    report = held(guarantee)
    assert "protected: one person, added or removed" in report.explain()
    assert "no proof that the guarantee holds" in report.explain()
    assert "lies between 3.87 (audited)" in report.explain()
    broken = held(qw.pure(1.0), claim="epsilon 1, as the vendor says").explain()
    assert "Guarantee: epsilon 1, as the vendor says." in broken
    assert "at most 5%" in broken
    for suspect in ("implementation", "notion of neighbour", "analysis of the mechanism"):
        assert suspect in broken
    nothing = held(qw.approximate(4.5, 1e-3)).explain()
    assert "names no finite epsilon" in nothing
    assert nothing.startswith("Guarantee: no finite epsilon at delta = 1e-05.")


def test_a_wrong_sign_is_noticed():
    found = audit.run(OUTSIDE, INSIDE, 1e-5)
    assert found.epsilon_lower == 0.0 or found.epsilon_lower < 0.5
    assert any("sign" in note for note in found.notes)
    assert not audit.run(INSIDE, OUTSIDE, 1e-5).notes
    assert not audit.run(INSIDE, INSIDE, 1e-5).notes


def test_json_is_plain():
    for curve in (qw.gdp(1.0), qw.approximate(0.5, 1e-3), None):
        data = json.loads(json.dumps(held(curve).to_json(), allow_nan=False))
        assert data["schema"] == "quiltwork/audit_report/1"
        assert data["audits"][0]["schema"] == "quiltwork/audit/1"
        assert data["audits"][0]["epsilon_lower"] == STRONG.epsilon_lower
        assert data["audits"][0]["counts"]["true_positives"] == 900
        assert data["audits"][0]["explanation"] == STRONG.explain().splitlines()


def test_html_of_values_is_escaped():
    assert "false alarms" in STRONG._repr_html_()
    assert held(qw.pure(1), claim="<b>")._repr_html_().count("<b>") == 0


def test_results_are_frozen():
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        STRONG.epsilon_lower = 0.0


@pytest.mark.parametrize("curve", [1.0, "gdp", object()])
def test_bad_curves(curve):
    with pytest.raises(InvalidParameter, match="curve"):
        held(curve)


def test_bad_reports():
    with pytest.raises(InvalidParameter, match="audits"):
        AuditReport.of(None)
    with pytest.raises(InvalidParameter, match="audits"):
        AuditReport.of(None, 1.0)
    with pytest.raises(InvalidParameter, match="method"):
        audit.report(None, INSIDE, OUTSIDE, method="one run")
    with pytest.raises(InvalidParameter, match="confidence"):
        audit.report(None, INSIDE, OUTSIDE, confidence=1.0)


def test_a_threshold_for_the_claim_finds_what_a_large_epsilon_does_not():
    """A quarter of the noise is missing: the outermost threshold, best for epsilon, does not show it."""
    wrong = qw.gaussian(1.35)
    by = {method: audit.report(wrong, INSIDE, OUTSIDE, method=method) for method in ("counts", "claim")}
    assert not by["counts"].contradicted
    assert by["claim"].contradicted
    assert by["claim"].audit.method == "counts"
    assert by["claim"].audit.threshold != by["counts"].audit.threshold
    with pytest.raises(InvalidParameter, match="guarantee"):
        audit.report(None, INSIDE, OUTSIDE, method="claim")
    with pytest.raises(InvalidParameter, match="guesses"):
        audit.report(wrong, INSIDE, OUTSIDE, method="claim", guesses=5)


# ---- pictures


def test_steps_are_the_errors():
    found = steps(INSIDE, OUTSIDE)
    assert found.false_alarms.size <= MAX_STEPS_DRAWN + 1
    assert (found.false_alarms[0], found.misses[0]) == (0.0, 1.0)
    assert (found.false_alarms[-1], found.misses[-1]) == (1.0, 0.0)
    assert (np.diff(found.false_alarms) >= 0).all()
    assert (np.diff(found.misses) <= 0).all()
    threshold = np.sort(np.concatenate([INSIDE, OUTSIDE]))[::-1][0]
    assert found.false_alarms[1] == np.mean(threshold <= OUTSIDE)
    assert found.misses[1] == np.mean(threshold > INSIDE)


def test_the_hull_lies_above_both_corners_only():
    across, along = hull(STRONG.limits)
    corner = STRONG.limits
    assert np.interp(corner.fpr, across, along) == corner.fnr
    assert np.interp(corner.fnr, across, along) == corner.fpr
    assert hull(Counts(5, 10, 5, 10).limits(0.95))[0].tolist() == [0.0, 1.0]


def test_the_same_report_gives_the_same_bytes(tmp_path):
    one, two = (audit.report(qw.gdp(1.0), INSIDE, OUTSIDE, method="both", title="One $dollar$ & more") for _ in "ab")
    one.figure(tmp_path / "a.svg")
    two.figure(tmp_path / "b.svg")
    text = (tmp_path / "a.svg").read_text()
    assert text == (tmp_path / "b.svg").read_text()
    assert "guaranteed" in text
    assert "audited" in text
    assert "$dollar$" in text
    for kind, start in (("png", b"\x89PNG"), ("pdf", b"%PDF")):
        one.figure(tmp_path / f"a.{kind}")
        assert (tmp_path / f"a.{kind}").read_bytes().startswith(start)


def test_a_figure_to_work_on():
    figure = audit.report(qw.approximate(1.0, 0.0), INSIDE, OUTSIDE, 0.0).figure()
    errors, epsilons = figure.axes
    assert errors.get_xlabel() == "false alarms (type I error)"
    assert epsilons.get_ylabel() == "delta"
    assert len(held(None).figure().axes) == 2
    assert len(held(qw.pure(1), audit.one_run(np.arange(99.0), np.arange(99) % 2, 1e-5)).figure().axes) == 2


def test_bad_file_names(tmp_path):
    with pytest.raises(InvalidParameter, match="ends in"):
        held(None).figure(tmp_path / "a.gif")


def test_without_matplotlib(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    with pytest.raises(MissingExtra, match="report"):
        held(None).figure()


class Tags(HTMLParser):
    """Open tags, and whether every one is closed."""

    VOID = ("meta", "br", "link", "path", "use", "rect", "circle")

    def __init__(self):
        super().__init__()
        self.open, self.seen = [], []

    def handle_starttag(self, tag, attributes):
        self.seen.append(tag)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            assert self.open.pop() == tag


def test_the_page_stands_alone():
    report = audit.report(qw.gdp(0.5), INSIDE, OUTSIDE, method="both", title="A <b> & c", claim="mu 0.5 <claimed>")
    text = report.to_html()
    assert text == report.to_html()
    tags = Tags()
    tags.feed(text)
    assert tags.open == []
    assert tags.seen.count("svg") == 2
    assert "script" not in tags.seen
    assert "link" not in tags.seen
    assert "img" not in tags.seen
    assert not re.search(r'(src|href)="(?!#)', text)
    assert "A &lt;b&gt; &amp; c" in text
    assert "mu 0.5 &lt;claimed&gt;" in text
    assert "contradicted" in text
    assert text.count("<li>every score comes from a run of its own") == 1
    ids = re.findall(r'\bid="([^"]+)"', text)
    assert len(ids) == len(set(ids))
    assert "var(--accent)" in text


def test_pages_of_every_kind():
    one_run = audit.one_run(np.arange(99.0), np.arange(99) % 2, 1e-5)
    for report in (held(None), held(qw.approximate(1.0, 1e-3), one_run)):
        assert "</html>" in report.to_html()
        assert math.isfinite(report.confidence)
