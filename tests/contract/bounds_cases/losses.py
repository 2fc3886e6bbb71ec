"""Single losses and their repetitions: every family, few and many releases, deltas down to 1e-100."""

import math
from typing import Any

from tests.contract.bounds_cases.draws import Draw, kind

import quiltwork as qw


def asked(loss: Any, draw: Draw, size: float = 1.0, tiny: float = 15.0, beta: bool = True, **options: Any) -> Any:
    """Epsilon at a small delta, delta at an epsilon of about `size`, beta at a level."""
    found = {
        "epsilon": loss.epsilon(draw.power(-tiny, -2.0), **options),
        "delta": loss.delta(round(size * draw.share(0.1, 1.5), 6), **options),
    }
    return {**found, "beta": loss.beta(draw.share(0.001, 0.5))} if beta else found


@kind("losses/gaussian", 6)
def _(draw: Draw) -> Any:
    return asked(qw.gaussian(draw.power(-0.5, 1.0), draw.pick([1.0, 2.0, 0.3])), draw, tiny=100)


@kind("losses/gaussian-many", 6)
def _(draw: Draw) -> Any:
    count, mu = draw.count(2, 9), draw.power(-1, 1)
    return asked(count * qw.gaussian(float(f"{math.sqrt(count) / mu:.6g}")), draw, 2 * mu, tiny=100)


@kind("losses/laplace", 6)
def _(draw: Draw) -> Any:
    scale, count = draw.power(-0.3, 1.3), draw.whole(1, 6)
    return asked(count * qw.laplace(scale, draw.pick([1.0, 2.0])), draw, count / scale, beta=count < 4)


@kind("losses/laplace-many", 4)
def _(draw: Draw) -> Any:
    count, size = draw.count(2.5, 6), draw.power(0.3, 1)
    return asked(count * qw.laplace(float(f"{math.sqrt(count) / size:.6g}")), draw, size, tiny=40)


@kind("losses/discrete-gaussian", 6)
def _(draw: Draw) -> Any:
    sigma, count = draw.power(-0.2, 0.9), draw.whole(1, 20)
    return asked(count * qw.discrete_gaussian(sigma, draw.pick([1, 1, 2, 3])), draw, math.sqrt(count) / sigma, tiny=60)


@kind("losses/discrete-gaussian-many", 3)
def _(draw: Draw) -> Any:
    sigma = draw.power(1, 1.5)
    count = draw.count(2, 4)
    return asked(count * qw.discrete_gaussian(sigma), draw, math.sqrt(count) / sigma, tiny=30)


@kind("losses/discrete-laplace", 6)
def _(draw: Draw) -> Any:
    scale, count = draw.power(-0.2, 1.4), draw.whole(1, 100)
    loss = count * qw.discrete_laplace(scale, draw.pick([1, 2, 3, 7]))
    return asked(loss, draw, math.sqrt(count) / scale, tiny=60)


@kind("losses/pure", 6)
def _(draw: Draw) -> Any:
    epsilon, count = draw.power(-2, 0.6), draw.whole(1, 60)
    return {
        **asked(count * qw.pure(epsilon), draw, epsilon * math.sqrt(count), 30),
        "all": (count * qw.pure(epsilon)).epsilon(0.0),
    }


@kind("losses/pure-many", 5)
def _(draw: Draw) -> Any:
    count, size = draw.count(3, 6), draw.power(-0.5, 1)
    return asked(count * qw.pure(float(f"{size / math.sqrt(count):.4g}")), draw, 2 * size, tiny=100)


@kind("losses/approximate", 6)
def _(draw: Draw) -> Any:
    epsilon, count = draw.power(-1.5, 0.3), draw.whole(1, 40)
    return asked(count * qw.approximate(epsilon, draw.power(-16, -9)), draw, epsilon * math.sqrt(count), 7)


