"""Naive many-digit laws of single releases: the definitions, written down without any care for speed.

A law knows its tails under P and Q, its hockey stick as their plain difference (with digits to spare for the
cancellation), and M(z) = E_P[e^(zL); L < inf] as a sum or a trapezoid rule in the outcome.
"""

import functools

import mpmath
import numpy as np

mp = mpmath.mp.clone()
mp.dps = 50


class Law:
    """What every law can say; subclasses give `tails`, `mgf` and, where there are any, `atoms`."""

    reveal = vanish = mp.zero

    def tails(self, loss):
        """P(loss < L < inf) and Q(L > loss)."""
        raise NotImplementedError

    def below(self, loss):
        """P(L <= loss) and Q(-inf < L <= loss)."""
        p, q = self.tails(loss)
        return 1 - self.reveal - p, 1 - self.vanish - q

    def stick(self, loss):
        """E_P[(1 - e^(loss - L))+; L < inf]."""
        with mp.workdps(400):
            p, q = self.tails(loss)
            return p - mp.exp(mp.mpf(loss)) * q

    def complement(self, loss):
        """E_P[min(1, e^(loss - L)); L < inf]."""
        with mp.workdps(400):
            return self.below(loss)[0] + mp.exp(mp.mpf(loss)) * self.tails(loss)[1]

    def atoms(self):
        """(loss, P mass, Q mass) of the atoms."""
        return []

    def cell(self, a, b):
        """P mass of the continuous part in (a, b] and E_P[1 - e^(a-L); a < L <= b] of it."""
        with mp.workdps(400):
            (pa, qa), (pb, qb) = self.tails(a), self.tails(b)
            p, q = pa - pb, qa - qb
            for loss, mass, other in self.atoms():
                if a < loss <= b:
                    p, q = p - mass, q - other
            return p, p - mp.exp(mp.mpf(a)) * q


class Gaussian(Law):
    """N(mu, 1) against N(0, 1)."""

    def __init__(self, mu):
        self.mu = mp.mpf(mu)

    def tails(self, loss):
        mu = self.mu
        return mp.ncdf(mu / 2 - loss / mu), mp.ncdf(-mu / 2 - loss / mu)

    def below(self, loss):
        mu = self.mu
        return mp.ncdf(loss / mu - mu / 2), mp.ncdf(loss / mu + mu / 2)

    def mgf(self, z):
        return mp.exp(self.mu**2 * z * (z + 1) / 2)


class Laplace(Law):
    """Atoms at both ends of [-e, e] and the density e^((l-e)/2)/4 between."""

    def __init__(self, top):
        self.top = mp.mpf(top)

    def tails(self, loss):
        e, loss = self.top, mp.mpf(loss)
        if loss >= e:
            return mp.zero, mp.zero
        if loss < -e:
            return mp.one, mp.one
        return 1 - mp.exp((loss - e) / 2) / 2, mp.exp(-(loss + e) / 2) / 2

    def atoms(self):
        half, small = mp.mpf(1) / 2, mp.exp(-self.top) / 2
        return [(-self.top, small, half), (self.top, half, small)]

    def mgf(self, z):
        e, tilt = self.top, z + mp.mpf(1) / 2
        density = e if abs(tilt) < mp.mpf("1e-30") else mp.sinh(tilt * e) / tilt
        return mp.exp(-e / 2) * density / 2 + mp.exp(z * e) / 2 + mp.exp(-(z + 1) * e) / 2


class Finite(Law):
    """Explicit masses on the same outcomes."""

    def __init__(self, p, q):
        p, q = [mp.mpf(x) for x in p], [mp.mpf(x) for x in q]
        self.points = sorted((mp.log(a / b), a, b) for a, b in zip(p, q, strict=True) if a and b)
        self.reveal = mp.fsum(a for a, b in zip(p, q, strict=True) if not b)
        self.vanish = mp.fsum(b for a, b in zip(p, q, strict=True) if not a)

    @classmethod
    def of(cls, points, reveal=0, vanish=0):
        """From (loss, P mass, Q mass)."""
        law = cls([], [])
        law.points, law.reveal, law.vanish = sorted(points), mp.mpf(reveal), mp.mpf(vanish)
        return law

    def tails(self, loss):
        return tuple(mp.fsum(x[i] for x in self.points if x[0] > loss) for i in (1, 2))

    def below(self, loss):
        return tuple(mp.fsum(x[i] for x in self.points if x[0] <= loss) for i in (1, 2))

    def stick(self, loss):
        return mp.fsum(-p * mp.expm1(loss - at) for at, p, _ in self.points if at > loss)

    def atoms(self):
        return self.points

    def mgf(self, z):
        return mp.fsum(p * mp.exp(z * at) for at, p, _ in self.points)


