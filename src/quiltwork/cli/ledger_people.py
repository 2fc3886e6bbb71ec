"""`quiltwork ledger admit`, `revoke`, `principals`, `key` and `upgrade`: who may use a ledger, and its upkeep."""

from __future__ import annotations

import sys
from datetime import datetime
from pathlib import Path
from typing import Any

from rich.text import Text

from quiltwork.cli import ledger_words as words
from quiltwork.cli.ledger_files import secret_file
from quiltwork.cli.ledger_reach import Where, reached
from quiltwork.cli.ledger_view import console
from quiltwork.cli.ledger_work import acted, answer
from quiltwork.cli.terminal import grid
from quiltwork.errors import InvalidParameter
from quiltwork.ledger.chain.keys import SigningKey
from quiltwork.ledger.store import schema
from quiltwork.ledger.store.addresses import address
from quiltwork.ledger.store.store import Store
from quiltwork.report.pages.budget_history import clean


def admitted(where: Where, name: str, role: str, expires: str | None, file: Path | None) -> int:
    """The token goes to a file of its own, or is printed this once."""
    until = None if expires is None else words.moment("expires", expires)
    if file is None:
        token, saved = _token(where, name, role, until), False
    else:
        with secret_file("save", file) as write:  # before anybody is admitted: a token that is lost may lock all out
            token = _token(where, name, role, until)
            saved = write(token + "\n")
    value: dict[str, Any] = {"schema": "quiltwork/admitted/1", "name": name, "role": role}
    value |= {"expires": None if until is None else until.isoformat()}
    value |= {"file": str(file)} if saved else {"token": token}

    def show() -> None:
        if saved:
            console().print(Text(f"admitted {name} as {role}; the token is in {file}"))
            return
        print(token)
        print(f"admitted {name} as {role}; this token is shown only now", file=sys.stderr)

    answer(where, value, show)
    return 0


def _token(where: Where, name: str, role: str, until: datetime | None) -> str:
    with reached(where) as ledger:
        return ledger.admit(name, role, expires=until)


def revoked(where: Where, name: str, file: Path | None) -> int:
    """End somebody's token."""
    return acted(where, lambda ledger: ledger.revoke(name), file)


def named(where: Where) -> int:
    """Everybody who was admitted."""
    with reached(where) as ledger:
        found = ledger.principals()
    people = [
        {"name": one.name, "role": one.role, "identity": one.identity, "expires": one.expires, "revoked": one.revoked}
        for one in found
    ]

    def show() -> None:
        if not found:
            console().print("nobody was admitted: whoever reaches the database may use this ledger")
            return
        table = grid(("name", False), ("role", False), ("token", False), ("until", False))
        for one in found:
            until = "-" if one.expires is None else clean(one.expires)[:16].replace("T", " ")
            cells = (one.name, one.role, "revoked" if one.revoked else f"qw_{one.identity}_...", until)
            table.add_row(*map(Text, cells))
        console().print(table)

    answer(where, {"schema": "quiltwork/principals/1", "principals": people}, show)
    return 0


def keyed(where: Where, file: Path | None, make: bool) -> int:
    """The public key of a key file, of a new one, or of the ledger."""
    if file is None:
        if make:
            raise InvalidParameter("file", None, "the name of the new key file")
        with reached(where) as ledger:
            public = ledger.public_key
    elif make and file.exists():
        raise InvalidParameter("file", str(file), "a file that does not exist yet", "keys are never replaced")
    else:
        public = (SigningKey.create(file) if make else SigningKey.load(file)).public
    value = {"schema": "quiltwork/key/1", "public_key": public, "file": None if file is None else str(file)}
    answer(where, value, lambda: print("this ledger does not sign" if public is None else public))
    if make and not where.as_json:
        print(f"wrote {file}; keep it secret, and keep a copy: nobody else can sign for its ledger", file=sys.stderr)
    return 0


def rotated(where: Where, file: Path, saved: Path | None) -> int:
    """Hand over to another key."""
    code = acted(where, lambda ledger: ledger.rotate(file), saved)
    if not where.as_json:
        words_ = f"from now on give --key-file {file}, or set QUILTWORK_LEDGER_KEY, wherever the ledger is written to"
        print(words_, file=sys.stderr)
    return code


def upgraded(where: Where) -> int:
    """Bring the tables up to date."""
    where.check_there()
    before = where.version()
    if before != schema.HEAD:
        store = Store(address(where.url), 30.0, None)
        try:
            store.upgrade()
        finally:
            store.dispose()
    words_ = "is up to date" if before == schema.HEAD else f"was brought from version {before} to"
    value = {"schema": "quiltwork/upgraded/1", "before": before, "after": schema.HEAD}
    answer(where, value, lambda: console().print(Text(f"the ledger {words_} (version {schema.HEAD})")))
    return 0
