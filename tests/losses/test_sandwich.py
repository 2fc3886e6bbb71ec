"""Trade-off functions given by a program, against closed forms in high precision."""

import dataclasses
import functools
import itertools
import json
import math
import statistics

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr, ndtri
from tests.examples import examples, some
from tests.truth import closed
from tests.truth.numbers import mp

import quiltwork as qw
from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.losses.families.tradeoff.function import (
    SLACK,
    Sandwich,
    above,
    accuracy,
    below,
    mirrored,
    on_grid,
    polygons,
    samples,
    seen_accuracy,
)
from quiltwork.losses.families.tradeoff.tabulated import TabulatedTradeOff


@attrs.frozen(eq=False)
class Drawn:
    """A function as a user writes it, and what it stands for: f and its profile D(t), exactly."""

    name: str
    function: object
    exact: object
    profile: object
    symmetric: bool = False

    def backwards(self, t):
        """D of the test with the worlds exchanged."""
        return 1 - t + t * self.profile(1 / t)


def gaussian(mu):
    return Drawn(
        f"gaussian {mu}",
        lambda a: ndtr(-ndtri(a) - mu),
        lambda a: closed.gaussian_beta(mu, a),
        lambda t: closed.gaussian_delta(mu, mp.log(t)),
        True,
    )


def power(n):
    """P is the law of the largest of n uniform numbers: f = (1 - alpha)^n."""

    def profile(t):
        u = (t / n) ** (mp.mpf(1) / (n - 1))
        return 1 - u**n - t * (1 - u) if t < n else mp.zero

    return Drawn(f"power {n}", lambda a: (1 - a) ** n, lambda a: (1 - mp.mpf(a)) ** n, profile)


def laplace(epsilon):
    near, kept = math.exp(epsilon), math.exp(-epsilon)

    def function(a):
        return np.where(a < kept / 2, 1 - near * a, np.where(a <= 0.5, kept / (4 * a), kept * (1 - a)))

    def exact(a):
        a, kept = mp.mpf(a), mp.exp(-mp.mpf(epsilon))
        return 1 - a / kept if a < kept / 2 else kept / (4 * a) if a <= 0.5 else kept * (1 - a)

    return Drawn(f"laplace {epsilon}", function, exact, lambda t: closed.laplace_delta(epsilon, mp.log(t)), True)


def response(epsilon, delta):
    near, kept = math.exp(epsilon), math.exp(-epsilon)

    def exact(a):
        a, s, d = mp.mpf(a), mp.exp(mp.mpf(epsilon)), mp.mpf(delta)
        return max(mp.zero, 1 - d - s * a, (1 - d - a) / s)

    def profile(t):
        s, d = mp.exp(mp.mpf(epsilon)), mp.mpf(delta)
        return max(d, 1 - (1 - d) * (1 + t) / (1 + s), 1 - (1 - d) * t, 1 - t)  # at the four vertices of f

    return Drawn(
        f"response {epsilon} {delta}",
        lambda a: np.maximum(0.0, np.maximum(1 - delta - near * a, kept * (1 - delta - a))),
        exact,
        profile,
        True,
    )


def subsampled(mu, rate):
    """One direction of a Poisson sample: (1 - rate) (1 - alpha) + rate G_mu(alpha)."""
    return Drawn(
        f"subsampled {mu} {rate}",
        lambda a: (1 - rate) * (1 - a) + rate * ndtr(-ndtri(a) - mu),
        lambda a: (1 - mp.mpf(rate)) * (1 - mp.mpf(a)) + mp.mpf(rate) * closed.gaussian_beta(mu, a),
        lambda t: closed.subsampled_delta(lambda e: closed.gaussian_delta(mu, e), rate, "remove", mp.log(t)),
    )


LOGISTIC = Drawn(
    "logistic", lambda a: (1 - np.sqrt(a)) ** 2, lambda a: (1 - mp.sqrt(a)) ** 2, lambda t: 1 / (1 + t), True
)
NOTHING = Drawn("nothing", lambda a: 1 - a, lambda a: 1 - mp.mpf(a), lambda t: max(mp.zero, 1 - t), True)
HALF_REVEALED = Drawn(
    "half revealed", lambda a: 0.5 * (1 - a), lambda a: (1 - mp.mpf(a)) / 2, lambda t: max(mp.mpf(0.5), 1 - t)
)
ENDS_EARLY = Drawn(
    "ends early",
    lambda a: np.maximum(0.0, 1 - 3 * a),
    lambda a: max(mp.zero, 1 - 3 * mp.mpf(a)),
    lambda t: max(mp.zero, 1 - t / 3),
)
BOTH = Drawn(
    "ends early and reveals",
    lambda a: np.maximum(0.0, 0.75 - a) ** 2,
    lambda a: max(mp.zero, 0.75 - mp.mpf(a)) ** 2,
    lambda t: 1 - (t / 2) ** 2 - t * (mp.mpf(0.75) - t / 2) if t < 1.5 else mp.mpf(7) / 16,
)
CASES = [
    *map(gaussian, (0.05, 0.3, 1.0, 3.0, 8.0)),
    power(2),
    power(1.25),
    power(30),
    laplace(0.4),
    laplace(3.0),
    response(0.5, 0.01),
    response(0.37, 0.0),
    response(20.3, 1e-6),
    subsampled(1.0, 0.1),
    LOGISTIC,
    NOTHING,
    HALF_REVEALED,
    ENDS_EARLY,
    BOTH,
]
drawn = pytest.mark.parametrize("drawn", CASES, ids=lambda case: case.name)


