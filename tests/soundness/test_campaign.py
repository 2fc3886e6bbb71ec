"""The campaign itself: every kind answers, faults are caught and made small, counterexamples can be asked again."""

from __future__ import annotations

import json
import math

import pytest
from benchmarks.soundness import command, deal, minimise, show, turns
from benchmarks.soundness.claims import Check, Kind, at_most, inside
from benchmarks.soundness.every import KINDS, ORDER, of_rooms
from benchmarks.soundness.listed import Listed, composed, exp_ends
from benchmarks.soundness.rooms import (
    compose,
    data,
    game,
    pufferfish,
    report,
)
from tests.soundness.faults import FAULTS, lost_tail, one_direction

import quiltwork as qw
from quiltwork.curves.bracket import Bracket

APART = ("data: sequences", "compose: extremes beside responses")  # with cases of their own below
PLAIN = [title for title, kind in KINDS.items() if kind.plain and title not in APART]
SLOW = (
    "mechanisms: discrete noise",
    "mechanisms: OpenDP",
    "report: words",
    "pufferfish: listed laws, every mechanism",
)


def found(kind: Kind, cases: int, seed: int = 5) -> turns.Slice:
    """A few cases of a kind."""
    return turns.run(kind, seed, 1, 60.0, cases)


@pytest.mark.parametrize("title", PLAIN)
def test_every_claim_holds(title):
    one = found(KINDS[title], 1 if title in SLOW else 2)
    assert not one.failures, one.failures[0]
    assert one.tally.checks


def test_extremes_beside_responses():
    """Noise on rare samples, beside a few responses."""
    case = {
        "family": "sampled gaussian", "numbers": [0.5, 1e-9], "side": "remove", "epsilons": [0.0, 0.5, 3.0],
        "others": [{"epsilon": 0.3, "delta": 1e-9, "count": 3}], "deltas": [1e-6], "rtol": 1e-3,
    }  # fmt: skip
    found = list(KINDS["compose: extremes beside responses"].ask(case))
    assert len(found) == 5
    assert all(check.holds for check in found), found


def test_every_room_has_kinds():
    assert {kind.room for kind in KINDS.values()} == set(ORDER)
    assert all(of_rooms(list(ORDER)).values())


# ---- faults


@pytest.mark.parametrize("title", FAULTS)
def test_a_fault_is_caught_and_made_small(monkeypatch, title, tmp_path):
    """Upper ends that are too small by a part in 1e9, charges and digits on the wrong side, too much confidence."""
    module, name, wrong = FAULTS[title]
    monkeypatch.setattr(module, name, wrong(getattr(module, name)))
    monkeypatch.setattr(turns, "SMALLER", 0.6)
    kind = KINDS[title]
    for block in range(8):
        one = turns.run(kind, 11, block, 60.0, 2)
        if one.failures:
            break
    failure = one.failures[0]
    assert one.tally.wrong
    assert failure["size"] < failure["size before"]
    saved = json.loads(json.dumps(failure))
    assert turns.again(KINDS, saved)
    monkeypatch.undo()
    assert not turns.again(KINDS, saved)


@pytest.mark.parametrize("broken", [one_direction, lost_tail])
def test_a_forgotten_direction_and_a_lost_tail_are_caught(monkeypatch, broken):
    monkeypatch.setattr(compose, "loss_of", broken)
    monkeypatch.setattr(turns, "SMALLER", 0.6)
    one = found(KINDS["compose: finite laws, any engine"], 6)
    assert one.failures
    smallest = min(one.failures, key=lambda each: each["size"])
    assert sum(len(smallest["case"][name]) for name in ("epsilons", "deltas", "alphas")) == 1
    assert len(smallest["case"]["parts"]) == 1


def test_counts_of_an_engine_are_compared(monkeypatch):
    """A table of which a row is lost."""
    case = {"rows": [[0, 1, 0], [0, 2, 1], [1, 3, 1]], "states": 2}
    assert all(check.holds for check in data.counted(case))

    class Lossy:
        def sequences(self, table, **columns):
            return engine.sequences({name: column[1:] for name, column in table.items()}, **columns)

    engine = data._engine()
    monkeypatch.setattr(data, "_engine", Lossy)
    assert not all(check.holds for check in data.counted(case))


