"""Ten million rows counted: time and memory of the engines, and the same numbers from both.

    python benchmarks/data.py [--rows N] [--spark-rows N] [--csv] [--check] [--markdown FILE]

The table is drawn by DuckDB from a seed, out of order, and read back as a parquet file. Exit code 1 when two engines
count differently, and with --check when any bar is missed. A full run takes about a minute.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import report
from benchmarks.report import Bar, at_most, plain, rows_as_markdown
from quiltwork.data import Counts, Engine, Sequences
from quiltwork.errors import MissingExtra, Unsupported
from quiltwork.pufferfish import MarkovChain

SEED, STATES, GROUPS, LEAST, MOST = 20_261_116, 78, 40, 50, 150
MINUTE, GIGABYTE = 60.0, 2.0**30
HEAD = ["engine", "rows", "question", "s", "peak GB", "answer"]
RIGHT = {1, 3, 4}
ORPHAN = "---\norphan: true\n---"  # a page that stands in no list of pages is then no error
NOTE = (
    f"People with {LEAST} to {MOST} entries each over {STATES} states and {GROUPS} groups, rows in random order. s: "
    "time on the wall. peak GB: the most memory that this process held while it counted (of Spark: its Java process)."
)


@dataclasses.dataclass(frozen=True)
class Row:
    """One question to one engine."""

    engine: str
    rows: int
    question: str
    seconds: float
    peak: float
    answer: str

    @property
    def cells(self) -> list[str]:
        peak = f"{self.peak / GIGABYTE:.2f}"
        return [self.engine, f"{self.rows:,}", self.question, f"{self.seconds:.1f}", peak, self.answer]


def main(arguments: list[str] | None = None) -> int:
    """Draw, count, compare, print."""
    options = parse(arguments)
    with tempfile.TemporaryDirectory(prefix="quiltwork-") as folder:
        table, smaller = Path(folder) / "rows", Path(folder) / "smaller"
        draw(table, options.rows, options.csv)
        rows = list(asked("duckdb://", table, options.rows))
        bars = [at_most(f"all questions over {options.rows:,} rows on DuckDB", MINUTE, total(rows), " s")]
        if options.spark_rows:
            draw(smaller, options.spark_rows, options.csv)
            here = list(asked("duckdb://", smaller, options.spark_rows))
            try:
                there = list(asked("spark://local[2]", smaller, options.spark_rows))
                verdict = "yes" if [row.answer for row in here[1:]] == [row.answer for row in there[1:]] else "no"
            except (MissingExtra, Unsupported) as error:
                there, verdict = [], str(error)
            name = f"DuckDB and Spark agree on {options.spark_rows:,} rows"
            bars.append(Bar(name, "yes", verdict, verdict == "yes", must=bool(there)))
            rows += [*here, *there]
    sections = [
        (NOTE, [HEAD, *(row.cells for row in rows)], RIGHT),
        ("Bars", [report.BAR_HEAD, *(bar.cells for bar in bars)], set()),
    ]
    print("\n".join(versions()))
    for note, lines, right in sections:
        print(f"\n{note}\n\n{plain(lines, right)}")
    if options.markdown:
        text = [ORPHAN, "# Counting sequences", "\n".join(versions())]
        text += [f"{note}\n\n{rows_as_markdown(lines, right)}" for note, lines, right in sections]
        options.markdown.write_text("\n\n".join(text) + "\n", encoding="utf-8")
    return report.exit_code(bars, options.check)


def versions() -> list[str]:
    """What ran, and the engines below it."""
    return report.versions("ibis-framework", "duckdb", "pyspark")


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """Command-line options."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000_000, help="rows of the table for DuckDB")
    parser.add_argument("--spark-rows", type=int, default=1_000_000, help="rows of the table for both; 0 leaves it out")
    parser.add_argument("--csv", action="store_true", help="read CSV instead of parquet")
    parser.add_argument("--markdown", type=Path, help="also write the tables to this file")
    parser.add_argument("--check", action="store_true", help="exit with 1 when a bar is missed")
    return parser.parse_args(arguments)


