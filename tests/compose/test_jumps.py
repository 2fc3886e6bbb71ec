"""Rare large losses counted apart: against integrals, a closed form, and a peer's grids from both sides."""

import math
from functools import partial

import numpy as np
import pytest
from scipy.special import ndtr
from tests.truth.closed import gaussian_delta
from tests.truth.numbers import mp
from tests.truth.remembered import Remembered
from tests.truth.twofold import TwoSubsampledGaussians

import quiltwork as qw
from quiltwork.compose.engines import rare_losses as jumps
from quiltwork.compose.engines.discretise import between
from quiltwork.compose.releases import directed
from quiltwork.losses.transforms.transform import TooCostly

TRUTHS = Remembered(__file__)
STEP = 1e-3  # of the peer's grids


def pairs_of(loss):
    return directed(loss.parts)["remove"]


def delta_of(loss, epsilon):
    """By the method alone, without the router's others."""
    found = jumps.JumpEngine(pairs_of(loss)).delta(epsilon, 1e-3)
    return found.lower, found.upper


def profile(law, t):
    """sum (p - t p e^-l)+ of a measure on a grid."""
    losses, masses = law
    return float((masses * np.maximum(1 - t * np.exp(-losses), 0.0)).sum())


def part_of_profile(sigma, rate, low, high, t):
    """The same of the losses of a sampled Gaussian that lie in (low, high], by normal tails, in many digits."""
    with mp.workdps(40):
        sigma, rate = mp.mpf(sigma), mp.mpf(rate)

        def outcome(loss):
            odds = (mp.expm1(loss) + rate) / rate
            return -mp.inf if odds <= 0 else sigma**2 * mp.log(odds) + mp.mpf(1) / 2

        left, right = outcome(max(mp.mpf(low), mp.log(t))), outcome(mp.mpf(high))
        if left >= right:
            return mp.mpf(0)
        q = mp.ncdf(right / sigma) - mp.ncdf(left / sigma)
        p = (1 - rate) * q + rate * (mp.ncdf((right - 1) / sigma) - mp.ncdf((left - 1) / sigma))
        return p - t * q


@pytest.mark.parametrize("tails", [(True, False), (False, False)])
def test_parts_of_a_law_are_held_from_both_sides(tails):
    sigma, rate, step, cells = 0.6, 1e-4, 5e-6, 16_000
    pair = pairs_of(qw.poisson(qw.gaussian(sigma), rate))[0][0]
    left = pair.low if tails[0] else 0.003
    found = between(pair, step, left, cells, tails)
    losses = left + step * np.arange(cells + 1)
    for t in np.exp(np.concatenate([[-0.1], np.linspace(left, losses[-1], 57)])).tolist():
        truth = part_of_profile(sigma, rate, left if not tails[0] else -mp.inf, losses[-1], mp.mpf(t))
        assert profile((losses, found.lower), t) <= truth * (1 + mp.mpf("1e-12")) + mp.mpf("1e-18")
        assert profile((losses, found.upper), t) >= truth * (1 - mp.mpf("1e-12")) - mp.mpf("1e-18")
    assert found.lower.sum() > 0.999 * found.upper.sum()


def sampled_laplace(top, rate, epsilon):
    """delta of a sampled Laplace release: q (1 - e^((lam - t)/2)), lam the loss before sampling."""
    lam = math.log1p(math.expm1(epsilon) / rate) if math.expm1(epsilon) > rate * math.expm1(-top) else -math.inf
    return rate * -math.expm1((lam - top) / 2) if -top < lam < top else 0.0 if lam >= top else -math.expm1(epsilon)


