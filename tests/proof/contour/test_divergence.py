"""Balls of divergences beside closed forms, brute force and many-digit references."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import mpmath
import pytest

flint = pytest.importorskip("flint")
from flint import arb, ctx  # noqa: E402

from quiltwork.proof.contour import balls, divergence, gaussians, lattice, law, line, powers  # noqa: E402

WORK = 2e7


@pytest.fixture(autouse=True)
def _digits() -> Iterator[None]:
    before = ctx.prec
    ctx.prec = 200
    mpmath.mp.dps = 40
    yield
    assert ctx.prec == 200, "the precision is given back"
    ctx.prec = before


def sampled(sigma: str, rate: str) -> dict:
    return {"kind": "poisson", "base": {"kind": "gaussian", "sigma": sigma, "sensitivity": 1}, "rate": rate}


def ask(
    parts: list[tuple[dict, int]], epsilon: str, direction: str = "remove", accuracy: float = 1e-9, **more: str
) -> arb:
    laws = [({"loss": loss, "direction": direction, **more}, count) for loss, count in parts]
    found = divergence(laws, 0, arb(epsilon), accuracy, WORK)
    assert found is not None
    return found


def width(ball: arb) -> float:
    return float((ball.upper() - ball.lower()) / ball.upper())


def holds(ball: arb, truth: object, digits: float = 1e-15) -> bool:
    """The ball, widened by what the reference itself is unsure of, holds it."""
    value = arb(str(truth))
    return bool(ball.overlaps(value * (1 + arb(0, digits))))


REFERENCES = [  # reference/engine.json, sampling.json: loss, count, direction, epsilon, delta
    (sampled("0.8", "0.01"), 10000, "remove", "10.053634770654053594", "1e-5"),
    (sampled("0.8", "0.01"), 10000, "remove", "70.222565291045364521", "1e-100"),
    (sampled("0.8", "0.01"), 10000, "add", "8.3850851898275556603", "1e-5"),
    (sampled("0.8", "0.01"), 10000, "add", "31.219111307641108332", "1e-100"),
    ({"kind": "laplace", "scale": "10", "sensitivity": 1}, 1000, "remove", "18.950287367539558198", "1e-6"),
    ({"kind": "pure", "epsilon": "0.1"}, 1000, "add", "68.441855949374858854", "1e-100"),
    ({"kind": "randomized_response", "epsilon": "1", "values": 5}, 40, "remove", "28.95733686979252655219956", "1e-6"),
    (
        {"kind": "poisson", "base": {"kind": "laplace", "scale": "1"}, "rate": "0.1"},
        1000,
        "add",
        "16.389720347376409132",
        "1e-6",
    ),
    (
        {
            "kind": "sampled_group",
            "base": {"kind": "gaussian", "sigma": "1"},
            "rate": ".01",
            "size": 1,
            "exchanged": True,
        },
        1000,
        "remove",
        "3.214230966557781138677187",
        "1e-6",
    ),
    (
        {"kind": "gaussian_mixture", "sensitivities": [1, 3], "weights": [".75", ".25"], "sigma": "2"},
        50,
        "add",
        "35.81607719982004442683323",
        "1e-8",
    ),
    (
        {"kind": "gaussian_mixture", "sensitivities": [0, 1, 2], "weights": [".9", ".08", ".02"], "sigma": "1"},
        1,
        "remove",
        "1",
        "0.002587909933808258465404049",
    ),
]


@pytest.mark.parametrize("case", REFERENCES, ids=lambda case: f"{case[0]['kind']}-{case[1]}-{case[2]}-{case[4]}")
def test_references(case: tuple[dict, int, str, str, str]) -> None:
    loss, count, direction, epsilon, delta = case
    ball = ask([(loss, count)], epsilon, direction)
    assert width(ball) < 1e-8
    assert holds(ball, delta, 1e-13)


@pytest.mark.parametrize(
    ("bound", "epsilon"), [("upper", "16.96210601158817882473758"), ("lower", "15.48352661813905752730385")]
)
def test_fixed_size(bound: str, epsilon: str) -> None:
    loss = {
        "kind": "fixed_size",
        "base": {"kind": "gaussian", "sigma": "1", "sensitivity": "2"},
        "batch": 10,
        "of": 1000,
    }
    assert holds(ask([(loss, 1000)], epsilon, accuracy=1e-5, bound=bound), "1e-6")


def gaussian(mu: mpmath.mpf, eps: mpmath.mpf) -> mpmath.mpf:
    return mpmath.ncdf(mu / 2 - eps / mu) - mpmath.exp(eps) * mpmath.ncdf(-mu / 2 - eps / mu)


def test_gaussian_beside_finite_and_laplace_by_quadrature() -> None:
    """sum over atoms, integral over the density of one Laplace release."""
    mu, e, r = mpmath.mpf("0.5"), mpmath.mpf("0.4"), mpmath.mpf("0.3")
    eps = mpmath.mpf("1.1")

    def with_laplace(x: mpmath.mpf) -> mpmath.mpf:
        inner = mpmath.quad(lambda y: mpmath.exp((y - e) / 2) / 4 * gaussian(mu, x - y), [-e, e])
        return gaussian(mu, x - e) / 2 + mpmath.exp(-e) / 2 * gaussian(mu, x + e) + inner

    t = mpmath.exp(r)
    truth = (t * with_laplace(eps - r) + with_laplace(eps + r)) / (1 + t)
    parts = [
        ({"kind": "gdp", "mu": "0.5"}, 1),
        ({"kind": "laplace", "scale": "2.5"}, 1),
        ({"kind": "pure", "epsilon": "0.3"}, 1),
    ]
    ball = ask(parts, "1.1")
    assert width(ball) < 1e-8
    assert holds(ball, mpmath.nstr(truth, 25))


def test_gaussian_beside_discrete_gaussian_by_summation() -> None:
    sigma, mu, eps = mpmath.mpf("1.5"), mpmath.mpf("0.7"), mpmath.mpf("1.3")
    weights = {x: mpmath.exp(-(mpmath.mpf(x) ** 2) / (2 * sigma**2)) for x in range(-40, 41)}
    scale = sum(weights.values())
    truth = sum(w / scale * gaussian(mu, eps - (1 - 2 * x) / (2 * sigma**2)) for x, w in weights.items())
    ball = ask(
        [({"kind": "discrete_gaussian", "sigma": "1.5", "sensitivity": 1}, 1), ({"kind": "gdp", "mu": "0.7"}, 1)], "1.3"
    )
    assert width(ball) < 1e-8
    assert holds(ball, mpmath.nstr(truth, 25))


@pytest.mark.parametrize(
    ("sigma", "move", "count", "eps"), [("1.5", 1, 3, "1.7"), ("0.7", 1, 2, "6"), ("3", 2, 4, "2.5")]
)
def test_discrete_gaussians_by_convolution(sigma: str, move: int, count: int, eps: str) -> None:
    s, e = mpmath.mpf(sigma), mpmath.mpf(eps)
    reach = 30
    one = {x: mpmath.exp(-(mpmath.mpf(x) ** 2) / (2 * s**2)) for x in range(-reach, reach + 1)}
    scale = sum(one.values())
    law_of_sum = {0: mpmath.mpf(1)}
    for _ in range(count):
        found: dict[int, mpmath.mpf] = {}
        for a, p in law_of_sum.items():
            for b, q in one.items():
                found[a + b] = found.get(a + b, mpmath.mpf(0)) + p * q / scale
        law_of_sum = found
    truth = mpmath.mpf(0)
    for x, p in law_of_sum.items():
        loss = (count * move**2 - 2 * move * mpmath.mpf(x)) / (2 * s**2)
        truth += p * max(mpmath.mpf(0), 1 - mpmath.exp(e - loss))
    ball = ask([({"kind": "discrete_gaussian", "sigma": sigma, "sensitivity": move}, count)], eps)
    assert width(ball) < 1e-8
    assert holds(ball, mpmath.nstr(truth, 25))


def brute(pairs: list[list[tuple[mpmath.mpf, mpmath.mpf]]], eps: str) -> mpmath.mpf:
    total = mpmath.mpf(0)
    for outcome in itertools.product(*pairs):
        p = mpmath.fprod(a for a, _ in outcome)
        q = mpmath.fprod(b for _, b in outcome)
        total += max(mpmath.mpf(0), p - mpmath.exp(mpmath.mpf(eps)) * q)
    return total


def response(epsilon: str, delta: str = "0") -> list[tuple[mpmath.mpf, mpmath.mpf]]:
    t, d = mpmath.exp(mpmath.mpf(epsilon)), mpmath.mpf(delta)
    a, b = (1 - d) * t / (1 + t), (1 - d) / (1 + t)
    return [(a, b), (b, a), (d, mpmath.mpf(0)), (mpmath.mpf(0), d)]


@pytest.mark.parametrize("eps", ["0", "0.31", "0.9", "1.5"])
def test_finite_laws_on_a_lattice_by_brute_force(eps: str) -> None:
    parts = [({"kind": "pure", "epsilon": "0.3"}, 3), ({"kind": "approximate", "epsilon": "0.2", "delta": "0.001"}, 2)]
    truth = brute([response("0.3")] * 3 + [response("0.2", "0.001")] * 2, eps)
    ball = ask(parts, eps)
    assert width(ball) < 1e-8
    assert holds(ball, mpmath.nstr(truth, 25))


def test_constraints_by_brute_force() -> None:
    """Two constraints against the largest profile that both allow, taken as a linear programme's vertices."""
    points = [("1", "0"), ("0.5", "0.1")]
    loss = {"kind": "constraints", "points": points}
    for eps, truth in (("1", "0"), ("0.5", "0.1")):
        ball = ask([(loss, 1)], eps)
        assert ball.overlaps(arb(truth))
        assert ball.upper() < arb(truth) + 1e-7
    # a mixture of the two lines between: D is linear in e^eps
    middle = (
        mpmath.mpf("0.1") * (mpmath.e - mpmath.exp(mpmath.mpf("0.75"))) / (mpmath.e - mpmath.exp(mpmath.mpf("0.5")))
    )
    assert holds(ask([(loss, 1)], "0.75"), mpmath.nstr(middle, 25))


