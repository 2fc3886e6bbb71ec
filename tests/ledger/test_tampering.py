"""Whatever is changed in the tables of a ledger, by whoever can write them, verification says so and says where.

`first_bad` is, precisely: walk the entries by their numbers; it is the first place 1, 2, 3 ... whose entry is missing,
is not what was hashed or does not follow. If the chain itself is whole, it is the newest entry that could have written
what differs: that of the budget for a budget's row, that of the ledger for any other row and for the head; the number
after it when the head names an entry beyond the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy.exc import DBAPIError
from tests.ledger.forge import COLUMNS, TABLES, Forger, Row, SqliteForger, chained, forged, signed
from tests.ledger.rich import KINDS, STATUSES, Rich, rich

from quiltwork.ledger import Verification
from quiltwork.ledger.entries import canonical, parsed
from quiltwork.ledger.keys import SigningKey


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Rich, Path]]:
    """A signed SQLite ledger with everything in it; nobody changes it."""
    folder = tmp_path_factory.mktemp("rich")
    made = rich(f"sqlite:///{folder}/budgets.db", folder / "budgets.db.key")
    yield made, folder / "budgets.db"
    made.ledger.dispose()


@pytest.fixture(scope="module", params=["typed", "loose"])
def forger(original: tuple[Rich, Path], request: pytest.FixtureRequest) -> Iterator[SqliteForger]:
    """A copy to tamper with, also with tables that take everything."""
    made = SqliteForger(str(original[1]), loose=request.param == "loose")
    yield made
    made.close()


@pytest.fixture(scope="module")
def typed(original: tuple[Rich, Path]) -> Iterator[SqliteForger]:
    made = SqliteForger(str(original[1]))
    yield made
    made.close()


@pytest.fixture(scope="module")
def signing(original: tuple[Rich, Path]) -> SigningKey:
    return SigningKey.load(f"{original[1]}.key")


class Expected:
    """Which entry a change must be laid at."""

    def __init__(self, forger: Forger) -> None:
        entries = forger.rows("ledger_entries")
        self.last: int = len(entries)
        self.newest = {row["budget"]: row["seq"] for row in entries}

    def __call__(self, table: str, row: Row, column: str | None = None, value: Any = None) -> int:
        if table == "ledger_entries":
            return self.renumbered(row["seq"], value) if column == "seq" else int(row["seq"])
        if table == "ledger_budgets" and column != "name":
            return int(self.newest[row["name"]])
        if table == "ledger_head" and column == "seq" and type(value) is int and value > self.last:
            return self.last + 1
        return self.last

    def renumbered(self, seq: int, value: Any) -> int:
        """Numbers before the first come first; anything else leaves a gap."""
        return 1 if isinstance(value, (int, float)) and value < 1 else seq


def altered(value: Any) -> list[Any]:
    """Other values for a cell: other bytes, other types, nothing."""
    if value is None:
        return ["", "x", 0, b""]
    if isinstance(value, str):
        first = chr(ord(value[0]) ^ 1) + value[1:] if value else "x"
        last = value[:-1] + chr(ord(value[-1]) ^ 1) if value else "y"
        return [first, last, value + " ", " " + value, value[:-1], "", None, value.encode(), 5, 0.5, value + "\x00"]
    number = int(value)
    return [
        number + 1,
        number - 1,
        number ^ 64,
        -number - 1,
        2**62,
        -(2**63),
        number + 0.5,
        None,
        f"{number}x",
        b"\x01",
    ]


def same(one: Any, two: Any) -> bool:
    """Whether a cell holds the same as before: a number that the column's type turned back, 1.0 for 1."""
    return one == two and isinstance(one, str) == isinstance(two, str)


def judged(forger: Forger, where: Any, expected: int) -> list[str]:
    """What is wrong with the verdict on a ledger that was tampered with."""
    try:
        found = forger.verified()
    except Exception as error:
        return [f"{where}: raised {type(error).__name__}: {str(error)[:100]}"]
    if not isinstance(found, Verification) or found.holds:
        return [f"{where}: holds"]
    if found.first_bad != expected or not found.problem:
        return [f"{where}: laid at {found.first_bad}, not at {expected} ({found.problem})"]
    return []


def none_of(problems: list[str]) -> None:
    shown = "\n".join(problems[:12])
    assert not problems, f"{len(problems)} changes were not judged as they should be:\n{shown}"


# ---- what is there to begin with


def test_the_ledger_is_rich_and_holds(original, forger):
    made, _ = original
    assert {row["kind"] for row in forger.entries()} == KINDS
    assert {row["status"] for row in forger.rows("ledger_reservations")} == STATUSES
    assert all(len(forger.rows(table)) >= 1 for table in TABLES)
    found = forger.verified(made.receipts)
    assert found.holds
    assert found.signed
    assert found.entries == len(forger.entries())
    assert made.ledger.verify(receipts=made.receipts) == found


