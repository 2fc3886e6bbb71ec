"""Who may spend from one budget, and how much of it each: narrower than what a role allows, never wider.

Without a list every spender and admin may. A quota is a share of the limit, in each unit that the budget's filter
counts, for all that one principal spends in a period; it is a tally of its own beside those of the budget, under a name
that no block can have.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import attrs

from quiltwork.compose.filters.costs import short
from quiltwork.errors import AccessDenied, BudgetExceeded, InvalidParameter
from quiltwork.ledger import names as words
from quiltwork.numbers.stated import typed

if TYPE_CHECKING:
    from quiltwork.compose.filters.opening import Cost, Filter

MOST = 100  # principals
OWN = "\t"  # before the name of a principal: no block is called so


@attrs.frozen
class Rights:
    """The principals who may spend, everybody when none is named; and the shares of those who have a quota."""

    spenders: tuple[str, ...] = ()
    quotas: tuple[tuple[str, Fraction], ...] = ()

    @classmethod
    def of(cls, spenders: Iterable[str], quotas: Mapping[str, Any] | None) -> Rights:
        """As they are given: shares as "1/4" or 0.25."""
        if not isinstance(quotas or {}, Mapping):
            raise InvalidParameter("quotas", quotas, "shares by the names of principals, such as {'nightly': '1/4'}")
        shares = {words.name("principal", name): _share(one) for name, one in (quotas or {}).items()}
        names = words.names("spenders", spenders, MOST)
        words.names("quotas", shares, MOST)
        if strangers := sorted(set(shares) - set(names)) if names else []:
            raise InvalidParameter("quotas", strangers[0], "one of the spenders", "nobody else may spend")
        return cls(tuple(sorted(names)), tuple(sorted(shares.items())))

    def __bool__(self) -> bool:
        return bool(self.spenders or self.quotas)

    def __str__(self) -> str:
        shares = [f"{name} at most {share}" for name, share in self.quotas]
        return "; ".join([", ".join(self.spenders) or "everybody whose role allows it", *shares])

    def quota(self, name: str | None) -> Fraction | None:
        """The share of a principal; None for one without a quota."""
        return next((share for one, share in self.quotas if one == name), None)

    def check_spender(self, budget: str, name: str) -> None:
        """AccessDenied for whoever is not named."""
        if self.spenders and name not in self.spenders:
            raise AccessDenied("spend", f"{name!r} is not among those who may spend from budget {budget!r}")

    def check_quota(self, kept: Filter, budget: str, name: str, total: Cost) -> None:
        """BudgetExceeded when so much, of one principal in this period, is more than its share of some unit."""
        share = self.quota(name)
        if share is None:
            return
        for unit, most, rest in kept.amounts(kept.left(total)):
            if most - rest > share * most:
                whose, asked = f"{budget!r}, the quota of {name!r} of it,", f"{unit} {short(most - rest)} in all"
                free = f"{unit} {short(share * most, left=True)} ({share} of {short(most)}) for this period"
                raise BudgetExceeded(budget=whose, requested=asked, remaining=free, hint="an admin or owner raises it")

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {"spenders": list(self.spenders), "quotas": {name: str(share) for name, share in self.quotas}}

    @classmethod
    def from_json(cls, value: Any) -> Rights:
        """The inverse of to_json."""
        return cls() if value is None else cls.of(value["spenders"], value["quotas"])


def _share(given: Any) -> Fraction:
    allowed = "a share above 0 and up to 1, such as '1/4'"
    try:
        share = Fraction(given) if isinstance(given, (str, Fraction)) else typed(float(given))
    except (TypeError, ValueError, ZeroDivisionError, OverflowError):
        raise InvalidParameter("a quota", str(given)[:40], allowed) from None
    if not 0 < share <= 1 or share.denominator > 10**9:
        raise InvalidParameter("a quota", str(given)[:40], allowed)
    return share
