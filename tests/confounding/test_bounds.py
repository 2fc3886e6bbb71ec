"""Theorems A and B: proven bounds when the joint law is unknown or too large.

Reference: theory/confounding.md 2.3.
"""

from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.confounding import finite_truth as truth
from tests.examples import examples, seeds, some

import quiltwork as qw
from quiltwork import spec
from quiltwork.confounding.bounds import split
from quiltwork.confounding.finite.channels import repeated
from quiltwork.confounding.world import World
from quiltwork.curves.curve import Curve
from quiltwork.errors import InvalidParameter
from quiltwork.numbers.laws import laws

DATA = [["1/2", "3/10", "3/20", "1/20"], ["1/20", "3/20", "3/10", "1/2"]]
FOUR = [["7/10", "3/10"], ["3/5", "2/5"], ["2/5", "3/5"], ["1/5", "4/5"]]
BITS = [["9/10", "1/10"], ["1/5", "4/5"]]


def near(value: Any) -> Any:
    return pytest.approx(float(value), rel=1e-12, abs=1e-14)


# ---- the theorem, exactly


@given(
    st.sampled_from([2, 3]).flatmap(lambda s: truth.rational_tables(s, 3)),
    truth.rational_tables(3, 4),
    st.fractions(1, 4, max_denominator=10),
)
def test_theorem_b_in_fractions(data: Any, joint: Any, odds: Fraction) -> None:
    """truth <= Theorem B <= min(cap, privacy of the data), for any joint law of the outputs."""
    found = truth.contracted_at(data, joint, odds)
    assert truth.delta_at(truth.through(data, joint), odds) <= found
    assert found <= min(truth.delta_at(data, odds), truth.delta_at(joint, odds))


@given(truth.rational_tables(2, 2), truth.rational_tables(2, 4), st.fractions(1, 4, max_denominator=10))
def test_theorem_b_is_the_truth_for_binary_data(data: Any, joint: Any, odds: Fraction) -> None:
    assert truth.contracted_at(data, joint, odds) == truth.delta_at(truth.through(data, joint), odds)


@given(
    truth.rational_tables(3, 3), truth.rational_tables(3, 4), st.sampled_from([0.0, 1e-17, 0.1, 0.5, 1.0, 3.0, 36.7])
)
def test_amplified_is_theorem_b_from_above(data: Any, joint: Any, epsilon: float) -> None:
    """Also where P(x | s) = P(x | s') for some x, so that no float tells its sign: then it may be a little better."""
    found = World(data=data).release(joint=joint).bounds().amplified(epsilon)
    odds = truth.power_of_e(epsilon)
    naive = truth.contracted_at(data, joint, odds)
    assert truth.delta_at(truth.through(data, joint), odds) * (1 - truth.HAIR) <= Fraction(found)
    assert found <= float(naive) * (1 + 1e-12) + 1e-14
    if epsilon != 1e-17:
        assert naive * (1 - truth.HAIR) <= Fraction(found)


@given(truth.rational_tables(3, 3), truth.rational_tables(3, 4))
def test_amplified_at_infinity_is_what_is_revealed(data: Any, joint: Any) -> None:
    found = World(data=data).release(joint=joint).bounds()
    true, cap = truth.delta_near(truth.through(data, joint), math.inf), truth.delta_near(data, math.inf)
    for epsilon in (745.0, 1e300, math.inf):
        assert true <= Fraction(found.amplified(epsilon)) <= cap + Fraction(1, 10**12)


# ---- ten thousand worlds


def random_group(rng: np.random.Generator, priors: int) -> tuple[Any, list[Any], Any, float]:
    """`priors` laws of the data and one joint channel: independent given the data, or dependent with empty cells."""
    inputs, secrets = int(rng.integers(2, 5)), 3 if rng.random() < 0.2 else 2
    data = rng.dirichlet(np.full(inputs, rng.choice([0.3, 1.0, 3.0])), size=(priors, secrets))
    sizes = [2, int(rng.integers(2, 4))]
    if rng.random() < 0.5:
        parts = [rng.dirichlet(np.full(size, rng.choice([0.5, 2.0])), size=inputs) for size in sizes]
        joint = np.einsum("xi,xj->xij", *parts).reshape(inputs, -1)
        return data, parts, joint, float(rng.exponential(0.7))
    weights = rng.gamma(0.5, size=(inputs, math.prod(sizes))) * (rng.random((inputs, math.prod(sizes))) < 0.8) + 1e-9
    joint = weights / weights.sum(axis=1, keepdims=True)
    table = joint.reshape(inputs, *sizes)
    return data, [table.sum(axis=2), table.sum(axis=1)], joint, float(rng.exponential(0.7))


