"""The choice between methods: exact shortcut, lattice, characteristic function, grid. Decline, never loosen.

Reference: theory/engine.md section 6.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.compose import questions
from quiltwork.compose.beta import beta as beta_of
from quiltwork.compose.closed import GaussianEngine, SingleEngine
from quiltwork.compose.contour import ContourEngine
from quiltwork.compose.engine import Engine
from quiltwork.compose.grid import GridEngine
from quiltwork.compose.lattice import lattice_engine
from quiltwork.compose.questions import Case, Declined
from quiltwork.losses.gaussian import GaussianPair
from quiltwork.losses.pair import UNIT, Pair

Counted = Sequence[tuple[Pair, int]]
Ends = tuple[FloatArray, FloatArray]
Answer = tuple[FloatArray, FloatArray, str]
METHODS = ("closed form", "exact tails", "lattice", "characteristic function", "grid")


def engines(parts: Counted, method: str | None) -> Iterator[Engine]:
    """Methods that may answer, best first."""
    if len(parts) == 1 and isinstance(parts[0][0], GaussianPair) and method in (None, "closed form"):
        yield GaussianEngine(parts[0][0].mu * math.sqrt(parts[0][1]))
        return
    if len(parts) == 1 and parts[0][1] == 1 and method in (None, "exact tails"):
        yield SingleEngine(parts[0][0])
        return
    if method in (None, "lattice"):
        lattice = lattice_engine(parts)
        if lattice is not None:
            yield lattice
    if method in (None, "characteristic function"):
        contour = ContourEngine.of(parts)
        if contour is not None:
            yield contour
    if method in (None, "grid"):
        yield GridEngine(parts)


def case_of(engine: Engine, parts: Counted) -> Case:
    """Reveal mass 1 - prod (1 - r_j)^k_j, rounded outward, and the largest possible finite loss."""
    logs = math.fsum(k * math.log1p(-min(pair.reveal, 1.0 - 2**-53)) for pair, k in parts)
    reveal = 0.0 - math.expm1(logs)
    slack = 8 * UNIT * (1 + len(parts)) + 4 * UNIT * sum(k for p, k in parts if p.reveal > 0) * (reveal > 1e-3)
    top = math.fsum(k * pair.high for pair, k in parts) if parts else 0.0
    top = top * (1 + 4 * UNIT) if top > 0 else top
    return Case(engine, (reveal * (1 - slack), min(1.0, reveal * (1 + slack))), top)


def _ask(
    parts: Counted, method: str | None, question: Callable[[Case], Ends], enough: Callable[[Ends], bool]
) -> Answer:
    """The first method that meets the asked width; otherwise the intersection of all that answered."""
    best: Answer | None = None
    for engine in engines(parts, method):
        try:
            low, high = question(case_of(engine, parts))
        except Declined:
            continue
        if best is not None:
            low, high = np.maximum(low, best[0]), np.minimum(high, best[1])
        best = low, high, engine.method
        if enough((low, high)):
            break
    if best is None:
        raise Declined
    return best


def epsilon(parts: Counted, delta: FloatArray, rtol: float, method: str | None = None) -> Answer:
    """Smallest epsilon for each delta in (0, 1), one direction."""
    return _ask(
        parts,
        method,
        lambda case: questions.epsilon(case, delta, rtol),
        lambda ends: width_met(ends, rtol, 1e-9),
    )


def delta(parts: Counted, epsilon: FloatArray, rtol: float, method: str | None = None) -> Answer:
    """Hockey-stick divergence at each finite epsilon, one direction."""
    return _ask(
        parts,
        method,
        lambda case: questions.delta(case, epsilon, rtol),
        lambda ends: width_met(ends, rtol, 1e-290),
    )


def beta(parts: Counted, alpha: FloatArray, method: str | None = None) -> Answer:
    """Trade-off function at each alpha, one direction."""
    mirrored = [(pair.swapped(), count) for pair, count in parts]

    def question(case: Case) -> Ends:
        symmetric = all(a is b for (a, _), (b, _) in zip(parts, mirrored, strict=True))
        if symmetric:
            return beta_of(case, case, alpha)
        for engine in engines(mirrored, case.method):
            return beta_of(case, case_of(engine, mirrored), alpha)
        raise Declined

    return _ask(parts, method, question, lambda ends: bool(np.all(ends[1] - ends[0] <= 1e-3 * ends[1] + 1e-300)))


def width_met(ends: Ends, rtol: float, floor: float) -> bool:
    """Whether every bracket is as narrow as asked (or narrower than an absolute floor)."""
    low, high = ends
    with np.errstate(invalid="ignore"):
        return bool(np.all((low == high) | (high - low <= rtol * high + floor)))
