"""Answers from the list of all values against exact rationals: D, its complement, epsilon and the trade-off function.

Reference: theory/multi-constraints.md section 3a.
"""

import math
import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.compose.rationals import Composition, number
from tests.examples import examples, seeds
from tests.truth import constraints as truth
from tests.truth.numbers import mp

import quiltwork as qw
from quiltwork.compose.accountant.directions import sides
from quiltwork.compose.engines.atoms import Atoms
from quiltwork.compose.engines.listed import (
    CHUNK,
    FLOOR,
    WIDTH,
    ExactEngine,
    ExactLaw,
    _depth,
    cumulative,
    sticks,
    tails,
)
from quiltwork.compose.engines.views.solve import left_log_space
from quiltwork.numbers.rounding import UNIT

LIST = "exact atoms"
INPUT = mp.mpf(2) ** -52  # a stated delta is a decimal, the end of a bracket is a double


# ---- sums


@pytest.mark.parametrize("size", [0, 1, 2, CHUNK - 1, CHUNK, CHUNK + 1, CHUNK**2, CHUNK**2 + 1, 20_000, CHUNK**3 + 7])
def test_cumulative_sums(size):
    """Every entry of short lists, and the ends of the chunks of long ones."""
    values = np.random.default_rng(size).exponential(size=size) ** 8
    found = cumulative(values)
    assert found.shape == (size,)
    ends = (CHUNK - 1, CHUNK, CHUNK**2 - 1, CHUNK**2, CHUNK**2 + 1, 3 * CHUNK**2 + 5 * CHUNK - 1, size - 1)
    for i in range(size) if size <= 2 * CHUNK else (end for end in ends if end < size):
        true = math.fsum(values[: i + 1])
        assert abs(found[i] - true) <= _depth(size) * UNIT * true


def test_cumulative_sums_keep_what_is_small():
    """A small start is not lost beside what follows, and zeros stay zeros."""
    values = np.concatenate((np.zeros(100), 10.0 ** np.linspace(-300, 300, 500), np.zeros(100)))
    found = cumulative(values)
    assert np.all(found[:100] == 0)
    for i in range(100, 600, 37):
        assert found[i] == pytest.approx(math.fsum(values[: i + 1]), rel=1e-14)


