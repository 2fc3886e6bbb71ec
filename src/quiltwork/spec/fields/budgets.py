"""How files write budgets: what all releases together may cost, what that protects, and for how long.

The limit is epsilon, epsilon and delta, rho (zCDP) or mu (GDP).  An adaptive budget is kept by a filter: costs add up,
whatever is released next; a planned one fixes its releases now and composes them as a whole.
`answered` says what a ledger would say of all releases of a plan: whether they fit, and which is the first too many.

Reference: theory/granularity.md section 3.2; `quiltwork.compose.filters.opening`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Annotated, Any, Self

import attrs
from pydantic import AfterValidator, Field, model_validator

from quiltwork.compose.filters.opening import FILTERS, LIMITS, Cost, Filter, filter_below, usual_kind
from quiltwork.compose.loss import Loss, compose
from quiltwork.errors import Unsupported
from quiltwork.numbers.digits import at_most
from quiltwork.numbers.rounding import up
from quiltwork.spec.fields.fields import Count, Strict, Words, distinct, refused

KINDS = ("adaptive", "planned")
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
LONGEST = 4e9  # seconds, a little more than a hundred years
MOST_BLOCKS, MOST_OWNERS, LONGEST_NAME = 10_000, 100, 200
_SPAN = re.compile(r"([0-9]{1,10}(?:\.[0-9]{1,6})?)\s?([smhdw])", re.ASCII)


def seconds_in(text: str) -> float | None:
    """What a number and a unit say, such as 90m; None for another text."""
    found = _SPAN.fullmatch(text.strip())
    return None if found is None else float(found.group(1)) * UNITS[found.group(2)]


def span(text: str) -> timedelta:
    """A length of time: a number and a unit, s, m, h, d or w.

    >>> span("90m"), span("30d")
    (datetime.timedelta(seconds=5400), datetime.timedelta(days=30))
    """
    seconds = seconds_in(text)
    if seconds is None or not 0 < seconds <= LONGEST:
        raise refused(f"must be a number and a unit, s, m, h, d or w, such as 30d, at most 100 years, got {text!r}")
    return timedelta(seconds=seconds)


def instant(text: str) -> datetime:
    """A time that says its zone.

    >>> instant("2027-01-01T00:00Z").isoformat()
    '2027-01-01T00:00:00+00:00'
    """
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError:
        found = None
    if found is None or found.utcoffset() is None:
        raise refused(f"must be a time with its zone, such as 2027-01-01T00:00Z, got {text!r}")
    return found


def _text_of(read: Callable[[str], Any]) -> AfterValidator:
    """A text stays as it was written, once it could be read."""

    def checked(text: str) -> str:
        read(text)
        return text

    return AfterValidator(checked)


Moderate = Annotated[float, Field(ge=1e-100, le=1e100)]
Below = Annotated[float, Field(ge=1e-100, lt=1)]
Share = Annotated[float, Field(ge=0, lt=1)]
Name = Annotated[Words, Field(max_length=LONGEST_NAME)]


class Blocks(Strict):
    """A partition of the domain: each block has the whole budget; the protected change touches at most `most`."""

    label: Name
    names: (
        Annotated[tuple[Name, ...], Field(strict=False, min_length=1, max_length=MOST_BLOCKS), AfterValidator(distinct)]
        | None
    ) = None
    most: Count = 1


class Budget(Strict):
    """What may be spent in all, how it is kept, and for how long."""

    name: Name
    epsilon: Moderate | None = None
    delta: Below | None = None
    rho: Moderate | None = None
    mu: Moderate | None = None
    protects: Words | None = None
    kind: Annotated[str, Field(json_schema_extra={"enum": list(KINDS)})] = "adaptive"
    filter: Annotated[str, Field(json_schema_extra={"enum": list(FILTERS["approximate"])})] | None = None
    order: Annotated[float, Field(gt=1)] | None = None
    reveal: Share = 0.0
    expires: Annotated[str, _text_of(instant)] | None = None
    refresh: Annotated[str, _text_of(span)] | None = None
    blocks: Blocks | None = None
    owners: Annotated[tuple[Name, ...], Field(strict=False, max_length=MOST_OWNERS), AfterValidator(distinct)] = ()
    note: Words | None = None

    @model_validator(mode="after")
    def _one_limit(self) -> Self:
        stated = self.stated
        if tuple(stated) not in LIMITS.values():
            named = " and ".join(stated) or "none of them"
            raise refused(f"must be limited by epsilon, by epsilon and delta, by rho, or by mu, got {named}")
        return self

    @model_validator(mode="after")
    def _kept(self) -> Self:
        if self.kind not in KINDS:
            raise refused(f"must be {' or '.join(KINDS)}, got {self.kind!r}", ("kind",))
        if self.kind == "planned":
            for field in ("filter", "order", "blocks", "reveal"):
                if getattr(self, field) not in (None, 0.0):
                    raise refused("must be left out of a planned budget, which composes its plan", (field,))
            return self
        allowed = self.kinds
        if self.filter is not None and self.filter not in allowed:
            given = ", ".join(self.stated)
            raise refused(f"must be {' or '.join(allowed)} for a limit on {given}, got {self.filter!r}", ("filter",))
        if self.chosen != "renyi" and self.order is not None:
            raise refused("must be left out: it belongs to the renyi filter", ("order",))
        if self.chosen not in ("renyi", "several_orders") and self.reveal:
            raise refused("must be left out: it belongs to the renyi filter", ("reveal",))
        if self.delta is not None and self.reveal >= self.delta:
            raise refused(f"must be below delta, which is {self.delta:g}, got {self.reveal:g}", ("reveal",))
        return self

    @property
    def stated(self) -> dict[str, float]:
        """The numbers of the limit."""
        names = ("epsilon", "delta", "rho", "mu")
        return {name: value for name in names if (value := getattr(self, name)) is not None}

    @property
    def limit(self) -> str:
        """approximate, pure, zcdp or gdp."""
        return next(limit for limit, names in LIMITS.items() if names == tuple(self.stated))

    @property
    def kinds(self) -> tuple[str, ...]:
        """The filters that keep such a limit."""
        return FILTERS[self.limit]

    @property
    def chosen(self) -> str:
        """The filter of an adaptive budget: the one that takes most releases, unless named."""
        return self.filter or usual_kind(self.limit, self.order)

    def keeper(self) -> Filter:
        """The filter that keeps an adaptive use below the limit."""
        return filter_below(self.limit, list(self.stated.values()), self.chosen, self.order, self.reveal)

    def opening(self) -> dict[str, Any]:
        """What `Ledger.open` takes, with the blocks as a mapping; what was not said is left out."""
        said: dict[str, Any] = {"name": self.name, **self.stated, "kind": self.kind}
        for field in ("protects", "filter", "order", "note"):
            if getattr(self, field) is not None:
                said[field] = getattr(self, field)
        said |= {"reveal": self.reveal} if self.reveal else {}
        said |= {"expires": instant(self.expires)} if self.expires is not None else {}
        said |= {"refresh": span(self.refresh)} if self.refresh is not None else {}
        said |= {"blocks": self.blocks.model_dump()} if self.blocks is not None else {}
        return said | ({"owners": self.owners} if self.owners else {})

    def words(self) -> str:
        """The limit in a few words."""
        return ", ".join(f"{name} {value:g}" for name, value in self.stated.items())


WIDTHS = (1e-3, 1e-6, 1e-9)  # brackets that are tried until the limit lies outside


@attrs.frozen
class BudgetAnswer:
    """Whether everything fits, what it costs, and the first release that would be refused.

    `count` is how many runs of that release fit before.  `share` is the cost over the limit, the largest of several.
    """

    budget: Budget
    fits: bool
    cost: str
    limit: str
    refused: str | None = None
    count: int = 0
    share: float | None = None
    reason: str = ""

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        said = {name: getattr(self, name) for name in ("fits", "cost", "limit", "refused", "count", "share", "reason")}
        return {"budget": self.budget.name, "kind": self.budget.kind, **said}


def answered(budget: Budget, releases: Sequence[tuple[str, Loss, int]]) -> BudgetAnswer:
    """The answer for (name, loss of one run, number of runs) in this order.

    Adaptive: the costs of the filter add up release by release; the first sum above the limit is refused.  Planned: all
    releases are composed as a whole, by the engine.
    """
    return _planned(budget, releases) if budget.kind == "planned" else _adaptive(budget, releases)


def _adaptive(budget: Budget, releases: Sequence[tuple[str, Loss, int]]) -> BudgetAnswer:
    kept = budget.keeper()
    limit = kept.shown(kept.limit, left=True)
    if releases:
        kept = kept.chosen_for(releases[0][1] * releases[0][2])
    spent, refused, fitting = kept.zero, None, 0
    for name, loss, count in releases:
        try:
            cost = kept.cost(loss)
        except Unsupported as error:
            return BudgetAnswer(budget, False, "no finite cost", limit, name, 0, None, str(error))
        if refused is None and (fits := _fitting(kept, spent, cost, count)) < count:
            refused, fitting = name, fits
        spent = _after(spent, cost, count)
    used = [(most - left) / most for _, most, left in kept.amounts(kept.left(spent))]
    share = max((up(float(one)) for one in used), default=0.0)
    reason = "" if refused is None else f"{budget.chosen} costs add up: {kept.because}"
    return BudgetAnswer(budget, refused is None, kept.shown(spent), limit, refused, fitting, share, reason)


def _after(spent: Cost, cost: Cost, count: int) -> Cost:
    return tuple(a + count * c for a, c in zip(spent, cost, strict=True))


def _fitting(kept: Filter, spent: Cost, cost: Cost, count: int) -> int:
    """How many of so many equal releases fit one after the other."""
    if kept.admits(_after(spent, cost, count)):
        return count
    low, high = 0, count
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if kept.admits(_after(spent, cost, middle)) else (low, middle)
    return low


def _planned(budget: Budget, releases: Sequence[tuple[str, Loss, int]]) -> BudgetAnswer:
    total = compose(*(count * loss for _, loss, count in releases))
    if budget.limit != "approximate":
        found = _adaptive(budget, releases)  # sums are the tight composition of pure, zCDP and GDP
        refused = None if found.fits else "the plan as a whole"
        return attrs.evolve(found, refused=refused, count=0)
    epsilon, delta = budget.epsilon or 0.0, budget.delta or 0.0
    fits = False
    for rtol in WIDTHS:
        ends = total.delta(epsilon, rtol=rtol)
        fits = float(ends.upper) <= delta
        if fits or float(ends.lower) > delta:
            break
    most = float(total.epsilon(delta).upper)
    cost = f"epsilon {at_most(most, 6)} at delta {delta:g}"
    refused = None if fits else "the plan as a whole"
    reason = "" if fits else "the certified composition of all releases passes the limit"
    return BudgetAnswer(budget, fits, cost, budget.words(), refused, 0, up(most / epsilon), reason)
