"""What is counted in sequences, as plain frozen values: no engine and no table behind them.

These are facts about the data, with no noise: nothing here is private, and a prior fitted on counts of the private data
carries no guarantee for them (the prior is then a function of the secret).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from quiltwork.errors import InvalidParameter
from quiltwork.kinds import document

IntArray = NDArray[np.int64]
MAX_NAMED_OFFENDERS = 5  # offenders that a message names


def whole(value: Any) -> IntArray:
    """A read-only copy as int64; anything that is not a whole number >= 0 is refused."""
    allowed = "whole numbers >= 0"
    try:
        array = np.asarray(value)
    except ValueError:
        raise InvalidParameter("counts", value, allowed, "the rows differ in length") from None
    # an empty list is a float array to numpy, and no number in it is wrong
    if array.size and (
        array.dtype.kind not in "iu" or int(array.min()) < 0 or int(array.max()) > np.iinfo(np.int64).max
    ):
        raise InvalidParameter("counts", value, allowed)
    array = array.astype(np.int64)  # a copy: what the caller does to its own array later changes nothing here
    array.setflags(write=False)
    return array


def shaped(name: str, array: IntArray, shape: tuple[int, ...]) -> None:
    """One count for each state, or for each pair of them."""
    if array.shape != shape:
        raise InvalidParameter(name, array, f"an array of shape {shape}, by the number of states")


def labels(value: Any) -> tuple[Any, ...]:
    """State names, in the order of rows and columns, each once."""
    name, allowed = "states", "a list of different names"
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        raise InvalidParameter(name, value, allowed)
    names = tuple(item.item() if isinstance(item, np.generic) else item for item in value)
    try:
        seen = set(names)
    except TypeError:
        raise InvalidParameter(name, value, allowed, "a name must be hashable") from None
    if len(seen) != len(names):
        raise InvalidParameter(name, value, allowed, "a name is there twice")
    if any(item is None or item != item for item in names):
        raise InvalidParameter(name, value, allowed, "None and NaN name nothing")
    return names


def known(found: Iterable[Hashable], states: tuple[Hashable, ...]) -> dict[Hashable, int]:
    """Where each state stands; names in the data that the list lacks are refused."""
    places = {state: place for place, state in enumerate(states)}
    unknown = sorted({repr(state) for state in found if state not in places})
    if unknown:
        more = f" and {len(unknown) - MAX_NAMED_OFFENDERS} more" if len(unknown) > MAX_NAMED_OFFENDERS else ""
        raise InvalidParameter(
            "states",
            states,
            "every state that the data hold",
            f"not in the list: {', '.join(unknown[:MAX_NAMED_OFFENDERS])}{more}",
        )
    return places


_array = attrs.cmp_using(eq=np.array_equal)


@document("sequence_counts/1")
@attrs.frozen
class Counts:
    """How often each state was followed by each other, over all sequences.

    matrix[i, j] counts the steps from states[i] to states[j]; first[i] counts the sequences that begin in states[i].
    Every entry is either the first of its sequence or the end of one step, so that visits = first + column sums.

    >>> counts = Counts.of([["rest", "walk", "rest"], ["walk"]])
    >>> counts.states, counts.matrix.tolist(), counts.first.tolist()
    (('rest', 'walk'), [[0, 1], [1, 0]], [1, 1])
    >>> counts.visits.tolist(), counts.people, counts.steps
    ([2, 2], 2, 2)
    """

    states: tuple[Any, ...] = attrs.field(converter=labels)
    matrix: IntArray = attrs.field(converter=whole, eq=_array, hash=False)
    first: IntArray = attrs.field(converter=whole, eq=_array, hash=False)

    def __attrs_post_init__(self) -> None:
        size = len(self.states)
        if not size:
            raise InvalidParameter("states", self.states, "at least one state")
        shaped("matrix", self.matrix, (size, size))
        shaped("first", self.first, (size,))
        if np.any(self.last < 0):
            raise InvalidParameter(
                "matrix", self.matrix, "with no more steps out of a state than entries in it", "a row is where from"
            )

    @classmethod
    def of(cls, sequences: Iterable[Sequence[Any]], states: Iterable[Any] | None = None) -> Counts:
        """Counts of sequences that are already in memory, each a list of states in order of time."""
        if isinstance(sequences, (str, bytes)) or not isinstance(sequences, Iterable):
            raise InvalidParameter("sequences", sequences, "a list of lists of states")
        rows = [labelled(sequence) for sequence in sequences]
        found = {state for row in rows for state in row}
        if states is None:
            try:
                names: tuple[Any, ...] = tuple(sorted(found))
            except TypeError:
                raise InvalidParameter("sequences", sorted(map(repr, found)), "of states that can be sorted") from None
        else:
            names = labels(states)
        if not names:
            raise InvalidParameter("sequences", rows, "not empty", "or name the states")
        places = known(found, names)
        matrix = np.zeros((len(names), len(names)), dtype=np.int64)
        first = np.zeros(len(names), dtype=np.int64)
        for row in rows:
            order = [places[state] for state in row]
            first[order[:1]] += 1
            np.add.at(matrix, (order[:-1], order[1:]), 1)
        return cls(names, matrix, first)

    @property
    def visits(self) -> IntArray:
        """Entries in each state."""
        entered: IntArray = self.matrix.sum(axis=0)
        return self.first + entered

    @property
    def last(self) -> IntArray:
        """Sequences that end in each state."""
        left: IntArray = self.matrix.sum(axis=1)
        return self.visits - left

    @property
    def people(self) -> int:
        """Sequences counted."""
        return int(self.first.sum())

    @property
    def steps(self) -> int:
        """Steps counted."""
        return int(self.matrix.sum())

    def __add__(self, other: Counts) -> Counts:
        """Counts over both; no person may be in both, for the step between their parts would be missing."""
        if not isinstance(other, Counts):
            return NotImplemented
        if self.states != other.states:
            raise InvalidParameter("states", other.states, f"{self.states} to be added to them")
        return Counts(self.states, self.matrix + other.matrix, self.first + other.first)


def labelled(sequence: Any) -> list[Any]:
    """The entries of one sequence in memory; a text is one state, not a list of letters."""
    if isinstance(sequence, (str, bytes)) or not isinstance(sequence, Iterable):
        raise InvalidParameter("sequences", sequence, "a list of lists of states", "each sequence is a list")
    row = [item.item() if isinstance(item, np.generic) else item for item in sequence]
    try:
        hash(tuple(row))
    except TypeError:
        raise InvalidParameter("sequences", sequence, "lists of names", "a state must be hashable") from None
    if any(item is None or item != item for item in row):
        raise InvalidParameter("sequences", sequence, "without None or NaN")
    return row


@document("sequence_tally/1")
@attrs.frozen
class Tally:
    """How many entries each state has; the input of a histogram or a top-K release."""

    states: tuple[Any, ...] = attrs.field(converter=labels)
    counts: IntArray = attrs.field(converter=whole, eq=_array, hash=False)

    def __attrs_post_init__(self) -> None:
        shaped("counts", self.counts, (len(self.states),))

    @property
    def total(self) -> int:
        """Entries in all."""
        return int(self.counts.sum())


@document("sequence_lengths/1")
@attrs.frozen
class Lengths:
    """How many people have how many entries: people[i] of them have lengths[i], in rising order.

    The longest is what group privacy multiplies by.  It is a fact about this table: a bound that must hold for every
    table is chosen beforehand, and longer sequences are cut to it.
    """

    lengths: IntArray = attrs.field(converter=whole, eq=_array, hash=False)
    people: IntArray = attrs.field(converter=whole, eq=_array, hash=False)

    def __attrs_post_init__(self) -> None:
        shaped("lengths", self.lengths, (self.lengths.size,))
        shaped("people", self.people, self.lengths.shape)
        if self.lengths.size and (self.lengths[0] < 1 or np.any(np.diff(self.lengths) <= 0)):
            raise InvalidParameter("lengths", self.lengths, "different lengths >= 1 in rising order")

    @property
    def longest(self) -> int:
        """Most entries of one person; 0 when there is nobody."""
        return int(self.lengths[-1]) if self.lengths.size else 0

    @property
    def shortest(self) -> int:
        """Fewest entries of one person; 0 when there is nobody."""
        return int(self.lengths[0]) if self.lengths.size else 0

    @property
    def total(self) -> int:
        """Entries in all."""
        return int(self.lengths @ self.people)