def test_incommensurable_finite_laws_are_smoothed() -> None:
    p, q = ["0.5", "0.3", "0.2"], ["0.25", "0.35", "0.4"]
    pair = [(mpmath.mpf(a), mpmath.mpf(b)) for a, b in zip(p, q, strict=True)]
    ball = ask([({"kind": "pair", "p": p, "q": q}, 6)], "0.8", accuracy=1e-4)
    assert width(ball) < 2e-3
    assert holds(ball, mpmath.nstr(brute([pair] * 6, "0.8"), 25))


def test_mixture_of_losses() -> None:
    mu, eps = mpmath.mpf("0.6"), mpmath.mpf("0.8")
    truth = mpmath.mpf("0.3") * gaussian(mu * mpmath.sqrt(2), eps) * mpmath.mpf("0.3")
    truth += 2 * mpmath.mpf("0.3") * mpmath.mpf("0.7") * gaussian(mpmath.hypot(mu, mpmath.mpf(1)), eps)
    truth += mpmath.mpf("0.49") * gaussian(mpmath.sqrt(2), eps)
    loss = {
        "kind": "mixture",
        "components": [["0.3", {"kind": "gdp", "mu": "0.6"}], ["0.7", {"kind": "gdp", "mu": "1"}]],
    }
    ball = ask([(loss, 2)], "0.8")
    assert width(ball) < 1e-8
    assert holds(ball, mpmath.nstr(truth, 25))


