"""The order of events of a release: check, price, pay, scan, draw, store, show.

Nothing is counted before it is paid for: of the data names and types of columns are looked at, and where the budget
has room files are read through once, so that a wrong or damaged one costs nothing. Numbers are stored under their key
before anybody sees them, and the same key gives the stored numbers again: at most one draw is ever shown, wherever a
process dies. A scan that fails is done again under its key without another payment.

Reference: theory/release.md section 9.
"""

from __future__ import annotations

import hashlib
import math
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import attrs

from quiltwork import checks
from quiltwork.curves.guarantee import Guarantee, later
from quiltwork.data.engines.engine import Engine
from quiltwork.errors import AlreadyRun, InvalidParameter, Unreadable, Unsupported
from quiltwork.mechanisms import sampling
from quiltwork.progress import reporting
from quiltwork.release.draw import published
from quiltwork.release.released import Released
from quiltwork.release.scan import Totals, inspect, quiet, read_through, totals
from quiltwork.release.untyped import held, once
from quiltwork.tables.guarantee import PlanGuarantee, contribution_bounds
from quiltwork.tables.notions.neighbors import SWAP_STEPS, Notion, User
from quiltwork.tables.notions.transformations import ClipRows
from quiltwork.tables.schema.columns import Float, Id
from quiltwork.tables.schema.table import Table
from quiltwork.tables.statistics.price import Units, squared_units
from quiltwork.tables.statistics.statistic import Statistic

if TYPE_CHECKING:
    from quiltwork.tables.plan import Plan

NOTE = "release of plan "


def release(
    plan: Plan,
    data: Any,
    *,
    engine: str | Engine = "duckdb://",
    ledger: Any = None,
    budget: str | None = None,
    key: str | None = None,
    confidence: float = 0.95,
    progress: bool | None = None,
) -> Released:
    """Publish the statistics of a plan, paid for beforehand when there is a ledger."""
    statistics = plan.statistics
    if not statistics:
        raise InvalidParameter(
            "plan", plan, "one with count, sum, mean, variance, distinct, quantiles or keys", "nothing to run"
        )
    confidence = checks.ranged("confidence", confidence, "in (0, 1)", lambda value: 0 < value < 1)
    used = bounded(plan)
    code = plan_hash(plan)
    guarantee = enforced(plan.guarantee())

    def drawn(exact: dict[str, Totals]) -> Released:
        rows = [row for one in statistics for row in published(exact[one.name], plan.table, plan.neighbors, confidence)]
        said = tuple(words(statistics, plan.table, used))
        return Released(tuple(rows), statistics, guarantee, confidence, said, code)

    task = Task(plan.table, used, statistics, guarantee, code, drawn)
    return carried_out(task, data, engine, ledger, budget, key, progress)


@attrs.frozen(eq=False)
class Task:
    """What is counted, what is drawn from the counts, what that costs, and the hash that says which release it is."""

    table: Table
    neighbors: Notion
    statistics: tuple[Statistic, ...]
    guarantee: Guarantee
    code: str
    drawn: Callable[[dict[str, Totals]], Released]


def carried_out(
    task: Task, data: Any, engine: str | Engine, ledger: Any, budget: str | None, key: str | None, progress: bool | None
) -> Released:
    """Check, pay, scan, draw, store, show."""
    if (ledger is None) != (budget is None) or (ledger is None and key is not None):
        raise InvalidParameter("ledger, budget and key", (ledger, budget, key), "a ledger and its budget, or neither")
    sampling.opendp()  # a missing sampler is told before anything is spent
    receipt = None
    with reporting("releasing", progress) as told:
        stages = ("opening", "paying", "reading", "drawing", "storing")

        def stage(name: str) -> None:
            if told is not None:  # stages alone: how far a scan has come would tell about the data
                told(stages.index(name), len(stages), name)

        stage("opening")
        with _engine(engine) as opened, opened.unlogged():
            if ledger is not None:
                stage("paying")
                key = uuid.uuid4().hex if key is None else key  # without one every call is a release of its own
                stored = ledger.result(budget, key)
                if stored is not None:
                    return _again(stored, task.code, budget, key)
                fits = not ledger.would_exceed(budget, task.guarantee)
                if fits:  # of a refused release no row is looked at
                    with quiet("opening the data"):
                        data = held(data)
                source = (opened, data, task.table, task.neighbors, task.statistics)
                if fits or not once(data):
                    inspect(*source)
                if fits:
                    read_through(*source)
                receipt = ledger.spend(budget, task.guarantee, note=NOTE + task.code, key=key)
                if receipt.entry.content.get("note") != NOTE + task.code:
                    raise AlreadyRun(
                        f"key {key!r} of budget {budget!r}", "it paid for another plan", "take another key"
                    )
            stage("reading")
            with _paid(None if receipt is None else key):
                exact = totals(opened, data, task.table, task.neighbors, task.statistics, lambda done, total: None)
            stage("drawing")
            made = attrs.evolve(task.drawn(exact), engine=opened.name, receipt=receipt)
            del exact
            if ledger is None:
                return made
            stage("storing")
            return _again(ledger.keep_result(budget, key, made), task.code, str(budget), str(key))


