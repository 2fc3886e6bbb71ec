"""The symbolic side of one release: a frozen value that names a family and its parameters.

Nothing is computed here. `pairs()` hands the engine one numerical pair for "both" directions, or two, "remove" and
"add", when exchanging the worlds changes the test. Families that are only bounds on Rényi divergences have no pair
(`pairs()` is empty) and bound log moments instead (see renyi.py).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

import attrs

from quiltwork.errors import Unsupported

if TYPE_CHECKING:
    from quiltwork.losses.dominating_pair import Pair


def checked(check: Callable[..., Any], name: str, *, default: Any = attrs.NOTHING, **options: Any) -> Any:
    """An attrs field whose value passes through a check that knows its name."""
    return attrs.field(default=default, converter=lambda value: check(name, value, **options))


@attrs.frozen
class Family(ABC):
    """One release of a named family."""

    kind: ClassVar[str]
    because: ClassVar[str] = "the pair of output laws that was stated"

    @abstractmethod
    def pairs(self) -> dict[str, Pair]:
        """Numerical pairs by direction."""

    def group(self, size: int) -> Family:
        """The same release seen by a group of `size` records changing at once."""
        raise Unsupported(f"group privacy of {self.kind}", "no proven rule for this family", "state it as constraints")

    def subsampled(self, rate: float) -> Family:
        """The release run on a Poisson sample of the records, as another family."""
        from quiltwork.losses.families.poisson import Poisson

        return Poisson(self, rate)

    @property
    def sandwiched(self) -> bool:
        """Whether the pair is only a bound, with another one on the other side."""
        return False

    def optimistic(self) -> dict[str, Pair]:
        """Pairs of a mechanism that is still possible: the lower side of every bracket."""
        return self.pairs()

    @property
    def slack(self) -> float:
        """How far `optimistic` may lie below what is possible, in type II error, by rounding."""
        return 0.0

    def fields(self) -> dict[str, Any]:
        """Plain JSON values of the parameters."""
        return {
            a.name: v.to_json() if isinstance(v := getattr(self, a.name), Family) else v
            for a in attrs.fields(type(self))
        }

    def to_json(self) -> dict[str, Any]:
        """Tagged form, scale and sensitivity apart."""
        return {"kind": self.kind, **self.fields()}

    def __str__(self) -> str:
        shown = ", ".join(
            str(v) if isinstance(v := getattr(self, a.name), Family) else f"{a.name}={v!r}"
            for a in attrs.fields(type(self))
        )
        return f"{self.kind}({shown})"
