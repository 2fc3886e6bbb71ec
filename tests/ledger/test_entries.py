"""Entries: the hash against one written out by hand, the laws of canonical JSON, and every refusal."""

from __future__ import annotations

import hashlib
import json
import math
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import attrs
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from quiltwork.errors import BrokenChain, InvalidParameter, QuiltworkError
from quiltwork.ledger.chain.entries import GENESIS, SCHEMA, Entry, canonical, digest, moment, parsed, stamp

TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=12)
STORABLE = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\x00"), max_size=12)
SCALAR = (
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False) | TEXT
)
VALUE = st.recursive(
    SCALAR, lambda part: st.lists(part, max_size=4) | st.dictionaries(TEXT, part, max_size=4), max_leaves=8
)
BODY = st.dictionaries(TEXT, VALUE, max_size=4)
TIMES = st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))
FIELDS: dict[str, Any] = {
    "previous": GENESIS,
    "seq": 1,
    "time": "2026-01-31T12:00:00.000000+00:00",
    "kind": "spend",
    "budget": "patients",
    "principal": "ana",
    "key": None,
    "body": {"note": "é", "cost": "1/10"},
}


@st.composite
def entries(draw: st.DrawFn) -> Entry:
    return Entry.made(
        previous=draw(st.text("0123456789abcdef", min_size=64, max_size=64)),
        seq=draw(st.integers(1, 2**63 - 1)),
        time=draw(TIMES),
        kind=draw(st.sampled_from(["open", "spend", "reserve"])),
        budget=draw(st.none() | STORABLE),
        principal=draw(st.none() | STORABLE),
        key=draw(st.none() | STORABLE),
        body=draw(BODY),
    )


def test_the_hash_is_sha256_of_a_text_that_can_be_written_by_hand() -> None:
    entry = Entry.made(**FIELDS)
    by_hand = (
        '["' + "0" * 64 + '",1,"2026-01-31T12:00:00.000000+00:00","spend","patients","ana",null,'
        '"{\\"cost\\":\\"1/10\\",\\"note\\":\\"\\\\u00e9\\"}"]'
    )
    assert entry.hash == hashlib.sha256(by_hand.encode("ascii")).hexdigest()
    assert entry.body == '{"cost":"1/10","note":"\\u00e9"}'
    assert entry.content == {"note": "é", "cost": "1/10"}
    assert entry.sound()


@given(VALUE)
def test_canonical_text_is_ascii_without_white_space_outside_texts_and_reads_back(value: Any) -> None:
    text = canonical(value)
    assert text.isascii()
    assert parsed(text) == value
    assert canonical(parsed(text)) == text
    assert len(text) == len(json.dumps(parsed(text), separators=(",", ":")))


@given(st.dictionaries(TEXT, SCALAR, min_size=2, max_size=5), st.randoms(use_true_random=False))
def test_the_order_of_keys_does_not_matter(value: dict[str, Any], random: Any) -> None:
    names = list(value)
    random.shuffle(names)
    assert canonical({name: value[name] for name in names}) == canonical(value)


@pytest.mark.parametrize(
    "value",
    [
        math.nan,
        math.inf,
        -math.inf,
        {"a": [1, {"b": math.nan}]},
        {1: "a"},
        {None: 1},
        {math.nan: 1},
        {"a": 1, 2: 3},
        {"a": {True: 1}},
        b"bytes",
        {1, 2},
        object(),
        1j,
        datetime.now(UTC),
        "\ud83d\ude00",
        ["\ud800"],
        {"\udfff": 1},
        10**5000,
    ],
    ids=lambda value: type(value).__name__,
)
def test_canonical_refuses_what_is_no_json(value: Any) -> None:
    with pytest.raises(InvalidParameter):
        canonical(value)


def test_canonical_refuses_loops_and_towers() -> None:
    loop: list[Any] = []
    loop.append(loop)
    tower: list[Any] = []
    for _ in range(100_000):
        tower = [tower]
    for value in (loop, tower):
        with pytest.raises(InvalidParameter):
            canonical(value)
    while tower:  # taken down floor by floor: freeing it in one go would recurse
        tower = tower.pop()


@pytest.mark.parametrize(
    "text",
    ['{"a":1,"a":2}', "NaN", "[Infinity]", "-Infinity", "{", "", "[" * 100_000, "1" * 5000, None, 3, b"{}"],
    ids=lambda text: type(text).__name__,
)
def test_parsed_refuses_double_keys_and_garbage(text: Any) -> None:
    with pytest.raises(InvalidParameter):
        parsed(text)


@given(TIMES, st.integers(-14 * 60, 14 * 60))
def test_times_are_stamped_in_utc_whatever_their_zone(time: datetime, minutes: int) -> None:
    elsewhere = time.astimezone(timezone(timedelta(minutes=minutes)))
    assert stamp(elsewhere) == stamp(time)
    assert moment(stamp(time)) == time
    assert len(stamp(time)) == 32


@given(TIMES, TIMES)
def test_stamps_sort_like_times(a: datetime, b: datetime) -> None:
    assert (a < b) == (stamp(a) < stamp(b))


@pytest.mark.parametrize(
    "text",
    [
        "2026-01-31T12:00:00+00:00",
        "2026-01-31T12:00:00.000000",
        "2026-01-31T12:00:00.000000Z",
        "2026-01-31T13:00:00.000000+01:00",
        "2026-01-31 12:00:00.000000+00:00",
        "yesterday",
        "",
        None,
        20260131,
    ],
)
def test_other_spellings_of_a_time_are_refused(text: Any) -> None:
    with pytest.raises(InvalidParameter):
        moment(text)


