"""Budgets that cannot be opened: every parameter, every kind of nonsense, and nothing is written."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from tests.ledger.books import START, Clock, chain, refused

import quiltwork as qw
from quiltwork.errors import InvalidParameter, QuiltworkError, Unreachable, Unsupported
from quiltwork.ledger import Blocks, Ledger

BAD_NAMES = ["", " b", "b ", "a\nb", "a\x00b", "\t", "x" * 201, "\ud800", "a\u200bb", None, 3, b"b", ["b"], True]
BAD: dict[str, list[Any]] = {
    "name": BAD_NAMES,
    "protects": [*BAD_NAMES, {}, qw.pure(1.0), qw.add_remove],
    "epsilon": [0.0, -1.0, math.nan, math.inf, -math.inf, "1", True, [1.0], 1e-200, 1e200, 10**400, 1j],
    "kind": ["", "Adaptive", 3, ["adaptive"]],
    "filter": ["", "rdp", "renyi", "zcdp", "gdp", 3, ["pure"]],
    "order": [2.0, 1.0, math.nan],
    "reveal": [1e-7, math.nan, -1.0, "0"],
    "expires": [datetime(2031, 1, 1), "2031-01-01", 5.0, START, START - timedelta(days=1), timedelta(days=1)],
    "refresh": [0, -1, timedelta(0), timedelta(days=-1), math.nan, math.inf, "1", True, timedelta(days=36526), 1e-9],
    "blocks": ["day", ["day"], 3, {"label": "day"}, Blocks],
    "owners": ["ada", 3, ["ada", "ada"], [""], [None], [f"o{i}" for i in range(101)], b"ada"],
    "note": [None, 3, "x" * 2001, "a\x00b", "\x1b[31m", "\ud800", b"note"],
    "plan": [[], "a", 3],
}
CASES = [(name, value) for name, values in BAD.items() for value in values]


@pytest.mark.parametrize(("name", "value"), CASES, ids=[f"{name}-{i}" for i, (name, _) in enumerate(CASES)])
def test_bad_input_opens_nothing(shared: Ledger, name: str, value: Any) -> None:
    given: dict[str, Any] = {"name": "b", "epsilon": 1.0, "protects": "x"} | {name: value}
    with refused(shared, QuiltworkError):
        shared.open(given.pop("name"), **given)
    assert shared.budgets() == ()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ledger]:
    """One ledger that must stay empty whatever is tried on it."""
    with Ledger(f"sqlite:///{tmp_path_factory.mktemp('shared')}/b.db", clock=Clock()) as made:
        yield made


@pytest.mark.parametrize(
    "stated",
    [
        {},
        {"delta": 1e-6},
        {"epsilon": 1.0, "rho": 1.0},
        {"rho": 1.0, "mu": 1.0},
        {"rho": 1.0, "delta": 1e-6},
        {"mu": 1.0, "delta": 1e-6},
        {"epsilon": 1.0, "delta": False},
        {"rho": 1.0, "delta": 0.0},
        {"epsilon": 1.0, "delta": 1.0},
        {"epsilon": 1.0, "delta": -1e-6},
        {"epsilon": 1.0, "delta": math.nan},
        {"epsilon": 1.0, "delta": "1e-6"},
        {"rho": 0.0},
        {"rho": math.inf},
        {"rho": True},
        {"mu": -1.0},
        {"mu": math.nan},
        {"mu": "1"},
    ],
    ids=str,
)
def test_a_limit_is_stated_in_one_way(shared: Ledger, stated: dict[str, Any]) -> None:
    with refused(shared, InvalidParameter):
        shared.open("b", protects="x", **stated)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"rho": 1.0, "filter": "renyi"}, InvalidParameter),
        ({"mu": 1.0, "filter": "zcdp"}, InvalidParameter),
        ({"rho": 1.0, "filter": "pure"}, InvalidParameter),
        ({"epsilon": 1.0, "delta": 1e-6, "filter": "zcdp", "order": 8.0}, InvalidParameter),
        ({"epsilon": 1.0, "delta": 1e-6, "filter": "gdp", "reveal": 1e-7}, InvalidParameter),
        ({"epsilon": 1.0, "delta": 1e-6, "reveal": 1e-6}, InvalidParameter),
        ({"epsilon": 1.0, "delta": 1e-6, "reveal": 2.0}, InvalidParameter),
        ({"epsilon": 1.0, "delta": 1e-6, "order": 1.0}, InvalidParameter),
        ({"epsilon": 1.0, "delta": 1e-6, "order": math.inf}, InvalidParameter),
        ({"epsilon": 1.0, "delta": 1e-6, "order": 2.0}, Unreachable),  # no divergence > 0 of order 2 promises that
        ({"epsilon": 1.0, "kind": "planned"}, InvalidParameter),
        ({"epsilon": 1.0, "kind": "adaptive", "plan": [("a", qw.pure(0.1))]}, InvalidParameter),
        ({"epsilon": 1.0, "kind": "planned", "plan": [("a", qw.pure(0.1))], "filter": "pure"}, Unsupported),
        ({"epsilon": 1.0, "kind": "planned", "plan": [("a", qw.pure(0.1))], "blocks": Blocks("day")}, Unsupported),
    ],
    ids=str,
)
def test_what_does_not_belong_together(shared: Ledger, options: dict[str, Any], error: type[Exception]) -> None:
    with refused(shared, error):
        shared.open("b", protects="x", **options)


@pytest.mark.parametrize(
    "plan",
    [
        None,
        [],
        (),
        {},
        "ab",
        5,
        [qw.pure(0.1)],
        ["ab"],
        [("a",)],
        [("a", 0.1)],
        [("a", None)],
        [("a", qw.pure(0.1), 0)],
        [("a", qw.pure(0.1), -1)],
        [("a", qw.pure(0.1), 1.5)],
        [("a", qw.pure(0.1), True)],
        [("a", qw.pure(0.1), 1, 1)],
        [("", qw.pure(0.1))],
        [(3, qw.pure(0.1))],
        [("a", qw.pure(0.1)), ("a", qw.pure(0.2))],
        [("a", 0 * qw.pure(0.1))],
        [("a", qw.pure(0.1), 10**5000)],
    ],
    ids=range(21),
)
def test_a_bad_plan_opens_nothing(shared: Ledger, plan: Any) -> None:
    with refused(shared, QuiltworkError):
        shared.open("b", epsilon=1.0, protects="x", kind="planned", plan=plan)


@pytest.mark.parametrize("name", ["nobody", "", 5, "x" * 300, "a\nb"])
def test_an_unknown_budget(shared: Ledger, name: Any) -> None:
    before = chain(shared)
    for ask in (shared.budget, shared.balance, shared.history, shared.pause, shared.resume, shared.close):
        with pytest.raises(InvalidParameter):
            ask(name)
    for take in (shared.spend, shared.would_exceed, shared.forecast):
        with pytest.raises(InvalidParameter):
            take(name, qw.pure(0.1))
    assert chain(shared) == before
