"""Lists of all values of a composed loss against the same lists in exact rationals.

Reference: seed 002 Theorem 1 and Theorem 3; theory/multi-constraints.md sections 2, 3.
"""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.compose import naive
from tests.compose.rationals import Composition, number
from tests.examples import examples
from tests.truth import constraints as truth
from tests.truth.numbers import mp

import quiltwork as qw
from quiltwork.compose.engines import atoms as module
from quiltwork.compose.engines.atoms import enumerate_atoms, power
from quiltwork.compose.releases import directed
from quiltwork.numbers.rounding import UNIT

MOST = 100_000
TINY = 1e-300  # smaller masses have no error bound, they only stay small


def counted(loss, side="remove"):
    """The numerical pairs of one direction."""
    found = directed(loss.parts)
    return found.get(side) or found["both"]


def listed(loss, side="remove", most=MOST, least=-math.inf):
    return enumerate_atoms(counted(loss, side), most, least)


def of_rationals(releases):
    """(loss, P mass, Q mass) of a composition of explicit laws."""
    atoms = Composition(releases).atoms
    return [(mp.log(number(ratio)), number(p), number(q)) for ratio, p, q in atoms]


def of_constraints(kinds):
    """The same for sets of constraints, read as the decimals typed."""
    law = truth.composed([([(repr(e), repr(d)) for e, d in points], count) for points, count in kinds])
    return [(loss, p, p * mp.exp(-loss)) for loss, p in law.atoms]


def assert_same(found, true):
    """One value for each true one, as near as the bounds say; nothing else but what underflows."""
    assert np.all(np.diff(found.losses) > 0)
    assert np.all(found.wrong <= found.relative)
    true = [atom for atom in true if max(atom[1:]) > TINY]
    at = np.array([float(loss) for loss, _, _ in true])
    where = np.searchsorted(found.losses, at - found.hair - 4 * UNIT * np.abs(at))
    assert len(set(where.tolist())) == len(true)
    assert np.delete(np.maximum(found.p, found.q), where).max(initial=0.0) <= 1.01 * TINY
    for i, (loss, p, q) in zip(where.tolist(), true, strict=True):
        case = (float(loss), found.losses[i], found.hair, found.p[i], found.q[i], mp.nstr(p, 20), mp.nstr(q, 20))
        assert abs(found.losses[i] - loss) <= found.hair, case
        assert abs(found.p[i] - p) <= found.wrong[i] * p + TINY, case
        assert abs(found.q[i] - q) <= found.relative * q + TINY, case


def assert_sharp(found, count):
    """A dozen units for each release: what is promised is of use."""
    assert found.relative <= 40 * (count + 4) * UNIT
    assert found.hair <= 40 * count * UNIT * (1 + float(np.abs(found.losses).max()) / count)


# ---- one kind of release

ONE = ([0.25, 0.75], [0.0, 1.0])  # a reveal, and one finite loss
TWO = ([0.5, 0.375, 0.125, 0.0], [0.125, 0.25, 0.0, 0.625])  # two losses, a reveal, and what only Q shows
CROWDED = ([0.5, 0.25, 0.25], [0.25, 0.25, 0.5])  # losses log 2 times -1, 0, 1
SPARSE = ([0.125, 0.5, 0.25, 0.125, 0.0], [0.25, 0.25, 2.0**-63, 0.0, 0.5])  # log 2 times -1, 1, 61
IRREGULAR = ([0.5, 0.3125, 0.1875], [0.25, 0.4375, 0.3125])


@pytest.mark.parametrize("side", ["remove", "add"])
@pytest.mark.parametrize("count", [1, 2, 7, 40])
@pytest.mark.parametrize("pair", [ONE, TWO, CROWDED], ids=["one", "two", "crowded"])
def test_few_outcomes_by_rationals(pair, count, side):
    p, q = pair if side == "remove" else pair[::-1]
    found = listed(count * qw.pair(*pair), side)
    assert_same(found, of_rationals([(p, q, count)]))
    assert_sharp(found, count)


@pytest.mark.parametrize("pair", [SPARSE, IRREGULAR], ids=["sparse", "irregular"])
@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 11, 13])
def test_more_outcomes_by_rationals(pair, count):
    """On a lattice with gaps, or on none: squared and multiplied."""
    found = listed(count * qw.pair(*pair))
    assert_same(found, of_rationals([(*pair, count)]))
    assert_sharp(found, 2 * count)