def sticks(laws: np.ndarray, odds: float) -> np.ndarray:
    """The worst stick over ordered pairs of the rows of each table: (tables, rows, outcomes) to (tables,)."""
    pairs = itertools.permutations(range(laws.shape[1]), 2)
    found = [np.maximum(laws[:, i] - odds * laws[:, j], 0.0).sum(axis=1) for i, j in pairs]
    return np.asarray(np.max(found, axis=0))


def contracted(data: np.ndarray, joint: np.ndarray, odds: float) -> np.ndarray:
    """Theorem B for each of several laws of the data, in plain floats."""
    best = np.zeros(len(data))
    for i, j in itertools.permutations(range(data.shape[1]), 2):
        gain = data[:, i] - odds * data[:, j]
        amount = np.maximum(gain, 0.0).sum(axis=1)
        top = amount[:, None, None, None] * joint[None, :, None, :]
        bottom = (amount + odds - 1)[:, None, None, None] * joint[None, None, :, :]
        table = np.maximum(top - bottom, 0.0).sum(axis=3)
        allowed = (gain[:, :, None] > 0) & (gain[:, None, :] < 0)
        best = np.maximum(best, np.where(allowed, table, 0.0).max(axis=(1, 2)))
    return best


@pytest.mark.parametrize("seed", seeds(4, least=1))
def test_random_worlds(seed: int) -> None:
    """750 in each part, and many parts in a campaign: truth <= Theorem B <= min(cap, privacy of the data).

    The library is compared with plain floats.

    Ten laws of the data share a channel and are one World of ten priors; each is also looked at alone.  Ignoring the
    confounder says too little, too much, or both at different epsilons, each in more than one world of a hundred.
    """
    rng, priors, groups = np.random.default_rng([6, seed]), 10, 75
    counts = np.zeros(3, dtype=int)
    for _ in range(groups):
        data, parts, joint, epsilon = random_group(rng, priors)
        odds = math.exp(epsilon)
        true, cap, bound = sticks(data @ joint, odds), sticks(data, odds), contracted(data, joint, odds)
        level = float(sticks(joint[None], odds)[0])
        assert np.all(true <= bound + 1e-13)
        assert np.all(bound <= np.minimum(cap, level) + 1e-13)

        release = World(data=data).release(joint=joint, outputs=[part.shape[1] for part in parts])
        bounds, found = release.bounds(), release.delta(epsilon)
        cap_found, level_found, amplified = bounds.cap(epsilon), bounds.data_level(epsilon), bounds.amplified(epsilon)
        assert found.lower <= amplified <= min(cap_found.upper, level_found.upper) + 1e-13
        assert found.lower - 1e-13 <= true.max() <= found.upper + 1e-13
        assert bound.max() == pytest.approx(amplified, rel=1e-10, abs=1e-13)
        assert cap_found.lower - 1e-13 <= cap.max() <= cap_found.upper + 1e-13
        assert level_found.lower - 1e-13 <= level <= level_found.upper + 1e-13

        product = np.einsum("tsi,tsj->tsij", data @ parts[0], data @ parts[1]).reshape(*data.shape[:2], -1)
        gaps = np.array([sticks(product, t) - sticks(data @ joint, t) for t in (1.0, 1.1, 1.25, 1.5, 2.0, 3.0)])
        low, high = (gaps < -1e-9).any(axis=0), (gaps > 1e-9).any(axis=0)
        counts += [int(kind.sum()) for kind in (low & ~high, high & ~low, low & high)]
    assert np.all(counts > priors * groups // 100)


# ---- as a curve


@settings(max_examples=examples(30))
@given(
    truth.float_tables(2, 3),
    truth.float_tables(3, 3),
    st.sampled_from(truth.EPSILONS),
    st.sampled_from(truth.DELTAS),
    st.sampled_from(truth.ALPHAS),
)
def test_the_curve_of_bounds_holds_the_truth(
    data: Any, channel: Any, epsilon: float, delta: float, alpha: float
) -> None:
    found = World(data=data).release(channel).bounds()
    exact = [truth.through(*rows) for rows in zip(truth.both_readings(data), truth.both_readings(channel), strict=True)]
    truth.assert_curve(found, exact, epsilons=[epsilon], deltas=[delta], alphas=[alpha])


def test_bounds_side_by_side() -> None:
    release = World(data=DATA).release(FOUR, FOUR)
    bounds = release.bounds()
    rows, channel = truth.table(DATA), truth.table(FOUR)
    joint, odds = truth.beside(channel, channel), truth.power_of_e(0.25)
    assert truth.holds(bounds.cap(0.25), truth.delta_at(rows, odds))
    assert truth.holds(bounds.data_level(0.25), truth.delta_at(joint, odds))
    assert truth.holds(bounds.marginal(0.25), truth.delta_at(truth.through(rows, channel), odds))
    assert bounds.amplified(0.25) == near(truth.contracted_at(rows, joint, odds))
    assert bounds.amplified([0.25, 0.5]).shape == (2,)  # type: ignore[union-attr]
    assert isinstance(release.bound(), Curve)
    assert bounds.delta(0.25).lower == bounds.marginal(0.25).lower
    assert bounds.delta(0.25).upper == bounds.amplified(0.25)


def test_epsilon_of_the_bound_is_tight_and_met() -> None:
    bounds = World(data=DATA).release(FOUR, FOUR).bounds()
    for delta in (0.0, 1e-6, 0.05):
        found = bounds.amplified_epsilon(delta)
        assert bounds.amplified(found) <= delta
        assert bounds.amplified(found * (1 - 1e-9)) > delta
        assert bounds.epsilon(delta).lower <= found


def test_underflow_does_not_make_a_bound_small() -> None:
    """An entry of 5e-324 tells a ratio; products with it became zero once, and epsilon(0) was below the truth."""
    data = [[0.35, 0.08, 0.57], [0.27, 0.43, 0.3]]
    channel = [[0.5, 0.5, 0.0], [0.5, 0.5, 5e-324], [0.5, 0.5, 0.0]]
    exact = truth.through(truth.table(data), truth.table(channel))
    found = World(data=data).release(channel).bounds().epsilon(0.0)
    assert truth.holds(found, truth.logarithm(truth.odds_at(exact, Fraction(0))))


def test_a_thousand_uses_are_bounded_by_the_data() -> None:
    """Through exponents of columns: no mass is representable, and the bound at delta = 0 is the cap."""
    release = World(data=[["3/4", "1/4"], ["1/4", "3/4"]]).release(repeated([[0.9, 0.1], [0.1, 0.9]], 1000))
    assert release.bounds().amplified_epsilon(0.0) == pytest.approx(math.log(3), rel=1e-10)


def test_split_errs_to_the_safe_side() -> None:
    """a from above, t from below; a value whose sign is in doubt is on both sides."""
    found = split(laws("data", [["1/2", "1/2"], ["1/4", "3/4"]]), 0, 1, math.log(2.0))
    assert 0 in found.gains
    assert 0 in found.losses  # 1/2 = 2 * 1/4
    assert found.losses.tolist() == [0, 1]
    assert found.odds <= 2.0
    assert found.amount > 0
    none = split(laws("data", [["1/2", "1/2"], ["1/2", "1/2"]]), 0, 1, 1.0)
    assert (none.amount, none.gains.size) == (0.0, 0)


def test_guarantee_of_a_bound() -> None:
    promise = World(data=DATA, secrets=["ill", "well"]).release(FOUR).bound().guarantee()
    assert "which of 2 secrets" in promise.protects
    assert any("Theorem B" in reason for reason in promise.because)


# ---- any loss for the mechanisms


def responses(size: int, epsilon: float) -> truth.Table:
    """Randomized response with rational odds just below e^epsilon: epsilon-DP exactly."""
    odds = truth.power_of_e(epsilon) * (1 - Fraction(1, 10**15))
    return [[(odds if x == z else Fraction(1)) / (odds + size - 1) for z in range(size)] for x in range(size)]


def geometric(size: int, epsilon: float) -> truth.Table:
    """Two-sided geometric noise, cut at both ends: epsilon between neighbouring values, exactly."""
    share = 1 / truth.power_of_e(epsilon) * (1 + Fraction(1, 10**15))
    inner, outputs = (1 - share) / (1 + share), range(-2, size + 2)
    ends = {outputs[0], outputs[-1]}
    return [[share ** abs(x - z) * (1 / (1 + share) if z in ends else inner) for z in outputs] for x in range(size)]


def rounded_normal(size: int, sigma: float) -> truth.Table:
    """Gaussian noise seen through cells of half a unit: no more than the noise itself tells (data processing)."""
    found = []
    with mpmath.workdps(60):
        cuts = [mpmath.mpf(k) / 2 for k in range(-6, 2 * size + 7)]
        for x in range(size):
            below = [mpmath.mpf(0), *(mpmath.ncdf((cut - x) / mpmath.mpf(str(sigma))) for cut in cuts), mpmath.mpf(1)]
            row = [Fraction(int(mpmath.floor((b - a) * 2**180)), 2**180) for a, b in itertools.pairwise(below)]
            found.append([row[0] + 1 - sum(row), *row[1:]])
    return found


def mixed(size: int, epsilon: float, delta: str) -> truth.Table:
    """Says the value with probability delta, otherwise responds: (epsilon, delta)-DP."""
    share = Fraction(delta)
    return [
        [share if x == z else Fraction(0) for z in range(size)] + [(1 - share) * entry for entry in row]
        for x, row in enumerate(responses(size, epsilon))
    ]


CASES = [
    (responses(3, 1.0), qw.pure(1.0), None),
    (responses(3, 5.0), qw.pure(5.0), None),
    (truth.beside(responses(3, 0.5), responses(3, 0.5)), 2 * qw.pure(0.5), None),
    (geometric(3, 0.4), qw.pure(0.4), lambda i, j: abs(i - j)),
    (geometric(3, 0.4), qw.pure(0.8), None),
    (mixed(3, 0.5, "0.01"), qw.approximate(0.5, 0.01), None),
    (mixed(3, 2.0, "0.3"), qw.approximate(2.0, 0.3), None),
    (rounded_normal(3, 1.0), qw.gaussian(1.0), [[0, 1, 2], [1, 0, 1], [2, 1, 0]]),
    (rounded_normal(3, 1.0), qw.gaussian(0.5), None),
    (rounded_normal(3, 3.0), qw.gaussian(3.0), lambda i, j: abs(i - j)),
]  # fmt: skip


def answers(epsilon: float) -> truth.Table:
    """Randomized response of two values at this epsilon, to 90 digits."""
    odds = truth.power_of_e(epsilon)
    return [[odds / (1 + odds), 1 / (1 + odds)], [1 / (1 + odds), odds / (1 + odds)]]


def told_or_answered(epsilon: float, delta: str) -> truth.Table:
    """Says which value it is with probability delta, otherwise answers."""
    share, (one, two) = Fraction(delta), answers(epsilon)
    rest = [[(1 - share) * entry for entry in row] for row in (one, two)]
    return [[share, Fraction(0), *rest[0]], [Fraction(0), share, *rest[1]]]


TWO = {  # the worst mechanism of two values that has the loss of a case
    0: answers(1.0),
    1: answers(5.0),
    2: truth.beside(answers(0.5), answers(0.5)),
    3: answers(0.4),
    4: answers(0.8),
    5: told_or_answered(0.5, "0.01"),
    6: told_or_answered(2.0, "0.3"),
}
WITH_A_LOSS = [
    [[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]],
    [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]],
    [[0.4, 0.6, 0.0], [0.4, 0.599999, 1e-6]],
    [[0.7, 0.3, 0.0], [0.7, 0.2, 0.1]],
]


