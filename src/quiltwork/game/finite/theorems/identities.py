"""Propositions 1, 2 and 4 of seed 004, corrected, and the identity of the posterior, as functions on finite games.

Proposition 4 is about several releases.  For x = (x_1, ..., x_n) of one membership vector b, in nats,

    Lambda = sum_j H(b | x_j) - H(b | x) = (n - 1) H(b) - TC(x) + TC(x | b),

where TC(x) = sum_j H(x_j) - H(x) is the total correlation and TC(x | b) its mean given b.  Equivalently
I(b; x) = sum_j I(b; x_j) - TC(x) + TC(x | b): releases that are independent given b are sub-additive, noise that
cancels between releases (TC(x | b) > TC(x)) is not.  The same holds for each b_k alone, and summed for the factorised
loss.

Reference: seed 004 section 3 and Proposition 4, corrected in theory/game.md section 1; Watanabe 1960 (total
correlation).
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.errors import InvalidParameter
from quiltwork.game.finite.game import FiniteGame, entropy, given_output, total_correlation
from quiltwork.game.finite.membership import bits, individuals
from quiltwork.game.finite.theorems.gaussian_tests import beta_at
from quiltwork.game.measures import ExpectedCounts
from quiltwork.kinds import document
from quiltwork.numbers.laws import Number, Table, doubles, is_exact, read_laws, read_table

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


ROUNDING = 1e-12  # nats: what is below may be rounding of the sums


@document("composition_terms/1")
@attrs.frozen
class Terms:
    """Every term of the identity, for one secret variable, in nats."""

    entropy: float  # H(b)
    entropy_given_all: float  # H(b | x)
    entropies_given_each: tuple[float, ...]  # H(b | x_j)
    total_correlation: float  # TC(x)
    conditional_total_correlation: float  # TC(x | b)

    @property
    def releases(self) -> int:
        """n."""
        return len(self.entropies_given_each)

    @property
    def overlap(self) -> float:
        """Lambda = sum_j H(b | x_j) - H(b | x), from the left side."""
        return math.fsum((*self.entropies_given_each, -self.entropy_given_all))

    @property
    def overlap_from_correlations(self) -> float:
        """Lambda = (n - 1) H(b) - TC(x) + TC(x | b), from the right side."""
        return math.fsum(
            (*([self.entropy] * (self.releases - 1)), -self.total_correlation, self.conditional_total_correlation)
        )

    @property
    def information(self) -> float:
        """I(b; x)."""
        return self.entropy - self.entropy_given_all

    @property
    def informations(self) -> tuple[float, ...]:
        """I(b; x_j)."""
        return tuple(self.entropy - given for given in self.entropies_given_each)

    @property
    def excess(self) -> float:
        """I(b; x) - sum_j I(b; x_j) = TC(x | b) - TC(x)."""
        return self.conditional_total_correlation - self.total_correlation

    @property
    def sub_additive(self) -> bool:
        """Whether all releases tell at most what they tell one by one, up to rounding of 1e-12."""
        return self.excess <= ROUNDING


@document("composition_identity/1")
@attrs.frozen
class CompositionIdentity:
    """The identity for the whole membership vector and for each candidate; the factorised loss sums the latter."""

    joint: Terms
    individuals: tuple[Terms, ...]

    @property
    def overlap(self) -> float:
        """Lambda of the joint loss."""
        return self.joint.overlap

    @property
    def factorised_overlap(self) -> float:
        """Lambda of the factorised loss: sum_j sum_k H(b_k | x_j) - sum_k H(b_k | x)."""
        return math.fsum(terms.overlap for terms in self.individuals)

    @property
    def sub_additive(self) -> bool:
        """Of the joint loss."""
        return self.joint.sub_additive

    @property
    def factorised_sub_additive(self) -> bool:
        """Of the factorised loss: the excesses of all candidates sum to at most 0, up to rounding."""
        return math.fsum(terms.excess for terms in self.individuals) <= ROUNDING


def composition_identity(joint: Any, prior: Any) -> CompositionIdentity:
    """All terms of the corrected Proposition 4 for P(x_1, ..., x_n | b), an array with the axes [b, x_1, ..., x_n].

    >>> lie = np.array([[0.9, 0.1], [0.1, 0.9]])
    >>> twice = np.einsum("bx,by->bxy", lie, lie)
    >>> found = composition_identity(twice, [0.5, 0.5])
    >>> round(found.overlap, 6), round(found.joint.overlap_from_correlations, 6), found.sub_additive
    (0.471393, 0.471393, True)
    """
    law = doubles(read_laws("prior", prior, 1, "probabilities of the 2^K membership vectors"))
    people = individuals(len(law))
    table = _table(joint, len(law))
    masses = law.reshape(-1, *[1] * (table.ndim - 1)) * table
    members = bits(people)
    alone = [np.stack([masses[members[:, k] == value].sum(axis=0) for value in (0, 1)]) for k in range(people)]
    return CompositionIdentity(_terms(masses), tuple(_terms(pair) for pair in alone))


def _table(joint: Any, secrets: int) -> FloatArray:
    allowed = "an array [b, x_1, ..., x_n] of P(x_1, ..., x_n | b), with at least one release"
    given = np.asarray(joint) if isinstance(joint, np.ndarray) else np.array(joint, dtype=object)
    if given.ndim < 2 or not given.size:
        raise InvalidParameter("the shape of joint", given.shape, allowed)
    if len(given) != secrets:
        raise InvalidParameter("the rows of joint", len(given), f"{secrets}, one a secret")
    flat = read_laws("joint", given.reshape(secrets, -1), 2, allowed)
    return doubles(flat).reshape(given.shape)


def _terms(masses: FloatArray) -> Terms:
    """From P(b, x_1, ..., x_n), b on the first axis."""
    count = masses.ndim - 1
    law = masses.reshape(len(masses), -1).sum(axis=1)
    each = []
    for release in range(count):
        others = tuple(axis + 1 for axis in range(count) if axis != release)
        each.append(given_output(masses.sum(axis=others)))
    conditional = math.fsum(
        mass * total_correlation(rows / mass) for mass, rows in zip(law, masses, strict=True) if mass > 0
    )
    return Terms(
        entropy(law),
        given_output(masses.reshape(len(masses), -1)),
        tuple(each),
        total_correlation(masses.sum(axis=0)),
        conditional,
    )
