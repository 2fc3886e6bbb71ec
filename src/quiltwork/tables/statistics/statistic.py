"""What a plan publishes of a table: counts, sums, means, variances, distinct persons, quantiles, and unlisted keys.

Reference: theory/release.md sections 1 and 5.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import attrs

from quiltwork import checks
from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.kinds import document
from quiltwork.mechanisms.noise import Auto, Gaussian, Laplace, Noise
from quiltwork.tables.notions.neighbors import FreeLunch, Node, Notion, User
from quiltwork.tables.schema.columns import Cat, Column, Float, Id, Int
from quiltwork.tables.schema.groups import Grouping
from quiltwork.tables.schema.predicates import Predicate, opaque_parts
from quiltwork.tables.schema.table import Reference, Table
from quiltwork.tables.statistics.groups import grouped, groupings

VERBS = ("count", "distinct", "sum", "mean", "variance", "quantiles", "keys")
NUMBERS = (Int, Float)
OF = {
    "sum": NUMBERS, "mean": NUMBERS, "variance": NUMBERS, "quantiles": NUMBERS, "distinct": (Id,), "keys": (Id, Cat)
}  # fmt: skip
MOST_QUANTILES = 100
LEAST_END, MOST_END = 1e-100, 1e100  # of the farther end of a clip: factors and widths stay within doubles


@document("statistic/1")
@attrs.frozen(eq=False)
class Statistic:
    """One query of a plan that is run: what is computed of which records, by which groups, and how it is protected."""

    verb: str
    name: str
    noise: Noise
    of: str | None = None
    clip: tuple[float, float] | None = None
    by: tuple[Grouping, ...] = ()
    where: Predicate | None = None
    q: tuple[float, ...] = ()
    delta: float | None = None
    parts: bool | None = None  # of a mean: also the sum and the count that it is made of

    @property
    def ready(self) -> bool:
        """Whether its noise is chosen."""
        return not isinstance(self.noise, Auto)

    def groups(self, table: Table) -> dict[tuple[str, ...], Predicate | None]:
        """Its groups by their labels, each with the condition that selects its records."""
        return grouped(self.by, table, self.where)

    def size(self, table: Table) -> int:
        """How many numbers it gives; of keys only the groups are known beforehand."""
        return len(self.groups(table)) * max(len(self.q), 3 if self.parts else 1)

    def reads(self) -> frozenset[str]:
        """The columns on which its answer depends."""
        chosen = frozenset() if self.where is None else self.where.columns
        own = frozenset() if self.of is None else frozenset((self.of,))
        return chosen | own | frozenset(one.column for one in self.by)

    def in_words(self) -> str:
        """What is computed of the records of one group, and its noise, for people."""
        what = self.verb if self.of is None else f"{self.verb} of {self.of}"
        clip = "" if self.clip is None else f" within {self.clip[0]:g} and {self.clip[1]:g}"
        return f"{what}{clip}, {self.noise}"

    def __str__(self) -> str:
        what = self.verb if self.of is None else f"{self.verb} of {self.of}"
        groups = f" by {' and '.join(map(str, self.by))}" if self.by else ""
        return f"{what}{groups}, {self.noise}"


def statistic(
    table: Table,
    neighbors: Notion,
    verb: str,
    name: str,
    *,
    noise: Any,
    of: Any = None,
    clip: Any = None,
    by: Any = None,
    where: Predicate | None = None,
    q: Any = (),
    delta: Any = None,
    parts: bool | None = None,
) -> Statistic:
    """A statistic of this table, checked."""
    checks.one_of("statistic", verb, VERBS)
    name = checks.text("name", name)
    if isinstance(neighbors, (Node, FreeLunch)):
        raise Unsupported(
            f"a statistic under {neighbors}", "no cut of single rows keeps tables that far apart near each other",
            "state the loss of a release made elsewhere with plan.add, or hide edges",
        )  # fmt: skip
    if where is not None and opaque_parts(where):
        raise InvalidParameter("where", where, "conditions on columns", "an opaque filter cannot be run")
    column = _column(table, verb, of)
    if verb == "quantiles":
        found: Noise = _noise(
            noise, (Laplace, Auto), "quantiles are drawn by the exponential mechanism: laplace(scale)"
        )
    else:
        found = _noise(noise, (Laplace, Gaussian, Auto), "quiltwork.noise.laplace(scale), gaussian(sigma) or auto()")
    made = Statistic(
        verb=verb,
        name=name,
        noise=found,
        of=None if column is None else column.name,
        clip=None if column is None else _clip(verb, column, clip),
        by=groupings("by", by, table),
        where=where,
        q=_quantiles(q) if verb == "quantiles" else _without("q", q or None) or (),
        delta=_delta(delta) if verb == "keys" else _without("delta", delta),
        parts=(checks.flag("parts", parts or False) or None) if verb == "mean" else _without("parts", parts),
    )
    if verb == "keys" and made.of in {one.column for one in made.by}:
        raise InvalidParameter("by", made.of, "other columns than the keys")
    made.groups(table)
    return made


def _column(table: Table, verb: str, of: Any) -> Reference | None:
    if verb == "count":
        _without("of", of)
        return None
    found = table[of] if isinstance(of, str) else of
    if not isinstance(found, Reference) or table.columns.get(found.name) is not found.column:
        raise InvalidParameter("of", of, "a column of the plan's table")
    if not isinstance(found.column, OF[verb]):
        kinds = " or ".join(kind.kind for kind in OF[verb])
        raise InvalidParameter("of", found, f"a column of kind {kinds} for {verb}")
    return found


def _clip(verb: str, of: Reference, clip: Any) -> tuple[float, float] | None:
    """Ends to which values are moved: the declared range, unless narrower ones are given."""
    column: Column = of.column
    if not isinstance(column, (Int, Float)):
        _without("clip", clip)
        return None
    if clip is None:
        low, high = column.low, column.high
    else:
        ends = checks.listed("clip", clip, "two ends, the lower one first")
        if len(ends) != 2:
            raise InvalidParameter("clip", clip, "two ends, the lower one first")
        low, high = (checks.real("clip", end) for end in ends)
        low, high = max(low, column.low), min(high, column.high)
    if isinstance(column, Int):
        low, high = math.ceil(low), math.floor(high)
    if not low < high:
        raise InvalidParameter("clip", clip, f"two different ends within {column.low} and {column.high}")
    if not LEAST_END <= max(abs(low), abs(high)) <= MOST_END:
        raise InvalidParameter("clip", (low, high), f"ends of a size between {LEAST_END:g} and {MOST_END:g}")
    return low, high


def _quantiles(q: Any) -> tuple[float, ...]:
    listed = q if isinstance(q, Iterable) and not isinstance(q, (str, bytes)) else (q,)
    found = tuple(checks.probability("q", one) for one in listed)
    if not 1 <= len(found) <= MOST_QUANTILES or len(set(found)) < len(found):
        raise InvalidParameter("q", q, f"1 to {MOST_QUANTILES} different levels, such as [0.25, 0.5, 0.75]")
    return tuple(sorted(found))


def _delta(delta: Any) -> float:
    if delta is None:
        raise InvalidParameter("delta", None, "stated for keys", "a key of one person alone is shown with this chance")
    found = checks.probability("delta", delta)
    if not 0 < found < 1:
        raise InvalidParameter("delta", delta, "in (0, 1)", "without a delta no key may ever be shown")
    return found


def _noise(given: Any, kinds: tuple[type, ...], allowed: str) -> Any:
    if not isinstance(given, kinds):
        raise InvalidParameter("noise", given, allowed)
    return given


def _without(name: str, given: Any) -> Any:
    if given is not None:
        raise InvalidParameter(name, given, "left out", "it has no meaning for this statistic")
    return None


def contribution(neighbors: Notion) -> float:
    """How many records of one person are used."""
    return neighbors.max_records if isinstance(neighbors, User) else 1
