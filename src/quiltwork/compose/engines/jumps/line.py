"""D of some measure of sums on one vertical line: F = (A+B)^T - A^T, or A^T alone.

The trapezoid sum over u_j = 2 pi j/W is sum over m of e^(theta m W) D(eps + mW). Its parts, each bounded:

* left aliases are known: below the floor -b of all losses D(y) = F(0) - e^y F(-1) + R, 0 <= R <= e^y e^-v;
* right aliases by Chernoff, pk(t) F(t) e^(-ty): F is cut at c2, its tails are light;
* truncation at U: |F(theta+iu)| <= (A + sup|B|)^T - A^T for F, layer cake for A^T, each over pi U;
* quadrature: A(z), B(z) are off by e^-need of A(theta), B(theta), and by what nodes leave out;
* rounding. With weights off by term_i, rho = A(theta)/A^ has |log rho| <= g = sum w term + quadrature: rho^T is a
  factor of the whole sum. phi = A(z)/A(theta) is off by
  e_a = sum w term |e^(iuL)-1| + |phi-1| g + PRODUCT u E|L| + 2 quadrature,
  T log phi by T e_a/(|phi| - e_a) and by rounded logarithms. B(z)/A(z) = (B/A) z_b/z_a is off by d, and
  |(1+x')^T - (1+x)^T| <= T d (|1+x| + d)^(T-1). Where phi is lost in its error, F is 0 up to (|A|+|B|)^T - |A|^T.

A and B have nodes of their own, as far apart as each allows and where it has mass: what varies fast is small.

Sums over nodes are matrix products: u = (aJ+b) eta, z = e^(iud) - 1 = z_a + z_b + z_a z_b; blocks of M terms are added
pairwise. Then phi - 1 is off by PRODUCT u_j E|d| units, PRODUCT = 3 c + sqrt2 (2M + 4 + log2(n/M)) with c for the rows
of z (theory/engine-faster.md section 3, theorem). A loss itself is off by 8 units of |L| + (qR/w)(|x|/s + 1/s^2), its
own rounding, that of its exponent, and inputs read as decimals.

Lemma (rows by doubling).  z_(m+k) = z_m + z_k + z_m z_k, computed from z_m and z_k that are off by c units of their
angles a_m, a_k (of one sign), is off by c + 5 units of a_m + a_k.  Proof.  The errors e_m, e_k become
e_m (1+z_k) + e_k (1+z_m), where |1+z| = 1; a complex product is off by 2 sqrt2 units of |z_m z_k|, no more than
min(2 a_m, 2 a_k) <= a_m + a_k, and each sum by a unit of its value, at most a_m + a_k.  With c = 15.3 for sines that
are off by 4 units and phases by 4, seven doublings leave c = 50.3.

Reference: theory/engine-faster.md sections 2 to 4.
"""

from __future__ import annotations

import math

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.compose.engines.jumps.cut import HALF_LOG_2PI, Cells
from quiltwork.losses.transforms.transform import ComplexArray, TooCostly, log_one_plus
from quiltwork.numbers.rounding import UNIT

M = 64  # terms of a block
DIRECT = 2  # rows of sines, before products double them
PRODUCT = 3 * (15.3 + 7 * 5) + math.sqrt(2) * (2 * M + 4 + 12)  # of 2^18 nodes and 2^8 rows
MOST_NODES, MOST_WORK, MOST_FREQUENCIES = 200_000, 3e8, 20_000
PANEL = 1 << 12  # nodes that are taken at once


