"""When the file of a ledger cannot be written or read: a clear error, nothing lost, and it goes on afterwards."""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.ledger.crew import together

import quiltwork as qw
from quiltwork.errors import BrokenChain, ClockWentBack, InvalidParameter, LedgerUnavailable, QuiltworkError
from quiltwork.ledger import Ledger

COST = 0.001
NEW_MOUNTS = 0x00020000  # CLONE_NEWNS of unshare(2)
NOBODY = 65534
Ready = Callable[[], object]


def made(url: str, **options: Any) -> None:
    """A ledger with one budget and one spend."""
    with Ledger(url, **options) as ledger:
        ledger.open("city", epsilon=1000.0, protects="one person")
        ledger.spend("city", qw.pure(COST), key="first")


def state(url: str) -> tuple[Any, list[str]]:
    """The balance and every hash, of a ledger that holds."""
    with Ledger(url) as ledger:
        checked = ledger.verify()
        assert checked.holds, checked
        return ledger.balance("city").spent, [entry.hash for entry in ledger.history()]


@contextlib.contextmanager
def unharmed(url: str) -> Iterator[None]:
    """Whatever happens inside changes nothing, and the ledger still works afterwards."""
    before = state(url)
    yield
    assert state(url) == before
    with Ledger(url) as ledger:
        ledger.spend("city", qw.pure(COST))
    assert len(state(url)[1]) == len(before[1]) + 1


def spent_until_refused(ledger: Any, most: int = 5000) -> tuple[list[int], str]:
    """Numbers of what was granted until the ledger said why it cannot."""
    granted = []
    for turn in range(most):
        try:
            granted.append(ledger.spend("city", qw.pure(COST), key=f"until {turn}", note="x" * 200).seq)
        except LedgerUnavailable as error:
            return granted, str(error)
    raise AssertionError("it never failed")


# ---- the disk is full


def full_disk(_: Ready, folder: str) -> tuple[list[int], str, list[int], int] | None:
    """Spend on half a megabyte until it is full, then make it larger and go on; None where no disk can be made."""
    if not own_disk(folder, "500k"):
        return None
    url = f"sqlite:///{folder}/budgets.db"
    made(url)
    with Ledger(url) as ledger:
        granted, problem = spent_until_refused(ledger)
        assert os.statvfs(folder).f_bavail < 8
        with pytest.raises(LedgerUnavailable):
            ledger.spend("city", qw.pure(COST), key="still full", note="x" * 2000)
        subprocess.run(["mount", "-o", "remount,size=20M", folder], check=True)
        after = ledger.spend("city", qw.pure(COST)).seq
    _, hashes = state(url)
    with Ledger(url) as ledger:
        found = [entry.seq for entry in ledger.history() if entry.kind == "spend"]
    assert found[-1] == after
    assert len(hashes) == after
    return granted, problem, found[1:-1], after


def own_disk(folder: str, size: str) -> bool:
    """A small file system that only this process sees, so that it goes when the process goes."""
    if os.geteuid() != 0 or ctypes.CDLL(None).unshare(NEW_MOUNTS) != 0:
        return False
    commands = [["mount", "--make-rprivate", "/"], ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder]]
    return all(subprocess.run(one, check=False, capture_output=True).returncode == 0 for one in commands)


def test_disk_is_full(tmp_path):
    (done,) = together(full_disk, [(str(tmp_path),)])
    if done is None:
        pytest.skip("only root may mount a small disk")
    granted, problem, found, _ = done
    assert "full" in problem
    assert granted == found  # nothing lost, nothing of what was refused


def short_quota(_: Ready, folder: str) -> tuple[list[int], str, list[int]]:
    """Spend until files may not grow any more: what a quota does, and anybody may set it."""
    url = f"sqlite:///{folder}/budgets.db"
    made(url)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with Ledger(url) as ledger:
        resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, hard))
        granted, problem = spent_until_refused(ledger)
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        ledger.spend("city", qw.pure(COST))
    state(url)
    with Ledger(url) as ledger:
        return granted, problem, [entry.seq for entry in ledger.history() if entry.kind == "spend"][1:-1]


def test_quota_is_used_up(tmp_path):
    ((granted, problem, found),) = together(short_quota, [(str(tmp_path),)])
    assert granted == found
    assert "disk" in problem


# ---- the file is read only


def read_only_disk(_: Ready, folder: str) -> list[str] | None:
    if not own_disk(folder, "10M"):
        return None
    url = f"sqlite:///{folder}/budgets.db"
    made(url)
    with unharmed(url):
        subprocess.run(["mount", "-o", "remount,ro", folder], check=True)
        problems = [refusal(url), refusal(f"sqlite:///{folder}/new.db")]
        subprocess.run(["mount", "-o", "remount,rw", folder], check=True)
    return problems


