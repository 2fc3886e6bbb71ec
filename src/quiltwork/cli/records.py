"""Records of a CSV file, read as the columns of a table plan say."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from quiltwork.errors import InvalidParameter
from quiltwork.tables.schema.columns import Cat, Column, Float, Int, SubsetOf
from quiltwork.tables.schema.table import Table


def records_of(path: Path, table: Table) -> list[dict[str, Any]]:
    """All records; an empty cell is NULL.  What is wrong is told by line and column, never what stands there."""
    try:
        with path.open(newline="", encoding="utf-8") as lines:
            return list(_read(lines, path.name, table))
    except OSError as error:
        raise InvalidParameter("data", str(path), "a CSV file that can be read", error.strerror or "") from None
    except (UnicodeDecodeError, csv.Error):
        raise InvalidParameter("data", str(path), "a CSV file in UTF-8") from None


def _read(lines: Any, name: str, table: Table) -> Iterator[dict[str, Any]]:
    reader = csv.DictReader(lines, strict=True)
    missing = [column for column in table.columns if column not in (reader.fieldnames or ())]
    if missing:
        raise InvalidParameter(f"the header of {name}", f"no column {missing[0]}", f"{', '.join(table.columns)}")
    for row in reader:
        found = {}
        for column, kind in table.columns.items():
            try:
                found[column] = _value(row[column], kind)
            except (InvalidParameter, ValueError, KeyError, TypeError):
                where = f"column {column} of line {reader.line_num} of {name}"
                raise InvalidParameter(
                    where, "something else", f"a value of {kind}, empty where it may be NULL"
                ) from None
        yield found


def _value(text: str | None, kind: Column) -> Any:
    """What a cell says; sets are written with semicolons between their members."""
    if text is None:
        raise ValueError("the line is too short")
    if not text and getattr(kind, "nullable", False):
        return None
    found: Any = text
    if isinstance(kind, (Int, Float)):
        found = int(text) if isinstance(kind, Int) else float(text)
    elif isinstance(kind, SubsetOf):
        found = [part for part in text.split(";") if part]
    elif isinstance(kind, Cat):
        found = {_written(category): category for category in kind.categories}[_written(text)]
    kind.value(found)
    return found


def _written(category: Any) -> str:
    """A category as files write it; true and false in any case."""
    text = str(category)
    return text.lower() if text.lower() in ("true", "false") else text
