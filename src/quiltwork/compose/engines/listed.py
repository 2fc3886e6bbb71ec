"""A composed finite loss from the list of all its values: exact at every epsilon and alpha, up to rounding.

With losses L_0 < L_1 < ... and masses p_j under P, from the top down and with positive terms only,

    T_j = p_j + T_(j+1) e^(L_j - L_(j+1)),      D(L_(j-1)) = D(L_j) + T_j (1 - e^(L_(j-1) - L_j)),

and between two values D(eps) = D(L_j) + T_j (1 - e^(eps - L_j)), L_(j-1) <= eps < L_j. Values below 1e-300 are given as
an upper bound only.

Reference: theory/multi-constraints.md section 3a.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.compose.engines.atoms import Atoms, enumerate_atoms
from quiltwork.compose.engines.engine import Engine, Logs, View
from quiltwork.compose.engines.views.tradeoff import ViewEngine
from quiltwork.compose.releases import Counted
from quiltwork.numbers.rounding import UNIT

FLOOR = 1e-300  # what underflow may add up to, with room
WIDTH = 16.0  # losses of one block: e^16 is far from overflow
CHUNK = 64


def cumulative(values: FloatArray) -> FloatArray:
    """Cumulative sums of non-negative numbers in chunks of chunks: the error grows with the depth, not the length."""
    if values.size <= CHUNK:
        return np.cumsum(values)
    rows = -(-values.size // CHUNK)
    padded = np.zeros(rows * CHUNK)
    padded[: values.size] = values
    inner = padded.reshape(rows, CHUNK)
    np.cumsum(inner, axis=1, out=inner)
    inner[1:] += cumulative(inner[:, -1])[:-1, None]
    return inner.ravel()[: values.size]


def _depth(size: int) -> int:
    """Roundings that one entry of `cumulative` may have met."""
    return min(size, CHUNK * (1 + math.ceil(math.log(max(size, 2), CHUNK))))


def tails(losses: FloatArray, masses: FloatArray) -> FloatArray:
    """T_j = sum of masses e^(L_j - L_i) over i >= j, in blocks of losses so that no exponential is large; then a 0."""
    found, last = np.zeros(losses.size + 1), losses.size
    while last > 0:
        first = min(int(np.searchsorted(losses[:last], losses[last - 1] - WIDTH)), last - 1)
        grown = np.exp(losses[first:last] - losses[first])
        carried = found[last] * math.exp(losses[first] - losses[last]) if last < losses.size else 0.0
        found[first:last] = (cumulative((masses[first:last] / grown)[::-1])[::-1] + carried) * grown
        last = first
    return found


def sticks(losses: FloatArray, tails_: FloatArray) -> FloatArray:
    """D at each loss; the last is 0."""
    rises = np.zeros(losses.size)  # from the top: 0 first
    np.subtract(losses[:-1][::-1], losses[1:][::-1], out=rises[1:])
    np.expm1(rises, out=rises)
    rises[1:] *= -tails_[1:-1][::-1]
    return cumulative(rises)[::-1]


class ExactLaw:
    """All values of a composed loss and the sums that answer questions about them."""

    def __init__(self, atoms: Atoms) -> None:
        self.losses, self.p, self.q, self.hair, self.typed = atoms.losses, atoms.p, atoms.q, atoms.hair, atoms.typed
        self.rounding = (2 * _depth(atoms.losses.size) + 64) * UNIT  # of the sums
        self.relative = atoms.relative + self.rounding
        self.error = atoms.p * atoms.wrong

    def without_masses(self) -> ExactLaw:
        """The same with the sums that D needs, and nothing else: of millions of values, each column counts."""
        del self.q
        _ = self.tails, self.sticks
        del self.p
        _ = self.tail_errors
        del self.error
        _ = self.stick_errors
        return self

    @cached_property
    def tails(self) -> FloatArray:
        """T_j = E_P[e^(L_j - S); S >= L_j]."""
        return tails(self.losses, self.p)

    @cached_property
    def sticks(self) -> FloatArray:
        """D(L_j)."""
        return sticks(self.losses, self.tails)

    @cached_property
    def tail_errors(self) -> FloatArray:
        """What the errors of the masses do to T."""
        return tails(self.losses, self.error)

    @cached_property
    def stick_errors(self) -> FloatArray:
        """What the errors of the masses do to D."""
        return sticks(self.losses, self.tail_errors)

    @cached_property
    def p_below(self) -> FloatArray:
        """P(S < L_j), one more entry for everything."""
        return np.concatenate(([0.0], cumulative(self.p)))

    @cached_property
    def q_below(self) -> FloatArray:
        """Q(S < L_j), one more entry for everything."""
        return np.concatenate(([0.0], cumulative(self.q)))

    @cached_property
    def q_above(self) -> FloatArray:
        """Q(S >= L_j), one more entry, 0."""
        return np.append(cumulative(self.q[::-1])[::-1], 0.0)

    def stick(self, epsilon: FloatArray) -> FloatArray:
        """D(eps) as computed."""
        return self._between(epsilon, self.sticks, self.tails)

    def stick_error(self, epsilon: FloatArray) -> FloatArray:
        """Absolute error of `stick` for losses as they are."""
        return self._between(epsilon, self.stick_errors, self.tail_errors) * 1.01 + self.rounding * self.stick(epsilon)

    def near(self, epsilon: FloatArray) -> FloatArray:
        """E_P[e^(eps - S); S > eps] at most: how fast D falls there."""
        return self._faded(epsilon) * (1 + 2 * self.relative)

    def _faded(self, epsilon: FloatArray) -> FloatArray:
        """E_P[e^(eps - S); S > eps] as computed."""
        j = np.searchsorted(self.losses, epsilon, side="right")
        inside = np.minimum(j, self.losses.size - 1)
        return self.tails[j] * np.exp(np.minimum(epsilon - self.losses[inside], 0.0))

    def _between(self, epsilon: FloatArray, sticks_: FloatArray, tails_: FloatArray) -> FloatArray:
        j = np.searchsorted(self.losses, epsilon, side="right")
        inside = np.minimum(j, self.losses.size - 1)
        rise = tails_[j] * -np.expm1(np.minimum(epsilon - self.losses[inside], 0.0))
        return np.where(j < self.losses.size, sticks_[inside] + rise, 0.0)

    def complement(self, epsilon: FloatArray) -> FloatArray:
        """C(eps) = P(S <= eps) + e^eps Q(S > eps) as computed."""
        return self.p_below[np.searchsorted(self.losses, epsilon, side="right")] + self._faded(epsilon)


@attrs.frozen(eq=False)
class ExactView(View):
    """log D or log C from the law, with the rounding of masses and losses around it."""

    law: ExactLaw
    theta: float
    centre: float
    spread: float

    def middle(self, epsilon: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore"):
            return np.log(self.law.stick(epsilon) if self.theta > 0 else self.law.complement(epsilon))

    def logs(self, epsilon: FloatArray) -> Logs:
        low: FloatArray
        high: FloatArray
        law = self.law
        hair = law.hair + 4 * UNIT * np.abs(epsilon)
        if self.theta > 0 and law.typed:  # decimals compare as typed: only the distances to those above are rounded
            value, error = law.stick(epsilon), law.stick_error(epsilon) + hair * law.near(epsilon)
            low, high = value - error, value + error
        elif self.theta > 0:  # D falls and C rises with epsilon: look a hair to the certified side
            left, right = epsilon - hair, epsilon + hair
            low, high = law.stick(right) - law.stick_error(right), law.stick(left) + law.stick_error(left)
        else:
            low = law.complement(epsilon - hair) * (1 - law.relative)
            high = law.complement(epsilon + hair) * (1 + law.relative)
        with np.errstate(divide="ignore"):
            return Logs(self.middle(epsilon), np.log(np.maximum(low - FLOOR, 0.0)), np.log(high + FLOOR))


class ExactEngine(ViewEngine):
    """Every value listed: nothing is discretised, tilted or truncated."""

    method = "exact atoms"
    whole = True

    def __init__(self, pairs: Counted, law: ExactLaw) -> None:
        self.pairs, self.law = pairs, law

    @classmethod
    def of(cls, pairs: Counted, most: int) -> ExactEngine | None:
        atoms = enumerate_atoms(pairs, most)
        return None if atoms is None else cls(pairs, ExactLaw(atoms))

    def moments(self, theta: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Those of P for every tilt: with a view that is sharp everywhere they only set a scale."""
        losses, masses = self.law.losses, self.law.p
        total = max(float(masses.sum()), FLOOR)  # with many reveals all finite mass may underflow
        mean = float(masses @ losses) / total
        variance = float(masses @ (losses - mean) ** 2) / total
        return np.zeros_like(theta), np.full_like(theta, mean), np.full_like(theta, variance)

    def everywhere(self, complement: bool) -> View:
        _, mean, variance = self.moments(np.zeros(1))
        return ExactView(
            self.law, -0.5 if complement else 1.0, float(mean[0]), math.sqrt(max(float(variance[0]), 1e-300))
        )

    def _beta(self, alpha: FloatArray, mirror: Callable[[], Engine]) -> tuple[FloatArray, FloatArray]:
        return listed_beta(self.law, self.vanish, alpha)


