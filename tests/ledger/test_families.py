"""Every family of losses in every filter: its cost, or a clear refusal; and requests that make no sense."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import attrs
import pytest
from tests.ledger.books import FAMILIES, KEPT, Clock, chain, costs, refused

import quiltwork as qw
from quiltwork.errors import BudgetExceeded, InvalidParameter, Unsupported
from quiltwork.ledger import Ledger


@pytest.fixture
def ledger(fast_sqlite: str) -> Iterator[Ledger]:
    with Ledger(fast_sqlite, clock=Clock()) as made:
        yield made


UNBOUNDED = {"gaussian", "discrete gaussian", "gdp", "zcdp", "rdp", "poisson", "mixture", "sum"}
REVEALS = {"approximate", "profile"}
UNSUPPORTED = {
    "pure": UNBOUNDED | REVEALS,
    "pure with delta": UNBOUNDED,  # points of a profile are (epsilon, delta) too
    "zcdp": {"rdp", "poisson", "mixture"} | REVEALS,
    "gdp": {"discrete gaussian", "zcdp", "rdp", "poisson", "mixture"} | REVEALS,
    "renyi": REVEALS,
    "renyi with reveal": set(),
}
EIGHTH = Fraction(1, 8)
COSTS: dict[tuple[str, str], list[Fraction]] = {  # what the theorems say, where it is exact
    ("pure", "laplace"): [EIGHTH, Fraction(0)],
    ("pure", "discrete laplace"): [EIGHTH, Fraction(0)],
    ("pure", "constraints"): [Fraction(1, 4), Fraction(0)],
    ("pure with delta", "approximate"): [EIGHTH, Fraction(1, 10**9)],
    ("pure with delta", "constraints"): [EIGHTH, Fraction(1, 10**9)],
    ("pure with delta", "profile"): [Fraction(1, 2), Fraction(1, 10**9)],
    ("zcdp", "gaussian"): [Fraction(1, 32)],
    ("zcdp", "discrete gaussian"): [Fraction(1, 32)],
    ("zcdp", "laplace"): [Fraction(1, 128)],
    ("zcdp", "gdp"): [Fraction(1, 32)],
    ("zcdp", "zcdp"): [Fraction(1, 32)],
    ("zcdp", "sum"): [Fraction(3, 128) + Fraction(1, 512)],
    ("gdp", "gaussian"): [Fraction(1, 16)],
    ("gdp", "gdp"): [Fraction(1, 16)],
    ("renyi", "gaussian"): [Fraction(1, 4), Fraction(0)],
    ("renyi", "discrete gaussian"): [Fraction(1, 4), Fraction(0)],
    ("renyi", "zcdp"): [Fraction(1, 4), Fraction(0)],
    ("renyi", "rdp"): [Fraction(1, 4), Fraction(0)],
}


@pytest.mark.parametrize("kept", KEPT)
def test_every_family_has_its_cost_or_a_clear_refusal(ledger: Ledger, kept: str) -> None:
    found = ledger.open("b", protects="x", **KEPT[kept]).terms.filter
    assert found is not None
    before = chain(ledger)
    for name, loss in FAMILIES.items():
        if name in UNSUPPORTED[kept]:
            for act in (ledger.spend, ledger.would_exceed, ledger.forecast):
                with pytest.raises((Unsupported, BudgetExceeded)) as caught:
                    act("b", loss)
                assert isinstance(caught.value, Unsupported), (kept, name)
                assert "instead" in vars(caught.value)
            assert chain(ledger) == before, name
            continue
        receipt = ledger.spend("b", loss)
        before = chain(ledger)
        cost = costs(receipt)
        assert all(0 <= one <= most for one, most in zip(cost, found.limit, strict=True)), name
        assert cost[0] > 0, name
        if (kept, name) in COSTS:
            assert cost == COSTS[kept, name], name
        assert receipt.content["loss"] == loss.to_json()


@pytest.mark.parametrize("kept", ["pure", "zcdp", "gdp", "renyi"])
def test_a_cost_is_never_below_the_loss(ledger: Ledger, kept: str) -> None:
    """The filter whose limit is just the cost promises no less than the loss, at every epsilon that is looked at."""
    found = ledger.open("b", protects="x", **KEPT[kept]).terms.filter
    assert found is not None
    for name, loss in FAMILIES.items():
        if name in UNSUPPORTED[kept]:
            continue
        cost = tuple(costs(ledger.spend("b", loss)))
        promise = attrs.evolve(found, limit=cost).promise
        for epsilon in (0.05, 0.2, 0.5, 1.0):
            assert float(promise.delta(epsilon).upper) >= float(loss.delta(epsilon).lower), (name, epsilon)


BAD: list[dict[str, Any]] = [
    {"loss": None},
    {"loss": 0.1},
    {"loss": "gaussian(3)"},
    {"loss": 0 * qw.pure(0.1)},
    {"loss": qw.poisson(qw.gaussian(4.0), 0.1).direction("add")},
    {"loss": [qw.pure(0.1)]},
    {"times": 0},
    {"times": -1},
    {"times": 1.0},
    {"times": True},
    {"times": 2**53 + 1},
    {"times": math.nan},
    {"times": "2"},
    {"times": None},
    {"release": "ages"},
    {"blocks": "monday"},
    {"blocks": []},
]


@pytest.mark.parametrize("change", BAD, ids=str)
def test_bad_requests(ledger: Ledger, change: dict[str, Any]) -> None:
    ledger.open("b", epsilon=1.0, protects="x")
    given: dict[str, Any] = {"loss": qw.pure(0.1)} | change
    with refused(ledger, InvalidParameter):
        ledger.spend("b", **given)
    with refused(ledger, InvalidParameter):
        ledger.reserve("b", lease=60, **given)
    with refused(ledger, InvalidParameter):
        ledger.would_exceed("b", **given)
    if "times" not in change:
        with refused(ledger, InvalidParameter):
            ledger.forecast("b", **given)


@pytest.mark.parametrize("change", [{"note": None}, {"note": "x" * 2001}, {"note": "\x07"}, {"key": ""}, {"key": 5}])
def test_bad_notes_and_keys(ledger: Ledger, change: dict[str, Any]) -> None:
    ledger.open("b", epsilon=1.0, protects="x")
    with refused(ledger, InvalidParameter):
        ledger.spend("b", qw.pure(0.1), **change)
    with refused(ledger, InvalidParameter):
        ledger.reserve("b", qw.pure(0.1), lease=60, **change)
