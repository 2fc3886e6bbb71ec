"""Budgets about secrets: a target for the secrets, translated once into a limit for one entry.

A filter makes everything that is chosen adaptively one mechanism, whose promise for one entry holds between any two
data sets that differ in one entry. Theorems about secrets ask for nothing else. So the filter keeps a limit per entry,
and the promise for the secrets follows, whatever is released and whenever one stops:

    pure                e, the largest per-entry epsilon of `per_entry_epsilon`;
    (epsilon, delta)    e as above, and delta' = delta (e^e - 1) / (e^epsilon - 1), by the shift of `approximate`;
    zCDP, GDP           the largest rho, or mu, whose `guarantee` for the secrets meets the target.

A single Rényi order is not translated as if groups kept it: its filter keeps (e, delta') like any other.

Reference: theory/joining.md section 4, Theorem 8.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import attrs

from quiltwork.compose.calibrate import calibrate
from quiltwork.compose.constructors import approximate
from quiltwork.compose.filters.costs import Cost, short
from quiltwork.compose.filters.kinds import GaussianFilter, ZeroConcentratedFilter
from quiltwork.compose.filters.opening import FILTERS, Filter, filter_below, gdp_filter, zcdp_filter
from quiltwork.compose.filters.several_orders import SeveralOrdersFilter
from quiltwork.compose.loss import Loss
from quiltwork.errors import InvalidParameter, Unreachable
from quiltwork.pufferfish.guarantee import guarantee
from quiltwork.pufferfish.prior import Prior
from quiltwork.pufferfish.secrets import Secrets
from quiltwork.pufferfish.translation.translate import per_entry_epsilon

DIGITS = 12  # of a translated number, rounded down
NEARLY = 1e-6  # by which another release may translate differently
ROOM = (0.0, 1e-6, 1e-5, 1e-4, 1e-3)  # by which a searched limit is lowered until its promise is certified


def per_entry_limit(prior: Prior, epsilon: float, delta: float, secrets: Secrets | None = None) -> tuple[float, float]:
    """The (epsilon, delta) for one entry that keep the secrets at these; both rounded down.

    >>> from quiltwork.pufferfish import MarkovChain
    >>> per_entry_limit(MarkovChain([[0.8, 0.2], [0.2, 0.8]]), 1.0, 1e-6)
    (0.259816254083, 1.72667718436e-07)
    """
    entry = _shortened(per_entry_epsilon(prior, epsilon, secrets))
    if entry <= 0.0:
        raise Unreachable(
            f"epsilon {epsilon:g} for the secrets", "per-entry budgets above 0",
            "the entries tell too much about each other; give the prior a length, or raise epsilon",
        )  # fmt: skip
    return entry, _shortened(delta * math.expm1(entry) / math.expm1(epsilon) * (1.0 - 1e-13))


def per_entry_filter(
    prior: Prior,
    epsilon: float,
    delta: float | None = None,
    secrets: Secrets | None = None,
    *,
    kind: str | None = None,
    order: float | None = None,
    reveal: float = 0.0,
) -> Filter:
    """The filter of losses for one entry that keeps the secrets at (epsilon, delta), or at epsilon alone.

    `reveal`, a part of the secrets' delta, is translated like it.
    """
    limit = "approximate" if delta else "pure"
    chosen = FILTERS[limit][0] if kind is None else kind
    if chosen not in FILTERS[limit]:
        raise InvalidParameter("filter", kind, "one of " + ", ".join(FILTERS[limit]), "for a budget about secrets")
    if delta and chosen in ("zcdp", "gdp"):
        return _searched(prior, epsilon, delta, secrets, zcdp_filter if chosen == "zcdp" else gdp_filter)
    entry, share = per_entry_limit(prior, epsilon, delta or 0.0, secrets)
    stated = [entry, share] if delta else [entry]
    hidden = _shortened(reveal * share / delta) if delta and reveal else 0.0
    return filter_below(limit, stated, chosen, order, hidden)


def keeps(
    kept: Filter, prior: Prior, epsilon: float, delta: float | None = None, secrets: Secrets | None = None
) -> bool:
    """Whether a filter of losses for one entry keeps the secrets at (epsilon, delta), up to a millionth."""
    delta = delta or 0.0
    if isinstance(kept, (ZeroConcentratedFilter, GaussianFilter)):
        found = guarantee(kept.promise, prior, secrets).epsilon(delta)
        return float(found.upper) <= epsilon * (1.0 + NEARLY)
    entry, share = per_entry_limit(prior, epsilon, delta, secrets)
    return float(kept.promise.delta(entry * (1.0 + NEARLY)).upper) <= share * (1.0 + NEARLY)


def spent_on_secrets(
    kept: Filter, spent: Cost, prior: Prior, epsilon: float, delta: float | None = None, secrets: Secrets | None = None
) -> float:
    """What was paid per entry as epsilon of the secrets, at the delta of their target; rounded up.

    It is the translation of so much, fixed in advance. What a filter grants keeps the target in any case: there it is
    never above `epsilon`.
    """
    if not any(spent):
        return 0.0
    delta = delta or 0.0
    if isinstance(kept, (ZeroConcentratedFilter, GaussianFilter)) or not delta:
        entry = attrs.evolve(kept, limit=spent).promise
    else:
        # that with which it was opened: another release may translate to another last digit
        fixed = float(kept.limit[1]) if isinstance(kept, SeveralOrdersFilter) else None
        share = per_entry_limit(prior, epsilon, delta, secrets)[1] if fixed is None else fixed
        entry = approximate(kept.epsilon(spent, share), share)
    found = float(guarantee(entry, prior, secrets).epsilon(delta).upper)
    return min(found, epsilon) if kept.admits(spent) else found


def _searched(
    prior: Prior, epsilon: float, delta: float, secrets: Secrets | None, make: Callable[[Any], Filter]
) -> Filter:
    """The filter with the largest limit whose promise, translated as a whole, meets the target."""

    def promised(amount: float) -> Any:
        promise: Loss = make(amount).promise
        return guarantee(promise, prior, secrets)

    start = 1e-2 * min(epsilon, 1.0)
    most = calibrate(promised, epsilon, delta, start=start, tolerance=1e-6, rtol=1e-5)
    for room in ROOM:
        amount = _shortened(most * (1.0 - room))
        if amount > 0 and float(promised(amount).epsilon(delta).upper) <= epsilon:
            return make(amount)
    raise Unreachable(f"epsilon {epsilon:g} at delta {delta:g} for the secrets", f"limits near {most:g}")


def _shortened(number: float) -> float:
    """A number of few digits that is not above."""
    return float(short(Fraction(max(number, 0.0)), left=True, digits=DIGITS))
