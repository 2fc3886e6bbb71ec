"""The pure parts of the benchmark of peers: judging, summing up, growth, rendering; one tiny question to each peer."""

from __future__ import annotations

import dataclasses
import inspect
import math
import time
from typing import Any

import numpy as np
import pytest
from benchmarks.beside import measured, ours, pages, questions, scaling, summary, worlds
from benchmarks.beside.asks import PEERS, Ask, Peer
from benchmarks.beside.limits import TooSlow, limited
from benchmarks.beside.measured import Pace, Row
from benchmarks.beside.parts import APPROXIMATE, GAUSSIAN, LAPLACE, RESPONSE, Part
from benchmarks.beside.questions import Question
from benchmarks.beside.scaling import Point
from benchmarks.exact_sums import gaussian_delta
from benchmarks.timing import Timing
from benchmarks.verdicts import BOTH, NO, UPPER, UPPER_IDEAL

import quiltwork as qw

ONCE = Pace(1, 0.01, 20.0, False)


def question(truth: float = 2.0) -> Question:
    return Question("Q", "a question", (Part(GAUSSIAN, 1.0),), 1e-5, truth=truth)


def judged(value: object, claim: str = UPPER, refusal: str = "") -> Row:
    return measured.judged(question(), "peer", Ask("way", claim, lambda: value), Timing(0.02, value, 3, refusal), 0.01)


@pytest.mark.parametrize(
    ("value", "fails"),
    [
        (2.0, ""),
        (2.1, ""),
        (2.0 * (1 - 1e-14), ""),
        (2.0 * (1 - 1e-11), "below truth by rounding"),
        (1.9, "below truth"),
        (math.inf, "inf"),
        (math.nan, "nan"),
        ((1.9, 2.1), ""),
        ((2.05, 2.1), "truth below the interval"),
        ((1.8, 1.9), "below truth"),
    ],
)
def test_a_peer_is_judged(value: object, fails: str) -> None:
    row = judged(value)
    assert row.fails == fails
    assert row.sound == (not fails)
    assert row.ratio == 2.0


def test_refusals_keep_their_words_and_a_stopped_call_has_no_ratio() -> None:
    assert judged(None, refusal="ValueError: no").fails == "refuses: ValueError: no"
    stopped = judged(None, refusal="more than 3 s")
    assert stopped.fails == "more than 3 s"
    assert math.isnan(stopped.ratio)


def test_a_bracket_of_ours_that_misses_is_said_so() -> None:
    bracket = qw.Bracket(1.0, 1.5, "epsilon")
    assert "misses" in measured.own(question(), Timing(0.01, bracket, 1)).fails
    assert measured.own(question(1.2), Timing(0.01, bracket, 1)).fails == ""


@pytest.mark.parametrize("truth", [1.2, 1e5])
def test_a_bracket_of_ours_without_an_upper_end_is_no_answer(truth: float) -> None:
    row = measured.own(question(truth), Timing(0.01, qw.Bracket(1.0, math.inf, "epsilon"), 1))
    assert row.fails == "inf"
    assert not row.sound


def test_a_bracket_of_ours_that_says_nothing_misses_its_promise() -> None:
    asked = dataclasses.replace(question(1.2), widest=1e-3)
    empty = measured.own(asked, Timing(0.01, qw.Bracket(0.0, 1e9, "epsilon"), 1))
    narrow = measured.own(asked, Timing(0.01, qw.Bracket(1.2, 1.2001, "epsilon"), 1))
    assert (empty.wide, narrow.wide) == (True, False)
    assert summary.missed([empty, narrow], []) == ["Q: a question: off by more than 0.001"]
    assert summary.wrong([empty, narrow], []) == []


def test_a_sigma_of_ours_must_be_safe_and_near() -> None:
    asked = dataclasses.replace(question(), kind=questions.SIGMA, widest=1e-3)
    found = [measured.own(asked, Timing(0.01, value, 1)) for value in (2.0, 1.9, 3.0, math.inf)]
    assert [row.fails for row in found] == ["", "unsafe", "", "inf"]
    assert [row.wide for row in found] == [False, False, True, False]


def test_the_default_width_on_the_page_is_that_of_the_library() -> None:
    assert inspect.signature(qw.Loss.epsilon).parameters["rtol"].default == ours.RTOL