def places(vertices):
    """Alphas of all sizes, some inside the edges of a polygon."""
    x = np.array(vertices)[:, 0]
    many = examples(40)
    few = x[np.linspace(0, x.size - 1, many).astype(int)]
    tails = np.geomspace(1e-90, 0.5, many), 1 - np.geomspace(1e-16, 0.5, many)
    found = np.concatenate((*tails, np.linspace(0.01, 0.99, many), few, few * 1.01))
    return [float(a) for a in np.unique(found) if 0 < a < 1]


def held(under, over, drawn, alphas):
    """f lies between two polygons; 1 - f may be 1e-90, hence the precision."""
    with mp.workprec(500):
        return all(height(under, a) <= drawn.exact(a) <= height(over, a) for a in alphas)


def height(vertices, alpha):
    """A polygon at one alpha, exactly."""
    x = [v[0] for v in vertices]
    j = min(max(int(np.searchsorted(x, alpha)), 1), len(x) - 1)
    (a, b), (c, d) = (map(mp.mpf, vertices[i]) for i in (j - 1, j))
    return b + (d - b) * (mp.mpf(alpha) - a) / (c - a)


def hockey_stick(pair, epsilon):
    """D(e^epsilon) of a finite pair, with 64 bits in each term."""
    p, q = pair.p.astype(np.longdouble), pair.q.astype(np.longdouble)
    inside = np.sum(np.maximum(p - np.exp(np.longdouble(epsilon)) * q, 0))
    return mp.mpf(pair.reveal) + mp.mpf(str(inside))


def reread(loss):
    """Written as a document, and read."""
    return qw.Loss.from_json(json.loads(json.dumps(loss.to_json())))


# ---- polygons


@drawn
@pytest.mark.parametrize("symmetric", [False, True])
def test_polygons_lie_on_their_sides(drawn, symmetric):
    if symmetric and not drawn.symmetric:
        return
    under, over = polygons(drawn.function, 1 / 128, symmetric)
    assert under[-1] == over[-1] == (1.0, 0.0)
    assert held(under, over, drawn, places(over))


@pytest.mark.parametrize("drawn", [gaussian(0.3), gaussian(8.0), LOGISTIC, laplace(3.0)], ids=lambda case: case.name)
def test_polygons_are_as_near_as_the_spacing_says(drawn):
    """Neighbouring chords differ by a factor e^spacing: the gap is below spacing times the fall, and second order."""
    gaps = []
    for spacing in (1 / 32, 1 / 64, 1 / 128):
        under, over = polygons(drawn.function, spacing, True)
        gaps.append(max(height(over, a) - height(under, a) for a in np.linspace(0.001, 0.999, 101).tolist()))
    assert gaps[0] < 1 / 32
    assert gaps[2] < gaps[0] / 8


def test_mirrored_polygons_are_their_own_inverse():
    under, over = polygons(gaussian(1.0).function, 1 / 64, True)
    for vertices in (under, over):
        flipped = sorted((b, a) for a, b in vertices if b > 0)
        kept = [v for v in vertices if v[0] > 0]
        missing = {v for v in flipped if v[0] > 0} - set(kept)
        assert len(missing) <= 2  # the hull may drop a vertex near the diagonal
    assert mirrored(under) == under


def test_mirrored_keeps_what_f_lacks_at_0():
    vertices = mirrored(((0.0, 0.75), (0.25, 0.25), (1.0, 0.0)))
    assert vertices == ((0.0, 0.75), (0.25, 0.25), (0.75, 0.0), (1.0, 0.0))


@pytest.mark.parametrize("drawn", [power(2), HALF_REVEALED, ENDS_EARLY, subsampled(1.0, 0.5)], ids=lambda c: c.name)
def test_symmetry_that_is_not_there_is_refused(drawn):
    with pytest.raises(InvalidParameter, match=r"its own inverse.*leave out symmetric=True"):
        qw.tradeoff(drawn.function, symmetric=True)


def test_symmetry_is_judged_where_a_function_has_digits():
    """1 - Phi(x) is only known to 1e-16: f(f(alpha)) is noise for alpha near 1."""
    loss = qw.tradeoff(lambda a: 1 - ndtr(ndtri(a) + 6.0), symmetric=True)
    assert mp.mpf(loss.delta(20.0).lower) <= closed.gaussian_delta(6, 20) <= mp.mpf(loss.delta(20.0).upper)


# ---- the function itself


def test_arrays_numbers_and_vectorised_functions_are_read_alike():
    def of_numbers(a):
        return (1 - a) * (1 - a) if isinstance(a, float) else None

    found = [samples(f, 1 / 64) for f in (lambda a: (1 - a) * (1 - a), of_numbers, np.vectorize(of_numbers))]
    for alpha, beta in found[1:]:
        assert np.array_equal(alpha, found[0][0])
        assert np.array_equal(beta, found[0][1])


