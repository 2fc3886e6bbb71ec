"""Noises tied together by a Gaussian copula, with the guarantee that they really have.

Appendix G of seed 000 draws z_1 = eta(s) + sd n_1 and z_2, and turns them into noises by the distribution functions of
z_1 and of rho z_1 + sqrt(1 - rho^2) z_2.  These contain eta(s) again, so that it cancels: the noises are a Gaussian
copula of correlation

    r = rho sd / sqrt(rho^2 sd^2 + 1 - rho^2),

whatever the secret is.  The copula tells nothing, (0, 0), and protects nothing: what leaks is what the sums
y_i = q_i + noise_i say together.  When q given s is Gaussian with a mean that moves by Delta and a covariance C that
does not, that is exactly the test G_mu with mu^2 = Delta' (C + N)^-1 Delta, N the covariance of the noises.

The finite form, `gaussian_copula`, ties two tables P(y_1 | x), P(y_2 | x) together by such a copula.  The copula of
discrete outputs is not unique, so the table is the definition: given x, both outputs are read off two standard normals
of the given correlation, cut at the quantiles of the two rows.

Reference: theory/confounding.md section 5; seed 000, appendix G (Theorem 4 (ii) and Proposition 3 are false).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import attrs
import numpy as np
from scipy.special import ndtr, ndtri

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.compose.constructors import gdp
from quiltwork.compose.loss import Loss, compose
from quiltwork.curves.curve import BaseCurve, Ends, Question
from quiltwork.curves.guarantee import Guarantee
from quiltwork.errors import InvalidParameter
from quiltwork.kinds import document
from quiltwork.numbers.laws import laws
from quiltwork.numbers.rounding import down, up
from quiltwork.numbers.stated import rational, typed

_BITS = 200  # of the enclosure of r, at first
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
_REACH = 10.0  # beyond the last edge and 0: Phi(-10) is 8e-24 of what is left
_WINDOW = np.linspace(-9.0, 9.0, 13)  # where Phi moves, in panels of 1.5
_LONGEST = 1.0
_CHUNK = 4_000_000  # numbers held at once
_SAME = Fraction(1, 2**50)  # more than the rounding of a row's sum


def effective_correlation(rho: float, sd: float) -> float:
    """The correlation of the copula that the construction of appendix G makes; nearly 1 as soon as rho sd is large.

    >>> round(effective_correlation(0.5, 2 * math.log(100.0) / 0.1), 5)
    0.99982
    """
    slant, spread = _slant(rho), _spread(sd)
    return slant * spread / math.hypot(slant * spread, math.sqrt((1.0 - slant) * (1.0 + slant)))


def _slant(value: Any) -> float:
    hint = "at the ends the two noises are one"
    return checks.ranged("rho", value, "in (-1, 1)", lambda number: -1 < number < 1, hint)


def _spread(value: Any) -> float:
    return checks.moderate("sd", value)


def _noises(value: Any) -> tuple[float, float]:
    found = tuple(checks.moderate("noises", sd) for sd in _pair("noises", value))
    return found[0], found[1]


def _pair(name: str, value: Any) -> Sequence[Any]:
    if isinstance(value, (str, bytes)) or not hasattr(value, "__len__") or len(value) != 2:
        raise InvalidParameter(name, value, "two numbers")
    return list(value)


@document("copula/1")
@attrs.frozen
class CopulaPerturbation:
    """Two Gaussian noises of standard deviations `noises`, tied by the construction with parameters `rho` and `sd`.

    >>> tied = CopulaPerturbation(0.5, 2.0, noises=(1.0, 1.0))
    >>> round(tied.correlation, 6), round(tied.curve((1.0, -1.0)).epsilon(0.06).safe, 3)
    (0.755929, 7.76)
    """

    rho: float = attrs.field(converter=_slant)
    sd: float = attrs.field(converter=_spread)
    noises: tuple[float, float] = attrs.field(converter=_noises)

    @property
    def correlation(self) -> float:
        """The correlation of the noises, nearest float."""
        return effective_correlation(self.rho, self.sd)

    @property
    def covariance(self) -> FloatArray:
        """The covariance of the noises, nearest floats."""
        first, second = self.noises
        shared = self.correlation * first * second
        return np.array([[first**2, shared], [shared, second**2]])

    def sample(self, rng: np.random.Generator, size: int, state: float = 0.0) -> FloatArray:
        """(size, 2) draws of the noises by the construction: for simulation, not for protecting people.

        `state` is eta(s).  It enters z_1, and the distribution functions take it out again.
        """
        count, mean = checks.count("size", size), checks.real("state", state)
        first = mean + self.sd * checks.generator(rng).standard_normal(count)
        second = rng.standard_normal(count)
        rest = math.sqrt((1.0 - self.rho) * (1.0 + self.rho))
        moved = self.rho * (first - mean)
        # for Gaussian noises the inverse distribution functions only change the scale
        scores = ((first - mean) / self.sd, (moved + rest * second) / math.hypot(self.rho * self.sd, rest))
        return np.column_stack([sd * score for sd, score in zip(self.noises, scores, strict=True)])

    def mu_squared(self, shift: Any, covariance_given_secret: Any = None) -> tuple[Fraction, Fraction]:
        """Rational ends around Delta' (C + N)^-1 Delta; floats are read as the decimals that were typed.

        r^2 is rational, so the square is (u + v r) / (w + z r) with rational u, v, w, z.  Such a ratio is monotone in
        r as long as its denominator, the determinant, keeps its sign: the ends of an enclosure of r give its ends.
        """
        one, two = (_exact("shift", part) for part in _pair("shift", shift))
        known = _covariance(covariance_given_secret)
        a, b = (_exact("noises", sd) for sd in self.noises)
        slant, spread = _exact("rho", self.rho), _exact("sd", self.sd)
        square = (slant * spread) ** 2 / ((slant * spread) ** 2 + 1 - slant**2)
        first, second, shared = known[0] + a**2, known[1] + b**2, known[2]
        u, v = one**2 * second + two**2 * first - 2 * one * two * shared, -2 * one * two * a * b
        w, z = first * second - shared**2 - square * (a * b) ** 2, -2 * shared * a * b
        bits = _BITS
        while True:
            low, high = _root(square, bits)
            ends = (low, high) if slant >= 0 else (-high, -low)
            determinants = [w + z * end for end in ends]
            if min(determinants) > 0:  # and so between them; in truth it is at least (1 - r^2) a^2 b^2
                found = [(u + v * end) / bottom for end, bottom in zip(ends, determinants, strict=True)]
                if 2**64 * (max(found) - min(found)) <= max(found):
                    return min(found), max(found)
            bits *= 2

    def mu(self, shift: Any, covariance_given_secret: Any = None) -> tuple[float, float]:
        """Floats around the square root of `mu_squared`."""
        low, high = self.mu_squared(shift, covariance_given_secret)
        if high == 0:
            return 0.0, 0.0
        try:
            ends = float(low), float(high)
        except OverflowError:
            raise InvalidParameter("mu", "above 1e154", "at most 1e100") from None
        # a rounded square and its rounded root: two units, and one for who takes mu as the decimal it prints as
        return max(down(math.sqrt(ends[0]), 3), 0.0), up(math.sqrt(ends[1]), 3)

    def curve(self, shift: Any, covariance_given_secret: Any = None) -> CopulaCurve:
        """What both noisy values tell about two secrets whose means differ by `shift`; exact up to rounding."""
        return CopulaCurve(*self.mu(shift, covariance_given_secret))

    def guarantee(self, shift: Any, covariance_given_secret: Any = None) -> Guarantee:
        """That curve with its words."""
        return Guarantee(
            self.curve(shift, covariance_given_secret),
            protects="two secrets whose mean answers differ by the given shift, or by a part of it",
            assumes=(
                "the answers given the secret are Gaussian, with a covariance that does not depend on it",
                "the noises are drawn once, from the stated copula, and both noisy answers are seen",
            ),
            because=("two Gaussian laws of one covariance are a test G_mu (theory/confounding.md section 5)",),
        )


@document("copula_curve/1")
@attrs.frozen
class CopulaCurve(BaseCurve):
    """G_mu for a mu between two floats: every answer holds for all of them."""

    least: float
    most: float

    def _losses(self) -> tuple[Loss, Loss]:
        least, most = (gdp(mu) if mu > 0 else compose() for mu in (self.least, self.most))
        return least, most

    def _ends(self, question: Question) -> Ends:
        low, high = (loss._answer(question) for loss in self._losses())
        lower, upper = (high.lower, low.upper) if question.quantity == "beta" else (low.lower, high.upper)
        return Ends(np.asarray(lower), np.asarray(upper), high.method)


def _exact(name: str, value: Any) -> Fraction:
    return rational(name, value, "a finite number or a fraction")


def _covariance(value: Any) -> tuple[Fraction, Fraction, Fraction]:
    """Both variances and the covariance of the answers given the secret."""
    if value is None:
        return Fraction(0), Fraction(0), Fraction(0)
    (a, b), (c, d) = (_pair("covariance_given_secret", row) for row in _pair("covariance_given_secret", value))
    first, shared, mirrored, second = (_exact("covariance_given_secret", entry) for entry in (a, b, c, d))
    if shared != mirrored or first < 0 or second < 0 or first * second < shared**2:
        raise InvalidParameter("covariance_given_secret", value, "symmetric and positive semidefinite")
    return first, second, shared


def _root(square: Fraction, bits: int) -> tuple[Fraction, Fraction]:
    """Two rationals, 2^-bits apart, with the square root between them; one when it is that rational."""
    scaled = square * 4**bits
    floor = math.isqrt(scaled.numerator // scaled.denominator)
    exact = floor * floor == scaled
    return Fraction(floor, 2**bits), Fraction(floor if exact else floor + 1, 2**bits)


# ---- two tables tied together


def rectangles(first: FloatArray, second: FloatArray, correlation: float) -> FloatArray:
    """(n, m) probabilities between consecutive edges of Z_1 and Z_2; edges rise and may be infinite, |r| < 1.

    With s = sqrt(1 - r^2), Z_2 given Z_1 = x is N(r x, s^2), so that

        P(a < Z_1 < b, c < Z_2 < d) = integral over (a, b) of phi(x) [Phi((d - r x)/s) - Phi((c - r x)/s)] dx.

    Each term is positive: a rectangle of probability 1e-30 keeps its first digits, which a difference of four
    distribution functions would lose.  Gauss-Legendre panels end at the edges a, b, are at most 1 long and at most
    1.5 s / |r| where the bracket moves; there both factors are entire functions that 16 nodes resolve: to 1e-15, and to
    1e-11 of what is above 1e-15 (measured against 25 digits).

    Reference: Owen 1956 for the conditional form.

    >>> edges = np.array([-np.inf, 0.0, np.inf])
    >>> rectangles(edges, edges, 0.5).round(8)
    array([[0.33333333, 0.16666667],
           [0.16666667, 0.33333333]])
    """
    if correlation == 0.0:
        return np.outer(_between(first), _between(second))
    rest = math.sqrt((1.0 - correlation) * (1.0 + correlation))
    ends = _panels(first, second, correlation, rest)
    half, middle = 0.5 * np.diff(ends), 0.5 * (ends[1:] + ends[:-1])
    cell = np.searchsorted(first, middle) - 1
    found = np.zeros((len(first) - 1, len(second) - 1))
    chunk = max(1, _CHUNK // (_NODES.size * len(second)))
    for at in range(0, middle.size, chunk):
        part = slice(at, at + chunk)
        places = middle[part, None] + half[part, None] * _NODES
        with np.errstate(under="ignore"):
            weights = half[part, None] * _WEIGHTS * np.exp(-0.5 * places**2) / math.sqrt(2.0 * math.pi)
            given = _between((second - correlation * places[:, :, None]) / rest)
            np.add.at(found, cell[part], np.einsum("pn,pnm->pm", weights, given))
    return found


def _between(edges: FloatArray) -> FloatArray:
    """Phi(t_j+1) - Phi(t_j) along the last axis, from the tail that is nearer."""
    below, above = ndtr(edges), ndtr(-edges)
    right = edges[..., :-1] > 0
    answer: FloatArray = np.where(right, above[..., :-1] - above[..., 1:], below[..., 1:] - below[..., :-1])
    return answer


def _panels(first: FloatArray, second: FloatArray, correlation: float, rest: float) -> FloatArray:
    """Ends of the panels: the edges, a mesh, and windows around second / r when these are fewer than a fine mesh."""
    inner = first[np.isfinite(first)]
    low, high = min(float(np.min(inner, initial=0.0)), 0.0), max(float(np.max(inner, initial=0.0)), 0.0)
    low = low - _REACH if first[0] == -np.inf else float(first[0])
    high = high + _REACH if first[-1] == np.inf else float(first[-1])
    scale = rest / abs(correlation)
    turns = second[np.isfinite(second)]
    step = min(_LONGEST, 1.5 * scale)
    extra: FloatArray = np.zeros(0)
    if (high - low) / step > (high - low) / _LONGEST + _WINDOW.size * turns.size:
        step, extra = _LONGEST, (turns[:, None] / correlation + scale * _WINDOW).ravel()
    mesh = np.linspace(low, high, 1 + math.ceil((high - low) / step))
    ends = np.unique(np.concatenate((mesh, inner, extra)))
    return ends[(ends >= low) & (ends <= high)]


def gaussian_copula(first: Any, second: Any, correlation: float) -> FloatArray:
    """The joint table (X, Y_1 Y_2) of two channels whose noises are tied by a Gaussian copula given x.

    Row x holds the probabilities of the rectangles between the normal quantiles of the two rows' distribution
    functions, with the outputs in their given order; columns run over (y_1, y_2) like itertools.product.  Correlations
    1 and -1 are the comonotone and the countermonotone coupling.  The table is what is released and accounted: it is
    nonnegative, its rows sum to 1 and its marginals are the given ones up to rounding; what is below the least double
    is impossible in it.

    Reference: theory/confounding.md section 5.

    >>> gaussian_copula([[0.5, 0.5]], [[0.3, 0.7]], 1.0)
    array([[0.3, 0.2, 0. , 0.5]])
    """
    slant = checks.ranged("correlation", correlation, "in [-1, 1]", lambda number: -1 <= number <= 1)
    one = laws("first", first, row_word="value of the data")
    two = laws("second", second, one.shape[0], row_word="value of the data")
    couple = _coupled if abs(slant) == 1 else _tied
    # the stated numbers where they are known exactly; floats otherwise
    given = [table.values if table.exact is None else table.exact for table in (one, two)]
    return np.array([_whole(couple(p, q, slant).ravel()) for p, q in zip(*given, strict=True)])


def _whole(row: FloatArray) -> FloatArray:
    """The row divided by its sum; what rounding leaves of that goes to the largest entry, so that the sum is 1."""
    found = row / math.fsum(row)
    largest = np.argmax(found)
    for _ in range(3):  # above 1 doubles are twice as far apart as below
        found[largest] += 1.0 - math.fsum(found)
    return found


def _tied(p: Any, q: Any, correlation: float) -> FloatArray:
    rows, columns = p.astype(float), q.astype(float)
    table = rectangles(_quantiles(rows), _quantiles(columns), correlation)
    for _ in range(2):  # takes out the rounding of the quantiles: marginals as given
        table = table * _ratio(columns, table.sum(axis=0))
        table = table * _ratio(rows, table.sum(axis=1))[:, None]
    return table


def _quantiles(law: FloatArray) -> FloatArray:
    """Normal quantiles of the distribution function, each from the side on which it is small."""
    below = np.concatenate(([0.0], np.cumsum(law)))
    above = np.concatenate((np.cumsum(law[::-1])[::-1], [0.0]))
    left = np.where(below <= above, ndtri(np.minimum(below, 0.5)), -ndtri(np.minimum(above, 0.5)))
    return np.maximum.accumulate(left)


def _ratio(wanted: FloatArray, found: FloatArray) -> FloatArray:
    answer: FloatArray = np.where(found > 0, wanted / np.where(found > 0, found, 1.0), 0.0)
    return answer


def _coupled(p: Any, q: Any, correlation: float) -> FloatArray:
    """Mass handed out in order along p, and along q or against it."""
    rows = [typed(entry) for entry in p]
    columns = [typed(entry) for entry in (q if correlation > 0 else q[::-1])]
    table, i, j, left, right = np.zeros((len(rows), len(columns))), 0, 0, rows[0], columns[0]
    while True:
        mass = min(left, right)
        table[i, j] = float(mass)
        left, right = left - mass, right - mass
        row_done, column_done = _spent(left, rows[i]), _spent(right, columns[j])
        i, j = i + row_done, j + column_done
        if i == len(rows) or j == len(columns):
            return table if correlation > 0 else table[:, ::-1]
        left, right = rows[i] if row_done else left, columns[j] if column_done else right


def _spent(rest: Fraction, entry: Fraction) -> bool:
    """Whether an entry is used up.  A hair left of one that was used is the rounding of the table, not an outcome."""
    return rest == 0 or (rest <= _SAME and rest < entry)