# ---- every cell, every row


@pytest.mark.parametrize("table", TABLES)
def test_every_cell(forger, table):
    expected, problems, tried = Expected(forger), [], 0
    rows = forger.rows(table)
    for turn, row in enumerate(rows):
        for column in COLUMNS[table]:
            values = altered(row[column])
            if len(rows) > 20:  # each row and column gets some, each column gets all
                values = [values[(3 * turn + step) % len(values)] for step in range(3)]
            for value in values:
                with forger.undone():
                    try:
                        stored = forger.set(table, row["place"], column, value)
                    except DBAPIError:
                        continue  # the table itself refused
                    if same(stored, row[column]):
                        continue
                    tried += 1
                    where = (table, row.get("seq", row.get("name")), column, value)
                    problems += judged(forger, where, expected(table, row, column, stored))
    assert tried > 3 * len(COLUMNS[table])
    none_of(problems)


@pytest.mark.parametrize("table", TABLES)
def test_every_row_deleted(forger, table):
    expected, problems = Expected(forger), []
    for row in forger.rows(table):
        with forger.undone():
            forger.delete(table, row["place"])
            problems += judged(forger, (table, row), expected(table, row))
    none_of(problems)


@pytest.mark.parametrize("table", TABLES)
def test_every_row_twice(forger, table):
    """Under the same key where the table takes it, and under another one."""
    expected, problems, tried = Expected(forger), [], 0
    first = COLUMNS[table][0]
    for row in forger.rows(table):
        number = isinstance(row[first], int)
        for other in (row[first], row[first] + 1000 if number else row[first] + "x", -(2**63) if number else ""):
            with forger.undone():
                try:
                    forger.insert(table, {**row, first: other, "identity": f"{other}"})
                except DBAPIError:
                    continue
                tried += 1
                bad = expected.last
                if table == "ledger_entries":
                    bad = row["seq"] + 1 if other == row["seq"] else 1 if other < 1 else expected.last + 1
                elif table == "ledger_budgets" and other == row[first]:
                    bad = expected.last
                problems += judged(forger, (table, row[first], other), bad)
    assert tried
    none_of(problems)


def test_a_row_that_nobody_wrote(forger):
    """Rows of nothing: empty cells, cells of wrong types."""
    expected, problems = Expected(forger), []
    for table in TABLES:
        for value in (None, "", 0, -(2**63), 10**6, b"\xff", 0.5):
            with forger.undone():
                try:
                    forger.insert(table, dict.fromkeys(COLUMNS[table], value))
                except DBAPIError:
                    continue
                bad = expected.last
                if table == "ledger_entries":
                    bad = bad + 1 if not isinstance(value, (int, float)) or value > 1 else 1
                problems += judged(forger, (table, value), bad)
    none_of(problems)


def test_a_table_emptied(forger):
    expected = Expected(forger)
    for table in TABLES:
        with forger.undone():
            forger.run(f"DELETE FROM {table}")
            found = forger.verified()
        assert not found.holds
        if table == "ledger_entries":
            assert found.first_bad == 1
        elif table != "ledger_budgets":
            assert found.first_bad == expected.last


@settings(max_examples=400)
@given(st.data())
def test_a_random_byte(typed, data):
    """One byte of one cell is replaced, removed or added; the text may then be no Unicode at all."""
    table = data.draw(st.sampled_from(TABLES))
    row = data.draw(st.sampled_from(typed.rows(table)))
    column = data.draw(st.sampled_from([name for name in COLUMNS[table] if isinstance(row[name], str)]))
    before = row[column].encode()
    place, byte = data.draw(st.integers(0, len(before) - 1)), data.draw(st.integers(0, 255))
    act = data.draw(st.sampled_from(["replace", "remove", "add"]))
    middle = {"replace": bytes([byte]), "remove": b"", "add": bytes([byte, before[place]])}[act]
    after = before[:place] + middle + before[place + 1 :]
    if after == before:
        return
    expected = Expected(typed)(table, row, column, after)
    with typed.undone():
        typed.raw.execute(f"UPDATE {table} SET {column} = CAST(? AS TEXT) WHERE rowid = ?", (after, row["place"]))
        none_of(judged(typed, (table, row["place"], column, after), expected))


# ---- order and numbers


def swapped(entries: list[Row], one: int, two: int) -> list[Row]:
    """The contents of two entries change places, their numbers stay or go along."""
    made = list(entries)
    made[one], made[two] = {**entries[two], "seq": one + 1}, {**entries[one], "seq": two + 1}
    return made


