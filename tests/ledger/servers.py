"""A real PostgreSQL for the tests: made in a temporary directory, listening on a socket in it, safe to kill.

Nothing of the machine's own cluster is used. As root the server runs as the user `postgres`, since PostgreSQL refuses
to run as root; for anybody else it runs as that user. Only processes that were started here are ended, by their number.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

OLDEST = 13
SUPERUSER = "quiltwork"
SUBREAPER = 36  # of prctl(2)
PATIENCE = 240.0  # seconds for a start, with recovery after a crash
SETTINGS = {
    "fsync": "on",
    "synchronous_commit": "on",
    "full_page_writes": "on",
    "shared_buffers": "16MB",
    "dynamic_shared_memory_type": "mmap",  # in the folder, and gone with it
    "max_connections": "60",
    "max_wal_size": "256MB",
    "autovacuum": "on",
    "unix_socket_permissions": "0700",
    "log_min_messages": "warning",
}


class NoServer(Exception):
    """PostgreSQL is not installed, or may not be run here."""


class PostgresServer:
    """One cluster of its own. `start`, `stop`, `kill` and `restart` may be called in any order, any number of times."""

    def __init__(self, parent: Path | None = None, **settings: str) -> None:
        self.binaries = binaries()
        self.account = account()
        self.password = secrets.token_urlsafe(16)
        self.folder = Path(tempfile.mkdtemp(prefix="quiltwork-pg-", dir=parent))  # short: a socket's path has 107 bytes
        self.data, self.log = self.folder / "data", self.folder / "log"
        self.port = 0
        self._settings = SETTINGS | settings
        self._process: subprocess.Popen[bytes] | None = None
        try:
            if self.account is not None:
                os.chown(self.folder, self.account.pw_uid, self.account.pw_gid)
            self._make()
        except BaseException:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise

    def __enter__(self) -> PostgresServer:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Run, and wait until it answers. A crash may leave memory in use for a moment: then it is tried again."""
        if self.running:
            return
        deadline = time.monotonic() + PATIENCE
        while True:
            self.port = self.port or free_port()
            self._process = self._run()
            if self._answers(deadline):
                return
            if time.monotonic() > deadline:
                self.kill()
                raise NoServer(f"PostgreSQL did not start:\n{self.log.read_text(errors='replace')[-2000:]}")
            time.sleep(0.05)

    def stop(self) -> None:
        """End in order: clients are cut off, everything is written."""
        self._end(signal.SIGINT)

    def kill(self) -> None:
        """SIGKILL to the server and to all its children at once: what is not yet with the operating system is lost.

        The server is halted first, so that it can start no child between the look and the blow.
        """
        if not self.running or self._process is None:
            return
        os.kill(self._process.pid, signal.SIGSTOP)
        family = children(self._process.pid)
        with adopting():
            os.kill(self._process.pid, signal.SIGKILL)
            self._process.wait()
            for pid in family:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(pid, 0)
        self._process = None

    def restart(self) -> None:
        self.stop()
        self.start()

    def remove(self) -> None:
        """Leave nothing behind; what is thrown away need not be written to the disk first."""
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def database(self, name: str | None = None) -> str:
        """A fresh database and its URL through the socket."""
        name = name or f"ledger_{secrets.token_hex(6)}"
        self.execute(f'CREATE DATABASE "{name}"')
        return self.url(name)

    def drop(self, url: str) -> None:
        """Remove a database, whoever is still connected: after a crash every file left would be synced again."""
        self.start()
        name = url.partition("?")[0].rpartition("/")[2]
        self.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')

    def url(self, name: str) -> str:
        return f"postgresql+psycopg://{SUPERUSER}@/{name}?host={self.folder}&port={self.port}"

    def tcp_url(self, name: str, password: str | None = None) -> str:
        """The same database by 127.0.0.1, where a password is asked for."""
        return f"postgresql+psycopg://{SUPERUSER}:{password or self.password}@127.0.0.1:{self.port}/{name}"

    def connect(self, name: str = "postgres") -> Any:
        """A plain connection that commits each statement, past everything that is under test."""
        import psycopg

        return psycopg.connect(
            host=str(self.folder), port=self.port, user=SUPERUSER, dbname=name, autocommit=True, connect_timeout=60
        )

    def execute(self, statement: str, name: str = "postgres") -> list[tuple[Any, ...]]:
        """The rows of one statement."""
        with self.connect(name) as connection, connection.execute(statement) as cursor:
            return cursor.fetchall() if cursor.description else []

    def _make(self) -> None:
        secret = self.folder / "password"
        secret.write_text(self.password, encoding="ascii")
        self._own(secret, 0o600)
        self.log.touch()
        self._own(self.log, 0o600)
        command = [str(self.binaries / "initdb"), "--pgdata", str(self.data), "--username", SUPERUSER]
        command += ["--pwfile", str(secret), "--auth-local=trust", "--auth-host=scram-sha-256", "--encoding=UTF8"]
        command += ["--locale=C", "--no-sync"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, **self._as_account())
        if done.returncode:
            raise NoServer(f"initdb failed: {done.stderr.strip()[-500:]}")
        secret.unlink()

    def _own(self, file: Path, mode: int) -> None:
        file.chmod(mode)
        if self.account is not None:
            os.chown(file, self.account.pw_uid, self.account.pw_gid)

    def _run(self) -> subprocess.Popen[bytes]:
        settings = self._settings | {
            "listen_addresses": "127.0.0.1",
            "port": str(self.port),
            "unix_socket_directories": str(self.folder),
        }
        command = [str(self.binaries / "postgres"), "-D", str(self.data)]
        command += [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        with self.log.open("ab") as log:
            return subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # an interrupt at the terminal is for the tests, not for the server
                **self._as_account(),
            )

    def _as_account(self) -> dict[str, Any]:
        home: dict[str, Any] = {"cwd": self.folder}
        if self.account is None:
            return home
        return home | {"user": self.account.pw_uid, "group": self.account.pw_gid, "extra_groups": []}

    def _answers(self, deadline: float) -> bool:
        """Whether it accepts connections before it gives up or time is over."""
        import psycopg

        while self.running and time.monotonic() < deadline:
            try:
                self.connect().close()
                return True
            except psycopg.OperationalError:
                time.sleep(0.01)
        return False

    def _end(self, how: signal.Signals) -> None:
        if self._process is None or not self.running:
            return
        self._process.send_signal(how)
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.kill()
        self._process = None


