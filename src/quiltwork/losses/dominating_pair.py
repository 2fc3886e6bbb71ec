"""The numerical side of one release: a pair of output laws seen through its privacy loss.

L = log dP/dQ. `reveal` is P(L = +inf), `vanish` is Q(L = -inf). Every probability comes from the side of the law
where it is small, so that nothing is computed as 1 - x.

Reference: theory/engine.md section 1.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from fractions import Fraction

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.losses.transforms.transform import Transform
from quiltwork.numbers.rounding import UNIT

TAIL_ULPS = 24.0  # assumed relative accuracy of one tail value, in units of roundoff
EMPTY = np.zeros(0)


@attrs.frozen(eq=False)
class Cells:
    """Per cell (a, b] of the continuous part: P mass, stick = E_P[1 - e^(a-L); cell], and their absolute errors."""

    mass: FloatArray
    stick: FloatArray
    mass_error: FloatArray
    stick_error: FloatArray


@attrs.frozen(eq=False)
class Lattice:
    """Atoms at offset + step * indices. Fractions say that step and offset are known rationals, not only floats."""

    offset: Fraction | float
    step: Fraction | float
    indices: np.ndarray[tuple[int], np.dtype[np.int64]]
    masses: FloatArray

    @property
    def exact(self) -> bool:
        """Whether the step may be compared with that of another lattice."""
        return isinstance(self.step, Fraction)


class Pair(ABC):
    """Two output laws; subclasses give exact tails, cells, atoms and, where it exists, the transform."""

    low: float
    high: float
    reveal: float = 0.0
    vanish: float = 0.0
    reveal_error: float = 4 * UNIT  # relative error of `reveal` and `vanish`
    relative: float = 8 * UNIT  # relative error of the masses of atoms
    scale: float = 2.0  # of an unbounded loss: where a search starts
    tail_mu: float = np.inf  # E_P[e^(theta L); l < L < inf] <= e^(theta (1 + theta) mu^2 / 2) for theta, l >= 0
    stated_masses: tuple[Fraction, Fraction] | None = None  # `reveal` and `vanish` as rationals, where they are known

    @property
    def exact(self) -> tuple[Fraction, Fraction] | None:
        """Reveal and vanish mass without rounding, or None."""
        nothing = self.reveal == 0 and self.vanish == 0
        return (Fraction(0), Fraction(0)) if nothing else self.stated_masses

    @abstractmethod
    def above(self, loss: FloatArray) -> tuple[FloatArray, FloatArray]:
        """P(loss < L < inf) and Q(loss < L)."""

    @abstractmethod
    def below(self, loss: FloatArray) -> tuple[FloatArray, FloatArray]:
        """P(L <= loss) and Q(-inf < L <= loss)."""

    @abstractmethod
    def stick(self, loss: FloatArray) -> FloatArray:
        """Hockey stick E_P[(1 - e^(loss-L))+; L < inf], free of cancellation."""

    @abstractmethod
    def swapped(self) -> Pair:
        """The pair with the roles of the two laws exchanged."""

    @abstractmethod
    def cells(self, edges: FloatArray) -> Cells:
        """Masses of the continuous part between consecutive edges."""

    def stick_error(self, loss: FloatArray) -> FloatArray:
        """Relative error bound of `stick`."""
        return np.full(np.shape(loss), 64 * UNIT)

    def stick_ends(self, loss: FloatArray) -> tuple[FloatArray, FloatArray]:
        """`stick` rounded outward; a pair whose stick may be rounded to 0 says here what it can be instead."""
        value, wrong = self.stick(loss), np.minimum(self.stick_error(loss), 1e300)
        return value * np.maximum(1.0 - wrong, 0.0), value * (1.0 + wrong)

    def tail_error(self, loss: FloatArray) -> FloatArray:
        """Relative error bound of `above` and `below`, both laws."""
        return np.full(np.shape(loss), TAIL_ULPS * UNIT)

    @property
    def rounding(self) -> float:
        """How far the losses of the atoms may lie from where they should."""
        losses, _ = self.atoms()
        return 8 * UNIT * float(np.abs(losses).max()) if losses.size else 0.0

    def atoms(self) -> tuple[FloatArray, FloatArray]:
        """Losses and P masses of the atoms (finite losses only)."""
        return EMPTY, EMPTY

    def lattice(self) -> Lattice | None:
        """All finite loss on one lattice, or None."""
        return None

    def log_moment_bounds(self, theta: float) -> tuple[float, float]:
        """Bounds of log E_P[e^(theta L); L < inf] in closed form, for theta > -1 and without reveal mass if theta > 0.

        Beyond 0 by `tail_mu`; at most 1 up to it.
        """
        if theta <= 0:
            return -math.inf, 0.0
        grown = 0.5 * theta * (1.0 + theta) * self.tail_mu**2
        return 0.0, grown * (1 + 8 * UNIT) + math.log1p(math.exp(-grown)) + 4 * UNIT

    def log_moment_sums(self, theta: float) -> tuple[float, float]:
        """The same by more work, for a question about this one order."""
        return self.log_moment_bounds(theta)

    def transform(self, count: int) -> Transform | None:
        """Moment generating function of `count` independent copies, or None."""
        return None


def tail_cells(pair: Pair, edges: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """P and Q masses of cells as differences of the smaller tail, and the absolute errors of both.

    The smaller side is chosen separately for P and for Q: their medians differ, and a joint choice lets the error
    of one swamp the other.
    """
    p_above, q_above = pair.above(edges)
    p_below, q_below = pair.below(edges)
    p_right, q_right = (p_above < p_below)[1:], (q_above < q_below)[1:]
    p_mass = np.maximum(np.where(p_right, p_above[:-1] - p_above[1:], p_below[1:] - p_below[:-1]), 0.0)
    q_mass = np.maximum(np.where(q_right, q_above[:-1] - q_above[1:], q_below[1:] - q_below[:-1]), 0.0)
    wrong = pair.tail_error(edges)
    wrong = 2 * np.maximum(wrong[:-1], wrong[1:])
    p_error = wrong * np.where(p_right, p_above[:-1], p_below[1:])
    q_error = wrong * np.where(q_right, q_above[:-1], q_below[1:])
    return p_mass, q_mass, p_error, q_error
