"""Random allocation: integrals against 40 digits, answers against stored values, two steps against brute force."""

import itertools
import math

import mpmath as mp
import numpy as np
import pytest
from scipy.special import gammaln, logsumexp, ndtr

import quiltwork as qw
from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.losses.families.sampling.allocation_bounds import AllocationBounds
from quiltwork.losses.families.sampling.allocation_moments import _one_decides, added_moment, removed_moment
from quiltwork.losses.families.sampling.random_allocation import AllocationPair, RandomAllocation
from quiltwork.losses.family import family_from_json
from quiltwork.losses.transforms.lognormal import Lognormal
from quiltwork.losses.transforms.random_allocation import AllocationLaw

# theory, sampling, section 7.2 (200 bits): sigma, steps, delta, remove, add
GOLDEN = [
    (1.0, 100, 1e-6, 0.857985976556542309, 0.486425089629352825),
    (0.7, 100, 1e-6, 2.82837108738250499, 0.832606069086972491),
    (0.5, 50, 1e-6, 7.08594987694231700, 1.98003847598823356),
    (1.0, 1000, 1e-6, 0.171728684449839470, 0.149430954813111975),
    (2.0, 100, 1e-10, 0.306144974953853540, 0.295862973665314353),
]


def lam(w, s):
    """E e^(-wX) to 40 digits: trapezoid on a path turned by arg w, or by 3 at most."""
    turn = min(mp.arg(w) / s, 3) if mp.arg(w) - 3 * s <= mp.pi / 2 else mp.arg(w) / s
    h = mp.mpf(1) / 24 / max(1, s)
    low, high = int(-22 / h), int(15 / h)
    x = [k * h - 1j * turn for k in range(low, high)]
    return h / mp.sqrt(2 * mp.pi) * mp.fsum(mp.exp(-y * y / 2 - w * mp.exp(s * y - s * s / 2)) for y in x)


@pytest.mark.parametrize("s", [0.05, 1.0, 3.4])
def test_transform_and_its_bounds_hold_at_40_digits(s):
    with mp.workdps(40):
        law = Lognormal(s)
        for scale in (0.01, 5.0):
            w = scale * np.exp(1j * np.array([0.0, 0.7, 1.3, 1.57, 1.57 + min(0.2, s)]))
            value, error = law.log_transform(w)
            for one, log, wrong in zip(w, value, error, strict=True):
                z = mp.mpmathify(complex(one))
                true = mp.log(lam(z, mp.mpf(s))) + z
                gap = complex(true - mp.mpmathify(complex(log)))
                gap = complex(gap.real, (gap.imag + math.pi) % (2 * math.pi) - math.pi)
                assert abs(gap) <= wrong < 1e-9
                turns = np.linspace(0.0, math.pi / (2 * s), 200)
                turns = turns[np.angle(one) - s * turns <= math.pi / 2]
                size = law.log_size(np.full(turns.size, abs(one)), np.full(turns.size, np.angle(one)), turns)
                assert float(true.real) - one.real <= size.min() + 1e-14


@pytest.mark.parametrize(
    ("s", "t", "loss", "true"),
    # trapezoid rule on a vertical line with 40 digits: alias and cut below 1e-32 and 1e-24
    [(0.6, 20, -1.05, 5.6487732881621464877e-16), (1.0, 100, -0.5, 3.5938662265168316331e-7)],
)
def test_integrals_are_within_their_errors(s, t, loss, true):
    found = AllocationLaw(s, t).integrals(np.expm1(np.array([loss])))
    assert abs(true - found.put[0]) <= found.put_error[0] <= 1e-9 * found.put[0]


@pytest.mark.parametrize(("mu", "steps"), [(1.0, 100), (0.5, 30), (2.0, 7), (0.1, 1000)])
def test_bounds_in_closed_form_hold_integrals(mu, steps):
    """Where both are known: they are proved apart."""
    bounds, law = AllocationBounds(mu, steps), AllocationLaw(mu, steps)
    losses = np.log1p(min(mu, 2.0) / math.sqrt(steps) * np.array([-1.0, -0.3, 0.5, 1.0, 3.0, 5.0, 8.0]))
    known = law.integrals(np.expm1(losses))
    low, high = bounds.call(losses)
    assert np.all(low <= known.call + known.call_error)
    assert np.all(high >= known.call - known.call_error)
    mean = np.exp(losses)
    values = (known.under, mean * known.under - known.put, known.over, mean * known.over + known.call)
    room = 1e-12 + 4 * (known.under_error + known.over_error + known.put_error + known.call_error)
    for (low, high), value in zip(bounds.tails(losses), values, strict=True):
        assert np.all((low <= value + room) & (high >= value - room))


