"""What would have taken a release that was refused: the least epsilon of an adaptive budget, and of a planned one.

Everything so far and the release itself are composed as if they had been fixed in advance, and kept by a fresh filter
of the same kind. Both epsilons are shown to do before they are named. Nothing of that is in the transaction that
refused.

Reference: theory/joining.md section 3.3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction

from quiltwork.compose.filters.opening import Cost, Filter, filter_for
from quiltwork.compose.filters.several_orders import SeveralOrdersFilter
from quiltwork.compose.filters.windows import stated_from_json
from quiltwork.compose.filters.worst_of import WorstOf
from quiltwork.compose.loss import Loss, compose
from quiltwork.errors import BudgetExceeded, QuiltworkError
from quiltwork.ledger.book.fixed import Correlated
from quiltwork.ledger.book.terms import Terms
from quiltwork.ledger.chain.entries import Entry
from quiltwork.numbers.digits import at_most, single
from quiltwork.numbers.stated import typed_above

MOST_ENTRIES, MOST_LOSSES = 10_000, 16  # beyond them nothing is composed anew
ROUNDS, FARTHEST = 12, 64.0  # of searches; how many times the budget is looked at
Runs = list[tuple[Loss, int]]


def advised(
    refused: BudgetExceeded, terms: Terms, entries: Callable[[], Iterable[Entry]], asked: Loss | WorstOf, times: int
) -> str:
    """The hint of a refusal: what to do, and which epsilon would do."""
    usual = refused.hint or "lower its cost, or open a new budget"
    if terms.limit.delta is None or terms.blocks is not None or isinstance(asked, WorstOf):
        return usual
    try:
        runs = _so_far(entries(), asked, times)
        said = [] if runs is None else _epsilons(terms, runs)
    except (QuiltworkError, KeyError, TypeError, ValueError):  # what cannot be read or priced is not advised about
        return usual
    return "; ".join([*said, usual])


def _so_far(entries: Iterable[Entry], asked: Loss, times: int) -> Runs | None:
    """What was granted in the newest period, in the order of the first run of each, and what is asked now."""
    counts: dict[Loss, int] = {}
    spent: dict[int, tuple[Loss, int]] = {}
    period = 0
    for number, entry in enumerate(entries):
        if number == MOST_ENTRIES:
            return None
        content = entry.content
        if entry.kind in ("spend", "reserve"):
            if content["period"] > period:
                period, spent = content["period"], {}
            loss = stated_from_json(content["loss"])
            if isinstance(loss, WorstOf):
                return None
            spent[entry.seq] = loss, content["times"]
        elif entry.kind in ("refund", "lapse"):
            spent.pop(content["reservation"], None)
    for loss, count in [*spent.values(), (asked, times)]:
        counts[loss] = counts.get(loss, 0) + count
    return list(counts.items()) if len(counts) <= MOST_LOSSES else None


def _epsilons(terms: Terms, runs: Runs) -> list[str]:
    """What an adaptive and a planned budget would need; a budget about secrets is paid per entry, and translated."""
    most, delta = float(terms.limit.epsilon or 0.0), float(terms.limit.delta or 0.0)
    found, kept = [], terms.filter
    if terms.about is not None:
        adaptive = least_about(terms.about, runs, most, delta)
    else:
        reveal = typed_above(kept.reveal) if isinstance(kept, SeveralOrdersFilter) else 0.0
        adaptive = least_adaptive(runs, most, delta, reveal)
    if adaptive is not None:
        how = "" if isinstance(kept, SeveralOrdersFilter) else " with filter='several_orders'"
        found.append(f"with everything before it epsilon {single(adaptive)} would do{how}")
    total = compose(*(count * loss for loss, count in runs))
    planned = float((total if terms.about is None else terms.about.told(total)).epsilon(delta).upper)
    if planned <= most:
        found.append(f"a planned budget takes all of it, which needs epsilon {at_most(planned, 6)}")
    return found


def least_adaptive(runs: Runs, start: float, delta: float, reveal: float = 0.0) -> float | None:
    """About the least epsilon of a budget of several orders that takes these runs, in this order; it does take them."""
    epsilon = start
    for _ in range(ROUNDS):
        kept = filter_for("several_orders", epsilon, delta, reveal=reveal).chosen_for(runs[0][0])
        if not isinstance(kept, SeveralOrdersFilter):
            return None
        total = _total(kept, runs)
        if kept.admits(total):
            return epsilon
        needed = float(at_most(kept.spent(total), 6))
        if not needed < float("inf"):
            return None
        epsilon = max(needed, epsilon * (1 + 1e-6))
    return None


def least_about(about: Correlated, runs: Runs, start: float, delta: float) -> float | None:
    """About the least epsilon of the secrets whose budget of several orders, paid per entry, takes these runs."""

    def takes(epsilon: float) -> bool:
        kept = about.filter("several_orders", epsilon, delta, None, 0.0).chosen_for(runs[0][0])
        return kept.admits(_total(kept, runs))

    low = high = start
    while not takes(high):
        low, high = high, 2.0 * high
        if high > FARTHEST * start:
            return None
    for _ in range(ROUNDS):
        middle = float(at_most(0.5 * (low + high), 4))
        if not low < middle < high:
            break
        low, high = (low, middle) if takes(middle) else (middle, high)
    return high


def _total(kept: Filter, runs: Runs) -> Cost:
    """What these runs cost together."""
    costs = [tuple(count * one for one in kept.cost(loss)) for loss, count in runs]
    return tuple(sum(column, Fraction(0)) for column in zip(*costs, strict=True))
