"""The prover is right, and a prover with a part left out is caught."""

import math
from fractions import Fraction

import flint
import mpmath
import numpy as np
import pytest
from benchmarks.soundness.rooms import proofs_nested
from tests.soundness.faults import Faulty

import quiltwork as qw
from quiltwork.proof import closed_forms, discrete_gaussians, finite, prove
from quiltwork.proof.balls import ball, precision
from quiltwork.proof.description import compositions
from quiltwork.proof.discrete_gaussians import _first_above, _Law, _sum


def release(loss):
    return compositions(loss.to_json())[0].releases[0]


def listed(sigma, shift, count, epsilon):
    """D of discrete Gaussians by mpmath, all masses listed."""
    with mpmath.workdps(60):
        s, reach = mpmath.mpf(str(sigma)), int(14 * sigma) + 4
        weights = {x: mpmath.exp(-(x**2) / (2 * s**2)) for x in range(-reach, reach + 1)}
        total = mpmath.fsum(weights.values())
        law = {0: mpmath.mpf(1)}
        for _ in range(count):
            new = {}
            for have, mass in law.items():
                for x, w in weights.items():
                    new[have + x] = new.get(have + x, 0) + mass * w / total
            law = new
        loss = {x: (count * shift**2 - 2 * x * shift) / (2 * s**2) for x in law}
        return mpmath.fsum(m * (1 - mpmath.exp(epsilon - loss[x])) for x, m in law.items() if loss[x] > epsilon)


def theta_sum(terms, points):
    """A sum of few terms, so that alias and tail matter, and the truth."""
    with precision(400):
        law, epsilon = _Law(release(qw.discrete_gaussian(2.0)), 2), Fraction(1)
        found = _sum(law, ball(epsilon), _first_above(law, epsilon), 1.0, terms, points)
        with mpmath.workdps(60):
            return found, flint.arb(mpmath.nstr(listed(2, 1, 2, 1), 40))


def agree(found, truth):
    with precision(400):
        return bool(abs(found.mid() - truth) <= found.rad() + flint.arb("1e-30"))


def test_alias_and_tail_cover_what_is_left_out():
    for width, points in ((50.0, 12), (3.0, 60), (1.0, 24), (50.0, 200)):
        assert agree(*theta_sum(width, points))


def test_a_lost_alias_is_caught(monkeypatch):
    monkeypatch.setattr(_Law, "log_moment_above", lambda self, t: ball(-(10**6)))
    assert not agree(*theta_sum(50.0, 12))


def test_a_dropped_tail_is_caught(monkeypatch):
    monkeypatch.setattr(_Law, "size_beyond", lambda self, theta, u: ball(0))
    assert not agree(*theta_sum(3.0, 60))


def test_theta_sums_are_the_listed_masses():
    for sigma, shift, count, epsilon in ((0.7, 1, 1, 1.0), (2.0, 3, 2, 0.25), (3.0, 1, 3, 2.0)):
        with precision(400):
            found = discrete_gaussians.divergence(release(qw.discrete_gaussian(sigma, shift)), count, Fraction(epsilon))
            with mpmath.workdps(60):
                truth = flint.arb(mpmath.nstr(listed(sigma, shift, count, epsilon), 40))
            assert agree(found, truth)
            assert found.rad() < 1e-25


X = np.linspace(-14, 16, 2_000_001)


def closed_truths():
    """Closed forms beside sums over their densities."""
    law = [np.exp(-((X - mean) ** 2) / 2) / math.sqrt(2 * math.pi) * (X[1] - X[0]) for mean in (0.0, 1.0)]
    for rate, e, side in ((1.0, 0.5, "remove"), (1.0, -0.2, "remove"), (0.1, 0.5, "remove"), (0.5, 0.2, "add")):
        mixed = (1 - rate) * law[0] + rate * law[1]
        p, q = (mixed, law[0]) if side == "remove" else (law[0], mixed)
        loss = qw.gaussian(1.0) if rate == 1 else qw.poisson(qw.gaussian(1.0), rate).direction(side)
        truth = float(np.maximum(p - math.exp(e) * q, 0).sum())
        yield closed_forms.release_divergence(release(loss), Fraction(str(e))), truth


def closed_forms_agree():
    with precision(400):
        return all(abs(float(found.mid()) - truth) < 1e-6 * truth for found, truth in closed_truths())


def test_closed_forms_are_the_integrals():
    assert closed_forms_agree()


def test_a_wrong_sign_is_caught(monkeypatch):
    right = closed_forms.gaussian
    monkeypatch.setattr(closed_forms, "gaussian", lambda mu, e: right(mu, -e))
    assert not closed_forms_agree()


def test_a_dropped_atom_and_exchanged_worlds_are_caught(monkeypatch):
    loss = (3 * qw.pair([0.5, 0.3, 0.2], [0.2, 0.5, 0.3])).direction("remove")
    bracket = loss.delta(0.3, rtol=1e-9)
    right = finite.single
    assert bracket.prove().verdict == "proved"
    monkeypatch.setattr(finite, "single", lambda law: right(law[1:]))
    assert bracket.prove().verdict == "refuted"
    monkeypatch.setattr(finite, "single", lambda law: right([atom.turned() for atom in law]))
    assert bracket.prove().verdict == "refuted"


def test_a_loss_that_may_lie_above_epsilon_counts_from_0_to_its_most():
    """Half of the mass at log 2, and an epsilon that is known to 1e-5 about it."""
    with precision(200):
        log, hair = ball(2).log(), ball("1e-5")
        found = finite.divergence([(ball("0.5"), log)], ball(0), log + flint.arb(0, 1) * hair)
        assert found.lower() <= 0
        assert found.upper() >= ball("0.5") * -(-hair).expm1()
        assert found.upper() < ball("1e-4")


@pytest.mark.parametrize("bits", [53, 64])
def test_few_bits_leave_it_undecided_not_wrong(monkeypatch, bits):
    monkeypatch.setattr("quiltwork.proof.judge.BITS", bits)
    monkeypatch.setattr("quiltwork.proof.methods.BITS", bits)
    loss = 50 * qw.pure(0.3)
    bracket = loss.epsilon(1e-10, rtol=1e-9)
    assert prove(loss, epsilon=bracket, delta=1e-10).verdict in ("proved", "undecided")
    assert prove(loss, epsilon=bracket, delta=1e-10, digits=4).verdict == "proved"


def test_losses_inside_losses_notice_a_bound_that_is_too_small(monkeypatch):
    inner = {
        "kind": "turned",
        "base": {"kind": "poisson", "rate": 0.5, "base": {"kind": "approximate", "epsilon": 1, "delta": 0.25}},
    }
    parts = [{"kind": "mixture", "components": [[0.5, inner], [0.5, {"kind": "pure", "epsilon": 2}]], "count": 2}]
    case = {"parts": parts, "side": "worst", "quantity": "delta", "at": 0.5}
    assert all(check.holds for check in proofs_nested.compared(case))
    right = proofs_nested.built
    monkeypatch.setattr(proofs_nested, "built", lambda case: Faulty(right(case), "delta"))
    assert not all(check.holds for check in proofs_nested.compared(case))
