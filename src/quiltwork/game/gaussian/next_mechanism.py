"""The next mechanism on a statistic, as strong as a total target allows: exact, also for correlated noise.

Four mechanisms at eps are out, everything together shall stay at 5 eps: the fifth may have sqrt(25 - 4) eps.  In
general (see `correlations`) the total with a fifth at x is

    total^2 = e'Qe + (x - r'Qe)^2 / s,

so x may lie in [r'Qe - w, r'Qe + w] with w = sqrt(s (T^2 - e'Qe)), cut at 0.  The lower end matters: noise that is
correlated with the others' and much larger is nearly known from the release itself, and takes the others' noise away.
Then a noisier release can break a target that a more accurate one keeps, and only no release at all is free.

Reference: theory/game.md section 5; seed 004, appendix P.6 (where a network searches for the fifth epsilon).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import attrs

from quiltwork.compose.loss import Loss
from quiltwork.curves.bracket import Bracket
from quiltwork.errors import Unreachable
from quiltwork.game.gaussian.correlations import Forms, forms, positives
from quiltwork.game.gaussian.total import EXISTING, bracket, strong
from quiltwork.kinds import document
from quiltwork.numbers.digits import at_least, at_most, single
from quiltwork.numbers.stated import Stated, exactly, root, typed

__all__ = ["NextMechanism", "next_mechanism"]

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
