"""Secrets inferred from data: finite worlds, lines, normal data, designs in floats and in fractions."""

from fractions import Fraction
from typing import Any

import numpy as np
from scipy import stats
from tests.contract.bounds_cases.draws import Draw, kind, refused

import quiltwork as qw
from quiltwork import confounding as cf


def _asked(found: Any, draw: Draw) -> Any:
    return {
        "epsilon": found.epsilon(draw.power(-5, -1)), "all": refused(found.epsilon, 0.0),
        "delta": found.delta(draw.share(0.01, 0.8)), "beta": found.beta(draw.share(0.01, 0.5)),
    }  # fmt: skip


def _world(draw: Draw, secrets: int, values: int) -> Any:
    return cf.World(secret=draw.fractions(1, secrets, 200)[0], data=draw.fractions(secrets, values, 100))


@kind("confounding/finite", 10)
def _(draw: Draw) -> Any:
    secrets, values = draw.whole(2, 3), draw.whole(2, 4)
    world = _world(draw, secrets, values)
    release = world.release(*(draw.fractions(values, draw.whole(2, 3), 100) for _ in range(draw.whole(1, 3))))
    share = Fraction(draw.whole(1, 200), 1000)
    return {
        **_asked(release, draw), "odds": release.exact_odds(share), "exact delta": release.exact_delta("5/4"),
        "exact epsilon": release.exact_epsilon(share), "words": release.guarantee(),
    }  # fmt: skip


@kind("confounding/floats", 4)
def _(draw: Draw) -> Any:
    world = cf.World(data=draw.rows(2, 4, 64), pairs=draw.pick(["all", [(0, 1)]]))
    return _asked(
        world.release(cf.randomized_response(4, draw.share(0.2, 2)), cf.noise_channel(range(4), range(4), 2.0)), draw
    )


@kind("confounding/pairs", 3)
def _(draw: Draw) -> Any:
    world = cf.World(data=draw.fractions(4, 3, 100), pairs=cf.within(lambda i, j: abs(i - j), draw.whole(1, 2)))
    return {**_asked(world.release(draw.fractions(3, 2, 100)), draw), "protects": world.protects}


@kind("confounding/priors", 4)
def _(draw: Draw) -> Any:
    world = cf.World(secret=["9/10", "1/10"], data=[draw.fractions(2, 3, 100) for _ in range(2)])
    return _asked(world.release(draw.fractions(3, 2, 100), draw.fractions(3, 2, 100)), draw)


@kind("confounding/repeated", 4)
def _(draw: Draw) -> Any:
    world, flag = _world(draw, 2, 3), draw.fractions(3, 2, 800)
    many = world.release(cf.repeated(flag, draw.whole(5, 40)))
    then = many.then(draw.fractions(3, 2, 800))
    return {"many": _asked(many, draw), "then": _asked(then, draw), "outputs": [many.outputs, then.outputs]}


@kind("confounding/adaptive", 3)
def _(draw: Draw) -> Any:
    world, first = _world(draw, 2, 3), draw.fractions(3, 2, 400)
    second = [draw.fractions(3, 2, 400) for _ in range(2)]
    release = world.release(cf.adaptive(first, second))
    return {**_asked(release, draw), "odds": release.exact_odds()}


@kind("confounding/joint", 3)
def _(draw: Draw) -> Any:
    world = _world(draw, 2, 3)
    release = world.release(joint=draw.fractions(3, 4, 100), outputs=[2, 2])
    tied = world.release(
        joint=cf.gaussian_copula(draw.rows(3, 2, 400), draw.rows(3, 2, 400), draw.share(-0.9, 0.9)), outputs=[2, 2]
    )
    return {
        "joint": _asked(release, draw), "alone": release.alone(0).exact_odds(), "dependence": release.dependence(),
        "effective": release.effective(1), "tied": _asked(tied, draw),
    }  # fmt: skip


