"""The tour: one stop in every room, small inputs, real runs, one report.

Every number that a stop tells comes from running the library on the inputs beside this file.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import attrs

from quiltwork.document.blocks import Grid, Section, Words
from quiltwork.document.page import Report
from quiltwork.errors import MissingExtra, missing
from quiltwork.report.tour import stops
from quiltwork.report.tour.stops import Told

__all__ = ["STOPS", "Stop", "Tour", "tour"]

SCHEMA = "quiltwork/tour/1"
TITLE = "A tour of quiltwork"
LEAD = (
    "Many releases, one guarantee. Each section asks one question, answers it with a certified number, and says how to "
    "ask it again. All data are made up; every number was computed when this page was made."
)
# function of the stop, and its heading
STOPS = {
    "plan": "Many releases, one guarantee",
    "region": "Several guarantees at once",
    "tables": "Queries that overlap",
    "influence": "Entries that tell about each other",
    "design": "The next release, designed",
    "ledger": "A budget that cannot be overspent",
    "attack": "Attackers, retrained",
    "audit": "An audit beside the certificate",
}


@attrs.frozen(eq=False)
class Stop:
    """One stop: what was told there, or the line that installs what was missing."""

    name: str
    heading: str
    told: Told | None
    missing: str = ""
    seconds: float = 0.0

    @property
    def line(self) -> str:
        """The answer in one line."""
        return f"left out: {self.missing}" if self.told is None else self.told.line


@attrs.frozen(eq=False)
class Tour:
    """All stops, in order."""

    stops: tuple[Stop, ...]

    def report(self) -> Report:
        """One report of all of them."""
        rows = [(stop.heading, stop.line[:1].upper() + stop.line[1:]) for stop in self.stops]
        sections = [Section("In short", [Grid(("Question", "Answer"), rows)])]
        for stop in self.stops:
            sections.append(Section(stop.heading, [Words(stop.line)] if stop.told is None else stop.told.blocks))
        return Report(TITLE, LEAD, sections, self.to_json())

    def to_json(self) -> dict[str, Any]:
        """Every stop as plain values."""
        return {
            "schema": SCHEMA,
            "stops": [
                {
                    "name": stop.name,
                    "heading": stop.heading,
                    "answer": stop.line,
                    "left_out": stop.missing or None,
                    "numbers": None if stop.told is None else stop.told.data,
                }
                for stop in self.stops
            ],
        }


def tour(steps: Callable[[int], Iterator[int]] = lambda count: iter(range(count))) -> Tour:
    """Make every stop; `steps` may show how far it is."""
    names = list(STOPS)
    return Tour(tuple(_made(names[index]) for index in steps(len(names))))


def _made(name: str) -> Stop:
    began = time.perf_counter()
    try:
        told = getattr(stops, name)()
    except ImportError as error:
        lacking = missing(error)
        if not isinstance(lacking, MissingExtra):
            raise
        return Stop(name, STOPS[name], None, str(lacking))
    return Stop(name, STOPS[name], told, "", time.perf_counter() - began)
