"""One of t steps: balls beside one step, two steps by quadrature, a reference; a part left out is caught."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import pytest

flint = pytest.importorskip("flint")
from flint import acb, arb  # noqa: E402

import quiltwork as qw  # noqa: E402
from quiltwork.proof.contour import balls  # noqa: E402
from quiltwork.proof.contour.random_allocation.mean import MAX_STEPS, Mean, one_epoch  # noqa: E402


def black_scholes(x: mpmath.mpf, strike: mpmath.mpf) -> mpmath.mpf:
    """E(e^(s N - s^2/2) - strike)+ with s = 1, x unused where the strike is negative."""
    if strike <= 0:
        return 1 - strike
    d = -mpmath.log(strike)
    return mpmath.ncdf(d + x / 2) - strike * mpmath.ncdf(d - x / 2)


def two_steps(eps: str, removed: bool) -> str:
    """Given the first ratio the second is an option on a lognormal price."""
    with mpmath.workdps(30):
        tau = mpmath.exp(mpmath.mpf(eps)) if removed else mpmath.exp(-mpmath.mpf(eps))

        def given(x: mpmath.mpf) -> mpmath.mpf:
            strike = 2 * tau - mpmath.exp(x - mpmath.mpf(1) / 2)
            call = black_scholes(mpmath.mpf(1), strike)
            return mpmath.npdf(x) * (call if removed else call + strike - 1) / 2

        corner = mpmath.log(2 * tau) + mpmath.mpf(1) / 2
        found = mpmath.quad(given, sorted([-12, -4, 0, corner, 4, 12]))
        return mpmath.nstr(found if removed else found / tau, 18)


def agrees(ball: arb, truth: str, digits: float) -> bool:
    return bool(ball.overlaps(arb(truth) * (1 + arb(0, digits))))


@pytest.mark.parametrize("removed", [True, False])
def test_two_steps_by_quadrature(removed: bool) -> None:
    with balls.precision(128):
        found = one_epoch(Fraction(1), 2, removed, arb("0.5"))
        assert found.rad() < 1e-9 * found.mid()
        assert agrees(found, two_steps("0.5", removed), 1e-13)


def test_one_step_is_the_step() -> None:
    with balls.precision(128):
        found = one_epoch(Fraction(1), 1, True, arb(2))
        truth = balls.normal_below(arb("-1.5")) - arb(2).exp() * balls.normal_below(arb("-2.5"))
        assert found.overlaps(truth)
        assert found.rad() < 1e-8 * found.mid()


def test_a_reference_is_proved_and_moved_refuted() -> None:
    """reference/sampling.json."""
    loss = qw.random_allocation(qw.gaussian(1.0), 100).direction("add")
    assert qw.prove(loss, epsilon=("0.48642508962935", "0.48642508962936"), delta="1e-6").verdict == "proved"
    assert qw.prove(loss, epsilon=("0.48642558", "0.48642559"), delta="1e-6").verdict == "refuted"


def transform(z: acb) -> mpmath.mpc:
    """E e^(-zX) with the path of x moved by half the turn of z."""
    with mpmath.workdps(30):
        point = mpmath.mpc(float(z.real.mid()), float(z.imag.mid()))
        move = mpmath.arg(point) / 2
        return mpmath.quad(
            lambda x: mpmath.npdf(x - 1j * move) * mpmath.exp(-point * mpmath.exp(x - 1j * move - mpmath.mpf(1) / 2)),
            [-12, -4, 0, 4, 12],
        )


def within(found: acb, truth: mpmath.mpc) -> bool:
    slip = arb(0, "1e-14")
    parts = (found.real, truth.real), (found.imag, truth.imag)
    return all(bool((one + slip).overlaps(arb(mpmath.nstr(other, 20)))) for one, other in parts)


POINTS = [acb(2), acb(1, 3), acb(-2, 1), acb(-30, 20)]


def test_the_transform_off_its_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    with balls.precision(128):
        law = Mean(arb(1), 2, 128)
        assert all(within(law.laplace(z), transform(z)) for z in POINTS)
        assert not law.laplace(acb(arb(-1, "0.1"), arb(0, "0.1"))).is_finite(), "nothing is said across the cut"
        coarse = Mean(arb(1), 2, 128)
        coarse.digits = 3.0
        assert all(within(coarse.laplace(z), transform(z)) for z in POINTS), "a strip covers nodes that are far apart"
        monkeypatch.setattr(Mean, "_strip", lambda self, b, depth, h: arb(0))
        assert not all(within(coarse.laplace(z), transform(z)) for z in POINTS), "without it they miss"


def test_a_short_ray_is_paid_for(monkeypatch: pytest.MonkeyPatch) -> None:
    start = Mean(arb(1), 2, 128)._steered(1.6)[0]
    monkeypatch.setattr(Mean, "_steered", lambda self, v: (start, 0.5, 6 * start, 0.5))
    with balls.precision(128):
        truth, tau = two_steps("0.5", True), arb("0.5").exp()
        assert agrees(1 - tau + Mean(arb(1), 2, 128).short(tau), truth, 1e-13)
        monkeypatch.setattr(Mean, "_tail", lambda self, *ends: arb(0))
        assert not agrees(1 - tau + Mean(arb(1), 2, 128).short(tau), truth, 1e-13)


def test_what_it_cannot_do_is_undecided() -> None:
    for moves, steps in ((Fraction(0), 2), (Fraction(1), MAX_STEPS + 1)):
        with pytest.raises(balls.Undecided):
            one_epoch(moves, steps, True, arb(1))
    node = {"kind": "random_allocation", "base": {"kind": "laplace", "scale": 1}, "steps": 5}
    loss = {"schema": "quiltwork/loss/1", "releases": [node]}
    assert qw.prove(loss, epsilon="0.5", delta="0.1").verdict == "undecided"
