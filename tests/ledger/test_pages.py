"""Many budgets, in pages: in order, by a text, each with its balance, on both databases."""

from __future__ import annotations

import pytest

import quiltwork as qw
from quiltwork.errors import InvalidParameter
from quiltwork.ledger import Ledger


@pytest.fixture
def ledger(ledger_url):
    with Ledger(ledger_url) as made:
        for at in range(7):
            made.open(f"Budget {at}", epsilon=1.0, protects="one Person" if at % 2 else 'one visit of 100% "x"_y\\')
        made.open("Über", epsilon=1.0, protects="ärzte")
        made.spend_many([("Budget 2", qw.pure(0.25)), ("Budget 5", qw.pure(0.5))])
        made.pause("Budget 0")
        made.close("Budget 1")
        yield made


def names(found):
    return [one.name for one in found]


def test_pages_follow_each_other(ledger):
    every = names(ledger.budgets())
    assert every == [*(f"Budget {at}" for at in range(7)), "Über"]
    pages, after = [], None
    while page := ledger.budgets(after=after, limit=3):
        pages += names(page)
        after = page[-1].name
    assert pages == every
    assert ledger.budgets(limit=0) == ()


@pytest.mark.parametrize(
    ("find", "count"),
    [
        ("budget", 7), ("PERSON", 3), ("visit", 4), ("100%", 4), ("%", 4), ('"X"_Y', 4), ("_", 4), ("\\", 4), ("zz", 0),
        ("Über", 1), ("ärzte", 1), ("schema", 0), ("epsilon", 0), ("Budget 3", 1),
    ],
)  # fmt: skip
def test_found_by_the_name_or_by_what_is_protected_and_by_nothing_else(ledger, find, count):
    assert len(ledger.budgets(find=find)) == count
    rows, total = ledger._session.balances(find, 0, 100)
    assert len(rows) == total == count


def test_open_ones_come_first_each_with_its_balance(ledger):
    rows, total = ledger._session.balances("", 0, 5)
    assert (names(one for one, _ in rows), total) == (["Budget 2", "Budget 3", "Budget 4", "Budget 5", "Budget 6"], 8)
    for budget, balance in [*rows, *ledger._session.balances("", 5, 5)[0]]:
        assert balance == ledger.balance(budget.name)
    assert names(one for one, _ in ledger._session.balances("", 5, 5)[0]) == ["Über", "Budget 0", "Budget 1"]
    ledger.spend("Budget 3", qw.pure(0.125))  # a balance that is kept is that of its own entries
    assert [float(one.spent.upper) for _, one in ledger._session.balances("", 0, 3)[0]] == [0.25, 0.125, 0.0]


@pytest.mark.parametrize("asked", [{"limit": -1}, {"after": "nobody"}, {"find": 5}, {"find": "\x00"}, {"limit": "3"}])
def test_pages_that_are_none(ledger, asked):
    with pytest.raises(InvalidParameter):
        ledger.budgets(**asked)
