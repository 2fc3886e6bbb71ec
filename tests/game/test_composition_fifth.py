"""The next mechanism on one statistic: the closed form against brute force, exact fractions and 60 digits."""

import itertools
import math
from decimal import Decimal
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.examples import examples

from quiltwork.errors import InvalidParameter, Unreachable, Unsupported
from quiltwork.game.composition import NextMechanism, as_loss, composed_auc_ceiling, next_mechanism, total
from quiltwork.game.gaussian.total import forms
from quiltwork.numbers.stated import above, below, root

# reference/game.json, composition.correlated: four at 1, target 5; the larger root, the other one is negative
CORRELATED = [
    (-0.2, 0.9999999999999997, 9.067368488139522),
    (0.0, 4.58257569495584, 5.0),
    (0.3, 4.93933784308219, 4.622209114565255),
    (0.6, 4.240776937807719, 5.4774696729240695),
    (0.9, 2.69741590712961, 10.28986996540962),
]


def random_correlation(rng, size):
    factors = rng.standard_normal((size, size + 1))
    matrix = factors @ factors.T
    scale = 1.0 / np.sqrt(np.diag(matrix))
    matrix = matrix * np.outer(scale, scale)
    matrix = np.tril(matrix, -1)
    return matrix + matrix.T + np.eye(size)


def squared_mu(epsilons, correlation):
    """1'Sigma^-1 1 with Var = 1 / eps^2, in floats: the definition, not the complement."""
    scales = 1.0 / np.asarray(epsilons, dtype=float)
    ones = np.ones(len(scales))
    return float(ones @ np.linalg.solve(np.asarray(correlation) * np.outer(scales, scales), ones))


def naive(matrix, right):
    """e'R^-1 e by textbook elimination over the fractions, with row exchanges."""
    rows = [[*map(Fraction, row), Fraction(value)] for row, value in zip(matrix, right, strict=True)]
    size = len(rows)
    for k in range(size):
        swap = next(i for i in range(k, size) if rows[i][k] != 0)
        rows[k], rows[swap] = rows[swap], rows[k]
        rows[k] = [entry / rows[k][k] for entry in rows[k]]
        for i in range(size):
            if i != k:
                rows[i] = [a - rows[i][k] * b for a, b in zip(rows[i], rows[k], strict=True)]
    return sum(Fraction(value) * row[-1] for value, row in zip(right, rows, strict=True))


# ---- values


@pytest.mark.parametrize("eps", ["0.05", "0.1", "0.3", "0.6", "1", "7"])
def test_the_fifth_of_five_has_the_root_of_21(eps):
    fifth = next_mechanism([Decimal(eps)] * 4, 5 * Decimal(eps))
    with mpmath.workdps(60):
        truth = mpmath.sqrt(21) * mpmath.mpf(eps)
        assert truth * (1 - mpmath.mpf(2) ** -51) <= mpmath.mpf(repr(fifth.upper)) <= truth
    assert fifth.lower == 0.0
    assert fifth.meets()
    assert fifth.total().upper <= float(5 * Decimal(eps))


def test_floats_are_read_as_typed():
    assert 0.1 + 0.2 != 0.3
    typed = next_mechanism([0.1, 0.2], 0.3)
    assert typed.forms.spent == Fraction(1, 20)
    assert typed.target == Fraction(3, 10)
    assert typed.total(0.2).lower <= 0.3 <= typed.total(0.2).upper  # 0.01 + 0.04 + 0.04 = 0.09 exactly
    assert typed.total(0.2).width == 0
    assert typed.upper == 0.2


@pytest.mark.parametrize(("rho", "largest", "at_root_21"), CORRELATED)
def test_equal_correlations(rho, largest, at_root_21):
    fifth = next_mechanism([1, 1, 1, 1], 5, rho)
    assert fifth.upper == pytest.approx(largest, rel=1e-10)
    assert fifth.lower == 0.0  # the smaller root is negative in each of these
    assert fifth.total(math.sqrt(21)).midpoint == pytest.approx(at_root_21, rel=1e-10)
    assert fifth.meets(math.sqrt(21)) == (at_root_21 <= 5.0)


def test_a_negative_correlation_exhausts_the_target_at_eps():
    fifth = next_mechanism([0.1] * 4, 0.5, -0.2)
    assert fifth.upper == 0.1
    assert fifth.meets(Fraction(1, 10))
    assert not fifth.meets(Fraction(1, 10) + Fraction(1, 10**40))
    assert total([0.1] * 5, -0.2).upper == 0.5


