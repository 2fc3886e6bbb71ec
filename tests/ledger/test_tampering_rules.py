"""A derived row is changed so that an honest ledger lets something through: the chain itself tells, whatever rows say.

The entry is genuine, hashed and signed; only the rules of replaying find it. So it does not help the forger to put the
row back afterwards.
"""

from __future__ import annotations

import contextlib
import copy
import json
import sqlite3
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import attrs
import pytest
from tests.ledger.rich import Clock

import quiltwork as qw
from quiltwork.errors import QuiltworkError
from quiltwork.ledger import Blocks, Ledger


@attrs.frozen
class World:
    """A ledger with nothing left in it, and its tables."""

    ledger: Ledger
    clock: Clock
    raw: sqlite3.Connection
    held: int
    viewer: Ledger
    nobody: Ledger

    def standing(self, name: str, **changes: Any) -> None:
        """Change the row of a budget."""
        ((text,),) = self.raw.execute("SELECT standing FROM ledger_budgets WHERE name = ?", (name,)).fetchall()
        changed = json.dumps({**json.loads(text), **changes}, sort_keys=True, separators=(",", ":"))
        self.raw.execute("UPDATE ledger_budgets SET standing = ? WHERE name = ?", (changed, name))

    def terms(self, name: str, old: str, new: str) -> None:
        """Change what was fixed at opening."""
        ((before,),) = self.raw.execute("SELECT terms FROM ledger_budgets WHERE name = ?", (name,)).fetchall()
        assert old in before
        self.run("UPDATE ledger_budgets SET terms = ? WHERE name = ?", before.replace(old, new), name)

    def run(self, statement: str, *values: Any) -> None:
        assert self.raw.execute(statement, values).rowcount > 0


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    clock = Clock()
    ledger = Ledger(f"sqlite:///{tmp_path}/budgets.db", clock=clock)
    ledger.open("city", epsilon=1.0, protects="one person")
    ledger.open("shut", epsilon=1.0, protects="one person")
    ledger.open("late", epsilon=1.0, protects="one person", expires=clock() + timedelta(days=1))
    ledger.open("days", epsilon=1.0, protects="one person", blocks=Blocks("day"))
    ledger.open("plan", epsilon=1.0, protects="one person", kind="planned", plan=[("ages", qw.pure(0.5), 2)])
    ledger.open("week", epsilon=1.0, protects="one person", refresh=timedelta(days=7))
    ledger.open("jobs", epsilon=1.0, protects="one person")
    ledger.spend("city", qw.pure(1.0))
    ledger.spend("days", qw.pure(1.0), blocks="monday")
    ledger.spend("plan", release="ages", times=2)
    ledger.spend("week", qw.pure(1.0))
    held = ledger.reserve("jobs", qw.pure(1.0), lease=60)
    ledger.close("shut")
    clock.wait(days=2)
    nobody = ledger
    ledger = nobody.sign_in(nobody.admit("ada", "admin"))
    viewer = ledger.sign_in(ledger.admit("eve", "viewer"))
    with contextlib.closing(sqlite3.connect(tmp_path / "budgets.db", isolation_level=None)) as raw:
        yield World(ledger, clock, raw, held.seq, viewer, nobody)
    ledger.dispose()


Act = Callable[[World], Any]
CASES: dict[str, tuple[Act, Act]] = {
    "spent": (
        lambda world: world.standing("city", spent=["0", "0"]),
        lambda world: world.ledger.spend("city", qw.pure(0.5)),
    ),
    "closed": (
        lambda world: world.standing("shut", state="open"),
        lambda world: world.ledger.spend("shut", qw.pure(0.5)),
    ),
    "expired": (
        lambda world: world.terms("late", '"expires":"2026', '"expires":"2999'),
        lambda world: world.ledger.spend("late", qw.pure(0.5)),
    ),
    "larger": (
        lambda world: world.terms("city", '"limit":["1/1","0/1"]', '"limit":["9/1","0/1"]'),
        lambda world: world.ledger.spend("city", qw.pure(0.5)),
    ),
    "block": (
        lambda world: world.run("DELETE FROM ledger_tallies WHERE budget = 'days'"),
        lambda world: world.ledger.spend("days", qw.pure(0.5), blocks="monday"),
    ),
    "runs": (
        lambda world: world.run("UPDATE ledger_tallies SET amount = '0' WHERE budget = 'plan'"),
        lambda world: world.ledger.spend("plan", release="ages"),
    ),
    "period": (
        lambda world: world.standing("week", since="2025-01-01T00:00:00.000000+00:00"),
        lambda world: world.ledger.spend("week", qw.pure(0.5)),
    ),
    "lease": (
        lambda world: world.run("UPDATE ledger_reservations SET until = '2999-01-01T00:00:00.000000+00:00'"),
        lambda world: world.ledger.start(world.held),
    ),
    "role": (
        lambda world: world.run("UPDATE ledger_principals SET role = 'admin' WHERE name = 'eve'"),
        lambda world: world.viewer.pause("city"),
    ),
    "no tokens": (
        lambda world: world.run("DELETE FROM ledger_principals"),
        lambda world: world.nobody.pause("city"),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_what_a_changed_row_lets_through_is_seen(world, case):
    """Refused already, or found at the very entry."""
    tamper, act = CASES[case]
    with pytest.raises(QuiltworkError):
        act(world)
    assert world.ledger.verify().holds
    tamper(world)
    fresh = attrs.evolve(world, **{name: _fresh(getattr(world, name)) for name in ("ledger", "viewer", "nobody")})
    before = len(list(world.ledger.history()))
    try:
        act(fresh)
    except QuiltworkError:
        return
    ((entries,),) = world.raw.execute("SELECT count(*) FROM ledger_entries").fetchall()
    assert entries == before + 1
    world.run("UPDATE ledger_principals SET role = 'viewer' WHERE name = 'eve'")
    found = world.ledger.verify()
    assert not found.holds
    assert found.first_bad == entries, found.problem


def _fresh(ledger: Ledger) -> Ledger:
    """The same, as another process would have it: nothing is remembered."""
    other = copy.copy(ledger)
    other._session = attrs.evolve(ledger._session, known={})
    return other
