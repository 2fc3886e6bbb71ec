"""What a wrong output costs: |x - z|, (x - z)^2, 0 or 1, or the user's own table; and the best use of an output.

Costs are weighed with P(x) under each prior; with several priors the worst of the expected costs counts.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import attrs
import numpy as np

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.errors import InvalidParameter
from quiltwork.numbers.laws import Exact
from quiltwork.numbers.stated import fraction

NAMED: dict[str, Callable[[Fraction, Fraction], Fraction]] = {
    "absolute": lambda x, z: abs(x - z),
    "squared": lambda x, z: (x - z) ** 2,
    "zero-one": lambda x, z: Fraction(int(x != z)),
}
MAX_COST = 1e12
MAX_SHOWN_ROWS = 9  # rows of a refused table that a message tells of


@attrs.frozen(eq=False)
class Cost:
    """cost[x, z] of returning z when the input is x, and the outputs' values."""

    table: FloatArray  # (X, Z)
    exact: Exact
    outputs: tuple[Fraction, ...] | None
    name: str

    @property
    def output_values(self) -> FloatArray:
        """The numbers that the outputs stand for; 0, 1, 2, ... when the table was given."""
        if self.outputs is None:
            return np.arange(self.table.shape[1], dtype=float)
        return np.array([float(value) for value in self.outputs])

    def weights(self, law: FloatArray) -> FloatArray:
        """P(x) cost[x, z] for each prior: (T, X, Z)."""
        return law[:, :, None] * self.table[None, :, :]


def cost_of(cost: Any, values: tuple[Fraction, ...], outputs: Any = None) -> Cost:
    """The cost that was asked for by name, as a function of two numbers, or as a table with a row for each input."""
    if isinstance(cost, str) or callable(cost):
        if isinstance(cost, str) and cost not in NAMED:
            raise InvalidParameter("cost", cost, f"one of {', '.join(NAMED)}, a table, or a function of x and z")
        measure = NAMED[cost] if isinstance(cost, str) else cost
        targets = values if outputs is None else _numbers("outputs", outputs)
        exact = np.empty((len(values), len(targets)), dtype=object)
        for i, x in enumerate(values):
            for j, z in enumerate(targets):
                found = fraction(measure(x, z))
                if found is None:
                    raise InvalidParameter("cost", f"a function that gives {measure(x, z)!r}", "finite numbers")
                exact[i, j] = found
        return _checked(exact, targets, cost if isinstance(cost, str) else "user's function")
    if outputs is not None:
        targets = _numbers("outputs", outputs)
    rows = _rows(cost)
    if not rows or len(rows) != len(values) or any(len(row) != len(rows[0]) or not row for row in rows):
        lengths = ", ".join(str(len(row)) for row in (rows or ())[:MAX_SHOWN_ROWS])
        given = f"rows of lengths {lengths}" if rows else "no table"
        raise InvalidParameter("cost", given, f"a table of {len(values)} rows of one length, one for each input")
    if outputs is not None and len(targets) != len(rows[0]):
        raise InvalidParameter("outputs", f"{len(targets)} numbers", f"{len(rows[0])}, one for each column of the cost")
    exact = np.empty((len(rows), len(rows[0])), dtype=object)
    for i, row in enumerate(rows):
        exact[i] = _numbers("cost", row)
    return _checked(exact, None if outputs is None else targets, "user's table")


def _rows(cost: Any) -> list[list[Any]] | None:
    try:
        return [list(row) for row in cost]
    except TypeError:
        return None


def _numbers(name: str, given: Any) -> tuple[Fraction, ...]:
    read = tuple(fraction(value) for value in checks.listed(name, given, "a list of finite numbers"))
    if not read or any(value is None for value in read):
        raise InvalidParameter(name, given, "a list of finite numbers")
    return tuple(value for value in read if value is not None)


def _checked(exact: Exact, outputs: tuple[Fraction, ...] | None, name: str) -> Cost:
    if any(bool(abs(entry) > MAX_COST) for row in exact.tolist() for entry in row):
        raise InvalidParameter("cost", "an entry beyond 1e12", "numbers from -1e12 to 1e12", "choose another unit")
    return Cost(exact.astype(float), exact, outputs, name)


def remapped(channel: Any, cost: Any, law: Any, values: Any, outputs: Any = None) -> tuple[FloatArray, np.ndarray]:
    """The Bayes-optimal use of each output: the channel followed by z -> best z', and that map.

    Post-processing costs no privacy.  `law` is P(x).
    """
    table = checks.numbers("channel", channel, "probabilities in [0, 1]", 0.0, 1.0)
    weights = checks.numbers("law", law, "probabilities in [0, 1]", 0.0, 1.0)
    priced = cost_of(cost, _numbers("values", values), outputs)
    if table.ndim != 2 or weights.shape != (table.shape[0],) or len(priced.table) != len(table):
        raise InvalidParameter("channel, law and values", (table.shape, weights.shape), "one row for each value")
    best = best_map(table, priced.weights(weights[None, :]))
    found = np.zeros((table.shape[0], priced.table.shape[1]))
    np.add.at(found.T, best, table.T)
    return found, best


def cheapest_law(costs: FloatArray, otherwise: FloatArray) -> FloatArray:
    """The law of outputs whose worst cost over the priors (rows) is least: a matrix game, by linear programming."""
    from scipy.optimize import linprog

    priors, outputs = costs.shape
    objective = np.append(np.zeros(outputs), 1.0)
    above = np.hstack([costs, -np.ones((priors, 1))])
    whole = np.append(np.ones(outputs), 0.0)[None]
    bounds = [(0.0, None)] * outputs + [(None, None)]
    found: Any = linprog(objective, above, np.zeros(priors), whole, [1.0], bounds, method="highs")
    law = np.clip(found.x[:-1], 0.0, None) if found.status == 0 else otherwise
    law = law / law.sum()
    return law if float((costs @ law).max()) < float((costs @ otherwise).max()) else otherwise


def best_map(channel: FloatArray, weights: FloatArray) -> np.ndarray:
    """For each output the replacement of least expected cost (of the priors' mean when there are several)."""
    return np.asarray(np.argmin(channel.T @ weights.mean(axis=0), axis=1))