@pytest.mark.parametrize(
    ("case", "data"), some([(case, data) for case in range(len(CASES)) for data in WITH_A_LOSS], 10)
)
def test_the_bound_with_a_loss_holds_the_truth(case: int, data: Any) -> None:
    """Mechanisms that truly have the loss, in fractions: those that treat some values as one are the worst."""
    channel, loss, distance = CASES[case]
    listed = [truth.through(truth.table(data), channel)]
    if case in TWO:
        splits = itertools.product((0, 1), repeat=3)
        listed += [truth.through(truth.table(data), [TWO[case][side] for side in sides]) for sides in splits]
    found = World(data=data).bound(loss, distance=distance)
    worst = [row for rows in listed for row in rows]
    pairs = [(i + j, i + 1 - j) for i in range(0, len(worst), 2) for j in (0, 1)]
    if case in TWO:
        epsilons, deltas = [0.0, 1e-9, 0.3, 1.0, 4.0, -0.5], [1e-9, 0.01, 0.3, 1.0]
        truth.assert_curve(found, [worst], pairs, epsilons=epsilons, deltas=deltas, alphas=[0.0, 0.1, 0.9])
        for epsilon in (0.0, 0.3, -0.5) if distance is None else ():
            assert found.delta(epsilon).lower >= float(found.delta(epsilon).upper) * (1 - 1e-6) - 1e-15
        for share in deltas if distance is None else ():
            upper = float(found.epsilon(share).upper)  # infinite where delta is what is revealed, to a last digit
            assert found.epsilon(share).lower >= upper * (1 - 1e-3) or math.isinf(upper)
        return
    for epsilon in (0.0, 0.3, 1.0, -0.5):
        assert truth.delta_near(worst, epsilon, pairs) <= Fraction(found.delta(epsilon).upper)
    assert found.epsilon(0.01).upper >= truth.logarithm(truth.odds_at(worst, Fraction(1, 100), pairs))


