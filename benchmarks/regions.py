"""Whole privacy regions of several constraints at once: ours, Theorem 3 as printed, dp_accounting, and the bars.

    python benchmarks/regions.py [--quick] [--check] [--markdown FILE]

Exit code 1 when an answer of ours is wrong, and with --check when any bar is missed. A full run takes about five
minutes, --quick about one.
"""

import argparse
import dataclasses
import functools
import itertools
import json
import math
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before numpy: CPU time is then time on the wall
os.environ["OMP_NUM_THREADS"] = "1"
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import mpmath
import numpy as np
from dp_accounting.pld import privacy_loss_distribution as pld
from scipy.special import ndtr, ndtri
from tests.truth.constraints import composed, faces
from tests.truth.numbers import mp

import quiltwork as qw
from benchmarks import printed_theorem, report
from benchmarks.exact_sums import gaussian_delta
from benchmarks.region_truths import PAIRS, STORE
from benchmarks.report import Bar, at_most, plain, rows_as_markdown
from benchmarks.timing import PATIENCE, Timing, interleaved, peak_megabytes
from quiltwork.losses.families.constraints import active, weights

COUNTS = (10, 20, 30, 100, 300, 1000, 3000)
PRINTED = 30  # Theorem 3 as printed is O(k^5)
WRITTEN_OUT = 30  # up to here every face is computed in high precision within the run
OURS, THEOREM = "quiltwork", "Theorem 3 as printed"
ASKED = 20  # deltas that dp_accounting is asked for, each a pass over its array
CELLS = 2e7  # the longest array that dp_accounting is asked for
DEEP, PLAIN = 1e-150, 1e-10
INPUT = 2**-50  # the truths are for decimals, the library is given the nearest doubles
STORED = json.loads(STORE.read_text(encoding="utf-8"))["delta"]
ROOT = Path(__file__).resolve().parents[1]
REFERENCE = json.loads((ROOT / "tests" / "reference_multi_constraints.json").read_text(encoding="utf-8"))
Points = Sequence[tuple[float, float]]
Truth = list[tuple[float, float]]


@dataclasses.dataclass(frozen=True)
class Row:
    """One method on one region. Errors are relative, of the reported (upper) deltas, the worst over all truths."""

    case: str
    method: str
    timing: Timing
    ratio: float
    faces: int
    megabytes: float
    plain: float  # error where delta >= 1e-10
    deep: float  # error where delta >= 1e-150
    width: float
    middle: float  # error of the middle of our brackets, where delta >= 1e-150
    least: float  # the smallest delta compared
    fails: str = ""

    @property
    def cells(self) -> list[str]:
        return [
            self.case,
            self.method,
            f"{self.timing.milliseconds:.3g}",
            f"{self.ratio:.3g}",
            f"{self.faces:,}",
            "" if math.isnan(self.megabytes) else f"{self.megabytes:.3g}",
            f"{self.plain:.1e}",
            f"{self.deep:.1e}",
            "" if math.isnan(self.width) else f"{self.width:.1e}",
            f"{self.least:.0e}",
            self.fails,
            self.timing.n,
        ]


HEAD = [
    "constraints, k",
    "method",
    "ms",
    "x ours",
    "deltas",
    "MB",
    "error",
    "error, tiny",
    "width",
    "least",
    "fails",
    "n",
]
RIGHT = {2, 3, 4, 5, 6, 7, 8, 9, 11}
NOTES = [
    "Medians of n interleaved repeats in one process, CPU time on one thread; compare ratios. Ours and Theorem 3 give "
    "every face of the region; dp_accounting is asked for 20 deltas at most, at its default interval and at the finest "
    "one that fits 2e7 cells.",
    "error: the worst relative error of the deltas reported, where the truth is at least 1e-10; error, tiny: where it "
    "is at least 1e-150; width: of our widest bracket there; least: the smallest delta compared. Up to k = 30 the "
    "truth is every face, computed in this run in 70 digits; above, deltas stored to 30 digits "
    "(benchmarks/region_truths.py). MB: peak memory, traced in a run of its own.",
]
Found = Iterator[Row | Bar]


