"""A service for the tests: a ledger with budgets and a principal of each role, and a real server on a free port.

`furnished` makes the ledger. `Service` serves it from a thread of this process, `Process` from a process of its own;
both listen on a loopback port that the system chooses, and both end with their block.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import attrs

import quiltwork as qw
from quiltwork.ledger import Ledger
from quiltwork.web.app import create_app
from quiltwork.web.settings import Rate, Settings

ROOT = Path(__file__).parents[2]
ROLES = ("viewer", "spender", "admin")
PATIENCE = 240.0  # seconds for a start or an end, on a busy machine
FREELY = Rate(1e6, 1_000_000)
NEVER_TOO_MANY = dict.fromkeys(("reads", "writes", "works", "sign_ins", "guesses", "denials"), FREELY)


@attrs.frozen
class House:
    """A ledger, and the tokens of those who may use it, by role. No tokens: it is open to everybody."""

    url: str
    tokens: dict[str, str]

    def settings(self, **more: Any) -> Settings:
        """Of a service on this ledger that never says "too many requests", unless `more` sets rates of its own."""
        return Settings(**{"ledger": self.url, **NEVER_TOO_MANY, **more})

    def headers(self, role: str | None) -> dict[str, str]:
        """What a program of this role sends."""
        return {} if role is None else {"Authorization": f"Bearer {self.tokens[role]}"}

    @contextlib.contextmanager
    def ledger(self) -> Iterator[Ledger]:
        """The ledger itself, as its admin sees it, past the service."""
        with Ledger(self.url, token=self.tokens.get("admin")) as ledger:
            yield ledger

    def entries(self) -> list[str]:
        """The kinds of all entries in order."""
        with self.ledger() as ledger:
            return [entry.kind for entry in ledger.history()]


def furnished(url: str, *, guarded: bool = True) -> House:
    """Some budgets of every kind, one reservation, some spends; principals vera, sam and root if it is guarded."""
    with Ledger(url) as ledger:
        ledger.open("patients", epsilon=2.0, delta=1e-6, protects="one patient", note="the ward's own")
        ledger.open("small", epsilon=0.1, protects="one person")
        ledger.open("zcdp", rho=0.5, protects="one person")
        ledger.open("gdp", mu=1.0, protects="one person")
        plan = [("counts", qw.gaussian(40.0), 2), ("means", qw.laplace(20.0), 1)]
        ledger.open("planned", epsilon=3.0, delta=1e-6, protects="one person", kind="planned", plan=plan)
        blocks = qw.ledger.Blocks("month", ["january", "february"], 1)
        ledger.open("months", epsilon=1.0, delta=1e-6, protects="one stay", blocks=blocks)
        ledger.open("closed", epsilon=1.0, protects="one person")
        ledger.close("closed", "over")
        ledger.spend("patients", qw.gaussian(40.0), times=3, note="counts by ward")
        ledger.reserve("zcdp", qw.gaussian(10.0), lease=3600.0)
        tokens: dict[str, str] = {}
        if guarded:
            tokens["admin"] = ledger.admit("root", "admin")
            admin = ledger.sign_in(tokens["admin"])
            tokens["viewer"] = admin.admit("vera", "viewer")
            tokens["spender"] = admin.admit("sam", "spender")
    return House(url, tokens)


def listening() -> socket.socket:
    """A socket on a free loopback port."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # named: else no TCP_NODELAY
    listener.bind(("127.0.0.1", 0))
    return listener


class Service:
    """The service in a thread of this process."""

    def __init__(self, settings: Settings) -> None:
        import uvicorn

        self.app = create_app(settings)
        self._listener = listening()
        self.port = int(self._listener.getsockname()[1])
        self.address = f"http://127.0.0.1:{self.port}"
        config = uvicorn.Config(self.app, log_config=None, access_log=False, ws="none", timeout_graceful_shutdown=5)
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, args=([self._listener],), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        deadline = time.monotonic() + PATIENCE
        while not self._server.started:
            assert self._thread.is_alive(), "the server did not start"
            assert time.monotonic() < deadline, "the server takes too long to start"
            time.sleep(0.01)
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join(PATIENCE)
        self._listener.close()
        assert not self._thread.is_alive(), "the server does not end"


class Process:
    """The service in a process of its own, as `quiltwork serve` runs it but with settings of the test."""

    def __init__(self, settings: Settings) -> None:
        command = [sys.executable, "-m", "tests.web.served", json.dumps(attrs.asdict(settings))]
        self._child = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, start_new_session=True)
        self.port = 0

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        return self._child.pid

    def __enter__(self) -> Self:
        assert self._child.stdout is not None
        line = self._child.stdout.readline()
        assert line.strip().isdigit(), f"the server did not start: {line!r}"
        self.port = int(line)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._child.send_signal(signal.SIGINT)
        try:
            code = self._child.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            os.kill(self._child.pid, signal.SIGKILL)
            code = self._child.wait()
        if self._child.stdout is not None:
            self._child.stdout.close()
        assert kind is not None or code == 0, f"the server ended with {code}"


def main(text: str) -> None:
    """What the process does: it prints its port, and serves until it is interrupted."""
    import uvicorn

    given = json.loads(text)
    rates = {name: Rate(**given.pop(name)) for name in NEVER_TOO_MANY}
    app = create_app(Settings(**{**given, "names": tuple(given["names"])}, **rates))
    with listening() as listener, contextlib.suppress(KeyboardInterrupt):
        listener.listen(2048)
        print(listener.getsockname()[1], flush=True)
        uvicorn.Server(uvicorn.Config(app, log_config=None, access_log=False, ws="none")).run(sockets=[listener])


if __name__ == "__main__":
    main(sys.argv[1])
