"""Which classes are written as documents, under which name, and with which fields: each class declares it itself.

    @document("markov_chain/1", fields="transition", optional="initial length states")
    class MarkovChain: ...

    @not_written("it is an open connection", "keep its address")
    class Ledger: ...

Without functions of its own, the fields are those of the constructor (attrs), and the constructor checks what is read.
This is only the register; `quiltwork.spec.objects` writes and reads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, TypeVar

import attrs

PREFIX = "quiltwork/"
ARRAYS = ("FloatArray", "np.ndarray", "NDArray", "IntArray", "Members")  # annotations of arrays
Class = TypeVar("Class", bound=type)
Write = Callable[[Any], Mapping[str, Any]]
Read = Callable[..., Any]


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

    def declared(self) -> dict[str, str]:
        """What the constructor's arguments are declared to be, as text; nothing for a kind with fields of its own."""
        return {} if self.fields is not None else {_argument(field): _said(field) for field in self.attributes()}

    def arrays(self) -> frozenset[str]:
        """Fields that are arrays by what their class says, so that plain lists do for them."""
        said = ((_argument(field), _said(field)) for field in self.attributes())
        return frozenset(name for name, text in said if text.removesuffix(" | None").startswith(ARRAYS))

    def values(self, value: Any) -> dict[str, Any]:
        """The values of the fields; what has no value and needs none is left out."""
        if self.write is not None:
            found = dict(self.write(value))
        elif self.fields is not None:
            found = {name: getattr(value, name) for name in self.names()}
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


def _said(field: attrs.Attribute[Any]) -> str:
    declared: Any = field.type
    return declared.__name__ if type(declared) is type else str(declared)


@attrs.frozen
class Refusal:
    """Why a class is not written, and what to do instead."""

    because: str
    instead: str = ""


KINDS: dict[str, Kind] = {}  # every kind that was declared so far, by its schema
WRITTEN: dict[str, Kind] = {}  # by the home of its class: of several versions the last one declared is written
REFUSALS: dict[str, Refusal] = {}  # by the home of the class


def declare(kind: Kind) -> None:
    """Enter a kind in the register."""
    KINDS[kind.schema] = kind
    WRITTEN[kind.home] = kind


def document(
    schema: str, *, fields: str | None = None, optional: str = "", write: Write | None = None, read: Read | None = None,
    plain: bool = False, restore: str = "",
) -> Callable[[Class], Class]:  # fmt: skip
    """Declare that a class is written as `quiltwork/NAME/VERSION`; the rest as in `Kind`, names apart by spaces.

    A class that is still read in an earlier form carries one declaration for each, the newest last applied.
    """
    name, _, version = schema.partition("/")
    own = None if fields is None else tuple(fields.split())

    def declared(cls: Class) -> Class:
        said = (own, tuple(optional.split()), write, read, plain, tuple(restore.split()))
        declare(Kind(name, home_of(cls), int(version), *said))
        return cls

    return declared


def not_written(because: str, instead: str = "") -> Callable[[Class], Class]:
    """Declare that a class is no document, why, and what to do instead."""

    def declared(cls: Class) -> Class:
        REFUSALS[home_of(cls)] = Refusal(because, instead)
        return cls

    return declared


def home_of(cls: type) -> str:
    """Where a class is found: module:name."""
    return f"{cls.__module__}:{cls.__qualname__}"
