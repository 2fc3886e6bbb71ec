"""Random mechanisms on small classes, their exact losses pair by pair, and how near they come to a bound.

A mechanism is drawn first and its metric is read off it: the losses of a mechanism are the smallest metric that it is
private for.  So no draw is wasted, and a bound that is too small for any mechanism has a chance to be found.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np
from scipy.special import logsumexp, ndtri

from examples.gallery.granularity.classes import losses
from quiltwork.checks import FloatArray

ORDERS = (1.5, 2.0, 4.0, 16.0, 64.0)  # of Rényi divergences, at which a rho is looked for
GRID = 1 + np.geomspace(1e-3, 63.0, 120)  # orders between which a rho is bounded
LEAST = 1e-3  # probability of an output, so that sums in doubles keep their digits
ROUNDING = 1e-9  # relative
Draw = np.random.Generator


# ---- divergences of all pairs of rows


def hockey_sticks(channel: FloatArray, epsilons: Any) -> FloatArray:
    """delta of every ordered pair of rows, each at its own epsilon; infinite epsilons give 0 for positive rows."""
    with np.errstate(over="ignore"):
        grown = np.minimum(np.exp(np.broadcast_to(epsilons, (len(channel),) * 2)), 1e300)
    found: FloatArray = np.maximum(channel[:, None, :] - grown[..., None] * channel[None, :, :], 0.0).sum(axis=-1)
    return found


def renyi(channel: FloatArray, orders: Any) -> FloatArray:
    """The Rényi divergence of every ordered pair of rows, one matrix for each order."""
    logs, at = np.log(channel), np.asarray(orders, dtype=float)[:, None, None]
    terms = at[..., None] * logs[:, None, :] + (1 - at[..., None]) * logs[None, :, :]
    found: FloatArray = logsumexp(terms, axis=-1) / (at - 1)
    return np.maximum(found, 0.0)


def concentrated(channel: FloatArray) -> FloatArray:
    """At most rho: the largest divergence over its order, either way round, at the orders that are looked at."""
    return both(np.max(renyi(channel, ORDERS) / np.asarray(ORDERS)[:, None, None], axis=0))


def concentrated_most(channel: FloatArray) -> FloatArray:
    """At least rho, the supremum of D_a / a over all orders a > 1, either way round.

    D_a rises with a. So D_a / a is at most D_b / b' for a between two orders b' < b of the grid, at most D_b for a up
    to its first order b, since a > 1, and at most the largest loss over its last order for a beyond that.
    """
    found = renyi(channel, GRID)
    inside = found[1:] / GRID[:-1, None, None]
    return both(np.max([found[0], *inside, losses(channel) / GRID[-1]], axis=0))


def gaussian(channel: FloatArray) -> FloatArray:
    """The Gaussian mu of every pair: rejection regions by likelihood ratio, whose vertices decide."""
    p = np.broadcast_to(channel[:, None, :], (len(channel), *channel.shape))
    q = np.broadcast_to(channel[None, :, :], p.shape)
    order = np.argsort(np.log(p) - np.log(q), axis=-1, kind="stable")
    heads = [np.cumsum(np.take_along_axis(law, order, axis=-1), axis=-1)[..., :-1] for law in (p, q)]
    gaps = ndtri(np.clip(heads[1], 0, 1)) - ndtri(np.clip(heads[0], 0, 1))
    return both(np.maximum(gaps.max(axis=-1), 0.0))


def both(matrix: FloatArray) -> FloatArray:
    """The larger of both directions: a metric is symmetric."""
    return np.maximum(matrix, matrix.T)


def pure(channel: FloatArray) -> FloatArray:
    return both(losses(channel))


# ---- mechanisms


def draw_channel(rng: Draw, rows: int, outputs: int) -> FloatArray:
    """A law for each database, some of them close to each other and some far apart."""
    weights = rng.dirichlet(np.full(outputs, rng.choice([0.3, 1.0, 5.0])), rows)
    laws = np.maximum(weights, LEAST)
    found: FloatArray = laws / laws.sum(axis=1, keepdims=True)
    return found


@attrs.frozen(eq=False)
class Chain:
    """Mechanisms one after the other: step i looks at the label of the database in map i, and at earlier outputs.

    `kernels[i]` has one channel over the labels of map i for each sequence of earlier outputs.
    """

    labels: tuple[FloatArray, ...]
    kernels: tuple[tuple[FloatArray, ...], ...]

    @property
    def channel(self) -> FloatArray:
        """The joint law of all outputs, for every database."""
        total = np.ones((len(self.labels[0]), 1))
        for label, kernels in zip(self.labels, self.kernels, strict=True):
            laws = np.stack([kernel[label] for kernel in kernels], axis=1)
            total = (total[:, :, None] * laws).reshape(len(total), -1)
        return total

    def seen(self, measure: Callable[[FloatArray], FloatArray]) -> list[FloatArray]:
        """For each step the distance of every two databases: the largest over earlier outputs."""
        return [
            np.max([measure(kernel) for kernel in kernels], axis=0)[np.ix_(label, label)]
            for label, kernels in zip(self.labels, self.kernels, strict=True)
        ]


def draw_chain(rng: Draw, labels: Sequence[Any], adaptive: bool, outputs: int = 2) -> Chain:
    """A random chain over these maps; without `adaptive` every step ignores what came before."""
    numbers = tuple(np.unique(label, return_inverse=True)[1] for label in labels)
    kernels, paths = [], 1
    for label in numbers:
        drawn = [draw_channel(rng, int(label.max()) + 1, outputs) for _ in range(paths if adaptive else 1)]
        kernels.append(tuple(drawn if adaptive else drawn * paths))
        paths *= outputs
    return Chain(numbers, tuple(kernels))


# ---- how near to a bound


@attrs.define
class Tally:
    """What was seen of one theorem: how many mechanisms and pairs, how many above the bound, the tightest ratio.

    The ratio is taken where it says something: where one step alone decides, the bound is met by construction.
    """

    mechanisms: int = 0
    pairs: int = 0
    above: int = 0
    tightest: float = 0.0

    def compare(self, true: FloatArray, bound: FloatArray, telling: Any = True) -> None:
        """Count one mechanism; pairs of a database with itself, and those with no bound, say nothing."""
        asked = np.isfinite(bound) & ~np.eye(len(bound), dtype=bool)
        telling = np.broadcast_to(telling, bound.shape)[asked]
        true, bound = true[asked], bound[asked]
        self.mechanisms += 1
        self.pairs += true.size
        self.above += int(np.sum(true > bound * (1 + ROUNDING) + 1e-12))
        large = telling & (bound > 1e-6)
        if np.any(large):
            self.tightest = max(self.tightest, float(np.max(true[large] / bound[large])))

    @property
    def holds(self) -> bool:
        return self.mechanisms > 0 and self.above == 0

    @property
    def ratio(self) -> str:
        """The tightest ratio; what is above 1 by rounding alone is 1."""
        return f"{min(self.tightest, 1.0) if self.holds else self.tightest:.4f}"


def all_of(parts: Sequence[FloatArray]) -> FloatArray:
    """The sum over steps."""
    return np.sum(parts, axis=0)


def several(parts: Sequence[FloatArray]) -> Any:
    """Pairs at which two steps or more are at a distance."""
    return np.sum([part > 0 for part in parts], axis=0) > 1


def neighbour_most(pairs: Sequence[tuple[int, int]], matrix: FloatArray) -> float:
    """The largest value between neighbours."""
    return max((float(matrix[i, j]) for i, j in pairs), default=0.0)


def changing(tables: Sequence[Any], rng: Draw, count: int) -> list[list[Any]]:
    """Random maps: what is left of a table when only some values, or some positions, are kept."""
    found = []
    for _ in range(count):
        if rng.random() < 0.5:
            values = sorted(set(itertools.chain(*tables)))
            kept = [value for value in values if rng.random() < 0.6]
            found.append([repr([x for x in table if x in kept]) for table in tables])
        else:
            found.append([str(int(x)) for x in rng.integers(0, 4, len(tables))])
    return found
