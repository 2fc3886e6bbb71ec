"""Who may do what: every act of a ledger by everybody who could ask."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from tests.ledger.books import START, Clock, chain, kinds

import quiltwork as qw
from quiltwork.errors import AccessDenied, AlreadyRun, InvalidParameter
from quiltwork.ledger import Ledger, blocks_by

READ, SPEND, MANAGE, OWN = "read", "spend", "manage", "own"  # own: what the owners of a budget may do besides admins
MAY = {
    "viewer": {READ},  # also when named as an owner: an owner manages only if he may spend
    "spender": {READ, SPEND},
    "owner": {READ, SPEND, OWN},
    "admin": {READ, SPEND, OWN, MANAGE},
    "nobody": set(),
    "revoked": set(),
    "expired": set(),
    "replaced": set(),
}


class World:
    """One ledger and a hand on it for everybody."""

    def __init__(self, url: str) -> None:
        self.clock, self._names = Clock(), count()
        self.nobody = Ledger(url, clock=self.clock)
        self.tokens = {"admin": self.nobody.admit("admin", "admin")}
        self.admin = self.nobody.sign_in(self.tokens["admin"])
        for name in ("viewer", "spender", "owner", "revoked", "expired", "replaced"):
            role = {"viewer": "viewer", "revoked": "admin"}.get(name, "spender")
            expires = START + timedelta(hours=1) if name == "expired" else None
            self.tokens[name] = self.admin.admit(name, role, expires=expires)
        self.hands = {"nobody": self.nobody, "admin": self.admin}
        self.hands |= {name: self.nobody.sign_in(self.tokens[name]) for name in self.tokens if name != "admin"}
        self.tokens["renewed"] = self.admin.admit("replaced", "spender")
        self.admin.revoke("revoked")
        self.clock.forward(hours=1)

    def budget(self) -> str:
        """A new one with owners of several roles."""
        name = f"budget {next(self._names)}"
        self.admin.open(name, epsilon=1.0, protects="x", owners=["owner", "viewer", "nobody", "revoked"])
        return name

    def reserved(self, started: bool = False) -> int:
        held = self.admin.reserve(self.budget(), qw.pure(0.25), lease=60).seq
        if started:
            self.admin.start(held)
        return held

    def paid(self) -> str:
        """One from which a release was paid under a key."""
        name = self.budget()
        self.admin.spend(name, qw.pure(0.25), key="k")
        return name

    def by_days(self) -> tuple[str, qw.Plan]:
        """One for sessions on a table, and the plan of that table."""
        name, table = f"budget {next(self._names)}", qw.Table(day=qw.Int(0, 3))
        shared = {"protects": qw.add_remove(), "owners": ["owner", "viewer", "nobody", "revoked"]}
        self.admin.open(name, epsilon=1.0, blocks=blocks_by(table.day, qw.add_remove()), **shared)
        return name, qw.Plan(table, qw.add_remove())

    def paused(self) -> str:
        name = self.budget()
        self.admin.pause(name)
        return name


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    made = World(f"sqlite:///{tmp_path_factory.mktemp('world')}/b.db")
    yield made
    made.nobody.dispose()


Act = Callable[[Ledger, Any], Any]
ACTS: dict[str, tuple[str, Callable[[World], Any], Act]] = {  # what it needs, what is made first, what is done
    "open": (MANAGE, lambda world: f"new {next(world._names)}", lambda it, x: it.open(x, epsilon=1.0, protects="x")),
    "rights": (OWN, World.budget, lambda it, x: it.rights(x, spenders=["ada"])),
    "pause": (OWN, World.budget, lambda it, x: it.pause(x)),
    "resume": (OWN, World.paused, lambda it, x: it.resume(x)),
    "close": (OWN, World.budget, lambda it, x: it.close(x)),
    "spend": (SPEND, World.budget, lambda it, x: it.spend(x, qw.pure(0.25))),
    "spend_many": (SPEND, World.budget, lambda it, x: it.spend_many([(x, qw.pure(0.25))], together=True)),
    "reserve": (SPEND, World.budget, lambda it, x: it.reserve(x, qw.pure(0.25), lease=60)),
    "run": (SPEND, World.budget, lambda it, x: it.run(x, qw.pure(0.25), lambda: 1)),
    "start": (OWN, World.reserved, lambda it, x: it.start(x)),
    "settle": (OWN, lambda world: world.reserved(started=True), lambda it, x: it.settle(x)),
    "refund": (OWN, World.reserved, lambda it, x: it.refund(x)),
    "keep_result": (OWN, World.paid, lambda it, x: it.keep_result(x, "k", qw.pure(0.25))),
    "session": (READ, World.by_days, lambda it, x: it.session(*x)),
    "result": (READ, World.paid, lambda it, x: it.result(x, "k")),
    "budget": (READ, World.budget, lambda it, x: it.budget(x)),
    "budgets": (READ, World.budget, lambda it, x: it.budgets()),
    "balance": (READ, World.budget, lambda it, x: it.balance(x)),
    "reservations": (READ, World.budget, lambda it, x: it.reservations(x)),
    "would_exceed": (READ, World.budget, lambda it, x: it.would_exceed(x, qw.pure(0.25))),
    "forecast": (READ, World.budget, lambda it, x: it.forecast(x, qw.pure(0.25))),
    "history": (READ, World.budget, lambda it, x: it.history()),
    "refusals": (READ, World.budget, lambda it, x: it.refusals()),
    "receipt": (READ, World.budget, lambda it, x: it.receipt(2)),
    "verify": (READ, World.budget, lambda it, x: it.verify()),
    "checkpoint": (READ, World.budget, lambda it, x: it.checkpoint()),
    "consistency": (READ, lambda world: world.admin.checkpoint(), lambda it, x: it.consistency(x)),
    "export": (READ, World.budget, lambda it, x: it.export(io.StringIO())),
    "principals": (READ, World.budget, lambda it, x: it.principals()),
    "me": (READ, World.budget, lambda it, x: it.me()),
    "accept_clock": (MANAGE, World.budget, lambda it, x: it.accept_clock("it was ahead")),
    "revoke": (MANAGE, World.budget, lambda it, x: it.revoke("nobody of that name")),
    "admit": (MANAGE, World.budget, lambda it, x: it.admit("somebody new", "viewer")),
}
# tell nothing, or check a token themselves; rotate has a test of its own
FREE = {"disconnect", "dispose", "sign_in", "restore", "identity", "public_key", "rotate", "guarded"}
FREE |= {"examine", "upgrade", "repair"}


def test_the_matrix_is_complete() -> None:
    public = {name for name in dir(Ledger) if not name.startswith("_")}
    assert public - FREE == set(ACTS), "an act has no row in this table"


def newest(world: World) -> int:
    return max(entry.seq for entry in world.admin.history())


@pytest.mark.parametrize("act", ACTS)
def test_who_may_do_it(world: World, act: str) -> None:
    needs, prepare, do = ACTS[act]
    for who, may in MAY.items():
        given, hand = prepare(world), world.hands[who]
        before = newest(world)
        if needs in may:
            if act == "revoke":
                with pytest.raises(InvalidParameter):  # allowed, though there is no such principal
                    do(hand, given)
                continue
            do(hand, given)
            made = list(world.admin.history(after=before))
            assert all(entry.principal == who for entry in made), (act, who)
            assert bool(made) == (needs != READ), (act, who)
            continue
        with pytest.raises(AccessDenied):
            do(hand, given)
        (made_one,) = world.admin.history(after=before)  # one entry, that says who was refused what
        assert made_one.kind == "denied", (act, who)
        assert made_one.principal == (None if who == "nobody" else who)
        assert set(made_one.content) == {"act", "why"}
    assert world.admin.verify().holds


def test_a_denied_spend_says_of_which_budget(world: World) -> None:
    name = world.budget()
    with pytest.raises(AccessDenied, match="viewer"):
        world.hands["viewer"].spend(name, qw.pure(0.25))
    with pytest.raises(AccessDenied, match="asks for a token"):
        world.nobody.spend(name, qw.pure(0.25))
    denied = [entry for entry in world.admin.history(name) if entry.kind == "denied"]
    assert (denied[0].principal, denied[0].content["act"]) == ("viewer", "spend")
    assert float(world.admin.balance(name).spent.upper) == 0.0


def test_an_owner_rules_his_own_budget_only(world: World) -> None:
    world.admin.open("not hers", epsilon=1.0, protects="x", owners=["spender"])
    with pytest.raises(AccessDenied):
        world.hands["owner"].pause("not hers")
    world.hands["spender"].pause("not hers")
    assert world.admin.budget("not hers").state == "paused"


def test_what_a_hand_knows_already_is_asked_for_again(world: World) -> None:
    """Terms of budgets are kept in memory, for all hands; they open nothing to who may not read."""
    name = world.budget()
    world.admin.spend(name, qw.pure(0.25))
    for who in ("nobody", "revoked", "expired", "replaced"):
        for ask in ("history", "balance", "budget"):
            with pytest.raises(AccessDenied):
                getattr(world.hands[who], ask)(name)
        for ask in ("forecast", "would_exceed"):
            with pytest.raises(AccessDenied):
                getattr(world.hands[who], ask)(name, qw.pure(0.25))


def test_tokens_that_do_not_open(world: World) -> None:
    good = world.tokens["spender"]
    other = world.tokens["viewer"]
    swapped = "_".join([*good.split("_")[:2], other.split("_")[2]])  # one's identity with another's secret
    for wrong in (swapped, good[:-1], good.upper(), good + " ", "", "qw__", "x" * 10_000, None, 5, b"qw"):
        before = newest(world)
        with pytest.raises(AccessDenied, match="not known"):
            world.nobody.sign_in(wrong)  # type: ignore[arg-type]
        (entry,) = world.admin.history(after=before)
        assert (entry.kind, entry.principal) == ("denied", None)
        assert str(wrong) not in entry.body or not wrong
    for name, why in (("revoked", "revoked"), ("expired", "expired"), ("replaced", "not known")):
        with pytest.raises(AccessDenied, match=why):
            world.nobody.sign_in(world.tokens[name])
    assert world.nobody.sign_in(world.tokens["renewed"]).budgets()


def test_signing_in_changes_nobody_else(world: World) -> None:
    world.nobody.sign_in(world.tokens["viewer"])
    with pytest.raises(AccessDenied):
        world.nobody.budgets()


def test_tokens_are_never_stored_in_clear(world: World) -> None:
    file = Path(str(world.nobody._session.store.url.database))
    stored = b"".join(part.read_bytes() for part in file.parent.glob("b.db*") if part.suffix not in (".key", ".mark"))
    text = chain(world.admin)
    for token in world.tokens.values():
        secret = token.split("_")[2]
        assert len(secret) >= 43  # 256 bits
        assert secret.encode() not in stored
        assert secret not in text
    assert all(one.stored == "" for one in world.admin.principals())
    assert stored.count(b"sha256$") > 0


def test_principals_are_listed(world: World) -> None:
    found = {one.name: one for one in world.admin.principals()}
    assert set(MAY) - {"nobody"} <= set(found)
    assert (found["admin"].role, found["viewer"].role, found["owner"].role) == ("admin", "viewer", "spender")
    assert [name for name, one in found.items() if one.revoked] == ["revoked"]
    assert found["expired"].expires == "2030-01-01T13:00:00.000000+00:00"
    assert len({one.identity for one in found.values()}) == len(found)


def test_who_reserved_goes_on_and_no_other_spender_does(world: World) -> None:
    """Else one job starts, or gives back, what another is about to run on."""
    name, spender = world.budget(), world.hands["spender"]
    held = [spender.reserve(name, qw.pure(0.25), lease=60).seq for _ in range(3)]
    other = world.nobody.sign_in(world.admin.admit("neighbour", "spender"))
    for act in (other.start, other.refund):
        with pytest.raises(AccessDenied, match="'spender' who holds it"):
            act(held[0])
    spender.start(held[0])
    with pytest.raises(AccessDenied):
        other.settle(held[0])
    spender.settle(held[0])
    spender.refund(held[1])
    world.hands["owner"].refund(held[2])
    assert world.admin.verify().holds


def test_numbers_are_kept_by_whoever_paid(world: World) -> None:
    """The first ones stay: nobody else may put them there."""
    name, spender = world.budget(), world.hands["spender"]
    spender.spend(name, qw.pure(0.25), key="k")
    other = world.nobody.sign_in(world.admin.admit("neighbour", "spender"))
    with pytest.raises(AccessDenied):
        other.keep_result(name, "k", qw.pure(0.5))
    assert spender.keep_result(name, "k", qw.pure(0.25)) == qw.pure(0.25)


def test_another_principals_key_is_not_answered(world: World) -> None:
    """Two people under one key would both believe that they were granted the release."""
    name = world.budget()
    world.hands["spender"].spend(name, qw.pure(0.25), key="k")
    assert world.hands["spender"].spend(name, qw.pure(0.25), key="k").principal == "spender"
    with pytest.raises(AlreadyRun):
        world.hands["owner"].spend(name, qw.pure(0.25), key="k")


@pytest.mark.parametrize(
    ("name", "role", "expires"),
    [
        ("", "viewer", None),
        ("a\nb", "viewer", None),
        (5, "viewer", None),
        ("x" * 201, "viewer", None),
        ("eve", "owner", None),
        ("eve", "", None),
        ("eve", None, None),
        ("eve", ["admin"], None),
        ("eve", "viewer", START - timedelta(days=1)),
        ("eve", "viewer", datetime(2031, 1, 1)),
        ("eve", "viewer", "2031-01-01"),
        ("eve", "viewer", 3600),
    ],
)
def test_bad_principals(world: World, name: Any, role: Any, expires: Any) -> None:
    before = newest(world)
    with pytest.raises(InvalidParameter):
        world.admin.admit(name, role, expires=expires)
    assert newest(world) == before


def test_a_token_where_nobody_was_named(fast_sqlite: str, world: World) -> None:
    with Ledger(fast_sqlite, clock=Clock()) as ledger:
        with pytest.raises(AccessDenied, match="not known"):
            ledger.sign_in(world.tokens["admin"])
        assert kinds(ledger) == ["ledger", "denied"]
        ledger.open("b", epsilon=1.0, protects="x")


def test_a_denial_spends_no_lease(world: World) -> None:
    held = world.reserved()
    with pytest.raises(AccessDenied):
        world.hands["viewer"].start(held)
    world.hands["owner"].start(held)
    with pytest.raises(AccessDenied):
        world.hands["viewer"].settle(held)
    with pytest.raises(AlreadyRun):
        world.hands["owner"].refund(held)


def test_only_admins_change_the_key(world: World, tmp_path: Path) -> None:
    """By an admin it is tried elsewhere: every hand on this ledger would need the new file."""
    for who, may in MAY.items():
        if MANAGE not in may:
            with pytest.raises(AccessDenied):
                world.hands[who].rotate(tmp_path / "new.key")
            assert not (tmp_path / "new.key").exists()
    assert world.admin.verify().holds
