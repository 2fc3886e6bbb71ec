"""A room for each paper: its studies, looked through before anything runs, and those that were asked for."""

from __future__ import annotations

import difflib
import importlib
import re
from collections import Counter
from collections.abc import Iterable, Sequence

import attrs

from examples.gallery.item import Item, Paper, Study
from examples.gallery.papers import PAPERS, studies

KEY = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


class Refused(Exception):
    """What was asked, or what hangs in a room, cannot be run; nothing was started."""


@attrs.frozen
class Room:
    """A paper and the studies that measure it."""

    paper: Paper
    studies: tuple[Study, ...] = attrs.field(converter=tuple)

    @property
    def items(self) -> tuple[Item, ...]:
        return tuple(item for study in self.studies for item in study.items)


def all_rooms() -> list[Room]:
    """The five rooms, in the order of the papers."""
    return [Room(paper, studies(paper)) for paper in PAPERS]


def checked(rooms: Sequence[Room]) -> list[Room]:
    """The rooms themselves, if every key is used once and another process can find every study."""
    for room in rooms:
        for item in room.items:
            if not item.key.startswith(f"{room.paper.name}-"):
                raise Refused(f"the key {item.key!r} hangs in the room {room.paper.name!r}: begin it with that name")
            if not KEY.fullmatch(item.key):
                raise Refused(f"the key {item.key!r} is no anchor: use small letters, digits and single hyphens")
    _once("the key", (item.key for room in rooms for item in room.items))
    _once("the study", (study.name for room in rooms for study in room.studies))
    for room in rooms:
        for study in room.studies:
            if not study.items:
                raise Refused(f"the study {study.name} settles no item")
            if found(study.measure.__module__, study.measure.__qualname__) is not study.measure:
                raise Refused(f"the study {study.name} cannot be found by name: make it a function of its module")
    return list(rooms)


def _once(what: str, names: Iterable[str]) -> None:
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise Refused(f"{what} {twice[0]!r} is used more than once")


def found(module: str, name: str) -> object:
    """The function of this name, as another process looks it up; None when there is none."""
    try:
        return getattr(importlib.import_module(module), name, None)
    except ImportError:
        return None


def chosen(rooms: Sequence[Room], only: Sequence[str]) -> list[Room]:
    """The rooms with the studies that were asked for, by room or by key of an item; all when nothing was."""
    if only:
        names = {room.paper.name for room in rooms}
        keys = {item.key for room in rooms for item in room.items}
        for word in only:
            if word not in names | keys:
                near = difflib.get_close_matches(word, sorted(names | keys), n=3, cutoff=0.5)
                hint = f"did you mean {' or '.join(near)}?" if near else f"rooms are {', '.join(sorted(names))}"
                raise Refused(f"there is no room and no item {word!r}; {hint}")
        wanted = set(only)
        rooms = [
            Room(
                room.paper, [s for s in room.studies if room.paper.name in wanted or {i.key for i in s.items} & wanted]
            )
            for room in rooms
        ]
    rooms = [room for room in rooms if room.studies]
    if not rooms:
        raise Refused("there is no study to run here")
    return rooms
