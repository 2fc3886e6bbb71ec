"""Covariances: positive definite matrices with a proven bound on their eigenvalues, and what a set of entries tells.

Reference: theory/pufferfish.md 4.4.
"""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import attrs
import numpy as np

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.errors import InvalidParameter
from quiltwork.numbers.rounding import UNIT, down, up

_MAX_ENTRIES = 1024  # entries of a covariance
_CONDITION = 1e10
_EXHAUSTIVE = 20_000  # sets that are all tried
_GREEDY = 2 * 10**8  # steps of the search for a good set, over all entries
_MAX_SINGLE_SYSTEMS = 64  # entries up to which every system is solved on its own
_UNDERFLOW = 1e-300  # more than all underflow of one sum of products
_CHUNK = 2_000_000  # numbers held at once


def grown(terms: int) -> float:
    """Relative error of a float sum of products with this many terms, in any order: t u / (1 - t u)."""
    return terms * UNIT / (1.0 - terms * UNIT)


@attrs.frozen(eq=False, repr=False)
class Covariance:
    """A positive definite matrix, scaled exactly by powers of two, and a proven bound on its eigenvalues.

    No eigenvalue of `scaled`, nor of any block S_LL of it, is below `floor`: with t and a factor C suggested by LAPACK,
    S = t I + C C' + E, and E is evaluated again with its rounding.
    """

    matrix: FloatArray = attrs.field()
    scaled: FloatArray = attrs.field(init=False)
    powers: np.ndarray = attrs.field(init=False)
    floor: float = attrs.field(init=False)
    inverse: FloatArray = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        matrix = _symmetric(self.matrix)
        powers = np.frexp(np.diag(matrix))[1] // 2
        scaled: FloatArray = np.ldexp(matrix, -(powers[:, None] + powers[None, :]))
        floor = _floor(scaled)
        inverse = np.linalg.inv(scaled)  # a suggestion: nothing rests on it
        checks.settle(self, matrix=matrix, scaled=scaled, powers=powers, floor=floor, inverse=inverse)

    @property
    def entries(self) -> int:
        return int(self.matrix.shape[0])

    def sets(self, entry: int, size: int) -> tuple[np.ndarray, bool]:
        """Sets of `size` entries around one, one a row with that entry first, and whether they are all there are.

        Otherwise: the most correlated, those in a row around it, and the best found by dropping the most telling entry
        again and again.  Fewer hidden entries never help, so no smaller set is tried.
        """
        rest = [j for j in range(self.entries) if j != entry]
        if math.comb(len(rest), size - 1) * self.entries <= _EXHAUSTIVE:
            return np.array([(entry, *others) for others in combinations(rest, size - 1)], dtype=np.int64), True
        correlation = np.abs(self.scaled[entry, rest]) / np.sqrt(np.diag(self.scaled)[rest])
        found = {tuple(sorted(rest[j] for j in np.argsort(-correlation, kind="stable")[: size - 1]))}
        for start in (entry - (size - 1) // 2, entry - size // 2, 0, self.entries - size):
            start = min(max(start, 0), self.entries - size)
            if start <= entry < start + size:
                found.add(tuple(j for j in range(start, start + size) if j != entry))
        if self.entries**3 * size <= _GREEDY:
            found.add(self._greedy(entry, size))
        return np.array([(entry, *others) for others in sorted(found)], dtype=np.int64), False

    def _greedy(self, entry: int, size: int) -> tuple[int, ...]:
        """Leave out, one by one, the entry without which x_entry is known least: the precision loses p_ij^2 / p_jj."""
        precision, left = self.inverse, np.ones(self.entries, dtype=bool)
        left[entry] = False
        for _ in range(size - 1):
            taken = int(np.argmax(np.where(left, precision[entry] ** 2 / np.diag(precision), -1.0)))
            left[taken] = False
            precision = precision - np.outer(precision[taken], precision[taken]) / precision[taken, taken]
            precision[taken, taken] = 1.0  # gone: its row and column are 0
        return tuple(int(j) for j in np.flatnonzero(~left) if j != entry)

    def told(self, hidden: np.ndarray) -> FloatArray:
        """mu_a for a gap of 1, from all entries outside each row of `hidden`, about its first entry: upper bounds.

        For any w, with c = S_Li and r = c - S_LL w:  c' S_LL^-1 c <= c'w + |w|'|r| + |r|^2 / floor.  A solver
        suggests w; the right side is evaluated with its rounding, and a w that is wrong only makes the bound larger.
        """
        chunk = max(1, _CHUNK // self.entries**2)
        parts = [self._told(hidden[at : at + chunk]) for at in range(0, hidden.shape[0], chunk)]
        return np.concatenate(parts)

    def _told(self, hidden: np.ndarray) -> FloatArray:
        told, error = np.ones((hidden.shape[0], self.entries)), grown(self.entries + 8)
        np.put_along_axis(told, hidden, 0.0, axis=1)
        entry, sigma = hidden[:, 0], self.scaled
        toward = sigma[entry] * told
        weights = self._solved(toward, hidden, told) * told
        weights += self._solved((toward - weights @ sigma) * told, hidden, told) * told
        size = np.abs(weights)
        rest = (np.abs(toward - weights @ sigma) + error * (size @ np.abs(sigma) + np.abs(toward)) + _UNDERFLOW) * told
        spread = (size * (rest + error * np.abs(toward)) + rest**2 / self.floor).sum(axis=1)
        known = up((toward * weights).sum(axis=1) + up(spread * (1.0 + 8.0 * error))) + _UNDERFLOW
        variance = sigma[entry, entry]
        left = down(variance - known)
        with np.errstate(divide="ignore", invalid="ignore"):
            squares = np.where(left > 0, known / (variance * left), np.inf)
        apart = ~((self.matrix[entry] != 0) & (told > 0)).any(axis=1)  # independent, exactly
        return np.asarray(np.where(apart, 0.0, np.ldexp(up(np.sqrt(squares), 4), -self.powers[entry])))

    def _solved(self, right: FloatArray, hidden: np.ndarray, told: FloatArray) -> FloatArray:
        """About S_LL^-1 times each row; for many entries by way of the inverse P of S: P_LL - P_LH P_HH^-1 P_HL."""
        if self.entries <= _MAX_SINGLE_SYSTEMS or self.floor < 1e-5:  # that difference would lose too many digits
            padded = self.scaled * told[:, :, None] * told[:, None, :] + np.eye(self.entries) * (1 - told)[:, :, None]
            return np.asarray(np.linalg.solve(padded, right[..., None])[..., 0])
        precision, full = self.inverse, right @ self.inverse
        block = precision[hidden[:, :, None], hidden[:, None, :]]
        answer = np.linalg.solve(block, np.take_along_axis(full, hidden, axis=1)[..., None])[..., 0]
        return np.asarray(full - np.einsum("mb,mbn->mn", answer, precision[hidden]))


def _symmetric(value: Any) -> FloatArray:
    allowed = f"a symmetric positive definite matrix of 1 to {_MAX_ENTRIES} rows, variances in [1e-100, 1e100]"
    matrix = checks.numbers("covariance", value, allowed, -1e100, 1e100)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.shape[0] > _MAX_ENTRIES:
        raise InvalidParameter("covariance", f"shape {matrix.shape}", allowed)
    spread = np.diag(matrix)
    if not bool(np.all(spread >= 1e-100)):
        raise InvalidParameter("covariance", f"least variance {spread.min()}", allowed)
    scale = np.sqrt(spread)
    off = np.abs(matrix - matrix.T) / scale[:, None] / scale[None, :]
    if off.max() > 1e-12:
        raise InvalidParameter("covariance", f"entries that differ by {off.max():.3g}", allowed, "not symmetric")
    return np.asarray(matrix.copy() if np.array_equal(matrix, matrix.T) else (matrix + matrix.T) / 2)


def _floor(scaled: FloatArray) -> float:
    count = scaled.shape[0]
    values = np.linalg.eigvalsh(scaled)
    if values[0] < -1e-12 * values[-1]:
        raise InvalidParameter("covariance", f"least eigenvalue {values[0]:.3g}", "positive definite")
    allowed = f"of condition number at most {_CONDITION:g} once its variances are about 1"
    hint = "entries that nearly determine each other cannot be certified"
    if values[-1] > _CONDITION * values[0]:
        raise InvalidParameter("covariance", f"eigenvalues from {values[0]:.3g} to {values[-1]:.3g}", allowed, hint)
    shift = float(values[0]) / 2
    shifted = scaled - shift * np.eye(count)
    try:
        factor = np.linalg.cholesky(shifted)
    except np.linalg.LinAlgError:  # pragma: no cover - the condition number has been checked
        raise InvalidParameter("covariance", "no Cholesky factor", allowed, hint) from None
    # |C||C'| has norm at most trace(C C'), and sums of products are off by grown(n) times it
    error = grown(count + 8) * float((factor**2).sum() + np.trace(scaled))
    error = (float(np.linalg.norm(shifted - factor @ factor.T)) + error) * (1.0 + 8.0 * grown(count * count + 8))
    floor = down(shift - error)
    if floor < shift / 2:
        raise InvalidParameter("covariance", f"eigenvalues from {values[0]:.3g} to {values[-1]:.3g}", allowed, hint)
    return floor
