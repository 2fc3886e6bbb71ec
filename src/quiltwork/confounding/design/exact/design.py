"""Optimal designs in rational arithmetic: a channel and a proof that none is cheaper, with gap exactly zero.

The program is solved in floats, its basis is solved exactly and, where it is not exactly optimal, improved by exact
pivots.  None of that is trusted: cost and delta of the channel, and the lower bound of the multipliers, are evaluated
from the given tables alone.

Reference: theory/confounding.md section 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import attrs
import numpy as np

from quiltwork.confounding.design.exact.program import Duals, Written, hinges_of, rows_needed, signed, whole, written
from quiltwork.confounding.design.exact.simplex import optimal, program
from quiltwork.confounding.design.program import highs
from quiltwork.confounding.pairs import listed
from quiltwork.errors import InvalidParameter, NotCertified, Unreachable, Unsupported
from quiltwork.kinds import document
from quiltwork.numbers.rational_linear import Singular
from quiltwork.numbers.stated import fraction

MAX_EXACT_ROWS = 5000  # inequalities of the reduced program that are still solved exactly
ENTRIES = 2_000_000  # products in one evaluation of all hinges
MAX_SHOWN_BITS = 80  # bits of a fraction that is spelled out in a message

Pairs = Sequence[tuple[int, int]]
Fractions = np.ndarray[Any, np.dtype[np.object_]]
Channel = tuple[tuple[Fraction, ...], ...]


@document("exact_design/1")
@attrs.frozen
class RationalSolution:
    """A channel, what it costs, and a bound below which no channel can go."""

    channel: Channel
    cost: Fraction
    lower_bound: Fraction
    delta: Fraction  # the largest over the pairs, of everything released
    duals: Duals
    pivots: int  # exact pivots after the float solver

    @property
    def gap(self) -> Fraction:
        """Zero: the channel is optimal."""
        return self.cost - self.lower_bound


def solve_exactly(joint: Any, pairs: Any, odds: Any, delta: Any, weights: Any) -> RationalSolution:
    """The cheapest channel g[x, z] after which every pair of rows meets (odds, delta), exactly.

    joint[r, x, y] = P(x, y | r), weights[t, x, z]; the cost is the largest over t of sum w[t] g.  Fractions, whole
    numbers or texts such as "1/3"; pairs are ordered.

    >>> half = Fraction(1, 2)
    >>> found = solve_exactly([[[1], [0]], [[0], [1]]], [(0, 1), (1, 0)], 3, 0, [[[0, half], [half, 0]]])
    >>> found.cost, found.gap, found.channel[0]
    (Fraction(1, 4), Fraction(0, 1), (Fraction(3, 4), Fraction(1, 4)))
    """
    table, prices = _rationals("joint", joint), _rationals("weights", weights)
    if bool((table < 0).any()):
        raise InvalidParameter("joint", _shown(table.min()), "probabilities, none negative")
    for index, row in enumerate(table):
        if row.sum() != 1:
            raise InvalidParameter(f"the sum of row {index} of joint", _shown(row.sum()), "1 exactly")
    if prices.shape[1] != table.shape[1]:
        raise InvalidParameter("the shape of weights", prices.shape, f"(priors, {table.shape[1]}, outputs)")
    ordered = listed(pairs, len(table))
    if not ordered:
        raise InvalidParameter("pairs", pairs, "ordered pairs of rows", "without pairs nothing is protected")
    ratio, target = _rational("odds", odds, ">= 1"), _rational("delta", delta, "in [0, 1]")
    if ratio < 1:
        raise InvalidParameter("odds", _shown(ratio), ">= 1", "odds are e^epsilon")
    if not 0 <= target <= 1:
        raise InvalidParameter("delta", _shown(target), "in [0, 1]")
    return _solved(table, ordered, ratio, target, prices)


def _solved(joint: Fractions, pairs: Pairs, odds: Fraction, delta: Fraction, weights: Fractions) -> RationalSolution:
    products = len(pairs) * joint.shape[1] * joint.shape[2] * weights.shape[2]
    if products > ENTRIES:
        raise _too_large(f"{products:,} products of table entries in the hinges are more than {ENTRIES:,}")
    tables, unit = signed(joint, pairs, odds)
    for pair, table in zip(pairs, tables, strict=True):
        before = Fraction(sum(max(total, 0) for total in table.sum(axis=1)), unit)
        if before > delta:
            raise Unreachable(
                f"delta {_shown(delta)} at odds {_shown(odds)} between rows {pair[0]} and {pair[1]}",
                "all channels",
                f"what was released before already has delta {_shown(before)}, which no further release can lower",
            )
    hinges = [hinges_of(table, unit, delta) for table in tables]
    rows = rows_needed(hinges, weights.shape)
    if rows > MAX_EXACT_ROWS:
        raise _too_large(f"{rows} inequalities are more than {MAX_EXACT_ROWS}")
    system = written(hinges, weights)
    try:
        found = optimal(program(system.rows, system.right, system.costs), _suggested(system))
    except Singular as reason:
        raise _too_large(str(reason)) from None
    channel, duals = system.channel(found.values), system.duals(found.prices, joint.shape[2])
    reached = worst_delta(joint, pairs, odds, channel)
    if reached > delta:
        raise NotCertified("the channel of the exact program", f"it reaches delta {_shown(reached)}")
    bound = lower_bound(joint, pairs, odds, delta, weights, duals)
    cost = Fraction(max((prior * np.array(channel, dtype=object)).sum() for prior in weights))
    return RationalSolution(channel, cost, bound, reached, duals, found.pivots)


# ---- evaluation, from the given tables alone


def worst_delta(joint: Fractions, pairs: Pairs, odds: Fraction, channel: Channel) -> Fraction:
    """The largest over the pairs of sum_yz (sum_x a[p, y, x] g[x, z])_+, for a row-stochastic channel."""
    table, below = whole(np.array(channel, dtype=object))
    if bool((table < 0).any()) or bool((table.sum(axis=1) != below).any()):
        raise NotCertified("the channel", "its rows are no laws")
    tables, unit = signed(joint, pairs, odds)
    return max(Fraction(np.maximum(rows @ table, 0).sum(), unit * below) for rows in tables)


def lower_bound(
    joint: Fractions, pairs: Pairs, odds: Fraction, delta: Fraction, weights: Fractions, duals: Duals
) -> Fraction:
    """No channel that meets the target costs less than this, whatever multipliers are given.

    With a law l over the priors and 0 <= n[p, y, z] <= m[p] the bound is
    sum_x min_z ( sum_t l[t] w[t, x, z] + sum_py n[p, y, z] a[p, y, x] ) - delta sum_p m[p].

    Proof.  Let g be feasible and v[p, y, z] = sum_x a[p, y, x] g[x, z].  Since 0 <= n <= m, n v <= m (v)_+, and so
    sum_yz n[p, y, z] v[p, y, z] - delta m[p] <= m[p] (sum_yz v_+ - delta) <= 0 for every pair.  Hence
    max_t <w_t, g> >= sum_t l[t] <w_t, g> >= sum_t l[t] <w_t, g> + sum n v - delta sum m
    = sum_xz g[x, z] (sum_t l[t] w[t, x, z] + sum_py n[p, y, z] a[p, y, x]) - delta sum m,
    and each row of g is a law, so that it averages the bracket over z to no less than its minimum.
    """
    if any(value < 0 for value in duals.priors) or sum(duals.priors) != 1:
        raise NotCertified("the lower bound", "the multipliers of the priors are no law")
    tables, unit = signed(joint, pairs, odds)
    inner = np.tensordot(np.array(duals.priors, dtype=object), weights, axes=1)
    for table, most, hinges in zip(tables, duals.pairs, duals.hinges, strict=True):
        numerators, below = whole(np.array(hinges, dtype=object))
        if bool((numerators < 0).any()) or Fraction(numerators.max(), below) > most:
            raise NotCertified("the lower bound", "a multiplier of a hinge lies outside [0, that of its pair]")
        inner = inner + (table.T @ numerators) * Fraction(1, unit * below)
    return Fraction(inner.min(axis=1).sum() - delta * sum(duals.pairs))


# ---- the float solver's suggestion


def _suggested(system: Written) -> list[int] | None:
    """The columns of [A I] in the optimal basis of HiGHS; None when it found none."""
    solver: Any = highs()
    try:
        values = np.array([float(value) for row in system.rows for value in row.values()])
    except OverflowError:  # odds past the largest float
        return None
    count, rows, nothing = len(system.costs), len(system.rows), np.zeros(0, dtype=np.int32)
    costs, right = np.array(system.costs, dtype=float), np.array(system.right, dtype=float)
    starts = np.cumsum([0, *map(len, system.rows)])[:-1].astype(np.int32)
    places = np.array([column for row in system.rows for column in row], dtype=np.int32)
    solver.addCols(count, costs, np.zeros(count), np.full(count, np.inf), 0, nothing, nothing, np.zeros(0))
    solver.addRows(rows, np.full(rows, -np.inf), right, len(places), starts, places, values)
    solver.run()
    basis = solver.getBasis()
    if not basis.valid:
        return None
    statuses = [*basis.col_status, *basis.row_status]
    return [index for index, status in enumerate(statuses) if status.name == "kBasic"]


# ---- input and messages


def _shown(value: Fraction) -> str:
    if value.numerator.bit_length() + value.denominator.bit_length() <= MAX_SHOWN_BITS:
        return str(value)
    return f"about {Decimal(value.numerator) / Decimal(value.denominator):.9g}"


def _too_large(because: str) -> Unsupported:
    return Unsupported("an exact design of this size", because, "use floats, whose answers are certified too")


def _rational(name: str, value: Any, allowed: str) -> Fraction:
    found = None if isinstance(value, (float, np.floating)) else fraction(value)
    if found is None:
        hint = "Fraction('0.1'), not 0.1" if isinstance(value, (float, np.floating)) else ""
        raise InvalidParameter(name, value, f"a fraction or a whole number {allowed}".strip(), hint)
    return found


def _rationals(name: str, value: Any) -> Fractions:
    """A table of three axes."""
    try:
        given = np.array(value, dtype=object)
    except ValueError:
        raise InvalidParameter(f"the shape of {name}", "rows of several lengths", "a table of three axes") from None
    if given.ndim != 3 or not given.size:
        raise InvalidParameter(f"the shape of {name}", given.shape, "three axes, none of them empty")
    entries: list[Any] = given.ravel().tolist()
    read = np.empty(len(entries), dtype=object)
    read[:] = [_rational(f"an entry of {name}", entry, "") for entry in entries]
    return read.reshape(given.shape)
