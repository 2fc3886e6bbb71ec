"""From a table to published numbers: made-up visits, a plan, a budget, one release, a report to look at.

    python examples/publish_visits.py build

Run it again: the numbers are the same, for the release is kept under its key and paid for once.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pyarrow.parquet as parquet

import quiltwork as qw
from quiltwork.data.visits import visits
from quiltwork.report.pages.released import released_report

PLAN = Path(__file__).parent / "plans" / "visits.yaml"
BUDGET, KEY, DELTA = "patients", "year 2026", 1e-6


def main(folder: str) -> qw.release.Released:
    """Publish the statistics of the plan into a folder; what was published."""
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    parquet.write_table(visits(), place / "visits.parquet")
    file = qw.load(PLAN)
    plan = file.plan()
    with qw.Ledger(f"sqlite:///{place / 'budgets.db'}") as ledger:
        if BUDGET not in [budget.name for budget in ledger.budgets()]:
            ledger.open(BUDGET, protects=plan.neighbors, epsilon=4.0, delta=DELTA)
        released = plan.release(place / "visits.parquet", ledger=ledger, budget=BUDGET, key=KEY)
        print(f"{released}: epsilon at most {float(released.guarantee.epsilon(DELTA).upper):.3f} at delta {DELTA:g}")
        print(f"{ledger.balance(BUDGET)}")
    for row in released.rows:
        groups = ", ".join(str(row[name]) for name in row if name not in ("query", "value", "lower", "upper"))
        print(f"  {row['query']:<24} {groups:<10} {row['value']:>14,.0f}   {row['lower']:,.0f} to {row['upper']:,.0f}")
    released.save(place / "results.parquet")
    for written in released_report(released, file.title, DELTA).save(place / "report.html"):
        print(f"wrote {written}")
    return released


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "build")