def test_powers_of_laplace_beside_the_line() -> None:
    exact = ask([({"kind": "laplace", "scale": "10"}, 200)], "7")
    with balls.precision(128):
        other = line.line([(law.Laplace(balls.exact("0.1")), 200)], arb(7), 1e-2, balls.Budget(WORK))
    assert width(exact) < 1e-8
    assert other.overlaps(exact)
    assert width(other) < 0.1


@pytest.mark.parametrize("eps", ["0.05", "0.9", "2.7"])
def test_few_laplace_by_quadrature(eps: str) -> None:
    """Two releases of scale 1 and one of scale 2: an integral of integrals; smoothing holds it."""
    e = mpmath.mpf(1)
    at = mpmath.mpf(eps)

    def one(top: mpmath.mpf, x: mpmath.mpf) -> mpmath.mpf:
        return mpmath.mpf(0) if x >= top else 1 - mpmath.exp(x) if x < -top else 1 - mpmath.exp((x - top) / 2)

    def power(x: mpmath.mpf) -> mpmath.mpf:
        inside = sorted({-e, e, *[y for y in (x - e, x + e) if -e < y < e]})
        smooth = mpmath.quad(lambda y: mpmath.exp((y - e) / 2) / 4 * one(e, x - y), inside)
        return one(e, x - e) / 2 + mpmath.exp(-e) / 2 * one(e, x + e) + smooth

    ball = ask([({"kind": "laplace", "scale": "1"}, 2)], eps)
    truth = power(at)
    assert ball.overlaps(arb(mpmath.nstr(truth, 25)) + arb(0, 1e-18))
    assert truth == 0 or width(ball) < 1e-8


@pytest.mark.parametrize(
    ("sigma", "rate", "count", "epsilon", "delta"),
    [(".5", ".001", 30, "9.768597721869948413074", "1e-15"), ("1", ".005", 10, "0.2922835115286917409483", "1e-6")],
)
def test_few_or_rare_releases(sigma: str, rate: str, count: int, epsilon: str, delta: str) -> None:
    """reference/engine-rare.json, by the three-way cut."""
    ball = ask([(sampled(sigma, rate), count)], epsilon)
    assert width(ball) < 1e-8
    assert holds(ball, delta, 1e-13)


def test_refusals() -> None:
    law_of_one = {"loss": {"kind": "tradeoff", "f": "?"}, "direction": "remove"}
    assert divergence([(law_of_one, 3)], 0, arb(1), 1e-6, WORK) is None
    good = {"loss": sampled("0.8", "0.01"), "direction": "remove"}
    assert divergence([(good, 10000)], 0.1, arb(1), 1e-6, WORK) is None
    assert divergence([(good, 10000)], 0, arb(1), 1e-6, 100) is None, "work is counted"


