"""What the tests of a ledger's behaviour share: a clock to turn, and proof that a refusal changed nothing."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import Any

import pytest

import quiltwork as qw
from quiltwork.errors import BudgetExceeded
from quiltwork.ledger import Ledger

START = datetime(2030, 1, 1, 12, 0, tzinfo=UTC)


class Clock:
    """A clock that stands still until it is turned."""

    def __init__(self, now: datetime = START) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def forward(self, **length: float) -> datetime:
        self.now += timedelta(**length)
        return self.now


def chain(ledger: Ledger) -> str:
    """Every entry as it is exported; every derived row must follow from them."""
    written = io.StringIO()
    ledger.export(written)
    checked = ledger.verify()
    assert checked.holds, checked
    return written.getvalue()


@contextmanager
def refused(ledger: Ledger, error: type[Exception], words: str = "") -> Iterator[Any]:
    """The block raises this error with these words, and the ledger is the same before and after."""
    before = chain(ledger)
    with pytest.raises(error, match=re.escape(words) or None) as caught:
        yield caught
    assert chain(ledger) == before


def spent_until_refused(ledger: Ledger, name: str, loss: Any, most: int = 500, **options: Any) -> int:
    """How many spends were granted before the first refusal."""
    for count in range(most + 1):
        try:
            ledger.spend(name, loss, **options)
        except BudgetExceeded:
            return count
    raise AssertionError(f"more than {most} spends were granted")


def kinds(ledger: Ledger, name: str | None = None) -> list[str]:
    """The kinds of the entries, of one budget or of all."""
    return [entry.kind for entry in ledger.history(name)]


def costs(receipt: Any) -> list[Fraction]:
    """What an entry took, as it is written."""
    return [Fraction(one) for one in receipt.content["cost"]]


def contents(ledger: Ledger) -> list[dict[str, Any]]:
    """The parsed body of every entry."""
    return [entry.content for entry in ledger.history()]


FAMILIES = {
    "gaussian": qw.gaussian(4.0),
    "laplace": qw.laplace(8.0),
    "discrete gaussian": qw.discrete_gaussian(4.0),
    "discrete laplace": qw.discrete_laplace(8.0),
    "pure": qw.pure(0.125),
    "approximate": qw.approximate(0.125, 1e-9),
    "constraints": qw.constraints([(0.125, 1e-9), (0.25, 0.0)]),
    "gdp": qw.gdp(0.25),
    "zcdp": qw.zcdp(0.03125),
    "rdp": qw.rdp([2.0, 8.0], [0.0625, 0.25]),
    "tradeoff": qw.tradeoff([(0.0, 1.0), (0.47, 0.47), (1.0, 0.0)]),
    "profile": qw.profile([0.0, 0.25, 0.5], [0.1, 1e-3, 1e-9]),
    "pair": qw.pair([0.55, 0.45], [0.45, 0.55]),
    "poisson": qw.poisson(qw.gaussian(4.0), 0.1),
    "poisson laplace": qw.poisson(qw.laplace(8.0), 0.1),
    "mixture": qw.mixture([(0.5, qw.pure(0.125)), (0.5, qw.gaussian(8.0))]),
    "sum": 3 * qw.gaussian(8.0) + qw.laplace(16.0),
}
KEPT: dict[str, dict[str, Any]] = {
    "pure": {"epsilon": 4.0},
    "pure with delta": {"epsilon": 4.0, "delta": 1e-6, "filter": "pure"},
    "zcdp": {"rho": 2.0},
    "gdp": {"mu": 2.0},
    "renyi": {"epsilon": 4.0, "delta": 1e-6, "order": 8.0},
    "renyi with reveal": {"epsilon": 4.0, "delta": 1e-6, "order": 8.0, "reveal": 1e-7},
}
