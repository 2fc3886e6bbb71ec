"""Few and rare sampled Gaussians on the contour: many-digit values, and each error term against its own truth.

The values come from two bent contours in ball arithmetic (reference/engine-rare.json).
"""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy.special import ndtr
from tests.examples import some
from tests.losses.laws import mp

import quiltwork as qw
from quiltwork.compose.accountant.directions import sides
from quiltwork.compose.engines.characteristic import ContourEngine
from quiltwork.compose.engines.engine import Declined
from quiltwork.compose.engines.jumps.cut import Cells, Cut, floor_of
from quiltwork.compose.engines.jumps.engine import JumpContourEngine
from quiltwork.compose.engines.jumps.line import PRODUCT, M, Sums, spectrum
from quiltwork.compose.engines.jumps.plan import Plan
from quiltwork.numbers.rounding import UNIT

TRUTHS = json.loads(Path(__file__).with_name("test_jump_contour.truths.json").read_text(encoding="utf-8"))
CUTS = [(1.0, 1e-3, 50, 0.1, 2.5), (0.4, 0.02, 5, 20.0, 5.0), (3.0, 0.01, 20, 0.5, 3.5)]


def engine_of(sigma, rate, count):
    return JumpContourEngine.of(sides((count * qw.poisson(qw.gaussian(sigma), rate)).parts, "remove")[0])


@pytest.mark.parametrize("row", some(TRUTHS, 16), ids=lambda row: "/".join(map(str, row[:5])))
def test_reference_values(row):
    sigma, rate, count, delta, direction, truth = row
    loss = (count * qw.poisson(qw.gaussian(float(sigma)), float(rate))).direction(direction)
    found = loss.epsilon(float(delta))
    assert mp.mpf(found.lower) * (1 - mp.mpf("1e-15")) <= mp.mpf(truth) <= mp.mpf(found.upper) * (1 + mp.mpf("1e-15"))
    assert found.relative_width <= (1e-4 if direction == "remove" else 1e-3)


@pytest.mark.parametrize("row", some([row for row in TRUTHS if row[4] == "remove" and row[2] > 1], 6))
def test_the_divergence_at_reference_values(row):
    sigma, rate, count, delta, _, truth = row
    found = engine_of(float(sigma), float(rate), count).delta(np.array([float(truth)]), 1e-3)
    assert found.lower[0] * (1 - 1e-12) <= float(delta) <= found.upper[0] * (1 + 1e-12)
    assert found.upper[0] - found.lower[0] < 1e-4 * float(delta)


@pytest.mark.parametrize(("sigma", "rate", "count", "delta"), [(1.0, 0.002, 3000, 1e-5), (0.8, 0.01, 1000, 1e-10)])
def test_the_uncut_contour_agrees_where_it_reaches(sigma, rate, count, delta):
    engine = engine_of(sigma, rate, count)
    mine = engine.epsilon(np.array([delta]), 1e-3)
    other = ContourEngine.of(engine.pairs).epsilon(np.array([delta]), 1e-6)
    assert mine.lower[0] <= other.upper[0]
    assert other.lower[0] <= mine.upper[0]
    assert mine.upper[0] / mine.lower[0] - 1 < 1e-6


class Law:
    """A, B and C in many digits: a trapezoid sum of step tau/3, whose own error is below e^(-2 pi^2 9/1.3)."""

    def __init__(self, cut):
        s, q, tau = mp.mpf(cut.sigma), mp.mpf(cut.rate), mp.mpf(cut.tau)
        step = tau / 3
        first, last = math.floor(-11 / float(step)), math.ceil((cut.c2 + 11) / float(step))
        x = [step * k for k in range(first, last + 1)]
        self.logs = [mp.log1p(q * mp.expm1(y / s - 1 / (2 * s * s))) for y in x]
        normal = [step * mp.npdf(y) for y in x]
        one, two = ([mp.ncdf((c - y) / tau) for y in x] for c in (cut.c1, cut.c2))
        three = [mp.ncdf((y - cut.c2) / tau) for y in x]
        ways = one, [b - a for a, b in zip(one, two, strict=True)], three
        self.masses = [[n * g for n, g in zip(normal, way, strict=True)] for way in ways]

    def __call__(self, part, power):
        return mp.fsum(m * mp.exp(power * log) for m, log in zip(self.masses[part], self.logs, strict=True))


