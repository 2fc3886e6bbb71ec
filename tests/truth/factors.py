"""Moment generating functions M(z) = E_P e^(z loss) of single releases, ready for a contour integral.

A factor shows four faces:

* ``sketch()``: losses, log masses and which of them are atoms, in doubles: a rough picture that plans the contour;
* ``fade(theta, u)``: log |M(theta + iu) / M(theta)| for rising u, and a ceiling of it for all larger u, for planning;
* ``log_mgf(theta)``: log M on the real line, to full precision;
* ``ratios(theta, step, count, refine)``: M(theta + i j step) / M(theta), j = 0..count, as fixed-point pairs.
"""

import functools
import itertools
import math

import numpy as np

from .numbers import BITS, Refused, fixed, mp

SPARE = 100.0
"""Natural digits asked of every quadrature, beyond what its oscillation costs."""


MOST_NODES = 3000
GRID, POINTS = 2400, 40  # of a rough picture; of Gauss-Legendre on one panel


class Sketched:
    """Planning by the rough picture: atoms never fade, a density does for good once it has."""

    def fade(self, theta, u):
        loss, log_mass, atomic = self.sketch()
        weight = np.exp(log_mass + theta * loss - np.max(log_mass + theta * loss))
        weight /= weight.sum()
        loss = loss - float(weight @ loss)
        atoms, smooth = (_transform(loss[part], weight[part], u) for part in (atomic, ~atomic))
        crest = np.maximum.accumulate(np.abs(smooth)[::-1])[::-1]
        return tuple(np.log(np.minimum(x, 1.0) + 1e-17) for x in (np.abs(atoms + smooth), weight[atomic].sum() + crest))


class Gaussian:
    """M(z) = exp(mu^2 z (z+1) / 2)."""

    def __init__(self, mu):
        self.mu = mp.mpf(mu)

    def sketch(self):
        mu, x = float(self.mu), np.linspace(-45, 60, 1600)
        return mu * (x + mu / 2), -x * x / 2 + math.log((x[1] - x[0]) / math.sqrt(2 * math.pi)), np.zeros(1600, bool)

    def fade(self, theta, u):
        return (-((float(self.mu) * u) ** 2) / 2,) * 2

    def log_mgf(self, theta):
        return self.mu**2 * theta * (theta + 1) / 2

    def ratios(self, theta, step, count, refine=1):
        for j in range(count + 1):
            z = mp.mpc(theta, step * j)
            yield complex_fixed(mp.exp(self.mu**2 * (z * (z + 1) - theta * (theta + 1)) / 2))


class Laplace(Sketched):
    """M(z) = ((z+1) e^(z e) + z e^(-(z+1) e)) / (2z + 1), e = sensitivity / scale."""

    def __init__(self, epsilon):
        self.epsilon = mp.mpf(epsilon)

    def sketch(self):
        return SubsampledLaplace(self.epsilon, 1, "remove").sketch()

    def mgf(self, z):
        e = self.epsilon
        if abs(2 * z + 1) < mp.mpf("1e-20"):
            return mp.exp(-e / 2) * (1 + e / 2)
        return ((z + 1) * mp.exp(z * e) + z * mp.exp(-(z + 1) * e)) / (2 * z + 1)

    def log_mgf(self, theta):
        return mp.log(self.mgf(theta))

    def ratios(self, theta, step, count, refine=1):
        base = self.mgf(theta)
        for j in range(count + 1):
            yield complex_fixed(self.mgf(mp.mpc(theta, step * j)) / base)


class Atoms(Sketched):
    """Finitely many losses; reveal mass is left out (it joins the answer at the end)."""

    def __init__(self, losses, masses):
        self.losses, self.masses = [mp.mpf(x) for x in losses], [mp.mpf(x) for x in masses]
        self._sketch = None

    @classmethod
    def of_law(cls, law):
        return cls(*zip(*law.atoms, strict=True))

    def sketch(self):
        if self._sketch is None:
            log_masses = np.array([float(mp.log(x)) for x in self.masses])
            self._sketch = np.array([float(x) for x in self.losses]), log_masses, np.ones(len(self.losses), bool)
        return self._sketch

    def mgf(self, z):
        return mp.fsum(mass * mp.exp(z * loss) for loss, mass in zip(self.losses, self.masses, strict=True))

    def log_mgf(self, theta):
        return mp.log(self.mgf(theta))

    def ratios(self, theta, step, count, refine=1):
        """Rotate every tilted mass by its own angle, step by step: one complex product a node and frequency."""
        base = self.mgf(theta)
        tilted = (mass * mp.exp(theta * loss) / base for loss, mass in zip(self.losses, self.masses, strict=True))
        real = np.array([fixed(weight) for weight in tilted], dtype=object)
        imag = np.zeros(len(real), dtype=object)
        turns = [mp.cos_sin(step * loss) for loss in self.losses]
        cosine, sine = (np.array([fixed(t[i]) for t in turns], dtype=object) for i in (0, 1))
        for _ in range(count + 1):
            yield int(real.sum()), int(imag.sum())
            real, imag = (real * cosine - imag * sine) >> BITS, (real * sine + imag * cosine) >> BITS


