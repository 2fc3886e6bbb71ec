"""The columns of a table: public domains, never data.

A column says which values a record may hold and cuts them into classes: values that no condition of a plan tells apart.

Plain values that describe columns: numbers, days and lists, checked.
"""

from __future__ import annotations

import datetime
import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from quiltwork import checks
from quiltwork.errors import InvalidParameter
from quiltwork.kinds import document
from quiltwork.losses.family import checked
from quiltwork.tables.schema.selectors import Chosen, Cut, Has, Null, Selector, Spans


def whole(name: str, given: Any) -> int:
    """A whole number of moderate size."""
    real = checks.real(name, given, "a whole number")
    if real != int(real) or abs(real) > checks.MAX_COUNT:
        raise InvalidParameter(name, given, "a whole number up to 2**53")
    return int(real)


def day(name: str, given: Any) -> datetime.date:
    """A day, also from ISO text."""
    if isinstance(given, datetime.datetime):
        raise InvalidParameter(name, given, "a day without a time of day", "use given.date()")
    if isinstance(given, datetime.date):
        return given
    try:
        return datetime.date.fromisoformat(given)
    except (TypeError, ValueError):
        raise InvalidParameter(name, given, "a datetime.date or ISO text such as '2026-01-31'") from None


def first_day(given: Any) -> datetime.date:
    return day("low", given)


def last_day(given: Any) -> datetime.date:
    return day("high", given)


def distinct(name: str, values: Iterable[Any]) -> tuple[Any, ...]:
    """A list without repetitions, None or NaN."""
    if isinstance(values, (str, bytes)):
        raise InvalidParameter(name, values, "a list", "one text is not a list of its letters")
    try:
        found = tuple(values)
        unique = len(set(found)) == len(found)
    except TypeError:
        raise InvalidParameter(name, values, "a list of hashable values") from None
    if not found or not unique:
        raise InvalidParameter(name, found, "at least one value, none of them twice")
    if any(value is None or value != value for value in found):
        raise InvalidParameter(name, found, "free of None and NaN", "say nullable=True instead")
    return found


def listed(values: Iterable[Any]) -> str:
    """A few values in words."""
    shown = [str(value) for value in values]
    return "|".join(shown) if len(shown) <= 4 else "|".join(shown[:3]) + f"|... ({len(shown)})"


BoolArray = NDArray[np.bool_]
MOST_PATTERNS = 50_000  # of a set-valued column; beyond, its members are taken as independent, which is sound


@attrs.frozen(eq=False)
class Classes:
    """Classes of values of one column: a name, how many values, and which selectors choose them.

    `spans` are set for ordered columns (None for NULL); `exact` is False when classes stand for more than they hold.
    """

    names: tuple[str, ...]
    sizes: tuple[float, ...]
    selected: BoolArray  # classes x selectors
    spans: tuple[tuple[Cut, Cut] | None, ...] = ()
    exact: bool = True


@attrs.frozen
class Column(ABC):
    """What a record may hold in one place; `nullable` adds NULL, a class of its own."""

    kind: ClassVar[str]

    @abstractmethod
    def value(self, given: Any) -> Any:
        """A value of this column in its plain form, or InvalidParameter."""

    @abstractmethod
    def values(self, selectors: Sequence[Selector], alike: Mapping[Any, Hashable] | None, records: int) -> Classes:
        """Classes of the values that are not NULL."""

    def classes(
        self, selectors: Sequence[Selector], alike: Mapping[Any, Hashable] | None = None, records: int = 1
    ) -> Classes:
        """All classes. Members with equal `alike` are interchangeable for at most `records` records at once."""
        found = self.values(selectors, alike, records)
        spans = found.spans or (None,) * len(found.names)
        if not getattr(self, "nullable", False):
            return attrs.evolve(found, spans=spans)
        null = [isinstance(selector, Null) and selector.null for selector in selectors]
        selected = np.vstack([found.selected, np.array(null, dtype=bool).reshape(1, len(selectors))])
        return Classes((*found.names, "NULL"), (*found.sizes, 1), selected, (*spans, None), found.exact)

    def understands(self, selector: Selector) -> bool:
        """Whether a selector speaks of values of this column."""
        return isinstance(selector, Null) and bool(getattr(self, "nullable", False))