def listed_beta(law: ExactLaw, vanish: tuple[float, float], alpha: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Ends of the trade-off function at each alpha in (0, 1 - vanish).

    Every threshold L_j gives the lower bound P(S < L_j) + e^(L_j) (Q(S >= L_j) - alpha). If Q(S > L_j) <= alpha, the
    test that rejects above L_j, and at L_j as often as the level allows, reaches the same number. The first such j is
    taken; levels come from the side where Q is small.
    """
    small, wrong, size = alpha <= 0.5, law.relative, law.losses.size
    rest = [1.0 - alpha - end for end in vanish]
    most, least = (part + sign * 4 * UNIT * (part + vanish[1]) for part, sign in zip(rest, (1, -1), strict=True))
    j = np.where(
        small,
        size - np.searchsorted(law.q_above[::-1], alpha * (1 - 2 * wrong), side="right"),
        np.searchsorted(law.q_below, most * (1 + 2 * wrong), side="left") - 1,
    )
    j = np.clip(j, 0, size - 1)
    below, loss = law.p_below[j], law.losses[j]
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        t, slack = np.exp(loss), law.hair + 4 * UNIT * (1 + np.abs(loss))
        short = np.where(small, law.q_above[j] * (1 - wrong) - alpha, least - law.q_below[j] * (1 + wrong))
        long = np.where(small, law.q_above[j] * (1 + wrong) - alpha, most - law.q_below[j] * (1 - wrong))
        low = below * (1 - wrong) + t * short * (1 - np.sign(short) * slack)
        share = np.minimum(t * np.maximum(long, 0.0) * (1 + slack), law.p[j] * (1 + wrong))
        high = below * (1 + wrong) + share
    # e^loss may overflow
    return np.maximum(np.where(np.isfinite(low), low, 0.0), 0.0), np.where(np.isnan(high), 1.0, high + FLOOR)
