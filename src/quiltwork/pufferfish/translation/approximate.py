"""Approximate translation: every theorem for pure losses holds for (epsilon, delta) as well.

Theorem.  Let kappa bound log (p . V) / (q . V) over all V >= 0 that change by at most a factor e^e with one entry; p
and q are the laws of the data given two secrets.  If a mechanism has P(E | x) <= e^e P(E | x') + delta whenever one
entry differs, then

    P(E | s) <= e^kappa P(E | s') + delta (e^kappa - 1) / (e^e - 1).

Proof.  V(x) = P(E | x) + delta / (e^e - 1) has V(x) <= e^e P(E | x') + delta + delta / (e^e - 1) = e^e V(x').  So
p . V <= e^kappa q . V; subtract delta / (e^e - 1) on both sides.

Nothing is asked of the prior, of the secrets or of how kappa was found, and any e may be chosen: the best one for each
question is.  This answers what theory/pufferfish.md 3.6 leaves open (propagation for Gaussian mechanisms).
"""

from __future__ import annotations

import math
from functools import cached_property

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.compose.loss import Loss
from quiltwork.numbers.rounding import up
from quiltwork.pufferfish.translation.translate import Translator

BECAUSE = "a shift by delta / (e^epsilon - 1) makes an (epsilon, delta) release pure, and the theorem for those applies"
LEAST_EPSILON, MOST_EPSILON = 1e-9, 500.0  # per entry; beyond these nothing is gained
GRID_POINTS = 24
SHARES_TRIED = (1.0, 1e-1, 1e-2, 1e-3, 1e-5, 1e-8, 1e-13)


@attrs.frozen(eq=False, slots=False)
class Shift:
    """One loss and one translator."""

    loss: Loss
    translator: Translator

    def spent(self, entry: float, kappa: float, rtol: float) -> float:
        """delta (e^kappa - 1) / (e^e - 1) at this per-entry epsilon, rounded up."""
        delta = float(self.loss.delta(entry, rtol=rtol).upper)
        if delta == 0.0:
            return 0.0
        if kappa > MOST_EPSILON:
            return 1.0
        return min(up(delta * math.expm1(kappa) / math.expm1(entry) * (1.0 + 1e-14), 2), 1.0)

    def entry_for(self, delta: float, rtol: float) -> float:
        """The least per-entry epsilon at which no more than delta is spent, from the safe side; infinite if none."""
        pure = float(self.loss.epsilon(0.0).upper)
        if delta == 0.0:
            return pure

        def excess(entry: float) -> float:
            found = self.spent(entry, self.translator.upper(entry), rtol)
            return math.log(max(found, 1e-320)) - math.log(delta)

        low = min(max(float(self.loss.epsilon(delta, rtol=rtol).upper), LEAST_EPSILON), pure)
        if not low <= MOST_EPSILON:
            return math.inf
        if excess(low) <= 0.0:
            return low
        for share in SHARES_TRIED:
            high = min(max(float(self.loss.epsilon(delta * share, rtol=rtol).upper), 1.01 * low), pure)
            if not high <= MOST_EPSILON:
                return math.inf
            if excess(high) <= 0.0:
                break
            low = high
        else:
            return pure
        from scipy.optimize import brentq

        found, step = float(brentq(excess, low, high, xtol=1e-12, rtol=max(1e-2 * rtol, 1e-9))), 1e-9
        while excess(found) > 0.0:
            found, step = min(found * (1.0 + step), high), 4.0 * step
        return found

    def delta_at(self, epsilon: float, rtol: float) -> float:
        """The least delta that follows for this epsilon of the secrets, at a per-entry epsilon of its own."""
        if epsilon <= 0.0:
            return 1.0
        entry = self.translator.inverse(min(epsilon, MOST_EPSILON))
        return 1.0 if entry <= 0.0 else self.spent(entry, self.translator.upper(entry), rtol)

    @cached_property
    def points(self) -> tuple[FloatArray, FloatArray]:
        """Pairs (epsilon, delta) of the secrets that hold all at once, over the useful range of the loss."""
        low, high = (min(float(self.loss.epsilon(delta).upper), MOST_EPSILON) for delta in (0.5, 1e-15))
        low = max(low, 1e-4, 1e-4 * high)
        entries = np.geomspace(low, max(high, 1.01 * low), GRID_POINTS)
        flat = float(self.loss.epsilon(min(1.001 * float(self.loss.delta(entries[-1]).upper), 1.0)).upper)
        if low < flat < entries[-1]:  # where delta ends to fall: a larger epsilon would only cost more
            entries = np.unique(np.append(entries, flat))
        kappas = np.maximum.accumulate([self.translator.upper(float(entry)) for entry in entries])
        deltas = np.asarray(self.loss.delta(entries, rtol=1e-3).upper)
        with np.errstate(over="ignore", invalid="ignore"):
            spent = up(deltas * np.expm1(kappas) / np.expm1(entries) * (1.0 + 1e-14), 2)
        spent = np.where(deltas == 0.0, 0.0, np.minimum(np.where(np.isnan(spent), 1.0, spent), 1.0))
        kept = np.isfinite(kappas) & (kappas < MOST_EPSILON)
        return kappas[kept], np.minimum.accumulate(spent[kept])

    def deltas(self, epsilons: FloatArray) -> FloatArray:
        """What the points say about every epsilon >= 0.

        The true delta is convex in e^epsilon, so that it lies below every chord; and since both orders of the secrets
        are protected, below the lines through (-1, 1) as well.
        """
        kappas, spent = self.points
        found = np.ones(epsilons.size)
        if not kappas.size:
            return found
        beyond = np.searchsorted(kappas, epsilons, side="right")
        found = np.where(beyond > 0, spent[np.maximum(beyond - 1, 0)], found)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            # sums of positive terms: small deltas keep their digits
            share = (1.0 + np.exp(epsilons))[:, None] / (1.0 + np.exp(kappas))
            rest = -np.expm1(epsilons[:, None] - kappas) / (1.0 + np.exp(-kappas))
            lines = np.where(rest >= 0.0, rest + spent * share, 1.0)
            left, right = np.maximum(beyond - 1, 0), np.minimum(beyond, kappas.size - 1)
            weight = np.expm1(epsilons - kappas[left]) / np.expm1(kappas[right] - kappas[left])
            other = np.expm1(epsilons - kappas[right]) / np.expm1(kappas[left] - kappas[right])
            chord = other * spent[left] + weight * spent[right]
        inside = (beyond > 0) & (beyond < kappas.size) & (kappas[right] > kappas[left])
        found = np.minimum(found, np.where(inside, chord, 1.0))
        found = np.minimum(found, lines.min(axis=1))
        return np.asarray(np.minimum(up(found * (1.0 + 1e-12)), 1.0))
