"""The next Gaussian release so that everything together satisfies one (epsilon, delta).

The largest mu with G_mu within (epsilon, delta) is found by bisection on its certified delta; what the new release may
have is then the closed form of `fifth`, in the unit eps_i = sensitivity / sigma_i; and the answer is asked again,
from the standard deviations alone.

Reference: theory/game.md section 5; Balle and Wang 2018 (the exact profile of a Gaussian mechanism).
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import attrs

from quiltwork import checks
from quiltwork.compose.constructors import gdp
from quiltwork.compose.loss import Loss
from quiltwork.curves.bracket import Bracket
from quiltwork.errors import InvalidParameter, NotCertified, Unreachable
from quiltwork.game.gaussian.correlations import forms, positives
from quiltwork.game.gaussian.next_mechanism import NextMechanism, solved
from quiltwork.game.gaussian.total import strong
from quiltwork.kinds import document
from quiltwork.numbers.digits import at_most, single
from quiltwork.numbers.stated import Stated, below, exactly

__all__ = ["NextSigma", "largest_mu", "next_sigma"]

_RTOL = 1e-9
_MAX_DOUBLES = 16  # doubles tried, each a little noisier
_RETREATS = 40  # steps below the largest mu, from the last digit up to a part in a thousand


@document("next_sigma/1")
@attrs.frozen
class NextSigma:
    """Gaussian noise for one more release, and the certified curve of all of them.

    `sigma` is the least standard deviation that keeps (epsilon, delta); `most` the largest, which is finite only where
    noise correlated with the others' takes theirs away when it is too large (see `fifth`).
    """

    sigma: float
    most: float
    epsilon: float
    delta: float
    loss: Loss
    plan: NextMechanism

    @property
    def certified(self) -> Bracket:
        """epsilon of everything together at this delta."""
        return self.loss.epsilon(self.delta, rtol=_RTOL)

    def __str__(self) -> str:
        aim = f"({single(self.epsilon)}, {single(self.delta)})"
        return f"sigma {at_most(self.sigma, 6)} for everything together at {aim}"


def next_sigma(sensitivity: Any, sigmas: Any, epsilon: Any, delta: Any, correlation: Any = None) -> NextSigma:
    """The least noise of one more Gaussian release of a statistic, so that all releases together keep (epsilon, delta).

    `sigmas` are those of the releases so far, of the same statistic with this l2 sensitivity; `correlation` is that of
    the noises, as in `next_mechanism`.

    >>> answer = next_sigma(1.0, [10.0, 10.0], epsilon=1.0, delta=1e-5)
    >>> round(answer.sigma, 4), answer.certified.upper <= 1.0
    (4.3916, True)
    """
    size = exactly("sensitivity", sensitivity)
    spreads = positives("sigmas", sigmas, "of the releases so far; qw.calibrate finds the noise of a first one")
    wanted, slip = _epsilon(epsilon), _delta(delta)
    mu = largest_mu(wanted, slip)
    strengths = tuple(size / spread for spread in spreads)
    given = forms(strengths, correlation)
    try:
        plan = solved(strengths, Stated(mu).least, given)
    except Unreachable as none:
        hint = f"it is a total mu of {mu:.6g}; {none.hint}"
        raise Unreachable(f"epsilon {wanted:g} at delta {slip:g}", "all sigmas", hint) from None
    number = plan.least_sigma(size**2)
    for _ in range(_MAX_DOUBLES):  # the first one, unless rounding was unlucky
        squares = [given.square(size / one) for one in Stated(number).readings]
        loss = strong(max(squares), 1, 1)
        if _keeps(loss, wanted, slip):
            return NextSigma(number, _most(plan, size), wanted, slip, loss, plan)
        number = math.nextafter(number, math.inf)
    raise NotCertified("the next sigma", "its certificate does not hold when it is asked again")


def largest_mu(epsilon: Any, delta: Any) -> float:
    """The largest mu, but for the last digits, that keeps (epsilon, delta) by its certified curve.

    >>> round(largest_mu(0.25, 0.02), 6), gdp(largest_mu(0.25, 0.02)).epsilon(0.02).upper <= 0.25
    (0.236834, True)
    """
    wanted, slip = _epsilon(epsilon), _delta(delta)
    good, bad = _around(wanted, slip)
    while good < (middle := 0.5 * (good + bad)) < bad:
        if _small(gdp(middle), wanted, slip):
            good = middle
        else:
            bad = middle
    for step in range(_RETREATS):  # epsilon is asked too, whose bracket is a little wider
        if _keeps(gdp(good), wanted, slip):
            return good
        good *= 1.0 - 2.0 ** (step - 50)
    raise _none(wanted, slip)


def _around(epsilon: float, delta: float) -> tuple[float, float]:
    """A mu that keeps the target and one, twice as large, that does not."""
    good = 1.0
    while not _small(gdp(good), epsilon, delta):
        good /= 2.0
        if good < 1e-90:
            raise _none(epsilon, delta)
    while _small(gdp(2.0 * good), epsilon, delta):
        good *= 2.0
    return good, 2.0 * good


def _small(loss: Loss, epsilon: float, delta: float) -> bool:
    return float(loss.delta(epsilon, rtol=_RTOL).safe) <= delta


def _keeps(loss: Loss, epsilon: float, delta: float) -> bool:
    return _small(loss, epsilon, delta) and float(loss.epsilon(delta, rtol=_RTOL).safe) <= epsilon


def _none(epsilon: float, delta: float) -> Unreachable:
    return Unreachable(f"epsilon {epsilon:g} at delta {delta:g}", "mu from 1e-90 up", "no certificate is that fine")


def _most(plan: NextMechanism, size: Fraction) -> float:
    """The largest admissible sigma: size / lower, rounded down; any when `lower` is 0."""
    if plan.lower == 0.0:
        return math.inf
    return below(size / Stated(plan.lower).most)


def _epsilon(value: Any) -> float:
    number = checks.real("epsilon", value, "in [0, 1e6]")
    if not 0 <= number <= 1e6:  # beyond it the brackets of G_mu are too wide for a search
        raise InvalidParameter("epsilon", value, "in [0, 1e6]")
    return number


def _delta(value: Any) -> float:
    number = checks.probability("delta", value)
    if number in (0.0, 1.0):
        why = "Gaussian noise has no epsilon at delta 0" if number == 0.0 else "everything holds at delta 1"
        raise InvalidParameter("delta", value, "in (0, 1)", why)
    return number