# Mutations: each error term, taken away or turned, must show.


def enclosed() -> list[bool]:
    """Containment where every error term matters: coarse accuracy leaves tails and aliases above rounding."""
    with balls.precision(128):
        closed = balls.normal_below(arb(0.5) - arb(2)) - arb(2).exp() * balls.normal_below(arb(-0.5) - arb(2))
        one = law.Gaussian(arb(1))
        found = [line.line([(one, 1)], arb(2), accuracy, balls.Budget(WORK)) for accuracy in (0.3, 1e-2, 1e-4)]
        return [bool(ball.contains(closed)) for ball in found]


def test_the_unchanged_line_encloses() -> None:
    assert all(enclosed())


def test_a_lost_alias_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line.Aliases, "bounds", lambda self, eps, period: (arb(0), arb(0), arb(0)))
    monkeypatch.setattr(line.Aliases, "period", lambda self, at, eps, goal: 6.0)
    assert not all(enclosed())


def test_short_periods_are_paid_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line.Aliases, "period", lambda self, at, eps, goal: 6.0)
    assert all(enclosed())


def test_a_dropped_tail_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line, "cutoff", lambda bound, goal, start, most: 1.0)
    assert all(enclosed())
    monkeypatch.setattr(line, "decays", lambda parts, theta, budget: lambda u: arb(0))
    assert not all(enclosed())


def test_a_wrong_sign_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    right = law.Gaussian.transform
    monkeypatch.setattr(law.Gaussian, "transform", lambda self, z: right(self, z - 1))
    assert not all(enclosed())


def test_a_dropped_strip_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nodes too far apart: the strip says so; without it the moment of order 2 is missed."""
    q, s = balls.exact(".2"), balls.exact("1.5")
    truth = 1 + q * q * ((s * s).exp() - 1)
    plan = gaussians.MovedGaussians._plan
    monkeypatch.setattr(gaussians.MovedGaussians, "_plan", lambda self, t, u: plan(self, t, u)._replace(step=1.2))

    def moment() -> arb:
        sampled_law = gaussians.MovedGaussians([(1 - q, arb(0)), (q, s)], [(arb(1), arb(0))])
        return sampled_law.moment(arb(1), balls.Budget(WORK))

    with balls.precision(128):
        assert moment().contains(truth)
        monkeypatch.setattr(gaussians.MovedGaussians, "_strip", lambda self, t, u, plan: arb(0))
        assert not moment().contains(truth)


@pytest.mark.parametrize("sign", [1, -1])
def test_layer_cake_bounds_the_transform(sign: int) -> None:
    """|phi| from 200 frequencies on both directions stays under the cake."""
    q, s = balls.exact(".1"), balls.exact("1.2")
    mixed, still = [(1 - q, arb(0)), (q, s)], [(arb(1), arb(0))]
    with balls.precision(128):
        one = gaussians.MovedGaussians(mixed, still) if sign > 0 else gaussians.MovedGaussians(still, mixed)
        step = arb(2)
        _, values = one.spectrum(arb(1.5), step, 40, balls.Budget(WORK))
        bound = one.decay(arb(1.5), balls.Budget(WORK))
        for j in range(1, 40):
            assert abs(values[j]).lower() <= bound(step * j)
        assert bound(arb(60)) < 0.9


def test_lattice_without_its_alias_bound_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    one = balls.exact("0.5").exp()
    with balls.precision(128):
        pure = law.Finite(
            [(one / (1 + one), 1 / (1 + one)), (1 / (1 + one), one / (1 + one))],
            [balls.fraction(".5"), balls.fraction("-.5")],
        )
        truth = arb(mpmath.nstr(brute([response("0.5")] * 6, "1.2"), 30))
        for accuracy in (0.5, 1e-3):
            assert lattice.lattice([(pure, 6)], arb("1.2"), accuracy, balls.Budget(WORK)).overlaps(truth)
        monkeypatch.setattr(lattice, "least", lambda *values: arb(0))
        wrong = [lattice.lattice([(pure, 6)], arb("1.2"), accuracy, balls.Budget(WORK)) for accuracy in (0.9, 0.5)]
        assert not all(ball.overlaps(truth) for ball in wrong)


def test_a_power_with_a_lost_pole_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    truth = 1 - (-(arb(1) - arb("0.3")) / 2).exp()
    assert powers.powers(law.Laplace, "1", 1, arb("0.3"), 1e-9, balls.Budget(WORK)).overlaps(truth)
    monkeypatch.setattr(powers, "_at_zero", lambda first, second, k, x: arb(0))
    assert not powers.powers(law.Laplace, "1", 1, arb("0.3"), 1e-9, balls.Budget(WORK)).overlaps(truth)
