"""A ledger that holds every kind of entry and row, for tests that tamper with it, carry it over or garble its lines."""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime, timedelta
from pathlib import Path

import attrs

import quiltwork as qw
from quiltwork.errors import AccessDenied
from quiltwork.ledger import Blocks, Ledger, Receipt

KINDS = {
    "ledger", "open", "spend", "reserve", "start", "settle", "refund", "lapse", "pause", "resume", "close", "admit",
    "revoke", "denied", "key", "clock",
}  # fmt: skip
STATUSES = {"held", "started", "settled", "refunded", "lapsed"}


class Clock:
    """Shows the time that it was set to."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.now += timedelta(milliseconds=1)
        return self.now

    def wait(self, **length: float) -> None:
        self.now += timedelta(**length)


@attrs.frozen
class Rich:
    """A ledger, used by its admin; receipts of everything from the middle on."""

    ledger: Ledger
    clock: Clock
    admin: str
    spender: str
    viewer: str
    receipts: tuple[Receipt, ...]


def rich(url: str, key: Path) -> Rich:
    """About fifty entries, the first of them signed by another key."""
    clock = Clock()
    ledger = Ledger(url, clock=clock, key=key.with_name("first.key"))
    kept = []
    ledger.open("pure", epsilon=1.0, protects="one person", note="naïve € 𝄞", owners=["ada"])
    ledger.open("usual", epsilon=2.0, delta=1e-6, protects=qw.user("person", 4))
    ledger.open("plan", epsilon=2.0, delta=1e-6, protects="one person", kind="planned",
                plan=[("ages", qw.gaussian(20.0), 10), ("incomes", qw.laplace(20.0), 2)])  # fmt: skip
    ledger.open("days", rho=0.5, protects="one record", blocks=Blocks("day"))
    ledger.open("pairs", epsilon=4.0, protects="one record", blocks=Blocks("part", ("a", "b", "c"), most=2))
    ledger.open("weekly", mu=1.0, protects="one record", refresh=timedelta(days=7), expires=clock() + timedelta(365))
    ledger.rotate(key)
    for turn in range(3):
        kept.append(ledger.spend("pure", qw.laplace(10.0), key=f"turn {turn}", note="again"))
        ledger.spend("days", qw.gaussian(4.0), blocks=[f"d{turn}", "d9"])
    ledger.spend("usual", qw.poisson(qw.gaussian(4.0), 0.01), times=10)
    ledger.spend("plan", release="ages", times=3)
    ledger.spend("pairs", qw.pure(0.5), blocks=["a", "b"])
    ledger.spend("pairs", qw.pure(0.25))
    ledger.spend("weekly", qw.gaussian(5.0))
    clock.wait(days=8)
    ledger.spend("weekly", qw.gaussian(5.0))

    token = ledger.admit("ada", "admin")
    ledger = ledger.sign_in(token)
    spender = ledger.admit("bob", "spender", expires=clock() + timedelta(days=20_000))
    viewer = ledger.admit("eve", "viewer")
    ledger.admit("mallory", "spender")
    kept.append(ledger.revoke("mallory"))
    watching = ledger.sign_in(viewer)
    with contextlib.suppress(AccessDenied):
        watching.spend("pure", qw.laplace(10.0))

    ended = ledger.reserve("pure", qw.laplace(100.0), lease=60)
    clock.wait(minutes=5)
    ledger.spend("pure", qw.laplace(100.0))  # sweeps the lease that ended
    assert ledger.reserve("days", qw.gaussian(4.0), lease=60, blocks="d1").seq > ended.seq
    settled = ledger.reserve("pairs", qw.pure(0.125), lease=timedelta(hours=1), blocks="c", key="job")
    ledger.start(settled.seq)
    ledger.settle(settled.seq, note="done")
    started = ledger.reserve("plan", release="incomes", lease=3600)
    ledger.start(started.seq)
    refunded = ledger.reserve("usual", qw.gaussian(50.0), lease=3600)
    ledger.refund(refunded.seq)
    ledger.pause("days", note="look first")
    ledger.resume("days")
    kept.append(ledger.close("weekly"))
    clock.wait(hours=-2)
    ledger.accept_clock("it was ahead")
    ledger.pause("pairs")
    ledger.reserve("pure", qw.laplace(50.0), lease=timedelta(days=200))
    kept.append(ledger.spend("usual", qw.gaussian(60.0)))
    return Rich(ledger, clock, token, spender, viewer, tuple(kept))
