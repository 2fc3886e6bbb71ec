"""Ten thousand calls of the public interface with whatever comes: only our own errors, no refusal leaves a trace."""

from __future__ import annotations

import contextlib
import io
import json
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import attrs
import pytest
from hypothesis import strategies as st
from tests.examples import examples
from tests.ledger.fuzzing import (
    CASES,
    CHEAP,
    NAMES,
    Fuzzed,
    asked,
    cases,
    shown,
    tagged,
    unchanged,
    used,
    with_tokens,
)
from tests.ledger.junk import JUNK, LOSSES, either, junk, losses, rather

import quiltwork as qw
from quiltwork.errors import AccessDenied, QuiltworkError
from quiltwork.ledger import Blocks, Ledger, Receipt


@pytest.fixture(scope="module")
def shared() -> Iterator[Fuzzed]:
    """One ledger for every test of this file: whatever one of them broke, the next would see."""
    with used() as made:
        yield made


@pytest.fixture(scope="module")
def guarded() -> Iterator[Fuzzed]:
    with with_tokens() as made:
        yield made


def test_ten_thousand():
    """Of the profile `default`; `ci` runs a share of them, a campaign many more."""
    assert sum(CASES.values()) >= 10_000
    assert len(LOSSES) > 100
    assert len({part.family.kind for loss in LOSSES for part in loss.parts}) >= 15


def test_a_change_would_be_seen(shared):
    """The look past the ledger works: an entry, and a row that somebody else changed and put back."""
    before = shared.state()
    shared.ledger.spend("wide", CHEAP[0])
    after = shared.state()
    assert (after[0], after[2]) == (before[0] + 1, before[2] + 1)
    assert after[1] != before[1]
    with contextlib.closing(sqlite3.connect(shared.folder / "shared.db")) as other:
        for change in ("standing || ' '", "trim(standing)"):
            other.execute(f"UPDATE ledger_budgets SET standing = {change}")
            other.commit()
    assert shared.state() != after

    def refuses() -> None:
        shared.ledger.spend("wide", CHEAP[0])
        raise QuiltworkError("after it was done")

    def fails() -> None:
        raise ZeroDivisionError

    for act in (refuses, fails):
        shared.call(act)
        assert len(shared.problems) == 1
        shared.problems.clear()


# ---- opening


def test_open(shared):
    fresh = st.integers(0, 10**9).map(lambda number: f"budget {number}")
    limits = st.one_of(
        st.fixed_dictionaries({"epsilon": rather(1.0, 0.1, 1e-100, 1e100)}),
        st.fixed_dictionaries({"epsilon": rather(1.0, 3, 40.0), "delta": rather(1e-6, 1e-100, 0.999)}),
        st.fixed_dictionaries({"rho": rather(0.5, 1e-100)}),
        st.fixed_dictionaries({"mu": rather(1.0, 1e100)}),
        st.dictionaries(st.sampled_from(["epsilon", "delta", "rho", "mu"]), junk, max_size=4),
    )
    plan = st.one_of(
        junk,
        st.lists(st.tuples(rather("ages", "b"), either(losses, junk)), max_size=3),
        st.lists(st.tuples(rather("ages", "b"), st.sampled_from(LOSSES[:20]), rather(1, 5)), min_size=1, max_size=3),
    )
    more = st.fixed_dictionaries(
        {"protects": rather("one person", qw.user("person", 4), qw.add_remove())},
        optional={
            "kind": rather("adaptive", "planned"), "filter": rather("pure", "renyi", "zcdp", "gdp", None),
            "order": rather(2.0, None), "reveal": rather(0.0, 1e-9),
            "expires": rather(None, datetime(2999, 1, 1, tzinfo=UTC)),
            "refresh": rather(None, 60, timedelta(days=1)), "blocks": rather(None, Blocks("day")),
            "owners": rather((), ["ada"]), "note": rather("", "a\nb"),
        },
    )  # fmt: skip
    planned = st.fixed_dictionaries({"kind": st.just("planned"), "plan": plan, "protects": st.just("x")})

    def act(drawn: Any) -> None:
        name, limit, options = drawn
        shown(shared.call(shared.ledger.open, name, **{**limit, **options}))

    cases("open", st.tuples(either(fresh, junk, 5), limits, either(more, planned, 2)), act, shared)


