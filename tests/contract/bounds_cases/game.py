"""The game: certificates of defences, the next release, finite games and their equilibria, scores of attacks."""

from fractions import Fraction
from typing import Any

import numpy as np
from tests.contract.bounds_cases.draws import Draw, kind, refused

import quiltwork as qw
from quiltwork import game
from quiltwork.game import composition, finite


def _population(draw: Draw, candidates: int = 8, attributes: int = 4) -> Any:
    def rows(count: int) -> list[list[int]]:
        return [[draw.whole(0, 1) for _ in range(attributes)] for _ in range(count)]

    prior = game.Half() if draw.flip(0.7) else game.Independent(0.5)
    return game.Population(rows(candidates), rows(12), prior=prior)


def _certificate(found: Any, rows: Any) -> Any:
    def answer() -> Any:
        promise = found.certificate(rows)
        return [promise.epsilon(1e-5), promise.delta(1.0), promise]

    return refused(answer)


@kind("game/defences", 8)
def _(draw: Draw) -> Any:
    people = _population(draw)
    defender = draw.pick(
        [
            lambda: game.Gaussian(draw.share(0.1, 1)),
            lambda: game.Laplace(draw.share(0.1, 1)),
            lambda: game.WaterFilling(draw.share(0.05, 0.4)),
            lambda: game.RateDistortion(draw.share(0.02, 0.1)),
            lambda: game.Gaussian(draw.share(0.1, 1), [1.0, 2.0, 0.5, 1.0]),
            lambda: game.Gaussian.at_error(draw.share(0.05, 0.4)),
        ]
    )()
    defence = defender.prepare(people, denominator=draw.pick(["members", "members", "fixed"]))
    return {"name": defender.name, "pool": _certificate(defence, "pool"), "any": _certificate(defence, "any")}


@kind("game/releases", 4)
def _(draw: Draw) -> Any:
    people = _population(draw)
    one = game.SummaryStatistics(game.Gaussian(draw.share(0.2, 1)).prepare(people))
    copies = game.CorrelatedGaussian(
        game.Statistic(people), [draw.share(0.2, 1) for _ in range(3)], draw.share(-0.4, 0.8)
    )
    return {"one": _certificate(one, "pool"), "twice": _certificate(game.Several([one, one]), "pool"),
            "copies": [_certificate(copies, "pool"), _certificate(copies, "any")]}  # fmt: skip


@kind("game/next", 8)
def _(draw: Draw) -> Any:
    existing, target = [draw.share(0.05, 0.3) for _ in range(draw.whole(1, 4))], draw.share(0.6, 1.5)
    correlation = draw.pick([None, draw.share(-0.2, 0.8)])
    found = composition.next_mechanism(existing, target, correlation)
    loss = composition.as_loss(existing, correlation, sensitivity=0.3, constant=0.01)
    return {
        "total": composition.total(existing, correlation), "next": [found.lower, found.upper, found.total()],
        "sigma": refused(lambda: found.sigma(draw.share(0.001, 0.1))), "loss": loss.epsilon(1e-5),
        "ceiling": composition.composed_auc_ceiling(existing, correlation), "words": str(found),
    }  # fmt: skip


@kind("game/next-sigma", 5)
def _(draw: Draw) -> Any:
    sigmas = [draw.share(1, 4) for _ in range(draw.whole(1, 3))]
    found = composition.next_sigma(
        draw.share(0.1, 0.4), sigmas, draw.share(0.8, 3), draw.power(-8, -3), draw.pick([None, 0.2])
    )
    return {"sigma": found.sigma, "most": found.most, "certified": found.certified,
            "mu": composition.largest_mu(draw.share(0.2, 3), draw.power(-8, -2))}  # fmt: skip


def _game(draw: Draw, people: int, outputs: int) -> Any:
    return finite.FiniteGame(draw.fractions(1, 2**people, 50)[0], draw.fractions(2**people, outputs, 50))


@kind("game/finite", 8)
def _(draw: Draw) -> Any:
    one, gamma = _game(draw, draw.whole(1, 3), draw.whole(2, 4)), Fraction(draw.whole(1, 19), 20)
    counts = one.bwma_of(one.best_response(gamma), gamma)
    return {
        "informed": [one.informed_odds(), one.informed_level()], "marginal": one.marginal_level(),
        "advantages": one.advantages(), "best": [one.max_bwma(gamma), counts.expected_true_positives],
        "entropy": [one.cel_joint(), one.cel_factorised(), one.sum_squared_posteriors()], "vertices": one.vertices(0),
        "delta": one.loss(0).delta(draw.share(0.05, 0.5)), "beta": one.trade_off(0).beta(draw.share(0.05, 0.5)),
        "posteriors": one.marginal_posteriors(),
    }  # fmt: skip


@kind("game/finite-floats", 3)
def _(draw: Draw) -> Any:
    one = finite.FiniteGame(draw.row(4, 50), draw.rows(4, 3, 50))
    return {"informed": one.informed_level(), "marginal": one.marginal_level(), "advantages": one.advantages(),
            "best": one.max_bwma(0.5)}  # fmt: skip


@kind("game/equilibrium", 6)
def _(draw: Draw) -> Any:
    one, kappa = _game(draw, 1, draw.whole(2, 3)), Fraction(draw.whole(2, 30), 20)
    loss = draw.pick(["advantage", "tpr", "cel", "joint cel"])
    leader = finite.stackelberg(one, kappa, loss=loss)
    fixed = refused(lambda: finite.nash(one, kappa).value)
    return {"leader": leader.value, "status": leader.status, "expense": leader.expense, "fixed": fixed}


