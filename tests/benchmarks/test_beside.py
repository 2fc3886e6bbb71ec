"""The pure parts of the benchmark of peers: truths, judging, summing up, rendering; one tiny question to each peer."""

from __future__ import annotations

import dataclasses
import math
import time

import pytest
from benchmarks.beside import measured, ours, pages, questions, scaling, summary
from benchmarks.beside.asks import BOTH, NO, PEERS, UPPER, Ask, Peer
from benchmarks.beside.limits import TooSlow, limited
from benchmarks.beside.measured import Pace, Row
from benchmarks.beside.questions import GAUSSIAN, LAPLACE, RESPONSE, Part, Question
from benchmarks.timing import Timing, interleaved

import quiltwork as qw

ONCE = Pace(1, 0.01, 20.0, False)


def question(truth: float = 2.0) -> Question:
    return Question("Q", "a question", (Part(GAUSSIAN, 1.0),), 1e-5, truth=truth)


def judged(value: object, claim: str = UPPER, refusal: str = "") -> Row:
    return measured.judged(question(), "peer", Ask("way", claim, lambda: value), Timing(0.02, value, 3, refusal), 0.01)


def test_lattice_of_one_response() -> None:
    # one response with epsilon 1: delta(e) = (e^1 - e^e) / (1 + e^1) for 0 <= e <= 1
    delta = (math.e - math.exp(0.4)) / (1 + math.e)
    assert questions.lattice_epsilon(((2, 1),), "0.5", repr(delta)) == pytest.approx(0.4, rel=1e-12)


def test_truths_computed_here_are_those_that_were_stored() -> None:
    stored = questions.STORED["epsilon"]
    found = questions.lattice_epsilon(((1, 1000),), "0.1", "1e-12")
    assert found == pytest.approx(float(next(iter(stored["response 0.1 1000 1e-12"].values()))), rel=1e-15)
    assert questions.gaussian_epsilon(math.sqrt(10.0), "1e-6") == pytest.approx(
        questions.stored("gaussian 0.1 1000 1e-06")
    )


@pytest.mark.parametrize(
    ("value", "fails"),
    [
        (2.0, ""),
        (2.1, ""),
        (2.0 * (1 - 1e-14), ""),
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


def test_curves_are_judged_on_their_unsafe_side() -> None:
    beta = dataclasses.replace(question(), kind=questions.BETAS, truth=[0.5, 0.2])
    ask = Ask("way", NO, list)
    above = measured.judged(beta, "peer", ask, Timing(0.01, [0.5, 0.3], 1), 0.01)
    assert above.fails == "unsafe by 1.0e-01 at 1 points"
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
    line, asked, *_ = summary.table(rows())
    cells = dict(zip(summary.head(), line, strict=True))
    assert cells["dp_accounting"] == "2x, +1.0e-06"
    assert cells["Opacus"] == "below truth (-4.0e-02)"
    assert cells["riskcal"] == "not installed"
    assert cells["autodp"] == summary.NOT_ASKED
    assert asked == ["questions asked", "1", "1", "0", "0", "1", "0", "0"]


def test_summary_lists_who_is_faster_and_who_fails() -> None:
    (faster,) = summary.ahead(rows())
    assert faster[1] == "dp_accounting rough"
    assert summary.cell(dataclasses.replace(rows()[2], claim=NO)) == "0.1x, +5.0e-02*"
    assert summary.failures(rows()) == [["Opacus GDP", "1", "1", "below truth (Q)"]]


def test_exponent_of_known_growth() -> None:
    points = [scaling.Point("s", "m", n, 1e-3 * n**1.5) for n in (1.0, 10.0, 100.0)]
    assert scaling.exponent(points) == pytest.approx(1.5)
    assert math.isnan(scaling.exponent(points[:2]))
    assert scaling.exponent(points, last=2, least=2) == pytest.approx(1.5)
    assert math.isnan(scaling.exponent([dataclasses.replace(p, fails="inf") for p in points]))


def test_a_method_that_was_stopped_is_not_asked_again() -> None:
    def slow() -> None:
        begin = time.process_time()
        while time.process_time() - begin < 5:
            pass

    series = scaling.Series("s", "n", [1.0, 2.0], lambda size: {"fast": lambda: 1.0, "slow": slow})
    points = list(scaling.grown(series, Pace(1, 0.01, 0.1, False)))
    assert [(p.method, p.fails) for p in points] == [("fast", ""), ("slow", "more than 0.1 s"), ("fast", "")]
    part = pages.growth(series, points)
    assert [row[:3] for row in part.rows[1:]] == [
        ["fast", *part.rows[1][1:3]],
        ["slow", "more than 0.1 s", "not asked"],
    ]


def test_limits_stop_loops_and_are_lifted_again() -> None:
    def forever() -> None:
        with limited(0.05):
            while True:
                pass

    with pytest.raises(TooSlow):
        forever()
    time.sleep(0.12)  # no alarm is left


def test_any_error_of_a_peer_is_a_refusal_only_under_a_limit() -> None:
    calls = {"": lambda: {}["gamma"]}
    assert interleaved(calls, 1, limit=5.0)[""].refusal == "KeyError: 'gamma'"
    with pytest.raises(KeyError):
        interleaved(calls, 1)


def test_a_peer_that_is_not_installed_gets_a_line() -> None:
    absent = Peer("nobody", "no-such-package", "no_such_module_here", "by_nobody")
    assert absent.load() == (None, "not installed")
    assert absent.version == "not installed"
    found = list(measured.asked(question(4.377), {absent: absent.load()}, ONCE))
    assert [row.fails for row in found[1:]] == ["not installed"]


def test_pages_are_written_in_three_forms() -> None:
    points = [scaling.Point("s", ours.NAME, n, 1e-3 * n, 1e-9) for n in (1.0, 10.0, 100.0)]
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