def _chooses(selector: Selector, value: Any) -> bool:
    return (not selector.null) if isinstance(selector, Null) else selector.holds(value)


@document(
    "cat_column/1",
    fields="categories",
    optional="nullable",
    read=lambda categories, nullable=False: Cat(*categories, nullable=nullable),
)
@attrs.frozen(init=False)
class Cat(Column):
    """One of a public list of categories.

    Parameters
    ----------
    *categories
        The public list, none twice.
    nullable
        Whether NULL occurs.

    Examples
    --------
    >>> Cat("N", "S").value("N")
    'N'
    """

    kind: ClassVar[str] = "Cat"
    categories: tuple[Any, ...]
    nullable: bool = False

    def __init__(self, *categories: Any, nullable: bool = False) -> None:
        found = distinct("categories", categories)
        self.__attrs_init__(found, checks.flag("nullable", nullable))

    def value(self, given: Any) -> Any:
        if not isinstance(given, Hashable) or given not in self.categories:
            shown = ", ".join(map(repr, self.categories[:12])) + (", ..." if len(self.categories) > 12 else "")
            raise InvalidParameter("category", given, f"one of {shown}")
        return given

    def understands(self, selector: Selector) -> bool:
        if isinstance(selector, Chosen):
            return selector.values <= set(self.categories)
        return super().understands(selector)

    def values(self, selectors: Sequence[Selector], alike: Mapping[Any, Hashable] | None, records: int) -> Classes:
        groups: dict[tuple[bool, ...], list[Any]] = {}
        for value in self.categories:
            groups.setdefault(tuple(_chooses(selector, value) for selector in selectors), []).append(value)
        names = tuple(listed(group) for group in groups.values())
        selected = np.array(list(groups), dtype=bool).reshape(len(groups), len(selectors))
        return Classes(names, tuple(float(len(group)) for group in groups.values()), selected)

    def __str__(self) -> str:
        return f"Cat({len(self.categories)} categories)"


class Ordered(Column):
    """A column whose conditions are spans, between a `low` and a `high` value that both belong to it."""

    discrete: ClassVar[bool] = True
    low: Any
    high: Any

    def __attrs_post_init__(self) -> None:
        if not self.low <= self.high:
            raise InvalidParameter("low and high", (self.low, self.high), "in rising order")

    def inside(self, name: str, given: Any, value: Any) -> Any:
        """A value, or InvalidParameter for what was given when it lies outside."""
        if not self.low <= value <= self.high:
            raise InvalidParameter(name, given, f"from {self.low} to {self.high}")
        return value

    @property
    @abstractmethod
    def domain(self) -> tuple[Cut, Cut]:
        """The span of all values."""

    def cut(self, given: Any, *, after: bool) -> Cut:
        """The cut just below a bound, or just above it."""
        bound = self.bound(given)
        if not self.discrete or math.isinf(bound):
            return bound, int(after)
        return (math.floor(bound) + 1, 0) if after else (math.ceil(bound), 0)

    def bound(self, given: Any) -> float:
        """A number to compare with; it need not be a value of the column, and whole ones stay whole."""
        real = checks.real("bound", given)
        if not isinstance(given, (int, np.integer)):
            return real
        if abs(int(given)) > checks.MAX_COUNT:
            raise InvalidParameter("bound", given, "a whole number up to 2**53, or a float")
        return int(given)

    def shown(self, bound: float) -> str:
        return f"{bound:g}"

    def understands(self, selector: Selector) -> bool:
        if not isinstance(selector, Spans):
            return super().understands(selector)
        cuts = [cut for span in selector.spans for cut in span if not math.isinf(cut[0])]
        return not self.discrete or all(value == int(value) and not after for value, after in cuts)

    def values(self, selectors: Sequence[Selector], alike: Mapping[Any, Hashable] | None, records: int) -> Classes:
        low, high = self.domain
        cuts = {cut for s in selectors if isinstance(s, Spans) for span in s.spans for cut in span}
        edges = [low, *sorted(cut for cut in cuts if low < cut < high), high]
        starts = edges[:-1]
        selected = np.ones((len(starts), len(selectors)), dtype=bool)
        place = {cut: i for i, cut in enumerate(edges)}
        for j, selector in enumerate(selectors):
            if isinstance(selector, Null):
                selected[:, j] = not selector.null
            elif isinstance(selector, Spans):
                selected[:, j] = False
                for start, end in selector.spans:
                    first = place.get(start, 0) if start > low else 0
                    last = place.get(end, 0) if end < high else len(starts)
                    if start < high and end > low:
                        selected[first:last, j] = True
        spans = tuple(itertools.pairwise(edges))
        names = tuple(self.name_of(*span) for span in spans)
        return Classes(names, tuple(self._size(*span) for span in spans), selected, spans)

    def _size(self, start: Cut, end: Cut) -> float:
        if self.discrete:
            return end[0] - start[0]
        return 1.0 if start[0] == end[0] else math.inf

    def name_of(self, start: Cut, end: Cut) -> str:
        """A span in words."""
        if self._size(start, end) == 1:
            return self.shown(start[0])
        if self.discrete:
            return f"{self.shown(start[0])}..{self.shown(end[0] - 1)}"
        return f"{'(' if start[1] else '['}{self.shown(start[0])}, {self.shown(end[0])}{']' if end[1] else ')'}"


