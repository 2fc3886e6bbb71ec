"""Every benchmark, one after the other: `make benchmark`.

    python benchmarks/all.py [--quick | --long] [--only NAME ...] [--minutes M]

Without options: about 25 minutes on two idle cores. Pages of the documentation are rewritten by the sections that run
in full; sections that would take longer run in their short form and leave their page in build/benchmarks. --long runs
everything in full and rewrites every page (about an hour). --quick (about four minutes on idle cores) rewrites no
page of the documentation. What a section prints is kept in build/benchmarks/NAME.txt.

A section that fails or takes too long is reported, the others still run, and the exit code is then 1. Every section
fails when an answer of ours is wrong; a missed bar of speed is shown in its tables, and fails only with --check.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DOCS, BUILD = ROOT / "docs", ROOT / "build" / "benchmarks"
QUICK, USUAL, LONG = "quick", "usual", "long"
MINUTES = {QUICK: 10.0, USUAL: 40.0, LONG: 120.0}  # on a busy machine each takes longer than it says above
TAIL = 15  # lines of a failed section that are shown


@dataclasses.dataclass(frozen=True)
class Section:
    """A script. `short`: its options in short form; `usual`: whether it runs in full without --long."""

    name: str
    script: str
    page: str = ""
    short: tuple[str, ...] = ("--quick",)
    always: tuple[str, ...] = ()
    usual: bool = True
    in_quick: bool = True

    def full(self, mode: str) -> bool:
        return mode == LONG or (mode == USUAL and self.usual)

    def command(self, mode: str) -> list[str]:
        """What is run, and where its page goes."""
        full = self.full(mode)
        options = [*self.always, *(() if full else self.short)]
        if self.page:
            options += ["--markdown", str((DOCS if full else BUILD) / self.page)]
        if self.name == "peers":
            options += ["--html", str(ROOT / "build" / "benchmark.html")]
        return [sys.executable, "-W", "ignore", str(ROOT / "benchmarks" / self.script), *options]


SECTIONS = (
    Section("peers", "everybody.py", "benchmarks_peers.md", always=("--check",)),
    Section("plans", "tables_peers.py", "comparison_tables.md", short=(), always=("--check",)),
    Section("sampling", "sampling.py", "benchmarks_sampling.md", usual=False, in_quick=False),
    Section("engine", "engine.py", "benchmarks.md", in_quick=False),
    Section("tables", "tables.py", "benchmarks_tables.md", in_quick=False),
    Section("joining", "joining.py", "benchmarks_joining.md"),
    Section("release", "release.py", "benchmarks_release.md", usual=False, in_quick=False),
    Section("pufferfish", "pufferfish.py", "benchmarks_pufferfish.md", in_quick=False),
    Section("confounding", "confounding.py", "benchmarks_confounding.md", in_quick=False),
    Section("regions", "regions.py", "benchmarks_regions.md", usual=False, in_quick=False),
    Section("game", "game.py", "benchmarks_game.md", always=("--check",), usual=False, in_quick=False),
    Section(
        "data",
        "data.py",
        "benchmarks_data.md",
        short=("--rows", "1000000", "--spark-rows", "100000"),
        usual=False,
        in_quick=False,
    ),
    Section("ledger", "ledger.py", "benchmarks_ledger.md", usual=False, in_quick=False),
    Section("start", "start.py", short=("--repeats", "3")),
    Section("service", "web.py", "benchmarks_service.md", usual=False, in_quick=False),
)


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What became of a section."""

    name: str
    seconds: float
    problem: str = ""


def main(arguments: list[str] | None = None) -> int:
    """Run them, and say what was written and what failed."""
    options = parse(arguments)
    mode = QUICK if options.quick else LONG if options.long else USUAL
    chosen = [one for one in SECTIONS if (one.name in options.only if options.only else one.in_quick or mode != QUICK)]
    end = time.monotonic() + 60 * (options.minutes or MINUTES[mode])
    BUILD.mkdir(parents=True, exist_ok=True)
    found = []
    for number, section in enumerate(chosen, 1):
        form = "in full" if section.full(mode) else "short form"
        print(f"[{number}/{len(chosen)}] {section.name}, {form} ...", flush=True)
        outcome = run(section.name, section.command(mode), end - time.monotonic())
        print(f"      {outcome.problem or 'done'}, {outcome.seconds:.0f} s", flush=True)
        found.append(outcome)
    print(ending(found, chosen, mode))
    return 1 if any(one.problem for one in found) else 0


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """Command-line options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="about four minutes; rewrites no documentation")
    size.add_argument("--long", action="store_true", help="everything in full; rewrites every page")
    parser.add_argument("--only", nargs="+", choices=[one.name for one in SECTIONS], default=[], metavar="NAME")
    parser.add_argument("--minutes", type=float, help="time for all sections together")
    return parser.parse_args(arguments)


def run(name: str, command: Sequence[str], seconds: float) -> Outcome:
    """One section in a process of its own, with all that it started; its last lines when it fails."""
    if seconds <= 0:
        return Outcome(name, 0.0, "not run: the time is over")
    begin, kept = time.monotonic(), BUILD / f"{name}.txt"
    with kept.open("w", encoding="utf-8") as out:
        child = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, cwd=ROOT, start_new_session=True)
        try:
            code: int | None = child.wait(timeout=seconds)
        except BaseException as error:  # also when the user interrupts: nothing stays behind
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
            if not isinstance(error, subprocess.TimeoutExpired):
                raise
            code = None
    taken = time.monotonic() - begin
    if code == 0:
        return Outcome(name, taken)
    print("\n".join(kept.read_text(encoding="utf-8", errors="replace").splitlines()[-TAIL:]))
    return Outcome(name, taken, "stopped: the time is over" if code is None else f"failed with exit code {code}")


def ending(found: Sequence[Outcome], chosen: Sequence[Section], mode: str) -> str:
    """What there is to read."""
    lines = ["", f"{sum(not one.problem for one in found)} of {len(found)} sections, in {total(found):.0f} s"]
    lines += [f"  {one.name}: {one.problem}" for one in found if one.problem]
    for section, one in zip(chosen, found, strict=True):
        if not one.problem and section.page:
            folder = DOCS if section.full(mode) else BUILD
            lines.append(f"  {section.name}: {(folder / section.page).relative_to(ROOT)}")
    if any(one.name == "peers" and not one.problem for one in found):
        lines.append("  figures: build/benchmark.html")
    return "\n".join([*lines, f"  what was printed: {BUILD.relative_to(ROOT)}"])


def total(found: Sequence[Outcome]) -> float:
    return sum(one.seconds for one in found)


if __name__ == "__main__":
    sys.exit(main())
