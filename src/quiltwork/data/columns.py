"""The three columns of a sequence, checked in one scan before anything is counted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from quiltwork.checks import text
from quiltwork.data.engines import Engine
from quiltwork.data.sources import opened, reading
from quiltwork.errors import InvalidParameter

__all__ = ["checked"]

WHOLE = r"^[+-]?[0-9]{1,18}$"
MOMENT = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,6})?)?)?Z?$"
NAMES = ("is_string", "is_integer", "is_boolean", "is_date")
# Identifiers as floats merge people once they pass 2**53; as texts, moments sort by their spelling.
TYPES = {
    "who": ((*NAMES, "is_uuid", "is_decimal"), "texts, whole numbers, dates or UUIDs"),
    "when": (("is_integer", "is_floating", "is_decimal", "is_date", "is_timestamp", "is_time"), "numbers or moments"),
    "state": (NAMES, "texts, whole numbers, booleans or dates"),
    "group": (NAMES, "texts, whole numbers, booleans or dates"),
}


def checked(engine: Engine, source: Any, columns: Mapping[str, str | None], missing: str) -> tuple[Any, int, int, bool]:
    """The table with columns named by their role, its rows, the rows left out, and whether it was read from text.

    One scan counts rows and missing values (NaN in a column of floats is missing too).
    """
    if missing not in ("error", "drop"):
        raise InvalidParameter("missing", missing, '"error" or "drop"')
    names = {
        role: text(role, name, "the name of a column")
        for role, name in columns.items()
        if role != "group" or name is not None
    }
    different = [names[role] for role in ("who", "when", "state")]
    if len(set(different)) < len(different):
        raise InvalidParameter("who, when, state", different, "three different columns")
    table, textual = opened(engine, source, list(names.values()))
    table = table.select(**{role: table[name] for role, name in names.items()})
    if textual:
        table = table.mutate(**{role: table[role].nullif("") for role in names})  # one engine says null, one says ""
    else:
        _typed(table, names)
    absent = {role: _absent(table[role]) for role in names}
    complete = ~_any(absent.values())
    scan = {f"no_{role}": lost.ifelse(1, 0).sum() for role, lost in absent.items()}
    scan |= {"rows": table.count(), "complete": complete.ifelse(1, 0).sum()}
    if textual:
        scan |= {f"not_{kind}": wrong.ifelse(1, 0).sum() for kind, wrong in _misread(table.when).items()}
    found = {
        key: values[0] or 0
        for key, values in reading(engine.fetch, (table.aggregate(**scan),), source).to_pydict().items()
    }
    lost = {names[role]: found[f"no_{role}"] for role in names if found[f"no_{role}"]}
    if lost and missing == "error":
        raise InvalidParameter(
            "source", lost, f"without missing values in its {found['rows']} rows", 'missing="drop" leaves such rows out'
        )
    if lost:
        table = table.filter(complete)
    if textual:
        table = table.mutate(when=_moment(table.when, names["when"], found))
    return table, found["complete"], found["rows"] - found["complete"], textual


def _typed(table: Any, names: Mapping[str, str]) -> None:
    for role, name in names.items():
        kind = table[role].type()
        tests, words = TYPES[role]
        if not any(getattr(kind, test)() for test in tests):
            hint = "cast the column, or make a frame with missing numbers Int64" if kind.is_floating() else ""
            raise InvalidParameter(f"{role} column {name!r}", str(kind), words, hint or "cast the column first")


def _absent(column: Any) -> Any:
    return column.isnull() | column.isnan() if column.type().is_floating() else column.isnull()


def _any(conditions: Any) -> Any:
    first, *rest = conditions
    for condition in rest:
        first = first | condition
    return first


def _misread(column: Any) -> dict[str, Any]:
    """Which texts are not a whole number, which are not a moment; the casts of the engines alone forgive too much."""
    moment = column.re_search(MOMENT) & column.try_cast("timestamp").notnull()
    return {
        "whole": column.notnull() & ~column.re_search(WHOLE),
        "moment": column.notnull() & ~moment,
    }


def _moment(column: Any, name: str, found: Mapping[str, int]) -> Any:
    if not found["not_whole"]:
        return column.cast("int64")
    if not found["not_moment"]:
        return column.cast("timestamp")
    raise InvalidParameter(
        f"when column {name!r}",
        f"{found['not_whole']} texts that are no whole number, {found['not_moment']} that are no moment",
        "all whole numbers, or all ISO moments such as 2026-11-16T08:00:00",
    )