@kind("confounding/bounds", 6)
def _(draw: Draw) -> Any:
    values = draw.whole(2, 4)
    release = _world(draw, 2, values).release(*(draw.fractions(values, 2, 300) for _ in range(2)))
    bounds, epsilon = release.bounds(), draw.share(0.05, 0.5)
    ignoring = release.ignoring_confounder()
    return {
        "marginal": bounds.marginal(epsilon), "level": bounds.data_level(epsilon), "cap": bounds.cap(epsilon),
        "amplified": bounds.amplified(epsilon), "amplified epsilon": bounds.amplified_epsilon(0.01),
        "bound": _asked(release.bound(), draw), "ignoring": _asked(ignoring, draw), "direction": ignoring.direction,
    }  # fmt: skip


@kind("confounding/amplified", 6)
def _(draw: Draw) -> Any:
    world = _world(draw, draw.whole(2, 3), 3)
    loss = draw.pick(
        [
            lambda: 5 * qw.pure(draw.share(0.05, 0.3)),
            lambda: qw.gdp(draw.share(0.2, 1)),
            lambda: 3 * qw.approximate(draw.share(0.05, 0.3), draw.power(-9, -6)),
            lambda: 9 * qw.gaussian(draw.share(20, 40)),
        ]
    )()
    found = world.bound(loss, distance=(lambda i, j: abs(i - j)) if draw.flip() else None)
    return {
        "epsilon": found.epsilon(draw.power(-5, -1)),
        "delta": found.delta(draw.share(0.01, 0.8)),
        "words": found.guarantee(),
    }


@kind("confounding/gaussian", 6)
def _(draw: Draw) -> Any:
    world = cf.World.gaussian([0, draw.share(0.3, 2)], sd=draw.share(0.5, 2))
    release = world.release(*(draw.share(0.8, 4) for _ in range(draw.whole(1, 3))))
    return {
        **_asked(release, draw),
        "ignoring": _asked(release.ignoring_confounder(), draw),
        "words": release.guarantee(),
    }


@kind("confounding/vectors", 3)
def _(draw: Draw) -> Any:
    rho = draw.share(-0.5, 0.5)
    world = cf.World.gaussian([[0, 0], [draw.share(0.2, 1), draw.share(-1, 1)]], sd=[[1, rho], [rho, 1]])
    return _asked(world.release(cf.noise("gaussian", 1.5, reads=[1, 0]), cf.noise("gaussian", 2.0, reads=[1, 1])), draw)


@kind("confounding/line", 6)
def _(draw: Draw) -> Any:
    low, high = cf.Normal(0.0, draw.share(0.5, 1.5)), cf.Normal(draw.share(1, 4), 1.0)
    share = draw.row(2, 400)
    world = cf.World.mixture([cf.Mixture([0.5, 0.5], [low, high]), cf.Mixture(share, [low, high])])
    release = world.release(*(draw.share(1, 3) for _ in range(draw.whole(1, 4))))
    return {"epsilon": release.epsilon(draw.power(-4, -1)), "delta": release.delta(draw.share(0.01, 0.8))}


@kind("confounding/line-laplace", 3)
def _(draw: Draw) -> Any:
    world = cf.World.mixture([cf.Normal(0.0, 1.0), cf.Normal(draw.share(0.5, 2), 1.0)])
    release = world.release(cf.noise("laplace", draw.share(0.8, 3)))
    return {"epsilon": release.epsilon(draw.power(-4, -1)), "delta": release.delta(draw.share(0.01, 0.8))}


@kind("confounding/noisy-readings", 3)
def _(draw: Draw) -> Any:
    world = _world(draw, 2, 3)
    mixed = world.release(cf.noise("gaussian", draw.share(1.5, 4)), cf.noise("laplace", draw.share(2, 4)))
    same = world.release(cf.noise("gaussian", draw.share(1.5, 4)), cf.noise("gaussian", draw.share(1.5, 4)))
    return {
        "bound": mixed.bound().delta(draw.share(0.1, 0.8)),
        "same": [same.epsilon(0.01), same.delta(draw.share(0.05, 0.8))],
    }


