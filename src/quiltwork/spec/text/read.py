"""From a file to what it describes, with errors that name the line, the field and what is allowed.

`read_as`, `parse_as` and `made_from` do so for any model.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path as FilePath
from typing import Any, TypeVar, get_args, get_origin

from pydantic import BaseModel, Tag, ValidationError

from quiltwork.errors import InvalidPlan
from quiltwork.spec.text.document import MOST_CHARACTERS, Document, Path, near, parse, shown, spelled

Model = TypeVar("Model", bound=BaseModel)

_TYPES = {
    "float_type": "a number",
    "int_type": "a whole number",
    "string_type": "text",
    "tuple_type": "a list",
    "model_type": "a mapping of fields",
    "dict_type": "a mapping",
    "bool_type": "true or false",
    "finite_number": "a finite number",
}
_LIMITS = {
    "greater_than": ("gt", ">"),
    "greater_than_equal": ("ge", ">="),
    "less_than": ("lt", "<"),
    "less_than_equal": ("le", "<="),
}


def read_as(model: type[Model], path: str | os.PathLike[str]) -> Model:
    """What a YAML or JSON file describes."""
    return parse_as(model, text_of(path))


def text_of(path: str | os.PathLike[str], most: int = MOST_CHARACTERS) -> str:
    """The text of a file, or InvalidPlan with the reason."""
    name = os.fspath(path)
    try:
        with FilePath(path).open("rb") as file:
            raw = file.read(most + 1)
    except FileNotFoundError:
        raise InvalidPlan(name, "there is no such file") from None
    except (OSError, ValueError) as error:
        raise InvalidPlan(name, f"cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if FilePath(path).suffix in (".parquet", ".csv"):
        raise InvalidPlan(name, "is a table, no file of words and numbers: a plan comes first, its data after it")
    if len(raw) > most:
        raise InvalidPlan(name, f"must be at most {most:,} bytes: is this a plan file?")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise InvalidPlan(name, "must be UTF-8 text: files that people write are YAML or JSON", line) from None


def parse_as(model: type[Model], text: str) -> Model:
    """What a YAML or JSON text describes."""
    return made_of_document(model, parse(text))


def made_from(model: type[Model], value: Mapping[str, Any]) -> Model:
    """What plain values describe."""
    return made_of_document(model, Document(dict(value), {}))


def made_of_document(model: type[Model], document: Document) -> Model:
    """What a parsed document describes."""
    try:
        return model.model_validate(document.value)
    except ValidationError as error:
        entries = [entry for entry in error.errors(include_url=False) if not _echo(entry)]
        # an unknown field often explains a missing one, so of the two it is told first
        entries.sort(key=lambda entry: (entry["type"] == "missing", document.line(_path(entry)) or 0))
        first, *others = ((spelled(_path(one)), _problem(model, one), document.line(_path(one))) for one in entries)
        raise InvalidPlan(*first, others=[InvalidPlan(*other) for other in others]) from None


def _echo(entry: Any) -> bool:
    """A list whose entries failed is also reported as too short, although it is not."""
    return bool(entry["type"] == "too_short" and len(entry["input"]) >= entry["ctx"]["min_length"])


def _path(entry: Any) -> Path:
    """Where the problem is."""
    return (*_untagged(entry["loc"]), *entry.get("ctx", {}).get("at", ()))


def _untagged(path: Path) -> Path:
    """Without the names of kinds, such as (statistic), that stand in no file."""
    return tuple(step for step in path if not (isinstance(step, str) and step.startswith("(")))


def _problem(root: type[BaseModel], entry: Any) -> str:
    """What is wrong and what is allowed, in one line."""
    kind, given, context = entry["type"], entry["input"], entry.get("ctx", {})
    got = f"got {shown(given)}"
    if kind == "missing":
        within = "it is one of two values" if isinstance(entry["loc"][-1], int) else _fields(root, entry["loc"][:-1])
        if entry["loc"] == ("quiltwork",):
            return f"is missing: the file begins with quiltwork: 1, the version of the format; {within}"
        return f"is missing; {within}"
    if kind == "extra_forbidden":
        model = _model(root, entry["loc"][:-1])
        meant = near(entry["loc"][-1], model.model_fields if model else ())
        return f"is not a field here{meant}; {_fields(root, entry['loc'][:-1])}"
    if kind == "literal_error":
        return f"must be 1, the version of the plan format, {got}"
    if kind in _TYPES:
        quotes = isinstance(given, str) and kind in ("float_type", "int_type") and _is_number(given)
        return f"must be {_TYPES[kind]}, {got}" + (": remove the quotes" if quotes else "")
    if kind in _LIMITS:
        key, sign = _LIMITS[kind]
        return f"must be {sign} {context[key]:g}, {got}"
    if kind == "too_short":
        least = context["min_length"]
        return f"must have at least {least} entr{'y' if least == 1 else 'ies'}, {got}"
    if kind == "too_long":
        return f"must have at most {context['max_length']} entries, {got}"
    if kind == "string_too_long":
        return f"must have at most {context['max_length']} characters"
    return f"{entry['msg']}" if kind in ("refused", "words") else f"{entry['msg']}, {got}"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _model(root: type[BaseModel], path: Path) -> type[BaseModel] | None:
    """The model that describes the entry at this path."""
    found: Any = root
    annotation: Any = None
    for step in path:
        if isinstance(step, str) and found is not None:
            if step.startswith("("):
                found = _tagged(annotation, step)
            elif get_origin(found) is dict:
                found = _described(get_args(found)[1])
            else:
                field = found.model_fields.get(step)
                annotation = None if field is None else field.annotation
                found = _described(annotation) if field else None
    return found if isinstance(found, type) and issubclass(found, BaseModel) else None


def _described(annotation: Any) -> Any:
    """The model, or the mapping with names of its own, inside `Model | None` or `tuple[Model, ...]`."""
    if get_origin(annotation) is dict or (isinstance(annotation, type) and issubclass(annotation, BaseModel)):
        return annotation
    return next((found for part in get_args(annotation) if (found := _described(part))), None)


def _tagged(annotation: Any, tag: str) -> Any:
    """The model of a union that has this tag."""
    if any(isinstance(one, Tag) and one.tag == tag for one in getattr(annotation, "__metadata__", ())):
        return _described(annotation)
    return next((found for part in get_args(annotation) if (found := _tagged(part, tag))), None)


def _fields(root: type[BaseModel], path: Path) -> str:
    """The fields of the entry at this path."""
    model = _model(root, path)
    if model is None:
        return "no field is allowed here"
    kinds = _kinds(model)
    own = [name for name in model.model_fields if name not in kinds]
    names = [*own, *(["exactly one of " + ", ".join(kinds)] if kinds else [])]
    return f"{spelled(_untagged(path))} takes {', '.join(names) or 'no fields'}"


def _kinds(model: type[BaseModel]) -> tuple[str, ...]:
    """The fields of which exactly one is given, as the model itself tells."""
    own: Any = getattr(model, "kinds", None)
    return tuple(own()) if callable(own) else ()
