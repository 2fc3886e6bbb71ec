"""Export and import: what comes back is what went out, and a file with anything wrong in it leaves no trace."""

from __future__ import annotations

import contextlib
import io
import shutil
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import attrs
import pytest
from sqlalchemy import create_engine, text
from tests.ledger.exports import REFUSED, Target, contents, exported, tables
from tests.ledger.rich import Rich, rich

import quiltwork as qw
from quiltwork.errors import AccessDenied, AlreadyRun, BrokenChain, InvalidParameter, QuiltworkError
from quiltwork.ledger import Ledger, Receipt, SigningKey
from quiltwork.ledger.store import schema


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


@pytest.fixture
def target(sqlite_url: str) -> Target:
    return Target(sqlite_url)


# ---- there and back


@pytest.mark.parametrize("way", ["file to file", "file to server", "server to file"])
def test_there_and_back(request, source, tmp_path, way):
    made, key, content = source
    before = made.ledger._session.store.url.render_as_string()
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


def test_tokens_still_work(source, sqlite_url, tmp_path):
    made, key, content = source
    key = shutil.copy(key, tmp_path / "own.key")  # the copy goes on by itself: it has a mark of its own
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
    assert set(tables(ledger_url)) == {"mine", "ledger_version", *schema.metadata.tables}


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
    made, key, _ = source
    shutil.rmtree(f"{key}.mark", ignore_errors=True)  # copies of other tests went on under the same key
    with Ledger(
        made.ledger._session.store.url.render_as_string(), clock=lambda: datetime(2030, 1, 1, tzinfo=UTC)
    ) as nobody:
        nobody._session.key = None  # so that the refusal is not written
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


# ---- held against what was kept elsewhere


@pytest.fixture
def two(tmp_path: Path) -> Iterator[tuple[Ledger, Ledger, str]]:
    """A ledger of three entries, its export, and a copy with the same key that goes on by itself."""
    with Ledger(f"sqlite:///{tmp_path}/one.db") as one:
        one.open("city", epsilon=1.0, protects="one person")
        one.spend("city", qw.pure(0.25))
        content = exported(one)
        with Ledger.restore(f"sqlite:///{tmp_path}/two.db", io.StringIO(content), key=tmp_path / "one.db.key") as copy:
            yield one, copy, content


def test_an_older_export_lacks_a_receipt(two, target):
    one, _, content = two
    late = one.spend("city", qw.pure(0.125))
    early = one.receipt(2)
    with pytest.raises(BrokenChain, match="the receipt's entry is gone") as caught:
        Ledger.restore(target.url, io.StringIO(content), receipts=[early, late])
    assert caught.value.seq == late.seq
    assert tables(target.url) == []
    with Ledger.restore(target.url, io.StringIO(content), receipts=[early], public_key=one.public_key) as made:
        assert made.verify(receipts=[early]).holds


def test_an_export_by_another_key(two, target, tmp_path):
    _, _, content = two
    other = SigningKey.create(tmp_path / "other.key")
    with pytest.raises(BrokenChain, match="another key"):
        Ledger.restore(target.url, io.StringIO(content), public_key=other.public)
    assert tables(target.url) == []
    with pytest.raises(InvalidParameter, match="receipts"):
        Ledger.restore(target.url, io.StringIO(content), receipts=["one"])
    assert tables(target.url) == []


def test_a_receipt_of_the_same_ledger_accuses(two, target):
    """Two copies went on: their histories contradict each other, and both receipts are genuine."""
    one, copy, _ = two
    mine, theirs = one.spend("city", qw.pure(0.125)), copy.spend("city", qw.pure(0.5))
    assert mine.seq == theirs.seq == 4
    found = one.verify(receipts=[mine, theirs])
    assert (found.holds, found.first_bad, found.problem) == (False, 4, "it is not the entry of the receipt")
    with pytest.raises(BrokenChain, match="not the entry of the receipt"):
        Ledger.restore(target.url, io.StringIO(exported(one)), receipts=[theirs])
    assert tables(target.url) == []


@pytest.mark.parametrize("late", [False, True], ids=["met", "beyond the end"])
@pytest.mark.parametrize(
    ("kind", "problem"),
    [
        ("foreign", "of another ledger"),
        ("forged", "not signed by a key of this ledger"),
        ("unsigned", "not signed by a key of this ledger"),
        ("damaged", "not genuine"),
    ],
)
def test_a_receipt_that_proves_nothing_accuses_no_entry(two, target, tmp_path, kind, problem, late):
    """It still counts as a finding: the whole ledger may have been replaced."""
    one, copy, _ = two
    if not late:
        one.spend("city", qw.pure(0.125))
    theirs = copy.spend("city", qw.pure(0.5))
    if kind == "foreign":
        with Ledger(f"sqlite:///{tmp_path}/three.db") as third:
            for turn in range(3):
                third.open(f"b{turn}", epsilon=1.0, protects="x")
            receipt = third.receipt(4)
    elif kind == "forged":
        receipt = Receipt.issued(one.identity, theirs.entry, SigningKey.create(tmp_path / "forger.key"))
    elif kind == "unsigned":
        receipt = Receipt.issued(one.identity, theirs.entry, None)
    else:
        receipt = attrs.evolve(theirs, signature=one.receipt(3).signature)
    assert receipt.seq == 4
    found = one.verify(receipts=[receipt])
    assert (found.holds, found.first_bad) == (False, None)
    assert f"the receipt of entry 4 is {problem}" in str(found.problem)
    with pytest.raises(BrokenChain, match="the receipt of entry 4") as caught:
        Ledger.restore(target.url, io.StringIO(exported(one)), receipts=[receipt])
    assert caught.value.seq is None
    assert tables(target.url) == []
    assert one.verify().holds


def test_a_receipt_by_a_later_key_accuses_a_copy_from_before(two, tmp_path):
    """The old copy does not know the key that took over; whoever asks does."""
    one, copy, _ = two
    one.rotate(tmp_path / "next.key")
    late = one.spend("city", qw.pure(0.125))
    found = copy.verify(receipts=[late], public_key=one.public_key)
    assert (found.holds, found.first_bad, found.problem) == (False, late.seq, "the receipt's entry is gone")


def test_whether_the_key_was_known(two, tmp_path):
    one, _, content = two
    assert one.verify().known
    with Ledger.restore(f"sqlite:///{tmp_path}/readable.db", io.StringIO(content)) as reader:
        found = reader.verify()
        assert (found.holds, found.signed, found.known) == (True, True, False)
        assert "signed by the key that it names itself" in found.explain()
        told = reader.verify(public_key=one.public_key)
        assert (told.holds, told.known, told.to_json()["known"]) == (True, True, True)
        assert "signed by the ledger's key" in told.explain()
