"""What a budget is about beyond its words: correlated records under a prior, or the queries of a table plan.

Both are kept in the entry that opens the budget, as the documents that files write, and read again when they are asked.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import attrs

from quiltwork.compose.dominance import Ladders
from quiltwork.compose.filters.costs import Cost
from quiltwork.compose.filters.filter import Filter
from quiltwork.compose.filters.windows import InWindows, WindowsFilter
from quiltwork.compose.filters.worst_of import WorstOf
from quiltwork.compose.loss import Loss
from quiltwork.curves.curve import Curve
from quiltwork.curves.guarantee import Guarantee
from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.ledger.chain.entries import canonical, parsed
from quiltwork.pufferfish.budget import keeps, per_entry_filter, spent_on_secrets
from quiltwork.pufferfish.guarantee import guarantee
from quiltwork.pufferfish.prior import ENTRY, Prior
from quiltwork.pufferfish.secrets import EntryValues, Secrets
from quiltwork.tables.guarantee import PlanGuarantee
from quiltwork.tables.notions.neighbors import AddRemove, Edge, Notion, ReplaceOne, User
from quiltwork.tables.plan import Plan
from quiltwork.tables.schema.table import column_name

LONGEST = 2**22  # characters of a document that an entry holds
MOST_VECTORS = 100  # of a plan that are priced one by one; more are replaced by one loss above all of them


def written(value: Any, what: str) -> dict[str, Any]:
    """A value as the document that an entry holds."""
    from quiltwork.spec.objects.documents import document_of

    found = document_of(value)
    if len(canonical(found)) > LONGEST:
        raise InvalidParameter(what, "a very long one", f"of at most {LONGEST:,} characters as JSON")
    return found


@lru_cache(maxsize=32)
def _read(text: str) -> Any:
    from quiltwork.spec.objects.documents import object_from

    return object_from(parsed(text))


def read(value: dict[str, Any]) -> Any:
    """The inverse of written."""
    return _read(canonical(value))


def notion_of(value: dict[str, Any] | None) -> Notion | None:
    """The notion of neighbour that a budget was opened with; None for words, and for notions that are not rebuilt."""
    makers: dict[str, Callable[..., Notion]] = {"add_remove": AddRemove, "edge": Edge, "replace_one": ReplaceOne}
    said = {} if value is None else {name: part for name, part in value.items() if name != "kind"}
    kind = None if value is None else value.get("kind")
    if kind == "user":
        most, caps = said["max_records"], tuple((column, cap) for column, cap in said["max_per"])
        return User(said["id"], math.inf if most == "inf" else most, caps)
    if kind not in makers:
        return None
    return makers[kind](**{name: frozenset(part) for name, part in said.items()})


@attrs.frozen
class Correlated:
    """Secrets in correlated records, as documents; `person` and `when` name the columns of a table that order them."""

    prior: dict[str, Any]
    secrets: dict[str, Any] | None = None
    person: str | None = None
    when: str | None = None

    def laws(self) -> tuple[Prior, Secrets | None]:
        """The prior and the secrets."""
        return read(self.prior), None if self.secrets is None else read(self.secrets)

    @property
    def protects(self) -> str:
        """The secrets in words."""
        secrets = self.laws()[1]
        return str(getattr(EntryValues() if secrets is None else secrets, "words", "the secrets"))

    def filter(self, kind: Any, epsilon: float, delta: float | None, order: Any, reveal: float) -> Filter:
        """The filter of losses for one entry that keeps the secrets at this limit."""
        prior, secrets = self.laws()
        return per_entry_filter(prior, epsilon, delta, secrets, kind=kind, order=order, reveal=reveal)

    def windows(self, epsilon: float, delta: float, expects: Any = None) -> WindowsFilter:
        """The filter that pays for windows of rows; its limits have the shape of what the budget expects."""
        from quiltwork.joined.windows import windows_filter

        prior, secrets = self.laws()
        if self.person is None or secrets is not None:
            raise InvalidParameter(
                "filter", WindowsFilter.kind, "for the value of each single row, with person=... and when=...",
                "it pays for neighbouring rows of one person",
            )  # fmt: skip
        plan = expects.guarantee() if isinstance(expects, Plan) else expects
        if plan is not None and not isinstance(plan, PlanGuarantee):
            raise InvalidParameter("expects", expects, "a table plan or its guarantee", "it gives windows their shares")
        return windows_filter(prior, epsilon, delta, None if plan is None else self._windows_of(plan))

    def keeps(self, kept: Filter, epsilon: float, delta: float | None) -> bool:
        """Whether what a filter keeps for entries keeps the secrets at this limit."""
        prior, secrets = self.laws()
        if isinstance(kept, WindowsFilter):
            from quiltwork.joined.windows import keeps_secrets

            return keeps_secrets(kept, prior, epsilon, delta or 0.0)
        return keeps(kept, prior, epsilon, delta, secrets)

    def told(self, loss: Loss) -> Guarantee:
        """What a loss for one entry tells about the secrets."""
        prior, secrets = self.laws()
        return guarantee(loss, prior, secrets)

    def epsilon(self, kept: Filter, spent: Cost, epsilon: float, delta: float | None) -> float:
        """What was paid per entry, as epsilon of the secrets at the budget's delta."""
        return _epsilon(self.frozen, kept, spent, epsilon, delta)

    @property
    def frozen(self) -> str:
        """All of it as a text."""
        return canonical(self.to_json())

    def paid(self, plan: PlanGuarantee, kept: Filter | None) -> Loss | WorstOf:
        """What a plan is priced by: derived anew for one row of one person, its person and its tick unchanged.

        Where windows are paid for, it is what the plan loses in each length of window.
        """
        if isinstance(kept, WindowsFilter):
            found = self._windows_of(plan)
            return found if any(found.rhos) else Loss(())
        if self.person is None or self.when is None:
            raise Unsupported(
                "a table plan in this budget about secrets",
                "which column says whose row it is, and which one orders the rows, was not said when it was opened",
                "open it with prior=..., person=... and when=..., or spend the loss of one entry",
            )
        entry = priced(plan.to(ReplaceOne(frozenset((self.person, self.when)))).curve)
        if isinstance(entry, Loss):
            return entry.stated_for(ENTRY) if entry.parts else entry
        return WorstOf(tuple(loss.stated_for(ENTRY) for loss in entry.losses))

    def _windows_of(self, plan: PlanGuarantee) -> InWindows:
        from quiltwork.joined.windows import in_windows

        if plan.contribution is not None:
            raise Unsupported(
                "windows of a plan whose contribution is bounded", "a row that changes may push out another one",
                "bound the rows before they become the table",
            )  # fmt: skip
        return in_windows(plan.table, plan.queries, str(self.person), str(self.when))

    def of_plan(self, plan: Plan) -> Guarantee:
        """What a whole plan tells about the secrets, windows of rows and all."""
        prior, secrets = self.laws()
        if secrets is not None:
            raise Unsupported(
                "a table plan under chosen secrets", "only the value of each single entry is built here",
                "leave the secrets out",
            )  # fmt: skip
        return plan.guarantee(prior=prior, person=self.person, when=self.when)

    def to_json(self) -> dict[str, Any]:
        """Only what was said."""
        return {name: value for name, value in attrs.asdict(self, recurse=False).items() if value is not None}

    @classmethod
    def from_json(cls, value: Any) -> Correlated | None:
        """The inverse of to_json; None for a budget that is about no secrets."""
        return None if value is None else cls(**value)


