"""Moments of a privacy loss without a characteristic function: between sums over cells of losses.

A pair gives, for each cell (a, b] of losses, its mass m under P and s = E_P[1 - e^(a-L)], which is its mass under Q.
e^(theta L) = e^(theta a) v^(-theta) with v = e^(a-L) in [e^(a-b), 1], whose mean 1 - s/m is known: below, Jensen's
inequality; above, the chord (for -1 < theta < 0, where the power is concave, the other way round).  What they differ by
is second order in the width of a cell; cells that matter most are split until it is small, or enough were tried.

Beyond the last cell a loss without an end is bounded by what the pair knows of higher moments in closed form
(`log_moment_bounds`), with Chernoff's inequality: E_P[e^(theta L); L > h] <= e^((theta - theta') h) M(theta').  At high
orders the moment hangs on masses that no double holds; there these bounds decide.

Reference: theory/sampling.md section 9.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.compose.engines.grid import support
from quiltwork.losses.dominating_pair import Pair
from quiltwork.numbers.rounding import UNIT

FIRST_CELLS, MAX_CELLS = 1 << 8, 1 << 14
ROUNDS, IDLE = 16, 6  # of splitting, and how many of them may gain nothing
PIECES = 4
TILTS = 60  # beyond theta, up to 100 (1 + theta) or farther where losses are small
ENOUGH = 1e-6  # of the log moment, relative
NEGLIGIBLE = 1e-18  # mass beyond the cells
UNDERFLOW = 1e-285  # what a mass may have lost near the smallest double
SUM_ULPS = 256  # of a sum of positive terms


@lru_cache(maxsize=32)
def log_moment_ends(pair: Pair, theta: float) -> tuple[float, float]:
    """Ends of log E_P[e^(theta L); L < inf] for theta > -1, not 0; the upper one may be infinite."""
    lower, upper = pair.log_moment_sums(theta)
    idle = 0
    with np.errstate(all="ignore"):
        edges = _edges(pair, theta)
        fixed = _atoms_and_tails(pair, theta, float(edges[0]), float(edges[-1]))  # no cell beyond them is split
        for _ in range(ROUNDS):
            if idle > IDLE or (math.isfinite(upper - lower) and upper - lower <= ENOUGH * max(abs(lower), abs(upper))):
                break
            low, high = (np.concatenate(terms) for terms in zip(_cell_terms(pair, theta, edges), fixed, strict=True))
            before, ends = upper - lower, (_log_sum(low, -1.0), _log_sum(high, 1.0))
            lower, upper = max(lower, min(ends[0], upper)), min(upper, max(ends[1], lower))
            idle = 0 if upper - lower < 0.9 * before else idle + 1
            gaps = _gaps(low[: edges.size - 1], high[: edges.size - 1])
            wide = np.flatnonzero(gaps > 0.05 * gaps.max()) if gaps.max() > 0 else np.zeros(0, dtype=np.int64)
            if not wide.size or edges.size + (PIECES - 1) * wide.size > MAX_CELLS:
                break
            edges = _split(edges, wide)
    return lower, upper


def _edges(pair: Pair, theta: float) -> FloatArray:
    """Even cells where nearly all of the mass is, and others up to where nothing matters at this tilt."""
    low, usual = support(pair, NEGLIGIBLE)
    high = usual
    if math.isinf(pair.high) and theta > 0:
        more, bounds = _steeper(pair, theta)
        reach = float(
            np.min((bounds + 45.0) / more)
        )  # past it Chernoff's bound is below e^-45, and the moment 1 or more
        high = max(high, min(reach, support(pair, UNDERFLOW)[1]))
    elif theta > 0:
        high = max(high, pair.high) if math.isfinite(pair.high) else high
    high = max(high, low + 1e-9 * (1.0 + abs(low)), 0.0)
    edges = np.linspace(low, high, FIRST_CELLS + 1)
    return np.union1d(edges, np.linspace(low, usual, FIRST_CELLS + 1)) if low < usual < 0.5 * high else edges


def _steeper(pair: Pair, theta: float) -> tuple[FloatArray, FloatArray]:
    """Larger tilts, by what they exceed theta, and bounds of the log moments there."""
    more = np.geomspace(0.02 * (1.0 + theta), max(100.0 * (1.0 + theta), 20.0 / pair.scale), TILTS)
    return more, np.array([pair.log_moment_bounds(theta + float(one))[1] for one in more])


def _split(edges: FloatArray, wide: np.ndarray) -> FloatArray:
    share = np.arange(1, PIECES) / PIECES
    new = edges[wide, None] + np.diff(edges)[wide, None] * share
    return np.unique(np.concatenate((edges, new.ravel())))


def _atoms_and_tails(pair: Pair, theta: float, low: float, high: float) -> tuple[FloatArray, FloatArray]:
    """Logs of lower and upper bounds of the atoms, and of what lies beyond the cells, which is 0 or more."""
    losses, masses = pair.atoms()
    wrong = pair.relative + abs(theta) * (pair.rounding + 4 * UNIT * np.abs(losses)) + 8 * UNIT
    atoms = np.log(masses) + theta * losses
    return atoms - wrong, np.concatenate((atoms + wrong, _tails(pair, theta, low, high)))


def _cell_terms(pair: Pair, theta: float, edges: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Logs of lower and upper bounds of the cells."""
    cells, start, width = pair.cells(edges), edges[:-1], np.diff(edges)
    most = np.maximum(cells.mass + cells.mass_error, 0.0) + UNDERFLOW
    least = np.maximum(cells.mass - cells.mass_error, 0.0)
    reach = -np.expm1(-width)
    most_stick = np.minimum(np.maximum(cells.stick + cells.stick_error, 0.0) + UNDERFLOW, most * reach)
    least_stick = np.minimum(np.maximum(cells.stick - cells.stick_error, 0.0), least * reach)
    rise = np.expm1(theta * width) / reach  # of the chord, for a unit of stick
    if theta > 0:
        upper = np.where(theta * width < 700.0, np.log(most + most_stick * rise), np.log(most) + theta * width)
        # m^(1+theta) (m-s)^(-theta) rises with the mass while the cell is narrow, and with the stick
        curved = np.log(least) - theta * np.log1p(-least_stick / np.where(least > 0, least, 1.0))
        lower = np.where(theta * np.expm1(width) < 0.5, curved, np.log(least))
    else:
        upper = np.log(most) - theta * np.log1p(-np.where(most > 0, least_stick / most, 0.0))
        lower = np.log(np.maximum(least + most_stick * rise, least * np.exp(theta * width)))
    hair = 8 * UNIT * (2.0 + abs(theta) * (np.abs(edges[:-1]) + np.abs(edges[1:])))
    lower = np.where(np.isnan(lower), -np.inf, lower)
    return theta * start + lower - hair, theta * start + upper + hair


