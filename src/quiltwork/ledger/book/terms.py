"""What is fixed when a budget is opened: its limit, how it is kept, what it protects, for how long and where."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import attrs

from quiltwork import checks
from quiltwork.compose import constructors
from quiltwork.compose.filters.costs import short
from quiltwork.compose.filters.opening import (
    FILTERS,
    LIMITS,
    Cost,
    Filter,
    WindowsFilter,
    filter_below,
    filter_from_json,
    units_filter,
    usual_kind,
)
from quiltwork.compose.loss import Loss, compose
from quiltwork.compose.neighbors import check_neighbors
from quiltwork.curves.curve import Curve
from quiltwork.curves.guarantee import same_words
from quiltwork.errors import BudgetExceeded, InvalidParameter, Unsupported
from quiltwork.kinds import document
from quiltwork.ledger import names as words
from quiltwork.ledger.book.fixed import Correlated, TableQueries, priced
from quiltwork.ledger.book.rights import Rights
from quiltwork.ledger.chain.entries import moment, stamp
from quiltwork.numbers.digits import at_most, single
from quiltwork.numbers.stated import typed
from quiltwork.pufferfish.prior import ENTRY
from quiltwork.pufferfish.secrets import EntryValues
from quiltwork.tables.plan import Plan

SCHEMA, LIMIT_SCHEMA = "quiltwork/budget/1", "quiltwork/limit/1"
KINDS = ("adaptive", "planned")
USUAL_DELTA = 1e-6  # of budgets that state none, where one is needed
MOST_BLOCKS, MOST_RELEASES = 10_000, 10_000


@document("limit/1", plain=True)
@attrs.frozen
class Limit:
    """How much a budget allows, all together: (epsilon, delta), pure, zCDP or GDP."""

    kind: str
    epsilon: float | None = None
    delta: float | None = None
    rho: float | None = None
    mu: float | None = None

    @classmethod
    def of(cls, epsilon: Any = None, delta: Any = None, rho: Any = None, mu: Any = None) -> Limit:
        """Exactly one of: epsilon; epsilon and delta; rho; mu. With a delta of 0 it is a pure budget."""
        if epsilon is not None and isinstance(delta, (int, float)) and delta == 0 and delta is not False:
            delta = None
        given = cls.stated(epsilon, delta, rho, mu)
        stated = tuple(name for name, value in given.items() if value is not None)
        kind = next((kind for kind, names in LIMITS.items() if names == stated), None)
        if kind is None:
            allowed = "stated as epsilon, as epsilon and delta, as rho, or as mu"
            raise InvalidParameter("the budget", ", ".join(stated) or "nothing", allowed)
        numbers = {name: checks.moderate(name, given[name]) for name in stated}
        if "delta" in numbers and numbers["delta"] >= 1:
            raise InvalidParameter("delta", delta, "in [1e-100, 1)", "leave it out for a pure budget")
        return cls(kind, **numbers)

    @staticmethod
    def stated(epsilon: Any = None, delta: Any = None, rho: Any = None, mu: Any = None) -> dict[str, Any]:
        """What somebody says about a limit, by name."""
        return {"epsilon": epsilon, "delta": delta, "rho": rho, "mu": mu}

    def filter(
        self, kind: Any = None, order: Any = None, reveal: float = 0.0, about: Correlated | None = None
    ) -> Filter:
        """The filter that keeps an adaptive use below this limit; by default the one that takes most releases.

        Where the limit is about secrets, the filter counts losses of one entry, up to what that limit translates to.
        """
        allowed = FILTERS[self.kind]
        chosen = usual_kind(self.kind, order) if kind is None else kind
        if not isinstance(chosen, str) or chosen not in allowed:
            raise InvalidParameter("filter", kind, "one of " + ", ".join(allowed), f"for a budget of {self}")
        if (chosen != "renyi" and order is not None) or (chosen not in ("renyi", "several_orders") and reveal != 0.0):
            raise InvalidParameter("order and reveal", (order, reveal), "left out", "they belong to the Rényi filter")
        if about is None:
            return filter_below(self.kind, self._stated(), chosen, order, reveal)
        return about.filter(chosen, float(self.epsilon or 0.0), self.delta, order, reveal)

    def loss(self) -> Loss:
        """All that it allows, as one release."""
        found: Loss = getattr(constructors, self.kind)(*self._stated())
        return found

    def _stated(self) -> list[float]:
        return [float(getattr(self, name)) for name in LIMITS[self.kind]]

    def to_json(self) -> dict[str, Any]:
        """Tagged and versioned; only what is stated."""
        return {"schema": LIMIT_SCHEMA, "kind": self.kind, **{name: getattr(self, name) for name in LIMITS[self.kind]}}

    @classmethod
    def from_json(cls, value: Any) -> Limit:
        """The inverse of to_json."""
        if not isinstance(value, dict) or value.get("schema") != LIMIT_SCHEMA:
            raise InvalidParameter("limit", value, f"an object with schema {LIMIT_SCHEMA!r}")
        fields = {name: field for name, field in value.items() if name not in ("schema", "kind")}
        if not set(fields) <= {"epsilon", "delta", "rho", "mu"}:
            raise InvalidParameter("limit", sorted(fields), "made of epsilon, delta, rho and mu")
        return cls.of(**fields)

    def __str__(self) -> str:
        return ", ".join(f"{name} {single(getattr(self, name))}" for name in LIMITS[self.kind])


Tuned = tuple[Any, Any, float]  # kind, order and reveal of a filter


def keeping(
    stated: dict[str, Any], kind: Any, tuned: Tuned, expects: Any, units: Any, most: Any, about: Correlated | None
) -> tuple[Limit, Filter | None]:
    """The limit of a budget and the filter that keeps it; none when it is planned.

    A budget in units of one loss states (epsilon, delta), a delta alone, or nothing: what is left out follows from the
    composition of all runs.
    """
    if units is None and most is not None:
        raise InvalidParameter("most", most, "left out", "it says how many runs of units=... there are")
    if isinstance(tuned[0], str) and tuned[0] == WindowsFilter.kind:
        limit = Limit.of(**stated)
        if kind != "adaptive" or about is None or limit.kind != "approximate" or tuned[1:] != (None, 0.0) or units:
            allowed = "for an adaptive budget of epsilon and delta with prior=..., person=... and when=..., and no more"
            raise InvalidParameter("filter", tuned[0], allowed, "it pays for neighbouring rows of one person")
        return limit, about.windows(float(limit.epsilon or 0.0), float(limit.delta or 0.0), expects)
    if units is None:
        limit = Limit.of(**stated)
        kept = limit.filter(*tuned, about) if kind == "adaptive" else None
        if expects is None:
            return limit, kept
        if kept is None or not kept.is_open:
            hint = "the orders of other filters do not depend on what is spent"
            raise InvalidParameter("expects", expects, "left out of this budget", hint)
        return limit, kept.chosen_for(words.loss(expects))
    if kind != "adaptive" or tuned != (None, None, 0.0) or expects is not None or about is not None:
        hint = "a budget in units is kept by their number"
        raise InvalidParameter("units", units, "without a plan, a filter, an order, reveal, expects or a prior", hint)
    return _in_units(stated, words.loss(units), most)


def _in_units(stated: dict[str, Any], unit: Loss, most: Any) -> tuple[Limit, Filter]:
    epsilon, delta = stated["epsilon"], stated["delta"]
    if stated["rho"] is not None or stated["mu"] is not None:
        raise InvalidParameter("units", unit, "with epsilon and delta, or neither", "rho and mu add up by themselves")
    if epsilon is not None:
        limit = Limit.of(epsilon, delta)
        kept = units_filter(unit, most, limit.epsilon, limit.delta)
        check_total("for runs of one loss", limit, kept.promise, kept.shown(kept.limit))
        return limit, kept
    kept, at = units_filter(unit, most), USUAL_DELTA if delta is None else delta
    needed = float(kept.promise.epsilon(at).upper)
    if not math.isfinite(needed):
        raise Unsupported(f"a budget of {kept.promise}", f"it has no epsilon at delta {at:g}", "give a larger delta")
    return Limit.of(float(at_most(needed, 6)), at), kept


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
    """Everything that is fixed about a budget, and who may spend from it."""

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
    about: Correlated | None = None  # of a budget about secrets, which is paid per entry
    table: TableQueries | None = None  # of a budget that was opened with a table plan
    rights: Rights = attrs.field(factory=Rights)  # an entry of kind "rights" replaces them

    @property
    def paid(self) -> tuple[str, str, str]:
        """The change of the data that losses must be stated for, what it is called, and the kind of its notion."""
        if self.about is not None:
            return ENTRY, f"what budget {self.name!r} is paid in", ""
        kind = "" if self.notion is None else str(self.notion.get("kind", ""))
        return self.protects, f"what budget {self.name!r} protects", kind

    def total(self, runs: Mapping[str, int] | None = None) -> Curve:
        """What so many runs of each planned release amount to, for what the budget protects; all of them by default."""
        if self.table is not None:
            only = None if runs is None else {name for name, times in runs.items() if times}
            return self.table.total(only, self.about).curve
        loss = compose(*((one.times if runs is None else runs[one.name]) * one.loss for one in self.plan))
        return loss if self.about is None or not loss.parts else self.about.told(loss).curve

    def release(self, name: str) -> Release:
        """The planned release of this name."""
        for one in self.plan:
            if one.name == name:
                return one
        shown = ", ".join(one.name for one in self.plan[:8])
        raise InvalidParameter("release", name, f"in the plan, which was fixed at opening: {shown}")

    def epsilon(self, spent: Cost) -> float | None:
        """So much spent, as epsilon at the budget's delta; None for budgets without, and those that count in it.

        A budget about secrets is paid per entry: there it is what so much tells about the secrets.
        """
        kept, most = self.filter, self.limit.epsilon
        if kept is None or most is None:
            return None
        if self.about is not None:
            return self.about.epsilon(kept, spent, most, self.limit.delta)
        if kept.units[0] == "epsilon":
            return None
        found = kept.epsilon(spent, self.limit.delta or 0.0)
        return min(found, most) if kept.admits(spent) else found  # past it by the width of a bracket only

    def said(self, cost: Cost, digits: int = 6) -> str:
        """A cost in words, rounded up: as epsilon first, and in the filter's own unit."""
        own = "" if self.filter is None else self.filter.shown(cost, digits=digits) + self.whose
        found = self.epsilon(cost)
        return own if found is None else f"{self._in_epsilon(at_most(found, digits))} ({own})"

    def said_left(self, spent: Cost, left: Cost, digits: int = 6) -> str:
        """What is left once so much is spent, in words, rounded down."""
        own = "" if self.filter is None else self.filter.shown(left, left=True, digits=digits) + self.whose
        found, most = self.epsilon(spent), self.limit.epsilon
        if found is None or most is None:
            return own
        rest = typed(most) - typed(min(found, most))
        return f"{self._in_epsilon(short(rest, left=True, digits=digits))} ({own})"

    @property
    def whose(self) -> str:
        """Of what the filter counts losses, after its units."""
        if self.about is None:
            return ""
        return " of one person" if isinstance(self.filter, WindowsFilter) else " of one entry"

    def _in_epsilon(self, amount: str) -> str:
        return f"epsilon {amount}" + (f" at delta {short(typed(self.limit.delta))}" if self.limit.delta else "")

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
            **({} if self.about is None else {"about": self.about.to_json()}),
            **({} if self.table is None else {"table_plan": self.table.document}),
            **({"rights": self.rights.to_json()} if self.rights else {}),
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
                Correlated.from_json(value.get("about")),
                None if value.get("table_plan") is None else TableQueries(value["table_plan"]),
                Rights.from_json(value.get("rights")),
            )
        except (KeyError, TypeError) as error:
            raise InvalidParameter("budget", value, "an object with every field of a budget", repr(error)) from None