@pytest.mark.parametrize(
    "time", [datetime(2026, 1, 1), None, 1.0, datetime.max.replace(tzinfo=timezone(-timedelta(hours=1)))]
)
def test_times_without_zone_or_beyond_the_calendar_are_refused(time: Any) -> None:
    with pytest.raises(InvalidParameter):
        stamp(time)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("previous", "0" * 63),
        ("previous", "A" * 64),
        ("previous", "0" * 64 + "\n"),
        ("previous", None),
        ("seq", 0),
        ("seq", -1),
        ("seq", True),
        ("seq", 1.0),
        ("seq", "1"),
        ("seq", 2**63),
        ("seq", math.nan),
        ("time", datetime(2026, 1, 1)),
        ("time", "2026-01-31"),
        ("time", None),
        ("kind", ""),
        ("kind", None),
        ("kind", 3),
        ("budget", 3),
        ("budget", "a\x00b"),
        ("principal", b"ana"),
        ("principal", "\ud800"),
        ("key", True),
        ("body", None),
        ("body", []),
        ("body", "[]"),
        ("body", '{"a": 1}'),
        ("body", '{"b":1,"a":2}'),
        ("body", '{"a":1,"a":1}'),
        ("body", "{"),
        ("body", {"a": math.nan}),
        ("body", {1: 2}),
    ],
)
def test_made_refuses_bad_fields(name: str, value: Any) -> None:
    with pytest.raises(InvalidParameter):
        Entry.made(**{**FIELDS, name: value})


def test_made_takes_the_body_as_a_mapping_or_as_its_canonical_text() -> None:
    assert Entry.made(**{**FIELDS, "body": canonical(FIELDS["body"])}) == Entry.made(**FIELDS)


FORGED = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=70) | st.binary(max_size=8)


@given(entries(), st.data())
def test_any_other_value_of_any_field_is_found(entry: Entry, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from([field.name for field in attrs.fields(Entry)]))
    value = data.draw(FORGED)
    before = getattr(entry, name)
    if type(value) is type(before) and value == before:
        return
    assert not attrs.evolve(entry, **{name: value}).sound()


@given(
    entries(), st.sampled_from(["previous", "time", "kind", "budget", "principal", "key", "body", "hash"]), st.data()
)
def test_one_changed_character_is_found(entry: Entry, name: str, data: st.DataObject) -> None:
    before = getattr(entry, name)
    if not before:
        return
    place = data.draw(st.integers(0, len(before) - 1))
    letter = data.draw(st.characters().filter(lambda letter: letter != before[place]))
    assert not attrs.evolve(entry, **{name: before[:place] + letter + before[place + 1 :]}).sound()


def test_a_character_moved_to_the_next_field_changes_the_hash() -> None:
    common = (GENESIS, 1, "t", "spend")
    assert digest(*common, "ab", "c", None, "{}") != digest(*common, "a", "bc", None, "{}")
    assert digest(*common, None, "c", None, "{}") != digest(*common, "null", "c", None, "{}")
    assert digest(*common, "", "c", None, "{}") != digest(*common, None, "c", None, "{}")


class Yes(str):
    """A text that says it equals everything."""

    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        return True


def test_a_hash_that_claims_to_equal_everything_is_not_believed() -> None:
    assert not attrs.evolve(Entry.made(**FIELDS), hash=Yes("x")).sound()


def test_a_body_that_is_no_text_is_unsound_even_with_a_fitting_hash() -> None:
    fields = [GENESIS, 1, FIELDS["time"], "spend", None, None, None, {"a": 1}]
    forged = hashlib.sha256(canonical(fields).encode()).hexdigest()
    entry = Entry(1, FIELDS["time"], "spend", None, None, None, {"a": 1}, GENESIS, forged)  # type: ignore[arg-type]
    assert not entry.sound()


@pytest.mark.parametrize("body", ["", "{", "[]", "3", '{"a":NaN}', '{"a":1,"a":2}', None, b"{}"])
def test_content_of_a_forged_body_names_the_entry(body: Any) -> None:
    with pytest.raises(BrokenChain, match="entry 1") as caught:
        _ = attrs.evolve(Entry.made(**FIELDS), body=body).content
    assert caught.value.seq == 1


@given(entries())
@example(Entry.made(**FIELDS))
def test_json_round_trip(entry: Entry) -> None:
    value = entry.to_json()
    assert value["schema"] == SCHEMA
    assert Entry.from_json(json.loads(json.dumps(value))) == entry
    assert Entry.from_json(parsed(canonical(value))).sound()


@pytest.mark.parametrize("name", ["schema", *(field.name for field in attrs.fields(Entry))])
def test_from_json_refuses_missing_fields(name: str) -> None:
    value = Entry.made(**FIELDS).to_json()
    del value[name]
    with pytest.raises(InvalidParameter):
        Entry.from_json(value)


@pytest.mark.parametrize(
    "change",
    [
        {"extra": 1},
        {3: 4},
        {"schema": "quiltwork/entry/2"},
        {"schema": None},
        {"seq": "1"},
        {"seq": True},
        {"seq": 1.0},
        {"seq": 2**63},
        {"time": None},
        {"kind": 1},
        {"budget": 1},
        {"body": {"a": 1}},
        {"hash": None},
    ],
)
def test_from_json_refuses_unknown_fields_and_wrong_types(change: dict[Any, Any]) -> None:
    with pytest.raises(InvalidParameter):
        Entry.from_json({**Entry.made(**FIELDS).to_json(), **change})


@given(VALUE)
def test_from_json_raises_only_our_errors(value: Any) -> None:
    with pytest.raises(QuiltworkError):
        Entry.from_json(value)


def test_entries_are_frozen() -> None:
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        Entry.made(**FIELDS).seq = 2  # type: ignore[misc]