def response(epsilon, delta=0):
    """Randomized response with a reveal."""
    epsilon, kept = mp.mpf(epsilon), 1 - mp.mpf(delta)
    up, down = kept / (1 + mp.exp(-epsilon)), kept / (1 + mp.exp(epsilon))
    if epsilon == 0:
        return Finite.of([(mp.zero, kept, kept)], delta, delta)
    return Finite.of([(-epsilon, down, up), (epsilon, up, down)], delta, delta)


def discrete_gaussian(sigma, sensitivity=1, reach=45):
    """Masses ~ e^(-x^2 / 2 sigma^2) against their shift."""
    sigma = mp.mpf(sigma)
    width = int(mp.ceil(reach * sigma))
    weight = {
        x: mp.exp(-(mp.mpf(x) ** 2) / (2 * sigma**2)) for x in range(-width - sensitivity, width + sensitivity + 1)
    }
    total = mp.fsum(weight.values())
    points = []
    for x in range(-width, width + sensitivity + 1):
        points.append(
            ((sensitivity - 2 * x) * sensitivity / (2 * sigma**2), weight[x] / total, weight[x - sensitivity] / total)
        )
    return Finite.of(points)


def discrete_laplace(scale, sensitivity=1):
    """Masses ~ e^(-|x| / scale) against their shift, equal losses merged."""
    a = 1 / mp.mpf(scale)
    unit = mp.tanh(a / 2)
    end, far = 1 / (1 + mp.exp(-a)), mp.exp(-a * sensitivity) / (1 + mp.exp(-a))
    points = [(a * sensitivity, end, far), (-a * sensitivity, far, end)]
    for x in range(1, sensitivity):
        points.append((a * (sensitivity - 2 * x), unit * mp.exp(-a * x), unit * mp.exp(-a * (sensitivity - x))))
    return Finite.of(points)


class Poisson(Law):
    """(1-q) Q0 + q P0 against Q0, or the swap: tails through the base tails at the mapped loss."""

    def __init__(self, base, rate, removed=True):
        self.base, self.rate, self.removed = base, mp.mpf(rate), removed
        self.reveal = self.rate * base.reveal if removed else mp.zero
        self.vanish = mp.zero if removed else self.rate * base.reveal

    def _base_loss(self, loss):
        inner = mp.expm1(mp.mpf(loss)) + self.rate
        return mp.log(inner / self.rate) if inner > 0 else -mp.inf

    def _mixed(self, p, q):
        return (1 - self.rate) * q + self.rate * p

    def tails(self, loss):
        if self.removed:
            p, q = self._above(self._base_loss(loss), strict=True)
            q = q + (self.base.vanish if loss < mp.log1p(-self.rate) else 0)  # seen by Q0 alone: the least loss
            return self._mixed(p, q), q
        # L = -log w > loss  <=>  base loss < lam(-loss)
        p, q = self._above(self._base_loss(-mp.mpf(loss)), strict=False)
        p, q = 1 - self.base.reveal - p, 1 - q  # what only Q0 shows has the largest loss, -log(1-q)
        if loss >= -mp.log1p(-self.rate):
            q -= self.base.vanish
        return q, self._mixed(p, q)

    def below(self, loss):
        if self.removed:
            at = self._base_loss(loss)
            p, q = (mp.zero, mp.zero) if at == -mp.inf else self.base.below(at)
            q = q + (self.base.vanish if loss >= mp.log1p(-self.rate) else 0)
            return self._mixed(p, q), q
        p, q = self._above(self._base_loss(-mp.mpf(loss)), strict=False)
        if loss >= -mp.log1p(-self.rate):
            q += self.base.vanish
        return q, self._mixed(p, q)

    def _above(self, loss, strict):
        """Base mass above a loss (strictly, or at it too); everything but Q's vanishing mass above -inf."""
        if loss == -mp.inf:
            return 1 - self.base.reveal, 1 - self.base.vanish
        p, q = self.base.tails(loss)
        if not strict:
            for at, mass, other in self.base.atoms():
                if abs(at - loss) <= mp.mpf(10) ** -30 * (1 + abs(at)):
                    inside = at > loss
                    p, q = p + (0 if inside else mass), q + (0 if inside else other)
        return p, q

    def atoms(self):
        out = []
        for at, p, q in self.base.atoms():
            mixed = mp.log(1 - self.rate + self.rate * mp.exp(at))
            out.append((mixed, self._mixed(p, q), q) if self.removed else (-mixed, q, self._mixed(p, q)))
        if self.base.vanish:
            low, q = mp.log1p(-self.rate), self.base.vanish
            out.append((low, (1 - self.rate) * q, q) if self.removed else (-low, q, (1 - self.rate) * q))
        return sorted(out)

    def mgf(self, z):
        """E_Q0[w^(z+1)] or E_Q0[w^-z], w = 1 - q + q e^L0."""
        power = z + 1 if self.removed else -z
        reach = 16 * int(mp.ceil(abs(mp.im(z)) / 16))
        return mp.fsum(mass * mp.exp(power * log_w) for mass, log_w in self._nodes(reach))

    @functools.lru_cache(maxsize=2)  # noqa: B019
    def _nodes(self, reach):
        """Q0 masses and log w, fine enough for |Im z| up to the reach."""
        rate, base = self.rate, self.base
        if isinstance(base, Finite):
            hidden = [(base.vanish, mp.log1p(-rate))] if base.vanish else []
            return [(q, mp.log(1 - rate + rate * mp.exp(at))) for at, _, q in base.points] + hidden
        if isinstance(base, Laplace):
            e = base.top
            panels = 1 + int(e * (1 + reach) / 12)
            half = e / panels
            centres = [-e + half * (2 * i + 1) for i in range(panels)]
            points = [(c + half * t, half * w) for c in centres for t, w in zip(*_legendre(60), strict=True)]
            nodes = [(w * mp.exp(-(x + e) / 2) / 4, mp.log(1 - rate + rate * mp.exp(x))) for x, w in points]
            return nodes + [(q, mp.log(1 - rate + rate * mp.exp(at))) for at, _, q in base.atoms()]
        mu = base.mu
        step = min(mp.mpf(9) / (mu * (95 + mp.mpf(1.5) * reach)), mp.mpf(1) / 12)
        nodes = []
        for j in range(int(-13 / step), int((13 + 12 * mu) / step)):
            x = j * step
            log_w = mp.log(1 - rate + rate * mp.exp(mu * x - mu**2 / 2))
            nodes.append((step * mp.npdf(x), log_w))
        return nodes

    def phi(self, theta, frequencies):
        """M(theta + iu) / M(theta) and log M(theta) in 64-bit mantissas: 1000 times as fast, 3 digits beyond doubles.

        Gaussian base only; the trapezoid rule as above.
        """
        mu, rate, wide = np.longdouble(float(self.base.mu)), np.longdouble(float(self.rate)), np.longdouble
        step = wide(min(9 / (float(mu) * (95 + 1.5 * float(frequencies[-1]))), 1 / 12))
        power = wide(theta) + 1 if self.removed else -wide(theta)
        x = step * np.arange(int(-13 / step), int((13 + max(power, 0) * mu) / step) + 1).astype(wide)
        a = mu * x - mu * mu / 2
        change = rate * np.expm1(np.minimum(a, 11000))
        log_w = np.where(change > -0.5, np.log1p(np.maximum(change, -0.5)), np.log((1 - rate) + rate * np.exp(a)))
        weight = step / np.sqrt(2 * wide(np.pi)) * np.exp(-x * x / 2 + power * log_w)
        total = weight.sum()
        loss = log_w if self.removed else -log_w
        values = [(weight * np.exp(1j * wide(u) * loss)).sum() / total for u in frequencies]
        # sqrt(2 pi) above is only as good as its double: the constant matters for log M alone
        constant = wide(0.5) * np.log(2 * wide(np.pi)) - wide("0.91893853320467274178032973640561763986")
        return values, np.log(total) + constant


