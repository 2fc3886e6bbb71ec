"""SQLite's files are copied, replaced, put back or deleted under a ledger that is open: no granted spend is lost."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys

import pytest

import quiltwork as qw
from quiltwork.errors import BrokenChain, LedgerUnavailable
from quiltwork.ledger import Ledger
from quiltwork.ledger.store import sqlite as sqlite_file

SPEND = qw.laplace(1000.0)
SCRIPT = """
import sys, quiltwork as qw
ledger = qw.Ledger(sys.argv[1])
ledger.spend("city", qw.laplace(1000.0))
print("spent", flush=True)
sys.stdin.read()
ledger.spend("city", qw.laplace(1000.0))
ledger.dispose()
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "budgets.db"
    with Ledger(f"sqlite:///{path}") as ledger:
        ledger.open("city", epsilon=1.0, protects="one record")
    return path


def url(file):
    return f"sqlite:///{file}"


def spends(file):
    with Ledger(url(file)) as ledger:
        assert ledger.verify()
        return sum(entry.kind == "spend" for entry in ledger.history())


def another(file):
    """Another process that spends once, and once more when it is told to end."""
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, url(file)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "spent\n"
    return process


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.parametrize("own", [False, True])
def test_a_child_goes_on_after_its_parent_closed(file, own):
    """The parent's connections are closed before the fork: nobody deletes the log under the child."""
    parent = Ledger(url(file))
    parent.balance("city")
    told, tell = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            ledger = Ledger(url(file)) if own else parent
            ledger.spend("city", SPEND)
            os.read(told, 1)
            for _ in range(4):
                ledger.spend("city", SPEND)
            ledger.dispose()
            code = 0
        finally:
            os._exit(code)
    parent.spend("city", SPEND)
    parent.dispose()
    os.write(tell, b"x")
    assert os.waitpid(child, 0)[1] == 0
    assert spends(file) == 6
    os.close(told)
    os.close(tell)


@pytest.mark.parametrize("wrote", [False, True])
def test_a_process_that_copies_the_file_loses_its_locks_and_nothing_else(file, wrote):
    """Reading the file in the same process drops its locks; the next process to leave deletes the log."""
    with Ledger(url(file)) as ledger:
        ledger.balance("city")
        if wrote:
            ledger.spend("city", SPEND)
        file.read_bytes()
        another(file).communicate("")  # spends twice, closes last: the log is deleted
        other = another(file)  # and made anew
        granted = 0
        for _ in range(5):
            ledger.spend("city", SPEND)
            granted += 1
        other.communicate("")
    assert spends(file) == granted + 4 + wrote


def test_a_file_that_is_replaced_by_an_older_copy_is_noticed(file, tmp_path):
    """A running process saw a later head, and does not spend the same budget twice."""
    copy = tmp_path / "backup.db"
    with sqlite3.connect(file) as source, sqlite3.connect(copy) as target:
        source.backup(target)
    source.close()
    target.close()
    with Ledger(url(file)) as ledger:
        receipt = ledger.spend("city", qw.pure(1.0))
        for end in ("", "-wal", "-shm"):
            (tmp_path / f"budgets.db{end}").unlink(missing_ok=True)
        shutil.copy(copy, file)
        for act in (lambda: ledger.spend("city", qw.pure(1.0)), lambda: ledger.balance("city")):
            with pytest.raises(BrokenChain, match="earlier state"):
                act()
    with Ledger(url(file)) as fresh:
        assert fresh.verify().first_bad == receipt.seq  # the mark beside the key tells
    shutil.rmtree(f"{file}.key.mark")
    with Ledger(url(file)) as fresh:
        assert fresh.verify()  # nothing in the file does
        assert not fresh.verify(receipts=[receipt])


def test_a_file_that_is_gone(file, tmp_path):
    with Ledger(url(file)) as ledger:
        ledger.spend("city", SPEND)
        for end in ("", "-wal", "-shm"):
            (tmp_path / f"budgets.db{end}").unlink(missing_ok=True)
        for act in (lambda: ledger.spend("city", SPEND), lambda: ledger.balance("city")):
            with pytest.raises(LedgerUnavailable, match="gone"):
                act()
        assert not file.exists()


def test_a_commit_to_a_lost_log_is_no_grant(file, monkeypatch):
    """The log is deleted between the look before a write and its commit: nobody is told that the spend was granted.

    The connection is held back, since closing it would copy the lost log; until the process ends it does not go on.
    """
    monkeypatch.setattr(sqlite_file, "_LOST", set())
    with Ledger(url(file)) as ledger:
        ledger.spend("city", SPEND)
        answers = iter([True])  # before the write; not any more after its commit
        monkeypatch.setattr(sqlite_file.WatchedConnection, "same", lambda self: next(answers, False))
        with pytest.raises(LedgerUnavailable, match="ask again with key='mine'") as caught:
            ledger.spend("city", SPEND, key="mine")
        assert not caught.value.certain
        for act in (lambda: ledger.spend("city", SPEND), lambda: ledger.balance("city"), lambda: Ledger(url(file))):
            with pytest.raises(LedgerUnavailable, match="start it again"):
                act()


FULL = """
import os, resource, signal, sys
import quiltwork as qw
from quiltwork.ledger.store import sqlite as sqlite_file

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
sqlite_file.SELDOM = 1e-9  # a checkpoint after every commit
file = sys.argv[1]
ledger = qw.Ledger(f"sqlite:///{file}")
for _ in range(60):
    ledger.spend("city", qw.laplace(1000.0), note="x" * 1500)
before, granted = len(list(ledger.history())), 0
resource.setrlimit(resource.RLIMIT_FSIZE, (os.path.getsize(file), resource.RLIM_INFINITY))  # the log is shorter
for _ in range(5):
    try:
        ledger.spend("city", qw.laplace(1000.0), note="y" * 1500)
        granted += 1
    except qw.errors.LedgerUnavailable as error:
        assert not error.certain, error
print(granted, len(list(ledger.history())) - before)
"""


@pytest.mark.skipif(os.name != "posix", reason="no limit on the size of files here")
def test_a_checkpoint_that_fails_takes_no_grant_back(file):
    """It runs after the commit, and the file cannot grow: what is in the log is granted, and said to be."""
    done = subprocess.run([sys.executable, "-c", FULL, str(file)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    granted, written = map(int, done.stdout.split())
    assert granted == written > 0
