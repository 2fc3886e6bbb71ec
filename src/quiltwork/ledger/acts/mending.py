"""After a break: rows are written anew from the chain, entries are put back, and what cannot be is acknowledged.

Somebody who could write the database changed it, and `verify` names the entry or the row. Three things help, in one
transaction under the lock, and only where the chain that results leads to the root which the head signs:

* entries come back byte for byte from receipts, from an export, from wherever they were kept: the chain says whether
  they are the ones, so that nobody has to be trusted about them;
* an entry that is lost, or that broke a rule, is *acknowledged*: it counts and gives nothing, for ever, and every
  verification names it. What a lost one spent is said by `charges`; without them every budget ends that is open;
* every derived row is written anew from the replay of all that.

Reference: theory/ledger.md section 2.8 (Lemma 6).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

from sqlalchemy import Connection, delete, insert, or_

from quiltwork import checks
from quiltwork.errors import BrokenChain, InvalidParameter
from quiltwork.ledger import names as words
from quiltwork.ledger.acts.connection import Session, whose
from quiltwork.ledger.acts.spending import request
from quiltwork.ledger.book import rules
from quiltwork.ledger.chain.entries import GENESIS, Entry
from quiltwork.ledger.chain.receipts import Receipt
from quiltwork.ledger.chain.statements import is_hash
from quiltwork.ledger.proof.checker import Checker
from quiltwork.ledger.proof.transfer import Retiring, write_rows
from quiltwork.ledger.store import schema
from quiltwork.ledger.store.acknowledged import Acknowledged, lost_entry
from quiltwork.ledger.store.heads import head_facts, rows_between, write_tiles
from quiltwork.ledger.store.migrations.entries_stay import allow_changes, forbid_changes
from quiltwork.ledger.store.store import Locked
from quiltwork.ledger.store.writer import Writer

DERIVED = (schema.budgets, schema.tallies, schema.reservations, schema.principals, schema.tiles)
MOST_RANGES = 1000
Ranges = tuple[tuple[int, int], ...]


def ranges_of(given: Any) -> Ranges:
    """Numbers of entries and pairs (first, last), in order and apart."""
    found = []
    for one in words.listed("entries", given, "numbers of entries, or pairs (first, last)"):
        pair = (one, one) if isinstance(one, int) else words.listed("entries", one, "a pair (first, last)")
        if len(pair) != 2:
            raise InvalidParameter("entries", one, "a pair (first, last)")
        found.append((checks.count("entry", pair[0], least=2), checks.count("entry", pair[1], least=pair[0])))
    found.sort()
    if len(found) > MOST_RANGES or any(two[0] <= one[1] for one, two in itertools.pairwise(found)):
        raise InvalidParameter("entries", given, f"at most {MOST_RANGES} numbers or pairs, apart from one another")
    return tuple(found)


def entries_of(given: Any) -> dict[int, Entry]:
    """Entries that were kept elsewhere, by their numbers; the chain says whether they are its own."""
    found: dict[int, Entry] = {}
    for one in words.listed("entries", given, "entries or receipts of this ledger"):
        entry = one.entry if isinstance(one, Receipt) else one
        if not isinstance(entry, Entry) or not entry.sound():
            raise InvalidParameter("entries", type(one).__name__, "entries or receipts, as they were written")
        found[entry.seq] = entry
    return found


def repair(
    session: Session, token: str | None, kept: Any = (), acknowledge: Any = (), charges: Any = None, note: Any = ""
) -> Receipt:
    """Everything above, by an admin, as one entry of the chain."""
    given, ranges, note = entries_of(kept), ranges_of(acknowledge), words.note(note)
    if charges is not None and not isinstance(charges, Mapping):
        raise InvalidParameter("charges", charges, "losses by the names of budgets")
    before = session.trust.known
    with session.store.writing() as locked:
        session.check_key(locked.head.public_key)
        checker = _replayed(locked, session.identity, given, ranges)
        believed = session.trust.follow(locked.connection, locked.head, before, session.key, checker.book.principals)
        who = None if token is None else whose(believed, token, locked.now)
        rules.check_right(checker.book, believed.guarded, who, "manage", locked.now)
        writer = Writer(locked, believed, session.key, None if who is None else who[0])
        made = writer.append("repaired", None, _body(writer, checker, ranges, charges, note))
        ended = writer.finish()
    if ended is not None:
        session.trust.wrote(ended)
    return Receipt.issued(session.identity, made, session.key)


def _body(writer: Writer, checker: Checker, ranges: Ranges, charges: Any, note: str) -> dict[str, Any]:
    """What is acknowledged, and what lost entries are taken to have spent; without that every open budget ends."""
    if not ranges:
        return {"note": note}
    if not note:
        raise InvalidParameter("note", note, "a remark that says what happened")
    lost = checker.acknowledged.lost_in(ranges)
    body: dict[str, Any] = {"note": note, "ranges": [list(one) for one in ranges], "lost": lost}
    body |= {"charges": None, "closed": []}
    if charges is not None:
        body["charges"] = []
        for name, loss in charges.items():
            account = writer.book.opened(words.name("budget", name))
            asked = request(account.terms, loss, None, 1, None)
            taken = asked.charge(account, writer.now)
            body["charges"].append({"budget": name, **taken.fields(), "loss": asked.loss})
    elif lost:
        body["closed"] = checker.book.live()
    return body


def _replayed(locked: Locked, identity: str, given: Mapping[int, Entry], ranges: Ranges) -> Checker:
    """The chain made whole and replayed, every derived row written anew from it; BrokenChain where it stays broken."""
    connection, head = locked.connection, locked.head
    facts, peaks = head_facts(identity, head)
    allow_changes(connection)
    _put_back(connection, facts.seq, facts.hash, given, ranges)
    forbid_changes(connection)
    for table in DERIVED:
        connection.execute(delete(table))
    checker = Checker(Retiring(connection), Acknowledged.read(connection, more=ranges))
    for row in rows_between(connection, 0, facts.seq):
        checker.take(Entry(*row))
    checker.check_acknowledged()
    if checker.tree.peaks != peaks or checker.hash != facts.hash:
        raise BrokenChain("what was found and given is not what the head is signed for: restore it from an export")
    write_rows(connection, checker)
    write_tiles(connection, checker.tree)
    return checker


def _put_back(connection: Connection, last: int, hash: str, given: Mapping[int, Entry], ranges: Ranges) -> None:
    """Every row of the chain as it was, else, where that is acknowledged, a row that says that it is lost."""
    rows, before = schema.entries, GENESIS
    connection.execute(delete(rows).where(or_(rows.c.seq < 1, rows.c.seq > last)))  # they were never part of it
    for seq, found, after, sure in _in_order(connection, last, hash):
        entry = given.get(seq)  # a wrong one leads to another root, and is refused with it
        if entry is None or not _fits(entry, before):
            entry = found if found is not None and _fits(found, before) and not (sure and found.hash != after) else None
        if entry is None:
            if not any(one <= seq <= two for one, two in ranges):
                raise BrokenChain("it is not as it was written, and was not given: acknowledge it", seq)
            if after is None or not is_hash(after):
                raise BrokenChain("its hash is lost with the entry after it: give one of the two", seq)
            entry = lost_entry(seq, before, after)
        if entry != found:
            connection.execute(delete(rows).where(rows.c.seq == seq))
            connection.execute(insert(rows), entry.row())
        before = entry.hash


def _fits(entry: Entry, before: str) -> bool:
    """Whether an entry follows the one before it; or says that it is lost, which was acknowledged earlier."""
    return entry.previous == before and (entry.sound() or entry == lost_entry(entry.seq, before, entry.hash))


def _in_order(connection: Connection, last: int, hash: str) -> Iterator[tuple[int, Entry | None, str | None, bool]]:
    """Each number, its row if there is one, the hash that the next row or the head says it has, and whether to rely on
    that: the next row is as it was written.
    """
    at, waiting = 0, None
    for row in rows_between(connection, 0, last):
        entry = Entry(*row)
        sure = entry.sound()
        for seq in range(max(at, 1), entry.seq):
            next_one = seq == entry.seq - 1
            yield seq, waiting if seq == at else None, entry.previous if next_one else None, sure and next_one
        at, waiting = entry.seq, entry
    for seq in range(max(at, 1), last + 1):
        yield seq, waiting if seq == at else None, hash if seq == last else None, seq == last
