"""Databases for the tests of the ledger: an SQLite file, and a real PostgreSQL started once for each process."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.ledger.new_ledgers import new_ledgers_from_notes  # noqa: F401
from tests.ledger.servers import PostgresServer, need_postgres


@pytest.fixture(scope="session")
def postgres_cluster() -> Iterator[PostgresServer]:
    """The server of this process, whatever a test did to it. Ask for `postgres` instead."""
    with need_postgres() as server:
        yield server


@pytest.fixture
def postgres(postgres_cluster: PostgresServer) -> PostgresServer:
    """The server, running; a test may stop or kill it."""
    postgres_cluster.start()
    return postgres_cluster


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    """A file that does not exist yet, on the disk."""
    return f"sqlite:///{tmp_path / 'budgets.db'}"


@pytest.fixture
def postgres_url(postgres: PostgresServer) -> Iterator[str]:
    """A fresh database."""
    url = postgres.database()
    yield url
    postgres.drop(url)


@pytest.fixture(params=["sqlite", "postgres"])
def ledger_url(request: pytest.FixtureRequest) -> str:
    """A fresh place for a ledger, on each kind of database."""
    return str(request.getfixturevalue(f"{request.param}_url"))


@pytest.fixture
def fast_sqlite() -> Iterator[str]:
    """A file in memory where the system has such a place, for tests that write much and crash nothing."""
    memory = Path("/dev/shm")
    folder = tempfile.mkdtemp(prefix="quiltwork-", dir=memory if memory.is_dir() else None)
    yield f"sqlite:///{folder}/budgets.db"
    shutil.rmtree(folder)