def spectrum(weights: FloatArray, losses: FloatArray, eta: float, size: int) -> ComplexArray:
    """sum w (e^(iuL) - 1) at u = 0, eta, ..., (size-1) eta."""
    rows = math.isqrt(max(size - 1, 1)) + 1
    turns, sums = -(-size // rows), []
    for start in range(0, losses.size, PANEL):
        part, masses = losses[start : start + PANEL], weights[start : start + PANEL]
        blocks = -(-part.size // M)
        part, masses = (np.append(one, np.zeros(blocks * M - one.size)) for one in (part, masses))  # of weight 0
        inner = turned(eta * part, rows).reshape(rows, blocks, M).transpose(1, 2, 0)
        outer = (turned(eta * rows * part, turns) * masses).reshape(turns, blocks, M).transpose(1, 0, 2)
        found = np.ascontiguousarray(outer) @ np.ascontiguousarray(inner)
        found += outer.sum(axis=2)[:, :, None] + masses.reshape(blocks, 1, M) @ inner
        sums.append(pairwise(found))
    return pairwise(np.array(sums)).ravel()[:size]


def turned(angle: FloatArray, rows: int) -> ComplexArray:
    """e^(ik angle) - 1 for k = 0, ..., rows - 1."""
    found: ComplexArray = np.empty((rows, angle.size), dtype=complex)
    done = min(rows, DIRECT)
    found[:done] = _turn(np.multiply.outer(np.arange(done), angle))
    while done < rows:
        more = min(done, rows - done)
        first = _turn(done * angle)
        np.multiply(found[:more], first, out=found[done : done + more])
        found[done : done + more] += found[:more] + first
        done += more
    return found


def _turn(angle: FloatArray) -> ComplexArray:
    half = np.sin(0.5 * angle)
    turn: ComplexArray = np.empty(angle.shape, dtype=complex)
    turn.real, turn.imag = -2 * half * half, np.sin(angle)
    return turn


def pairwise(terms: ComplexArray) -> ComplexArray:
    """The sum over the first axis, by halves."""
    while terms.shape[0] > 1:
        half = terms.shape[0] // 2
        odd = terms[2 * half :]
        terms = np.concatenate((terms[:half] + terms[half : 2 * half], odd))
    total: ComplexArray = terms[0]
    return total


def _log_expm1(x: FloatArray) -> FloatArray:
    """log(e^x - 1), never capped."""
    return np.where(x < 30, np.log(np.expm1(np.minimum(x, 30.0))), x)


@attrs.frozen(eq=False)
class Sums:
    """One part of the release on the line, about a centre: its total, phi - 1, what that is off by, and log rho."""

    total: float
    centre: float
    turned: ComplexArray
    error: FloatArray
    slip: float

    @classmethod
    def of(
        cls, cells: Cells, theta: float, part: int, most: float, need: float, eta: float, size: int, first: Sums | None
    ) -> Sums:
        """Of A (part 0) or B (part 1), at most `most` at the tilt; about its own mean, or the centre of `first`."""
        cut, step = cells.cut, cells.step(theta, eta * size, part, most, need)
        low, high, missing = cells.kept(theta, step, part, most)
        nodes = (high - low) / step
        if not (nodes <= MOST_NODES and nodes * math.sqrt(size) * 2 < MOST_WORK / 50 and nodes * size <= MOST_WORK):
            raise TooCostly
        x = step * np.arange(math.floor(low / step), math.ceil(high / step) + 1)
        losses = cut.log_w(x)
        share, ulps = cut.cut_off(x, part)
        with np.errstate(over="raise"):
            masses = np.exp(math.log(step) - HALF_LOG_2PI - 0.5 * x * x + (1 + theta) * losses) * share
        total = float(masses.sum())
        if not 0 < total < math.inf:
            raise TooCostly
        odds = cut.rate * np.exp(np.minimum(x / cut.sigma - 0.5 / cut.sigma**2, 600.0))
        lifted = odds / (1 - cut.rate + odds) * (np.abs(x) / cut.sigma + 1 / cut.sigma**2)
        moved = 8 * UNIT * (np.abs(losses) + lifted)
        weights = masses / total
        centre = float(weights @ losses) if first is None else first.centre
        away = np.abs(losses - centre)
        term = ((16 + 2 * x * x + ulps) * UNIT + (1 + theta) * moved) * weights
        quadrature = 2 * math.exp(-need) * max(most / total, 1.0) + missing / total
        slip = float(term.sum()) + quadrature + 64 * UNIT
        if slip > 0.01:
            raise TooCostly
        found, u = spectrum(weights, losses - centre, eta, size), eta * np.arange(size)
        error = np.minimum(u * float(term @ away), 2 * float(term.sum())) + u * float(weights @ moved)
        error = error + np.abs(found) * slip + PRODUCT * UNIT * u * float(weights @ away) + 2 * quadrature
        return cls(total, centre, found, error, slip)


class Line:
    """One line, with every error that does not depend on epsilon already summed; D times e^(theta eps) throughout."""

    def __init__(
        self,
        cells: Cells,
        theta: float,
        period: float,
        cutoff: float,
        tail: float,
        sizes: tuple[float, ...],
        need: float,
    ) -> None:
        cut = cells.cut
        self.cut, self.theta, self.period = cut, theta, period
        count, eta = cut.count, 2 * math.pi / period
        size = math.ceil(cutoff / eta) + 1
        if size > MOST_FREQUENCIES:
            raise TooCostly
        usual = Sums.of(cells, theta, 0, sizes[0], need, eta, size, None)
        jumps = Sums.of(cells, theta, 1, sizes[1], need, eta, size, usual) if len(sizes) == 2 else None
        u, mean = eta * np.arange(size), usual.centre
        phi, log_phi = 1 + usual.turned, log_one_plus(usual.turned.real, usual.turned.imag)
        here, away = np.abs(phi), np.abs(usual.turned)
        blind = here <= 4 * usual.error
        here = np.where(blind, 1.0, here)
        rounded = 8 * UNIT * ((away + away**2) / np.minimum(here, 1.0) ** 2 + np.abs(log_phi))
        turn = count * (usual.error / (here - usual.error) * 1.2 + rounded + 4 * UNIT * u * abs(mean))
        scale = count * math.log(usual.total)
        turn += 16 * UNIT * (1 + count * np.abs(log_phi)) + 2 * UNIT * abs(scale)
        blind |= ~(turn < 0.5)
        phi, turn = np.where(blind, 1.0, phi), np.where(blind, 0.0, turn)
        self.common = count * usual.slip * 1.01 + 8 * UNIT * (1 + abs(scale))  # log of rho^T
        with np.errstate(over="raise"):
            value = np.exp(scale + count * log_phi)  # turned by e^(-iu T mean)
            wrong = np.abs(value) * np.expm1(turn)
            if jumps is not None:
                value, wrong = _jumped(count, value, turn, phi, usual, jumps)
            if blind.any():
                size_a = usual.total * (np.abs(1 + usual.turned) + usual.error)[blind]
                most = count * np.log(size_a)
                if jumps is not None:
                    size_b = jumps.total * (np.abs(1 + jumps.turned) + jumps.error)[blind]
                    size_b = size_b * (1 + 4 * (usual.slip + jumps.slip))
                    most = np.where(size_b > 0, most + _log_expm1(count * np.log1p(size_b / size_a)), -np.inf)
                value[blind], wrong[blind] = 0.0, np.exp(most) * (1 + 1e-9)
        z = theta + 1j * u
        kernel: ComplexArray = np.asarray(value / (z * (z + 1)) * (eta / math.pi), dtype=complex)
        kernel[0] *= 0.5
        self.frequencies, self.kernel, self.centre = u, kernel, count * mean
        self.wrong = float((wrong / np.abs(z * (z + 1))).sum()) * (eta / math.pi) * (1 + 1e-9)
        self.wrong += tail * math.exp(self.common)
        self.size = float(np.abs(kernel).sum())
        if not (math.isfinite(self.wrong) and math.isfinite(self.size)):
            raise TooCostly
        self.ends = cut.usual if jumps is None else cut.jumps

    def read(self, epsilon: float, tilts: FloatArray, logs: FloatArray) -> tuple[float, float]:
        """Ends of D; `logs` bound log(pk(t) M(t)) at the tilts."""
        cut, theta, period = self.cut, self.theta, self.period
        if epsilon - period > cut.floor:
            raise TooCostly  # left aliases would not be known
        angle = (epsilon - self.centre) * self.frequencies
        value = float(np.cos(angle) @ self.kernel.real + np.sin(angle) @ self.kernel.imag)
        span = float(self.frequencies[-1]) * (abs(epsilon - self.centre) + abs(epsilon) + abs(self.centre))
        wrong = self.wrong + self.size * (8 + span + 4 * self.frequencies.size) * 2 * UNIT
        grown, fold = (
            math.exp(theta * epsilon),
            [math.exp(-s * period) / -math.expm1(-s * period) for s in (theta, theta + 1)],
        )
        first, second = grown * self.ends[0] * fold[0], grown * math.exp(epsilon) * self.ends[1] * fold[1]
        rounding = (first + second) * (cut.wrong + 16 * UNIT * (1 + (theta + 1) * (period + abs(epsilon))))
        rest = grown * math.exp(epsilon) * fold[1] * math.exp(-cut.unlikely)
        use = (tilts > 1.05 * theta) & np.isfinite(logs)
        if not use.any():
            raise TooCostly
        s = tilts[use] - theta
        with np.errstate(over="ignore"):
            alias = float((np.exp(logs[use] - s * (epsilon + period)) / -np.expm1(-s * period)).min()) * (1 + 1e-9)
        # rho^T times the sum is D and its aliases
        low, high = value - wrong, value + wrong
        low, high = (end * math.exp(sign * self.common) for end, sign in ((low, -1 if low > 0 else 1), (high, 1)))
        known = first - second
        down = math.exp(-theta * epsilon) * (1 + 4 * UNIT * (1 + theta * abs(epsilon)))
        low = low - known - rounding - rest - alias
        return low * (
            down if low < 0 else math.exp(-theta * epsilon) * (1 - 4 * UNIT * (1 + theta * abs(epsilon)))
        ), max(high - known + rounding, 0.0) * down


def _jumped(
    count: int, power: ComplexArray, turn: FloatArray, phi: ComplexArray, usual: Sums, jumps: Sums
) -> tuple[ComplexArray, FloatArray]:
    """A^T ((1 + B/A)^T - 1), which keeps the digits of small B, and its error."""
    share, jump, here = jumps.total / usual.total, 1 + jumps.turned, np.abs(phi)
    x = share * jump / phi
    logs = log_one_plus(x.real, x.imag)
    ratio = count * logs
    grown = np.expm1(ratio)
    one = np.abs(1 + x)
    relative = np.expm1(1.01 * (usual.slip + jumps.slip)) + 16 * UNIT
    off = share * (jumps.error + np.abs(jump) * usual.error / here) / (here - usual.error)
    off = (off + np.abs(x) * relative) * (1 + 2 * relative)
    off = off + 16 * UNIT * (np.abs(x) + np.abs(x) ** 2) / np.minimum(one, 1.0) ** 2  # of the logarithm
    off = off + 8 * UNIT * np.abs(logs)
    apart = count * off * np.exp((count - 1) * np.log(one + off))
    apart = apart + 32 * UNIT * (np.abs(ratio) * np.maximum(np.abs(np.exp(ratio)), 1.0) + np.abs(grown))
    wrong = np.abs(power) * (np.abs(grown) * np.expm1(turn) + apart * np.exp(turn))
    return power * grown, wrong * (1 + 1e-9)
