"""From per-entry privacy to privacy of the secrets, and back.

Every theorem bounds every case; the best bound of each case is taken, then the worst case.  All bounds rise with the
per-entry epsilon, so that the way back is a search which ends on the safe side.

Reference: theory/pufferfish.md sections 3 and 7.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, Literal

import attrs
import numpy as np

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.curves.bracket import Bracket
from quiltwork.errors import InvalidParameter, NotCertified
from quiltwork.numbers.rounding import UNIT, down, up
from quiltwork.pufferfish.prior import Prior, Translation
from quiltwork.pufferfish.secrets import Secrets
from quiltwork.pufferfish.translation.influence import InfluenceCurve

Method = Literal["best", "theorem 6", "group"]
METHODS = ("best", "theorem 6", "group")
THEOREM_6 = "Theorem 6 of the composition theorem for Pufferfish privacy, at the best size for each case"
GROUP = "group privacy of all entries"
PRIOR = "a prior such as MarkovChain(...)"
TOLERANCE, COARSE, MANY = 1e-12, 1e-7, 1000  # of the logarithm of the answer; from so many cases on


@attrs.frozen(eq=False)
class Translator:
    """One prior, one set of secrets, and every theorem that applies."""

    prior: Prior
    curve: InfluenceCurve
    others: tuple[Translation, ...]
    direct: bool  # an entry's own value is the secret
    asked: tuple[Secrets | None, Method]

    def __reduce__(self) -> tuple[Any, ...]:
        return Translator.of, (self.prior, *self.asked)  # theorems are functions, and are prepared again

    @classmethod
    def of(cls, prior: Prior, secrets: Secrets | None = None, method: Method = "best") -> Translator:
        """Compute the influence curve and prepare the theorems; the same question gets the same translator."""
        check(prior, secrets, method)
        return _remembered(prior, secrets, method)

    def cases(self, epsilon: float) -> FloatArray:
        """The best bound of each case."""
        found = self.curve.epsilons(epsilon)
        if self.prior.entries is not None:  # all of them together: Theorem 6 with nothing left to tell
            found = np.minimum(found, up(self.prior.entries * epsilon))
        for theorem in self.others:
            found = np.minimum(found, theorem.epsilons(epsilon))
        return found

    def upper(self, epsilon: float) -> float:
        """The worst case of the best bounds."""
        return float(self.cases(epsilon).max())

    def lower(self, epsilon: float) -> float:
        """What some mechanism leaks: that of exact theorems; the entry's own epsilon when that is the secret."""
        return max([epsilon if self.direct else 0.0, *(theorem.leaked(epsilon) for theorem in self.others)])

    def because(self, epsilon: float) -> tuple[str, ...]:
        """The theorems that decide at this epsilon."""
        worst = int(np.argmax(self.cases(epsilon)))
        best, words = float(self.curve.epsilons(epsilon)[worst]), THEOREM_6 if self.curve.method != GROUP else GROUP
        for theorem in self.others:
            bounds = theorem.epsilons(epsilon)
            bound = float(bounds[worst % bounds.size])
            if bound < best:
                best, words = bound, theorem.because
        return (words,)

    def inverse(self, target: float) -> float:
        """The largest per-entry epsilon with `upper` at most the target, from the safe side.

        The bound is close to a power of epsilon, so that interpolation in logarithms finds it in a few steps.
        """
        low = self._by_theorem_6(target)
        if not self.others or low >= target:
            return low
        top, step = math.log(target), 1.0
        if self._excess(top, target) <= 0.0:
            return target
        safe = math.log(low) if low > 0 else -math.inf
        while safe == -math.inf and step < 60.0:  # Theorem 6 promises nothing here: look for any safe value
            safe, step = top - step if self._excess(top - step, target) <= 0.0 else safe, 2.0 * step
        if safe == -math.inf:
            return 0.0
        if self._excess(safe, target) >= 0.0:  # Theorem 6 cannot be beaten
            return low
        from scipy.optimize import brentq

        near = TOLERANCE if len(self.curve.cases) <= MANY else COARSE  # with many cases every look is dear
        found = brentq(self._excess, safe, top, args=(target,), xtol=near, rtol=16 * UNIT)
        back = near
        while found > safe and self._excess(found, target) > 0.0:
            found, back = max(found - back, safe), 2.0 * back
        return max(low, math.exp(found) * (1.0 - 4.0 * UNIT))

    def _excess(self, log_epsilon: float, target: float) -> float:
        """log of the bound over the target; at most 0 is safe."""
        value = self.upper(math.exp(log_epsilon))
        return math.log(value / target) if 0.0 < value < math.inf else (-1.0 if value == 0.0 else 50.0)

    def _by_theorem_6(self, target: float) -> float:
        """max over b of (target - a(b)) / b in each case, then the least: no search needed."""
        with np.errstate(invalid="ignore"):
            room = (target - self.curve.cases) / self.curve.sizes
        found = float(np.max(room, axis=1).min())
        if self.prior.entries is not None:
            found = max(found, target / self.prior.entries)
        return max(down(found * (1.0 - 8.0 * UNIT)), 0.0)