def bounded(plan: Plan) -> Notion:
    """The notion with the bound on the rows of a person that is enforced: its own, and that of the whole plan."""
    clip, notion = plan.contribution, plan.neighbors
    if clip is None:
        return notion
    if not isinstance(notion, User) or notion.id != clip.id:
        raise Unsupported(
            f"a release under {notion} with {clip}", "rows are cut by the person whose rows come and go",
            f"hide persons, user({clip.id!r}), or leave the contribution bound out",
        )  # fmt: skip
    return attrs.evolve(notion, max_records=min(notion.max_records, clip.most))


def enforced(found: PlanGuarantee) -> PlanGuarantee:
    """The guarantee without the contribution bounds among its assumptions: a release makes them true.

    Other releases may use other rows of the same person, so that it is not joined with theirs query by query.
    """
    notion, taken = found.notion, contribution_bounds(found.notion)
    kept = found.contribution
    if kept is None and isinstance(notion, User) and not math.isinf(notion.max_records):
        kept = ClipRows(notion.id, int(notion.max_records))
    assumes = later(lambda: tuple(line for line in found.assumes if line not in taken))
    return attrs.evolve(found, assumes=assumes, contribution=kept)


def _engine(given: str | Engine) -> Any:
    if isinstance(given, Engine):
        return _Borrowed(given)
    in_file = str(given).startswith("duckdb:///")  # only read, beside others who read it
    with quiet("opening the engine"):
        return Engine.open(given, settings={"access_mode": "READ_ONLY"} if in_file else None, progress=False)


@attrs.frozen(eq=False)
class _Borrowed:
    """An engine that its owner closes."""

    engine: Engine

    def __enter__(self) -> Engine:
        self.engine.alive()
        return self.engine

    def __exit__(self, *_: object) -> None:
        return None


@contextmanager
def _paid(key: str | None) -> Iterator[None]:
    """What fails after it was paid for is done again under the same key, without another payment."""
    try:
        yield
    except Unreadable as error:
        raise Unreadable(error.stage, error.kind, key) from None


def _again(stored: Released, code: str, budget: str | None, key: str) -> Released:
    """The numbers that are kept under the key, if they are of this plan."""
    if stored.plan_hash != code:
        raise AlreadyRun(f"key {key!r} of budget {budget!r}", "it stands for another plan", "take another key")
    return stored


def plan_hash(plan: Plan) -> str:
    """SHA-256 of the plan as a document."""
    from quiltwork.spec import dumps

    return hashlib.sha256(dumps(plan).encode()).hexdigest()


def words(statistics: tuple[Statistic, ...], table: Table, neighbors: Notion) -> list[str]:
    """What was done to the data before they were counted, as far as it may matter to a reader."""
    said = []
    for one in statistics:
        if one.clip is not None:
            low, high = one.clip
            said.append(f"{one.name}: values of {one.of} outside {low:g} to {high:g} count as the nearer end.")
        if one.verb in ("sum", "mean") and isinstance(table.columns[str(one.of)], Float):
            step = 1 / Units.of(one, table).factor
            said.append(f"{one.name}: each value is rounded to a multiple of {step:.2g}, which intervals leave out.")
        if one.verb == "variance":
            said.append(
                f"{one.name}: squared distances of each value to both ends are rounded to multiples of "
                f"{float(1 / squared_units(one)):.2g}, which intervals leave out."
            )
    if isinstance(neighbors, User):
        if not math.isinf(neighbors.max_records):
            said.append(
                f"Of each {neighbors.id} at most {neighbors.max_records:g} records are used, chosen by a fixed hash; "
                f"records without {neighbors.id} are left out."
            )
        for column, cap in neighbors.max_per:
            said.append(f"Of each {neighbors.id} at most {cap} records with the same {column} are used.")
    used = frozenset().union(*(one.reads() for one in statistics))
    strict = [
        n for n in sorted(used) if not isinstance(c := table.columns[n], Id) and not getattr(c, "nullable", False)
    ]
    if strict:
        how = "count as a fixed value of its list or range" if isinstance(neighbors, SWAP_STEPS) else "are left out"
        said.append(f"Records with a missing or unusable {' or '.join(strict)} {how}.")
    return list(dict.fromkeys(said))
