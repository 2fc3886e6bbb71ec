"""What is fixed when a budget is opened: its limit, how it is kept, what it protects, for how long and where."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import attrs

from quiltwork import checks
from quiltwork.compose.filters.opening import Filter, filter_from_json
from quiltwork.compose.loss import Loss
from quiltwork.errors import InvalidParameter
from quiltwork.kinds import document
from quiltwork.ledger import names as words
from quiltwork.ledger.book.limits import Limit
from quiltwork.ledger.chain.entries import moment, stamp

__all__ = ["Blocks", "Release", "Terms"]

SCHEMA = "quiltwork/budget/1"
MOST_BLOCKS = 10_000


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
