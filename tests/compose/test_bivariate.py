"""The lattice of two constraints against multinomial sums written out in rationals, cell by cell.

Reference: seed 002 Theorem 3; theory/multi-constraints.md section 3a.
"""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from tests.compose.rationals import number
from tests.examples import some
from tests.truth.numbers import mp

from quiltwork.compose.engines import two_constraints as module
from quiltwork.compose.engines.two_constraints import binomial, bivariate
from quiltwork.numbers.rounding import UNIT

EXTENDED = float(np.finfo(np.longdouble).eps) / 2
TINY = 1e-300  # smaller masses have no error bound, they only stay small


def responses(outer, inner, share):
    """Increments of two constraints: a response at `outer` with this share, one at `inner` with the rest."""
    return (
        share / (1 + math.exp(-outer)),
        (1 - share) / (1 + math.exp(-inner)),
        (1 - share) / (1 + math.exp(inner)),
        share / (1 + math.exp(outer)),
    )


INCREMENTS = {
    "as in the paper": responses(0.3, 0.15, 0.25),
    "far apart": responses(3.0, 0.01, 0.4),
    "equal": (0.25, 0.25, 0.25, 0.25),
    "outer nearly idle": responses(2.0, 0.5, 1e-12),
    "outer all but idle": responses(2.0, 0.5, 1e-200),
    "inner nearly idle": (*(x if i in (0, 3) else x * 1e-13 for i, x in enumerate(responses(2.0, 0.5, 0.5))),),
    "inner all but idle": (*(x if i in (0, 3) else x * 1e-220 for i, x in enumerate(responses(2.0, 0.5, 0.5))),),
    "tiny epsilons": responses(1e-7, 1e-9, 0.3),
    "large epsilons": responses(30.0, 20.0, 0.1),
    "huge epsilons": responses(500.0, 499.0, 0.5),
    "inner zero": responses(1.0, 0.0, 0.7),
    "no response at all": (1e-6, 0.3, 1e-3, 0.6),
    "lopsided": (1e-9, 1e-2, 1e-5, 0.9),
    "first ratio huge": (0.9, 1e-90, 1e-3, 1e-2),
    "second ratio tiny": (0.3, 0.2, 1e-95, 0.4),
}


def multinomial(count, increments):
    """Every cell as a sum over all ways to reach it."""
    pa, pb, pc, pd = map(Fraction, increments)
    total = (pa + pb + pc + pd) ** count
    cells = {(v, u): Fraction(0) for v in range(count + 1) for u in range(count + 1)}
    for a, b, c in itertools.product(range(count + 1), repeat=3):
        d = count - a - b - c
        if d >= 0:
            ways = math.factorial(count) // math.prod(map(math.factorial, (a, b, c, d)))
            cells[a + c, a + b] += ways * pa**a * pb**b * pc**c * pd**d
    return {cell: number(mass / total) for cell, mass in cells.items()}


def cell(count, increments, v, u):
    """One cell: C(k, u) times the coefficient of t^v in (pa t + pb)^u (pc t + pd)^(k - u)."""
    pa, pb, pc, pd = map(mp.mpf, increments)
    terms = (
        math.comb(u, i)
        * pa**i
        * pb ** (u - i)
        * math.comb(count - u, v - i)
        * pc ** (v - i)
        * pd ** (count - u - v + i)
        for i in range(max(0, u + v - count), min(u, v) + 1)
    )
    return math.comb(count, u) * mp.fsum(terms) / mp.fsum(map(mp.mpf, increments)) ** count


def held(mass, wrong, true):
    """Whether a mass is as near to the truth as its error bound says."""
    return abs(mp.mpf(float(mass)) - true) <= float(wrong) * true if true > TINY else mass <= 1.01 * TINY


@pytest.mark.parametrize("increments", INCREMENTS.values(), ids=INCREMENTS)
@pytest.mark.parametrize("count", [1, 2, 5, 12])
def test_every_cell_of_few_releases(count, increments):
    masses, errors = bivariate(count, increments)
    assert masses.shape == errors.shape == (count + 1, count + 1)
    for (v, u), true in multinomial(count, increments).items():
        assert held(masses[v, u], errors[v, u], true), (v, u, masses[v, u], errors[v, u], mp.nstr(true, 20))
    assert abs(math.fsum(masses.ravel()) - 1) <= 8 * (count + 4) * UNIT
    # no bound is of use that is far above what a dozen operations for each release can lose
    assert float(errors[masses > TINY].max()) <= 40 * (count + 4) * UNIT


@pytest.mark.parametrize("increments", INCREMENTS.values(), ids=INCREMENTS)
def test_one_and_two_releases_by_hand(increments):
    pa, pb, pc, pd = (number(Fraction(x) / sum(map(Fraction, increments))) for x in increments)
    one, _ = bivariate(1, increments)
    two, _ = bivariate(2, increments)
    assert one.ravel().tolist() == pytest.approx([float(x) for x in (pd, pb, pc, pa)], rel=40 * UNIT)
    by_hand = [
        [pd**2, 2 * pb * pd, pb**2],
        [2 * pc * pd, 2 * (pa * pd + pb * pc), 2 * pa * pb],
        [pc**2, 2 * pa * pc, pa**2],
    ]
    for v, u in itertools.product(range(3), repeat=2):
        assert abs(two[v, u] - by_hand[v][u]) <= 60 * UNIT * by_hand[v][u] + TINY


