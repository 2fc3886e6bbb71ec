"""The exact worst case over all mechanisms that are e-DP for each entry, as a linear program known from both sides.

Let p, p' be the laws of the data given the two secrets, V(D) the probability of an event on the dataset D.  The leak is

    max log (p.V) / (p'.V)   subject to   V(D) <= e^eps V(D') for datasets that differ in one entry,

and every such V, scaled down, is an event of a legal mechanism.  Datasets of probability zero are inputs of the
mechanism like any other and stay in the program.  HiGHS only suggests; both sides are evaluated here.

Lower side: extreme V are e^(eps h) with whole numbers h that one entry moves by at most 1.  The solver's log V / eps is
rounded to such an h, and log(p.V / p'.V) is evaluated.

Upper side: let f >= 0 on ordered pairs of neighbours, c(D) = p(D) - sum_D' f(D, D') + e^eps sum_D' f(D', D).  The terms
f(D, D') (e^eps V(D') - V(D)) are >= 0, so p.V <= c.V.  Let Z(D) = sum_D' p'(D') e^(-eps d(D, D')), where d counts the
entries in which they differ.  Since e^(-eps d(D, D')) V(D) <= V(D'), we have Z(D) V(D) <= p'.V.  For any t, with
v(D) = max(c(D) - t p'(D), 0),

    p.V <= sum (t p'(D) + v(D)) V(D) <= (t + sum v(D) / Z(D)) p'.V,

so log(t + sum v/Z) bounds the leak whatever the solver did: its error v is charged at 1/Z.

Scaling: V(D) <= p'.V / Z(D), and likewise V(D) <= p.V / Y(D) with Y made from p.  With p'.V = 1 and p.V <= T the
unknowns V S, S = max(Z, Y/T), lie in [0, 1].  HiGHS drops coefficients below 1e-9, hence the large factor in front.

Reference: theory/pufferfish.md 3.3.
"""

from __future__ import annotations

import functools
import itertools
import math
from typing import Any

import numpy as np

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.curves.bracket import Bracket
from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.numbers.rounding import UNIT, down, up

DATASETS = 4096  # beyond this one program takes more than seconds
STEEPEST = 600.0  # epsilon times entries: beyond this e^(-eps d) leaves the range of floats
GOOD_WIDTH = 1e-9  # width, relative below 1, at which no other scaling is tried
METHOD = "linear program"

_FACTORS = (1e5, 1e3)  # of the equation and the objective; the second is tried when the first is not close enough
_CAP = 1e7  # edges with a larger coefficient are left out: their flow is 0, and heights are made legal afterwards
_GENTLE = 1e-4  # below this epsilon, log V / epsilon is lost in the solver's tolerance

Edges = tuple[np.ndarray, np.ndarray]


def worst_leak(first: Any, second: Any, epsilon: float, *, relative_error: float = 0.0) -> Bracket:
    """The largest leak about two laws of the data, over every mechanism that is epsilon-DP for each entry.

    `first` and `second` are weights of the datasets, arrays of one axis for each entry; they need not sum to one, and
    each weight is known up to the factor 1 +- relative_error.

    >>> law = np.array([[0.4, 0.1], [0.1, 0.4]])  # two bits that agree with probability 0.8
    >>> bracket = worst_leak(law * [[1], [0]], law * [[0], [1]], 1.0)
    >>> round(bracket.upper, 9) - round(1 + math.log((0.8 * math.e + 0.2) / (0.2 * math.e + 0.8)), 9)
    0.0
    """
    one, two = _weights("first", first), _weights("second", second)
    entry, error = checks.non_negative("epsilon", epsilon), checks.non_negative("relative_error", relative_error)
    if one.shape != two.shape:
        raise InvalidParameter("second", two.shape, f"weights of the shape of the first, {one.shape}")
    if one.size > DATASETS:
        raise Unsupported(
            f"the exact worst case over {one.size} datasets",
            f"the linear program is limited to {DATASETS}",
            "use the influence curve (Theorem 6)",
        )
    far = sum(size > 1 for size in one.shape)
    if not entry or not far:
        return Bracket(0.0, 0.0, "epsilon", METHOD)
    group = up(far * entry)
    if entry * far > STEEPEST:
        return Bracket(0.0, group, "epsilon", "group privacy", met=False)
    # fsum is correctly rounded, so normalising costs three roundings for each weight
    one, two = one / math.fsum(one.ravel()), two / math.fsum(two.ravel())
    error = 2.01 * (error + 4.0 * UNIT)
    lower, upper = _both_sides(one, two, entry, group)
    lower, upper = max(down(lower - error), 0.0), min(up(upper + error), group)
    return Bracket(min(lower, upper), upper, "epsilon", METHOD, met=upper - lower <= 1e-6)