class Quadrature(Sketched):
    """A factor whose law is replaced by nodes that reproduce M near the asked contour."""

    def nodes(self, theta, reach, refine):
        raise NotImplementedError

    def log_mgf(self, theta):
        return self.nodes(theta, 0.0, 1.0).log_mgf(theta)

    def ratios(self, theta, step, count, refine=1.0):
        return self.nodes(theta, float(step * count), refine).ratios(theta, step, count)


class SubsampledGaussian(Quadrature):
    """Poisson rate q: loss log w under w N(0, s^2) (remove), -log w under N(0, s^2) (add); w = 1-q+q e^((2x-1)/2s^2).

    The trapezoid rule in x converges like exp(-2 pi y / h) on a strip |Im x| < y = phi s^2, phi < pi, where the
    integrand grows by at most exp(phi^2 s^2 / 2 + reach phi), times cos(phi/2)^exponent for negative exponents.
    """

    def __init__(self, sigma, rate, direction):
        self.sigma, self.rate, self.remove = mp.mpf(sigma), mp.mpf(rate), direction == "remove"

    def _picture(self):
        s, q = float(self.sigma), float(self.rate)
        x = s * np.linspace(-45, 75, 2400)
        log_w = np.logaddexp(math.log1p(-q) if q < 1 else -np.inf, math.log(q) + (2 * x - 1) / (2 * s * s))
        log_n = -((x / s) ** 2) / 2 + math.log((x[1] - x[0]) / s / math.sqrt(2 * math.pi))
        return x, log_w, log_n

    def sketch(self):
        _, log_w, log_n = self._picture()
        atomic = np.zeros(len(log_w), bool)
        return (log_w, log_n + log_w, atomic) if self.remove else (-log_w, log_n, atomic)

    def nodes(self, theta, reach, refine):
        s, q = self.sigma, self.rate
        x, log_w, log_n = self._picture()
        exponent = float(theta) + 1 if self.remove else -float(theta)
        height = log_n + exponent * log_w
        kept = x[height > height.max() - SPARE - 15]
        phi = np.linspace(0.1, 3.0, 30)
        cost = SPARE + phi**2 * float(s) ** 2 / 2 + reach * phi - min(exponent, 0.0) * -np.log(np.cos(phi / 2))
        h = mp.mpf(float(np.max(2 * math.pi * phi * float(s) ** 2 / cost)) / refine)
        if (kept[-1] - kept[0]) / h > MOST_NODES:
            raise Refused(f"{int((kept[-1] - kept[0]) / h)} nodes")
        losses, masses = [], []
        unit = h / (s * mp.sqrt(2 * mp.pi))
        for j in range(int(mp.floor(kept[0] / h)), int(mp.ceil(kept[-1] / h)) + 1):
            y = j * h
            w = 1 - q + q * mp.exp((2 * y - 1) / (2 * s * s))
            normal = unit * mp.exp(-y * y / (2 * s * s))
            losses.append(mp.log(w) if self.remove else -mp.log(w))
            masses.append(normal * w if self.remove else normal)
        return Atoms(losses, masses)


