"""Gaussian entries cut off at a box: certified bounds against the true law, and the printed formula's values."""

import itertools
import math

import mpmath
import numpy as np
import pytest
from scipy.special import log_ndtr, logsumexp

from quiltwork.errors import InvalidParameter, NotCertified, Unsupported
from quiltwork.pufferfish.priors.gaussian.box import GaussianBox, box_influence, kernel_covariance, printed_influence
from quiltwork.pufferfish.priors.gaussian.covariance import Covariance
from quiltwork.pufferfish.secrets import entry_values, joint_values

# Printed formula, 11 entries, centre, farthest sets, bound 5, width 0.1, b = 1 .. 10; computed with 50 digits.
PRINTED = {
    0.5: [
        16.3759038188,
        8.055289028718,
        0.03918815469845,
        0.01959496251367,
        1.774818851312e-06,
        8.874101500477e-07,
        1.448783717517e-12,
        7.243918682978e-13,
        1.907878115533e-20,
        9.539390577665e-21,
    ],
    1.0: [
        92.84990223865,
        41.27946639824,
        3.458857436085,
        1.739906550212,
        0.02230841233682,
        0.01116300995794,
        1.760797837852e-05,
        8.804676072119e-06,
        1.373765716569e-09,
        6.868828582847e-10,
    ],
    2.0: [
        928.554682511,
        292.489762369,
        63.81335985544,
        33.11184499625,
        4.226404123234,
        2.154456749303,
        0.0833981750858,
        0.04188339653943,
        0.0003686325647099,
        0.0001843162823524,
    ],
    3.0: [
        6497.411781863,
        1351.699400216,
        274.7493250878,
        135.7862268446,
        30.78290904125,
        16.11054234593,
        1.601002608076,
        0.8123546187486,
        0.02377683747515,
        0.01188841805125,
    ],
    5.0: [
        172689.3900952,
        18142.8530462,
        2197.75738533,
        789.1984114722,
        199.6622109424,
        102.5183497788,
        18.70932674267,
        9.65392139359,
        0.6665637854301,
        0.3332667740453,
    ],
}


def log_box_mass(mean, deviation, bound):
    """log P(|z| <= bound) for a normal z."""
    low, high = (-bound - mean) / deviation, (bound - mean) / deviation
    swap = low > 0
    low, high = np.where(swap, -high, low), np.where(swap, -low, high)
    return log_ndtr(high) + np.log(-np.expm1(log_ndtr(low) - log_ndtr(high)))


def log_joint(covariance, entry, told, values, rest, bound):
    """log of the unnormalised density of (x_i, x_L), with at most one hidden entry besides x_i integrated out."""
    precision = np.linalg.inv(covariance)
    kept = [entry, *told]
    quadratic = -np.einsum("...i,ij,...j->...", values, precision[np.ix_(kept, kept)], values) / 2
    if not rest:
        return quadratic
    (hidden,) = rest
    pull = values @ precision[kept, hidden]
    own = precision[hidden, hidden]
    return quadratic + pull**2 / (2 * own) + log_box_mass(-pull / own, 1 / math.sqrt(own), bound)


def true_ratio(covariance, hidden, bound, width, told_values):
    """log p(x_L | x_i in the top interval) / p(x_L | x_i in the bottom one); both have one prior mass, by symmetry."""
    entry, *rest = hidden
    told = [j for j in range(len(covariance)) if j not in hidden]
    place, weight = np.polynomial.legendre.leggauss(60)
    sides = []
    for start in (bound - width, -bound):
        x = start + width * (place + 1) / 2
        values = np.column_stack([x, np.tile(told_values, (len(x), 1))])
        sides.append(logsumexp(log_joint(covariance, entry, told, values, rest, bound), b=weight))
    return float(sides[0] - sides[1])


# ---- the printed formula