@pytest.mark.parametrize(("scale", "rate", "count"), [(0.002, 1e-6, 5), (0.05, 1e-4, 20), (0.02, 1e-3, 3)])
def test_cuts_hold_atoms(scale, rate, count):
    """Laplace noise: nearly all mass sits on the least loss, and half of a sampled record's on the largest one."""
    pair = pairs_of(qw.poisson(qw.laplace(scale), rate))[0][0]
    reach = jumps._Reach.of(pair, count, [])
    above, below = jumps._cut_above(pair, reach), jumps._cut_below(pair, reach)
    for epsilon in [-0.5 * rate, 0.0, rate, 0.01, 0.3 * reach.high, 0.9 * reach.high, reach.high - 0.1]:
        low, high = (
            profile((cut.origin + cut.step * np.arange(cut.small.size), cut.small), math.exp(epsilon))
            + profile((cut.edge + cut.stride * np.arange(cut.big.size), cut.big), math.exp(epsilon))
            + cut.revealed
            for cut in (below, above)
        )
        truth = sampled_laplace(1 / scale, rate, epsilon)
        assert low <= truth * (1 + 1e-9) + 1e-15
        assert high >= truth * (1 - 1e-9) - 1e-15
        if epsilon >= 0.01:  # below, cells do not tell the least losses apart
            assert low >= 0.98 * truth - 1e-6 * rate
            assert high <= 1.02 * truth + 1e-6 * rate


def test_few_sampled_records_with_hardly_any_noise():
    """One of five samples holds the record, with chance 5e-6, and then its loss is at most log(1 - q + q e^1000)."""
    loss = 5 * qw.poisson(qw.laplace(0.001), 1e-6)
    found = jumps.JumpEngine(pairs_of(loss)).epsilon(np.array([1e-6]), 1e-3)
    one, all_of_them = 1e-6 / 5, 1e-6 / 4.99e-6  # of the chance to be sampled: at least one jump, nearly always one
    least, most = (1000 + 2 * math.log1p(-share) + math.log(1e-6) for share in (all_of_them, one))
    assert found.lower[0] <= least + 1e-3
    assert least - 1e-3 <= found.upper[0] <= most
    assert found.upper[0] - found.lower[0] <= 1e-3 * found.upper[0]


@pytest.mark.parametrize(("sigma", "rate"), [(0.3, 1e-6), (0.5, 1e-5), (0.6, 1e-3), (1.0, 1e-4)])
def test_both_cuts_hold_one_release(sigma, rate):
    """A and B together, with and without the first cells as one point, against the closed form."""
    pair = pairs_of(qw.poisson(qw.gaussian(sigma), rate))[0][0]
    reach = jumps._Reach.of(pair, 100, [])
    above, below = jumps._cut_above(pair, reach), jumps._cut_below(pair, reach)
    for epsilon in [-0.01, -rate / 2, 0.0, rate, 0.5 * reach.middle, 1.5 * reach.middle, 0.3 * reach.high]:
        low, high = (
            profile((cut.origin + cut.step * np.arange(cut.small.size), cut.small), math.exp(epsilon))
            + profile((cut.edge + cut.stride * np.arange(cut.big.size), cut.big), math.exp(epsilon))
            for cut in (below, above)
        )
        truth = part_of_profile(sigma, rate, -mp.inf, mp.mpf(200), mp.exp(mp.mpf(epsilon)))
        assert low <= truth * (1 + mp.mpf("1e-11"))
        assert truth <= (high + above.revealed) * (1 + 1e-11)
        if epsilon > rate:  # before, all within a few cells
            assert high - low <= 2e-3 * high + 1e-12


@pytest.mark.parametrize(("sigma", "rate"), [(0.3, 1e-6), (0.4, 1e-5), (0.7, 1e-3)])
def test_two_releases_against_an_integral(sigma, rate):
    truth, loss = TwoSubsampledGaussians(sigma, rate, "remove"), 2 * qw.poisson(qw.gaussian(sigma), rate)
    epsilon = np.array([-0.5 * rate, 0.0, 2 * rate, 0.01, 0.3, 1.0])
    low, high = delta_of(loss, epsilon)
    exact = [TRUTHS(f"two {sigma} {rate} {e!r}", partial(truth.delta, e)) for e in epsilon.tolist()]
    assert all(a <= v <= b for a, v, b in zip(low, exact, high, strict=True))
    assert all(high[3:5] - low[3:5] <= 2e-3 * high[3:5])