def test_a_lower_end_of_gaussian_noise_is_that_of_two_values() -> None:
    """A mixture of two normal laws against another one, in many digits: the best split of three values."""
    data = [[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]]
    found = World(data=data).bound(qw.gaussian(1.0))
    for epsilon in (0.0, 0.2, 0.5):
        worst = mpmath.mpf(0)
        for kept in itertools.product((0, 1), repeat=3):
            one, two = (sum(p for p, k in zip(row, kept, strict=True) if k) for row in data)
            grown = mpmath.exp(epsilon)
            most = one - grown * two
            if most > 0:  # most D(1 + (e^epsilon - 1) / most) of N(1, 1) against N(0, 1)
                inner = mpmath.log(1 + (grown - 1) / most)
                tails = [mpmath.ncdf(sign * mpmath.mpf("0.5") - inner) for sign in (1, -1)]
                worst = max(worst, most * (tails[0] - mpmath.exp(inner) * tails[1]))
        assert (
            worst * (1 - 1e-9)
            <= found.delta(epsilon).lower
            <= worst * (1 + 1e-12)
            <= found.delta(epsilon).upper * (1 + 2e-12)
        )


def test_where_some_values_cannot_be_told_apart_nothing_is_claimed_from_below() -> None:
    """A split into two must not separate values at distance zero, and which ones it may is not looked for."""
    world = World(data=[["1/2", "1/4", "1/4"], ["1/4", "1/4", "1/2"]])
    near = [[0, 0, 1], [0, 0, 1], [1, 1, 0]]
    assert world.bound(qw.pure(1.0), distance=near).epsilon(0.0).lower == 0.0
    assert world.bound(qw.pure(1.0)).epsilon(0.0).lower > 0.0