def test_noisier_may_be_worse():
    """Noise correlated with the others' that is too large gives them away: only an interval is admissible."""
    fifth = next_mechanism([1, 1, 1, 1], 1.05, 0.9)
    assert 0.9 < fifth.lower < fifth.upper < 1.1
    assert not fifth.meets(0.1)
    correlation = np.full((5, 5), 0.9) + 0.1 * np.eye(5)
    assert squared_mu([1, 1, 1, 1, 0.1], correlation) > 1.05**2
    assert squared_mu([1, 1, 1, 1, fifth.lower], correlation) == pytest.approx(1.05**2, rel=1e-12)
    assert squared_mu([1, 1, 1, 1, fifth.upper], correlation) == pytest.approx(1.05**2, rel=1e-12)
    assert fifth.spent.upper < 1.05


# ---- against the definition


@pytest.mark.parametrize("size", [1, 2, 3, 6, 12])
def test_the_complement_against_a_linear_solver(size):
    rng = np.random.default_rng(size)
    for _ in range(8):
        correlation = random_correlation(rng, size + 1)
        existing = rng.uniform(0.05, 2.0, size)
        before = squared_mu(existing, correlation[:size, :size])
        assert float(total(existing, correlation[:size, :size]).midpoint) ** 2 == pytest.approx(before, rel=1e-8)
        try:
            found = next_mechanism(existing, 1.5 * math.sqrt(before), correlation)
        except Unreachable:
            grid = np.geomspace(1e-6, 10.0, 60) * math.sqrt(before)
            reached = min(squared_mu([*existing, x], correlation) for x in grid)
            assert reached > (1.5**2 - 1e-9) * before
            continue
        assert squared_mu([*existing, found.upper], correlation) == pytest.approx(2.25 * before, rel=1e-6)
        for x in np.geomspace(0.05, 20.0, 12):
            brute = squared_mu([*existing, x], correlation)
            assert float(found.total(x).midpoint) ** 2 == pytest.approx(brute, rel=1e-6)
            if abs(brute / (2.25 * before) - 1.0) > 1e-6:
                assert found.meets(x) == (brute < 2.25 * before)


tenths = st.integers(1, 40).map(lambda k: Fraction(k, 10))


@st.composite
def problems(draw):
    """Existing epsilons and an exact correlation matrix for one more: diagonally dominant, so positive definite."""
    size = draw(st.integers(1, 4))
    least = 10 * size + 1
    entry = st.integers(-least, least).map(lambda k: Fraction(k, (size + 1) * least))
    matrix = [[Fraction(i == j) for j in range(size + 1)] for i in range(size + 1)]
    for i, j in itertools.combinations(range(size + 1), 2):
        matrix[i][j] = matrix[j][i] = draw(entry)
    return draw(st.lists(tenths, min_size=size, max_size=size)), matrix


@settings(max_examples=examples(40))
@given(problems(), tenths)
def test_the_complement_over_the_fractions(problem, x):
    existing, matrix = problem
    assert forms(existing, matrix).square(x) == naive(matrix, [*existing, x])
    inner = [row[:-1] for row in matrix[:-1]]
    assert forms(existing, matrix).spent == naive(inner, existing)


@settings(max_examples=examples(40))
@given(problems(), st.fractions(Fraction(11, 10), 4, max_denominator=50))
def test_what_is_admissible_is_an_interval(problem, factor):
    """Law: the total is at most the target from `lower` to `upper`, and not a double further."""
    existing, matrix = problem
    target = factor * Fraction(repr(total(existing, [row[:-1] for row in matrix[:-1]]).upper))
    try:
        found = next_mechanism(existing, target, matrix)
    except Unreachable:
        assert forms(existing, matrix).square(Fraction(0)) >= target**2
        return
    ends = [found.upper] + ([found.lower] if found.lower else [])
    for number in [*ends, 0.5 * (found.lower + found.upper)]:
        assert found.meets(number)
        assert found.total(number).upper <= above(target)
    for number, away in zip(ends, (math.inf, 0.0), strict=False):
        assert not found.meets(math.nextafter(number, away))


@settings(max_examples=examples(30))
@given(problems(), st.fractions(Fraction(11, 10), 4, max_denominator=50), st.integers(1, 1000))
def test_sigma_keeps_the_target(problem, factor, thousandths):
    existing, matrix = problem
    constant = Fraction(thousandths, 1000)
    target = factor * Fraction(repr(total(existing, [row[:-1] for row in matrix[:-1]]).upper))
    assume(forms(existing, matrix).square(Fraction(0)) < target**2)
    found = next_mechanism(existing, target, matrix)
    sigma = found.sigma(constant)
    with mpmath.workdps(60):
        value = found.forms

        def reached(sd):
            x = mpmath.sqrt(mpmath.mpf(constant.numerator) / constant.denominator) / mpmath.mpf(sd)
            parts = [mpmath.mpf(part.numerator) / part.denominator for part in (value.spent, value.pull, value.rest)]
            return parts[0] + (x - parts[1]) ** 2 / parts[2] - (mpmath.mpf(target.numerator) / target.denominator) ** 2

        assert reached(sigma) <= mpmath.mpf(10) ** -50
        assert reached(repr(sigma)) <= mpmath.mpf(10) ** -50
        assert reached(math.nextafter(math.nextafter(sigma, 0.0), 0.0)) > 0


