"""Who may do what. A ledger is open to whoever reaches its database until the first admin is named; then tokens rule.

The library checks tokens for the programs that use it. Whoever holds the password of the database can go around it:
give that, and the signing key, only to the service, and the tokens to people. Refusals are entries of the chain where
whoever is refused can write to it at all: with the signing key, and with rights to insert.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import Connection, select

from quiltwork.errors import AccessDenied, InvalidParameter
from quiltwork.ledger import tokens
from quiltwork.ledger.book.book import Account, Book, Principal
from quiltwork.ledger.chain.entries import moment
from quiltwork.ledger.store import schema

__all__ = ["Who", "check", "sign_in"]

Who = tuple[str, str]  # a principal's name, and which of its tokens was shown


def sign_in(connection: Connection, token: Any, now: datetime) -> Who:
    """Whose token this is; every refusal costs as much time as a match."""
    identity = tokens.identity_of(token)
    asked = select(schema.principals).where(schema.principals.c.identity == (identity or ""))
    row = connection.execute(asked).first()
    found = None if row is None else Principal(*row)
    fits = tokens.matches(token, tokens.decoy() if found is None else found.stored)
    if found is None or not fits:
        raise AccessDenied("signing in", "the token is not known")
    _valid(found, now)
    return found.name, found.identity


def _valid(principal: Principal, now: datetime) -> None:
    if principal.revoked:
        raise AccessDenied("signing in", f"the token of {principal.name!r} was revoked")
    if principal.expires is not None and now >= moment(principal.expires):
        raise AccessDenied("signing in", f"the token of {principal.name!r} has expired")


def check(book: Book, guarded: bool, who: Who | None, act: str, now: datetime, account: Account | None = None) -> None:
    """AccessDenied unless who asks may do this now: tokens are checked again in every transaction."""
    if not guarded:
        return
    if who is None:
        raise AccessDenied(act, "this ledger asks for a token")
    principal = book.principal(who[0])
    if principal is None or principal.identity != who[1]:
        raise AccessDenied(act, f"the token of {who[0]!r} was replaced")
    _valid(principal, now)
    owns = account is not None and principal.name in account.terms.owners and tokens.may(principal.role, "spend")
    if not tokens.may(principal.role, act) and not (act == "manage" and owns):
        raise AccessDenied(act, f"{principal.name!r} is a {principal.role}")


def role(given: Any) -> str:
    """One of the roles."""
    if not isinstance(given, str) or given not in tokens.ROLES:
        raise InvalidParameter("role", given, "one of " + ", ".join(tokens.ROLES))
    return str(given)
