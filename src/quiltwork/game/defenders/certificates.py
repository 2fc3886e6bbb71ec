"""A channel with a certificate: what every closed-form defender becomes once it knows the statistic.

Certificates start from how far one change of membership can move the statistic, rounded up.  Exactly-half data sets
differ by a swap: a member leaves, another candidate enters, and the mean moves by (d_k - d_l)/n.  With a fixed
denominator one membership moves the statistic by 2 d_k / K.  Means of a random number of members can move by a whole
row, when one person is all of the data.

Reference: theory/game.md section 4 (certificate for swap neighbours) and section 1 (sensitivities of Theorem 3).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Literal

import attrs
import numpy as np

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.curves.guarantee import Guarantee
from quiltwork.errors import InvalidParameter
from quiltwork.game.people.population import Members, Population, Statistic, rows_of_people
from quiltwork.game.releases import Channel
from quiltwork.numbers.rounding import UNIT, up

MIN_MU = 1e-100  # that a curve takes: smaller ones are rounded up to it, and squares below it may underflow

Rows = Literal["any", "pool"]


@attrs.frozen(eq=False)
class Neighbours:
    """Rows whose differences (`swap`) or values (otherwise), times `step`, are the possible moves of the statistic.

    `whole`: one person may be all of the data, so that any move within [-1, 1]^m is possible.
    """

    rows: FloatArray
    swap: bool
    step: float
    whole: bool
    protects: str


def neighbours(statistic: Statistic) -> Neighbours:
    """The moves that one change of membership can make."""
    rows, people = statistic.population.candidates, statistic.population.size[0]
    size = statistic.fixed_size
    if size is not None:
        step = 1.0 / size if statistic.denominator == "members" else 2.0 / people
        words = f"which of the {people} candidates are the {size} in the data: any two sets that differ by one swap"
        return Neighbours(rows, True, up(step), False, words)
    words = f"whether one of the {people} candidates is in the data"
    if statistic.denominator == "fixed":
        return Neighbours(rows, False, up(2.0 / people), False, words)
    return Neighbours(rows, False, 1.0, True, words)


def widest(moves: Neighbours, rows: Rows, transform: FloatArray | None = None) -> tuple[float, tuple[int, int] | None]:
    """The largest Euclidean length of a move, rounded up (at least `MIN_MU`), and the pair of candidates that makes it.

    `rows="any"`: over all rows in [0, 1]^m, so that it holds whoever the candidates are.  `rows="pool"`: over the pool.
    `transform` (m x r, or one factor an attribute) is applied to the moves first; only for the pool.
    """
    attributes = moves.rows.shape[1]
    if checks.one_of("rows", rows, ("any", "pool")) == "any" or moves.whole:
        if transform is not None:
            raise InvalidParameter("rows", rows, "'pool' where noise follows the pool", "see the certificate")
        return up(np.sqrt(attributes) * moves.step, 3), None
    points, size = _transformed(moves.rows, transform), _transformed(np.abs(moves.rows), transform, np.abs)
    # products with m terms err by at most m units of |rows| |transform|; lengths by as much again
    slack = (0.0 if transform is None else 2.0 * attributes * UNIT) * np.sqrt((size**2).sum(axis=1)).max()
    if moves.swap:
        points = points - points.mean(axis=0)  # a shift of all points changes no difference, up to its own rounding
        slack = 2.0 * slack + 4.0 * UNIT * np.sqrt((size**2).sum(axis=1)).max()
    square, pair = farthest(points, moves.swap)
    total = (4.0 if moves.swap else 1.0) * float((points**2).sum(axis=1).max())
    square += 4.0 * (points.shape[1] + 4.0) * UNIT * total
    return max(up((np.sqrt(max(square, 0.0)) + slack) * moves.step, 4), MIN_MU), pair


def farthest(points: FloatArray, swap: bool) -> tuple[float, tuple[int, int]]:
    """The largest squared length of a point, or (`swap`) of the difference of two, and whose it is."""
    lengths = (points**2).sum(axis=1)
    if not swap:
        most = int(np.argmax(lengths))
        return float(lengths[most]), (most, most)
    squares = lengths[:, None] + lengths[None, :] - 2.0 * (points @ points.T)
    np.fill_diagonal(squares, -np.inf)  # two people, also when all are alike
    first, second = (int(index) for index in np.unravel_index(int(np.argmax(squares)), squares.shape))
    return float(squares[first, second]), (first, second)


def _transformed(rows: FloatArray, transform: FloatArray | None, size: Any = np.asarray) -> FloatArray:
    if transform is None:
        return rows
    return np.asarray(rows * size(transform) if transform.ndim == 1 else rows @ size(transform))


@rows_of_people
@attrs.frozen(eq=False)
class PlainDefence:
    """Noise from a channel; the certificate is proved by the defender that made it."""

    name: str
    statistic: Statistic
    channel: Channel
    prove: Callable[[Rows | None], Guarantee]

    def defend(self, exact: FloatArray, members: Members, rng: np.random.Generator) -> FloatArray:
        """Simulated outputs; see `quiltwork.mechanisms` for noise that protects people."""
        return self.channel.draw(exact, rng)

    def certificate(self, rows: Rows | None = None) -> Guarantee:
        """The proven guarantee: for any rows, or for this pool of candidates, which is public."""
        return self.prove(rows)


@rows_of_people
@attrs.frozen(eq=False)
class DrawnDefence:
    """A mechanism that is no linear channel: how it is drawn, and its certificate; attackers simulate it."""

    name: str
    statistic: Statistic
    draw: Callable[[FloatArray, np.random.Generator], FloatArray]
    prove: Callable[[Rows | None], Guarantee]
    channel: ClassVar[Channel | None] = None

    def defend(self, exact: FloatArray, members: Members, rng: np.random.Generator) -> FloatArray:
        """Simulated outputs, in floating point: nothing here protects people."""
        return self.draw(exact, rng)

    def certificate(self, rows: Rows | None = None) -> Guarantee:
        """The proven guarantee of the mechanism in real numbers."""
        return self.prove(rows)


def statistic_of(population: Population | Statistic, denominator: str) -> Statistic:
    """The statistic that a defender is asked to defend."""
    if isinstance(population, Statistic):
        return population
    if not isinstance(population, Population):
        raise InvalidParameter("population", population, "a Population")
    return Statistic(population, denominator)
