"""A thousand overlapping queries, one guarantee: time, width, memory, and what sequential composition would say.

    python benchmarks/tables.py [--quick] [--check] [--markdown FILE]

Exit code 1 when an answer is wrong, and with --check when any bar is missed. A full run takes about five minutes,
--quick about one.
"""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import functools
import itertools
import json
import math
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before numpy: CPU time is then time on the wall
os.environ["OMP_NUM_THREADS"] = "1"
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

import quiltwork as qw
from benchmarks import cover, report
from benchmarks.report import Bar, at_most, plain, rows_as_markdown
from benchmarks.timing import PATIENCE, interleaved, peak_megabytes
from quiltwork.tables import (
    Cat,
    Date,
    Int,
    Plan,
    PlanGuarantee,
    SubsetOf,
    Table,
    add_remove,
    on_input,
    replace_one,
)
from quiltwork.tables.notions.neighbors import Notion

QUERIES, DELTA = 1000, 1e-6
SECONDS = 2.0  # that a thousand queries may take
NEAR = 0.1  # how far above what is attained the bound of a user may be
ROOT = Path(__file__).resolve().parents[1]
REFERENCE = json.loads((ROOT / "tests" / "reference_granularity.json").read_text(encoding="utf-8"))
EXPECTED = {test["id"]: test for test in REFERENCE["tests"]}
DAYS, SPLITS, LEVELS = 819, (8, 39, 117, 819), 9
HOSPITALS, MOST, HOSPITAL_DELTA = 50, 3, 1e-5
FIRST_DAY = datetime.date(2026, 1, 1)
Draw = Callable[[np.random.Generator], qw.Loss]
SIX = [*(qw.laplace(scale) for scale in (20.0, 30.0, 50.0, 100.0)), qw.gaussian(20.0), qw.gaussian(40.0)]
LOSSES: dict[str, Draw] = {
    "one loss": lambda rng: SIX[2],
    "six losses": lambda rng: SIX[int(rng.integers(len(SIX)))],
    "1,000 losses": lambda rng: qw.laplace(float(rng.uniform(20.0, 200.0))),
}
NOTIONS: dict[str, Notion] = {"add_remove": add_remove(), "replace_one": replace_one()}


@dataclasses.dataclass(frozen=True)
class Row:
    """One plan under one notion."""

    case: str
    notion: str
    seconds: float
    answer: qw.Bracket
    touched: int
    sequential: float
    megabytes: float
    n: str

    @property
    def cells(self) -> list[str]:
        return [
            self.case,
            self.notion,
            f"{self.seconds:.2f}",
            f"{float(self.answer.lower):.6g}",
            f"{float(self.answer.upper):.6g}",
            f"{float(self.answer.relative_width):.1e}",
            str(self.touched),
            f"{self.sequential:.6g}",
            f"{self.sequential / float(self.answer.upper):.2f}",
            "" if math.isnan(self.megabytes) else f"{self.megabytes:.3g}",
            self.n,
        ]


HEAD = ["plan", "notion", "s", "lower", "upper", "width", "touched", "sequential", "x", "MB", "n"]
RIGHT = {2, 3, 4, 5, 6, 7, 8, 9, 10}
HIERARCHY_HEAD = ["counts", "noise", "delta", "s", "lower", "upper", "width", "n"]
HOSPITAL_HEAD = ["each of 50 counts", "notion", "epsilon", "reference", "difference", "source"]
COVER_HEAD = ["queries, cells, records", "seed", "s", "lower", "upper", "above", "sequential", "m x parallel"]
NOTE = (
    f"{QUERIES:,} random conjunctions over a category of 20, a nullable one of 2, an age and a day, all counts. "
    f"s: CPU time of guarantee() and epsilon({DELTA:g}) on one thread, median of n. lower, upper: the bracket of "
    "epsilon over the worst step. touched: queries that the worst step found touches. sequential: all queries composed "
    "one after the other. x: sequential over upper. MB: peak memory, traced in a run of its own."
)
HOSPITAL_NOTE = (
    f"{HOSPITALS} counts, each record in at most {MOST} of them, delta {HOSPITAL_DELTA:g}; the upper end at rtol 1e-6, "
    "with a reference that does not come from this library."
)
HIERARCHY_NOTE = (
    f"Counts along one ordered column under replace_one: {DAYS:,} days, weeks, three weeks and eighths (983), and nine "
    "binary levels (1,022). Each own: the scale or sigma of every count is drawn from 5 to 50. s, lower, upper, width "
    "and n as above; from the plan to its epsilon at this delta."
)
COVER_NOTE = (
    "All records of one person, as a sum of costs: the bound of tables.cover on random cells. above: how far "
    "the upper end is from what the records found cost. More sizes: benchmarks/cover.py."
)