def _tails(pair: Pair, theta: float, low: float, high: float) -> tuple[float, float]:
    """Logs of bounds on E_P[e^(theta L)] beyond the cells, atoms counted elsewhere (and here, which only adds)."""
    ends = np.array([low, high])
    wrong = np.log1p(np.minimum(pair.tail_error(ends), 1e300)) + 1e-12
    p_below, q_below = (float(v[0]) for v in pair.below(ends[:1]))
    p_above = float(pair.above(ends[1:])[0][0])
    if low <= pair.low:
        left = -math.inf
    elif theta > 0:
        left = theta * low + _log(p_below) + float(wrong[0])
    else:  # E_P[e^(theta L); L <= l] = E_Q[e^((1 + theta) L); L <= l]
        left = (1.0 + theta) * low + _log(q_below) + float(wrong[0])
    if high >= pair.high:
        right = -math.inf
    elif theta < 0:
        right = theta * high + _log(p_above) + float(wrong[1])
    elif math.isfinite(pair.high):
        right = theta * pair.high + _log(p_above) + float(wrong[1])
    elif high > 0:
        more, bounds = _steeper(pair, theta)
        logs = bounds - more * high
        right = float(np.min(logs + 8 * UNIT * (np.abs(bounds) + more * high)))
    else:
        right = math.inf
    return left, right


def _log(value: float) -> float:
    return math.log(value + UNDERFLOW)


def _gaps(low: FloatArray, high: FloatArray) -> FloatArray:
    """Differences of terms, over the largest."""
    top = float(high.max())
    return np.nan_to_num(np.exp(high - top) - np.exp(low - top), nan=0.0) if math.isfinite(top) else np.zeros(low.size)


def _log_sum(logs: FloatArray, outward: float) -> float:
    top = float(logs.max())
    if not math.isfinite(top):
        return top
    value = top + math.log(math.fsum(np.exp(logs - top)))
    return value + outward * UNIT * (SUM_ULPS + 8 * abs(top) + 8 * abs(value))
