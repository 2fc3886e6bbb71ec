"""Gaussian noise that is correlated over the steps of a run: matrix mechanisms, tree aggregation, banded matrices.

The strategy matrix C says what is released, C g + z, of the contributions g_1, g_2, ... of the steps, each of norm at
most 1 for one record; z is independent noise, and every estimate is made of this release.  A record that takes part in
the steps S with contributions u_i moves it by a squared norm of

    sum over i, j in S of <c_i, c_j> <u_i, u_j>  <=  sum over i, j in S of |<c_i, c_j>|

with the columns c_i of C, with equality when no product is negative and all contributions point one way.  The worst S
that the participation allows is the sensitivity of one Gaussian release; the record is zeroed, or was a zero.
Contributions may depend on earlier outputs where C is lower triangular: row t is then known after t steps.

Reference: theory/sampling.md section 8; Denisov, McMahan, Rush, Smith and Thakurta 2022; Choquette-Choo et al. 2023.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.compose.constructors import gaussian, poisson
from quiltwork.compose.loss import Loss
from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.numbers.rounding import UNIT
from quiltwork.numbers.stated import above, root

MAX_STEPS = 4096  # whose products of columns are all listed
LARGEST = 1e100  # entry of a strategy matrix: squares neither overflow nor lose digits
TINY = float(np.finfo(float).tiny)  # more than products of small entries lose to underflow
EXACT = 2.0**53  # sums of whole numbers up to this are exact, in any order
BLOCK = 1 << 22


def matrix_mechanism(
    strategy: Any,
    noise_multiplier: float,
    *,
    times: int = 1,
    separation: int = 1,
    regular: bool = False,
    adaptive: bool = True,
) -> Loss:
    """The release strategy @ contributions + noise, as one Gaussian release of the strategy's sensitivity.

    Column j of `strategy` says how the contribution of step j enters; the noise on each entry has the standard
    deviation `noise_multiplier`, in units of the norm of one record's contribution.  A record takes part at most
    `times` times, steps at least `separation` apart, or exactly that far apart if `regular`, as in passes of one fixed
    order.  For one participation, for `regular` ones and for columns that are orthogonal from `separation` on the
    sensitivity is the largest there is, if no product of columns is negative; else it is a bound from above.

    With `adaptive` contributions may depend on earlier outputs, as gradients do; the strategy must be lower triangular.

    Parameters
    ----------
    strategy
        A matrix with a column for each step.
    noise_multiplier
        Standard deviation of the noise over the norm of one contribution.
    times
        In how many steps a record takes part at most.
    separation
        How far apart these are at least.
    regular
        Whether they are exactly that far apart.
    adaptive
        Whether contributions may depend on earlier outputs.

    Returns
    -------
    Loss
        One release; `k * loss` and `compose` add releases up.

    Raises
    ------
    Unsupported
        Several participations in more steps than products of columns are listed for.

    Examples
    --------
    >>> prefix_sums = [[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1]]
    >>> matrix_mechanism(prefix_sums, 4.0)
    gaussian(sigma=4.0, sensitivity=2.0)
    """
    noise = checks.positive("noise_multiplier", noise_multiplier, "noise over the norm of one contribution")
    times, separation = checks.count("times", times, least=1), checks.count("separation", separation, least=1)
    regular = checks.flag("regular", regular)
    columns = _lower(strategy) if checks.flag("adaptive", adaptive) else _matrix(strategy)
    times = min(times, -(-columns.shape[1] // separation))
    square = _square(columns, times, separation, regular)
    return gaussian(noise, _norm(square)) if square else Loss(())


def banded_matrix_mechanism(strategy: Any, noise_multiplier: float, bands: int, rate: float) -> Loss:
    """A banded strategy with cyclic Poisson sampling: the table is cut into `bands` parts, which take turns.

    Step t draws a Poisson sample at `rate` of part t mod `bands`, so that a record's steps are `bands` apart and its
    columns do not overlap: the run costs what ceil(steps / bands) sampled steps with the noise multiplier over the
    largest norm of a column cost.  `rate` is the chance within the part, `bands` times the share of the table that a
    batch is.  Which part a record is in must not depend on other records; one record is added, removed or zeroed.

    Reference: Choquette-Choo et al. 2023, "(Amplified) banded matrix factorization".

    Parameters
    ----------
    strategy
        A square lower triangular matrix that is zero below its bands.
    noise_multiplier
        Standard deviation of the noise over the norm of one contribution.
    bands
        Into how many parts the table is cut.
    rate
        Probability that a record of the part is sampled.

    Returns
    -------
    Loss
        The whole run.

    Raises
    ------
    InvalidParameter
        A value is outside its domain; the message says which, and what is allowed.

    Examples
    --------
    >>> banded_matrix_mechanism([[1, 0, 0], [1, 1, 0], [0, 1, 1]], 2.0, bands=2, rate=0.1).count
    2
    """
    noise = checks.positive("noise_multiplier", noise_multiplier, "noise over the norm of one contribution")
    bands = checks.count("bands", bands, least=1)
    rate = checks.probability("rate", rate, "it is the chance that a record of the part is sampled")
    columns = _lower(strategy)
    steps = columns.shape[1]
    if np.tril(columns, -bands).any():
        row, column = (int(place[0]) for place in np.nonzero(np.tril(columns, -bands)))
        found = f"entry ({row}, {column}) is {columns[row, column]:g}"
        raise InvalidParameter("strategy", f"a {steps} x {steps} matrix", f"zero below {bands} bands", found)
    square = _square(columns, 1, 1, regular=False)
    return -(-steps // bands) * poisson(gaussian(noise, _norm(square)), rate) if square else Loss(())


def tree_aggregation(steps: int, noise_multiplier: float, *, times: int = 1, separation: int = 1) -> Loss:
    """Prefix sums of `steps` contributions by a binary tree: every complete node is released with its own noise.

    A record takes part at most `times` times, steps at least `separation` apart.  A node over 2^h leaves holds at most
    n = min(times, ceil(2^h / separation)) of them; over the nodes of one height the squares of these numbers sum to at
    most n^2 for each n of them, and the rest squared.  One participation: ceil(log2(steps + 1)), attained by the first
    leaf.  A tree that is restarted for each epoch is `epochs * tree_aggregation(steps_of_an_epoch, ...)`.

    Parameters
    ----------
    steps
        How many contributions there are.
    noise_multiplier
        Standard deviation of the noise over the norm of one contribution.
    times
        In how many steps a record takes part at most.
    separation
        How far apart these are at least.

    Returns
    -------
    Loss
        All prefix sums together.

    Raises
    ------
    InvalidParameter
        A value is outside its domain; the message says which, and what is allowed.

    Examples
    --------
    >>> tree_aggregation(1000, 5.0, times=1)
    gaussian(sigma=5.0, sensitivity=3.1622776601683795)
    """
    steps = checks.count("steps", steps, least=1)
    noise = checks.positive("noise_multiplier", noise_multiplier, "noise over the norm of one contribution")
    times, separation = checks.count("times", times, least=1), checks.count("separation", separation, least=1)
    times = min(times, -(-steps // separation))
    square = 0
    for height in range(steps.bit_length()):
        most = min(times, -(-(1 << height) // separation))
        full, rest = divmod(min(times, (steps >> height) * most), most)
        square += full * most**2 + rest**2
    return gaussian(noise, _norm(Fraction(square)))


# ---- strategy matrices


def _matrix(strategy: Any) -> FloatArray:
    allowed = f"a matrix of finite numbers, at most {LARGEST:g}, a column for each step"
    entries = checks.numbers("strategy", strategy, allowed, -LARGEST, LARGEST)
    if entries.ndim != 2:
        raise InvalidParameter("strategy", f"an array of shape {entries.shape}", allowed)
    return entries


def _lower(strategy: Any) -> FloatArray:
    entries = _matrix(strategy)
    rows, steps = entries.shape
    if rows != steps or np.triu(entries, 1).any():
        raise InvalidParameter(
            "strategy",
            f"a {rows} x {steps} matrix" + (" with entries above the diagonal" if rows == steps else ""),
            "square and lower triangular: row t weighs the first t steps",
            "matrix_mechanism(..., adaptive=False) takes others, for contributions that were fixed beforehand",
        )
    return entries


# ---- sensitivity


def _square(columns: FloatArray, times: int, separation: int, regular: bool) -> Fraction:
    """A bound on the squared norm of a sum of columns, over all patterns of participation.

    A column's share in a pattern is at most its own square and the best pattern of the others beside it; the shares of
    the best pattern then bound all.  Columns nearer than `separation` never meet: where the others are orthogonal,
    only squares are left.
    """
    if times == 1:
        total, terms = float(_squares(columns).max()), 1
    else:
        steps, terms = columns.shape[1], 2 * times
        if steps > MAX_STEPS:
            raise Unsupported(
                f"several participations in {steps} steps",
                f"not built here: products of columns are listed for at most {MAX_STEPS}",
                "compose one matrix_mechanism for each stretch of that many steps, with times per stretch",
            )
        products = _products(columns)
        if regular:
            total = _regular(products, times, separation)
        else:
            apart = np.abs(np.subtract.outer(np.arange(steps), np.arange(steps))) >= separation
            others = best_pattern(np.where(apart, products, 0.0), times - 1, separation)
            total = float(best_pattern(np.diagonal(products) + others, times, separation))
    exact = total <= EXACT and bool(np.all(columns == np.rint(columns)))
    return Fraction(total) * (1 if exact else 1 + Fraction((terms + 8) * UNIT))


def _squares(columns: FloatArray) -> FloatArray:
    """Squared norms of the columns, rounded up: as doubles or as the decimals that were typed."""
    found: FloatArray = np.sum(columns * columns, axis=0)
    if np.all(columns == np.rint(columns)) and float(found.max()) <= EXACT:
        return found
    return np.asarray(found * (1 + 2 * (columns.shape[0] + 8) * UNIT) + TINY)


def _products(columns: FloatArray) -> FloatArray:
    """|<c_i, c_j>|, rounded up: a product of n terms in any order is off by n units of its terms' sizes."""
    found = np.abs(columns.T @ columns)
    sizes = np.abs(columns).T @ np.abs(columns)
    if np.all(columns == np.rint(columns)) and float(sizes.max()) <= EXACT:
        return found
    wrong = (columns.shape[0] + 8) * UNIT
    return np.asarray(found + wrong * (1 + 4 * wrong) * sizes + TINY)