def test_which_kernel_takes_which_lattice():
    crowded, sparse = (counted(qw.pair(*pair))[0][0].lattice() for pair in (CROWDED, SPARSE))
    assert crowded.indices.size * module.CROWDED > module._span(crowded)
    assert sparse.indices.size * module.CROWDED <= module._span(sparse)
    assert counted(qw.pair(*IRREGULAR))[0][0].lattice() is None


@pytest.mark.parametrize("places", [[0, 1, 2, 5], [0, 3, 4, 90], [0, 1], [0, 7, 100]])
@pytest.mark.parametrize("count", [1, 2, 9])
def test_both_kernels_convolve(monkeypatch, places, count):
    masses = [2.0**-n for n in range(1, len(places))] + [2.0 ** -(len(places) - 1)]
    true = {0: Fraction(1)}
    for _ in range(count):
        following = {}
        for (x, p), (y, mass) in itertools.product(true.items(), zip(places, masses, strict=True)):
            following[x + y] = following.get(x + y, 0) + p * Fraction(mass)
        true = following
    for crowded in (10**9, 0):
        monkeypatch.setattr(module, "CROWDED", crowded)
        found = module._copies(np.array(places), np.array(masses), count)
        assert {
            i: Fraction(mass) for i, mass in enumerate(found.tolist()) if mass
        } == true  # dyadic: nothing is rounded


@pytest.mark.parametrize(("first", "second"), [(0.3, 0.15), (0.5, 0.2), (1.1, 0.4)])
def test_four_roads_to_one_law(monkeypatch, first, second):
    """Two constraints by the bivariate lattice, by two kernels copy by copy, and by squaring."""
    loss, kinds = 20 * qw.constraints([(first, 0.001), (second, 0.05)]), [([(first, 0.001), (second, 0.05)], 20)]
    true, pair = of_constraints(kinds), counted(loss)[0][0]
    monkeypatch.setattr(module, "SHORT", 0)
    roads = [power(pair, 20, MOST)]
    monkeypatch.setattr(module, "SHORT", 10**9)
    for crowded in (10**9, 0):
        monkeypatch.setattr(module, "CROWDED", crowded)
        roads.append(power(pair, 20, MOST))
    monkeypatch.setattr(module, "WORK", 0)
    roads.append(power(pair, 20, MOST))
    for found in roads:
        assert_same(found, true)
    assert len({found.p.tobytes() for found in roads}) >= 3  # they are different roads


@pytest.mark.parametrize(
    ("points", "count"),
    [
        ([(0.31415926, 0.0), (0.12345678, 0.03)], 30),
        ([(2.71828, 1e-9), (0.0314, 0.2)], 12),
        ([(30.25, 0.0), (20.125, 1e-6)], 9),
        ([(1.0, 0.0), (0.0, 0.3)], 25),
        ([(1.0, 0.5)], 30),
        ([(3.0, 0.01), (1.5, 0.05), (0.7, 0.2), (0.3, 0.35)], 5),
        ([(3.1, 0.01), (1.52, 0.05), (0.723, 0.2), (0.317, 0.35)], 4),
    ],
)
def test_constraints_by_the_theorem(points, count):
    found = listed(count * qw.constraints(points))
    assert_same(found, of_constraints([(points, count)]))
    assert_sharp(found, count)


@pytest.mark.parametrize("part", [0.96875, 1 - 2.0**-20, 1 - 2.0**-40])
@pytest.mark.parametrize("count", [1, 2, 30])
def test_nearly_everything_is_revealed(part, count):
    """1 - reveal would have few digits left; the masses themselves have all."""
    rest = 1 - part
    for p, q in (([part, rest], [0.0, 1.0]), ([part, 0.375 * rest, 0.625 * rest], [0.0, 0.75, 0.25])):
        for side in ("remove", "add"):
            releases = [(p, q, count) if side == "remove" else (q, p, count)]
            assert_same(listed(count * qw.pair(p, q), side), of_rationals(releases))


