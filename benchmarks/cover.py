"""The most that m records can cost: time and bounds of `cover` on random instances.

    python benchmarks/cover.py [--quick] [--check] [--markdown FILE]

Exit code 1 when a bound is wrong, and with --check when any bar is missed. A full run takes about a minute.
"""

import argparse
import dataclasses
import itertools
import os
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before numpy: CPU time is then time on the wall
os.environ["OMP_NUM_THREADS"] = "1"
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from benchmarks import report
from benchmarks.report import Bar, at_most, plain, rows_as_markdown
from benchmarks.timing import interleaved
from quiltwork.tables.cover.cover import Cover, cover
from quiltwork.tables.cover.problem import cost, greedy, problem

SIZES = ((50, 500, 4), (200, 2000, 5), (500, 5000, 10))  # queries, cells, records
SMALL, INSTANCES = (12, 10, 3), 60  # as in theory/granularity.md section 4, where the LP was 9.2 % above at most
MEDIUM = (50, 200, 4)
SEEDS = 4  # instances of each size
PATIENCE = 30.0  # seconds that the largest may take
Instance = tuple[Any, Any, Any, int]


@dataclasses.dataclass(frozen=True)
class Row:
    """One instance: what bounds it from both sides, and how long that took."""

    case: str
    seed: int
    seconds: float
    found: Cover
    greedy: float
    sequential: float
    parallel: float

    @property
    def cells(self) -> list[str]:
        return [
            self.case,
            str(self.seed),
            f"{self.seconds:.2f}",
            f"{self.found.upper:.6f}",
            f"{self.found.rational:.6f}",
            f"{self.found.lower:.6f}",
            f"{self.ratio:.4f}",
            f"{self.greedy:.6f}",
            f"{self.sequential:.3f}",
            f"{self.parallel:.3f}",
            self.found.method,
        ]

    @property
    def ratio(self) -> float:
        """The bound of the prices over what is attained."""
        return self.found.rational / self.found.lower


HEAD = [
    "queries, cells, m",
    "seed",
    "s",
    "upper",
    "prices",
    "lower",
    "LP ratio",
    "greedy",
    "sequential",
    "m x parallel",
    "method",
]
RIGHT = {1, 2, 3, 4, 5, 6, 7, 8, 9}
NOTES = [
    "Cells touch 3 to 8 queries at random, rewards are uniform in [0.1, 1], there are no slopes and no groups. s: CPU "
    "time of one call on one thread. upper: no choice of records costs more. prices: the bound that the prices of the "
    "linear program prove in exact rationals. lower: what the records found cost. greedy: no bound, for comparison.",
]


def main(arguments: list[str] | None = None) -> int:
    """Measure, print, write."""
    options = parse(arguments)
    rows = list(report.progress(measured(SIZES[:2] if options.quick else SIZES)))
    bars = judged(rows, 10 if options.quick else INSTANCES)
    failed = sum(not bar.passed for bar in bars)
    table = [HEAD, *(row.cells for row in rows)]
    listed = [report.BAR_HEAD, *(bar.cells for bar in bars)]
    print("\n".join([*report.versions(), *NOTES, "", plain(table, RIGHT), "", plain(listed)]))
    print(f"\n{len(bars) - failed} of {len(bars)} bars pass")
    if options.markdown:
        text = ["# The most that m records can cost", "\n".join(report.versions()), *NOTES]
        text += [rows_as_markdown(table, RIGHT), "## Bars", rows_as_markdown(listed)]
        options.markdown.write_text("\n\n".join(text) + "\n", encoding="utf-8")
    return report.exit_code(bars, options.check)


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """Command-line options."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--quick", action="store_true", help="leave out the largest instance, and most of the small ones"
    )
    parser.add_argument("--markdown", type=Path, help="also write the tables to this file")
    parser.add_argument("--check", action="store_true", help="exit with 1 when a bar is missed")
    return parser.parse_args(arguments)


def instance(rng: np.random.Generator, queries: int, cells: int, records: int) -> Instance:
    """Cells that touch 3 to 8 queries (3 when there are few queries), rewards in [0.1, 1]."""
    touched = np.zeros((cells, queries), dtype=bool)
    for row in touched:
        row[rng.choice(queries, 3 if queries < 20 else int(rng.integers(3, 9)), replace=False)] = True
    return touched, rng.uniform(0.1, 1.0, queries), np.zeros(queries), records


def measured(sizes: tuple[tuple[int, int, int], ...] = SIZES, seeds: int = SEEDS) -> Iterator[Row]:
    """One row for each instance of each size: some close at the linear program, others need a search."""
    for size, seed in itertools.product(sizes, range(seeds)):
        given = instance(np.random.default_rng(seed), *size)
        timing = interleaved({"": lambda given=given: cover(*given)}, 0)[""]
        touched, reward, _, records = given
        stated = problem(*given)
        yield Row(
            case=", ".join(f"{number:,}" for number in size),
            seed=seed,
            seconds=timing.seconds,
            found=timing.value,
            greedy=float(cost(stated, greedy(stated))),
            sequential=float(reward.sum()),
            parallel=float(records * (touched @ reward).max()),
        )


def judged(rows: list[Row], instances: int = INSTANCES) -> list[Bar]:
    """Time of the largest, and how far the bounds are from the optimum where it is known."""
    slowest = max(rows, key=lambda row: row.seconds)
    held = sum(row.found.lower <= row.found.upper for row in rows)
    return [
        Bar("bounds above what is attained", "all", f"{held} of {len(rows)}", held == len(rows), must=True),
        at_most("time of one cover", PATIENCE, slowest.seconds, " s", f" (at {slowest.case})"),
        *within(SMALL, instances),
        *within(MEDIUM, instances),
    ]


def within(size: tuple[int, int, int], instances: int = INSTANCES, seed: int = 11) -> Iterator[Bar]:
    """How far above the optimum the bounds are, as a share of it, on random instances that end exactly."""
    rng = np.random.default_rng(seed)
    found, short = [], 0
    for _ in range(instances):
        given = instance(rng, *size)
        found.append(cover(*given))
        stated = problem(*given)
        short += float(cost(stated, greedy(stated))) < found[-1].lower * (1 - 1e-9)
    upper = [one.upper / one.lower - 1 for one in found]
    prices = [one.rational / one.lower - 1 for one in found]
    name = f"{instances} x ({', '.join(map(str, size))})"
    near = sum(gap <= 0.1 for gap in upper)
    yield Bar(f"upper within 10 % of what is attained, {name}", "all", f"{near} of {instances}", near == instances)
    note = f" (median {statistics.median(prices):.3g}; greedy falls short in {short})"
    yield at_most(f"prices alone above the optimum, {name}", 0.1, max(prices), "", note)


if __name__ == "__main__":
    sys.exit(main())
