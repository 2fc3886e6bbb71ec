"""Lines of the comparison, bars, and their rendering as text and Markdown."""

import dataclasses
import datetime
import importlib.metadata
import itertools
import math
import os
import platform
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

from benchmarks.timing import Timing

PACKAGES = ("quiltwork", "numpy", "scipy", "dp-accounting", "prv-accountant")
BOTH, UPPER, NO = "both sides", "upper only", "no"


@dataclasses.dataclass(frozen=True)
class Line:
    """One method on one question. `ratio` is its time over ours, `error` that of the reported (upper) value."""

    case: str
    method: str
    milliseconds: float
    ratio: float
    error: float = math.nan
    width: float = math.nan
    certified: str = ""
    fails: str = ""
    repeats: int = 1

    @classmethod
    def of(cls, case: str, method: str, timing: Timing, ratio: float, **more: Any) -> "Line":
        """A line whose time and repeats come from a timing."""
        return cls(case, method, timing.milliseconds, ratio, repeats=timing.repeats, **more)

    @property
    def cells(self) -> list[str]:
        return [
            self.case,
            self.method,
            milliseconds(self.milliseconds),
            "" if math.isnan(self.ratio) else f"{self.ratio:.3g}",
            "inf" if math.isinf(self.error) else "" if math.isnan(self.error) else f"{self.error:+.1e}",
            "" if math.isnan(self.width) else f"{self.width:.1e}",
            self.certified,
            self.fails,
            str(self.repeats),
        ]


HEAD = ["question", "method", "ms", "x ours", "error", "width", "certified", "fails", "n"]


@dataclasses.dataclass(frozen=True)
class Bar:
    """A promise and what was measured."""

    name: str
    promised: str
    measured: str
    passed: bool

    @property
    def cells(self) -> list[str]:
        return ["PASS" if self.passed else "FAIL", self.name, self.promised, self.measured]


BAR_HEAD = ["", "bar", "promised", "measured"]


def at_least(name: str, least: float, measured: float, note: str = "") -> Bar:
    return Bar(name, f">= {least:g}x", f"{measured:.3g}x{note}", measured >= least)


def at_most(name: str, most: float, measured: float, unit: str = "x", note: str = "") -> Bar:
    return Bar(name, f"<= {most:g}{unit}", f"{measured:.3g}{unit}{note}", measured <= most)


def milliseconds(value: float) -> str:
    if math.isnan(value):
        return ""
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:.0f}"


def version(package: str) -> str:
    """Of a package, or that it is not here."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def versions() -> list[str]:
    """When, where and with what."""
    when = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")
    load = ", ".join(f"{x:.1f}" for x in os.getloadavg())
    packages = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    return [
        f"{when}; Python {platform.python_version()}, {packages}.",
        f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, load {load}.",
    ]


NOTES = [
    "Medians of n interleaved repeats in one process, CPU time on one thread; compare ratios. Everything from the "
    "constructor to the answer is timed, in both directions (add, remove).",
    "error: of the reported epsilon (for brackets the upper end), relative to the truth. width: of the bracket, "
    "relative. certified: what the method claims to bound; dp_accounting does not track the rounding of its FFTs, so "
    'where that shows, "fails" says so. All peers on more questions: [everybody](benchmarks_peers.md).',
]


def text(lines: Sequence[Line], bars: Sequence[Bar]) -> str:
    """For a terminal."""
    rows = [HEAD] + [line.cells for line in _grouped(lines)]
    return f"{plain(rows, right={2, 3, 4, 5, 8})}\n\n{plain([BAR_HEAD] + [bar.cells for bar in bars])}"


def markdown(lines: Sequence[Line], bars: Sequence[Bar]) -> str:
    """For the documentation."""
    failed = sum(not bar.passed for bar in bars)
    return (
        "\n\n".join(
            [
                "# The engine beside grids",
                "\n".join(versions()),
                *NOTES,
                rows_as_markdown([HEAD] + [line.cells for line in _grouped(lines)], right={2, 3, 4, 5, 8}),
                f"## Bars\n\n{len(bars) - failed} of {len(bars)} pass.",
                rows_as_markdown([BAR_HEAD] + [bar.cells for bar in bars]),
            ]
        )
        + "\n"
    )


def _grouped(lines: Sequence[Line]) -> list[Line]:
    """The question is named on its first line only."""
    again = [False, *(line.case == before.case for before, line in itertools.pairwise(lines))]
    return [dataclasses.replace(line, case="") if same else line for line, same in zip(lines, again, strict=True)]


def plain(rows: list[list[str]], right: Collection[int] = ()) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    aligned = [
        [cell.rjust(w) if i in right else cell.ljust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))]
        for row in [rows[0], ["-" * width for width in widths], *rows[1:]]
    ]
    return "\n".join("  ".join(row).rstrip() for row in aligned)


def rows_as_markdown(rows: list[list[str]], right: Collection[int] = ()) -> str:
    rule = ["---:" if i in right else "---" for i in range(len(rows[0]))]
    return "\n".join("| " + " | ".join(row) + " |" for row in [rows[0], rule, *rows[1:]])


def progress(items: Iterable[Any]) -> Iterator[Any]:
    """What was measured last, on a terminal only."""
    shown = sys.stderr.isatty()
    for item in items:
        if shown:
            name = str(getattr(item, "case", None) or getattr(item, "name", ""))
            print(f"\r{name[:90]:<90}", end="", file=sys.stderr, flush=True)
        yield item
    if shown:
        print("\r" + " " * 90 + "\r", end="", file=sys.stderr)
