"""Which values of one column a condition selects: small frozen sets, closed under complement.

Ordered columns use half-open spans between cuts. A cut (v, 0) lies just below v and (v, 1) just above it, so that
x < v is everything below (v, 0) and x <= v everything below (v, 1). NULL is no value: no span and no set selects it,
nor does their complement, as in SQL; only `Null` does.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, TypeAlias

import attrs

from quiltwork.errors import InvalidParameter
from quiltwork.kinds import document

Cut: TypeAlias = tuple[float, int]
LOWEST: Cut = (float("-inf"), 0)
HIGHEST: Cut = (float("inf"), 1)


@document("chosen/1")
@attrs.frozen
class Chosen:
    """A set of categories."""

    values: frozenset[Any]
    inside: bool = True

    def complement(self) -> Chosen:
        return Chosen(self.values, not self.inside)

    def holds(self, value: Any) -> bool:
        return (value in self.values) == self.inside

    def __str__(self) -> str:
        shown = sorted(map(repr, self.values))
        if len(shown) == 1:
            return f"{'=' if self.inside else '!='} {shown[0]}"
        return f"{'in' if self.inside else 'not in'} {{{', '.join(shown)}}}"


@attrs.frozen
class Spans:
    """Disjoint half-open spans of an ordered column, in rising order."""

    spans: tuple[tuple[Cut, Cut], ...]

    @classmethod
    def of(cls, spans: list[tuple[Cut, Cut]]) -> Spans:
        """Any spans, sorted and joined where they touch."""
        joined: list[tuple[Cut, Cut]] = []
        for start, end in sorted(span for span in spans if span[0] < span[1]):
            if joined and start <= joined[-1][1]:
                joined[-1] = (joined[-1][0], max(joined[-1][1], end))
            else:
                joined.append((start, end))
        return cls(tuple(joined))

    def complement(self) -> Spans:
        edges = [LOWEST, *(cut for span in self.spans for cut in span), HIGHEST]
        return Spans.of(list(zip(edges[::2], edges[1::2], strict=True)))

    def holds(self, value: Any) -> bool:
        return any(start <= (value, 0) and (value, 1) <= end for start, end in self.spans)

    def __str__(self) -> str:
        return "in " + (" or ".join(_span_text(*span) for span in self.spans) or "no value")


def _span_text(start: Cut, end: Cut) -> str:
    if start[0] == end[0]:
        return f"{{{start[0]:g}}}"
    return f"{'(' if start[1] else '['}{start[0]:g}, {end[0]:g}{']' if end[1] else ')'}"


@document("has/1")
@attrs.frozen
class Has:
    """A set-valued column that holds this member, or does not."""

    member: Any
    present: bool = True

    def complement(self) -> Has:
        return Has(self.member, not self.present)

    def holds(self, value: Any) -> bool:
        return (self.member in value) == self.present

    def __str__(self) -> str:
        return f"{'has' if self.present else 'lacks'} {self.member!r}"


@document("null/1")
@attrs.frozen
class Null:
    """NULL itself, or everything else."""

    null: bool = True

    def complement(self) -> Null:
        return Null(not self.null)

    def __str__(self) -> str:
        return "is NULL" if self.null else "is not NULL"


Selector: TypeAlias = Chosen | Spans | Has | Null


# ---- as a document


def _read_spans(spans: tuple[Any, ...]) -> Spans:
    """Half-open spans in rising order, none of them twice."""
    cuts = [cut for span in spans for cut in span]
    plain = all(
        isinstance(cut, tuple) and len(cut) == 2 and type(cut[0]) in (int, float) and cut[1] in (0, 1) for cut in cuts
    )
    if not plain or len(cuts) != 2 * len(spans) or any(one > two for one, two in pairwise(cuts)):
        allowed = "spans [[value, 0 or 1], [value, 0 or 1]] in rising order that do not meet"
        raise InvalidParameter("spans", spans, allowed)
    return Spans(spans)


document("spans/1", fields="spans", read=_read_spans)(Spans)
