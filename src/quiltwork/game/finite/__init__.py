"""Membership games on finite sets, in rational numbers: best responses, equilibria, and what the theorems really say.

    FiniteGame             a law of membership vectors and a channel; everything an attacker can reach
    stackelberg, nash      the channel a defender should choose, certified from both sides
    theorems               Propositions 1, 2 and 4, Theorems 2 and 3 and Lemma 1, corrected
    odds_test              Proposition 6 (corrected): odds given all others, and what marginal posteriors imply

Reference: seed 004; theory/game.md sections 1 and 7.
"""

from __future__ import annotations

from quiltwork.game.finite.equilibria.designs import distances
from quiltwork.game.finite.equilibria.equilibria import Equilibrium, nash, stackelberg
from quiltwork.game.finite.game import FiniteGame
from quiltwork.game.finite.membership import exactly_half, independent, uniform
from quiltwork.game.finite.odds import OddsTest, Worst, implied_level, odds_test
from quiltwork.game.finite.theorems.gaussian_tests import GaussianTest, alpha_critical, gaussian_test
from quiltwork.game.finite.theorems.identities import (
    CompositionIdentity,
    LossIdentity,
    PosteriorIdentity,
    Terms,
    bwma_loss_identity,
    composition_identity,
    dominates,
    posterior_identity,
)
from quiltwork.game.measures import ExpectedCounts

__all__ = [
    "CompositionIdentity",
    "Equilibrium",
    "ExpectedCounts",
    "FiniteGame",
    "GaussianTest",
    "LossIdentity",
    "OddsTest",
    "PosteriorIdentity",
    "Terms",
    "Worst",
    "alpha_critical",
    "bwma_loss_identity",
    "composition_identity",
    "distances",
    "dominates",
    "exactly_half",
    "gaussian_test",
    "implied_level",
    "independent",
    "nash",
    "odds_test",
    "posterior_identity",
    "stackelberg",
    "uniform",
]
