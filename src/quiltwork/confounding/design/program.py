"""The design of the next release as a finite problem, and its relaxed linear program, grown cell by cell in HiGHS.

Data: M[r, x, y] = P(x, y | r), where a row r is a secret under one prior and y is all that was released before;
ordered pairs of rows; the target (odds = e^epsilon, delta); weights w[t, x, z].  Wanted: a row-stochastic g[x, z] with

    min max_t sum w[t, x, z] g[x, z]   subject to, for each pair (i, j),
    sum_yz ( sum_x (M[i, x, y] - odds M[j, x, y]) g[x, z] )_+ <= delta.

The program of a partition.  A cell c of (pair p, output z) is a set of old outputs y; a_c[x] is the sum of
M[i, x, y] - odds M[j, x, y] over it, and its one hinge asks u_c >= a_c . g[:, z], u_c >= 0, with sum of u_c over the
cells of p at most delta.

Splitting keeps what the simplex method knows.  With the slack s_c >= 0 written out, a cell's row is
a_c . g - u_c + s_c = 0.  Cutting the cell b out of c leaves c's row as it is, except that it now is the *sum* of the
rows of both parts, and adds the row and the columns of b:

    (c)   a_c . g - u_c + s_c - u_b + s_b = 0          (b)   a_b . g - u_b + s_b = 0.

Subtracting (b) from (c) gives the row of c without b, so this is the split program.  The old basis with the logical
of (b) basic is dual feasible: the price of (b) is 0, so the cell b is priced like c, at some nu in [0, mu], and the
reduced costs of u_b and s_b are mu - nu >= 0 and nu >= 0.  The dual simplex method goes on from there.  A cell's
price is the sum of the prices of its own row and of the rows it was cut out of.

Units: costs are shifted by their least value for each x and divided by their largest; u_c counts in units of delta
and s_c in units of |a|_c, the largest sum of M[i, x, y] + odds M[j, x, y] over the cell (or of delta, if larger); a
row is divided by the geometric mean of both.  So neither the tolerance on violations hides a delta of 1e-9, nor the
one on reduced costs its price.  With delta = 0, or too small to be told from it, there is no u, and |a|_c is the
only unit.

Reference: theory/confounding.md section 4; the solver is described by Huangfu and Hall, Parallelizing the dual
revised simplex method, Mathematical Programming Computation 10 (2018).
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
from numpy.typing import NDArray

from quiltwork.checks import FloatArray
from quiltwork.errors import imported

if TYPE_CHECKING:
    from highspy import Highs

Places = NDArray[np.int32]
Values = NDArray[np.float64]

TOLERANCE = 1e-10  # of rows, bounds and reduced costs, in the units of the module docstring
DUST = 1e-12  # entries of the channel below it are rounding of the solver, and stand for zero
HARD = 2e-11  # a smaller delta is taken for zero in the program; the evaluation outside knows the true one
MIN_DIVISOR = 1e-7  # no row is divided by less than this part of |a|_c, whatever delta and the odds: HiGHS refuses 1e15
MIN_MATRIX_ENTRY = 1e-12  # matrix entries below it are dropped; HiGHS allows no less


@attrs.frozen(eq=False)
class Problem:
    """One design problem in floats; the answers are certified elsewhere, with the rounding of the inputs."""

    joint: FloatArray  # (R, X, Y)
    pairs: np.ndarray  # (P, 2), ordered
    odds: float
    delta: float
    weights: FloatArray  # (T, X, Z)

    @property
    def inputs(self) -> int:
        """How many values the new mechanism may read."""
        return int(self.joint.shape[1])

    @property
    def outputs(self) -> int:
        """How many values it may return."""
        return int(self.weights.shape[2])

    def signed(self, pair: int) -> FloatArray:
        """(Y, X): M[i] - odds M[j], whose product with g is what the hinges see."""
        first, second = self.pairs[pair]
        return np.ascontiguousarray((self.joint[first] - self.odds * self.joint[second]).T)

    def deltas(self, channel: FloatArray) -> FloatArray:
        """The delta of the whole composition for each pair; plain floats, no certificate."""
        return np.array([np.maximum(self.signed(p) @ channel, 0.0).sum() for p in range(len(self.pairs))])

    def cost(self, channel: FloatArray) -> float:
        """The worst expected cost over the priors; plain floats."""
        return float(np.tensordot(self.weights, channel, axes=2).max())

    def constant(self) -> FloatArray:
        """The cheapest channel that tells nothing: one law of outputs for every input."""
        best = np.argmin(self.weights.sum(axis=1).max(axis=0))
        return np.tile(np.eye(self.outputs)[best], (self.inputs, 1))


@attrs.frozen(eq=False)
class Answer:
    """What the solver suggests: nothing here is trusted, everything is evaluated again outside."""

    channel: FloatArray  # (X, Z), rows of sum 1
    cells: FloatArray  # nu_c, one for each cell, >= 0
    priors: FloatArray  # lambda_t, >= 0 and of sum 1
    optimal: bool  # False: stopped by the clock


class Program:
    """The relaxed program; `cut` adds cells, `solve` goes on from the last basis."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self._delta = problem.delta if problem.delta >= HARD else 0.0
        inputs, outputs = problem.inputs, problem.outputs
        weights = problem.weights - problem.weights.min(axis=2, keepdims=True)
        self._unit = float(weights.max()) or 1.0
        offsets = problem.weights.min(axis=2).sum(axis=1)
        several = len(weights) > 1
        self._solver = highs()
        self._columns = self._rows = 0
        # parents, rows and scales of each call of `cut`; for each cell its row and those it was cut out of, with scales
        self._batches: list[tuple[np.ndarray, np.ndarray, FloatArray]] = []
        self._path: list[list[tuple[int, float]]] = []

        channel = np.arange(inputs * outputs).reshape(inputs, outputs)
        self._add_columns(np.zeros(channel.size) if several else weights.ravel() / self._unit)
        one = np.ones(outputs)
        self._add_rows([(row, one) for row in channel], np.ones(inputs), np.ones(inputs))
        self._budget = self._rows
        if self._delta > 0:
            empty = (np.zeros(0, int), np.zeros(0))
            pairs = len(problem.pairs)
            self._add_rows([empty] * pairs, np.full(pairs, -np.inf), np.ones(pairs))
        self._prior = self._rows
        if several:
            # the epigraph of the largest of several linear costs; its column may be negative
            top = self._columns
            self._add_columns(np.ones(1), lower=-np.inf)
            every = np.append(channel.ravel(), top)
            entries = [(every, np.append(w.ravel() / self._unit, -1.0)) for w in weights]
            self._add_rows(entries, np.full(len(weights), -np.inf), (offsets.max() - offsets) / self._unit)

    @property
    def size(self) -> int:
        """How many cells there are."""
        return len(self._path)

    def cut(
        self, pairs: np.ndarray, outputs: np.ndarray, sums: FloatArray, sizes: FloatArray, parents: np.ndarray
    ) -> np.ndarray:
        """Add cells with sums a_c (n, X) and sizes |a|_c, each cut out of its parent (-1: of none); their numbers."""
        problem, delta = self.problem, self._delta
        units = np.maximum(sizes, delta if delta > 0 else MIN_MATRIX_ENTRY)
        scales = np.maximum(np.sqrt(delta / units), MIN_DIVISOR) * units if delta > 0 else units
        first_row, column = self._rows, self._columns
        numbers = np.arange(self.size, self.size + len(sums))
        columns: list[tuple[list[int], list[float]]] = []
        rows: list[tuple[np.ndarray, FloatArray]] = []
        for k, (pair, output, a, parent) in enumerate(zip(pairs, outputs, sums, parents, strict=True)):
            above = self._path[parent] if parent >= 0 else []
            own: list[tuple[int, float]] = []
            places = [row for row, _ in above]
            if delta > 0:
                own.append((column + len(columns), -delta / scales[k]))
                columns.append(([self._budget + int(pair), *places], [1.0, *(-delta / scale for _, scale in above)]))
            if parent >= 0:
                own.append((column + len(columns), units[k] / scales[k]))
                columns.append((places, [units[k] / scale for _, scale in above]))
            support = np.flatnonzero(a)
            where = np.concatenate([support * problem.outputs + output, [c for c, _ in own]]).astype(np.int32)
            rows.append((where, np.concatenate([a[support] / scales[k], [v for _, v in own]])))
            self._path.append([*above, (first_row + k, float(scales[k]))])
        self._add_columns(np.zeros(len(columns)), columns)
        self._add_rows(rows, np.where(parents >= 0, 0.0, -np.inf), np.zeros(len(rows)))
        self._batches.append((parents, np.arange(first_row, self._rows), scales))
        return numbers

    def solve(self, seconds: float | None = None) -> Answer | None:
        """The optimum of the relaxed program, or where the clock stopped it; None when the solver fails.

        A warm run that ends without an optimum is repeated from scratch, then by the interior point method.
        """
        started = time.perf_counter()
        status = self._run(seconds)
        for method in ("simplex", "ipm"):
            if status in ("kOptimal", "kTimeLimit"):
                break
            self._solver.clearSolver()
            self._solver.setOptionValue("solver", method)
            status = self._run(None if seconds is None else seconds - (time.perf_counter() - started))
            self._solver.setOptionValue("solver", "simplex")
        if status not in ("kOptimal", "kTimeLimit"):
            return None
        solution = self._solver.getSolution()
        columns, prices = np.array(solution.col_value, dtype=float), -np.array(solution.row_dual, dtype=float)
        if columns.size != self._columns or prices.size != self._rows:
            return None
        if not (np.isfinite(columns).all() and np.isfinite(prices).all()):
            return None
        return self._read(columns, prices, status == "kOptimal")

    def _read(self, columns: FloatArray, prices: FloatArray, optimal: bool) -> Answer | None:
        problem = self.problem
        channel = columns[: problem.inputs * problem.outputs].reshape(problem.inputs, problem.outputs)
        channel = np.where(channel > (0.0 if self._delta > 0 else DUST), channel, 0.0)
        total = channel.sum(axis=1, keepdims=True)
        if not (total > 0).all():
            return None
        priors = np.ones(1)
        if len(problem.weights) > 1:
            priors = np.maximum(prices[self._prior : self._prior + len(problem.weights)], 0.0)
            priors = priors / priors.sum() if priors.sum() > 0 else np.full(len(priors), 1.0 / len(priors))
        cells = np.zeros(self.size)
        done = 0
        for parents, rows, scales in self._batches:
            own = prices[rows] / scales
            cells[done : done + len(own)] = own + np.where(parents >= 0, cells[parents], 0.0)
            done += len(own)
        return Answer(channel / total, np.maximum(cells, 0.0) * self._unit, priors, optimal)

    def _run(self, seconds: float | None) -> str:
        solver = self._solver
        # the clock of HiGHS counts all runs of one program together
        limit = np.inf if seconds is None else solver.getRunTime() + max(seconds, 0.0)
        solver.setOptionValue("time_limit", float(limit))
        if solver.run().name == "kError":
            # another program of this process may have fixed the number of threads; this one runs on one in any case
            solver.setOptionValue("threads", 0)
            solver.run()
        return str(solver.getModelStatus().name)

    def _add_columns(
        self, costs: Values, entries: list[tuple[list[int], list[float]]] | None = None, lower: float = 0.0
    ) -> None:
        n = len(costs)
        if n == 0:
            return
        entries = entries if entries is not None else [([], [])] * n
        starts, places, values = _packed(entries)
        lows, highs = np.full(n, lower), np.full(n, np.inf)
        self._solver.addCols(n, costs, lows, highs, len(places), starts, places, values)
        self._columns += n

    def _add_rows(self, entries: list[tuple[np.ndarray, FloatArray]], lower: Values, upper: Values) -> None:
        if not entries:
            return
        starts, places, values = _packed(entries)
        self._solver.addRows(len(entries), lower, upper, len(places), starts, places, values)
        self._rows += len(entries)


def _packed(entries: list[Any]) -> tuple[Places, Places, Values]:
    lengths = [len(places) for places, _ in entries]
    starts = np.concatenate([[0], np.cumsum(lengths[:-1])])
    places = np.concatenate([places for places, _ in entries])
    values = np.concatenate([values for _, values in entries])
    return starts.astype(np.int32), places.astype(np.int32), values.astype(np.float64)


def highs() -> Highs:
    """A silent, deterministic, single-threaded solver: dual simplex, steepest edge, tight tolerances."""
    solver: Highs = imported("highspy", "highspy", "design").Highs()
    options: dict[str, bool | int | float | str] = {
        "output_flag": False,
        "threads": 1,
        "parallel": "off",
        "solver": "simplex",
        "simplex_strategy": 1,
        "primal_feasibility_tolerance": TOLERANCE,
        "dual_feasibility_tolerance": TOLERANCE,
        "small_matrix_value": MIN_MATRIX_ENTRY,
    }
    for name, value in options.items():
        solver.setOptionValue(name, value)
    return solver
