"""What a run found, as a table on the terminal, a page, and a page of the documentation."""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import math
import platform
import statistics
import sys
from collections.abc import Callable
from typing import Any

import quiltwork
from benchmarks.report import plain
from benchmarks.soundness.deal import Outcome
from benchmarks.soundness.every import KINDS, ORDER
from benchmarks.soundness.turns import Tally
from quiltwork.document.blocks import Fact, Facts, Grid, Section, Terms, Words
from quiltwork.document.page import Report

HEAD = (
    "room", "cases", "checks", "violations", "errors", "late", "skipped", "tightest margin", "median width", "widest",
    "seconds",
)  # fmt: skip
NOTE = (
    "A check is one claim about one question, with its own truth. Skipped: questions whose truth was refused. Margin: "
    "the least distance from the truth to the end that protects, as a part of the truth, equality left out; where it "
    "is less than half the distance of two doubles, the bound is the double next to the truth. Width: of brackets, as "
    "a part of the truth."
)
NEXT = 2.0**-53  # half the distance of two doubles


def bar(seconds: float) -> Callable[[float, Outcome], None]:
    """A progress bar, on a terminal only."""

    def draw(elapsed: float, outcome: Outcome) -> None:
        if not sys.stdout.isatty():
            return
        done = "#" * round(30 * min(elapsed / seconds, 1.0))
        wrong = sum(tally.wrong + tally.errors for tally in outcome.kinds.values())
        left = max(0.0, seconds - elapsed) / 60
        print(f"\r[{done:.<30}] {outcome.checks:,} checks, {wrong} wrong, {left:.1f} min left ", end="", flush=True)

    return draw


def rooms(outcome: Outcome) -> dict[str, Tally]:
    """One tally for each room, in order."""
    found: dict[str, Tally] = {}
    for room in ORDER:
        for title, tally in outcome.kinds.items():
            if KINDS[title].room == room:
                found.setdefault(room, Tally()).merge(tally)
    return found


def total(outcome: Outcome) -> Tally:
    """Of everything."""
    found = Tally()
    for tally in outcome.kinds.values():
        found.merge(tally)
    return found


def row(name: str, tally: Tally) -> list[str]:
    """A line of the table."""
    middle = f"{statistics.median(tally.widths):.1e}" if tally.widths else ""
    margin = f"{tally.margin:.1e}" if math.isfinite(tally.margin) else ""
    margin = "next double" if tally.margin < NEXT else margin
    widest = f"{tally.widest:.1e}" if tally.widths else ""
    counts = [f"{n:,}" for n in (tally.cases, tally.checks, tally.wrong, tally.errors, tally.late, tally.skipped)]
    return [name, *counts, margin, middle, widest, f"{tally.seconds:.0f}"]


def rows(outcome: Outcome) -> list[list[str]]:
    """All rooms, and the sum."""
    return [*(row(room, tally) for room, tally in rooms(outcome).items()), row("all", total(outcome))]


def told(outcome: Outcome, options: argparse.Namespace) -> str:
    """The run in a sentence."""
    found = total(outcome)
    cut = f", {outcome.cut} slices cut off at the end" if outcome.cut else ""
    return (
        f"{found.checks:,} checks of {found.cases:,} cases in {outcome.seconds / 60:.1f} minutes by {options.workers} "
        f"workers, seed {options.seed}: {found.wrong:,} violations, {found.errors:,} exceptions, {found.late:,} cases "
        f"late, {found.skipped:,} questions skipped{cut}."
    )


def most(outcome: Outcome) -> list[str]:
    """The kinds that make most of the checks, so that nobody takes cheap questions for hard ones."""
    found = sorted(outcome.kinds.items(), key=lambda one: -one[1].checks)[:5]
    shares = [f"{title} ({tally.checks / outcome.checks:.0%})" for title, tally in found if tally.checks]
    return [f"Most checks: {'; '.join(shares)}."] if len(outcome.kinds) > 5 and shares else []


