"""The mean S of t likelihood ratios of Gaussian steps in more digits than doubles have.

E(v - S)+ = (1/2 pi i) int_(Re z = c) e^(zv) Lam(z/t)^t z^-2 dz by the trapezoid rule on a vertical line, in extended
precision (64 bits); each value on two lines with other steps and another inner rule, and known to as much as they
agree. Where a line would be too long it is bent, twice, in two ways.

The library integrates in doubles, over hyperbolas of its own, and for v > 1 with the pole taken out.

Reference: theory/sampling.md section 7.1 (i) and 7.2.
"""

import math

import numpy as np

from .numbers import Refused, mp

EXTENDED = np.finfo(np.longdouble).eps < 1e-18
PI = np.longdouble("3.14159265358979323846264")
ALIAS = 48.0  # log of what the alias is smaller by
MAX_NODES = 2048
REACH = 11.0


def transform(z, s, step, most):
    """E e^(-zX) on an array; the path is turned by at most `most`, so that e^(turn^2/2) stays small."""
    s = np.longdouble(s)
    angle = np.angle(z).astype(np.longdouble)
    turn = np.minimum(angle / s, np.longdouble(most))[:, None]
    left = _centre(float(np.abs(z).max()), float(s)) - REACH
    h = np.longdouble(step)
    x = h * np.arange(math.floor(left / step), math.ceil((REACH + float(s)) / step) + 1).astype(np.longdouble)
    y = x[None, :] - 1j * turn
    with np.errstate(all="ignore"):
        terms = np.exp(-y * y / 2 - z[:, None] * np.exp(s * y - s * s / 2))
    return terms.sum(axis=1) * (h / np.sqrt(2 * PI))


def _centre(rate, s):
    low, high = -60.0, 0.0
    for _ in range(50):
        x = 0.5 * (low + high)
        low, high = (low, x) if x + rate * s * math.exp(s * x - s * s / 2) > 0 else (x, high)
    return low


def _saddle(s, t, v, k):
    """The abscissa where e^(cv) Lam(c/t)^t c^-k is least, and the log of that."""
    c = np.geomspace(1e-3 / max(v, 1.0), 60.0 * t / s, 160)
    logs = (
        c * v - k * np.log(c) + t * np.log(np.maximum(transform(c / t + 0j, s, 0.05, 0.0).real.astype(float), 1e-300))
    )
    at = int(np.argmin(logs))
    return float(c[at]), float(logs[at])


def line(s, t, v, k, factor=1.0, step=None):
    """I_k(v) on one line, and the size that its rounding is relative to."""
    c, log = _saddle(s, t, v, k)
    c *= factor
    period = (ALIAS + max(-log, 0.0) + math.log1p(v + 60 / c)) / c
    eta = np.longdouble(2 * math.pi / period)
    h = (step or 0.06) / max(s, 0.5)
    total, size, done = np.longdouble(0), np.longdouble(0), 0
    while done < MAX_NODES:
        z = c + 1j * eta * np.arange(done, done + 128).astype(np.longdouble)
        value = np.exp(t * np.log(transform(z / t, s, h, 2.0)) + z * np.longdouble(v)) / z**k
        if done == 0:
            value[0] *= np.longdouble(0.5)
        total, size, done = total + value.real.sum(), size + np.abs(value).sum(), done + 128
        if abs(value[-1]) * 128 < 1e-20 * size:
            return total * eta / PI, size * eta / PI
    raise Refused(f"a line of more than {MAX_NODES} nodes: s {s}, t {t}, v {v}")


def bent(s, t, v, k, bend, h, step):
    """I_k(v) on a hyperbola: heavy tails."""
    c = _saddle(s, t, v, k)[0]
    m, h = np.longdouble(c / (1 - math.sin(bend))), np.longdouble(h)
    sine, cosine = np.sin(np.longdouble(bend)), np.cos(np.longdouble(bend))
    total, size, done = np.longdouble(0), np.longdouble(0), 0
    while done < MAX_NODES:
        u = h * np.arange(done, done + 128).astype(np.longdouble)
        z = m * (1 - sine * np.cosh(u) + 1j * cosine * np.sinh(u))
        slope = m * (-sine * np.sinh(u) + 1j * cosine * np.cosh(u))
        value = (
            np.exp(t * np.log(transform(z / t, s, step / max(s, 0.5), 2.0)) + z * np.longdouble(v)) / z**k * slope / 1j
        )
        if done == 0:
            value[0] *= np.longdouble(0.5)
        total, size, done = total + value.real.sum(), size + np.abs(value).sum(), done + 128
        if abs(value[-1]) * 128 < 1e-20 * size:
            return total * h / PI, size * h / PI
    raise Refused(f"a hyperbola of more than {MAX_NODES} nodes: s {s}, t {t}, v {v}")


