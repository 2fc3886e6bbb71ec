"""Rényi divergences of losses without a characteristic function, against integrals by quadrature."""

import itertools
import math

import numpy as np
import pytest

import quiltwork as qw
from quiltwork.compose.accountant.cell_moments import log_moment_ends
from quiltwork.compose.releases import directed
from quiltwork.losses.dominating_pair import Pair
from quiltwork.losses.families.gaussian import Gaussian
from quiltwork.losses.families.sampling.truncated_poisson import TruncatedPoisson

ORDERS = (0.5, 2.0, 7.0, 40.0)


NODES, WEIGHTS = np.polynomial.legendre.leggauss(40)
CLOSE = 1e-11  # of the quadrature, relative


class Law:
    """Mixtures p and q of one noise (scale 1) at places, and moments of the loss by Gauss-Legendre panels."""

    def __init__(self, noise, places, p, q):
        self.gaussian, self.places = noise == "gaussian", [float(c) for c in places]
        self.p, self.q = [float(w) for w in p], [float(w) for w in q]

    def logs(self, x):
        """Logs of both densities; far out neither is a number of this size."""
        far = [x - c for c in self.places]
        noise = [-d * d / 2 - math.log(2 * math.pi) / 2 if self.gaussian else -np.abs(d) - math.log(2) for d in far]
        with np.errstate(divide="ignore"):
            return [
                np.logaddexp.reduce([np.log(w) + n for w, n in zip(weights, noise, strict=True)])
                for weights in (self.p, self.q)
            ]

    def log_moment(self, theta, positive=False):
        """log E_P e^(theta L), or of positive losses only."""
        far = theta * (self.places[-1] - self.places[0]) if self.gaussian else 0.0
        low, high = self.places[0] - 50 + min(far, 0.0), self.places[-1] + 50 + max(far, 0.0)
        cuts = {*np.linspace(low, high, int(2 * (high - low))), *self.places, *([self._zero()] if positive else [])}
        edges = np.array(sorted(cuts))
        x = ((edges[1:] + edges[:-1])[:, None] + np.diff(edges)[:, None] * NODES).ravel() / 2
        weights = (np.diff(edges)[:, None] * WEIGHTS).ravel() / 2
        p, q = self.logs(x)
        logs = np.where((p > q) | (not positive), p + theta * (p - q) + np.log(weights), -np.inf)
        return float(logs.max()) + math.log(math.fsum(np.exp(logs - logs.max())))

    def mean(self):
        """E_P L."""
        low, high = self.places[0] - 50, self.places[-1] + 50
        edges = np.array(sorted({*np.linspace(low, high, 300), *self.places}))
        x = ((edges[1:] + edges[:-1])[:, None] + np.diff(edges)[:, None] * NODES).ravel() / 2
        p, q = self.logs(x)
        return math.fsum((np.diff(edges)[:, None] * WEIGHTS).ravel() / 2 * np.exp(p) * (p - q))

    def _zero(self):
        low, high = self.places[0] - 50, self.places[-1] + 50
        for _ in range(100):
            middle = (low + high) / 2
            p, q = self.logs(np.array([middle]))
            low, high = (middle, high) if p[0] <= q[0] else (low, middle)
        return high

    def swapped(self):
        return Law("gaussian" if self.gaussian else "laplace", self.places, self.q, self.p)

    def renyi(self, order):
        return max(law.log_moment(order - 1) / (order - 1) for law in (self, self.swapped()))

    def symmetrised(self, theta):
        """log of the moment of the symmetrised pair."""
        parts = [math.exp(self.log_moment(t, positive=True)) for t in (0.0, -1.0)]
        return math.log(
            math.exp(self.log_moment(theta, positive=True))
            + math.exp(self.log_moment(-1 - theta, positive=True))
            + 1 - math.fsum(parts)
        )  # fmt: skip


def exchanged(noise, move, rate):
    return Law(noise, [-move, 0, move], [0, 1 - rate, rate], [rate, 1 - rate, 0])


def group(noise, move, rate, size):
    weights = [math.comb(size, i) * rate**i * (1 - rate) ** (size - i) for i in range(size + 1)]
    return Law(noise, [i * move for i in range(size + 1)], weights, [1] + [0] * size)


Q = 0.1
CASES = {
    "exchanged": (qw.poisson(qw.gaussian(1.0), 0.1, "replace_one"), exchanged("gaussian", 1, Q)),
    "exchanged, always": (qw.poisson(qw.gaussian(2.0), 1.0, "replace_one"), exchanged("gaussian", 0.5, 1)),
    "exchanged, little noise": (qw.poisson(qw.gaussian(0.25), 0.1, "replace_one"), exchanged("gaussian", 4, Q)),
    "exchanged Laplace": (qw.poisson(qw.laplace(2.0), 0.1, "replace_one"), exchanged("laplace", 0.5, Q)),
    "group": (qw.poisson(qw.gaussian(1.0), 0.1).group(3), group("gaussian", 1, Q, 3)),
    "group of Laplace": (qw.poisson(qw.laplace(1.0), 0.1).group(2), group("laplace", 1, Q, 2)),
    "mixture of Gaussians": (
        qw.gaussian_mixture([0.0, 1.0, 2.0], [0.9, 0.08, 0.02], 1.0),
        Law("gaussian", [0, 1, 2], [0.9, 0.08, 0.02], [1, 0, 0]),
    ),
}