def refusal(url: str) -> str:
    """Why nothing can be spent."""
    with pytest.raises(LedgerUnavailable) as caught, Ledger(url) as ledger:
        ledger.spend("city", qw.pure(COST))
    assert caught.value.certain
    return str(caught.value)


def test_disk_is_read_only(tmp_path):
    (problems,) = together(read_only_disk, [(str(tmp_path),)])
    if problems is None:
        pytest.skip("only root may mount a read-only disk")
    assert all("written" in problem or "write access" in problem for problem in problems), problems


def read_only_file(_: Ready, folder: str) -> list[str]:
    """As an ordinary user: root may write everything."""
    place = Path(folder)
    url, new = f"sqlite:///{place}/budgets.db", f"sqlite:///{place}/new.db"
    made(f"sqlite:///{place}/warm.db")
    with unharmed(f"sqlite:///{place}/warm.db"):  # so that everything is imported before we become somebody else
        refusal(f"sqlite:///{place}/nowhere/budgets.db")
    if os.geteuid() == 0:
        os.chown(place, NOBODY, NOBODY)
        os.setegid(NOBODY)
        os.seteuid(NOBODY)
    made(url)
    file = place / "budgets.db"
    with unharmed(url):
        file.chmod(0o444)
        problems = [refusal(url)]
        writable(place)
    with unharmed(url):
        place.chmod(0o555)
        problems += [refusal(url), refusal(new)]
        place.chmod(0o755)
    with unharmed(url):
        file.chmod(0)
        problems.append(refusal(url))
        writable(place)
    return problems


def writable(place: Path) -> None:
    """SQLite gives the files beside a database the same mode."""
    for file in place.glob("budgets.db*"):
        file.chmod(0o600)


def test_file_is_read_only():
    folder = tempfile.mkdtemp(prefix="quiltwork-")  # not below tmp_path, which is root's alone
    try:
        (problems,) = together(read_only_file, [(folder,)])
    finally:
        shutil.rmtree(folder)
    assert all("written" in problem or "write access" in problem for problem in problems), problems


# ---- somebody else has it

HOLD = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute(sys.argv[2])
connection.execute("UPDATE ledger_head SET seq = seq")
print("held", flush=True)
sys.stdin.read()
"""


@contextlib.contextmanager
def held(file: Path, how: str) -> Iterator[None]:
    """Another process is in a transaction until the block ends."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(file), how], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield
        process.kill()


@pytest.mark.parametrize("how", ["BEGIN IMMEDIATE", "BEGIN EXCLUSIVE"])
def test_file_is_locked(sqlite_url, tmp_path, how):
    made(sqlite_url)
    with unharmed(sqlite_url), held(tmp_path / "budgets.db", how), Ledger(sqlite_url, timeout=0.3) as ledger:
        with pytest.raises(LedgerUnavailable, match="locked") as caught:
            ledger.spend("city", qw.pure(COST))
        assert caught.value.certain
        assert ledger.balance("city").spent.upper == pytest.approx(COST)  # who only reads does not wait


# ---- the file is not what it was


@pytest.mark.parametrize(
    "content", [b"This is a letter.\n" * 100, b"\x00" * 8192, os.urandom(5000), b"SQLite format 3\x00"]
)
def test_not_a_database(sqlite_url, tmp_path, content):
    (tmp_path / "budgets.db").write_bytes(content)
    with pytest.raises(LedgerUnavailable):
        Ledger(sqlite_url).budgets()
    assert (tmp_path / "budgets.db").read_bytes() == content


def test_somebody_elses_database(sqlite_url, tmp_path):
    with contextlib.closing(sqlite3.connect(tmp_path / "budgets.db")) as connection:
        connection.execute("CREATE TABLE ledger_entries (letter TEXT)")
        connection.commit()
    with pytest.raises(QuiltworkError):
        Ledger(sqlite_url).budgets()
    with contextlib.closing(sqlite3.connect(tmp_path / "budgets.db")) as connection:
        assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("ledger_entries",)]


