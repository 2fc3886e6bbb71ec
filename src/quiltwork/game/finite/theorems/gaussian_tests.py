"""Tests between two Gaussian releases, and when a Bayesian attacker says more than a test of level alpha.

Outputs y ~ N(x_0, V) without and N(x_1, V) with candidate k: the optimal test is Gaussian with
mu^2 = (x_1 - x_0)' V^-1 (x_1 - x_0), and z_alpha + z_beta = mu, where z_a = Phi^-1(1 - a).

For two finite laws the trade-off function (least type II error of a test, for each type I error) rejects outputs in the
order of their likelihood ratio; between two vertices one output is rejected by a coin.

Reference: seed 004 Lemma 1, Theorems 2 and 3, corrected in theory/game.md section 1, as is Proposition 2; Neyman and
Pearson 1933.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any, Literal

import attrs
import numpy as np
from scipy.special import ndtr, ndtri, ndtri_exp

from quiltwork import checks
from quiltwork.checks import FloatArray, Number
from quiltwork.compose.constructors import gdp, pure
from quiltwork.compose.loss import Loss
from quiltwork.curves import TradeOff
from quiltwork.errors import InvalidParameter
from quiltwork.kinds import document
from quiltwork.numbers.laws import Number as Ratio
from quiltwork.numbers.laws import Table, is_exact
from quiltwork.numbers.rounding import UNIT
from quiltwork.numbers.stated import double_above, double_below

Rule = Literal["threshold", "sampling"]
MAX_SEPARATION = 100.0  # separations beyond it leave no error that a float could hold
MIN_MU = 1e-100  # the least mu of a loss; a smaller one is covered by it
UNDERFLOW = 1e-150  # squares of a smaller mu are not normal doubles
_LAW = "numbers, one an attribute"


@document("gaussian_test/1")
@attrs.frozen(eq=False)
class GaussianTest:
    """The optimal test of N(x_0, V) against N(x_1, V): reject absence where the statistic is large."""

    mu: float
    weights: FloatArray  # V^-1 (x_1 - x_0)
    middle: FloatArray  # (x_0 + x_1) / 2
    error: float = 0.0  # relative, of mu

    def statistic(self, y: Any) -> Number:
        """T(y) = (x_1 - x_0)' V^-1 (y - (x_0 + x_1) / 2), the log-likelihood ratio; along the last axis of y.

        T ~ N(-mu^2 / 2, mu^2) without and N(mu^2 / 2, mu^2) with the candidate: larger means more likely a member.
        """
        outputs = checks.numbers("y", y, _LAW, -1e300, 1e300)
        if outputs.ndim == 0 or outputs.shape[-1] != self.weights.size:
            raise InvalidParameter("the shape of y", outputs.shape, f"(..., {self.weights.size})")
        return _plain((outputs - self.middle) @ self.weights)

    def power(self, alpha: Any) -> Number:
        """Phi(Phi^-1(alpha) + mu): the true positive rate at the false positive rate alpha."""
        return _plain(ndtr(ndtri(checks.numbers("alpha", alpha, "in [0, 1]", 0.0, 1.0)) + self.mu))

    def type_two(self, alpha: Any) -> Number:
        """Phi(Phi^-1(1 - alpha) - mu): the trade-off function, which the paper calls power."""
        return _plain(ndtr(-ndtri(checks.numbers("alpha", alpha, "in [0, 1]", 0.0, 1.0)) - self.mu))

    @property
    def auc(self) -> float:
        """Phi(mu / sqrt 2)."""
        return 0.5 * math.erfc(-0.5 * self.mu)

    @property
    def total_variation(self) -> float:
        """2 Phi(mu / 2) - 1: the largest advantage at equal weights."""
        return math.erf(self.mu / math.sqrt(8.0))

    @property
    def loss(self) -> Loss:
        """The same as a loss to be composed, with mu rounded up; floats are taken for the doubles they are."""
        return gdp(max(self.mu * (1.0 + self.error), MIN_MU)) if self.mu > 0 else pure(0.0)


def _plain(value: Any) -> Number:
    return float(value) if np.ndim(value) == 0 else np.asarray(value)


def gaussian_test(x0: Any, x1: Any, variances: Any) -> GaussianTest:
    """The test between the means x0 (absent) and x1 (present); `variances` are one a attribute, or a covariance.

    >>> found = gaussian_test([0.2, 0.5, 0.3, 0.8], [0.25, 0.45, 0.4, 0.75], [0.01, 0.02, 0.01, 0.04])
    >>> round(found.mu, 6), round(found.power(0.05), 6), round(found.auc, 6)
    (1.198958, 0.327836, 0.801723)
    """
    absent, present = (checks.numbers(name, x, _LAW, -1e100, 1e100) for name, x in (("x0", x0), ("x1", x1)))
    spread = checks.numbers("variances", variances, "positive numbers, or a covariance matrix", -1e100, 1e100)
    if absent.ndim != 1 or absent.shape != present.shape:
        raise InvalidParameter("the shapes of x0 and x1", (absent.shape, present.shape), "two lists of one length")
    size = absent.size
    if spread.shape not in ((size,), (size, size)):
        raise InvalidParameter("the shape of variances", spread.shape, f"({size},) or ({size}, {size})")
    shift = present - absent
    if spread.ndim == 1:
        if not bool(np.all(spread > 1e-200)):
            raise InvalidParameter("variances", variances, "positive numbers")
        weights, error = shift / spread, 16.0 * UNIT
        square = math.fsum(shift * weights)
    else:
        if not np.array_equal(spread, spread.T):
            raise InvalidParameter("variances", "a matrix that is not symmetric", "a covariance", "use (V + V.T) / 2")
        try:
            factor = np.linalg.cholesky(spread)
        except np.linalg.LinAlgError:
            raise InvalidParameter("variances", "a matrix that is not positive definite", "a covariance") from None
        half = np.linalg.solve(factor, shift)
        weights, square = np.linalg.solve(factor.T, half), math.fsum(half**2)
        # backward errors of Cholesky and of two triangular systems, by the condition of the factor (Higham 2002, 10.1)
        error = 8.0 * size * (size + 1) * UNIT * float(np.linalg.cond(spread))
        if error > 1e-3:
            raise InvalidParameter("variances", "a nearly singular matrix", "a covariance of condition up to 1e11")
    # means that differ at all have a mu above 0, also where its square underflows
    mu = max(math.sqrt(square), UNDERFLOW) if bool(shift.any()) else 0.0
    return GaussianTest(mu, weights, 0.5 * (absent + present), error)


def alpha_critical(mu: Any, gamma: Any = 0.5, theta: Any = 0.5, rule: Rule = "threshold") -> float:
    """The largest level at which the optimal alpha-test has no more true positives than the Bayesian attacker.

    Theorem 2, corrected: the order TPR(Bayes) >= TPR(alpha-test) holds if and only if alpha <= alpha_critical.  The
    attacker says member where the posterior exceeds gamma ("threshold"; then it is the false positive rate of the rule
    LR > gamma (1 - theta) / ((1 - gamma) theta)) or with the probability of the posterior ("sampling"; then it is
    Phi(Phi^-1(E[p | b = 1]) - mu)).  theta is the prior rate.

    >>> [round(alpha_critical(mu), 3) for mu in (1.0, 2.0)], round(alpha_critical(1.0, rule="sampling"), 3)
    ([0.309, 0.159], 0.229)
    """
    separation = checks.ranged("mu", mu, f"in (0, {MAX_SEPARATION:g}]", lambda number: 0 < number <= MAX_SEPARATION)
    weight = checks.probability("gamma", gamma)
    rate = checks.ranged("theta", theta, "in (0, 1)", lambda number: 0 < number < 1)
    if checks.one_of("rule", rule, ("threshold", "sampling")) == "sampling":
        return float(ndtr(-ndtri_exp(_log_missed(separation, math.log(rate) - math.log1p(-rate))) - separation))
    if weight in (0.0, 1.0):
        return 1.0 - weight  # everybody, or nobody, is called a member
    odds = math.log(weight) - math.log1p(-weight) - math.log(rate) + math.log1p(-rate)
    return float(ndtr(-odds / separation - 0.5 * separation))


def _log_missed(mu: float, logit: float) -> float:
    """The logarithm of E[1 - p | b = 1] = e^(-mu^2/8 - logit/2) E[1 / (2 cosh((L + logit) / 2))] with L ~ N(0, mu^2).

    The trapezoidal rule of an analytic integrand: the error is below e^(-2 pi^2 / step) times what is summed.
    """
    step = min(0.25, 0.25 * mu)
    reach = 0.5 * mu * mu + 12.0 * mu
    loss = np.arange(-math.ceil(reach / step), math.ceil(reach / step) + 1) * step
    # log of the integrand; cosh in logarithms, since it overflows
    away = 0.5 * np.abs(loss + logit)
    logs = -0.5 * (loss / mu) ** 2 - (away + np.log1p(np.exp(-2.0 * away)))
    top = float(logs.max())
    total = math.log(math.fsum(np.exp(logs - top))) + top
    value = total + math.log(step) - math.log(mu) - 0.5 * math.log(2.0 * math.pi) - 0.125 * mu * mu - 0.5 * logit
    return min(value, 0.0)


Vertex = tuple[Ratio, Ratio]


def _steps(other: Table, member: Table) -> list[tuple[Ratio, Ratio]]:
    """Masses (other, member) of the outputs, merged where the ratio is the same, largest member/other first."""
    masses: dict[Ratio, tuple[Ratio, Ratio]] = {}
    for q, p in zip(other.tolist(), member.tolist(), strict=True):
        if q == 0 and p == 0:
            continue
        ratio: Ratio = math.inf if q == 0 else p / q
        before = masses.get(ratio, (q - q, p - p))
        masses[ratio] = (before[0] + q, before[1] + p)
    return [masses[ratio] for ratio in sorted(masses, reverse=True)]


def vertices_of(other: Table, member: Table) -> tuple[Vertex, ...]:
    """(alpha, beta) from (0, f(0)) to (alpha, 0) with alpha <= 1; fractions stay fractions."""
    steps = _steps(other, member)
    zero: Ratio = other[0] - other[0]
    alphas, powers = [zero], [zero]
    for q, p in steps:
        alphas.append(alphas[-1] + q)
        powers.append(powers[-1] + p)
    # a beta is summed from its small end, not taken from one, so that floats keep it
    betas = [zero]
    for _, p in reversed(steps):
        betas.append(betas[-1] + p)
    betas.reverse()
    found = list(zip(alphas, betas, strict=True))
    if len(found) > 1 and found[1][0] == 0:
        found = found[1:]  # outputs that only a member's data give cost no error of type I
    last = next(index for index, (_, beta) in enumerate(found) if beta == 0)
    return tuple(found[: last + 1])


def beta_at(vertices: Sequence[Vertex], alpha: Ratio) -> Ratio:
    """The function at alpha, by interpolation; zero beyond the last vertex."""
    for (a, f), (b, g) in pairwise(vertices):
        if a <= alpha < b:
            return f + (g - f) * (alpha - a) / (b - a)
    return vertices[-1][1] if alpha >= vertices[-1][0] else vertices[0][1]


def trade_off_of(other: Table, member: Table) -> TradeOff:
    """A curve of floats that is nowhere above the function.

    Vertices are moved left and down.  A decreasing convex function below the moved vertices is below the others too:
    f'(a) <= f'(a') <= b' <= b, and between two vertices because it is convex.
    """
    vertices = vertices_of(other, member)
    # what masses of floats and their sums may be off, relatively; fractions are exact
    slack = Fraction(0.0 if is_exact(other) else (4.0 * len(other) + 16.0) * UNIT)
    alphas = np.array([double_below(Fraction(a) * (1 - slack)) for a, _ in vertices])
    betas = np.array([double_below(Fraction(b) * (1 - slack)) for _, b in vertices])
    powers = np.array(
        [min(double_above((1 - Fraction(b)) * (1 + slack) + slack * Fraction(b)), 1.0) for _, b in vertices]
    )
    powers[betas == 0] = 1.0
    return TradeOff(alphas, betas, powers, hull=True)
