"""What reveals beside a density, and batches that are cut, beside closed forms."""

import math
from fractions import Fraction

from flint import arb

from quiltwork.proof.balls import precision
from quiltwork.proof.closed_forms import gaussian
from quiltwork.proof.contour import divergence
from quiltwork.proof.contour.balls import exact

WORK = 2e7


def agree(found, truth):
    return found is not None and bool(found.overlaps(truth)) and bool(found.rad() < 1e-8)


def test_masses_that_reveal_beside_a_density():
    """Gaussian noise beside an approximate release: each of its losses moves epsilon, and the rest reveals."""
    with precision(300):
        eps, tenth = arb("0.4"), arb("0.1")
        high = tenth.exp() / (1 + tenth.exp())
        inner = high * gaussian(arb(1), eps - tenth) + (1 - high) * gaussian(arb(1), eps + tenth)
        truth = arb("0.01") + arb("0.99") * inner
        nodes = {"kind": "gaussian", "sigma": 1}, {"kind": "approximate", "epsilon": "0.1", "delta": "0.01"}
        parts = [({"loss": node, "direction": "remove"}, 1) for node in nodes]
        assert agree(divergence(parts, 0, eps, 1e-9, WORK), truth)


def above(n, rate, least):
    """P(Bin(n, rate) >= least)."""
    return sum((math.comb(n, k) * rate**k * (1 - rate) ** (n - k) for k in range(least, n + 1)), Fraction(0))


def test_batches_that_are_cut_are_a_mixture_of_two_samples():
    """One release: both classes in closed form, with binomials as fractions."""
    rate, most, of = Fraction(1, 10), 3, 20
    cut = above(of - 1, rate, most)
    full = most * above(of, rate, most + 1) / (of * cut)
    node = {"kind": "truncated_poisson", "base": {"kind": "gaussian", "sigma": 1}, "rate": rate, "most": most, "of": of}
    with precision(300):
        odds, truth = arb("0.5").exp(), arb(0)
        for weight, chance, move in ((1 - cut, rate, 1), (cut, full, 2)):
            q = exact(chance)
            truth += exact(weight) * q * gaussian(arb(move), ((odds - 1 + q) / q).log())
        law = {"loss": node, "direction": "remove", "bound": "upper"}
        assert agree(divergence([(law, 1)], 0, arb("0.5"), 1e-9, WORK), truth)