def spread_out(seed):
    """Losses with gaps of all sizes, some equal; masses of all sizes, some zero."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 400))
    gaps = 10.0 ** rng.uniform(-9, rng.choice([-2, 0, 2.5]), size) * (rng.random(size) > 0.1)
    losses = np.cumsum(gaps) - rng.choice([0.0, 30.0, 900.0])
    masses = 10.0 ** rng.uniform(-rng.choice([1, 30, 250]), 0, size) * (rng.random(size) > 0.1)
    return losses, masses


@pytest.mark.parametrize("seed", range(12))
def test_tails_and_sticks_by_their_definition(seed):
    """Sums of positive terms over blocks of losses, however wide the list."""
    losses, masses = spread_out(seed)
    above, fallen = tails(losses, masses), sticks(losses, tails(losses, masses))
    assert above[-1] == 0.0
    assert fallen[-1] == 0.0
    exact = [(mp.mpf(loss), mp.mpf(mass)) for loss, mass in zip(losses.tolist(), masses.tolist(), strict=True)]
    blocks = 1 + (losses[-1] - losses[0]) / WIDTH
    room = (2 * _depth(losses.size) + 64) * UNIT + 2 * UNIT * (np.abs(losses).max() + 8 * min(blocks, 50.0))
    for j in {0, losses.size // 3, losses.size // 2, losses.size - 1}:
        here = exact[j][0]
        tail = mp.fsum(mass * mp.exp(here - loss) for loss, mass in exact[j:])
        stick = mp.fsum(-mass * mp.expm1(here - loss) for loss, mass in exact[j:])
        assert abs(above[j] - tail) <= room * tail + FLOOR
        # distances to what lies above are rounded, too
        assert abs(fallen[j] - stick) <= room * stick + 4 * UNIT * np.abs(losses).max() * tail + FLOOR


# ---- random pairs: reveal and vanish mass, both directions, one to three kinds


def masses(rng, size):
    """Dyadic, with sum 1: sixty-fourths, or of very different sizes."""
    if rng.random() < 0.6:
        cuts = sorted(rng.choices(range(65), k=size - 1))
        return [(b - a) / 64 for a, b in zip([0, *cuts], [*cuts, 64], strict=True)]
    small = [rng.randint(0, 7) * 2.0 ** -rng.randint(5, 47) for _ in range(size - 1)]
    return [*small, 1 - sum(small)]


def drawn(seed):
    """A composition and what the library calls it."""
    rng = random.Random(seed)
    while True:
        releases = []
        for _ in range(rng.choice([1, 1, 2, 2, 3])):
            size = rng.randint(2, 4)
            p, q = masses(rng, size), masses(rng, size)
            rng.shuffle(p)
            releases.append((p, q, rng.choice([1, 2, 3, 5])))
        exact = Composition(releases)
        if 0 < len(exact.atoms) <= 200:
            return rng, exact, qw.compose(*(count * qw.pair(p, q) for p, q, count in releases))


def places(rng, losses):
    """At values, a rounding beside them, between them, below zero, at the ends and past them."""
    chosen = rng.sample(losses, min(4, len(losses)))
    beside = [math.nextafter(x, rng.choice([-1, 1]) * math.inf) for x in chosen]
    between = [rng.uniform(losses[0], losses[-1]) for _ in range(4)]
    ends = [losses[0], losses[-1], losses[0] - 0.5, losses[-1] + 0.5, losses[0] - 30.0, losses[-1] + 30.0]
    return [0.0, -0.25, *chosen, *beside, *between, *ends]


KNOWN = 2e-13  # a question, a loss or a sum of masses may be off by a thousand units of rounding or two, and no more


def sharp(lower, upper, value, at, scale):
    """Whether a bracket is as narrow as twelve digits, and the digits of the question, allow."""
    blur = abs(value(at - KNOWN * scale) - value(at + KNOWN * scale))
    return upper - lower <= mp.mpf("1e-12") * value(at) + blur + 1e-299


def assert_holds(lower, upper, true, case):
    """The truth between the ends; what is below 1e-300 is only bounded."""
    assert lower <= true <= upper or (true < FLOOR and lower == 0 and upper > 0), (
        lower,
        upper,
        mp.nstr(true, 20),
        case,
    )


SEEDS = seeds(40)


@pytest.mark.parametrize("seed", SEEDS)
def test_delta_of_random_pairs(seed):
    rng, exact, loss = drawn(seed)
    for side, law in (("remove", exact), ("add", exact.swapped())):
        asked = places(rng, law.losses)
        found = loss.direction(side).delta(asked, rtol=1e-12, method=LIST)
        assert found.method == LIST
        for epsilon, lower, upper in zip(asked, found.lower, found.upper, strict=True):
            true = law.delta(epsilon)
            assert_holds(lower, upper, true, (side, epsilon))
            scale = 1 + max(abs(law.losses[0]), abs(law.losses[-1]))
            assert sharp(lower, upper, law.delta, epsilon, scale), (side, epsilon, lower, upper, mp.nstr(true, 20))


@pytest.mark.parametrize("seed", SEEDS)
def test_the_worse_direction(seed):
    rng, exact, loss = drawn(seed)
    both = (exact, exact.swapped())
    asked = [rng.uniform(-1.0, 1.0) * max(abs(x) for x in exact.losses) for _ in range(6)]
    found = loss.delta(asked, rtol=1e-12)
    for epsilon, lower, upper in zip(asked, found.lower, found.upper, strict=True):
        assert_holds(lower, upper, max(law.delta(epsilon) for law in both), epsilon)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_complement_of_random_pairs(seed):
    """C = 1 - D - reveal, as a sum of its own: small where D is near 1."""
    rng, exact, loss = drawn(seed)
    engine = ExactEngine.of(sides(loss.parts, "remove")[0], 20_000)
    asked = np.array(places(rng, exact.losses))
    for view, value in ((engine.everywhere(True), exact.complement), (engine.everywhere(False), exact.stick)):
        low, high = left_log_space(view.logs(asked))
        for epsilon, lower, upper in zip(asked.tolist(), low.tolist(), high.tolist(), strict=True):
            assert_holds(lower, upper, value(epsilon), (view.theta, epsilon))


@pytest.mark.parametrize("seed", SEEDS)
def test_epsilon_of_random_pairs(seed):
    """D falls through the asked level between the two ends, in the worse direction."""
    rng, exact, loss = drawn(seed)
    both = (exact, exact.swapped())

    def delta(epsilon):
        return max(law.delta(epsilon) for law in both)

    most, reveal = float(delta(0)), float(max(exact.reveal, exact.vanish))
    levels = [reveal + (most - reveal) * rng.random() ** power for power in (0.2, 1, 3, 9)]
    levels = [level for level in levels if reveal * 1.0001 < level < most and level > 1e-290]
    for level in [*levels, 1.0]:
        found = loss.epsilon(level, rtol=1e-12)
        assert delta(found.upper) <= level, (level, found)
        assert found.lower == 0 or delta(found.lower) >= level, (level, found)
        assert found.width <= 1e-9 * (1 + found.upper), (level, found)


@pytest.mark.parametrize("count", [4, 9, 25])
def test_epsilon_where_delta_is_large(count):
    """A wide loss: levels above one half come from the complement, which may not lean to either side."""
    kinds = [([(1.8, 0.0)], count), ([(0.3, 0.0), (0.15, 0.02)], 2)]
    law = truth.composed([([(repr(e), repr(d)) for e, d in points], n) for points, n in kinds])
    loss = qw.compose(*(n * qw.constraints(points) for points, n in kinds))
    levels = [0.5 + 0.5 * x for x in np.linspace(0.01, 0.98 * (2 * float(law.delta(0)) - 1), 40)]
    found = loss.epsilon(levels, rtol=1e-12)
    for level, lower, upper in zip(levels, found.lower, found.upper, strict=True):
        assert law.delta(mp.mpf(float(upper)) * (1 + INPUT)) <= level, (level, upper, found.method)
        assert law.delta(mp.mpf(float(lower)) * (1 - INPUT)) >= level, (level, lower, found.method)


def levels(rng, exact):
    """Levels of the tests without randomisation, as doubles, and beside them; between; tiny; near 1."""
    corners = [float(alpha) for alpha, _ in exact.corners()]
    chosen = rng.sample(corners, min(5, len(corners)))
    beside = [math.nextafter(x, rng.choice([0, 1])) for x in chosen]
    between = [(a + b) / 2 for a, b in zip(sorted(chosen), sorted(chosen)[1:], strict=False)]
    ends = [0.0, 1.0, 2.0**-300, 2.0**-60, 2.0**-20, 0.5, 1 - 2.0**-20, 1 - 2.0**-53]
    return [*chosen, *beside, *between, *ends, *(rng.random() for _ in range(3))]


def beta_of(law):
    """beta as a real function of a real level, 1 at negative levels."""
    return lambda alpha: number(law.beta(min(max(Fraction(alpha), Fraction(0)), Fraction(1))))


@pytest.mark.parametrize("seed", SEEDS)
def test_beta_of_random_pairs(seed):
    """The best randomised test, in rationals; mass that only Q shows ends the curve before alpha = 1."""
    rng, exact, loss = drawn(seed)
    for side, law in (("remove", exact), ("add", exact.swapped())):
        asked = levels(rng, law)
        found = loss.direction(side).beta(asked, method=LIST)
        for alpha, lower, upper in zip(asked, found.lower, found.upper, strict=True):
            true = number(law.beta(alpha))
            assert_holds(lower, upper, true, (side, alpha))
            if alpha > 0:  # beta(0) is 1 - reveal, and the reveal mass is known to a few units
                assert sharp(lower, upper, beta_of(law), alpha, alpha), (side, alpha, lower, upper, mp.nstr(true, 20))


@pytest.mark.parametrize("seed", range(15))
def test_the_worse_direction_of_beta(seed):
    rng, exact, loss = drawn(seed)
    asked = levels(rng, exact)
    found = loss.beta(asked)
    for alpha, lower, upper in zip(asked, found.lower, found.upper, strict=True):
        true = min(law.beta(alpha) for law in (exact, exact.swapped()))
        assert_holds(lower, upper, number(true), alpha)


dyadic = st.lists(st.integers(1, 8), min_size=2, max_size=3)


@settings(max_examples=examples(50))
@given(p=dyadic, q=dyadic, count=st.integers(2, 4), at=st.fractions(0, 1), epsilon=st.floats(-4.0, 4.0))
def test_small_laws_keep_twelve_digits(p, q, count, at, epsilon):
    """No reveal, no tiny masses, questions away from the kinks: nothing excuses a wide bracket."""
    p, q = (np.diff(np.round(np.cumsum([0, *w]) / sum(w) * 32) / 32).tolist() for w in (p, q))
    size = min(len(p), len(q))
    p, q = ([*w[: size - 1], 1 - sum(w[: size - 1])] for w in (p, q))
    assume(min(*p, *q) > 0)
    exact = Composition([(p, q, count)])
    loss = (count * qw.pair(p, q)).direction("remove")
    found = loss.delta(epsilon, rtol=1e-12, method=LIST)
    true = exact.delta(epsilon)
    assert_holds(found.lower, found.upper, true, epsilon)
    assert sharp(found.lower, found.upper, exact.delta, epsilon, 1)
    alpha = float(at)
    found, true = loss.beta(alpha, method=LIST), number(exact.beta(alpha))
    assert_holds(found.lower, found.upper, true, alpha)
    assert sharp(found.lower, found.upper, beta_of(exact), alpha, alpha)


# ---- stated losses: typed decimals


KINDS = [
    [([(0.1, 0.0)], 3)],
    [([(0.3, 0.0), (0.15, 0.02)], 5)],
    [([(0.5, 0.0)], 6), ([(0.2, 0.0)], 5)],
    [([(1.5, 1e-6), (0.7, 0.05), (0.0, 0.3)], 3)],
    [([(2.0, 0.125)], 4), ([(0.25, 1e-9)], 3)],
    [([(0.123456, 0.0), (0.0456, 0.01)], 6)],
]


@pytest.mark.parametrize("kinds", KINDS)
def test_delta_at_and_beside_typed_sums(kinds):
    """At a sum the next one above decides; one rounding beside it the distance is known to a rounding only."""
    law = truth.composed([([(repr(e), repr(d)) for e, d in points], n) for points, n in kinds])
    loss = qw.compose(*(n * qw.constraints(points) for points, n in kinds))
    attained = [float(x) for x, _ in law.atoms]
    asked = attained + [math.nextafter(x, way) for x in attained for way in (-math.inf, math.inf)]
    found = loss.delta(asked, rtol=1e-12)
    for i, (epsilon, lower, upper) in enumerate(zip(asked, found.lower, found.upper, strict=True)):
        at = mp.mpf(repr(epsilon))
        true = law.reveal + mp.fsum(-mass * mp.expm1(at - x) for x, mass in law.atoms if x - at > mp.mpf(2) ** -150)
        assert lower * (1 - INPUT) <= true <= upper * (1 + INPUT), (epsilon, lower, upper, mp.nstr(true, 20))
        if i < len(attained):
            assert upper - lower <= 1e-12 * true, (epsilon, lower, upper)


@pytest.mark.parametrize("kinds", KINDS)
def test_nothing_is_left_at_the_largest_loss_and_something_before(kinds):
    loss = qw.compose(*(n * qw.constraints(points) for points, n in kinds))
    law = truth.composed([([(repr(e), repr(d)) for e, d in points], n) for points, n in kinds])
    top, before = float(law.atoms[-1][0]), float(law.atoms[-1][0]) - 1e-9
    at, left = loss.delta(top, rtol=1e-12), loss.delta(before, rtol=1e-12)
    assert at.lower * (1 - INPUT) <= law.reveal <= at.upper * (1 + INPUT)
    assert (at.upper == 0) == (law.reveal == 0)
    assert left.lower > at.upper
    assert loss.delta(top + 1.0).upper == at.upper


def test_epsilons_far_below_zero():
    """D is 1 - e^eps there, and the bracket does not fall below it."""
    loss = 5 * qw.pure(0.5)
    for epsilon in (-2.5, -3.0, -40.0, -800.0):
        found = loss.delta(epsilon, rtol=1e-12, method=LIST)
        assert found.lower <= -mp.expm1(mp.mpf(epsilon)) <= found.upper
        assert found.relative_width < 1e-13


# ---- very small and very large numbers


def test_deltas_below_every_promise():
    """Masses of 1e-360: reported as at most 1e-300, and not as zero before the largest loss."""
    loss = 40 * qw.constraints([(12.5, 0.0), (0.25, 1e-9)])
    law = truth.composed([([("12.5", "0"), ("0.25", "1e-9")], 40)])
    for epsilon in (0.0, 3.0, 100.5, 300.25, 401.0, 450.0, 499.0, 499.75):
        found = loss.delta(epsilon, rtol=1e-12, method=LIST)
        true = mp.fsum(-mass * mp.expm1(epsilon - x) for x, mass in law.atoms if x > epsilon)
        assert_holds(found.lower, found.upper, true, epsilon)
        if true < 1e-310:
            assert found.lower == 0
            assert 0 < found.upper <= 1e-299
    assert loss.delta(500.0).upper == 0


@pytest.mark.parametrize("epsilon", [800.0, 5000.0])
def test_losses_past_the_overflow_of_the_exponential(epsilon):
    points = [(epsilon, 0.0), (1.0, 0.25)]
    law = truth.composed([([(repr(e), repr(d)) for e, d in points], 3)])
    loss = 3 * qw.constraints(points)
    asked = [0.0, 0.5, 2.0, epsilon - 1, epsilon, epsilon + 1, 2 * epsilon, 2.5 * epsilon, 3 * epsilon]
    found = loss.delta(asked, rtol=1e-12)
    for at, lower, upper in zip(asked, found.lower, found.upper, strict=True):
        true = mp.fsum(-mass * mp.expm1(at - x) for x, mass in law.atoms if x > at)
        assert_holds(lower, upper, true, at)
        assert upper - lower <= 1e-11 * true
    found = loss.beta([1e-12, 0.01, 0.4, 0.9])
    for alpha, lower, upper in zip([1e-12, 0.01, 0.4, 0.9], found.lower, found.upper, strict=True):
        assert_holds(lower, upper, law.beta(alpha), alpha)


@pytest.mark.parametrize(("count", "epsilon"), [(90, 8.0), (60, 12.0), (100, 7.2)])
@pytest.mark.parametrize("alpha", [1e-290, 1e-305, 1e-310, 7e-315, 1e-320, 5e-324])
def test_levels_near_the_smallest_double(count, epsilon, alpha):
    """e^720 overflows: a threshold there must not promise anything."""
    up = 1 / (1 + mp.exp(-mp.mpf(repr(epsilon))))
    left, true = mp.mpf(alpha), mp.one
    for j in range(count, -1, -1):
        p, q = (math.comb(count, j) * x**j * (1 - x) ** (count - j) for x in (up, 1 - up))
        if q > left:
            true -= p * left / q
            break
        left, true = left - q, true - p
    found = (count * qw.pure(epsilon)).beta(alpha)
    assert found.lower <= true <= found.upper


@pytest.mark.parametrize("delta", ["0.9", "0.99", "0.999798", "0.9999999999"])
@pytest.mark.parametrize("count", [1, 2, 20])
def test_beta_when_nearly_everything_is_revealed(count, delta):
    """beta is (1 - delta)^k at most: its digits come from the masses, not from 1 - delta in doubles."""
    points = [("0.1", delta)]
    law = truth.composed([(points, count)])
    loss = count * qw.approximate(0.1, float(delta))
    kept = (1 - mp.mpf(delta)) ** count
    asked = [0.0, *(float(kept * share) for share in (1e-6, 0.01, 0.3, 0.7, 0.99))]
    found = loss.beta(asked)
    for alpha, lower, upper in zip(asked, found.lower, found.upper, strict=True):
        assert_holds(lower, upper, law.beta(alpha), alpha)
    assert found[3].relative_width < 1e-11


# ---- identities


@pytest.mark.parametrize("kinds", KINDS)
def test_a_symmetric_law_and_its_mirror(kinds):
    """D(-eps) = 1 - e^-eps + e^-eps D(eps), and the trade-off function is its own inverse."""
    loss = qw.compose(*(n * qw.constraints(points) for points, n in kinds))
    epsilon = np.array([0.0, 1e-6, 0.05, 0.3, 0.7, 2.0, 9.0])
    one, two = loss.delta(epsilon, rtol=1e-12), loss.delta(-epsilon, rtol=1e-12)
    t = np.exp(-epsilon)
    room = 1e-13
    assert np.all(two.upper >= (1 - t + t * one.lower) * (1 - room))
    assert np.all(two.lower <= (1 - t + t * one.upper) * (1 + room))
    for alpha in (1e-5, 0.01, 0.2, 0.45, 0.8):
        there = loss.beta(alpha)
        if there.upper < 1e-200:
            continue
        back = loss.beta([there.lower, there.upper])
        assert back.upper[0] >= alpha * (1 - room)
        assert back.lower[1] <= alpha * (1 + room)


@pytest.mark.parametrize("seed", range(20))
def test_directions_are_inverse_to_each_other(seed):
    """f_add(f_remove(alpha)) = alpha where f_remove falls."""
    _, exact, loss = drawn(seed)
    remove, add = loss.direction("remove"), loss.direction("add")
    for alpha in (0.01, 0.2, 0.6):
        if exact.beta(alpha) < Fraction(1, 10**6) or 1 - exact.reveal - exact.beta(alpha) < Fraction(1, 10**6):
            continue
        there = remove.beta(alpha, method=LIST)
        back = add.beta([there.lower, there.upper], method=LIST)
        true = number(exact.swapped().beta(exact.beta(alpha)))
        assert back.lower[1] <= true <= back.upper[0]


def test_a_loss_that_never_varies():
    """One atom: D is a straight line in e^eps."""
    law = ExactLaw(
        Atoms(np.array([0.5]), np.array([0.75]), np.array([0.75 * math.exp(-0.5)]), np.array([1e-15]), 1e-15, 0.0)
    )
    assert law.stick(np.array([0.5, 0.6])).tolist() == [0.0, 0.0]
    assert law.stick(np.array([-np.inf])).tolist() == [0.75]
    assert law.complement(np.array([1.0])).tolist() == [0.75]
    assert law.stick(np.array([0.0]))[0] == pytest.approx(0.75 * -math.expm1(-0.5), rel=1e-15)


def test_the_method_is_named_and_may_decline():
    assert (20 * qw.pure(0.1)).delta(0.3, method=LIST).method == LIST
    assert (20 * qw.pure(0.1)).epsilon(1e-3, method=LIST).method == LIST
    assert (20 * qw.pure(0.1)).beta(0.3, method=LIST).method == LIST
    assert ExactEngine.of(sides(qw.gaussian(1.0).parts, "worst")[0], 20_000) is None
    assert (
        ExactEngine.of(sides((50 * qw.pair([0.5, 0.3125, 0.1875], [0.25, 0.4375, 0.3125])).parts, "remove")[0], 99)
        is None
    )
