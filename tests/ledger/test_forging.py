"""Forgers who can hash but have no key, and bodies of nonsense that somebody signed all the same."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples
from tests.ledger.forge import COLUMNS, Row, SqliteForger, chained, forged, signed
from tests.ledger.judging import judged, none_of
from tests.ledger.rich import Rich, rich

from quiltwork.ledger import Verification
from quiltwork.ledger.chain.entries import canonical, parsed
from quiltwork.ledger.chain.keys import SigningKey


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


# ---- who can hash, but has no key


def changes_of(row: Row) -> Iterator[Row]:
    """What a forger might like to have been written."""
    yield {**row, "key": "forged"}
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
        made = chained([{**row, "key": "forged"}], row["seq"], row["previous"])
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
    assert found.first_bad is None
    assert "not signed by a key of this ledger" in str(found.problem)
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


@settings(max_examples=examples(300))
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
