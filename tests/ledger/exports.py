"""Exports for the tests: made, taken apart, changed line by line, and held against what an import leaves behind."""

from __future__ import annotations

import contextlib
import io
import json
import sqlite3
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import create_engine, inspect, text
from tests.ledger.forge import FIELDS, TABLES, chained

from quiltwork.errors import BrokenChain, InvalidParameter, QuiltworkError
from quiltwork.ledger import Ledger
from quiltwork.ledger.chain.entries import canonical

REFUSED = (BrokenChain, InvalidParameter)


def exported(ledger: Ledger) -> str:
    stream = io.StringIO()
    count = ledger.export(stream)
    assert count == stream.getvalue().count("\n") - 2
    return stream.getvalue()


def tables(url: str) -> list[str]:
    if url.startswith("sqlite"):
        with contextlib.closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as raw:
            return sorted(name for (name,) in raw.execute("SELECT name FROM sqlite_master WHERE type = 'table'"))
    engine = create_engine(url)
    found = inspect(engine).get_table_names()
    engine.dispose()
    return found


def contents(url: str) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of every table."""
    engine = create_engine(url)
    with engine.connect() as connection:
        found = {name: sorted(map(tuple, connection.execute(text(f"SELECT * FROM {name}")))) for name in TABLES}
    engine.dispose()
    return {name: [tuple(map(_plain, row)) for row in rows] for name, rows in found.items()}


def _plain(value: Any) -> Any:
    return int(value) if isinstance(value, bool) else value


class Target:
    """A place for an import that must stay empty."""

    def __init__(self, url: str) -> None:
        self.url = url

    def refuses(self, given: Any, seq: int | None = None) -> QuiltworkError:
        """The import is refused, names the entry, and makes nothing."""
        with pytest.raises(REFUSED) as caught:
            Ledger.restore(self.url, io.StringIO(given) if isinstance(given, str) else given)
        if seq is not None:
            assert isinstance(caught.value, BrokenChain), caught.value
            assert caught.value.seq == seq, caught.value
        assert tables(self.url) == []
        return caught.value


def json_same(one: str, two: str) -> bool:
    """Whether only white space inside the JSON differs: the same values."""
    try:
        values = [json.loads(line) for line in one.splitlines()]
    except ValueError:
        return False
    return values == [json.loads(line) for line in two.splitlines()]


def value_of(line: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(line)
    return found


def replaced(lines: list[str], at: int, **changes: Any) -> str:
    """The export with some fields of one line changed."""
    return "".join([*lines[:at], json.dumps({**value_of(lines[at]), **changes}) + "\n", *lines[at + 1 :]])


def rechained(lines: list[str], change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]) -> list[str]:
    entries = [{name: value_of(line)[name] for name in FIELDS} for line in lines[1:-1]]
    made = chained(change(entries))
    schema = value_of(lines[1])["schema"]
    head = canonical({**value_of(lines[0]), "entries": len(made)})
    closing = canonical({**value_of(lines[-1]), "seq": len(made), "hash": made[-1]["hash"]})
    return [head + "\n", *(canonical({"schema": schema, **row}) + "\n" for row in made), closing + "\n"]