def main(arguments: list[str] | None = None) -> int:
    """Measure, print, write."""
    options = parse(arguments)
    found = list(report.progress(measured(options.quick)))
    rows = [item for item in found if isinstance(item, Row)]
    bars = [*judged(rows), *(item for item in found if isinstance(item, Bar))]
    failed = sum(not bar.passed for bar in bars)
    table = [HEAD, *(row.cells for row in grouped(rows))]
    listed = [["", "bar", "promised", "measured"], *(_spoken(bar) for bar in bars)]
    print("\n".join([*report.versions("dp-accounting"), *NOTES, "", plain(table, RIGHT), "", plain(listed)]))
    print(f"\n{len(bars) - failed} of {len(bars)} bars met")
    if options.markdown:
        text = ["# Regions beside the printed theorem", "\n".join(report.versions("dp-accounting")), *NOTES]
        text += [
            rows_as_markdown(table, RIGHT),
            f"## Bars\n\n{len(bars) - failed} of {len(bars)} met.",
            rows_as_markdown(listed),
        ]
        options.markdown.write_text("\n\n".join(text) + "\n", encoding="utf-8")
    return report.exit_code(bars, options.check)


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """Command-line options."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer repeats, no fine grids of dp_accounting")
    parser.add_argument("--markdown", type=Path, help="also write the tables to this file")
    parser.add_argument("--check", action="store_true", help="exit with 1 when a bar is missed")
    return parser.parse_args(arguments)


def measured(quick: bool) -> Found:
    """All rows and bars, in the order of the report."""
    repeats, patience = (3, 2.0) if quick else (7, PATIENCE)
    for name, count in itertools.product(PAIRS, COUNTS):
        yield from compared(name, count, repeats, patience, fine=not quick)
    yield from single_deltas()
    yield from many_releases(repeats)
    yield from eight_constraints(repeats)
    yield from gaussian_function(repeats)


# ---- regions


def compared(name: str, count: int, repeats: int, patience: float, fine: bool) -> Found:
    """One region by everybody, with the error of each."""
    points = [(float(e), float(d)) for e, d in PAIRS[name]]
    truth = known(name, count)
    calls: dict[str, Callable[[], Any]] = {OURS: functools.partial(ours, points, count)}
    if count <= PRINTED:
        epsilons, deltas = zip(*points, strict=True)
        calls[THEOREM] = functools.partial(printed_theorem.faces, epsilons, deltas, count)
    for step in steps(points, count, fine):
        calls[f"dp_accounting h {step:g}"] = functools.partial(gridded, points, count, step, truth)
    found = interleaved(calls, repeats, patience)
    mine, memory = found[OURS].seconds, {OURS: peak_megabytes(calls[OURS])}
    if fine:
        memory |= {method: peak_megabytes(call) for method, call in calls.items() if method.startswith("dp_")}
    case = f"{', '.join(f'({e}, {d})' for e, d in PAIRS[name])}, {count}"
    for method, timing in found.items():
        ratio, traced = timing.seconds / mine, memory.get(method, math.nan)
        yield row(case, method, timing, ratio, traced, truth, *answered(method, timing.value, truth))
    if count == 1000:
        yield at_most(f"memory of the region, {name}, k = {count}", 200, memory[OURS], " MB")
    if count >= 1000:
        yield at_most(f"time of the region, {name}, k = {count}", 1 if count == 1000 else 6, mine, " s")


def ours(points: Points, count: int) -> qw.Region:
    """Every face, from the constructor on."""
    return (count * qw.constraints(points)).region()


def known(name: str, count: int) -> Truth:
    """(epsilon, delta) pairs that are true: at all faces but the last, where delta is 0, or the stored ones."""
    if count <= WRITTEN_OUT:
        law = composed([(PAIRS[name], count)])
        places = [float(e) for e, d in faces(law) if d > 0]  # near a face, and the truth is asked exactly there
        return [(place, float(law.delta(mp.mpf(repr(place))))) for place in places]  # questions are read as typed
    pairs = [(float(e), float(d)) for e, d in STORED[f"{name} {count}"].items()]
    if (name, count) == ("on grid", 300):
        pairs += [(float(e), float(d)) for e, d in REFERENCE["tiny_delta_k300"]["delta"].items()]
    return sorted(pairs)


def steps(points: Points, count: int, fine: bool) -> list[float]:
    """Discretisation intervals for dp_accounting: the default, and the finest that fits."""
    span = 2 * count * max(e for e, _ in points)
    finest = next(step for step in (1e-6, 1e-5, 1e-4) if span / step <= CELLS)
    return list(dict.fromkeys([1e-4, *([finest] if fine else [])]))


def gridded(points: Points, count: int, step: float, truth: Truth) -> list[float]:
    """dp_accounting's deltas where the truth is known."""
    reveal, mass = weights(kept := active(points))
    upper, lower = ({"revealed": math.log(reveal)}, {"hidden": math.log(reveal)}) if reveal else ({}, {})
    for (e, _), weight in zip(kept, mass, strict=True):
        upper[e, 1] = lower[e, 0] = math.log(weight / (1 + math.exp(-e)))
        upper[e, 0] = lower[e, 1] = math.log(weight / (1 + math.exp(e)))
    one = pld.from_two_probability_mass_functions(lower, upper, value_discretization_interval=step)
    total = one.self_compose(count)
    asked = set(np.linspace(0, len(truth) - 1, ASKED).astype(int).tolist())
    return [float(total.get_delta_for_epsilon(e)) if i in asked else math.nan for i, (e, _) in enumerate(truth)]


