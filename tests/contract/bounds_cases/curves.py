"""Curves by themselves: profiles, trade-offs, regions, mixtures, areas."""

from typing import Any

from tests.contract.bounds_cases.draws import Draw, kind
from tests.contract.bounds_cases.losses import asked

import quiltwork as qw
from quiltwork import curves


def _profile(draw: Draw, **options: Any) -> Any:
    epsilons = sorted({draw.power(-1.5, 0.5) for _ in range(draw.whole(2, 5))})
    return qw.Profile(epsilons, sorted((draw.power(-6, -0.5) for _ in epsilons), reverse=True), **options)


def _tradeoff(draw: Draw) -> Any:
    size = draw.whole(2, 4)
    steps = sorted(zip(draw.row(size, 64), draw.row(size, 64), strict=True), key=lambda step: step[0] / step[1])
    alphas, betas = [0.0], [1.0]
    for width, drop in steps:
        alphas.append(alphas[-1] + width)
        betas.append(betas[-1] - drop)
    return qw.TradeOff(alphas, betas)


@kind("curves/profile", 8)
def _(draw: Draw) -> Any:
    curve = _profile(draw, symmetric=draw.flip())
    line = curve.tradeoff()
    return {**asked(curve, draw, 1.0, 5), "reveal": curve.reveal, "alphas": line.alphas, "betas": line.betas}


@kind("curves/tradeoff", 8)
def _(draw: Draw) -> Any:
    curve = _tradeoff(draw)
    back, both = curve.inverse(), curve.symmetrised()
    return {
        **asked(curve, draw, 1.0, 3), "inverse": [back.alphas, back.betas], "symmetrised": [both.alphas, both.betas],
        "profile": [curve.profile().epsilons, curve.profile().deltas],
    }  # fmt: skip


@kind("curves/region", 8)
def _(draw: Draw) -> Any:
    one, two = _profile(draw, symmetric=True).region(), _profile(draw, symmetric=True).region()
    both = one.intersection(two)
    return {
        **asked(both, draw, 1.0, 4), "vertices": both.vertices, "area": [one.area(), two.area(), both.area()],
        "inside": bool(one.contains(0.3, 0.4)), "faces": [both.epsilons, both.deltas],
    }  # fmt: skip


@kind("curves/region-of-loss", 8)
def _(draw: Draw) -> Any:
    loss = draw.pick([
        lambda: qw.pure(draw.share(0.1, 1)), lambda: qw.approximate(draw.share(0.1, 1), draw.power(-5, -2)),
        lambda: qw.constraints([(0.1, draw.share(0.05, 0.2)), (0.5, draw.power(-4, -2))]),
        lambda: qw.pair(draw.row(3, 64), draw.row(3, 64)),
    ])()  # fmt: skip
    region = loss.region(draw.whole(1, 4))
    return {**asked(region, draw, 1.0, 4), "vertices": region.vertices, "area": region.area(), "method": region.method}


@kind("curves/mixture", 5)
def _(draw: Draw) -> Any:
    first, second = draw.row(2, 64)
    curve = curves.mixture([(first, _profile(draw)), (second, draw.pick([_tradeoff, _profile])(draw))])
    return {**asked(curve, draw, 1.0, 3), "ceiling": curves.auc_ceiling_of(curve)}


@kind("curves/ceiling", 4)
def _(draw: Draw) -> Any:
    return {
        "stated": curves.auc_ceiling(draw.power(-2, 1), draw.power(-6, -1)),
        "gdp": curves.auc_ceiling_of(qw.gdp(draw.power(-1, 0.5))),
        "pair": curves.auc_ceiling_of(qw.pair(draw.row(3), draw.row(3))),
    }


@kind("curves/bracket", 3)
def _(draw: Draw) -> Any:
    one, two = qw.gaussian(draw.share(2, 3)).delta([0.1, 1.0]), qw.pure(draw.share(1, 2)).delta([0.1, 1.0])
    return {"worst": one.worst(two), "width": one.width, "relative": one.relative_width, "midpoint": one.midpoint,
            "safe": one.safe}  # fmt: skip