@kind("losses/constraints", 8)
def _(draw: Draw) -> Any:
    points = [(draw.power(-1.5, 0.5), draw.power(-8, -0.7)) for _ in range(draw.whole(2, 4))]
    return asked(draw.whole(1, 4) * qw.constraints(points), draw, 1.0, 6)


@kind("losses/gdp", 5)
def _(draw: Draw) -> Any:
    mu, count = draw.power(-2, 0.7), draw.whole(1, 50)
    return asked(count * qw.gdp(mu), draw, mu * math.sqrt(count), 100)


@kind("losses/zcdp", 5)
def _(draw: Draw) -> Any:
    rho, count = draw.power(-4, 0), draw.whole(1, 50)
    return asked(count * qw.zcdp(rho), draw, 3 * math.sqrt(rho * count), 50)


@kind("losses/rdp", 5)
def _(draw: Draw) -> Any:
    slope, orders = draw.power(-3, -0.5), sorted({draw.share(1.1, 3), draw.share(3, 10), draw.share(10, 80)})
    rdp = qw.rdp(orders, [round(slope * order, 8) for order in orders])
    return asked(draw.whole(1, 20) * rdp, draw, 5 * math.sqrt(slope), 12)


@kind("losses/tradeoff", 6)
def _(draw: Draw) -> Any:
    size = draw.whole(2, 4)
    steps = sorted(zip(draw.row(size, 64), draw.row(size, 64), strict=True), key=lambda step: step[0] / step[1])
    points = [(0.0, 1.0)]
    for width, drop in steps:
        points.append((points[-1][0] + width, points[-1][1] - drop))
    loss = draw.whole(1, 4) * qw.tradeoff(points)
    return asked(loss if draw.flip() else loss.direction(draw.pick(["add", "remove"])), draw, 1.0, 6)


@kind("losses/tradeoff-function", 2)
def _(draw: Draw) -> Any:
    power = draw.whole(2, 4)
    return asked(qw.tradeoff(lambda alpha: (1 - alpha) ** power), draw, 0.5, 4)


@kind("losses/profile", 6)
def _(draw: Draw) -> Any:
    epsilons = sorted({draw.power(-1.5, 0.5) for _ in range(draw.whole(2, 5))})
    deltas = sorted((draw.power(-8, -0.7) for _ in epsilons), reverse=True)
    return asked(draw.whole(1, 4) * qw.profile(epsilons, deltas), draw, 1.0, 6)


@kind("losses/pair", 10)
def _(draw: Draw) -> Any:
    size = draw.whole(2, 4)
    first, second = draw.row(size, draw.pick([0, 1, 64])), draw.row(size, 1)
    loss = draw.whole(1, 6) * qw.pair(first, second)
    side = draw.pick(["worst", "add", "remove"])
    return asked(loss if side == "worst" else loss.direction(side), draw, 1.0, 10)