def test_functions_that_treat_arrays_wrongly_are_asked_one_by_one():
    loss = qw.tradeoff(lambda a: np.full(np.shape(a), 0.25) if np.ndim(a) else (1 - a) ** 2)
    assert 0.25 in loss.beta(0.5)


def test_no_place_is_asked_twice():
    asked = []

    def slow(a):
        asked.append(float(a))  # an array is refused here
        return math.exp(2 * math.log1p(-a)) if a < 1 else 0.0

    loss = 10 * qw.tradeoff(slow)
    assert len(asked) < 2000
    loss.delta(0.5, rtol=1e-2)
    loss.delta(0.5, rtol=1e-4)
    loss.epsilon(1e-6)
    assert len(asked) == len(set(asked)) < 40_000


@pytest.mark.parametrize(
    ("function", "place"),
    [
        (lambda a: statistics.NormalDist().cdf(-statistics.NormalDist().inv_cdf(a) - 1), "at 0: p must be in"),
        (lambda a: math.exp(2 * math.log1p(-a)), "at 1: "),
        (lambda a: (1 - a) ** 2 if a > 1e-30 or a == 0 else 1 / (a < 0), "at 1e-80: "),
        (lambda a: math.nan if a == 0.5 else (1 - a) ** 2, r"f\(0.5\) = nan"),
        (lambda a: 1.5 - 1.5 * a, r"f\(0\) = 1.5"),
        (lambda a: (1 - a) ** 2 - 0.01, r"f\(0.9.*\) = -0.00"),
        (lambda a: 0.5 - 0.4 * a, r"f\(0.8532\) = 0.1587"),
        (lambda a: np.maximum(0, 0.5 - a) ** 2 + 0.01 * np.maximum(0, a - 0.6) * (1 - a), "it rises near 0.5"),
        (lambda a: (1 - a) * (0.5 + 0.4 * a), "bends the wrong way"),
        (lambda a: (1 - a) ** 2 + 1e-4 * np.sin(600 * a) * a * (1 - a), "bends the wrong way"),
        (lambda a: 1 - math.sqrt(1 - (1 - a) ** 2) + 1e-4 * math.sin(600 * a) * a * (1 - a), "bends the wrong way"),
    ],
    ids=["raises at 0", "raises at 1", "raises near 0", "nan", "above 1", "negative", "f(1) > 0", "rising", "concave",
         "dented", "imprecise and dented"],
)  # fmt: skip
def test_what_is_no_trade_off_function_is_refused_with_the_place(function, place):
    with pytest.raises(InvalidParameter, match=r"^trade-off must be") as caught:
        qw.tradeoff(function)
    assert caught.match(place)


@pytest.mark.filterwarnings("error")
def test_warnings_inside_a_function_are_its_own_business():
    loss = qw.tradeoff(lambda a: np.where(a > 0, 1 - a + np.where(a > 0, a * np.log(a), 0.0), 1.0))
    assert 0.5 + 0.5 * math.log(0.5) in loss.beta(0.5)


@dataclasses.dataclass
class Curve:
    """A callable without a hash."""

    n: float

    def __call__(self, alpha):
        return (1 - alpha) ** self.n


@pytest.mark.parametrize(
    "function",
    [Curve(2.0), np.poly1d([1.0, -2.0, 1.0]), functools.partial(lambda n, a: (1 - a) ** n, 2.0), Curve(2.0).__call__],
    ids=["dataclass", "polynomial", "partial", "method"],
)
def test_any_callable_will_do(function):
    loss = 2 * qw.tradeoff(function)
    assert loss.delta(0.0).lower <= (2 * qw.tradeoff(power(2).function)).delta(0.0).upper
    assert loss == loss
    assert hash(loss) == hash(loss)


@settings(max_examples=examples(25))
@given(noise=st.floats(0.0, 3e-16), speed=st.floats(1e3, 1e9))
def test_rounding_noise_is_held(noise, speed):
    """A few 1e-16, that of the function itself included."""
    wrong = lambda a: np.clip((1 - a) ** 2 + noise * np.sin(speed * a), 0.0, 1.0 - a)  # noqa: E731
    under, over = polygons(wrong, 1 / 64, False)
    assert held(under, over, power(2), places(over)[::4])


@pytest.mark.parametrize("drawn", [gaussian(0.3), gaussian(8.0), power(30), power(300)], ids=lambda case: case.name)
def test_noise_is_noticed(drawn):
    """The rounding of 1 - alpha, to the power of 300, is 2e-14."""
    alpha = np.concatenate((np.geomspace(1e-20, 0.5, 60), 1 - np.geomspace(1e-12, 0.5, 20)))
    wrong = [abs(mp.mpf(float(drawn.function(a))) - drawn.exact(a)) for a in alpha.tolist()]
    assert max(wrong) <= accuracy(drawn.function) <= max(SLACK, 8 * max(wrong))


@pytest.mark.parametrize("symmetric", [False, True])
def test_a_noisy_function_gives_a_wider_bracket(symmetric):
    loss = qw.tradeoff(lambda a: ((1 - np.sqrt(a)) ** 2 + 100) - 100, symmetric=symmetric)  # 14 digits are left
    for epsilon in (0.0, 3.0, 20.0):
        found = loss.delta(epsilon)
        assert mp.mpf(found.lower) <= LOGISTIC.profile(mp.exp(epsilon)) <= mp.mpf(found.upper)
        assert found.upper - found.lower > 1e-14