@kind("game/odds", 4)
def _(draw: Draw) -> Any:
    test = finite.odds_test(draw.fractions(4, 3, 50), draw.share(0.2, 3))
    other = finite.gaussian_test([0, 0], [draw.share(0.1, 1), draw.share(0.1, 1)], [1.0, draw.share(0.5, 2)])
    return {
        "test": [test.holds, test.epsilon, test.worst.odds, test.members],
        "level": finite.implied_level(draw.share(0.2, 2), draw.share(0.1, 0.9)),
        "mu": other.mu,
        "critical": finite.alpha_critical(draw.share(0.2, 2), draw.share(0.2, 0.8), draw.share(0.2, 0.8)),
    }


@kind("game/identities", 4)
def _(draw: Draw) -> Any:
    one = _game(draw, 2, 3)
    guess = [list(row) for row in zip(*draw.fractions(3, 4), strict=True)]
    loss = finite.bwma_loss_identity(one, guess, Fraction(1, 2))
    two = finite.posterior_identity(one)
    return {
        "loss": [loss.loss, loss.counts.expected_true_positives],
        "posterior": [two.true_positives, two.squared_posteriors],
        "distances": finite.distances(one),
    }


@kind("game/scores", 6)
def _(draw: Draw) -> Any:
    people, releases = 6, 5
    scores = np.array([[draw.share(-1, 1) for _ in range(people)] for _ in range(releases)])
    members = np.array([[draw.flip() for _ in range(people - 2)] + [True, False] for _ in range(releases)])
    interval = game.auc_interval(scores, members)
    curve = game.roc(scores, members)
    return {
        "auc": game.auc(scores, members),
        "interval": [interval.estimate, interval.lower, interval.upper],
        "area": curve.area,
        "found": game.tpr_at(scores, members, [0.05, 0.3]),
        "roc": [curve.false_alarms, curve.found],
    }


@kind("game/ladder", 2)
def _(draw: Draw) -> Any:
    attackers = [game.FixedThreshold(), game.LinearGaussian(), game.OptimalTest()]
    board = game.ladder(
        attackers, game.Gaussian(draw.share(0.1, 0.4)), _population(draw, 10, 6), seed=3, validation=20, test=30
    )
    return {entry.name: [entry.auc.estimate, entry.auc.lower, entry.auc.upper] for entry in board.entries}


@kind("game/composed", 2)
def _(draw: Draw) -> Any:
    return {"loss": qw.compose(composition.as_loss([draw.share(0.1, 1)]), qw.pure(0.1)).epsilon(1e-6),
            "ceiling": composition.composed_auc_ceiling([draw.share(0.1, 2), draw.share(0.1, 2)], 0.3)}  # fmt: skip


@kind("game/summary", 3)
def _(draw: Draw) -> Any:
    rows = [[draw.whole(0, 1) for _ in range(2)] for _ in range(3)]
    one = finite.FiniteGame.summary(rows, [("-1/4", "1/4"), (0, "1/2"), ("1/4", "1/4")], clip=draw.flip())
    return {"best": one.max_bwma("1/2"), "advantages": one.advantages(), "marginal": one.marginal_level(),
            "informed": one.informed_odds(), "outputs": len(one.outputs)}  # fmt: skip


@kind("game/information", 3)
def _(draw: Draw) -> Any:
    joint = np.array(draw.rows(4, 4, 100)).reshape(4, 2, 2)
    found = game.composition_identity(joint, draw.row(4, 300))
    terms = found.joint
    return [terms.entropy, terms.entropy_given_all, terms.entropies_given_each, terms.total_correlation,
            terms.conditional_total_correlation, terms.overlap, terms.overlap_from_correlations]  # fmt: skip


@kind("game/correlations", 3)
def _(draw: Draw) -> Any:
    a, b, c = (draw.share(-0.4, 0.4) for _ in range(3))
    matrix = [[1, a, b], [a, 1, c], [b, c, 1]]
    found = composition.next_mechanism([0.2, draw.share(0.1, 0.4)], draw.share(0.8, 1.2), matrix)
    total = composition.total([0.2, 0.3, 0.1], matrix)
    return {"next": [found.lower, found.upper], "total": total, "held": found.total(0.2)}


@kind("game/query-rows", 2)
def _(draw: Draw) -> Any:
    rows, reference = np.array(draw.rows(8, 3, 100)), np.array(draw.rows(8, 3, 100))
    noise = draw.pick([game.Gaussian(draw.share(0.1, 0.5)), game.Laplace(draw.share(0.1, 0.5))])
    release = game.classifier.QueryRows(game.Population(rows, reference), noise)
    return {"pool": _certificate(release, "pool"), "any": _certificate(release, "any")}


@kind("game/approximate", 1)
def _(draw: Draw) -> Any:
    existing = [draw.share(0.1, 0.2) for _ in range(3)]
    found = composition.sampled_bisection(existing, 0.5, np.random.default_rng(0), sensitivity=4.0, samples=5000)
    return [found.epsilon, found.method, found.error, found.meets]


@kind("game/constant", 2)
def _(draw: Draw) -> Any:
    defence = game.Constant(draw.pick(["candidates", "reference"])).prepare(_population(draw))
    return {"pool": _certificate(defence, "pool"), "any": _certificate(defence, "any")}
