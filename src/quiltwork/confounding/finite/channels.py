"""Channels: tables P(y | x) of mechanisms that read the data, and ways to make them from each other.

Any table is a channel: nested lists, arrays, fractions.  The functions here return `Laws`, which keep exact fractions
when they are given them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import reduce
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING, Any

import numpy as np

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.errors import InvalidParameter, Unreachable, Unsupported
from quiltwork.numbers.laws import LEAST, Exact, Laws, laws, outward

if TYPE_CHECKING:
    from quiltwork.confounding.world import World

MOST_ENTRIES = 50_000_000  # of a joint table
MAX_DISTANCE = 1e-9  # in total, of a law of outputs that counts as realised


def channel(name: str, value: Any, inputs: int | None = None) -> Laws:
    """A table with one row for each value of the data."""
    return laws(name, value, inputs, row_word="value of the data")


def refuse_large(inputs: int, outputs: float) -> None:
    """Refuse a joint table that would not fit."""
    if inputs * outputs > MOST_ENTRIES:
        raise Unsupported(
            f"a joint table of {inputs} x {outputs:.3g} entries",
            f"it is limited to {MOST_ENTRIES:,}",
            "use repeated(channel, k) for equal mechanisms, merged(channel), or world.bound(loss), which scales",
        )


def independent(*channels: Any) -> Laws:
    """All mechanisms with their own noise: independent given the data, and still dependent given the secret."""
    tables = [channel(f"channel {index}", value) for index, value in enumerate(channels)]
    if not tables:
        raise InvalidParameter("channels", "none", "at least one channel")
    inputs = tables[0].shape[0]
    for index, table in enumerate(tables):
        if table.shape[0] != inputs:
            raise InvalidParameter(f"the rows of channel {index}", table.shape[0], f"{inputs}, as the first has")
    refuse_large(inputs, math.prod(float(table.shape[1]) for table in tables))
    return reduce(lambda one, two: one.beside(two), tables)


def repeated(value: Any, count: int) -> Laws:
    """`count` uses of one mechanism, each with fresh noise, seen through how often each output came.

    The counts are a sufficient statistic, so that nothing is lost: 2^k outputs become k + 1.
    """
    table, count = channel("channel", value), checks.count("count", count, least=1)
    size = table.shape[1]
    outcomes = math.exp(min(math.lgamma(count + size) - math.lgamma(count + 1) - math.lgamma(size), 700.0))
    refuse_large(max(table.shape[0], size), outcomes)  # the counts themselves are a table, too
    shares = _compositions(count, size)
    low, high, exponents = _powers(table, shares, count)
    return Laws(low, high, exponents, lambda: _exact_counts(table, shares, count), (table, count))


def _compositions(count: int, size: int) -> np.ndarray:
    """All ways to write `count` as an ordered sum of `size` whole numbers >= 0."""
    if count <= size:  # few outputs come at all: list them
        listed = np.array(list(combinations_with_replacement(range(size), count)))
        shares = np.zeros((len(listed), size), dtype=np.int64)
        np.add.at(shares, (np.arange(len(listed))[:, None], listed), 1)
        return shares
    found, left = np.zeros((1, 0), dtype=np.int64), np.array([count])
    for _ in range(size - 1):
        # each row is followed by every number up to what is left of it, the largest first
        repeats = left + 1
        ends = np.repeat(np.cumsum(repeats), repeats)
        part = ends - 1 - np.arange(ends.size)
        found = np.hstack([np.repeat(found, repeats, axis=0), part[:, None]])
        left = np.repeat(left, repeats) - part
    return np.hstack([found, left[:, None]])


def _powers(table: Laws, shares: np.ndarray, count: int) -> tuple[FloatArray, FloatArray, np.ndarray]:
    """The probabilities of each vector of counts, with an exponent for each so that nothing underflows."""
    low, high = table.masses
    possible = (table.possible.astype(float) @ (shares.T > 0).astype(float)) == (shares > 0).sum(axis=1)
    least = float(np.min(low[low > 0], initial=1.0))
    if count * math.log(least) > -600.0:
        ends, shift, units = [_plain_powers(end, shares) for end in (low, high)], np.zeros(len(shares)), 0.0
    else:
        whole, part = _split_powers(high, shares)
        shift = np.where(possible, whole + part, -np.inf).max(axis=0)
        shift = np.where(np.isfinite(shift), np.rint(shift), 0.0)
        ends, units = [_scaled_powers(end, shares, shift) for end in (low, high)], (4.0 + 2.0 * table.shape[1]) * count
    leading, bits, error = _coefficients(shares, count)
    low_end, high_end = outward(
        ends[0] * leading, ends[1] * leading, units + error + 4.0 * table.shape[1] + 16.0, possible
    )  # fmt: skip
    _, more = np.frexp(high_end.max(axis=0))
    with np.errstate(under="ignore"):
        low_end, high_end = np.ldexp(low_end, -more), np.ldexp(high_end, -more)
    if bool(np.any(more > 0)):  # halving may underflow
        low_end, high_end = np.maximum(low_end - LEAST, 0.0), np.where(possible, high_end + LEAST, 0.0)
    return low_end, high_end, (shift + bits + more).astype(np.int64)


def _coefficients(shares: np.ndarray, count: int) -> tuple[FloatArray, np.ndarray, float]:
    """Multinomial coefficients as a factor in [1/2, 1) and an exponent, with their error in units of roundoff.

    A factor above one would magnify what underflow has taken.
    """
    if count <= 60:
        # at most half of the counts are above one, and only these factorials are rounded and multiplied
        factorials = np.array([float(math.factorial(number)) for number in range(count + 1)])
        leading, more = np.frexp(factorials[count] / factorials[shares].prod(axis=1))
        return leading, more.astype(float), count + 4.0
    mantissas, bits = np.ones(count + 1), np.zeros(count + 1)
    for number in range(1, count + 1):
        mantissa, bit = math.frexp(mantissas[number - 1] * number)
        mantissas[number], bits[number] = mantissa, bits[number - 1] + bit
    leading, more = np.frexp(mantissas[count] / mantissas[shares].prod(axis=1))
    return leading, bits[count] - bits[shares].sum(axis=1) + more, 2.0 * count + 2.0 * shares.shape[1] + 4.0


def _plain_powers(values: FloatArray, shares: np.ndarray) -> FloatArray:
    found = np.ones((len(values), len(shares)))
    for column in range(values.shape[1]):
        found *= values[:, column, None] ** shares[None, :, column]
    return found


def _split_powers(values: FloatArray, shares: np.ndarray) -> tuple[FloatArray, FloatArray]:
    """log2 of the products: whole bits, which are exact, and the rest."""
    mantissas, bits = np.frexp(values)
    rest = np.where(values > 0, np.log2(np.where(values > 0, mantissas, 1.0)), 0.0)
    return bits @ shares.T.astype(float), rest @ shares.T.astype(float)


def _scaled_powers(values: FloatArray, shares: np.ndarray, shift: FloatArray) -> FloatArray:
    whole, part = _split_powers(values, shares)
    bits = np.rint(part)
    zero = ((values == 0).astype(float) @ (shares.T > 0).astype(float)) > 0
    exponent = np.clip(whole + bits - shift, -1100, 1000).astype(np.int64)
    with np.errstate(under="ignore"):
        return np.where(zero, 0.0, np.ldexp(np.exp2(part - bits), exponent))


def _exact_counts(table: Laws, shares: np.ndarray, count: int) -> Exact | None:
    if table.exact is None:
        return None
    found = np.empty((table.shape[0], len(shares)), dtype=object)
    for index, share in enumerate(shares):
        factor = math.factorial(count) // math.prod(map(math.factorial, share.tolist()))
        for row in range(table.shape[0]):
            found[row, index] = factor * math.prod(
                (entry**power for entry, power in zip(table.exact[row], share.tolist(), strict=True)), start=Fraction(1)
            )
    return found


def adaptive(first: Any, then: Any) -> Laws:
    """A second mechanism chosen after the first output y: `then[y]` is its channel; columns run over (y, z)."""
    table = channel("first", first)
    listed = checks.listed("then", then, "a list of channels, one for each first output")
    following = [channel(f"then[{index}]", value, table.shape[0]) for index, value in enumerate(listed)]
    if len(following) != table.shape[1]:
        raise InvalidParameter("then", f"{len(following)} channels", f"{table.shape[1]}, one for each first output")
    refuse_large(table.shape[0], sum(part.shape[1] for part in following))
    parts = [_column(table, index).beside(part) for index, part in enumerate(following)]
    exponents = np.concatenate([part.exponents for part in parts])
    low, high = np.hstack([part.low for part in parts]), np.hstack([part.high for part in parts])
    return Laws(low, high, exponents, lambda: stacked_fractions(parts, np.hstack))


def _column(table: Laws, index: int) -> Laws:
    kept = slice(index, index + 1)
    ends = table.low[:, kept], table.high[:, kept], table.exponents[kept]
    return Laws(*ends, lambda: None if table.exact is None else table.exact[:, kept])


def stacked_fractions(parts: Sequence[Laws], stack: Callable[[Sequence[Exact]], Exact]) -> Exact | None:
    """The fractions of several tables in one; None when some table has none."""
    tables = [part.exact for part in parts if part.exact is not None]
    return stack(tables) if len(tables) == len(parts) else None


def merged(value: Any, *, digits: int | None = None) -> tuple[Laws, np.ndarray]:
    """Outputs whose columns are proportional merged into one, and the new column of each old one.

    With fractions the merge is exact and loses nothing: what an output tells is the ray of its column.  With floats,
    columns that agree to `digits` digits (12 when not stated) are merged; that is a garbling, which can only lower
    delta, so use it for lower bounds and to suggest designs, never to certify one.

    Reference: theory/confounding.md section 4, scaling (i).
    """
    table = channel("channel", value)
    if digits is None and table.exact is not None:
        return _exact_merge(table)
    places = 12 if digits is None else checks.count("digits", digits, least=1)
    values = table.values
    largest = values.max(axis=0)
    rays = np.where(largest > 0, values / np.where(largest > 0, largest, 1.0), 0.0)
    _, labels = np.unique(np.round(rays, places).T, axis=0, return_inverse=True)
    labels = np.ravel(labels)
    low, high = (grouped(end, labels) for end in table.masses)
    return Laws(*outward(low, high, table.shape[1] + 1.0, high > 0)), labels


def _exact_merge(table: Laws) -> tuple[Laws, np.ndarray]:
    rays: dict[tuple[Fraction, ...], int] = {}
    exact = table.exact if table.exact is not None else np.empty((0, 0), dtype=object)
    labels = np.empty(exact.shape[1], dtype=np.int64)
    for index, column in enumerate(exact.T):
        total = sum(column)
        ray = tuple(entry / total for entry in column) if total else tuple(column)
        labels[index] = rays.setdefault(ray, len(rays))
    found = np.full((exact.shape[0], len(rays)), Fraction(0), dtype=object)
    for index, column in enumerate(exact.T):
        found[:, labels[index]] += column
    return laws("channel", found), labels


def grouped(values: FloatArray, labels: np.ndarray) -> FloatArray:
    """The columns with one label summed, for each label."""
    found = np.zeros((labels.max() + 1, len(values)))
    np.add.at(found, labels, values.T)
    return np.ascontiguousarray(found.T)


def randomized_response(size: int, epsilon: float) -> FloatArray:
    """Tell the truth with odds e^epsilon against each other value.

    >>> randomized_response(2, math.log(3.0))
    array([[0.75, 0.25],
           [0.25, 0.75]])
    """
    size, strength = checks.count("size", size, least=2), checks.non_negative("epsilon", epsilon)
    refuse_large(size, float(size))
    lie = 1.0 / (math.exp(min(strength, 700.0)) + size - 1)
    table = np.full((size, size), lie)
    np.fill_diagonal(table, 1.0 - (size - 1) * lie)
    return table


NOISES = ("laplace", "gaussian")


def noise_channel(values: Any, outputs: Any, scale: float, kind: str = "gaussian") -> FloatArray:
    """Noise rounded to a grid: P(z | x) proportional to e^(-|x-z|/scale), or to e^(-(x-z)^2 / 2 scale^2)."""
    checks.one_of("kind", kind, NOISES)
    spread = checks.moderate("scale", scale)
    x = checks.numbers("values", values, "finite numbers", -1e100, 1e100)
    z = checks.numbers("outputs", outputs, "finite numbers", -1e100, 1e100)
    if x.ndim != 1 or z.ndim != 1:
        raise InvalidParameter("values and outputs", (x.shape, z.shape), "two lists of numbers")
    distance = np.abs(x[:, None] - z[None, :])
    nearest = distance.min(axis=1, keepdims=True)
    with np.errstate(over="ignore", under="ignore"):
        exponent = (distance - nearest) / spread  # from the nearest output on: there the weight is one
        if kind == "gaussian":
            exponent = 0.5 * exponent * ((distance + nearest) / spread)
        weights = np.exp(-exponent)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def realised(world: World, alpha: Any) -> FloatArray:
    """A channel on the data whose effective mechanism is alpha, to 1e-9; refused with the least distance if none is.

    alpha(z | s) = sum_x P(x | s) g(z | x) must have a solution g, which is a linear program.  Where it has one, the law
    of the new output alone is alpha; together with earlier outputs it is that of g, not of alpha with noise of its own,
    so evaluate the release again.

    Reference: theory/confounding.md section 3(b) (an alpha that no g realises) and section 4.

    >>> from quiltwork.confounding.world import World
    >>> world = World(data=[[0.6, 0.4], [0.4, 0.6]])
    >>> np.round(realised(world, [[0.55, 0.45], [0.45, 0.55]]), 6) + 0.0
    array([[0.75, 0.25],
           [0.25, 0.75]])
    """
    if world.priors > 1:
        raise Unsupported("alpha under several priors", "it is one law for each secret", "choose one prior")
    wanted = laws("alpha", alpha, world.count, row_word="secret").values
    channel, distance = _nearest_channel(world.data, wanted)
    if distance > MAX_DISTANCE:
        raise Unreachable(
            "these laws of outputs",
            "all mechanisms that see the data only",
            f"the nearest one is {distance:.3g} away in total; let it read the secret, or design on the data",
        )
    return channel


def _nearest_channel(data: FloatArray, wanted: FloatArray) -> tuple[FloatArray, float]:
    """The channel with the least sum of |A g - alpha|, by linear programming."""
    from scipy.optimize import linprog
    from scipy.sparse import coo_array, hstack, identity, kron, vstack

    secrets, inputs = data.shape
    outputs = wanted.shape[1]
    effect = kron(coo_array(data), identity(outputs))
    size = secrets * outputs
    normal = kron(identity(inputs), coo_array(np.ones((1, outputs))))
    zero = coo_array((inputs, 2 * size))
    blocks: Any = vstack([hstack([effect, identity(size), -identity(size)]), hstack([normal, zero])])
    rows = blocks.tocsr()
    cost = np.concatenate([np.zeros(inputs * outputs), np.ones(2 * size)])
    target = np.concatenate([wanted.ravel(), np.ones(inputs)])
    found: Any = linprog(cost, A_eq=rows, b_eq=target, bounds=(0.0, None), method="highs")
    if found.status != 0:
        raise Unsupported("this law of outputs", f"the solver stopped: {found.message}")
    channel = np.clip(found.x[: inputs * outputs].reshape(inputs, outputs), 0.0, None)
    channel = channel / channel.sum(axis=1, keepdims=True)
    return channel, float(np.abs(data @ channel - wanted).sum())
