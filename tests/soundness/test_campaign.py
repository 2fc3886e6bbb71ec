"""The campaign itself: every kind answers, faults are caught and made small, counterexamples can be asked again."""

from __future__ import annotations

import json
import math
import re
from fractions import Fraction

import pytest
from benchmarks.soundness import command, deal, minimise, show, turns
from benchmarks.soundness.claims import Check, Kind, Skip, at_most, inside
from benchmarks.soundness.every import KINDS, ORDER, of_rooms
from benchmarks.soundness.listed import Listed, composed, exp_ends
from benchmarks.soundness.rooms import (
    compose,
    data,
    game,
    proofs,
    pufferfish,
    report,
)
from benchmarks.soundness.workers import Lost
from tests.examples import PROFILE
from tests.soundness import unreliable
from tests.soundness.faults import FAULTS, lost_tail, one_direction

from quiltwork.curves.bracket import Bracket
from quiltwork.numbers import digits

APART = ("data: sequences", "compose: extremes beside responses")  # with cases of their own below
PLAIN = [title for title, kind in KINDS.items() if kind.plain and title not in APART]
SLOW = (
    "mechanisms: discrete noise",
    "mechanisms: OpenDP",
    "report: words",
    "pufferfish: listed laws, every mechanism",
    "losses: random allocation",
    "losses: few steps of an allocation",
    "losses: batches, composed",
    "losses: divergences of batches",
)
PROVED_AT_ONCE = ("gaussian", "laplace", "discrete_laplace", "pure", "approximate", "poisson")  # others take seconds


def found(kind: Kind, cases: int, seed: int = 5) -> turns.Slice:
    """A few cases of a kind."""
    return turns.run(kind, seed, 1, 60.0, cases)


@pytest.mark.parametrize("title", PLAIN)
def test_every_claim_holds(title):
    one = found(KINDS[title], 2 if PROFILE == "campaign" and title not in SLOW else 1)
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


def test_the_sum_of_all_epsilons_is_asked_for():
    """delta is 0 there, and 1e-71 in sums of 70 digits: the truth must not take that for a violation (seed 79)."""
    columns = [{"values": 1, "epsilon": 0.032}, {"values": 1, "epsilon": 0.2396}]
    case = {"columns": columns, "whole": [0.482, 0.215], "kind": "pure", "epsilons": [0.9686]}
    assert all(check.holds for check in KINDS["tables: partitions"].ask(case))


def test_every_room_has_kinds():
    assert {kind.room for kind in KINDS.values()} == set(ORDER)
    assert all(of_rooms(list(ORDER)).values())


# ---- faults


@pytest.mark.parametrize("title", FAULTS)
def test_a_fault_is_caught_and_made_small(monkeypatch, title, tmp_path):
    """Upper ends that are too small by a part in 1e9, charges and digits on the wrong side, too much confidence."""
    module, name, wrong = FAULTS[title]
    monkeypatch.setattr(module, name, wrong(getattr(module, name)))
    monkeypatch.setattr(proofs, "KINDS_DRAWN", PROVED_AT_ONCE)
    monkeypatch.setattr(turns, "TRIES", 60)
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
    monkeypatch.setattr(turns, "TRIES", 60)
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


def test_the_dealer_asks_each_kind_once_and_then_gives_them_the_same_time():
    """Kinds that publish no bound of their own have a quarter."""
    titles = ["a: 1", "b: 1", "b: 2", "report: 1"]
    dealer, order = deal.Dealer(titles, 3), []
    for _ in range(200):
        title, _, _, promised = dealer.next()
        order.append(title)
        tally = turns.Tally(seconds=3.0 if title == "b: 2" else 0.5)
        dealer.book(turns.Slice(title, tally, {}, []), promised)
    assert sorted(order[:4]) == titles
    assert max(dealer.spent[title] for title in titles[:3]) - min(dealer.spent[title] for title in titles[:3]) <= 3.0
    assert abs(4 * dealer.spent["report: 1"] - dealer.spent["a: 1"]) <= 4.0
    orders = {tuple(deal.Dealer(titles, seed).spent) for seed in range(30)}
    assert len(orders) > 5


def test_a_worker_that_dies_or_hangs_is_an_error_with_its_title_and_block(tmp_path):
    """One kind ends its process, one never ends, one answers: the run goes on, and says which.

    On a busy machine any of them may be late at first; it is asked again until each was told as what it is.
    """
    titles = [f"curves: {name}" for name in ("dies", "hangs", "answers", "raises")]
    kept = []

    def until_each_was_told(elapsed, outcome):
        notes = [failure["note"] for failure in outcome.failures]
        told = (
            any(note.startswith("curves: dies, block") and note.endswith("exit code 9") for note in notes),
            any("curves: hangs" in note and "no end within 1 s" in note for note in notes),
            any("no kind of this name" in note for note in notes),
            outcome.kinds["curves: answers"].checks,
        )
        if all(told):
            kept.append(outcome)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        deal.campaign(titles, 3, 600.0, 2, until_each_was_told, job=unreliable.work, stuck=1.0)
    found = kept[0]
    assert all(found.kinds[title].errors for title in titles if title != "curves: answers")
    assert all(not found.kinds[title].checks for title in titles if title != "curves: answers")
    assert command.save(found, tmp_path, 3)


def test_a_lost_slice_is_drawn_again(monkeypatch):
    """What ended a process has no case; its seed and block have."""
    lost = deal.lost("curves: crash", 3, 7, Lost("the process ended with signal SIGSEGV", 0.1)).failures[0]
    monkeypatch.setattr(turns, "AGAIN", 0.01)

    def crash(case):
        raise ValueError("no answer")

    kind = Kind("curves", "crash", lambda rng: {"n": 3}, crash)
    assert turns.again({kind.title: kind}, json.loads(json.dumps(lost)))[0].note == "no answer"