@pytest.mark.parametrize("s", [0.3, 1.0, 3.3])
def test_two_steps_by_plain_integration(s):
    """E_Q(S - v)+ of two steps: one step in closed form inside, a trapezoid rule outside."""
    x = np.linspace(-12.0, 12.0, 24001)
    weight = np.exp(-x * x / 2) / math.sqrt(2 * math.pi) * (x[1] - x[0])
    first = np.exp(s * x - s * s / 2)
    for epsilon in (-1.0, -0.1, 0.0, 0.2, 1.5):
        left = 2 * math.exp(epsilon) - first  # the second ratio must exceed this
        log = np.log(np.maximum(left, 1e-300)) / s
        inner = np.where(left > 0, ndtr(s / 2 - log) - left * ndtr(-s / 2 - log), 1 - left)
        truth = float((weight * inner).sum()) / 2
        for removed in (True, False):
            pair = AllocationPair(s, 2, removed)
            at = np.array([epsilon if removed else -epsilon])
            delta = truth if removed else (truth + math.expm1(epsilon)) * math.exp(-epsilon)
            value, wrong = float(pair.stick(at)[0]), float(pair.stick_error(at)[0])
            assert abs(value - delta) <= value * wrong + 2e-7 * s * s
            assert wrong < 1e-9 or delta < 1e-5


@pytest.mark.parametrize(("sigma", "steps", "delta", "remove", "add"), GOLDEN)
def test_stored_values(sigma, steps, delta, remove, add):
    loss = qw.random_allocation(qw.gaussian(sigma), steps)
    for side, truth in (("remove", remove), ("add", add)):
        found = loss.direction(side).epsilon(delta)
        assert found.lower <= truth <= found.upper
        assert found.upper - found.lower <= 2e-5 * truth
    assert found.method == "exact tails"


@pytest.mark.parametrize(("sigma", "epochs", "truth"), [(1.0, 10, 1.96426961299740451), (0.7, 4, 3.77371897040373441)])
def test_epochs_compose(sigma, epochs, truth):
    found = (epochs * qw.random_allocation(qw.gaussian(sigma), 100)).direction("remove").epsilon(1e-6)
    assert found.lower <= truth <= found.upper <= found.lower * (1 + 1e-3)


@pytest.mark.parametrize("removed", [True, False])
@pytest.mark.parametrize(("s", "t"), [(1.0, 100), (2.0, 5), (0.2, 50)])
def test_cells_add_up_to_tails_and_sticks(s, t, removed):
    pair = AllocationPair(s, t, removed)
    spread = math.sqrt(math.expm1(s * s) / t)
    edges = np.linspace(-1.2, 1.2, 301) * min(3 * spread, 1.0)
    cells = pair.cells(edges)
    ends = edges[[0, -1]]
    above, wrong, stick = pair.above(ends)[0], pair.tail_error(ends), pair.stick(ends)
    room = float(cells.mass_error.sum() + (above * wrong).sum()) + 1e-14
    assert abs(float(cells.mass.sum()) - (above[0] - above[1])) <= room < 1e-8
    # E_P[1 - e^(a-L)] of all cells beyond the first edge, from the sticks of single cells
    q_mass = (cells.mass - cells.stick) * np.exp(-edges[:-1])
    total = float((cells.mass - math.exp(edges[0]) * q_mass).sum())
    rest = float(above[1] - math.exp(edges[0]) * pair.above(ends)[1][1])
    assert total + rest == pytest.approx(float(stick[0]), abs=1e-8)
    q_error = float(((cells.mass_error + cells.stick_error) * np.exp(-edges[:-1])).sum())
    assert q_error < 1e-8


