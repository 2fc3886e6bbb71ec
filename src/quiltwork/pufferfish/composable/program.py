"""Kernels that certify composition: suggested by linear programs, made exact, evaluated outside the solver.

A kernel beta moves each dataset D possible under s to a law on the datasets l possible under s'. It certifies for each
output i of channel j

    log V[i, D] <= rate_j + sum_l beta(l | D) log V[i, l],

and then any composition, adaptive too, has log-ratio at most sum of rates + constant, where the constant is the smaller
of D_inf(p beta || p') and log E_{D ~ p} exp KL(beta(. | D) || p'). If beta transports p onto p', it is exactly 0.

Every kernel here is a matrix of rationals whose rows sum to 1. Rates and constants are re-evaluated from it and rounded
up, so that nothing the solver says of itself is relied upon (HiGHS drops coefficients below 1e-9).

Reference: seed 003 Theorem 4; theory/pufferfish.md 2.1, 2.2, 3.3 (pitfall).
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.errors import InvalidParameter
from quiltwork.numbers.rounding import UNIT, down, up
from quiltwork.pufferfish.composable.leakage import Case, Law, Setting, log_ratio

Kernel = tuple[Law, ...]

_GRID = 2**64  # kernels are multiples of 1/_GRID: exact sums stay small
_SIMPLE = 360  # entries of a kernel are also tried with at most this denominator: what a solver rounded is exact again
MOST_COEFFICIENTS = 2**21
_TIGHT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


def tidy(weights: Any, simple: bool = False) -> Kernel:
    """Nonnegative rows as rationals that sum to 1 exactly, on a fine grid or as simple fractions.

    >>> tidy([[0.5000000001, 0.4999999999]], simple=True)
    ((Fraction(1, 2), Fraction(1, 2)),)
    """
    kernel = []
    for row in np.asarray(weights, dtype=float).tolist():
        if simple:
            entries = [Fraction(entry).limit_denominator(_SIMPLE) for entry in row]
            total = sum(entries, Fraction(0))
            if total:  # many small entries may all be nearest to 0
                kernel.append(tuple(entry / total for entry in entries))
                continue
        scale = math.fsum(row)
        whole = [int(entry / scale * _GRID) for entry in row]
        whole[int(np.argmax(row))] += _GRID - sum(whole)
        kernel.append(tuple(Fraction(entry, _GRID) for entry in whole))
    return tuple(kernel)


def transported(kernel: Kernel, case: Case, alive: np.ndarray) -> Kernel | None:
    """The kernel, changed as little as its rounding needs, so that p beta = p' exactly; None when none can.

    In integers: the mass that it moves is cut down to what p' takes, and what is left over is sent along shortest
    augmenting paths over pairs that may carry weight. If a path is missing, the largest flow falls short, so that no
    kernel on these pairs is a transport.
    """
    scale = math.lcm(*(p.denominator for p in (*case.p_first, *case.p_second))) * _GRID
    supply, demand = [int(p * scale) for p in case.p_first], [int(p * scale) for p in case.p_second]
    flow = [[int(entry * have) for entry in row] for row, have in zip(kernel, supply, strict=True)]
    for column, most in enumerate(demand):
        over = sum(line[column] for line in flow) - most
        for line in flow:
            cut = max(0, min(over, line[column]))
            line[column] -= cut
            over -= cut
    need = [most - sum(line[column] for line in flow) for column, most in enumerate(demand)]
    for at, have in enumerate(supply):
        while (left := have - sum(flow[at])) > 0:
            path = _path(at, flow, need, alive)
            if path is None:
                return None
            back = [flow[row][column] for (_, column), (row, _) in itertools.pairwise(path)]
            amount = min(left, need[path[-1][1]], *back)
            for number, (row, column) in enumerate(path):
                flow[row][column] += amount
                if number:
                    flow[row][path[number - 1][1]] -= amount
            need[path[-1][1]] -= amount
    return tuple(
        tuple(Fraction(entry, have) for entry in row) for row, have in zip(flow, supply, strict=True)
    )  # fmt: skip


def _path(start: int, flow: list[list[int]], need: list[int], alive: np.ndarray) -> list[tuple[int, int]] | None:
    """A shortest path of (row, column) steps from a row to a column in need; between steps, mass is taken back."""
    reached: dict[int, list[tuple[int, int]]] = {start: []}
    front = [start]
    seen: set[int] = set()
    while front:
        following = []
        for row in front:
            for column in np.flatnonzero(alive[row]).tolist():
                if column in seen:
                    continue
                seen.add(column)
                steps = [*reached[row], (row, column)]
                if need[column] > 0:
                    return steps
                for other, line in enumerate(flow):
                    if line[column] > 0 and other not in reached:
                        reached[other] = steps
                        following.append(other)
        front = following
    return None


def constant(kernel: Kernel, case: Case) -> float:
    """The smaller of D_inf(p beta || p') and log E_{D ~ p} exp KL(beta(. | D) || p'), rounded up; 0 for a transport.

    Reference: theory/pufferfish.md 2.2.
    """
    moved = [Fraction(0)] * len(case.p_second)
    for p, row in zip(case.p_first, kernel, strict=True):
        moved = [mass + p * entry for mass, entry in zip(moved, row, strict=True)]
    largest = max(mass / p for mass, p in zip(moved, case.p_second, strict=True))
    if largest == 1:
        return 0.0  # both are laws: no ratio above 1 leaves them equal
    straight = log_ratio(largest.numerator, largest.denominator)
    straight = up(straight + UNIT * (2.0 + 8.0 * straight))
    return min(straight, _averaged(kernel, case))


def _averaged(kernel: Kernel, case: Case) -> float:
    """log E exp KL, rounded up: the error of each KL is bounded, the largest is taken out of the sum."""
    exponents = []
    for p, row in zip(case.p_first, kernel, strict=True):
        parts = [
            (float(w), log_ratio((w / q).numerator, (w / q).denominator))
            for w, q in zip(row, case.p_second, strict=True)
            if w
        ]
        value = math.fsum(w * loss for w, loss in parts) + log_ratio(p.numerator, p.denominator)
        size = math.fsum(w * abs(loss) for w, loss in parts) + abs(log_ratio(p.numerator, p.denominator))
        exponents.append(up(value + UNIT * (16.0 * size + 8.0)))
    largest = max(exponents)
    # rounding a difference d of exponents moves its term by at most 2^-53 |d| e^-|d|, so each term by two units
    total = math.fsum(math.exp(one - largest) for one in exponents) * (1.0 + (2 * len(exponents) + 16) * UNIT)
    return up(largest + math.log(total) + UNIT * (8.0 + 4.0 * math.log(total) + abs(largest)))


@attrs.frozen(eq=False)
class Program:
    """The constraints of one case, all channels side by side; `asked` is the epsilon of the channel of each output."""

    case: Case
    logs: FloatArray  # datasets x outputs
    names: np.ndarray  # datasets x outputs: equal for one output where the probabilities are equal, exactly
    asked: FloatArray
    owner: np.ndarray  # the channel of each output

    @classmethod
    def of(cls, given: Setting, case: Case, epsilons: Sequence[float]) -> Program:
        """Stack the channels."""
        sizes = [channel.outputs for channel in given.channels]
        if len(case.first) * len(case.second) * sum(sizes) > MOST_COEFFICIENTS:
            allowed = f"at most {MOST_COEFFICIENTS} coefficients (datasets x datasets x outputs)"
            raise InvalidParameter("channels", (len(case.first), len(case.second), sum(sizes)), allowed)
        logs = np.concatenate([channel.logs for channel in given.channels], axis=1)
        owner = np.repeat(np.arange(len(sizes)), sizes)
        names = np.concatenate([channel.names for channel in given.channels], axis=1)
        return cls(case, logs, names, np.asarray(epsilons, dtype=float)[owner], owner)

    @property
    def top(self) -> FloatArray:
        """log V[D, i] for the first side."""
        return self.logs[list(self.case.first)]

    @property
    def bottom(self) -> FloatArray:
        """log V[l, i] for the second side."""
        return self.logs[list(self.case.second)]

    @property
    def alive(self) -> np.ndarray:
        """Which l can do everything that D can: only they may carry weight."""
        possible, other = np.isfinite(self.top), np.isfinite(self.bottom)
        return np.array([other[:, row].all(axis=1) for row in possible])

    def rates(self, kernel: Kernel) -> FloatArray:
        """For each channel the largest log V[i, D] - sum beta log V[i, l], rounded up.

        Each logarithm is wrong by 2^-53 (2 + 8 |log|), and a sum of n products by n units more.
        """
        weights = np.array([[float(entry) for entry in row] for row in kernel])
        known = np.isfinite(self.bottom)
        bottom = np.where(known, self.bottom, 0.0)
        possible = np.isfinite(self.top)
        top = np.where(possible, self.top, 0.0)
        value = top - weights @ bottom
        error = UNIT * ((weights.shape[1] + 24) * (np.abs(top) + weights @ np.abs(bottom)) + 8.0)
        # a weight that underflows to 0.0 is still a weight
        given = np.array([[bool(entry) for entry in row] for row in kernel])
        upper = np.where(possible, np.where(self._unchanged(given), 0.0, up(value + error)), -np.inf)
        upper[(given @ ~known) & possible] = np.inf
        worst = upper.max(axis=0)
        return np.asarray(np.array([worst[self.owner == j].max() for j in range(int(self.owner[-1]) + 1)]))

    def _unchanged(self, given: np.ndarray) -> np.ndarray:
        """For each D and output: whether every l that carries weight has exactly the probability of D."""
        first, second = self.names[list(self.case.first)], self.names[list(self.case.second)]
        rows = [(second[line] == row).all(axis=0) for row, line in zip(first, given, strict=True)]
        return np.array(rows)

    def excess(self, kernel: Kernel) -> float:
        """The most by which a rate exceeds its channel's asked epsilon, rounded up."""
        starts = np.unique(self.owner, return_index=True)[1]
        return float(up(self.rates(kernel) - self.asked[starts]).max())

    def lower(self, at: int, mix: FloatArray) -> float:
        """No kernel has a smaller excess at this dataset: min_l sum_i mix_i (log V[D, i]/V[l, i] - asked_i), down.

        Valid for every mix of outputs that D can produce, because a maximum over outputs is at least an average. An l
        that misses an output of D may carry no weight, so it does not count.
        """
        alive = self.alive[at]
        rows = np.isfinite(self.top[at]) & (mix > 0)
        share = mix[rows] / mix[rows].sum()
        top, bottom = self.top[at][rows], self.bottom[alive][:, rows]
        value = (top - bottom - self.asked[rows]) @ share
        size = (np.abs(top) + np.abs(bottom) + np.abs(self.asked[rows])) @ share
        return float(down(value - UNIT * ((2 * share.size + 32) * size + 8.0)).min())

    # ---- what a solver suggests

    def least_rate(self) -> tuple[Kernel, FloatArray]:
        """A kernel of least excess at each dataset, and a mix of outputs for each that shows it (the duals)."""
        count = len(self.case.first)
        owner = np.repeat(np.arange(count), np.isfinite(self.top).sum(axis=1))
        common = -(owner[:, None] == np.arange(count)[None, :]).astype(float)
        answer = self._solve(common, np.ones(count))
        mixes = np.where(np.isfinite(self.top), np.exp(self.top), 0.0)
        marginals = getattr(answer.get("ineqlin"), "marginals", None)
        if marginals is not None and np.size(marginals) == owner.size and np.all(np.isfinite(marginals)):
            for at in range(count):
                found = np.maximum(0.0, -np.asarray(marginals)[owner == at])
                if found.sum() > 0.5:
                    mixes[at][np.isfinite(self.top[at])] = found
        return self._best(self._kernels(answer)), mixes

    def least_constant(self, target: float) -> Kernel:
        """A kernel with excess about `target` at most, as near to a transport as it can be."""
        answer = self._solve(None, np.ones(1), target, moves="at most")
        return min(self._kernels(answer), key=lambda kernel: constant(kernel, self.case))

    def least_linear(self) -> Kernel | None:
        """A kernel that transports p onto p' exactly, with a small excess; None when no transport has a finite rate."""
        common = -np.ones((int(np.isfinite(self.top).sum()), 1))
        answer = self._solve(common, np.ones(1), moves="exactly")
        found = [transported(kernel, self.case, self.alive) for kernel in self._kernels(answer)]
        kept = [kernel for kernel in found if kernel is not None]
        return self._best(kept) if kept else None

    def _best(self, kernels: list[Kernel]) -> Kernel:
        return min(kernels, key=self.excess)

    def _solve(self, common: FloatArray | None, costs: FloatArray, target: float = 0.0, moves: str = "") -> Any:
        """Least costs @ extra for beta, extra: blocks beta + common extra <= asked + target, rows of beta sum to 1.

        The block of D is log V[D, i]/V[l, i]: one row an output of D, one column an l that may carry weight.
        `moves`: p beta <= extra p' ("at most", one more variable) or p beta = p' ("exactly").
        """
        from scipy.optimize import linprog
        from scipy.sparse import block_array, block_diag, coo_array, csr_array

        alive, top, bottom = self.alive, self.top, self.bottom
        outputs, places = np.isfinite(top), np.argwhere(alive)
        blocks = [top[at][row][:, None] - bottom[alive[at]][:, row].T for at, row in enumerate(outputs)]
        limits = np.concatenate([self.asked[row] for row in outputs]) + target
        size, extra = len(places), costs.size
        index = np.arange(size)
        rates: Any = block_diag(blocks, format="csr")
        link = csr_array((rates.shape[0], extra)) if common is None else csr_array(common)
        sums = coo_array((np.ones(size), (places[:, 0], index)), shape=(len(blocks), size))
        upper: Any = [[rates, link]]
        equal: Any = [[sums, csr_array((len(blocks), extra))]]
        right = np.ones(len(blocks))
        if moves:
            p_first = np.array([float(p) for p in self.case.p_first])
            p_second = np.array([float(p) for p in self.case.p_second])
            moved = coo_array((p_first[places[:, 0]], (places[:, 1], index)), shape=(p_second.size, size))
            if moves == "at most":
                upper.append([moved, csr_array(-p_second[:, None])])
                limits = np.concatenate([limits, np.zeros(p_second.size)])
            else:
                equal.append([moved, csr_array((p_second.size, extra))])
                right = np.concatenate([right, p_second])
        left: Any = block_array(upper, format="csr")
        same: Any = block_array(equal, format="csr")
        options: Any = _TIGHT
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return linprog(
                np.concatenate([np.zeros(size), costs]),
                A_ub=left,
                b_ub=limits,
                A_eq=same,
                b_eq=right,
                bounds=[(0.0, None)] * size + [(None, None)] * extra,
                method="highs",
                options=options,
            )

    def _kernels(self, answer: Any) -> list[Kernel]:
        """The suggestion, the same with simple fractions, and a uniform kernel in case there is none."""
        alive, places = self.alive, np.argwhere(self.alive)
        suggestion = alive / alive.sum(axis=1, keepdims=True)
        found = []
        if answer.x is not None and np.all(np.isfinite(answer.x[: len(places)])):
            solved = np.zeros(alive.shape)
            solved[tuple(places.T)] = np.maximum(0.0, answer.x[: len(places)])
            if np.all(solved.sum(axis=1) > 0.5):
                suggestion = solved
                found.append(tidy(suggestion, simple=True))
        return [*found, tidy(suggestion)]
