"""A number known from both sides: the only kind of answer quiltwork gives."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import attrs
import numpy as np

from quiltwork.checks import FloatArray, settle
from quiltwork.errors import Contradiction, InvalidParameter, NotCertified, Unsupported
from quiltwork.kinds import document
from quiltwork.numbers.digits import pair, single
from quiltwork.numbers.json import check_schema, json_numbers, plain_numbers

if TYPE_CHECKING:
    from quiltwork.proof.claims import Claim
    from quiltwork.proof.prove import Proof

__all__ = ["Bracket", "Contradiction", "Quantity"]

Quantity = Literal["epsilon", "delta", "beta", "cost", "room"]

_QUANTITIES = ("epsilon", "delta", "beta", "cost", "room")
_SCHEMA = "quiltwork/bracket/1"


def _plain(value: Any) -> float | FloatArray:
    """A python float for a 0-d value, otherwise a read-only float array of its own."""
    if isinstance(value, (bool, str, bytes)) or value is None:
        raise InvalidParameter("an end of a bracket", value, "a number or an array of numbers")
    try:
        array = np.array(value, dtype=float)
    except (TypeError, ValueError):
        raise InvalidParameter("an end of a bracket", value, "a number or an array of numbers") from None
    if np.isnan(array).any():
        raise InvalidParameter("an end of a bracket", value, "a number, infinity included, never NaN")
    if array.ndim == 0:
        return float(array)
    array.setflags(write=False)
    return array


@document("bracket/1", plain=True)
@attrs.frozen(eq=False, repr=False)
class Bracket:
    """Two ends with the truth between them, always.

    `upper` may be published for epsilon and delta, `lower` for beta; `safe` is that end.  A budget has a cost, of which
    the upper end is safe, and room, of which the lower end is.  Delta and beta are known to
    lie in [0, 1], so an end outside it is pulled in.  Ends may be arrays of one shape; then everything is elementwise.

    Parameters
    ----------
    lower
        The end below the truth, a number or an array.
    upper
        The end above it, of the same shape.
    quantity
        "epsilon", "delta", "beta", "cost" or "room".
    method
        How it was computed.
    met
        Whether the asked width was reached.
    certified
        Whether both ends are proved.

    Raises
    ------
    InvalidParameter
        The ends cross, or have different shapes.

    Examples
    --------
    >>> bracket = Bracket(1.25, 1.5, "epsilon")
    >>> bracket.safe, bracket.width, 1.3 in bracket
    (1.5, 0.25, True)
    """

    lower: float | FloatArray = attrs.field(converter=_plain)
    upper: float | FloatArray = attrs.field(converter=_plain)
    quantity: Quantity
    method: str = ""
    met: bool = True
    certified: bool = True
    _asked: Any = attrs.field(default=None, init=False, repr=False)  # the curve and the question that it answers

    def __attrs_post_init__(self) -> None:
        if self.quantity not in _QUANTITIES:
            raise InvalidParameter("quantity", self.quantity, f"one of {', '.join(_QUANTITIES)}")
        if np.shape(self.lower) != np.shape(self.upper):
            shapes = (np.shape(self.lower), np.shape(self.upper))
            raise InvalidParameter("the two ends of a bracket", shapes, "arrays of one shape")
        if self.quantity in ("delta", "beta"):
            inside = np.maximum(self.lower, 0.0), np.minimum(self.upper, 1.0)
            settle(self, lower=_plain(inside[0]), upper=_plain(inside[1]))
        if not np.all(np.less_equal(self.lower, self.upper)):
            raise InvalidParameter("the two ends of a bracket", (self.lower, self.upper), "ordered, lower <= upper")

    @property
    def safe(self) -> float | FloatArray:
        """The end that may be published: upper for epsilon, delta and costs, lower for beta and room."""
        if not self.certified:
            raise NotCertified(self.quantity, f"method: {self.method or 'not named'}")
        return self.lower if self.quantity in ("beta", "room") else self.upper

    @property
    def width(self) -> float | FloatArray:
        """upper - lower, with inf - inf = 0."""
        with np.errstate(invalid="ignore"):
            return _plain(np.where(np.equal(self.lower, self.upper), 0.0, np.subtract(self.upper, self.lower)))

    @property
    def relative_width(self) -> float | FloatArray:
        """Width over the larger absolute end: 0 for a point, infinite when exactly one end is."""
        width = np.asarray(self.width)
        size = np.maximum(np.abs(self.lower), np.abs(self.upper))
        with np.errstate(invalid="ignore", divide="ignore"):
            ratio = np.where(np.isinf(width), np.inf, width / size)
        return _plain(np.where(width == 0, 0.0, ratio))

    @property
    def midpoint(self) -> float | FloatArray:
        """Half way between the ends; for display, never for publishing."""
        with np.errstate(invalid="ignore"):
            middle = np.multiply(self.lower, 0.5) + np.multiply(self.upper, 0.5)
        middle = np.where(np.isnan(middle), 0.0, np.clip(middle, self.lower, self.upper))
        return _plain(np.where(np.equal(self.lower, self.upper), self.lower, middle))

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of both ends; () for a single number."""
        return np.shape(self.lower)

    def contains(self, value: Any) -> bool | np.ndarray[Any, np.dtype[np.bool_]]:
        """Whether the value lies between the ends (ends included), elementwise."""
        inside = np.less_equal(self.lower, value) & np.less_equal(value, self.upper)
        return bool(inside) if np.ndim(inside) == 0 else np.asarray(inside)

    def __contains__(self, value: Any) -> bool:
        return bool(np.all(self.contains(value)))

    def __iter__(self) -> Iterator[float | FloatArray]:
        """Unpacks as `lower, upper = bracket`, for arrays too; use `bracket[i]` for one entry."""
        return iter((self.lower, self.upper))

    def __len__(self) -> int:
        if isinstance(self.lower, float):
            raise TypeError("a bracket of a single number has no length")
        return len(self.lower)

    def __bool__(self) -> bool:
        return True  # a bracket is never empty; without this an array bracket would ask its length

    def __getitem__(self, index: Any) -> Bracket:
        if isinstance(self.lower, float) or isinstance(self.upper, float):
            raise TypeError("a bracket of a single number has no entries")
        found = attrs.evolve(self, lower=self.lower[index], upper=self.upper[index])
        if self._asked is not None:
            curve, question = self._asked
            settle(found, _asked=(curve, attrs.evolve(question, values=np.asarray(question.values[index]))))
        return found

    def worst(self, other: Bracket) -> Bracket:
        """The bracket of the less private of two numbers: larger epsilon or delta, smaller beta."""
        self._same_quantity(other)
        pick = np.minimum if self.quantity in ("beta", "room") else np.maximum
        return self._with(other, pick(self.lower, other.lower), pick(self.upper, other.upper), self.met and other.met)

    def intersect(self, other: Bracket) -> Bracket:
        """What two brackets of the *same* number say together; raises Contradiction when they do not meet."""
        self._same_quantity(other)
        lower, upper = np.maximum(self.lower, other.lower), np.minimum(self.upper, other.upper)
        if not np.all(lower <= upper):
            raise Contradiction(self, other)
        return self._with(other, lower, upper, self.met or other.met)

    def _with(self, other: Bracket, lower: Any, upper: Any, met: bool) -> Bracket:
        """What follows from both: the routes of both, each named once, in order; certified when both are."""
        routes = [route for text in (self.method, other.method) for route in text.split(" + ") if route]
        certified = self.certified and other.certified
        return Bracket(lower, upper, self.quantity, " + ".join(dict.fromkeys(routes)), met, certified)

    def _same_quantity(self, other: Bracket) -> None:
        if other.quantity != self.quantity:
            raise InvalidParameter("the other bracket", other, f"a bracket of {self.quantity}")

    def claim(self) -> Claim:
        """What it says about the loss that was asked, as a claim that anybody can check: `quiltwork verify`."""
        from quiltwork.proof.claims import claim

        if self._asked is None or self.shape:
            said = f"{self.quantity}, shape {self.shape}" if self.shape else self.quantity
            why = "a bracket of one number that a loss answered" if self._asked is None else "one number: bracket[i]"
            raise InvalidParameter("the bracket to prove", said, why, "or prove(loss, epsilon=bracket, delta=...)")
        if not self.certified:
            raise NotCertified(self.quantity, f"method: {self.method or 'not named'}")
        curve, question = self._asked
        written = getattr(curve, "to_prove", None)
        if written is None:
            what = f"a proof about {type(curve).__name__}"
            raise Unsupported(what, "proofs are about losses", "prove the loss itself")
        return claim(written(), self.quantity, float(question.values), self)

    def prove(self, *, digits: int | None = None) -> Proof:
        """Judge both ends by ball arithmetic, apart from what computed them (needs `quiltwork[proof]`)."""
        from quiltwork.proof.prove import prove_claim

        return prove_claim(self.claim(), digits)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write what it says as claims, one for each number, for `quiltwork verify`; returns the path."""
        place = Path(path)
        each = (
            [self[index].claim().to_json() for index in np.ndindex(self.shape)]
            if self.shape
            else self.claim().to_json()
        )
        place.write_text(json.dumps(each, indent=1) + "\n", encoding="utf-8")
        return place

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy does not carry the curve that was asked."""
        return Bracket, (self.lower, self.upper, self.quantity, self.method, self.met, self.certified)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Bracket):
            return NotImplemented
        return (
            np.array_equal(self.lower, other.lower)
            and np.array_equal(self.upper, other.upper)
            and (self.quantity, self.method, self.met, self.certified)
            == (other.quantity, other.method, other.met, other.certified)
        )

    def __hash__(self) -> int:
        ends = (*np.ravel(self.lower).tolist(), *np.ravel(self.upper).tolist())
        return hash((ends, self.quantity, self.method, self.met, self.certified))

    def __str__(self) -> str:
        if isinstance(self.lower, float) and isinstance(self.upper, float):
            text = f"{self.quantity} = {pair(self.lower, self.upper)}"
        elif np.size(self.lower) == 0:
            text = f"{self.quantity}, shape {self.shape}: empty"
        else:
            least, most = single(float(np.min(self.lower))), single(float(np.max(self.upper)))
            relative = float(np.max(self.relative_width))
            text = f"{self.quantity}, shape {self.shape}: {least} to {most}, relative width <= {relative:.1e}"
        return f"{text} ({', '.join(self._remarks)})" if self._remarks else text

    @property
    def _remarks(self) -> list[str]:
        """How it was found, and what it lacks."""
        notes = [self.method] if self.method else []
        notes += [] if self.met else ["wider than asked"]
        return notes + ([] if self.certified else ["not certified"])

    def __repr__(self) -> str:
        words = [repr(self.lower), repr(self.upper), repr(self.quantity)]
        words += [f"method={self.method!r}"] if self.method else []
        words += [] if self.met else ["met=False"]
        words += [] if self.certified else ["certified=False"]
        return f"Bracket({', '.join(words)})"

    def _repr_html_(self) -> str:
        from quiltwork.curves.bracket_view import bracket_html

        return bracket_html(self)

    def to_json(self) -> dict[str, Any]:
        """A plain dictionary that `json.dumps(..., allow_nan=False)` accepts; infinities are strings."""
        return {
            "schema": _SCHEMA,
            "quantity": self.quantity,
            "lower": json_numbers(self.lower),
            "upper": json_numbers(self.upper),
            "method": self.method,
            "met": self.met,
            "certified": self.certified,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Bracket:
        """The inverse of `to_json`, exact to the last bit."""
        check_schema(data, _SCHEMA)
        return cls(
            plain_numbers(data["lower"]),
            plain_numbers(data["upper"]),
            cast(Quantity, data["quantity"]),
            str(data.get("method", "")),
            bool(data.get("met", True)),
            bool(data.get("certified", True)),
        )