class SubsampledLaplace(Quadrature):
    """Poisson rate q of a Laplace release: log(1-q+q e^l), l in [-e, e] with density e^((l-e)/2)/4 and two atoms.

    Gauss-Legendre; on the Bernstein ellipse of height y < pi the integrand grows by exp(reach y + exponent width).
    """

    def __init__(self, epsilon, rate, direction):
        self.epsilon, self.rate, self.remove = mp.mpf(epsilon), mp.mpf(rate), direction == "remove"

    def sketch(self):
        x, weights = np.polynomial.legendre.leggauss(160)
        e, q = float(self.epsilon), float(self.rate)
        base = np.concatenate(([-e], e * x, [e]))
        p = np.concatenate(([math.exp(-e) / 2], e * weights * np.exp((e * x - e) / 2) / 4, [0.5]))
        mixed = q * p + (1 - q) * p * np.exp(-base)
        loss = np.log1p(q * np.expm1(base)) if q < 1 else base
        atomic = np.abs(base) == e
        return (loss, np.log(mixed), atomic) if self.remove else (-loss, np.log(p) - base, atomic)

    def nodes(self, theta, reach, refine):
        e, q = self.epsilon, self.rate
        height = np.linspace(0.05, 2.9, 60) / float(e)
        rho = height + np.sqrt(1 + height**2)
        growth = reach * height * float(e) + (abs(float(theta)) + 2) * float(e) * (rho + 1 / rho) / 2
        count = math.ceil(float(np.min((SPARE + growth) / (2 * np.log(rho)))) * refine) + 4
        if count > MOST_NODES // 8:
            raise Refused(f"{count} Gauss-Legendre nodes")
        points, weights = legendre(count + count % 2)
        base = [-e, *(e * x for x in points), e]
        p = [
            mp.exp(-e) / 2,
            *(e * w * mp.exp((e * x - e) / 2) / 4 for x, w in zip(points, weights, strict=True)),
            mp.mpf(1) / 2,
        ]
        other = [mass * mp.exp(-loss) for mass, loss in zip(p, base, strict=True)]
        loss = [mp.log(1 - q + q * mp.exp(x)) for x in base]
        if self.remove:
            return Atoms(loss, [q * a + (1 - q) * b for a, b in zip(p, other, strict=True)])
        return Atoms([-x for x in loss], other)


class Moved(Quadrature):
    """Two mixtures of one noise, moved to several places (a `MovedNoise`).

    Gaussian noise: the trapezoid rule.  Laplace noise has constant losses beyond the outermost places, hence two atoms,
    and bends at each place: Gauss-Legendre on panels.  With `symmetrised` the positive losses are kept, mirrored, and
    what is left of P is an atom at 0: panels, too.  No rule is a certificate: two contours of different refinement must
    agree.
    """

    def __init__(self, law, symmetrised=False):
        self.law, self.symmetrised = law, symmetrised
        self.start = law.threshold(0) if symmetrised else -mp.inf
        self._picture = None

    def sketch(self):
        if self._picture is None:
            x = self._outputs()
            up, down = self._log_masses(x)
            atoms = [(float(at), float(mp.log(mass))) for at, mass in self._atoms()]
            losses, logs = [up - down], [up]
            if self.symmetrised:
                losses, logs = [up - down, down - up], [up, down]
            losses += [np.array([at]) for at, _ in atoms]
            logs += [np.array([log]) for _, log in atoms]
            atomic = np.arange(x.size * (1 + self.symmetrised) + len(atoms)) >= x.size * (1 + self.symmetrised)
            self._picture = np.concatenate(losses), np.concatenate(logs), atomic
        return self._picture

    def _outputs(self):
        """Laplace noise is smooth between its places only."""
        low, high = float(self.law.places[0]), float(self.law.places[-1])
        if self.law.gaussian:
            low, high = low - 45.0, high + 75.0
        return np.linspace(max(low, float(self.start)), high, GRID)

    def _log_masses(self, x):
        """Of P and Q, in cells around the outputs."""
        far = x - np.array([float(c) for c in self.law.places])[:, None]
        shapes = -far * far / 2 - math.log(math.sqrt(2 * math.pi)) if self.law.gaussian else -abs(far) - math.log(2)
        shapes = shapes + math.log(x[1] - x[0])
        return [
            np.logaddexp.reduce(
                [shape + math.log(w) for shape, w in zip(shapes, weights, strict=True) if w > 0], axis=0
            )
            for weights in (self.law.p, self.law.q)
        ]

    def _atoms(self):
        """Losses and P masses; what symmetrising leaves over comes last."""
        found = []
        if not self.law.gaussian:
            for end, right in ((self.law.places[0], False), (self.law.places[-1], True)):
                at, mass = self.law.loss(end), self.law.beyond(end, right)[0]
                if not self.symmetrised:
                    found.append((at, mass))
                elif at > 0:
                    found += [(at, mass), (-at, mass * mp.exp(-at))]
        if self.symmetrised:
            found.append((mp.zero, 1 - mp.fsum(self.law.beyond(self.start))))
        return found

    def nodes(self, theta, reach, refine):
        loss, log_mass, _ = self.sketch()
        x, height = self._outputs(), log_mass + float(theta) * loss
        level = height.max() - SPARE - 15
        kept = x[height[:GRID] > level]
        if self.symmetrised:
            kept = x[np.maximum(height[:GRID], height[GRID : 2 * GRID]) > level]
        first, last = mp.mpf(float(kept[0])), mp.mpf(float(kept[-1]))
        if kept[0] == x[0]:
            first = self.start if self.symmetrised else self.law.places[0] if not self.law.gaussian else first
        bends = () if self.law.gaussian else (c for c in self.law.places if first < c < last)
        cuts = [first, *bends, last]
        spread = float(self.law.places[-1] - self.law.places[0])
        if self.law.gaussian and not self.symmetrised:  # analytic: the trapezoid rule
            phi = np.linspace(0.1, 1.4, 14)
            cost = SPARE + (phi / spread) ** 2 / 2 - (2 + abs(float(theta))) * 2 * np.log(np.cos(phi)) + 2 * reach * phi
            h = mp.mpf(float(np.max(2 * math.pi * phi / spread / cost)) / refine)
            if (last - first) / h > MOST_NODES:
                raise Refused(f"{int((last - first) / h)} nodes")
            ends = int(mp.floor(first / h)), int(mp.ceil(last / h))
            return Atoms(*zip(*(self._node(j * h, h)[0] for j in range(ends[0], ends[1] + 1)), strict=True))
        width = 1.0 / (refine * max(1.0, spread / 1.5, spread * reach / 40.0))
        pieces = [math.ceil(float(b - a) / width) for a, b in itertools.pairwise(cuts)]
        if POINTS * sum(pieces) > MOST_NODES:
            raise Refused(f"{POINTS * sum(pieces)} nodes on panels")
        found = self._atoms()
        for (a, b), count in zip(itertools.pairwise(cuts), pieces, strict=True):
            half = (b - a) / (2 * count)
            for i in range(count):
                for point, weight in zip(*legendre(POINTS), strict=True):
                    found += self._node(a + (2 * i + 1 + point) * half, half * weight)
        return Atoms(*zip(*found, strict=True))

    def _node(self, x, weight):
        """Loss and P mass at an output, and its mirror image."""
        shapes = [
            mp.exp(-((x - c) ** 2) / 2) / mp.sqrt(2 * mp.pi) if self.law.gaussian else mp.exp(-abs(x - c)) / 2
            for c in self.law.places
        ]
        up, down = (mp.fsum(w * n for w, n in zip(ws, shapes, strict=True)) for ws in (self.law.p, self.law.q))
        loss = mp.log(up / down)
        return [(loss, weight * up), (-loss, weight * down)] if self.symmetrised else [(loss, weight * up)]


