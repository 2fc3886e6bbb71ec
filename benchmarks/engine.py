"""The engine beside grids of dp_accounting, and the bars it has to clear; everybody.py asks all peers.

    python benchmarks/engine.py [--quick] [--check] [--markdown FILE]

Exit code 1 when an answer of ours is wrong, and with --check when any bar is missed. A full run takes about two
minutes, --quick about one.
"""

import argparse
import math
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before numpy: CPU time is then time on the wall
os.environ["OMP_NUM_THREADS"] = "1"
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import cases, few, measures, peers, report, transforms, verdicts
from benchmarks.cases import Case
from benchmarks.report import Bar, Line, at_least, at_most
from benchmarks.timing import PATIENCE, Timing, interleaved
from benchmarks.verdicts import BOTH, NO, OUR_ROUNDING, ROUNDED, UPPER_IDEAL

GOOD = 1e-3  # the error that a coarse grid of dp_accounting has to reach
OURS, DEFAULT = "quiltwork", f"dp_accounting h {peers.DEFAULT_STEP:g} (default)"
Found = Iterator[Line | Bar]


def main(arguments: list[str] | None = None) -> int:
    """Measure, print, write."""
    options = parse(arguments)
    found = list(report.progress(measured(options.quick)))
    lines = [item for item in found if isinstance(item, Line)]
    bars = [*containment(lines), *(item for item in found if isinstance(item, Bar))]
    failed = sum(not bar.passed for bar in bars)
    print("\n".join([*report.versions("dp-accounting"), *report.NOTES, "", report.text(lines, bars)]))
    print(f"\n{len(bars) - failed} of {len(bars)} bars pass")
    if options.markdown:
        options.markdown.parent.mkdir(parents=True, exist_ok=True)
        options.markdown.write_text(report.markdown(lines, bars), encoding="utf-8")
    return report.exit_code(bars, options.check)


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """Command-line options."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--quick", action="store_true", help="fewer repeats, no coarse grids, the slowest peers left out"
    )
    parser.add_argument("--markdown", type=Path, help="also write the tables to this file")
    parser.add_argument("--check", action="store_true", help="exit with 1 when a bar is missed")
    return parser.parse_args(arguments)


def measured(quick: bool) -> Found:
    """All lines and bars, in the order of the report."""
    repeats, patience = (5, 1.0) if quick else (7, PATIENCE / 3)
    for case in [*cases.SMALL_DELTAS, *cases.LONG]:
        yield from compared(case, repeats, patience, coarse=not quick)
    yield from flat("T 1e4, 1e5, 1e6 at sigma 1, rate 0.001", cases.LONG, repeats)
    yield from flat("delta 1e-5 to 1e-100", cases.SMALL_DELTAS, repeats)
    yield from compared(cases.GAUSSIAN, repeats, patience, coarse=not quick)
    yield from closed_form(repeats)
    for case in cases.OTHERS:
        yield from compared(case, repeats, patience, coarse=not quick)
    yield from compared(cases.SEVERAL, repeats, patience, coarse=False)
    yield from compared(cases.MANY, repeats, patience, coarse=False, alone=quick)
    yield from few.bars(repeats)
    yield from measures.calibration(repeats)
    yield from measures.profiles(repeats)
    yield from measures.trade_offs(repeats)
    yield from measures.grid(repeats)
    yield from transforms.bars(repeats)
    yield from measures.imports(repeats)
    yield from measures.memory()


def compared(case: Case, repeats: int, patience: float, coarse: bool, alone: bool = False) -> Found:
    """One question to everybody, or to ourselves alone."""
    step = coarsest(case) if coarse else None
    tuned = f"dp_accounting h {step or 0:g} (coarsest good)"
    calls = {OURS: case.ours}
    if not alone:
        calls[DEFAULT] = lambda: case.theirs(peers.DEFAULT_STEP)
        if step:
            calls[tuned] = lambda: case.theirs(step)
    found = interleaved(calls, repeats, patience)
    mine = found.pop(OURS)
    if mine.refusal:
        yield Bar(f"an answer, {case.name}", "always", mine.refusal, False, must=True)
        return
    ratios = {name: timing.seconds / mine.seconds for name, timing in found.items()}
    ends = mine.value.lower, mine.value.upper
    yield judged(case, f"{OURS} ({mine.value.method})", mine, ends, 1.0, BOTH, OUR_ROUNDING)
    for name, timing in found.items():
        yield peer_line(case, name, timing, ratios[name])
    if coarse and not step:
        yield Line(case.name, "dp_accounting, any coarser h", math.nan, math.nan, fails="none is within 1e-3")
    if case.faster and not alone:
        note = " (it answers inf)" if found[DEFAULT].value == math.inf else ""
        yield at_least(f"over dp_accounting's default, {case.name}", case.faster, ratios[DEFAULT], note)
    if case.faster_coarse and step:
        yield at_least(f"over its coarsest good grid, {case.name}", case.faster_coarse, ratios[tuned], f" (h {step:g})")


def coarsest(case: Case) -> float | None:
    """dp_accounting's largest discretisation interval whose answer is within 1e-3 of the truth, or None."""
    for step in peers.STEPS:
        found = interleaved({"": lambda step=step: case.theirs(step)}, 0)[""]
        if not found.refusal and abs(found.value / case.truth - 1) <= GOOD:
            return step
    return None


