"""Totals of bounded entries, how far one changed, added or removed entry can move them, and noise on them."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import attrs

from quiltwork import checks
from quiltwork.compose.constructors import discrete_gaussian, discrete_laplace, zcdp
from quiltwork.compose.constructors import laplace as continuous_laplace
from quiltwork.compose.loss import Loss
from quiltwork.errors import InvalidParameter
from quiltwork.kinds import document
from quiltwork.losses.families.discrete import LEAST_NOISE, MOST_ATOMS
from quiltwork.losses.family import NEIGHBORS, marked, origin, unmarked
from quiltwork.mechanisms import sampling
from quiltwork.mechanisms.release import Noise, Release
from quiltwork.mechanisms.scales import certified_scale, certified_sigma, exact_decimal, stated
from quiltwork.numbers.stated import Stated, above, typed

MIN_INTEGER, MAX_INTEGER = -(2**63), 2**63 - 1  # what the sampler's integers hold
MAX_FLOAT_TOTAL = 1e300  # of a total of doubles, so that none overflows
MOST_INT = 10**300
MOST_SIGMA = 1e15  # that can be written exactly
EMPTY = "an empty list has no entry to protect"


@attrs.frozen
class Total:
    """A number computed from the data, and the most that one change of them moves it: both int, or both float."""

    value: int | float
    sensitivity: int | float

    @property
    def neighbors(self) -> str | None:
        """The change that the sensitivity was worked out for: add_remove or replace_one; None if it was only typed."""
        return origin(self.sensitivity)

    def __attrs_post_init__(self) -> None:
        if whole(self.value):
            checked_integer("total", self.value)
            checks.count("sensitivity", self.sensitivity, least=1)
        else:
            checked_float("total", self.value)
            if not isinstance(self.sensitivity, float):
                allowed = "a float, as the total is"
                raise InvalidParameter("sensitivity", self.sensitivity, allowed, "such as 1.0; integer totals take int")
            checks.moderate("sensitivity", self.sensitivity)


def _read(value: int | float, sensitivity: int | float, neighbors: str | None = None) -> Total:
    if neighbors not in (None, *NEIGHBORS):
        raise InvalidParameter("neighbors", neighbors, "one of " + ", ".join(map(repr, NEIGHBORS)))
    return Total(value, marked(sensitivity, neighbors))


document(
    "total/1",
    fields="value sensitivity",
    optional="neighbors",
    write=lambda total: {
        "value": total.value,
        "sensitivity": unmarked(total.sensitivity),
        "neighbors": total.neighbors,
    },
    read=_read,
)(Total)


def whole(value: Any) -> bool:
    """Whether this is an integer and no boolean."""
    if isinstance(value, bool):
        return False
    try:
        operator.index(value)
    except TypeError:
        return False
    return True


def checked_integer(name: str, value: Any) -> int:
    """An integer that the sampler can hold."""
    if not whole(value) or not MIN_INTEGER <= operator.index(value) <= MAX_INTEGER:
        raise InvalidParameter(name, value, "an integer in [-2**63, 2**63 - 1]")
    return operator.index(value)


def checked_float(name: str, value: Any) -> float:
    """A finite float; other kinds of numbers would be rounded on the way in, which sensitivities do not know of."""
    try:
        number = float(value) if value.dtype.kind == "f" and value.ndim == 0 else math.nan
    except AttributeError:
        number = value if isinstance(value, float) else math.nan
    if not abs(number) <= MAX_FLOAT_TOTAL:
        raise InvalidParameter(name, value, "an int, or a finite float of size up to 1e300")
    return number


def bounded_sum(values: Iterable[Any], low: Any, high: Any, neighbors: str = "replace_one") -> Total:
    """The sum of the entries, each first moved into [low, high], and how far one change of the data moves it.

    `neighbors` is that change. "replace_one": an entry turns into another, which moves the sum by high - low; the
    number n of entries is public. "add_remove": an entry comes or goes, which moves it by max(|low|, |high|). Neither
    is a bound for the other: in [10, 12] they are 2 and 12. The sensitivity remembers its change, and a plan of tables
    refuses a loss that is said to hold for another one.

    Integers (all of them, and both ends) are added exactly. Floats are added exactly and rounded once; the two
    roundings of neighbouring sums add one unit in the last place of n max(|low|, |high|), which is counted in the
    sensitivity. That tells n, so that floats are for replaced entries only; for entries that come and go, count in
    whole units.

    Reference: Casacuberta et al. 2022 (sums in floating point have more sensitivity than sums).

    >>> bounded_sum([3, -1, 12], 0, 10)
    Total(value=13, sensitivity=10)
    >>> bounded_sum([11, 12, 10], 10, 12).sensitivity, bounded_sum([11, 12, 10], 10, 12, "add_remove").sensitivity
    (2, 12)
    """
    if neighbors not in NEIGHBORS:
        raise InvalidParameter("neighbors", neighbors, "one of " + ", ".join(map(repr, NEIGHBORS)))
    try:
        entries = list(values)
    except TypeError:
        raise InvalidParameter("values", values, "a list of numbers") from None
    if not entries and neighbors == "replace_one":
        raise InvalidParameter("values", values, "a list of numbers", EMPTY)
    if whole(low) and whole(high):
        total, reach = _integer_sum(entries, operator.index(low), operator.index(high), neighbors)
        return Total(total, marked(reach, neighbors))
    if neighbors == "add_remove":
        hint = "how a sum of floats is rounded tells how many there are; with whole ends integers are added"
        raise InvalidParameter("low and high", (low, high), "whole numbers for entries that come and go", hint)
    real, span = _float_sum(entries, _number("low", low), _number("high", high))
    return Total(real, marked(span, neighbors))


def _number(name: str, value: Any) -> float:
    """An int or a float as a double; an int too large to be one exactly is rounded, entry by entry."""
    return float(min(max(operator.index(value), -MOST_INT), MOST_INT)) if whole(value) else checked_float(name, value)


def _ends(low: Any, high: Any) -> None:
    if not low < high:
        raise InvalidParameter("low and high", (low, high), "two different numbers in increasing order")


def _integer_sum(entries: list[Any], low: int, high: int, neighbors: str) -> tuple[int, int]:
    _ends(low, high)
    if len(entries) * max(abs(low), abs(high)) > MAX_INTEGER:
        raise InvalidParameter("low and high", (low, high), "small enough for a sum below 2**63")
    if not all(whole(entry) for entry in entries):
        wrong = next(entry for entry in entries if not whole(entry))
        raise InvalidParameter("values", wrong, "integers", "with float ends, floats are added")
    total = sum(min(max(operator.index(entry), low), high) for entry in entries)
    return total, high - low if neighbors == "replace_one" else max(abs(low), abs(high))


def _float_sum(entries: list[Any], low: float, high: float) -> tuple[float, float]:
    _ends(low, high)
    most = len(entries) * Fraction(max(abs(low), abs(high)))
    if most > Fraction(MAX_FLOAT_TOTAL):
        raise InvalidParameter("low and high", (low, high), "small enough for a sum below 1e300")
    clean = [min(max(_number("values", entry), low), high) for entry in entries]
    rounding = Fraction(math.ulp(above(most)))
    return math.fsum(clean), above(Fraction(high) - Fraction(low) + rounding)


def total_of(total: Any, sensitivity: Any) -> Total:
    """The total and its sensitivity, checked to be of one kind."""
    if isinstance(total, Total):
        if sensitivity is not None:
            raise InvalidParameter("sensitivity", sensitivity, "left out", "the total brings its own")
        return total
    if sensitivity is None:
        allowed = "the most that one change of the data moves the total"
        raise InvalidParameter("sensitivity", None, allowed, "or give the total as bounded_sum(values, low, high)")
    return Total(total, sensitivity)


def _reach(sensitivity: Any) -> int | float:
    """The sensitivity of a total of integers, or of floats."""
    if whole(sensitivity):
        return marked(checks.count("sensitivity", sensitivity, least=1), origin(sensitivity))
    return marked(checks.moderate("sensitivity", sensitivity), origin(sensitivity))


def laplace_loss(scale: Any, sensitivity: Any) -> Loss:
    """The loss of Laplace noise on a total of this sensitivity; an int says that the total is an integer.

    Integers: the discrete Laplace, exactly. More scale is never worse (the noise is then the sum of the noise of the
    smaller scale and another), nor is a smaller shift (likelihood ratios are monotone).
    Floats: discrete noise on a lattice of step h. With e = sensitivity / scale and a = h / scale, its privacy profile
    meets the Laplace profile 1 - e^((x - e) / 2) at losses x that are 2a apart, and is linear in u = e^x between. The
    chord of sqrt(u) there is at least sqrt(u) / cosh(a / 2), and 2 log cosh(a / 2) <= min(a, a^2 / 4): so the Laplace
    mechanism of sensitivity + min(h, h a / 4) dominates. It is what is claimed, with the sensitivity rounded up; also
    for integers of sensitivity 500000 and more.
    """
    scale, reach = stated("scale", scale), _reach(sensitivity)
    if isinstance(reach, float):
        return _dominating(scale, Stated(reach).most + Fraction(sampling.GRANULARITY), origin(reach))
    if reach < MOST_ATOMS:
        return discrete_laplace(scale, reach)
    return _dominating(scale, Fraction(reach) + min(Fraction(1), 1 / (4 * typed(scale))), origin(reach))


def _dominating(scale: float, sensitivity: Fraction, known: str | None) -> Loss:
    """A Laplace mechanism whose epsilon is no smaller than sensitivity / scale, in doubles and in decimals."""
    least = sensitivity / typed(scale)
    reach = float(sensitivity)
    while Fraction(reach / scale) < least or typed(reach) / typed(scale) < least:
        reach = math.nextafter(reach, math.inf)
    return continuous_laplace(scale, marked(reach, known))


def laplace(total: int | float | Total, scale: float, sensitivity: int | float | None = None) -> Release[int | float]:
    """The total plus Laplace noise of this scale.

    An int total needs an int sensitivity, a float total a float one. Everything is checked, and the loss is known,
    before anything is drawn.
    """
    given = total_of(total, sensitivity)
    scale = stated("scale", scale)
    loss = laplace_loss(scale, given.sensitivity)
    size = Stated(scale).above
    if whole(given.value):
        return Release(sampling.discrete_laplace([int(given.value)], size)[0], loss, Noise("discrete Laplace", size))
    value = sampling.lattice_laplaces([float(given.value)], size)[0]
    return Release(value, loss, Noise("Laplace on multiples of 2^-1074", size))


def laplace_scale(epsilon: Any, sensitivity: Any) -> float:
    """The least scale, up to a few units in the last place, whose certified epsilon is at most the one asked for."""
    epsilon, reach = checks.moderate("epsilon", epsilon), _reach(sensitivity)
    return certified_scale(lambda scale: laplace_loss(scale, reach), typed(reach) / typed(epsilon), epsilon)


def _exact(sigma: float, sensitivity: int) -> bool:
    """Whether the exact loss is known: of every sigma that can be written exactly and hides something."""
    return sigma <= MOST_SIGMA and sensitivity <= LEAST_NOISE * sigma


def integer_sigma(sigma: float, sensitivity: int) -> float:
    """The sigma that is drawn on integers: exact in decimals where the exact loss is claimed."""
    return exact_decimal(sigma) if _exact(sigma, sensitivity) else Stated(sigma).above


def gaussian_loss(sigma: Any, sensitivity: Any) -> Loss:
    """The loss of Gaussian noise on a total of this sensitivity; an int says that the total is an integer.

    Integers: the discrete Gaussian's exact loss, of the sigma that is drawn (`exact_decimal`: up to 5e-5 above the one
    given, from 1 on). A smaller shift is never worse, since likelihood ratios are monotone. For floats only
    zero-concentrated privacy is claimed, with rho = sensitivity^2 / (2 sigma^2), which discrete Gaussian noise has on
    every lattice.

    Reference: Canonne, Kamath and Steinke 2020, Theorem 4.
    """
    sigma, reach = stated("sigma", sigma), _reach(sensitivity)
    if isinstance(reach, int) and _exact(sigma, reach):
        return discrete_gaussian(exact_decimal(sigma), reach)
    most = Stated(reach).most if isinstance(reach, float) else Fraction(reach)
    return zcdp(marked(above((most / typed(sigma)) ** 2 / 2), origin(reach)))


def gaussian(total: int | float | Total, sigma: float, sensitivity: int | float | None = None) -> Release[int | float]:
    """The total plus Gaussian noise of this standard deviation.

    An int total needs an int sensitivity, a float total a float one. Everything is checked, and the loss is known,
    before anything is drawn.
    """
    given = total_of(total, sensitivity)
    sigma = stated("sigma", sigma)
    loss = gaussian_loss(sigma, given.sensitivity)
    if whole(given.value):
        size = integer_sigma(sigma, int(given.sensitivity))
        return Release(sampling.discrete_gaussian([int(given.value)], size)[0], loss, Noise("discrete Gaussian", size))
    size = Stated(sigma).above
    value = sampling.lattice_gaussians([float(given.value)], size)[0]
    return Release(value, loss, Noise("Gaussian on multiples of 2^-1074", size))


def gaussian_sigma(epsilon: Any, delta: Any, sensitivity: Any) -> float:
    """Nearly the least sigma whose certified epsilon at delta is at most the one asked for."""
    start = float(checks.moderate("sensitivity", sensitivity))
    return certified_sigma(lambda sigma: gaussian_loss(sigma, sensitivity), epsilon, delta, start)