def test_a_case_that_fails_in_another_way_is_not_taken_for_smaller():
    def fails(case):
        return sum(case["list"]) > 10 and case["flag"]

    small = minimise.minimised({"list": [3, 9, 40, 1, 2], "flag": True, "other": 1.23456789}, fails)
    assert (sum(small["list"]), small["flag"], small["other"]) == (11, True, 0.0)
    assert len(small["list"]) < 3


# ---- the parts


def test_exceptions_and_late_cases_are_counted(monkeypatch):
    def crash(case):
        raise ValueError("no answer")

    one = found(Kind("curves", "crash", lambda rng: {"n": 3}, crash), 1)
    assert (one.tally.errors, one.tally.wrong, one.failures[0]["note"]) == (1, 0, "no answer")

    def endless(case):
        while True:
            math.sqrt(2.0)
            if case is None:
                yield Check("never", True)

    monkeypatch.setattr(turns, "PATIENCE", 0.05)
    late = found(Kind("curves", "endless", lambda rng: {"n": 3}, endless), 1).tally
    assert (late.late, late.checks, late.errors) == (1, 0, 0)


def test_the_dealer_gives_rooms_the_same_time():
    dealer = deal.Dealer({"a": ["a: 1"], "b": ["b: 1", "b: 2"]}, 3)
    for _ in range(40):
        title, _, _ = dealer.next()
        tally = turns.Tally(seconds=3.0 if title == "b: 2" else 0.5)
        dealer.book(turns.Slice(title, tally, {}, []))
    assert abs(dealer.spent["a: 1"] - dealer.spent["b: 1"] - dealer.spent["b: 2"]) <= 3.0


def test_the_command_saves_and_asks_again(monkeypatch, tmp_path, capsys):
    """One kind, in this process, with a fault; then without it."""
    title = "report: digits"
    monkeypatch.setattr(report, "printed_at_most", report.at_least)
    monkeypatch.setattr(turns, "SMALLER", 0.5)

    def here(rooms, seed, seconds, workers, checks, progress):
        outcome = deal.Outcome({title: turns.Tally()})
        outcome.book(turns.run(KINDS[title], seed, 1, 60.0, 1))
        return outcome

    monkeypatch.setattr(command, "campaign", here)
    assert command.main(["--minutes", "0.01", "--seed", "3", "--only", "report", "--out", str(tmp_path)]) == 1
    saved = sorted(tmp_path.glob("counterexample-report-*.json"))
    assert saved
    assert "seed 3" in capsys.readouterr().out
    assert "Soundness campaign" in (tmp_path / "index.html").read_text()
    assert command.main(["--replay", str(saved[0])]) == 1
    monkeypatch.setattr(report, "printed_at_most", qw.curves.digits.at_most)
    assert command.main(["--replay", str(saved[0])]) == 0
    options = command.parse(["--seed", "3", "--only", "report"])
    assert "| report |" in show.markdown(here({}, 3, 1.0, 1, None, None), options)


def test_seeds_differ_unless_given():
    assert command.parse([]).seed != command.parse([]).seed


def test_the_truth_itself():
    """Values known by hand, or computed in another way."""
    law = Listed.of([(3, 1), (1, 3)], 2)
    low, high, shift = law.stick(0.0)
    assert low == high == 2 << (shift - 2)
    assert law.beta(0.25) == law.mirrored.beta(0.25) == 1 - 0.75
    twice = composed([([(3, 1), (1, 3)], 2, 2)])
    assert twice.outcomes == [(9, 1), (6, 6), (1, 9)]
    low, high, exponent = exp_ends(1.0)
    assert low * 2.0**exponent <= math.e <= high * 2.0**exponent
    assert Listed.of([(2, 0), (2, 4)], 2).revealed == 0.5
    table = pufferfish.heights((2, 2))
    assert len(table) == len({tuple(row) for row in table.tolist()})
    assert [0, 1, 1, 2] in table.tolist()
    assert [0, 2, 0, 0] not in table.tolist()
    assert not at_most("", 1.0, 0.5).holds
    assert not inside("", 0.5, game.Fraction(1, 4), game.Fraction(1, 4), 1.0).holds
    assert Bracket(0.1, 0.2, "delta").upper == 0.2
