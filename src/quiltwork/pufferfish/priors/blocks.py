"""Entries that do not tell about each other, or only within blocks such as households."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import attrs
import numpy as np

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.kinds import document
from quiltwork.numbers.rounding import UNIT, down, log_sum, up
from quiltwork.pufferfish.prior import Atoms, Prior, Translation
from quiltwork.pufferfish.secrets import EntryValues, JointValues, Secrets
from quiltwork.pufferfish.translation.influence import InfluenceCurve

MOST_ENTRIES = 10_000  # in a block: the sums below are exact enough up to here
MOST_COUNTED = 2000  # in a query that shows what is really leaked
PRODUCT = "entries are independent, so that only those of the secret tell about it"
NAMES = ("any entry: 0 against 1", "any entry: 1 against 0")  # of the two cases
MIXTURE = "exchangeable blocks are log-supermodular, so that e^(eps N) is the worst event"

Bounds = tuple[FloatArray, FloatArray]


def _optional_entries(value: Any) -> int | None:
    return None if value is None else checks.count("entries", value, least=1)


def _size(value: Any) -> int:
    return checks.count("size", value, least=1)


def _count(value: Any) -> int:
    return checks.count("count", value, least=1)


def _alpha(value: Any) -> float:
    return checks.moderate("alpha", value)


def _beta(value: Any) -> float:
    return checks.moderate("beta", value)


@document("independent_entries/1")
@attrs.frozen(repr=False)
class Independent(Prior):
    """Every law under which the entries are independent, whatever their values.

    A secret about one entry has a(1) = 0: ordinary differential privacy.  Values of several entries together cost one
    epsilon for each entry in which they differ.
    """

    entries: int | None = attrs.field(default=None, converter=_optional_entries)  # the number of them, if it matters

    @property
    def words(self) -> str:
        return "the entries are independent"

    def __repr__(self) -> str:
        return "<Independent entries>" if self.entries is None else f"<Independent, {self.entries} entries>"

    def influence(self, max_size: int | None = None, secrets: Secrets | None = None) -> InfluenceCurve:
        """0 as soon as the entries in which the secrets differ are hidden, infinite before."""
        needed = self._needed(secrets)
        largest = needed if max_size is None else min(checks.count("max_size", max_size, least=1), needed)
        sizes = np.arange(1, largest + 1)
        return InfluenceCurve(
            sizes, np.where(sizes < needed, np.inf, 0.0)[None], "exact", name_of=lambda _: "every entry", method=PRODUCT
        )

    def translations(self, secrets: Secrets | None = None) -> tuple[Translation, ...]:
        """One epsilon for each entry in which the secrets differ, attained by randomised response."""
        needed = self._needed(secrets)

        def epsilons(per_entry: float) -> FloatArray:
            return np.array([per_entry if needed == 1 else up(needed * per_entry)])

        return (Translation("independent", PRODUCT, epsilons, exact=True),)

    def atoms(self, case: int, size: int, secrets: Secrets | None = None) -> Atoms:
        """Nothing is told from outside."""
        needed = self._needed(secrets)
        if case:
            raise InvalidParameter("case", case, "0: all cases are alike")
        loss = 0.0 if checks.count("size", size, least=1) >= needed else np.inf
        return Atoms(np.ones(1), np.array([loss]))

    def query_laws(self, case: int, secrets: Secrets | None = None) -> tuple[FloatArray, FloatArray]:
        """How many entries of the secret have its first value: all of them, or none."""
        nothing = np.eye(self._needed(secrets) + 1)[0]
        return nothing[::-1], nothing

    def check(self, secrets: Secrets | None = None) -> None:
        """Values of entries that there are, alone or together."""
        self._needed(secrets)

    def _needed(self, secrets: Secrets | None) -> int:
        """The largest number of entries in which two secrets differ."""
        if not isinstance(secrets, EntryValues | JointValues | None):
            raise Unsupported("a function of all entries as a secret", "their law is not known", "use JointLaw")
        named = () if secrets is None or secrets.entries is None else secrets.entries
        for entry in named:
            if self.entries is not None and entry >= self.entries:
                raise InvalidParameter("entry", entry, f"from 0 to {self.entries - 1}")
        if not isinstance(secrets, JointValues):
            return 1
        if secrets.pairs is None:
            return max(len(named), 1)
        for pair in secrets.pairs:
            if any(not isinstance(one, tuple) or len(one) != len(named) for one in pair):
                raise InvalidParameter("pairs", pair, f"tuples of a value for each of the entries {named}")
        return max(sum(bool(u != v) for u, v in zip(one, two, strict=True)) for one, two in secrets.pairs)


@document("blocks_prior/1")
@attrs.frozen(eq=False)
class Blocks(Prior):
    """Independent blocks of `size` binary entries, each block with its own rate, drawn from Beta(alpha, beta).

    A rate is the probability of a 1 and is not known to anyone: households in which an illness spreads, say.  With b of
    g entries hidden, a(b) = log(1 + (g-b)/alpha) for the secrets (1, 0) and log(1 + (g-b)/beta) for (0, 1): the odds of
    x_i = 1 after k ones among m others are (alpha + k) / (beta + m - k), at most (alpha + m) / beta.

    >>> Blocks(7, 1.0, 4.0).influence().values.round(6).tolist()[:3]
    [1.94591, 1.791759, 1.609438]

    Reference: theory/pufferfish.md 3.4, 4.4.
    """

    size: int = attrs.field(converter=_size)
    alpha: float = attrs.field(converter=_alpha)
    beta: float = attrs.field(converter=_beta)
    count: int = attrs.field(default=1, converter=_count)

    def __attrs_post_init__(self) -> None:
        if self.size > MOST_ENTRIES:
            raise InvalidParameter("size", self.size, f"at most {MOST_ENTRIES} entries in a block")

    @property
    def entries(self) -> int:
        return self.size * self.count

    @property
    def words(self) -> str:
        one = f"{self.count} independent blocks" if self.count > 1 else "one block"
        return f"the entries form {one} of {self.size}, with rates from Beta({self.alpha:g}, {self.beta:g})"

    def influence(self, max_size: int | None = None, secrets: Secrets | None = None) -> InfluenceCurve:
        """a(b) in closed form; the cases are (0, 1) and (1, 0), alike for every entry."""
        self.check(secrets)
        largest = self.size if max_size is None else min(checks.count("max_size", max_size, least=1), self.size)
        sizes = np.arange(1, largest + 1)
        left = self.size - sizes
        curve = np.stack([up(np.log1p(left / one) * (1.0 + 16.0 * UNIT)) for one in (self.beta, self.alpha)])
        return InfluenceCurve(
            sizes, np.where(left == 0, 0.0, curve), "exact", name_of=NAMES.__getitem__, method="beta-binomial blocks"
        )

    def translations(self, secrets: Secrets | None = None) -> tuple[Translation, ...]:
        """eps + log of the ratio of two moment generating functions of the sum of the others."""
        self.check(secrets)
        return (Translation("beta-binomial", MIXTURE, self._leaks, exact=True),)

    def atoms(self, case: int, size: int, secrets: Secrets | None = None) -> Atoms:
        """The law of the sum outside H given the first secret, rounded up."""
        self.check(secrets)
        if checks.count("case", case) > 1:
            raise InvalidParameter("case", case, "0 for (0, 1) or 1 for (1, 0)")
        hidden = min(checks.count("size", size, least=1), self.size)
        others = self.size - hidden
        alpha, beta = self._rates(case)
        ones = np.arange(others + 1.0)  # others that agree with the first secret
        odds = (alpha + ones) / alpha * (beta / (beta + (others - ones)))
        logs, errors = _sum_law(others, alpha + 1.0, beta)
        weights = np.exp(logs - log_sum(logs))
        relative = 2.1 * float(errors.max()) + (2.0 * others + 32.0 + 8.0 * float(np.abs(logs).max())) * UNIT
        losses = np.log(odds)
        losses = up(losses + 12.0 * UNIT * (1.0 + np.abs(losses))) if others else np.zeros(1)
        weights = up(weights * (1.0 + relative)) if others else np.ones(1)
        return Atoms(weights, losses)

    def query_laws(self, case: int, secrets: Secrets | None = None) -> tuple[FloatArray, FloatArray] | None:
        """The law of how many entries of the block agree with the first secret, under each of the two."""
        self.check(secrets)
        if self.size > MOST_COUNTED:
            return None
        alpha, beta = self._rates(case)
        ours, theirs = _sum_law(self.size - 1, alpha + 1.0, beta)[0], _sum_law(self.size - 1, alpha, beta + 1.0)[0]
        first, second = np.exp(ours - log_sum(ours)), np.exp(theirs - log_sum(theirs))
        return np.concatenate([[0.0], first]), np.concatenate([second, [0.0]])

    def _rates(self, case: int) -> tuple[float, float]:
        """The parameters for and against the first value of the case: (0, 1) comes first."""
        return (self.alpha, self.beta) if case else (self.beta, self.alpha)

    @cached_property
    def _moments(self) -> tuple[tuple[Bounds, Bounds], ...]:
        """For (0, 1) and (1, 0): the series of both moment generating functions, in t = e^eps - 1."""
        rates = map(self._rates, (0, 1))
        return tuple((self._series(a + 1.0, b), self._series(a, b + 1.0)) for a, b in rates)

    def _series(self, alpha: float, beta: float) -> Bounds:
        """log of C(m, j) E[rate^j], m = size - 1, rate from Beta(alpha, beta): E[(1 + t)^K] sums that times t^j."""
        step = np.arange(self.size - 1.0)
        return _products((self.size - 1.0 - step) / (step + 1.0) * ((alpha + step) / (alpha + beta + step)))

    def _leaks(self, per_entry: float) -> FloatArray:
        epsilon = checks.non_negative("per-entry epsilon", per_entry)
        if not epsilon or self.size == 1:
            return np.full(2, epsilon)
        found = [
            up(epsilon + up(_moment(one, epsilon, 1.0) - _moment(two, epsilon, -1.0))) for one, two in self._moments
        ]
        return np.minimum(np.maximum(found, epsilon), up(self.size * epsilon))

    def check(self, secrets: Secrets | None = None) -> None:
        """Values of single entries, each 0 or 1."""
        if not isinstance(secrets, EntryValues | None):
            raise Unsupported("a secret about several entries of blocks", "only single entries are", "use JointLaw")
        if secrets is None:
            return
        for entry in secrets.entries or ():
            if entry >= self.entries:
                raise InvalidParameter("entry", entry, f"from 0 to {self.entries - 1}")
        if any(set(pair) != {0, 1} for pair in secrets.pairs or ()):
            raise InvalidParameter("pairs", secrets.pairs, "[(0, 1)]: the entries are binary")


def _sum_law(count: int, alpha: float, beta: float) -> Bounds:
    """log of the beta-binomial law, up to a constant, and bounds on the errors."""
    step = np.arange(float(count))
    return _products((count - step) / (step + 1.0) * ((alpha + step) / (beta + (count - step - 1.0))))


def _products(ratios: FloatArray) -> Bounds:
    """log of 1, r_0, r_0 r_1, ... and bounds on their errors.

    A ratio is right to 8 units and its log to 4 more of itself; partial sums carry their rounding errors along.
    """
    steps = np.log(ratios)
    sums, total, rest = [0.0], 0.0, 0.0
    for step in steps.tolist():
        new = total + step
        rest += (total - new) + step if abs(total) >= abs(step) else (step - new) + total
        total = new
        sums.append(total + rest)
    found = np.array(sums)
    errors = UNIT * (10.0 * np.arange(len(sums)) + 9.0 * np.concatenate([[0.0], np.cumsum(np.abs(steps))]))
    return found, errors + 4.0 * UNIT * np.abs(found)


def _moment(series: Bounds, epsilon: float, side: float) -> float:
    """log E[e^(eps K)], rounded up (side 1) or down (side -1)."""
    logs, errors = series
    powers = np.arange(1.0, logs.size)
    growth = epsilon + math.log(-math.expm1(-epsilon))  # log(e^eps - 1)
    off = UNIT * (16.0 + 8.0 * (epsilon + abs(growth - epsilon)))
    exponents = logs[1:] + powers * growth
    bounds = exponents + side * (errors[1:] + powers * off + 4.0 * UNIT * np.abs(exponents))
    level = log_sum(bounds)
    level += side * UNIT * (2.0 * logs.size + 32.0 + 8.0 * abs(level))
    value = float(np.logaddexp(0.0, level))
    return up(value * (1.0 + 8.0 * UNIT)) if side > 0 else down(value * (1.0 - 8.0 * UNIT))