@pytest.mark.parametrize("setting", CUTS)
def test_masses_moments_and_decay_are_bounds(setting):
    sigma, rate, count, epsilon, ratio = setting
    cut = Cut(sigma, rate, count, epsilon, ratio, 0.12, 60.0)
    cells = Cells(cut)
    with mp.workdps(30):
        law = Law(cut)
        for world in (0, 1):
            b, c = law(1, 1 - world), law(2, 1 - world)
            kept, left = count * mp.log1p(-c), count * mp.log1p(-b / (1 - c))
            truths = -mp.expm1(kept), -mp.exp(kept) * mp.expm1(left), mp.exp(kept + left)
            for found, truth in zip((cut.alone[world], cut.jumps[world], cut.usual[world]), truths, strict=True):
                assert abs(found / truth - 1) <= cut.wrong
        for theta in (2.0, 8 / epsilon):
            a, b = (law(part, 1 + mp.mpf(theta)) for part in (0, 1))
            upper = [float(bound[0]) for bound in cells.above(np.array([theta]))]
            assert a <= upper[0] <= a * (1 + mp.mpf("1e-8"))
            assert b <= upper[1] <= b * (1 + mp.mpf("1e-3"))  # what lies right of the nodes is bounded by cells
            u = 10 / epsilon
            z = 1 + mp.mpc(theta, u)
            assert abs(law(1, z)) <= cells.decay(theta, np.array([u]))[0]
            assert mp.log(abs(law(0, z)) / a) <= float(cells.fading(theta, upper[0], np.array([u]))[0]) + 1e-9


def test_a_far_loss_decides_alone():
    """D_C of two releases by brute force: some loss in C, and both losses added up."""
    cut = Cut(1.0, 0.01, 2, 1.0, 2.0, 0.12, 60.0)
    step = 0.05
    x = np.arange(-9.0, cut.c2 + 9.0, step)
    normal = np.exp(-x * x / 2) / math.sqrt(2 * math.pi) * step
    far = ndtr((x - cut.c2) / cut.tau)
    losses = cut.log_w(x)
    some_far = 1 - np.multiply.outer(1 - far, 1 - far)
    total = np.add.outer(losses, losses)
    q = np.multiply.outer(normal, normal)
    truth = float((q * some_far * np.maximum(np.exp(total) - math.e, 0.0)).sum())
    low, high = cut.far(1.0)
    assert low <= truth * (1 + 1e-6)
    assert truth * (1 - 1e-6) <= high
    assert high - low < 1e-9 * truth


@pytest.mark.parametrize(("sigma", "rate", "count"), [(1.0, 0.01, 200), (0.7, 1e-3, 5000), (2.0, 0.05, 40)])
def test_losses_hardly_fall_below_their_floor(sigma, rate, count):
    """Bennett's exponent is no less than that of the law itself, and the floor no lower than the least loss."""
    floor = floor_of(sigma, rate, count, 40.0)
    assert count * math.log1p(-rate) * (1 + 1e-12) <= floor < 0
    x = np.arange(-9.0, 9.0 + 1 / sigma, 0.01)
    w = 1 - rate + rate * np.exp(x / sigma - 1 / (2 * sigma**2))
    normal = 0.01 * np.exp(-x * x / 2) / math.sqrt(2 * math.pi)
    t = np.geomspace(1e-3, 30, 60) / rate
    logs = count * np.log((w[None, :] ** -t[:, None]) @ normal) + t * floor
    assert logs.min() <= -40.0 or floor <= count * math.log1p(-rate) * (1 - 1e-12)


