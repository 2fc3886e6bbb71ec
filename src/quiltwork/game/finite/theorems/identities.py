"""Propositions 1 and 2 of seed 004 and the identity of the posterior, as functions on finite games.

Reference: seed 004 section 3; theory/game.md section 1.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import attrs

from quiltwork.errors import InvalidParameter
from quiltwork.game.finite.game import FiniteGame
from quiltwork.game.finite.theorems.gaussian_tests import beta_at
from quiltwork.game.measures.advantage import ExpectedCounts
from quiltwork.kinds import document
from quiltwork.numbers.laws import Number, Table, doubles, is_exact, read_laws, read_table

__all__ = ["LossIdentity", "PosteriorIdentity", "bwma_loss_identity", "dominates", "posterior_identity"]

NEAR = 1e-12  # by how much a trade-off function of floats may be above another and still count as equal


@document("loss_identity/1")
@attrs.frozen
class LossIdentity:
    """Both sides of Proposition 1: the attacker's loss, and the advantage of the same strategy."""

    loss: Number
    counts: ExpectedCounts

    @property
    def residual(self) -> Number:
        """L_A + BWMA, which is zero."""
        return self.loss + self.counts.advantage


@document("posterior_identity/1")
@attrs.frozen
class PosteriorIdentity:
    """E[sum_k p_k b_k] on the left and sum_k E[p_k^2] on the right, p the marginal posterior."""

    true_positives: Number
    squared_posteriors: Number


def bwma_loss_identity(game: FiniteGame, strategy: Any, gamma: Any) -> LossIdentity:
    """Proposition 1: L_A = E[-sum_k s_k b_k + gamma sum_k s_k] = -BWMA(gamma), with counts and not rates.

    `strategy` has one row a guess s in {0, 1}^K (in the order of itertools.product) and one column an output; columns
    are laws.

    >>> game = FiniteGame(["1/2", "1/2"], [["3/4", "1/4"], ["1/4", "3/4"]])
    >>> bwma_loss_identity(game, [[1, "1/3"], [0, "2/3"]], "1/4").loss
    Fraction(-1, 6)
    """
    shape = game.channel.shape
    allowed = f"a table of shape {shape} whose columns are laws over guesses"
    given = read_table("strategy", strategy, 2, allowed)
    if given.shape != shape:
        raise InvalidParameter("the shape of strategy", given.shape, allowed)
    table: Table = read_laws("strategy", given.T, 2, allowed).T
    if not (game.exact and is_exact(table)):
        table = doubles(table)
    guesses = game.secrets
    counts = game.bwma_of(guesses.T @ table, gamma)
    weight: Any = counts.gamma
    pays = -(guesses @ guesses.T) + weight * guesses.sum(axis=1)[:, None]  # (s, b)
    # the loss from its definition: over guesses, secrets and outputs, not by way of the counts
    loss = (pays.T * (game.joint @ table.T)).sum()
    return LossIdentity(Fraction(loss) if isinstance(loss, Fraction | int) else float(loss), counts)


def dominates(game: FiniteGame, other: FiniteGame, k: int | None = None) -> bool:
    """Whether an attacker of `game` does at least as well as one of `other`, about candidate k, or about each.

    Proposition 2, corrected: under one prior rate, BWMA_k(gamma) of one is at least that of the other for *every*
    gamma in (0, 1) if and only if the trade-off function of candidate k is nowhere above.  Neither advantages at
    gamma = 1/2 nor sums over candidates decide it.  Both functions are piecewise linear and convex, so the vertices of
    `other` suffice; floats are compared up to 1e-12.
    """
    if game.candidates != other.candidates:
        counts = (game.candidates, other.candidates)
        raise InvalidParameter("the numbers of candidates", counts, "the same in both games")
    slack: Number = 0 if game.exact and other.exact else NEAR
    people = range(game.candidates) if k is None else [k]
    return all(
        beta_at(game.vertices(person), alpha) <= beta + slack
        for person in people
        for alpha, beta in other.vertices(person)
    )


def posterior_identity(game: FiniteGame) -> PosteriorIdentity:
    """The true positives of posterior sampling, which are the sum of mean squared posteriors.

    >>> game = FiniteGame(["1/2", "1/2"], [["3/4", "1/4"], ["1/4", "3/4"]])
    >>> posterior_identity(game)
    PosteriorIdentity(true_positives=Fraction(5, 16), squared_posteriors=Fraction(5, 16))
    """
    counts = game.bwma_of(game.marginal_posteriors(), Fraction(1, 2))
    return PosteriorIdentity(counts.expected_true_positives, game.sum_squared_posteriors())