def test_blocks(shared):
    cases(
        "blocks",
        st.tuples(rather("day"), rather(None, ["a", "b"]), rather(1, 2)),
        lambda drawn: shown(shared.call(Blocks, *drawn)),
        shared,
    )


# ---- spending


def test_spend(shared):
    def act(drawn: Any) -> None:
        (name, loss, options), more = drawn
        found = shared.call(shared.ledger.spend, name, loss, **options, **more)
        if isinstance(found, Receipt):
            found.check(shared.ledger.public_key)
            shown(found)

    before = shared.state()[0]
    cases("spend", st.tuples(asked, tagged), act, shared)
    assert shared.state()[0] > before + examples(CASES["spend"]) // 36  # many were granted too


def test_reserve(shared):
    def act(drawn: Any) -> None:
        (name, loss, options), more, lease = drawn
        shown(shared.call(shared.ledger.reserve, name, loss, lease=lease, **options, **more))

    before = shared.state()[0]
    cases("reserve", st.tuples(asked, tagged, rather(0.001, 60, timedelta(days=1))), act, shared)
    assert shared.state()[0] > before + examples(CASES["reserve"]) // 50


def test_run(shared):
    def act(drawn: Any) -> None:
        (name, loss, options), more, call = drawn
        shared.call(shared.ledger.run, name, loss, call, **options, **more)

    def refuses() -> None:
        shared.ledger.budget("nobody")

    calls = st.sampled_from([lambda: 7, dict, None, 7, "x", [], ...])
    cases("run", st.tuples(asked, tagged, calls), act, shared)
    before = shared.state()
    with pytest.raises(QuiltworkError):
        shared.ledger.run("weekly", qw.gdp(1e-6), refuses)
    kinds = [entry.kind for entry in shared.ledger.history(after=before[0])]
    assert kinds[-2:] == ["reserve", "start"]  # it was called, so it stays spent


def test_move(shared):
    known = [entry.seq for entry in shared.ledger.history() if entry.kind == "reserve"]
    number = either(st.one_of(st.sampled_from(known), st.integers(0, shared.state()[0] + 3)), junk)

    def act(drawn: Any) -> None:
        name, seq, note = drawn
        shown(shared.call(getattr(shared.ledger, name), seq, **({} if name == "start" else {"note": note})))

    cases("move", st.tuples(st.sampled_from(["start", "settle", "refund"]), number, rather("", "ok")), act, shared)


def test_state(shared):
    """Pause, resume, close; 'closed' is there to be closed again."""
    names = rather("paused", "closed", "nobody", "gone")

    def act(drawn: Any) -> None:
        name, budget, note = drawn
        shown(shared.call(getattr(shared.ledger, name), budget, note))

    cases("state", st.tuples(st.sampled_from(["pause", "resume", "close"]), names, rather("", "ok")), act, shared)


# ---- asking


@pytest.mark.parametrize("name", ["would_exceed", "forecast"])
def test_questions(shared, name):
    def act(drawn: Any) -> None:
        budget, loss, options = drawn
        if name == "forecast":
            options = {key: value for key, value in options.items() if key != "times"}
        shown(unchanged(shared, getattr(shared.ledger, name), budget, loss, **options))

    cases(name, asked, act, shared)


def test_balance(shared):
    def act(drawn: Any) -> None:
        shown(unchanged(shared, shared.ledger.balance, *drawn))
        shown(unchanged(shared, shared.ledger.budget, drawn[0]))

    cases("balance", st.tuples(rather(*NAMES), rather(None, "a", "monday")), act, shared)


def test_history(shared):
    def act(drawn: Any) -> None:
        name, after, limit = drawn
        found = unchanged(shared, lambda: list(shared.ledger.history(name, after=after, limit=limit)))
        if isinstance(found, list):
            assert all(name is None or entry.budget == name for entry in found)
            assert limit is None or len(found) <= limit

    number = st.one_of(st.integers(0, 10**6), rather(0, 1, 5, 2**53))
    cases("history", st.tuples(rather(None, *NAMES), number, st.one_of(st.integers(0, 5), rather(0, 3))), act, shared)


def test_receipt(shared):
    def act(drawn: Any) -> None:
        shown(unchanged(shared, shared.ledger.receipt, drawn))

    cases("receipt", either(st.one_of(st.integers(-5, 10**4), st.integers()), junk, 1), act, shared)


