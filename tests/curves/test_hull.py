from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.curves.exact import lower_hull

from quiltwork.curves.polygons import hull
from quiltwork.curves.polygons.hull import convex, convex_one, drops, profile_hull, tradeoff_hull


@given(st.lists(st.booleans(), min_size=1, max_size=40))
def test_drops_never_takes_neighbours_and_starts_every_run(unsure: list[bool]) -> None:
    leave = drops(np.array(unsure))
    assert not np.any(leave[1:] & leave[:-1])
    assert not np.any(leave & ~np.array(unsure))
    assert leave.any() == any(unsure)


def test_orientation_is_exact_where_floats_are_not() -> None:
    # three points on a line, the middle one moved by one unit in the last place
    alphas = np.array([0.1, 0.2, 0.3])
    for betas in ([0.3, 0.2, 0.1], [0.3, np.nextafter(0.2, 0), 0.1], [0.3, np.nextafter(0.2, 1), 0.1]):
        heights = np.array(betas)
        powers = 1 - heights
        (a, b, c), (p, q, r) = map(Fraction, alphas), map(Fraction, betas)
        truth = (p - q) * (c - b) > (q - r) * (b - a)
        left, middle, right = (np.array([i]) for i in range(3))
        assert convex(alphas, heights, powers, left, middle, right)[0] == truth
        assert convex_one(alphas, heights, powers, 0, 1, 2) == truth


@given(st.lists(st.tuples(st.integers(1, 63), st.integers(0, 63)), min_size=1, max_size=30), st.integers(0, 64))
def test_tradeoff_hull_on_a_lattice_full_of_ties(points: list[tuple[int, int]], start: int) -> None:
    chain = sorted(dict(points).items())
    chain = [(0, start), *((a, min(b, start)) for a, b in chain), (64, 0)]
    alphas, betas = np.array(chain, dtype=float).T / 64
    truth = lower_hull([(Fraction(a, 64), Fraction(b, 64)) for a, b in chain])
    index = tradeoff_hull(alphas, betas, 1 - betas)
    assert [(Fraction(alphas[i]), Fraction(betas[i])) for i in index] == truth


def test_long_bridge_falls_back_to_the_scan(monkeypatch: object) -> None:
    # a dense convex chain and one very low point: sweeps would remove one neighbour at a time
    epsilons = np.concatenate(([-np.inf], np.linspace(0.0, 2.0, 900), [2.1]))
    deltas = np.concatenate(([1.0], 0.2 + 0.2 * np.exp(-4 * np.linspace(0.0, 2.0, 900)), [0.0]))
    swept, _ = profile_hull(epsilons, deltas, True)
    patched = hull._SWEEPS
    try:
        hull._SWEEPS = 2
        scanned, _ = profile_hull(epsilons, deltas, True)
        alphas = np.linspace(0.0, 1.0, 400)
        betas = np.minimum((1 - alphas) ** 2, np.where(alphas > 0.6, 0.0, 1.0))
        few = tradeoff_hull(alphas, betas, 1 - betas)
    finally:
        hull._SWEEPS = patched
    assert np.array_equal(swept, scanned)
    assert np.array_equal(few, tradeoff_hull(alphas, betas, 1 - betas))