@pytest.mark.parametrize("share", [0.01, 0.3, 0.6, 0.9])
def test_truncated_file(sqlite_url, tmp_path, share):
    """Nothing is granted from a file that lost its end; put back whole, it goes on."""
    made(sqlite_url)
    with Ledger(sqlite_url) as ledger:
        for _ in range(40):
            ledger.spend("city", qw.pure(COST), note="x" * 1000)
    file = tmp_path / "budgets.db"
    whole = file.read_bytes()
    with unharmed(sqlite_url):
        for left in tmp_path.glob("budgets.db-*"):
            left.unlink()
        file.write_bytes(whole[: int(len(whole) * share)])
        assert not holds(sqlite_url)
        for left in tmp_path.glob("budgets.db-*"):
            left.unlink()
        file.write_bytes(whole)


def holds(url: str) -> bool:
    try:
        with Ledger(url) as ledger:
            return bool(ledger.verify().holds)
    except (LedgerUnavailable, BrokenChain):
        return False


def test_removed_while_open(sqlite_url, tmp_path):
    """Whoever puts another file in its place does not make the open ledger write into the void."""
    made(sqlite_url)
    other = tmp_path / "copy.db"
    with Ledger(sqlite_url) as ledger:
        ledger.balance("city")
        shutil.copy(tmp_path / "budgets.db", other)
        (tmp_path / "budgets.db").rename(tmp_path / "old.db")
        other.rename(tmp_path / "budgets.db")
        with contextlib.suppress(LedgerUnavailable):
            receipt = ledger.spend("city", qw.pure(COST))
            with Ledger(sqlite_url) as again:
                assert receipt.seq in [entry.seq for entry in again.history()]


@pytest.mark.parametrize("table", ["ledger_entries", "ledger_head", "ledger_budgets", "ledger_version"])
def test_a_table_is_missing(sqlite_url, tmp_path, table):
    made(sqlite_url)
    with contextlib.closing(sqlite3.connect(tmp_path / "budgets.db")) as connection:
        connection.execute(f"DROP TABLE {table}")
        connection.commit()
    with pytest.raises(QuiltworkError), Ledger(sqlite_url) as ledger:
        ledger.spend("city", qw.pure(COST))


# ---- the place is wrong


def test_no_such_directory(tmp_path):
    with pytest.raises(LedgerUnavailable, match="directory"):
        Ledger(f"sqlite:///{tmp_path}/nowhere/budgets.db").budgets()
    assert list(tmp_path.iterdir()) == []


def test_a_directory_is_no_file(tmp_path):
    with pytest.raises(LedgerUnavailable):
        Ledger(f"sqlite:///{tmp_path}").budgets()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "url",
    [
        "sqlite://",
        "sqlite:///:memory:",
        "sqlite:///file:x?mode=memory&uri=true",
        "sqlite:///file::memory:?uri=true",
        "sqlite+aiosqlite:///budgets.db",
        "mysql://somebody@localhost/budgets",
        "oracle+cx://x",
        "postgresql+asyncpg://somebody@localhost/budgets",
        "postgresql+psycopg://somebody@localhost:port/budgets",
        "budgets.db",
        "://",
        "\x00",
        "",
        " ",
        None,
        7,
        b"sqlite:///budgets.db",
        True,
    ],
)
def test_unknown_places(url, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidParameter):
        Ledger(url)
    assert list(tmp_path.iterdir()) == []


# ---- the clock


def test_clock_goes_back(ledger_url):
    times = {"now": datetime.now(UTC) + timedelta(hours=1)}
    made(ledger_url)
    with Ledger(ledger_url, clock=lambda: times["now"]) as ledger:
        seq = ledger.reserve("city", qw.pure(COST), lease=timedelta(days=1)).seq
        before = [entry.hash for entry in ledger.history()]
        times["now"] -= timedelta(minutes=30)
        for act in (
            lambda: ledger.spend("city", qw.pure(COST)),
            lambda: ledger.reserve("city", qw.pure(COST), lease=10),
            lambda: ledger.start(seq),
            lambda: ledger.refund(seq),
            lambda: ledger.pause("city"),
            lambda: ledger.open("town", epsilon=1.0, protects="one person"),
        ):
            with pytest.raises(ClockWentBack):
                act()
        assert [entry.hash for entry in ledger.history()] == before
        assert ledger.verify().holds
        times["now"] += timedelta(hours=2)
        ledger.start(seq)
        ledger.spend("city", qw.pure(COST))
        assert ledger.verify().holds


@pytest.mark.parametrize("broken", [lambda: datetime(2026, 1, 1), lambda: None, lambda: 7.0])
def test_a_clock_that_shows_no_time(ledger_url, broken):
    made(ledger_url)
    with unharmed(ledger_url), pytest.raises(InvalidParameter), Ledger(ledger_url, clock=broken) as ledger:
        ledger.spend("city", qw.pure(COST))
