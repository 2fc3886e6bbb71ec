"""Random arrangements of a few columns, small enough that every cell can be looked at."""

import numpy as np

import quiltwork as qw
from quiltwork.tables import Cat, Int, Plan, Table, add_remove, on_table, opaque
from quiltwork.tables.cells.cells import Arrangement


def arranged(seed, *, columns=3, queries=10, several=False, dark=False):
    """Boxes over some columns, or unions of two; with `dark`, a query that cannot be looked into."""
    rng = np.random.default_rng(seed)
    names = [f"x{i}" for i in range(columns)]
    table = Table(**{name: Int(0, 99) for name in names}, kind=Cat("a", "b", "c"))

    def box():
        found = table.kind.isin([str(k) for k in rng.choice(["a", "b", "c"], size=2, replace=False)])
        for name in names:
            if rng.integers(3):
                low, high = sorted(rng.choice(100, size=2, replace=False).tolist())
                found = found & table[name].between(low, high)
        return found

    plan = Plan(table, add_remove())
    for i in range(queries):
        where = box() | box() if several and rng.integers(2) else box()
        plan.add(f"q{i}", where=where, loss=qw.pure(0.1), holds=on_table)
    if dark:
        plan.add("dark", where=opaque("dark", stability=1), loss=qw.pure(0.1), holds=on_table)
    return Arrangement.of(table, plan.queries)


def everyone(arrangement):
    """The touched queries of all cells, one row each."""
    return arrangement.cells(arrangement.combinations()).touched