def protected(
    given: Any, about: Correlated | None = None, table: TableQueries | None = None
) -> tuple[str, dict[str, Any] | None]:
    """What is protected, in words, and as tagged data when a notion of neighbour was given.

    A budget about secrets protects those, one that was opened with a table plan what the plan protects.
    """
    notion: dict[str, Any] | None = None
    if about is not None:
        said = about.protects if table is None else table.total(None, about).protects
    elif table is not None:
        said, notion = _said(table.neighbors)
    else:
        return _said(given)
    told = getattr(given, "protects", given)
    if told is not None and (not isinstance(told, str) or same_words(told) != same_words(said)):
        raise InvalidParameter("protects", told, f"left out, or {said!r}")
    return said, notion


def _said(given: Any) -> tuple[str, dict[str, Any] | None]:
    if isinstance(given, str):
        if same_words(given) == EntryValues().words:
            hint = "how entries tell of each other must be known: open it with prior=..., and spend losses per entry"
            raise InvalidParameter("protects", given, "a change of the data in a budget without a prior", hint)
        return words.name("protects", given), None
    said, kind = getattr(given, "protects", None), getattr(given, "kind", None)
    if not isinstance(said, str) or not isinstance(kind, str) or not attrs.has(type(given)):
        raise InvalidParameter("protects", given, "words, or a notion such as user('person', 4)")
    return said, _fields(given, kind)