def test_two_entries_swapped(forger):
    entries, problems = forger.entries(), []
    last = len(entries) - 1
    pairs = [(at, at + 1) for at in range(last)] + [(0, last), (3, 30), (1, last - 1)]
    for one, two in pairs:
        with forger.undone():
            forger.rewrite(swapped(entries, one, two))
            problems += judged(forger, (one, two), one + 1)
    none_of(problems)


def test_renumbered(forger):
    entries = forger.entries()
    last, problems = len(entries), []
    for at in (1, 2, 7, last):
        with forger.undone():  # everything from here on moves up
            forger.rewrite([row if row["seq"] < at else {**row, "seq": row["seq"] + 1} for row in entries])
            problems += judged(forger, ("up", at), at)
        with forger.undone():  # one is taken out and the others close up
            forger.rewrite([{**row, "seq": row["seq"] - (row["seq"] > at)} for row in entries if row["seq"] != at])
            problems += judged(forger, ("closed", at), at)
    none_of(problems)


def test_tail_cut_off(forger):
    """Also when the head is moved back: its signature is of another hash."""
    entries, problems = forger.entries(), []
    for left in range(1, len(entries)):
        with forger.undone():
            forger.rewrite(entries[:left])
            problems += judged(forger, ("cut", left), left + 1)
            last = entries[left - 1]
            forger.head(seq=left, hash=last["hash"], time=last["time"])
            problems += judged(forger, ("cut, head moved", left), left)
    with forger.undone():
        forger.rewrite([])
        problems += judged(forger, "all", 1)
    none_of(problems)


# ---- who can hash, but has no key


def changes_of(row: Row) -> Iterator[Row]:
    """What a forger might like to have been written."""
    yield {**row, "principal": "mallory"}
    if '"note":"' in row["body"]:
        yield {**row, "body": row["body"].replace('"note":"', '"note":"forged ', 1)}


def test_tail_rewritten_without_the_key(forger):
    entries, problems = forger.entries(), []
    for row in entries[1:]:
        at = row["seq"] - 1
        for other in changes_of(row):
            made = entries[:at] + chained([other, *entries[at + 1 :]], row["seq"], row["previous"])
            with forger.undone():
                forged(forger, made)
                found = forger.verified()
            opened = row["kind"] == "open" and other["body"] != row["body"]  # the budget's row tells it first
            if found.holds or found.first_bad != len(entries) or not ("signed" in str(found.problem) or opened):
                problems.append(f"{row['seq']}: {found}")
    none_of(problems)


def test_hash_made_anew_but_not_the_links(forger):
    """The entry then holds by itself, and the next one does not follow it; the last one is not that of the head."""
    entries, problems = forger.entries(), []
    for row in entries[1:]:
        made = chained([{**row, "principal": "mallory"}], row["seq"], row["previous"])
        with forger.undone():
            forger.rewrite([*entries[: row["seq"] - 1], *made, *entries[row["seq"] :]])
            problems += judged(forger, row["seq"], min(row["seq"] + 1, len(entries)))
    none_of(problems)


def test_an_entry_slipped_in_without_the_key(forger):
    """A spend more, a spend less, a denial that never was: everything after it is hashed again."""
    entries = forger.entries()
    denied = next(row for row in entries if row["kind"] == "denied")
    for at in (1, 10, len(entries)):
        with forger.undone():
            forged(forger, chained([*entries[:at], denied, *entries[at:]]))
            found = forger.verified()
        assert not found.holds
        assert found.first_bad == len(entries) + 1 or at < len(entries)  # later numbers of reservations change too


def with_genesis(entries: list[Row], public: str | None) -> list[Row]:
    """The whole chain under another key from its beginning, or under none."""
    body = canonical({**parsed(entries[0]["body"]), "public_key": public})
    denied = {"kind": "denied", "body": canonical({"act": "read", "why": "nothing"})}
    later = [{**row, **(denied if row["kind"] == "key" else {})} for row in entries[1:]]
    return chained([{**entries[0], "body": body}, *later])


def test_whole_chain_made_anew_without_the_key(original, forger, tmp_path):
    made, _ = original
    entries, public = forger.entries(), made.ledger.public_key
    mine = SigningKey.create(tmp_path / "mine.key")
    identity = made.ledger.identity
    for genesis in (None, mine.public):
        with forger.undone():
            forged(forger, with_genesis(entries, genesis))
            assert not forger.verified().holds  # the head still has the old key and signature
            forger.head(public_key=genesis)
            assert not forger.verified().holds
    with forger.undone():
        forged(forger, [*with_genesis(entries, public)[:-1], entries[-1]], mine, identity)
        found = forger.verified()
    assert not found.holds
    assert found.first_bad == len(entries)