def main(arguments: list[str] | None = None) -> int:
    """Measure, print, write."""
    options = parse(arguments)
    rows = list(report.progress(workloads(options.quick)))
    levels, level_bars = hierarchies(options.quick)
    listed, hospital_bars = hospitals()
    covered, cover_bars = users(options.quick)
    bars = [*judged(rows), *level_bars, *hospital_bars, *cover_bars]
    failed = sum(not bar.passed for bar in bars)
    sections = [
        ("", NOTE, [HEAD, *(row.cells for row in grouped(rows))], RIGHT),
        ("Hierarchical counts", HIERARCHY_NOTE, [HIERARCHY_HEAD, *levels], {2, 3, 4, 5, 6, 7}),
        ("Hospitals", HOSPITAL_NOTE, [HOSPITAL_HEAD, *listed], {2, 3, 4}),
        ("Users", COVER_NOTE, [COVER_HEAD, *covered], {1, 2, 3, 4, 5, 6, 7}),
        ("Bars", f"{len(bars) - failed} of {len(bars)} pass.", [report.BAR_HEAD, *(bar.cells for bar in bars)], set()),
    ]
    print("\n".join(report.versions()))
    for _, note, table, right in sections:
        print(f"\n{note}\n\n{plain(table, right)}")
    if options.markdown:
        text = ["# A thousand queries, one guarantee", "\n".join(report.versions())]
        for name, note, table, right in sections:
            text += [*([f"## {name}"] if name else []), note, rows_as_markdown(table, right)]
        options.markdown.write_text("\n\n".join(text) + "\n", encoding="utf-8")
    return report.exit_code(bars, options.check)


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """Command-line options."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="no repeats, no memory, no large cover")
    parser.add_argument("--markdown", type=Path, help="also write the tables to this file")
    parser.add_argument("--check", action="store_true", help="exit with 1 when a bar is missed")
    return parser.parse_args(arguments)


# ---- a thousand queries


def workloads(quick: bool, seeds: Sequence[int] = (0, 1, 2)) -> Iterator[Row]:
    """Every kind of losses under every notion."""
    for (losses, draw), seed in itertools.product(LOSSES.items(), seeds[:1] if quick else seeds):
        for name, notion in NOTIONS.items():
            plan = drawn(draw, notion, seed)
            call = functools.partial(answered, plan)
            timing = interleaved({"": call}, 0 if quick else 3, PATIENCE)[""]
            guarantee, answer = timing.value
            yield Row(
                case=f"{losses}, seed {seed}",
                notion=name,
                seconds=timing.seconds,
                answer=answer,
                touched=len(guarantee.touched(DELTA)),
                sequential=sequential(plan),
                megabytes=math.nan if quick or seed else peak_megabytes(call),
                n=timing.n,
            )


def answered(plan: Plan) -> tuple[PlanGuarantee, qw.Bracket]:
    """From the plan to its epsilon."""
    guarantee = plan.guarantee()
    return guarantee, guarantee.epsilon(DELTA)


def drawn(draw: Draw, notion: Notion, seed: int, queries: int = QUERIES) -> Plan:
    """Random conjunctions: which conditions a query has, and which bounds, is drawn for each."""
    rng = np.random.default_rng(seed)
    table = Table(
        region=Cat(*range(20)),
        sex=Cat("f", "m", nullable=True),
        age=Int(0, 120),
        day=Date("2026-01-01", "2026-12-31"),
    )
    plan = Plan(table, notion)
    for number in range(queries):
        where = table.everything
        if rng.random() < 0.6:
            where = where & table.region.isin(rng.choice(20, int(rng.integers(1, 8)), replace=False).tolist())
        if rng.random() < 0.4:
            where = where & (table.sex == ("f", "m")[int(rng.integers(2))])
        if rng.random() < 0.8:
            start = int(rng.integers(0, 100))
            where = where & table.age.between(start, start + int(rng.integers(5, 40)))
        if rng.random() < 0.8:
            day = FIRST_DAY + datetime.timedelta(int(rng.integers(0, 300)))
            where = where & table.day.between(day, day + datetime.timedelta(int(rng.integers(7, 90))))
        plan.add(f"query {number}", where=where, count=True, loss=draw(rng), holds=on_input(add_remove()))
    return plan


def sequential(plan: Plan) -> float:
    """Every query composed, at distance 1: a count moves by at most one whether a record comes, goes or changes."""
    return float(qw.compose(*(query.loss for query in plan.queries)).epsilon(DELTA).upper)


def judged(rows: Sequence[Row]) -> Iterator[Bar]:
    """Brackets as such, and time by kind of losses and notion."""
    ordered = sum(0 <= row.answer.lower <= row.answer.upper < math.inf for row in rows)
    yield Bar(
        "brackets that are finite and in order", "all", f"{ordered} of {len(rows)}", ordered == len(rows), must=True
    )
    for losses, name in itertools.product(LOSSES, NOTIONS):
        slowest = max(row.seconds for row in rows if row.case.startswith(losses) and row.notion == name)
        yield at_most(f"time of {QUERIES:,} queries, {losses}, {name}", SECONDS, slowest, " s")


# ---- hierarchies


def _between(rng: np.random.Generator) -> float:
    return float(rng.uniform(5.0, 50.0))


NOISES: dict[str, Callable[[np.random.Generator, int], qw.Loss]] = {
    "one Laplace": lambda rng, level: qw.laplace(10.0),
    "by level": lambda rng, level: qw.gaussian(10.0 + level) if level % 2 else qw.laplace(10.0 + level),
    "each own, Laplace": lambda rng, level: qw.laplace(_between(rng)),
    "each own, both": lambda rng, level: (qw.laplace, qw.gaussian)[int(rng.integers(2))](_between(rng)),
}


def hierarchies(quick: bool) -> tuple[list[list[str]], list[Bar]]:
    """Counts of parts, of their parts, and so on, where one record is replaced by another."""
    shapes = {"983": (DAYS, SPLITS), "1,022": (2**LEVELS, tuple(2**level for level in range(1, LEVELS + 1)))}
    listed, slowest, widest = [], 0.0, 0.0
    for (count, (size, splits)), (noise, draw) in itertools.product(shapes.items(), NOISES.items()):
        plan = hierarchy(size, splits, draw)
        for delta in (1e-2, DELTA):

            def call(plan: Plan = plan, delta: float = delta) -> qw.Bracket:
                return plan.guarantee().epsilon(delta)

            timing = interleaved({"": call}, 0 if quick else 3, PATIENCE)[""]
            found, width = timing.value, float(timing.value.relative_width)
            widest, slowest = max(widest, width), max(slowest, timing.seconds if count == "983" else 0.0)
            ends = [f"{float(end):.6g}" for end in (found.lower, found.upper)]
            listed.append([count, noise, f"{delta:g}", f"{timing.seconds:.2f}", *ends, f"{width:.1e}", timing.n])
    return listed, [
        at_most("time of 983 hierarchical counts, replace_one", 1.0, slowest, " s"),
        at_most("width of hierarchical counts, replace_one", 0.02, widest, ""),
    ]


def hierarchy(size: int, splits: Sequence[int], draw: Callable[[np.random.Generator, int], qw.Loss]) -> Plan:
    """Every level parts the column evenly; one query for each part."""
    rng, table = np.random.default_rng(0), Table(day=Int(0, size - 1))
    plan = Plan(table, replace_one())
    for level, parts in enumerate(splits):
        edges = [size * k // parts for k in range(parts + 1)]
        for start, end in itertools.pairwise(edges):
            where = table.day.between(start, end)
            name, loss = f"level {level}, from {start}", draw(rng, level)
            plan.add(name, where=where, count=True, loss=loss, holds=on_input(add_remove()))
    return plan


# ---- values that are known


def hospitals() -> tuple[list[list[str]], list[Bar]]:
    """The table of theory/granularity.md section 3.4, from the conditions of the plan."""
    cases = [
        ("pure, epsilon 0.1", qw.pure(0.1), "touch RR-dominated", 0),
        ("pure, epsilon 1", qw.pure(1.0), "touch RR-dominated", 2),
        ("Laplace, epsilon 0.1", qw.laplace(10.0), "touch Laplace", 0),
        ("Gaussian, mu 0.2", qw.gaussian(5.0), "touch Gaussian", 1),
    ]
    rows: list[list[str]] = []
    missed = 0
    for name, loss, test, place in cases:
        for notion, number in (("add_remove", MOST), ("replace_one", 2 * MOST), ("sequential", HOSPITALS)):
            found = hospital(loss, notion)
            known = EXPECTED[f"{test} n={number}"]
            missed += abs(found - known["expected"][place]) > max(known["tol"], 2e-6) * found
            rows.append(
                [
                    name if notion == "add_remove" else "",
                    notion,
                    f"{found:.6f}",
                    f"{known['expected'][place]:.6f}",
                    f"{found - known['expected'][place]:+.0e}",
                    known["source"],
                ]
            )
    near = f"{len(rows) - missed} of {len(rows)}"
    return rows, [Bar("hospitals near their references", "all", near, not missed, must=True)]


def hospital(loss: qw.Loss, notion: str) -> float:
    """One entry: the plan under a notion, or all counts in sequence."""
    if notion == "sequential":
        return float((HOSPITALS * loss).epsilon(HOSPITAL_DELTA, rtol=1e-6).upper)
    table = Table(hospitals=SubsetOf(range(HOSPITALS), max_size=MOST))
    plan = Plan(table, NOTIONS[notion])
    plan.each("patients", of=table.hospitals, count=True, loss=loss, holds=on_input(add_remove()))
    return float(plan.guarantee().epsilon(HOSPITAL_DELTA, rtol=1e-6).upper)


# ---- one person with many records


def users(quick: bool) -> tuple[list[list[str]], list[Bar]]:
    """Covers of the largest size, or of the next one when it should be quick."""
    sizes = cover.SIZES[1:2] if quick else cover.SIZES[2:]
    rows = list(report.progress(cover.measured(sizes)))
    gaps = [row.found.upper / row.found.lower - 1 for row in rows]
    listed = [
        [
            row.case,
            str(row.seed),
            f"{row.seconds:.2f}",
            f"{row.found.lower:.6f}",
            f"{row.found.upper:.6f}",
            f"{gap:.1%}",
            f"{row.sequential:.3f}",
            f"{row.parallel:.3f}",
        ]
        for row, gap in zip(rows, gaps, strict=True)
    ]
    crossed = sum(row.found.upper < row.found.lower for row in rows)
    return listed, [
        Bar(
            "bounds of a user above what is attained",
            "all",
            f"{len(rows) - crossed} of {len(rows)}",
            not crossed,
            must=True,
        ),
        at_most(f"time of a user, {rows[0].case}", cover.PATIENCE, max(row.seconds for row in rows), " s"),
        at_most(f"how far above what is attained, {rows[0].case}", NEAR, max(gaps), ""),
    ]


def grouped(rows: Sequence[Row]) -> list[Row]:
    """The plan is named on its first row only."""
    again = [False, *(row.case == before.case for before, row in itertools.pairwise(rows))]
    return [dataclasses.replace(row, case="") if same else row for row, same in zip(rows, again, strict=True)]


if __name__ == "__main__":
    sys.exit(main())
