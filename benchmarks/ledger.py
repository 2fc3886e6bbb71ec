"""Spends by the second on SQLite and PostgreSQL, and a ledger of a million entries.

    python benchmarks/ledger.py [--quick] [--entries N] [--check] [--markdown FILE]

Every spend is a transaction that waits for the disk. PostgreSQL is a server of its own in a temporary directory; where
it is not installed its lines are left out. Exit code 1 when a ledger is wrong, and with --check when any bar is missed.
A full run takes about ten minutes, --quick (50,000 entries) about one.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import io
import itertools
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.ledger.crew import together
from tests.ledger.servers import NoServer, PostgresServer

import quiltwork as qw
from benchmarks import report
from benchmarks.report import Bar, at_most, plain, rows_as_markdown
from quiltwork.ledger import Ledger
from quiltwork.ledger.chain.entries import Entry, canonical, moment
from quiltwork.ledger.chain.keys import SigningKey
from quiltwork.ledger.chain.statements import HEAD, Facts
from quiltwork.ledger.chain.tree import Tree

COST, SPENDS, PROCESSES = 0.001, 500, (1, 8)
SMALL, TAIL = 10_000, 100
BUDGETS, PAGE = 10_000, 12
LIST_HEAD = ["database", "budgets", "page ms", "found ms", "rows ms"]
LIST = "CPU: a page of 12 budgets with their balances, none of them kept; the same, found by a text; 100 rows."
SLOWEST = {"sqlite": 150.0, "postgresql": 300.0}  # spends a second of 8 processes
SPEED_HEAD = ["database", "processes", "spends", "spends/s", "p50 ms", "p99 ms", "slowest ms"]
SIZE_HEAD = [
    "database",
    "entries",
    "build s",
    "file MB",
    "open ms",
    "balance ms",
    "history ms",
    "verify s",
    "verify MB",
    "again s",
    "since s",
]
SPEED = "Each process spends one after another, all on one budget; ms: from the call to the receipt."
SIZE = (
    "balance, history (the last 100 entries): median of 20 calls. verify: every entry replayed, CPU s of that process; "
    "again: once more, every entry hashed; since: from a checkpoint, the new entries alone, s by the clock. verify MB: "
    "the most memory of a fresh process while it verifies, above what it held before. build: restored from exported "
    "lines, every entry checked."
)


@dataclasses.dataclass(frozen=True)
class Speed:
    """Spends of some processes at once."""

    database: str
    processes: int
    wall: float
    seconds: list[float]
    wrong: str = ""

    @property
    def rate(self) -> float:
        return len(self.seconds) / self.wall

    @property
    def cells(self) -> list[str]:
        cuts = statistics.quantiles(self.seconds, n=100)
        times = [f"{1e3 * value:.1f}" for value in (cuts[49], cuts[98], max(self.seconds))]
        return [self.database, str(self.processes), f"{len(self.seconds):,}", f"{self.rate:,.0f}", *times]


@dataclasses.dataclass(frozen=True)
class Size:
    """A ledger of many entries."""

    database: str
    entries: int
    build: float
    megabytes: float
    opened: float
    balance: float
    history: float
    verify: float
    memory: float
    again: float
    since: float
    wrong: str = ""

    @property
    def cells(self) -> list[str]:
        return [
            self.database,
            f"{self.entries:,}",
            f"{self.build:.1f}",
            f"{self.megabytes:.0f}",
            *(f"{1e3 * value:.1f}" for value in (self.opened, self.balance, self.history)),
            f"{self.verify:.1f}",
            f"{self.memory:.1f}",
            f"{self.again:.1f}",
            f"{self.since:.3f}",
        ]


def main(arguments: list[str] | None = None) -> int:
    """Spend, build, ask, print."""
    options = parse(arguments)
    entries = options.entries or (50_000 if options.quick else 1_000_000)
    speeds, sizes, lists = [], [], []
    with tempfile.TemporaryDirectory(prefix="quiltwork-") as folder, contextlib.ExitStack() as stack:
        places = Places(Path(folder), stack)
        for database in [options.database] if options.database else places.databases:
            for processes in PROCESSES:
                speeds.append(raced(database, places.fresh(database), processes, 100 if options.quick else SPENDS))
            for count in (SMALL, entries):
                sizes.append(grown(places, database, count))
            lists.append(listed(database, places.fresh(database), 1000 if options.quick else BUDGETS))
    bars = list(judged(speeds, sizes, lists))
    sections = [
        (SPEED, [SPEED_HEAD, *(line.cells for line in speeds)], set(range(1, 7))),
        (SIZE, [SIZE_HEAD, *(line.cells for line in sizes)], set(range(1, 11))),
        (LIST, [LIST_HEAD, *(line.cells for line in lists)], set(range(1, 5))),
        ("Bars", [report.BAR_HEAD, *(bar.cells for bar in bars)], set()),
    ]
    print("\n".join(versions()))
    for note, lines, right in sections:
        print(f"\n{note}\n\n{plain(lines, right)}")
    if options.markdown:
        text = ["# The ledger", "\n".join(versions())]
        text += [f"{note}\n\n{rows_as_markdown(lines, right)}" for note, lines, right in sections]
        options.markdown.write_text("\n\n".join(text) + "\n", encoding="utf-8")
    return report.exit_code(bars, options.check)


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """Command-line options."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer spends and entries")
    parser.add_argument("--entries", type=int, help="entries of the large ledger")
    parser.add_argument("--database", choices=("sqlite", "postgresql"), help="one of them alone")
    parser.add_argument("--markdown", type=Path, help="also write the tables to this file")
    parser.add_argument("--check", action="store_true", help="exit with 1 when a bar is missed")
    return parser.parse_args(arguments)


