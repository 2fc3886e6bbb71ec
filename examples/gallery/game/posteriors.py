"""Proposition 6: posteriors and differential privacy, on exact games."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
from tests.errata import printed_game

from examples.gallery.game import pictures
from examples.gallery.game.cases import xor
from examples.gallery.item import Check, Effort, Finding, alone
from quiltwork.game.finite import FiniteGame, implied_level, odds_test

SIX = "Proposition 6: posteriors and differential privacy"
EPSILON = 0.5


def one_candidate(effort: Effort) -> dict[str, Finding]:
    """Randomised response at the edge of the printed set."""
    lies = math.exp(-EPSILON) / 2
    game = FiniteGame([0.5, 0.5], [[1 - lies, lies], [lies, 1 - lies]])
    inside = 1 - 1e-12  # the edge itself, up to rounding
    fits = all(printed_game.dph(0.5 + (p - 0.5) * inside, 0.5, EPSILON) for p in game.marginal_posteriors().ravel())
    level = game.informed_level()
    closed = math.log(2 * math.exp(EPSILON) - 1)
    priors = np.linspace(0.02, 0.98, int(effort.pick(97, 33)))
    levels = [float(implied_level(EPSILON, float(prior)).upper) for prior in priors]
    worst = 1 / (1 + math.exp(EPSILON))
    most = float(implied_level(EPSILON, worst).upper)

    def draw(axes: Any) -> None:
        axes.plot(priors, levels, color=pictures.COLOURS["accent"], label="what the printed set implies")
        axes.axhline(EPSILON, color=pictures.COLOURS["bad"], linestyle="--", label="as printed")
        axes.axhline(2 * EPSILON, color=pictures.COLOURS["muted"], linestyle=":", label="twice epsilon")
        axes.set(xlabel="prior probability of membership", ylabel="epsilon", ylim=(0, 2.3 * EPSILON))
        axes.legend(fontsize=8)

    drawn = pictures.points(
        "game-proposition-6-one",
        "The level that the printed set implies, by prior",
        f"One candidate, epsilon {EPSILON:g}: posteriors inside the printed set allow up to twice that.",
        draw,
    )
    return {
        "game-proposition-6-one": Finding(
            f"One candidate, even prior, epsilon {EPSILON:g}: randomised response at the edge of the printed set is "
            f"{float(level.upper):.4f}-DP and no better. Over priors the set allows up to {max(levels):.4f}, at prior "
            f"{worst:.4f} exactly {most:.4f}.",
            "The set bounds posteriors, not odds: log(2 e^epsilon - 1) at an even prior, and twice epsilon at the "
            "worst prior. Bounded log-odds are equivalent to epsilon-DP.",
            [
                Check("the channel is in the printed set", fits),
                Check(
                    "the channel is epsilon-DP",
                    bool(odds_test(game.channel, EPSILON).holds),
                    printed=f"{EPSILON:g}",
                    ours=f"{float(level.lower):.4f}",
                    disproves=True,
                ),
                Check("its level is log(2 e^epsilon - 1)", math.isclose(float(level.upper), closed, rel_tol=1e-9)),
                Check("the worst prior gives twice epsilon", math.isclose(most, 2 * EPSILON, rel_tol=1e-9)),
            ],
            [drawn],
        )
    }


def two_candidates(effort: Effort) -> dict[str, Finding]:
    """Exclusive or."""
    game = xor()
    posteriors = [float(p) for p in game.marginal_posteriors().ravel()]
    fits = all(printed_game.dph(p, 0.5, 0.0) for p in posteriors)
    level = game.informed_level()
    return {
        "game-proposition-6-xor": Finding(
            f"Two candidates, x = b1 XOR b2: all marginal posteriors are {min(posteriors):g} to {max(posteriors):g}, "
            f"in the printed set for epsilon 0, and the level of differential privacy is {float(level.lower):g}.",
            "Marginal posteriors under one prior do not see what is told to who knows the others. The condition has to "
            "hold given the other memberships, or for every product prior.",
            [
                Check("the channel is in the printed set for epsilon 0", fits),
                Check(
                    "the channel has a finite epsilon",
                    math.isfinite(float(level.upper)),
                    printed="0",
                    ours=f"{float(level.upper):g}",
                    disproves=True,
                ),
                Check("the corrected condition refuses it", not odds_test(game.channel, 100.0).holds),
            ],
        )
    }


def read_jointly(effort: Effort) -> dict[str, Finding]:
    """Three bits with randomised response, the condition read with joint posteriors."""
    lies = 1 / (1 + math.exp(EPSILON))
    bits = list(itertools.product((0, 1), repeat=3))
    channel = [[math.prod(lies if x != y else 1 - lies for x, y in zip(b, z, strict=True)) for z in bits] for b in bits]
    game = FiniteGame([1 / 8] * 8, channel)
    private = bool(odds_test(channel, EPSILON + 1e-12).holds)
    posterior = float((game.joint / game.output_law).max())
    return {
        "game-proposition-6-joint": Finding(
            f"Three bits, each by randomised response at epsilon {EPSILON:g}: differentially private, and one joint "
            f"posterior is {posterior * 8:.4f} times its prior, e^epsilon is {math.exp(EPSILON):.4f}.",
            "Read with posteriors of the whole vector the condition is not even necessary: three people's bits move "
            "together by three times epsilon.",
            [
                Check("the channel is epsilon-DP", private),
                Check(
                    "its joint posteriors are in the printed set",
                    printed_game.dph(posterior, 1 / 8, EPSILON),
                    printed=f"{math.exp(EPSILON):.4f}",
                    ours=f"{posterior * 8:.4f}",
                    disproves=True,
                ),
            ],
        )
    }


STUDIES = (
    alone(
        "game-proposition-6-one",
        "Proposition 6, one candidate",
        "A mechanism is epsilon-DP if and only if posteriors lie between theta e^-epsilon and theta e^epsilon, and the "
        "same for the complement.",
        one_candidate,
        SIX,
    ),
    alone(
        "game-proposition-6-xor",
        "Proposition 6, two candidates",
        "Marginal posteriors in the set for epsilon make the mechanism epsilon-DP.",
        two_candidates,
        SIX,
    ),
    alone(
        "game-proposition-6-joint",
        "Proposition 6, read with joint posteriors",
        "An epsilon-DP mechanism has posteriors in the set for epsilon.",
        read_jointly,
        SIX,
    ),
)