@pytest.mark.parametrize("size", [1, 7, 130, 3000])
def test_matrix_products_keep_their_digits(size):
    rng = np.random.default_rng(size)
    losses, weights = rng.normal(size=5 * M + 3) * 0.3, rng.random(5 * M + 3)
    weights /= weights.sum()
    found = spectrum(weights, losses, 0.9, size)
    spread = float(weights @ np.abs(losses))
    for j in {0, size // 2, size - 1}:
        truth = mp.fsum(
            mp.mpf(w) * (mp.expj(mp.mpf(0.9) * j * mp.mpf(d)) - 1) for w, d in zip(weights, losses, strict=True)
        )
        assert abs(mp.mpc(found[j]) - truth) <= PRODUCT * UNIT * 0.9 * j * spread + mp.mpf("1e-300")


def test_both_lines_and_light_sums_bound_what_is_left():
    """D_(A^T) on its own line lies below the bound that replaces it where it is small."""
    epsilon, delta = 0.0637, 1e-12
    cut = Cut(1.2, 1e-4, 10_000, epsilon, 1.8, 0.06, 40 - math.log(delta))
    plan = Plan.of(cut, epsilon, delta)
    line, logs = plan.line(plan.usual, 1)
    low, high = line.read(epsilon, plan.tilts, logs)
    assert 0 < low <= high <= plan.light(epsilon)
    assert high - low < 1e-5 * high


@pytest.mark.parametrize("setting", CUTS)
@pytest.mark.parametrize("part", [0, 1])
def test_cut_offs_are_off_by_their_units(setting, part):
    """Also where both cdfs of a difference are near 1: there it would lose all its digits."""
    cut = Cut(*setting, 0.12, 60.0)
    x = np.linspace(cut.c1 - 20 * cut.tau, cut.c2 + 20 * cut.tau, 60)
    found, units = cut.cut_off(x, part)
    with mp.workdps(150):
        for y, value, unit in zip(x.tolist(), found.tolist(), units.tolist(), strict=True):
            below, above = (mp.ncdf((mp.mpf(c) - y) / mp.mpf(cut.tau)) for c in (cut.c1, cut.c2))
            truth = above - below if part else below
            assert abs(mp.mpf(value) - truth) <= unit * UNIT * value


@pytest.mark.parametrize("setting", CUTS)
def test_parts_on_nodes_of_their_own_are_off_by_their_errors(setting):
    """A and B on coarse nodes where each has mass, beside many digits on fine ones; as a ratio they need no centre."""
    sigma, rate, count, epsilon, ratio = setting
    cells = Cells(Cut(sigma, rate, count, epsilon, ratio, 0.12, 60.0))
    theta, eta, size = 3.0, 0.25 / epsilon, 40
    most = [float(bound[0]) for bound in cells.above(np.array([theta]))]
    usual = Sums.of(cells, theta, 0, most[0], 36.0, eta, size, None)
    with mp.workdps(30):
        law = Law(cells.cut)
        for part, sums in enumerate((usual, Sums.of(cells, theta, 1, most[1], 36.0, eta, size, usual))):
            whole = law(part, 1 + mp.mpf(theta))
            assert abs(mp.log(whole / mp.mpf(sums.total))) <= sums.slip
            for j in (1, size // 2, size - 1):
                z = mp.mpc(theta, mp.mpf(eta) * j)
                truth = law(part, 1 + z) / whole * mp.expj(-z.imag * mp.mpf(sums.centre))
                assert abs(truth - 1 - mp.mpc(sums.turned[j])) <= sums.error[j] < 1e-6


def test_it_passes_on_what_is_not_its_own():
    assert engine_of(1.0, 0.2, 5) is None
    assert engine_of(1.0, 0.01, 10_000) is None
    assert JumpContourEngine.of(sides((5 * qw.poisson(qw.laplace(1.0), 0.01)).parts, "remove")[0]) is None
    assert JumpContourEngine.of(sides((5 * qw.poisson(qw.gaussian(1.0), 0.01)).parts, "add")[0]) is None
    engine = engine_of(1.0, 0.01, 5)
    with pytest.raises(Declined):
        engine.epsilon(np.full(9, 1e-5), 1e-3)
    with pytest.raises(Declined):
        engine.delta(np.array([-1.0]), 1e-3)


@pytest.mark.parametrize(
    "setting",
    [
        (0.0834681, 2.6385e-4, 559, 2.3731693, 10.0, 0.12),  # cut-offs far left of 1/sigma
        (0.0852418, 1.61038e-7, 38_007, 0.0045078, 1.3, 0.03),
        (0.0934281, 1.57676e-5, 595, 1.309016, 2.5, 0.015),
        (0.7, 1e-4, 1000, 0.1, 3.5, 0.06),
    ],
)
def test_closed_masses_are_off_by_their_error_at_most(setting):
    """Also where differences of cdfs near 1 would lose all digits of a mass."""
    cut = Cut(*setting, 60.0)
    with mp.workdps(60):
        sigma, rate, r = mp.mpf(cut.sigma), mp.mpf(cut.rate), mp.sqrt(1 + mp.mpf(cut.tau) ** 2)
        (one, one_far), (none, none_far) = (
            [mp.ncdf((mean - mp.mpf(c)) / r) for c in (cut.c1, cut.c2)] for mean in (1 / sigma, mp.mpf(0))
        )
        for world, share in enumerate((rate, 0)):
            b, c = (
                share * one + (1 - share) * none
                for one, none in ((one - one_far, none - none_far), (one_far, none_far))
            )
            kept, left = cut.count * mp.log1p(-c), cut.count * mp.log1p(-b / (1 - c))
            truths = -mp.expm1(kept), -mp.exp(kept) * mp.expm1(left), mp.exp(kept + left)
            for found, truth in zip((cut.alone[world], cut.jumps[world], cut.usual[world]), truths, strict=True):
                assert abs(found - truth) <= cut.wrong * truth + mp.mpf("1e-300")
