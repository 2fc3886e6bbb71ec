"""A membership game on finite sets: who may be in the data, and what is published when they are.

theta(b) is the law of the membership vector b in {0, 1}^K, R(x | b) that of the release.  With J = theta R, everything
an attacker of any taste can reach is a sum over outputs: of (A_k - gamma P)_+ for the advantage, of A_k^2 / P for the
posterior that samples, of entropies for the cross-entropy loss, where P(x) = sum_b J and A_k(x) = sum_b b_k J.

Reference: seed 004 section 3; theory/game.md section 1.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property
from typing import Any

import attrs
import numpy as np

from quiltwork import checks
from quiltwork.checks import FloatArray, settle
from quiltwork.compose.constructors import pair
from quiltwork.compose.loss import Loss
from quiltwork.curves import Bracket, TradeOff
from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.game.finite.membership import bits, independent, individuals, summary_channel, uniform
from quiltwork.game.finite.odds import STATED, Worst, worst_informed, worst_of_laws
from quiltwork.game.finite.theorems.gaussian_tests import Vertex, trade_off_of, vertices_of
from quiltwork.game.measures import ExpectedCounts
from quiltwork.kinds import document
from quiltwork.numbers.laws import Number, Table, doubles, is_exact, number, read_laws, read_table
from quiltwork.numbers.stated import typed

_PRIOR = "probabilities of the 2^K membership vectors, of sum 1"
_CHANNEL = "a table of 2^K laws, one a membership vector"
_RULE = "a table of probabilities in [0, 1], one row a candidate, one column an output"


def _prior(value: Any) -> Table:
    return read_laws("prior", value, 1, _PRIOR)


def _channel(value: Any) -> Table:
    return read_laws("channel", value, 2, _CHANNEL)


def _labels(value: Any) -> tuple[Any, ...]:
    return tuple(value)


def weight_of(gamma: Any) -> Fraction:
    """What a false alarm weighs against a member found."""
    weight = typed(number("gamma", gamma))
    if not 0 <= weight <= 1:
        raise InvalidParameter("gamma", gamma, "in [0, 1]")
    return weight


@document("finite_game/1")
@attrs.frozen(eq=False, slots=False)
class FiniteGame:
    """A law of membership vectors (in the order of itertools.product) and a channel, one row a vector.

    Fractions, whole numbers and texts such as "1/4" keep everything exact; one float anywhere makes it doubles.

    >>> coin = FiniteGame(["1/2", "1/2"], [["3/4", "1/4"], ["1/4", "3/4"]])
    >>> coin.max_bwma("1/2"), coin.advantages(), coin.informed_odds()
    (Fraction(1, 8), (Fraction(1, 2),), Fraction(3, 1))
    """

    prior: Table = attrs.field(converter=_prior)
    channel: Table = attrs.field(converter=_channel)
    outputs: tuple[Any, ...] = attrs.field(default=(), converter=_labels)

    def __attrs_post_init__(self) -> None:
        individuals(len(self.prior))
        if len(self.channel) != len(self.prior):
            raise InvalidParameter("the rows of channel", len(self.channel), f"{len(self.prior)}, one a secret")
        if not self.outputs:
            settle(self, outputs=tuple(range(self.channel.shape[1])))
        if len(self.outputs) != self.channel.shape[1]:
            raise InvalidParameter("the number of outputs", len(self.outputs), f"{self.channel.shape[1]}, one a column")
        if is_exact(self.prior) != is_exact(self.channel):
            settle(self, prior=doubles(self.prior), channel=doubles(self.channel))
        for table in (self.prior, self.channel):
            table.setflags(write=False)

    @classmethod
    def summary(cls, rows: Any, noise: Any = ((0, 1),), prior: Any = None, *, clip: bool = False) -> FiniteGame:
        """The mean of the members' rows plus independent noise for each attribute; no members give 0.

        `noise` lists (value, probability); `prior` is uniform unless given; with `clip` outputs stay in [0, 1].

        >>> game = FiniteGame.summary([[1], [0]], [("-1/4", "1/4"), (0, "1/2"), ("1/4", "1/4")])
        >>> len(game.outputs), game.max_bwma("1/2")
        (7, Fraction(5, 16))
        """
        channel, outputs = summary_channel(rows, noise, checks.flag("clip", clip))
        law = uniform(individuals(len(channel))) if prior is None else prior
        return cls(law, channel, outputs)

    @classmethod
    def product_prior(cls, rates: Any, channel: Any, outputs: tuple[Any, ...] = ()) -> FiniteGame:
        """Each candidate is a member by a coin of its own, with the rates given."""
        return cls(independent(rates), channel, outputs)

    # ---- who and what

    @property
    def exact(self) -> bool:
        """Whether all numbers are fractions."""
        return is_exact(self.prior)

    @property
    def candidates(self) -> int:
        """K."""
        return individuals(len(self.prior))

    @property
    def secrets(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """The membership vectors, one a row."""
        return bits(self.candidates)

    @cached_property
    def joint(self) -> Table:
        """J(b, x) = theta(b) R(x | b)."""
        return np.asarray(self.prior[:, None] * self.channel)

    @cached_property
    def output_law(self) -> Table:
        """P(x)."""
        return np.asarray(self.joint.sum(axis=0))

    @cached_property
    def member_masses(self) -> Table:
        """A[k, x] = P(b_k = 1, x)."""
        return np.asarray(self.secrets.T @ self.joint)

    @cached_property
    def other_masses(self) -> Table:
        """P(b_k = 0, x): a sum of its own, since P - A would lose what is small."""
        return np.asarray((1 - self.secrets.T) @ self.joint)

    @property
    def rates(self) -> Table:
        """theta_k = P(b_k = 1)."""
        return np.asarray(self.secrets.T @ self.prior)

    # ---- the attacker

    def marginal_posteriors(self) -> Table:
        """P(b_k = 1 | x), one row a candidate; at an output that never happens, the prior rate."""
        never = self.output_law == 0
        safe = self.output_law + never  # a one where there would be a zero
        return np.asarray(np.where(never[None, :], self.rates[:, None], self.member_masses / safe))

    def best_response(self, gamma: Any) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """s_k(x) = 1{P(b_k = 1 | x) > gamma}: the rule that maximises the advantage among all that see x only."""
        return np.asarray(self.member_masses > self._threshold(gamma), dtype=np.bool_)

    def max_bwma(self, gamma: Any) -> Number:
        """The largest BWMA(gamma) of any rule: sum_kx (A_k(x) - gamma P(x))_+."""
        gains = self.member_masses - self._threshold(gamma)
        return self._number(np.where(gains > 0, gains, 0).sum())

    def bwma_of(self, rule: Any, gamma: Any) -> ExpectedCounts:
        """What a rule s_k(x) reaches: probabilities of saying member, or an array of booleans, one row a candidate."""
        given = rule.astype(int) if isinstance(rule, np.ndarray) and rule.dtype == np.bool_ else rule
        table = read_table("rule", given, 2, _RULE)
        if table.shape != self.member_masses.shape:
            raise InvalidParameter("the shape of rule", table.shape, f"{self.member_masses.shape}: {_RULE}")
        if bool((table < 0).any()) or bool((table > 1).any()):
            raise InvalidParameter("rule", "entries outside [0, 1]", _RULE)
        if not (is_exact(table) and self.exact):
            table = doubles(table)
        true, false = (table * self.member_masses).sum(), (table * self.other_masses).sum()
        return ExpectedCounts(self._number(true), self._number(false), self._weight(gamma))

    def advantages(self) -> tuple[Number, ...]:
        """Adv_k: the total variation between the releases with and without candidate k, each under the prior."""
        pairs = (self.conditional_laws(k) for k in range(self.candidates))
        return tuple(self._number(abs(member - other).sum()) / 2 for other, member in pairs)

    def sum_squared_posteriors(self) -> Number:
        """sum_k E[p_k^2] with p the posterior: also E[sum_k p_k b_k], the true positives of posterior sampling."""
        possible = self.output_law > 0
        return self._number((self.member_masses[:, possible] ** 2 / self.output_law[possible]).sum())

    def cel_joint(self) -> float:
        """H(b | x) in nats: what the cross-entropy loss of the best joint attacker is."""
        return given_output(doubles(self.joint))

    def cel_factorised(self) -> float:
        """sum_k H(b_k | x) in nats: the least binary cross-entropy, which is at least H(b | x)."""
        pairs = zip(doubles(self.other_masses), doubles(self.member_masses), strict=True)
        return math.fsum(given_output(np.stack(pair)) for pair in pairs)

    # ---- one candidate

    def conditional_laws(self, k: int) -> tuple[Table, Table]:
        """The laws of the release given b_k = 0 and given b_k = 1."""
        place = self._place(k)
        member = self.rates[place]
        other = ((1 - self.secrets[:, place]) * self.prior).sum()
        if member == 0 or other == 0:
            raise Unsupported(
                f"a test about candidate {place}", "its membership is certain under the prior", "choose another prior"
            )
        return np.asarray(self.other_masses[place] / other), np.asarray(self.member_masses[place] / member)

    def vertices(self, k: int) -> tuple[Vertex, ...]:
        """The trade-off function of candidate k, b_k = 0 against b_k = 1: its vertices (alpha, beta)."""
        return vertices_of(*self.conditional_laws(k))

    def trade_off(self, k: int) -> TradeOff:
        """The same as a curve of floats, never above the truth and off by rounding only."""
        return trade_off_of(*self.conditional_laws(k))

    def loss(self, k: int) -> Loss:
        """The pair of laws of candidate k as a loss, to be composed with others."""
        other, member = self.conditional_laws(k)
        return pair(doubles(member).tolist(), doubles(other).tolist())

    # ---- levels of pure differential privacy

    def worst_informed(self) -> Worst:
        """The largest odds ratio given b_-k, and where; every neighbouring pair counts, whatever its prior."""
        return worst_informed(self.channel)

    def informed_odds(self) -> Number:
        """e^epsilon of the channel: exact in an exact game, infinite where supports differ."""
        return self.worst_informed().odds

    def informed_level(self) -> Bracket:
        """The epsilon of the channel as a differentially private release."""
        return self.worst_informed().level

    def worst_marginal(self) -> Worst:
        """The largest odds ratio between P(x | b_k = 1) and P(x | b_k = 0): what an uninformed attacker sees."""
        found = [(*worst_of_laws(*self.conditional_laws(k)), k) for k in range(self.candidates)]
        odds, output, k = max(found, key=lambda item: item[0])
        return Worst(odds, k, output, units=STATED + 4.0 * len(self.prior))

    def marginal_level(self) -> Bracket:
        """max |logit P(b_k = 1 | x) - logit theta_k|: never a level of differential privacy, see Proposition 6."""
        return self.worst_marginal().level

    # ---- other games

    def after(self, processing: Any) -> FiniteGame:
        """The game after post-processing, one row of `processing` an output (Proposition 3: no attacker gains)."""
        allowed = f"a table of {len(self.outputs)} laws, one an output"
        table = read_laws("processing", processing, 2, allowed)
        if len(table) != len(self.outputs):
            raise InvalidParameter("the rows of processing", len(table), allowed)
        if not (self.exact and is_exact(table)):
            return FiniteGame(doubles(self.prior), doubles(self.channel) @ doubles(table))
        return FiniteGame(self.prior, self.channel @ table)

    def __str__(self) -> str:
        kind = "fractions" if self.exact else "floats"
        return f"finite game: {self.candidates} candidates, {len(self.outputs)} outputs, in {kind}"

    __repr__ = __str__

    # ---- small things

    def _threshold(self, gamma: Any) -> Table:
        weight: Any = self._weight(gamma)
        return np.asarray(weight * self.output_law)

    def _number(self, value: Any) -> Number:
        return Fraction(value) if self.exact and not isinstance(value, float) else float(value)

    def _weight(self, gamma: Any) -> Number:
        weight = weight_of(gamma)
        return weight if self.exact else float(weight)

    def _place(self, k: Any) -> int:
        place = checks.count("k", k)
        if place >= self.candidates:
            raise InvalidParameter("k", k, f"a candidate from 0 to {self.candidates - 1}")
        return place


# ---- entropies of finite laws in nats, as correctly rounded sums of terms that do not cancel


def entropy(law: FloatArray) -> float:
    """-sum p log p over all entries, whatever the shape.

    >>> round(entropy(np.array([0.5, 0.5])), 12)
    0.69314718056
    """
    masses = np.ravel(law)
    masses = masses[masses > 0]
    return math.fsum(-masses * np.log(masses))


def given_output(joint: FloatArray) -> float:
    """H(row | column) = -sum J log(J / P), where P are the sums of the columns."""
    law = joint.sum(axis=0)
    possible = joint > 0
    ratio = (joint / np.where(law > 0, law, 1.0))[possible]
    return math.fsum(-joint[possible] * np.log(np.minimum(ratio, 1.0)))


def total_correlation(law: FloatArray) -> float:
    """sum_j H(x_j) - H(x) = sum P log(P / prod_j P_j), over a table with one axis for each x_j."""
    product = np.ones(())
    for axis in range(law.ndim):
        others = tuple(other for other in range(law.ndim) if other != axis)
        product = product[..., None] * law.sum(axis=others)
    possible = law > 0
    return math.fsum(law[possible] * np.log(law[possible] / product[possible]))