def _designed(found: Any) -> Any:
    return {
        "cost": found.cost, "lower bound": found.lower_bound, "delta": found.delta, "finished": found.finished,
        "channel": found.channel, "scale": found.scale,
    }  # fmt: skip


@kind("confounding/design", 8)
def _(draw: Draw) -> Any:
    values = draw.whole(2, 4)
    world = _world(draw, 2, values)
    existing = world.release(draw.fractions(values, 2, 1600)) if draw.flip() else None
    found = world.design(
        existing,
        epsilon=draw.share(0.4, 1.0),
        delta=draw.share(0.05, 0.15),
        cost=draw.pick(["squared", "absolute", "zero-one"]),
        reads=draw.pick(["data", "data", "data and output"]) if existing is not None else draw.pick(["data", "secret"]),
    )
    return {**_designed(found), "words": found.guarantee()}


@kind("confounding/design-exact", 5)
def _(draw: Draw) -> Any:
    share = Fraction(draw.whole(2, 8), 10)
    world = cf.World(secret=["9/10", "1/10"], data=[["1/2", "1/2"], [share, 1 - share]])
    before = world.release([["3/5", "2/5"], ["9/20", "11/20"]])
    found = world.design(before, odds=Fraction(draw.whole(6, 9), 5), delta="1/10", cost="absolute", exact=True)
    return {**_designed(found), "optimum": [found.optimum.cost, found.optimum.gap, found.optimum.channel]}


@kind("confounding/design-fractions", 5)
def _(draw: Draw) -> Any:
    first, second = (Fraction(draw.whole(2, 8), 20) for _ in range(2))
    data = [[first, Fraction(1, 2), Fraction(1, 2) - first], [Fraction(1, 2) - second, Fraction(1, 2), second]]
    found = cf.World(secret=["7/10", "3/10"], data=data).design(
        odds=Fraction(draw.whole(5, 8), 4),
        delta=Fraction(draw.whole(1, 4), 40),
        cost=draw.pick(["squared", "absolute"]),
        exact=True,
    )
    return {**_designed(found), "optimum": [found.optimum.cost, found.optimum.gap, found.optimum.channel]}


@kind("confounding/calibrated", 4)
def _(draw: Draw) -> Any:
    world = _world(draw, 2, 4)
    found = world.calibrated(
        epsilon=draw.share(0.4, 1), delta=draw.share(0.03, 0.1), family=draw.pick(["laplace", "gaussian"])
    )
    return _designed(found)


@kind("confounding/copula", 3)
def _(draw: Draw) -> Any:
    pair = cf.CopulaPerturbation(draw.share(0.1, 0.8), sd=draw.share(1, 20), noises=(1.0, draw.share(0.5, 2)))
    return {
        "correlation": pair.correlation,
        "mu": [pair.mu((1, 1)), pair.mu((1, -1))],
        "epsilon": pair.curve((1, 1)).epsilon(0.01),
        "effective": cf.effective_correlation(draw.share(-0.8, 0.8), draw.share(0.5, 5)),
    }


@kind("confounding/beliefs", 5)
def _(draw: Draw) -> Any:
    prior, tau = draw.row(3, 200), draw.share(1.05, 2)
    return {
        "epsilon": cf.epsilon_of_posterior_ratio(tau, prior),
        "tight": cf.tight_epsilon_of_posterior_ratio(tau, prior),
        "one sided": cf.tight_epsilon_of_posterior_ratio(tau, prior, one_sided=True),
        "bayesian": cf.from_bayesian(draw.share(0.1, 1), draw.share(0.1, 1), 0.001, 0.002, draw.share(0.1, 0.9)),
        "posterior": cf.posterior(draw.row(2, 200), draw.rows(2, 3, 100)),
        "smallest": refused(lambda: cf.smallest_tau(draw.share(0.01, 0.3))),
    }


