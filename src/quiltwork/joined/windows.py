"""Budgets about secrets that pay for windows: what a plan costs in each length of window, and which limits keep them.

A filter that keeps the sum of rho_b within L_b, for b = 1, 2, ..., makes whatever was chosen adaptively one mechanism
that is L_b-zCDP for changes of any b neighbouring rows of one person. The bounds for plans under a Markov chain ask for
no more than that: they answer here for the limits as they answer for the windows of a plan.

Reference: theory/joining.md section 4 ("Windows in the ledger").
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache, cached_property
from typing import Any

import attrs

from quiltwork.compose.constructors import zcdp
from quiltwork.compose.filters.costs import Cost, short, squared_cost, summed
from quiltwork.compose.filters.windows import InWindows, WindowsFilter
from quiltwork.compose.loss import Loss
from quiltwork.errors import InvalidParameter, Unreachable, Unsupported
from quiltwork.joined.patterns import Profile, patterns_of
from quiltwork.joined.under.chain import AlongChain
from quiltwork.joined.under.prior import UnderPrior
from quiltwork.losses.family import Family
from quiltwork.numbers.stated import typed_above
from quiltwork.pufferfish.prior import Prior
from quiltwork.pufferfish.priors.chain.chain import MarkovChain
from quiltwork.tables.query import Query
from quiltwork.tables.schema.table import Table

MOST_ROWS = 200  # of one person: as many numbers are kept with every release
NEARLY = 1e-6  # by which another release may bound limits differently
MOST_RHO = 1e6
CLOSE, LEAST, DIGITS = 3e-4, 1e-12, 9  # of limits that are searched for


def in_windows(table: Table, queries: Sequence[Query], person: str, when: str) -> InWindows:
    """rho of each number of neighbouring ticks: the most that a plan loses when the rows of such a window change."""
    table.names((person, when), "person and when")
    patterns = patterns_of(table, queries, person, when, None)
    ticks = _rows(len(patterns.ticks))
    found, most = [], Fraction(0)
    for rows in range(1, ticks + 1):
        numbers = {patterns.window(first, first + rows - 1) for first in range(ticks - rows + 1)}
        most = max([most, *(_rho(loss) for number in numbers for loss in patterns.profiles[number].losses)])
        found.append(most)
    return InWindows.of(tuple(found))


def _rho(loss: Loss) -> Fraction:
    return summed(loss, _squared, 1)[0]


def _squared(family: Family) -> Cost:
    rho = squared_cost(family)
    if rho is None:
        raise Unsupported(
            f"{family} in a budget that pays for windows", "no conversion to zCDP is proved",
            "open it with another filter, such as 'several_orders'",
        )  # fmt: skip
    return (rho,)


def _rows(count: int) -> int:
    if count > MOST_ROWS:
        raise Unsupported(
            f"a budget for windows of {count} rows", f"every release would carry so many numbers, and {MOST_ROWS} fit",
            "open it with another filter, such as 'zcdp'",
        )  # fmt: skip
    return count


@attrs.frozen(eq=False, slots=False)
class _Kept:
    """Limits in the place of a plan: the profile of a window is that of its length."""

    limits: tuple[Fraction, ...]
    contents: float = math.inf  # of a row: nothing is known of what will be asked
    plain: bool = False
    apart: None = None

    @cached_property
    def profiles(self) -> list[Profile]:
        return [Profile((zcdp(typed_above(one)),) if one else ()) for one in self.limits]

    @property
    def ticks(self) -> range:
        return range(len(self.limits))

    @property
    def everything(self) -> int:
        return len(self.limits) - 1

    def window(self, first: int, last: int) -> int:
        """The number of the profile of these ticks."""
        return last - first


def told(chain: MarkovChain, limits: Cost) -> UnderPrior:
    """What anything tells about single rows that keeps these limits, one for each length of window."""
    kept: Any = _Kept(limits)
    return UnderPrior(AlongChain(kept, chain))


def windows_filter(prior: Prior, epsilon: float, delta: float, shape: InWindows | None = None) -> WindowsFilter:
    """The largest limits of this shape that keep the value of each row at (epsilon, delta).

    Without a shape they grow like the number of rows, as the costs of hours do whose queries are their own.
    """
    chain = _chain(prior)
    rows = _rows(int(chain.length or 0))
    each = tuple(map(Fraction, range(1, rows + 1))) if shape is None else shape.rhos
    if len(each) != rows or not each[0]:
        raise InvalidParameter("expects", f"a plan of {len(each)} ticks", f"one that reads rows of {rows} ticks")
    shares = [one / each[0] for one in each]

    def limits(rho: float) -> Cost:
        return tuple(Fraction(short(Fraction(rho) * one, left=True, digits=DIGITS)) for one in shares)

    goal = delta * (1.0 - 1e-12)  # of the quotients that are rounded

    def coupled(rho: float) -> float:
        return told(chain, limits(rho)).revealed(epsilon) / goal

    def whole(rho: float) -> float:
        return float(told(chain, limits(rho)).delta(epsilon).upper) / goal

    start = epsilon**2 / (4 * (epsilon - math.log(delta)))  # about that of independent rows
    most = _largest(coupled, start)
    if not most or whole(most * (1 + 10 * CLOSE)) <= 1.0:  # propagation takes longer, and rarely allows more
        most = _largest(whole, most or start)
    if not most:
        raise Unreachable(
            f"epsilon {epsilon:g} at delta {delta:g} for the secrets", "limits above 0",
            "rows tell too much about each other; raise epsilon",
        )  # fmt: skip
    return WindowsFilter(limits(most))


def _largest(share: Callable[[float], float], start: float) -> float:
    """About the largest amount whose share of delta, which rises, is at most 1; 0 where next to nothing's is."""
    share, low, high = cache(share), start, start
    while share(low) > 1.0:
        low, high = low / 4, low
        if low < LEAST * start:
            return 0.0
    while low == high and share(4 * low) <= 1.0:
        low = high = 4 * low
        if low > MOST_RHO:  # there is nothing to be told
            return low
    high = high if high > low else 4 * low

    def over(place: float) -> float:
        return math.log(max(share(math.exp(place)), 1e-30))

    from scipy.optimize import brentq

    root = math.exp(float(brentq(over, math.log(low), math.log(high), xtol=CLOSE, rtol=1e-15)))
    lowered = (root * (1.0 - less * CLOSE) for less in (0, 1, 3, 10, 30, 100))
    return next((one for one in lowered if share(one) <= 1.0), low)


def _chain(prior: Prior) -> MarkovChain:
    if not isinstance(prior, MarkovChain) or prior.length is None:
        raise Unsupported(
            f"a budget that pays for windows under {type(prior).__name__}",
            "rows differ in windows along a Markov chain of known length; elsewhere no such limit is proved",
            "give a MarkovChain with its length, or another filter, such as 'several_orders'",
        )
    return prior


def keeps_secrets(kept: WindowsFilter, prior: Prior, epsilon: float, delta: float) -> bool:
    """Whether limits of windows keep the value of each row at (epsilon, delta), up to a millionth."""
    chain = _chain(prior)
    if len(kept.limit) != chain.length:
        return False
    return float(told(chain, kept.limit).delta(epsilon * (1.0 + NEARLY)).upper) <= delta * (1.0 + NEARLY)


def spent_on_rows(kept: WindowsFilter, spent: Cost, prior: Prior, epsilon: float, delta: float) -> float:
    """So much of each length, fixed in advance, as epsilon of the value of each row; rounded up."""
    if not any(spent):
        return 0.0
    found = float(told(_chain(prior), spent).epsilon(delta).upper)
    return min(found, epsilon) if kept.admits(spent) else found
