"""Export and import: what comes back is what went out, and a file with anything wrong in it leaves no trace."""

from __future__ import annotations

import contextlib
import io
import json
import sqlite3
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import create_engine, inspect, text
from tests.ledger.forge import FIELDS, TABLES, chained
from tests.ledger.rich import Rich, rich

import quiltwork as qw
from quiltwork.errors import AccessDenied, AlreadyRun, BrokenChain, InvalidParameter, QuiltworkError
from quiltwork.ledger import Ledger, SigningKey
from quiltwork.ledger.entries import canonical
from quiltwork.ledger.receipts import message

REFUSED = (BrokenChain, InvalidParameter)


def exported(ledger: Ledger) -> str:
    stream = io.StringIO()
    count = ledger.export(stream)
    assert count == stream.getvalue().count("\n") - 2
    return stream.getvalue()


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Rich, Path, str]]:
    """A rich ledger, its key, and its export."""
    folder = tmp_path_factory.mktemp("source")
    made = rich(f"sqlite:///{folder}/budgets.db", folder / "budgets.db.key")
    yield made, folder / "budgets.db.key", exported(made.ledger)
    made.ledger.dispose()


@pytest.fixture(scope="module")
def lines(source: tuple[Rich, Path, str]) -> list[str]:
    return source[2].splitlines(keepends=True)


def tables(url: str) -> list[str]:
    if url.startswith("sqlite"):
        with contextlib.closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as raw:
            return sorted(name for (name,) in raw.execute("SELECT name FROM sqlite_master WHERE type = 'table'"))
    engine = create_engine(url)
    found = inspect(engine).get_table_names()
    engine.dispose()
    return found