def check(prior: Prior, secrets: Secrets | None, method: Method) -> None:
    """Refuse what a look at the arguments refuses: nothing is computed."""
    if not isinstance(prior, Prior):
        raise InvalidParameter("prior", prior, PRIOR)
    if secrets is not None and not isinstance(secrets, Secrets):
        raise InvalidParameter("secrets", secrets, "entry_values(...), joint_values(...) or function_values(...)")
    if method not in METHODS:
        raise InvalidParameter("method", method, f"one of {', '.join(METHODS)}")
    prior.check(secrets)
    if method == "group" and prior.entries is None:
        raise InvalidParameter("prior", prior, "a prior with a known number of entries, for group privacy")


@lru_cache(maxsize=32)
def _remembered(prior: Prior, secrets: Secrets | None, method: Method) -> Translator:
    curve = prior.influence(None, secrets)
    if curve.status == "approximate" and method != "group":
        raise NotCertified("an influence curve", curve.method or "no bound on its error is known")
    if method == "group":
        curve = InfluenceCurve([prior.entries], np.zeros((1, 1)), "certified", method=GROUP)
    others = prior.translations(secrets) if method == "best" else ()
    return Translator(prior, curve, others, prior.tells_itself(secrets), (secrets, method))


def _not_swapped(prior: Any, other: Any, call: str) -> None:
    """Refuse a prior that was given in the place of a number."""
    if isinstance(other, Prior) and not isinstance(prior, Prior):
        raise InvalidParameter("prior", prior, PRIOR, f"swapped? it is {call}")


def translate(prior: Prior, per_entry: float, secrets: Secrets | None = None, *, method: Method = "best") -> Bracket:
    """What a mechanism that is `per_entry`-DP for every entry leaks about the secrets, at most.

    The truth is the worst case over all such mechanisms and over the prior; its lower end is what some mechanism leaks.

    >>> from quiltwork.pufferfish import MarkovChain
    >>> translate(MarkovChain([[0.8, 0.2], [0.2, 0.8]]), 0.1).upper.__round__(6)
    0.397544
    """
    _not_swapped(prior, per_entry, "translate(prior, per_entry)")
    epsilon = checks.non_negative("per-entry epsilon", per_entry)
    found = Translator.of(prior, secrets, method)
    upper = found.upper(epsilon) if epsilon else 0.0  # without a budget nothing is released
    return Bracket(
        min(max(down(found.lower(epsilon)), 0.0), upper), upper, "epsilon", method=" + ".join(found.because(epsilon))
    )


def per_entry_epsilon(
    prior: Prior, epsilon: float, secrets: Secrets | None = None, *, method: Method = "best"
) -> float:
    """The largest per-entry epsilon that keeps the secrets epsilon-private under this prior; the safe end.

    `method` is "best" (every theorem), "theorem 6" or "group", the last two for comparison.

    >>> from quiltwork.pufferfish import MarkovChain
    >>> round(per_entry_epsilon(MarkovChain([[0.8, 0.2], [0.2, 0.8]]), 1.0), 5)
    0.25982
    """
    _not_swapped(prior, epsilon, "per_entry_epsilon(prior, epsilon)")
    target = checks.positive("epsilon", epsilon)
    return Translator.of(prior, secrets, method).inverse(target)