@pytest.mark.parametrize("ell", PRINTED)
def test_the_printed_formula_has_its_reference_values(ell):
    curve = GaussianBox(kernel_covariance(11, ell), bound=5.0, width=0.1).printed(10, [5], farthest=True)
    np.testing.assert_allclose(curve.values, PRINTED[ell], rtol=1e-10)
    assert curve.status == "approximate"
    with pytest.raises(NotCertified):
        curve.epsilon(0.1)


def naive_printed(covariance, entry, told, bound, width, starts):
    """The formula as it is written, with 50 digits: every start of both intervals from a list."""
    with mpmath.workdps(50):
        sigma = mpmath.matrix(np.asarray(covariance)[np.ix_(told, told)].tolist())
        toward = mpmath.matrix(np.asarray(covariance)[told, entry].tolist())
        weights = mpmath.lu_solve(sigma, toward)
        own = mpmath.mpf(float(covariance[entry, entry]))
        variance = own - sum(w * c for w, c in zip(weights, toward, strict=True))
        mean = mpmath.mpf(bound) * sum(abs(w) for w in weights)

        def mass(start, centre, deviation):
            ends = [(start + x - centre) / deviation / mpmath.sqrt(2) for x in (0, mpmath.mpf(width))]
            if ends[0] > 0:
                ends = [-ends[1], -ends[0]]
            return mpmath.log(mpmath.erfc(-ends[1]) - mpmath.erfc(-ends[0]))

        ratios = [
            mass(mpmath.mpf(s), mean, mpmath.sqrt(variance)) - mass(mpmath.mpf(s), mpmath.mpf(0), mpmath.sqrt(own))
            for s in starts
        ]
        return float(max(ratios) - min(ratios))


@pytest.mark.parametrize(("ratio", "inside"), [(1.0, False), (2.0, True), (3.0, True)])
def test_with_unequal_variances_the_best_interval_may_lie_inside(ratio, inside):
    """A wide neighbour caps the mean at a small value: then the likeliest interval is not the highest."""
    covariance = np.array([[1.0, 0.7 * ratio], [0.7 * ratio, ratio**2]])
    starts = np.linspace(-5.0, 4.9, 991)
    exact = naive_printed(covariance, 0, [1], 5.0, 0.1, starts)
    found = printed_influence(covariance, 0, [1], 5.0, 0.1)
    assert found == pytest.approx(exact, rel=1e-5)
    assert found >= exact * (1 - 1e-9)
    highest = naive_printed(covariance, 0, [1], 5.0, 0.1, [-5.0, 4.9])
    assert (found > highest * (1 + 1e-6)) == inside


def test_the_formula_is_smooth_where_its_two_ways_of_summing_meet():
    covariance = kernel_covariance(3, 1.0)
    widths = np.linspace(0.5, 4.5, 41)
    for width in widths:
        found = printed_influence(covariance, 1, [0, 2], 5.0, float(width))
        assert found == pytest.approx(naive_printed(covariance, 1, [0, 2], 5.0, width, [-5.0, 5.0 - width]), rel=1e-11)
    assert printed_influence(covariance, 1, [], 5.0, 0.1) == 0.0


def test_sets_and_entries_are_searched():
    prior = GaussianBox(kernel_covariance(7, 3.0), 5.0, 0.1)
    curve, far = prior.printed(4), prior.printed(4, farthest=True)
    for entry, size in itertools.product(range(7), range(1, 5)):
        rest = [j for j in range(7) if j != entry]
        told = itertools.combinations(rest, 7 - size)
        least = min(printed_influence(prior.covariance, entry, list(t), 5.0, 0.1) for t in told)
        assert curve.cases[entry, size - 1] == pytest.approx(least, rel=1e-12)
    assert np.all(far.cases >= curve.cases * (1 - 1e-12))
    assert curve.name_of(3) == "entry 3"


# ---- the certified curve


