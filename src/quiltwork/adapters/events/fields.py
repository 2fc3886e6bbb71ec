"""What is read of an event: its class by name, its fields, and nothing that a later version may have added."""

from __future__ import annotations

import dataclasses
from typing import Any

import attrs

from quiltwork import checks
from quiltwork.errors import InvalidParameter, QuiltworkError, Unsupported

NEIGHBORS = {"add_remove": 1, "replace": 2, "replace_special": 1}  # how many bounded values change when one record does
RELATIONS = {  # the peer's own names
    "ADD_OR_REMOVE_ONE": "add_remove",
    "REPLACE_ONE": "replace",
    "REPLACE_SPECIAL": "replace_special",
    "replace_one": "replace",
}


class Revealed(Exception):
    """The event tells everything; `error` is how a loss, which must be bounded, refuses it."""

    def __init__(self, error: QuiltworkError) -> None:
        super().__init__(str(error))
        self.error = error


def relation_of(neighbors: Any) -> str:
    """Which records change, by our name or by a member of the peer's enumeration."""
    name = getattr(neighbors, "name", neighbors)
    relation = RELATIONS.get(name, name) if isinstance(name, str) else None
    if relation not in NEIGHBORS:
        hint = "no other neighbouring relation has a translation"
        raise InvalidParameter("neighbors", neighbors, "'add_remove', 'replace' or 'replace_special'", hint)
    return str(relation)


def name_of(event: Any) -> str:
    return type(event).__name__


def field(event: Any, name: str) -> Any:
    try:
        return getattr(event, name)
    except AttributeError:
        raise InvalidParameter("event", name_of(event), f"a {name_of(event)} with the field {name!r}") from None


def fields(event: Any, *names: str) -> tuple[Any, ...]:
    """The fields of an event; one with fields of later versions is refused: they may change what these mean."""
    kind = type(event)
    if attrs.has(kind):
        known = [one.name for one in attrs.fields(kind)]
    else:
        known = [one.name for one in dataclasses.fields(kind)] if dataclasses.is_dataclass(kind) else []
    more = [name for name in known if name not in names]
    if more:
        raise Unsupported(name_of(event), f"its field {more[0]!r} is not known here")
    return tuple(field(event, name) for name in names)


def noise(event: Any, name: str, given: Any) -> float:
    """A positive amount of noise; none at all reveals the records."""
    where = f"{name_of(event)}.{name}"
    try:
        return checks.positive(where, given, "without noise nothing bounds the loss")
    except InvalidParameter as error:
        if checks.real(where, given, error.allowed, error.hint) == 0:
            raise Revealed(error) from None
        raise
