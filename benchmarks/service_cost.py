"""CPU of one answer of the service, in units of a bare answer through the same server in the same process.

    python benchmarks/service_cost.py [--clients N] [--requests N] [--check]

Clients at once, 50 unless said, in a process of their own, over connections that they keep: a balance, and a spend with
a token, on SQLite and PostgreSQL. The unit is an application that answers two bytes. CPU time of the serving process,
threads included; rates and times depend on the machine and on what else runs. Exit code 1 with --check when a bar is
missed.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import http.client
import json
import multiprocessing
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import uvicorn
from tests.ledger.servers import NoServer, PostgresServer
from tests.web.served import furnished, listening

import quiltwork as qw
from benchmarks import report
from benchmarks.report import Bar, plain
from quiltwork.web import create_app

CLIENTS, ROUNDS = 50, 3
BARS = {"read": 5.0, "spend": 14.0}
HEAD = ["database", "answer", "bare answers", "ms of CPU", "at most", "answers/s", "p50 ms", "p95 ms"]
Asked = tuple[bytes, int]  # a request, and the status that answers it


async def bare(scope: Any, receive: Any, send: Any) -> None:
    """The unit: the least that an application can answer."""
    await receive()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


def sent(method: str, path: str, token: str, body: bytes = b"") -> bytes:
    """A request as it goes over the wire."""
    lines = [f"{method} {path} HTTP/1.1", "host: 127.0.0.1", f"authorization: Bearer {token}"]
    lines += ["content-type: application/json", f"content-length: {len(body)}", "", ""]
    return "\r\n".join(lines).encode() + body


async def _client(port: int, asked: Asked, count: int, seconds: list[float]) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    request, right = asked
    for _ in range(count):
        began = time.perf_counter()
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
        body = await reader.readexactly(length)
        seconds.append(time.perf_counter() - began)
        if int(head.split(None, 2)[1]) != right:
            raise SystemExit(f"a wrong answer: {head[:80]!r} {body[:200]!r}")
    writer.close()


def crowd(pipe: Any) -> None:
    """The process of the clients: for each (port, request, count) the seconds of every answer, and of all."""

    async def ask(port: int, asked: Asked, count: int, clients: int) -> list[float]:
        seconds: list[float] = []
        await asyncio.gather(*(_client(port, asked, count, seconds) for _ in range(clients)))
        return seconds

    while (job := pipe.recv()) is not None:
        began = time.perf_counter()
        pipe.send((asyncio.run(ask(*job)), time.perf_counter() - began))


@contextlib.contextmanager
def serving(app: Any) -> Iterator[int]:
    """The port of an application, served from a thread of this process."""
    listener = listening()
    config = uvicorn.Config(app, log_config=None, access_log=False, ws="none", http="h11", timeout_graceful_shutdown=5)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield int(listener.getsockname()[1])
    server.should_exit = True
    thread.join()
    listener.close()


def cost(pipe: Any, port: int, asked: Asked, count: int, clients: int = CLIENTS) -> tuple[float, list[float], float]:
    """CPU seconds of one answer, the seconds of each as a client sees them, and answers a second."""
    began = time.process_time()
    pipe.send((port, asked, count, clients))
    seconds, wall = pipe.recv()
    return (time.process_time() - began) / len(seconds), seconds, len(seconds) / wall


def measured(pipe: Any, url: str, count: int, clients: int) -> Iterator[tuple[str, float, float, list[float], float]]:
    """Each kind of answer: bare answers, CPU seconds, times and rate."""
    house = furnished(url)
    token = house.tokens["spender"]
    loss = json.dumps({"name": "patients", "loss": {"gaussian": {"sigma": 40000.0}}}).encode()
    kinds = {
        "read": ((sent("GET", "/api/balance?name=patients", token), 200), count),
        "spend": ((sent("POST", "/api/spend", token, loss), 201), max(1, count // 2)),
    }
    unit = (sent("GET", "/", token), 200)
    with serving(bare) as plainly, serving(create_app(house.settings())) as port:
        for name, (asked, many) in kinds.items():
            cost(pipe, port, asked, 2, clients)
            found = [
                (cost(pipe, plainly, unit, count, clients)[0], cost(pipe, port, asked, many, clients))
                for _ in range(ROUNDS)
            ]
            ratio = statistics.median(one[0] / base for base, one in found)
            yield name, ratio, *min((one for _, one in found), key=lambda one: one[0])


def beside(pipe: Any, url: str, count: int) -> tuple[float, float]:
    """p95 of reads by four clients, alone and beside two viewers who verify a ledger of 10,000 entries all the time."""
    house = furnished(url)
    with house.ledger() as ledger:
        ledger.open("many", epsilon=1e6, protects="one person")
        for _ in range(10):
            ledger.spend_many([("many", qw.pure(0.001))] * 1000)
    token, over = house.tokens["viewer"], threading.Event()
    asked = (sent("GET", "/api/balance?name=patients", token), 200)

    def viewer(port: int) -> None:
        while not over.is_set():
            client = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
            client.request("GET", "/api/verify", headers={"Authorization": f"Bearer {token}"})
            if not json.loads(client.getresponse().read()).get("holds"):
                raise SystemExit("it does not verify")
            client.close()

    with serving(create_app(house.settings())) as port:
        found = []
        for viewers in (0, 0, 2):  # the first time loads and prepares
            crew = [threading.Thread(target=viewer, args=(port,)) for _ in range(viewers)]
            for one in crew:
                one.start()
            pipe.send((port, asked, count, 4))
            found.append(statistics.quantiles(pipe.recv()[0], n=100)[94])
            over.set()
            for one in crew:
                one.join()
            over.clear()
    return found[1], found[2]


def main(arguments: list[str] | None = None) -> int:
    """Measure, print, judge."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clients", type=int, default=CLIENTS, help="at once")
    parser.add_argument("--requests", type=int, default=40, help="of each of the clients")
    parser.add_argument("--check", action="store_true", help="exit with 1 when a bar is missed")
    options = parser.parse_args(arguments)
    here, there = multiprocessing.get_context("spawn").Pipe()
    clients = multiprocessing.get_context("spawn").Process(target=crowd, args=(there,), daemon=True)
    clients.start()
    lines, bars = [HEAD], []
    with tempfile.TemporaryDirectory(prefix="quiltwork-") as folder, contextlib.ExitStack() as stack:
        urls = {"sqlite": f"sqlite:///{folder}/budgets.db"}
        with contextlib.suppress(NoServer):
            urls["postgresql"] = stack.enter_context(PostgresServer()).database()
        for database, url in urls.items():
            for name, ratio, seconds, times, rate in measured(here, url, options.requests, options.clients):
                cuts = statistics.quantiles(times, n=100)
                shown = [f"{ratio:.1f}", f"{1e3 * seconds:.3f}", f"{BARS[name]:g}", f"{rate:,.0f}"]
                lines.append([database, name, *shown, f"{1e3 * cuts[49]:.1f}", f"{1e3 * cuts[94]:.1f}"])
                most = BARS[name]
                bars.append(Bar(f"{name} on {database}", f"<= {most:g}", f"{ratio:.1f}", ratio <= most))
        alone, walked = beside(here, f"sqlite:///{folder}/walked.db", 10 * options.requests)
        least = max(3 * alone, 0.015)
        shown = f"{1e3 * alone:.1f} ms alone, {1e3 * walked:.1f} ms beside two verify"
        print(f"p95 of reads: {shown}\n")
        bars.append(Bar("p95 of reads beside two verify", "<= 3 times, or 15 ms", shown, walked <= least))
    here.send(None)
    clients.join()
    print(plain(lines, {2, 3, 4, 5, 6, 7}))
    return report.exit_code(bars, options.check)


if __name__ == "__main__":
    sys.exit(main())
