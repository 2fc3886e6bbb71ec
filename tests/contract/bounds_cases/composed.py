"""Compositions of different losses, forced engines, tolerances, calibration, guarantees."""

import math
from typing import Any

from tests.contract.bounds_cases.draws import Draw, kind, refused
from tests.contract.bounds_cases.losses import asked

import quiltwork as qw


def _any(draw: Draw) -> Any:
    """A loss of any family with an epsilon below about 1."""
    return draw.pick([
        lambda: qw.gaussian(draw.share(3, 20)),
        lambda: qw.laplace(draw.share(2, 20)),
        lambda: qw.discrete_gaussian(draw.share(3, 9)),
        lambda: qw.discrete_laplace(draw.share(3, 20)),
        lambda: qw.pure(draw.share(0.01, 0.4)),
        lambda: qw.approximate(draw.share(0.01, 0.4), draw.power(-12, -8)),
        lambda: qw.gdp(draw.share(0.05, 0.4)),
        lambda: qw.zcdp(draw.power(-4, -2)),
        lambda: qw.pair(draw.row(3, 600), draw.row(3, 600)),
        lambda: qw.poisson(qw.gaussian(draw.share(0.8, 3)), draw.power(-3, -1)),
        lambda: qw.poisson(qw.laplace(draw.share(0.8, 3)), draw.power(-3, -1)),
        lambda: qw.constraints([(0.1, draw.power(-4, -3)), (0.3, draw.power(-9, -7))]),
        lambda: qw.mixture([(0.5, qw.pure(draw.share(0.05, 0.5))), (0.5, qw.pure(draw.share(0.05, 0.5)))]),
    ])()  # fmt: skip


@kind("compose/two-kinds", 16)
def _(draw: Draw) -> Any:
    loss = qw.compose(draw.whole(1, 4) * _any(draw), draw.whole(1, 4) * _any(draw))
    return asked(loss, draw, 0.7, 7)


@kind("compose/gaussian-beside", 12)
def _(draw: Draw) -> Any:
    parts = [draw.count(0, 1.5) * _any(draw) for _ in range(draw.whole(1, 3))]
    return asked(qw.compose(qw.gaussian(draw.share(1, 8)), *parts), draw, 1.0, 7)


@kind("compose/commensurable", 6)
def _(draw: Draw) -> Any:
    unit = draw.pick([0.05, 0.01, 0.1, 0.025])
    parts = [draw.count(0, 2) * qw.pure(round(unit * draw.whole(1, 9), 6)) for _ in range(2)]
    return asked(qw.compose(*parts), draw, 1.0, 30)


@kind("compose/incommensurable", 6)
def _(draw: Draw) -> Any:
    return asked(qw.compose(*(draw.whole(1, 9) * qw.pure(draw.share(0.05, 0.9)) for _ in range(3))), draw, 1.5, 20)


@kind("compose/training", 5)
def _(draw: Draw) -> Any:
    steps = draw.count(3, 4.5) * qw.poisson(qw.gaussian(draw.share(0.8, 2)), draw.power(-3, -2))
    return asked(qw.compose(steps, draw.whole(1, 20) * qw.laplace(draw.share(10, 40))), draw, 2.0, 100)


@kind("compose/million", 4)
def _(draw: Draw) -> Any:
    loss = 10**6 * qw.poisson(qw.gaussian(draw.share(1, 3)), draw.power(-4, -3)) + 10**6 * qw.pure(draw.power(-4, -3.3))
    return asked(loss, draw, 1.0, 60)


@kind("compose/large-epsilon", 8)
def _(draw: Draw) -> Any:
    loss = draw.pick([
        lambda: 30 * qw.gaussian(draw.share(0.2, 0.5)), lambda: 100 * qw.laplace(draw.share(0.3, 0.8)),
        lambda: 200 * qw.pure(draw.share(0.5, 3)), lambda: 1000 * qw.poisson(qw.gaussian(0.5), draw.share(0.05, 0.3)),
    ])()  # fmt: skip
    return asked(loss, draw, 80.0, 100, beta=False)


@kind("compose/tolerance", 8)
def _(draw: Draw) -> Any:
    loss = qw.compose(draw.whole(1, 5) * _any(draw), draw.whole(1, 5) * _any(draw))
    return asked(loss, draw, 0.7, 8, beta=False, rtol=draw.pick([1e-8, 1e-6, 0.01, 0.1, 0.5]))


