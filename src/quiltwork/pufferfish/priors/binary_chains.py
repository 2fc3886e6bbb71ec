"""All stationary binary chains whose two probabilities of staying lie in a box: two corners decide.

Let P = [[p, 1-p], [1-q, q]], alpha = 1-p, beta = 1-q, lambda = 1 - alpha - beta.  An entry at distance d tells

    D01(d) = max over y of log P^d[0, y] / P^d[1, y],    D10(d) the same with 0 and 1 exchanged.

Lemma.  For every d, D01 and D10 fall in alpha and in beta where lambda >= 0, and rise in both where lambda <= 0.

Proof.  Let G = 1 + lambda + ... + lambda^(d-1) and h = 1/G, a function of alpha + beta alone.  Then P^d[0, 1] = alpha G
and P^d[1, 0] = beta G, so that D01 = max(log (h - alpha) / beta, log alpha / (h - beta)); the first is the larger one
when lambda^d >= 0.  Write h' for the derivative of h by alpha, which is also that by beta.

- lambda >= 0: h' <= 1 says (d+1) lambda <= d + lambda^(d+1), which is Bernoulli's inequality, so h - alpha falls in
  alpha.  In beta the ratio is (1 + lambda^d alpha/beta) / (1 - lambda^d), and lambda and 1/beta both fall.
- lambda = -m <= 0, d even, h = (1+m) / (1 - m^d): h' >= 1, so h - alpha rises in alpha.  In beta the ratio rises if
  beta (h' - 1) >= h - alpha - beta = (1+m) m^d / (1 - m^d); beta >= m and h' - 1 >= (1+m) d m^(d-1) / (1 - m^d)^2 do.
- lambda = -m <= 0, d odd, h = (1+m) / (1 + m^d): h' <= 1, so h - beta falls in beta and the ratio rises.  In alpha it
  rises if alpha (1 - h') >= alpha + beta - h = (1+m) m^d / (1 + m^d), where
  1 - h' = (m^d (1 + m^d) + (1+m) d m^(d-1)) / (1 + m^d)^2: put alpha >= m, with equality at d = 1, alpha = m.  []

Sums, minima over splits and ends that are covered keep the order, so a(b) is largest at (p_hi, q_hi) or (p_lo, q_lo).
Propagation keeps it, too: with slopes e + S01 and e + S10 a step gives, for lambda >= 0,
S01' = log (1 - alpha w) / (1 - (1-beta) w), w = 1 - exp(-(e + S01)), which falls in alpha and in beta, and for
lambda <= 0, S01' = log (1 + alpha z) / (1 + (1-beta) z), z = exp(e + S10) - 1, which rises.  A stationary binary chain
is its own reversal, so both sides are alike.  Finally a channel from two values to two values is the more telling one
in every respect (Blackwell) when both of its largest ratios are larger; so what the two nearest entries tell is also
decided by the corners.

Reference: theory/pufferfish.md 4.1 and 4.2, where the corner was observed on a grid.
"""

from __future__ import annotations

from collections.abc import Hashable
from functools import cached_property
from typing import Any

import attrs

from quiltwork import checks
from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.kinds import document
from quiltwork.pufferfish.prior import ChainPrior, Prior, SamePrior
from quiltwork.pufferfish.priors.any_of import AnyOf
from quiltwork.pufferfish.priors.chain.chain import MarkovChain
from quiltwork.pufferfish.secrets import EntryValues, Secrets


def _interval(name: str, value: Any) -> tuple[float, float]:
    allowed = "(low, high) with 0 < low <= high < 1"
    try:
        low, high = value
    except (TypeError, ValueError):
        raise InvalidParameter(name, value, allowed) from None
    bounds = checks.real(name, low, allowed), checks.real(name, high, allowed)
    if not 0.0 < bounds[0] <= bounds[1] < 1.0:
        raise InvalidParameter(name, value, allowed)
    return bounds


def _interval_p(value: Any) -> tuple[float, float]:
    return _interval("p", value)


def _interval_q(value: Any) -> tuple[float, float]:
    return _interval("q", value)


@document("binary_chains/1")
@attrs.frozen(eq=False, repr=False)
class BinaryChains(ChainPrior, SamePrior):
    """Every stationary chain [[p, 1-p], [1-q, q]] with p and q in these intervals.

    >>> chains = BinaryChains(p=(0.55, 0.95), q=(0.55, 0.95))
    >>> [round(float(value), 4) for value in chains.influence(3).values]
    [5.8889, 5.1985, 4.5081]
    """

    p: tuple[float, float] = attrs.field(converter=_interval_p)
    q: tuple[float, float] = attrs.field(converter=_interval_q)
    length: int | None = None
    states: tuple[Hashable, ...] = attrs.field(default=None)

    def __attrs_post_init__(self) -> None:
        _ = self.corners  # checks length and states at once

    @cached_property
    def corners(self) -> AnyOf:
        """The chain that stays the most and the one that stays the least; both belong to the set."""
        ends = dict.fromkeys(((self.p[1], self.q[1]), (self.p[0], self.q[0])))
        return AnyOf([MarkovChain([[p, 1 - p], [1 - q, q]], length=self.length, states=self.states) for p, q in ends])

    @property
    def words(self) -> str:
        count = f"{self.length} entries follow" if self.length else "the entries follow"
        ranges = f"{self.p[0]:g} to {self.p[1]:g} and {self.q[0]:g} to {self.q[1]:g}"
        return f"{count} some stationary Markov chain of two states that stays with probability {ranges}"

    def __repr__(self) -> str:
        return f"<BinaryChains p in {list(self.p)}, q in {list(self.q)}, {self._long()}>"

    @property
    def _same(self) -> Prior:
        """The two corners: no other chain of the set tells more, and propagation is exact, since both belong to it."""
        return self.corners

    def check(self, secrets: Secrets | None = None) -> None:
        """Values of single entries alone."""
        if secrets is not None and not isinstance(secrets, EntryValues):
            raise Unsupported(
                "secrets about several entries of a box of chains",
                "the corners are known to be the worst chains for single entries only",
                "use AnyOf([MarkovChain(...), ...]) for chosen chains",
            )
        self.corners.check(secrets)
