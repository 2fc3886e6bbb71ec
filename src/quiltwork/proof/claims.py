"""Claims: what is said about a loss, with numbers as typed.

    {"schema": "quiltwork/claim", "version": 1, "loss": {...}, "delta": "1e-06", "epsilon": ["9.69100", "9.69102"]}

says that the smallest epsilon at delta lies between the two; `delta` in two ends at one `epsilon`, and `beta` in two
ends at one `alpha`, are the other questions.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Any, ClassVar

import attrs

from quiltwork.errors import InvalidParameter
from quiltwork.kinds import document
from quiltwork.proof.balls import stated

SCHEMA, VERSION = "quiltwork/claim", 1
SCHEMAS = (SCHEMA, f"{SCHEMA}/{VERSION}")  # by itself, and as a document
ARGUMENTS = {"epsilon": "delta", "delta": "epsilon", "beta": "alpha"}  # of each question


def number_text(value: Any) -> str:
    """A number as it is written in a claim."""
    if isinstance(value, bool):
        raise TypeError("true and false are no numbers")
    if isinstance(value, (str, Decimal)):
        return str(value)
    return repr(value) if isinstance(value, int) else repr(float(value))


def _end(name: str, value: Any) -> Fraction | None:
    """One end as typed; None where it is infinite."""
    return None if str(value).lower().lstrip("+") in ("inf", "infinity") else stated(name, value)


@document("claim/1", plain=True)
@attrs.frozen
class Claim:
    """The answer to one question about a loss lies between two ends; the loss is its plain JSON."""

    loss: Mapping[str, Any]
    quantity: str
    at: str
    lower: str
    upper: str
    ends: ClassVar[tuple[str, str]] = ("lower", "upper")

    def __attrs_post_init__(self) -> None:
        if self.quantity not in ARGUMENTS:
            raise InvalidParameter("quantity", self.quantity, f"one of {', '.join(ARGUMENTS)}")
        name = ARGUMENTS[self.quantity]
        at = stated(name, self.at)
        if name != "epsilon" and not 0 <= at <= 1:
            raise InvalidParameter(name, self.at, "in [0, 1]")
        low, high = _end(self.quantity, self.lower), _end(self.quantity, self.upper)
        finite = low is not None or self.quantity == "epsilon"
        if not finite or (high is not None and (low is None or low > high)):
            allowed = "ordered, the lower one finite unless epsilon is infinite"
            raise InvalidParameter("the two ends of a claim", (self.lower, self.upper), allowed)

    @property
    def argument(self) -> Fraction:
        """Where it is asked, as typed."""
        return stated(ARGUMENTS[self.quantity], self.at)

    @property
    def endless(self) -> bool:
        """Whether it says that no finite epsilon is enough."""
        return _end(self.quantity, self.lower) is None

    @property
    def low(self) -> Fraction:
        """The lower end as typed, where it is finite."""
        return stated(self.quantity, self.lower)

    @property
    def high(self) -> Fraction | None:
        """The upper end as typed; None where it is infinite."""
        return _end(self.quantity, self.upper)

    def rounded(self, digits: int) -> Claim:
        """The same claim with its ends rounded outward to so many digits, as people print them."""
        if digits not in range(1, 51):
            raise InvalidParameter("digits", digits, "a whole number from 1 to 50")
        ends = []
        for value, way in ((self.lower, ROUND_FLOOR), (self.upper, ROUND_CEILING)):
            known = _end(self.quantity, value) is not None
            ends.append(str(Context(prec=digits, rounding=way).create_decimal(Decimal(value))) if known else value)
        return attrs.evolve(self, lower=ends[0], upper=ends[1])

    def to_json(self) -> dict[str, Any]:
        """Plain values; numbers are texts."""
        return {
            "schema": SCHEMA, "version": VERSION, "loss": dict(self.loss), ARGUMENTS[self.quantity]: self.at,
            self.quantity: [self.lower, self.upper],
        }  # fmt: skip

    @classmethod
    def from_json(cls, data: Any) -> Claim:
        """The inverse of to_json; numbers may be given as numbers, too, and are read by their shortest decimal."""
        if (
            not isinstance(data, Mapping)
            or data.get("schema") not in SCHEMAS
            or data.get("version", VERSION) != VERSION
        ):
            raise InvalidParameter("schema", _schema(data), f"{SCHEMA!r}, version {VERSION}")
        for quantity, argument in ARGUMENTS.items():
            if set(data) - {"schema", "version"} == {"loss", quantity, argument} and isinstance(data[quantity], list):
                return claim(data["loss"], quantity, data[argument], data[quantity])
        allowed = "a loss, one of epsilon, delta, beta with two ends, and where it is asked"
        raise InvalidParameter("the members of a claim", sorted(map(str, data)), allowed)

    def __str__(self) -> str:
        return f"{self.quantity} in [{self.lower}, {self.upper}] at {ARGUMENTS[self.quantity]} {self.at}"


def _schema(data: Any) -> Any:
    return data.get("schema") if isinstance(data, Mapping) else type(data).__name__


def claim(loss: Any, quantity: str, at: Any, ends: Any) -> Claim:
    """A claim from what was given: a loss or its JSON, numbers or texts; one number is an upper end (beta: a lower)."""
    written = loss.to_json() if callable(getattr(loss, "to_json", None)) else loss
    if not isinstance(written, Mapping) or not isinstance(written.get("schema"), str):
        raise InvalidParameter("loss", loss, "a loss, or the JSON of one")
    if not isinstance(at, (str, int, float)) or isinstance(at, bool):
        raise InvalidParameter(ARGUMENTS[quantity], at, "one number, or its decimals as a text")
    if isinstance(ends, (str, int, float)) and not isinstance(ends, bool):
        ends = (ends, 1) if quantity == "beta" else (0, ends)
    try:
        lower, upper = ends
        texts = [number_text(end) for end in (lower, upper)]
    except (TypeError, ValueError):
        raise InvalidParameter(quantity, ends, "one number, or two ends") from None
    return Claim(dict(written), quantity, number_text(at), *texts)
