"""Losses on one lattice whose transform is known in closed form: the contour integral over one period of it.

S lies on first + b Z. Let s0 be the first such loss above eps, g = s0 - eps, W = N b and z_j = theta + 2 pi i j/W:

    (1/N) sum over j mod N of M(z_j) e^(-z_j s0) K(z_j) = sum over m of e^(theta m W) D(eps + mW),
    K(z) = 1/(1 - e^(-zb)) - e^-g / (1 - e^(-(z+1)b)) = [e^(-zb) (1 - e^-b) + (1 - e^-g)(1 - e^(-zb))] / [...][...],

and for -1 < theta < 0 the same sum is that of -C. Proof: D(eps) = sum over n >= 0 of p(s0 + nb)(1 - e^(-g-nb)); insert
p by its Fourier coefficients and sum two geometric series; N points keep s mod W. All terms are positive, and Chernoff
bounds those with m != 0. Frequencies beyond U, where |phi| is small, are left out: with x = ub/pi Jordan's inequality
says |1 - e^(-zb)| >= 2 e^(-theta b/2) x, so that |K| <= (1 - e^-b)(1 + 2 e^(-theta b)) e^((theta+1/2) b) / (4 x^2), and
sums of 1/j^2 beyond J are below 1/J.

A rounded epsilon, or a tie taken the wrong way, moves eps by a rounding; D falls, so both ends look a hair aside.

Reference: theory/engine-faster.md section 5.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import reduce

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.compose.engines.characteristic import ContourEngine, kernel_size, spectrum_of
from quiltwork.compose.engines.engine import Knots, Logs, View
from quiltwork.compose.engines.views.contour import Side, alias_bound
from quiltwork.compose.releases import Counted
from quiltwork.losses.families.constraints import common_divisor
from quiltwork.losses.families.discrete import DiscreteGaussianPair
from quiltwork.losses.transforms.discrete_gaussian import LEAST_SIGMA
from quiltwork.losses.transforms.transform import ComplexArray, Transform
from quiltwork.numbers.rounding import UNIT

ACCURACY = 1e-13  # relative accuracy aimed at
MAX_FREQUENCIES = 1 << 17
NEIGHBOURS = np.arange(-4, 5)  # losses that are looked at around one
FINE = 1e-4  # lattices finer than this, in spreads, have no kinks worth looking at
STEEPEST = 200.0  # tilts times step: beyond, all mass sits on one point
BLOCK = 1 << 20
LISTED_SIGMA = 25.0  # a single release up to here is known by its two thousand values
IntArray = np.ndarray[tuple[int], np.dtype[np.int64]]


@attrs.frozen(eq=False)
class PeriodicView(View):
    """The spectrum at one tilt on one period."""

    theta: float
    centre: float  # a point of the lattice
    spread: float
    step: float
    points: int  # N
    log_mgf: float
    log_mgf_error: float
    far: ComplexArray  # of each frequency: what multiplies 1, with its weight
    near: ComplexArray  # what multiplies 1 - e^-g
    tails: tuple[ComplexArray, ComplexArray]  # P and Q mass from a loss on
    wrong: tuple[float, float]  # errors of both sums
    cut: float  # what is left out, whatever g
    right: Side | None  # None when nothing aliases
    left: Side | None
    loss_error: float

    @property
    def nudge(self) -> float:
        return self.loss_error

    def middle(self, epsilon: FloatArray) -> FloatArray:
        index, gap = self._place(epsilon)
        value = self._sum(index, self.far) - np.expm1(-gap) * self._sum(index, self.near)
        logs: FloatArray = np.log(np.maximum(value, 1e-320)) + self._scale(index)
        return logs

    def logs(self, epsilon: FloatArray) -> Logs:
        hair = self.loss_error + 4 * UNIT * (np.abs(epsilon) + abs(self.centre))
        if self.theta < 0:
            hair = -hair  # C rises
        return Logs(self.middle(epsilon), self._end(epsilon + hair, -1), self._end(epsilon - hair, 1))

    def _end(self, epsilon: FloatArray, way: int) -> FloatArray:
        index, gap = self._place(epsilon)
        share = -np.expm1(-gap)
        value = self._sum(index, self.far) + share * self._sum(index, self.near)
        wrong = self.wrong[0] + share * self.wrong[1] + self.cut
        if way > 0:
            value = value + wrong
        else:
            value = value - wrong
            if self.right is not None and self.left is not None:
                value = value - alias_bound(self.right, self.left, epsilon) * np.exp(self.theta * gap)
        scale = self._scale(index)
        size = abs(self.log_mgf) + np.abs(self.theta) * (abs(self.centre) + np.abs(index) * self.step)
        error = way * (self.log_mgf_error + (16 + 8 * size) * UNIT)
        with np.errstate(divide="ignore"):
            logs: FloatArray = np.where(value > 0, np.log(np.maximum(value, 1e-320)), -np.inf) + scale + error
        return logs

    def _place(self, epsilon: FloatArray) -> tuple[IntArray, FloatArray]:
        """The index of the first loss above epsilon, counted from the centre, and how far above it is."""
        steps = np.clip((epsilon - self.centre) / self.step, -(2.0**52), 2.0**52)
        index = np.floor(steps) + 1
        gap = np.clip(index * self.step - (epsilon - self.centre), 0.0, self.step)
        return index.astype(np.int64), gap

    def _scale(self, index: IntArray) -> FloatArray:
        scale: FloatArray = self.log_mgf - self.theta * (self.centre + index * self.step)
        return scale

    def _sum(self, index: IntArray, spectrum: ComplexArray) -> FloatArray:
        """Re sum over j of spectrum_j e^(-2 pi i j index / N): the angle is a fraction of whole numbers."""
        found = np.empty(index.size)
        j = np.arange(spectrum.size)
        rows = max(1, BLOCK // spectrum.size)
        for i in range(0, index.size, rows):
            part = np.mod(index[i : i + rows], self.points)
            angle = (2 * math.pi / self.points) * np.mod(np.multiply.outer(part, j), self.points)
            found[i : i + rows] = np.cos(angle) @ spectrum.real + np.sin(angle) @ spectrum.imag
        return found

    def knots(self, log_level: FloatArray, under_q: bool) -> Knots | None:
        if self.step < FINE * self.spread:
            return None
        tilt, spectrum = (self.theta + 1, self.tails[1]) if under_q else (self.theta, self.tails[0])
        reach = np.full(log_level.size, math.ceil(40 * self.spread / self.step) + 4, dtype=np.int64)
        low, high = -reach, reach
        while bool(np.any(high - low > 1)):  # the first loss from which on there is no more mass than the level
            middle = (low + high) // 2
            value = np.log(np.maximum(self._sum(middle, spectrum), 1e-320)) + self.log_mgf
            over = value - tilt * (self.centre + middle * self.step) > log_level
            low, high = np.where(over, middle, low), np.where(over, high, middle)
        losses = self.centre + self.step * (high[:, None] + NEIGHBOURS[None, :])
        return Knots(losses, np.ones(losses.shape, dtype=bool), False)


class PeriodicEngine(ContourEngine):
    """The periodic contour on one direction of a composition of discrete Gaussians that share a lattice."""

    method = "lattice"

    def __init__(self, pairs: Counted, transforms: list[Transform], step: Fraction, first: Fraction) -> None:
        super().__init__(pairs, transforms)
        self.step, self.first = step, first

    @classmethod
    def of(cls, pairs: Counted) -> PeriodicEngine | None:
        """The engine; None where some release is not known by its transform, or the lattice is too fine to keep."""
        found: list[tuple[DiscreteGaussianPair, int]] = []
        for pair, count in pairs:
            if not isinstance(pair, DiscreteGaussianPair) or pair.sigma < LEAST_SIGMA:
                return None
            found.append((pair, count))
        if sum(count for _, count in found) == 1 and found[0][0].sigma < LISTED_SIGMA:
            return None  # a short list is exact
        step = reduce(common_divisor, (pair.step for pair, _ in found))
        if all(pair.step > step for pair, _ in found) and len(found) > 1:  # nothing is known to decay over the period
            spread = math.sqrt(math.fsum(count * (pair.sensitivity / pair.sigma) ** 2 for pair, count in found))
            if 40 * spread / float(step) > MAX_FREQUENCIES:
                return None
        first = sum((count * pair.sensitivity * pair.step / 2 for pair, count in found), Fraction(0))
        return cls(pairs, [pair.transform(count) for pair, count in found], step, first)

    def _view(self, theta: float, log_width: float) -> PeriodicView | None:
        step = float(self.step)
        theta = min(theta, STEEPEST / step)
        steps, log_mgf, mean, spread = self._around(theta, ACCURACY)
        target = ACCURACY * 0.1 * max(kernel_size(theta, max(spread, step)), 1e-14)
        window = self._window(theta, mean, max(spread, step), steps, log_mgf, -math.log(target))
        points = max(math.ceil(window.period / step) + 1, 2)
        period = points * step
        used = points // 2 + 1
        count = min(used, self._cutoff(theta, spread, points, target) + 1)
        if count > MAX_FREQUENCIES:
            return None
        j = np.arange(count)
        u = (2 * math.pi / period) * j
        found = spectrum_of(self.transforms, theta, u)
        if found is None:
            return None
        index = math.floor((Fraction(mean) - self.first) / self.step)
        centre = float(self.first + index * self.step)
        weight = np.where((j == 0) | (2 * j == points), 1.0, 2.0) * ((1.0 if theta > 0 else -1.0) / points)
        phi = np.exp(found.log_phi - 1j * u * centre) * weight
        error = found.log_phi_error + 16 * UNIT * (1 + np.abs(found.log_phi) + 2 * u * abs(centre))
        error = error + 64 * UNIT * math.exp(max(-theta, 0.0) * step / 2)  # of the kernel
        if float(error.max()) > 700.0:
            return None
        first, second = _one_minus(theta * step, u * step), _one_minus((theta + 1) * step, u * step)
        turned = np.exp(-theta * step) * (np.cos(u * step) - 1j * np.sin(u * step))
        narrow = -math.expm1(-step)
        far, near = phi * (narrow * turned / (first * second)), phi / second
        # angles of the sum, and its order of addition, are rounded as well
        growth = np.expm1(error + (32 + count) * UNIT)
        right, left = attrs.evolve(window, period=period).aliases()
        return PeriodicView(
            theta=theta,
            centre=centre,
            spread=max(spread, step),
            step=step,
            points=points,
            log_mgf=found.log_mgf,
            log_mgf_error=found.log_mgf_error,
            far=far,
            near=near,
            tails=(phi / first, near),
            wrong=(float(np.abs(far) @ growth), float(np.abs(near) @ growth)),
            cut=self._left_out(theta, float(u[-1]), points, count) if count < used else 0.0,
            right=right,
            left=left,
            loss_error=4 * UNIT * (abs(centre) + 8 * max(spread, step)),
        )

    def _log_decay(self, theta: float, frequency: float) -> float:
        """log of a bound on |phi| from this frequency to half a period: of the releases whose own period that is."""
        at = np.array([frequency])
        own = [t for t, (pair, _) in zip(self.transforms, self.pairs, strict=True) if pair.step == self.step]  # type: ignore[attr-defined]
        return math.fsum(float(transform.decay(theta)(at)[0]) for transform in own)

    def _kernel_bound(self, theta: float, points: int) -> float:
        """N times the bound on |K| times x^2, over 2: divided by the last index it bounds what is left out."""
        step = float(self.step)
        grown = math.exp(min((theta + 0.5) * step, 700.0)) * (1 + 2 * math.exp(min(-theta * step, 700.0)))
        return points / 8 * -math.expm1(-step) * grown

    def _left_out(self, theta: float, frequency: float, points: int, count: int) -> float:
        log_size = self._log_decay(theta, frequency)
        return math.exp(min(log_size, 0.0)) * self._kernel_bound(theta, points) / (count - 1) * (1 + 1e-9)

    def _cutoff(self, theta: float, spread: float, points: int, target: float) -> int:
        """An index beyond which what is left out is below the target; half of the points when there is none."""
        spacing = 2 * math.pi / (points * float(self.step))
        bound = self._kernel_bound(theta, points)
        index = math.ceil(math.sqrt(-2 * math.log(target)) / spread / spacing)
        while index < points // 2:
            if self._log_decay(theta, index * spacing) + math.log(bound / index) <= math.log(target):
                return index
            index = math.ceil(1.1 * index)
        return points // 2


def _one_minus(real: float, angle: FloatArray) -> ComplexArray:
    """1 - e^-(x + iy), with the digits of small x and y."""
    half = np.sin(0.5 * angle)
    value: ComplexArray = 2 * half * half - math.expm1(-real) * np.cos(angle) + 1j * math.exp(-real) * np.sin(angle)
    return value
