"""A ledger is reached: made where there is none, opened with its key and mark, examined, or brought to this version."""

from __future__ import annotations

import os
import uuid
from typing import Any

from sqlalchemy import Connection, insert

from quiltwork import checks
from quiltwork.errors import BrokenChain, InvalidParameter
from quiltwork.ledger.acts.connection import KeyFile, Session, key_file, mark_folder
from quiltwork.ledger.acts.trust import Trust
from quiltwork.ledger.book.changes import FORMAT
from quiltwork.ledger.chain.entries import GENESIS, Entry
from quiltwork.ledger.chain.keys import SigningKey
from quiltwork.ledger.chain.mark import MARK_VARIABLE, Mark
from quiltwork.ledger.chain.statements import Facts
from quiltwork.ledger.chain.tree import Tree
from quiltwork.ledger.proof.upgrade import upgraded
from quiltwork.ledger.store import schema
from quiltwork.ledger.store.addresses import address, shown
from quiltwork.ledger.store.heads import Ended, access_of
from quiltwork.ledger.store.migrations import upgrade as migrated
from quiltwork.ledger.store.rows import entry_at
from quiltwork.ledger.store.store import Clock, Store, read_head


def connect(url: str, key: KeyFile | None, token: str | None, clock: Clock | None, timeout: float) -> Session:
    """Reach the ledger of a database, which is made where there is none, as whom the token names."""
    store = Store(address(url), checks.positive("timeout", timeout), clock)
    found = store.version()
    if found is None:
        store.make(lambda connection: _begin(connection, store, key))
    else:
        store.check_version(found)
    identity, head = _seen(store)
    signing = _signing_key(store, key, head.public_key)
    folder = mark_folder(store, key) if signing is not None or os.environ.get(MARK_VARIABLE) else None
    mark = None if folder is None else Mark(folder, identity, shown(store.url))
    session = Session(store, identity, signing, Trust.of(identity, head, mark))
    return session if token is None else session.signed_in(token)


def examined(url: str, timeout: float) -> Session:
    """Reach a ledger to examine it: nobody is believed, nothing is refused for what it says, nothing is written."""
    store = Store(address(url), timeout, None)
    found = store.version()
    if found is None:
        raise InvalidParameter("url", shown(store.url), "a database with a ledger")
    store.check_version(found)
    identity, head = _seen(store)
    return Session(store, identity, None, Trust.of(identity, head, None), examining=True)


def upgrade(url: str, key: KeyFile | None, clock: Clock | None = None) -> str:
    """Bring a ledger of an older version to this one, after a full verification; the version that it had."""
    store = Store(address(url), 30.0, clock)
    try:
        before = store.version()

        def work(connection: Connection) -> Ended | None:
            if before != schema.UNSIGNED_HEAD:  # tables alone
                migrated(connection)
                return None
            first = entry_at(connection, 1)
            identity = "" if first is None else str(first.content.get("id"))
            place = key_file(store, key)
            signing = SigningKey.load(place) if place is not None and os.path.exists(place) else None
            public = None if first is None else first.content.get("public_key")
            if signing is None and public is not None:
                hint = "its head is signed anew; name it by --key-file or QUILTWORK_LEDGER_KEY"
                raise InvalidParameter("key", None, "the file of the key that signs for this ledger", hint)
            folder = mark_folder(store, key)
            mark = None if folder is None else Mark(folder, identity, shown(store.url))
            point = None if mark is None else mark.read()[0]
            return upgraded(connection, store.now(connection), signing, point)

        store.upgrade(work)
        return str(before)
    finally:
        store.dispose()


def _seen(store: Store) -> tuple[str, Any]:
    """What a ledger calls itself, and its head: nothing of it is believed yet."""
    with store.reading() as connection:
        first, head = entry_at(connection, 1), read_head(connection)
    return "" if first is None else str(first.content.get("id")), head


def _begin(connection: Connection, store: Store, key: KeyFile | None) -> None:
    """The first entry: the ledger's identity and the key that signs for it."""
    place = key_file(store, key)
    signing = None if place is None else SigningKey.load(place) if os.path.exists(place) else SigningKey.create(place)
    identity = uuid.uuid4().hex
    public = None if signing is None else signing.public
    entry = Entry.made(
        previous=GENESIS, seq=1, time=store.now(connection), kind="ledger",
        budget=None, principal=None, key=None, body={"id": identity, "public_key": public, "format": FORMAT},
    )  # fmt: skip
    connection.execute(insert(schema.entries), entry.row())
    tree = Tree()
    tree.append(bytes.fromhex(entry.hash))
    facts = Facts(identity, 1, entry.time, entry.hash, tree.root.hex(), access_of(()))
    Ended.of(facts, tree, {}, public, signing).begin(connection)


def _signing_key(store: Store, key: KeyFile | None, public: str | None) -> SigningKey | None:
    """The private key that belongs to the ledger; None when it is not here, and then only reading is possible."""
    place = key_file(store, key)
    if place is None or (key is None and not os.path.exists(place)):
        return None
    if public is None:
        raise BrokenChain(
            f"the ledger is not signed, although there is a key for it, {place}: was it replaced? If it never was "
            "signed, leave the key out and rotate to it"
        )
    found = SigningKey.load(place)
    if found.public == public:
        return found
    if key is not None:
        raise InvalidParameter("key", str(place), "the file of the key that signs for this ledger")
    raise BrokenChain(
        f"another key signs for this ledger than that of {place}: after a rotation give the new file, otherwise it "
        "was replaced"
    )
