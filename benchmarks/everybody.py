"""This library beside dp_accounting, prv_accountant, autodp, Opacus, riskcal and OpenDP, in one process.

    python benchmarks/everybody.py [--quick] [--check] [--only KEY ...] [--markdown FILE] [--html FILE]

Thirteen tasks, growth, memory and imports. A call of a peer is stopped after a time limit. A peer that is not here is
said so, and then no page of the documentation is rewritten.

Exit code 1 when an answer of ours misses the truth or is infinite; with --check also when it is wider than promised,
too slow, or a peer is missing. A full run takes about a quarter of an hour, --quick three minutes on an idle machine.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before numpy: CPU time is then time on the wall
os.environ["OMP_NUM_THREADS"] = "1"
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # before the package that Opacus calls benchmarks

from benchmarks import report
from benchmarks.beside import costs, limits, measured, ours, pages, scaling, summary
from benchmarks.beside.asks import PEERS
from benchmarks.beside.measured import FULL, QUICK, Pace, Row
from benchmarks.beside.pages import Part
from benchmarks.beside.questions import Question, questions
from benchmarks.beside.scaling import Point, Series
from benchmarks.verdicts import OUR_ROUNDING, ROUNDED, SLIGHT

GROWN = "growth"
GROWTH = {True: Pace(1, 0.3, 2.0, False), False: Pace(3, 1.5, 5.0, True)}
Growth = Sequence[tuple[Series, Sequence[Point]]]
NOTES = [
    "Medians of n interleaved calls in one process, CPU time on one thread; compare ratios. n: repeats; "
    '"1 (first)" is a first call, which may be slower than those after it. Everything from the constructor to the '
    "answer is timed. Both directions (add, remove) are covered by us, dp_accounting and riskcal; prv_accountant, the "
    "PRV accountant of Opacus and autodp's Fourier accountant take one direction, which is the larger one here.",
    "Error: of the reported value (the safe end of a bracket) relative to the truth; of curves the worst point, "
    "absolute; positive is safe. Width: of the bracket, relative. Truth: closed forms and exact sums in 30 to 120 "
    "digits, or contour integrals (benchmarks/truths.py); never our own answer.",
    f"Our brackets are as wide as they are by default, which is a relative width of {ours.RTOL:g} at most; easy ones "
    f"come out narrower. Where asking for {ours.SHARP:g} changes an answer, that is a line of its own.",
    "Claims: what a method says of itself, and whether that counts the rounding of its own arithmetic; OpenDP's by its "
    f'documentation. A peer "fails" when it refuses, answers inf, needs more than the limit of seconds of CPU or '
    f"{limits.GIGABYTES:g} GB of address space, or is on the wrong side of the truth by more than {ROUNDED:g}; below "
    f"{SLIGHT:g} that is called rounding. Our own brackets are allowed {OUR_ROUNDING:g}, the rounding of the truth "
    "itself.",
    "autodp's Fourier accountant (AFA) does not get along with this scipy: it searches e^epsilon between bounds that "
    "older versions did not apply, and answers about 0; for samples it calls `scipy.integrate.quadrature`, which was "
    "removed.",
]
FIRST = (
    "The most accurate sound method of each peer: its time over ours, and its error; or how it fails. *: a method that "
    f'claims no bound. (below): below the truth, by less than {SLIGHT:g}. "-": not asked here. Every method is in the '
    "last table."
)
AHEAD = (
    "All sound answers that took less time than ours, whatever their error, here and in the tables of growth. Rényi "
    "bounds and closed forms evaluate a formula in plain floating point; a bracket costs a millisecond or more."
)


def main(arguments: list[str] | None = None) -> int:
    """Measure, print, write."""
    options = parse(arguments)
    pace = QUICK if options.quick else FULL
    peers = measured.loaded()
    missing = [f"{peer.name}: {why}" for peer, (module, why) in peers.items() if module is None]
    asked = [question for question in questions() if not options.only or question.key in options.only]
    rows: list[Row] = []
    for question in asked:
        say(f"{question.key}: {question.name}")
        rows += measured.asked(question, peers, pace)
    grown = list(growth(peers, GROWTH[options.quick])) if not options.only or GROWN in options.only else []
    parts = list(told(rows, asked, grown, peers, options.quick))
    print(pages.text(versions(), NOTES, parts))
    if options.markdown:
        written(options.markdown, pages.markdown(pages.TITLE, versions(), NOTES, parts), missing)
    if options.html:
        written(options.html, pages.html(pages.TITLE, versions(), NOTES, parts), missing)
    return judged(rows, grown, missing, options.check)


def judged(rows: Sequence[Row], grown: Growth, missing: Sequence[str], check: bool) -> int:
    """What went wrong, said apart from the results, and the exit code."""
    points = [point for _, found in grown for point in found]
    wrong, late = summary.wrong(rows, points), summary.missed(rows, points)
    for words, problems in (("ours is wrong", wrong), ("ours misses its promise", late), ("not measured", missing)):
        for problem in problems:
            print(f"{words}: {problem}", file=sys.stderr)
    return 1 if wrong or (check and (late or missing)) else 0


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """Command-line options."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer repeats and sizes, slow methods left out")
    parser.add_argument(
        "--check",
        action="store_true",
        help="exit with 1 also when an answer of ours is wide or late, or a peer missing",
    )
    parser.add_argument("--only", nargs="+", default=[], metavar="KEY", help=f"T1, T2a, ... or {GROWN}")
    parser.add_argument("--markdown", type=Path, help="also write the page to this file")
    parser.add_argument("--html", type=Path, help="also write the page with figures to this file")
    return parser.parse_args(arguments)


