"""Options, exit codes and files of the command."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.soundness import show
from benchmarks.soundness.deal import Outcome, campaign
from benchmarks.soundness.every import KINDS, ORDER, of_rooms
from benchmarks.soundness.rooms.ledger import FOLDER
from benchmarks.soundness.turns import again

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "soundness"
DOCS = ROOT / "docs" / "soundness_results.md"
LONG = 15.0  # minutes in which every kind must be asked


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """Command-line options."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.soundness",
        description="Random questions to every room, each answer against a truth of its own.",
        epilog="Exit code 0: every claim held. 1: a violation or an exception, the smallest saved in build/soundness. "
        "2: fewer checks than asked for, or a kind without a check though all were asked (or though the run was "
        "of 15 minutes).",
    )
    parser.add_argument("--minutes", type=float, default=15.0, help="stop after this long (15)")
    parser.add_argument("--checks", type=int, help="fewer than this many is exit code 2")
    parser.add_argument("--seed", type=int, help="any whole number; a new one each run by default")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--only", nargs="+", choices=ORDER, default=list(ORDER), metavar="ROOM", help=", ".join(ORDER))
    parser.add_argument("--kinds", nargs="+", metavar="WORDS", help="only kinds whose title holds one of these words")
    parser.add_argument("--replay", type=Path, metavar="FILE", help="ask the counterexample of a file again")
    parser.add_argument("--docs", action="store_true", help="also write the table to docs/soundness_results.md")
    parser.add_argument("--out", type=Path, default=BUILD, help="folder of the page and of counterexamples")
    options = parser.parse_args(arguments)
    if options.seed is None:
        options.seed = int.from_bytes(os.urandom(4), "big")
    return options


def main(arguments: list[str] | None = None) -> int:
    """Run, or replay."""
    options = parse(arguments)
    if options.replay is not None:
        return replay(options.replay)
    rooms = of_rooms(options.only)
    kinds = [title for titles in rooms.values() for title in titles]
    if options.kinds:
        kinds = [title for title in kinds if any(words in title for words in options.kinds)]
        if not kinds:
            print(f"no kind is called {' or '.join(options.kinds)}; there are {'; '.join(KINDS)}", file=sys.stderr)
            return 2
    crew = (
        f"{options.workers} workers, {len({KINDS[title].room for title in kinds})} rooms, {len(kinds)} kinds of cases"
    )
    print(f"seed {options.seed}, {crew}", flush=True)
    bar = show.bar(60 * options.minutes)
    with short_lived():
        outcome = campaign(kinds, options.seed, 60 * options.minutes, options.workers, bar)
    print(show.text(outcome, options))
    options.out.mkdir(parents=True, exist_ok=True)
    page = options.out / "index.html"
    page.write_text(show.report(outcome, options).to_html(), encoding="utf-8")
    print(f"page: {_short(page)}")
    if options.docs:
        DOCS.write_text(show.markdown(outcome, options), encoding="utf-8")
        print(f"table: {_short(DOCS)}")
    if save(outcome, options.out, options.seed):
        return 1
    if outcome.silent and (outcome.all_asked or options.minutes >= LONG):
        print(f"without a check: {'; '.join(outcome.silent)}")
        return 2
    if options.checks is not None and outcome.checks < options.checks:
        print(f"only {outcome.checks:,} of {options.checks:,} checks")
        return 2
    return 0


@contextlib.contextmanager
def short_lived() -> Iterator[None]:
    """A folder for the files of workers, in memory where there is such a place: who is cut off clears nothing away."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(prefix="quiltwork-", dir=memory if memory.is_dir() else None) as folder:
        os.environ[FOLDER] = folder
        yield
    del os.environ[FOLDER]


def save(outcome: Outcome, folder: Path, seed: int) -> list[Path]:
    """The smallest counterexample of every kind and claim; those of other runs, by other seeds, stay."""
    best: dict[tuple[str, str, str], dict[str, Any]] = {}
    for failure in sorted(outcome.failures, key=lambda one: one["size"]):
        best.setdefault((failure["room"], failure["kind"], failure["claim"]), failure)
    paths = []
    for index, failure in enumerate(sorted(best.values(), key=lambda one: (one["room"], one["size"]))):
        path = folder / f"counterexample-{seed}-{failure['room']}-{index}.json"
        path.write_text(json.dumps(failure, indent=1, default=str) + "\n", encoding="utf-8")
        paths.append(path)
        print(f"\n{failure['room']}, {failure['kind']}: {failure['claim']}\n  {str(failure.get('note'))[:600]}")
        print(f"  saved; ask again: python -m benchmarks.soundness --replay {_short(path)}")
    return paths


def replay(path: Path) -> int:
    """Whether a saved counterexample still is one."""
    failure = json.loads(path.read_text(encoding="utf-8"))
    try:
        wrong = again(KINDS, failure)
    except Exception as error:
        print(f"still raises {type(error).__name__}: {error}", file=sys.stderr)
        return 1
    for check in wrong[:20]:
        print(f"still fails: {check.claim}: {check.note}")
    print(f"{len(wrong)} claims fail")
    return 1 if wrong else 0


def _short(path: Path) -> str:
    """Relative to the project, when it is in it."""
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)