@lru_cache(maxsize=256)
def _epsilon(about: str, kept: Filter, spent: Cost, epsilon: float, delta: float | None) -> float:
    prior, secrets = Correlated(**parsed(about)).laws()
    if isinstance(kept, WindowsFilter):
        from quiltwork.joined.windows import spent_on_rows

        return spent_on_rows(kept, spent, prior, epsilon, delta or 0.0)
    return spent_on_secrets(kept, spent, prior, epsilon, delta, secrets)


def correlated(prior: Any, secrets: Any = None, person: Any = None, when: Any = None) -> Correlated | None:
    """Secrets under a prior, checked and written; None where no prior is given."""
    if prior is None:
        if any(given is not None for given in (secrets, person, when)):
            raise InvalidParameter("prior", None, "given with secrets, person and when", "or leave these out too")
        return None
    if not isinstance(prior, Prior):
        raise InvalidParameter("prior", prior, "a prior such as pufferfish.MarkovChain(...)")
    if secrets is not None and not isinstance(secrets, Secrets):
        raise InvalidParameter("secrets", secrets, "secrets such as pufferfish.entry_values(...)")
    if (person is None) != (when is None):
        raise InvalidParameter("person and when", (person, when), "both columns of a table, or none")
    prior.check(secrets)
    columns = () if person is None else (column_name("person", person), column_name("when", when))
    return Correlated(written(prior, "prior"), None if secrets is None else written(secrets, "secrets"), *columns)


@attrs.frozen
class TableQueries:
    """The queries of a table plan, as its document: each is a release that may run once."""

    document: dict[str, Any]

    @classmethod
    def of(cls, plan: Plan) -> TableQueries:
        """Written; a plan that asks nothing is refused."""
        if not plan.queries:
            raise InvalidParameter("plan", plan, "a plan with at least one query")
        return cls(written(plan, "plan"))

    def plan(self, only: set[str] | None = None) -> Plan:
        """The plan, or what is left of it with some of its queries only."""
        whole: Plan = read(self.document)
        if only is None:
            return whole
        return whole.only(only)

    @property
    def neighbors(self) -> Notion:
        """The notion of neighbour of the plan."""
        return self.plan().neighbors

    def total(self, only: set[str] | None, about: Correlated | None) -> Guarantee:
        """What these queries guarantee together: vectors add up query by query, and the worst is taken last."""
        part = self.plan(only)
        return part.guarantee() if about is None else about.of_plan(part)


def priced(curve: Curve) -> Loss | WorstOf:
    """What a filter is asked about a plan: its losses, one for each distance vector of a pair of neighbours."""
    if isinstance(curve, Loss):
        return curve
    found = getattr(curve, "reach", None)
    if found is None:
        raise Unsupported("a cost of this guarantee", "it is about secrets", "state the limit as epsilon and delta")
    # each loss of a bound stands above all vectors that it bounds
    losses = [vector.loss for vector in found.vectors] + [bound.losses[0] for bound in found.bounds]
    telling = tuple(loss for loss in losses if loss.parts)
    if not telling:
        return Loss(())
    if len(telling) > MOST_VECTORS:
        telling = (Ladders.of(telling).loss(Ladders.of(telling).strength(telling, up=True).max(axis=0)),)
    return telling[0] if len(telling) == 1 else WorstOf(telling)
