"""Small studies that stand in for the papers': `python -m tests.gallery.fakes` is the gallery's command over them."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from examples.gallery.command import main
from examples.gallery.item import Check, Effort, Finding, Item, Paper, Study
from examples.gallery.rooms import Room


def found(*checks: Check) -> Finding:
    return Finding("A number was measured.", "It is compared.", checks or [Check("one is one", True)])


def agreeing(effort: Effort) -> dict[str, Finding]:
    return {"fake-a": found()}


def two(effort: Effort) -> dict[str, Finding]:
    marker = os.environ.get("GALLERY_MARKER")
    if marker:
        with Path(marker).open("a") as file:
            file.write("two\n")
    wrong = Check("the printed bound holds", False, "1", str(1 + effort.seed), disproves=True)
    return {"fake-b": found(wrong), "fake-c": found(Check("samples match", False))}


def slow(effort: Effort) -> dict[str, Finding]:
    time.sleep(float(os.environ.get("GALLERY_SLOW", "0")))
    return {"fake-slow": found()}


def raising(effort: Effort) -> dict[str, Finding]:
    print("said before the end")
    raise ValueError("no <sample> today")


def dying(effort: Effort) -> dict[str, Finding]:
    os._exit(3)


def too_much(effort: Effort) -> dict[str, Finding]:
    return {"fake-e": found(), "fake-z": found()}


def no_mapping(effort: Effort) -> list[str]:
    return ["fake-a"]


def no_check(effort: Effort) -> dict[str, Finding]:
    return {"fake-a": Finding("A number was measured.", "Nothing is compared.", [])}


PAPER = Paper("fake", "A Paper of Nobody", "no authors")


def study(measure, *keys: str, seconds: tuple[float, float] = (1.0, 0.5)) -> Study:
    return Study([Item(key, f"Figure {key[-1]}", f"The paper prints {key}.") for key in keys], measure, seconds)


GOOD = Room(
    PAPER,
    [
        study(agreeing, "fake-a"),
        study(two, "fake-b", "fake-c"),
        study(slow, "fake-slow", seconds=(5.0, 5.0)),
    ],
)
BAD = Room(PAPER, [study(raising, "fake-d"), study(dying, "fake-g"), study(too_much, "fake-e"), *GOOD.studies])

if __name__ == "__main__":
    from tests.gallery import fakes  # under the name by which another process finds it

    sys.exit(main(rooms=[fakes.BAD if os.environ.get("GALLERY_BAD") else fakes.GOOD]))