class Mixture(Law):
    """Everything is linear in the weights."""

    def __init__(self, parts):
        self.parts = [(mp.mpf(w), law) for w, law in parts]
        self.reveal = mp.fsum(w * law.reveal for w, law in self.parts)
        self.vanish = mp.fsum(w * law.vanish for w, law in self.parts)

    def tails(self, loss):
        found = [(w, law.tails(loss)) for w, law in self.parts]
        return tuple(mp.fsum(w * t[i] for w, t in found) for i in (0, 1))

    def below(self, loss):
        found = [(w, law.below(loss)) for w, law in self.parts]
        return tuple(mp.fsum(w * t[i] for w, t in found) for i in (0, 1))

    def stick(self, loss):
        return mp.fsum(w * law.stick(loss) for w, law in self.parts)

    def cell(self, a, b):
        found = [(w, law.cell(a, b)) for w, law in self.parts]
        return tuple(mp.fsum(w * c[i] for w, c in found) for i in (0, 1))

    def atoms(self):
        return sorted((at, w * p, w * q) for w, law in self.parts for at, p, q in law.atoms())

    def mgf(self, z):
        return mp.fsum(w * law.mgf(z) for w, law in self.parts)


@functools.lru_cache(maxsize=2)
def _legendre(count):
    """Gauss-Legendre on [-1, 1]: double-precision points polished by Newton."""
    points, weights = [], []
    for start in np.polynomial.legendre.leggauss(count)[0]:
        x = mp.mpf(float(start))
        for _ in range(3):
            before, value = mp.one, x
            for n in range(2, count + 1):
                before, value = value, ((2 * n - 1) * x * value - (n - 1) * before) / n
            slope = count * (x * value - before) / (x * x - 1)
            x -= value / slope
        points.append(x)
        weights.append(2 / ((1 - x * x) * slope**2))
    return points, weights
