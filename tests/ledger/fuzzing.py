"""A ledger under fire: what is called, what may come out, and a look past it at what was written."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sqlite3
import tempfile
import traceback
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import attrs
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests.examples import examples
from tests.ledger.junk import either, junk, losses, rather

import quiltwork as qw
from quiltwork.errors import AccessDenied, BudgetExceeded, QuiltworkError
from quiltwork.ledger import Blocks, Ledger

CASES = {
    "open": 1400, "blocks": 200, "spend": 1800, "reserve": 1000, "run": 500, "move": 800, "would_exceed": 700,
    "forecast": 600, "balance": 500, "history": 500, "receipt": 300, "state": 500, "verify": 300, "export": 100,
    "restore": 200, "make": 400, "people": 200, "sign_in": 200,
}  # fmt: skip
NAMES = (
    "pure",
    "usual",
    "plan",
    "days",
    "pairs",
    "weekly",
    "paused",
    "closed",
    "gone",
    "nobody",
    "wide",
    "deep",
    "long",
)


def brief(value: object) -> str:
    try:
        return f"{value!r:.400}"
    except (ValueError, RecursionError):  # an integer of too many digits, a list in itself
        return f"<{type(value).__name__}>"


@attrs.define
class Fuzzed:
    """A ledger, and a look at its file past it."""

    ledger: Ledger
    raw: sqlite3.Connection
    folder: Path
    tried: int = 0
    refused: int = 0
    problems: dict[str, str] = attrs.Factory(dict)  # what should not have come out, and an example of each

    def state(self) -> tuple[Any, ...]:
        """The newest entry, how many there are, and whether anybody wrote anything at all."""
        head = self.raw.execute("SELECT seq, hash, (SELECT count(*) FROM ledger_entries) FROM ledger_head").fetchone()
        (changes,) = self.raw.execute("PRAGMA data_version").fetchone()  # as of the last reading, so it comes second
        return (*head, changes)

    def call(self, act: Callable[..., Any], *given: Any, **options: Any) -> Any:
        """The result, or the refusal: nothing else may come out, and a refusal changes nothing."""
        self.tried += 1
        before = self.state()
        try:
            return act(*given, **options)
        except QuiltworkError as error:
            self.refused += 1
            refusal = error
        except Exception as error:
            self.note(error, f"{getattr(act, '__name__', act)} {brief(given)} {brief(options)}")
            return error
        after = self.state()
        denied = isinstance(refusal, AccessDenied) and (after[0], after[2]) == (before[0] + 1, before[2] + 1)
        noted = isinstance(refusal, BudgetExceeded) and after[:3] == before[:3]
        if after != before and not denied and not noted:  # both are written down, that of access in the chain
            self.problems[f"{type(refusal).__name__} changed something"] = f"{brief(given)} {brief(options)} {refusal}"
        return refusal

    def note(self, error: Exception, example: str) -> None:
        last = traceback.extract_tb(error.__traceback__)[-1]
        ours = [one for one in traceback.extract_tb(error.__traceback__) if "quiltwork" in one.filename]
        place = (ours or [last])[-1]
        name = f"{type(error).__name__} in {Path(place.filename).name}:{place.lineno}"
        self.problems.setdefault(name, f"{str(error)[:80]}: {example}")


@contextlib.contextmanager
def fuzzed(name: str, clock: Callable[[], datetime] | None = None) -> Iterator[Fuzzed]:
    memory = Path("/dev/shm")
    folder = Path(tempfile.mkdtemp(prefix="quiltwork-", dir=memory if memory.is_dir() else None))
    ledger = Ledger(f"sqlite:///{folder}/{name}.db", clock=clock)
    raw = sqlite3.connect(folder / f"{name}.db", check_same_thread=False)
    before = os.getcwd()
    os.chdir(folder)  # where a strange name makes a file, if it does
    try:
        yield Fuzzed(ledger, raw, folder)
    finally:
        os.chdir(before)
        raw.close()
        ledger.dispose()
        shutil.rmtree(folder)


@contextlib.contextmanager
def used() -> Iterator[Fuzzed]:
    """One ledger for every test of this file: whatever one of them broke, the next would see."""
    behind = timedelta(hours=1)  # so that a budget has expired, however long the rest takes
    with fuzzed("shared", lambda: datetime.now(UTC) - behind) as made:
        ledger = made.ledger
        ledger.open("pure", epsilon=5.0, protects="one person")
        ledger.open("usual", epsilon=3.0, delta=1e-6, protects=qw.user("person", 4), reveal=1e-7)
        ledger.open("plan", epsilon=2.0, delta=1e-6, protects="x", kind="planned",
                    plan=[("ages", qw.gaussian(20.0), 10), ("incomes", qw.laplace(20.0), 2)])  # fmt: skip
        ledger.open("days", rho=0.5, protects="x", blocks=Blocks("day"))
        ledger.open("pairs", epsilon=4.0, protects="x", blocks=Blocks("part", ("a", "b", "c"), most=2))
        ledger.open("weekly", mu=1.0, protects="x", refresh=timedelta(days=7))
        for name in ("paused", "closed"):
            ledger.open(name, epsilon=1.0, protects="x")
        ledger.open("gone", epsilon=1.0, protects="x", expires=datetime.now(UTC) - behind / 2)
        ledger.open("wide", epsilon=1e50, protects="x")
        ledger.open("deep", rho=1e50, protects="x", blocks=Blocks("day", most=3))
        ledger.open("long", epsilon=1e50, delta=0.5, protects="x", filter="pure")
        ledger.reserve("pure", qw.pure(0.01), lease=3600)
        ledger.pause("paused")
        ledger.close("closed")
        behind = timedelta(0)
        yield made


@contextlib.contextmanager
def with_tokens() -> Iterator[Fuzzed]:
    """A ledger that asks for tokens."""
    with fuzzed("guarded") as made:
        token = made.ledger.admit("ada", "admin")
        made.ledger = made.ledger.sign_in(token)
        made.ledger.open("city", epsilon=1.0, protects="one person")
        yield made


def cases(name: str, strategy: st.SearchStrategy[Any], act: Callable[[Any], None], on: Fuzzed) -> None:
    """Run as many examples as planned for this profile; then everything must still hold."""
    wanted, before = examples(CASES[name]), on.tried

    @settings(
        max_examples=wanted, deadline=None, database=None, phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(strategy)
    def each(drawn: Any) -> None:
        act(drawn)

    each()
    none_but_ours(on)
    assert on.tried - before >= wanted
    assert on.refused
    found = on.ledger.verify()
    assert found.holds, found
    assert found.entries == on.state()[2]


def none_but_ours(on: Fuzzed) -> None:
    """Nothing came out that is no refusal of ours."""
    found = "\n".join(f"{name}\n    {example}" for name, example in on.problems.items())
    on.problems.clear()
    assert not found, f"what is none of our errors:\n{found}"


def shown(value: Any) -> None:
    """What is given back can be printed and written as JSON."""
    for way in ("explain", "to_json", "show", "_repr_html_"):
        if hasattr(value, way):
            json.dumps(getattr(value, way)(), allow_nan=False)
    assert str(value)
    assert repr(value)


def unchanged(shared: Fuzzed, act: Callable[..., Any], *given: Any, **options: Any) -> Any:
    """A question changes nothing, whatever the answer."""
    before = shared.state()
    found = shared.call(act, *given, **options)
    assert shared.state() == before
    return found


spends = st.fixed_dictionaries(
    {},
    optional={
        "release": rather(None, "ages", "incomes"), "times": rather(1, 2, 1000),
        "blocks": rather(None, "a", ["a", "b"], "monday"),
    },
)  # fmt: skip
tagged = st.fixed_dictionaries(
    {}, optional={"note": rather("", "ok"), "key": rather(None, None, "one", "two", "start:5")}
)
CHEAP = [
    qw.pure(1e-6), qw.laplace(1e6), qw.gaussian(1e4), qw.zcdp(1e-9), qw.gdp(1e-4), qw.poisson(qw.gaussian(40.0), 0.001)
]  # fmt: skip
cheap, parts = st.sampled_from(CHEAP), st.sampled_from([{}, {"blocks": "a"}, {"blocks": ["b", "c"]}])
odd = st.tuples(rather(*NAMES), either(losses, junk), spends)
fine = st.one_of(
    st.tuples(st.sampled_from(["pure", "usual", "weekly", "wide", "long"]), cheap, st.just({})),
    st.tuples(st.sampled_from(["days", "pairs", "deep"]), cheap, parts),
    st.tuples(st.just("plan"), st.none(), st.sampled_from([{"release": "ages"}, {"release": "incomes"}])),
)
asked = either(odd, fine, 2)
