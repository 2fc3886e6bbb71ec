"""The parts of a world file: numbers that stay exact, tables of probabilities, secrets, data, and pairs of secrets."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    GetJsonSchemaHandler,
    PlainSerializer,
    WithJsonSchema,
    WrapValidator,
    model_validator,
)

from quiltwork.confounding.pairs import Within, within
from quiltwork.numbers.laws import TOLERANCE
from quiltwork.numbers.stated import fraction
from quiltwork.spec.fields.fields import NonNegative, Strict, Words, distinct, located, refused
from quiltwork.spec.fields.matrices import even_rows, given_rows
from quiltwork.spec.text.document import shown

MOST_SECRETS = 1000
MOST_VALUES = 10_000
MOST_OUTPUTS = 1_000_000
MOST_PAIRS = 100_000
STEPS = "steps"  # the distance of secrets that stand in order

_TYPED = re.compile(r"[-+]?\d{1,60}(/\d{1,60}|(\.\d{0,60})?([eE][-+]?\d{1,2})?)")
_NUMBER: dict[str, Any] = {"type": ["number", "string"]}
_ROW: dict[str, Any] = {"type": "array", "minItems": 1, "items": _NUMBER}
_ROWS: dict[str, Any] = {"type": "array", "minItems": 1, "items": _ROW}
_TABLE: dict[str, Any] = {**_ROWS, "type": ["array", "string"]}  # one type, so that an optional table keeps both

# ---- numbers


def rational(value: Any) -> Fraction | None:
    """The number that was typed, as a fraction; None for anything else, or of too many digits."""
    if isinstance(value, str) and not _TYPED.fullmatch(value):
        return None
    return fraction(value)


def exactly(value: Any) -> Fraction:
    """The same for a number that was checked before."""
    return rational(value) or Fraction(0)


def _number(value: Any) -> Any:
    if rational(value) is None:
        raise refused(f"must be a finite number or a text such as 1/3, got {shown(value)}")
    return value


def _chance(value: Any) -> Any:
    found = rational(value)
    if found is None or not 0 <= found <= 1:
        raise refused(f"must be a probability in [0, 1], a number or a text such as 1/3, got {shown(value)}")
    return value


def _law(row: tuple[Any, ...], *, at: tuple[int, ...] = ()) -> tuple[Any, ...]:
    """A row that sums to 1: exactly, or nearly where it has decimals."""
    total, rounded = sum(map(exactly, row), start=Fraction(0)), any(isinstance(entry, float) for entry in row)
    if rounded and abs(total - 1) > TOLERANCE:
        raise refused(f"must sum to 1, got {float(total):.12g}: divide each number by the sum", at)
    if total != 1 and not rounded:
        raise refused(f"must sum to 1 exactly, got {total}", at)
    return row


def _laws(rows: tuple[tuple[Any, ...], ...]) -> tuple[tuple[Any, ...], ...]:
    return tuple(_law(row, at=(index,)) for index, row in enumerate(rows))


Number = Annotated[Any, AfterValidator(_number), WithJsonSchema(_NUMBER)]
Chance = Annotated[Any, AfterValidator(_chance), WithJsonSchema(_NUMBER)]
Numbers = Annotated[tuple[Number, ...], Field(strict=False, min_length=1, max_length=MOST_OUTPUTS)]
Law = Annotated[
    tuple[Chance, ...], Field(strict=False, min_length=1, max_length=MOST_OUTPUTS), AfterValidator(_law)
]  # fmt: skip
_ChanceRow = Annotated[tuple[Chance, ...], Field(strict=False, min_length=1, max_length=MOST_OUTPUTS)]
_NumberRow = Annotated[tuple[Number, ...], Field(strict=False, min_length=1, max_length=MOST_OUTPUTS)]
ChanceTable = Annotated[
    tuple[_ChanceRow, ...],
    BeforeValidator(given_rows),
    AfterValidator(even_rows),
    AfterValidator(_laws),
    Field(strict=False, min_length=1, max_length=MOST_VALUES),
    WithJsonSchema(_TABLE),
]
NumberTable = Annotated[
    tuple[_NumberRow, ...],
    BeforeValidator(given_rows),
    AfterValidator(even_rows),
    Field(strict=False, min_length=1, max_length=MOST_OUTPUTS),
    WithJsonSchema(_TABLE),
]


class Strength(Strict):
    """How far two laws may be apart: epsilon, or odds = e^epsilon as a fraction."""

    epsilon: NonNegative | None = None
    odds: Number | None = None

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if (self.epsilon is None) == (self.odds is None):
            raise refused("must have either epsilon, or odds = e^epsilon")
        if self.odds is not None and exactly(self.odds) < 1:
            raise refused(f"must be a number >= 1, got {shown(self.odds)}", ("odds",))
        return self

    @property
    def exact_odds(self) -> Fraction | None:
        """e^epsilon as it was typed; None when epsilon was."""
        return None if self.odds is None else exactly(self.odds)


# ---- secrets and data


class Secrets(Strict):
    """The values that the secret can have, and how likely they are (all alike, unless said)."""

    names: Annotated[
        tuple[Words, ...], Field(strict=False, min_length=2, max_length=MOST_SECRETS), AfterValidator(distinct)
    ]
    prior: Law | None = None


class OneLaw(Strict):
    """One law that may be true: P(data | secret), a row for each secret, and the prior of the secrets."""

    given_secret: ChanceTable
    prior: Law | None = None


class Data(Strict):
    """The values that the data can have, and P(data | secret): one table, or any of several."""

    names: Annotated[
        tuple[Words, ...], Field(strict=False, min_length=1, max_length=MOST_VALUES), AfterValidator(distinct)
    ] | None = None  # fmt: skip
    values: Numbers | None = None
    given_secret: ChanceTable | None = None
    any_of: Annotated[tuple[OneLaw, ...], Field(strict=False, min_length=1, max_length=50)] | None = None

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if (self.given_secret is None) == (self.any_of is None):
            raise refused("must have either given_secret, the table P(data | secret), or any_of, a list of such laws")
        count = len(self.laws[0].given_secret[0])
        for index, law in enumerate(self.laws):
            if len(law.given_secret[0]) != count:
                problem = f"must have {count} columns, as the first law has, got {len(law.given_secret[0])}"
                raise refused(problem, ("any_of", index, "given_secret"))
        for field in ("names", "values"):
            listed = getattr(self, field)
            if listed is not None and len(listed) != count:
                problem = f"must have {count} entries, one for each column of P(data | secret), got {len(listed)}"
                raise refused(problem, (field,))
        return self

    @property
    def laws(self) -> tuple[OneLaw, ...]:
        """Every law that may be true."""
        return self.any_of or (OneLaw(given_secret=self.given_secret or ()),)

    @property
    def count(self) -> int:
        """How many values the data can have."""
        return len(self.laws[0].given_secret[0])

    @property
    def numbers(self) -> tuple[Fraction, ...]:
        """What the values of the data stand for."""
        typed = range(self.count) if self.values is None else self.values
        return tuple(map(exactly, typed))

    @property
    def labels(self) -> tuple[str, ...]:
        """The values of the data in words."""
        if self.names is not None:
            return self.names
        labels = tuple(str(value) for value in (self.values if self.values is not None else range(self.count)))
        return labels if len(set(labels)) == len(labels) else tuple(map(str, range(self.count)))


# ---- which secrets are not told apart


def or_word(words: tuple[str, ...], else_what: str) -> Any:
    """A wrapper for tables that may also be one of these words; another word can only name a CSV file."""

    def check(value: Any, table: Callable[[Any], Any]) -> Any:
        if isinstance(value, str):
            if value in words:
                return value
            if not value.lower().endswith(".csv"):
                raise refused(f"must be {', '.join(words)}, or {else_what}, got {shown(value)}")
        return table(value)

    return WrapValidator(check)


def _not_negative(rows: tuple[tuple[Any, ...], ...]) -> tuple[tuple[Any, ...], ...]:
    for i, row in enumerate(rows):
        for j, entry in enumerate(row):
            if exactly(entry) < 0:
                raise refused(f"must be a number >= 0, got {shown(entry)}", (i, j))
    return rows


_AS_IT_IS = PlainSerializer(lambda value: value)  # a word or a table, whatever it is


def word_or_table(words: tuple[str, ...], rows: str, *checks: Any) -> Any:
    """The field of a table that may also be one of some words."""
    written = {"anyOf": [{"enum": list(words)}, _TABLE]}
    return Annotated[NumberTable, *checks, or_word(words, rows), _AS_IT_IS, WithJsonSchema(written)]


if TYPE_CHECKING:
    Distance = Any
else:
    Distance = word_or_table((STEPS,), "a table with a row for each secret", AfterValidator(_not_negative))


class Near(Strict):
    """A distance between secrets (`steps` when they stand in order, or a table) and how near a pair must be."""

    distance: Distance
    radius: Number

    @model_validator(mode="after")
    def _wide(self) -> Self:
        if exactly(self.radius) < 0:
            raise refused(f"must be a number >= 0, got {shown(self.radius)}", ("radius",))
        return self

    def pairs(self, count: int) -> Within:
        """The same for the library, among this many secrets."""
        radius = float(exactly(self.radius))
        if isinstance(self.distance, str):
            return within(lambda i, j: abs(i - j), radius)
        if len(self.distance) != count or len(self.distance[0]) != count:
            size = f"{len(self.distance)} x {len(self.distance[0])}"
            raise refused(f"must have a row and a column for each of {count} secrets, got {size}", ("distance",))
        found = within([[float(exactly(entry)) for entry in row] for row in self.distance], radius)
        with located("distance"):
            found.pairs(count)
        return found


class Neighbours(Strict):
    """Secrets that are near each other."""

    within: Near


def _pairs(value: Any, mapping: Callable[[Any], Any]) -> Any:
    """`all`, a list of pairs of names, or a mapping; whose names they are is checked later."""
    if value == "all":
        return value
    if isinstance(value, (list, tuple)):
        if not 0 < len(value) <= MOST_PAIRS:
            raise refused(f"must have from 1 to {MOST_PAIRS:,} pairs, got {len(value):,}")
        for index, pair in enumerate(value):
            if not isinstance(pair, (list, tuple)) or len(pair) != 2 or not all(isinstance(part, str) for part in pair):
                raise refused(f"must be the names of two secrets, got {shown(pair)}", (index,))
        return tuple(tuple(pair) for pair in value)
    if not isinstance(value, (dict, Neighbours)):
        raise refused(f"must be all, a list of pairs of secrets, or within: distance and radius, got {shown(value)}")
    return mapping(value)


def pairs_of(value: Any, names: tuple[str, ...]) -> Any:
    """The pairs for the library: secrets by number."""
    if isinstance(value, Neighbours):
        with located("within"):
            return value.within.pairs(len(names))
    if isinstance(value, str):
        return value
    for index, pair in enumerate(value):
        for place, name in enumerate(pair):
            if name not in names:
                raise refused(f"must be one of {', '.join(names[:20])}, got {shown(name)}", (index, place))
        if pair[0] == pair[1]:
            raise refused(f"must be two different secrets, got {shown(pair[0])} twice", (index,))
    return [(names.index(one), names.index(two)) for one, two in value]


_TWO: dict[str, Any] = {"type": "array", "minItems": 2, "maxItems": 2, "items": {"type": "string"}}


class _PairsSchema:
    """The schema of a mapping, and beside it the word and the list."""

    @staticmethod
    def __get_pydantic_json_schema__(core: Any, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"anyOf": [{"const": "all"}, {"type": "array", "minItems": 1, "items": _TWO}, handler(core)]}


if TYPE_CHECKING:
    Pairs = Any
else:
    Pairs = Annotated[Neighbours, WrapValidator(_pairs), _AS_IT_IS, _PairsSchema]
