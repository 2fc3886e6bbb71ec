"""A curve and the words that say what it means."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import attrs

from quiltwork import checks
from quiltwork.curves.bracket import Quantity
from quiltwork.curves.curve import Curve, SameCurve
from quiltwork.curves.views import answers
from quiltwork.document.draw import notebook as markup
from quiltwork.errors import InvalidParameter, QuiltworkError, Unsupported
from quiltwork.kinds import document
from quiltwork.numbers.digits import NOISE, at_most, single
from quiltwork.numbers.json import check_schema

if TYPE_CHECKING:
    from quiltwork.proof.prove import Proof

_SCHEMA = "quiltwork/guarantee/1"
_FALSE_ALARMS = (0.05, 0.001)


class Later:
    """Words, or another value, that cost an answer: found when they are first read, once."""

    def __init__(self, find: Callable[[], Any]) -> None:
        self._find = find

    @cached_property
    def words(self) -> Any:
        """What was found."""
        return self._find()

    def __reduce__(self) -> tuple[Any, ...]:
        return value_of, (self.words,)


def later(find: Callable[[], Any]) -> Any:
    """What `assumes`, `because` or `witness` is given when it is not to be computed before it is read."""
    return Later(find)


def value_of(words: Any) -> Any:
    """What was given at once or is found now."""
    return words.words if isinstance(words, Later) else words


def same_words(text: str) -> str:
    """Words as they are compared: without case, with single blanks and no full stop at the end."""
    return " ".join(text.split()).rstrip(".").lower()


def _texts(value: str | Iterable[str]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def _reasons(value: str | Iterable[str]) -> Any:
    return Later(lambda: _texts(value.words)) if isinstance(value, Later) else _texts(value)


@attrs.frozen(repr=False)
class Guarantee(SameCurve):
    """A curve with what it protects, under which assumptions, by which theorems, and the worst case that was found.

    Nothing is computed before it is asked for: words that depend on an answer wait for a reader.

    Parameters
    ----------
    curve
        The curve.
    protects
        The change of the data that is hidden, in words.
    assumes
        What is taken for granted.
    because
        The theorems.
    witness
        The worst case that was found.

    Examples
    --------
    >>> from quiltwork import laplace
    >>> told = laplace(10.0).guarantee(protects="one visit")
    >>> told.protects, round(told.epsilon(0.0).safe, 6)
    ('one visit', 0.1)
    """

    curve: Curve
    protects: str
    _assumes: Any = attrs.field(default=(), converter=_reasons, alias="assumes", eq=value_of)
    _because: Any = attrs.field(default=(), converter=_reasons, alias="because", eq=value_of)
    _witness: str | None = attrs.field(default=None, alias="witness", eq=value_of)

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.curve, Curve):
            raise InvalidParameter("curve", self.curve, "an object with epsilon, delta and beta")
        if not str(self.protects).strip():
            raise InvalidParameter("protects", self.protects, "a sentence that names the protected pairs")

    @property
    def assumes(self) -> tuple[str, ...]:
        """What is taken on trust."""
        return tuple(value_of(self._assumes))

    @property
    def because(self) -> tuple[str, ...]:
        """The theorems that it follows from."""
        return tuple(value_of(self._because))

    @property
    def witness(self) -> str | None:
        """The worst case that was found."""
        found: str | None = value_of(self._witness)
        return found

    def __repr__(self) -> str:
        shown = [field.alias or field.name for field in attrs.fields(type(self)) if field.repr]
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in shown)})"

    def _same(self, quantity: Quantity) -> Curve:
        return self.curve

    def loss(self) -> Any:
        """This guarantee as a loss, to be composed, spent and calibrated: for neighbouring data only."""
        made = getattr(self.curve, "as_loss", None)
        if made is None:
            raise Unsupported(
                f"a loss of the guarantee for {self.protects!r}",
                "a guarantee about a secret does not add up: two releases that each tell nothing about it can tell all "
                "of it together",
                "join the releases before they are translated (one plan, one per-entry loss), or open a budget with "
                "prior=..., and spend the per-entry loss",
            )
        return made()

    def prove(self, delta: float, *, digits: int | None = None, rtol: float = 1e-3) -> Proof:
        """Judge epsilon at this delta by ball arithmetic, apart from what computed it (needs `quiltwork[proof]`).

        What is judged is the loss, not the words: what is protected and assumed is taken as said.
        """
        return self.epsilon(delta, rtol=rtol).prove(digits=digits)

    def beside(self, other: Guarantee) -> Guarantee | None:
        """One guarantee for both, where their releases can be joined; None where their losses are composed instead."""
        return None

    def __add__(self, other: Any) -> Any:
        return self.loss() + other

    def __radd__(self, other: Any) -> Any:
        return self.loss() if other == 0 else NotImplemented

    def __mul__(self, count: int) -> Any:
        return self.loss() * count

    __rmul__ = __mul__

    def explain(self, delta: float | None = None) -> str:
        """What an attacker can do at best, in plain language; every number is rounded to the safe side.

        An excess below 1e-12 of a number is noise of outward rounding and is not shown: 0.5 is written as 0.5.
        """
        lines = [f"Protected: {self.protects}."]
        for alarm in _FALSE_ALARMS:
            found = at_most(100.0 * (1.0 - float(self.beta(alarm).safe)), 3, NOISE)
            blind = single(100.0 * alarm)
            lines.append(
                f"An attacker who sees every release and accepts {blind}% false alarms detects the protected "
                f"difference in at most {found}% of cases (blind guessing: {blind}%)."
            )
        if delta is not None:
            lines.append(self._budget_line(checks.probability("delta", delta)))
        lines.append("This assumes: " + "; ".join(self.assumes) + "." if self.assumes else "This assumes nothing else.")
        if self.because:
            lines.append("It follows from: " + "; ".join(self.because) + ".")
        if self.witness:
            lines.append(f"The worst case found: {self.witness}.")
        return "\n".join(lines)

    def _budget_line(self, delta: float) -> str:
        epsilon = float(self.epsilon(delta).safe)
        if epsilon == float("inf"):
            return f"At delta = {single(delta)} there is no finite epsilon: some releases may reveal everything."
        most = at_most(epsilon, noise=NOISE)
        return (
            f"At delta = {single(delta)} epsilon is at most {most}: up to that delta, nothing that is "
            "released is more than e^epsilon times as likely in one of the two cases as in the other."
        )

    def _repr_html_(self) -> str:
        try:
            words = self.explain().splitlines()
        except QuiltworkError as problem:  # an approximate curve promises nothing, but can be looked at
            words = [f"Protected: {self.protects}.", str(problem)]
        told = [line for line in words if not line.startswith(("This assumes", "It follows from"))]
        assumes = markup.items(self.assumes) if self.assumes else " nothing else"
        because = "<p>It follows from:</p>" + markup.items(self.because) if self.because else ""
        lists = f"<p>This assumes:</p>{assumes}{because}"
        return markup.block(markup.paragraphs(told), answers(self), self._sketch(), lists)

    def to_json(self) -> dict[str, Any]:
        """A plain dictionary; `curve` is null when the curve cannot write itself."""
        write = getattr(self.curve, "to_json", None)
        return {
            "schema": _SCHEMA,
            "protects": self.protects,
            "assumes": list(self.assumes),
            "because": list(self.because),
            "witness": self.witness,
            "curve": write() if callable(write) else None,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any], load: Callable[[Mapping[str, Any]], Curve]) -> Guarantee:
        """The inverse of `to_json`; `load` turns the curve's own dictionary into a curve."""
        check_schema(data, _SCHEMA)
        if data.get("curve") is None:
            raise InvalidParameter("curve", None, "the dictionary of a curve", "this guarantee was saved without one")
        return cls(load(data["curve"]), data["protects"], data["assumes"], data["because"], data["witness"])


# ---- as a document


def _read(**fields: Any) -> Guarantee:
    if fields["curve"] is None:
        raise InvalidParameter("curve", None, "the document of a curve", "this guarantee was saved without one")
    return Guarantee(**fields)


document("guarantee/1", fields="curve protects assumes because", optional="witness", read=_read)(Guarantee)