def _regular(products: FloatArray, times: int, separation: int) -> float:
    """The largest sum of products over steps j, j + separation, ...; what is longer holds what is shorter."""
    best = 0.0
    for first in range(min(separation, products.shape[0])):
        met = products[first::separation, first::separation]
        for start in range(max(met.shape[0] - times, 0) + 1):
            window = met[start : start + times, start : start + times]
            best = max(best, float(window.sum(axis=1).sum()))
    return best


def best_pattern(weights: FloatArray, times: int, separation: int) -> FloatArray:
    """The largest sum of at most `times` of the weights >= 0 along the last axis, places at least `separation` apart.

    Dynamic program: with one more place, either a step is the last one taken, after the best of all that are
    `separation` before it, or it is not.
    """
    if separation == 1:
        return np.asarray(np.sort(weights, axis=-1)[..., -times:].sum(axis=-1))
    steps = weights.shape[-1]
    before = np.maximum(np.arange(steps) - separation + 1, 0)
    rows = weights.reshape(-1, steps)
    found = np.zeros(rows.shape[0])
    size = max(1, BLOCK // steps)
    for start in range(0, rows.shape[0], size):
        block = rows[start : start + size]
        best = np.zeros((block.shape[0], steps + 1))
        for _ in range(times):
            best[:, 1:] = np.maximum.accumulate(block + best[:, before], axis=1)
        found[start : start + size] = best[:, -1]
    return found.reshape(weights.shape[:-1])


def _norm(square: Fraction) -> float:
    return above(root(square)[1])