def ends(s, t, v, k=2):
    """Lower and upper ends of I_k(v), as far as two lines agree."""
    if not EXTENDED:
        raise Refused("no extended precision here")
    try:
        first, size = line(s, t, v, k)
        second, other = line(s, t, v, k, 1.23, 0.051)
    except Refused:
        first, size = bent(s, t, v, k, 0.3, 0.035, 0.06)
        second, other = bent(s, t, v, k, 0.22, 0.024, 0.051)
    wrong = 2 * abs(first - second) + np.longdouble(2e-18) * max(size, other)
    if not wrong < 1e-12 * size:
        raise Refused(f"two lines differ: {first} and {second}")
    middle = (first + second) / 2
    return _exact(middle - wrong), _exact(middle + wrong)


def delta_ends(s, t, epsilon, removed):
    """Ends of the hockey-stick divergence at epsilon."""
    tau = mp.exp(mp.mpf(epsilon))
    v = float(tau if removed else 1 / tau)
    low, high = ends(s, t, v)
    if removed:  # v is rounded: E(S - v)+ has a slope between -1 and 0
        slip = abs(tau - v)
        return max(low - (mp.mpf(v) - 1) - slip, mp.zero), high - (mp.mpf(v) - 1) + slip
    slip = (
        abs(1 / tau - v) * (60 * t / s + 2 / v) / v
    )  # relative; the slope of log E(v - S)+ is at most the abscissa's end
    return low * tau * (1 - slip), high * tau * (1 + slip)


class Epochs:
    """Several independent epochs: delta_k(e) = sum w_i delta_(k-1)(e - l_i) on equally spaced losses.

    Density and divergence are analytic: the trapezoid rule over all losses converges exponentially. P density of
    l = log S: v^2 times the Q density of S at v = e^l.
    """

    def __init__(self, s, t, step, low, high):
        self.s, self.t, self.step = s, t, step
        index = np.arange(math.floor(low / step), math.ceil(high / step) + 1)
        self.index = index
        density = np.array([_middle(ends(s, t, math.exp(step * i), 0)) for i in index.tolist()], dtype=np.longdouble)
        losses = np.longdouble(step) * index
        self.removed = density * np.exp(2 * losses) * step
        self.added = (density * np.exp(losses) * step)[::-1]  # L = -log S under Q
        if max(abs(float(self.removed.sum()) - 1), abs(float(self.added.sum()) - 1)) > 1e-12:
            raise Refused("masses do not sum to 1")

    def delta(self, epsilon, count, removed):
        """About the divergence of `count` epochs; what it is off by is some 1e-14."""
        weights, index = (self.removed, self.index) if removed else (self.added, -self.index[::-1])
        places = np.arange(-count * int(index[-1]) - 1, -count * int(index[0]) + 2)
        single = np.array([self._one(epsilon + self.step * n, removed) for n in places.tolist()], dtype=np.longdouble)
        for _ in range(count - 1):
            # new[n] = sum_i w_i old[n - i]; whatever lies outside of the places is never asked for
            found = np.zeros(places.size, dtype=np.longdouble)
            for i, weight in zip(index.tolist(), weights, strict=True):
                shifted = np.clip(np.arange(places.size) - i, 0, places.size - 1)
                found += weight * single[shifted]
            single = found
        return float(single[int(np.nonzero(places == 0)[0][0])])

    def _one(self, epsilon, removed):
        tau = math.exp(epsilon)
        v = tau if removed else 1 / tau
        if abs(epsilon) > 12:
            return 0.0 if epsilon > 0 else -math.expm1(epsilon)
        low, high = ends(self.s, self.t, v)
        value = (low + high) / 2
        return float(value - (mp.mpf(v) - 1) if removed else value * tau)


def _middle(pair):
    return np.longdouble(mp.nstr((pair[0] + pair[1]) / 2, 22))


def _exact(value):
    """A number of extended precision without loss."""
    mantissa, exponent = np.frexp(value)
    return mp.ldexp(mp.mpf(int(np.ldexp(mantissa, 64))), int(exponent) - 64)
