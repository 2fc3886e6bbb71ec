"""Derived rows, held against a replay: a row that nobody wrote, or that says something else, is named."""

from __future__ import annotations

from typing import Any

import attrs
from sqlalchemy import Connection, or_, select

from quiltwork.errors import BrokenChain
from quiltwork.ledger.book.book import ENDED, reservation_row
from quiltwork.ledger.proof.checker import Checker
from quiltwork.ledger.store import schema


def check_rows(connection: Connection, checker: Checker, *, kept_tiles: bool = True) -> None:
    """Every derived row against the replay; a difference is laid at the last entry that could have written it."""
    book, last = checker.book, checker.seq
    accounts = book.account_rows()
    for row in connection.execute(select(schema.budgets)):
        mine = accounts.pop(row.name, None)
        if mine is None:
            raise BrokenChain(f"a row of budget {row.name!r} was never written", last)
        if any(map(_odd, tuple(row)[1:], mine)):
            raise BrokenChain(f"the row of budget {row.name!r} says something else", mine[3])
    if accounts:
        name, mine = min(accounts.items())
        raise BrokenChain(f"the row of budget {name!r} is missing", mine[3])
    _compare(connection, schema.tallies, {place: {"amount": value} for place, value in book.amounts.items()}, last)
    tiles = {(level, place): {"root": root.hex()} for level, place, root in checker.tree.tiles}
    if kept_tiles:
        _compare(connection, schema.tiles, tiles, last)
    _compare(connection, schema.principals, {(one.name,): attrs.asdict(one) for one in book.principals.values()}, last)
    status = schema.reservations.c.status
    active = {(one.seq,): reservation_row(one) for one in book.reservations.values()}
    _compare(connection, schema.reservations, active, last, or_(status.is_(None), status.not_in(ENDED)))
    rows = connection.execution_options(yield_per=1000).execute(select(schema.reservations).where(status.in_(ENDED)))
    found = 0
    for row in rows:
        found = (found + book.fingerprint(dict(row._mapping))) % 2**256
    if found != book.ended:
        raise BrokenChain("a row of a reservation that has ended is not as it was written", last)


def _odd(found: Any, expected: Any) -> bool:
    """Whether a cell is not exactly what it should be: SQLite takes any type anywhere."""
    return type(found) is not type(expected) or found != expected


def _compare(
    connection: Connection, table: Any, mine: dict[tuple[Any, ...], dict[str, Any]], last: int, where: Any = None
) -> None:
    keys = [column.name for column in table.primary_key]
    asked = select(table) if where is None else select(table).where(where)
    for row in connection.execute(asked).mappings():
        expected = mine.pop(tuple(row[name] for name in keys), None)
        if expected is None:
            raise BrokenChain(f"a row of {table.name} was never written", last)
        if any(_odd(row[name], value) for name, value in expected.items()):
            raise BrokenChain(f"a row of {table.name} says something else", last)
    if mine:
        raise BrokenChain(f"a row of {table.name} is missing", last)