@document("int_column/1")
@attrs.frozen
class Int(Ordered):
    """A whole number between two public bounds, both included.

    Parameters
    ----------
    low
        The least value.
    high
        The largest.
    nullable
        Whether NULL occurs.

    Examples
    --------
    >>> Int(0, 120).value(40)
    40
    """

    kind: ClassVar[str] = "Int"
    low: int = checked(whole, "low")
    high: int = checked(whole, "high")
    nullable: bool = checked(checks.flag, "nullable", default=False)

    @property
    def domain(self) -> tuple[Cut, Cut]:
        return (self.low, 0), (self.high + 1, 0)

    def value(self, given: Any) -> Any:
        return self.inside("value", given, whole("value", given))

    def shown(self, bound: float) -> str:
        return str(int(bound))


@document("float_column/1")
@attrs.frozen
class Float(Ordered):
    """A real number between two public bounds, both included; NaN counts as NULL.

    Parameters
    ----------
    low
        The least value.
    high
        The largest.
    nullable
        Whether NULL occurs.

    Examples
    --------
    >>> Float(0.0, 300.0).value(71.5)
    71.5
    """

    kind: ClassVar[str] = "Float"
    discrete: ClassVar[bool] = False
    low: float = checked(checks.real, "low")
    high: float = checked(checks.real, "high")
    nullable: bool = checked(checks.flag, "nullable", default=False)

    @property
    def domain(self) -> tuple[Cut, Cut]:
        return (self.low, 0), (self.high, 1)

    def value(self, given: Any) -> Any:
        return self.inside("value", given, checks.real("value", given))


@document("date_column/1")
@attrs.frozen
class Date(Ordered):
    """A day between two public days, both included; days may be written as ISO text.

    Parameters
    ----------
    low
        The first day.
    high
        The last.
    nullable
        Whether NULL occurs.

    Examples
    --------
    >>> Date("2026-01-01", "2026-12-31").low.isoformat()
    '2026-01-01'
    """

    kind: ClassVar[str] = "Date"
    low: datetime.date = attrs.field(converter=first_day)
    high: datetime.date = attrs.field(converter=last_day)
    nullable: bool = checked(checks.flag, "nullable", default=False)

    @property
    def domain(self) -> tuple[Cut, Cut]:
        return (self.low.toordinal(), 0), (self.high.toordinal() + 1, 0)

    def bound(self, given: Any) -> float:
        return float(day("day", given).toordinal())

    def value(self, given: Any) -> Any:
        return self.inside("day", given, day("day", given)).toordinal()

    def shown(self, bound: float) -> str:
        return datetime.date.fromordinal(int(bound)).isoformat()


