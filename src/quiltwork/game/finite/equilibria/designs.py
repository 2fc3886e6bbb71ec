"""The defender's problem: a channel R(x | b) that minimises privacy loss + kappa E[cost], in rational numbers.

theta are the probabilities of the membership vectors, c(b, x) what it costs to publish x when the members are b.
Numbers given as floats are taken for the doubles they are, so that everything behind the solver is evaluated exactly.

Reference: seed 004 equation (4); theory/game.md section 1, Theorem 1 corrected.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import Any

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.game.finite.game import FiniteGame
from quiltwork.game.finite.membership import bits, individuals
from quiltwork.numbers.laws import Table, doubles, is_exact, number, read_table

__all__ = ["Design", "design", "distances", "simple", "true_channel"]

MAX_ENTRIES = 50_000  # of a channel that is still designed
MAX_PRICE = 10**9  # of kappa times a cost, next to privacy losses of a few units
GRID = 2**52  # channels of a solver are rounded to multiples of 1/GRID, so that exact sums stay short

_COST = "'changed', 'distance', or a table of finite numbers with one row a secret and one column an output"


@attrs.frozen(eq=False, slots=False)
class Design:
    """One problem, all of it in fractions; secrets of probability zero are left out."""

    prior: Table  # (B,), all positive
    members: np.ndarray[Any, np.dtype[np.int64]]  # (B, K)
    cost: Table  # (B, X), times kappa
    kept: np.ndarray[Any, np.dtype[np.int64]]  # the rows of the game that are here

    @cached_property
    def rates(self) -> Table:
        """theta_k."""
        return np.asarray(self.members.T @ self.prior)

    @cached_property
    def law(self) -> FloatArray:
        """The prior in floats, for solvers."""
        return doubles(self.prior)

    @cached_property
    def price(self) -> FloatArray:
        """kappa c(b, x) in floats, for solvers."""
        return doubles(self.cost)

    @property
    def shape(self) -> tuple[int, int]:
        """Secrets and outputs."""
        return int(self.cost.shape[0]), int(self.cost.shape[1])

    def joint(self, channel: Table) -> Table:
        """theta(b) R(x | b)."""
        return np.asarray(self.prior[:, None] * channel)

    def expense(self, channel: Table) -> Fraction:
        """kappa E[cost], exactly."""
        return Fraction((self.joint(channel) * self.cost).sum())


def design(game: FiniteGame, kappa: Any, cost: Any) -> Design:
    """The problem of this game: its prior, its outputs, and costs relative to what its channel would publish."""
    if not isinstance(game, FiniteGame):
        raise InvalidParameter("game", game, "a FiniteGame")
    if game.channel.size > MAX_ENTRIES:
        raise Unsupported("an equilibrium of this size", f"{game.channel.size:,} entries are more than {MAX_ENTRIES:,}")
    weight = Fraction(number("kappa", kappa))
    if weight < 0:
        raise InvalidParameter("kappa", kappa, "at least 0")
    prior = _exact_table(game.prior)
    prior = prior / prior.sum()
    kept = np.flatnonzero(prior > 0)
    members = bits(individuals(len(prior)))[kept]
    costs = (weight * _costs(game, cost))[kept]
    if abs(costs).max() > MAX_PRICE:
        raise InvalidParameter("kappa times the largest cost", float(weight), f"at most {MAX_PRICE:g}")
    return Design(prior[kept], members, costs, kept)


def distances(game: FiniteGame) -> Table:
    """c(b, x): the mean absolute distance of x from what the channel publishes for b; outputs must be numbers.

    >>> distances(FiniteGame.summary([[1], [0]]))[2].tolist()
    [Fraction(1, 1), Fraction(1, 2), Fraction(0, 1)]
    """
    try:
        rows = [output if isinstance(output, tuple) else (output,) for output in game.outputs]
        labels = [[Fraction(number("an output", value)) for value in row] for row in rows]
    except InvalidParameter:
        raise InvalidParameter("the outputs of the game", game.outputs[:3], "numbers, or tuples of numbers") from None
    if not labels[0] or any(len(row) != len(labels[0]) for row in labels):
        raise InvalidParameter("the outputs of the game", game.outputs[:3], "tuples of one length")
    table = np.empty((len(labels), len(labels[0])), dtype=object)
    table[:] = labels
    metric = abs(table[:, None, :] - table[None, :, :]).sum(axis=2) / table.shape[1]
    return np.asarray(_exact_table(game.channel) @ metric)


def _costs(game: FiniteGame, cost: Any) -> Table:
    if isinstance(cost, str) and cost == "changed":
        return np.asarray(1 - _exact_table(game.channel))
    if isinstance(cost, str) and cost == "distance":
        return distances(game)
    table = read_table("cost", cost, 2, _COST)
    if table.shape != game.channel.shape:
        raise InvalidParameter("the shape of cost", table.shape, f"{game.channel.shape}: {_COST}")
    return _exact_table(table)


def _exact_table(table: Table) -> Table:
    if is_exact(table):
        return table
    found = np.empty(table.size, dtype=object)
    found[:] = [Fraction(value) for value in table.ravel().tolist()]
    return found.reshape(table.shape)


def true_channel(suggested: FloatArray) -> Table:
    """A channel near the suggested one: multiples of 1/GRID, none negative, rows of sum one exactly."""
    scaled = np.rint(np.clip(np.nan_to_num(suggested, nan=0.0), 0.0, 1.0) * GRID)
    found = np.empty(suggested.shape, dtype=object)
    for index, row in enumerate(scaled):
        whole = [int(entry) for entry in row]
        total = sum(whole)
        if not total:
            whole, total = [1] * len(whole), len(whole)
        found[index] = _shared(whole, total)
    return found


def _shared(whole: list[int], total: int) -> list[Fraction]:
    """Whole numbers brought to the sum GRID: scaled down or up, the rest to the largest."""
    parts = [entry * GRID // total for entry in whole]
    largest = max(range(len(parts)), key=parts.__getitem__)
    parts[largest] += GRID - sum(parts)
    return [Fraction(part, GRID) for part in parts]


def simple(channel: Table, largest: int) -> Table:
    """A channel of nearby fractions with denominators up to `largest`; what is missing in a row goes to its largest."""
    found = np.empty(channel.size, dtype=object)
    found[:] = [entry.limit_denominator(largest) for entry in channel.ravel().tolist()]
    found = found.reshape(channel.shape)
    for row in found:
        row[int(np.argmax(row))] += 1 - row.sum()
    return channel if bool((found < 0).any()) else found
