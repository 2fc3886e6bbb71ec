"""Classes of values that no condition tells apart, as small integers: one number a row says which cell it is in.

A cell is one class of every column that conditions look at. The scan counts cells; which of them a condition keeps is
looked up here, and no data are touched for it. Class 0 is NULL.

Reference: theory/release.md section 8.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from quiltwork.tables.schema.columns import BoolArray, Cat, Column, Ordered, SubsetOf
from quiltwork.tables.schema.predicates import Condition, Everything, Joined, Predicate, leaves
from quiltwork.tables.schema.selectors import Chosen, Cut, Has, Null, Selector, Spans
from quiltwork.tables.schema.table import Table

IntArray = NDArray[np.int64]
MOST_CELLS = 2**17  # of one scan; beyond, the statistics are split into several


@attrs.frozen(eq=False)
class Axis:
    """One column cut into classes 1, 2, ...: lists of categories, or spans between cuts; for sets, one member each."""

    column: str
    categories: tuple[tuple[Any, ...], ...] = ()  # of a Cat column, by class
    starts: tuple[Cut, ...] = ()  # of the classes of an ordered column, in rising order
    member: Any = None  # of a set-valued column: class 2 for those that hold it, 1 for the others
    is_set: bool = False

    @property
    def size(self) -> int:
        """How many classes, NULL among them."""
        if self.is_set:
            return 3
        return 1 + (len(self.categories) if self.categories else len(self.starts))

    def chosen(self, selector: Selector) -> BoolArray:
        """Which classes a selector keeps."""
        kept = np.zeros(self.size, dtype=bool)
        if isinstance(selector, Null):
            kept[:] = not selector.null
            kept[0] = selector.null
        elif isinstance(selector, Has):
            kept[2 if selector.present else 1] = True
        elif isinstance(selector, Chosen):
            kept[1:] = [selector.holds(group[0]) for group in self.categories]
        else:
            for low, high in selector.spans:
                kept[1:] |= [low <= start < high for start in self.starts]
        return kept


@attrs.frozen(eq=False)
class Classes:
    """The axes of some conditions, and a number for every combination of their classes."""

    axes: tuple[Axis, ...]

    @classmethod
    def of(cls, table: Table, conditions: Iterable[Predicate | None]) -> Classes:
        """The coarsest classes that tell these conditions apart."""
        found: dict[str, dict[Selector, None]] = {}
        for condition in conditions:
            for leaf in leaves(condition) if condition is not None else ():
                if isinstance(leaf, Condition):
                    found.setdefault(leaf.column, {})[leaf.selector] = None
        axes = [
            axis for name, selectors in found.items() for axis in _axes(name, table.columns[name], tuple(selectors))
        ]
        return cls(tuple(axes))

    @property
    def cells(self) -> int:
        """How many combinations there are."""
        size = 1
        for axis in self.axes:
            size *= axis.size
        return size

    def spread(self, codes: IntArray) -> Cells:
        """The classes of each column in cells of these numbers."""
        picks, rest = [], codes
        for axis in self.axes:
            picks.append(rest % axis.size)
            rest = rest // axis.size
        return Cells(self, tuple(picks), codes.size)


@attrs.define(eq=False)
class Cells:
    """Some cells, and which of them a condition keeps."""

    classes: Classes
    picks: tuple[IntArray, ...]
    size: int
    _known: dict[tuple[str, Selector], BoolArray] = attrs.field(factory=dict, init=False)

    def kept(self, condition: Predicate | None) -> BoolArray:
        """Negation was moved to the columns, so that a filter keeps what is true of all, or of some, of its parts."""
        if condition is None or isinstance(condition, Everything):
            return np.full(self.size, condition is None or condition.wanted)
        if isinstance(condition, Joined):
            parts = [self.kept(part) for part in condition.parts]
            joined: BoolArray = (np.logical_or if condition.decides else np.logical_and).reduce(parts)
            return joined
        if not isinstance(condition, Condition):
            raise TypeError(f"{condition} cannot be run")
        key = (condition.column, condition.selector)
        if key not in self._known:
            self._known[key] = self._condition(*key)
        return self._known[key]

    def _condition(self, column: str, selector: Selector) -> BoolArray:
        for axis, pick in zip(self.classes.axes, self.picks, strict=True):
            if axis.column == column and (not isinstance(selector, Has) or axis.member == selector.member):
                return axis.chosen(selector)[pick]
        raise KeyError(column)


def _axes(name: str, column: Column, selectors: Sequence[Selector]) -> list[Axis]:
    if isinstance(column, Cat):
        groups: dict[tuple[bool, ...], list[Any]] = {}
        for value in column.categories:
            groups.setdefault(tuple(s.holds(value) for s in selectors if isinstance(s, Chosen)), []).append(value)
        return [Axis(name, categories=tuple(map(tuple, groups.values())))]
    if isinstance(column, Ordered):
        low, high = column.domain
        cuts = {cut for s in selectors if isinstance(s, Spans) for span in s.spans for cut in span if low < cut < high}
        return [Axis(name, starts=(low, *sorted(cuts)))]
    if isinstance(column, SubsetOf):
        members = dict.fromkeys(s.member for s in selectors if isinstance(s, Has))
        if members:
            return [Axis(name, member=member, is_set=True) for member in members]
        return [Axis(name, member=column.members[0], is_set=True)]  # only NULL is asked for
    raise TypeError(f"{column} has no conditions")