# ---- integrity


def test_verify(shared):
    good = shared.ledger.receipt(2)
    fields = st.dictionaries(st.sampled_from([one.name for one in attrs.fields(Receipt)]), junk, max_size=2)
    bad = fields.map(lambda changes: attrs.evolve(good, **changes))
    receipts = either(st.lists(either(bad, junk), max_size=2), junk)

    def act(drawn: Any) -> None:
        receipts, progress = drawn
        shown(unchanged(shared, shared.ledger.verify, receipts=receipts, progress=progress))

    cases("verify", st.tuples(receipts, rather(None).filter(lambda one: not callable(one))), act, shared)


def test_export(shared):
    class Full(io.StringIO):
        def write(self, text: str) -> int:
            raise QuiltworkError("full")

    def act(drawn: Any) -> None:
        unchanged(shared, shared.ledger.export, drawn)

    cases("export", st.one_of(junk, st.builds(io.StringIO), st.builds(Full), st.builds(io.BytesIO)), act, shared)


def test_restore(shared):
    """Into a ledger, into nowhere, and into a new file: nothing of it stays."""
    stream = io.StringIO()
    shared.ledger.export(stream)
    content = stream.getvalue().splitlines()[:30]
    lines = st.one_of(
        junk,
        st.lists(either(st.sampled_from(content), junk), max_size=4),
        st.lists(st.dictionaries(st.text(max_size=5), st.none()).map(json.dumps), max_size=3).map(
            lambda x: content[:1] + x
        ),
    )
    urls = st.sampled_from([f"sqlite:///{shared.folder}/new.db", f"sqlite:///{shared.folder}/shared.db"])

    def act(drawn: Any) -> None:
        url, given, key = drawn
        found = unchanged(shared, Ledger.restore, url, given, key=key)
        assert isinstance(found, QuiltworkError)

    cases("restore", st.tuples(either(urls, junk, 2), lines, rather(None)), act, shared)
    new = shared.folder / "new.db"
    if new.exists():
        with contextlib.closing(sqlite3.connect(new)) as raw:
            assert raw.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,)


def test_make(shared):
    """Ledger(...) itself: on the ledger that is there, and on places that are none."""
    here = f"sqlite:///{shared.folder}/shared.db"
    urls = st.one_of(
        st.sampled_from(
            [here, here, "sqlite://", "sqlite:///:memory:", "sqlite:////nowhere/x.db", "mysql://x/y", "postgresql:///"]
        ),
        junk,
    )
    options = st.fixed_dictionaries(
        {},
        optional={
            "key": rather(None),
            "token": rather(None),
            "clock": rather(None, lambda: datetime.now(UTC)),
            "timeout": rather(5.0),
        },
    )

    def act(drawn: Any) -> None:
        url, more = drawn
        made = shared.call(Ledger, url, **more)
        if isinstance(made, Ledger):
            shared.tried -= 1
            shared.call(made.balance, "pure")
            made.dispose()

    cases("make", st.tuples(urls, options), act, shared)


# ---- people


def test_people(guarded):
    """Admitted are few: every token costs a tenth of a second."""
    roles = st.one_of(st.sampled_from(["root", "ADMIN", ""]), junk)
    names = rather("ada", "bob", "nobody")
    expired = st.sampled_from([one for one in JUNK if not isinstance(one, datetime) and one is not None])

    def act(drawn: Any) -> None:
        name, role, expires, revoked = drawn
        guarded.call(guarded.ledger.admit, name, role)
        guarded.call(guarded.ledger.admit, name, "viewer", expires=expires)
        guarded.call(guarded.ledger.revoke, revoked)
        shown(guarded.call(guarded.ledger.principals))

    cases("people", st.tuples(names, roles, expired, names), act, guarded)
    assert {one.name for one in guarded.ledger.principals() if not one.revoked} == {"ada"}


def test_sign_in(guarded):
    token = st.sampled_from(["qw_", "qw_x_y", "qw_" + "0" * 16 + "_" + "0" * 63, "qw_" + "g" * 16 + "_" + "0" * 64])

    def act(drawn: Any) -> None:
        assert isinstance(guarded.call(guarded.ledger.sign_in, drawn), AccessDenied)

    cases("sign_in", st.one_of(token, st.text(), junk), act, guarded)
