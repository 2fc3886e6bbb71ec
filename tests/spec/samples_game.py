"""One small value of every kind of the game, of audits, of mechanisms, of counts and of a ledger."""

from datetime import UTC, datetime, timedelta
from fractions import Fraction

import numpy as np

import quiltwork as qw
from quiltwork import audit, game, mechanisms
from quiltwork.data import Counts, Lengths, Tally
from quiltwork.game import composition, finite
from quiltwork.game import learned as generative
from quiltwork.game.classifier import RowAssignment, RowMatching
from quiltwork.game.measures import Interval


def attackers():
    found = [game.AdaptiveThreshold(), game.Calibrated(), game.FixedThreshold(), game.FeatureHead(), game.Neural()]
    found += [game.LinearGaussian(), game.OptimalTest(), game.Ridge(), game.Score(), game.SupportVector()]
    return [*found, game.Tree(), RowAssignment(), RowMatching(), game.Budget()]


def defenders():
    found = [game.Constant(), game.Exact(), game.Gaussian(0.1), game.Laplace(0.1, (1.0, 2.0)), game.Generative()]
    found += [game.SupNormNoise(1.0), game.PeelingMean(1.0), game.FixedResponse(), game.AdaptiveResponse()]
    found += [game.OptimalResponse(), game.ScoreResponse()]
    return [*found, game.RateDistortion(0.05), game.WaterFilling(0.05), game.Half(), game.Independent(0.3)]


def board():
    """A ladder of two attackers against a handful of people."""
    people = game.Population.of((np.arange(40).reshape(10, 4) % 3 == 0).astype(float), candidates=6)
    release = game.SummaryStatistics(game.Gaussian(0.3).prepare(people))
    budget = game.Budget(train=20, calibrate=4, steps=2, batch=4)
    players = [game.FixedThreshold(), game.OptimalTest()]
    return game.ladder(players, release, people, budget=budget, validation=10, test=20, shown=False), release


def games():
    coin = finite.FiniteGame(["1/2", "1/2"], [["3/4", "1/4"], ["1/4", "3/4"]])
    rough = finite.FiniteGame([0.5, 0.5], [[0.75, 0.25], [0.25, 0.75]], ("no", "yes"))
    area = Interval(0.6, 0.5, 0.7, 0.95)
    found, release = board()
    following = composition.next_mechanism([Fraction(1, 2), Fraction(1, 3)], 1)
    return [
        coin,
        rough,
        found,
        game.trials(release, 40, np.random.default_rng(0)),
        game.Bwma(0.5, 2.0, 1.0),
        finite.stackelberg(coin, "3/5", loss="tpr"),
        finite.bwma_loss_identity(coin, [["3/4", "1/4"], ["1/4", "3/4"]], "1/2"),
        finite.posterior_identity(coin),
        finite.odds_test(coin.channel, odds=4),
        finite.gaussian_test([0.0, 0.0], [1.0, 1.0], [1.0, 2.0]),
        finite.composition_identity(np.full((2, 2, 2), 0.25), [0.5, 0.5]),
        following,
        composition.next_sigma(1.0, [10.0, 10.0], epsilon=1.0, delta=1e-5),
        composition.Approximate("bisection", 0.5, following),
        generative.Measured("learned", 0.1, "score", area, area),
        generative.InLoop("score", 0.6),
        generative.History(np.arange(8.0).reshape(2, 4), "steps"),
        generative.Finish(1.0, 1e-5, np.array([0.5, 0.5]), 0.1, 2.0),
        generative.bisect_odds(coin.channel, 0.5, bits=9),
        game.Published((0.1, 0.9), qw.zcdp(0.1).guarantee(), "discrete Gaussian"),
    ]


def audits():
    rng = np.random.default_rng(1)
    inside, outside = rng.normal(1.0, 1.0, 400), rng.normal(0.0, 1.0, 400)
    report = audit.report(qw.gaussian(1.0), inside, outside, 1e-5, method="both")
    guessed = audit.run(inside, outside, 1e-5, method="guesses")
    alone = audit.report(None, inside, outside)
    return [report, guessed, audit.counted(audit.Counts(40, 50, 3, 50), 1e-5), report.audits[0].limits, alone]


def drawn():
    return [
        mechanisms.Release(5, qw.laplace(2.0), mechanisms.Noise("Laplace", 2.0)),
        mechanisms.Release(np.array([3, 4, 5]), qw.laplace(2.0), mechanisms.Noise("discrete Laplace", 2.0, 3)),
        mechanisms.bounded_sum([1, 2, 3], 0, 5),
        Counts(("a", "b"), np.array([[3, 1], [0, 2]]), np.array([1, 1])),
        Lengths(np.array([3, 5]), np.array([7, 1])),
        Tally(("a", "b"), np.array([3, 0])),
    ]


def written(folder):
    """What a ledger wrote and answered."""
    from quiltwork.ledger import Blocks, Ledger

    with Ledger(f"sqlite:///{folder}/ledger.db", key=f"{folder}/ledger.key") as ledger:
        blocks = Blocks("day", ("mon", "tue"), 1)
        more = {"expires": datetime(2199, 1, 1, tzinfo=UTC), "refresh": timedelta(days=30), "owners": ["ann"]}
        ledger.open("patients", epsilon=1.0, delta=1e-6, protects=qw.user("person", 4), blocks=blocks, **more)
        ledger.open("fixed", epsilon=2.0, protects="one person", kind="planned", plan=[("a", qw.pure(0.5), 3)])
        receipt = ledger.spend("patients", qw.gaussian(40.0), blocks=["mon"], note="counts")
        ledger.spend("fixed", release="a")
        checkpoint = ledger.checkpoint()
        batch = ledger.spend_many([{"budget": "patients", "loss": qw.gaussian(90.0), "blocks": ["mon"]}] * 2)
        budget = ledger.budget("patients")
        return [
            blocks,
            budget,
            budget.terms,
            budget.terms.limit,
            ledger.budget("fixed"),
            receipt,
            batch[0],
            checkpoint,
            ledger.consistency(checkpoint),
            next(iter(ledger.history())),
            ledger.balance("patients"),
            ledger.balance("fixed"),
            ledger.forecast("patients", qw.gaussian(40.0), blocks=["tue"]),
            ledger.verify(),
        ]