def held(found, true, width):
    assert found.lower * (1 - CLOSE) <= true <= found.upper * (1 + CLOSE)
    assert found.upper - found.lower <= width * found.upper


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", CASES)
def test_against_integrals(name, order):
    loss, law = CASES[name]
    held(loss.renyi(order), law.renyi(order), 1e-4)


@pytest.mark.parametrize("name", ["exchanged", "group of Laplace"])
def test_compositions_add_up_and_directions_are_kept(name):
    loss, law = CASES[name]
    both = 50 * loss + qw.gaussian(2.0)
    held(both.renyi(3.0), 50 * law.renyi(3.0) + 3 / 8, 1e-5)
    held(loss.direction("add").renyi(3.0), law.swapped().log_moment(2.0) / 2, 1e-5)
    assert loss.direction("add").renyi(3.0).lower <= loss.renyi(3.0).upper


@pytest.mark.parametrize("name", CASES)
def test_order_1_is_the_mean_loss(name):
    loss, law = CASES[name]
    held(loss.renyi(1.0), max(law.mean(), law.swapped().mean()), 0.02)


@pytest.mark.parametrize("name", CASES)
def test_it_rises_with_the_order_to_the_largest_loss(name):
    loss = CASES[name][0]
    found = [loss.renyi(order) for order in (0.8, 1.0, 3.0, 60.0, math.inf)]
    for one, two in itertools.pairwise(found):
        assert one.lower <= two.upper
        assert one.lower <= one.upper
    assert found[-1].upper == pytest.approx(loss.epsilon(0.0).upper)


@pytest.mark.parametrize("order", [2.0, 5.0])
def test_renyi_bounds_delta(order):
    """delta(eps) <= e^((a-1)(D_a - eps)) / a (1 - 1/a)^(a-1)."""
    for loss, _ in CASES.values():
        divergence = loss.renyi(order).upper
        for epsilon in (0.5, 2.0):
            most = math.exp((order - 1) * (divergence - epsilon)) / order * (1 - 1 / order) ** (order - 1)
            assert loss.delta(epsilon).lower <= most


# ---- sandwiches


@pytest.mark.parametrize("order", [1.5, 4.0, 12.0])
def test_batches_of_a_fixed_size(order):
    """Above, the symmetrised pair; below, the sampled one."""
    loss, law = qw.fixed_size(qw.gaussian(1.0, 2.0), 10, 100), group("gaussian", 2, Q, 1)
    found, low, high = loss.renyi(order), law.renyi(order), law.symmetrised(order - 1) / (order - 1)
    assert low * (1 - 1e-5) <= found.lower <= low * (1 + CLOSE)
    assert high * (1 - CLOSE) <= found.upper <= high * (1 + 1e-5)


@pytest.mark.parametrize("order", [1.5, 3.0])
def test_cut_batches_whose_records_are_exchanged(order):
    """A mixture that is told apart: moments add up by its weights."""
    family, theta = TruncatedPoisson(Gaussian(1.0), 0.1, 15, 100, exchanged=True), order - 1
    cut, rate = (float(share) for share in family._shares())
    first, second = exchanged("gaussian", 1, Q).log_moment(theta), group("gaussian", 2, rate, 1).symmetrised(theta)
    high = math.log((1 - cut) * math.exp(first) + cut * math.exp(second)) / theta
    found = qw.Loss.of(family).renyi(order)
    assert high * (1 - CLOSE) <= found.upper <= high * (1 + 1e-5)
    assert found.lower <= found.upper


def test_random_allocation_has_ends():
    """Order 2: log(1 + (e^(s^2) - 1) / t)."""
    found = qw.random_allocation(qw.gaussian(1.0), 10).renyi(2.0)
    assert found.lower <= math.log1p(math.expm1(1.0) / 10) <= found.upper < 2.0  # wide: one step alone would say 1


# ---- masses that no double holds


class Narrow(Pair):
    """A pair that hides its far masses: what underflows must not count as nothing."""

    def __init__(self, inner):
        self.inner, self.low, self.high = inner, inner.low, inner.high

    def __getattr__(self, name):
        return getattr(self.inner, name)

    def above(self, loss):
        return self.inner.above(loss)

    def below(self, loss):
        return self.inner.below(loss)

    def stick(self, loss):
        return self.inner.stick(loss)

    def swapped(self):
        return self.inner.swapped()

    def cells(self, edges):
        return self.inner.cells(edges)


def test_without_bounds_on_higher_moments_the_upper_end_is_infinite():
    pair = directed(CASES["exchanged"][0].parts)["both"][0][0]
    low, high = log_moment_ends(Narrow(pair), 2.0)
    assert math.isfinite(low)
    assert high == math.inf
    assert low <= log_moment_ends(pair, 2.0)[1]


@pytest.mark.parametrize("theta", [31.0, 99.0, 1e3, 1e5])
def test_high_orders_are_those_of_the_farthest_move(theta):
    pair = directed(CASES["exchanged, always"][0].parts)["both"][0][0]
    low, high = log_moment_ends(pair, theta)
    true = theta * (1 + theta) / 2
    assert low <= true <= high
    assert high - low <= 1e-9 * high
