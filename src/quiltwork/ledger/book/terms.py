"""What is fixed when a budget is opened: its limit, how it is kept, what it protects, for how long and where."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import attrs

from quiltwork import checks
from quiltwork.compose.filters.opening import Filter, filter_from_json
from quiltwork.compose.loss import Loss, compose
from quiltwork.errors import BudgetExceeded, InvalidParameter, Unsupported
from quiltwork.kinds import document
from quiltwork.ledger import names as words
from quiltwork.ledger.book.limits import Limit
from quiltwork.ledger.chain.entries import moment, stamp
from quiltwork.numbers.digits import at_most

__all__ = ["Blocks", "Release", "Terms", "protected"]

SCHEMA = "quiltwork/budget/1"
MOST_BLOCKS = MOST_RELEASES = 10_000
KINDS = ("adaptive", "planned")


def _label(given: Any) -> str:
    return words.name("label", given)


def _names(given: Any) -> tuple[str, ...] | None:
    return None if given is None else words.names("blocks", given, MOST_BLOCKS)


def _most(given: Any) -> int:
    return checks.count("most", given, least=1)


@document("budget_blocks/1")
@attrs.frozen
class Blocks:
    """A partition of the domain: a spend names the blocks that it reads, and each block has the whole budget.

    `most` is how many blocks the protected change can touch: 1 when a record is added or removed and lies in one block,
    2 when it may be replaced by one of another block, or the most days on which a person appears. The losses of the
    `most` blocks that cost most are added up, and those that read every block count once.

    The loss of a spend is that for the whole protected change, as far as the spend sees it: a release that reads two
    blocks is stated for a change in both.

    Blocks are parts of the domain, never of the data, so that a refusal tells nothing about anybody.

    Reference: theory/granularity.md section 3.2 (block ledger).
    """

    label: str = attrs.field(converter=_label)
    names: tuple[str, ...] | None = attrs.field(default=None, converter=_names)
    most: int = attrs.field(default=1, converter=_most)

    def __attrs_post_init__(self) -> None:
        if self.names is not None and not self.names:
            raise InvalidParameter("blocks", self.names, "at least one name", "leave the names out for an open list")

    def chosen(self, given: Any) -> tuple[str, ...]:
        """The blocks that a spend names, sorted."""
        found = words.names(self.label, [given] if isinstance(given, str) else given, MOST_BLOCKS)
        if not found:
            raise InvalidParameter(self.label, given, "at least one block", "leave it out when all of them are read")
        unknown = [] if self.names is None else sorted(set(found) - set(self.names))
        if unknown:
            shown = ", ".join((self.names or ())[:8])
            raise InvalidParameter(self.label, unknown[0], f"one of the budget's blocks: {shown}")
        return tuple(sorted(found))

    def to_json(self) -> dict[str, Any]:
        return {"label": self.label, "names": None if self.names is None else list(self.names), "most": self.most}


@attrs.frozen
class Release:
    """One release of a plan: its name, the loss of one run, and how often it may run."""

    name: str
    loss: Loss
    times: int = 1


@document("budget/1", plain=True)
@attrs.frozen
class Terms:
    """Everything about a budget that never changes."""

    name: str
    kind: str
    limit: Limit
    filter: Filter | None
    plan: tuple[Release, ...]
    protects: str
    notion: dict[str, Any] | None
    expires: datetime | None
    refresh: timedelta | None
    blocks: Blocks | None
    owners: tuple[str, ...]
    note: str

    def release(self, name: str) -> Release:
        """The planned release of this name."""
        for one in self.plan:
            if one.name == name:
                return one
        shown = ", ".join(one.name for one in self.plan[:8])
        raise InvalidParameter("release", name, f"in the plan, which was fixed at opening: {shown}")

    def to_json(self) -> dict[str, Any]:
        """Tagged and versioned."""
        return {
            "schema": SCHEMA,
            "name": self.name,
            "kind": self.kind,
            "limit": self.limit.to_json(),
            "filter": None if self.filter is None else self.filter.to_json(),
            "plan": [{"name": one.name, "loss": one.loss.to_json(), "times": one.times} for one in self.plan],
            "protects": self.protects,
            "neighbors": self.notion,
            "expires": None if self.expires is None else stamp(self.expires),
            "refresh": None if self.refresh is None else self.refresh.total_seconds(),
            "blocks": None if self.blocks is None else self.blocks.to_json(),
            "owners": list(self.owners),
            "note": self.note,
        }

    @classmethod
    def from_json(cls, value: Any) -> Terms:
        """The inverse of to_json."""
        if not isinstance(value, dict) or value.get("schema") != SCHEMA:
            raise InvalidParameter("budget", value, f"an object with schema {SCHEMA!r}")
        try:
            return cls(
                value["name"],
                value["kind"],
                Limit.from_json(value["limit"]),
                None if value["filter"] is None else filter_from_json(value["filter"]),
                tuple(Release(one["name"], Loss.from_json(one["loss"]), one["times"]) for one in value["plan"]),
                value["protects"],
                value["neighbors"],
                None if value["expires"] is None else moment(value["expires"]),
                None if value["refresh"] is None else timedelta(seconds=value["refresh"]),
                None if value["blocks"] is None else Blocks(**value["blocks"]),
                tuple(value["owners"]),
                value["note"],
            )
        except (KeyError, TypeError) as error:
            raise InvalidParameter("budget", value, "an object with every field of a budget", repr(error)) from None


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


def stated_loss(given: Any) -> Loss:
    """A loss that protects in both directions and tells something."""
    if not isinstance(given, Loss) or given.side != "worst":
        raise InvalidParameter("loss", given, "a quiltwork loss, both directions")
    if not given.parts:
        raise InvalidParameter("loss", given, "at least one release")
    return given


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