def answered(method: str, value: Any, truth: Truth) -> tuple[np.ndarray, str]:
    """The deltas where the truth is known, and what is wrong with the answer as a whole."""
    places = np.array([epsilon for epsilon, _ in truth])
    if method == THEOREM:
        return looked_up(value, places)
    exact = np.array([delta for _, delta in truth])
    if method == OURS:
        bracket = value.delta(places)
        outside = (bracket.lower > exact * (1 + INPUT)) | (bracket.upper < exact * (1 - INPUT))
        return np.asarray(bracket.upper), f"misses the truth {outside.sum()} times" if outside.any() else ""
    below = int(np.sum(np.array(value) < exact * (1 - INPUT)))
    return np.array(value), f"below truth {below} times" if below else ""


def looked_up(printed: list[tuple[float, float]], places: np.ndarray) -> tuple[np.ndarray, str]:
    """The printed delta of each face; a face that was dropped gets NaN."""
    slopes = np.array([e for e, _ in printed])
    near = [np.flatnonzero(np.abs(slopes - place) < 1e-9) for place in places]
    deltas = np.array([min(printed[i][1] for i in found) if found.size else math.nan for found in near])
    dropped = int(np.isnan(deltas).sum())
    negative = int(np.sum(deltas < 0))
    said = [f"drops {dropped} face{'s' * (dropped > 1)}"] if dropped else []
    return deltas, ", ".join([*said, *([f"negative at {negative}"] if negative else [])])


def row(
    case: str,
    method: str,
    timing: Timing,
    ratio: float,
    megabytes: float,
    truth: Truth,
    deltas: np.ndarray,
    fails: str,
) -> Row:
    """The worst errors of one answer."""
    exact = np.array([delta for _, delta in truth])
    errors = np.abs(deltas / exact - 1)
    worst = [float(np.nanmax(errors[exact >= floor])) for floor in (PLAIN, DEEP)]
    size, width, middle = int(np.isfinite(deltas).sum()), math.nan, math.nan
    if method == OURS:
        size = timing.value.epsilons.size
        bracket = timing.value.delta(np.array([epsilon for epsilon, _ in truth]))[exact >= DEEP]
        width = float(np.max(bracket.relative_width))
        middle = float(np.max(np.abs(bracket.midpoint / exact[exact >= DEEP] - 1)))
    least = float(exact[exact >= DEEP].min())
    return Row(case, method, timing, ratio, size, megabytes, *worst, width, middle, least, fails)


def judged(rows: Sequence[Row]) -> Iterator[Bar]:
    """Over all regions: is the truth inside, and how close?"""
    mine = [row for row in rows if row.method == OURS]
    missed = [row for row in mine if row.fails]
    held = f"{len(mine) - len(missed)} of {len(mine)}"
    yield Bar("regions whose brackets hold every truth", "all", held, not missed, must=True)
    for name, value in (("published end", "deep"), ("middle", "middle")):
        worst = max(mine, key=lambda row, value=value: getattr(row, value))
        note = f" (at k = {worst.case.split()[-1]})"
        yield at_most(f"error of a region's deltas down to 1e-150, {name}", 1e-12, getattr(worst, value), "", note)


