"""The engine beside its peers, and the bars it has to clear.

    python benchmarks/engine.py [--quick] [--check] [--markdown FILE]

Exit code 0, or 1 with --check when a bar is missed. The whole run takes a few minutes, --quick under one.
"""

import argparse
import itertools
import math
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy: CPU time is then time on the wall
os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import cases, measures, peers  # noqa: E402
from benchmarks.cases import Case  # noqa: E402
from benchmarks.report import BOTH, NO, NOTES, UPPER, Bar, Line, at_least, at_most, markdown, text, versions  # noqa: E402
from benchmarks.timing import Timing, interleaved  # noqa: E402

GOOD = 1e-3  # the error that a coarse grid of dp_accounting has to reach
OURS, DEFAULT, INTERVAL = "quiltwork", f"dp_accounting h {peers.DEFAULT_STEP:g} (default)", "prv_accountant"


def main(arguments: list[str] | None = None) -> int:
    """Measure, print, write."""
    options = parse(arguments)
    found = list(progress(measured(options.quick, options.repeats)))
    lines = [item for item in found if isinstance(item, Line)]
    bars = [item for item in found if isinstance(item, Bar)]
    print("\n".join([*versions(), *NOTES, "", text(lines, bars)]))
    failed = [bar for bar in bars if not bar.passed]
    print(f"\n{len(bars) - len(failed)} of {len(bars)} bars pass")
    if options.markdown:
        options.markdown.parent.mkdir(parents=True, exist_ok=True)
        options.markdown.write_text(markdown(lines, bars), encoding="utf-8")
    return 1 if options.check and failed else 0


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """Command-line options."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer repeats, no coarse grids, slow peers left out")
    parser.add_argument("--repeats", type=int, default=None, help="of calls that take milliseconds (default 9, quick 5)")
    parser.add_argument("--markdown", type=Path, help="also write the tables to this file")
    parser.add_argument("--check", action="store_true", help="exit with 1 when a bar is missed")
    options = parser.parse_args(arguments)
    options.repeats = options.repeats or (5 if options.quick else 9)
    return options


def measured(quick: bool, repeats: int) -> Iterator[Line | Bar]:
    """All lines and bars, in the order of the report."""
    for case in [*cases.SMALL_DELTAS, *cases.LONG, *cases.OTHERS]:
        yield from compared(case, repeats, coarse=case.coarse and not quick)
    yield from distinct(repeats, quick)
    yield from flat(repeats)
    yield from closed_form(repeats)
    yield from measures.calibration(repeats)
    yield from measures.curves(repeats)
    yield from measures.grid(repeats)
    yield from measures.imports(repeats)
    yield from measures.memory()


def compared(case: Case, repeats: int, coarse: bool) -> Iterator[Line | Bar]:
    """One question to everybody."""
    calls = {OURS: case.ours, DEFAULT: lambda: case.theirs(peers.DEFAULT_STEP)}
    step = coarsest(case) if coarse else None
    name = f"dp_accounting h {step:g} (coarsest within 1e-3)" if step else ""
    if step:
        calls[name] = lambda: case.theirs(step)
    if case.interval:
        calls[INTERVAL] = case.interval
    found = interleaved(calls, repeats)
    mine = found.pop(OURS)
    bracket = mine.value
    width = (bracket.upper - bracket.lower) / case.truth
    holds = bracket.lower <= case.truth <= bracket.upper
    method = f"{OURS} ({bracket.method})"
    fails = "" if holds else "truth outside"
    yield Line(case.name, method, mine.milliseconds, 1.0, bracket.upper / case.truth - 1, width, BOTH, fails, mine.repeats)
    for method, timing in found.items():
        yield _line(case, method, timing, timing.seconds / mine.seconds)
    if coarse and not step:
        yield Line(case.name, "dp_accounting, coarser", math.nan, math.nan, fails="no step within 1e-3")
    yield Bar(f"truth inside, {case.name}", "lower <= truth <= upper", f"{bracket}", holds)
    yield at_most(f"width, {case.name}", case.sharp, width, "")
    if case.faster:
        ratio, other = found[DEFAULT].seconds / mine.seconds, found[DEFAULT].value
        note = " (it answers inf)" if other == math.inf else " (it is below truth)" if other < case.truth else ""
        yield at_least(f"over dp_accounting's default, {case.name}", case.faster, ratio, note)
    if case.faster_coarse and step:
        ratio = found[name].seconds / mine.seconds
        yield at_least(f"over its coarsest grid within 1e-3, {case.name}", case.faster_coarse, ratio, f" (h {step:g})")


def coarsest(case: Case) -> float | None:
    """dp_accounting's largest discretisation interval whose answer is within 1e-3 of the truth, or None."""
    for step in peers.STEPS:
        found = interleaved({"": lambda step=step: case.theirs(step)}, 0)[""]
        if not found.refusal and abs(found.value / case.truth - 1) <= GOOD:
            return step
    return None


