"""Finite pairs whose losses share a lattice: composed without any discretisation.

Commensurability is decided on the decimals that were typed (exact rationals), never on float quotients. A single pair
repeated needs no common unit: its own two atoms, or its own lattice, suffice.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import reduce

import numpy as np

from quiltwork.compose.engines.fft import LONGEST, LatticeEngine, LatticePart, Measure
from quiltwork.losses.dominating_pair import Lattice, Pair
from quiltwork.losses.families.constraints import common_divisor
from quiltwork.losses.families.finite import FinitePair
from quiltwork.numbers.rounding import UNIT


def lattice_engine(parts: Sequence[tuple[Pair, int]]) -> LatticeEngine | None:
    """An exact lattice for all parts together, or None."""
    found: list[tuple[FinitePair, Lattice, int]] = []
    for pair, count in parts:
        lattice = pair.lattice() if isinstance(pair, FinitePair) else None
        if lattice is None or not isinstance(pair, FinitePair):
            return None
        found.append((pair, lattice, count))
    step = _common_step([lattice for _, lattice, _ in found])
    if step is None:
        return None
    spans = [int(lattice.indices[-1] - lattice.indices[0]) * Fraction(lattice.step) for _, lattice, _ in found]
    if max(spans) / Fraction(step) > LONGEST:
        return None
    measure = Measure(float(step), tuple(_part(pair, lattice, count, step) for pair, lattice, count in found))
    low, high = measure.span
    if not _fits(measure, high - low):
        return None
    return LatticeEngine(measure)


def _fits(measure: Measure, span: int) -> bool:
    """Whether the likely window, some 17 standard deviations, is short enough."""
    if span <= LONGEST:
        return True
    _, _, variance = measure.moments(np.array([0.0]))
    return 20 * math.sqrt(float(variance[0])) / measure.step < LONGEST


def _gaps(lattice: Lattice) -> int:
    """Greatest common divisor of the index differences: the offset is free, so only they matter."""
    return int(np.gcd.reduce(np.diff(lattice.indices))) or 1


def _common_step(lattices: list[Lattice]) -> Fraction | float | None:
    if len(lattices) == 1:
        return lattices[0].step * _gaps(lattices[0])
    moving = [lattice for lattice in lattices if lattice.indices.size > 1]
    if not moving:
        return 1.0
    if len(moving) == 1:
        return moving[0].step * _gaps(moving[0])
    if not all(lattice.exact for lattice in moving):
        return None
    return reduce(common_divisor, (Fraction(lattice.step) * _gaps(lattice) for lattice in moving))


def _part(pair: FinitePair, lattice: Lattice, count: int, step: Fraction | float) -> LatticePart:
    """The pair re-indexed on the common step, starting at index 0; its first loss becomes the offset."""
    start = lattice.offset + lattice.step * int(lattice.indices[0])
    gaps = lattice.indices - lattice.indices[0]
    if lattice.indices.size > 1:
        multiple = Fraction(lattice.step) / Fraction(step) if lattice.exact else Fraction(1, _gaps(lattice))
        gaps = gaps * multiple.numerator // multiple.denominator
    indices, where = np.unique(gaps, return_inverse=True)
    log_masses = pair.log_p
    if indices.size < gaps.size:  # a mixture may list the same loss twice
        log_masses = np.full(indices.size, -np.inf)
        np.logaddexp.at(log_masses, where, pair.log_p)
    widest = float(np.abs(pair.losses).max())
    return LatticePart(float(start), indices, log_masses, count, pair.relative, 8 * UNIT * widest + pair.loss_error)
