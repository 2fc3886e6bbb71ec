"""Lipschitz propagation along a chain when a plan says what windows of entries cost together.

Fix c >= 0. e(W) is the least e with delta_W(e) <= c (e^e - 1): then V(x) = P(E | x) + c changes by at most a factor
e^e(W) when the entries of W change. Walking outward from the far end,

    r_t(a, b) = min over d >= 1 of  e([t, t+d-1]) + Psi_(K^d)(r_(t+d))[a, b],          r_t <= e([t, end]),

is how far log E[V | x_t = a] and log E[V | x_t = b] can lie apart, Psi what a law lets through (pufferfish.md 3.5), and

    kappa(u, v) = min over dL, dR of  e([i-dL+1, i+dR-1]) + Psi_left(r_(i-dL))[u, v] + Psi_right(r_(i+dR))[u, v].

Then delta_(u,v)(kappa) <= c (e^kappa - 1); with c = 0 and e(W) the largest loss it is a pure guarantee.
Two queries that three entries touch cost two queries.

Reference: theory/joining.md section 2, Theorem 4.
"""

from __future__ import annotations

from collections.abc import Callable

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.joined.sides import Kernel, Sides
from quiltwork.numbers.rounding import up
from quiltwork.pufferfish.translation.propagation import Spread

DEEPEST = 8  # entries that one step skips
Cost = Callable[[int, int], float]


@attrs.frozen(eq=False, slots=False)
class Propagation:
    """The tables of one chain, ready for any costs."""

    sides: Sides
    _spreads: dict[tuple[int, ...], list[Spread]] = attrs.field(init=False, factory=dict)

    def worst(self, cost: Cost) -> FloatArray:
        """kappa of every entry and ordered pair of states; infinite where nothing follows."""
        length, apart = self.sides.length, 1.0 - np.eye(self.sides.states)
        right = self._outward(cost, forward=True)
        left = self._outward(cost, forward=False)
        found = np.empty((length, *apart.shape))
        for i in range(length):
            befores = self._beyond(self.sides.left(i), left, i, -1)
            afters = self._beyond(self.sides.right(i), right, i, +1)
            own = np.array([[cost(i - back + 1, i + ahead - 1) for ahead, _ in afters] for back, _ in befores])
            before, after = (np.array([table for _, table in side]) for side in (befores, afters))
            sums = own[..., None, None] + (before[:, None] + after[None])
            found[i] = np.where(apart > 0, up(sums.min(axis=(0, 1)), 3), 0.0)
        return found

    def _beyond(
        self, steps: list[Kernel] | None, tables: list[FloatArray | None], entry: int, sign: int
    ) -> list[tuple[int, FloatArray]]:
        """(d, what the law of the entry d steps away lets through); past the end, nothing is left to tell."""
        count = entry if sign < 0 else self.sides.length - 1 - entry
        nothing: FloatArray = np.zeros((self.sides.states, self.sides.states))
        found: list[tuple[int, FloatArray]] = [(count + 1, nothing)]
        if steps is not None:
            for d, spread in enumerate(self._of(steps[:DEEPEST]), start=1):
                table = tables[entry + sign * d]
                if table is not None:
                    found.append((d, _through(spread, table)))
        return found

    def _outward(self, cost: Cost, *, forward: bool) -> list[FloatArray | None]:
        """r_t for every entry, from the far end on; None where nothing is known of that side."""
        length, states = self.sides.length, self.sides.states
        apart = 1.0 - np.eye(states)
        tables: list[FloatArray | None] = [None] * length
        order = range(length - 1, -1, -1) if forward else range(length)
        for t in order:
            steps = self.sides.right(t) if forward else self.sides.left(t)
            if steps is None:
                continue
            best = np.where(apart > 0, cost(t, length - 1) if forward else cost(0, t), 0.0)
            for d, spread in enumerate(self._of(steps[:DEEPEST]), start=1):
                beyond = tables[t + d if forward else t - d]
                if beyond is not None:
                    own = cost(t, t + d - 1) if forward else cost(t - d + 1, t)
                    best = np.minimum(best, own + _through(spread, beyond))
            tables[t] = np.where(apart > 0, up(best, 2), 0.0)
        return tables

    def _of(self, steps: list[Kernel]) -> list[Spread]:
        """The tables of the first 1, 2, ... steps together; equal kernels share them."""
        key = tuple(map(id, steps))
        if key not in self._spreads:
            found, product, possible, error = [], None, None, 0.0
            for step in steps:
                product = step.matrix if product is None else product @ step.matrix
                possible = step.possible if possible is None else (possible.astype(int) @ step.possible.astype(int)) > 0
                error += step.error + (len(step.matrix) + 2) * 2.0**-53
                found.append(Spread.of(product, possible, error))
            self._spreads[key] = found
        return self._spreads[key]


def _through(spread: Spread, slope: FloatArray) -> FloatArray:
    if not np.isfinite(slope).all():
        return np.asarray(spread.limit)
    return spread.directed(slope) if len(slope) == 2 else spread.anchored(slope)