def test_kinks_are_no_noise():
    assert accuracy(lambda a: np.interp(a, np.linspace(0, 1, 10_001), np.linspace(1, 0, 10_001) ** 2)) == SLACK


# ---- on a grid


@drawn
@pytest.mark.parametrize("step", [1 / 16, 1 / 64])
def test_promised_dominates_and_possible_is_dominated(drawn, step):
    held = on_grid(drawn.function, step, drawn.symmetric)
    for epsilon in (-9.0, -1.0, -0.3, -0.01, 0.0, 0.02, 0.0625, 0.2, 0.5, 1.1, 2.5, 6.0, 21.0):
        t = mp.exp(epsilon)
        for true, promised, possible in (
            (drawn.profile(t), held.promised, held.possible),
            (drawn.backwards(t), held.promised.swapped(), held.possible.swapped()),
        ):
            assert hockey_stick(promised, epsilon) * (1 + promised.relative) >= true
            assert hockey_stick(possible, epsilon) * (1 - possible.relative) <= true + mp.mpf(held.slack)
    assert held.slack < 1e-13


@drawn
def test_losses_lie_on_the_grid_and_masses_match(drawn):
    step = 1 / 64
    held = on_grid(drawn.function, step, False)
    for pair in (held.promised, held.possible):
        index = pair.losses / step
        assert np.array_equal(index, np.rint(index))
        assert np.all(np.diff(index) > 0)
        assert pair.p == pytest.approx(pair.q * np.exp(pair.losses), rel=1e-14)
        assert math.fsum(pair.p) + pair.reveal == pytest.approx(1.0, abs=1e-13)
        assert math.fsum(pair.q) + pair.vanish == pytest.approx(1.0, abs=1e-13)


@pytest.mark.parametrize("drawn", [gaussian(0.3), gaussian(1.0), gaussian(3.0), LOGISTIC], ids=lambda c: c.name)
def test_the_gap_is_second_order_in_the_step(drawn):
    """Half the step, a quarter of the gap."""
    areas, epsilon = [], np.linspace(0.0, 0.6, 301)
    for step in (1 / 32, 1 / 64, 1 / 128):
        held = on_grid(drawn.function, step, drawn.symmetric)
        areas.append(float(np.sum(held.promised.stick(epsilon) - held.possible.stick(epsilon))))
    for coarse, fine in itertools.pairwise(areas):
        assert 3.5 < coarse / fine < 4.5


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("function", [lambda a: 0.0, lambda a: 1e-16 * (1 - a)], ids=["zero", "nearly zero"])
def test_everything_may_be_revealed(function, symmetric):
    loss = qw.tradeoff(function, symmetric=symmetric)
    assert loss.delta(3.0).lower > 1 - 1e-14
    assert loss.delta(3.0).upper == 1.0
    assert loss.epsilon(0.1).lower == math.inf
    assert loss.beta(0.3).upper < 1e-14


def test_what_is_rounded_to_zero_is_not_taken_for_zero():
    """For alpha > 0.6 this function returns 0, its value is 1e-17: no outcome is revealed."""
    loss = qw.tradeoff(lambda a: 1 - ndtr(ndtri(a) + 8.0))
    for epsilon in (30.0, 60.0, 100.0):
        assert mp.mpf(loss.delta(epsilon).lower) <= closed.gaussian_delta(8, epsilon)


def test_a_jump_at_0_is_read_as_revealed():
    loss = qw.tradeoff(lambda a: 1.0 if a == 0 else 0.9 * (1 - a)).direction("remove")
    assert 0.0 < loss.delta(2.0).lower <= 0.1
    assert loss.delta(2.0).upper == pytest.approx(0.1, abs=1e-13)


# ---- one release


@drawn
@pytest.mark.parametrize("symmetric", [False, True])
def test_one_release_holds_the_truth(drawn, symmetric):
    if symmetric and not drawn.symmetric:
        return
    both = qw.tradeoff(drawn.function, symmetric=symmetric)
    for direction, profile in (("remove", drawn.profile), ("add", drawn.backwards)):
        loss = both.direction(direction)
        epsilons = (-0.7, 0.0, 0.31, 1.0, 4.0)
        found = loss.delta(epsilons, rtol=1e-2)
        for epsilon, lower, upper in zip(epsilons, found.lower, found.upper, strict=True):
            assert mp.mpf(lower) <= profile(mp.exp(epsilon)) <= mp.mpf(upper)
        found = loss.epsilon((0.3, 1e-2, 1e-7), rtol=1e-2)
        for delta, lower, upper in zip((0.3, 1e-2, 1e-7), found.lower, found.upper, strict=True):
            assert lower == 0 or math.isinf(lower) or profile(mp.exp(lower)) >= mp.mpf(delta) * (1 - mp.mpf(10) ** -30)
            assert math.isinf(upper) or profile(mp.exp(upper)) <= mp.mpf(delta) * (1 + mp.mpf(10) ** -30)
            assert not math.isinf(lower) or profile(mp.mpf(10) ** 30) >= delta
    alphas = (1e-7, 0.01, 0.4, 0.999)
    found = both.direction("remove").beta(alphas)
    for alpha, lower, upper in zip(alphas, found.lower, found.upper, strict=True):
        assert mp.mpf(lower) <= drawn.exact(alpha) <= mp.mpf(upper)


