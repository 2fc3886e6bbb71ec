"""Theorem 1, Propositions 7 and 9, and Definition 3, on exact finite games."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from tests.errata import printed_game

from examples.gallery.game import pictures
from examples.gallery.game.cases import HALF, said, three
from examples.gallery.item import Check, Effort, Finding, alone
from quiltwork.document.blocks import Grid
from quiltwork.game.finite import FiniteGame, nash, stackelberg

ONE = "Theorem 1: who is the worst attacker"


def true_positives(effort: Effort) -> dict[str, Finding]:
    """Theorem 1 in true positives."""
    game = three()
    everybody = np.ones((game.candidates, len(game.outputs)), dtype=int)
    most = game.bwma_of(everybody, HALF).expected_true_positives
    sampled = game.bwma_of(game.marginal_posteriors(), HALF).expected_true_positives
    thresholded = game.bwma_of(game.best_response(HALF), HALF).expected_true_positives
    nobody = game.bwma_of(game.best_response(1), 1).expected_true_positives
    rows = [
        ["everybody is a member", f"{float(most):.4f}"],
        ["posterior sampling", f"{float(sampled):.4f}"],
        ["thresholded posterior", f"{float(thresholded):.4f}"],
        ["best response at gamma = 1", f"{float(nobody):.4f}"],
    ]
    return {
        "game-theorem-1-i": Finding(
            f"Three candidates with noise: who calls everybody a member has {said(most)} true positives, posterior "
            f"sampling {float(sampled):.4f}, the thresholded posterior {float(thresholded):.4f}; at gamma = 1 the best "
            f"response has {said(nobody)}.",
            "True positives alone are largest for whoever accuses everybody, and smallest for an attacker to whom "
            "false alarms cost everything: neither end of the chain holds for any response. Every channel is a BNGP "
            "strategy, for a loss that adds enough to true positives for all other channels.",
            [
                Check(
                    f"any attacker <= {name}",
                    printed_game.theorem_1(most, response, math.inf),
                    ours=f"{float(most):.4f} and {float(response):.4f}",
                    disproves=True,
                )
                for name, response in (("posterior sampling", sampled), ("the thresholded posterior", thresholded))
            ]
            + [
                Check(
                    "the response <= an equilibrium at gamma = 1",
                    printed_game.theorem_1(0, sampled, nobody),
                    ours=f"{float(sampled):.4f} and {float(nobody):.4f}",
                    disproves=True,
                )
            ],
            [Grid(("attacker", ("expected true positives", "number")), rows, "One channel, four attackers")],
        )
    }


def mirrored(effort: Effort) -> dict[str, Finding]:
    """Theorem 1 in BWMA; Propositions 7 and 9: the mirror of the posterior."""
    game = three()
    sampled = game.bwma_of(game.marginal_posteriors(), HALF).advantage
    thresholded = game.bwma_of(game.best_response(HALF), HALF).advantage
    nobody = game.bwma_of(game.best_response(1), HALF).advantage
    positives = [
        game.bwma_of(rule, HALF).expected_true_positives
        for rule in (game.marginal_posteriors(), game.best_response(HALF))
    ]
    gammas = [Fraction(step, 50) for step in range(1, 50)]

    def draw(axes: Any) -> None:
        places = [float(gamma) for gamma in gammas]
        best = [float(game.max_bwma(gamma)) for gamma in gammas]
        mirror = [float(game.bwma_of(game.marginal_posteriors(), gamma).advantage) for gamma in gammas]
        axes.plot(places, best, color=pictures.INKS[0], label="thresholded posterior")
        axes.plot(places, mirror, color=pictures.COLOURS["bad"], label="posterior sampling")
        axes.set(xlabel="gamma", ylabel="BWMA")
        axes.legend()

    drawn = pictures.points(
        "game-theorem-1-ii",
        "Posterior sampling and the thresholded posterior",
        "Three candidates with noise: the mirror of the posterior is below the best response at every gamma.",
        draw,
    )
    return {
        "game-theorem-1-ii": Finding(
            f"Three candidates with noise: posterior sampling has at gamma one half a BWMA of {float(sampled):.4f}, "
            f"the posterior thresholded there has {float(thresholded):.4f}; the best response at gamma = 1 has "
            f"{said(nobody)}.",
            "A randomised rule mixes decisions of which one is better, so that mirroring the posterior is a best "
            "response only where the posterior is certain, or gamma itself.",
            [
                Check(
                    "no attacker has more than the mirror of the posterior",
                    printed_game.theorem_1(thresholded, sampled, math.inf),
                    ours=f"{float(thresholded):.4f} and {float(sampled):.4f}",
                    disproves=True,
                ),
                Check(
                    "the response <= an equilibrium at gamma = 1, for the mirror and for the thresholded posterior",
                    printed_game.theorem_1(0, min(sampled, thresholded), nobody),
                    ours=f"{float(sampled):.4f}, {float(thresholded):.4f} and {float(nobody):.4f}",
                    disproves=True,
                ),
                Check(
                    "Proposition 9: the mirror has at most the true positives of a best response",
                    positives[0] <= positives[1],
                    ours=f"{float(positives[0]):.4f} and {float(positives[1]):.4f}",
                    disproves=True,
                ),
                Check("the thresholded posterior is the largest there is", thresholded == game.max_bwma(HALF)),
            ],
            [drawn],
        )
    }


def committed(effort: Effort) -> dict[str, Finding]:
    """Definition 3 beside the best commitment, for one bit."""
    bit = FiniteGame(["1/2", "1/2"], [[1, 0], [0, 1]])
    kappas = [Fraction(step, 20) for step in range(2, 20, int(effort.pick(1, 4)))]
    shown = [Fraction(3, 10), Fraction(3, 5)]
    costs, left = {}, {}
    for kappa in sorted({*kappas, *shown}):
        fixed, best = nash(bit, kappa), stackelberg(bit, kappa, loss="tpr")
        left[kappa] = fixed.regret
        costs[kappa] = tuple(found.game.sum_squared_posteriors() + found.expense for found in (fixed, best))
    zero = nash(bit, shown[0], loss="advantage")
    saddle = zero.regret == 0 and zero.game.bwma_of(zero.attacker, HALF).advantage == zero.game.max_bwma(HALF)

    def draw(axes: Any) -> None:
        places = [float(kappa) for kappa in costs]
        for index, (label, colour) in enumerate((("Definition 3", "bad"), ("best commitment", "accent"))):
            values = [float(pair[index]) for pair in costs.values()]
            axes.plot(places, values, "o-", markersize=3, color=pictures.COLOURS[colour], label=label)
        axes.set(xlabel="kappa", ylabel="cost to the defender")
        axes.legend()

    drawn = pictures.points(
        "game-definition-3",
        "What the defender pays, by kappa",
        "One bit, cost E[p b] + kappa P(flip), both solved exactly.",
        draw,
    )
    told = "; ".join(f"kappa {said(k)}: {said(costs[k][0])} and {said(costs[k][1])}" for k in shown)
    return {
        "game-definition-3": Finding(
            f"One bit, E[p b] + kappa P(flip), solved in fractions: the fixed point of Definition 3 and the best "
            f"commitment cost {told}.",
            "Definition 3 asks for a best response to a fixed H*. A defender that publishes first meets the response "
            "to what it publishes, and can do better by committing. If the privacy loss is the advantage or minus the "
            "cross-entropy, the game is zero-sum up to a term in the channel, and both are the same.",
            [
                Check(
                    f"kappa {said(k)}: the fixed point costs no more than the best commitment",
                    costs[k][0] <= costs[k][1],
                    ours=f"{said(costs[k][0])} and {said(costs[k][1])}",
                    disproves=True,
                )
                for k in shown
            ]
            + [
                Check("at the fixed point nobody gains by moving alone", not any(left.values())),
                Check("the commitment is never worse", all(pair[1] <= pair[0] for pair in costs.values())),
                Check("against the advantage the fixed point is a saddle point", saddle),
            ],
            [drawn],
        )
    }


STUDIES = (
    alone(
        "game-theorem-1-i",
        "Theorem 1 (i)",
        "For a BNGP strategy G* with response H*, any other attacker has at most the true positives of H*, and those "
        "are at most the ones of any equilibrium (H', G').",
        true_positives,
        ONE,
    ),
    alone(
        "game-theorem-1-ii",
        "Theorem 1 (ii), Propositions 7 and 9",
        "The attacker that mirrors its posterior is a best response, and has at most the true positives of every other "
        "one; no attacker has a larger BWMA(0.5), and no equilibrium (H', G') a smaller one.",
        mirrored,
        ONE,
    ),
    alone(
        "game-definition-3",
        "Definition 3 and the text after Theorem 1",
        'G* "achieves the optimal privacy-utility trade-off" given the defender\'s loss, against the attacker that '
        "minimises its cross-entropy.",
        committed,
        ONE,
        (5.0, 2.0),
    ),
)
