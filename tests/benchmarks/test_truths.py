"""The truths: each way of computing them beside a naive one, and the file beside the command that writes it."""

from __future__ import annotations

import math
from collections.abc import Iterator

import mpmath
import numpy as np
import pytest
from benchmarks import exact_sums, inversion, truths
from benchmarks.beside import questions
from benchmarks.moments import Gaussian, Laplace, Sampled, Table


@pytest.fixture(autouse=True)
def digits() -> Iterator[None]:
    with mpmath.workdps(40):
        yield


def test_lattice_of_one_response() -> None:
    # one response with epsilon 1: delta(e) = (e^1 - e^e) / (1 + e^1) for 0 <= e <= 1
    delta = (math.e - math.exp(0.4)) / (1 + math.e)
    assert float(exact_sums.lattice_epsilon(((2, 1),), "0.5", repr(delta))) == pytest.approx(0.4, rel=1e-12)
    assert float(exact_sums.response_epsilon("1", 1, repr(delta))) == pytest.approx(0.4, rel=1e-12)


def test_responses_from_the_top_are_those_of_the_lattice() -> None:
    for count, delta in ((1, "0.01"), (7, "0.2"), (1000, "1e-12")):
        one = exact_sums.response_epsilon("0.1", count, delta)
        assert abs(one / exact_sums.lattice_epsilon(((1, count),), "0.1", delta) - 1) < 1e-38


def test_one_laplace_release() -> None:
    # P(L > e) - e^e Q(L > e) = 1 - e^((e - noise) / 2)
    expected = mpmath.mpf("0.5") + 2 * mpmath.log1p(mpmath.mpf("-1e-3"))
    assert abs(exact_sums.laplace_epsilon("0.5", 1, "1e-3", 30) - expected) < 1e-30


@pytest.mark.parametrize("epsilon", ["0.1", "0.45", "0.9"])
def test_two_laplace_releases(epsilon: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Atoms and densities of one release, added up by hand; densities are e^(l / 2) times a constant."""
    noise, at = mpmath.mpf("0.5"), mpmath.mpf(epsilon)
    atoms = {noise: mpmath.mpf(1) / 2, -noise: mpmath.exp(-noise) / 2}
    share = mpmath.exp(-noise / 2) / 4
    over = lambda loss: max(1 - mpmath.exp(at - loss), mpmath.mpf(0))  # noqa: E731
    total = sum(p * q * over(a + b) for a, p in atoms.items() for b, q in atoms.items())
    for atom, mass in atoms.items():

        def inside(loss: mpmath.mpf, atom: mpmath.mpf = atom) -> mpmath.mpf:
            return share * mpmath.exp(loss / 2) * over(atom + loss)

        total += 2 * mass * mpmath.quad(inside, sorted({-noise, noise, min(max(at - atom, -noise), noise)}))
    both = lambda loss: share**2 * mpmath.exp(loss / 2) * (2 * noise - abs(loss)) * over(loss)  # noqa: E731
    total += mpmath.quad(both, sorted({-2 * noise, mpmath.mpf(0), at, 2 * noise}))
    monkeypatch.setattr(mpmath.iv, "prec", 200)
    found = exact_sums.laplace_delta("0.5", 2, epsilon)
    assert abs(mpmath.mpf(found.mid) - total) < 1e-30
    assert float(found.delta.b) < 1e-50


def test_contours_agree_with_closed_forms() -> None:
    gaussian, agreed = inversion.epsilon([(Gaussian("10"), 1000)], "1e-6", "remove", 24)
    assert abs(gaussian / exact_sums.gaussian_epsilon("10", "1e-6") - 1) < 1e-23
    assert agreed > 22
    laplace, _ = inversion.epsilon([(Laplace("0.1"), 1000)], "1e-6", "remove", 20)
    assert abs(laplace / mpmath.mpf("18.9502873675395581981475528292") - 1) < 1e-19  # enclosed, takes two minutes


def test_moments_of_a_table_are_sums() -> None:
    p, q, step = (0.5, 0.25, 0.25), (0.25, 0.625, 0.125), mpmath.mpf(2)
    for number, found in zip(range(4), Table(p, q).along(1.5, step, "add"), strict=False):
        s = mpmath.mpc(1.5, number * step)
        expected = sum(b * (mpmath.mpf(b) / a) ** s for a, b in zip(p, q, strict=True))
        assert abs(mpmath.exp(found) / expected - 1) < 1e-35


@pytest.mark.parametrize("direction", ["remove", "add"])
def test_moments_of_a_sample_are_those_of_a_plain_integral(direction: str) -> None:
    sigma, rate, step = mpmath.mpf("0.8"), mpmath.mpf("0.01"), mpmath.mpf(3)
    for number, found in zip(range(3), Sampled("0.8", "0.01").along(2.5, step, direction), strict=False):
        s = mpmath.mpc(2.5, number * step)
        power = s + 1 if direction == "remove" else -s

        def plain(u: mpmath.mpf, power: mpmath.mpc = power) -> mpmath.mpc:
            base = 1 - rate + rate * mpmath.exp(u / sigma - 1 / (2 * sigma**2))
            return base**power * mpmath.npdf(u)

        expected = mpmath.quad(plain, mpmath.linspace(-14, 18, 33))
        assert abs(mpmath.exp(found) / expected - 1) < 1e-30


def test_one_sampled_gaussian() -> None:
    """The hockey stick at its root, summed over a fine grid."""
    x = np.linspace(-10.0, 10.0, 400_001)
    plain, moved = (np.exp(-((x - mean) ** 2) / 2) / math.sqrt(2 * math.pi) for mean in (0.0, 1.0))
    mixed = 0.75 * plain + 0.25 * moved
    for direction, (p, q) in {"remove": (mixed, plain), "add": (plain, mixed)}.items():
        epsilon = float(exact_sums.sampled_epsilon("1", "0.25", "1e-3", direction))
        delta = np.maximum(p - math.exp(epsilon) * q, 0.0).sum() * (x[1] - x[0])
        assert delta == pytest.approx(1e-3, rel=1e-8)


def test_one_table() -> None:
    p, q = (0.5, 0.3, 0.2), (0.2, 0.3, 0.5)
    epsilon = exact_sums.table_epsilon(p, q, 1, "0.1")
    assert float(epsilon) == pytest.approx(math.log((0.5 - 0.1) / 0.2))
    likely = 1 / (1 + mpmath.exp(-1))
    responses = (likely, 1 - likely), (1 - likely, likely)
    found = exact_sums.table_epsilon(*responses, 5, "0.01")
    assert abs(found / exact_sums.response_epsilon("1", 5, "0.01") - 1) < 1e-35


def test_the_stored_truths_are_those_of_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert truths.main(["--check", "--only", "dpsgd 0.8 0.01 1000 ", "response 0.1 1000", "laplace 0.01 100 "]) == 0
    assert capsys.readouterr().out.endswith("\n0 differ from what was stored, or were not stored\n")


def test_every_name_is_stored() -> None:
    assert set(truths.epsilons()) == set(questions.STORED["epsilon"])
    assert set(truths.SIGMAS) == set(questions.STORED["sigma"])


def test_a_digit_that_differs_is_found() -> None:
    assert truths.same({"both": "1.2345678"}, {"both": "1.2345679"})
    assert not truths.same({"both": "1.2345678"}, {"both": "1.2345778"})
    assert not truths.same({"remove": "1.0"}, {"both": "1.0"})
    assert not truths.same({"both": "1.0"}, {})
