"""Many readers and writers at once against a real server, by a client small enough not to be what is measured.

    readers: balance, newest entries, list of budgets, page of a budget, over and over
    writers: small spends, each with a key; every fifth is sent again under its key and must be done once;
             from `wide` all are granted, `tight` is soon empty and refuses

A writer counts what it saw granted. Afterwards the ledger must verify, hold exactly that, and no more than its limit.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from fractions import Fraction
from itertools import count, cycle
from typing import Any

import attrs
from tests.web.served import NEVER_TOO_MANY, Process

from quiltwork.ledger import Ledger
from quiltwork.web.settings import Settings

READERS, WRITERS, SECONDS = 200, 20, 30.0
COST, TIGHT = 0.001, 16  # each spend, and how many of them fit into the tight budget
PEOPLE = 5  # of each role
PATIENCE = 240.0
PATHS = (
    "/api/balance?name=wide",
    "/api/history?name=wide&limit=25&last=true",
    "/api/budgets",
    "/api/balance?name=tight",
    "/budget?name=wide",
)


@attrs.frozen
class Load:
    """What came back: seconds by kind of request, statuses by kind, and the entries that writers saw granted."""

    wall: float
    seconds: dict[str, list[float]]
    statuses: dict[str, Counter[int]]
    granted: dict[str, set[int]]
    wrong: list[str]

    @property
    def reads(self) -> list[float]:
        return [one for kind, many in self.seconds.items() if kind != "spend" for one in many]

    def rows(self) -> list[list[str]]:
        """Kind, count, rate and percentiles in milliseconds, a row for each kind of request."""
        kinds = [("all reads", self.reads), *sorted(self.seconds.items())]
        return [[kind, f"{len(many):,}", f"{len(many) / self.wall:,.0f}", *percentiles(many)] for kind, many in kinds]


HEAD = ["request", "answers", "answers/s", "p50 ms", "p95 ms", "p99 ms", "slowest ms"]


def table(load: Load) -> str:
    """The rows under their heads, in columns."""
    lines = [HEAD, *load.rows()]
    widths = [max(len(line[place]) for line in lines) for place in range(len(HEAD))]
    return "\n".join("  ".join(text.rjust(width) for text, width in zip(line, widths, strict=True)) for line in lines)


def percentiles(seconds: list[float]) -> list[str]:
    cuts = statistics.quantiles(seconds, n=100)
    return [f"{1e3 * value:,.0f}" for value in (cuts[49], cuts[94], cuts[98], max(seconds))]


def furnish(url: str) -> dict[str, list[str]]:
    """Two budgets, and tokens of some viewers and spenders."""
    with Ledger(url) as ledger:
        ledger.open("wide", epsilon=1e6, protects="one person")
        ledger.open("tight", epsilon=COST * TIGHT, protects="one person")
        admin = ledger.sign_in(ledger.admit("root", "admin"))
        tokens = {role: [admin.admit(f"{role} {one}", role) for one in range(PEOPLE)] for role in ("viewer", "spender")}
        tokens["admin"] = [admin.admit("root", "admin")]
    return tokens


def settings(url: str) -> Settings:
    """Of a service that refuses nobody for asking too often."""
    return Settings(ledger=url, **NEVER_TOO_MANY)


def run(
    url: str, readers: int = READERS, writers: int = WRITERS, seconds: float = SECONDS, turns: int = 1
) -> tuple[Load, list[str]]:
    """Load a fresh service on a fresh ledger, then check the ledger; what is wrong with it, in words."""
    tokens = furnish(url)
    with Process(settings(url)) as server:
        load = asyncio.run(loaded(server.port, tokens, readers, writers, seconds, turns))
    return load, [*load.wrong, *checked(url, tokens["admin"][0], load)]


def checked(url: str, token: str, load: Load) -> Iterator[str]:
    """Whether the ledger says what the writers saw."""
    with Ledger(url, token=token) as ledger:
        found = ledger.verify()
        if not found.holds:
            yield f"the ledger does not verify: {found.explain()}"
        for name in ("wide", "tight"):
            written = {entry.seq for entry in ledger.history(name) if entry.kind == "spend"}
            if written != load.granted[name]:
                yield f"{name}: {len(written)} spends are written, {len(load.granted[name])} were granted"
            amount, exact = ledger.balance(name).amounts[0], float(len(written) * Fraction(str(COST)))
            if not amount.spent.lower <= exact <= amount.spent.upper <= amount.limit.upper:
                yield f"{name}: {len(written)} spends of {COST} are counted as {amount}"
        refused = load.statuses["spend"][409]
        if len(load.granted["tight"]) != TIGHT if refused else len(load.granted["tight"]) > TIGHT:
            yield f"tight: {len(load.granted['tight'])} spends were granted and {refused} refused where {TIGHT} fit"


async def loaded(
    port: int, tokens: dict[str, list[str]], readers: int, writers: int, seconds: float, turns: int
) -> Load:
    """Everybody asks until the time is over, and so many times at least, one request after the other."""
    load = Load(seconds, defaultdict(list), defaultdict(Counter), {"wide": set(), "tight": set()}, [])
    for token in (*tokens["viewer"], *tokens["spender"]):  # checking a token is slow on purpose, and happens once
        async with await Line.to(port, token) as line:
            await line.ask("GET", "/api/me")
    begin = time.perf_counter()
    until = begin + seconds
    viewers, spenders = cycle(tokens["viewer"]), cycle(tokens["spender"])
    tasks = [read(load, port, next(viewers), until, turns, index) for index in range(readers)]
    tasks += [write(load, port, next(spenders), until, turns, index) for index in range(writers)]
    for problem in await asyncio.gather(*tasks, return_exceptions=True):
        if problem is not None:
            load.wrong.append(f"a connection failed: {problem!r}")
    return attrs.evolve(load, wall=time.perf_counter() - begin)


async def read(load: Load, port: int, token: str, until: float, turns: int, index: int) -> None:
    """One reader; each begins with another path."""
    async with await Line.to(port, token) as line:
        for turn in count(index):
            if turn >= index + turns and time.perf_counter() >= until:
                return
            path = PATHS[turn % len(PATHS)]
            status, body = await timed(load, path.partition("?")[0], line, "GET", path)
            if status != 200:
                load.wrong.append(f"{path}: {status} {body[:200]!r}")


async def write(load: Load, port: int, token: str, until: float, turns: int, index: int) -> None:
    """One writer. Half of the writers also try the tight budget."""
    async with await Line.to(port, token) as line:
        for turn in count():
            if turn >= turns and time.perf_counter() >= until:
                return
            name = "tight" if index % 2 and turn % 2 else "wide"
            sent = {"name": name, "loss": {"pure": {"epsilon": COST}}, "key": f"{index} {turn}"}
            answers = [await timed(load, "spend", line, "POST", "/api/spend", sent)]
            if turn % 5 == 0:
                answers.append(await timed(load, "spend", line, "POST", "/api/spend", sent))
            seen = {json.loads(body)["seq"] for status, body in answers if status == 201}
            load.granted[name] |= seen
            if len(seen) > 1 or len({status for status, _ in answers}) > 1:
                load.wrong.append(f"one key was done twice: {answers}")
            for status, body in answers:
                if status != 201 and not (name == "tight" and status == 409 and b"BudgetExceeded" in body):
                    load.wrong.append(f"a spend of {name}: {status} {body[:200]!r}")


async def timed(load: Load, kind: str, line: Line, method: str, path: str, sent: Any = None) -> tuple[int, bytes]:
    begin = time.perf_counter()
    status, body = await line.ask(method, path, sent)
    load.seconds[kind].append(time.perf_counter() - begin)
    load.statuses[kind][status] += 1
    return status, body


class Line:
    """One connection that is kept open, as HTTP/1.1 has it."""

    def __init__(self, port: int, token: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._head = f"Host: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n"
        self._reader, self._writer = reader, writer

    @classmethod
    async def to(cls, port: int, token: str) -> Line:
        return cls(port, token, *await asyncio.open_connection("127.0.0.1", port, limit=1 << 22))

    async def __aenter__(self) -> Line:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._writer.close()

    async def ask(self, method: str, path: str, sent: Any = None) -> tuple[int, bytes]:
        """Status and body of one request."""
        body = b"" if sent is None else json.dumps(sent).encode()
        kind = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n" if body else ""
        self._writer.write(f"{method} {path} HTTP/1.1\r\n{self._head}{kind}\r\n".encode() + body)
        async with asyncio.timeout(PATIENCE):
            head = (await self._reader.readuntil(b"\r\n\r\n")).lower()
            length = int(head.partition(b"content-length:")[2].partition(b"\r\n")[0])
            return int(head.split(b" ", 2)[1]), await self._reader.readexactly(length)
