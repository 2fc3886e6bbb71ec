"""The curve of a composed per-entry loss under a prior: translated once, the penalty paid once.

Four bounds hold for every case, and the least of them is taken before the worst case:

    (pure)  the sum of the per-entry epsilons, translated by the best theorem;
    (i)     delta(eps + a(b)) <= delta_b(eps), with delta_b the profile of the loss for a group of b entries;
    (ii)    delta(eps) <= sum over what the rest tells of its weight times delta_d(eps - l), the prior's own losses l
            composed with those of the mechanism; d <= b counts the entries in which two coupled worlds differ;
    (iii)   the same with Rényi bounds for losses that are stated only so: groups and sums of them are again losses.

Reference: theory/pufferfish.md 3.2 and 3.6; (ii) with coupled worlds in `coupling`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import brentq

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.compose.loss import Loss
from quiltwork.curves.bracket import Bracket
from quiltwork.curves.rounding import down, up
from quiltwork.errors import Unsupported
from quiltwork.losses.response import Pure
from quiltwork.pufferfish.gaussian_sum import gaussian_delta, gaussian_mu
from quiltwork.pufferfish.prior import Atoms
from quiltwork.pufferfish.secrets import Secrets
from quiltwork.pufferfish.translate import Translator

__all__ = ["Leaks"]

Bound = Callable[[Atoms, float, float], float]  # of one law, given what is known already and what is enough

GRID = (1, 2, 3, 4, 6, 8, 10, 12, 16, 20, 24, 32, 40, 48, 64, 96, 128, 192, 256)
MOST_CASES = 64  # kept one by one; the rest is bounded by its largest values
MOST_REFINED = 150  # cases for which the prior's own law is composed, for one question
ATOM_LIMIT = 20_000
METHOD = "translated once"
LOST = 1e-250  # mass that may be lost to underflow
BETA_EPSILONS = np.concatenate((np.linspace(0.0, 4.0, 41), np.geomspace(4.25, 60.0, 24)))


class Leaks:
    """Epsilon, delta and beta of the secrets, for a loss that every entry has."""

    def __init__(self, loss: Loss, translator: Translator, secrets: Secrets | None = None) -> None:
        self.loss, self.translator, self.secrets = loss, translator, secrets
        self.pure = float(loss.epsilon(0.0).upper)
        self.mu = gaussian_mu(loss)
        curve = translator.curve
        pure = translator.cases(self.pure) if math.isfinite(self.pure) else np.full(len(curve.cases), math.inf)
        self.members, rows = _worst_rows(np.column_stack((curve.cases, pure)))
        self.influence, self.purely = rows[:, :-1], rows[:, -1]
        self.sizes = curve.sizes
        self._groups: dict[int, Loss | None] = {1: loss}
        self._atoms: dict[tuple[int, int], Atoms | None] = {}

    # ---- questions

    def epsilon(self, delta: Any, *, rtol: float = 1e-3) -> Bracket:
        """The smallest epsilon for this delta."""
        asked = checks.numbers("delta", delta, "in [0, 1]", 0.0, 1.0)
        upper = np.array([self._epsilon(float(value), rtol) for value in np.ravel(asked)])
        lower = np.minimum(np.ravel(self.loss.epsilon(asked, rtol=rtol).lower), upper) * self.translator.direct
        if all(isinstance(part.family, Pure) for part in self.loss.parts):
            attained = down(self.translator.lower(float(self.loss.epsilon(0.0).lower)))
            lower = np.where(np.ravel(asked) == 0.0, np.clip(attained, lower, upper), lower)
        return _bracket("epsilon", lower, upper, asked, rtol)

    def delta(self, epsilon: Any, *, rtol: float = 1e-3) -> Bracket:
        """The largest delta at this epsilon."""
        asked = checks.numbers("epsilon", epsilon, "a number, not NaN", -math.inf, math.inf)
        upper = np.array([self._delta(float(value), rtol) for value in np.ravel(asked)])
        lower = np.minimum(np.ravel(self.loss.delta(asked, rtol=rtol).lower), upper) * self.translator.direct
        return _bracket("delta", lower, upper, asked, rtol)

    def beta(self, alpha: Any) -> Bracket:
        """The least type II error: every (epsilon, delta) bounds it from below, in both orders."""
        asked = checks.numbers("alpha", alpha, "in [0, 1]", 0.0, 1.0)
        flat = np.ravel(asked)
        kept = 1.0 - np.array([self._delta(float(value), 1e-2) for value in BETA_EPSILONS])
        lower = np.zeros(flat.size)
        for value, rest in zip(BETA_EPSILONS, kept, strict=True):
            here = np.maximum(rest - np.exp(value) * flat, np.exp(-value) * (rest - flat))
            lower = np.maximum(lower, down(here * (1 - 1e-12) - 1e-15))
        upper = np.ravel(self.loss.beta(asked).upper) if self.translator.direct else 1.0 - flat
        upper = np.maximum(upper, lower)
        return Bracket(_shaped(lower, asked), _shaped(upper, asked), "beta", METHOD, met=True)

    def witness(self, delta: float) -> str:
        """The case with the largest epsilon."""
        values, _ = self._by_size(lambda loss: float(loss.epsilon(delta).upper))
        worst = self.members[int(np.argmax(np.minimum(values, self.purely)))]
        return self.translator.curve.name_of(worst[0]) if worst else "several cases, bounded together"

    # ---- the bounds

    def _epsilon(self, delta: float, rtol: float) -> float:
        values, sizes = self._by_size(lambda loss: float(loss.epsilon(delta, rtol=rtol).upper))
        values = np.minimum(values, self.purely)
        if delta > 0.0:
            self._refine(values, sizes, lambda atoms, above, floor: self._solved(atoms, delta, above, floor, rtol))
        return float(values.max())

    def _delta(self, epsilon: float, rtol: float) -> float:
        if epsilon == -math.inf:
            return 1.0

        def ask(loss: Loss, shift: FloatArray) -> FloatArray:
            return np.asarray(loss.delta(epsilon - shift, rtol=rtol).upper)

        values, sizes = self._by_shift(ask)
        values = np.where(self.purely <= epsilon, 0.0, values)
        self._refine(values, sizes, lambda atoms, above, floor: self._spent(atoms, epsilon, rtol))
        return float(values.max())

    def _by_size(self, ask: Callable[[Loss], float]) -> tuple[FloatArray, np.ndarray]:
        """(i) for epsilon: the least over sizes of the group's epsilon plus a(b), and the size, for each case."""
        known: dict[int, float] = {}

        def column(size: int) -> FloatArray:
            if size not in known:
                group = self._group(size)
                known[size] = math.inf if group is None else ask(group)
            return np.asarray(up(known[size] + self.influence[:, self._at(size)]))

        return self._least(column)

    def _by_shift(self, ask: Callable[[Loss, FloatArray], FloatArray]) -> tuple[FloatArray, np.ndarray]:
        """(i) for delta: the group's delta at epsilon - a(b)."""
        known: dict[int, FloatArray] = {}

        def column(size: int) -> FloatArray:
            if size not in known:
                shift, group = self.influence[:, self._at(size)], self._group(size)
                found = np.ones(len(shift))
                if group is not None and np.isfinite(shift).any():
                    finite = np.isfinite(shift)
                    found[finite] = ask(group, shift[finite])
                known[size] = found
            return known[size]

        return self._least(column)

    def _least(self, column: Callable[[int], FloatArray]) -> tuple[FloatArray, np.ndarray]:
        """The least over a coarse list of sizes, then over the sizes around the worst case's best one."""
        tried = [size for size in dict.fromkeys((*GRID, int(self.sizes[-1]))) if self._known(size)]
        best, sizes = np.full(len(self.influence), math.inf), np.ones(len(self.influence), dtype=np.int64)

        def take(size: int) -> None:
            found = column(size)
            better = found < best
            best[better], sizes[better] = found[better], size

        for size in tried:
            take(size)
        for _ in range(8):
            at = int(sizes[np.argmax(best)])
            near = [size for size in range(max(at - 2, 1), at + 3) if size not in tried and self._known(size)]
            if not near:
                break
            for size in near:
                take(size)
            tried += near
        return best, sizes

    def _known(self, size: int) -> bool:
        return bool(self.sizes[0] <= size <= self.sizes[-1]) and bool(
            np.isfinite(self.influence[:, self._at(size)]).any()
        )

    def _at(self, size: int) -> int:
        return int(np.searchsorted(self.sizes, size, side="right")) - 1

    def _group(self, size: int) -> Loss | None:
        """The loss of a group; None where a family has no rule for it."""
        if size not in self._groups:
            try:
                self._groups[size] = self.loss.group(size)
            except Unsupported:
                self._groups[size] = None
        return self._groups[size]

    # ---- (ii)

    def _refine(self, values: FloatArray, sizes: np.ndarray, bound: Bound) -> None:
        """Lower the worst case's value by the prior's own law, as long as that changes the worst case.

        A row stands for every case that it dominates, so that each of these must be bounded as well.
        """
        done: set[int] = set()
        left = MOST_REFINED
        while left > 0:
            worst = int(np.argmax(values))
            if worst in done or not self.members[worst] or values[worst] <= 0.0:
                return
            left -= len(self.members[worst])
            # nothing is won below the largest value that stays
            floor = max((float(values[i]) for i in done), default=0.0)
            for case in self.members[worst]:
                floor = max(floor, self._refined(case, int(sizes[worst]), float(values[worst]), floor, bound))
                if floor >= values[worst]:
                    break
            values[worst] = min(float(values[worst]), floor)
            done.add(worst)

    def _refined(self, case: int, centre: int, value: float, floor: float, bound: Bound) -> float:
        for size in _around(centre):
            if self.sizes[0] <= size <= self.sizes[-1]:
                atoms = self._atoms_of(case, size)
                value = value if atoms is None else min(value, bound(atoms, value, floor))
                if value <= floor:
                    break
        return value

    def _atoms_of(self, case: int, size: int) -> Atoms | None:
        if (case, size) not in self._atoms:
            found = self.translator.prior.atoms(case, size, self.secrets)
            if found is not None and self.mu is None:
                found = found.of_size(size)  # composing every size by itself would take too long
            if found is not None and (found.weights.size > ATOM_LIMIT or self._group(size) is None):
                found = None
            self._atoms[case, size] = found
        return self._atoms[case, size]

    def _spent(self, atoms: Atoms, epsilon: float, rtol: float) -> float:
        """The weighted sum of deltas; a loss without bound counts in full."""
        told = np.isinf(atoms.losses)
        total = float(atoms.weights[told].sum())
        weights, losses, sizes = atoms.weights[~told], atoms.losses[~told], atoms.sizes[~told]
        if weights.size and self.mu is not None:
            total += float(weights @ gaussian_delta(self.mu * sizes, epsilon - losses))
        elif weights.size:
            group = self._group(int(sizes[0]))
            assert group is not None  # atoms of one size, for which there is a rule
            total += float(weights @ np.asarray(group.delta(epsilon - losses, rtol=rtol).upper))
        return min(up(total * (1.0 + 1e-12) + LOST), 1.0)

    def _solved(self, atoms: Atoms, delta: float, above: float, floor: float, rtol: float) -> float:
        """The smallest epsilon from `floor` to `above` whose sum is at most delta, from the safe side."""
        if not math.isfinite(above):
            return above

        def excess(epsilon: float) -> float:
            spent = self._spent(atoms, epsilon, rtol)
            return math.log(max(spent, 1e-320)) - math.log(delta)

        if excess(above) > 0.0:
            return above
        if excess(floor) <= 0.0:
            return floor
        found = float(brentq(excess, floor, above, xtol=1e-10, rtol=1e-12))
        step = 1e-10
        while excess(found) > 0.0:
            found, step = min(found + step, above), 2.0 * step
        return found


