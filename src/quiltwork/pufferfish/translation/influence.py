"""Influence curves: how much the entries outside a set of b still tell about the secret.

a(b) = min over sets H of at most b entries of sup log P(x_L | s) / P(x_L | s'), where L is everything outside H.  A
value x_L that is possible under s alone makes it infinite.  By Theorem 6 a mechanism that is e-DP for every entry then
leaks at most b e + a(b) about (s, s'), for every b at once.

Reference: seed 003 Definition 7 and Theorem 6; theory/pufferfish.md 3.1, 3.2.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

import attrs
import numpy as np

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.document.draw import notebook as markup
from quiltwork.document.draw import notebook as sketch
from quiltwork.errors import InvalidParameter, NotCertified
from quiltwork.kinds import document
from quiltwork.numbers.digits import at_most
from quiltwork.numbers.json import check_schema, json_numbers, plain_numbers
from quiltwork.numbers.rounding import up

Status = Literal["exact", "certified", "approximate"]

_STATUSES = ("exact", "certified", "approximate")
_SCHEMA = "quiltwork/influence/1"
MOST_NAMES = 10_000  # written out when a curve is copied to another process


def _names(index: int) -> str:
    return f"case {index}"


def _whole(value: Any) -> np.ndarray:
    return np.array([checks.count("a size", size) for size in np.ravel(value)], dtype=np.int64)


def _rows(value: Any) -> FloatArray:
    try:
        return np.array(np.atleast_2d(np.asarray(value, dtype=float)))
    except (TypeError, ValueError):
        raise InvalidParameter("values", value, "numbers, one row a case") from None


@document("influence/1", plain=True)  # the worst case alone
@attrs.frozen(eq=False, repr=False)
class InfluenceCurve:
    """a(b) at the given sizes, for each case (one law, one ordered pair of secrets, one entry).

    `status` is "exact" (up to outward rounding), "certified" (an upper bound) or "approximate" (refused wherever a
    guarantee is made).  Values may be infinite, and never rise with b.

    >>> curve = InfluenceCurve([1, 2], [[0.5, 0.1], [0.2, 0.2]], "exact")
    >>> curve.values.tolist(), round(curve.epsilon(0.3), 12)
    ([0.5, 0.2], 0.7)
    """

    sizes: np.ndarray = attrs.field(converter=_whole)
    cases: FloatArray = attrs.field(converter=_rows)
    status: Status = "certified"
    name_of: Callable[[int], str] = attrs.field(default=_names, kw_only=True)
    method: str = attrs.field(default="", kw_only=True)

    def __attrs_post_init__(self) -> None:
        sizes, cases = self.sizes, self.cases
        if not sizes.size or bool(np.any(np.diff(sizes) <= 0)):
            raise InvalidParameter("sizes", self.sizes, "rising whole numbers, at least one")
        if cases.ndim != 2 or cases.shape[1] != sizes.size or not cases.shape[0]:
            raise InvalidParameter("values", cases.shape, f"one row a case, {sizes.size} columns")
        if self.status not in _STATUSES:
            raise InvalidParameter("status", self.status, f"one of {', '.join(_STATUSES)}")
        if np.isnan(cases).any():
            raise InvalidParameter("values", "NaN", "numbers, infinity included")
        # a smaller set is also a set of at most b entries, and no ratio of two laws stays below 1
        np.minimum.accumulate(cases, axis=1, out=cases)
        np.maximum(cases, 0.0, out=cases)
        checks.settle(self, sizes=sizes, cases=cases)

    @property
    def values(self) -> FloatArray:
        """a(b) of the worst case, at each size."""
        return np.asarray(self.cases.max(axis=0))

    def __call__(self, size: int) -> float:
        """a(b) of the worst case; between the sizes that are known, that of the next smaller one."""
        at = int(np.searchsorted(self.sizes, checks.count("size", size), side="right")) - 1
        return float("inf") if at < 0 else float(self.values[at])

    def epsilons(self, per_entry: float) -> FloatArray:
        """Theorem 6 for each case: the least of b e + a(b), rounded up.  Approximate curves refuse."""
        if self.status == "approximate":
            raise NotCertified("an influence curve", self.method or "no bound on its error is known")
        entry = checks.non_negative("per-entry epsilon", per_entry)
        with np.errstate(over="ignore"):
            least: FloatArray = up(up(self.sizes * entry) + self.cases).min(axis=1)
        return least

    def epsilon(self, per_entry: float) -> float:
        """The worst case of `epsilons`: what a mechanism with this epsilon for each entry leaks at most."""
        return float(self.epsilons(per_entry).max())

    def size(self, per_entry: float) -> int:
        """The size at which the worst case's bound is least."""
        worst = int(np.argmax(self.epsilons(per_entry)))
        return int(self.sizes[np.argmin(self.sizes * per_entry + self.cases[worst])])

    def worst_case(self, per_entry: float) -> str:
        """The case with the largest bound, in words."""
        return self.name_of(int(np.argmax(self.epsilons(per_entry))))

    def plot(self, ax: Any = None, **style: Any) -> Any:
        """Draw a(b) of the worst case against b; returns the axes."""
        from quiltwork.curves.plot import axes

        ax = axes(ax)
        ax.plot(self.sizes, np.where(np.isfinite(self.values), self.values, np.nan), **{"marker": ".", **style})
        ax.set_xlabel("size b")
        ax.set_ylabel("influence a(b), nats")
        return ax

    def __reduce__(self) -> tuple[Any, ...]:
        # names are found by a function of the prior: a copy for another process brings the names themselves
        return _rebuilt, tuple(_written(self).values())

    def __repr__(self) -> str:
        shown = ", ".join(f"a({b})={at_most(v, 6)}" for b, v in zip(self.sizes[:4], self.values[:4], strict=True))
        more = f", ... {self.sizes.size} sizes" if self.sizes.size > 4 else ""
        return f"<InfluenceCurve {shown}{more}; {self.status}>"

    def _repr_html_(self) -> str:
        rows = [
            (size, at_most(value, 6)) for size, value in zip(self.sizes.tolist(), self.values.tolist(), strict=True)
        ]
        told = f"made by {self.method}; {self.status}" if self.method else self.status
        return markup.block(
            markup.paragraphs([repr(self)]),
            markup.capped(
                ("size b", "influence a(b), at most"), rows, f"The worst of {len(self.cases):,} cases; {told}"
            ),
            sketch.steps(self.sizes.tolist(), self.values, "size b", "a(b), nats", "Influence curve"),
        )

    def to_json(self) -> dict[str, Any]:
        """A plain dictionary of the worst case; infinities are strings."""
        return {
            "schema": _SCHEMA,
            "sizes": self.sizes.tolist(),
            "values": json_numbers(self.values),
            "status": self.status,
            "method": self.method,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> InfluenceCurve:
        """The worst case of the curve that was written."""
        check_schema(data, _SCHEMA)
        return cls(data["sizes"], [plain_numbers(data["values"])], data["status"], method=data["method"])


def _rebuilt(sizes: Any, cases: Any, status: Any, names: Any = (), method: str = "") -> InfluenceCurve:
    """The curve whose names of cases are written out."""
    return InfluenceCurve(sizes, cases, status, name_of=tuple(names).__getitem__ if names else _names, method=method)


# ---- as a document


def _written(value: InfluenceCurve) -> dict[str, Any]:
    few = len(value.cases) <= MOST_NAMES
    names = tuple(value.name_of(index) for index in range(len(value.cases))) if few else None
    return {
        "sizes": value.sizes, "cases": value.cases, "status": value.status, "names": names, "method": value.method
    }  # fmt: skip


def _read(sizes: Any, cases: Any, status: Any, names: tuple[str, ...] = (), method: str = "") -> InfluenceCurve:
    found = _rebuilt(sizes, cases, status, names, method)
    if names and (len(names) != len(found.cases) or not all(isinstance(name, str) for name in names)):
        raise InvalidParameter("names", len(names), f"{len(found.cases)} texts, one for each case")
    return found


document("influence/2", fields="sizes cases status", optional="names method", write=_written, read=_read)(
    InfluenceCurve
)
