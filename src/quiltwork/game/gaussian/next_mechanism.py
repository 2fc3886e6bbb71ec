"""The next mechanism on a statistic, as strong as a target for all together allows: exact, also for correlated noise.

Four mechanisms at eps are out, everything together shall stay at 5 eps: the fifth may have sqrt(25 - 4) eps.  In
general (see `total`) the total with a fifth at x is

    total^2 = e'Qe + (x - r'Qe)^2 / s,

so x may lie in [r'Qe - w, r'Qe + w] with w = sqrt(s (T^2 - e'Qe)), cut at 0.  The lower end matters: noise that is
correlated with the others' and much larger is nearly known from the release itself, and takes the others' noise away.
Then a noisier release can break a target that a more accurate one keeps, and only no release at all is free.

For a target (epsilon, delta), the largest mu with G_mu within it is found by bisection on its certified delta; what the
new release may have is then that interval, in the unit eps_i = sensitivity / sigma_i; and the answer is asked again,
from the standard deviations alone.

Reference: theory/game.md section 5; seed 004, appendix P.6 (where a network searches for the fifth epsilon); Balle and
Wang 2018 (the exact profile of a Gaussian mechanism).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import attrs

from quiltwork import checks
from quiltwork.compose.constructors import gdp
from quiltwork.compose.loss import Loss
from quiltwork.curves.bracket import Bracket
from quiltwork.errors import InvalidParameter, NotCertified, Unreachable
from quiltwork.game.gaussian.total import EXISTING, Forms, bracket, forms, positives, strong
from quiltwork.kinds import document
from quiltwork.numbers.digits import at_least, at_most, single
from quiltwork.numbers.stated import Stated, below, exactly, root, typed

_MAX_DOUBLES = 64  # doubles tried on the way into the interval


@document("next_mechanism/1")
@attrs.frozen
class NextMechanism:
    """Which epsilons a further mechanism may have: those from `lower` to `upper`, and no others.

    `upper` is rounded down and `lower` up, so that the total is at most the target at both and between them, epsilons
    being read as the decimals that they print as; a `lower` of 0 says that any smaller epsilon will do.
    """

    existing: tuple[Fraction, ...]
    target: Fraction
    forms: Forms
    lower: float
    upper: float

    @property
    def spent(self) -> Bracket:
        """The total of the existing mechanisms alone."""
        return bracket(self.forms.spent)

    def total(self, epsilon: Any = None) -> Bracket:
        """The total with a further mechanism of this epsilon (default: `upper`)."""
        return bracket(self.forms.square(self._epsilon(epsilon)))

    def meets(self, epsilon: Any = None) -> bool:
        """Whether the total is at most the target, decided exactly."""
        return self.forms.square(self._epsilon(epsilon)) <= self.target**2

    def sigma(self, constant: Any = 1.0) -> float:
        """The least standard deviation of the new noise that keeps the target, Var = constant / eps^2; rounded up."""
        return self.least_sigma(exactly("constant", constant))

    def least_sigma(self, variance: Fraction) -> float:
        """The same for an exact constant."""
        limit = self.forms.pull + root(self.forms.room(self.target))[1]
        near = float(root(variance)[1] / limit)
        found = _walk(
            near, math.inf, lambda number: all(self._keeps(variance / one**2) for one in Stated(number).readings)
        )
        if found is None:
            raise _no_double()
        return found

    def as_loss(self, *, sensitivity: Any = 1.0, constant: Any = 1.0) -> Loss:
        """The certified curve of everything together, for every epsilon from `lower` to `upper`: G_mu of the target."""
        return strong(self.target**2, sensitivity, constant)

    def _epsilon(self, value: Any) -> Fraction:
        return exactly("epsilon", self.upper if value is None else value)

    def _keeps(self, squared: Fraction) -> bool:
        """Whether x = sqrt(squared) has (x - pull)^2 <= room: x^2 + pull^2 - room <= 2 pull x, without the root."""
        pull, left = self.forms.pull, squared + self.forms.pull**2 - self.forms.room(self.target)
        if pull >= 0:
            return left <= 0 or left**2 <= 4 * pull**2 * squared
        return left < 0 and left**2 >= 4 * pull**2 * squared

    def __str__(self) -> str:
        # words are rounded inward, so that what is read off them keeps the target
        most = at_least(self.upper, 6)
        ends = f"from {at_most(self.lower, 6)} to {most}" if self.lower else f"up to {most}"
        whole = single(float(self.target))
        return f"epsilon {ends} after {len(self.existing)} mechanisms, for a total of at most {whole}"


def next_mechanism(existing: Any, target: Any, correlation: Any = None) -> NextMechanism:
    """The epsilons that a further mechanism on the same statistic may have, so that the total is at most `target`.

    Existing mechanisms add Gaussian noise of variance C / eps_i^2, and so will the new one; all epsilons and the target
    are in the same unit, and are read as the decimals typed.  `correlation` of the noises: None (independent), one
    number for all pairs, or an (n+1) x (n+1) matrix whose last row is that of the new noise.

    >>> fifth = next_mechanism([0.1, 0.1, 0.1, 0.1], 0.5)
    >>> round(fifth.upper, 6), fifth.total().upper, fifth.meets(0.4583)
    (0.458258, 0.5, False)
    >>> next_mechanism([1, 1, 1, 1], 5, correlation=-0.2).upper
    1.0
    >>> print(next_mechanism([1, 1, 1, 1], 1.05, correlation=0.9))
    epsilon from 0.92137 to 1.02457 after 4 mechanisms, for a total of at most 1.05
    """
    values = positives("existing", existing, EXISTING)
    goal = exactly("target", target, "the total that everything together may reach")
    return solved(values, goal, forms(values, correlation))


def solved(existing: tuple[Fraction, ...], target: Fraction, given: Forms) -> NextMechanism:
    """The interval of a target, from the three numbers of the existing mechanisms."""
    room, pull = given.room(target), given.pull
    wanted = f"a total of {float(target):g}"
    if room < 0:
        spent = at_least(float(bracket(given.spent).lower))
        raise Unreachable(wanted, "all epsilons", f"the existing mechanisms alone already have {spent}")
    if pull < 0 and pull**2 >= room:
        least = at_least(float(bracket(given.square(Fraction(0))).lower))
        raise Unreachable(wanted, "all epsilons > 0", f"with noise correlated like this the total is above {least}")
    if room == 0 and pull <= 0:
        raise Unreachable(wanted, "all epsilons > 0", "the existing mechanisms use all of it")

    def inside(number: float) -> bool:
        return number >= 1e-100 and (typed(number) - pull) ** 2 <= room

    width = root(room)
    upper = _walk(float(pull + width[1]), 0.0, inside)
    lower = 0.0 if pull**2 <= room or pull <= 0 else _walk(float(pull - width[1]), math.inf, inside)
    if upper is None or lower is None or lower > upper:
        raise _no_double()
    return NextMechanism(existing, target, given, lower, upper)


def _walk(start: float, towards: float, good: Callable[[float], bool]) -> float | None:
    """The first double on the way that will do; None when it is not near."""
    number = start
    for _ in range(_MAX_DOUBLES):
        if good(number):
            return number
        number = math.nextafter(number, towards)
    return None


def _no_double() -> Unreachable:
    return Unreachable(
        "the target", "floating-point numbers", "what is admissible is narrower than they are spaced: raise the target"
    )


_RTOL = 1e-9
_MAX_NOISIER = 16  # doubles tried, each a little noisier
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
    for _ in range(_MAX_NOISIER):  # the first one, unless rounding was unlucky
        squares = [given.square(size / one) for one in Stated(number).readings]
        loss = strong(max(squares), 1, 1)
        if _keeps(loss, wanted, slip):
            most = below(size / Stated(plan.lower).most) if plan.lower else math.inf
            return NextSigma(number, most, wanted, slip, loss, plan)
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


def _epsilon(value: Any) -> float:
    # beyond it the brackets of G_mu are too wide for a search
    return checks.ranged("epsilon", value, "in [0, 1e6]", lambda number: 0 <= number <= 1e6)


def _delta(value: Any) -> float:
    number = checks.probability("delta", value)
    if number in (0.0, 1.0):
        why = "Gaussian noise has no epsilon at delta 0" if number == 0.0 else "everything holds at delta 1"
        raise InvalidParameter("delta", value, "in (0, 1)", why)
    return number