@pytest.mark.parametrize(("ell", "truth", "certified"), [(2.0, 123.277104873, 268.9), (5.0, 1279.97340136, 9467 / 2)])
def test_five_entries_two_hidden(ell, truth, certified):
    """The true ratio at the vertex that the formula takes for the worst, which bounds a(2) of this set from below."""
    covariance = kernel_covariance(5, ell)
    told = [0, 1, 4]
    weights = np.linalg.solve(covariance[np.ix_(told, told)], covariance[told, 2])
    found = true_ratio(covariance, (2, 3), 5.0, 0.1, 5.0 * np.sign(weights))
    assert found == pytest.approx(truth, rel=1e-9)  # by adaptive quadrature with 40 digits
    bound = GaussianBox(covariance, 5.0, 0.1).influence(2)
    assert bound.status == "certified"
    assert bound.cases[2, 1] == pytest.approx(certified, rel=1e-3)
    assert bound.cases[2, 1] >= found


@pytest.mark.parametrize("ell", [0.5, 1.0, 2.0, 5.0])
@pytest.mark.parametrize("size", [1, 2])
def test_the_certified_bound_covers_every_vertex_of_five_entries(ell, size):
    covariance, law = kernel_covariance(5, ell), Covariance(kernel_covariance(5, ell))
    for entry in range(5):
        for others in itertools.combinations([j for j in range(5) if j != entry], size - 1):
            bound = box_influence(law, np.array([[entry, *others]]), 5.0)[0]
            vertices = itertools.product([-5.0, 5.0], repeat=5 - size)
            worst = max(true_ratio(covariance, (entry, *others), 5.0, 0.1, np.array(v)) for v in vertices)
            assert 0 < worst <= bound


@pytest.mark.parametrize("seed", range(8))
def test_the_certified_bound_covers_every_pair_of_points(seed):
    """Random covariances of 3 entries, all pairs of secret values and told values of a grid, the law normalised."""
    rng = np.random.default_rng(seed)
    factor = rng.normal(size=(3, 3))
    covariance = factor @ factor.T + 0.1 * np.eye(3)
    bound = float(rng.choice([0.3, 1.0, 3.0]))
    place, weight = np.polynomial.legendre.leggauss(200)
    secret, told = np.linspace(-bound, bound, 41), np.r_[-bound, bound * place, bound]
    values = np.stack(np.meshgrid(secret, told, indexing="ij"), axis=-1)
    joint = log_joint(covariance, 0, [1], values, [2], bound)
    law = joint - logsumexp(joint, b=np.r_[0.0, weight, 0.0], axis=1)[:, None]
    worst = float((law[:, None, :] - law[None, :, :]).max())
    certified = box_influence(Covariance(covariance), np.array([[0, 2]]), bound)[0]
    assert 0 < worst <= certified


def test_with_nothing_hidden_but_the_secret_the_bound_is_attained():
    covariance = kernel_covariance(6, 2.0)
    certified = GaussianBox(covariance, 5.0, 1e-6).influence(1)
    np.testing.assert_allclose(GaussianBox(covariance, 5.0, 1e-6).printed(1).cases, certified.cases, rtol=1e-6)
    assert np.all(certified.cases >= GaussianBox(covariance, 5.0, 1e-6).printed(1).cases)


@pytest.mark.parametrize("hidden", [(2,), (2, 1), (0, 3), (2, 0, 1, 4)])
@pytest.mark.parametrize("ell", [0.5, 5.0, 20.0])
def test_the_bound_is_rounded_up_and_next_to_its_formula(hidden, ell):
    """With 60 digits and the formula of the reference: a square root of the hidden block, and both of its signs."""
    covariance, bound = kernel_covariance(6, ell), 3.0
    entry, *rest = hidden
    told = [j for j in range(6) if j not in hidden]
    with mpmath.workdps(60):
        precision = mpmath.matrix(covariance.tolist()) ** -1
        total = mpmath.mpf(0)
        for j in told:
            slopes = [-precision[entry, j]]
            if rest:
                block = mpmath.matrix([[precision[a, b] for b in rest] for a in rest]) ** -1
                u = mpmath.matrix([precision[a, entry] for a in rest])
                v = mpmath.matrix([precision[a, j] for a in rest])
                inner, long_u, long_v = ((x.T * block * y)[0] for x, y in ((u, v), (u, u), (v, v)))
                slopes = [slopes[0] + (inner + sign * mpmath.sqrt(long_u * long_v)) / 2 for sign in (-1, 1)]
            total += max(abs(slope) for slope in slopes)
        exact = 2 * mpmath.mpf(bound) ** 2 * total
        found = float(box_influence(Covariance(covariance), np.array([hidden]), bound)[0])
        assert found >= exact
        assert found <= exact * (1 + mpmath.mpf(10) ** -6)


