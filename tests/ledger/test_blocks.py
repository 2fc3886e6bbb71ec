"""Blocks: each part of the domain has the whole budget, and the `most` dearest of them are added up.

Reference: theory/granularity.md section 3.2 (block ledger).
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pytest
from tests.examples import seeds
from tests.ledger.books import Clock, refused, spent_until_refused

import quiltwork as qw
from quiltwork.errors import BudgetExceeded, InvalidParameter
from quiltwork.ledger import Blocks, Ledger


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def ledger(fast_sqlite: str, clock: Clock) -> Iterator[Ledger]:
    with Ledger(fast_sqlite, clock=clock) as made:
        yield made


def spent(ledger: Ledger, block: str | None = None) -> float:
    balance = ledger.balance("b", block)
    assert float(balance.spent.upper) - float(balance.spent.lower) < 1e-12
    return float(balance.spent.upper)


def test_each_block_has_the_whole_budget(ledger_url: str) -> None:
    with Ledger(ledger_url, clock=Clock()) as ledger:
        ledger.open("b", epsilon=1.0, protects="x", blocks=Blocks("day"))
        for day in ("mon", "tue", "wed"):
            assert spent_until_refused(ledger, "b", qw.pure(0.25), blocks=day) == 4
        assert ledger.forecast("b", qw.pure(0.25), blocks="thu").count == 4
        assert ledger.would_exceed("b", qw.pure(0.25), blocks=["thu", "mon"])
        assert not ledger.would_exceed("b", qw.pure(1.0), blocks=["thu", "fri"])
        with refused(ledger, BudgetExceeded):
            ledger.spend("b", qw.pure(0.25), blocks=["thu", "mon"])
        assert [spent(ledger, day) for day in ("mon", "thu")] == [1.0, 0.0]
        assert spent(ledger) == 1.0


def test_what_reads_everything_counts_in_every_block(ledger_url: str) -> None:
    with Ledger(ledger_url, clock=Clock()) as ledger:
        ledger.open("b", epsilon=1.0, protects="x", blocks=Blocks("day"))
        ledger.spend("b", qw.pure(0.5), blocks="mon")
        ledger.spend("b", qw.pure(0.25))
        assert [spent(ledger, day) for day in ("mon", "tue", None)] == [0.75, 0.25, 0.75]
        with refused(ledger, BudgetExceeded):
            ledger.spend("b", qw.pure(0.375))  # fits tuesday, but it reads monday too
        with refused(ledger, BudgetExceeded):
            ledger.spend("b", qw.pure(0.875), blocks="tue")
        ledger.spend("b", qw.pure(0.75), blocks="tue")
        ledger.spend("b", qw.pure(0.25), blocks="mon")
        assert spent_until_refused(ledger, "b", qw.pure(0.125)) == 0


def test_two_blocks_when_a_record_may_move(ledger_url: str) -> None:
    with Ledger(ledger_url, clock=Clock()) as ledger:
        ledger.open("b", epsilon=1.0, protects=qw.replace_one(), blocks=Blocks("day", most=2))
        ledger.spend("b", qw.pure(0.5), blocks=["mon", "tue", "wed"])
        with refused(ledger, BudgetExceeded):
            ledger.spend("b", qw.pure(0.125), blocks="mon")
        assert ledger.forecast("b", qw.pure(0.125), blocks="thu").count == 4
        ledger.spend("b", qw.pure(0.5), blocks="thu")
        assert ledger.forecast("b", qw.pure(0.125)).count == 0
        assert spent(ledger) == 1.0


def test_one_spend_on_two_blocks_costs_twice_when_both_may_change(ledger: Ledger) -> None:
    ledger.open("b", epsilon=1.0, protects="x", blocks=Blocks("day", most=2))
    with refused(ledger, BudgetExceeded):
        ledger.spend("b", qw.pure(0.75), blocks=["mon", "tue"])
    ledger.spend("b", qw.pure(0.75), blocks=["mon"])
    with refused(ledger, BudgetExceeded):
        ledger.spend("b", qw.pure(0.375), blocks=["tue"])
    ledger.spend("b", qw.pure(0.25), blocks=["tue"])
    ledger.spend("b", qw.pure(0.25), blocks=["wed"])
    assert spent(ledger) == 1.0


def test_a_refusal_says_what_each_block_may_still_be_charged(ledger: Ledger) -> None:
    ledger.open("b", epsilon=1.0, protects="x", blocks=Blocks("day", most=2))
    ledger.spend("b", qw.pure(0.25), blocks=["mon", "tue"])
    with refused(ledger, BudgetExceeded, "epsilon 0.25 left") as caught:
        ledger.spend("b", qw.pure(0.375), blocks=["mon", "tue"])
    assert caught.value.requested == "epsilon 0.375"
    ledger.spend("b", qw.pure(0.25), blocks=["mon", "tue"])


def bound(base: Fraction, tallies: dict[str, Fraction], most: int) -> Fraction:
    """The dearest choice of `most` blocks, by trying all of them."""
    choices = itertools.combinations(tallies, min(most, len(tallies)))
    return base + max(sum((tallies[name] for name in chosen), Fraction(0)) for chosen in choices)


@pytest.mark.parametrize("most", [1, 2, 3])
@pytest.mark.parametrize("seed", seeds(4))
def test_granted_if_and_only_if_no_choice_of_blocks_passes_the_limit(ledger: Ledger, most: int, seed: int) -> None:
    chance = random.Random(1000 * most + seed)
    names = ["mon", "tue", "wed", "thu", "fri"]
    limit = Fraction(chance.randint(5, 40), 10)
    ledger.open("b", epsilon=float(limit), protects="x", blocks=Blocks("day", names if seed % 2 else None, most=most))
    base, tallies = Fraction(0), dict.fromkeys(names, Fraction(0))
    answers = set()
    for _ in range(45):
        cost, times = Fraction(chance.randint(1, 9), 10), chance.choice([1, 1, 1, 2])
        touched = None if chance.random() < 0.1 else chance.sample(names, chance.randint(1, 3))
        after = {
            name: t + (cost * times if touched is not None and name in touched else 0) for name, t in tallies.items()
        }
        next_base = base + (cost * times if touched is None else 0)
        fits = bound(next_base, after, most) <= limit
        loss = qw.pure(float(cost))
        assert ledger.would_exceed("b", loss, times=times, blocks=touched) != fits
        answers.add(fits)
        if fits:
            ledger.spend("b", loss, times=times, blocks=touched)
            base, tallies = next_base, after
        else:
            with pytest.raises(BudgetExceeded):
                ledger.spend("b", loss, times=times, blocks=touched)
        assert spent(ledger) == pytest.approx(float(bound(base, tallies, most)), abs=1e-12)
        assert spent(ledger) <= float(limit) + 1e-12
    assert answers == {True, False}
    assert ledger.verify().holds


@pytest.mark.parametrize("most", [1, 2, 3])
def test_a_forecast_for_blocks_is_what_is_granted(ledger: Ledger, most: int) -> None:
    ledger.open("b", epsilon=2.0, protects="x", blocks=Blocks("day", most=most))
    ledger.spend("b", qw.pure(0.5), blocks="mon")
    ledger.spend("b", qw.pure(0.25), blocks=["tue", "wed"])
    ledger.spend("b", qw.pure(0.125))
    for blocks in ("mon", "thu", ["thu", "fri"], None):
        count = ledger.forecast("b", qw.pure(0.0625), blocks=blocks).count
        assert count is not None
        assert not ledger.would_exceed("b", qw.pure(0.0625), times=count, blocks=blocks)
        assert ledger.would_exceed("b", qw.pure(0.0625), times=count + 1, blocks=blocks)
    count = ledger.forecast("b", qw.pure(0.0625), blocks=["thu", "mon"]).count
    assert spent_until_refused(ledger, "b", qw.pure(0.0625), blocks=["mon", "thu"]) == count


@pytest.mark.parametrize("most", [1, 2, 3])
@pytest.mark.parametrize("block", ["mon", "tue", "new"])
def test_what_is_left_of_a_block_is_what_may_still_be_charged_to_it(ledger: Ledger, most: int, block: str) -> None:
    ledger.open("b", epsilon=2.0, protects="x", blocks=Blocks("day", most=most))
    ledger.spend("b", qw.pure(0.5), blocks="mon")
    ledger.spend("b", qw.pure(0.25), blocks=["tue", "wed"])
    ledger.spend("b", qw.pure(0.125))
    left = ledger.balance("b", block).left
    assert left.lower == left.upper
    assert ledger.would_exceed("b", qw.pure(float(left.upper) + 1 / 1024), blocks=block)
    assert not ledger.would_exceed("b", qw.pure(float(left.lower)), blocks=block)
    ledger.spend("b", qw.pure(float(left.lower)), blocks=block)
    assert ledger.balance("b", block).left.upper == 0.0


@pytest.mark.parametrize(("kept", "loss"), [("renyi", qw.gaussian(8.0)), ("zcdp", qw.gaussian(8.0))])
def test_blocks_with_other_filters(ledger: Ledger, kept: str, loss: Any) -> None:
    ledger.open("b", epsilon=1.0, delta=1e-6, filter=kept, protects="x", blocks=Blocks("day", most=2))
    alone = ledger.forecast("b", loss, blocks="mon").count
    assert alone is not None
    assert alone >= 2
    for _ in range(alone // 2):
        ledger.spend("b", loss, blocks=["mon", "tue"])
    assert ledger.forecast("b", loss, blocks="wed").count == alone - alone // 2


def test_each_component_is_bounded_by_itself(ledger: Ledger) -> None:
    """epsilon of one block and delta of another: no pair of them may pass either limit."""
    ledger.open("b", epsilon=1.0, delta=1e-6, filter="pure", protects="x", blocks=Blocks("day", most=1))
    ledger.spend("b", qw.approximate(0.9, 1e-7), blocks="mon")
    ledger.spend("b", qw.approximate(0.1, 9e-7), blocks="tue")
    with refused(ledger, BudgetExceeded):
        ledger.spend("b", qw.approximate(0.2, 1e-9))
    with refused(ledger, BudgetExceeded):
        ledger.spend("b", qw.approximate(0.01, 2e-7))
    ledger.spend("b", qw.approximate(0.1, 1e-7))
    assert ledger.verify().holds


def test_named_blocks_are_the_only_ones(ledger: Ledger) -> None:
    ledger.open("b", epsilon=1.0, protects="x", blocks=Blocks("day", ["mon", "tue"]))
    for act in (ledger.spend, ledger.would_exceed, ledger.forecast):
        with refused(ledger, InvalidParameter, "one of the budget's blocks: mon, tue"):
            act("b", qw.pure(0.1), blocks="wed")
    with refused(ledger, InvalidParameter):
        ledger.balance("b", "wed")
    ledger.spend("b", qw.pure(1.0), blocks=["tue", "mon"])
    assert [spent(ledger, day) for day in ("mon", "tue")] == [1.0, 1.0]


def test_the_order_of_blocks_does_not_matter(ledger: Ledger) -> None:
    ledger.open("b", epsilon=1.0, protects="x", blocks=Blocks("day"))
    one = ledger.spend("b", qw.pure(0.5), blocks=["tue", "mon"], key="k")
    assert ledger.spend("b", qw.pure(0.5), blocks=("mon", "tue"), key="k") == one
    assert one.content["blocks"] == ["mon", "tue"]


@pytest.mark.parametrize(
    "blocks", [[], "", [""], ["mon", "mon"], 5, [5], [None], ["a\nb"], ["x" * 201], b"mon"], ids=str
)
def test_bad_blocks(ledger: Ledger, blocks: Any) -> None:
    ledger.open("b", epsilon=1.0, protects="x", blocks=Blocks("day"))
    with refused(ledger, InvalidParameter):
        ledger.spend("b", qw.pure(0.1), blocks=blocks)
    with refused(ledger, InvalidParameter):
        ledger.would_exceed("b", qw.pure(0.1), blocks=blocks)


@pytest.mark.parametrize("block", ["", 5, ["mon", "tue"], ["mon"], "a\nb"], ids=str)
def test_a_balance_is_of_one_block(ledger: Ledger, block: Any) -> None:
    ledger.open("b", epsilon=1.0, protects="x", blocks=Blocks("day"))
    with refused(ledger, InvalidParameter):
        ledger.balance("b", block)


def test_a_budget_without_blocks_has_none(ledger: Ledger) -> None:
    ledger.open("b", epsilon=1.0, protects="x")
    with refused(ledger, InvalidParameter):
        ledger.balance("b", "mon")
    with refused(ledger, InvalidParameter):
        ledger.spend("b", qw.pure(0.1), blocks="mon")


@pytest.mark.parametrize(
    "given",
    [
        {"label": ""},
        {"label": 5},
        {"label": "day", "names": []},
        {"label": "day", "names": "mon"},
        {"label": "day", "names": ["mon", "mon"]},
        {"label": "day", "names": [5]},
        {"label": "day", "names": [f"b{i}" for i in range(10_001)]},
        {"label": "day", "most": 0},
        {"label": "day", "most": -1},
        {"label": "day", "most": True},
        {"label": "day", "most": 1.5},
        {"label": "day", "most": "2"},
    ],
    ids=range(12),
)
def test_bad_partitions(given: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter):
        Blocks(**given)


def test_more_blocks_than_there_are(ledger: Ledger) -> None:
    ledger.open("b", epsilon=1.0, protects="x", blocks=Blocks("day", ["mon", "tue"], most=7))
    ledger.spend("b", qw.pure(0.5), blocks="mon")
    ledger.spend("b", qw.pure(0.5), blocks="tue")
    with refused(ledger, BudgetExceeded):
        ledger.spend("b", qw.pure(0.1), blocks="mon")


def test_very_many_blocks_in_one_spend(ledger: Ledger) -> None:
    ledger.open("b", epsilon=1.0, protects="x", blocks=Blocks("cell", most=2))
    cells = [f"cell {i}" for i in range(2000)]
    ledger.spend("b", qw.pure(0.25), blocks=cells)
    assert ledger.forecast("b", qw.pure(0.25), blocks=cells).count == 1
    assert ledger.verify().holds


def test_blocks_are_refreshed(ledger: Ledger, clock: Clock) -> None:
    ledger.open("b", epsilon=1.0, protects="x", blocks=Blocks("day", most=2), refresh=3600)
    ledger.spend("b", qw.pure(0.5), blocks=["mon", "tue"])
    clock.forward(hours=1)
    assert [spent(ledger, day) for day in ("mon", "tue", None)] == [0.0, 0.0, 0.0]
    ledger.spend("b", qw.pure(0.5), blocks=["mon", "wed"])
    assert spent(ledger) == 1.0
    assert ledger.would_exceed("b", qw.pure(0.1), blocks="wed")
    assert ledger.verify().holds


def test_a_block_in_two_spellings_is_one(ledger: Ledger) -> None:
    composed, decomposed = "caf\u00e9", "cafe\u0301"
    ledger.open("b", epsilon=1.0, protects="x", blocks=Blocks("place"))
    ledger.spend("b", qw.pure(0.75), blocks=composed)
    with refused(ledger, BudgetExceeded):
        ledger.spend("b", qw.pure(0.5), blocks=decomposed)
    with refused(ledger, InvalidParameter, "each once"):
        ledger.spend("b", qw.pure(0.1), blocks=[composed, decomposed])