# ---- many releases


def holds(found, true):
    """Whether two brackets of the same number meet."""
    lower, upper = np.maximum(found.lower, true.lower), np.minimum(found.upper, true.upper)
    return bool(np.all(lower <= upper))


@pytest.mark.parametrize(
    ("count", "mu", "symmetric"),
    some(itertools.product([2, 10, 100, 1000, 100_000], [0.05, 0.3, 1.0], [False, True]), 6),
)
def test_composed_gaussians(mu, count, symmetric):
    loss = count * qw.tradeoff(gaussian(mu).function, symmetric=symmetric)
    total = mp.mpf(mu) * mp.sqrt(count)
    delta = 1e-3 if count > 1000 and mu > 0.05 else 1e-5
    found = loss.epsilon(delta)
    assert closed.gaussian_delta(total, found.upper) <= delta <= closed.gaussian_delta(total, found.lower)
    assert found.met
    if count <= 1000:
        epsilon = round(found.lower, 3)
        found = loss.delta(epsilon)
        assert mp.mpf(found.lower) <= closed.gaussian_delta(total, epsilon) <= mp.mpf(found.upper)
        assert found.met
    found = loss.beta(0.01)
    assert mp.mpf(found.lower) <= closed.gaussian_beta(total, 0.01) <= mp.mpf(found.upper)


@pytest.mark.parametrize(("mu", "count"), some(itertools.product([3.0, 8.0], [1, 10, 100]), 3))
def test_steep_gaussians_need_the_symmetry(mu, count):
    """Without it f is only known to 1e-15 where it is small, and much of the other direction is given up."""
    total = mp.mpf(mu) * mp.sqrt(count)
    for symmetric in (False, True):
        loss = count * qw.tradeoff(gaussian(mu).function, symmetric=symmetric)
        epsilon = float(mu**2 * count / 2 + 3 * mu * math.sqrt(count))
        found = loss.delta(epsilon)
        assert mp.mpf(found.lower) <= closed.gaussian_delta(total, epsilon) <= mp.mpf(found.upper)
        assert found.met or not symmetric


def race(n, count, epsilon, direction):
    """D of `count` releases of (1 - alpha)^n: the loss is log n per release less (n - 1) exponential times."""
    with mp.extraprec(400):
        n, epsilon = mp.mpf(n), mp.mpf(epsilon)
        sign = 1 if direction == "remove" else -1
        x = max((count * mp.log(n) - sign * epsilon) / (n - 1), mp.zero)
        tail = (
            (lambda y: mp.gammainc(count, 0, y, True)) if sign > 0 else (lambda y: mp.gammainc(count, y, mp.inf, True))
        )
        p, q = tail(n * x), tail(x)
        return p - mp.exp(epsilon) * q if sign > 0 else q - mp.exp(epsilon) * p


@pytest.mark.parametrize(("n", "count"), some(itertools.product([1.1, 2, 7], [1, 4, 60]), 3))
def test_composed_powers_in_both_directions(n, count):
    """An asymmetric function with a closed form for every count."""
    both = count * qw.tradeoff(power(n).function)
    swapped = count * qw.tradeoff(lambda a: 1 - np.power(a, 1 / n))
    for direction, other in (("remove", "add"), ("add", "remove")):
        for delta in (0.1, 1e-4):
            found = both.direction(direction).epsilon(delta)
            if found.lower > 0:
                assert race(n, count, found.lower, direction) >= delta
            if math.isfinite(found.upper):
                assert race(n, count, found.upper, direction) <= delta
            epsilon = max(found.lower * 0.97, 0.01)
            true = race(n, count, epsilon, direction)
            for found in (both.direction(direction).delta(epsilon), swapped.direction(other).delta(epsilon)):
                assert mp.mpf(found.lower) <= true <= mp.mpf(found.upper)


OWN_FAMILIES = [
    (laplace(0.4), qw.laplace(2.5)),
    (laplace(3.0), qw.laplace(1 / 3)),
    (response(0.5, 0.01), qw.approximate(0.5, 0.01)),
    (response(0.37, 0.0), qw.pure(0.37)),
    (subsampled(1.0, 0.1), qw.poisson(qw.gaussian(1.0), 0.1)),
    (HALF_REVEALED, qw.pair([0.5, 0.5], [0.0, 1.0])),
    (ENDS_EARLY, qw.pair([1.0, 0.0], [1 / 3, 2 / 3])),
]


# each of them in ci, half with two copies and half with thirty
@pytest.mark.parametrize(
    ("drawn", "same", "count"),
    some([(drawn, same, count) for drawn, same in OWN_FAMILIES for count in (2, 30)], len(OWN_FAMILIES)),
    ids=lambda case: getattr(case, "name", ""),
)
def test_composed_functions_against_their_own_families(drawn, same, count):
    loss, same = count * qw.tradeoff(drawn.function, symmetric=drawn.symmetric), count * same
    for one, two in ((loss, same), (loss.direction("add"), same.direction("add"))):
        assert holds(one.epsilon((0.1, 1e-6), rtol=1e-2), two.epsilon((0.1, 1e-6)))
        assert holds(one.delta((0.0, 0.6, 3.0), rtol=1e-2), two.delta((0.0, 0.6, 3.0)))
    assert holds(loss.beta((0.001, 0.3, 0.97)), same.beta((0.001, 0.3, 0.97)))