def _around(size: int) -> list[int]:
    """Sizes worth a try, the likely ones first: with coupled worlds a larger set costs little."""
    return list(dict.fromkeys((size + 2, size, size + 4, max(size - 2, 1), 2 * size)))


def _worst_rows(rows: FloatArray) -> tuple[list[list[int]], FloatArray]:
    """Rows that no other one exceeds everywhere, each with all cases that it stands for.

    Too many are closed by one row of their largest values, which stands for no case that could be looked at again.
    """
    order = np.argsort(-np.minimum(rows, 1e6).sum(axis=1), kind="stable")
    kept: list[int] = []
    members: list[list[int]] = []
    left: list[int] = []
    for i in order:
        above = np.nonzero(np.all(rows[kept] >= rows[i], axis=1))[0] if kept else ()
        if len(above):
            members[int(above[0])].append(int(i))
        elif len(kept) < MOST_CASES:
            kept.append(int(i))
            members.append([int(i)])
        else:
            left.append(int(i))
    found = rows[kept]
    if left:
        members.append([])
        found = np.vstack((found, rows[left].max(axis=0)))
    return members, found


def _bracket(quantity: Any, lower: FloatArray, upper: FloatArray, asked: FloatArray, rtol: float) -> Bracket:
    with np.errstate(invalid="ignore"):
        narrow = bool(np.all((upper == lower) | (upper - lower <= rtol * upper)))
    return Bracket(_shaped(lower, asked), _shaped(upper, asked), quantity, METHOD, met=narrow)


def _shaped(end: FloatArray, asked: FloatArray) -> Any:
    return end.reshape(asked.shape)
