"""Who may spend from one budget, and how much each: checked in the transaction, and again by every verification."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from fractions import Fraction
from typing import Any

import pytest
from tests.ledger.books import Clock

import quiltwork as qw
from quiltwork.errors import AccessDenied, BudgetExceeded, InvalidParameter, Unsupported
from quiltwork.ledger import Blocks, Ledger

DAY = timedelta(days=1)


class People:
    """A ledger as each of its principals uses it."""

    def __init__(self, url: str, clock: Clock) -> None:
        self.clock = clock
        with Ledger(url, clock=clock) as ledger:
            self.tokens = {"root": ledger.admit("root", "admin")}
        with Ledger(url, token=self.tokens["root"], clock=clock) as root:
            self.tokens |= {name: root.admit(name, "spender") for name in ("ada", "bob")}
        self.ledgers = {name: Ledger(url, token=token, clock=clock) for name, token in self.tokens.items()}

    def __getattr__(self, name: str) -> Ledger:
        return self.ledgers[name]

    def holds(self) -> None:
        for options in ({}, {"full": True}):
            found = self.root.verify(**options)
            assert found.holds, found


@pytest.fixture
def people(fast_sqlite: str) -> Iterator[People]:
    made = People(fast_sqlite, Clock())
    yield made
    for one in made.ledgers.values():
        one.disconnect()


def test_only_those_who_are_named_spend(people: People) -> None:
    people.root.open("b", epsilon=1.0, protects="x", spenders=["ada"])
    held = people.ada.reserve("b", qw.pure(0.25), lease=60)
    for act in (
        lambda: people.bob.spend("b", qw.pure(0.25)),
        lambda: people.bob.start(held.seq),
        lambda: people.root.spend("b", qw.pure(0.25)),  # an admin too is only who is named
        lambda: people.bob.rights("b", spenders=["bob"]),
    ):
        with pytest.raises(AccessDenied):
            act()
    assert isinstance(people.bob.spend_many([("b", qw.pure(0.25))])[0], AccessDenied)
    people.ada.start(held.seq)
    people.bob.balance("b")  # everybody reads
    people.root.rights("b", spenders=["bob"], note="ada left")
    people.bob.spend("b", qw.pure(0.25))
    with pytest.raises(AccessDenied):
        people.ada.spend("b", qw.pure(0.25))
    people.root.rights("b")
    people.ada.spend("b", qw.pure(0.25))
    people.holds()
    assert people.root.budget("b").terms.rights.to_json() == {"spenders": [], "quotas": {}}


@pytest.mark.parametrize("delta", [None, 1e-6])
def test_a_quota_is_a_share_of_each_unit_for_one_period(people: People, delta: float | None) -> None:
    people.root.open("b", epsilon=1.0, delta=delta, protects="x", refresh=DAY, quotas={"ada": "1/4"})
    people.ada.spend("b", qw.pure(0.125), times=2)
    with pytest.raises(BudgetExceeded, match="quota of 'ada'"):
        people.ada.spend("b", qw.pure(0.001))
    people.bob.spend("b", qw.pure(0.5))
    with pytest.raises(BudgetExceeded):
        people.bob.spend("b", qw.pure(0.5))  # the budget's own limit stays
    people.clock.forward(days=1)
    people.ada.spend("b", qw.pure(0.25))
    people.holds()


def test_what_is_given_back_makes_room_in_the_quota_of_who_held_it(people: People) -> None:
    people.root.open("b", epsilon=1.0, protects="x", quotas={"ada": 0.25, "bob": "0.25"})
    held = people.ada.reserve("b", qw.pure(0.25), lease=60)
    lapsing = people.bob.reserve("b", qw.pure(0.25), lease=30)
    with pytest.raises(BudgetExceeded):
        people.ada.spend("b", qw.pure(0.125))
    assert people.ada.would_exceed("b", qw.pure(0.125))
    people.root.refund(held.seq)  # an admin may give back what somebody else holds
    people.ada.spend("b", qw.pure(0.25))
    with pytest.raises(BudgetExceeded):
        people.bob.spend("b", qw.pure(0.125))
    people.clock.forward(seconds=40)
    people.bob.spend("b", qw.pure(0.25))
    assert lapsing.seq
    people.holds()


def test_quotas_beside_blocks_count_every_block(people: People) -> None:
    blocks = Blocks("hospital")
    people.root.open("b", epsilon=1.0, protects="x", blocks=blocks, quotas={"ada": "1/2"})
    people.ada.spend("b", qw.pure(0.25), blocks=["n"])
    people.ada.spend("b", qw.pure(0.25), blocks=["s"])
    with pytest.raises(BudgetExceeded):
        people.ada.spend("b", qw.pure(0.25), blocks=["w"])
    people.bob.spend("b", qw.pure(0.75))
    assert people.bob.balance("b").spent.upper == 1.0  # the tally of a quota is no block's
    people.holds()


def test_quotas_in_one_batch_are_held_against_each_other(people: People) -> None:
    people.root.open("b", epsilon=1.0, protects="x", quotas={"ada": "1/4"})
    found = people.ada.spend_many([("b", qw.pure(0.1))] * 5)
    assert [isinstance(one, BudgetExceeded) for one in found] == [False, False, True, True, True]
    people.holds()


def test_a_new_quota_counts_from_then_on_and_what_was_charged_stays(people: People) -> None:
    people.root.open("b", epsilon=1.0, protects="x")
    people.ada.spend("b", qw.pure(0.25))
    people.root.rights("b", quotas={"ada": "1/4"})
    people.ada.spend("b", qw.pure(0.25))
    people.root.rights("b", quotas={"ada": "3/8"})
    people.ada.spend("b", qw.pure(0.125))
    with pytest.raises(BudgetExceeded):
        people.ada.spend("b", qw.pure(0.001))
    people.holds()


def test_a_clock_that_was_ahead_keeps_quotas(people: People) -> None:
    people.root.open("b", epsilon=1.0, protects="x", refresh=DAY, quotas={"ada": "1/2"})
    people.clock.forward(days=3)
    people.ada.spend("b", qw.pure(0.5))
    people.clock.forward(days=-3)
    people.root.accept_clock("it was ahead")
    with pytest.raises(BudgetExceeded):
        people.ada.spend("b", qw.pure(0.001))
    people.clock.forward(days=3)
    people.ada.spend("b", qw.pure(0.5))
    people.holds()


@pytest.mark.parametrize(
    "given",
    [
        {"quotas": {"ada": 0}}, {"quotas": {"ada": "2"}}, {"quotas": {"ada": "x"}}, {"quotas": {"ada": float("nan")}},
        {"quotas": {"ada": None}}, {"quotas": {"": "1/2"}}, {"quotas": ["ada"]}, {"quotas": {"ada": "1/0"}},
        {"spenders": ["ada", "ada"]}, {"spenders": "ada"}, {"spenders": ["bob"], "quotas": {"ada": "1/2"}},
        {"quotas": {"ada": Fraction(1, 10**12)}}, {"spenders": ["a\tb"]},
    ],
)  # fmt: skip
def test_rights_that_are_none(people: People, given: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter):
        people.root.open("b", epsilon=1.0, protects="x", **given)
    people.root.open("b", epsilon=1.0, protects="x")
    with pytest.raises(InvalidParameter):
        people.root.rights("b", **given)


def test_a_plan_has_spenders_and_no_quota(people: People) -> None:
    plan: dict[str, Any] = {"kind": "planned", "plan": [("a", qw.pure(0.5))], "epsilon": 1.0, "protects": "x"}
    with pytest.raises(Unsupported):
        people.root.open("p", quotas={"ada": "1/2"}, **plan)
    people.root.open("p", spenders=["ada"], **plan)
    with pytest.raises(Unsupported):
        people.root.rights("p", quotas={"ada": "1/2"})
    with pytest.raises(AccessDenied):
        people.bob.spend("p", release="a")
    people.ada.spend("p", release="a")
    people.holds()
