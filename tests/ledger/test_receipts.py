"""Receipts: whatever is changed in one is found, offline; nothing but the right key is believed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quiltwork.errors import BrokenChain, InvalidParameter, LedgerUnavailable, QuiltworkError
from quiltwork.ledger.chain.entries import GENESIS, Entry, canonical
from quiltwork.ledger.chain.keys import SigningKey
from quiltwork.ledger.chain.receipts import RECEIPT_SCHEMA, Receipt, message

pytest.importorskip("cryptography")
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

KEY = SigningKey(Ed25519PrivateKey.from_private_bytes(bytes(range(32))))
OTHER = SigningKey(Ed25519PrivateKey.from_private_bytes(bytes(32)))
NAMES = [field.name for field in attrs.fields(Receipt)]
TEXT = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\x00"), max_size=10)


def entry(**changes: Any) -> Entry:
    fields: dict[str, Any] = {
        "previous": GENESIS,
        "seq": 17,
        "time": "2026-01-31T12:00:00.000000+00:00",
        "kind": "spend",
        "budget": "patiënts",
        "principal": "ana",
        "key": "job-7",
        "body": {"cost": ["1/10", "0/1"], "note": "weekly é table"},
    }
    return Entry.made(**{**fields, **changes})


SIGNED = Receipt.issued("hospital", entry(), KEY)
UNSIGNED = Receipt.issued("hospital", entry(), None)


@st.composite
def receipts(draw: st.DrawFn) -> Receipt:
    optional = st.none() | TEXT
    line = entry(
        seq=draw(st.integers(1, 2**63 - 1)),
        budget=draw(optional),
        principal=draw(optional),
        key=draw(optional),
        body=draw(st.dictionaries(TEXT, st.integers() | TEXT, max_size=3)),
    )
    return Receipt.issued(draw(TEXT), line, KEY)


def test_what_is_signed_is_spelled_out() -> None:
    signed = f"quiltwork/receipt/1\nhospital\n{SIGNED.hash}".encode()
    assert message("hospital", SIGNED.hash) == signed
    # checked with the library itself, not with our own wrapper
    import base64

    public = Ed25519PublicKey.from_public_bytes(base64.b64decode(SIGNED.public_key or ""))
    public.verify(base64.b64decode(SIGNED.signature or ""), signed)


@given(receipts())
def test_a_receipt_holds_and_survives_every_way_of_writing_it(receipt: Receipt) -> None:
    for copy in (
        receipt,
        Receipt.from_json(receipt.to_json()),
        Receipt.from_json(json.loads(json.dumps(receipt.to_json(), indent=2))),
        Receipt.from_text(receipt.to_text()),
        Receipt.from_text(receipt.to_text() + "\r\n"),
    ):
        assert copy == receipt
        copy.check()
        copy.check(KEY.public)
    assert receipt.to_text().isascii()
    assert receipt.entry.sound()


FORGED = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=90) | st.binary(max_size=8)


@given(receipts(), st.sampled_from(NAMES), st.data())
def test_any_other_value_of_any_field_is_found(receipt: Receipt, name: str, data: st.DataObject) -> None:
    value = data.draw(FORGED)
    before = getattr(receipt, name)
    if type(value) is type(before) and value == before:
        return
    forged = attrs.evolve(receipt, **{name: value})
    with pytest.raises(BrokenChain):
        forged.check()
    with pytest.raises(BrokenChain):
        forged.check(KEY.public, allow_unsigned=True)
    assert isinstance(forged.show(), str)


@given(st.sampled_from(NAMES), st.data())
def test_one_changed_character_of_any_text_field_is_found(name: str, data: st.DataObject) -> None:
    before = str(getattr(SIGNED, name))
    place = data.draw(st.integers(0, len(before) - 1))
    letter = data.draw(st.characters().filter(lambda letter: letter != before[place]))
    with pytest.raises(BrokenChain):
        attrs.evolve(SIGNED, **{name: before[:place] + letter + before[place + 1 :]}).check()


def refused(content: bytes, path: Path) -> bool:
    """Whether a file with this content fails to be read or to hold, with one of our errors."""
    path.write_bytes(content)
    try:
        Receipt.load(path).check()
    except QuiltworkError:
        return True
    return False


@pytest.fixture(scope="module")
def spare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("receipts") / "receipt.json"


@given(st.data())
def test_any_changed_byte_of_the_file_is_found(spare: Path, data: st.DataObject) -> None:
    whole = SIGNED.to_text().encode()
    place = data.draw(st.integers(0, len(whole) - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda byte: byte != whole[place]))
    assert refused(whole[:place] + bytes([byte]) + whole[place + 1 :], spare)


def test_every_byte_of_the_file_matters(spare: Path) -> None:
    whole = SIGNED.to_text().encode()
    assert not refused(whole, spare)
    for place in range(len(whole)):
        # flipping the bit of case is the change that JSON escapes and hexadecimal digits would forgive
        assert refused(whole[:place] + bytes([whole[place] ^ 0x20]) + whole[place + 1 :], spare)
        assert refused(whole[:place] + whole[place + 1 :], spare)
        assert refused(whole[:place], spare)


@given(st.data())
def test_inserted_bytes_are_found(spare: Path, data: st.DataObject) -> None:
    whole = SIGNED.to_text().encode()
    place = data.draw(st.integers(1, len(whole) - 1))
    assert refused(whole[:place] + data.draw(st.binary(min_size=1, max_size=3)) + whole[place:], spare)


def test_a_second_value_under_a_name_is_refused(spare: Path) -> None:
    whole = SIGNED.to_text()
    assert refused(whole.replace('"seq":17', '"seq":16,"seq":17').encode(), spare)
    assert refused(json.dumps(SIGNED.to_json()).encode(), spare)


def test_the_signature_of_another_key_is_refused() -> None:
    theirs = Receipt.issued("hospital", entry(), OTHER)
    theirs.check()  # whole in itself ...
    with pytest.raises(BrokenChain, match="another key"):
        theirs.check(KEY.public)  # ... but not from whom it should be
    for forged in (
        attrs.evolve(theirs, public_key=KEY.public),
        attrs.evolve(SIGNED, signature=theirs.signature),
        attrs.evolve(SIGNED, public_key=OTHER.public),
    ):
        with pytest.raises(BrokenChain, match="does not fit"):
            forged.check()


def test_the_signature_of_another_entry_or_ledger_is_refused() -> None:
    for other in (Receipt.issued("hospital", entry(seq=18), KEY), Receipt.issued("clinic", entry(), KEY)):
        with pytest.raises(BrokenChain, match="does not fit"):
            attrs.evolve(SIGNED, signature=other.signature).check()


def test_a_line_break_in_a_ledgers_name_gives_no_second_reading() -> None:
    assert message("a\nb", "c" * 64) != message("a", "b\n" + "c" * 62)
    Receipt.issued("a\nb", entry(), KEY).check()


def test_unsigned_receipts_are_refused_unless_allowed() -> None:
    with pytest.raises(BrokenChain, match="unsigned") as caught:
        UNSIGNED.check()
    assert caught.value.seq == 17
    UNSIGNED.check(allow_unsigned=True)
    with pytest.raises(BrokenChain, match="hash"):
        attrs.evolve(UNSIGNED, seq=18).check(allow_unsigned=True)


def test_cutting_off_a_signature_does_not_help() -> None:
    stripped = attrs.evolve(SIGNED, signature=None, public_key=None)
    with pytest.raises(BrokenChain, match="unsigned"):
        stripped.check(KEY.public, allow_unsigned=True)
    for half in ({"signature": None}, {"public_key": None}):
        with pytest.raises(BrokenChain, match="half signed"):
            attrs.evolve(SIGNED, **half).check(allow_unsigned=True)


@pytest.mark.parametrize("key", ["", "garbage", KEY.public[:-1], KEY.public + "\n", b"x", 3, True, KEY, "é" * 44])
def test_what_is_no_public_key_is_refused(key: Any) -> None:
    with pytest.raises(InvalidParameter, match="public_key"):
        SIGNED.check(key)


@pytest.mark.parametrize("ledger", [None, 3, b"hospital", "\ud800"])
def test_a_ledger_that_is_no_name_is_found(ledger: Any) -> None:
    with pytest.raises(BrokenChain):
        attrs.evolve(SIGNED, ledger=ledger).check()


def test_none_is_not_the_ledger_called_none() -> None:
    with pytest.raises(BrokenChain):
        attrs.evolve(Receipt.issued("None", entry(), KEY), ledger=None).check()


def test_issuing_again_gives_the_same_bytes() -> None:
    assert Receipt.issued("hospital", entry(), KEY).to_text() == SIGNED.to_text()


def test_show_is_a_few_lines_without_control_characters() -> None:
    lines = SIGNED.show().splitlines()
    assert lines[0] == "receipt  17 of ledger 'hospital'"
    assert lines[1] == "what     spend, budget 'patiënts'"
    assert "2026-01-31T12:00:00.000000+00:00" in lines[2]
    assert len(lines) == 8
    assert KEY.public in lines[-1]
    assert UNSIGNED.show().splitlines()[-1] == "signed   no"


@given(st.dictionaries(st.sampled_from(NAMES), st.text("\x1b\x9b\n\r\x07\u202ea[2J"), min_size=1))
def test_show_prints_no_control_character_of_a_forged_receipt(changes: dict[str, Any]) -> None:
    shown = attrs.evolve(SIGNED, **changes).show()
    assert all(line.isprintable() for line in shown.split("\n"))
    assert len(shown.split("\n")) == 8


def test_show_shortens_long_content_and_bears_odd_numbers() -> None:
    assert len(Receipt.issued("hospital", entry(body={"note": "x" * 10_000}), KEY).show()) < 1200
    assert "<int>" in attrs.evolve(SIGNED, seq=10**5000).show()


def test_save_and_load(tmp_path: Path) -> None:
    SIGNED.save(tmp_path / "receipt.json")
    assert (tmp_path / "receipt.json").read_bytes() == SIGNED.to_text().encode() + b"\n"
    assert Receipt.load(str(tmp_path / "receipt.json")) == SIGNED
    UNSIGNED.save(tmp_path / "receipt.json")
    assert Receipt.load(tmp_path / "receipt.json") == UNSIGNED


@pytest.mark.parametrize("path", ["", "a\x00b", None, 3, 1.5])
def test_what_is_no_path_is_refused(path: Any) -> None:
    for act in (SIGNED.save, Receipt.load):
        with pytest.raises(InvalidParameter, match="path"):
            act(path)


def test_missing_files_and_full_disks_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidParameter, match="path"):
        Receipt.load(tmp_path / "none")
    with pytest.raises(InvalidParameter, match="path"):
        SIGNED.save(tmp_path / "none" / "receipt.json")

    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(LedgerUnavailable, match="No space"):
        SIGNED.save(tmp_path / "receipt.json")


@pytest.mark.parametrize("name", ["schema", *NAMES])
def test_from_json_refuses_missing_fields(name: str) -> None:
    value = SIGNED.to_json()
    del value[name]
    with pytest.raises(InvalidParameter):
        Receipt.from_json(value)


@pytest.mark.parametrize(
    "change",
    [{"extra": 1}, {"schema": "quiltwork/entry/1"}, {"seq": True}, {"seq": "17"}, {"ledger": None}, {"signature": 3}],
)
def test_from_json_refuses_unknown_fields_and_wrong_types(change: dict[str, Any]) -> None:
    assert SIGNED.to_json()["schema"] == RECEIPT_SCHEMA
    with pytest.raises(InvalidParameter):
        Receipt.from_json({**SIGNED.to_json(), **change})


@pytest.mark.parametrize(
    "text",
    ["", "{}", "[]", "null", "NaN", "{", canonical({"schema": RECEIPT_SCHEMA}), "[" * 100_000, None, b"{}"],
    ids=lambda text: type(text).__name__,
)
def test_from_text_refuses_garbage(text: Any) -> None:
    with pytest.raises(InvalidParameter):
        Receipt.from_text(text)


def test_content_is_the_parsed_body() -> None:
    assert SIGNED.content == {"cost": ["1/10", "0/1"], "note": "weekly é table"}
    with pytest.raises(BrokenChain):
        _ = attrs.evolve(SIGNED, body="{").content