def _fields(value: Any, kind: str) -> dict[str, Any]:
    return {"kind": kind, **{a.name: _plain(getattr(value, a.name)) for a in attrs.fields(type(value))}}


def _plain(value: Any) -> Any:
    """A field of a notion as JSON."""
    if isinstance(value, (frozenset, set)):
        return sorted(_plain(one) for one in value)
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    if attrs.has(type(value)):
        return _fields(value, type(value).__name__)
    return "inf" if isinstance(value, float) and math.isinf(value) else value


def planned(given: Any) -> tuple[Release, ...]:
    """The releases of a plan: (name, loss) or (name, loss, times), each name once; of a table plan its queries."""
    if isinstance(given, Plan):
        given = [(query.name, query.loss) for query in given.queries]
    allowed = "a list of (name, loss) or (name, loss, times)"
    pairs = given.items() if isinstance(given, Mapping) else given
    found: list[Release] = []
    for one in words.listed("plan", pairs, allowed):
        parts = words.listed("plan", one, allowed)
        if len(parts) not in (2, 3):
            raise InvalidParameter("plan", one, allowed)
        times = checks.count("times", parts[2], least=1) if len(parts) == 3 else 1
        found.append(Release(words.name("release", parts[0]), words.loss(parts[1]), times))
    if not found:
        raise InvalidParameter("plan", given, allowed, "a planned budget releases something")
    words.names("releases", [one.name for one in found], MOST_RELEASES)
    return tuple(found)