def peer_line(case: Case, method: str, timing: Timing, ratio: float) -> Line:
    """A peer's answer, or its refusal."""
    if timing.refusal:
        return Line.of(case.name, method, timing, ratio, certified=UPPER_IDEAL, fails=f"refuses: {timing.refusal}")
    return judged(case, method, timing, (-math.inf, timing.value), ratio, UPPER_IDEAL, ROUNDED)


def judged(
    case: Case, method: str, timing: Timing, ends: tuple[float, float], ratio: float, claim: str, rounding: float
) -> Line:
    """An answer beside the truth: infinite, below it, or an interval that misses it."""
    low, high = ends
    fails = verdicts.beside(low, high, case.truth, rounding)
    width = math.nan if low == -math.inf else (high - low) / case.truth
    error = high / case.truth - 1
    return Line.of(case.name, method, timing, ratio, error=error, width=width, certified=claim, fails=fails)


def containment(lines: Iterable[Line]) -> Found:
    """Over all questions with a known truth: is it inside, and how narrow is the bracket?"""
    mine = [line for line in lines if line.method.startswith(OURS) and not math.isnan(line.error) and line.width > 0]
    inside = sum(not line.fails for line in mine)
    yield Bar("brackets that hold the truth", "all", f"{inside} of {len(mine)}", inside == len(mine), must=True)
    response = [line for line in mine if line.case == cases.STRICT]
    held = bool(response) and not any(line.fails for line in response)
    name = "... among them 26.5292, " + cases.STRICT
    yield Bar(name, "inside", "inside" if held else "outside", held, must=True)
    gridded = [line.width for line in mine if "grid" in line.method]
    others = [line.width for line in mine if "grid" not in line.method]
    yield at_most("widest bracket where no grid answered", 1e-6, max(others, default=0.0), "")
    yield at_most("widest bracket where a grid answered", 1e-3, max(gridded, default=0.0), "")


def flat(name: str, chosen: list[Case], repeats: int) -> Found:
    """Our own times as the number of releases, or the smallness of delta, grows."""
    found = interleaved({case.name: case.ours for case in chosen}, max(repeats, 7))
    times = [timing.milliseconds for timing in found.values()]
    shown = ", ".join(f"{value:.2f}" for value in times)
    yield at_most(f"slowest over fastest, {name}", 2, max(times) / min(times), note=f" ({shown} ms)")


def closed_form(repeats: int) -> Found:
    """For the record: dp_accounting's closed form, when the user already knows that all releases are Gaussian."""
    case = cases.GAUSSIAN
    closed = {"closed": lambda: peers.closed_gaussian(10 / math.sqrt(1000), case.delta)}
    found = interleaved({OURS: case.ours, **closed}, repeats)
    timing, ratio = found["closed"], found["closed"].seconds / found[OURS].seconds
    error = timing.value / case.truth - 1
    yield Line.of(case.name, "dp_accounting closed form", timing, ratio, error=error, certified=NO)


if __name__ == "__main__":
    sys.exit(main())