def gaps(outcome: Outcome) -> list[str]:
    """What was not looked at: kinds without a case, without a check, and those that were always late."""
    never = [title for title, tally in outcome.kinds.items() if not tally.cases]
    empty = [title for title in outcome.silent if title not in never and title not in outcome.late]
    named = (("Not asked", never), ("Asked without a check", empty), ("Late in every case", outcome.late))
    return [f"{words}: {'; '.join(sorted(titles))}." for words, titles in named if titles]


def text(outcome: Outcome, options: argparse.Namespace) -> str:
    """For the terminal: by kind where kinds were named, else by room."""
    start = "\n" if sys.stdout.isatty() else ""
    named = [*(row(title, tally) for title, tally in sorted(outcome.kinds.items())), row("all", total(outcome))]
    lines = named if options.kinds else rows(outcome)
    table = plain([list(HEAD), *lines], right=set(range(1, len(HEAD))))
    return "\n".join([f"{start}{table}\n", told(outcome, options), *most(outcome), *gaps(outcome), NOTE])


def versions() -> list[tuple[str, str]]:
    """What was asked, and by what."""
    found = [("quiltwork", quiltwork.__version__), ("Python", platform.python_version())]
    return found + [(name, importlib.metadata.version(name)) for name in ("numpy", "scipy", "mpmath")]


def report(outcome: Outcome, options: argparse.Namespace) -> Report:
    """The page."""
    found = total(outcome)
    good = not found.wrong and not found.errors
    asked = len(outcome.kinds) - len(outcome.silent)
    facts = [
        Fact("checks", f"{found.checks:,}", f"of {found.cases:,} cases"),
        Fact("violations", f"{found.wrong:,}", "a bound that a truth passes", "good" if not found.wrong else "bad"),
        Fact("exceptions", f"{found.errors:,}", "no answer was given", "good" if not found.errors else "bad"),
        Fact("late", f"{found.late:,}", "cut off after 20 seconds"),
        Fact("kinds", f"{asked} of {len(outcome.kinds)}", "with checks", "good" if not outcome.silent else "bad"),
    ]
    columns = [HEAD[0], *((name, "number") for name in HEAD[1:])]
    kinds = [row(title, tally) for title, tally in sorted(outcome.kinds.items())]
    claims = [(claim, f"{n:,}", f"{wrong:,}") for claim, (n, wrong) in sorted(outcome.claims.items())]
    sections = [
        Section("Summary", [Facts(facts), *map(Words, (told(outcome, options), *most(outcome), *gaps(outcome), NOTE))]),
        Section("Rooms", [Grid(columns, rows(outcome))]),
        Section("Kinds of cases", [Grid(columns, kinds)]),
        Section("Claims", [Grid(["claim", ("checks", "number"), ("violations", "number")], claims)]),
        Section("Versions", [Terms([Fact(name, version) for name, version in versions()])]),
    ]
    data = {"met": good, "checks": found.checks, "cases": found.cases, "violations": found.wrong, "seed": options.seed,
            "silent": outcome.silent}  # fmt: skip
    return Report("Soundness campaign", "Random questions to every room, each answer against a truth.", sections, data)


def markdown(outcome: Outcome, options: argparse.Namespace) -> str:
    """The table of the documentation."""
    lines = ["| " + " | ".join(HEAD) + " |", "| --- |" + " ---: |" * (len(HEAD) - 1)]
    lines += ["| " + " | ".join(cells) + " |" for cells in rows(outcome)]
    day = datetime.datetime.now(datetime.UTC).date().isoformat()
    used = ", ".join(f"{name} {version}" for name, version in versions())
    parts: list[Any] = [
        "# Results of the last soundness run",
        f"Written by `python -m benchmarks.soundness --docs` on {day}; {used}.",
        told(outcome, options),
        *most(outcome),
        *gaps(outcome),
        "\n".join(lines),
        NOTE,
    ]
    return "\n\n".join(parts) + "\n"