def test_a_second_answer_of_ours_is_told_where_it_differs() -> None:
    few = Question("Q", "some", (Part(LAPLACE, 3.0, 20),), 1e-6, truth=6.337586828)
    found = list(measured.asked(few, {}, ONCE))
    assert [row.peer for row in found] == [ours.NAME, ours.NAME]
    assert found[1].method.startswith(ours.SHARPER)
    assert found[1].width < found[0].width
    easy = Question("Q", "one", (Part(GAUSSIAN, 1.0),), 1e-5, truth=4.377178095681228)
    assert len(list(measured.asked(easy, {}, ONCE))) == 1


def test_curves_are_judged_on_their_unsafe_side() -> None:
    beta = dataclasses.replace(question(), kind=questions.BETAS, truth=[0.5, 0.2])
    ask = Ask("way", NO, list)
    above = measured.judged(beta, "peer", ask, Timing(0.01, [0.5, 0.3], 1), 0.01)
    assert above.fails == "unsafe: by 1.0e-01 at 1 points"
    slightly = measured.judged(beta, "peer", ask, Timing(0.01, [0.5, 0.2 + 1e-11], 1), 0.01)
    assert slightly.fails == "unsafe by rounding"
    assert measured.judged(beta, "peer", ask, Timing(0.01, [0.5, 0.1], 1), 0.01).error == pytest.approx(0.1)


def rows() -> list[Row]:
    ask = {"key": "Q", "question": "a question"}
    return [
        Row(**ask, peer=ours.NAME, method="", seconds=0.01, ratio=1.0, error=1e-12, claim=BOTH),
        Row(**ask, peer="dp_accounting", method="exact", seconds=0.02, ratio=2.0, error=1e-6, claim=UPPER),
        Row(**ask, peer="dp_accounting", method="rough", seconds=0.001, ratio=0.1, error=0.05, claim=UPPER),
        Row(**ask, peer="Opacus", method="GDP", seconds=0.001, ratio=0.1, error=-0.04, claim=NO, fails="below truth"),
        Row(**ask, peer="riskcal", method="", claim=NO, fails="not installed"),
    ]


def test_summary_shows_the_most_accurate_sound_method_or_the_failure() -> None:
    line, asked, sound, *_ = summary.table(rows())
    cells = dict(zip(summary.head(), line, strict=True))
    assert cells["dp_accounting"] == "2x, +1.0e-06"
    assert cells["Opacus"] == "below truth (-4.0e-02)"
    assert cells["riskcal"] == "not installed"
    assert cells["autodp"] == summary.NOT_ASKED
    assert asked == ["questions asked", "1", "1", "0", "0", "1", "0", "0"]
    assert sound == ["answered soundly by some method", "1", "1", "0", "0", "0", "0", "0"]


def test_a_method_that_is_below_by_rounding_is_not_thrown_away() -> None:
    below, rough = dataclasses.replace(rows()[1], error=-8e-12, fails="below truth by rounding"), rows()[2]
    assert summary.best([below, rough]) is below
    assert summary.cell(below) == "2x, -8.0e-12 (below)"
    near = dataclasses.replace(rough, error=1e-10)
    assert summary.best([below, near]) is near  # as near as rounding, and sound
    assert not below.sound


def test_failures_keep_rounding_apart_from_the_rest() -> None:
    one = dataclasses.replace(rows()[1], fails="below truth by rounding", error=-1e-11)
    two = dataclasses.replace(rows()[1], fails="below truth", error=-1e-2, key="R")
    assert summary.failures([one, two])[0][3] == "below truth by rounding (Q); below truth (R)"


def points() -> list[Point]:
    given = {"series": "growth of something", "size": 10.0, "shown": "10"}
    return [
        Point(**given, method=ours.NAME, seconds=0.01, width=1e-5, error=1e-5, claim=BOTH),
        Point(**given, method="peer grid", seconds=0.005, error=1e-7, claim=UPPER_IDEAL),
        Point(**given, method="peer below", seconds=0.001, error=-0.1, claim=NO, unsound="below truth"),
        Point(**given, method="peer slow", seconds=0.5, error=1e-7, claim=UPPER_IDEAL),
    ]


def test_whoever_is_faster_in_the_tables_of_growth_is_listed_too() -> None:
    listed = summary.ahead([], points())
    assert listed == [["growth: growth of something, at 10", "peer grid", "0.50", "+1.0e-07", "+1.0e-05", UPPER_IDEAL]]


