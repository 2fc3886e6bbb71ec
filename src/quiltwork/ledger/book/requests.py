"""What somebody asks to spend: checked, and priced, before the ledger is locked."""

from __future__ import annotations

from datetime import datetime
from fractions import Fraction
from functools import lru_cache
from typing import Any

import attrs

from quiltwork import checks
from quiltwork.compose.filters.opening import Cost, Filter
from quiltwork.compose.loss import Loss
from quiltwork.curves.guarantee import Guarantee
from quiltwork.errors import AlreadyRun, InvalidParameter, Unsupported
from quiltwork.ledger import names as words
from quiltwork.ledger.book.book import Account, Charge
from quiltwork.ledger.book.terms import Terms
from quiltwork.ledger.chain.entries import Entry, canonical, parsed

__all__ = ["Request", "check_price", "request", "stated_loss"]

TAB = "\t"  # before the number of a key that was freed
NEARLY = Fraction(999_999, 1_000_000)
LONGEST_LOSS = 2**20  # characters of its JSON: entries are read one by one, by people too


@attrs.frozen
class Request:
    """A spend of one budget with its cost; the period is known once the ledger is locked."""

    budget: str
    loss: dict[str, Any] | None  # of adaptive budgets: that of a planned release is in its plan
    release: str | None
    times: int
    cost: Cost
    blocks: tuple[str, ...] | None

    def charge(self, account: Account, now: datetime) -> Charge:
        """What it takes from the budget now."""
        return Charge(account.period(now), self.cost, self.blocks, self.release, self.times)

    def body(self, charge: Charge, note: str) -> dict[str, Any]:
        """The content of its entry."""
        return {**charge.fields(), "loss": self.loss, "note": note}

    def check_same(self, entry: Entry, kind: str, period: int, principal: str | None) -> None:
        """AlreadyRun unless the entry under the same key is this request, by the same principal, in this period."""
        content = entry.content
        mine = (
            kind,
            principal,
            period,
            self.loss,
            self.release,
            self.times,
            None if self.blocks is None else list(self.blocks),
        )
        theirs = (
            entry.kind,
            entry.principal,
            *(content.get(name) for name in ("period", "loss", "release", "times", "blocks")),
        )
        if canonical(list(mine)) != canonical(list(theirs)):
            same = canonical([mine[0], *mine[3:]]) == canonical([theirs[0], *theirs[3:]])
            why = (
                "it was done by another principal or in an earlier period" if same else "it stands for another request"
            )
            raise AlreadyRun(
                f"key {str(entry.key).partition(TAB)[0]!r} of budget {self.budget!r}",
                f"{why}, entry {entry.seq}",
                "give every release a key of its own",
            )


def request(terms: Terms, loss: Any, release: Any, times: Any, blocks: Any) -> Request:
    """Check a spend against what was fixed at opening, and price it."""
    times = checks.count("times", times, least=1)
    if terms.kind == "planned":
        if blocks is not None:
            raise InvalidParameter("blocks", blocks, "left out", f"budget {terms.name!r} is planned")
        return Request(terms.name, None, _planned(terms, loss, release), times, (), None)
    if release is not None:
        hint = f"budget {terms.name!r} is adaptive: say the loss"
        raise InvalidParameter("release", release, "left out", hint)
    if terms.blocks is None and blocks is not None:
        raise InvalidParameter("blocks", blocks, "left out", f"budget {terms.name!r} has none")
    chosen = None if terms.blocks is None or blocks is None else terms.blocks.chosen(blocks)
    stated = _loss(terms, loss)
    written = stated.to_json()
    if len(canonical(written)) > LONGEST_LOSS:
        raise InvalidParameter("loss", "a very long one", "of at most a million characters of JSON")
    if terms.filter is None:
        raise Unsupported("spending", f"budget {terms.name!r} has no filter")
    cost = tuple(times * one for one in terms.filter.cost(stated))
    return Request(terms.name, written, None, times, cost, chosen)


def _loss(terms: Terms, given: Any) -> Loss:
    """A loss; a guarantee is taken when it protects what the budget does."""
    if isinstance(given, Guarantee):
        if given.protects != terms.protects:
            raise InvalidParameter(
                "loss", f"a guarantee for {given.protects!r}", f"for what budget {terms.name!r} protects",
                f"{terms.protects!r}",
            )  # fmt: skip
        given = given.curve
    return stated_loss(given)


def stated_loss(given: Any) -> Loss:
    """A loss that protects in both directions and tells something."""
    if not isinstance(given, Loss) or given.side != "worst":
        raise InvalidParameter("loss", given, "a quiltwork loss, both directions")
    if not given.parts:
        raise InvalidParameter("loss", given, "at least one release")
    return given


def _planned(terms: Terms, loss: Any, release: Any) -> str:
    """The planned release that is meant: by its name, or by its loss when no other one has the same."""
    if release is not None:
        found = terms.release(words.name("release", release))
        if loss is not None and stated_loss(loss) != found.loss:
            raise InvalidParameter("loss", loss, f"that of {found.name!r}, {found.loss}", "or left out")
        return found.name
    if loss is None:
        raise InvalidParameter("release", release, "the name of a planned release", "name what is about to run")
    stated = stated_loss(loss)
    same = [one.name for one in terms.plan if one.loss == stated]
    if not same:
        shown = ", ".join(one.name for one in terms.plan[:8])
        raise InvalidParameter("loss", loss, f"that of a planned release of budget {terms.name!r}: {shown}")
    if len(same) > 1:
        raise InvalidParameter("release", release, "named", f"planned with that loss: {', '.join(same[:5])}")
    return same[0]


def check_price(terms: Terms, charge: Charge, loss: dict[str, Any] | None) -> None:
    """InvalidParameter when a stored charge is not one that these terms take, or clearly less than its loss costs.

    Another release may bound a cost a little better or worse, so a millionth is let pass; a loss that this one cannot
    price stays as it was charged.
    """
    if charge.times < 1 or (terms.kind == "planned") != (charge.release is not None):
        raise InvalidParameter("charge", charge.fields(), f"one of the {terms.kind} budget {terms.name!r}")
    if charge.blocks is not None and (terms.blocks is None or terms.blocks.chosen(charge.blocks) != charge.blocks):
        raise InvalidParameter("blocks", charge.blocks, f"blocks of budget {terms.name!r}")
    if terms.filter is None:
        return
    if len(charge.cost) != len(terms.filter.limit):
        raise InvalidParameter("cost", charge.cost, "one amount of each unit")
    try:
        least = _price(terms.filter, canonical(loss))
    except Unsupported:
        return
    if any(one < charge.times * price * NEARLY for one, price in zip(charge.cost, least, strict=True)):
        raise InvalidParameter("cost", charge.cost, "what the loss costs")


@lru_cache(maxsize=1024)
def _price(kept: Filter, loss: str) -> Cost:
    return kept.cost(Loss.from_json(parsed(loss)))