def versions() -> list[str]:
    """What ran, and what is below it."""
    return report.versions("sqlalchemy", "psycopg")


class Places:
    """Where ledgers can be kept here."""

    def __init__(self, folder: Path, stack: contextlib.ExitStack) -> None:
        self.folder, self.server = folder, None
        try:
            self.server = stack.enter_context(PostgresServer())
        except NoServer as error:
            print(f"without PostgreSQL: {error}", file=sys.stderr)
        self.databases = ["sqlite", "postgresql"] if self.server else ["sqlite"]
        self._count = 0

    def fresh(self, database: str) -> str:
        """The URL of a place with nothing in it."""
        self._count += 1
        if database == "sqlite":
            return f"sqlite:///{self.folder}/{self._count}.db"
        assert self.server is not None
        return self.server.database()

    def megabytes(self, url: str) -> float:
        """What a ledger takes on the disk."""
        if url.startswith("sqlite"):
            file = Path(url.removeprefix("sqlite:///"))
            return sum(part.stat().st_size for part in file.parent.glob(f"{file.name}*")) / 1e6
        assert self.server is not None
        name = url.partition("?")[0].rpartition("/")[2]
        return float(self.server.execute(f"SELECT pg_database_size('{name}')")[0][0]) / 1e6


# ---- speed


def raced(database: str, url: str, processes: int, count: int) -> Speed:
    """All processes at once."""
    with Ledger(url) as ledger:
        ledger.open("city", epsilon=1e6, protects="one person")
    done = together(spender, [(url, count)] * processes)
    wall = max(end for _, end, _ in done) - min(begin for begin, _, _ in done)
    spends = processes * (count + 1)  # each opens its connection with one that is not timed
    return Speed(database, processes, wall, [one for _, _, seconds in done for one in seconds], checked(url, spends))


def checked(url: str, spends: int) -> str:
    """What is wrong with a ledger after that many spends."""
    with Ledger(url) as ledger:
        found, amount = ledger.verify(), ledger.balance("city").amounts[0]
        written = sum(entry.kind == "spend" for entry in ledger.history("city"))
    exact = float(spends * Fraction(str(COST)))
    if not found.holds:
        return f"does not verify: {found.explain()}"
    if written != spends:
        return f"{written} spends are written, {spends} were granted"
    return "" if amount.spent.lower <= exact <= amount.spent.upper else f"{spends} spends are counted as {amount}"


