"""Small linear programs, one for each two rows of a sparse matrix, solved side by side.

For each pair: the least e^kappa with pi >= 0, sum over w of pi(y, w) = p(y) and sum over y of pi(y, w) A(y, w) <=
e^kappa q(w), where p and q are the two rows and A the weights.  The simplex method, for all pairs at once, starts where
it ended for the last weights.  What it ends with is a suggestion: kappa is computed again from a pi that is made to
have the right sums, and bounds from above whatever happened before.

Reference: `transport`, where the programs come from.
"""

from __future__ import annotations

import attrs
import numpy as np

from quiltwork.checks import FloatArray

PIVOTS, GAIN, PIVOT, LOST = 80, 1e-10, 1e-11, 1e-9


@attrs.define(eq=False)
class Kernels:
    """All programs of one matrix, and the basis of each.

    With m states in a row, variable y m + w is pi(y, w), variable m m is e^kappa, and m m + 1 + w is what is left at w.
    """

    first: np.ndarray
    second: np.ndarray
    sources: np.ndarray  # (pairs, m): states that can follow the first one
    targets: np.ndarray
    given: FloatArray  # (pairs, m): their probabilities
    taken: FloatArray
    basis: np.ndarray | None = None

    @classmethod
    def of(cls, matrix: FloatArray) -> Kernels:
        """Every ordered pair of rows; shorter rows are filled up with states of probability 0."""
        most = int((matrix > 0).sum(axis=1).max())
        states = np.argsort(matrix <= 0, axis=1, kind="stable")[:, :most]
        chances = np.take_along_axis(matrix, states, 1)
        u, v = np.nonzero(~np.eye(len(matrix), dtype=bool))
        return cls(u, v, states[u], states[v], chances[u], chances[v])

    def copy(self) -> Kernels:
        """The same start for another search."""
        return attrs.evolve(self, basis=None if self.basis is None else self.basis.copy())

    def least(self, slope: FloatArray) -> FloatArray:
        """kappa of every ordered pair for the weights e^slope, before rounding."""
        weights = np.exp(slope[self.sources[:, :, None], self.targets[:, None, :]])
        basis, inverse, values = self._started(weights)
        self._improve(weights, basis, inverse, values)
        self.basis, found = basis, np.zeros(slope.shape)
        found[self.first, self.second] = self._shown(weights, basis, values)
        return found

    def _improve(self, weights: FloatArray, basis: np.ndarray, inverse: FloatArray, values: FloatArray) -> None:
        """Pivots by the largest gain, of all programs in which there is one."""
        count = weights.shape[1]
        active = np.arange(len(weights))
        for _ in range(PIVOTS):
            pairs = np.arange(len(active))
            price = inverse[active, (basis[active] == count * count).argmax(axis=1)]
            moved = price[:, :count, None] + price[:, None, count:] * weights[active]
            gain = np.concatenate(
                (moved.reshape(len(active), -1), np.zeros((len(active), 1)), price[:, count:]), axis=1
            )
            enter = gain.argmax(axis=1)
            better = gain[pairs, enter] > GAIN
            active, enter, pairs = active[better], enter[better], np.arange(int(better.sum()))
            if not active.size:
                return
            inner, kernel = inverse[active], enter < count * count
            y, w = np.where(kernel, enter // count, 0), np.where(kernel, enter % count, enter - count * count - 1)
            column, weight = inner[pairs, :, count + w], weights[active, y, w][:, None]
            column = np.where(kernel[:, None], inner[pairs, :, y] + column * weight, column)
            now = values[active]
            room = np.where(column > PIVOT, np.maximum(now, 0.0) / np.maximum(column, PIVOT), np.inf)
            leave = room.argmin(axis=1)
            pivot = column[pairs, leave]
            row, value = inner[pairs, leave] / pivot[:, None], now[pairs, leave] / pivot
            inner -= column[:, :, None] * row[:, None, :]
            now -= column * value[:, None]
            inner[pairs, leave], now[pairs, leave] = row, value
            inverse[active], values[active], basis[active, leave] = inner, now, enter

    def _shown(self, weights: FloatArray, basis: np.ndarray, values: FloatArray) -> FloatArray:
        """kappa of kernels whose rows have the right sums and that send nothing where nothing is taken."""
        count = weights.shape[1]
        found = np.zeros((len(weights), count * count + 1 + count))
        np.put_along_axis(found, basis, np.maximum(values, 0.0), 1)
        kernel = found[:, : count * count].reshape(weights.shape) * (self.taken > 0)[:, None, :]
        with np.errstate(divide="ignore", invalid="ignore"):
            kernel *= np.where(self.given > 0, self.given / kernel.sum(axis=2), 0.0)[:, :, None]
            most = np.where(self.taken > 0, (kernel * weights).sum(axis=1) / self.taken, 0.0).max(axis=1)
            return np.where(np.isfinite(most), np.log(most), np.inf)

    def _started(self, weights: FloatArray) -> tuple[np.ndarray, FloatArray, FloatArray]:
        """Bases with nothing negative, their inverses and values."""
        every = np.arange(len(weights))
        if self.basis is not None:
            try:
                inverse, values = self._solved(self.basis, weights, every)
            except np.linalg.LinAlgError:  # the weights have changed too much
                self.basis = None
            else:
                lost = np.flatnonzero(~np.all(values > -LOST, axis=1))
                basis = self.basis.copy()
                basis[lost] = self._simple(weights, lost)
                inverse[lost], values[lost] = self._solved(basis[lost], weights, lost)
                return basis, inverse, values
        basis = self._simple(weights, every)
        return basis, *self._solved(basis, weights, every)

    def _simple(self, weights: FloatArray, which: np.ndarray) -> np.ndarray:
        """Everything from one state goes to one place, in these pairs."""
        pairs, count, taken = np.arange(which.size), weights.shape[1], self.taken[which]
        place = np.where((taken > 0)[:, None, :], weights[which], np.inf).argmin(axis=2)
        load = np.zeros((which.size, count))
        for y in range(count):
            load[pairs, place[:, y]] += weights[which, y, place[:, y]] * self.given[which, y]
        fullest = np.where(taken > 0, load / np.where(taken > 0, taken, 1.0), -1.0).argmax(axis=1)
        left = np.broadcast_to(count * count + 1 + np.arange(count), (which.size, count)).copy()
        left[pairs, fullest] = count * count
        return np.concatenate((np.arange(count) * count + place, left), axis=1)

    def _solved(self, basis: np.ndarray, weights: FloatArray, which: np.ndarray) -> tuple[FloatArray, FloatArray]:
        """Inverses of the bases of these pairs, and what their variables then are."""
        count = weights.shape[1]
        kernel, left = basis < count * count, basis > count * count
        y = np.where(kernel, basis // count, 0)
        w = np.where(kernel, basis % count, np.where(left, basis - count * count - 1, 0))
        pairs, place = np.arange(which.size)[:, None], np.broadcast_to(np.arange(2 * count), basis.shape)
        matrix = np.zeros((which.size, 2 * count, 2 * count))
        matrix[pairs, y, place] = kernel
        matrix[pairs, count + w, place] = np.where(kernel, weights[which[:, None], y, w], left)
        matrix[:, count:] -= (basis == count * count)[:, None, :] * self.taken[which][:, :, None]
        inverse = np.linalg.inv(matrix)
        return inverse, (inverse[:, :, :count] @ self.given[which][:, :, None])[:, :, 0]
