"""Transformations between the table and what a query sees, with the number of rows that one record can change.

A query first keeps the records that satisfy its condition, and its map works on these. Where at most so many rows are
kept (`clip_rows`, `join`), the other order is another query: with `first=True` the map works on the whole table and the
condition comes after it, so that a record outside of the condition may push out one inside of it.

Reference: seed 001, Proposition III.8 (stabilities multiply, 0 times infinity is infinity).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import attrs

from quiltwork import checks
from quiltwork.errors import InvalidParameter
from quiltwork.kinds import document
from quiltwork.tables.schema.table import Reference, column_name


class Via(ABC):
    """A map from tables to tables of rows; `first` says that a query's condition comes after it, and not before."""

    kind: ClassVar[str]
    first: bool = False

    @property
    @abstractmethod
    def stability(self) -> int:
        """How many rows change when one record is added or removed."""


@attrs.frozen
class FlatMap(Via):
    """Each record becomes at most `max_out` rows."""

    kind: ClassVar[str] = "flat_map"
    name: str
    max_out: int

    @property
    def stability(self) -> int:
        return self.max_out

    def __str__(self) -> str:
        return f"flat_map({self.name!r}, at most {self.max_out} rows for each record)"


@attrs.frozen
class Join(Via):
    """Joined with another table, at most `own` of our rows and `other` of theirs kept for each key.

    A new record may push out one that was kept before: two of our rows change, each joined with up to `other`.
    """

    kind: ClassVar[str] = "join"
    own: int
    other: int
    first: bool = False

    @property
    def stability(self) -> int:
        return 2 * self.other

    def __str__(self) -> str:
        return f"join(truncate=({self.own}, {self.other}){', first=True' if self.first else ''})"


@attrs.frozen
class ClipRows(Via):
    """At most `most` rows of each person are kept.

    A new record may push out one that was kept before, so one record changes two rows; a whole person at most `most`.
    """

    kind: ClassVar[str] = "clip_rows"
    id: str
    most: int
    first: bool = False

    @property
    def stability(self) -> int:
        return 2

    def __str__(self) -> str:
        return f"clip_rows({self.id!r}, {self.most}{', first=True' if self.first else ''})"


def flat_map(name: str, *, max_out: int) -> FlatMap:
    """Each record becomes at most `max_out` rows, by any function of that record alone.

    Parameters
    ----------
    name
        What it makes, in a few words.
    max_out
        The most rows that one record becomes.

    Returns
    -------
    FlatMap
        For `via=` of a query.

    Raises
    ------
    InvalidParameter
        A value is outside its domain; the message says which, and what is allowed.

    Examples
    --------
    >>> flat_map("visits", max_out=3).stability
    3
    """
    return FlatMap(
        checks.text("name", name, "a few words that say what it makes"), checks.count("max_out", max_out, least=1)
    )


def join(*, truncate: tuple[int, int], first: bool = False) -> Join:
    """Join with another table: for each key at most truncate[0] of our rows and truncate[1] of the other's are kept.

    The rule that picks them must look at each row alone (a fixed order or hash of the row). With `first` the condition
    of the query is applied to what was joined, and not before.

    Parameters
    ----------
    truncate
        Rows kept for each key: ours, theirs.
    first
        Whether the query's condition comes after the join.

    Returns
    -------
    Join
        For `via=` of a query.

    Raises
    ------
    InvalidParameter
        A value is outside its domain; the message says which, and what is allowed.

    Examples
    --------
    >>> join(truncate=(2, 3)).stability
    6
    """
    try:
        own, other = truncate
    except (TypeError, ValueError):
        raise InvalidParameter(
            "truncate", truncate, "two whole numbers: rows kept for each key, ours and theirs"
        ) from None
    kept = checks.count("truncate", own, least=1), checks.count("truncate", other, least=1)
    return Join(*kept, checks.flag("first", first))


def clip_rows(id: str | Reference, most: int, *, first: bool = False) -> ClipRows:
    """Keep at most `most` rows of each person, chosen by a fixed order or hash of the row.

    With `first` the rows are clipped before the condition of the query is applied, and not after it.

    Parameters
    ----------
    id
        The `Id` column that says whose row it is.
    most
        Rows that each person keeps.
    first
        Whether rows are clipped before the query's condition.

    Returns
    -------
    ClipRows
        For `via=` of a query, or `contribution=` of a plan.

    Raises
    ------
    InvalidParameter
        A value is outside its domain; the message says which, and what is allowed.

    Examples
    --------
    >>> clip_rows("patient", 4).stability
    2
    """
    name = column_name("id", id, "an Id column, or its name")
    return ClipRows(name, checks.count("most", most, least=1), checks.flag("first", first))


document("flat_map/1", fields="name max_out", read=flat_map)(FlatMap)
document(
    "join/1",
    fields="truncate",
    optional="first",
    write=lambda value: {"truncate": (value.own, value.other), "first": value.first or None},
    read=join,
)(Join)
document(
    "clip_rows/1",
    fields="id most",
    optional="first",
    write=lambda value: {"id": value.id, "most": value.most, "first": value.first or None},
    read=clip_rows,
)(ClipRows)
