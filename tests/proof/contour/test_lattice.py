"""Sums on one lattice: what is cut off, and a point that may lie above epsilon, are paid for."""

from fractions import Fraction

import pytest
from flint import arb

import quiltwork as qw
from quiltwork.proof import discrete_gaussians
from quiltwork.proof.balls import precision
from quiltwork.proof.contour import lattice
from quiltwork.proof.contour.balls import Budget
from quiltwork.proof.contour.law import DiscreteGaussian
from quiltwork.proof.description import compositions

RELEASE = compositions(qw.discrete_gaussian(3.0, 2).to_json())[0].releases[0]


def truth(epsilon: Fraction) -> arb:
    with precision(300):
        found: arb = discrete_gaussians.divergence(RELEASE, 2, epsilon)
        return found


def summed(epsilon: arb) -> arb:
    with precision(128):
        return lattice.lattice([(DiscreteGaussian(Fraction(3), 2), 2)], epsilon, 1e-9, Budget(1e9))


def test_terms_that_are_cut_off_are_paid_for(monkeypatch: pytest.MonkeyPatch) -> None:
    assert summed(arb("0.7")).overlaps(truth(Fraction("0.7")))
    monkeypatch.setattr(lattice, "LAST", 0.15)
    assert summed(arb("0.7")).overlaps(truth(Fraction("0.7")))
    monkeypatch.setattr(lattice, "_beyond", lambda *_: arb(0))
    assert not summed(arb("0.7")).overlaps(truth(Fraction("0.7")))


def test_an_epsilon_about_a_point_of_the_lattice_holds_both_sides(monkeypatch: pytest.MonkeyPatch) -> None:
    point = Fraction(2 * 2**2, 2 * 9) + Fraction(2, 9)  # offset of two releases, and one step
    hair = Fraction(1, 10**4)
    wide = arb(0, 1) * arb("1e-4")
    with precision(128):
        about = arb(point.numerator) / point.denominator + wide
    for side in (point - hair, point, point + hair):
        assert summed(about).overlaps(truth(side))
    kept = summed(about).upper()
    monkeypatch.setattr(lattice, "_missed", lambda *_: arb(0))
    assert summed(about).upper() < kept
