"""Integrals of e^(-x^2/2) over a window [a, b], relative to the integrand at a point of the window.

With W = integral over [a, b] of e^(-(x^2 - r^2)/2) dx and the reference r the point of the window nearest zero,

    outside   r = a >= 0:    W = M(a) - e^(-(b - a)(a + b)/2) M(b),  M(x) = sqrt(pi/2) erfcx(x / sqrt 2);
    inside    r = 0:         W = sqrt(2 pi) (1 - Phi(a) - Phi(-b));
    short     r = m = (a + b)/2, length 2h:   W = 2h sum of c_j(h) (m h)^(2j)/(2j)!,
              c_j = integral over (0, 1) of s^(2j) e^(-(h s)^2/2) ds,

and b <= 0 is the mirror image.  The short form serves h <= 1/2 and |m| h <= 1; all its terms are positive, and what it
leaves out is below 1e-17 of it.  Elsewhere P(X > b | X > a) <= e^-0.79 outside, and inside W/sqrt(2 pi) >= 0.34 (a < 0,
b - a > 1), so that the subtraction loses less than a factor of four: with erfcx right to 16 units and the exponent
(b - a)(a + b)/2 to 6 units of itself, W is right to `OWN` units for the numbers a, b, m, h that it is given.

When these are off by e_a and e_b, log W moves by at most `lever`: its derivative is -E[x - r] outside, at most
1/max(1, |a|) in size, phi(a)/D and phi(b)/D inside, D = Phi(b) - Phi(a), and below h for the short form.

Reference: theory/confounding.md section 1; the factor phi(r) is taken out so that windows far out keep their digits.
"""

from __future__ import annotations

import math

import attrs
import numpy as np
from scipy.special import erfcx

from quiltwork.checks import FloatArray

ZERO, LOW, HIGH, MIDDLE = 0, 1, 2, 3  # where the reference lies
OWN = 128.0
SHORT, FLAT = 1.0, 2.0  # a short form needs length <= SHORT and |middle| * length <= FLAT
ROOT2 = math.sqrt(2.0)
WHOLE, HALF = math.sqrt(2.0 * math.pi), math.sqrt(0.5 * math.pi)
EVEN, TERMS = 9, 13
_J, _K = np.arange(EVEN)[:, None], np.arange(TERMS)[None, :]
# c_j/(2j)! = sum over k of (-h^2/2)^k / (k! (2j + 2k + 1) (2j)!)
_SERIES = np.array([
    [(-0.5) ** k / (math.factorial(k) * (2 * j + 2 * k + 1) * math.factorial(2 * j)) for k in range(TERMS)]
    for j in range(EVEN)
])  # fmt: skip


@attrs.frozen(eq=False)
class Window:
    """log W, where its reference lies, and the density at both ends over W (zero where the short form was used).

    `low` and `high` are phi(a)/(Phi(b) - Phi(a)) and phi(b)/(Phi(b) - Phi(a)); `mean` is E[x - m] of the short form.
    """

    log: FloatArray
    reference: np.ndarray
    low: FloatArray
    high: FloatArray
    gap: FloatArray
    mean: FloatArray


def window(a: FloatArray, b: FloatArray, middle: FloatArray, length: FloatArray) -> Window:
    """For (k, n) ends and middles and a (k, 1) column of lengths; ends may be infinite, the middle then is anything.

    The length is given besides the ends, since b - a would lose the digits of a short window.
    """
    shape = a.shape
    spans = np.broadcast_to(length, shape)
    log, reference = np.empty(shape), np.full(shape, MIDDLE, dtype=np.int8)
    low, high, gaps, mean = (np.zeros(shape) for _ in range(4))
    with np.errstate(invalid="ignore", over="ignore", under="ignore", divide="ignore"):
        short = (spans <= SHORT) & (np.abs(middle) * spans <= FLAT)
        rows = np.flatnonzero(short.any(axis=1))
        if rows.size:
            half = 0.5 * length[rows]
            log[rows], mean[rows] = _short(half, middle[rows] * half)
        rest = ~short
        if bool(rest.any()):
            first, last, between, span = a[rest], b[rest], middle[rest], spans[rest]
            flip = between < 0
            near, far = np.where(flip, -last, first), np.where(flip, -first, last)
            inside = near < 0
            gap = np.where(inside, 0.5 * far * far, span * np.abs(between))
            at_near = np.where(inside, np.exp(-0.5 * near * near), 1.0)
            at_far = np.exp(-gap)
            mills, other = HALF * erfcx(np.abs(near) / ROOT2), at_far * (HALF * erfcx(far / ROOT2))
            size = np.where(inside, WHOLE - at_near * mills, mills) - other
            log[rest] = np.log(size)
            reference[rest] = np.where(inside, ZERO, np.where(flip, HIGH, LOW))
            at_near, at_far = at_near / size, at_far / size
            low[rest], high[rest] = np.where(flip, at_far, at_near), np.where(flip, at_near, at_far)
            gaps[rest] = np.where(np.isfinite(gap), gap, 0.0)
    return Window(log, reference, low, high, gaps, mean)


def _short(half: FloatArray, tilt: FloatArray) -> tuple[FloatArray, FloatArray]:
    """log W and E[x - m] = -h S'/S for S = sum of c_j tilt^(2j)/(2j)!, tilt = m h."""
    terms = (half * half) ** _K @ _SERIES.T  # (rows, EVEN)
    square = np.minimum(tilt * tilt, 1.0)  # beyond, another form is used
    total, slope = terms[:, -1:] * np.ones_like(square), (2.0 * EVEN - 2.0) * terms[:, -1:] * np.ones_like(square)
    for j in range(EVEN - 2, -1, -1):
        total = total * square + terms[:, j : j + 1]
        if j:
            slope = slope * square + 2.0 * j * terms[:, j : j + 1]
    return np.log(2.0 * half * total), -half * np.clip(tilt, -1.0, 1.0) * slope / total


def lever(
    a: FloatArray, b: FloatArray, length: FloatArray, reference: np.ndarray, error_a: FloatArray, error_b: FloatArray
) -> FloatArray:
    """How far log W may move when a and b are off by their errors (the middle by at most their sum)."""
    ends = 4.0 * (error_a / np.maximum(1.0, np.abs(a)) + error_b / np.maximum(1.0, np.abs(b)))
    with np.errstate(invalid="ignore"):
        short = length * (error_a + error_b)
    return np.where(reference == MIDDLE, short, ends)
