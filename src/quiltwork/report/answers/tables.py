"""The numbers behind `quiltwork tables`: overlapping queries on one table, their worst step, and what it costs."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import attrs

from quiltwork.compose.scaling import scaled, total
from quiltwork.curves.bracket import Bracket
from quiltwork.errors import DisconnectedDomainWarning, QuiltworkError
from quiltwork.numbers.digits import at_most, single
from quiltwork.report.answers.account import Judged, Verdict, asked_delta, targets_json
from quiltwork.report.answers.account import verdict as verdict_of
from quiltwork.spec.fields.notions import Notion
from quiltwork.spec.fields.statistics import StatisticQuery
from quiltwork.spec.files.table_plan import TablePlan, TableQuery
from quiltwork.tables import Plan, PlanGuarantee
from quiltwork.tables.notions.sensitivity import occurring
from quiltwork.tables.worst_step.vectors import Vector

SCHEMA = "quiltwork/tables/1"


@attrs.frozen(eq=False)
class Other:
    """What the same plan gives under another notion, or why that is nothing."""

    name: str
    epsilon: Bracket | None
    note: str


@attrs.frozen(eq=False)
class Found:
    """Everything that is said about a table plan at one delta."""

    spec: TablePlan
    plan: Plan
    entries: tuple[range, ...]
    guarantee: PlanGuarantee
    delta: float
    epsilon: Bracket
    worst: Vector | None
    verdicts: tuple[Verdict, ...]
    sequential: Other
    others: tuple[Other, ...]
    warned: tuple[str, ...]

    @property
    def distances(self) -> dict[int, float]:
        """How far the worst step moves each query."""
        return dict(self.worst.distances) if self.worst is not None else {}

    @property
    def met(self) -> bool:
        return all(verdict.word == "met" for verdict in self.verdicts)


def view(spec: TablePlan, delta: float | None, to: Sequence[Notion]) -> Found:
    """The guarantee and the answers to the usual questions."""
    delta = asked_delta(delta, spec.targets)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DisconnectedDomainWarning)
        plan, entries = spec.parts()
    for entry in to:
        entry.notion().check(plan.table)
    guarantee = plan.guarantee()
    return Found(
        spec,
        plan,
        entries,
        attrs.evolve(guarantee, assumes=(*spec.assumes, *guarantee.assumes)),
        delta,
        guarantee.epsilon(delta),
        guarantee.worst_case(delta),
        tuple(verdict_of(guarantee, target) for target in spec.targets),
        _sequential(plan, delta),
        tuple(_other(guarantee, entry, delta) for entry in to),
        tuple(str(warning.message) for warning in caught),
    )


def _sequential(plan: Plan, delta: float) -> Other:
    """Every query touched as far as it can be, all at once: what is left when the conditions are not looked at."""
    name = "sequential composition"
    try:
        far = [max(occurring(query, plan.neighbors, plan.table)) for query in plan.queries]
        if math.inf in far:
            return Other(name, None, "a query by itself has no finite epsilon: only its condition saves it")
        losses = [(scaled(query.loss, distance), 1) for query, distance in zip(plan.queries, far, strict=True)]
        return Other(name, total(losses).epsilon(delta), "every query at its largest distance, as if all were touched")
    except QuiltworkError as error:
        return Other(name, None, str(error).partition("\n")[0])


def _other(guarantee: PlanGuarantee, entry: Notion, delta: float) -> Other:
    notion = entry.notion()
    try:
        return Other(str(notion), guarantee.to(notion).epsilon(delta), f"hiding {notion.protects}")
    except QuiltworkError as error:
        return Other(str(notion), None, str(error).partition("\n")[0])


def records(entry: TableQuery | StatisticQuery, parts: int) -> str:
    """Which records a query keeps, how it is split, and what it sees of them."""
    if isinstance(entry, StatisticQuery):
        return entry.records(parts)
    said = []
    if entry.split_by is not None:
        said.append(f"each {entry.split_by}{' interval' if entry.edges else ''} ({parts})")
    if entry.each_of is not None:
        said.append(f"each of {entry.each_of} ({parts})")
    if entry.where is not None:
        said.append(" ".join(entry.where.split()))
    if entry.opaque is not None:
        said.append(f"{entry.opaque.name} (opaque, stability {single(entry.opaque.stability)})")
    if entry.adaptive:
        said.append("chosen after earlier outputs")
    said = said or ["all"]
    if entry.via is not None:
        said.append(f"as {entry.via.words()}")
    if entry.count or entry.reads == ():
        said.append("counted")
    elif entry.reads is not None:
        said.append(f"reads {', '.join(entry.reads)}")
    return "; ".join(said)


def moved(distances: Sequence[float]) -> str:
    """How far the worst step moves a query, or the parts of a split one."""
    if len(distances) == 1:
        return at_most(distances[0], 6)
    touched = [distance for distance in distances if distance > 0]
    if not touched:
        return "0"
    kinds = sorted(set(touched))
    shown = ", ".join(f"{at_most(kind, 6)} in {touched.count(kind)}" for kind in kinds[:2])
    return f"{shown}{', ...' if kinds[2:] else ''} of {len(distances)}"


def step(found: Found) -> str:
    return "no single pair was found, all were bounded together" if found.worst is None else found.worst.where


def certainty(found: Found) -> str:
    """Whether another pair of neighbouring tables can cost more."""
    if found.guarantee.exact:
        return "no pair of neighbouring tables costs more"
    if found.worst is None:
        return (
            "pairs of neighbouring tables were bounded together: the upper end holds for all, the true cost may be less"
        )
    return "it is the worst pair that was found; the upper end of epsilon holds for all others, too"


def to_json(found: Found) -> dict[str, Any]:
    """A plain dictionary that `json.dumps(..., allow_nan=False)` accepts."""
    far = found.distances
    return {
        "schema": SCHEMA,
        "plan": found.spec.to_dict(),
        "protects": found.guarantee.protects,
        "delta": found.delta,
        "epsilon": found.epsilon.to_json(),
        "met": found.met,
        "targets": targets_json(Judged.by(found.verdicts)),
        "worst": {
            "step": None if found.worst is None else found.worst.where,
            "touches": len(found.distances),
            "exact": found.guarantee.exact,
        },
        "queries": [
            {"name": query.name, "entry": entry, "holds": str(query.holds), "distance": far.get(i, 0.0)}
            for entry, places in enumerate(found.entries)
            for i, query in ((i, found.plan.queries[i]) for i in places)
        ],
        "comparison": [
            {"name": o.name, "epsilon": None if o.epsilon is None else o.epsilon.to_json(), "note": o.note}
            for o in (found.sequential, *found.others)
        ],
        "warnings": list(found.warned),
        "assumes": list(found.guarantee.assumes),
        "because": list(found.guarantee.because),
    }