def test_a_wrong_point_of_ours_is_found() -> None:
    for wrong in ({"fails": "inf"}, {"unsound": "truth below the interval"}):
        bad = dataclasses.replace(points()[0], **wrong)
        assert len(summary.wrong([], [bad, *points()[1:]])) == 1
    late = dataclasses.replace(points()[0], fails="more than 5 s")
    assert (len(summary.wrong([], [late])), len(summary.missed([], [late]))) == (0, 1)


def test_summary_lists_who_is_faster_and_who_fails() -> None:
    (faster,) = summary.ahead(rows())
    assert faster[1] == "dp_accounting rough"
    assert summary.cell(dataclasses.replace(rows()[2], claim=NO)) == "0.1x, +5.0e-02*"
    assert summary.failures(rows()) == [["Opacus GDP", "1", "1", "below truth (Q)"]]


def test_exponent_of_known_growth() -> None:
    points = [Point("s", "m", n, 1e-3 * n**1.5) for n in (1.0, 10.0, 100.0)]
    assert scaling.exponent(points) == pytest.approx(1.5)
    assert math.isnan(scaling.exponent(points[:2]))
    assert scaling.exponent(points, last=2, least=2) == pytest.approx(1.5)
    assert math.isnan(scaling.exponent([dataclasses.replace(p, fails="inf") for p in points]))


def test_a_method_that_was_stopped_is_not_asked_again() -> None:
    def slow() -> None:
        begin = time.process_time()
        while time.process_time() - begin < 5:
            pass

    asks = {"fast": Ask("", UPPER, lambda: 1.0), "slow": Ask("", UPPER, slow)}
    series = scaling.Series("s", "n", [1.0, 2.0], lambda size: asks)
    points = list(scaling.grown(series, Pace(1, 0.01, 0.1, False)))
    assert [(p.method, p.fails) for p in points] == [("fast", ""), ("slow", "more than 0.1 s"), ("fast", "")]
    part = pages.growth(series, points)
    assert [row[:3] for row in part.rows[1:]] == [
        ["fast", *part.rows[1][1:3]],
        ["slow", "more than 0.1 s", "not asked"],
    ]


@pytest.mark.parametrize(
    ("bracket", "fails", "unsound"),
    [
        ((1.0, 1.5), "", ""),
        ((1.0, math.inf), "inf", ""),
        ((1.3, 1.5), "", "truth below the interval"),
        ((1.0, 1.1), "", "below truth"),
    ],
)
def test_growth_looks_at_our_brackets(bracket: tuple[float, float], fails: str, unsound: str) -> None:
    asks = {ours.NAME: Ask("", BOTH, lambda: qw.Bracket(*bracket, "epsilon"))}
    series = scaling.Series("s", "n", [1.0], lambda size: asks, truth=lambda size: 1.2)
    (point,) = scaling.grown(series, ONCE)
    assert (point.fails, point.unsound) == (fails, unsound)
    if point.answered:
        assert point.error == pytest.approx(bracket[1] / 1.2 - 1)


def test_sharper_answers_are_left_out_where_they_are_the_same() -> None:
    first = Point("s", ours.NAME, 1.0, 0.01, 1e-5)
    again, sharper = (dataclasses.replace(first, method=f"{ours.NAME}, x", width=width) for width in (1e-5, 1e-9))
    assert scaling.without_twins([first, again]) == [first]
    assert scaling.without_twins([first, sharper]) == [first, sharper]


def test_growth_shows_errors_and_ratios() -> None:
    series = scaling.Series("growth of something", "n", [10.0], lambda size: {})
    shown = {row[0]: row[1] for row in pages.growth(series, points()).rows}
    assert shown["peer grid"] == "5.00 (0.5x)"
    assert shown["peer grid: error"] == "+1.0e-07"
    assert shown["peer below: error"] == "-1.0e-01 (below)"


def test_the_truth_about_a_hidden_secret_is_inside() -> None:
    bracket = worlds.outputs(100)()
    assert bracket.lower <= worlds.exact(100) <= bracket.upper


def test_every_series_with_peers_has_its_truths() -> None:
    for series in scaling.compared({}, measured.FULL):
        small = [size for size in series.sizes if size <= 1e5]
        assert np.all(np.isfinite([series.truth(size) for size in small])), series.name