@pytest.mark.parametrize("delta", [0.99, 0.9999999999, 1e-20])
def test_a_stated_reveal_mass_is_a_decimal(delta):
    assert_same(listed(7 * qw.approximate(0.1, delta)), of_constraints([([(0.1, delta)], 7)]))
    points = [(0.3, delta), (0.15, 0.99995 if delta > 0.5 else 0.02)]
    assert_same(listed(12 * qw.constraints(points)), of_constraints([(points, 12)]))


# ---- several kinds


@pytest.mark.parametrize(
    "releases",
    [
        [(*TWO, 3), (*CROWDED, 4)],
        [(*ONE, 2), (*IRREGULAR, 3), (*TWO, 1)],
        [(*SPARSE, 2), (*CROWDED, 3)],
        [(*ONE, 5), (*ONE[::-1], 3)],
    ],
)
def test_kinds_are_added(releases):
    loss = qw.compose(*(count * qw.pair(p, q) for p, q, count in releases))
    assert_same(listed(loss), of_rationals(releases))
    swapped = [(q, p, count) for p, q, count in releases]
    assert_same(listed(loss, "add"), of_rationals(swapped))


dyadic = st.lists(st.integers(0, 8), min_size=2, max_size=4).filter(lambda x: sum(x) > 0)


def law(weights, size):
    """Sixteenths, exactly representable: the float laws are the rational ones."""
    weights = [*weights, 0, 0, 0][:size]
    cuts = np.round(np.cumsum(weights) / max(sum(weights), 1) * 16) / 16
    return np.diff(np.concatenate(([0.0], np.minimum(cuts[:-1], 1.0), [1.0]))).tolist()


@settings(max_examples=examples(60))
@given(
    kinds=st.lists(
        st.tuples(st.integers(2, 4), dyadic, dyadic, st.integers(1, 5)),
        min_size=1,
        max_size=3,
        unique_by=str,
    )
)
def test_the_law_of_a_sum_is_the_convolution(kinds):
    releases = [(law(p, size), law(q, size), count) for size, p, q, count in kinds]
    true = of_rationals(releases)
    found = listed(qw.compose(*(count * qw.pair(p, q) for p, q, count in releases)))
    if found is None:
        assert not true  # nothing but reveals
        return
    assert_same(found, true)


def test_pure_releases_by_a_naive_convolution():
    """50 digits, dictionaries: the other reference."""
    atoms = [[(mp.mpf(sign * e), 1 / (1 + mp.exp(-sign * mp.mpf(e)))) for sign in (1, -1)] for e in (0.5, 0.25)]
    law = naive.convolution([(atoms[0], 6), (atoms[1], 5)])
    assert_same(listed(6 * qw.pure(0.5) + 5 * qw.pure(0.25)), [(x, p, p * mp.exp(-x)) for x, p in law])


def test_values_that_only_rounding_tells_apart_are_one():
    """Theorem 1, eps = (.5, .2), 10 and 15 releases: 176 pairs of counts, 77 different sums."""
    loss = 10 * qw.pure(0.5) + 15 * qw.pure(0.2)
    exact = {(2 * i - 10) * Fraction(1, 2) + (2 * j - 15) * Fraction(1, 5) for i in range(11) for j in range(16)}
    floats = {(2 * i - 10) * 0.5 + (2 * j - 15) * 0.2 for i in range(11) for j in range(16)}
    assert len(exact) < len(floats)
    found = listed(loss)
    assert found.losses.size == len(exact)
    assert_same(found, of_constraints([([(0.5, 0.0)], 10), ([(0.2, 0.0)], 15)]))


@pytest.mark.parametrize("apart", [2.0**-52, 2.0**-49])
def test_values_that_are_nearly_one(apart):
    """1 and 1 + 2^-52 are two numbers; where the list cannot tell sums apart, its hair says how far it moved them."""
    near = 1 + apart
    found = listed(3 * qw.pure(1.0) + 3 * qw.pure(near))
    true = of_constraints([([(1.0, 0.0)], 3), ([(near, 0.0)], 3)])
    assert found.losses.size < len(true)
    assert all(min(abs(found.losses - float(x))) <= found.hair for x, _, _ in true)
    for i, loss in enumerate(found.losses):
        group = [p for x, p, _ in true if abs(x - loss) <= found.hair]
        assert abs(mp.fsum(group) - found.p[i]) <= found.wrong[i] * found.p[i]
    assert found.hair < 1e-13