def test_an_observed_mixture_drawn_as_a_function():
    """alpha and beta of the mixture at the same loss, weighted."""
    parts = [(0.25, 0.4), (0.75, 1.5)]
    losses = np.linspace(-14.0, 14.0, 4001)
    alpha = sum(w * ndtr(-losses / mu - mu / 2) for w, mu in parts)
    beta = sum(w * ndtr(losses / mu - mu / 2) for w, mu in parts)
    for count in (1, 8):
        loss = count * qw.tradeoff(lambda a: np.interp(a, [0, *alpha[::-1], 1], [1, *beta[::-1], 0]))
        true = count * qw.mixture([(w, qw.gdp(mu)) for w, mu in parts])
        # chords of f: what is drawn promises at most as much, and less by their height only
        assert loss.delta(1.0).upper <= true.delta(1.0).upper * (1 + 2e-3)
        assert loss.delta(1.0).lower <= true.delta(1.0).upper
        assert loss.delta(1.0).upper >= true.delta(1.0).lower * (1 - 1e-4)


# ---- as a loss among others


T = gaussian(1.0).function


@pytest.mark.parametrize(
    ("other", "symmetric"),
    [
        (3 * qw.gaussian(2.0), False),
        (4 * qw.pure(0.3), False),
        (2 * qw.approximate(0.25, 1e-3), True),
        (3 * qw.constraints([(0.3, 0.0), (0.15, 0.02)]), True),
        (20 * qw.poisson(qw.gaussian(1.0), 0.05), True),
        (2 * qw.laplace(1.0), True),
        (2 * qw.tradeoff([(0.0, 1.0), (0.2, 0.3), (1.0, 0.0)]), False),
        (qw.zcdp(0.1), True),
    ],
    ids=str,
)
def test_together_with_other_losses(other, symmetric):
    loss, same = 3 * qw.tradeoff(T, symmetric=symmetric) + other, 3 * qw.gdp(1.0) + other
    assert holds(loss.epsilon(1e-2, rtol=1e-2), same.epsilon(1e-2))
    assert holds(loss.delta(4.0, rtol=1e-2), same.delta(4.0))
    if "laplace" not in str(other):
        assert holds(loss.beta(0.05), same.beta(0.05))


def test_two_functions_together():
    loss = 5 * qw.tradeoff(T) + 7 * qw.tradeoff(gaussian(0.5).function, symmetric=True)
    assert holds(loss.epsilon(1e-5), qw.gdp(math.sqrt(5 + 7 / 4)).epsilon(1e-5))
    assert loss.epsilon(1e-5).met


def test_equality_is_that_of_the_function():
    assert qw.tradeoff(T) == qw.tradeoff(T)
    assert hash(qw.tradeoff(T)) == hash(qw.tradeoff(T))
    assert qw.tradeoff(T) + qw.tradeoff(T) == 2 * qw.tradeoff(T)
    assert qw.tradeoff(T) != qw.tradeoff(T, symmetric=True)
    assert qw.tradeoff(T) != qw.tradeoff(gaussian(1.0).function)


def test_words():
    def my_curve(alpha):
        return (1 - alpha) ** 2

    loss = 3 * qw.tradeoff(my_curve)
    assert repr(loss) == "3 * tradeoff(my_curve)"
    assert repr(qw.tradeoff(functools.partial(my_curve))) == "tradeoff(function)"
    text = loss.guarantee().explain()
    assert "stated trade-off function" in text
    assert "held between finite pairs" in text


@pytest.mark.parametrize("bad", ["yes", 1, None])
def test_symmetric_is_a_flag(bad):
    with pytest.raises(InvalidParameter, match="symmetric"):
        qw.tradeoff(T, symmetric=bad)


SAMPLED = [
    (gaussian(1.0), qw.gdp(1.0)),
    (laplace(0.4), qw.laplace(2.5)),
    (response(0.5, 0.01), qw.approximate(0.5, 0.01)),
    (ENDS_EARLY, qw.pair([1.0, 0.0], [1 / 3, 2 / 3])),
]


# in ci each function with both rates and both counts
@pytest.mark.parametrize(
    ("pair", "rate", "count"),
    some([(pair, rate, count) for pair in SAMPLED for rate, count in ((0.02, 1), (0.02, 20), (0.6, 20), (0.6, 1))], 8),
    ids=lambda case: getattr(case[0], "name", "") if isinstance(case, tuple) else None,
)
def test_on_a_poisson_sample(pair, rate, count):
    drawn, same = pair
    loss = count * qw.poisson(qw.tradeoff(drawn.function, symmetric=drawn.symmetric), rate)
    same = count * qw.poisson(same, rate)
    for side in ("remove", "add"):
        one, two = loss.direction(side), same.direction(side)
        assert holds(one.delta((0.0, 0.1, 0.7), rtol=1e-2), two.delta((0.0, 0.1, 0.7)))
        assert holds(one.epsilon(0.02, rtol=1e-2), two.epsilon(0.02))
    assert loss.epsilon(0.02, rtol=2e-2).met


