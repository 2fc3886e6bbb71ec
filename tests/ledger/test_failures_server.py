"""When the database server of a ledger is away, silent or unwilling: a clear error, nothing lost, nothing twice."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.ledger.crew import together
from tests.ledger.harm import COST, made, own_disk, spent_until_refused, state, unharmed
from tests.ledger.lines import named
from tests.ledger.servers import NoServer, PostgresServer

import quiltwork as qw
from quiltwork.errors import LedgerUnavailable, QuiltworkError
from quiltwork.ledger import Ledger


def refused(url: str, **options: Any) -> LedgerUnavailable:
    with pytest.raises(LedgerUnavailable) as caught, Ledger(url, **options) as ledger:
        ledger.spend("city", qw.pure(COST))
    assert caught.value.certain
    return caught.value


# ---- the server is away


def test_server_is_down(postgres, postgres_url):
    made(postgres_url)
    with unharmed(postgres_url), Ledger(postgres_url) as ledger:
        ledger.balance("city")
        postgres.stop()
        for _ in range(2):
            with pytest.raises(LedgerUnavailable) as caught:
                ledger.spend("city", qw.pure(COST))
            assert caught.value.certain
        with pytest.raises(LedgerUnavailable):
            ledger.balance("city")
        refused(postgres_url)
        postgres.start()


@pytest.mark.parametrize("how", ["kill", "stop"])
def test_server_comes_back_between_two_spends(postgres, postgres_url, how):
    """The old connection is dead: one clear error at most, then it goes on with a new one."""
    made(postgres_url)
    with Ledger(postgres_url) as ledger:
        first = ledger.spend("city", qw.pure(COST), key="one").seq
        getattr(postgres, how)()
        postgres.start()
        with contextlib.suppress(LedgerUnavailable):
            ledger.spend("city", qw.pure(COST), key="two")
        assert ledger.spend("city", qw.pure(COST), key="two").seq == first + 1
    assert len(state(postgres_url)[1]) == first + 1


def test_connection_is_ended_between_two_spends(postgres, postgres_url):
    made(postgres_url)
    with Ledger(postgres_url) as ledger:
        first = ledger.spend("city", qw.pure(COST), key="one").seq
        end_clients(postgres, named(postgres_url))
        with contextlib.suppress(LedgerUnavailable):
            ledger.spend("city", qw.pure(COST), key="two")
        assert ledger.spend("city", qw.pure(COST), key="two").seq == first + 1
    assert len(state(postgres_url)[1]) == first + 1


def end_clients(server: PostgresServer, name: str) -> int:
    """How many connections to the database were ended."""
    question = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'quiltwork%'"
    return len(server.execute(f"{question} AND datname = '{name}'"))


def test_connection_is_ended_in_the_middle(postgres, postgres_url):
    """The spend waits for its turn when its connection is ended: it asks again by itself, or says that it did not."""
    made(postgres_url)
    granted: list[int] = []
    before = len(state(postgres_url)[1])

    def spend() -> None:
        with Ledger(postgres_url) as ledger, contextlib.suppress(LedgerUnavailable):
            granted.append(ledger.spend("city", qw.pure(COST), key="mine").seq)

    with locked(postgres, named(postgres_url)):
        thread = threading.Thread(target=spend)
        thread.start()
        waiting = "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
        end = time.monotonic() + 120
        while not postgres.execute(waiting) and time.monotonic() < end:
            time.sleep(0.01)
        assert end_clients(postgres, named(postgres_url))
    thread.join(120)
    assert len(state(postgres_url)[1]) == before + len(granted)
    with Ledger(postgres_url) as ledger:
        assert ledger.spend("city", qw.pure(COST), key="mine").seq == before + 1
    assert len(state(postgres_url)[1]) == before + 1


@contextlib.contextmanager
def locked(server: PostgresServer, name: str) -> Iterator[None]:
    """Somebody else holds the head of the ledger."""
    with server.connect(name) as connection, connection.transaction():
        connection.execute("SELECT * FROM ledger_head FOR UPDATE")
        yield


def test_locked_by_another_transaction(postgres, postgres_url):
    made(postgres_url)
    with unharmed(postgres_url), locked(postgres, named(postgres_url)):
        assert "locked" in str(refused(postgres_url, timeout=0.3))
        with Ledger(postgres_url) as ledger:
            assert ledger.balance("city").spent.upper == pytest.approx(COST)  # who only reads does not wait


def silence(_: Callable[[], object], port: int) -> str:
    with pytest.raises(LedgerUnavailable) as caught:
        Ledger(f"postgresql+psycopg://somebody@127.0.0.1:{port}/budgets", timeout=0.5).budgets()
    return str(caught.value)


def test_server_never_answers():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        (problem,) = together(silence, [(listener.getsockname()[1],)])  # it ends at all
    assert "cannot be reached" in problem


# ---- the server is unwilling


def test_wrong_password(postgres, postgres_url):
    made(postgres_url)
    with unharmed(postgres_url):
        error = refused(postgres.tcp_url(named(postgres_url), "not-the-password"))
    assert "password" in str(error)
    told: BaseException | None = error
    while told is not None:
        assert "not-the-password" not in f"{told} {told!r}"
        told = told.__cause__


def test_no_such_database_user_or_server(postgres, postgres_url):
    for url in (
        postgres.url("nowhere"),
        postgres_url.replace("quiltwork@", "stranger@"),
        postgres_url.replace(f"port={postgres.port}", "port=1"),
        "postgresql+psycopg://somebody@name.invalid/budgets",
        "postgresql+psycopg://somebody@127.0.0.1:1/budgets",
    ):
        refused(url)


def test_read_only_server(postgres, postgres_url):
    made(postgres_url)
    name = named(postgres_url)
    with unharmed(postgres_url):
        postgres.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
        assert "read only" in str(refused(postgres_url))
        with Ledger(postgres_url) as ledger:
            assert ledger.verify().holds  # reading goes on
        postgres.execute(f"ALTER DATABASE {name} RESET default_transaction_read_only")


def test_a_user_without_rights(postgres, postgres_url):
    made(postgres_url)
    name = named(postgres_url)
    with unharmed(postgres_url):
        postgres.execute("CREATE ROLE reader LOGIN")
        postgres.execute("GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader", name)
        url = postgres_url.replace("quiltwork@", "reader@")
        refused(url)
        with Ledger(url) as ledger:
            assert ledger.balance("city").spent.upper == pytest.approx(COST)
        postgres.execute("REVOKE ALL ON ALL TABLES IN SCHEMA public FROM reader", name)
        postgres.execute("DROP ROLE reader")


def test_no_connection_is_free(postgres, postgres_url):
    made(postgres_url)
    with unharmed(postgres_url), contextlib.ExitStack() as stack:
        import psycopg

        with contextlib.suppress(psycopg.OperationalError):
            while True:
                stack.enter_context(postgres.connect())
        assert "too many" in str(refused(postgres_url))


def test_a_stricter_isolation_changes_nothing(postgres, postgres_url):
    """A database whose transactions are serializable by default: writers still queue, nobody fails."""
    made(postgres_url)
    postgres.execute(f"ALTER DATABASE {named(postgres_url)} SET default_transaction_isolation = 'serializable'")
    together(few, [(postgres_url, who) for who in range(4)])
    assert len(state(postgres_url)[1]) == 3 + 4 * 25


def few(ready: Callable[[], object], url: str, who: int) -> None:
    with Ledger(url) as ledger:
        ready()
        for turn in range(25):
            ledger.spend("city", qw.pure(COST), key=f"{who}-{turn}")


def test_a_table_is_missing(postgres, postgres_url):
    made(postgres_url)
    postgres.execute("DROP TABLE ledger_head", named(postgres_url))
    with pytest.raises(QuiltworkError), Ledger(postgres_url) as ledger:
        ledger.spend("city", qw.pure(COST))


def full_server(_: Callable[[], object], folder: str) -> tuple[list[int], str, list[int]] | None:
    """A server on a small disk of its own, filled to the last byte and emptied again."""
    if not own_disk(folder, "120M"):
        return None
    Path(folder).chmod(0o755)
    with PostgresServer(Path(folder)) as server:
        url = server.database()
        made(url)
        filler = Path(folder) / "filler"
        with contextlib.suppress(OSError), filler.open("wb", buffering=0) as file:
            while True:
                file.write(bytes(4096))
        with Ledger(url) as ledger:
            granted, problem = spent_until_refused(ledger)
            filler.unlink()
            after = ledger.spend("city", qw.pure(COST)).seq
            found = [entry.seq for entry in ledger.history() if entry.kind == "spend"]
        assert found[-1] == after
        state(url)
        return granted, problem, found[1:-1]


@pytest.mark.usefixtures("postgres")
def test_server_disk_is_full():
    folder = subprocess.run(["mktemp", "-d"], capture_output=True, text=True, check=True).stdout.strip()
    try:
        (done,) = together(full_server, [(folder,)])
    except NoServer as error:
        pytest.skip(str(error))
    finally:
        Path(folder).rmdir()
    if done is None:
        pytest.skip("only root may mount a small disk")
    granted, problem, found = done
    assert granted == found
    assert "full" in problem


def test_a_balance_is_read_again_when_the_connection_of_glances_is_gone(postgres, postgres_url, tmp_path):
    with Ledger(postgres_url, key=tmp_path / "l.key") as ledger:
        ledger.open("b", epsilon=1.0, protects="x")
        ledger.spend("b", qw.pure(0.25))
        before = ledger.balance("b")
        assert ledger.balance("b") == before
        glanced = ledger._session.store._glanced()
        assert glanced.seq == 3
        others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'quiltwork ledger'"
        for _ in range(2):
            postgres.execute(others)
            assert ledger.balance("b") == before
        with Ledger(postgres_url, key=tmp_path / "l.key") as other:
            other.spend("b", qw.pure(0.25))
        assert ledger.balance("b").spent.upper == 0.5
        assert ledger._session.store._glanced().seq == 4