# ---- single questions


def single_deltas() -> Found:
    """The deltas of the stored truths, asked without the region, to nine digits."""
    for name, count in itertools.product(PAIRS, COUNTS[3:]):
        points = [(float(e), float(d)) for e, d in PAIRS[name]]
        places, exact = (np.array(column) for column in zip(*known(name, count), strict=True))
        timing = interleaved({"": functools.partial(deltas, points, count, places, 1e-9)}, 1)[""]
        bracket = timing.value
        inside = bool(np.all((bracket.lower <= exact * (1 + INPUT)) & (exact * (1 - INPUT) <= bracket.upper)))
        note = f" ({bracket.method}, {exact.size} deltas in {timing.seconds:.2g} s)"
        case = f"{name}, k = {count}"
        yield at_most(f"width of delta at rtol 1e-9, {case}", 1e-9, bracket.relative_width.max(), "", note)
        yield Bar(f"single deltas hold the truth, {case}", "all", "all" if inside else "not all", inside, must=True)


def deltas(points: Points, count: int, places: Any, rtol: float) -> qw.Bracket:
    """From the constructor to the answer."""
    return (count * qw.constraints(points)).delta(places, rtol=rtol)


def many_releases(repeats: int) -> Found:
    """One delta of 100,000 releases, commensurable epsilons."""
    points = [(float(e), float(d)) for e, d in PAIRS["on grid"]]
    timing = interleaved({"": functools.partial(deltas, points, 10**5, 2300.0, 1e-3)}, repeats)[""]
    note = f" ({timing.value})"
    yield at_most("time of one delta, on grid, k = 1e5", 0.5, timing.seconds, " s", note)


def eight_constraints(repeats: int) -> Found:
    """Eight constraints at epsilons without a common step, a thousand times."""
    epsilons = [math.sqrt(prime) / 10 for prime in (2, 3, 5, 7, 11, 13, 17, 19)]
    shape = qw.gdp(0.12)
    points = [(epsilon, float(shape.delta(epsilon).upper)) for epsilon in epsilons]
    kept = len(active(points))
    for place in (8.0, 14.0, 20.0):
        timing = interleaved({"": functools.partial(deltas, points, 1000, place, 1e-4)}, repeats)[""]
        name = f"{kept} constraints, k = 1000, delta({place:g})"
        yield at_most(f"width, {name}", 1e-4, timing.value.relative_width, "", f" ({timing.value})")
        yield at_most(f"time, {name}", 1, timing.seconds, " s")


def gaussian_function(repeats: int) -> Found:
    """The trade-off function of a Gaussian, given as code, a hundred times."""

    def function(alpha: float) -> float:
        return float(ndtr(ndtri(1 - alpha) - 1)) if alpha < 1 else 0.0

    timing = interleaved({"": lambda: (100 * qw.tradeoff(function)).delta(92.0, rtol=1e-3)}, repeats)[""]
    name = "Gaussian mu 1 as a function, k = 100, delta(92)"
    if timing.refusal:
        yield Bar(name, "an answer", timing.refusal, False, must=True)
        return
    yield at_most(f"width, {name}", 1e-3, timing.value.relative_width, "", f" ({timing.value}; {timing.seconds:.2g} s)")
    with mpmath.workdps(30):
        truth = float(gaussian_delta(mpmath.mpf(10), mpmath.mpf(92)))
    yield Bar(
        f"truth inside, {name}",
        f"{truth:.6g}",
        "inside" if truth in timing.value else "outside",
        truth in timing.value,
        must=True,
    )


# ---- rendering


def _spoken(bar: Bar) -> list[str]:
    return ["met" if bar.passed else "MISSED", bar.name, bar.promised, bar.measured]


def grouped(rows: Sequence[Row]) -> list[Row]:
    """The region is named on its first row only."""
    again = [False, *(row.case == before.case for before, row in itertools.pairwise(rows))]
    return [dataclasses.replace(row, case="") if same else row for row, same in zip(rows, again, strict=True)]


if __name__ == "__main__":
    sys.exit(main())
