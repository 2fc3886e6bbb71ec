"""What several releases tell together: Proposition 4 of seed 004, corrected, with all its terms.

For releases x = (x_1, ..., x_n) of one membership vector b, in nats,

    Lambda = sum_j H(b | x_j) - H(b | x) = (n - 1) H(b) - TC(x) + TC(x | b),

where TC(x) = sum_j H(x_j) - H(x) is the total correlation and TC(x | b) its mean given b.  Equivalently
I(b; x) = sum_j I(b; x_j) - TC(x) + TC(x | b): releases that are independent given b are sub-additive, noise that
cancels between releases (TC(x | b) > TC(x)) is not.  The same holds for each b_k alone, and summed for the factorised
loss.

Reference: seed 004 Proposition 4, corrected in theory/game.md section 1; Watanabe 1960 (total correlation).
"""

from __future__ import annotations

import math
from typing import Any

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.errors import InvalidParameter
from quiltwork.game.finite.game import entropy, given_output, total_correlation
from quiltwork.game.finite.membership import bits, individuals
from quiltwork.kinds import document
from quiltwork.numbers.laws import doubles, read_laws

__all__ = ["CompositionIdentity", "Terms", "composition_identity"]

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