def spender(ready: Callable[[], object], url: str, count: int) -> tuple[float, float, list[float]]:
    """Begin, end and the seconds of each spend."""
    with Ledger(url, timeout=120.0) as ledger:
        loss = qw.pure(COST)
        ledger.spend("city", loss)  # the first one opens the connection
        ready()
        times = [time.perf_counter()]
        for _ in range(count):
            ledger.spend("city", loss)
            times.append(time.perf_counter())
    return times[0], times[-1], [two - one for one, two in itertools.pairwise(times)]


# ---- size


def grown(places: Places, database: str, count: int) -> Size:
    """A ledger of that many entries, and how fast it answers."""
    url, key = places.fresh(database), places.folder / f"{database} {count}.key"
    SigningKey.create(key)
    begin = time.perf_counter()
    Ledger.restore(url, lines(places.fresh("sqlite"), count, key), key=key).dispose()
    seconds = time.perf_counter() - begin
    ((opened, balance, history),) = together(asked, [(url, count)])
    (walks,) = together(verified, [(url, count, key)], patience=3600.0)
    return Size(database, count, seconds, places.megabytes(url), opened, balance, history, *walks)


def lines(seed: str, count: int, key: Path) -> Iterator[str]:
    """The export of a ledger in which one spend follows another; the first one is real, the others are made like it."""
    stream = io.StringIO()
    with Ledger(seed, key=key) as ledger:
        ledger.open("city", epsilon=1e6, protects="one person")
        ledger.spend("city", qw.pure(COST), key="0")
        ledger.export(stream)
    header, *written, closing = stream.getvalue().splitlines()
    yield json.dumps({**json.loads(header), "entries": count})
    yield from written
    first, last = (Entry.from_json(json.loads(written[place])) for place in (0, -1))
    tree = Tree()
    for line in written:
        tree.append(bytes.fromhex(json.loads(line)["hash"]))
    body, begin = last.body, moment(last.time)
    for seq in range(last.seq + 1, count + 1):
        last = Entry.made(
            previous=last.hash, seq=seq, time=begin + timedelta(microseconds=seq), kind="spend",
            budget="city", principal=None, key=str(seq), body=body,
        )  # fmt: skip
        tree.append(bytes.fromhex(last.hash))
        yield canonical(last.to_json())
    end, root = json.loads(closing), tree.root.hex()
    facts = Facts(str(first.content["id"]), count, last.time, last.hash, root, end["access"])
    signature = SigningKey.load(key).signature(facts.message(HEAD))
    told = {"seq": count, "time": last.time, "hash": last.hash, "root": root, "signature": signature}
    yield json.dumps({**end, **told})


def asked(_: Callable[[], object], url: str, count: int) -> tuple[float, float, float]:
    """Seconds to open the ledger, for a balance, and for the newest entries."""
    begin = time.perf_counter()
    with Ledger(url) as ledger:
        ledger.budgets()
        opened = time.perf_counter() - begin
        balance = timed(lambda: ledger.balance("city"))
        history = timed(lambda: list(ledger.history(after=count - TAIL)))
    return opened, balance, history


def timed(call: Callable[[], Any]) -> float:
    seconds = []
    for _ in range(20):
        begin = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - begin)
    return statistics.median(seconds)