@kind("confounding/design-after-noise", 2)
def _(draw: Draw) -> Any:
    world = _world(draw, 2, 3)
    before = world.release(cf.noise("gaussian", draw.share(5, 9)), cf.noise("gaussian", draw.share(5, 9)))
    return _designed(world.design(before, epsilon=0.8, delta=0.1, cost="absolute"))


@kind("confounding/design-of-bins", 1)
def _(draw: Draw) -> Any:
    world = cf.World.gaussian([0, 1], sd=1)
    return _designed(world.design(world.release(draw.share(3, 4)), edges=[0.0, 1.0], epsilon=0.7, delta=0.05))


@kind("confounding/design-options", 4)
def _(draw: Draw) -> Any:
    world, table = _world(draw, 2, 3), [[0, 1, 3], [2, 0, 1], [5, 1, 0]]
    before = world.release(draw.fractions(3, 4, 800))
    options = draw.pick([
        {"cost": table}, {"cost": lambda x, z: abs(x - z) ** 3, "outputs": [0, 1]}, {"clusters": 2}, {"bits": 30},
    ])  # fmt: skip
    return _designed(world.design(before, epsilon=draw.share(0.6, 1), delta=draw.share(0.1, 0.2), **options))


@kind("confounding/laws", 5)
def _(draw: Draw) -> Any:
    one, two = draw.pick([
        (cf.Laplace(0.0, 1.0), cf.Laplace(draw.share(0.3, 2), 1.0)),
        (cf.Uniform(0.0, 3.0), cf.Uniform(draw.share(0.2, 1), 4.0)),
        (cf.NormalLaplace(0.0, 1.0, 0.5), cf.NormalLaplace(draw.share(0.3, 1), 1.0, 0.5)),
        (cf.Normal(0.0, 1.0), cf.Normal(0.0, draw.share(1.2, 2))),
    ])  # fmt: skip
    release = cf.World.mixture([one, two]).release(draw.pick([0.5, 1.5]))
    return {
        "epsilon": refused(release.epsilon, draw.power(-3, -1)),
        "delta": refused(release.delta, draw.share(0.01, 0.8)),
        "beta": refused(release.beta, draw.share(0.05, 0.5)),
        "bound": refused(release.bound().delta, 0.3),
    }


@kind("confounding/unimodal", 1)
def _(draw: Draw) -> Any:
    laws = [cf.Unimodal.of(stats.logistic(loc=shift), shift) for shift in (0.0, draw.share(0.4, 1.5))]
    release = cf.World.mixture(laws).release(cf.noise("gaussian", 1.0))
    return {"bound": refused(release.bound().delta, 0.3), "delta": refused(release.delta, 0.3)}


@kind("confounding/simulated", 2)
def _(draw: Draw) -> Any:
    world = _world(draw, 2, 3)
    mixed = world.release(cf.noise("gaussian", 2.0), cf.noise("laplace", 3.0))
    guess = mixed.estimate(draw.share(0.1, 0.6), samples=2000, rng=np.random.default_rng(1))
    return {"guess": guess, "certified": guess.certified}


@kind("confounding/realised", 3)
def _(draw: Draw) -> Any:
    world = cf.World(data=[[0.6, 0.4], [0.4, 0.6]])
    share, channel = draw.share(0.45, 0.55), draw.rows(3, 3, 200)
    return {
        "realised": refused(cf.realised, world, [[share, 1 - share], [0.5, 0.5]]),
        "remapped": cf.remapped(channel, "absolute", draw.row(3, 300), [0, 1, 2]),
        "merged": [len(part) for part in (cf.merged(channel)[1],)],
        "from posterior": cf.delta_from_posterior(
            [[p / 2 for p in row] for row in draw.rows(2, 3, 300)], [0.5, 0.5], 0.2
        ),
    }
