"""Budgets are opened: what is fixed and stored, what is taken by default, and what is refused."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from fractions import Fraction
from typing import Any

import pytest
from tests.ledger.books import START, Clock, chain, kinds, refused

import quiltwork as qw
from quiltwork.errors import BudgetExceeded, InvalidParameter, QuiltworkError, Unreachable, Unsupported
from quiltwork.ledger import Blocks, Ledger


@pytest.fixture
def ledger(fast_sqlite: str) -> Iterator[Ledger]:
    with Ledger(fast_sqlite, clock=Clock()) as made:
        yield made


LIMITS: dict[str, tuple[dict[str, Any], str, Any]] = {
    "pure": ({"epsilon": 0.3}, "pure", (Fraction(3, 10), Fraction(0))),
    "zcdp": ({"rho": 0.1}, "zcdp", (Fraction(1, 10),)),
    "gdp": ({"mu": 0.7}, "gdp", (Fraction(49, 100),)),
    "approximate": ({"epsilon": 1.0, "delta": 1e-6}, "renyi", None),
}


@pytest.mark.parametrize("kind", LIMITS)
def test_each_limit_has_its_filter_and_is_read_as_typed(ledger_url: str, kind: str) -> None:
    stated, kept, amounts = LIMITS[kind]
    with Ledger(ledger_url) as ledger:
        budget = ledger.open("b", protects="one record", **stated)
        assert budget.terms.limit.kind == kind
        assert budget.terms.filter is not None
        assert budget.terms.filter.kind == kept
        if amounts is not None:
            assert budget.terms.filter.limit == amounts
        assert (budget.name, budget.kind, budget.state, budget.entries) == ("b", "adaptive", "open", 1)
    with Ledger(ledger_url) as again:  # nothing of it lives in memory only
        assert again.budget("b") == budget
        assert again.budgets() == (budget,)


@pytest.mark.parametrize("kept", ["pure", "zcdp", "gdp", "renyi"])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-9), (1.0, 1e-6), (8.0, 1e-3)])
def test_what_a_filter_admits_is_within_epsilon_and_delta(
    ledger: Ledger, kept: str, epsilon: float, delta: float
) -> None:
    budget = ledger.open("b", epsilon=epsilon, delta=delta, filter=kept, protects="one record")
    found = budget.terms.filter
    assert found is not None
    assert found.kind == kept
    assert float(found.promise.delta(epsilon).upper) <= delta
    # and not much is given away: an epsilon a tenth smaller is not promised
    assert float(found.promise.delta(0.9 * epsilon).lower) > delta


def test_order_and_reveal_choose_the_renyi_filter(ledger: Ledger) -> None:
    found = ledger.open("b", epsilon=2.0, delta=1e-6, order=12.0, reveal=1e-7, protects="x").terms.filter
    assert found is not None
    assert found.to_json()["order"] == 12.0
    assert found.limit[1] == Fraction(1, 10**7)
    assert float(found.promise.delta(2.0).upper) <= 1e-6


def test_defaults(ledger: Ledger) -> None:
    terms = ledger.open("b", epsilon=1.0, protects="one record").terms
    assert (terms.plan, terms.notion, terms.expires, terms.refresh, terms.blocks) == ((), None, None, None, None)
    assert (terms.owners, terms.note) == ((), "")
    assert ledger.budget("b").opened == START


def test_everything_that_was_said_is_stored(ledger: Ledger) -> None:
    east = timezone(timedelta(hours=5, minutes=30))
    given = ledger.open(
        "b",
        rho=0.5,
        protects=qw.user("person", 4),
        expires=datetime(2031, 1, 1, 5, 30, tzinfo=east),
        refresh=timedelta(days=7, microseconds=1),
        blocks=Blocks("day", ["mon", "tue"], most=2),
        owners=["ada", "grace"],
        note="für alle\nand a second line",
    )
    entry = next(ledger.history("b"))
    content = entry.content
    assert (entry.kind, entry.budget, entry.seq) == ("open", "b", 2)
    assert content["schema"] == "quiltwork/budget/1"
    assert content["limit"] == {"schema": "quiltwork/limit/1", "kind": "zcdp", "rho": 0.5}
    assert content["filter"]["limit"] == ["1/2"]
    assert content["protects"] == "all records (at most 4) of one person, added or removed"
    assert content["neighbors"]["kind"] == "user"
    assert 4 in content["neighbors"].values()
    assert content["expires"] == "2031-01-01T00:00:00.000000+00:00"
    assert content["refresh"] == 604800.000001
    assert content["blocks"] == {"label": "day", "names": ["mon", "tue"], "most": 2}
    assert content["owners"] == ["ada", "grace"]
    assert content["note"] == "für alle\nand a second line"
    assert given.terms.refresh == timedelta(days=7, microseconds=1)
    assert given.terms.expires == datetime(2031, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    "notion",
    [qw.add_remove(), qw.replace_one(), qw.entry(), qw.window("day", 7), qw.edge(), qw.node(3), qw.user("p", 2)],
    ids=str,
)
def test_every_notion_of_neighbour_is_kept_in_words_and_as_data(ledger: Ledger, notion: Any) -> None:
    terms = ledger.open("b", epsilon=1.0, protects=notion).terms
    assert terms.protects == notion.protects
    assert terms.notion is not None
    assert terms.notion["kind"] == notion.kind
    assert ledger.verify().holds


NAMES = ["b", "Ελλάδα 🏛 数据", "a'; DROP TABLE ledger_entries; --", "%s {0} ' \" \\", "x" * 200, "é" * 200]
NAMES += ["\U0001d4b3" * 200]


def test_names_of_any_language(ledger_url: str) -> None:
    with Ledger(ledger_url) as ledger:
        for name in NAMES:
            ledger.open(name, epsilon=1.0, protects=name, owners=[name], note=name * 10, blocks=Blocks(name, [name]))
            ledger.spend(name, qw.pure(0.25), key=name, blocks=name, note=name)
            assert float(ledger.balance(name, name).spent.upper) == 0.25
            assert [entry.budget for entry in ledger.history(name)] == [name, name]
        assert [budget.name for budget in ledger.budgets()] == NAMES
        assert ledger.verify().holds


def test_names_that_look_alike_are_two(ledger: Ledger) -> None:
    for name in ("B", "b", "é", "e\u0301"):
        ledger.open(name, epsilon=1.0, protects="x")
    ledger.spend("é", qw.pure(1.0))
    assert [float(ledger.balance(name).spent.upper) for name in ("B", "b", "é", "e\u0301")] == [0.0, 0.0, 1.0, 0.0]


BAD_NAMES = ["", " b", "b ", "a\nb", "a\x00b", "\t", "x" * 201, "\ud800", "a\u200bb", None, 3, b"b", ["b"], True]
BAD: dict[str, list[Any]] = {
    "name": BAD_NAMES,
    "protects": [*BAD_NAMES, {}, qw.pure(1.0), qw.add_remove],
    "epsilon": [0.0, -1.0, math.nan, math.inf, -math.inf, "1", True, [1.0], 1e-200, 1e200, 10**400, 1j],
    "kind": ["", "Adaptive", None, 3, ["adaptive"]],
    "filter": ["", "rdp", "renyi", "zcdp", "gdp", 3, ["pure"]],
    "order": [2.0, 1.0, math.nan],
    "reveal": [1e-7, math.nan, -1.0, "0"],
    "expires": [datetime(2031, 1, 1), "2031-01-01", 5.0, START, START - timedelta(days=1), timedelta(days=1)],
    "refresh": [0, -1, timedelta(0), timedelta(days=-1), math.nan, math.inf, "1", True, timedelta(days=36526), 1e-9],
    "blocks": ["day", ["day"], 3, {"label": "day"}, Blocks],
    "owners": ["ada", 3, ["ada", "ada"], [""], [None], [f"o{i}" for i in range(101)], b"ada"],
    "note": [None, 3, "x" * 2001, "a\x00b", "\x1b[31m", "\ud800", b"note"],
    "plan": [[("a", qw.pure(0.1))], [], "a", 3],
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
        {"epsilon": 1.0, "delta": 0.0},
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


PLANS: dict[str, tuple[dict[str, Any], Any, Any]] = {
    # a limit, a plan that just fits, a plan that is just too much
    "pure": ({"epsilon": 1.0}, [("a", qw.pure(0.1), 10)], [("a", qw.pure(0.1), 10), ("b", qw.pure(1e-9))]),
    "zcdp": ({"rho": 0.5}, [("a", qw.gaussian(2.0), 4)], [("a", qw.gaussian(2.0), 4), ("b", qw.zcdp(1e-9))]),
    "gdp": ({"mu": 1.0}, [("a", qw.gaussian(2.0), 4)], [("a", qw.gaussian(2.0), 4), ("b", qw.gdp(1e-4))]),
    # G_mu is (1, 1e-5)-DP up to mu = 0.268051123...: Balle and Wang 2018, Theorem 8, solved with mpmath
    "approximate": ({"epsilon": 1.0, "delta": 1e-5}, [("a", qw.gdp(0.26805))], [("a", qw.gdp(0.26806))]),
}


@pytest.mark.parametrize("kind", PLANS)
def test_a_plan_that_fits_is_opened_and_one_that_does_not_is_refused(ledger: Ledger, kind: str) -> None:
    limit, fits, too_much = PLANS[kind]
    with refused(ledger, BudgetExceeded, "nothing was opened"):
        ledger.open("b", protects="x", kind="planned", plan=too_much, **limit)
    budget = ledger.open("b", protects="x", kind="planned", plan=fits, **limit)
    assert budget.terms.filter is None
    assert [(one.name, one.loss, one.times) for one in budget.terms.plan] == [
        (name, loss, *(times or [1])) for name, loss, *times in fits
    ]


@pytest.mark.parametrize("stray", [{"order": 8.0}, {"reveal": 1e-7}], ids=str)
def test_a_plan_has_no_filter_to_tune(ledger: Ledger, stray: dict[str, Any]) -> None:
    with refused(ledger, QuiltworkError):
        ledger.open("b", epsilon=1.0, delta=1e-6, protects="x", kind="planned", plan=[("a", qw.pure(0.1))], **stray)


def test_a_plan_may_be_a_mapping(ledger: Ledger) -> None:
    budget = ledger.open("b", epsilon=1.0, protects="x", kind="planned", plan={"a": qw.pure(0.4), "c": qw.pure(0.6)})
    assert [one.name for one in budget.terms.plan] == ["a", "c"]


def test_a_plan_without_a_finite_cost_is_unsupported(ledger: Ledger) -> None:
    with refused(ledger, Unsupported, "unbounded"):
        ledger.open("b", epsilon=1.0, protects="x", kind="planned", plan=[("a", qw.gaussian(100.0))])


def test_a_name_is_used_once(ledger: Ledger) -> None:
    ledger.open("b", epsilon=1.0, protects="x")
    with refused(ledger, InvalidParameter, "opened before"):
        ledger.open("b", epsilon=1.0, protects="x")
    ledger.close("b")
    with refused(ledger, InvalidParameter, "opened before"):  # a second budget of that name would double the first
        ledger.open("b", epsilon=1.0, protects="x")
    assert kinds(ledger, "b") == ["open", "close"]


def test_budgets_are_listed_as_they_were_opened(ledger: Ledger) -> None:
    for name in ("c", "a", "b"):
        ledger.open(name, epsilon=1.0, protects="x")
    ledger.spend("a", qw.pure(0.1))
    assert [(budget.name, budget.entries) for budget in ledger.budgets()] == [("c", 1), ("a", 2), ("b", 1)]


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
