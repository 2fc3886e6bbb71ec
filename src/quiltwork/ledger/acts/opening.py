"""Budgets are opened, paused, resumed and closed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

import attrs

from quiltwork import checks
from quiltwork.compose.loss import compose
from quiltwork.errors import BudgetExceeded, InvalidParameter, NotOpen, Unsupported
from quiltwork.ledger import names as words
from quiltwork.ledger.acts.connection import Session
from quiltwork.ledger.book.limits import Limit
from quiltwork.ledger.book.requests import stated_loss
from quiltwork.ledger.book.terms import Blocks, Release, Terms
from quiltwork.ledger.chain.entries import Entry
from quiltwork.ledger.chain.receipts import Receipt
from quiltwork.ledger.store.rows import Writer
from quiltwork.numbers.digits import at_most

__all__ = ["change", "open_budget", "stated_terms"]

KINDS = ("adaptive", "planned")
STATES = {"pause": ("open",), "resume": ("paused",), "close": ("open", "paused")}  # in which each can be done
MOST_OWNERS, MOST_RELEASES = 100, 10_000


def stated_terms(
    name: Any,
    protects: Any,
    limit: Limit,
    kind: Any,
    tuned: tuple[Any, Any, Any],
    plan: Any,
    expires: datetime | None,
    refresh: Any,
    blocks: Any,
    owners: Iterable[str],
    note: str,
) -> Terms:
    """The terms of a new budget; `tuned` is the kind, the order and the room for failures of its filter.

    A plan that as a whole passes the limit is refused.
    """
    choice, order, reveal = tuned[0], tuned[1], checks.probability("reveal", tuned[2])
    said, notion = protected(protects)
    if blocks is not None and not isinstance(blocks, Blocks):
        raise InvalidParameter("blocks", blocks, "Blocks(label, names, most)")
    terms = Terms(
        name=words.name("name", name),
        kind=check_kind(kind, plan, (choice, order, reveal), blocks),
        limit=limit,
        filter=limit.filter(choice, order, reveal) if kind == "adaptive" else None,
        plan=() if plan is None else planned(plan),
        protects=said,
        notion=notion,
        expires=None if expires is None else words.moment("expires", expires),
        refresh=None if refresh is None else words.span("refresh", refresh),
        blocks=blocks,
        owners=words.names("owners", owners, MOST_OWNERS),
        note=words.note(note),
    )
    if terms.plan:
        check_plan(terms.name, limit, terms.plan)
    return terms


def open_budget(session: Session, terms: Terms) -> Receipt:
    """Open a budget of a new name."""

    def work(writer: Writer) -> Entry:
        if writer.book.account(terms.name) is not None:
            raise InvalidParameter("name", terms.name, "new", "a budget of that name was opened before")
        if terms.expires is not None and terms.expires <= writer.now:
            raise InvalidParameter("expires", terms.expires.isoformat(), "in the future")
        return writer.append("open", terms.name, terms.to_json())

    return session.write("manage", work)


def change(session: Session, name: str, act: str, note: str) -> Receipt:
    """Pause, resume or close a budget."""
    name, note = words.name("budget", name), words.note(note)

    def work(writer: Writer) -> Entry:
        state = writer.book.opened(name).standing.state
        if state not in STATES[act]:
            raise NotOpen(f"budget {name!r}", state, f"it cannot {act}")
        return writer.append(act, name, {"note": note})

    return session.write("manage", work, budget=name)


def protected(given: Any) -> tuple[str, dict[str, Any] | None]:
    """What is protected, in words, and as tagged data when a notion of neighbour was given."""
    if isinstance(given, str):
        return words.name("protects", given), None
    said, kind = getattr(given, "protects", None), getattr(given, "kind", None)
    if not isinstance(said, str) or not isinstance(kind, str) or not attrs.has(type(given)):
        raise InvalidParameter("protects", given, "words, or a notion such as user('person', 4)")
    return said, {"kind": kind, **{a.name: _plain(getattr(given, a.name)) for a in attrs.fields(type(given))}}


def _plain(value: Any) -> Any:
    """A field of a notion as JSON."""
    if isinstance(value, (frozenset, set)):
        return sorted(_plain(one) for one in value)
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    if attrs.has(type(value)):
        return {
            "kind": type(value).__name__,
            **{a.name: _plain(getattr(value, a.name)) for a in attrs.fields(type(value))},
        }
    return "inf" if isinstance(value, float) and math.isinf(value) else value


def planned(given: Any) -> tuple[Release, ...]:
    """The releases of a plan: (name, loss) or (name, loss, times), each name once."""
    allowed = "a list of (name, loss) or (name, loss, times)"
    pairs = given.items() if isinstance(given, Mapping) else given
    found: list[Release] = []
    for one in words.listed("plan", pairs, allowed):
        parts = words.listed("plan", one, allowed)
        if len(parts) not in (2, 3):
            raise InvalidParameter("plan", one, allowed)
        times = checks.count("times", parts[2], least=1) if len(parts) == 3 else 1
        found.append(Release(words.name("release", parts[0]), stated_loss(parts[1]), times))
    if not found:
        raise InvalidParameter("plan", given, allowed, "a planned budget releases something")
    words.names("releases", [one.name for one in found], MOST_RELEASES)
    return tuple(found)


def check_plan(name: str, limit: Limit, plan: tuple[Release, ...]) -> None:
    """Refuse a plan that as a whole passes the limit.

    For (epsilon, delta) the certified total of the engine decides: everything was fixed in advance. Pure, zCDP and GDP
    totals are the sums that their filters make.
    """
    total = compose(*(one.times * one.loss for one in plan))
    if limit.kind == "approximate":
        for rtol in (1e-3, 1e-6, 1e-9):
            found = total.delta(limit.epsilon, rtol=rtol)
            if float(found.upper) <= float(limit.delta or 0.0):
                return
            if float(found.lower) > float(limit.delta or 0.0):
                break
        needed = f"epsilon {at_most(float(total.epsilon(limit.delta).upper), 6)} at delta {limit.delta:g}"
    else:
        kept = limit.filter()
        cost = kept.cost(total)
        if all(one <= most for one, most in zip(cost, kept.limit, strict=True)):
            return
        needed = kept.shown(cost)
    hint = "plan less; nothing was opened"
    raise BudgetExceeded(
        budget=repr(name), requested=f"{needed} for the plan as a whole", remaining=str(limit), hint=hint
    )


def check_kind(kind: Any, plan: Any, tuned: tuple[Any, Any, Any], blocks: Any) -> str:
    """Adaptive or planned, with what belongs to each."""
    if not isinstance(kind, str) or kind not in KINDS:
        raise InvalidParameter("kind", kind, "'adaptive' or 'planned'")
    if kind == "planned" and plan is None:
        raise InvalidParameter("plan", plan, "given", "a planned budget fixes all of its releases when it is opened")
    if kind == "adaptive" and plan is not None:
        raise InvalidParameter("plan", "a plan", "left out", "say kind='planned' to fix all releases now")
    if kind == "planned" and (tuned[0] is not None or tuned[1] is not None or tuned[2] != 0.0):
        raise Unsupported("a filter for a planned budget", "its plan is composed as a whole", "leave the filter out")
    if kind == "planned" and blocks is not None:
        raise Unsupported(
            "blocks in a planned budget", "its plan says what is released", "account a table plan instead"
        )
    return str(kind)