def _both_sides(one: FloatArray, two: FloatArray, epsilon: float, group: float) -> tuple[float, float]:
    """The best certificates among a few scalings of the program."""
    touched, edges = _touched(two, epsilon), _edges(one.shape)
    lower = max(0.0, _lower(one, two, epsilon, _pulled(np.where(one > 0, 0.0, -float(one.ndim)))))
    upper = min(group, _upper(one, two, epsilon, touched, edges, np.zeros(edges[0].size)))
    start = upper
    for factor in _FACTORS:
        if upper - lower <= max(GOOD_WIDTH * min(upper, 1.0), 1e-13):
            break
        found = _solve(one, two, epsilon, start, factor)
        if found is not None:
            heights, flow = found
            lower = max(lower, _lower(one, two, epsilon, heights))
            upper = min(upper, _upper(one, two, epsilon, touched, edges, flow))
    if epsilon < _GENTLE and upper - lower > 1e-6 * upper:
        # the leak is nearly linear in a small epsilon, and heights that suit a larger one are legal for every epsilon
        found = _solve(one, two, _GENTLE, _GENTLE * one.ndim, _FACTORS[0])
        if found is not None:
            lower = max(lower, _lower(one, two, epsilon, found[0]))
    return lower, upper


@functools.lru_cache(maxsize=8)
def _edges(shape: tuple[int, ...]) -> Edges:
    """All ordered pairs of datasets that differ in one entry, as flat indices."""
    index = np.arange(math.prod(shape)).reshape(shape)
    sources, targets = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    for axis, size in enumerate(shape):
        lines = np.moveaxis(index, axis, 0).reshape(size, -1)
        for source, target in itertools.permutations(range(size), 2):
            sources.append(lines[source])
            targets.append(lines[target])
    return np.concatenate(sources), np.concatenate(targets)


def _touched(two: FloatArray, epsilon: float) -> FloatArray:
    """Z(D) = sum p'(D') e^(-eps d(D, D')), rounded down; one pass for each entry, since d is a sum over entries."""
    near, stay, total, roundings = math.exp(-epsilon), -math.expm1(-epsilon), two, 0
    for axis, size in enumerate(two.shape):
        total = stay * total + near * total.sum(axis=axis, keepdims=True)
        roundings += size + 12  # a sum of `size` positive terms, two products, and the errors of near and stay
    return np.asarray(total * (1.0 - 2.0 * roundings * UNIT))


def _pulled(heights: FloatArray) -> FloatArray:
    """The least heights above the given ones that one entry moves by at most 1."""
    for axis in range(heights.ndim):
        heights = np.maximum(heights, heights.max(axis=axis, keepdims=True) - 1.0)
    return heights