def _line(case: Case, method: str, timing: Timing, ratio: float) -> Line:
    """A peer's answer judged: refusal, infinity, below the truth, truth outside."""
    certified = BOTH if method == INTERVAL else UPPER
    if timing.refusal:
        return Line(case.name, method, timing.milliseconds, ratio, certified=NO, fails=f"refuses ({timing.refusal})")
    ends = timing.value if isinstance(timing.value, tuple) else (math.nan, timing.value)
    error, width = ends[1] / case.truth - 1, (ends[1] - ends[0]) / case.truth
    fails = ""
    if math.isinf(ends[1]):
        fails = "inf"
    elif ends[1] < case.truth * (1 - 1e-14):
        fails, certified = "below truth", NO
    elif ends[0] > case.truth:
        fails, certified = "truth below the interval", UPPER
    return Line(case.name, method, timing.milliseconds, ratio, error, width, certified, fails, timing.repeats)


def distinct(repeats: int, quick: bool) -> Iterator[Line | Bar]:
    """Two hundred different releases; dp_accounting takes half a minute, so it runs once, or not at all."""
    if not quick:
        yield from compared(cases.DISTINCT_CASE, repeats, coarse=False)
        return
    case = cases.DISTINCT_CASE
    mine = interleaved({OURS: case.ours}, repeats)[OURS]
    width = (mine.value.upper - mine.value.lower) / case.truth
    error = mine.value.upper / case.truth - 1
    yield Line(case.name, f"{OURS} ({mine.value.method})", mine.milliseconds, 1.0, error, width, BOTH, repeats=mine.repeats)


def flat(repeats: int) -> Iterator[Line | Bar]:
    """Our own times as the number of releases, or the smallness of delta, grows."""
    for name, chosen in (("T 1e4, 1e5, 1e6 at sigma 1, rate 0.001", cases.LONG), ("delta 1e-5 to 1e-100", cases.SMALL_DELTAS)):
        found = interleaved({case.name: case.ours for case in chosen}, max(repeats, 7))
        times = [timing.milliseconds for timing in found.values()]
        shown = ", ".join(f"{ms:.2f}" for ms in times)
        yield at_most(f"slowest over fastest, {name}", 2, max(times) / min(times), note=f" ({shown} ms)")


def closed_form(repeats: int) -> Iterator[Line | Bar]:
    """For the record: dp_accounting's closed form, when the user already knows that all releases are Gaussian."""
    case = cases.OTHERS[0]
    found = interleaved({OURS: case.ours, "closed": lambda: peers.closed_gaussian(10 / math.sqrt(1000), case.delta)}, repeats)
    ratio = found["closed"].seconds / found[OURS].seconds
    yield _line(case, "dp_accounting closed form, uncertified", found["closed"], ratio)


def progress(items: Iterable[Line | Bar]) -> Iterator[Line | Bar]:
    """What is being measured, on a terminal only."""
    shown = sys.stderr.isatty()
    for item, number in zip(items, itertools.count(1), strict=False):
        if shown:
            name = item.case if isinstance(item, Line) else item.name
            print(f"\r{number:4d}  {name[:90]:<90}", end="", file=sys.stderr, flush=True)
        yield item
    if shown:
        print("\r" + " " * 96 + "\r", end="", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
