"""The server that other tests kill: it must lose nothing that was committed, and nothing else of the machine."""

from __future__ import annotations

import os

import psycopg
import pytest
from tests.ledger import servers
from tests.ledger.servers import NoServer, PostgresServer, children, need_postgres


def test_a_killed_server_keeps_what_was_committed(postgres):
    url = postgres.database("kept")
    assert url.endswith(f"port={postgres.port}")
    postgres.execute("CREATE TABLE things (number int)", "kept")
    open_connection = postgres.connect("kept")
    for number in range(3):
        postgres.execute(f"INSERT INTO things VALUES ({number})", "kept")
        postgres.kill()
        assert not postgres.running
        with pytest.raises(psycopg.OperationalError):
            postgres.connect("kept")
        postgres.start()
    assert postgres.execute("SELECT number FROM things ORDER BY 1", "kept") == [(0,), (1,), (2,)]
    with pytest.raises(psycopg.OperationalError):
        open_connection.execute("SELECT 1")
    open_connection.close()
    postgres.execute("DROP DATABASE kept")


def test_it_writes_to_the_disk(postgres):
    for setting in ("fsync", "synchronous_commit", "full_page_writes"):
        assert postgres.execute(f"SHOW {setting}") == [("on",)]


def test_nothing_is_left_behind(postgres):
    with PostgresServer() as server:
        folder, pid = server.folder, server._process.pid
        family = children(pid)
        assert family
        assert pid in children(os.getpid())
        server.restart()
        server.kill()
        server.start()
        family += children(server._process.pid)
    assert not folder.exists()
    assert not [pid for pid in family if servers.Path(f"/proc/{pid}").exists()]
    assert postgres.running


def test_a_missing_server_skips_or_fails(monkeypatch):
    def missing():
        raise NoServer("PostgreSQL is not installed")

    monkeypatch.setattr(servers, "binaries", missing)
    monkeypatch.delenv("QUILTWORK_REQUIRE_SERVICES", raising=False)
    with pytest.raises(pytest.skip.Exception, match="not installed"):
        need_postgres()
    monkeypatch.setenv("QUILTWORK_REQUIRE_SERVICES", "1")
    with pytest.raises(pytest.fail.Exception, match="not installed"):
        need_postgres()
