"""Matrices and lists of numbers in prior files; a matrix may also stand in a CSV file beside the file."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from quiltwork.numbers.laws import TOLERANCE
from quiltwork.spec.fields.columns import Value
from quiltwork.spec.fields.fields import Probability, refused
from quiltwork.spec.text.document import MOST_CHARACTERS, shown

MOST_ROWS = 100  # of a matrix: the time grows with the cube of it, and this takes seconds
MOST_ENTRIES = 1024  # of a covariance
MOST_STRENGTH = 1e6  # of a coupling or a field: weights are exponentials of sums of them

_FOLDER: ContextVar[Path | None] = ContextVar("folder", default=None)
_NUMBERS = {"type": "array", "minItems": 1, "items": {"type": "number"}}
_NAMES = {"type": "array", "minItems": 1, "items": {"type": ["string", "number", "boolean"]}}
_ROWS = {"anyOf": [{"type": "array", "minItems": 1, "items": _NUMBERS}, {"type": "string"}]}

Rows = tuple[tuple[float, ...], ...]


@contextmanager
def beside(folder: Path | None) -> Iterator[None]:
    """Matrices may be read from files in this folder; None: from nowhere."""
    token = _FOLDER.set(folder)
    try:
        yield
    finally:
        _FOLDER.reset(token)


def given_rows(value: Any) -> Any:
    """Rows of numbers: as they stand, or those of the named CSV file."""
    return _read(value) if isinstance(value, str) else value


def _read(name: str) -> list[list[float]]:
    folder = _FOLDER.get()
    if folder is None:
        raise refused("must be rows of numbers: a file name is allowed in a file only, and means one beside it")
    parts = PurePosixPath(name).parts
    outside = not parts or name.startswith("/") or ".." in parts or PureWindowsPath(name).drive or "\\" in name
    if outside or "\0" in name:
        raise refused(f"must be rows of numbers or the name of a CSV file beside this one, got {shown(name)}")
    try:
        with (folder / name).open("rb") as file:
            raw = file.read(MOST_CHARACTERS + 1)
        text = raw.decode("utf-8-sig")
    except FileNotFoundError:
        raise refused(f"names {shown(name)}, but there is no such file beside this one") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise refused(f"names {shown(name)}, which cannot be read: {reason}") from None
    if len(raw) > MOST_CHARACTERS:
        raise refused(f"names {shown(name)}, which has more than {MOST_CHARACTERS:,} bytes")
    return _parsed(name, text)


def _parsed(name: str, text: str) -> list[list[float]]:
    found: list[list[float]] = []
    reader = csv.reader(io.StringIO(text), strict=True)
    try:
        for row in reader:
            if row:
                found.append([float(cell) for cell in row])
    except ValueError:
        problem = f"holds in line {reader.line_num} something that is not a number: a header is not allowed"
        raise refused(f"names {shown(name)}, which {problem}") from None
    except csv.Error as error:
        raise refused(f"names {shown(name)}, which is not a CSV file: {error}") from None
    if not found:
        raise refused(f"names {shown(name)}, which is empty")
    return found


def even_rows(rows: Rows) -> Rows:
    for index, row in enumerate(rows):
        if len(row) != len(rows[0]):
            raise refused(f"must have {len(rows[0])} numbers, as the first row has, got {len(row)}", (index,))
    return rows


def _summing(rows: Rows) -> Rows:
    for index, row in enumerate(rows):
        total = math.fsum(row)
        if abs(total - 1.0) > TOLERANCE:
            raise refused(f"must sum to 1, got {total:.12g}: divide each row by its sum", (index,))
    return rows


def _number(value: Any) -> bool:
    plain = isinstance(value, (int, float)) and not isinstance(value, bool)
    return plain and math.isfinite(value) and abs(value) <= 1e300


def _level(value: Any) -> Any:
    """One number, or a list of them."""
    listed = value if isinstance(value, (list, tuple)) else [value]
    if not listed or not all(_number(part) and abs(part) <= MOST_STRENGTH for part in listed):
        raise refused(f"must be a number of size at most {MOST_STRENGTH:g}, or a list of them, got {shown(value)}")
    return float(value) if listed is not value else tuple(map(float, listed))


def _start(value: Any) -> Any:
    """How a chain starts."""
    if value in ("stationary", "any"):
        return value
    if isinstance(value, (list, tuple)) and value and all(map(_number, value)):
        return tuple(map(float, value))
    raise refused(f"must be stationary, any, or a list of probabilities, got {shown(value)}")


def _table(value: Any) -> Any:
    """Numbers in lists in lists, as many levels as there are entries; all lists of a level have one length."""
    if not isinstance(value, (list, tuple)) or not value:
        raise refused(f"must be numbers in lists in lists, one level for each entry, got {shown(value)}")
    level: list[Any] = [value]
    shape: list[int] = []
    while isinstance(level[0], (list, tuple)):
        shape.append(len(level[0]))
        if not shape[-1] or any(not isinstance(part, (list, tuple)) or len(part) != shape[-1] for part in level):
            raise refused(f"must have lists of one length at each level, not so at level {len(shape)}")
        level = [part for inner in level for part in inner]
    if not all(map(_number, level)):
        wrong = next(part for part in level if not _number(part))
        raise refused(f"must hold finite numbers only, got {shown(wrong)}")
    return _frozen(value)


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, (list, tuple)) else value


def _value_names(value: Any) -> Any:
    """One list of names, or a list of such lists."""
    lists: list[Any] = list(value) if isinstance(value, (list, tuple)) and value else [None]
    nested = all(isinstance(part, (list, tuple)) and part for part in lists)
    for name in (name for part in lists for name in (part if nested else [part])):
        if not isinstance(name, (str, int, float)) or (isinstance(name, float) and not math.isfinite(name)):
            raise refused(f"must be a list of names, or one such list for each entry, got {shown(value)}")
    return _frozen(value)


Row = Annotated[tuple[float, ...], Field(strict=False, min_length=1, max_length=MOST_ENTRIES)]
ChanceRow = Annotated[tuple[Probability, ...], Field(strict=False, min_length=1, max_length=MOST_ENTRIES)]
Matrix = Annotated[
    tuple[Row, ...],
    BeforeValidator(given_rows),
    AfterValidator(even_rows),
    Field(strict=False, min_length=1, max_length=MOST_ENTRIES),
    WithJsonSchema(_ROWS),
]
Stochastic = Annotated[
    tuple[ChanceRow, ...],
    BeforeValidator(given_rows),
    AfterValidator(even_rows),
    AfterValidator(_summing),
    Field(strict=False, min_length=1, max_length=MOST_ROWS),
    WithJsonSchema(_ROWS),
]
Law = Annotated[tuple[Probability, ...], Field(strict=False, min_length=1, max_length=MOST_ROWS)]
Start = Annotated[Any, AfterValidator(_start), WithJsonSchema({"anyOf": [{"enum": ["stationary", "any"]}, _NUMBERS]})]
Level = Annotated[Any, AfterValidator(_level), WithJsonSchema({"anyOf": [{"type": "number"}, _NUMBERS]})]
Table = Annotated[Any, AfterValidator(_table), WithJsonSchema({"type": "array"})]
ValueNames = Annotated[
    Any,
    AfterValidator(_value_names),
    WithJsonSchema({"anyOf": [_NAMES, {"type": "array", "items": _NAMES}]}),
]
Pair = Annotated[tuple[Value, Value], Field(strict=False)]