def test_profiles_lie_between_a_gaussian_of_the_sum_and_one_step():
    random = np.random.default_rng(20)
    for _ in range(12):
        sigma, steps = math.exp(random.uniform(math.log(0.3), math.log(20))), int(math.exp(random.uniform(0.7, 8.5)))
        pair = AllocationPair(1 / sigma, steps, bool(random.integers(2)))
        epsilon = np.sort(random.normal(size=5)) * min(1 / sigma, 2.0)
        value, wrong = pair.stick(epsilon), pair.stick_error(epsilon)
        low = qw.gdp(1 / sigma / math.sqrt(steps)).delta(epsilon)
        high = qw.gaussian(sigma).delta(epsilon)
        assert np.all(value * (1 + wrong) >= low.lower * (1 - 1e-9))
        assert np.all(value * (1 - wrong) <= high.upper * (1 + 1e-9))


@pytest.mark.parametrize("delta", [1e-12, 1e-16, 1e-40])
def test_small_deltas_are_still_brackets(delta):
    loss = qw.random_allocation(qw.gaussian(1.0), 100)
    found = loss.epsilon(delta)
    assert 0 < found.lower <= found.upper <= qw.gaussian(1.0).epsilon(delta).upper
    assert found.upper >= loss.epsilon(1e-11).lower
    assert found.upper <= found.lower * 1.12  # one large ratio decides there, and bounds in closed form see that


def test_more_steps_and_more_noise_cost_less():
    cost = [qw.random_allocation(qw.gaussian(1.0), steps).delta(0.3) for steps in (1, 2, 10, 100)]
    assert all(a.lower > b.upper for a, b in itertools.pairwise(cost))
    noise = [qw.random_allocation(qw.gaussian(sigma), 10).delta(0.3) for sigma in (0.5, 1.0, 3.0)]
    assert all(a.lower > b.upper for a, b in itertools.pairwise(noise))


def test_edges_of_the_counts():
    step = qw.gaussian(1.3)
    assert qw.random_allocation(step, 1) == step
    assert qw.random_allocation(step, 4, 4) == 4 * step
    assert RandomAllocation.from_entries(of=step.single("it"), steps=1) == step.single("it")
    for steps, times in ((0, 1), (2.0, 1), (True, 1), (3, 0), (3, 4), ("3", 1), (2**60, 1), (math.nan, 1)):
        with pytest.raises(InvalidParameter):
            qw.random_allocation(step, steps, times)
    for other in (qw.laplace(1.0), qw.gaussian(1e4), qw.gaussian(0.01), qw.poisson(step, 0.1)):
        with pytest.raises(Unsupported, match="full releases"):
            qw.random_allocation(other, 10)


def test_what_is_not_proved_is_refused():
    loss = qw.random_allocation(qw.gdp(0.8), 10)
    with pytest.raises(Unsupported, match="group"):
        loss.group(2)
    with pytest.raises(Unsupported, match="sampling"):
        qw.poisson(loss, 0.1)


def test_several_of_many_steps_are_sandwiched():
    step, delta = qw.gaussian(1.0), 1e-6
    found = qw.random_allocation(step, 7, 3).epsilon(delta)
    above = qw.random_allocation(step, 3) + 2 * qw.random_allocation(step, 2)
    assert found.lower <= qw.gdp(3 / math.sqrt(7)).epsilon(delta).upper
    assert found.lower == pytest.approx(qw.gdp(3 / math.sqrt(7)).epsilon(delta).upper, rel=1e-3)
    assert found.upper == pytest.approx(above.epsilon(delta).upper, rel=1e-3)
    assert found.upper < (3 * step).epsilon(delta).lower


def test_documents():
    for loss in (qw.random_allocation(qw.gaussian(2.0), 5), qw.random_allocation(qw.gdp(0.5), 9, 2)):
        assert qw.Loss.from_json(loss.to_json()) == loss
        for part in loss.parts:
            assert family_from_json(part.family.to_json()) == part.family


# ---- moments


def labelled(mu, steps, order):
    """E_Q S^n as the mean of e^(mu^2 c) over all labels of n draws, c the pairs that share one: 40 digits."""
    total = mp.mpf(0)
    for labels in itertools.product(range(steps), repeat=order):
        counts = [labels.count(one) for one in set(labels)]
        total += mp.exp(mp.mpf(mu) ** 2 * sum(math.comb(k, 2) for k in counts))
    return mp.log(total / mp.mpf(steps) ** order)