def test_documents_that_do_not_say_whether_mechanisms_are_known_have_no_lower_end() -> None:
    """Older releases wrote the bound of a known readout like that of any mechanisms with its loss."""
    bound = World(data=[["3/4", "1/4"], ["1/4", "3/4"]]).bound(qw.pure(1.0))
    document = json.loads(spec.dumps(bound, "json"))
    assert spec.loads(json.dumps(document)).delta(0.1).lower == bound.delta(0.1).lower > 0.0
    del document["known"]
    read = spec.loads(json.dumps(document)).delta(0.1)
    assert (read.lower, read.upper) == (0.0, bound.delta(0.1).upper)


def test_a_pure_loss_has_a_closed_form() -> None:
    """The largest (e^eps - 1) = a(eps) (e^eps_x - 1): here A_s = (3/4, 1/4), a = (3/4 - e^eps/4)."""
    grown = math.expm1(1.0)
    odds = (1 + 0.75 * grown) / (1 + 0.25 * grown)
    found = World(data=[["3/4", "1/4"], ["1/4", "3/4"]]).bound(qw.pure(1.0))
    assert found.epsilon(0.0).upper == pytest.approx(math.log(odds), rel=1e-12)
    assert found.epsilon(0.0).upper >= math.log(odds) * (1 - 1e-15)
    assert found.delta(math.log(odds) + 1e-9).upper == 0.0


