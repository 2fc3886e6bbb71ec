"""Principals: admitted and revoked."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import attrs
from sqlalchemy import Connection, func, select

from quiltwork.errors import InvalidParameter
from quiltwork.ledger import names as words
from quiltwork.ledger import tokens
from quiltwork.ledger.acts.connection import Session
from quiltwork.ledger.book.book import Principal
from quiltwork.ledger.book.rules import ROLES
from quiltwork.ledger.chain.entries import Entry, stamp
from quiltwork.ledger.chain.receipts import Receipt
from quiltwork.ledger.store import schema
from quiltwork.ledger.store.rows import LiveBook, Writer

__all__ = ["admit", "principals", "revoke"]


def admit(session: Session, name: str, given: Any, expires: datetime | None) -> str:
    """Name a principal of a role; returns its token, which nobody can find out later."""
    name, role = words.name("principal", name), _role(given)
    until = None if expires is None else stamp(words.moment("expires", expires))
    token, identity, stored = tokens.new_token()

    def work(writer: Writer) -> Entry:
        if not writer.guarded and role != "admin":
            raise InvalidParameter("role", role, "admin for the first principal", "somebody must name the others")
        if until is not None and until <= stamp(writer.now):
            raise InvalidParameter("expires", until, "in the future")
        if not writer.guarded and until is not None:
            raise InvalidParameter("expires", until, "left out for the first admin", "nobody could follow")
        before = writer.book.principal(name)
        if before is not None and (role != "admin" or until is not None):
            _keep_one(writer.connection, before)
        body = {"name": name, "role": role, "identity": identity, "stored": stored, "expires": until}
        writer.guarded = True
        return writer.append("admit", None, body)

    session.write("manage", work)
    return token


def _role(given: Any) -> str:
    """One of the roles."""
    if not isinstance(given, str) or given not in ROLES:
        raise InvalidParameter("role", given, "one of " + ", ".join(ROLES))
    return str(given)


def revoke(session: Session, name: str) -> Receipt:
    """The token of a principal ends now."""
    name = words.name("principal", name)

    def work(writer: Writer) -> Entry:
        found = writer.book.principal(name)
        if found is None or found.revoked:
            raise InvalidParameter("principal", name, "the name of a principal that is not revoked")
        _keep_one(writer.connection, found)
        return writer.append("revoke", None, {"name": name})

    return session.write("manage", work)


def principals(book: LiveBook) -> tuple[Principal, ...]:
    """Everybody who was admitted, without the hashes of their tokens."""
    rows = book.connection.execute(select(schema.principals).order_by(schema.principals.c.name))
    return tuple(attrs.evolve(Principal(*row), stored="") for row in rows)


def _keep_one(connection: Connection, principal: Principal) -> None:
    """Refuse to take away the last admin whose token never ends."""
    lasting = principal.role == "admin" and not principal.revoked and principal.expires is None
    if lasting and _lasting_admins(connection) <= 1:
        raise InvalidParameter("principal", principal.name, "not the last admin", "admit another one first")


def _lasting_admins(connection: Connection) -> int:
    table = schema.principals
    asked = select(func.count()).where(table.c.role == "admin", table.c.revoked == 0, table.c.expires.is_(None))
    return int(connection.execute(asked).scalar_one())