def test_receipts_show_a_chain_under_another_key(original, forger, tmp_path):
    """A forger with a key of his own can make a whole ledger, but not one that fits a receipt."""
    made, _ = original
    mine = SigningKey.create(tmp_path / "mine.key")
    with forger.undone():
        forged(forger, with_genesis(forger.entries(), mine.public), mine, made.ledger.identity)
        found = forger.verified(made.receipts)
    assert not found.holds
    assert found.first_bad == min(receipt.seq for receipt in made.receipts)
    with forger.undone():
        forged(forger, with_genesis(forger.entries(), None))
        forger.head(public_key=None, signature=None)
        found = forger.verified(made.receipts)
    assert not found.holds


def test_a_key_that_the_old_key_never_named(original, forger, tmp_path):
    """Nobody without the key can hand the ledger over to a key of his own."""
    made, _ = original
    mine = SigningKey.create(tmp_path / "mine.key")
    entries = forger.entries()
    denied = next(row for row in entries if row["kind"] == "denied")
    for body in ({"public_key": mine.public}, {"public_key": mine.public, "note": ""}):
        handed = {**denied, "kind": "key", "budget": None, "time": entries[-1]["time"], "body": canonical(body)}
        with forger.undone():
            forged(forger, chained([*entries, handed]), mine, made.ledger.identity)
            assert not forger.verified().holds


# ---- who has the key, or guesses well: bodies that mean nothing


def garbled(body: Any, data: st.DataObject) -> Any:
    """The body with one value replaced, anywhere in it."""
    junk = st.sampled_from(
        [None, True, -1, 0, 2**70, 1e300, -0.5, "", "x", "1/0", "-1/3", "1e5", [], [[]], {}, {"schema": "x"}, ["", ""]]
    )
    if isinstance(body, dict) and body and data.draw(st.integers(0, 5)):
        name = data.draw(st.sampled_from(sorted(body)))
        if data.draw(st.integers(0, 9)) == 0:
            return {key: value for key, value in body.items() if key != name}
        return {**body, name: garbled(body[name], data)}
    if isinstance(body, list) and body and data.draw(st.integers(0, 3)):
        at = data.draw(st.integers(0, len(body) - 1))
        return [*body[:at], garbled(body[at], data), *body[at + 1 :]]
    return data.draw(junk)


@settings(max_examples=300)
@given(st.data())
def test_a_body_of_nonsense_with_all_hashes_and_the_signature(original, typed, signing, data):
    """Also what is signed must be readable: no exception, and not what was written."""
    entries = typed.entries()
    at = data.draw(st.integers(0, len(entries) - 1))
    body = garbled(parsed(entries[at]["body"]), data)
    text = canonical(body)
    if text == entries[at]["body"]:
        return
    with typed.undone():
        made = chained([*entries[:at], {**entries[at], "body": text}, *entries[at + 1 :]])
        forged(typed, made)
        assert not typed.verified().holds  # without the key, at the latest by the signature
        signed(typed, made, signing, original[0].ledger.identity)
        assert isinstance(typed.verified(), Verification)


def test_amounts_have_one_spelling(original, typed, signing):
    """Exponents are refused unread: ten to the billionth power would be computed before any signature is looked at."""
    entries = typed.entries()
    at = next(row["seq"] for row in entries if '"cost":["1/10"' in row["body"]) - 1
    for spelling in ("1e-1", "0.1", " 1/10", "+1/10", "1_0/1_00"):
        body = entries[at]["body"].replace('"1/10"', f'"{spelling}"')
        with typed.undone():
            made = chained([*entries[:at], {**entries[at], "body": body}, *entries[at + 1 :]])
            forged(typed, made, signing, original[0].ledger.identity)
            found = typed.verified()
        assert not found.holds, spelling
        assert found.first_bad == at + 1


@pytest.mark.parametrize("column", COLUMNS["ledger_entries"])
def test_odd_types_with_all_hashes(original, signing, column):
    """In tables without types: fields of wrong types whose hashes fit."""
    forger = SqliteForger(str(original[1]), loose=True)
    entries, problems = forger.entries(), []
    for at in (0, 1, 8, len(entries) - 1):
        for value in (
            None,
            5,
            0.5,
            -1,
            2.0,
            "",
            "x",
            b"x",
            "9" * 5000,
            "[" * 5000,
            "2026-01-01",
            "\ud800".encode("utf-8", "surrogatepass"),
        ):
            if column in ("budget", "principal", "key") and value in (None, entries[at][column]):
                continue
            made = chained([*entries[:at], {**entries[at], column: value}, *entries[at + 1 :]])
            if made == entries:
                continue
            with forger.undone():
                forged(forger, made)
                try:
                    found = forger.verified()
                    if found.holds:
                        problems.append(f"{at} {value!r:.20}: holds")
                    forged(forger, made, signing, original[0].ledger.identity)
                    assert isinstance(forger.verified(), Verification)
                except Exception as error:
                    problems.append(f"{at} {value!r:.20}: {type(error).__name__} {str(error)[:80]}")
    forger.close()
    none_of(problems)