def test_a_loss_at_huge_epsilons() -> None:
    """t' overflows where t does not; it is then as large as doubles go, and not infinite."""
    strong = qw.gaussian(1 / 40)  # delta is still 0.99 at epsilon 700
    found = World(data=[["1", "0"], ["0", "1"]]).bound(strong)
    assert np.all(np.asarray(found.delta([700.0, 709.7, 720.0]).upper) >= strong.delta([700.0, 709.7, 720.0]).lower)
    small = World(data=[[1e-3, 0.999], [0.0, 1.0]]).bound(strong).delta(709.7).upper
    assert small >= 1e-3 * strong.delta(717.0).lower


def test_values_that_mechanisms_cannot_tell_apart() -> None:
    """At distance zero nothing is told, whatever the secret does to the data."""
    world = World(data=[["3/4", "1/4"], ["1/4", "3/4"]])
    assert world.bound(qw.pure(1.0), distance=[[0, 0], [0, 0]]).delta([0.0, 0.5]).upper.tolist() == [0.0, 0.0]  # type: ignore[union-attr]


def test_equal_laws_need_no_mechanism() -> None:
    """No value gains: there is nothing to contract (this crashed with a distance once)."""
    found = World(data=[["1/2", "1/2"], ["1/2", "1/2"]]).bound(qw.pure(1.0), distance=lambda i, j: abs(i - j))
    assert found.delta(1.0).upper == 0.0
    assert found.epsilon(1e-6).upper == 0.0


def test_the_words_of_a_bound() -> None:
    world = World(data=DATA)
    assert "any two values" in world.bound(qw.pure(1.0)).assumes[-1]
    assert "distance one" in world.bound(qw.pure(1.0), distance=lambda i, j: abs(i - j)).assumes[-1]
    assert world.bound(qw.pure(1.0)).guarantee().epsilon(0.0).upper > 0


# ---- refusals


@pytest.mark.parametrize(
    "distance",
    [
        [[0, 1]],
        [[0.0, 0.5], [0.5, 0.0]],
        [[0, -1], [-1, 0]],
        [[0, 1], [2, 0]],
        [[0, math.nan], [math.nan, 0]],
        [[0, math.inf], [math.inf, 0]],
        "near",
        3,
        lambda i, j: "near",
        lambda i, j: math.nan,
        lambda i, j: 0 if i == j else math.inf,
        lambda i, j: 2.0**60 * abs(i - j),
    ],
)
def test_distances_that_are_refused(distance: Any) -> None:
    with pytest.raises(InvalidParameter, match="distance"):
        World(data=BITS).bound(qw.pure(1.0), distance=distance)


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda b: b.amplified(-1.0), "epsilon"),
        (lambda b: b.amplified(math.nan), "epsilon"),
        (lambda b: b.amplified_epsilon(2.0), "delta"),
        (lambda b: b.delta(None), "epsilon"),
        (lambda b: b.delta(math.nan), "epsilon"),
        (lambda b: b.epsilon(2.0), "delta"),
        (lambda b: b.epsilon(math.nan), "delta"),
        (lambda b: b.beta(-1.0), "alpha"),
        (lambda b: b.cap("x"), "epsilon"),
        (lambda b: b.data_level([]), "epsilon"),
        (lambda b: b.marginal(math.nan), "epsilon"),
    ],
)
def test_questions_that_are_refused(ask: Any, words: str) -> None:
    with pytest.raises(InvalidParameter, match=words):
        ask(World(data=BITS).release(BITS).bounds())