@pytest.mark.parametrize("rate", [0.1, 0.9])
@pytest.mark.parametrize("drawn", [gaussian(1.0), power(2), BOTH], ids=lambda case: case.name)
def test_sampling_is_the_operator_on_trade_off_functions(drawn, rate):
    """(1 - q)(1 - alpha) + q f(alpha) where the record is removed, and the inverse of that where it is added."""
    loss = qw.poisson(qw.tradeoff(drawn.function), rate)

    def exact(a):
        return (1 - mp.mpf(rate)) * (1 - mp.mpf(a)) + mp.mpf(rate) * drawn.exact(a)

    for alpha in (0.01, 0.3, 0.7):
        removed, true = loss.direction("remove").beta(alpha), exact(alpha)
        assert mp.mpf(removed.lower) <= true <= mp.mpf(removed.upper)
        assert removed.upper - removed.lower < 2e-3
        added = loss.direction("add").beta(float(true))
        assert added.lower <= alpha * (1 + 1e-12)
        assert added.upper >= alpha * (1 - 1e-12)
        assert added.upper - added.lower < 2e-3


@pytest.mark.parametrize("count", [1, 10])
@pytest.mark.parametrize("other", [qw.pure(1.0), qw.gaussian(2.0), qw.approximate(0.3, 0.01)], ids=str)
def test_in_a_mixture(other, count):
    loss = count * qw.mixture([(0.25, qw.tradeoff(T, symmetric=True)), (0.75, other)])
    same = count * qw.mixture([(0.25, qw.gdp(1.0)), (0.75, other)])
    assert holds(loss.delta((0.0, 1.0, 3.0), rtol=1e-2), same.delta((0.0, 1.0, 3.0)))
    assert holds(loss.epsilon(0.05, rtol=1e-2), same.epsilon(0.05))
    if count == 1:
        assert holds(loss.beta((0.05, 0.6)), same.beta((0.05, 0.6)))


def test_documents_of_sampled_and_mixed_functions():
    for loss in (qw.poisson(qw.tradeoff(T), 0.1), qw.mixture([(0.5, qw.tradeoff(T)), (0.5, qw.pure(1.0))])):
        again = qw.Loss.from_json(json.loads(json.dumps(loss.to_json())))
        assert holds(again.delta(0.5), loss.delta(0.5))
        assert again.delta(0.5).upper == pytest.approx(loss.delta(0.5).upper, rel=5e-3)


def test_a_correct_function_of_few_digits_is_held():
    """1 - sqrt(1 - (1 - alpha)^2) loses half of its digits near 0; its profile is sqrt(1 + t^2) - t."""
    loss = qw.tradeoff(lambda a: 1 - math.sqrt(1 - (1 - a) ** 2))
    for epsilon in (0.0, 1.0, 3.0):
        t, found = mp.exp(epsilon), loss.delta(epsilon)
        assert mp.mpf(found.lower) <= mp.sqrt(1 + t * t) - t <= mp.mpf(found.upper)
    assert 1e-8 < accuracy(lambda a: 1 - math.sqrt(1 - (1 - a) ** 2)) < 1e-6
    assert loss.epsilon(0.01).met


def test_what_a_bound_does_not_allow():
    loss = qw.tradeoff(T)
    assert qw.poisson(loss, 1.0) is loss
    with pytest.raises(Unsupported, match="group privacy"):
        loss.group(2)
    assert loss.group(1) is loss


@pytest.mark.parametrize("drawn", [gaussian(1.0), power(2), BOTH], ids=lambda case: case.name)
def test_a_function_that_is_read_again_promises_the_same(drawn):
    """Bit by bit, at the usual width, alone and composed."""
    for count in (1, 10):
        loss = count * qw.tradeoff(drawn.function, symmetric=drawn.symmetric)
        again = reread(loss)
        assert isinstance(again.parts[0].family, TabulatedTradeOff)
        for one, other in (
            (again.delta(0.5), loss.delta(0.5)),
            (again.epsilon(1e-6), loss.epsilon(1e-6)),
            (again.beta(0.1), loss.beta(0.1)),
        ):
            assert (one.lower, one.upper, one.method) == (other.lower, other.upper, other.method)
        assert again.to_json() == loss.to_json()
        assert reread(again) == again


@pytest.mark.parametrize(
    "wrap", [lambda one: qw.poisson(one, 0.1), lambda one: qw.mixture([(0.5, one), (0.5, qw.pure(0.5))])]
)
def test_a_function_inside_another_loss_is_read_again(wrap):
    loss = 20 * wrap(qw.tradeoff(T, symmetric=True))
    found, live = reread(loss).epsilon(1e-5), loss.epsilon(1e-5)
    assert (found.lower, found.upper) == (live.lower, live.upper)


def test_beyond_the_samples_that_are_kept_a_bracket_is_no_less_safe():
    drawn = gaussian(8.0)
    loss = qw.tradeoff(drawn.function, symmetric=True)
    found, live = reread(loss).epsilon(1e-6, rtol=1e-6), loss.epsilon(1e-6, rtol=1e-6)
    truth = closed.gaussian_epsilon(8, 1e-6)
    assert mp.mpf(found.lower) <= truth <= mp.mpf(found.upper)
    assert mp.mpf(live.lower) <= truth <= mp.mpf(live.upper)