@kind("losses/poisson-gaussian", 10)
def _(draw: Draw) -> Any:
    sigma, rate, count = draw.share(0.6, 3), draw.power(-3, -0.5), draw.count(0, 5)
    while rate * math.sqrt(count * math.expm1(sigma**-2)) > 6:
        count = max(count // 3, 1)
    loss = count * qw.poisson(qw.gaussian(sigma), rate)
    side = draw.pick(["worst", "add", "remove"])
    return asked(loss if side == "worst" else loss.direction(side), draw, 1.0, draw.pick([8, 30, 100]))


@kind("losses/poisson-laplace", 6)
def _(draw: Draw) -> Any:
    scale, rate, count = draw.power(-0.4, 1), draw.power(-3, -0.2), draw.pick([1, 1, 2, 5000])
    loss = count * qw.poisson(qw.laplace(scale), min(rate, 0.02) if count > 2 else rate)
    return asked(loss, draw, rate * math.sqrt(count), 10, beta=count != 2)


@kind("losses/poisson-pure", 8)
def _(draw: Draw) -> Any:
    epsilon, rate, count = draw.power(-1, 0.6), draw.power(-4, -0.1), draw.whole(1, 60)
    loss = count * qw.poisson(qw.pure(epsilon), rate)
    return asked(loss if draw.flip() else loss.direction(draw.pick(["add", "remove"])), draw, epsilon, 15)


@kind("losses/poisson-approximate", 5)
def _(draw: Draw) -> Any:
    loss = draw.whole(1, 12) * qw.poisson(qw.approximate(draw.power(-1, 0.6), draw.power(-9, -3)), draw.power(-3, -0.2))
    return asked(loss, draw, 0.5, 9)


@kind("losses/poisson-discrete", 5)
def _(draw: Draw) -> Any:
    inner = qw.discrete_gaussian(draw.share(0.6, 3)) if draw.flip() else qw.discrete_laplace(draw.share(0.6, 5))
    return asked(draw.whole(1, 3) * qw.poisson(inner, draw.power(-2.5, -0.2)), draw, 0.5, 10)


@kind("losses/poisson-constraints", 3)
def _(draw: Draw) -> Any:
    points = [(draw.power(-1, 0), draw.power(-5, -3)), (draw.power(0, 0.5), draw.power(-8, -6))]
    return asked(draw.whole(1, 3) * qw.poisson(qw.constraints(points), draw.power(-2, -0.3)), draw, 0.5, 5)


@kind("losses/mixture", 8)
def _(draw: Draw) -> Any:
    parts = [
        (
            weight,
            qw.approximate(draw.power(-1.5, 0.5), draw.power(-8, -3))
            if draw.flip(0.3)
            else qw.pure(draw.power(-1.5, 0.5)),
        )
        for weight in draw.row(draw.whole(2, 3), 64)
    ]
    return asked(draw.whole(1, 5) * qw.mixture(parts), draw, 1.0, 8)


@kind("losses/mixture-smooth", 4)
def _(draw: Draw) -> Any:
    first, second = draw.row(2, 64)
    parts = [(first, qw.gaussian(draw.share(20, 60))), (second, qw.poisson(qw.gaussian(draw.share(0.8, 2)), 0.01))]
    return asked(draw.count(2.3, 4) * qw.mixture(parts), draw, 1.0, 20)


@kind("losses/group", 8)
def _(draw: Draw) -> Any:
    size = draw.whole(2, 5)
    loss = draw.pick(
        [qw.gaussian(4.0), qw.laplace(6.0), qw.pure(0.2), qw.approximate(0.1, 1e-9), qw.zcdp(0.01), qw.gdp(0.3),
         qw.discrete_laplace(5.0), qw.constraints([(0.1, 1e-3), (0.4, 1e-7)])]
    )  # fmt: skip
    return asked((draw.whole(1, 3) * loss).group(size), draw, 0.5 * size, 8)


@kind("losses/single-group", 3)
def _(draw: Draw) -> Any:
    loss = draw.pick([qw.pair([0.5, 0.5], [0.25, 0.75]), qw.poisson(qw.gaussian(2.0), 0.1), qw.discrete_gaussian(3.0)])
    return asked(loss.group(draw.whole(2, 3)), draw, 0.5, 6)


@kind("losses/two-constraints-many", 3)
def _(draw: Draw) -> Any:
    points = [(draw.power(-2, -1.5), draw.power(-4, -3)), (draw.power(-1.3, -1), draw.power(-8, -6))]
    return asked(draw.whole(20, 60) * qw.constraints(points), draw, 0.5, 4)


@kind("losses/rarely-sampled", 5)
def _(draw: Draw) -> Any:
    inner = draw.pick([qw.pure(draw.power(0, 0.9)), qw.gaussian(draw.share(0.3, 2)), qw.laplace(draw.share(0.3, 2))])
    return asked(draw.whole(1, 3) * qw.poisson(inner, draw.power(-8, -5)), draw, 0.1, 12, beta=False)
