"""Numbers in and out of JSON, which knows no infinity."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.errors import InvalidParameter


def json_numbers(value: Any) -> Any:
    """Floats and nested lists of floats; infinities as the strings "inf" and "-inf"."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [json_numbers(entry) for entry in value]
    number = float(value)
    return number if math.isfinite(number) else str(number)


def plain_numbers(value: Any) -> float | FloatArray:
    """The inverse of `json_numbers`: a float, or an array for a (nested) list."""
    array = _nested(value)
    return array if isinstance(array, float) else np.asarray(array, dtype=float)


def check_schema(data: Any, schema: str) -> None:
    """Refuse a document that does not say it is of this schema."""
    given = data.get("schema") if isinstance(data, Mapping) else data
    if given != schema:
        raise InvalidParameter("schema", given, f"{schema!r}", "was this file written by another version?")


def _nested(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_nested(entry) for entry in value]
    if value in ("inf", "-inf") or (isinstance(value, (int, float)) and not isinstance(value, bool)):
        return float(value)
    raise InvalidParameter("a number in JSON", value, 'a number, "inf" or "-inf"')
