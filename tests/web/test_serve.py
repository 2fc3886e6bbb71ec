"""`quiltwork serve` as a person runs it: a process that says where it is, answers, and ends when it is interrupted."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.ledger.servers import NoServer, PostgresServer, children
from tests.web.served import PATIENCE, furnished

from quiltwork.ledger import Ledger

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals and /proc of a Unix system")
COMMAND = [sys.executable, "-c", "import sys; from quiltwork.cli import main; sys.exit(main())"]
WORDS = re.compile(r"quiltwork serves (http://\S+:(\d+)/) \((.*)\); Ctrl\+C ends it")


class Started:
    """The process, where it says it is, and what it wrote."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stderr is not None
        self.process, self.lines = process, []
        while not (found := WORDS.fullmatch(line := process.stderr.readline().strip())):
            self.lines.append(line)
            assert process.poll() is None, self.lines
        self.address, self.port, self.kept = found.group(1), int(found.group(2)), found.group(3)

    def interrupted(self, how: signal.Signals = signal.SIGINT) -> tuple[int, str, str]:
        """Its exit code and everything it wrote."""
        self.process.send_signal(how)
        out, err = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, out, "\n".join([*self.lines, err])


@contextmanager
def serving(*arguments: str, **variables: str) -> Iterator[Started]:
    command = [*COMMAND, "serve", "--port", "0", *arguments]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("QUILTWORK_")}
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen(command, text=True, env={**kept, **variables}, start_new_session=True, **pipes)
    try:
        yield Started(process)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)  # and its workers, who hold the same pipes
        process.communicate()


def alive(pid: int) -> bool:
    stat = Path(f"/proc/{pid}/stat")
    return stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "Z"


def gone(pids: list[int]) -> bool:
    """Whether all of them end soon."""
    deadline = time.monotonic() + PATIENCE
    while any(map(alive, pids)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not any(map(alive, pids))


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_it_says_where_it_is_answers_and_ends(tmp_path: Path, how: signal.Signals) -> None:
    house = furnished(f"sqlite:///{tmp_path / 'budgets.db'}")
    with serving("--ledger", str(tmp_path / "budgets.db")) as service:
        assert service.address == f"http://127.0.0.1:{service.port}/"
        assert service.kept == "budgets, plans and explorers"
        with httpx2.Client(base_url=service.address, timeout=PATIENCE) as client:
            assert client.get("/api/health").json()["ledger"] is True
            assert client.get("/api/me").status_code == 401
            assert client.get("/api/me", headers=house.headers("viewer")).json()["role"] == "viewer"
            plan = {"plan": "quiltwork: 1\nreleases: [{name: a, gaussian: {sigma: 20}}]\n"}
            answer = client.post("/api/account", json=plan)  # in a process of its own
            assert answer.status_code == 200, answer.text
        workers = children(service.process.pid)
        assert workers
        code, out, err = service.interrupted(how)
    ended = (0,) if how == signal.SIGINT else (0, -how)  # a server says by which signal it was asked to end
    assert code in ended, err
    assert out == ""
    assert "Traceback" not in err
    assert "GET /api/health 200" in err
    for token in house.tokens.values():
        assert token not in err
    assert gone(workers)


def test_it_can_be_interrupted_at_once() -> None:
    """While its first process still loads: no trace of the code, and nothing left behind."""
    with serving() as service:
        assert service.kept == "no ledger: plans and explorers only"
        began = children(service.process.pid)
        code, _, err = service.interrupted()
    assert code == 0, err
    assert "Traceback" not in err
    assert gone(began)


def test_without_a_ledger_there_are_plans_and_explorers() -> None:
    with serving("--log-level", "error") as service, httpx2.Client(base_url=service.address) as client:
        assert client.get("/api/health").json()["ledger"] is False
        assert client.get("/api/budgets").status_code == 404
        assert client.get("/plan").status_code == 200
        again = [*COMMAND, "serve", "--port", str(service.port)]  # a port that is taken is one line
        done = subprocess.run(again, capture_output=True, text=True, timeout=PATIENCE, check=False)
        assert done.returncode == 2
        assert "host and port" in done.stderr
        assert "Traceback" not in done.stderr
        code, _, err = service.interrupted()
    assert code == 0
    assert "GET" not in err


def test_a_public_service_needs_names_and_principals(tmp_path: Path) -> None:
    furnished(f"sqlite:///{tmp_path / 'open.db'}", guarded=False)
    for arguments in (
        ["--host", "0.0.0.0"],
        ["--public"],
        ["--public", "--name", "budgets.example", "--ledger", str(tmp_path / "open.db")],
    ):
        # a process of its own: a service takes over the standard streams
        command = [*COMMAND, "serve", "--port", "0", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
        assert done.returncode == 2, done.stderr
        assert "Traceback" not in done.stderr


@pytest.fixture
def database():
    try:
        with PostgresServer() as server:
            yield server.database()
    except NoServer as error:
        pytest.skip(str(error))


@pytest.mark.slow
def test_several_workers_serve_one_ledger(database, tmp_path):
    """One port, two processes: a session that began at one is good at the other, and nothing is overspent."""
    key = tmp_path / "ledger.key"
    url = database
    with Ledger(url, key=key) as ledger:
        ledger.open("b", epsilon=1.0, protects="one person")
        root = ledger.admit("root", "admin")
    told = {"QUILTWORK_LEDGER_KEY": str(key)}
    with serving("--ledger", url, "--workers", "2", **told) as served:
        seen: set[int] = set()
        cookies: dict[str, str] = {}
        end = time.monotonic() + PATIENCE
        while len(seen) < 2 and time.monotonic() < end:
            with httpx2.Client(base_url=served.address, cookies=cookies, timeout=PATIENCE) as client:
                if not cookies:
                    word = re.search(r'name="csrf" value="([0-9a-f]+)"', client.get("/sign-in").text)
                    assert word is not None
                    client.post("/sign-in", data={"token": root, "csrf": word.group(1), "next": "/"})
                    cookies = dict(client.cookies)
                answer = client.get("/api/me")
                assert answer.status_code == 200, answer.text
                assert answer.json()["name"] == "root"
                process = re.search(r'process="(\d+)"', client.get("/metrics").text)
                assert process is not None
                seen.add(int(process.group(1)))
        assert len(seen) == 2
        asked = {
            "headers": {"Authorization": f"Bearer {root}"},
            "json": {"name": "b", "loss": {"pure": {"epsilon": 0.125}}},
        }

        def spend(_: int) -> int:
            with httpx2.Client(base_url=served.address, timeout=PATIENCE) as client:
                return client.post("/api/spend", **asked).status_code

        with ThreadPoolExecutor(12) as crew:
            statuses = Counter(crew.map(spend, range(24)))
        assert statuses[201] == 8, statuses
        assert set(statuses) == {201, 409}, statuses
        code, _, said = served.interrupted()
    assert code in (0, -2, 130), said
    with Ledger(url, key=key, token=root) as ledger:
        assert ledger.balance("b").spent.upper == 1.0
        assert ledger.verify().holds


def test_one_writer_has_one_worker(tmp_path):
    url = f"sqlite:///{tmp_path}/budgets.db"
    with Ledger(url) as ledger:
        ledger.open("b", epsilon=1.0, protects="one person")
    command = [*COMMAND, "serve", "--ledger", url, "--workers", "2"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert (done.returncode, "workers must be 1 on SQLite" in done.stderr) == (2, True), done.stderr