def test_units_do_not_matter():
    covariance = kernel_covariance(4, 2.0)
    plain = GaussianBox(covariance, 2.0, 0.1).influence()
    scaled = GaussianBox(covariance * 1e-12, 2.0e-6, 1e-7).influence()
    np.testing.assert_allclose(scaled.cases, plain.cases, rtol=1e-8)
    mixed = box_influence(Covariance(covariance * np.outer([1, 8, 64, 1], [1, 8, 64, 1])), np.array([[0, 1]]), 2.0)
    assert mixed[0] < plain.cases[0, 1]  # the same bound in larger units is a narrower box


def test_independent_entries_and_sets_that_hide_everything_tell_nothing():
    block = np.kron(np.eye(2), kernel_covariance(2, 1.0))
    prior = GaussianBox(block, 1.0, 0.1, names=["a", "b", "c", "d"])
    curve = prior.influence()
    assert curve.cases[:, 0].min() > 0.1
    assert np.all(curve.cases[:, 1:] == 0.0)
    assert curve.name_of(1) == "b"
    assert prior.influence(secrets=entry_values([3])).name_of(0) == "d"
    assert GaussianBox([[2.0]], 1.0, 0.1).influence().values.tolist() == [0.0]
    assert prior.entries == 4
    assert "cut off" in prior.words


# ---- refusals


def test_kernels_fall_with_the_square_of_the_distance():
    np.testing.assert_allclose(kernel_covariance(4, 3.0)[0], np.exp([0, -1 / 3, -4 / 3, -3]), rtol=1e-15)
    for count in (0, 1.5, True):
        with pytest.raises(InvalidParameter, match="entries"):
            kernel_covariance(count, 1.0)
    for ell in (0.0, -1.0, math.nan, True):
        with pytest.raises(InvalidParameter, match="ell"):
            kernel_covariance(3, ell)


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"bound": 0.0}, "bound"),
        ({"bound": math.inf}, "bound"),
        ({"bound": True}, "bound"),
        ({"width": 0.0}, "width"),
        ({"width": 1.0}, "width"),
        ({"width": math.nan}, "width"),
        ({"covariance": [[1.0, 2.0], [2.0, 1.0]]}, "covariance"),
        ({"covariance": [[1.0, 1.0], [1.0, 1.0]]}, "condition number"),
        ({"names": ["a"]}, "names"),
    ],
    ids=str,
)
def test_boxes_that_are_none_are_refused(change, name):
    with pytest.raises(InvalidParameter, match=name):
        GaussianBox(**{"covariance": kernel_covariance(2, 1.0), "bound": 1.0, "width": 0.1, **change})


def test_questions_outside_the_prior_are_refused():
    prior = GaussianBox(kernel_covariance(3, 1.0), 1.0, 0.1)
    for entries in ([], [3], [True], [-1]):
        with pytest.raises(InvalidParameter, match="entr"):
            prior.printed(entries=entries)
    with pytest.raises(InvalidParameter, match="max_size"):
        prior.influence(0)
    with pytest.raises(InvalidParameter, match="farthest"):
        prior.printed(farthest="yes")
    with pytest.raises(Unsupported):
        prior.influence(secrets=joint_values([0, 1]))