@document("subset_column/1")
@attrs.frozen(init=False)
class SubsetOf(Column):
    """A set of at most `max_size` members of a public list: the hospitals of one patient, the tags of one post.

    Parameters
    ----------
    members
        The public list, none twice.
    max_size
        The most members of one set.
    nullable
        Whether NULL occurs.

    Examples
    --------
    >>> SubsetOf(["a", "b", "c"], 2).max_size
    2
    """

    kind: ClassVar[str] = "SubsetOf"
    members: tuple[Any, ...]
    max_size: int
    nullable: bool = False

    def __init__(self, members: Iterable[Any], max_size: int | None = None, *, nullable: bool = False) -> None:
        found = distinct("members", members)
        size = len(found) if max_size is None else checks.count("max_size", max_size)
        self.__attrs_init__(found, min(size, len(found)), checks.flag("nullable", nullable))

    def member(self, given: Any) -> Any:
        """One member of the list, or InvalidParameter."""
        if not isinstance(given, Hashable) or given not in self.members:
            raise InvalidParameter("member", given, "one of the listed members")
        return given

    def value(self, given: Any) -> Any:
        try:
            found = frozenset(given)
        except TypeError:
            raise InvalidParameter("value", given, "a set of members") from None
        if len(found) > self.max_size:
            raise InvalidParameter("value", given, f"at most {self.max_size} members")
        return frozenset(self.member(item) for item in found)

    def understands(self, selector: Selector) -> bool:
        return selector.member in self.members if isinstance(selector, Has) else super().understands(selector)

    def values(self, selectors: Sequence[Selector], alike: Mapping[Any, Hashable] | None, records: int) -> Classes:
        mentioned = list(dict.fromkeys(s.member for s in selectors if isinstance(s, Has)))
        patterns = self._patterns(mentioned, alike or {}, records)
        if patterns is None:  # every condition at once: no record does that, so what follows is a bound
            row = np.array([not isinstance(s, Null) or not s.null for s in selectors], dtype=bool).reshape(1, -1)
            return Classes((f"any set of {self.max_size}",), (math.inf,), row, exact=False)
        others = len(self.members) - len(mentioned)
        rows = [[_chooses(s, pattern) for s in selectors] for pattern in patterns]
        selected = np.array(rows, dtype=bool).reshape(len(patterns), len(selectors))
        free = [self.max_size - len(pattern) for pattern in patterns]
        counts = {room: sum(math.comb(others, k) for k in range(room + 1)) for room in set(free)}
        sizes = tuple(float(counts[room]) if counts[room] < checks.MAX_COUNT else math.inf for room in free)
        return Classes(tuple(listed(sorted(p, key=str)) or "{}" for p in patterns), sizes, selected)

    def _patterns(
        self, mentioned: list[Any], alike: Mapping[Any, Hashable], records: int
    ) -> list[frozenset[Any]] | None:
        """Sets of mentioned members, up to exchanging members that are alike; None when there are too many.

        Alike members are taken as windows of their list: by an exchange, one record holds the first n of them and a
        second record the o-th to (o+n')-th, whatever their overlap is. Three records have more patterns than that.
        """
        groups: dict[Hashable, list[Any]] = {}
        for item in mentioned:
            groups.setdefault(alike.get(item, ("itself", item)) if records <= 2 else ("itself", item), []).append(item)
        starts = range(self.max_size + 1) if records == 2 else range(1)
        found: list[frozenset[Any]] = [frozenset()]
        for group in groups.values():
            windows = {frozenset(group[o : o + n]) for o in starts for n in range(self.max_size + 1)}
            options = sorted(windows, key=lambda window: (len(window), str(sorted(map(str, window)))))
            found = [
                one | two for one, two in itertools.product(found, options) if len(one) + len(two) <= self.max_size
            ]
            if len(found) > MOST_PATTERNS:
                return None
        return found

    def __str__(self) -> str:
        return f"SubsetOf({len(self.members)} members, max_size={self.max_size})"


@document("id_column/1")
@attrs.frozen
class Id(Column):
    """Whose record it is: a key with no public list, used by `user`, never in a condition.

    Examples
    --------
    >>> Id().value(17)
    17
    """

    kind: ClassVar[str] = "Id"
    nullable: ClassVar[bool] = False

    def value(self, given: Any) -> Any:
        if given is None or not isinstance(given, Hashable):
            raise InvalidParameter("id", given, "a hashable key that is not None")
        return given

    def values(self, selectors: Sequence[Selector], alike: Mapping[Any, Hashable] | None, records: int) -> Classes:
        return Classes(("any",), (math.inf,), np.ones((1, len(selectors)), dtype=bool))