def sampled(count, seed, size=60):
    """Corners, edges, the middle, and random cells."""
    rng = np.random.default_rng(seed)
    ends = (0, 1, count // 2, count - 1, count)
    return [*itertools.product(ends, repeat=2), *(map(int, pair) for pair in rng.integers(0, count + 1, (size, 2)))]


@pytest.mark.parametrize(
    ("name", "count"),
    some([(name, count) for name in INCREMENTS for count in (41, 140, 141, 200)], 2 * len(INCREMENTS)),
)
def test_cells_of_many_releases(name, count):
    """On both sides of the count at which extended precision begins."""
    increments = INCREMENTS[name]
    masses, errors = bivariate(count, increments)
    for v, u in sampled(count, count):
        true = cell(count, increments, v, u)
        assert held(masses[v, u], errors[v, u], true), (v, u, masses[v, u], errors[v, u], mp.nstr(true, 20))
    assert abs(math.fsum(masses.ravel()) - 1) <= 8 * (count + 4) * UNIT


@pytest.mark.parametrize("count", [200, 700, 1101])
def test_bounds_are_sharp_where_the_mass_is(count):
    """On average over the law a few units for each release, or only those of the last roundings."""
    increments = INCREMENTS["as in the paper"]
    masses, errors = bivariate(count, increments)
    unit = EXTENDED if module.is_extended(count) else UNIT
    average = float((masses * errors).sum())
    assert average <= 8 * count * unit + 200 * UNIT
    for v, u in sampled(count, 7, 12):
        true = cell(count, increments, v, u)
        assert held(masses[v, u], errors[v, u], true), (v, u, masses[v, u], errors[v, u], mp.nstr(true, 20))


@pytest.mark.parametrize(("outer", "inner", "share", "count"), [(25.0, 1.0, 0.8, 400), (60.0, 1.0, 0.5, 1150)])
def test_rows_that_outgrow_a_double(outer, inner, share, count):
    """The recurrences meet far below the most likely v: (1 + pa/pb)^u times less likely."""
    increments = responses(outer, inner, share)
    masses, errors = bivariate(count, increments)
    assert (1 + increments[0] / increments[1]) ** (count // 2) > 1e150
    for v, u in [*sampled(count, 3, 20), (count, int(0.8 * count)), (int(0.9 * count), int(0.95 * count))]:
        true = cell(count, increments, v, u)
        assert held(masses[v, u], errors[v, u], true), (v, u, masses[v, u], errors[v, u], mp.nstr(true, 20))
    assert abs(math.fsum(masses.ravel()) - 1) <= 8 * (count + 4) * UNIT


@pytest.mark.parametrize("increments", INCREMENTS.values(), ids=INCREMENTS)
def test_both_precisions_give_one_law(monkeypatch, increments):
    plain, plain_errors = bivariate(60, increments)
    monkeypatch.setattr(module, "EXTENDED", (0, 10**9))
    extended, errors = bivariate(60, increments)
    live = plain > TINY
    assert np.all(np.abs(plain - extended)[live] <= ((plain_errors + errors) * plain)[live])
    assert np.all(extended[~live] <= 1.01 * TINY)
    if EXTENDED < UNIT:
        assert float(errors[live].max()) < float(plain_errors[live].max())


@pytest.mark.parametrize("name", ["as in the paper", "far apart", "tiny epsilons"])
def test_the_mirror_image_is_the_other_world(name):
    """A response swaps its masses when the worlds do: mass(u, v) = e^loss mass(k - u, k - v)."""
    outer, inner = {"as in the paper": (0.3, 0.15), "far apart": (3.0, 0.01), "tiny epsilons": (1e-7, 1e-9)}[name]
    count = 50
    masses, errors = bivariate(count, INCREMENTS[name])
    u, v = np.arange(count + 1), np.arange(count + 1)[:, None]
    loss = outer * (u + v - count) + inner * (u - v)
    ratio = np.log(masses) - np.log(masses[::-1, ::-1])
    # increments are themselves rounded, by a few units for each release
    room = errors + errors[::-1, ::-1] + (8 * count + 8 * np.abs(loss) + 16 * np.abs(np.log(masses))) * UNIT
    assert np.all(np.abs(ratio - loss) <= room)


# ---- binomials

ODDS = [(0.5, 0.5), (0.75, 0.25), (0.1, 0.9), (1e-3, 1.0), (1.0, 1e-12), (1e-280, 1.0), (0.3, 1e-280), (1e-250, 3e-250)]


@pytest.mark.parametrize(("up", "down"), ODDS)
@pytest.mark.parametrize("count", [1, 2, 9, 64, 1000, 30_000])
def test_binomial(count, up, down):
    masses, wrong = binomial(count, up, down)
    assert masses.shape == wrong.shape == (count + 1,)
    total = (mp.mpf(up) + mp.mpf(down)) ** count
    mode = int((count + 1) * (up / (up + down)))
    places = {
        0,
        1,
        count // 3,
        count // 2,
        count - 1,
        count,
        *(min(max(mode + d, 0), count) for d in (-90, -1, 0, 1, 90)),
    }
    for j in places:
        true = math.comb(count, j) * mp.mpf(up) ** j * mp.mpf(down) ** (count - j) / total
        assert held(masses[j], wrong[j], true), (j, masses[j], wrong[j], mp.nstr(true, 20))
    assert abs(math.fsum(masses) - 1) <= (count * EXTENDED / UNIT + 64) * UNIT
    assert float(wrong.max()) <= 8 * count * EXTENDED + 128 * UNIT


@pytest.mark.parametrize(("up", "down"), [(0.5, 0.5), (0.25, 0.75), (2.0**-40, 1 - 2.0**-40)])
@pytest.mark.parametrize("count", [1, 2, 3, 17, 50])
def test_binomial_in_rationals(count, up, down):
    masses, wrong = binomial(count, up, down)
    for j in range(count + 1):
        true = number(math.comb(count, j) * Fraction(up) ** j * Fraction(down) ** (count - j))
        assert held(masses[j], wrong[j], true), (j, masses[j], wrong[j], mp.nstr(true, 20))
