"""What a statistic is grouped by, as it is asked for, and the groups with their conditions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import Any

from quiltwork import checks
from quiltwork.errors import InvalidParameter
from quiltwork.tables.schema.groups import PERIODS, Grouping
from quiltwork.tables.schema.predicates import Predicate
from quiltwork.tables.schema.table import MOST_PARTS, Reference, Table


def groupings(name: str, given: Any, table: Table) -> tuple[Grouping, ...]:
    """What to group by: a column, its bands or periods, or a list of these; checked by making the groups."""
    listed = given if isinstance(given, (list, tuple)) else () if given is None else (given,)
    found = tuple(_grouping(name, one, table) for one in listed)
    if len({one.column for one in found}) < len(found):
        raise InvalidParameter(name, [one.column for one in found], "different columns")
    return found


def _grouping(name: str, given: Any, table: Table) -> Grouping:
    if isinstance(given, Grouping):
        found = given
    elif isinstance(given, Reference):
        found = Grouping(given.name)
    else:
        found = Grouping(checks.text(name, given, "a column of the table, its bands, or a list of these"))
    if found.every is not None:
        checks.one_of("every", found.every, PERIODS)
    found.parts(table)
    return found


def grouped(by: Sequence[Grouping], table: Table, where: Predicate | None) -> dict[tuple[str, ...], Predicate | None]:
    """Every combination of groups, with the condition that selects its records; one without a label for no grouping."""
    parts = [one.parts(table) for one in by]
    size = math.prod(len(one) for one in parts)
    if size > MOST_PARTS:
        raise InvalidParameter("by", size, f"at most {MOST_PARTS} groups", "group by fewer columns, or by wider bands")
    found: dict[tuple[str, ...], Predicate | None] = {}
    for labels in product(*parts):
        condition = where
        for one, label in zip(parts, labels, strict=True):
            condition = one[label] if condition is None else condition & one[label]
        found[labels] = condition
    return found
