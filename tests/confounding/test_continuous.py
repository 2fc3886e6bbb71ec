"""Worlds of continuous data: which way leads to a curve, and that all ways agree."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from tests.confounding import line_truth as truth

from quiltwork.confounding.line.enclosure.curve import EnclosedCurve
from quiltwork.confounding.line.enclosure.cut import stick
from quiltwork.confounding.line.gaussian import GaussianCurve
from quiltwork.confounding.line.laws.components import Laplace, Mixture, Normal, NormalLaplace, Point, Uniform
from quiltwork.confounding.line.laws.vectors import NormalVectors
from quiltwork.confounding.line.readings import noise
from quiltwork.confounding.line.world import ContinuousWorld, gaussian_world, mixture_world
from quiltwork.confounding.pairs import within
from quiltwork.confounding.world import World
from quiltwork.curves.curve import Curve
from quiltwork.curves.guarantee import Guarantee
from quiltwork.errors import InvalidParameter, Unsupported

EPSILONS = [-0.5, 0.0, 0.7, 2.0]
BUMPS = Mixture([0.5, 0.5], [Normal(-1, 0.3), Normal(1, 0.3)])


def worst(laws, pairs, epsilon):
    """Both ends of the largest stick, pair by pair."""
    ends = [stick(laws[i], laws[j], epsilon) for i, j in pairs]
    return max(low for low, _ in ends), max(high for _, high in ends)


def same(first, second, epsilons=EPSILONS, tolerance=1e-10):
    one, two = first.delta(epsilons, rtol=1e-9), second.delta(epsilons, rtol=1e-9)
    assert np.all(one.lower <= np.asarray(two.upper))
    assert np.all(two.lower <= np.asarray(one.upper))
    assert np.all(np.maximum(one.width, two.width) <= tolerance)


# ---- ways that must agree


def test_closed_form_and_cells_agree():
    closed = gaussian_world([0, 1, 3], 0.8).release(0.5, 0.7)
    cells = mixture_world([Normal(0, 0.8), Normal(1, 0.8), Normal(3, 0.8)]).release(0.5, 0.7)
    assert isinstance(closed.curve, GaussianCurve)
    assert isinstance(cells.curve, EnclosedCurve)
    same(closed, cells)
    assert closed.epsilon(1e-3).lower <= cells.epsilon(1e-3).upper
    assert cells.epsilon(1e-3).lower <= closed.epsilon(1e-3).upper
    assert np.allclose(closed.beta([0.05, 0.5]).lower, cells.beta([0.05, 0.5]).lower, atol=1e-6)


def test_several_noises_are_one():
    """Variance 1/sum sigma_i^-2, exactly; with correlated noise 1/(1' N^-1 1)."""
    world = mixture_world([BUMPS, Normal(0, 0.5)])
    one = world.release(*[noise("gaussian", 0.6)] * 4)
    assert one.curve.tests[0].laws.parts[0].exact[1] == Fraction(9, 100) + Fraction(9, 100)
    same(one, world.release(0.3), tolerance=1e-9)
    correlated = world.release(1, 2, correlation=[[1, 0.5], [0.5, 1]])
    assert correlated.curve.tests[0].laws.parts[0].exact[1] == Fraction(9, 100) + 1  # the second copy adds nothing
    weighted = world.release(noise("gaussian", 1.0, [2.0]))
    same(weighted, world.release(0.5), tolerance=1e-9)


def test_opposite_noises_cancel():
    """Perfectly anticorrelated noises: their sum is the number itself."""
    world = mixture_world([BUMPS, Normal(0, 0.5)])
    both = world.release(1, 1, correlation=[[1, -1], [-1, 1]])
    same(both, world.release(0), tolerance=1e-9)
    assert gaussian_world([0, 1], 0).release(1, 1, correlation=[[1, -1], [-1, 1]]).epsilon(0.1).lower == math.inf


def test_vectors_read_along_one_direction():
    """Unequal covariances have no closed form in the plane, but one reading is a number."""
    squares = [[[1, 0.5], [0.5, 2]], [[0.5, 0], [0, 0.5]]]
    world = gaussian_world([[0, 0], [1, -1]], squares)
    release = world.release(noise("gaussian", 0.5, [1.0, 2.0]), noise("gaussian", 2.0, [2.0, 4.0]))
    variance = 1 / (4 + Fraction(4, 4))
    laws = [
        Normal.of(Fraction(0), 1 + 2 + 8 + variance),
        Normal.of(Fraction(-1), Fraction(5, 2) + variance),
    ]
    for epsilon in (0.0, 0.5):
        low, high = worst(laws, [(0, 1), (1, 0)], epsilon)
        found = release.delta(epsilon)
        assert low <= found.upper
        assert found.lower <= high
    assert release.bound().delta(0.3).upper >= release.delta(0.3).lower
    two = world.release(0.5)
    with pytest.raises(Unsupported, match="one number"):
        two.delta(0.1)
    with pytest.raises(Unsupported):
        two.bound()
    with pytest.raises(Unsupported):
        two.ignoring_confounder()


def test_a_spread_for_each_secret():
    release = gaussian_world([0, 1, 1], [1, 0.5, 2]).release(1)
    laws = [Normal.of(Fraction(mean), Fraction(square)) for mean, square in ((0, 2), (1, Fraction(5, 4)), (1, 5))]
    pairs = [(i, j) for i in range(3) for j in range(3) if i != j]
    for epsilon in EPSILONS:
        low, high = worst(laws, pairs, epsilon)
        found = release.delta(epsilon)
        assert low <= found.upper
        assert found.lower <= high
        assert found.width < 1e-10


def test_laplace_noise_on_normals():
    release = mixture_world([BUMPS, Normal(0, 0.5)]).release(noise("laplace", 0.4))
    p = Mixture([0.5, 0.5], [NormalLaplace(-1, 0.3, 0.4), NormalLaplace(1, 0.3, 0.4)])
    q = Mixture.of(NormalLaplace(0, 0.5, 0.4))
    with mp.workdps(40):
        for epsilon in (0.0, 0.6):
            exact = max(truth.stick(p, q, epsilon), truth.stick(q, p, epsilon))
            assert exact in release.delta(epsilon)
    scaled = mixture_world([BUMPS, Normal(0, 0.5)]).release(noise("laplace", 0.8, [-2.0]))
    same(release, scaled, tolerance=1e-9)


def test_the_data_themselves():
    world = mixture_world([BUMPS, Normal(0, 0.5)])
    for release in (world.release(0), world.release(noise("laplace", 0)), world.release(0, noise("laplace", 1))):
        low, high = worst([BUMPS, Normal(0, 0.5)], [(0, 1), (1, 0)], 0.4)
        assert low <= release.delta(0.4).upper
        assert release.delta(0.4).lower <= high
    same(gaussian_world([0, 1], 1).release(0), gaussian_world([0, 1], 1).release(0).bound())


def test_nothing_is_read():
    release = mixture_world([BUMPS, Normal(0, 0.5)]).release(noise("gaussian", 1.0, [0.0]))
    assert release.epsilon(0.0).upper == 0.0
    assert release.delta(0.0).upper == 0.0


# ---- finite data, continuous noise


def finite(values=(0.0, 1.0, 2.5), rows=((0.5, 0.3, 0.2), (0.1, 0.3, 0.6))):
    return World(data=rows, values=list(values))


@pytest.mark.parametrize("kind", ["gaussian", "laplace"])
def test_finite_data_with_noise(kind):
    release = finite().release(noise(kind, 0.8))
    make = Normal if kind == "gaussian" else Laplace
    parts = [make(0.0, 0.8), make(1.0, 0.8), make(2.5, 0.8)]
    p, q = Mixture([0.5, 0.3, 0.2], parts), Mixture([0.1, 0.3, 0.6], parts)
    with mp.workdps(40):
        for epsilon in (0.0, 0.4, 1.0):
            exact = max(truth.stick(p, q, epsilon), truth.stick(q, p, epsilon))
            assert exact in release.delta(epsilon)
            assert release.delta(epsilon).lower <= release.bound().delta(epsilon).upper
    assert release.epsilon(0).upper <= math.log(5) + 1e-9  # never more than the data themselves


def test_several_gaussian_noises_on_finite_data():
    same(finite().release(*[noise("gaussian", 0.6)] * 9), finite().release(noise("gaussian", 0.2)), tolerance=1e-9)


def test_pairs_and_priors_of_the_finite_world_are_kept():
    rows = [[0.5, 0.5], [0.4, 0.6], [0.05, 0.95]]
    near = World(data=rows, pairs=within(lambda i, j: abs(i - j), 1)).release(noise("gaussian", 1.0))
    every = World(data=rows).release(noise("gaussian", 1.0))
    assert near.delta(0.0).upper < every.delta(0.0).lower
    table = [[[0.5, 0.5], [0.4, 0.6]], [[0.9, 0.1], [0.1, 0.9]]]
    several = World(data=table).release(noise("laplace", 1.0))
    alone = World(data=table[1]).release(noise("laplace", 1.0))
    same(several, alone)


def test_points_and_densities_mix():
    """A number that is zero with probability 0.3: with noise it has a density."""
    laws = [Mixture([0.3, 0.7], [Point(0.0), Normal(2, 1)]), Mixture([0.6, 0.4], [Point(0.0), Normal(2, 1)])]
    release = mixture_world(laws).release(0.5)
    parts = [Normal(0, 0.5), Normal.of(Fraction(2), Fraction(5, 4))]
    low, high = worst([Mixture([0.3, 0.7], parts), Mixture([0.6, 0.4], parts)], [(0, 1), (1, 0)], 0.2)
    assert low <= release.delta(0.2).upper
    assert release.delta(0.2).lower <= high
    with pytest.raises(Unsupported, match="single values"):
        mixture_world(laws).release(0).delta(0.1)


# ---- caps, words, refusals


@pytest.mark.parametrize("scale", [0.05, 0.5, 3.0])
def test_the_cap_is_never_passed_and_is_reached(scale):
    release = mixture_world([BUMPS, Normal(0, 0.5)]).release(scale)
    cap = release.bound().delta(EPSILONS)
    found = release.delta(EPSILONS)
    assert np.all(found.lower <= cap.upper)
    if scale == 0.05:
        assert np.all(np.asarray(cap.lower) - np.asarray(found.upper) < 0.02)


def test_what_has_no_closed_form_still_has_a_cap():
    release = mixture_world([Uniform(0, 1), Uniform(0.25, 1.25)]).release(0.3)
    with pytest.raises(Unsupported, match="closed form"):
        release.delta(0.1)
    assert 0.25 in release.bound().delta(0.0)


def test_the_guarantee_says_what_it_assumes():
    release = mixture_world([BUMPS, Normal(0, 0.5)], secret=[0.9, 0.1]).release(0.7)
    assert isinstance(release, Curve)
    guarantee = release.guarantee()
    assert isinstance(guarantee, Guarantee)
    text = guarantee.explain(1e-3)
    assert "the data follow the stated law given the secret" in text
    assert "2 secrets" in text
    assert "pairs of secrets" in gaussian_world([0, 1, 2], 1, pairs=[(0, 1)]).release(1).guarantee().protects
    assert "readings" in repr(release)
    assert "2 secrets" in repr(release.world)


def test_pairs_of_continuous_worlds():
    near = gaussian_world([0, 1, 2], 1, pairs=within(lambda i, j: abs(i - j), 1)).release(1)
    assert near.curve.square == Fraction(1, 2)
    assert gaussian_world([0, 1, 2], 1).release(1).curve.square == 2
    impossible = gaussian_world([0, 1, 5], 1, secret=[0.5, 0.5, 0]).release(1)
    assert impossible.curve.square == Fraction(1, 2)  # a secret that cannot occur is in no pair
    assert isinstance(World.gaussian([0, 1], sd=1), ContinuousWorld)
    assert isinstance(World.mixture([BUMPS, Normal(0, 1)]), ContinuousWorld)


def test_plots_can_be_drawn():
    pytest.importorskip("matplotlib")
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots()
    assert gaussian_world([0, 1], 1).release(1).plot(axes) is axes
    pyplot.close(figure)


WORLD = gaussian_world([0, 1], 1)
PLANE = gaussian_world([[0, 0], [1, 1]], 1)


@pytest.mark.parametrize(
    "make",
    [
        lambda: gaussian_world([0], 1),
        lambda: gaussian_world(0, 1),
        lambda: gaussian_world("01", 1),
        lambda: gaussian_world([0, math.nan], 1),
        lambda: gaussian_world([0, True], 1),
        lambda: gaussian_world([0, [1, 2]], 1),
        lambda: gaussian_world([0, 1], -1),
        lambda: gaussian_world([0, 1], math.nan),
        lambda: gaussian_world([0, 1], [1, 2, 3]),
        lambda: gaussian_world([[0, 0], [1, 1]], [[1, 2], [3, 1]]),
        lambda: gaussian_world([[0, 0], [1, 1]], [[1, 2], [2, 1]]),
        lambda: gaussian_world([[0, 0], [1, 1]], np.ones((3, 3))),
        lambda: gaussian_world([0, 1], 1, secret=[0.5, 0.6]),
        lambda: gaussian_world([0, 1], 1, secret=[0.5, 0.3, 0.2]),
        lambda: gaussian_world([0, 1], 1, pairs="some"),
        lambda: gaussian_world([0, 1], 1, pairs=[(0, 2)]),
        lambda: gaussian_world([0, 1], 1, secret=[1.0, 0.0]),
        lambda: mixture_world([BUMPS]),
        lambda: mixture_world(BUMPS),
        lambda: mixture_world([BUMPS, 3]),
        lambda: mixture_world([BUMPS, NormalVectors([1.0], [[0, 0]], [np.eye(2)])]),
        lambda: NormalVectors([1.0], [[0, 0]], [np.eye(3)]),
        lambda: NormalVectors([0.5, 0.6], [[0], [1]], [[[1]], [[1]]]),
        lambda: NormalVectors([1.0], [[0, 0], [1, 1]], [np.eye(2)]),
        lambda: NormalVectors([1.0], [], []),
        lambda: NormalVectors([1.0], [[0, 0]], [[[1, 0.2], [0.1, 1]]]),
        WORLD.release,
        lambda: WORLD.release(-1),
        lambda: WORLD.release(math.nan),
        lambda: WORLD.release(True),
        lambda: WORLD.release("1"),
        lambda: WORLD.release(noise("gaussian", 1.0, [1.0, 1.0])),
        lambda: WORLD.release(1, 1, correlation=[[1, 0.5], [0.4, 1]]),
        lambda: WORLD.release(1, 1, correlation=[[1, 2], [2, 1]]),
        lambda: WORLD.release(1, 1, correlation=[[2, 0], [0, 1]]),
        lambda: WORLD.release(1, 1, correlation=[[1]]),
        lambda: WORLD.release(noise("laplace", 1), 1, correlation=np.eye(2)),
        lambda: PLANE.release(1).plot(kind="pie"),
        lambda: finite().release(noise("gaussian", 0.0)),
    ],
)
def test_bad_input_is_refused(make):
    with pytest.raises(InvalidParameter):
        make()
