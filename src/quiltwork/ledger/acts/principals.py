"""Principals: admitted, revoked, signed in."""

from __future__ import annotations

from datetime import datetime
from typing import Self

import attrs
from sqlalchemy import Connection, func, select

from quiltwork.errors import (
    InvalidParameter,
)
from quiltwork.ledger import names as words
from quiltwork.ledger import tokens
from quiltwork.ledger.acts import access
from quiltwork.ledger.acts.connection import Connected
from quiltwork.ledger.book.book import Principal
from quiltwork.ledger.chain.entries import Entry, stamp
from quiltwork.ledger.chain.receipts import Receipt
from quiltwork.ledger.store import schema
from quiltwork.ledger.store.rows import LiveBook
from quiltwork.ledger.store.store import read_head
from quiltwork.ledger.store.writer import Writer

__all__ = ["People"]


class People(Connected):
    """Acts on who may use the ledger."""

    def admit(self, name: str, role: str, *, expires: datetime | None = None) -> str:
        """Name a principal (viewer, spender or admin); returns its token, which is shown this once.

        The first one must be an admin: from then on every use of the ledger asks for a token. A principal that is
        admitted again gets a new token, and the old one ends.
        """
        name, role = words.name("principal", name), access.role(role)
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

        self._write("manage", work)
        return token

    def revoke(self, name: str) -> Receipt:
        """The token of a principal ends now."""
        name = words.name("principal", name)

        def work(writer: Writer) -> Entry:
            found = writer.book.principal(name)
            if found is None or found.revoked:
                raise InvalidParameter("principal", name, "the name of a principal that is not revoked")
            _keep_one(writer.connection, found)
            return writer.append("revoke", None, {"name": name})

        return self._write("manage", work)

    def principals(self) -> tuple[Principal, ...]:
        """Everybody who was admitted."""

        def work(book: LiveBook, now: datetime) -> tuple[Principal, ...]:
            rows = book.connection.execute(select(schema.principals).order_by(schema.principals.c.name))
            return tuple(attrs.evolve(Principal(*row), stored="") for row in rows)

        return self._read(work)

    @property
    def guarded(self) -> bool:
        """Whether tokens rule, that is whether anybody was admitted."""
        with self._store.reading() as connection:
            return bool(read_head(connection).guarded)

    def me(self) -> Principal | None:
        """Who uses the ledger; None for nobody in particular. AccessDenied when the token has ended meanwhile."""

        def work(book: LiveBook, now: datetime) -> Principal | None:
            found = None if self._who is None else book.principal(self._who[0])
            return None if found is None else attrs.evolve(found, stored="")

        return self._read(work)

    def sign_in(self, token: str) -> Self:
        """The same ledger, used by whom the token names; AccessDenied for a token that is not known."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other._who = self._signed_in(token)
        return other


def _keep_one(connection: Connection, principal: Principal) -> None:
    """Refuse to take away the last admin whose token never ends."""
    lasting = principal.role == "admin" and not principal.revoked and principal.expires is None
    if lasting and _lasting_admins(connection) <= 1:
        raise InvalidParameter("principal", principal.name, "not the last admin", "admit another one first")


def _lasting_admins(connection: Connection) -> int:
    table = schema.principals
    asked = select(func.count()).where(table.c.role == "admin", table.c.revoked == 0, table.c.expires.is_(None))
    return int(connection.execute(asked).scalar_one())