class Mixture(Sketched):
    """An observed class: M = sum of weight_i M_i."""

    def __init__(self, weighted):
        self.weighted = [(mp.mpf(weight), factor) for weight, factor in weighted]

    def sketch(self):
        parts = [(factor.sketch(), math.log(weight)) for weight, factor in self.weighted]
        losses, log_masses, atomic = zip(*((s[0], s[1] + w, s[2]) for s, w in parts), strict=True)
        return np.concatenate(losses), np.concatenate(log_masses), np.concatenate(atomic)

    def log_mgf(self, theta):
        return mp.log(mp.fsum(weight * mp.exp(factor.log_mgf(theta)) for weight, factor in self.weighted))

    def ratios(self, theta, step, count, refine=1.0):
        base = self.log_mgf(theta)
        shares = [fixed(weight * mp.exp(factor.log_mgf(theta) - base)) for weight, factor in self.weighted]
        for values in zip(*(f.ratios(theta, step, count, refine) for _, f in self.weighted), strict=True):
            yield tuple(sum(s * v[i] for s, v in zip(shares, values, strict=True)) >> BITS for i in (0, 1))


def _transform(loss, weight, u):
    """sum weight e^(i u loss) for every u, in blocks."""
    heavy = weight > 1e-19
    loss, weight = loss[heavy], weight[heavy]
    return np.concatenate([np.exp(1j * np.outer(u[n : n + 200], loss)) @ weight for n in range(0, len(u), 200)])


def complex_fixed(z):
    """A complex number as a fixed-point pair."""
    return fixed(z.real), fixed(z.imag)


@functools.lru_cache(maxsize=64)
def legendre(count):
    """Gauss-Legendre points and weights by Newton steps from the double-precision ones."""
    points, weights = [], []
    for start in np.polynomial.legendre.leggauss(count)[0]:
        x = mp.mpf(float(start))
        for _ in range(4):  # 16 digits double with every step: 32, 64, full
            before, value = mp.mpf(1), x
            for n in range(2, count + 1):
                before, value = value, ((2 * n - 1) * x * value - (n - 1) * before) / n
            slope = count * (x * value - before) / (x * x - 1)
            x -= value / slope
        points.append(x)
        weights.append(2 / ((1 - x * x) * slope**2))
    return points, weights
