"""What of a file is compared with another of its kind: named pieces, everything else that it says, its targets.

A side also knows the curve of any list of its pieces under everything else that it says, so that one change can be
priced alone.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.compose import constructors
from quiltwork.compose.constructors import pure
from quiltwork.compose.loss import compose
from quiltwork.curves.curve import BaseCurve, Curve, Ends
from quiltwork.errors import UnboundedLossError, Unsupported
from quiltwork.numbers.rounding import down
from quiltwork.spec.files.plan import Plan, Target
from quiltwork.spec.text.document import cut

NO_BOUND = "no finite bound"
WORDS = frozenset({"note", "name"})  # what changes no number
Curves = Callable[[Sequence[Any]], Curve | None]


@attrs.frozen(eq=False)
class Piece:
    """One release, query or budget: its words, how often it runs, and all that it says."""

    name: str
    words: str
    count: int
    said: dict[str, str]
    value: Any
    mechanism: Any = None  # two pieces with equal ones differ in their count alone


@attrs.frozen(eq=False)
class Side:
    """One of the two files. `monotone`: more pieces never cost less; `separate`: pieces are not composed."""

    kind: str
    title: str
    noun: str
    pieces: dict[str, Piece]
    settings: dict[str, str]
    targets: tuple[Target, ...]
    curve: Curves
    monotone: bool = False
    separate: bool = False
    fits: dict[str, bool] = attrs.Factory(dict)  # budgets that a plan names

    def whole(self) -> Curve | None:
        """The curve of everything; None when there is nothing that has one."""
        try:
            return self.curve([piece.value for piece in self.pieces.values()])
        except UnboundedLossError:
            return Unbounded()


@attrs.frozen
class Unbounded(BaseCurve):
    """The curve of which nothing is known but that no finite epsilon follows."""

    def _epsilon(self, delta: FloatArray, rtol: float) -> Ends:
        return Ends(np.zeros(delta.size), np.full(delta.size, np.inf), NO_BOUND)

    def _delta(self, epsilon: FloatArray, rtol: float) -> Ends:
        return Ends(np.zeros(epsilon.size), np.ones(epsilon.size), NO_BOUND)

    def _beta(self, alpha: FloatArray) -> Ends:
        return Ends(np.zeros(alpha.size), 1.0 - alpha, NO_BOUND)


def side_of(file: Any) -> Side:
    """What is compared of a file, whatever its kind."""
    if isinstance(file, Plan):
        return _plan(file)
    made = _OTHERS.get(type(file).__name__)
    if made is not None:
        return made(file)
    if callable(getattr(file, "epsilon", None)):
        return Side(type(file).__name__, type(file).__name__, "piece", {}, _written(file), (), lambda _: file)
    raise Unsupported(
        f"the cost of a {type(file).__name__}",
        "it has no epsilon",
        "compare plans, table plans, prior, world or budget files",
    )


def _plan(file: Plan) -> Side:
    said = _rest(file.to_dict(), "releases")
    pieces = _releases(file.releases)
    fits = {answer.budget.name: answer.fits for answer in file.budget_answers()}
    return Side(
        "plan", file.title, "release", pieces, said, file.targets, lambda found: compose(*found), True, fits=fits
    )


def _releases(releases: Sequence[Any]) -> dict[str, Piece]:
    """Releases of a plan or prior file; the value of one is its loss."""
    return {
        one.name: Piece(
            one.name,
            one.describe(),
            one.count,
            _plain(_as_written(one)),
            one.loss(),
            one.mechanism.loss(),
        )
        for one in releases
    }


def _tables(file: Any) -> Side:
    def curve(found: Sequence[Any]) -> Curve:
        return file.model_copy(update={"queries": tuple(found)}).guarantee() if found else compose()

    pieces = {
        one.name: Piece(
            one.name,
            "; ".join([one.describe(), *([f"where {' '.join(one.where.split())}"] if one.where else [])]),
            one.times,
            _plain(_as_written(one)),
            one,
        )
        for one in file.queries
    }
    return Side("table plan", file.title, "query", pieces, _rest(file.to_dict(), "queries"), file.targets, curve)


def _prior(file: Any) -> Side:
    from quiltwork.pufferfish.guarantee import guarantee

    def curve(found: Sequence[Any]) -> Curve | None:
        return guarantee(compose(*found), file.model(), file.asked()) if found else None

    pieces = _releases(file.releases or ())
    if file.per_entry is not None:
        loss = pure(file.per_entry.epsilon)
        words = f"any release of epsilon {file.per_entry.epsilon:g} for each entry"
        said = {"per_entry.epsilon": f"{file.per_entry.epsilon:g}"}
        pieces["per entry"] = Piece("per entry", words, 1, said, loss, loss)
    targets = () if file.target is None else (Target(epsilon=file.target.epsilon, delta=file.target.delta),)
    said = _rest(file.to_dict(), "releases", "per_entry", "target")
    return Side("prior", file.title, "release", pieces, said, targets, curve)


def _world(file: Any) -> Side:
    def curve(found: Sequence[Any]) -> Curve:
        return type(file).model_validate({**file.to_dict(), "existing": list(found)}).release()  # type: ignore[no-any-return]

    pieces = {}
    for one in file.existing:
        raw = _as_written(one)
        kind = next(key for key in raw if key not in ("name", "times", "note"))
        fields = raw[kind].items() if isinstance(raw[kind], Mapping) else ()
        stated = _said(", ".join(f"{k} {_said(v)}" for k, v in fields) or raw[kind])
        words = f"{kind.replace('_', ' ')} {cut(stated)}"
        pieces[one.name] = Piece(one.name, words, one.times, _plain(raw), raw)
    targets: tuple[Target, ...] = ()
    if file.target is not None:
        odds = file.target.exact_odds
        most = file.target.epsilon if odds is None else max(down(math.log(odds), 2), 0.0)
        targets = (Target(epsilon=most, delta=float(file.target.share)),)
    said = _rest(file.to_dict(), "existing", "target")
    return Side("world", file.title, "release", pieces, said, targets, curve)


def _budgets(file: Any) -> Side:
    """Budgets stand beside each other; each has a limit of its own."""

    def curve(found: Sequence[Any]) -> Curve | None:
        (one,) = found
        limit: Curve = getattr(constructors, one.limit)(*one.stated.values())
        return limit

    pieces = {}
    for one in file.budgets:
        said = _plain(_as_written(one))
        words = ", ".join(f"{key} {said[key]}" for key in ("epsilon", "delta", "rho", "mu") if key in said)
        pieces[one.name] = Piece(one.name, words, 1, said, one)
    said = _rest(file.to_dict(), "budgets")
    return Side("budgets", file.title, "budget", pieces, said, (), curve, separate=True)


_OTHERS: dict[str, Callable[[Any], Side]] = {
    "TablePlan": _tables,
    "PriorFile": _prior,
    "WorldFile": _world,
    "BudgetFile": _budgets,
}


# ---- values as words


def _rest(said: Mapping[str, Any], *without: str) -> dict[str, str]:
    """All that a file says besides its pieces, targets and title."""
    left_out = {"quiltwork", "title", "targets", *without}
    return _plain({key: value for key, value in said.items() if key not in left_out})


def _as_written(one: Any) -> dict[str, Any]:
    return one.model_dump(mode="json", exclude_unset=True, exclude_none=True)  # type: ignore[no-any-return]


def _plain(said: Mapping[str, Any]) -> dict[str, str]:
    """Every value under its path, as JSON; a note changes no number."""
    return dict(_walked(said))


def _walked(said: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, str]]:
    for key, value in said.items():
        if not path and key in WORDS:
            continue
        place = f"{path}.{key}" if path else str(key)
        if isinstance(value, Mapping) and value:
            yield from _walked(value, place)
        else:
            yield place, _said(value)


def _said(value: Any) -> str:
    if isinstance(value, list) and value and all(isinstance(entry, str) for entry in value):
        return "; ".join(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _written(value: Any) -> dict[str, str]:
    """An object as its document says it; empty when it cannot be written."""
    to_json = getattr(value, "to_json", None)
    found = to_json() if callable(to_json) else {}
    return _plain(found) if isinstance(found, Mapping) else {}
