"""A real PostgreSQL primary and a standby that falls behind and is promoted: noticed before anything is granted."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import psycopg
import pytest
from tests.ledger.servers import NoServer, account, binaries, free_port

import quiltwork as qw
from quiltwork.errors import BrokenChain
from quiltwork.ledger import Ledger

LOSS = qw.pure(0.05)


@attrs.define
class Pair:
    """A cluster and its streaming standby, on the loopback."""

    folder: Path
    ports: dict[str, int]
    running: set[str] = attrs.Factory(set)

    def run(self, program: str, *arguments: str) -> None:
        owner = account()
        as_owner: dict[str, Any] = {} if owner is None else {"user": owner.pw_uid, "group": owner.pw_gid}
        options: dict[str, Any] = {"cwd": self.folder, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        command = [str(Path(str(binaries())) / program), *arguments]
        subprocess.run(command, check=True, timeout=120, env={**os.environ, "LC_ALL": "C"}, **as_owner, **options)

    def control(self, name: str, *act: str) -> None:
        settings = f"-p {self.ports[name]} -c listen_addresses=127.0.0.1 -c unix_socket_directories={self.folder}"
        log, data = str(self.folder / f"{name}.log"), str(self.folder / name)
        self.run("pg_ctl", "-D", data, "-l", log, "-o", f"{settings} -c dynamic_shared_memory_type=mmap", "-w", *act)
        self.running = (
            self.running | {name}
            if act[0] == "start"
            else self.running - {name}
            if act[0] == "stop"
            else (self.running)
        )

    def sql(self, name: str, *statements: str) -> list[Any]:
        port = self.ports[name]
        with psycopg.connect(host="127.0.0.1", port=port, dbname="postgres", user="postgres", autocommit=True) as one:
            found = [one.execute(statement) for statement in statements][-1]
            return found.fetchall() if found.description else []

    def url(self, name: str) -> str:
        return f"postgresql+psycopg://keeper@127.0.0.1:{self.ports[name]}/budgets"

    def follow(self) -> None:
        """Make the standby, and wait until it streams."""
        port = str(self.ports["primary"])
        copy = ["-h", "127.0.0.1", "-p", port, "-U", "postgres", "-D", str(self.folder / "standby")]
        self.run("pg_basebackup", *copy, "-R", "-X", "stream", "-c", "fast")
        self.control("standby", "start")
        self.caught_up()

    def caught_up(self) -> None:
        end = time.monotonic() + 60
        asked = "SELECT count(*) FROM pg_stat_replication WHERE replay_lsn >= pg_current_wal_lsn()"
        while not self.sql("primary", asked)[0][0]:
            assert time.monotonic() < end, "the standby never caught up"
            time.sleep(0.05)


@pytest.fixture
def pair() -> Iterator[Pair]:
    try:
        binaries()
    except NoServer as error:
        pytest.skip(str(error))
    folder = Path(tempfile.mkdtemp(prefix="quiltwork-pair-"))
    owner = account()
    if owner is not None:
        os.chown(folder, owner.pw_uid, owner.pw_gid)
    made = Pair(folder, {"primary": free_port(), "standby": free_port()})
    try:
        made.run("initdb", "-D", str(folder / "primary"), "-A", "trust", "-U", "postgres", "-E", "UTF8")
        made.control("primary", "start")
        made.sql("primary", "CREATE ROLE keeper LOGIN", "CREATE DATABASE budgets OWNER keeper")
        yield made
    finally:
        for name in sorted(made.running):
            with contextlib.suppress(subprocess.SubprocessError):
                made.control(name, "stop", "-m", "immediate")
        shutil.rmtree(folder)


def granted(ledger: Ledger, count: int) -> int:
    return sum(ledger.spend("b", LOSS).seq > 0 for _ in range(count))


def test_a_standby_promoted_behind(pair: Pair, tmp_path: Path) -> None:
    """Fourteen releases of twenty were granted; the standby knows four. It grants none, to nobody who has the mark."""
    key = tmp_path / "l.key"
    running = Ledger(pair.url("primary"), key=key)
    running.open("b", epsilon=1.0, protects="one person")
    assert granted(running, 3) == 3
    assert running._session.store.standbys() == "none"
    pair.follow()
    assert granted(running, 1) == 1
    pair.caught_up()
    assert running._session.store.standbys() == "asynchronous"
    pair.control("standby", "stop", "-m", "fast")
    assert granted(running, 10) == 10
    checkpoint = running.checkpoint()
    running.disconnect()
    pair.control("primary", "stop", "-m", "immediate")
    pair.control("standby", "start")
    pair.control("standby", "promote")
    with Ledger(pair.url("standby"), key=key) as fresh:
        with pytest.raises(BrokenChain, match="entry 16 was seen, now it ends with 6"):
            fresh.spend("b", LOSS)
        checked = fresh.verify()
        assert (checked.holds, checked.first_bad) == (False, 7)
        assert "entries 7 to 16 are missing" in checked.explain()
    stranger = tmp_path / "stranger.key"  # a host without the mark: only what was kept elsewhere tells
    shutil.copy(key, stranger)
    with Ledger(pair.url("standby"), key=stranger) as other:
        assert other.verify().holds
        assert other.verify(since=checkpoint).first_bad == 7


def test_a_standby_that_was_not_behind_goes_on(pair: Pair, tmp_path: Path) -> None:
    key = tmp_path / "l.key"
    with Ledger(pair.url("primary"), key=key) as ledger:
        ledger.open("b", epsilon=1.0, protects="one person")
        granted(ledger, 3)
        pair.follow()
        granted(ledger, 7)
        pair.caught_up()
        named = "ALTER SYSTEM SET synchronous_standby_names = 'FIRST 1 (walreceiver)'"
        pair.sql("primary", named, "SELECT pg_reload_conf()")
        ledger.disconnect()
        assert ledger._session.store.standbys() == "synchronous"
    pair.control("primary", "stop", "-m", "immediate")
    pair.control("standby", "promote")
    with Ledger(pair.url("standby"), key=key) as ledger:
        assert granted(ledger, 10) == 10
        with pytest.raises(qw.errors.BudgetExceeded):
            ledger.spend("b", LOSS)
        assert ledger.verify().holds