@pytest.mark.parametrize(
    ("change", "about"),
    [
        ({"betas": [1.0, 0.5]}, "levels must be"),
        ({"levels": [2, 2]}, "levels must be"),
        ({"levels": [2.5, 0.5]}, "levels must be"),
        ({"alphas": [0.0, 0.5, 0.5]}, "alphas must be"),
        ({"alphas": [0.0, 0.5, 0.9]}, "alphas must be"),
        ({"betas": [1.0, 0.9, 0.0]}, "trade-off must be"),
        ({"betas": [1.0, math.nan, 0.0]}, "betas must be"),
        ({"noise": 0.0}, "noise must be"),
        ({"noise": 0.1}, "noise must be"),
    ],
)
def test_tables_that_are_none_are_refused(change, about):
    table = {"alphas": [0.0, 0.5, 1.0], "betas": [1.0, 0.25, 0.0], "levels": [3], "noise": 4e-16}
    document = (qw.tradeoff(T).to_json(), {**table, **change})
    family = {**document[0]["releases"][0], "function": document[1]}
    with pytest.raises(InvalidParameter, match=about):
        qw.Loss.from_json({**document[0], "releases": [family]})
    with pytest.raises(InvalidParameter, match="trade-off must be"):
        qw.Loss.from_json({**document[0], "releases": [{**family, "function": {"alphas": [0.0, 1.0]}}]})


@pytest.mark.parametrize("symmetric", [False, True])
def test_the_region_is_an_outer_polygon(symmetric):
    region = qw.tradeoff(T, symmetric=symmetric).region(4)
    assert region.method.endswith("outer polygon")
    for epsilon in (0.0, 0.77, 2.0, 5.0):
        true = closed.gaussian_delta(2, epsilon)
        found = region.delta(epsilon)
        assert mp.mpf(found.lower) <= true <= mp.mpf(found.upper)
        assert found.upper == pytest.approx(float(true), rel=1e-2)
    for alpha in (0.01, 0.3):
        assert mp.mpf(region.beta(alpha).lower) <= closed.gaussian_beta(2, alpha)


def test_calibration_over_functions():
    sigma = qw.calibrate(lambda s: 4 * qw.tradeoff(gaussian(1 / s).function, symmetric=True), 2.0, 1e-4)
    exact = qw.calibrate(lambda s: 4 * qw.gaussian(s), 2.0, 1e-4)
    assert exact * (1 - 1e-9) <= sigma <= exact * 1.01


def test_ends_of_the_scales():
    loss = qw.tradeoff(T, symmetric=True)
    assert loss.delta(math.inf).lower == 0.0
    assert loss.delta(math.inf).upper < 1e-14
    assert loss.delta(-math.inf).lower == 1.0
    assert (loss.epsilon(0.0).lower, loss.epsilon(0.0).upper) == (0.0, math.inf)
    assert loss.epsilon(1.0).upper == 0.0
    assert loss.beta(0.0).lower > 1 - 1e-13
    assert loss.beta(1.0).upper < 1e-299
    assert (0 * loss).epsilon(1e-5).upper == 0.0


def test_the_family_says_what_it_is():
    family = Sandwich(T)
    assert family.sandwiched
    assert set(family.pairs()) == set(family.optimistic()) == {"remove", "add"}
    assert set(Sandwich(T, symmetric=True).pairs()) == {"both"}
    assert 0 < family.slack < 1e-13


def test_flat_samples_lie_on_a_line():
    """Three points of 1 - alpha: both polygons are that line, up to the assumed accuracy."""
    alpha = np.array([0.0, 0.25, 0.5, 0.75, 1.0])
    for vertices in (below(alpha, 1 - alpha), above(alpha, 1 - alpha)):
        for a in (0.1, 0.5, 0.9):
            assert abs(height(vertices, a) - (1 - mp.mpf(a))) < 8 * SLACK


def test_noise_that_only_the_samples_see_counts():
    """A function may be worse in one place than where its accuracy is looked for: its samples tell."""
    centres = np.geomspace(1e-16, 0.47, 30)  # where `accuracy` looks
    low, high = 1.05 * centres[11], 0.95 * centres[12]

    def rough(alpha):
        value = ndtr(-ndtri(alpha) - 1.0) if 0 < alpha < 1 else 1.0 - alpha
        if low < alpha < high:  # as from a sum of a thousand terms
            value -= 3e-13 * (1 + math.sin(1e14 * alpha))
        return value

    spacing = 1 / 1024  # so fine that chords bend by less than the noise
    assert accuracy(rough) < 1e-14  # no probe sees it
    assert seen_accuracy(rough, spacing) > 6e-13
    under, over = (np.array(side).T for side in polygons(rough, spacing, False))
    for alpha in np.geomspace(low, high, 100):
        x = mp.findroot(lambda x, at=alpha: mp.log(mp.ncdf(x)) - mp.log(mp.mpf(at)), ndtri(alpha))
        true = float(mp.ncdf(-x - 1))
        assert np.interp(alpha, *under) <= true + 2e-16
        assert true - 2e-16 <= np.interp(alpha, *over)