def check_plan(terms: Terms) -> None:
    """Refuse a plan that as a whole passes the limit.

    For (epsilon, delta) the certified total of the engine decides: everything was fixed in advance. Pure, zCDP and GDP
    totals are the sums that their filters make.
    """
    if terms.table is None:  # the queries of a table plan say themselves what their losses hold for
        for one in terms.plan:
            check_neighbors(one.loss, *terms.paid)
    name, limit, total = terms.name, terms.limit, terms.total()
    check_total(repr(name), limit, total, "the plan as a whole", translated=terms.about is not None)


def check_total(name: str, limit: Limit, total: Curve, what: str, *, translated: bool = False) -> None:
    """Refuse a composition, all of which was fixed in advance, that passes the limit.

    One that is `translated` to secrets is known by its epsilon and delta alone.
    """
    if limit.kind == "pure" and translated:
        most = float(total.epsilon(0.0).upper)
        if most <= float(limit.epsilon or 0.0):
            return
        needed = f"epsilon {at_most(most, 6)}"
    elif limit.kind == "approximate":
        for rtol in (1e-3, 1e-6, 1e-9):
            found = total.delta(limit.epsilon, rtol=rtol)
            if float(found.upper) <= float(limit.delta or 0.0):
                return
            if float(found.lower) > float(limit.delta or 0.0):
                break
        needed = f"epsilon {at_most(float(total.epsilon(limit.delta).upper), 6)} at delta {limit.delta:g}"
    else:
        kept = limit.filter()
        cost = kept.cost(priced(total))
        if kept.admits(cost):
            return
        needed = kept.shown(cost)
    needed, hint = f"{needed} for {what}", "plan less; nothing was opened"
    raise BudgetExceeded(budget=name, requested=needed, remaining=str(limit), hint=hint)


def check_about(limit: Limit, refresh: Any, blocks: Any) -> None:
    """Refuse what has no meaning in a budget about secrets."""
    if limit.epsilon is None:
        raise InvalidParameter("the budget", str(limit), "stated as epsilon, or epsilon and delta, with a prior")
    if refresh is not None or blocks is not None:
        raise Unsupported(
            f"{'refresh' if refresh is not None else 'blocks'} in a budget about secrets",
            "what is released in one part of it tells about the others, and budgets about secrets do not add up",
            "open one budget for all of it",
        )


def check_kind(kind: Any, plan: Any, tuned: Tuned, blocks: Any) -> str:
    """Adaptive or planned, with what belongs to each; `tuned` is the kind, order and reveal of the filter.

    A plan makes it a planned budget, unless another kind is said.
    """
    kind = kind if kind is not None else "adaptive" if plan is None else "planned"
    if blocks is not None and not isinstance(blocks, Blocks):
        raise InvalidParameter("blocks", blocks, "Blocks(label, names, most)")
    if not isinstance(kind, str) or kind not in KINDS:
        raise InvalidParameter("kind", kind, "'adaptive' or 'planned'")
    if kind == "adaptive":
        if plan is not None:
            raise InvalidParameter("plan", "a plan", "left out", "say kind='planned' to fix all releases now")
        return kind
    if plan is None:
        raise InvalidParameter("plan", plan, "given", "a planned budget fixes all of its releases when it is opened")
    if tuned[0] is not None or tuned[1] is not None or tuned[2]:
        raise Unsupported("a filter for a planned budget", "its plan is composed as a whole", "leave the filter out")
    if blocks is not None:
        because, instead = "its plan says what is released", "account a table plan instead"
        raise Unsupported("blocks in a planned budget", because, instead)
    return kind