def test_limits_stop_loops_and_are_lifted_again() -> None:
    def forever() -> None:
        with limited(0.05):
            while True:
                pass

    with pytest.raises(TooSlow):
        forever()
    time.sleep(0.12)  # no alarm is left


def test_a_peer_that_is_not_installed_gets_a_line() -> None:
    absent = Peer("nobody", "no-such-package", "no_such_module_here", "by_nobody")
    assert absent.load() == (None, "not installed")
    assert absent.version == "not installed"
    found = list(measured.asked(question(4.377), {absent: absent.load()}, ONCE))
    assert [row.fails for row in found[1:]] == ["not installed"]


def test_pages_are_written_in_three_forms() -> None:
    points = [Point("s", ours.NAME, n, 1e-3 * n, 1e-9) for n in (1.0, 10.0, 100.0)]
    series = scaling.Series("s", "n", [1.0, 10.0, 100.0], lambda size: {})
    parts = [pages.Part("First", "A note.", [["a", "b"], ["x | y", "1"]], frozenset({1})), pages.growth(series, points)]
    page = pages.markdown("Title", ["today."], ["read"], parts)
    assert "## First" in page
    assert r"| x \| y | 1 |" in page
    assert "+1.00" in page
    assert "A note." in pages.text(["today."], ["read"], parts)
    html = pages.html("Title", ["today."], ["read"], parts)
    assert "<svg" in html
    assert "<script" not in html


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.name)
def test_each_peer_answers_a_tiny_question(peer: Peer) -> None:
    pytest.importorskip(peer.module)
    module, why = peer.load()
    assert module is not None, why
    kind, scale = (LAPLACE, 2.0) if peer.name == "autodp" else (GAUSSIAN, 2.0)
    asked = Question("Q", "two releases", (Part(kind, scale, 2),), 1e-5)
    found = measured.interleaved({"": module.asks(asked)[0].call}, 0, limit=20.0)[""]
    assert not found.refusal
    high = found.value[1] if isinstance(found.value, tuple) else found.value
    assert high >= float(ours.answer(asked).lower)


def test_kinds_that_a_peer_has_no_way_for_are_not_asked() -> None:
    pytest.importorskip("opacus")
    module, _ = next(peer for peer in PEERS if peer.name == "Opacus").load()
    assert module.asks(Question("Q", "", (Part(RESPONSE, 0.1, 10),), 1e-6)) == []


def by(name: str) -> Any:
    """The module that asks this peer."""
    peer = next(peer for peer in PEERS if peer.name == name)
    pytest.importorskip(peer.module)
    return peer.load()[0]


def answered(module: Any, asked: Question, method: str) -> Any:
    ask = next(ask for ask in module.asks(asked) if ask.method == method)
    return ask.call()


@pytest.mark.filterwarnings("ignore")
def test_gaussians_are_asked_the_way_that_dp_accounting_documents() -> None:
    asked = Question("Q", "", (Part(GAUSSIAN, 10.0, 10),), 1e-6)
    methods = [ask.method for ask in by("dp_accounting").asks(asked)]
    assert {"PLDAccountant h 1e-4", "PLD h 1e-4, self_compose"} <= set(methods)
    small = dataclasses.replace(asked, parts=(Part(RESPONSE, 0.1, 10),), at=1e-12)
    assert "PLD h 1e-4, tail 1e-25" in [ask.method for ask in by("dp_accounting").asks(small)]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["dp_accounting", "autodp"])
def test_profiles_are_asked_in_closed_form(name: str) -> None:
    points = np.array([0.0, 1.0, 5.0])
    truth = [float(gaussian_delta(1, epsilon)) for epsilon in points]
    asked = Question("Q", "", (Part(GAUSSIAN, 10.0, 100),), kind=questions.DELTAS, points=points)
    assert answered(by(name), asked, "closed form") == pytest.approx(truth, rel=1e-9)


def test_opendp_is_asked_to_add_up() -> None:
    module = by("OpenDP")
    stated = Question("Q", "", (Part(APPROXIMATE, 0.5, 10, 1e-6),), 1e-4)
    assert answered(module, stated, "added up") == pytest.approx(5.0)
    assert answered(module, dataclasses.replace(stated, at=1e-6), "added up") == math.inf
    assert answered(module, Question("Q", "", (Part(LAPLACE, 2.0, 3),), 1e-4), "added up") == pytest.approx(1.5)
