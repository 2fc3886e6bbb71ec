"""Lines of the comparison, bars, and their rendering as text and Markdown."""

import dataclasses
import datetime
import importlib.metadata
import itertools
import math
import os
import platform
import subprocess
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.timing import Timing

PACKAGES = ("quiltwork", "numpy", "scipy", "mpmath")
MEASURED = ("src", "benchmarks")  # what decides a measurement; pages of the documentation change while they are written
ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
CPU = Path("/proc/cpuinfo")


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
    n: str = ""

    @classmethod
    def of(cls, case: str, method: str, timing: Timing, ratio: float, **more: Any) -> "Line":
        """A line whose time and number of repeats come from a timing."""
        return cls(case, method, timing.milliseconds, ratio, n=timing.n, **more)

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
            self.n,
        ]


HEAD = ["question", "method", "ms", "x ours", "error", "width", "certified", "fails", "n"]


@dataclasses.dataclass(frozen=True)
class Bar:
    """A promise and what was measured. `must`: one whose failure means a wrong answer, not a slow or a wide one."""

    name: str
    promised: str
    measured: str
    passed: bool
    must: bool = False

    @property
    def cells(self) -> list[str]:
        return ["PASS" if self.passed else "FAIL", self.name, self.promised, self.measured]


BAR_HEAD = ["", "bar", "promised", "measured"]


def at_least(name: str, least: float, measured: float, note: str = "") -> Bar:
    return Bar(name, f">= {least:g}x", f"{measured:.3g}x{note}", measured >= least)


def at_most(name: str, most: float, measured: float, unit: str = "x", note: str = "") -> Bar:
    return Bar(name, f"<= {most:g}{unit}", f"{measured:.3g}{unit}{note}", measured <= most)


def exit_code(bars: Iterable[Bar], check: bool) -> int:
    """1 for a wrong answer of ours, always; for any other bar that was missed only when asked to check."""
    missed = [bar for bar in bars if not bar.passed]
    for bar in missed:
        if bar.must:
            print(f"wrong: {bar.name}: promised {bar.promised}, measured {bar.measured}", file=sys.stderr)
    return 1 if any(bar.must or check for bar in missed) else 0


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


def versions(*more: str) -> list[str]:
    """When, where and with what; `more`: the packages that this page asks as well."""
    when = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")
    load = ", ".join(f"{x:.1f}" for x in os.getloadavg())
    packages = ", ".join(f"{name} {version(name)}" for name in (*PACKAGES, *more))
    machine = ", ".join(words for words in (f"{platform.system()} {platform.machine()}", processor()) if words)
    return [
        f"{when}; {commit()}Python {platform.python_version()}, {packages}.",
        f"{machine}, {os.cpu_count()} cores, load {load}.",
    ]


def commit() -> str:
    """Of this working tree, and whether what is measured has changed since; nothing where there is no git."""

    def git(*words: str) -> str:
        found = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
        return found.stdout.strip() if found.returncode == 0 else ""

    try:
        name = git("rev-parse", "--short", "HEAD")
        changed = git("status", "--porcelain", "--untracked-files=all", "--", *MEASURED)
    except OSError:
        return ""
    return f"commit {name}{' with changes' if changed else ''}, " if name else ""


def documented(path: Path) -> bool:
    """Whether this is a page of the documentation."""
    return DOCS in path.resolve().parents


def processor() -> str:
    """The model, where the system tells."""
    try:
        lines = CPU.read_text(encoding="utf-8").splitlines()
    except OSError:
        return ""
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")


NOTES = [
    "Medians of n interleaved repeats in one process, CPU time on one thread; compare ratios. Everything from the "
    "constructor to the answer is timed, in both directions (add, remove).",
    "error: of the reported epsilon (for brackets the upper end), relative to the truth. width: of the bracket, "
    "relative. certified: what the method claims to bound, whether or not it does here: where it is on the wrong side "
    'of the truth, "fails" says so; a peer may be off by 1e-13, and below 1e-9 that is called rounding. n: repeats; '
    '"1 (first)" is the first call, which may be slower. All peers: [everybody](benchmarks_peers.md).',
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
                "\n".join(versions("dp-accounting")),
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