def _solve(
    one: FloatArray, two: FloatArray, epsilon: float, leak: float, factor: float
) -> tuple[FloatArray, FloatArray] | None:
    """What HiGHS suggests when the leak is at most `leak`: legal whole heights and a flow f >= 0; None if it fails."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_array

    most = math.exp(leak)
    scale = np.ravel(np.maximum(_touched(two, epsilon), _touched(one, epsilon) / most))
    sources, targets = _edges(one.shape)
    with np.errstate(over="ignore"):
        ratio = math.exp(epsilon) * scale[sources] / scale[targets]
    kept = ratio < _CAP
    away, to, count = sources[kept], targets[kept], int(kept.sum())
    rows = np.arange(count)
    places = (np.concatenate([rows, rows]), np.concatenate([away, to]))
    matrix: Any = csr_array((np.concatenate([np.ones(count), -ratio[kept]]), places), shape=(count, scale.size))
    result: Any = linprog(
        -factor / most * np.ravel(one) / scale,
        A_ub=matrix,
        b_ub=np.zeros(count),
        A_eq=(factor * np.ravel(two) / scale)[None],
        b_eq=[factor],
        bounds=(0.0, 2.0),
        method="highs-ds",
        options={
            "primal_feasibility_tolerance": 1e-10,
            "dual_feasibility_tolerance": 1e-10,
            "maxiter": 1000 + 4 * scale.size,  # it may cycle at a very small epsilon
        },
    )
    if result.status != 0 or result.x is None:
        return None
    flow = np.zeros(sources.size)
    flow[kept] = np.maximum(-np.asarray(result.ineqlin.marginals, dtype=float), 0.0) * scale[away] * most / factor
    with np.errstate(divide="ignore"):
        levels = np.log(np.maximum(result.x, 0.0) / scale) / epsilon
    top = float(levels.max())
    if not math.isfinite(top) or not np.isfinite(flow).all():
        return None
    # a span of more than the number of entries is not legal, so that what lies lower is the solver's noise
    heights = np.round(np.maximum(levels - top, -float(one.ndim))).reshape(one.shape)
    return _pulled(heights), flow


def _lower(one: FloatArray, two: FloatArray, epsilon: float, heights: FloatArray) -> float:
    """log(p.V / p'.V) for V = e^(eps h), rounded down.

    An exponent is off by at most a unit of itself, and exp and each product by a few more; fsum adds one.
    """
    exponents = epsilon * (heights - heights.max())
    likelihood = np.exp(exponents)
    error = (float(-exponents.min()) + 16.0) * UNIT
    above, below = math.fsum((one * likelihood).ravel()), math.fsum((two * likelihood).ravel())
    value = math.log(above / below)
    return down(value - 2.0 * error - 4.0 * UNIT * (1.0 + abs(value)))


def _upper(
    one: FloatArray, two: FloatArray, epsilon: float, touched: FloatArray, edges: Edges, flow: FloatArray
) -> float:
    """log(t + sum v/Z) for the best t, rounded up; every f >= 0 is valid."""
    sources, targets = edges
    p, q, z = np.ravel(one), np.ravel(two), np.ravel(touched)
    growth = up(math.exp(epsilon), 4)
    leaving = np.bincount(sources, flow, p.size)
    arriving = growth * np.bincount(targets, flow, p.size)
    # sums of at most `terms` positive numbers, one product, two additions
    terms = sum(size - 1 for size in one.shape) + 8
    cost = p - leaving + arriving + terms * UNIT * (p + leaving + arriving)
    best = _best_level(cost, q, z)
    shift = best * q
    over = np.maximum(cost - shift + 4.0 * UNIT * (np.abs(cost) + shift), 0.0)
    total = up(best + up(math.fsum(up(over / z))))
    return up(math.log(total) + 4.0 * UNIT) if total > 0 else 0.0


def _best_level(cost: FloatArray, q: FloatArray, z: FloatArray) -> float:
    """The t >= 0 that minimises t + sum max(c - t p', 0) / Z: where the slopes p'/Z of the rows above it pass 1."""
    kept = q > 0
    levels, slopes = cost[kept] / q[kept], q[kept] / z[kept]
    order = np.argsort(-levels)
    passed = int(np.searchsorted(np.cumsum(slopes[order]), 1.0, side="right"))
    return max(float(levels[order[min(passed, order.size - 1)]]), 0.0)


def _weights(name: str, value: Any) -> FloatArray:
    weights = checks.numbers(name, value, "finite weights >= 0, one axis for each entry", 0.0, np.finfo(float).max)
    if not weights.ndim or not np.isfinite(weights.sum()) or not weights.sum() > 0:
        raise InvalidParameter(name, value, "finite weights >= 0 that are not all zero, one axis for each entry")
    positive = weights[weights > 0]
    if float(positive.min()) < 1e-300 * float(positive.max()):
        raise InvalidParameter(name, float(positive.min()), "weights that are zero or within 1e300 of the largest")
    return weights
