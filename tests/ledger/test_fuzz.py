"""Ten thousand calls of the public interface with whatever comes: only our own errors, no refusal leaves a trace."""

from __future__ import annotations

import contextlib
import io
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
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests.ledger.junk import JUNK, LOSSES, either, junk, losses, rather

import quiltwork as qw
from quiltwork.errors import AccessDenied, QuiltworkError
from quiltwork.ledger import Blocks, Ledger, Receipt

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


def test_ten_thousand():
    assert sum(CASES.values()) >= 10_000
    assert len(LOSSES) > 100
    assert len({part.family.kind for loss in LOSSES for part in loss.parts}) >= 15


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
        (changes,) = self.raw.execute("PRAGMA data_version").fetchone()
        head = self.raw.execute("SELECT seq, hash, (SELECT count(*) FROM ledger_entries) FROM ledger_head").fetchone()
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
        if after != before and not denied:  # a refusal of access is written down
            self.problems[f"{type(refusal).__name__} changed something"] = f"{brief(given)} {brief(options)} {refusal}"
        return refusal

    def note(self, error: Exception, example: str) -> None:
        last = traceback.extract_tb(error.__traceback__)[-1]
        ours = [one for one in traceback.extract_tb(error.__traceback__) if "quiltwork" in one.filename]
        place = (ours or [last])[-1]
        name = f"{type(error).__name__} in {Path(place.filename).name}:{place.lineno}"
        self.problems.setdefault(name, f"{str(error)[:80]}: {example}")


@contextlib.contextmanager
def fuzzed(name: str) -> Iterator[Fuzzed]:
    memory = Path("/dev/shm")
    folder = Path(tempfile.mkdtemp(prefix="quiltwork-", dir=memory if memory.is_dir() else None))
    ledger = Ledger(f"sqlite:///{folder}/{name}.db")
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


@pytest.fixture(scope="module")
def shared() -> Iterator[Fuzzed]:
    """One ledger for every test of this file: whatever one of them broke, the next would see."""
    with fuzzed("shared") as made:
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
        ledger.open("gone", epsilon=1.0, protects="x", expires=datetime.now(UTC) + timedelta(seconds=0.5))
        ledger.open("wide", epsilon=1e50, protects="x")
        ledger.open("deep", rho=1e50, protects="x", blocks=Blocks("day", most=3))
        ledger.open("long", epsilon=1e50, delta=0.5, protects="x", filter="pure")
        ledger.reserve("pure", qw.pure(0.01), lease=3600)
        ledger.pause("paused")
        ledger.close("closed")
        yield made


def cases(name: str, strategy: st.SearchStrategy[Any], act: Callable[[Any], None], on: Fuzzed) -> None:
    """Run as many examples as planned, in every profile; then everything must still hold."""
    wanted, before = CASES[name], on.tried

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


def test_spend(shared):
    def act(drawn: Any) -> None:
        (name, loss, options), more = drawn
        found = shared.call(shared.ledger.spend, name, loss, **options, **more)
        if isinstance(found, Receipt):
            found.check(shared.ledger.public_key)
            shown(found)

    before = shared.state()[0]
    cases("spend", st.tuples(asked, tagged), act, shared)
    assert shared.state()[0] > before + 50  # many were granted too


def test_reserve(shared):
    def act(drawn: Any) -> None:
        (name, loss, options), more, lease = drawn
        shown(shared.call(shared.ledger.reserve, name, loss, lease=lease, **options, **more))

    before = shared.state()[0]
    cases("reserve", st.tuples(asked, tagged, rather(0.001, 60, timedelta(days=1))), act, shared)
    assert shared.state()[0] > before + 20


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


def unchanged(shared: Fuzzed, act: Callable[..., Any], *given: Any, **options: Any) -> Any:
    """A question changes nothing, whatever the answer."""
    before = shared.state()
    found = shared.call(act, *given, **options)
    assert shared.state() == before
    return found


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


@pytest.fixture(scope="module")
def guarded() -> Iterator[Fuzzed]:
    """A ledger that asks for tokens."""
    with fuzzed("guarded") as made:
        token = made.ledger.admit("ada", "admin")
        made.ledger = made.ledger.sign_in(token)
        made.ledger.open("city", epsilon=1.0, protects="one person")
        yield made


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


# ---- one wrong parameter, everything else right

GOOD: dict[str, dict[str, Any]] = {
    "open": {"name": "pure", "epsilon": 1.0, "delta": 1e-6, "protects": "x", "kind": "adaptive", "filter": "renyi",
             "order": 5.0, "reveal": 1e-7, "expires": None, "refresh": 60, "blocks": None, "owners": (), "note": "",
             "rho": None, "mu": None, "plan": None},
    "spend": {"name": "deep", "loss": CHEAP[0], "release": None, "times": 1, "blocks": "a", "note": "", "key": None},
    "reserve": {"name": "deep", "loss": CHEAP[0], "release": None, "times": 1, "blocks": "a", "note": "", "key": None,
                "lease": 60},
    "would_exceed": {"name": "deep", "loss": CHEAP[0], "release": None, "times": 1, "blocks": "a"},
    "forecast": {"name": "deep", "loss": CHEAP[0], "release": None, "blocks": "a"},
    "balance": {"name": "deep", "block": "a"},
    "budget": {"name": "deep"},
    "history": {"name": "deep", "after": 0, "limit": 1},
    "receipt": {"seq": 3},
    "start": {"seq": 3},
    "settle": {"seq": 3, "note": ""},
    "refund": {"seq": 3, "note": ""},
    "pause": {"name": "paused", "note": ""},
    "resume": {"name": "deep", "note": ""},
    "close": {"name": "closed", "note": ""},
}  # fmt: skip


@pytest.mark.parametrize("name", GOOD)
def test_one_wrong_parameter(shared, name):
    """Every parameter with every piece of junk; a planned budget too, and one without blocks."""
    act = getattr(shared.ledger, name)
    other = [{}]
    if name in ("spend", "reserve", "would_exceed", "forecast"):
        other += [{"name": "plan", "loss": None, "release": "ages", "blocks": None}, {"name": "wide", "blocks": None}]
    if name == "open":
        other += [{"kind": "planned", "plan": [("a", CHEAP[0])], "filter": None, "order": None, "reveal": 0.0}]
    for more in other:
        for parameter in GOOD[name]:
            for value in JUNK:
                options = {**GOOD[name], **more, parameter: value}
                if name == "open" and parameter != "name":
                    options["name"] = f"fresh {shared.tried}"
                found = shared.call(act, **options)
                if name == "history" and not isinstance(found, Exception):
                    shared.call(list, found)
    none_but_ours(shared)
    assert shared.ledger.verify().holds


@pytest.mark.parametrize(
    ("name", "parameter"),
    [
        ("admit", "name"),
        ("admit", "role"),
        ("admit", "expires"),
        ("revoke", "name"),
        ("sign_in", "token"),
        ("accept_clock", "note"),
        ("rotate", "key"),
    ],
)
def test_one_wrong_parameter_of_people(guarded, name, parameter):
    good = {"admit": {"name": "eve", "role": "root", "expires": None}, "revoke": {}}.get(name, {})
    for value in JUNK:
        role = (
            {"role": "viewer"}
            if parameter == "expires" and value is not None and not isinstance(value, datetime)
            else {}
        )
        guarded.call(getattr(guarded.ledger, name), **{**good, **role, parameter: value})
    none_but_ours(guarded)
    assert guarded.ledger.verify().holds