def one_delta(sigma, rate, epsilon):
    """The hockey stick of one sampled Gaussian, removed."""
    odds = (np.expm1(epsilon) + rate) / rate
    with np.errstate(divide="ignore", invalid="ignore"):
        at = sigma**2 * np.log(np.maximum(odds, 1e-300)) + 0.5
    tail = rate * ndtr((1 - at) / sigma) - rate * odds * ndtr(-at / sigma)
    return np.where(odds > 0, tail, -np.expm1(epsilon))


def outcomes(sigma, rate, turn):
    """Losses and P masses of one sampled Gaussian, by Gauss and Legendre on panels that are narrow where D turns."""
    nodes, weights = np.polynomial.legendre.leggauss(16)
    odds = (math.expm1(turn) + rate) / rate
    centre = sigma**2 * math.log(odds) + 0.5 if odds > 0 else 0.0
    fine = sigma**2 * np.geomspace(1e-4, 3.0, 16)
    edges = np.unique(
        np.clip(
            np.concatenate([np.linspace(-9 * sigma, 1 + 9 * sigma, 41), centre + fine, centre - fine]),
            -9 * sigma,
            1 + 9 * sigma,
        )
    )
    half = np.diff(edges) / 2
    x = (edges[:-1, None] + half[:, None] * (1 + nodes)).ravel()
    density = (1 - rate) * np.exp(-(x**2) / (2 * sigma**2)) + rate * np.exp(-((x - 1) ** 2) / (2 * sigma**2))
    mass = (half[:, None] * weights).ravel() * density / (sigma * math.sqrt(2 * math.pi))
    return np.log1p(rate * np.expm1((2 * x - 1) / (2 * sigma**2))), mass


def two_deltas(sigma, rate, epsilon):
    loss, mass = outcomes(sigma, rate, epsilon)
    return float((mass * one_delta(sigma, rate, epsilon - loss)).sum())


def three_deltas(sigma, rate, epsilon):
    """Three of them: a double integral."""
    loss, mass = outcomes(sigma, rate, epsilon)
    return sum(m * two_deltas(sigma, rate, epsilon - at) for at, m in zip(loss.tolist(), mass.tolist(), strict=True))


@pytest.mark.parametrize(("sigma", "rate"), [(0.4, 1e-4), (0.5, 1e-3)])
def test_three_releases_against_a_double_integral(sigma, rate):
    loss = 3 * qw.poisson(qw.gaussian(sigma), rate)
    epsilon = np.array([0.0, 0.02, 0.5, 2.0])
    low, high = delta_of(loss, epsilon)
    for a, b, e in zip(low.tolist(), high.tolist(), epsilon.tolist(), strict=True):
        truth = TRUTHS(f"three {sigma} {rate} {e!r}", partial(three_deltas, sigma, rate, e))
        assert a * (1 - 1e-8) <= truth <= b * (1 + 1e-8)
        assert b - a <= 2e-3 * b


def test_a_sampled_release_beside_another_one():
    """One sampled Gaussian, which may jump or not, beside a plain one: an integral over the former's outcome."""
    sigma, rate, other = 0.4, 1e-3, 2.0
    loss = qw.compose(qw.poisson(qw.gaussian(sigma), rate), qw.gaussian(other))

    def truth(epsilon):
        with mp.workdps(30):

            def weighed(x):
                density = (1 - rate) * mp.npdf(x, 0, sigma) + rate * mp.npdf(x, 1, sigma)
                loss = mp.log(1 - rate + rate * mp.exp((2 * x - 1) / (2 * mp.mpf(sigma) ** 2)))
                return density * gaussian_delta(1 / mp.mpf(other), epsilon - loss, spare=20)

            return mp.quad(weighed, mp.linspace(-5, 6, 23))

    epsilon = np.array([-0.2, 0.1, 0.8, 2.0])
    low, high = delta_of(loss, epsilon)
    exact = [TRUTHS(f"beside {e!r}", partial(truth, mp.mpf(e))) for e in epsilon.tolist()]
    assert all(a <= v <= b for a, v, b in zip(low, exact, high, strict=True))
    assert all(high - low <= 1e-3 * high)