def verified(_: Callable[[], object], url: str, count: int, key: Path) -> tuple[float, float, float, float, str]:
    """CPU seconds to verify, the megabytes that it took at most, those for the next one, seconds since a checkpoint."""
    with Ledger(url, key=key) as ledger:
        ledger.balance("city")
        Path("/proc/self/clear_refs").write_text("5")  # the peak starts again
        before = peak()
        begin = time.process_time()
        found = ledger.verify()
        seconds, memory = time.process_time() - begin, peak() - before
        checkpoint = ledger.checkpoint()
        ledger.spend_many([("city", qw.pure(COST))] * TAIL)
        begin = time.perf_counter()
        new = ledger.verify(since=checkpoint, new=True)
        since = time.perf_counter() - begin
        begin = time.process_time()
        whole = ledger.verify()
        again = time.process_time() - begin
    right = (found.entries, new.unread, new.entries, whole.entries) == (count, count, count + TAIL, count + TAIL)
    held = [one.explain() for one in (found, new, whole) if not one.holds]
    wrong = "; ".join(held) if held else "" if right else f"{found.entries} of {count} entries, {new}, {whole}"
    return seconds, memory, again, since, wrong


def peak() -> float:
    """Most megabytes that this process held."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM:"))


@dataclasses.dataclass(frozen=True)
class Listed:
    """Many budgets, listed in pages."""

    database: str
    budgets: int
    page: float
    find: float
    rows: float

    @property
    def cells(self) -> list[str]:
        times = (f"{1e3 * one:.1f}" for one in (self.page, self.find, self.rows))
        return [self.database, f"{self.budgets:,}", *times]


def listed(database: str, url: str, count: int) -> Listed:
    """CPU seconds of the slowest page of the site, of one that was searched for, and of one of the interface."""
    with Ledger(url) as ledger:
        for at in range(count):
            ledger.open(f"budget {at}", epsilon=1.0, delta=1e-6, protects="one person")
        ledger.spend_many([(f"budget {at}", qw.gaussian(40.0 + at)) for at in range(count)])
        session, last = ledger._session, count // PAGE - 1
        session.balances("", count - PAGE, 1)  # the first one loads what computes it
        places = (0, 1, last // 2, last)
        page = max(cpu(lambda at=at: session.balances("", at * PAGE, PAGE)) for at in places)  # type: ignore[misc]
        find = cpu(lambda: session.balances("GET 77", 0, PAGE))
        rows = max(cpu(lambda at=at: ledger.budgets(after=f"budget {at * 100}", limit=100)) for at in (1, count // 200))  # type: ignore[misc]
    return Listed(database, count, page, find, rows)


def cpu(call: Callable[[], Any]) -> float:
    """CPU seconds of this process."""
    begin = time.process_time()
    call()
    return time.process_time() - begin


def judged(speeds: list[Speed], sizes: list[Size], lists: list[Listed]) -> Iterator[Bar]:
    """What was promised."""
    wrong = [f"{one.database}: {one.wrong}" for one in (*speeds, *sizes) if one.wrong]
    words = "; ".join(wrong) or "all"
    yield Bar("ledgers that verify and hold what was granted", "all", words, not wrong, must=True)
    for speed in speeds:
        if speed.processes == PROCESSES[-1]:
            least = SLOWEST[speed.database]
            name = f"{speed.processes} processes on {speed.database}"
            yield Bar(name, f">= {least:g} spends/s", f"{speed.rate:,.0f} spends/s", speed.rate >= least)
    for small, large in zip(sizes[::2], sizes[1::2], strict=True):
        name = f"{large.entries:,} entries on {large.database}"
        yield at_most(f"balance of {name}", 100.0, 1e3 * large.balance, " ms")
        yield at_most(f"verify {name}", 60.0, large.verify, " s")
        yield at_most(f"verify {name} from a checkpoint", 1.0, large.since, " s")
        yield at_most(
            f"memory to verify {name}",
            round(small.memory + 10.0),
            large.memory,
            " MB",
            f" (10,000: {small.memory:.1f})",
        )
    for one in lists:
        for what, seconds in (("page", one.page), ("page that is searched for", one.find), ("100 rows", one.rows)):
            yield at_most(f"a {what} of {one.budgets:,} budgets on {one.database}", 50.0, 1e3 * seconds, " ms")


if __name__ == "__main__":
    sys.exit(main())