def test_kinds_without_a_check_are_told():
    """Not asked, always late, asked in vain."""
    titles = list(KINDS)[:4]
    tallies = [turns.Tally(cases=3, checks=5), turns.Tally(), turns.Tally(cases=2, late=2), turns.Tally(cases=1)]
    outcome = deal.Outcome(dict(zip(titles, tallies, strict=True)))
    assert outcome.silent == titles[1:]
    assert not outcome.all_asked
    told = show.gaps(outcome)
    assert [line.split(":")[0] for line in told] == ["Not asked", "Asked without a check", "Late in every case"]
    options = command.parse(["--seed", "3"])
    for words in (
        show.text(outcome, options),
        show.markdown(outcome, options),
        show.report(outcome, options).to_html(),
    ):
        assert titles[1] in words


@pytest.mark.parametrize(
    ("minutes", "cases", "code"), [("1", 1, 2), ("1", 0, 0), ("15", 0, 2)], ids=["all asked", "short", "long"]
)
def test_a_silent_kind_fails_a_long_run(monkeypatch, tmp_path, minutes, cases, code):
    outcome = deal.Outcome({"data: sequences": turns.Tally(cases=cases)})
    monkeypatch.setattr(command, "campaign", lambda *given: outcome)
    given = ["--minutes", minutes, "--only", "data", "--out", str(tmp_path)]
    assert command.main(given) == code


def test_questions_without_a_truth_are_counted_apart():
    def ask(case):
        yield Check("one", True)
        yield Skip("the truth was refused")

    tally = found(Kind("curves", "skips", lambda rng: {"n": 3}, ask), 2).tally
    assert (tally.checks, tally.skipped) == (2, 2)


def test_margins_are_those_of_the_end_that_protects():
    truth, tight = Fraction(1, 3), 1 / 3
    assert inside("delta", 0.333, truth, truth, 0.4).margin == pytest.approx(0.2)
    assert inside("beta", 0.3, truth, truth, math.nextafter(tight, 1.0), protects="lower").margin == pytest.approx(0.1)
    unsure = Fraction(1, 1000)
    assert math.isnan(inside("delta", 0.3, truth - unsure, truth + unsure, 0.335).margin)
    tally = turns.Tally()
    for claim in ("truth, lower end", "beta, upper end", "cost, hardly more"):
        tally.add(Check(claim, True, 1e-3))
    assert math.isinf(tally.margin)
    tally.add(Check("beta, lower end", True, 1e-3))
    assert tally.margin == 1e-3


def test_the_command_saves_and_asks_again(monkeypatch, tmp_path, capsys):
    """One kind, in this process, with a fault; then without it."""
    title = "report: digits"
    monkeypatch.setattr(report, "printed_at_most", report.at_least)
    monkeypatch.setattr(turns, "TRIES", 60)

    def here(titles, seed, seconds, workers, progress):
        outcome = deal.Outcome({title: turns.Tally()})
        outcome.book(turns.run(KINDS[title], seed, 1, 60.0, 1))
        return outcome

    monkeypatch.setattr(command, "campaign", here)
    assert command.main(["--minutes", "0.01", "--seed", "3", "--only", "report", "--out", str(tmp_path)]) == 1
    saved = sorted(tmp_path.glob("counterexample-3-report-*.json"))
    assert saved
    (tmp_path / "counterexample-2-report-0.json").write_text("of another run")
    assert "seed 3" in capsys.readouterr().out
    assert "Soundness campaign" in (tmp_path / "index.html").read_text()
    assert command.main(["--replay", str(saved[0])]) == 1
    monkeypatch.setattr(report, "printed_at_most", digits.at_most)
    assert command.main(["--replay", str(saved[0])]) == 0
    assert command.main(["--minutes", "0.01", "--seed", "4", "--only", "report", "--out", str(tmp_path)]) == 0
    assert {path.name.split("-")[1] for path in tmp_path.glob("counterexample-*")} == {"2", "3"}
    options = command.parse(["--seed", "3", "--only", "report"])
    assert "| report |" in show.markdown(here([], 3, 1.0, 1, None), options)


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


def test_a_broken_case_is_no_simpler_one():
    """It fails like the one that was found, and then cannot be asked to its end."""

    def ask(case):
        yield turns.Check("small", sum(case["terms"]) < 3)
        assert len(case["terms"]) > 1

    kind = turns.Kind("compose", "terms", lambda rng: {"terms": [5, 5]}, ask)
    words = {"claim": "small", "note": ""}
    assert turns.same(kind, {"terms": [5, 5]}, words)
    assert turns.same(kind, {"terms": [5]}, words) is None


def test_kinds_are_named_by_words_and_told_one_by_one(monkeypatch, tmp_path, capsys):
    asked = []

    def ask(kinds, *given):
        asked.extend(kinds)
        return deal.Outcome({title: turns.Tally(cases=1, checks=7) for title in kinds})

    monkeypatch.setattr(command, "campaign", ask)
    given = ["--minutes", "1", "--out", str(tmp_path), "--kinds"]
    assert command.main([*given, "random allocation", "best of runs"]) == 0
    assert asked == ["losses: random allocation", "losses: best of runs"]
    told = capsys.readouterr().out
    assert all(re.search(rf"{title} +1 +7 +0", told) for title in asked)
    assert command.main([*given, "no such words"]) == 2
    assert "losses: best of runs" in capsys.readouterr().err