@pytest.mark.parametrize(("count", "sigma", "rate"), [(300, 0.5, 1e-4), (2000, 0.6, 1e-5), (50, 0.3, 1e-4)])
def test_many_releases_against_grids_of_a_peer(count, sigma, rate):
    """Its pessimistic and optimistic grids hold the truth, up to the rounding of its transforms (about 1e-13)."""
    peer = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    epsilon, ends = np.array([0.05, 0.3, 1.0, 3.0]), []
    for pessimistic in (False, True):
        one = peer.from_gaussian_mechanism(
            sigma,
            sampling_prob=rate,
            pessimistic_estimate=pessimistic,
            value_discretization_interval=STEP,
            use_connect_dots=pessimistic,
        )
        ends.append(one.self_compose(count).get_delta_for_epsilon(epsilon.tolist()))
    low, high = delta_of(count * qw.poisson(qw.gaussian(sigma), rate), epsilon)
    for a, b, least, most in zip(low.tolist(), high.tolist(), *ends, strict=True):
        assert a <= most + 1e-12
        assert b >= least - 1e-12
        assert b - a <= 2e-3 * b + 1e-12


def test_the_router_takes_it_where_grids_are_too_coarse():
    """Small samples and little noise: at a ten-billionth the tilted grid says [0.02, 0.48]."""
    found = (3000 * qw.poisson(qw.gaussian(0.6), 1e-5)).epsilon(1e-10)
    assert round(found.lower, 5) <= 0.34451 <= round(found.upper, 5)  # five digits, from a peer with a step of 1e-6
    assert found.upper - found.lower <= 1e-4


def test_one_jump_is_not_enough():
    """With no more than one jump counted the upper bound would be passed."""
    sigma, rate, count = 0.4, 1e-2, 3
    parts = pairs_of(count * qw.poisson(qw.gaussian(sigma), rate))
    engine, epsilon = jumps.JumpEngine(parts), 12.0
    side = engine.everywhere(False).upper
    truth = three_deltas(sigma, rate, epsilon)
    counted = [float(jump(epsilon)) for jump in side.jumps]
    assert sum(counted[:2]) + side.extra < 0.2 * truth
    assert truth <= sum(counted) + side.extra


@pytest.mark.parametrize(
    "loss",
    [
        10 * qw.gaussian(1.0),  # no sample
        10 * qw.poisson(qw.gaussian(1.0), 0.3),  # no small one
        10 * qw.poisson(qw.pure(1.0), 0.01),  # a list of losses
    ],
)
def test_other_losses_are_declined(loss):
    found = directed(loss.parts)
    with pytest.raises(TooCostly):
        jumps.JumpEngine(found.get("remove") or found["both"])


def test_more_jumps_than_are_counted_are_bounded():
    """binom(k, j) b^j (1 - b)^(k - j) beyond J, summed, is below the bound."""
    count, share = 300, 0.002
    for most in range(6):
        beyond = sum(math.comb(count, j) * share**j * (1 - share) ** (count - j) for j in range(most + 1, 40))
        assert beyond <= jumps._more_jumps(count * share, most) <= 3 * beyond


def test_losses_whose_exponentials_overflow():
    """Two jumps together pass 709: the lower end used to forget e^(eps - b), and stood 2 percent above the truth."""
    sigma, rate = 0.035, 1e-2
    truth, loss = TwoSubsampledGaussians(sigma, rate, "remove"), 2 * qw.poisson(qw.gaussian(sigma), rate)
    epsilon = np.array([690.0, 710.0, 800.0])
    with np.errstate(over="ignore"):
        low, high = delta_of(loss, epsilon)
    exact = [TRUTHS(f"overflow {e!r}", partial(truth.delta, e)) for e in epsilon.tolist()]
    assert all(a <= v <= b for a, v, b in zip(low, exact, high, strict=True))
    assert all(high - low <= 1e-4 * high)
