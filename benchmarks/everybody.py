"""This library beside dp_accounting, prv_accountant, autodp, Opacus, riskcal and OpenDP, in one process.

    python benchmarks/everybody.py [--quick] [--check] [--only KEY ...] [--markdown FILE] [--html FILE]

Ten tasks, growth, memory and imports. A call of a peer is stopped after a time limit, and one that is not installed
says so. Exit code 0, or 1 with --check when a bracket of ours misses the truth. A full run takes about nine minutes,
--quick about one and a half on an idle machine.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy: CPU time is then time on the wall
os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import report
from benchmarks.beside import costs, measured, ours, pages, scaling, summary
from benchmarks.beside.asks import PEERS
from benchmarks.beside.measured import FULL, QUICK, Pace, Row
from benchmarks.beside.pages import Part
from benchmarks.beside.questions import Question, questions

GROWN = "growth"
GROWTH = {True: Pace(1, 0.3, 2.0, False), False: Pace(3, 1.5, 5.0, True)}
NOTES = [
    "Medians of n interleaved calls in one process, CPU time on one thread; compare ratios. Everything from the "
    "constructor to the answer is timed. Both directions (add, remove) are covered by us, dp_accounting and riskcal; "
    "prv_accountant and the PRV accountant of Opacus take one direction, which is the larger one here.",
    "Error: of the reported value (the safe end of a bracket) relative to the truth; of curves the worst point, "
    "absolute; positive is safe. Width: of the bracket, relative. Truth: closed forms in 30 to 120 digits and exact "
    "lattice sums, computed in the run, or contour integrals in 30 to 40 digits, stored; never our own answer.",
    "Claims: what a method says of itself. Only ours, and the maps of OpenDP by its documentation, count rounding. "
    f'A peer "fails" when it refuses, answers inf, needs more than the limit of seconds of CPU or 4 GB, or is on '
    f"the wrong side of the truth by more than {measured.ROUNDED:g}; our own brackets are allowed "
    f"{measured.OUR_ROUNDING:g}, the rounding of the truth itself.",
]
FIRST = (
    "The most accurate sound method of each peer: its time over ours, and its error; or how it fails. *: a method that "
    'claims no bound. "-": it has no way of asking the question. Every method is in the last table.'
)
AHEAD = (
    "All sound answers that took less time than ours, whatever their error. Rényi bounds and closed forms evaluate a "
    "formula in plain floating point; a bracket costs a millisecond or more."
)


def main(arguments: list[str] | None = None) -> int:
    """Measure, print, write."""
    options = parse(arguments)
    pace = QUICK if options.quick else FULL
    peers = measured.loaded()
    asked = [question for question in questions() if not options.only or question.key in options.only]
    rows: list[Row] = []
    for question in asked:
        say(f"{question.key}: {question.name}")
        rows += measured.asked(question, peers, pace)
    parts = list(told(rows, asked, peers, options.quick, not options.only or GROWN in options.only))
    print(pages.text(versions(), NOTES, parts))
    if options.markdown:
        written(options.markdown, pages.markdown(pages.TITLE, versions(), NOTES, parts))
    if options.html:
        written(options.html, pages.html(pages.TITLE, versions(), NOTES, parts))
    wrong = [row for row in rows if row.peer == ours.NAME and row.fails]
    for row in wrong:
        print(f"ours fails: {row.key}: {row.question}: {row.fails}", file=sys.stderr)
    return 1 if options.check and wrong else 0


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """Command-line options."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer repeats and sizes, slow methods left out")
    parser.add_argument("--check", action="store_true", help="exit with 1 when an answer of ours is wrong")
    parser.add_argument("--only", nargs="+", default=[], metavar="KEY", help=f"T1, T2a, ... or {GROWN}")
    parser.add_argument("--markdown", type=Path, help="also write the page to this file")
    parser.add_argument("--html", type=Path, help="also write the page with figures to this file")
    return parser.parse_args(arguments)


def told(
    rows: Sequence[Row], asked: Sequence[Question], peers: dict[Any, Any], quick: bool, grown: bool = True
) -> Iterator[Part]:
    """All parts of the page in order."""
    yield Part("Who wins by how much", FIRST, [summary.head(), *summary.table(rows)])
    faster = summary.ahead(rows)
    yield Part("Where a peer is faster", AHEAD, [summary.AHEAD_HEAD, *faster] if faster else [], frozenset({2, 3, 4}))
    failed = summary.failures(rows)
    yield Part("Who fails", "", [summary.FAILS_HEAD, *failed] if failed else [], frozenset({1, 2}))
    if grown:
        yield from _growth(peers, GROWTH[quick])
    say("memory")
    note = "Peak of what Python and numpy held during one answer, traced in a run of its own; Rust is not seen."
    held = list(costs.memory(asked, rows, peers, QUICK if quick else FULL))
    yield Part("Memory", note, [costs.MEMORY_HEAD, *held], frozenset({2, 3}))
    say("imports")
    note = "CPU time of a fresh interpreter, the bare one subtracted; what the first answer needs. Median of n."
    yield Part("Import", note, [costs.IMPORT_HEAD, *costs.imports(peers, 1 if quick else 3)], frozenset({1, 2, 3}))
    every = [measured.HEAD, *(row.cells for row in measured.grouped(rows))]
    yield Part("Every method", "", every, frozenset(measured.RIGHT))


def _growth(peers: dict[Any, Any], pace: Pace) -> Iterator[Part]:
    note = (
        "CPU milliseconds at each size, and the exponent: the slope of log time over log size, so that 0 is flat and 1 "
        "is linear; at the end: between the last two sizes that were answered. Widths are relative; of a design, its "
        f"certified gap. A method that was stopped is not asked again. Limit of one call: {pace.limit:g} s."
    )
    yield Part("Growth", note, [])
    for series in (*scaling.compared(peers, pace), *scaling.alone(pace)):
        say(series.name)
        yield pages.growth(series, list(scaling.grown(series, pace)))


def versions() -> list[str]:
    """When, where and with what, peers included."""
    first, second = report.versions()
    others = [p for p in PEERS if p.package not in report.PACKAGES]
    return [first.removesuffix(".") + "".join(f", {p.package} {p.version}" for p in others) + ".", second]


def say(words: str) -> None:
    """Progress, apart from the results."""
    print(f"  {words[:100]}", file=sys.stderr, flush=True)


def written(path: Path, page: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