@pytest.mark.parametrize(("mu", "steps"), [(1.0, 2), (0.3, 4), (2.0, 3), (0.01, 4)])
def test_moments_at_whole_orders_are_sums_over_labels(mu, steps):
    with mp.workdps(40):
        for order in (2, 3, 5):
            low, high = removed_moment(mu, steps, float(order))
            truth = labelled(mu, steps, order)
            assert low <= truth <= high
            assert high - low <= 1e-11 + 1e-9 * float(truth)


@pytest.mark.parametrize(("mu", "steps"), [(1.0, 100), (0.3, 4), (2.5, 3)])
def test_where_one_ratio_decides_sums_lie_between_closed_forms(mu, steps):
    for order in (2.0, 3.0, 40.0, 500.0):
        (least, most), (low, high) = _one_decides(mu, steps, order), removed_moment(mu, steps, order)
        assert least <= high
        assert low <= most
    loss = qw.random_allocation(qw.gaussian(1 / mu), steps)
    far = [loss.renyi(order) for order in (500.0, 511.0, 600.0, 1e6)]  # sums end at 510
    assert all(a.lower <= b.upper for a, b in itertools.pairwise(far))
    assert all(one.upper - one.lower <= 2e-3 * one.upper for one in far)
    assert removed_moment(mu, steps, math.inf) == (0.0, math.inf)


@pytest.mark.parametrize("mu", [0.1, 0.5, 1.0, 3.0])
def test_high_orders_of_two_steps(mu):
    """Mean and half difference of two outputs are independent: E S^a = e^(a^2 s^2/4 - a s^2/2) E cosh(s d)^a."""
    for order in (7.0, 60.2, 511.5, 601.3, 1024.7, 9000.5):
        for a in (order, -order):
            d = np.linspace(-order * mu - 12, order * mu + 12, 200_001)
            logs = a * (np.logaddexp(mu * d, -mu * d) - math.log(2)) - d * d
            truth = float(logsumexp(logs)) + math.log((d[1] - d[0]) / math.sqrt(math.pi))
            truth += a * a * mu * mu / 4 - a * mu * mu / 2
            found = [removed_moment(mu, 2, a), removed_moment(mu, 2, a, long=True)] if a > 0 else []
            for low, high in found or [added_moment(mu, 2, -a), added_moment(mu, 2, -a, long=True)]:
                assert low <= truth + 1e-9 * (1 + abs(truth))
                assert truth <= high + 1e-9 * (1 + abs(truth))


@pytest.mark.parametrize(("mu", "steps", "theta"), [(1.0, 100, 600.0), (2.0, 10, 60.0), (0.2, 1000, 900.0)])
def test_high_orders_of_many_steps_added(mu, steps, theta):
    """1/Gamma(theta) int z^(theta-1) (E e^(-zX/t))^t dz by two plain trapezoid rules."""
    x = np.linspace(-theta * mu / steps - 14, 12, 1500)
    y = np.linspace(-30, math.log(steps) + 1.5 * mu * (theta / steps + 3) + mu * mu + 6, 1500)
    weight = -x * x / 2 + math.log((x[1] - x[0]) / math.sqrt(2 * math.pi))
    law = [float(logsumexp(weight - math.exp(v) / steps * np.exp(mu * x - mu * mu / 2))) for v in y]
    truth = float(logsumexp(theta * y + steps * np.array(law))) + math.log(y[1] - y[0]) - float(gammaln(theta))
    low, high = added_moment(mu, steps, theta, long=True)
    least, most = added_moment(mu, steps, theta)
    assert least <= low <= truth * (1 + 1e-9)
    assert truth * (1 - 1e-9) <= high <= most * (1 + 1e-9)
    assert high - low <= 0.01 * truth


def test_divergences_at_high_orders_are_narrow():
    for sigma, steps, order in ((10.0, 100, 1000.5), (1.0, 100, 600.0)):
        for side in ("remove", "add"):
            found = qw.random_allocation(qw.gaussian(sigma), steps).direction(side).renyi(order)
            assert found.upper - found.lower <= 1e-3 * found.upper


