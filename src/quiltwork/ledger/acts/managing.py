"""What admins and owners do: budgets are opened, paused, resumed and closed, principals admitted, keys replaced."""

from __future__ import annotations

import os
from datetime import datetime
from typing import Any

from quiltwork.compose.filters.opening import UnitsFilter
from quiltwork.compose.neighbors import check_neighbors
from quiltwork.errors import InvalidParameter, NotOpen, Unsupported
from quiltwork.ledger import names as words
from quiltwork.ledger import tokens
from quiltwork.ledger.acts.connection import KeyFile, Session
from quiltwork.ledger.book.book import Principal
from quiltwork.ledger.book.changes import handover
from quiltwork.ledger.book.rights import Rights
from quiltwork.ledger.book.rules import ROLES
from quiltwork.ledger.book.terms import Terms, check_plan
from quiltwork.ledger.chain.entries import Entry, stamp
from quiltwork.ledger.chain.keys import SigningKey
from quiltwork.ledger.chain.receipts import Receipt
from quiltwork.ledger.store.writer import Writer

STATES = {"pause": ("open",), "resume": ("paused",), "close": ("open", "paused")}  # in which each can be done


def open_budget(session: Session, terms: Terms) -> Receipt:
    """Open a budget of a new name; a plan that as a whole passes the limit, or is about another change, is refused."""
    if terms.plan:
        check_plan(terms)
    if isinstance(terms.filter, UnitsFilter):
        check_neighbors(terms.filter.loss, *terms.paid)

    def work(writer: Writer) -> Entry:
        if writer.book.account(terms.name) is not None:
            raise InvalidParameter("name", terms.name, "new", "a budget of that name was opened before")
        if terms.expires is not None and terms.expires <= writer.now:
            raise InvalidParameter("expires", terms.expires.isoformat(), "in the future")
        return writer.append("open", terms.name, terms.to_json())

    return session.write("manage", work)


def change(session: Session, name: str, act: str, note: str) -> Receipt:
    """Pause, resume or close a budget."""
    name, note = words.name("budget", name), words.note(note)

    def work(writer: Writer) -> Entry:
        state = writer.book.opened(name).standing.state
        if state not in STATES[act]:
            raise NotOpen(f"budget {name!r}", state, f"it cannot {act}")
        return writer.append(act, name, {"note": note})

    return session.write("manage", work, budget=name)


def set_rights(session: Session, name: str, rights: Rights, note: str) -> Receipt:
    """Who may spend from a budget from now on, and how much each."""
    name, note = words.name("budget", name), words.note(note)
    if rights.quotas and session.terms(name).filter is None:
        raise Unsupported("a quota of a planned budget", "its plan says what runs", "name its spenders alone")

    def work(writer: Writer) -> Entry:
        writer.book.opened(name)
        return writer.append("rights", name, {"rights": rights.to_json(), "note": note})

    return session.write("manage", work, budget=name)


def admit(session: Session, name: str, role: Any, expires: datetime | None) -> str:
    """Name a principal of a role; returns its token, which nobody can find out later."""
    name = words.name("principal", name)
    if not isinstance(role, str) or role not in ROLES:
        raise InvalidParameter("role", role, "one of " + ", ".join(ROLES))
    until = None if expires is None else stamp(words.moment("expires", expires))
    token, identity, stored = tokens.new_token(session.identity)

    def work(writer: Writer) -> Entry:
        if not writer.guarded and role != "admin":
            raise InvalidParameter("role", role, "admin for the first principal", "somebody must name the others")
        if until is not None and until <= stamp(writer.now):
            raise InvalidParameter("expires", until, "in the future")
        if not writer.guarded and until is not None:
            raise InvalidParameter("expires", until, "left out for the first admin", "nobody could follow")
        before = writer.book.principal(name)
        if before is not None and (role != "admin" or until is not None):
            _keep_one(writer, before)
        body = {"name": name, "role": role, "identity": identity, "stored": stored, "expires": until}
        return writer.append("admit", None, body)

    session.write("manage", work)
    return token


def revoke(session: Session, name: str) -> Receipt:
    """The token of a principal ends now."""
    name = words.name("principal", name)

    def work(writer: Writer) -> Entry:
        found = writer.book.principal(name)
        if found is None or found.revoked:
            raise InvalidParameter("principal", name, "the name of a principal that is not revoked")
        _keep_one(writer, found)
        return writer.append("revoke", None, {"name": name})

    return session.write("manage", work)


def _keep_one(writer: Writer, principal: Principal) -> None:
    """Refuse to take away the last admin whose token never ends."""
    if principal.role != "admin" or principal.revoked or principal.expires is not None:
        return
    people = writer.book.principals.values()
    if sum(one.role == "admin" and not one.revoked and one.expires is None for one in people) <= 1:
        raise InvalidParameter("principal", principal.name, "not the last admin", "admit another one first")


def rotate(session: Session, key: KeyFile) -> Receipt:
    """Let the key of another file sign from now on; it is made when it does not exist."""
    place = words.path("key", key)

    def work(writer: Writer) -> Entry:
        new = SigningKey.load(place) if os.path.exists(place) else SigningKey.create(place)
        if new.public == writer.book.public_key:
            raise InvalidParameter("key", str(key), "another key than the one that signs now")
        agreed = None if session.key is None else session.key.signature(handover(session.identity, new.public))
        writer.signing_key = new
        return writer.append("key", None, {"public_key": new.public, "agreed": agreed})

    made = session.write("manage", work, alone=True)
    session.key = SigningKey.load(place)
    session.begin_mark(place)  # whoever comes with the new key knows what was seen with the old one
    return Receipt.issued(session.identity, made.entry, session.key)