def contents(url: str) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of every table."""
    engine = create_engine(url)
    with engine.connect() as connection:
        found = {name: sorted(map(tuple, connection.execute(text(f"SELECT * FROM {name}")))) for name in TABLES}
    engine.dispose()
    return {name: [tuple(map(_plain, row)) for row in rows] for name, rows in found.items()}


def _plain(value: Any) -> Any:
    return int(value) if isinstance(value, bool) else value


class Target:
    """A place for an import that must stay empty."""

    def __init__(self, url: str) -> None:
        self.url = url

    def refuses(self, given: Any, seq: int | None = None) -> QuiltworkError:
        """The import is refused, names the entry, and makes nothing."""
        with pytest.raises(REFUSED) as caught:
            Ledger.restore(self.url, io.StringIO(given) if isinstance(given, str) else given)
        if seq is not None:
            assert isinstance(caught.value, BrokenChain), caught.value
            assert caught.value.seq == seq, caught.value
        assert tables(self.url) == []
        return caught.value


@pytest.fixture
def target(sqlite_url: str) -> Target:
    return Target(sqlite_url)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Target:
    """The same for tests of many examples: nothing is ever made in it."""
    return Target(f"sqlite:///{tmp_path_factory.mktemp('shared')}/empty.db")


# ---- there and back


@pytest.mark.parametrize("way", ["file to file", "file to server", "server to file"])
def test_there_and_back(request, source, tmp_path, way):
    made, key, content = source
    before = made.ledger._store.url.render_as_string()
    if way == "server to file":
        before = request.getfixturevalue("postgres_url")
        Ledger.restore(before, io.StringIO(content), key=key).dispose()
        with Ledger(before, key=key).sign_in(made.admin) as ledger:
            content = exported(ledger)
    place = request.getfixturevalue("postgres_url") if way == "file to server" else f"sqlite:///{tmp_path}/copy.db"
    with Ledger.restore(place, io.StringIO(content), key=key) as restored:
        restored = restored.sign_in(made.admin)
        found = restored.verify(receipts=made.receipts)
        assert found.holds
        assert found.signed
        assert restored.identity == made.ledger.identity
        assert restored.public_key == made.ledger.public_key
        assert list(restored.history()) == list(made.ledger.history())
        assert exported(restored) == content == source[2]
        assert [one.to_json() for one in restored.budgets()] == [one.to_json() for one in made.ledger.budgets()]
        assert restored.principals() == made.ledger.principals()
    assert contents(place) == contents(before)


def test_unsigned(postgres_url, sqlite_url, monkeypatch):
    """A ledger without a key, and what an import makes of it."""
    monkeypatch.delenv("QUILTWORK_LEDGER_KEY", raising=False)
    with Ledger(postgres_url) as ledger:
        assert ledger.public_key is None
        ledger.open("city", epsilon=1.0, protects="one person")
        ledger.spend("city", qw.pure(0.25))
        content = exported(ledger)
    with Ledger.restore(sqlite_url, io.StringIO(content)) as restored:
        found = restored.verify()
        assert found.holds
        assert not found.signed
        restored.spend("city", qw.pure(0.25))
        assert restored.verify().holds


def test_any_lines_will_do(source, lines, target):
    """A file, a list, a generator; with blank lines and other line ends."""
    _, key, _ = source
    with Ledger.restore(target.url, (line.rstrip("\n") + "\r\n\n" for line in lines), key=key) as restored:
        entries = len(lines) - 2
        assert len(contents(target.url)["ledger_entries"]) == entries
        assert restored.public_key is not None


def test_spending_goes_on_with_the_key(source, sqlite_url):
    made, key, content = source
    with Ledger.restore(sqlite_url, io.StringIO(content), key=key) as restored:
        admin, spender = restored.sign_in(made.admin), restored.sign_in(made.spender)
        before = admin.balance("pure")
        receipt = spender.spend("pure", qw.laplace(100.0))
        receipt.check(made.ledger.public_key)
        (lapse,) = admin.history(after=made.receipts[-1].seq, limit=1)  # of a lease that ended long ago
        assert lapse.previous == made.receipts[-1].hash
        assert (receipt.seq, receipt.previous) == (lapse.seq + 1, lapse.hash)
        assert receipt.principal == "bob"
        assert admin.balance("pure").spent.lower > before.spent.lower
        with pytest.raises(AlreadyRun):  # keys are known there too
            spender.spend("pure", qw.laplace(100.0), key="turn 0")
        assert admin.verify(receipts=[*made.receipts, receipt]).holds
    with Ledger(sqlite_url, key=key) as reopened:
        assert reopened.sign_in(made.admin).verify(receipts=[receipt]).holds


def test_without_the_key_it_can_be_read(source, sqlite_url):
    made, _, content = source
    with Ledger.restore(sqlite_url, io.StringIO(content)) as restored:
        before = contents(sqlite_url)
        reader = restored.sign_in(made.viewer)
        assert reader.verify(receipts=made.receipts).holds
        assert len(reader.budgets()) == 6
        admin = restored.sign_in(made.admin)
        for act in (
            lambda: admin.spend("pure", qw.laplace(100.0)),
            lambda: admin.pause("pure"),
            lambda: admin.admit("new", "viewer"),
            lambda: admin.open("new", epsilon=1.0, protects="one person"),
        ):
            with pytest.raises(InvalidParameter, match="key"):
                act()
        with pytest.raises(AccessDenied):
            restored.balance("pure")
        assert contents(sqlite_url) == before
    assert not Path(f"{sqlite_url.removeprefix('sqlite:///')}.key").exists()


def test_tokens_still_work(source, sqlite_url):
    made, key, content = source
    with Ledger.restore(sqlite_url, io.StringIO(content), key=key) as restored:
        assert restored.sign_in(made.viewer).balance("pure").budget.name == "pure"
        with pytest.raises(AccessDenied):
            restored.sign_in(made.viewer).spend("pure", qw.laplace(100.0))
        with pytest.raises(AccessDenied):
            restored.sign_in(made.admin[:-1] + ("0" if made.admin[-1] != "0" else "1"))


def test_another_key_is_refused(source, sqlite_url, tmp_path):
    _, _, content = source
    SigningKey.create(tmp_path / "other.key")
    with pytest.raises(InvalidParameter, match="key"):
        Ledger.restore(sqlite_url, io.StringIO(content), key=tmp_path / "other.key")
    with pytest.raises(InvalidParameter):
        Ledger.restore(sqlite_url, io.StringIO(content), key=tmp_path / "nowhere.key")
    assert tables(sqlite_url) == []  # nothing is left behind that nobody asked for


# ---- not into a ledger


@pytest.mark.parametrize("which", ["empty ledger", "the same", "another"])
def test_not_into_a_ledger(source, ledger_url, which):
    _, key, content = source
    if which == "the same":
        Ledger.restore(ledger_url, io.StringIO(content), key=key).dispose()
    else:
        with Ledger(ledger_url) as ledger:
            if which == "another":
                ledger.open("city", epsilon=1.0, protects="one person")
    before = contents(ledger_url)
    with pytest.raises(InvalidParameter, match="without a ledger"):
        Ledger.restore(ledger_url, io.StringIO(content), key=key)
    assert contents(ledger_url) == before


def test_foreign_tables_stay(source, ledger_url):
    _, key, content = source
    engine = create_engine(ledger_url)
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE mine (number INTEGER)"))
        connection.execute(text("INSERT INTO mine VALUES (7)"))
    with pytest.raises(REFUSED):
        Ledger.restore(ledger_url, io.StringIO(content[:-100]))
    assert tables(ledger_url) == ["mine"]
    Ledger.restore(ledger_url, io.StringIO(content), key=key).dispose()
    with engine.connect() as connection:
        assert connection.execute(text("SELECT number FROM mine")).scalar_one() == 7
    engine.dispose()
    assert set(tables(ledger_url)) == {"mine", "ledger_version", *TABLES}


# ---- lines missing, moved, twice


def test_every_line_missing(lines, target):
    count = len(lines)
    for at in range(count):
        given = "".join(lines[:at] + lines[at + 1 :])
        if at == 0:
            target.refuses(given)  # no header
        else:
            target.refuses(given, at if at < count - 1 else count - 1)


def test_every_two_lines_swapped(lines, target):
    count = len(lines)
    for at in range(count - 1):
        made = list(lines)
        made[at], made[at + 1] = made[at + 1], made[at]
        error = target.refuses("".join(made), at if 0 < at < count - 2 else None)
        if at == count - 2:  # the last entry comes after the end
            assert isinstance(error, BrokenChain)
            assert error.seq in (at - 1, at)


def test_every_line_twice(lines, target):
    count = len(lines)
    for at in range(count):
        error = target.refuses("".join([*lines[: at + 1], *lines[at:]]))
        if 0 < at < count - 1:
            assert isinstance(error, BrokenChain)
            assert error.seq == at + 1


def test_cut_file(lines, source, target):
    """After every line, and in the middle of every line."""
    for at in range(len(lines)):
        target.refuses("".join(lines[:at]))
        target.refuses("".join(lines[:at]) + lines[at][: len(lines[at]) // 2])
    target.refuses(source[2][:-2])  # the last bracket


def test_foreign_lines(lines, target):
    last = len(lines) - 2
    strange = [
        '{"schema":"quiltwork/receipt/1"}',
        "hello",
        "[]",
        "7",
        "null",
        '""',
        "{}",
        "\x00",
        "{" * 5000,
        "[" * 10**5,
    ]
    for line in strange:
        for at in (1, 2, 20):
            target.refuses("".join([*lines[:at], line + "\n", *lines[at:]]), at)
        target.refuses("".join([*lines[:-1], line + "\n", lines[-1]]), last + 1)
        target.refuses("".join([*lines, line + "\n"]))
        target.refuses("".join([line + "\n", *lines]))


@pytest.mark.parametrize(
    "given", ["", "\n\n", " ", "{}", "[]", "null", "7", "\ufeff", "x" * 10**6, "\x00", "{}\n{}\n{}\n"]
)
def test_no_export_at_all(target, given):
    target.refuses(given)


def test_not_lines(source, target):
    """Values that are no lines of text."""
    content = source[2]
    for strange in ([], [None], [7], [b"x"], [content.encode()], content.encode().splitlines(), 7, None, [["x"]], [{}]):
        target.refuses(strange)


def test_a_source_that_breaks_off(lines, target):
    """What the reader of the lines raises comes out as it is, and nothing is made."""

    def broken() -> Iterator[str]:
        yield from lines[:5]
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="gone"):
        Ledger.restore(target.url, broken())
    assert tables(target.url) == []


# ---- bytes


@settings(max_examples=200)
@given(st.data())
def test_a_random_byte(source, shared, data):
    """One character of the file is replaced, removed or added."""
    content = source[2]
    place = data.draw(st.integers(0, len(content) - 1))
    act = data.draw(st.sampled_from(["replace", "remove", "add"]))
    char = data.draw(st.characters(min_codepoint=0, max_codepoint=0x2FFF))
    after = content[:place] + {"replace": char, "remove": "", "add": char + content[place]}[act] + content[place + 1 :]
    outside = {line for line in after.splitlines() if line.strip()} == set(content.splitlines())
    if after == content or outside:  # a blank line more, an end of line less at the end
        return
    where = content.count("\n", 0, place)  # the line's number is that of its entry
    if json_same(after, content):
        return
    error = shared.refuses(after)
    if isinstance(error, InvalidParameter):
        assert where == 0
    elif 0 < where < len(content.splitlines()) - 1:
        assert error.seq in (where, where + 1)  # an end of line that is gone joins two


def json_same(one: str, two: str) -> bool:
    """Whether only white space inside the JSON differs: the same values."""
    try:
        values = [json.loads(line) for line in one.splitlines()]
    except ValueError:
        return False
    return values == [json.loads(line) for line in two.splitlines()]


def value_of(line: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(line)
    return found


def replaced(lines: list[str], at: int, **changes: Any) -> str:
    """The export with some fields of one line changed."""
    return "".join([*lines[:at], json.dumps({**value_of(lines[at]), **changes}) + "\n", *lines[at + 1 :]])


@pytest.mark.parametrize("field", ["schema", *FIELDS])
def test_fields_of_every_type(lines, target, field):
    for at in (1, 17):
        for value in (None, 7, -1, 0.5, 2**80, True, [], {}, "", "x", "\x00", "\ud800", "y" * 10**5):
            if value_of(lines[at])[field] != value or isinstance(value, bool):
                target.refuses(replaced(lines, at, **{field: value}), at)
        value = value_of(lines[at])
        del value[field]
        target.refuses("".join([*lines[:at], json.dumps(value) + "\n", *lines[at + 1 :]]), at)


def test_nan_and_twice_the_same_key(lines, target):
    for at in (1, 9, len(lines) - 2):
        for junk in ("NaN", "Infinity", "-Infinity", "1e999"):
            target.refuses(
                "".join([*lines[:at], lines[at].replace('"key":', f'"more":{junk},"key":', 1), *lines[at + 1 :]]), at
            )
        double = lines[at].replace('"kind":', '"kind":"spend","kind":', 1)
        target.refuses("".join([*lines[:at], double, *lines[at + 1 :]]), at)
    for at in (0, len(lines) - 1):
        target.refuses("".join([*lines[:at], lines[at].replace("{", '{"schema":"x",', 1), *lines[at + 1 :]]))
        target.refuses("".join([*lines[:at], lines[at].replace("{", '{"more":NaN,', 1), *lines[at + 1 :]]))


def test_header_and_closing_line(lines, target):
    last = len(lines) - 2
    for changes in (
        {"schema": "quiltwork/ledger-export/2"}, {"schema": None}, {"entries": last + 1}, {"entries": last - 1},
        {"entries": None}, {"entries": "42"}, {"entries": True}, {"entries": []},
    ):  # fmt: skip
        target.refuses(replaced(lines, 0, **changes))
    closing = value_of(lines[-1])
    other = closing["signature"].swapcase()
    for changes in (
        {"schema": "x"}, {"seq": last - 1}, {"seq": str(last)}, {"seq": None}, {"hash": "0" * 64}, {"hash": None},
        {"signature": other}, {"signature": None}, {"signature": ""}, {"signature": 7}, {"signature": "\ud800"},
        {"signature": closing["signature"] + " "}, {"signature": []},
    ):  # fmt: skip
        target.refuses(replaced(lines, len(lines) - 1, **changes))


def test_huge_line(lines, target):
    """Ten million characters of one line are refused like any other change, also as a number."""
    target.refuses(replaced(lines, 5, body="x" * 10**7), 5)
    huge = lines[5].replace('"key":', '"key":' + "9" * 10**5 + ',"old":', 1)
    target.refuses("".join([*lines[:5], huge, *lines[6:]]), 5)


# ---- who can hash


def rechained(lines: list[str], change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]) -> list[str]:
    entries = [{name: value_of(line)[name] for name in FIELDS} for line in lines[1:-1]]
    made = chained(change(entries))
    schema = value_of(lines[1])["schema"]
    head = canonical({**value_of(lines[0]), "entries": len(made)})
    closing = canonical({**value_of(lines[-1]), "seq": len(made), "hash": made[-1]["hash"]})
    return [head + "\n", *(canonical({"schema": schema, **row}) + "\n" for row in made), closing + "\n"]


def test_hashed_again_without_the_key(lines, target):
    last = len(lines) - 2
    assert rechained(lines, lambda entries: entries) == lines
    for at in (1, 10, last - 1):
        target.refuses(
            "".join(rechained(lines, lambda e, at=at: [*e[:at], {**e[at], "principal": "mallory"}, *e[at + 1 :]])), last
        )
    target.refuses("".join(rechained(lines, lambda entries: entries[:-1])), last - 1)


def test_what_the_key_signed_must_still_keep_the_limit(source, lines, target):
    """A signed chain that spends more than its budget has is refused at the entry that does."""
    made, key, _ = source
    signer = SigningKey.load(key)

    def spent(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
        found = next(row for row in entries if row["budget"] == "pure" and row["kind"] == "spend")
        more = [{**found, "key": f"more {turn}", "time": entries[-1]["time"]} for turn in range(20)]
        return [*entries, *more]

    forged = rechained(lines, spent)
    closing = value_of(forged[-1])
    closing["signature"] = signer.signature(message(made.ledger.identity, closing["hash"]))
    error = target.refuses("".join([*forged[:-1], canonical(closing) + "\n"]))
    assert isinstance(error, BrokenChain)
    assert len(lines) - 2 < (error.seq or 0) <= len(lines) + 18


def test_amounts_are_not_computed_before_they_are_checked(lines, target):
    """Ten to the billionth power in a line of a stranger."""
    at = next(at for at, line in enumerate(lines) if '"kind":"spend"' in line)

    def huge(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
        body = json.loads(entries[at - 1]["body"])
        body["cost"] = ["1e3000000", "0"]
        return [*entries[: at - 1], {**entries[at - 1], "body": canonical(body)}, *entries[at:]]

    target.refuses("".join(rechained(lines, huge)), at)


# ---- what the export itself does


def test_export_of_a_broken_ledger_is_not_importable(tmp_path, target):
    """An export writes what there is; the import looks at it."""
    file = tmp_path / "broken.db"
    with Ledger(f"sqlite:///{file}") as ledger:
        ledger.open("city", epsilon=1.0, protects="one person")
        ledger.spend("city", qw.pure(0.25))
        with contextlib.closing(sqlite3.connect(file)) as raw:
            raw.execute("DROP TRIGGER ledger_entries_no_update")
            raw.execute("UPDATE ledger_entries SET kind = 'reserve' WHERE seq = 3")
            raw.commit()
        stream = io.StringIO()
        with contextlib.suppress(BrokenChain):
            ledger.export(stream)
            target.refuses(stream.getvalue(), 3)


def test_export_needs_a_token_and_a_stream(source):
    made, _, _ = source
    with Ledger(made.ledger._store.url.render_as_string(), clock=lambda: datetime(2030, 1, 1, tzinfo=UTC)) as nobody:
        nobody._key = None  # so that the refusal is not written
        with pytest.raises(AccessDenied):
            nobody.export(io.StringIO())
    for stream in (None, 7, "file", io.BytesIO()):
        with pytest.raises(QuiltworkError):
            made.ledger.export(stream)


def test_export_to_a_full_disk(source):
    """What the stream raises comes out, and the ledger is as before."""
    made, _, _ = source

    class Full(io.StringIO):
        def write(self, text: str) -> int:
            if self.tell() > 5000:
                raise OSError(28, "No space left on device")
            return super().write(text)

    with pytest.raises(OSError, match="No space"):
        made.ledger.export(Full())
    assert made.ledger.verify().holds