def need_postgres() -> PostgresServer:
    """A new server, or a skip, or a failure where services were promised."""
    from tests.data.services import lacking

    try:
        return PostgresServer()
    except NoServer as error:
        lacking(str(error))
        raise


def binaries() -> Path:
    """The directory of initdb and postgres: of Debian's newest package, or of what is on the path."""
    found = [
        (int(folder.parent.name), folder)
        for folder in Path("/usr/lib/postgresql").glob("*/bin")
        if folder.parent.name.isdigit() and (folder / "initdb").exists() and (folder / "postgres").exists()
    ]
    on_path = shutil.which("initdb")
    if on_path is not None:
        folder = Path(on_path).resolve().parent
        words = subprocess.run([on_path, "--version"], capture_output=True, text=True, check=False).stdout
        version = re.search(r"\d+", words)
        if version is not None and (folder / "postgres").exists():
            found.append((int(version.group()), folder))
    usable = [each for each in found if each[0] >= OLDEST]
    if not usable:
        raise NoServer(f"PostgreSQL {OLDEST} or later is not installed (Debian: postgresql-15)")
    return max(usable)[1]


def account() -> Any:
    """Whom the server runs as when we are root; None: as ourselves."""
    if os.name != "posix":
        raise NoServer("the tests start PostgreSQL on a Unix system only")
    if os.geteuid() != 0:
        return None
    import pwd

    try:
        return pwd.getpwnam("postgres")
    except KeyError:
        raise NoServer("PostgreSQL does not run as root, and there is no user postgres") from None


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def children(parent: int) -> list[int]:
    """Processes whose parent this is, by /proc; where there is none, the server's children end themselves soon."""
    return [pid for pid, above in _parents() if above == parent]


@contextlib.contextmanager
def adopting() -> Iterator[None]:
    """Orphans become our children, so that we can collect them: the first process of a container often does not."""
    control = getattr(ctypes.CDLL(None), "prctl", lambda *_: 0)
    control(SUBREAPER, 1, 0, 0, 0)
    try:
        yield
    finally:
        control(SUBREAPER, 0, 0, 0, 0)


def _parents() -> Iterator[tuple[int, int]]:
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it ended meanwhile
            fields = stat.read_text(errors="replace").rpartition(")")[2].split()  # a name may hold spaces and brackets
            yield int(stat.parent.name), int(fields[1])
