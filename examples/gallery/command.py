"""The command line of the gallery. Exit codes: 0 done, 1 a study failed, 2 nothing could be started, 130 stopped."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from examples.gallery.bar import span, watched
from examples.gallery.item import Effort
from examples.gallery.keep import Outcome, Shelf
from examples.gallery.page import Visit, written_pages
from examples.gallery.rooms import Refused, Room, all_rooms, checked, chosen
from examples.gallery.run import run
from examples.gallery.sources import versions

MOST_WORKERS = 8
OUT = Path("build/gallery")


def main(arguments: Sequence[str] | None = None, rooms: Sequence[Room] | None = None) -> int:
    """Measure, write the pages, say where they are; the exit code."""
    try:
        return visited(list(sys.argv[1:] if arguments is None else arguments), rooms)
    except KeyboardInterrupt:
        print("\nStopped. What was finished is kept: run the same command to go on.", file=sys.stderr)
        return 130


def visited(arguments: Sequence[str], rooms: Sequence[Room] | None) -> int:
    """The whole run; Ctrl+C goes through."""
    asked = parser().parse_args(arguments)
    try:
        found = chosen(checked(all_rooms() if rooms is None else rooms), asked.only)
        effort = Effort(asked.quick, asked.seed, folder_of(asked.data))
        folder = usable(asked.out, effort)
    except Refused as refusal:
        print(f"gallery: {refusal}", file=sys.stderr)
        return 2
    start = time.monotonic()
    outcomes = measured(found, effort, folder, asked.workers, asked.again)
    part = tuple(asked.only)
    visit = Visit(effort, datetime.now(UTC), versions(), time.monotonic() - start, asked.workers, part)
    page = written_pages(found, outcomes, visit, folder)
    return ended(outcomes, visit, page)


def parser() -> argparse.ArgumentParser:
    """What can be asked for."""
    found = argparse.ArgumentParser(
        prog="python -m examples.gallery",
        description="Measure what the five papers print, and write one page with claim, measurement and verdict.",
        epilog="A second run takes what an earlier one has finished. Exit codes: 0 done, 1 something could not be "
        "measured, 2 bad usage, 130 stopped.",
    )
    add = found.add_argument
    add("--quick", action="store_true", help="smaller samples: the same questions, answered several times faster")
    add(
        "--only",
        nargs="+",
        action="extend",
        default=[],
        metavar="ROOM|KEY",
        help="these rooms or items, on a page of their own: part.html",
    )
    add("--out", type=Path, default=OUT, help="the folder for the pages and the finished studies (%(default)s)")
    add("--workers", type=whole(1), default=cores(), help="processes at once (%(default)s here)")
    add("--seed", type=whole(0), default=Effort().seed, help="of all random numbers (%(default)s)")
    add("--data", type=Path, default=None, metavar="DIR", help="a folder with adult.data, or the wheel that has it")
    add("--again", action="store_true", help="measure again what is already finished")
    return found


def folder_of(data: Path | None) -> str:
    """The folder of real files, whole, so that another process finds it; nothing if there is none."""
    if data is None:
        return ""
    if not data.is_dir():
        raise Refused(f"--data must be a folder with real files, and there is none at {data}")
    return str(data.resolve())


def whole(least: int) -> Callable[[str], int]:
    """A whole number of at least this, from the command line."""

    def read(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = least - 1
        if number < least:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least {least}")
        return number

    return read


def cores() -> int:
    """As many processes as cores, within reason."""
    usable_cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(usable_cores, MOST_WORKERS)


def usable(folder: Path, effort: Effort) -> Path:
    """The folder, made if needed, in which files can be written; found out before hours of work."""
    shelf = Shelf.below(folder, effort).folder
    try:
        shelf.mkdir(parents=True, exist_ok=True)
        for place in (folder, shelf):
            with tempfile.TemporaryFile(dir=place):
                pass
    except OSError as error:
        raise Refused(
            f"cannot write into {folder}: {error.strerror or error}; name another folder with --out"
        ) from None
    return folder


def measured(rooms: Sequence[Room], effort: Effort, folder: Path, workers: int, again: bool) -> list[Outcome]:
    """Every study of these rooms; the end of the process is asked for politely, as by Ctrl+C."""
    studies = [study for room in rooms for study in room.studies]
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with watched(studies, effort, min(workers, len(studies))) as watcher:
            return run(studies, effort, Shelf.below(folder, effort), workers, watcher, again)
    finally:
        signal.signal(signal.SIGTERM, before)


def ended(outcomes: Sequence[Outcome], visit: Visit, page: Path) -> int:
    """The last lines, and the exit code."""
    failed = [outcome for outcome in outcomes if outcome.problem]
    for outcome in failed:
        story = Shelf.below(page.parent, visit.effort).notes(outcome.study)
        print(f"Could not be measured: {outcome.study.name}: {outcome.problem} (more in {story})", file=sys.stderr)
    count = sum(len(outcome.study.items) for outcome in outcomes)
    items = "1 item" if count == 1 else f"{count} items"
    quick = ", with the smaller samples of --quick" if visit.effort.quick else ""
    what = "This part of the gallery" if visit.only else "The gallery"
    print(f"{items} in {span(visit.seconds)}{quick}. {what} is in {page}")
    return 1 if failed else 0
