"""The kinds of field that plan files are made of."""

from __future__ import annotations

import unicodedata
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic_core import PydanticCustomError

from quiltwork.checks import MAX_COUNT

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
