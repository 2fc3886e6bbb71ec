"""What acts of a ledger cost, in units of a bare INSERT and COMMIT of SQLite in the same process.

    python benchmarks/ledger_cost.py [--check]

CPU time of this process, median of several rounds that are interleaved with the bare ones: the ratios do not depend on
how fast the machine is or what else runs. Exit code 1 with --check when a bar is missed.
"""

from __future__ import annotations

import argparse
import contextlib
import sqlite3
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.ledger.servers import NoServer, PostgresServer

import quiltwork as qw
from benchmarks import report
from benchmarks.report import Bar, plain
from quiltwork.ledger import Ledger

BUDGETS, ROUNDS, BARE = 8, 5, 100
LOSS = qw.laplace(1000.0)
BARS = {
    "spend_many(500), a spend": 2.6,
    "eight threads, a spend": 12.0,
    "one spend": 16.0,
    "balance": 2.5,
    "second verify, an entry": 0.25,
}
HEAD = ["database", "act", "bare commits", "ms of CPU", "at most"]


def cpu(act: Callable[[], object], count: int) -> float:
    """Seconds of this process for each of so many."""
    begin = time.process_time()
    act()
    return (time.process_time() - begin) / count


def bare(file: Path) -> Callable[[], object]:
    """As many transactions that insert a row of an entry's size and update a head."""
    raw = sqlite3.connect(file, isolation_level=None)
    for statement in (
        "PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL", "CREATE TABLE e (seq INTEGER PRIMARY KEY, body, hash)",
        "CREATE TABLE h (id INTEGER PRIMARY KEY, hash)", "INSERT INTO h VALUES (1, '')",
    ):  # fmt: skip
        raw.execute(statement)

    def run() -> None:
        for _ in range(BARE):
            raw.execute("BEGIN IMMEDIATE")
            raw.execute("INSERT INTO e (body, hash) VALUES (?, ?)", ("x" * 330, "y" * 64))
            raw.execute("UPDATE h SET hash = ?", ("z" * 64,))
            raw.execute("COMMIT")

    return run


def acts(ledger: Ledger) -> dict[str, tuple[Callable[[], object], int]]:
    """What is measured, and how many it counts for."""

    def threads() -> None:
        def spend() -> None:
            for turn in range(25):
                ledger.spend(f"b{turn % BUDGETS}", LOSS)

        crew = [threading.Thread(target=spend) for _ in range(8)]
        for one in crew:
            one.start()
        for one in crew:
            one.join()

    asks = [(f"b{turn % BUDGETS}", LOSS) for turn in range(500)]
    return {
        "spend_many(500), a spend": (lambda: ledger.spend_many(asks), 500),
        "eight threads, a spend": (threads, 200),
        "one spend": (lambda: [ledger.spend("b0", LOSS) for _ in range(30)], 30),
        "balance": (lambda: [ledger.balance("b1") for _ in range(30)], 30),
    }


def measured(url: str, folder: Path, name: str) -> Iterator[tuple[str, float, float]]:
    """Each act with its median in bare commits, and in seconds."""
    with Ledger(url, key=folder / f"{name}.key") as ledger:
        for turn in range(BUDGETS):
            ledger.open(f"b{turn}", epsilon=1e6, protects="one person")
        told = acts(ledger)
        unit, found = bare(folder / f"{name}.bare"), {act: [] for act in told}  # type: ignore[var-annotated]
        for act, _ in told.values():
            act()  # the first time loads and prepares
        for _ in range(ROUNDS):
            for act, (call, count) in told.items():
                one = cpu(unit, BARE)
                found[act].append((cpu(call, count), one))
        for act, pairs in found.items():
            yield (
                act,
                statistics.median(cost / one for cost, one in pairs),
                statistics.median(cost for cost, _ in pairs),
            )
        entries = sum(1 for _ in ledger.history())
        walks: dict[str, Callable[[], object]] = {"full": lambda: ledger.verify(full=True), "second": ledger.verify}
        for walk, verify in walks.items():
            pairs = [(cpu(verify, entries), cpu(unit, BARE)) for _ in range(3)]
            ratio = statistics.median(cost / one for cost, one in pairs)
            yield f"{walk} verify, an entry", ratio, min(cost for cost, _ in pairs)


def main(arguments: list[str] | None = None) -> int:
    """Measure, print, judge."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="exit with 1 when a bar is missed")
    options = parser.parse_args(arguments)
    lines, bars = [HEAD], []
    with tempfile.TemporaryDirectory(prefix="quiltwork-") as place, contextlib.ExitStack() as stack:
        folder = Path(place)
        urls = {"sqlite": f"sqlite:///{folder}/budgets.db"}
        with contextlib.suppress(NoServer):
            urls["postgresql"] = stack.enter_context(PostgresServer()).database()
        for database, url in urls.items():
            for act, ratio, seconds in measured(url, folder, database):
                most = BARS.get(act)
                lines.append(
                    [database, act, f"{ratio:.2f}", f"{1e3 * seconds:.3f}", "" if most is None else f"{most:g}"]
                )
                if most is not None:
                    bars.append(Bar(f"{act} on {database}", f"<= {most:g}", f"{ratio:.2f}", ratio <= most))
    print(plain(lines, {2, 3, 4}))
    return report.exit_code(bars, options.check)


if __name__ == "__main__":
    sys.exit(main())
