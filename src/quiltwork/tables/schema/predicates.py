"""Conditions on one record, written with ordinary operators, and taken apart into boxes.

A box is a conjunction of selectors, column by column; every condition is a union of boxes. Negation moves to the
columns (De Morgan), where it leaves NULL out: a comparison with NULL is neither true nor false, and a filter keeps what
is true, as in SQL.

Reference: theory/granularity.md section 4 (cells).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, NoReturn

import attrs

from quiltwork import checks
from quiltwork.errors import InvalidParameter
from quiltwork.kinds import document
from quiltwork.tables.schema.selectors import Chosen, Has, Null, Selector, Spans

Box = dict[str, tuple[Selector, ...]]
MOST_BOXES = 128  # of one predicate; beyond, it counts as touching every record


class Predicate(ABC):
    """True, false or unknown (a comparison with NULL) for every record."""

    @abstractmethod
    def truth(self, record: Mapping[str, Any]) -> bool | None:
        """Whether the record satisfies it; None when NULL leaves that open."""

    @abstractmethod
    def negated(self) -> Predicate:
        """The opposite, still unknown where this is unknown."""

    @abstractmethod
    def boxes(self) -> list[Box] | None:
        """The same condition as a union of boxes, or None when it cannot be taken apart."""

    @property
    def columns(self) -> frozenset[str]:
        """The columns that it looks at: none, unless a comparison says so."""
        return frozenset()

    def keeps(self, record: Mapping[str, Any]) -> bool:
        """Whether a filter keeps the record."""
        return self.truth(record) is True

    def __and__(self, other: object) -> Predicate:
        return _joined(And, self, other)

    def __or__(self, other: object) -> Predicate:
        return _joined(Or, self, other)

    def __invert__(self) -> Predicate:
        return self.negated()

    def __bool__(self) -> NoReturn:
        raise InvalidParameter(
            "condition", self, "combined with &, | and ~", "and, or, not and chained comparisons cannot be overloaded"
        )


@document("condition/1")
@attrs.frozen
class Condition(Predicate):
    """One selector on one column."""

    column: str
    selector: Selector

    def truth(self, record: Mapping[str, Any]) -> bool | None:
        if self.column not in record:
            raise InvalidParameter("record", dict(record), f"one with the column {self.column!r}")
        value = record[self.column]
        if isinstance(self.selector, Null):
            return (value is None) == self.selector.null
        return None if value is None else self.selector.holds(value)

    def negated(self) -> Predicate:
        return Condition(self.column, self.selector.complement())

    def boxes(self) -> list[Box] | None:
        return [{self.column: (self.selector,)}]

    @property
    def columns(self) -> frozenset[str]:
        return frozenset((self.column,))

    def __str__(self) -> str:
        return f"{self.column} {self.selector}"


@document("everything/1")
@attrs.frozen
class Everything(Predicate):
    """Every record, or none."""

    wanted: bool = True

    def truth(self, record: Mapping[str, Any]) -> bool | None:
        return self.wanted

    def negated(self) -> Predicate:
        return Everything(not self.wanted)

    def boxes(self) -> list[Box] | None:
        return [{}] if self.wanted else []

    def __str__(self) -> str:
        return "every record" if self.wanted else "no record"


@attrs.frozen
class Joined(Predicate):
    """Several conditions as one: `decides` is the truth value that settles it as soon as one of them has it."""

    decides: ClassVar[bool]
    parts: tuple[Predicate, ...]

    def truth(self, record: Mapping[str, Any]) -> bool | None:
        found = [part.truth(record) for part in self.parts]
        return self.decides if self.decides in found else None if None in found else not self.decides

    def negated(self) -> Predicate:
        return (And if self.decides else Or)(tuple(part.negated() for part in self.parts))

    @property
    def columns(self) -> frozenset[str]:
        return frozenset().union(*(part.columns for part in self.parts))

    def words(self, of: Callable[[Predicate], str]) -> str:
        """The parts in the words of `of`; what is joined by or stands in parentheses beside and."""
        nested = [isinstance(part, Or) and isinstance(self, And) for part in self.parts]
        parts = [f"({of(part)})" if wrap else of(part) for part, wrap in zip(self.parts, nested, strict=True)]
        return (" or " if self.decides else " and ").join(parts)

    def __str__(self) -> str:
        return self.words(str)


@document("all_of/1")
@attrs.frozen
class And(Joined):
    """All of them."""

    decides: ClassVar[bool] = False

    def boxes(self) -> list[Box] | None:
        total: list[Box] = [{}]
        for part in self.parts:
            more = part.boxes()
            if more is None or len(total) * len(more) > MOST_BOXES:
                return None
            total = [_both(one, two) for one in total for two in more]
        return total


@document("some_of/1")
@attrs.frozen
class Or(Joined):
    """At least one of them."""

    decides: ClassVar[bool] = True

    def boxes(self) -> list[Box] | None:
        total: list[Box] = []
        for part in _merged(self.parts):
            more = part.boxes()
            if more is None or len(total) + len(more) > MOST_BOXES:
                return None
            total += more
        return total


@attrs.frozen
class Opaque(Predicate):
    """A map that cannot be looked into: one changed record changes at most `stability` rows of what the query sees."""

    name: str
    stability: float

    def truth(self, record: Mapping[str, Any]) -> bool | None:
        raise InvalidParameter("record", dict(record), "asked of conditions only", f"{self.name!r} is opaque")

    def negated(self) -> Predicate:
        return self

    def boxes(self) -> list[Box] | None:
        return None

    def __str__(self) -> str:
        return f"{self.name} (opaque, stability {self.stability:g})"


def opaque(name: str, *, stability: float) -> Opaque:
    """A filter or map that is only described: it counts as touching every record.

    `stability` is a promise: when one record is added or removed, at most that many rows of the query's input change.

    Parameters
    ----------
    name
        What it does, in a few words.
    stability
        Rows of the query's input that change when one record is added or removed.

    Returns
    -------
    Opaque
        A condition, for `where=` of a query.

    Raises
    ------
    InvalidParameter
        A value is outside its domain; the message says which, and what is allowed.

    Examples
    --------
    >>> opaque("outliers dropped", stability=2).stability
    2.0
    """
    return Opaque(
        checks.text("name", name, "a few words that say what it does"),
        checks.positive("stability", stability, "0 would say that the query ignores the table"),
    )


def leaves(predicate: Predicate) -> Iterator[Predicate]:
    """What a condition is joined from."""
    if isinstance(predicate, Joined):
        for part in predicate.parts:
            yield from leaves(part)
    else:
        yield predicate


def opaque_parts(predicate: Predicate) -> list[Opaque]:
    """The opaque maps inside a condition."""
    return [part for part in leaves(predicate) if isinstance(part, Opaque)]


def _joined(kind: type[Joined], one: Predicate, two: object) -> Predicate:
    if not isinstance(two, Predicate):
        raise InvalidParameter("condition", two, "another condition", "put comparisons in parentheses around & and |")
    parts: list[Predicate] = []
    for side in (one, two):
        parts += side.parts if isinstance(side, kind) else [side]
    return kind(tuple(parts))


def _both(one: Box, two: Box) -> Box:
    return {
        column: (*one.get(column, ()), *(s for s in two.get(column, ()) if s not in one.get(column, ())))
        for column in {**one, **two}
    }


def _merged(parts: tuple[Predicate, ...]) -> list[Predicate]:
    """Alternatives on one column become one selector: (a = 1) or (a = 2) is one box, not two."""
    found: dict[object, Predicate] = {}
    for part in parts:
        if isinstance(part, Condition) and isinstance(part.selector, (Chosen, Spans)):
            key = (part.column, type(part.selector))
            before = found.get(key)
            found[key] = Condition(part.column, _union(before, part.selector))
        else:
            found[id(part)] = part
    return list(found.values())


def _union(before: Predicate | None, selector: Chosen | Spans) -> Selector:
    if not isinstance(before, Condition):
        return selector
    other = before.selector
    if isinstance(selector, Spans) and isinstance(other, Spans):
        return Spans.of([*other.spans, *selector.spans])
    if not isinstance(selector, Chosen) or not isinstance(other, Chosen):
        raise TypeError("only selectors of one kind are joined")
    if selector.inside and other.inside:
        return Chosen(selector.values | other.values)
    if not selector.inside and not other.inside:
        return Chosen(selector.values & other.values, inside=False)
    kept, left = (selector, other) if selector.inside else (other, selector)
    return Chosen(left.values - kept.values, inside=False)


def members(box: Box) -> frozenset[tuple[str, Any]]:
    """The members of set-valued columns that a box asks for, by column."""
    return frozenset((c, s.member) for c, selectors in box.items() for s in selectors if isinstance(s, Has))


document("opaque/1", fields="name stability", read=opaque)(Opaque)