def told(
    rows: Sequence[Row], asked: Sequence[Question], grown: Growth, peers: dict[Any, Any], quick: bool
) -> Iterator[Part]:
    """All parts of the page in order."""
    yield Part("Who wins by how much", FIRST, [summary.head(), *summary.table(rows)])
    faster = summary.ahead(rows, [point for _, points in grown for point in points])
    yield Part("Where a peer is faster", AHEAD, [summary.AHEAD_HEAD, *faster] if faster else [], frozenset({2, 3, 4}))
    failed = summary.failures(rows)
    yield Part("Who fails", "", [summary.FAILS_HEAD, *failed] if failed else [], frozenset({1, 2}))
    if grown:
        note = (
            "CPU milliseconds at each size (times ours), and the exponent: the slope of log time over log size, so "
            "that 0 is flat and 1 is linear; at the end: between the last two sizes that were answered. Errors and "
            "widths are relative; of a design, its certified gap. MB: memory, as below, of calls under "
            f"{scaling.TRACED:g} s. A method that was stopped is not asked again. Limit of one call: "
            f"{GROWTH[quick].limit:g} s."
        )
        yield Part("Growth", note, [])
        yield from (pages.growth(series, points) for series, points in grown)
    say("memory")
    note = "Peak of what Python and numpy held during one answer, traced in a run of its own; Rust is not seen."
    held = list(costs.memory(asked, rows, peers, QUICK if quick else FULL))
    yield Part("Memory", note, [costs.MEMORY_HEAD, *held] if held else [], frozenset({2, 3}))
    say("imports")
    note = (
        "CPU time of a fresh interpreter, the bare one subtracted: after the import, and after a first answer, the "
        "epsilon of one Gaussian in the way that takes each library the fewest words. Median of n."
    )
    found = costs.imports(peers, 1 if quick else 3)
    yield Part("Import", note, [costs.IMPORT_HEAD, *found], frozenset({1, 2, 3, 4, 5}))
    every = [measured.HEAD, *(row.cells for row in measured.grouped(rows))]
    yield Part("Every method", "", every, frozenset(measured.RIGHT))


def growth(peers: dict[Any, Any], pace: Pace) -> Iterator[tuple[Series, Sequence[Point]]]:
    """Every series with its points."""
    for series in (*scaling.compared(peers, pace), *scaling.alone(pace)):
        say(series.name)
        yield series, scaling.without_twins(list(scaling.grown(series, pace)))


def versions() -> list[str]:
    """When, where and with what, peers included."""
    return report.versions(*(peer.package for peer in PEERS))


def say(words: str) -> None:
    """Progress, apart from the results."""
    print(f"  {words[:100]}", file=sys.stderr, flush=True)


def written(path: Path, page: str, missing: Sequence[str]) -> None:
    """A page; but none of the documentation when it would lack a peer."""
    if missing and report.documented(path):
        say(f"{path.name} is not rewritten: {'; '.join(missing)}")
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