@settings(max_examples=examples(30))
@given(st.lists(tenths, min_size=1, max_size=6), st.integers(-9, 95))
def test_one_number_is_the_matrix_of_equal_entries(existing, hundredths):
    rho = Fraction(hundredths, 100)
    size = len(existing) + 1
    matrix = [[Fraction(1) if i == j else rho for j in range(size)] for i in range(size)]
    assert forms(existing, rho) == forms(existing, matrix)
    assert total(existing, rho) == total(existing, [row[:-1] for row in matrix[:-1]])


def test_the_order_of_the_others_does_not_matter():
    rng = np.random.default_rng(5)
    correlation, existing = random_correlation(rng, 5), [0.3, 0.5, 0.7, 1.1]
    order = [2, 0, 3, 1]
    moved = correlation[np.ix_([*order, 4], [*order, 4])]
    assert (
        next_mechanism([existing[k] for k in order], 4, moved).forms == next_mechanism(existing, 4, correlation).forms
    )


def test_many_mechanisms_with_equal_correlations():
    many = next_mechanism([0.01] * 5000, 2, 0.001)
    assert many.meets()
    assert many.forms.spent == Fraction(1, 2) / (1 + 4999 * Fraction(1, 1000))  # n eps^2 / (1 + (n - 1) rho)


# ---- curves


def test_the_curve_rounds_up():
    with mpmath.workdps(60):
        for existing, rho in itertools.product(([0.1] * 5, [0.3, 0.7]), (None, 0.3, -0.15)):
            loss = as_loss(existing, rho, sensitivity=0.7, constant=0.0025)
            mu = loss.parts[0].family.mu
            square = forms([Fraction(repr(x)) for x in existing[:-1]], rho).square(Fraction(repr(existing[-1])))
            truth = (
                mpmath.sqrt(mpmath.mpf(square.numerator) / square.denominator) * mpmath.mpf("0.7") / mpmath.mpf("0.05")
            )
            assert mpmath.mpf(mu) >= truth
            assert mpmath.mpf(repr(mu)) >= truth
            assert mpmath.mpf(mu) <= truth * (1 + mpmath.mpf(2) ** -50)


def test_the_curve_of_the_plan_is_that_of_its_target():
    fifth = next_mechanism([0.1] * 4, 0.5)
    promised = fifth.as_loss(sensitivity=4)
    real = as_loss([*[0.1] * 4, fifth.upper], sensitivity=4)
    assert promised.parts[0].family.mu == 2.0
    assert real.epsilon(1e-5).upper <= promised.epsilon(1e-5).upper
    assert real.epsilon(1e-5).upper == pytest.approx(promised.epsilon(1e-5).upper, rel=1e-12)


@pytest.mark.parametrize("mu", [0.1, 1.0, 3.0])
def test_the_ceiling_is_that_of_two_normals(mu):
    ceiling = composed_auc_ceiling([0.6 * mu, 0.8 * mu])
    with mpmath.workdps(30):
        truth = mpmath.ncdf(mpmath.mpf(mu) / mpmath.sqrt(2))
        assert truth <= ceiling <= truth + mpmath.mpf("1e-4")


# ---- rounding


@settings(max_examples=examples(60))
@given(st.fractions(Fraction(1, 10**6), 10**6), st.integers(-100, 100))
def test_roots_and_doubles_are_outward(value, power):
    square = value * Fraction(10) ** power
    low, high = root(square)
    assert low**2 <= square <= high**2
    assert high - low <= high / 2**250
    assert max(Fraction(below(low)), Fraction(repr(below(low)))) <= low
    assert min(Fraction(above(high)), Fraction(repr(above(high)))) >= high


def test_the_ends_of_the_doubles():
    assert above(Fraction(10) ** 400) == math.inf
    assert below(Fraction(10) ** 400) == 1.7976931348623157e308
    assert root(Fraction(0)) == (0, 0)


# ---- refusals


@pytest.mark.parametrize(
    ("existing", "target", "correlation", "words"),
    [
        ([1, 1, 1, 1], 1.9, None, "already have 2"),
        ([1, 1, 1, 1], 2, None, "use all of it"),
        ([3, 4], 5, None, "use all of it"),
        ([1, 1, 1, 1], 3.1, -0.2, "existing mechanisms alone already have 3.16"),
        ([1, 1, 1, 1], 3.2, -0.2, "the total is above 4.08"),
    ],
)
def test_targets_out_of_reach(existing, target, correlation, words):
    with pytest.raises(Unreachable, match=words):
        next_mechanism(existing, target, correlation)


