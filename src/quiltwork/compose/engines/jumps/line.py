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

Sums over nodes are matrix products: u = (aJ+b) eta, z = e^(iud) - 1 = z_a + z_b + z_a z_b; blocks of M terms are added
pairwise. Then phi - 1 is off by PRODUCT u_j E|d| units, PRODUCT = 3 c + sqrt2 (2M + 4 + log2(n/M)) with c = 15.3 for
sines that are off by 4 units and phases by 4 (theory/engine-faster.md section 3, theorem). A loss itself is off by
8 units of |L| + (qR/w)(|x|/s + 1/s^2), its own rounding, that of its exponent, and inputs read as decimals.

Reference: theory/engine-faster.md sections 2 to 4.
"""

from __future__ import annotations

import math

import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.compose.engines.jumps.cut import HALF_LOG_2PI, Cells
from quiltwork.losses.transforms.transform import ComplexArray, TooCostly, log_one_plus
from quiltwork.numbers.rounding import UNIT

M = 64  # terms of a block
PRODUCT = 3 * 15.3 + math.sqrt(2) * (2 * M + 4 + 12)  # of 2^18 nodes
MOST_NODES, MOST_WORK, MOST_FREQUENCIES = 200_000, 3e8, 20_000
NEGLIGIBLE = 1e-24
PANEL = 1 << 12  # nodes that are taken at once


def spectra(weights: tuple[FloatArray, ...], losses: FloatArray, eta: float, size: int) -> list[ComplexArray]:
    """sum w (e^(iuL) - 1) at u = 0, eta, ..., (size-1) eta, for several weights."""
    rows = math.isqrt(max(size - 1, 1)) + 1
    turns = -(-size // rows)
    multiples = np.concatenate((eta * np.arange(rows), eta * rows * np.arange(turns)))
    sums: list[list[ComplexArray]] = [[] for _ in weights]
    for start in range(0, losses.size, PANEL):
        part = losses[start : start + PANEL]
        blocks = -(-part.size // M)
        part = np.append(part, np.zeros(blocks * M - part.size))  # of weight 0
        angle = np.multiply.outer(multiples, part)
        half = np.sin(0.5 * angle)
        z = np.sin(angle) * 1j - 2 * half * half
        inner = np.ascontiguousarray(z[:rows].reshape(rows, blocks, M).transpose(1, 2, 0))
        outer = z[rows:].reshape(turns, blocks, M).transpose(1, 0, 2)
        for row, weight in zip(sums, weights, strict=True):
            masses = np.append(weight[start : start + PANEL], np.zeros(blocks * M))[: blocks * M].reshape(blocks, 1, M)
            found = np.ascontiguousarray(outer * masses) @ inner
            found += (outer * masses).sum(axis=2)[:, :, None] + (masses @ inner)
            row.append(pairwise(found))
    return [pairwise(np.array(row)).ravel()[:size] for row in sums]


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
        step = cells.step(theta, eta * size, sizes, need)
        nodes = (cells.last + 9.3) / step
        if not (size <= MOST_FREQUENCIES and nodes <= MOST_NODES and nodes * math.sqrt(size) * 2 < MOST_WORK / 50):
            raise TooCostly
        if nodes * size > MOST_WORK:
            raise TooCostly
        x = step * np.arange(math.floor(-9.3 / step), math.ceil(cells.last / step) + 1)
        losses = cut.log_w(x)
        with np.errstate(over="raise"):
            tilted = np.exp(math.log(step) - HALF_LOG_2PI - 0.5 * x * x + (1 + theta) * losses)
        odds = cut.rate * np.exp(np.minimum(x / cut.sigma - 0.5 / cut.sigma**2, 600.0))
        lifted = odds / (1 - cut.rate + odds) * (np.abs(x) / cut.sigma + 1 / cut.sigma**2)
        moved = 8 * UNIT * (np.abs(losses) + lifted)
        base = (32 + 2 * x * x) * UNIT + (1 + theta) * moved
        jumping = len(sizes) == 2
        parts, wrongs = cut.cut_offs(x)[: len(sizes)], cut.cut_off_errors(x)[: len(sizes)]
        masses = [tilted * part for part in parts]
        totals = [float(mass.sum()) for mass in masses]
        if not all(0 < total < math.inf for total in totals):
            raise TooCostly
        live = np.zeros(x.size, dtype=bool)
        for mass, total in zip(masses, totals, strict=True):
            live |= mass > NEGLIGIBLE * total / x.size
        mean = float(masses[0] @ losses) / totals[0]
        losses = losses[live] - mean
        weights = tuple(mass[live] / total for mass, total in zip(masses, totals, strict=True))
        u = eta * np.arange(size)
        found = spectra(weights, losses, eta, size)
        left = [float(one[0]) for one in cells.missing(np.array([theta]), step)]
        errors, globally = [], []
        for i, weight in enumerate(weights):
            term = (base + wrongs[i] * UNIT)[live] * weight
            quadrature = 2 * math.exp(-need) * max(sizes[i] / totals[i], 1.0) + left[i] / totals[i] + 2 * NEGLIGIBLE
            slip = float(term.sum()) + quadrature + 64 * UNIT
            turned = np.minimum(u * float(term @ np.abs(losses)), 2 * float(term.sum()))
            turned = turned + u * float(weight @ moved[live])
            spread = float(weight @ np.abs(losses))
            errors.append(turned + np.abs(found[i]) * slip + PRODUCT * UNIT * u * spread + 2 * quadrature)
            globally.append(slip)
        if max(globally) > 0.01:
            raise TooCostly
        phi, log_phi = 1 + found[0], log_one_plus(found[0].real, found[0].imag)
        here = np.abs(phi)
        blind = here <= 4 * errors[0]
        here = np.where(blind, 1.0, here)
        rounded = 8 * UNIT * ((np.abs(found[0]) + np.abs(found[0]) ** 2) / np.minimum(here, 1.0) ** 2 + np.abs(log_phi))
        turn = count * (errors[0] / (here - errors[0]) * 1.2 + rounded + 4 * UNIT * u * abs(mean))
        turn += 16 * UNIT * (1 + count * np.abs(log_phi))
        blind |= ~(turn < 0.5)
        phi, turn = np.where(blind, 1.0, phi), np.where(blind, 0.0, turn)
        scale = count * math.log(totals[0])
        self.common = count * globally[0] * 1.01 + 8 * UNIT * (1 + abs(scale))  # log of rho^T
        with np.errstate(over="raise"):
            value = np.exp(scale + count * log_phi)  # turned by e^(-iu T mean)
            wrong = np.abs(value) * np.expm1(turn)
            if jumping:
                value, wrong = self._jumps(value, turn, phi, found[1], totals, errors, globally)
            if blind.any():
                size_a = totals[0] * (np.abs(1 + found[0]) + errors[0])[blind]
                most = count * np.log(size_a)
                if jumping:
                    size_b = totals[1] * (np.abs(1 + found[1]) + errors[1])[blind] * (1 + 4 * sum(globally))
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
        self.ends = cut.jumps if jumping else cut.usual

    def _jumps(
        self,
        power: ComplexArray,
        turn: FloatArray,
        phi: ComplexArray,
        above: ComplexArray,
        totals: list[float],
        errors: list[FloatArray],
        globally: list[float],
    ) -> tuple[ComplexArray, FloatArray]:
        """A^T ((1 + B/A)^T - 1), which keeps the digits of small B, and its error."""
        count, share, jump, here = self.cut.count, totals[1] / totals[0], 1 + above, np.abs(phi)
        x = share * jump / phi
        logs = log_one_plus(x.real, x.imag)
        ratio = count * logs
        grown = np.expm1(ratio)
        one = np.abs(1 + x)
        relative = np.expm1(1.01 * (globally[0] + globally[1])) + 16 * UNIT
        off = share * (errors[1] + np.abs(jump) * errors[0] / here) / (here - errors[0])
        off = (off + np.abs(x) * relative) * (1 + 2 * relative)
        off = off + 16 * UNIT * (np.abs(x) + np.abs(x) ** 2) / np.minimum(one, 1.0) ** 2  # of the logarithm
        off = off + 8 * UNIT * np.abs(logs)
        apart = count * off * np.exp((count - 1) * np.log(one + off))
        apart = apart + 32 * UNIT * (np.abs(ratio) * np.maximum(np.abs(np.exp(ratio)), 1.0) + np.abs(grown))
        wrong = np.abs(power) * (np.abs(grown) * np.expm1(turn) + apart * np.exp(turn))
        return power * grown, wrong * (1 + 1e-9)

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
