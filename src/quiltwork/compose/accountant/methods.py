"""The choice between methods: exact shortcut, list of all values, lattice, characteristic function, grid.

A method declines where it cannot certify; it never loosens.

Reference: theory/engine.md section 6.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import partial

import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.compose.accountant import solve as questions
from quiltwork.compose.accountant.solve import Case, Declined
from quiltwork.compose.accountant.tradeoff import beta as beta_of
from quiltwork.compose.engines import low_tilt as gentle
from quiltwork.compose.engines.characteristic import ContourEngine
from quiltwork.compose.engines.closed import GaussianEngine, SingleEngine
from quiltwork.compose.engines.engine import Engine
from quiltwork.compose.engines.grid import GridEngine
from quiltwork.compose.engines.lattice import lattice_engine
from quiltwork.compose.engines.listed import ExactEngine
from quiltwork.compose.engines.low_tilt import GentleGridEngine
from quiltwork.compose.engines.rare_losses import JumpEngine
from quiltwork.losses.dominating_pair import Pair
from quiltwork.losses.families.finite import FinitePair
from quiltwork.losses.families.gaussian import GaussianPair
from quiltwork.losses.families.poisson import PoissonPair
from quiltwork.losses.transforms.transform import TooCostly
from quiltwork.numbers.rounding import UNIT
from quiltwork.numbers.stated import typed, typed_above

Counted = Sequence[tuple[Pair, int]]
Ends = tuple[FloatArray, FloatArray]
Answer = tuple[FloatArray, FloatArray, str]
METHODS = ("closed form", "exact tails", "exact atoms", "lattice", "characteristic function", "grid")
LOST = 1e-310
RARE, FEW_RELEASES = 0.05, 50  # sampling rates and releases for which the gentle grid goes first
USUAL = 1e-3  # width that is asked for when nobody says
GENTLE = (
    partial(GentleGridEngine, cut=gentle.USUAL),
    JumpEngine,
    partial(GentleGridEngine, cut=gentle.SMALL),
)
FEW, MANY = 20_000, 2_000_000  # values of a finite loss: listed at once, or only when faster methods stay too wide


def engines(parts: Counted, method: str | None) -> Iterator[Engine]:
    """Methods that may answer, best first."""
    if len(parts) == 1 and isinstance(parts[0][0], GaussianPair) and method in (None, "closed form"):
        yield GaussianEngine(parts[0][0].mu * math.sqrt(parts[0][1]))
        return
    if len(parts) == 1 and parts[0][1] == 1 and method in (None, "exact tails"):
        yield SingleEngine(parts[0][0])
        return
    listed = ExactEngine.of(parts, FEW) if method in (None, "exact atoms") else None
    if listed is not None:
        yield listed
    if method in (None, "lattice"):
        lattice = lattice_engine(parts)
        if lattice is not None:
            yield lattice
    rare = method is None and _rarely_telling(parts)
    if rare:
        yield from _grids(parts, *GENTLE)
    if method in (None, "characteristic function"):
        contour = ContourEngine.of(parts)
        if contour is not None:
            yield contour
    if method in (None, "exact atoms") and listed is None:
        listed = ExactEngine.of(parts, MANY)
        if listed is not None:
            yield listed
    if method in (None, "grid"):
        yield from _grids(parts, *(() if rare else GENTLE), GridEngine)


def _grids(parts: Counted, *kinds: Callable[[Counted], Engine]) -> Iterator[Engine]:
    for kind in kinds:
        try:
            yield kind(parts)
        except (TooCostly, OverflowError):
            continue


def _rarely_telling(parts: Counted) -> bool:
    """Few releases on small samples: no tilt fits both what usually happens and what rarely does."""
    rare = any(isinstance(pair, PoissonPair) and pair.rate < RARE for pair, _ in parts)
    return rare and sum(count for _, count in parts) <= FEW_RELEASES


def case_of(engine: Engine, parts: Counted) -> Case:
    """Reveal mass 1 - prod (1 - r_j)^k_j, rounded outward, and the largest possible finite loss."""
    logs = math.fsum(k * math.log1p(-min(pair.reveal, 1.0 - UNIT)) for pair, k in parts)
    showing = [(pair, k) for pair, k in parts if pair.reveal > 0]
    if sum(k for _, k in showing) == 1:  # nothing to compose: as exact as the release itself
        reveal, slack = showing[0][0].reveal, showing[0][0].reveal_error
    else:
        reveal = 0.0 - math.expm1(logs)
        wrong = max((pair.reveal_error for pair, _ in showing), default=0.0)
        slack = wrong + 8 * UNIT * (1 + len(parts)) + 4 * UNIT * sum(k for _, k in showing) * (reveal > 1e-3)
    # the largest loss, past its own rounding: beyond it there is nothing but the reveal mass
    top = _largest(parts)
    log_mass, room = _top_atom(parts)
    # below 1e-308 doubles lose digits: only what is above counts as certain
    ends = (max(reveal * (1 - slack) - LOST, 0.0) if reveal < 1e-290 else reveal * (1 - slack)), reveal * (1 + slack)
    return Case(engine, (ends[0], min(1.0, ends[1])), top, log_mass, room)


def _largest(parts: Counted) -> float:
    """The largest sum of finite losses, past its rounding; of stated losses the number that would be typed for it."""
    if all(isinstance(pair, FinitePair) and pair.stated and math.isfinite(pair.high) for pair, _ in parts):
        return typed_above(sum((count * typed(pair.high) for pair, count in parts), Fraction(0)))
    top = math.fsum(k * (pair.high + (pair.rounding if math.isfinite(pair.high) else 0.0)) for pair, k in parts)
    return top + 4 * UNIT * abs(top)


def _ask(
    parts: Counted,
    method: str | None,
    values: FloatArray,
    question: Callable[[Case, FloatArray], Ends],
    narrow: Callable[[Ends], np.ndarray],
) -> Answer:
    """Each value by the first method that meets the asked width; otherwise the intersection of all that answered."""
    low, high, name = np.full(values.size, -np.inf), np.full(values.size, np.inf), ""
    left = np.ones(values.size, dtype=bool)
    for engine in engines(parts, method):
        if isinstance(engine, ExactEngine):
            left[:] = True  # a full list answers all as fast as one
        try:
            with np.errstate(all="ignore"):
                found = question(case_of(engine, parts), values[left])
        except (Declined, TooCostly, OverflowError):
            continue
        if np.isnan(found[0]).any() or np.isnan(found[1]).any():
            continue
        low[left], high[left] = np.maximum(low[left], found[0]), np.minimum(high[left], found[1])
        name, left = engine.method, left & ~narrow((low, high))
        if not left.any() or isinstance(engine, ExactEngine):  # what a full list leaves open is rounding
            break
    if not name:
        raise Declined
    return low, high, name


def epsilon(parts: Counted, delta: FloatArray, rtol: float, method: str | None = None) -> Answer:
    """Smallest epsilon for each delta in (0, 1), one direction."""
    quick = _largest_loss(parts, delta)
    if method is None and quick is not None and width_met(quick, rtol, 0.0):
        return (*quick, "largest loss")
    low, high, name = _ask(
        parts,
        method,
        delta,
        lambda case, asked: questions.epsilon(case, asked, rtol),
        lambda ends: _narrow(ends, rtol, 1e-9),
    )
    if method is None and quick is not None:
        low, high = np.maximum(low, quick[0]), np.minimum(high, quick[1])
    if rtol < USUAL and not width_met((low, high), USUAL, 1e-9):
        more = epsilon(parts, delta, USUAL, method)
        low, high, name = np.maximum(low, more[0]), np.minimum(high, more[1]), more[2]
    return low, high, name


def _top_atom(parts: Counted) -> tuple[float, float]:
    """Bounded losses with an atom at the top: a lower bound on the log mass of the largest sum, and rounding room."""
    log_mass = 0.0
    for pair, count in parts:
        losses, masses = pair.atoms()
        if not losses.size or not math.isfinite(pair.high) or losses[-1] < pair.high or masses[-1] <= 0:
            return -math.inf, 0.0
        log_mass += count * (math.log(masses[-1]) - 1e-12)
    room = math.fsum(count * (2 * p.rounding + 64 * UNIT * (abs(p.low) + abs(p.high))) for p, count in parts)
    return log_mass, room


def _largest_loss(parts: Counted, delta: FloatArray) -> Ends | None:
    """S reaches its largest value with probability m, so D(eps) >= m (1 - e^(eps - top)).

    For a delta well below m that alone settles epsilon, where every other method would need an absurd tilt.
    """
    log_mass, room = _top_atom(parts)
    small = np.log(delta) <= log_mass - 1e-6
    if any(pair.reveal for pair, _ in parts) or not small.any():
        return None
    top = math.fsum(count * pair.high for pair, count in parts)
    low = top + np.log1p(-np.exp(np.where(small, np.log(delta) - log_mass, -1.0))) - room
    high = max(top * (1 + 4 * UNIT) + room, 0.0)
    return np.where(small, np.maximum(low, 0.0), 0.0), np.where(small, high, np.inf)


def delta(parts: Counted, epsilon: FloatArray, rtol: float, method: str | None = None) -> Answer:
    """Hockey-stick divergence at each finite epsilon, one direction."""
    low, high, name = _ask(
        parts,
        method,
        epsilon,
        lambda case, asked: questions.delta(case, asked, rtol),
        lambda ends: _narrow(ends, rtol, 1e-290),
    )
    if rtol < USUAL and not width_met((low, high), USUAL, 1e-290):
        # asking for too much must not give less than asking for the usual
        more = delta(parts, epsilon, USUAL, method)
        low, high, name = np.maximum(low, more[0]), np.minimum(high, more[1]), more[2]
    if not width_met((low, high), rtol, 1e-290):
        log_mass, room = _top_atom(parts)
        top = math.fsum(count * pair.high for pair, count in parts)
        if math.isfinite(log_mass):
            floor = math.exp(log_mass) * -np.expm1(np.minimum(epsilon - top + room, 0.0))
            low = np.minimum(np.maximum(low, floor), high)
    return low, high, name


def beta(parts: Counted, alpha: FloatArray, method: str | None = None) -> Answer:
    """Trade-off function at each alpha, one direction."""
    mirrored = [(pair.swapped(), count) for pair, count in parts]

    def question(case: Case, asked: FloatArray) -> Ends:
        if isinstance(case.engine, JumpEngine):
            raise Declined  # one epsilon at a time is too slow for a whole curve
        if isinstance(case.engine, GentleGridEngine) and case.engine.everywhere(False) is not None:
            return gentle.beta(case, asked)
        symmetric = all(a is b for (a, _), (b, _) in zip(parts, mirrored, strict=True))
        if symmetric:
            return beta_of(case, case, asked)
        for engine in engines(mirrored, case.method):
            return beta_of(case, case_of(engine, mirrored), asked)
        raise Declined

    return _ask(parts, method, alpha, question, lambda ends: ends[1] - ends[0] <= 1e-3 * ends[1] + 1e-300)


def width_met(ends: Ends, rtol: float, floor: float) -> bool:
    """Whether every bracket is as narrow as asked (or narrower than an absolute floor)."""
    return bool(_narrow(ends, rtol, floor).all())


def _narrow(ends: Ends, rtol: float, floor: float) -> np.ndarray:
    low, high = ends
    with np.errstate(invalid="ignore"):
        found: np.ndarray = (low == high) | (np.isfinite(high) & (high - low <= rtol * high + floor))
    return found
