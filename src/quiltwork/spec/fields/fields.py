"""The kinds of field that plan files are made of.

Some entries name exactly one of several kinds, such as `{replace_one: {fixed: [region]}}` (`Choice`).  A kind
that needs no fields may be written as its name alone: `add_remove` for `{add_remove: {}}`.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any, ClassVar, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)
from pydantic_core import PydanticCustomError

from quiltwork.checks import MAX_COUNT
from quiltwork.errors import InvalidParameter, QuiltworkError
from quiltwork.spec.text.document import Path, cut, meant_by, shown

_UNSEEN = {*map(chr, range(0x202A, 0x202F)), *map(chr, range(0x2066, 0x206A))}  # they reorder what is read


class Strict(BaseModel):
    """An immutable entry: no unknown fields, no guessing of types, no NaN."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False)


def _words(text: str) -> str:
    """One line of visible text; white space is folded, so that a YAML block may be used."""
    folded = " ".join(text.split())
    if not folded:
        raise PydanticCustomError("words", "must not be empty")
    if any(unicodedata.category(letter) in ("Cc", "Cs") or letter in _UNSEEN for letter in folded):
        raise PydanticCustomError("words", "must not hold control characters")
    return folded


Words = Annotated[str, Field(max_length=2000), AfterValidator(_words)]
Positive = Annotated[float, Field(gt=0)]
NonNegative = Annotated[float, Field(ge=0)]
Probability = Annotated[float, Field(ge=0, le=1)]
Rate = Annotated[float, Field(gt=0, le=1)]
Count = Annotated[int, Field(ge=1, le=MAX_COUNT)]
Numbers = Annotated[tuple[float, ...], Field(min_length=1, strict=False)]


LONGEST_LIST = 300  # characters of what is allowed, in a message


class Nothing(Strict):
    """A kind without fields."""


class Choice(Strict):
    """Exactly one of the fields that are kinds; `beside` are fields that are none, `bare` kinds without fields."""

    noun: ClassVar[str] = "kind"
    beside: ClassVar[frozenset[str]] = frozenset()
    bare: ClassVar[frozenset[str]] = frozenset()
    optional: ClassVar[bool] = False

    @classmethod
    def kinds(cls) -> tuple[str, ...]:
        """The fields of which exactly one is given."""
        return tuple(name for name in cls.model_fields if name not in cls.beside)

    @property
    def kind(self) -> str:
        """The one that is given; empty if it may be left out and is."""
        return next((name for name in self.kinds() if getattr(self, name) is not None), "")

    @property
    def chosen(self) -> Any:
        """What is said about it."""
        return getattr(self, self.kind)

    @model_validator(mode="before")
    @classmethod
    def _named_alone(cls, given: Any) -> Any:
        if not isinstance(given, str):
            return given
        if given in cls.bare:
            return {given: {}}
        words = f"{', '.join(sorted(cls.bare))} alone or " if cls.bare else ""
        raise refused(f"must be {words}a mapping with one of {', '.join(cls.kinds())}, got {shown(given)}")

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        found = [name for name in self.kinds() if getattr(self, name) is not None]
        if len(found) > 1 or not (found or self.optional):
            named = " and ".join(found) if found else "none"
            raise refused(f"must name exactly one {self.noun}, got {named}; there are {', '.join(self.kinds())}")
        return self

    @model_serializer(mode="wrap")
    def _written(self, plain: SerializerFunctionWrapHandler) -> Any:
        found = plain(self)
        return self.kind if found == {self.kind: {}} else found

    @classmethod
    def __get_pydantic_json_schema__(cls, core: Any, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        written = handler(core)
        found = handler.resolve_ref_schema(written)
        if not cls.optional:
            found["oneOf"] = [{"required": [kind]} for kind in cls.kinds()]
        if not cls.bare:
            return written
        return {"anyOf": [{"enum": sorted(cls.bare)}, found]}


def refused(problem: str, at: Path = ()) -> PydanticCustomError:
    """A refusal in our own words, at a path below the entry that is checked."""
    return PydanticCustomError("refused", "{problem}", {"problem": problem, "at": at})


def distinct(names: tuple[str, ...]) -> tuple[str, ...]:
    """The names, after checking that none comes twice."""
    for index, name in enumerate(names):
        if name in names[:index]:
            raise refused(f"must differ from every other name, {name!r} is used twice", (index,))
    return names


def distinct_entries(entries: Iterable[Any], noun: str, field: str) -> None:
    """Refuse a name that two entries of a list have."""
    seen: set[str] = set()
    for index, entry in enumerate(entries):
        if entry.name in seen:
            raise refused(f"must differ from every other {noun}, {entry.name!r} is used twice", (field, index, "name"))
        seen.add(entry.name)


@contextmanager
def located(*path: str | int, fields: dict[str, str] | None = None) -> Iterator[None]:
    """What the library refuses is refused at this path; `fields` are parameters that are fields there."""
    try:
        yield
    except InvalidParameter as error:
        hint = f": {error.hint}" if error.hint else ""
        problem = f"must be {cut(error.allowed, LONGEST_LIST)}, got {shown(error.given)}{hint}"
        known = fields or {}
        if error.name in known:
            raise refused(problem, (*path, known[error.name])) from None
        field = meant_by(error.name, known)
        raise refused(f"{error.name} {problem}", (*path, known[field]) if field else path) from None
    except QuiltworkError as error:
        raise refused(str(error), path) from None
    except PydanticCustomError as error:  # refused below this path
        said = error.context or {}
        raise refused(said["problem"], (*path, *said["at"])) from None
