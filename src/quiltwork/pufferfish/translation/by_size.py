"""Bounds by size: a group of b entries, and what the rest tells.

    (i)    delta(eps + a(b)) <= delta_b(eps), with delta_b the profile of the loss for a group of b entries;
    (ii)   delta(eps) <= sum over what the rest tells of its weight times delta_b(eps - l): the prior's own losses l,
           composed with those of the mechanism;
    (iii)  the same with Rényi bounds, for losses that are stated only so: groups and sums of them are again losses.

Reference: theory/pufferfish.md 3.2 and 3.6.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from scipy.optimize import brentq

from quiltwork.checks import FloatArray
from quiltwork.compose.loss import Loss
from quiltwork.compose.releases import one_sided
from quiltwork.errors import Unsupported
from quiltwork.numbers.rounding import up
from quiltwork.pufferfish.prior import Atoms, Prior
from quiltwork.pufferfish.secrets import Secrets
from quiltwork.pufferfish.translation.influence import InfluenceCurve

__all__ = ["BySize"]

GRID = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 20, 24, 32, 40, 48, 64, 96, 128, 192, 256)
MOST_CASES = 64  # for which the prior's own law is composed, and delta is asked one by one
MOST_REFINED = 12
ATOM_LIMIT = 10_000
LOST = 1e-250  # mass that may be lost to underflow


class BySize:
    """One loss under one prior."""

    def __init__(self, loss: Loss, prior: Prior | None, curve: InfluenceCurve, secrets: Secrets | None) -> None:
        self.loss, self.prior, self.secrets = loss, prior, secrets  # no prior: its cases are not those of the curve
        self.sizes, self.cases = curve.sizes, curve.cases
        self._groups: dict[int, Loss | None] = {1: loss}
        self._atoms: dict[tuple[int, int], Atoms | None] = {}

    def epsilons(self, delta: float, known: FloatArray, rtol: float) -> FloatArray:
        """The best of these bounds and of what is known, for each case."""
        best, chosen = known.copy(), np.zeros(known.size, dtype=np.int64)
        for size, told, group in self._useful():
            alone = float(group.epsilon(delta, rtol=rtol).upper)
            if alone >= best.max():
                break  # larger groups cost more
            found = up(alone + told)
            chosen = np.where(found < best, size, chosen)
            best = np.minimum(best, found)
        for _ in range(MOST_REFINED if len(self.cases) <= MOST_CASES and delta > 0.0 else 0):
            worst = int(np.argmax(best))
            if not chosen[worst]:
                break  # decided by another theorem, or looked at already
            others = float(np.delete(best, worst).max(initial=0.0))
            best[worst] = self._refined(worst, int(chosen[worst]), delta, float(best[worst]), others, rtol)
            chosen[worst] = 0
        return best

    def delta(self, epsilon: float, known: float, rtol: float) -> float:
        """The best of these bounds and of what is known, for the worst case."""
        rows = self.cases if len(self.cases) <= MOST_CASES else self.cases.max(axis=0)[None, :]
        best = np.full(len(rows), known)
        for size, _, group in self._useful():
            told = rows[:, self._at(size)]
            if float(group.delta(epsilon, rtol=rtol).upper) >= best.max():
                break
            finite = np.isfinite(told)
            if not finite.any():
                continue
            best[finite] = np.minimum(best[finite], np.asarray(group.delta(epsilon - told[finite], rtol=rtol).upper))
            if len(rows) == len(self.cases) <= MOST_REFINED:
                for case in range(len(rows)):
                    atoms = self._law(case, size)
                    best[case] = (
                        best[case] if atoms is None else min(best[case], self._spent(atoms, group, epsilon, rtol))
                    )
        return float(best.max())

    def _useful(self) -> Iterator[tuple[int, FloatArray, Loss]]:
        """Sizes with something known about some case, and a rule for groups."""
        for size in dict.fromkeys((*GRID, int(self.sizes[-1]))):
            if self.sizes[0] <= size <= self.sizes[-1]:
                told = self.cases[:, self._at(size)]
                if np.isfinite(told).any():
                    group = self._group(size)
                    if group is None:
                        return
                    yield size, told, group

    def _at(self, size: int) -> int:
        return int(np.searchsorted(self.sizes, size, side="right")) - 1

    def _group(self, size: int) -> Loss | None:
        if size not in self._groups and one_sided(self.loss.parts):
            self._groups[size] = None  # entries of a group may change in either direction
        if size not in self._groups:
            try:
                self._groups[size] = self.loss.group(size)
            except Unsupported:
                self._groups[size] = None
        return self._groups[size]

    # ---- (ii)

    def _law(self, case: int, size: int) -> Atoms | None:
        if (case, size) not in self._atoms:
            found = None if self.prior is None else self.prior.atoms(case, size, self.secrets)
            self._atoms[case, size] = found if found is not None and found.weights.size <= ATOM_LIMIT else None
        return self._atoms[case, size]

    def _refined(self, case: int, size: int, delta: float, above: float, floor: float, rtol: float) -> float:
        """The smallest epsilon from `floor` to `above` whose sum is at most delta, from the safe side."""
        best = above
        for near in (size, size + 1, size + 2):
            atoms = self._law(case, near) if near <= self.sizes[-1] else None
            group = self._group(near)
            if atoms is None or group is None:
                continue

            def excess(epsilon: float, atoms: Atoms = atoms, group: Loss = group) -> float:
                return math.log(self._spent(atoms, group, epsilon, rtol)) - math.log(delta)

            if excess(best) > 0.0:
                continue
            if excess(floor) <= 0.0:
                return floor
            found, step = float(brentq(excess, floor, best, xtol=1e-9, rtol=1e-9)), 1e-9
            while excess(found) > 0.0:
                found, step = min(found + step, best), 2.0 * step
            best = found
        return best

    def _spent(self, atoms: Atoms, group: Loss, epsilon: float, rtol: float) -> float:
        """The weighted sum of deltas; a loss without bound counts in full."""
        told = np.isinf(atoms.losses)
        # what rounding took from the weights may tell everything
        total = float(atoms.weights[told].sum()) + max(1.0 - float(atoms.weights.sum()), 0.0) + LOST
        if not told.all():
            deltas = np.asarray(group.delta(epsilon - atoms.losses[~told], rtol=rtol).upper)
            total += float(atoms.weights[~told] @ deltas)
        return min(up(total * (1.0 + 1e-12)), 1.0)
