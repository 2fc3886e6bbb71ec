"""Chords on a grid hold the truth; a chord left where it was, an atom that fell out, or a lost shift is caught."""

from fractions import Fraction

import numpy as np
import pytest

import quiltwork as qw
from quiltwork.proof import chords
from quiltwork.proof.balls import ball, precision
from quiltwork.proof.description import compositions
from quiltwork.proof.fields import Refused

KNOWN = [  # two bent contours agree to 18 digits and more: reference_rare.json
    (10 * qw.poisson(qw.gaussian(1.0), 0.005).direction("remove"), "0.2922835115286917409483", "1e-6"),
    (2 * qw.poisson(qw.gaussian(0.7), 0.05).direction("add"), "0.1021833125892276048833", "1e-10"),
]


def on(loss, epsilon, size=2**9, decides=lambda found: False):
    """The enclosure on one grid, by chords alone."""
    before = chords.SIZES
    try:
        chords.SIZES = (size,)
        return chords.judge(compositions(loss.to_json())[0], Fraction(epsilon), decides)
    finally:
        chords.SIZES = before


def holds(found, truth):
    with precision(200):
        return bool(found.low <= ball(Fraction(truth)) <= found.high)


@pytest.mark.parametrize(("loss", "epsilon", "delta"), KNOWN)
def test_known_values_lie_between_and_the_gap_falls_with_the_square_of_the_points(loss, epsilon, delta):
    gaps = []
    for size in (2**9, 2**11):
        found = on(loss, epsilon, size)
        assert holds(found, delta)
        gaps.append(float((found.high - found.low).mid()))
    assert gaps[1] < gaps[0] / 8


def test_few_mixed_releases_by_sums_over_both_noises():
    loss = qw.compose(qw.laplace(1.0), qw.poisson(qw.laplace(2.0), 0.3)).direction("remove")
    found = on(loss, "0.7", 2**11)
    step = 0.02
    x, y = np.arange(-12, 13, step) + step / 2, np.arange(-22, 23, step) + step / 2
    plain, moved = (np.exp(-abs(x - centre)) / 2 * step for centre in (0, 1))
    q, p = (np.exp(-abs(y - centre) / 2) / 4 * step for centre in (0, 1))
    truth = np.maximum(np.outer(moved, 0.7 * q + 0.3 * p) - np.exp(0.7) * np.outer(plain, q), 0).sum()
    assert float(found.low.mid()) - 1e-4 < truth < float(found.high.mid()) + 1e-4
    assert float((found.high - found.low).mid()) < 2e-3


def test_what_is_not_one_pair_and_what_is_bounded_nowhere_is_refused():
    for loss in (3 * qw.exponential(1.0), 3 * qw.gaussian(1.0)):
        with pytest.raises(Refused):
            on(loss, "0.5")


LOSS, EPSILON, DELTA = KNOWN[0]


def test_chords_that_are_not_lowered_are_caught(monkeypatch):
    """A law below whose points lie on U itself is above the truth between them."""
    assert holds(on(LOSS, EPSILON), DELTA)
    right = chords._laws
    monkeypatch.setattr(chords, "_laws", lambda *given: (right(*given)[0], right(*given)[0], right(*given)[2]))
    assert not holds(on(LOSS, EPSILON), DELTA)


def test_an_atom_that_fell_out_is_caught(monkeypatch):
    right = chords._laws

    def dropped(*given):
        above, below, lost = right(*given)
        above[above.index(max(above, key=lambda mass: float(mass.mid())))] = ball(0)
        return above, below, lost

    monkeypatch.setattr(chords, "_laws", dropped)
    assert not holds(on(LOSS, EPSILON), DELTA)


def test_a_lost_shift_is_caught(monkeypatch):
    """The lattice begins at the sum of all least losses; one step too far to the right and the put is too small."""
    right = chords._power
    monkeypatch.setattr(
        chords, "_power", lambda law, count, size: right(law, count, size) * chords.flint().arb_poly([0, 1])
    )
    assert not holds(on(LOSS, EPSILON), DELTA)