def draw(folder: Path, rows: int, csv: bool) -> None:
    """A table of that many rows in one file, the same for a seed; a state lasts for a few entries."""
    import duckdb

    folder.mkdir()
    kind = "csv" if csv else "parquet"
    with duckdb.connect() as connection:
        connection.execute(
            f"""
            COPY (
                SELECT
                    'p' || who AS person,
                    TIMESTAMP '2026-01-01' + to_minutes(CAST(10 * turn + hash(who, turn, {SEED}) % 10 AS BIGINT))
                        AS moment,
                    'place ' || hash(who, turn // 3, {SEED + 1}) % {STATES} AS place,
                    'country ' || hash(who, {SEED + 2}) % {GROUPS} AS country
                FROM (
                    SELECT
                        who,
                        unnest(range({LEAST} + CAST(hash(who, {SEED + 3}) % {MOST - LEAST + 1} AS BIGINT))) AS turn
                    FROM range({rows // LEAST + 1}) AS people(who)
                    LIMIT {rows}
                )
                ORDER BY hash(who, turn, {SEED + 4})
            ) TO '{folder / f"rows.{kind}"}' (FORMAT {kind})
            """
        )


def asked(url: str, folder: Path, rows: int) -> Iterator[Row]:
    """Every question in turn; the first line is the time to open the engine and check the columns."""
    name = url.partition(":")[0]

    def row(question: str, call: Callable[[], Any], words: Callable[[Any], str]) -> tuple[Row, Any]:
        begin = time.perf_counter()
        with Peak(name) as peak:
            value = call()
        return Row(name, rows, question, time.perf_counter() - begin, peak.most, words(value)), value

    line, engine = row("open", lambda: Engine.open(url), lambda engine: engine.name)
    yield line
    with engine:
        line, found = row("check columns", lambda: opened(engine, folder), lambda found: f"{found.rows:,} rows")
        yield line
        line, counts = row("transition counts", found.transition_counts, fingerprint)
        yield line
        yield row("fit from the counts", lambda: MarkovChain.fit(counts, public=True), fitted)[0]
        yield row("category counts", found.category_counts, lambda tally: f"{tally.total:,} entries")[0]
        yield row("counts by group", found.group_counts, lambda by: f"{len(by)} groups, {largest(by)}")[0]
        yield row("lengths", found.lengths, lambda lengths: f"{lengths.people.sum():,} people")[0]


def opened(engine: Engine, folder: Path) -> Sequences:
    """The drawn table."""
    return engine.sequences(folder, who="person", when="moment", state="place", group="country")


def fingerprint(counts: Counts) -> str:
    """Enough of the counts to tell two of them apart."""
    weights = range(1, counts.matrix.size + 1)
    mixed = sum(weight * int(value) for weight, value in zip(weights, counts.matrix.flat, strict=True))
    return f"{counts.steps:,} steps of {counts.people:,} people, {mixed % 1_000_000_007}"


def fitted(chain: MarkovChain) -> str:
    """Enough of the chain to tell two of them apart."""
    return f"{len(chain.states)} states, stationary {chain.stationary.max():.6f} at most"


def largest(by: dict[Any, Any]) -> str:
    """The largest count of all."""
    return f"largest {max(int(tally.counts.max()) for tally in by.values()):,}"


def total(rows: list[Row]) -> float:
    """Seconds of all lines."""
    return sum(row.seconds for row in rows)


class Peak:
    """The most memory that the process, or the Java process below it, holds while the block runs; from /proc."""

    def __init__(self, engine: str) -> None:
        self.java, self.most, self._done = engine == "spark", 0.0, threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Peak:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        while True:
            self.most = max(self.most, sum(map(resident, self._processes())))
            if self._done.wait(0.05):
                return

    def _processes(self) -> list[Path]:
        own = Path("/proc/self")
        if not self.java:
            return [own]
        children = (own / "task").glob("*/children")
        return [Path("/proc") / pid for file in children for pid in file.read_text().split()]


def resident(process: Path) -> float:
    """Bytes of a process in memory; 0 where nobody knows."""
    try:
        lines = (process / "status").read_text().splitlines()
    except OSError:
        return 0.0
    return next((1024.0 * int(line.split()[1]) for line in lines if line.startswith("VmRSS:")), 0.0)


if __name__ == "__main__":
    sys.exit(main())
