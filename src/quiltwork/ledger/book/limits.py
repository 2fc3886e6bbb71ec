"""How much a budget allows: (epsilon, delta), pure, zCDP or GDP."""

from __future__ import annotations

from typing import Any

import attrs

from quiltwork import checks
from quiltwork.compose.filters.opening import Filter, filter_for, gdp_filter, pure_filter, zcdp_filter
from quiltwork.errors import InvalidParameter
from quiltwork.kinds import document
from quiltwork.numbers.digits import single

__all__ = ["Limit"]

SCHEMA = "quiltwork/limit/1"
KINDS = {"approximate": ("epsilon", "delta"), "pure": ("epsilon",), "zcdp": ("rho",), "gdp": ("mu",)}
FILTERS = {"approximate": ("renyi", "zcdp", "gdp", "pure"), "pure": ("pure",), "zcdp": ("zcdp",), "gdp": ("gdp",)}


@document("limit/1", plain=True)
@attrs.frozen
class Limit:
    """The promise that everything under a budget keeps together."""

    kind: str
    epsilon: float | None = None
    delta: float | None = None
    rho: float | None = None
    mu: float | None = None

    @classmethod
    def of(cls, epsilon: Any = None, delta: Any = None, rho: Any = None, mu: Any = None) -> Limit:
        """Exactly one of: epsilon; epsilon and delta; rho; mu. With a delta of 0 it is a pure budget."""
        if epsilon is not None and isinstance(delta, (int, float)) and delta == 0 and delta is not False:
            delta = None
        given = {"epsilon": epsilon, "delta": delta, "rho": rho, "mu": mu}
        stated = tuple(name for name, value in given.items() if value is not None)
        kind = next((kind for kind, names in KINDS.items() if names == stated), None)
        if kind is None:
            allowed = "stated as epsilon, as epsilon and delta, as rho, or as mu"
            raise InvalidParameter("the budget", ", ".join(stated) or "nothing", allowed)
        numbers = {name: checks.moderate(name, given[name]) for name in stated}
        if "delta" in numbers and numbers["delta"] >= 1:
            raise InvalidParameter("delta", delta, "in [1e-100, 1)", "leave it out for a pure budget")
        return cls(kind, **numbers)

    def _stated(self) -> list[float]:
        return [float(getattr(self, name)) for name in KINDS[self.kind]]

    def filter(self, kind: Any = None, order: Any = None, reveal: float = 0.0) -> Filter:
        """The filter that keeps an adaptive use below this limit; by default the one that counts most losses."""
        allowed = FILTERS[self.kind]
        chosen = allowed[0] if kind is None else kind
        if not isinstance(chosen, str) or chosen not in allowed:
            raise InvalidParameter("filter", kind, "one of " + ", ".join(allowed), f"for a budget of {self}")
        if chosen != "renyi" and (order is not None or reveal != 0.0):
            raise InvalidParameter("order and reveal", (order, reveal), "left out", "they belong to the Rényi filter")
        if self.kind == "approximate" and chosen != "pure":
            return filter_for(chosen, *self._stated(), order=order, reveal=reveal)
        if chosen == "pure":
            return pure_filter(*self._stated())
        return zcdp_filter(*self._stated()) if chosen == "zcdp" else gdp_filter(*self._stated())

    def to_json(self) -> dict[str, Any]:
        """Tagged and versioned; only what is stated."""
        return {"schema": SCHEMA, "kind": self.kind, **{name: getattr(self, name) for name in KINDS[self.kind]}}

    @classmethod
    def from_json(cls, value: Any) -> Limit:
        """The inverse of to_json."""
        if not isinstance(value, dict) or value.get("schema") != SCHEMA:
            raise InvalidParameter("limit", value, f"an object with schema {SCHEMA!r}")
        fields = {name: field for name, field in value.items() if name not in ("schema", "kind")}
        if not set(fields) <= {"epsilon", "delta", "rho", "mu"}:
            raise InvalidParameter("limit", sorted(fields), "made of epsilon, delta, rho and mu")
        return cls.of(**fields)

    def __str__(self) -> str:
        return ", ".join(f"{name} {single(getattr(self, name))}" for name in KINDS[self.kind])
