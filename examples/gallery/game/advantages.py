"""Propositions 1, 2 and 3 and Appendix G, on exact finite games."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from tests.errata import printed_game

from examples.gallery.game import pictures
from examples.gallery.game.cases import HALF, lie, random_games, said, three
from examples.gallery.item import Check, Effort, Finding, alone
from quiltwork.game.finite import FiniteGame, bwma_loss_identity, dominates

TWO = "Proposition 2: advantages of each, and of all together"
RATES = "Proposition 1: counts, not rates"
GAMMAS = [Fraction(step, 100) for step in range(1, 100)]


def counts(effort: Effort) -> dict[str, Finding]:
    """The identity of Proposition 1 over random games, with counts and with rates."""
    rng = np.random.default_rng([effort.seed, 1])
    number = int(effort.pick(300, 60))
    residuals, apart = [], 0
    for game in random_games(number, 2, 3, rng, uniform=False):
        strategy = rng.integers(1, 5, (4, 3))
        table = [[Fraction(int(v), int(strategy[:, j].sum())) for j, v in enumerate(row)] for row in strategy]
        found = bwma_loss_identity(game, table, Fraction(1, 3))
        residuals.append(found.residual)
        members = sum(game.rates)
        rates = (
            found.counts.expected_true_positives / members,
            found.counts.expected_false_positives / (game.candidates - members),
        )
        apart += Fraction(2, 3) * rates[0] - Fraction(1, 3) * rates[1] != -found.loss
    return {
        "game-proposition-1": Finding(
            f"Over {number} random games of two candidates, in fractions: with expected counts the largest residual is "
            f"{said(max(map(abs, residuals)))}; with rates the two sides differ in {apart}.",
            "Equation (2) defines TPR and FPR as sums of joint probabilities, which are expected counts of people, and "
            "calls them rates. As defined the identity is exact; for shares of members and of others it does not hold.",
            [
                Check(
                    "as defined, in counts, both sides are equal",
                    not any(residuals),
                    ours=f"in {number - sum(map(bool, residuals))} of {number}",
                )
            ],
        )
    }


def backwards(effort: Effort) -> dict[str, Finding]:
    """One game tells b1, the other b2: a larger maximum is not larger for everybody."""
    one = FiniteGame(["1/4"] * 4, [[1, 0], [1, 0], [0, 1], [0, 1]])
    two = FiniteGame(["1/4"] * 4, [["9/10", "1/10"], ["1/10", "9/10"]] * 2)
    return {"game-proposition-2-if": _pair(effort, one, two, "tells b1", "tells b2 with lies of one in ten", True)}


def forwards(effort: Effort) -> dict[str, Finding]:
    """A prior of one in ten: the larger advantage has the smaller maximum."""
    one = FiniteGame(["9/10", "1/10"], lie("3/10"))
    two = FiniteGame(["9/10", "1/10"], [[1, 0], ["7/10", "3/10"]])
    words = ("lies three times in ten", "has an output that only members give")
    return {"game-proposition-2-only-if": _pair(effort, one, two, *words, False)}


def _pair(effort: Effort, one: FiniteGame, two: FiniteGame, first: str, second: str, uniform: bool) -> Finding:
    advantages = one.advantages(), two.advantages()
    largest = one.max_bwma(HALF), two.max_bwma(HALF)
    holds = printed_game.proposition_2(*advantages, *largest)
    rng = np.random.default_rng([effort.seed, 2, uniform])
    number = int(effort.pick(1000, 150))
    people = 3 if uniform else 1
    pool = list(random_games(2 * number, people, 3, rng, uniform))
    failed = sum(_fails(a, FiniteGame(a.prior, b.channel)) for a, b in zip(pool[::2], pool[1::2], strict=True))
    told = [[said(value) for value in pair] for pair in advantages]
    apart = [dominates(one, two), dominates(two, one)]
    drawn = pictures.points(
        f"game-proposition-2-{'if' if uniform else 'only-if'}",
        "Maximal BWMA of two games, by gamma",
        f"g {first}, g' {second}. Proposition 2 looks at one half only.",
        lambda axes: _curves(axes, one, two),
    )
    return Finding(
        f"g {first}, g' {second}: advantages ({', '.join(told[0])}) and ({', '.join(told[1])}), maxima "
        f"{said(largest[0])} and {said(largest[1])}. Of {number} random pairs with "
        f"{'a uniform prior' if uniform else 'random priors'} and {people} candidate{'s' if people > 1 else ''} the "
        f"equivalence fails in {failed}.",
        "The advantage of a candidate is read as the text calls it, that of each individual, equation (1): the printed "
        "definition has no k on its right side, and by its letter all advantages are twice the maximum, and nothing is "
        "said. A maximum over attackers adds up candidates, or weighs them by a prior; advantages of each do neither. "
        "What is equivalent to the order for every gamma is the order of trade-off functions of one candidate; those "
        "of these two games cross, or differ in their order from candidate to candidate.",
        [
            Check(
                "the printed equivalence holds for this pair",
                holds,
                ours=f"maxima {said(largest[0])}, {said(largest[1])}",
                disproves=True,
            ),
            Check("trade-off functions order neither game above the other", not any(apart)),
        ],
        [drawn],
    )


def _fails(one: FiniteGame, two: FiniteGame) -> bool:
    """Whether the printed equivalence fails for two channels under one prior."""
    return not printed_game.proposition_2(one.advantages(), two.advantages(), one.max_bwma(HALF), two.max_bwma(HALF))


def _curves(axes: Any, one: FiniteGame, two: FiniteGame) -> None:
    places = [float(gamma) for gamma in GAMMAS]
    for game, label, colour in ((one, "g", pictures.INKS[0]), (two, "g'", pictures.INKS[2])):
        axes.plot(places, [float(game.max_bwma(gamma)) for gamma in GAMMAS], color=colour, label=label)
    axes.axvline(0.5, color=pictures.COLOURS["muted"], linewidth=0.8)
    axes.set(xlabel="gamma", ylabel="largest BWMA")
    axes.legend()


def factor(effort: Effort) -> dict[str, Finding]:
    """Appendix G: one half of the sum of advantages, or one quarter."""
    game = three()
    true, claimed = game.max_bwma(HALF), printed_game.appendix_g(game.advantages())
    quarter = sum(game.advantages()) / 4
    rng = np.random.default_rng([effort.seed, 3])
    number = int(effort.pick(300, 60))
    games = list(random_games(number, 2, 4, rng))
    right = sum(g.max_bwma(HALF) == sum(g.advantages()) / 4 for g in games)
    return {
        "game-appendix-g": Finding(
            f"Three candidates with noise: the maximum is {said(true)}, printed {said(claimed)}. A quarter of the sum "
            f"is exact in {right} of {number} random games.",
            "With a uniform prior each candidate is a member with probability one half, and gamma weighs by another "
            "half.",
            [
                Check(
                    "the maximum is half the sum",
                    true == claimed,
                    printed=said(claimed),
                    ours=said(true),
                    disproves=True,
                ),
                Check("the maximum is a quarter of the sum", true == quarter, ours=said(quarter)),
                Check("a quarter in every random game", right == number, ours=f"{right} of {number}"),
            ],
        )
    }


def processing(effort: Effort) -> dict[str, Finding]:
    """Proposition 3, which is true."""
    rng = np.random.default_rng([effort.seed, 4])
    number = int(effort.pick(200, 40))
    kept = {"largest BWMA": 0, "advantages": 0, "trade-off functions": 0, "cross-entropy": 0}
    for game in random_games(number, 2, 3, rng, uniform=False):
        weights = rng.integers(0, 5, (3, 3)) + np.eye(3, dtype=int)
        after = game.after([[Fraction(int(v), int(row.sum())) for v in row] for row in weights])
        kept["largest BWMA"] += all(after.max_bwma(g) <= game.max_bwma(g) for g in ("1/4", "1/2", "3/4"))
        kept["advantages"] += all(a <= b for a, b in zip(after.advantages(), game.advantages(), strict=True))
        kept["trade-off functions"] += dominates(game, after)
        kept["cross-entropy"] += after.cel_joint() >= game.cel_joint() - 1e-12
    return {
        "game-proposition-3": Finding(
            f"{number} random games, each processed at random: " + ", ".join(f"{k} {v}" for k, v in kept.items()) + ".",
            "It follows from the data processing inequality; the printed proof goes from trade-off functions of each "
            "candidate to the order of Blackwell, which does not follow.",
            [Check(f"{name}: never better for the attacker", value == number) for name, value in kept.items()],
        )
    }


STUDIES = (
    alone(
        "game-proposition-1",
        "Proposition 1",
        "The attacker's expected loss is -((1 - gamma) TPR - gamma FPR), with TPR and FPR called rates.",
        counts,
        RATES,
    ),
    alone(
        "game-proposition-2-if",
        "Proposition 2, from the maximum to everybody",
        "If max BWMA(0.5) of g is at least that of g', then so is every candidate's advantage.",
        backwards,
        TWO,
        (4.0, 1.0),
    ),
    alone(
        "game-proposition-2-only-if",
        "Proposition 2, from everybody to the maximum",
        "If every candidate's advantage under g is at least that under g', then so is max BWMA(0.5).",
        forwards,
        TWO,
        (2.0, 1.0),
    ),
    alone(
        "game-appendix-g",
        "Appendix G",
        "For a uniform prior max BWMA(0.5) is (1/2) sum_k Adv_k.",
        factor,
        TWO,
    ),
    alone(
        "game-proposition-3",
        "Proposition 3",
        "Post-processing does not increase what an attacker gains.",
        processing,
        "Smaller things",
        (3.0, 1.0),
    ),
)
