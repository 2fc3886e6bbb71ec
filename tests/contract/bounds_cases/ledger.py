"""Budgets: what spends cost in every filter, what is left, forecasts, blocks, planned budgets, odometers."""

import tempfile
from typing import Any

from tests.contract.bounds_cases.draws import Draw, kind, refused

import quiltwork as qw
from quiltwork.ledger import Blocks


def _balance(found: Any) -> Any:
    return {
        "amounts": [[one.unit, one.limit, one.spent, one.left, one.used] for one in found.amounts],
        "reading": found.reading, "percent": found.percent, "runs": found.runs,
    }  # fmt: skip


def _spent(ledger: Any, name: str, loss: Any, **options: Any) -> Any:
    """Nothing when it is granted."""
    return refused(lambda: ledger.spend(name, loss, **options) and None)


def _count(ledger: Any, loss: Any) -> Any:
    return ledger.forecast("b", loss).count


@kind("ledger/filters", 8)
def _(draw: Draw) -> Any:
    limits = draw.pick([
        {"epsilon": draw.share(1, 3)}, {"rho": draw.share(0.2, 1)}, {"mu": draw.share(0.5, 2)},
        {"epsilon": 2.0, "delta": 1e-6}, {"epsilon": 2.0, "delta": 1e-6, "filter": "gdp"},
        {"epsilon": 2.0, "delta": 1e-6, "filter": "zcdp"}, {"epsilon": 2.0, "delta": 1e-6, "filter": "pure"},
        {"epsilon": 2.0, "delta": 1e-6, "reveal": 1e-7}, {"epsilon": 2.0, "delta": 1e-6, "order": 8.5},
    ])  # fmt: skip
    with tempfile.TemporaryDirectory() as folder, qw.Ledger(f"sqlite:///{folder}/budgets.db") as ledger:
        ledger.open("b", protects="one person", **limits)
        losses = [
            qw.gaussian(draw.share(10, 40)), qw.laplace(draw.share(10, 40)), qw.pure(draw.share(0.01, 0.2)),
            qw.zcdp(draw.power(-4, -2)), qw.gdp(draw.share(0.05, 0.3)), qw.approximate(0.01, 1e-8),
            qw.poisson(qw.gaussian(1.5), 0.01), qw.discrete_gaussian(draw.share(10, 20)),
        ]  # fmt: skip
        found = [[_spent(ledger, "b", loss, times=draw.whole(1, 5)), _balance(ledger.balance("b"))] for loss in losses]
        counts = [refused(_count, ledger, loss) for loss in losses]
    return {"limits": {key: str(value) for key, value in limits.items()}, "spent": found, "forecasts": counts}


@kind("ledger/blocks", 3)
def _(draw: Draw) -> Any:
    with tempfile.TemporaryDirectory() as folder, qw.Ledger(f"sqlite:///{folder}/budgets.db") as ledger:
        regions = Blocks("region", ["north", "south", "east"], draw.whole(1, 2))
        ledger.open("visits", rho=draw.share(0.3, 1), protects="one visit", blocks=regions)
        refusals = [
            _spent(
                ledger, "visits", qw.gaussian(draw.share(2, 6)), blocks=draw.pick([["north"], ["south", "east"], None])
            )
            for _ in range(6)
        ]
        return {
            "refusals": refusals,
            **{str(block): _balance(ledger.balance("visits", block)) for block in ("north", "south", None)},
        }


@kind("ledger/planned", 2)
def _(draw: Draw) -> Any:
    plan = [("admissions", qw.gaussian(draw.share(18, 30)), 52), ("waiting times", qw.laplace(draw.share(20, 30)), 12)]
    with tempfile.TemporaryDirectory() as folder, qw.Ledger(f"sqlite:///{folder}/budgets.db") as ledger:
        ledger.open("year", epsilon=2.0, delta=1e-6, kind="planned", plan=plan, protects="one person")
        ledger.spend("year", release="admissions", times=draw.whole(1, 20))
        return _balance(ledger.balance("year"))


@kind("ledger/reservations", 2)
def _(draw: Draw) -> Any:
    with tempfile.TemporaryDirectory() as folder, qw.Ledger(f"sqlite:///{folder}/budgets.db") as ledger:
        ledger.open("b", epsilon=2.0, delta=1e-6, protects="one person", filter=draw.pick(["renyi", "gdp", "zcdp"]))
        found = []
        for turn in range(4):
            held = ledger.reserve("b", qw.gaussian(draw.share(8, 20)), lease=3600)
            found.append(_balance(ledger.balance("b")))
            if turn % 2:
                ledger.refund(held.seq)
            else:
                ledger.start(held.seq)
                ledger.settle(held.seq)
        return [*found, _balance(ledger.balance("b")), ledger.would_exceed("b", qw.gaussian(1.0))]
