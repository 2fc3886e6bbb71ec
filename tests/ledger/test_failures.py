"""When the file of a ledger cannot be written or read: a clear error, nothing lost, and it goes on afterwards."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.ledger.crew import together
from tests.ledger.harm import COST, made, own_disk, refusal, spent_until_refused, state, unharmed

import quiltwork as qw
from quiltwork.errors import LedgerUnavailable
from quiltwork.ledger import Ledger

NOBODY = 65534
Ready = Callable[[], object]


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


def test_disk_is_full(tmp_path):
    (done,) = together(full_disk, [(str(tmp_path),)])
    if done is None:
        pytest.skip("only root may mount a small disk")
    granted, problem, found, _ = done
    assert "full" in problem
    assert granted == found  # nothing lost, nothing of what was refused


def short_quota(_: Ready, folder: str) -> tuple[list[int], str, list[int]]:
    """Spend until files may not grow any more: what a quota does, and anybody may set it."""
    import resource

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
        file.chmod(0o700 if file.is_dir() else 0o600)  # the mark is a folder


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
connection.executescript(sys.argv[2])
connection.execute("UPDATE ledger_head SET seq = seq")
print("held", flush=True)
sys.stdin.read()
"""


@contextlib.contextmanager
def held(file: Path, how: str) -> Iterator[subprocess.Popen[str]]:
    """Another process is in a transaction until the block ends, or until it is killed."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(file), how], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


@pytest.mark.parametrize("how", ["BEGIN IMMEDIATE", "BEGIN EXCLUSIVE"])
def test_file_is_locked(sqlite_url, tmp_path, how):
    made(sqlite_url)
    with unharmed(sqlite_url), held(tmp_path / "budgets.db", how), Ledger(sqlite_url, timeout=0.3) as ledger:
        with pytest.raises(LedgerUnavailable, match="locked") as caught:
            ledger.spend("city", qw.pure(COST))
        assert caught.value.certain
        assert ledger.balance("city").spent.upper == pytest.approx(COST)  # who only reads does not wait


def test_reading_waits_for_whoever_has_the_file_alone(sqlite_url, tmp_path):
    """As while a file is recovered after a crash: it takes a moment, and is no reason to fail."""
    made(sqlite_url)
    alone = "PRAGMA locking_mode=EXCLUSIVE; BEGIN IMMEDIATE"
    with unharmed(sqlite_url), held(tmp_path / "budgets.db", alone) as process:
        free = threading.Timer(0.4, process.kill)
        free.start()
        with Ledger(sqlite_url, timeout=20) as ledger:
            assert ledger.balance("city").spent.upper == pytest.approx(COST)
        free.join()