@pytest.mark.parametrize(("mu", "steps"), [(1.0, 2), (0.4, 3), (1.6, 3)])
@pytest.mark.parametrize("order", [0.5, 1.0, 1.3, 2.0, 2.5, 6.5])
def test_divergences_by_plain_integration(mu, steps, order):
    """Every output of two or three steps on a grid: the trapezoid rule has all digits for analytic densities."""
    x = np.arange(-9.0, 9.0 + 8 * mu, 0.12)
    ratios = np.exp(mu * x - mu * mu / 2)
    weights = np.exp(-x * x / 2) / math.sqrt(2 * math.pi) * 0.12
    mean = sum(np.meshgrid(*[ratios] * steps, indexing="ij")) / steps
    mass = math.prod(np.meshgrid(*[weights] * steps, indexing="ij"))
    loss = qw.random_allocation(qw.gaussian(1 / mu), steps)
    for side in ("remove", "add"):
        if order == 1:
            truth = float((mass * (mean if side == "remove" else -1.0) * np.log(mean)).sum())
        else:
            truth = math.log((mass * mean ** (order if side == "remove" else 1 - order)).sum()) / (order - 1)
        found = loss.direction(side).renyi(order)
        assert found.lower <= truth * (1 + 1e-9)
        assert truth * (1 - 1e-9) <= found.upper
        assert found.upper - found.lower <= (2e-3 if order < 3 else 4e-2) * truth  # far from 1 convexity decides


@pytest.mark.parametrize("removed", [True, False])
@pytest.mark.parametrize(("mu", "steps"), [(1.0, 10), (0.1, 100_000), (2.0, 7)])
def test_wide_cells_are_sums_of_narrow_ones(mu, steps, removed):
    """Cells too wide for Taylor's formula come from differences: with the same E[S - v], not with the other end's."""
    pair = AllocationPair(mu, steps, removed)
    reach = 3 * min(mu, 1.0) / math.sqrt(steps)
    narrow = np.linspace(-reach, reach, 2049)
    wide = narrow[::512]
    one, many = pair.cells(wide), pair.cells(narrow)
    beyond = (many.mass - many.stick) * np.exp(-narrow[:-1])  # Q mass
    p = many.mass.reshape(-1, 512).sum(axis=1)
    stick = p - np.exp(wide[:-1]) * beyond.reshape(-1, 512).sum(axis=1)
    errors = (many.mass_error + 2 * many.stick_error).reshape(-1, 512).sum(axis=1) + 1e-13
    assert np.all(np.abs(one.mass - p) <= one.mass_error + errors)
    assert np.all(np.abs(one.stick - stick) <= one.stick_error + errors)
    assert errors.max() < 1e-8


def test_left_tails_by_chernoff_hold_integrals():
    law = AllocationLaw(1.0, 100)
    excess = np.array([-0.6, -0.4, -0.2, -0.05])
    known = law.integrals(excess)
    high = law.under(excess)
    assert np.all(known.under - known.under_error <= high)
    assert np.all(high <= 60 * known.under)


@pytest.mark.parametrize("steps", [2, 3])
@pytest.mark.parametrize("mu", [0.05, 0.5, 1.0, 4.0])
def test_inverse_moments_are_bounded_by_their_integral(mu, steps):
    """E_Q S^-theta over all outputs, by the trapezoid rule, whose integrand is analytic and falls fast."""
    for theta in (0.3, 1.0, 5.0, 30.0):
        x = np.arange(-12 - mu * theta, 12, 0.06 if steps == 2 else 0.2)
        if x.size**steps > 2e7:
            continue
        ratio = total = mu * x - mu * mu / 2
        mass = weight = -x * x / 2 + math.log((x[1] - x[0]) / math.sqrt(2 * math.pi))
        for _ in range(steps - 1):
            total, weight = np.logaddexp.outer(total, ratio), np.add.outer(weight, mass)
        exponent = weight - theta * (total - math.log(steps))
        value = exponent.max() + math.log(np.exp(exponent - exponent.max()).sum())
        low, high = added_moment(mu, steps, theta)
        assert low <= value * (1 + 1e-12)
        assert value <= high <= value + 0.05 + 0.05 * mu * mu * theta  # log-concave: hardly more than the sum