def test_a_single_admissible_number():
    """Correlation 1/2 with one at 2: exactly 1 adds nothing, everything else adds something."""
    found = next_mechanism([2], 2, 0.5)
    assert (found.lower, found.upper) == (1.0, 1.0)
    assert found.total().upper == 2.0
    assert found.sigma() == 1.0
    with pytest.raises(Unreachable, match="narrower"):
        next_mechanism([Fraction(2, 3)], Fraction(2, 3), 0.5)  # exactly 1/3, which is no double
    with pytest.raises(Unreachable, match="narrower"):
        found.sigma(2)  # the square root of 2 is none either


@pytest.mark.parametrize(
    ("existing", "target", "correlation", "words"),
    [
        ([], 5, None, "existing must be one number or more"),
        ([1, math.nan], 5, None, "existing"),
        ([1, 0.0], 5, None, "existing"),
        ([1, -1.0], 5, None, "existing"),
        ([1, 1e200], 5, None, "existing"),
        ([1, math.inf], 5, None, "existing"),
        ([True, 1], 5, None, "existing"),
        (np.array([True, True]), 5, None, "existing"),
        (np.ones((2, 2)), 5, None, "existing"),
        ("11", 5, None, "existing"),
        (1.0, 5, None, "existing"),
        ([1] * 10_001, 5, None, "at most 10000"),
        ([1, 1], 0, None, "target"),
        ([1, 1], -5, None, "target"),
        ([1, 1], math.nan, None, "target"),
        ([1, 1], True, None, "target"),
        ([1, 1], None, None, "target"),
        ([1, 1], 5, 1.0, r"correlation must be in \(-1/2, 1\) for 3 mechanisms"),
        ([1, 1], 5, -0.5, r"correlation must be in \(-1/2, 1\)"),
        ([1, 1], 5, math.nan, "correlation"),
        ([1, 1], 5, True, "correlation"),
        ([1, 1], 5, "half", "correlation"),
        ([1, 1], 5, [], "3 x 3"),
        ([1, 1], 5, [[1, 0], [0, 1]], "3 x 3"),
        ([1, 1], 5, [[1, 0, 0], [0, 1], [0, 0, 1]], "3 x 3"),
        ([1, 1], 5, [1, 0, 0], "correlation"),
        ([1, 1], 5, np.ones((3, 3, 3)), "correlation"),
        ([1], 5, [[1, math.nan], [math.nan, 1]], "correlation"),
        ([1], 5, [[2, 0], [0, 2]], "diagonal"),
        ([1], 5, [[1, 0.5], [0.4, 1]], r"correlation\[1\]\[0\] must be 0.5"),
        ([1], 5, [[1, 1], [1, 1]], "positive definite"),
        ([1], 5, [[1, 2], [2, 1]], "positive definite"),
        ([1, 1], 5, [[1, 1, 0], [1, 1, 0], [0, 0, 1]], "positive definite"),
        ([1, 1], 5, [[1, 0.8, -0.8], [0.8, 1, 0.8], [-0.8, 0.8, 1]], "positive definite"),
    ],
)
def test_bad_input(existing, target, correlation, words):
    with pytest.raises(InvalidParameter, match=words):
        next_mechanism(existing, target, correlation)


def test_a_matrix_that_is_too_large_is_refused():
    with pytest.raises(Unsupported, match="at most 64"):
        next_mechanism([1] * 64, 100, np.eye(65))


@pytest.mark.parametrize("epsilon", [0, -1.0, math.nan, "one", True])
def test_bad_epsilons_for_a_plan(epsilon):
    fifth = next_mechanism([1, 1], 5)
    for ask in (fifth.total, fifth.meets):
        with pytest.raises(InvalidParameter, match="epsilon"):
            ask(epsilon)


@pytest.mark.parametrize("bad", [0, -1.0, math.nan, math.inf, None, False])
def test_bad_scales(bad):
    fifth = next_mechanism([1, 1], 5)
    for ask in (
        lambda: fifth.sigma(bad),
        lambda: fifth.as_loss(constant=bad),
        lambda: as_loss([1], sensitivity=bad),
        lambda: composed_auc_ceiling([1], constant=bad),
    ):
        with pytest.raises(InvalidParameter, match=r"constant|sensitivity"):
            ask()


def test_a_mu_past_all_curves_is_refused():
    with pytest.raises(InvalidParameter, match="mu of the composition"):
        as_loss([1e80], sensitivity=1e80)


def test_plans_are_values():
    assert next_mechanism([0.1], 0.5) == next_mechanism([Fraction(1, 10)], Decimal("0.5"))
    assert isinstance(next_mechanism(np.array([0.1]), np.float64(0.5)), NextMechanism)
    assert next_mechanism(np.array([1, 1]), np.int64(5)).forms.spent == 2