def test_a_mixture_may_list_a_loss_twice():
    loss = qw.mixture([(0.25, qw.pure(0.5)), (0.25, qw.pure(0.5)), (0.5, qw.approximate(0.25, 0.125))])
    for count in (1, 2, 5):
        found = listed(count * loss)
        total = {}
        half = Fraction(1, 2)
        points = [(half, Fraction(1, 2)), (Fraction(1, 4), Fraction(7, 16))]
        for loss_, p in naive.convolution(
            [
                (
                    [
                        (mp.mpf(s * number(e)), number(w) / (1 + mp.exp(-s * number(e))))
                        for e, w in points
                        for s in (1, -1)
                    ],
                    count,
                )
            ]
        ):
            total[loss_] = p
        for value, p in total.items():
            near = np.abs(found.losses - float(value)) <= found.hair
            mass = math.fsum(found.p[near])
            assert abs(mass - p) <= (found.relative + 4 * UNIT) * p


# ---- what may be left out, and when the list is refused


@pytest.mark.parametrize("least", [-1e-6, 0.0, 0.45, 3.0])
@pytest.mark.parametrize(
    "loss",
    [
        30 * qw.constraints([(0.31415926, 0.0), (0.12345678, 0.03)]),
        6 * qw.pure(0.5) + 5 * qw.pure(0.2),
        20 * qw.constraints([(0.3, 0.0), (0.15, 0.02)]),
    ],
    ids=str,
)
def test_values_below_least_may_go(loss, least):
    """Merging leans on the neighbours and on the largest value: masses stay, losses move by less than a hair."""
    whole, part = listed(loss), listed(loss, least=least)
    kept = whole.losses >= least + whole.hair
    size = int(kept.sum())
    assert part.losses.size >= size
    assert np.all(np.abs(part.losses[-size:] - whole.losses[kept]) <= whole.hair + part.hair)
    assert np.all(np.abs(part.p[-size:] - whole.p[kept]) <= 4 * UNIT * whole.p[kept])


@pytest.mark.parametrize("least", [0.0, 5.0, 1e9])
def test_the_largest_value_stays(least):
    """All of P above epsilon 0 may be revealed: then no finite loss is positive."""
    one, two = ([0.5, 0.25, 0.25], [0.0, 0.5, 0.5]), ([0.25, 0.375, 0.375], [0.0, 0.5, 0.5])
    found = listed(qw.pair(*one) + qw.pair(*two), least=least)
    assert found.losses[-1] == pytest.approx(math.log(0.375), abs=found.hair)
    assert found.p[-1] == pytest.approx(0.375, rel=1e-15)


@pytest.mark.parametrize(
    "loss",
    [
        qw.compose(),
        qw.gaussian(1.0),
        qw.laplace(1.0) + qw.pure(1.0),
        qw.discrete_gaussian(1.0),
        qw.approximate(1.0, 1.0),
    ],
    ids=str,
)
def test_what_has_no_finite_list(loss):
    """Densities, endless lattices, and nothing but a reveal."""
    assert listed(loss) is None


