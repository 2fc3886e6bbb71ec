"""Open, paused, closed: every act in every state."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from tests.ledger.books import START, Clock, kinds, refused

import quiltwork as qw
from quiltwork.errors import InvalidParameter, NotOpen
from quiltwork.ledger import Ledger

OPEN, PAUSED, CLOSED, EXPIRED = "open", "paused", "closed", "expired"
STATES = (OPEN, PAUSED, CLOSED, EXPIRED)


class Setting:
    """A budget in some state, with one reservation that is held and one that has started."""

    def __init__(self, ledger: Ledger, clock: Clock, state: str) -> None:
        self.ledger = ledger
        ledger.open("b", epsilon=8.0, protects="x", expires=START + timedelta(days=1))
        self.first = ledger.spend("b", qw.pure(1.0), key="first")
        self.held = ledger.reserve("b", qw.pure(1.0), lease=timedelta(days=2)).seq
        self.started = ledger.reserve("b", qw.pure(1.0), lease=timedelta(days=1)).seq
        ledger.start(self.started)
        if state == PAUSED:
            ledger.pause("b")
        if state == CLOSED:
            ledger.close("b")
        if state == EXPIRED:
            clock.forward(days=1)


@pytest.fixture
def setting(fast_sqlite: str, request: pytest.FixtureRequest) -> Iterator[Setting]:
    clock = Clock()
    with Ledger(fast_sqlite, clock=clock) as made:
        yield Setting(made, clock, request.param)


ACTS: dict[str, tuple[Callable[[Setting], Any], set[str]]] = {  # what is done, and in which states it is allowed
    "spend": (lambda at: at.ledger.spend("b", qw.pure(1.0)), {OPEN}),
    "reserve": (lambda at: at.ledger.reserve("b", qw.pure(1.0), lease=60), {OPEN}),
    "run": (lambda at: at.ledger.run("b", qw.pure(1.0), lambda: 1), {OPEN}),
    "start": (lambda at: at.ledger.start(at.held), {OPEN}),
    "settle": (lambda at: at.ledger.settle(at.started), {OPEN, PAUSED, CLOSED, EXPIRED}),
    "refund": (lambda at: at.ledger.refund(at.held), {OPEN, PAUSED, CLOSED}),  # leases end with their budget
    "pause": (lambda at: at.ledger.pause("b"), {OPEN, EXPIRED}),
    "resume": (lambda at: at.ledger.resume("b"), {PAUSED}),
    "close": (lambda at: at.ledger.close("b"), {OPEN, PAUSED, EXPIRED}),
    "spend again": (lambda at: at.ledger.spend("b", qw.pure(1.0), key="first"), set(STATES)),
    "balance": (lambda at: at.ledger.balance("b"), set(STATES)),
    "budget": (lambda at: at.ledger.budget("b"), set(STATES)),
    "history": (lambda at: list(at.ledger.history("b")), set(STATES)),
    "forecast": (lambda at: at.ledger.forecast("b", qw.pure(1.0)), set(STATES)),
    "would_exceed": (lambda at: at.ledger.would_exceed("b", qw.pure(1.0)), set(STATES)),
}


@pytest.mark.parametrize("setting", STATES, indirect=True, ids=STATES)
@pytest.mark.parametrize("act", ACTS)
def test_every_act_in_every_state(setting: Setting, act: str, request: pytest.FixtureRequest) -> None:
    state = request.node.callspec.params["setting"]
    do, allowed = ACTS[act]
    if state in allowed:
        do(setting)
        assert setting.ledger.verify().holds
    else:
        with refused(setting.ledger, NotOpen, "nothing was spent"):
            do(setting)


def test_a_pause_is_over_when_it_is_resumed(ledger_url: str) -> None:
    with Ledger(ledger_url, clock=Clock()) as ledger:
        ledger.open("b", epsilon=1.0, protects="x")
        ledger.spend("b", qw.pure(0.25))
        paused = ledger.pause("b", note="who asked for this?")
        assert (paused.kind, paused.budget, paused.content) == ("pause", "b", {"note": "who asked for this?"})
        assert ledger.budget("b").state == "paused"
        with refused(ledger, NotOpen, "paused"):
            ledger.spend("b", qw.pure(0.25))
        ledger.resume("b")
        ledger.spend("b", qw.pure(0.25))
        assert float(ledger.balance("b").left.lower) == 0.5  # a pause forgets nothing
        ledger.close("b")
        assert ledger.budget("b").state == "closed"
        with refused(ledger, NotOpen, "closed"):
            ledger.resume("b")
        with refused(ledger, NotOpen, "closed"):
            ledger.spend("b", qw.pure(0.25))
        assert float(ledger.balance("b").left.lower) == 0.5
        assert kinds(ledger, "b") == ["open", "spend", "pause", "resume", "spend", "close"]
        assert ledger.verify().holds


def test_states_are_of_one_budget(ledger_url: str) -> None:
    with Ledger(ledger_url, clock=Clock()) as ledger:
        for name in "abc":
            ledger.open(name, epsilon=1.0, protects="x")
        ledger.pause("a")
        ledger.close("b")
        assert [budget.state for budget in ledger.budgets()] == ["paused", "closed", "open"]
        ledger.spend("c", qw.pure(1.0))


def test_leases_go_on_in_a_pause(fast_sqlite: str) -> None:
    clock = Clock()
    with Ledger(fast_sqlite, clock=clock) as ledger:
        ledger.open("b", epsilon=1.0, protects="x")
        held = ledger.reserve("b", qw.pure(0.5), lease=60)
        late = ledger.reserve("b", qw.pure(0.25), lease=600)
        ledger.pause("b")
        clock.forward(minutes=2)
        assert float(ledger.balance("b").left.lower) == 0.75
        ledger.resume("b")
        with refused(ledger, NotOpen, "lapsed"):
            ledger.start(held.seq)
        ledger.start(late.seq)
        assert float(ledger.balance("b").left.lower) == 0.75


@pytest.mark.parametrize("note", [None, 5, "x" * 2001, "\x00"])
def test_bad_notes(fast_sqlite: str, note: Any) -> None:
    with Ledger(fast_sqlite, clock=Clock()) as ledger:
        ledger.open("b", epsilon=1.0, protects="x")
        held = ledger.reserve("b", qw.pure(0.5), lease=60)
        for act, given in [(ledger.pause, "b"), (ledger.resume, "b"), (ledger.close, "b")]:
            with refused(ledger, InvalidParameter, "note"):
                act(given, note=note)
        for move in (ledger.settle, ledger.refund):
            with refused(ledger, InvalidParameter, "note"):
                move(held.seq, note=note)


@pytest.mark.parametrize("setting", STATES, indirect=True, ids=STATES)
def test_every_answer_names_the_state(setting: Setting, request: pytest.FixtureRequest) -> None:
    state, ledger = request.node.callspec.params["setting"], setting.ledger
    assert ledger.budget("b").state == state
    assert [budget.state for budget in ledger.budgets()] == [state]
    assert ledger.budget("b").to_json()["state"] == state
    balance, found = ledger.balance("b"), ledger.forecast("b", qw.pure(1.0))
    assert balance.budget.state == balance.to_json()["state"] == found.state == found.to_json()["state"] == state
    told = [balance.explain(), str(found)]
    assert all((f"the budget is {state}" in words.lower()) == (state != OPEN) for words in told), told
    assert ledger.would_exceed("b", qw.pure(1.0)) == (state != OPEN)  # it would fit, but is it allowed?
    assert ledger.would_exceed("b", qw.pure(7.0))


def test_a_budget_expires_at_its_moment(fast_sqlite: str) -> None:
    clock = Clock()
    with Ledger(fast_sqlite, clock=clock) as ledger:
        ledger.open("b", epsilon=1.0, protects="x", expires=START + timedelta(seconds=1))
        clock.forward(microseconds=999_999)
        assert (ledger.budget("b").state, ledger.would_exceed("b", qw.pure(1.0))) == (OPEN, False)
        clock.forward(microseconds=1)
        assert (ledger.budget("b").state, ledger.would_exceed("b", qw.pure(1.0))) == (EXPIRED, True)
        assert kinds(ledger, "b") == ["open"]  # nobody wrote it down
        ledger.close("b")
        assert ledger.budget("b").state == CLOSED
