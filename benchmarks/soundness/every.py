"""All kinds of all rooms."""

from __future__ import annotations

from benchmarks.soundness.claims import Kind
from benchmarks.soundness.rooms import (
    beside,
    compose,
    confounding,
    curves,
    data,
    game,
    ledger,
    losses,
    mechanisms,
    pufferfish,
    regions,
    renyi,
    report,
    spec,
    tables,
)

ORDER = (
    "curves", "losses", "compose", "regions", "tables", "pufferfish", "confounding", "mechanisms", "game", "audit",
    "ledger", "spec", "report", "data",
)  # fmt: skip
_ROOMS = (
    curves, losses, compose, beside, renyi, regions, tables, pufferfish, confounding, mechanisms, game, ledger, spec,
    report, data,
)  # fmt: skip
KINDS: dict[str, Kind] = {kind.title: kind for room in _ROOMS for kind in room.KINDS}


def of_rooms(rooms: list[str]) -> dict[str, list[str]]:
    """Titles of the kinds of these rooms."""
    return {room: [title for title, kind in KINDS.items() if kind.room == room] for room in ORDER if room in rooms}