@pytest.mark.parametrize(
    ("loss", "values"),
    [
        (1000 * qw.pure(0.1), 1001),
        (40 * qw.constraints([(0.31415926, 0.0), (0.12345678, 0.03)]), 41 * 41),
        (40 * qw.constraints([(0.3, 0.0), (0.15, 0.02)]), 161),
        (30 * qw.pure(0.5) + 30 * qw.pure(0.3), 2 * 31 * 31),
        (9 * qw.pair(*IRREGULAR), 2 * 15 * 15),
    ],
    ids=str,
)
def test_long_lists_are_refused(loss, values):
    """Nothing larger than `most` is handled at a time; what is given does not depend on it."""
    found = [listed(loss, most=most) for most in (values // 4, values, 10 * values)]
    assert found[0] is None
    assert found[1] is not None
    assert np.array_equal(found[1].losses, found[2].losses)
    assert np.allclose(found[1].p, found[2].p, rtol=float(found[1].relative), atol=TINY)


# ---- masses that underflow


@pytest.mark.parametrize("epsilon", [800.0, 5000.0])
@pytest.mark.parametrize("count", [1, 2, 7])
def test_masses_below_every_double(epsilon, count):
    """e^-800 is zero in doubles: such masses are added but never divided by, and the extremes stay in the list."""
    points = [(epsilon, 0.0), (1.0, 0.25)]
    found = listed(count * qw.constraints(points))
    assert found.losses[0] == -count * epsilon
    assert found.losses[-1] == count * epsilon
    assert_same(found, of_constraints([(points, count)]))
    alone = listed(count * qw.pure(epsilon))
    assert_same(alone, of_constraints([([(epsilon, 0.0)], count)]))


def test_the_extremes_stay():
    """Whether or not their mass underflows: the largest loss is where delta ends."""
    points = [(800.0, 0.0), (1.0, 1e-200)]
    found = listed(3 * qw.constraints(points))
    assert (found.losses[0], found.losses[-1]) == (-2400.0, 2400.0)
    assert (found.p[0], found.p[-1]) == (0.0, 0.0)
    assert_same(found, of_constraints([(points, 3)]))
    loss = 3 * qw.constraints(points)
    assert loss.delta(2400.0).upper == 0.0
    assert 0.0 < loss.delta(2399.0).upper <= 1e-299


def test_zero_masses_and_many_copies():
    """Far below the smallest double nothing is promised but smallness."""
    found = listed(300 * qw.pure(8.0))
    assert_same(found, of_constraints([([(8.0, 0.0)], 300)]))
    everything = listed(5000 * qw.pair(*ONE))
    assert everything.p.tolist() == [0.0]
    assert everything.q.tolist() == [1.0]


# ---- stated losses are the decimals typed


@pytest.mark.parametrize(
    "kinds",
    [
        [(0.1, 3)],
        [(0.1, 1), (0.2, 1)],
        [(0.1, 7), (0.7, 5), (0.3, 2)],
        [(1.1, 9), (2.2, 4)],
        [(1e-3, 11), (7e-4, 6)],
        [(123.456, 5), (0.001, 5)],
    ],
)
def test_sums_of_decimals_are_decimals(kinds):
    """.1 + .2 is .3, not .30000000000000004."""
    found = listed(qw.compose(*(count * qw.pure(e) for e, count in kinds)))
    assert found.typed
    choices = [[(2 * i - count) * Fraction(repr(e)) for i in range(count + 1)] for e, count in kinds]
    exact = sorted({sum(choice) for choice in itertools.product(*choices)})
    assert found.losses.tolist() == [float(x) for x in exact]
    assert found.hair <= 4 * UNIT * float(exact[-1])


def test_constraints_on_decimals_are_typed_on_every_road(monkeypatch):
    loss = 20 * qw.constraints([(0.3, 0.0), (0.1, 0.02)])
    expected = sorted({Fraction(n, 10) for a in range(21) for b in range(21 - a) for c in range(21 - a - b)
                       for n in [3 * (a - b) + c - (20 - a - b - c)]})  # fmt: skip
    for short in (0, 10**9):
        monkeypatch.setattr(module, "SHORT", short)
        found = listed(loss)
        assert found.typed
        assert found.losses.tolist() == [float(x) for x in expected]


@pytest.mark.parametrize(
    "loss",
    [
        3 * qw.pure(0.1234567890123456),  # more digits than sums could keep
        2 * qw.pure(1 / 3) + 2 * qw.pure(0.1),
        5 * qw.pure(1e8) + qw.pure(1e-8),
        3 * qw.pair([0.25, 0.75], [0.75, 0.25]),
        2 * qw.pure(0.1) + qw.pair([0.25, 0.75], [0.75, 0.25]),
    ],
    ids=str,
)
def test_other_losses_are_not_typed(loss):
    found = listed(loss)
    assert not found.typed
    assert found.hair > 0


def test_untyped_sums_stay_within_their_hair():
    values = (0.1234567890123456, 2 / 3)
    found = listed(4 * qw.pure(values[0]) + 3 * qw.pure(values[1]))
    assert_same(found, of_constraints([([(values[0], 0.0)], 4), ([(values[1], 0.0)], 3)]))


@pytest.mark.parametrize("count", [3, 60, 1000])
def test_reveal_mass_is_what_the_list_lacks(count):
    points = [(0.31, 0.001), (0.12, 0.02)]
    found = listed(count * qw.constraints(points), most=2_000_000)
    kept = (1 - mp.mpf("0.001")) ** count
    for masses in (found.p, found.q):
        assert abs(math.fsum(masses) - kept) <= found.relative * kept
