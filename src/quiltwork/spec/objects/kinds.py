"""Which classes are written as documents, under which name, and with which fields.

A kind names a class by its home, so that nothing is imported before it is needed.  Without functions of its own, the
fields are those of the constructor (attrs), and the constructor checks what is read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from typing import Any

import attrs

from quiltwork.errors import InvalidParameter

__all__ = ["Kind", "Refusal", "annotation", "known", "refusals", "register"]

PREFIX = "quiltwork/"
ROOMS = ("curves", "tables", "pufferfish", "confounding", "game", "others")
ARRAYS = ("FloatArray", "np.ndarray", "NDArray", "IntArray", "Members")  # annotations of arrays


@attrs.frozen(eq=False)
class Kind:
    """How one class is written: its name and version, its home, and what its fields are.

    `write` gives the values of the fields, `read` the object; `fields` name those of a kind with functions of its own,
    `optional` ones may be left out.  `plain` kinds write and read whole documents by themselves (to_json, from_json).
    `restore` are fields that the constructor changes in the last digit: they are put back as they were.
    """

    name: str
    home: str
    version: int = 1
    fields: tuple[str, ...] | None = None
    optional: tuple[str, ...] = ()
    write: Callable[[Any], Mapping[str, Any]] | None = None
    read: Callable[..., Any] | None = None
    plain: bool = False
    restore: tuple[str, ...] = ()

    @property
    def schema(self) -> str:
        """The words that name it in a document."""
        return f"{PREFIX}{self.name}/{self.version}"

    @property
    def type(self) -> Any:
        """The class."""
        module, _, name = self.home.partition(":")
        return getattr(import_module(module), name)

    def attributes(self) -> tuple[attrs.Attribute[Any], ...]:
        """The arguments of its constructor."""
        if not attrs.has(self.type):
            return ()
        return tuple(field for field in attrs.fields(self.type) if field.init)

    def names(self) -> tuple[str, ...]:
        """Every field that a document may have."""
        if self.fields is not None:
            return (*self.fields, *self.optional)
        return tuple(_argument(field) for field in self.attributes())

    def needed(self) -> tuple[str, ...]:
        """Every field that it must have."""
        if self.fields is not None:
            return self.fields
        return tuple(_argument(field) for field in self.attributes() if field.default is attrs.NOTHING)

    def arrays(self) -> frozenset[str]:
        """Fields that are arrays by what their class says, so that plain lists do for them."""
        return frozenset(_argument(field) for field in self.attributes() if _is_array(annotation(field)))

    def values(self, value: Any) -> dict[str, Any]:
        """The values of the fields; what has no value and needs none is left out."""
        if self.write is not None:
            found = dict(self.write(value))
        else:
            found = {_argument(field): getattr(value, field.name) for field in self.attributes()}
        needed = self.needed()
        return {name: part for name, part in found.items() if part is not None or name in needed}

    def build(self, fields: dict[str, Any]) -> Any:
        """The object with these fields."""
        if self.read is not None:
            return self.read(**fields)
        found = self.type(**fields)
        for name in self.restore:
            object.__setattr__(found, name, fields[name])
        return found


def _argument(field: attrs.Attribute[Any]) -> str:
    return field.alias or field.name


def annotation(field: attrs.Attribute[Any]) -> str:
    """What a field is declared to be, as text."""
    declared: Any = field.type
    return declared.__name__ if type(declared) is type else str(declared)


def _is_array(declared: str) -> bool:
    return declared.removesuffix(" | None").startswith(ARRAYS)


@attrs.frozen
class Refusal:
    """Why a class is not written, and what to do instead."""

    because: str
    instead: str = ""


_OWN: dict[str, Kind] = {}


def register(kind: Kind) -> None:
    """Let another package's class be written and read; its name must be new."""
    if kind.schema in known()[0]:
        raise InvalidParameter("schema", kind.schema, "new", "each kind of object has a name of its own")
    _OWN[kind.schema] = kind
    known.cache_clear()


@cache
def known() -> tuple[dict[str, Kind], dict[str, Kind]]:
    """Every kind, by its schema and by its home."""
    found = [kind for room in ROOMS for kind in _room(room).KINDS] + list(_OWN.values())
    latest: dict[str, Kind] = {}
    for kind in found:  # of several versions of one class the last one is written
        latest[kind.home] = kind
    return {kind.schema: kind for kind in found}, latest


@cache
def refusals() -> dict[str, Refusal]:
    """Every public class that is not written, by its home."""
    return {home: why for room in ROOMS for home, why in _room(room).REFUSED.items()}


def _room(name: str) -> Any:
    return import_module(f"quiltwork.spec.objects.homes.{name}")