@kind("compose/engines", 10)
def _(draw: Draw) -> Any:
    loss, method = draw.whole(1, 4) * _any(draw), {}
    for name in ("exact atoms", "lattice", "characteristic function", "grid"):
        epsilon, delta = draw.share(0.05, 0.8), draw.power(-7, -2)
        method[name] = (
            refused(loss.delta, epsilon, method=name),
            refused(loss.epsilon, delta, method=name),
        )
    return method


@kind("compose/extremes", 6)
def _(draw: Draw) -> Any:
    loss = draw.whole(1, 9) * _any(draw)
    return {
        "whole": loss.epsilon(0.0), "half": loss.epsilon(0.5), "one": loss.epsilon(1.0), "zero": loss.delta(0.0),
        "below": loss.delta(-0.3), "far": loss.delta(50.0), "ends": [loss.beta(0.0), loss.beta(1.0)],
    }  # fmt: skip


@kind("compose/arrays", 4)
def _(draw: Draw) -> Any:
    loss = qw.compose(draw.whole(1, 5) * _any(draw), _any(draw))
    return {"delta": loss.delta([0.0, 0.2, 0.6, 1.2]), "epsilon": loss.epsilon([1e-3, 1e-6, 1e-9]),
            "beta": loss.beta([0.01, 0.1, 0.5])}  # fmt: skip


@kind("compose/guarantee", 6)
def _(draw: Draw) -> Any:
    loss = qw.compose(draw.whole(1, 5) * _any(draw), _any(draw))
    found = loss.guarantee("one person", ["records are independent"])
    return {"words": found, "epsilon": found.epsilon(draw.power(-8, -3)), "delta": found.delta(draw.share(0.1, 1)),
            "explained": found.explain(1e-6)}  # fmt: skip


@kind("compose/calibrate", 12)
def _(draw: Draw) -> Any:
    count, epsilon, delta = draw.whole(1, 30), draw.power(-0.7, 0.7), draw.power(-8, -4)
    make, options = draw.pick([
        (lambda s: count * qw.gaussian(s), {}),
        (lambda s: qw.compose(count * qw.gaussian(s), qw.pure(0.02)), {}),
        (lambda s: 3 * qw.laplace(s), {"tolerance": 1e-5}),
        (lambda s: count * qw.gdp(1 / s), {"rtol": 1e-4}),
        (lambda s: count * qw.zcdp(1 / s), {"tolerance": 1e-4}),
    ])  # fmt: skip
    return qw.calibrate(make, epsilon, delta, **options)


@kind("compose/calibrate-integer", 3)
def _(draw: Draw) -> Any:
    sigma = draw.share(20, 40)
    return qw.calibrate(
        lambda n: max(1, math.floor(100 / n)) * qw.gaussian(sigma), draw.share(0.5, 2), 1e-6, integer=True
    )


@kind("compose/directions", 6)
def _(draw: Draw) -> Any:
    loss = qw.compose(
        draw.whole(1, 3) * qw.poisson(qw.gaussian(draw.share(0.8, 2)), draw.share(0.01, 0.3)),
        draw.whole(1, 3) * qw.pair(draw.row(3, 64), draw.row(3, 64)),
    )
    return {side: asked(loss.direction(side), draw, 0.7, 7, beta=False) for side in ("add", "remove")}


@kind("compose/rarely", 2)
def _(draw: Draw) -> Any:
    parts = [draw.whole(1, 3) * qw.poisson(qw.pure(draw.power(-1, 0.9)), draw.power(-8, -4)) for _ in range(2)]
    return asked(
        qw.compose(qw.poisson(qw.gaussian(draw.share(0.4, 3)), draw.power(-6, -3)), *parts), draw, 0.05, 10, beta=False
    )


@kind("compose/regions", 4)
def _(draw: Draw) -> Any:
    parts = [
        draw.whole(1, 3) * qw.constraints([(0.1, draw.share(0.01, 0.1)), (0.5, draw.power(-4, -2))]) for _ in range(2)
    ]
    region = qw.compose(*parts).region()
    return {**asked(region, draw, 1.0, 4), "vertices": region.vertices, "area": region.area()}
