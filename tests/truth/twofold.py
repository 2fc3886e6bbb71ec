"""Two releases by one plain integral, delta_2(e) = E_P delta_1(e - L): for laws whose contours converge too slowly."""

from .closed import gaussian_delta, laplace_delta, subsampled_delta
from .numbers import Refused, mp

DIGITS = 18
NOISE = mp.mpf("1e-34")  # of an integral taken with 36 digits


class _Twofold:
    """Two equal Poisson-subsampled releases, one direction."""

    count = 2

    def __init__(self, parameter, rate, direction):
        self.parameter, self.rate, self.direction = mp.mpf(parameter), mp.mpf(rate), direction

    def single(self, epsilon):
        """delta_1, from the closed form of the base."""
        return subsampled_delta(self.base, self.rate, self.direction, epsilon, spare=80)

    def delta(self, epsilon):
        with mp.workdps(36):
            epsilon = mp.mpf(epsilon)
            atoms = mp.fsum(mass * self.single(epsilon - self.loss(x)) for x, mass in self.atoms())
            cuts = self.cuts(epsilon)
            value, error = mp.quad(
                lambda x: self.density(x) * self.single(epsilon - self.loss(x)), cuts, error=True, maxdegree=8
            )
            if error > max(value + atoms, mp.mpf("1e-20")) * mp.mpf(10) ** -DIGITS:
                raise Refused(f"twofold integral: error {mp.nstr(error, 3)} of {mp.nstr(value, 3)}")
            if 0 < value + atoms < NOISE:
                raise Refused(f"twofold integral: {mp.nstr(value + atoms, 3)} is within its absolute rounding")
            return value + atoms

    def loss(self, x):
        """The loss of one release at base outcome x."""
        blend = mp.log(1 - self.rate + self.rate * mp.exp(self.base_loss(x)))
        return blend if self.direction == "remove" else -blend

    def weight(self, p, q):
        """The P mass of one direction from base masses."""
        return (1 - self.rate) * q + self.rate * p if self.direction == "remove" else q

    def inverse(self, loss):
        """The base loss at which one release has this loss, or None."""
        inner = (mp.exp(loss if self.direction == "remove" else -loss) - 1 + self.rate) / self.rate
        return mp.log(inner) if inner > 0 else None


class TwoSubsampledGaussians(_Twofold):
    """Outcome x of N(0, s^2) against N(1, s^2)."""

    def base(self, epsilon):
        return gaussian_delta(1 / self.parameter, epsilon, spare=40)

    def base_loss(self, x):
        return (2 * x - 1) / (2 * self.parameter**2)

    def atoms(self):
        return []

    def density(self, x):
        s = self.parameter
        return self.weight(mp.npdf(x, 1, s), mp.npdf(x, 0, s))

    def cuts(self, epsilon):
        s = self.parameter
        end = self.inverse(epsilon - (1 if self.direction == "remove" else -1) * mp.log1p(-self.rate))
        points = [mp.mpf(n) for n in (-14 * s, -6 * s, 0, 1, 1 + 6 * s, 1 + 14 * s)]
        return sorted([*points, *([] if end is None or abs(end) > 14 / s else [(end * 2 * s**2 + 1) / 2])])


class TwoSubsampledLaplaces(_Twofold):
    """Outcome = base loss in [-e, e]: a density and two atoms."""

    def base(self, epsilon):
        return laplace_delta(self.parameter, epsilon)

    def base_loss(self, x):
        return x

    def atoms(self):
        e = self.parameter
        return [(-e, self.weight(mp.exp(-e) / 2, mp.mpf(1) / 2)), (e, self.weight(mp.mpf(1) / 2, mp.exp(-e) / 2))]

    def density(self, x):
        p = mp.exp((x - self.parameter) / 2) / 4
        return self.weight(p, p * mp.exp(-x))

    def cuts(self, epsilon):
        e = self.parameter
        ends = (self.inverse(epsilon - self.loss(x)) for x in (-e, e))
        return sorted([-e, e, *(x for x in ends if x is not None and -e < x < e)])
