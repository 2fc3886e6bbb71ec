"""`differences`: what was added, removed and changed between two files, and what that costs, certified.

A cost is the difference of two epsilons at one delta, as an interval that holds it: both lie in their brackets, so it
lies between lower - upper and upper - lower, rounded outward. Where dropping outputs turns one list of releases into
the other, the sign is known as well, because dropping outputs is post-processing (Dwork and Roth 2014, Proposition
2.1).
"""

from __future__ import annotations

import math
from typing import Any, Literal

import attrs

from quiltwork import checks
from quiltwork.compose.loss import compose
from quiltwork.curves.bracket import Bracket
from quiltwork.curves.curve import Curve
from quiltwork.errors import InvalidParameter, QuiltworkError, UnboundedLossError
from quiltwork.numbers.digits import at_least, at_most
from quiltwork.numbers.json import json_numbers
from quiltwork.numbers.rounding import difference, down, up
from quiltwork.report.answers.account import Verdict, asked_delta
from quiltwork.report.answers.account import verdict as verdict_of
from quiltwork.report.answers.change_sides import Piece, Side, side_of
from quiltwork.spec.files.plan import Target


@attrs.frozen
class Cost:
    """By how much epsilon grows: the truth lies between the ends; negative is a saving.

    `published` is how far the upper end moves, which is what may be published; it says most where brackets are wide.
    """

    lower: float
    upper: float
    published: float = 0.0

    @classmethod
    def of(cls, before: Bracket, after: Bracket, sign: int = 0) -> Cost:
        """After less before; `sign` is +1 when it cannot be negative, -1 when it cannot be positive."""
        lower, upper = _less(after.lower, before.upper, down), _less(after.upper, before.lower, up)
        if sign > 0:
            lower = max(lower, 0.0)
        if sign < 0:
            upper = min(upper, 0.0)
        return cls(min(lower, upper), max(lower, upper), _less(after.upper, before.upper, up))

    def __str__(self) -> str:
        """Both ends, rounded outward, with their signs.

        >>> str(Cost(0.10001, 0.10009)), str(Cost(-0.5, -0.25)), str(Cost(0.0, 0.0))
        ('+0.1 to +0.101', '-0.5 to -0.25', '0')
        """
        if self.lower == -math.inf and self.upper == math.inf:
            return "unknown"
        one, two = signed(at_least(self.lower)), signed(at_most(self.upper))
        return one if one == two else f"{one} to {two}"

    def words(self) -> str:
        """The same as a verb.

        >>> Cost(0.125, 0.25).words(), Cost(-0.5, -0.25).words(), Cost(0.0, 0.0).words()
        ('grows by 0.125 to 0.25', 'falls by 0.25 to 0.5', 'stays as it was')
        """
        if self.lower == self.upper == 0:
            return "stays as it was"
        if self.lower >= 0:
            return f"grows by {_span(self.lower, self.upper)}"
        if self.upper <= 0:
            return f"falls by {_span(-self.upper, -self.lower)}"
        rest = f"; its upper end moves by {signed(at_most(self.published))}" if math.isfinite(self.published) else ""
        return ("may grow or fall" if str(self) == "unknown" else f"changes by {self}") + rest

    def to_json(self) -> dict[str, Any]:
        """Plain values; infinities are strings."""
        return {name: json_numbers(value) for name, value in attrs.asdict(self).items()}


def _less(one: Any, two: Any, outward: Any) -> float:
    """one - two, rounded outward; the far end where both are infinite."""
    if math.isinf(one) and one == two:
        return -math.inf if outward is down else math.inf
    if math.isinf(one) or math.isinf(two):
        return float(one) - float(two)
    found, rest = difference(one, two)
    return float(found) if float(rest) == 0.0 else float(outward(float(found)))


def _span(least: float, most: float) -> str:
    one, two = at_least(least), at_most(most)
    return one if one == two else f"{one} to {two}"


def signed(text: str) -> str:
    """A number with its sign; zero has none."""
    return text if text in ("0", "-0") or text.startswith("-") else f"+{text}"


SCHEMA = "quiltwork/difference/1"
FINE = 1e-6  # relative width that is asked for: small changes must not drown in the brackets
ABOUT = {"protects", "neighbors", "table", "prior", "secrets", "data", "pairs"}  # what an epsilon is about
MOST_PRICED = 40  # changes up to which each is also made alone


@attrs.frozen(eq=False)
class Change:
    """A piece that was added, removed or changed; `cost` is that of this change alone, made to the first file."""

    before: Piece | None
    after: Piece | None
    cost: Cost | None = None
    note: str = ""

    @property
    def name(self) -> str:
        """Of the piece, which is the same in both files."""
        return (self.after or self.before).name  # type: ignore[union-attr]

    @property
    def kind(self) -> Literal["added", "removed", "changed"]:
        """What happened to the piece."""
        return "added" if self.before is None else "removed" if self.after is None else "changed"

    @property
    def fields(self) -> tuple[Setting, ...]:
        """What differs, field by field; empty for what was added or removed."""
        if self.before is None or self.after is None:
            return ()
        return _settings(self.before.said, self.after.said)


@attrs.frozen
class Setting:
    """Something else that the two files say differently; None where one does not say it."""

    name: str
    before: str | None
    after: str | None


@attrs.frozen(eq=False)
class Retargeted:
    """A target before and after; None where it was not set, or where there is nothing to judge."""

    target: Target
    before: Verdict | None
    after: Verdict | None
    set_before: bool
    set_after: bool


@attrs.frozen(eq=False)
class Difference:
    """Everything that is said about a change of a file."""

    one: Side
    two: Side
    delta: float
    before: Bracket | None
    after: Bracket | None
    cost: Cost | None
    changes: tuple[Change, ...]
    settings: tuple[Setting, ...]
    targets: tuple[Retargeted, ...]
    kept: int  # pieces that are the same
    curves: tuple[Curve | None, Curve | None] = attrs.field(repr=False)

    @property
    def same(self) -> bool:
        """Whether nothing that could matter was changed."""
        return not self.changes and not self.settings

    @property
    def caution(self) -> str:
        """Said when the two epsilons are not about the same thing; else empty."""
        changed = {setting.name.partition(".")[0] for setting in self.settings} & ABOUT
        words = f"the two versions differ in {', '.join(sorted(changed))}: their epsilons say different things"
        return words if changed else ""

    @property
    def met(self) -> bool:
        """Whether the second file meets every target that it sets, and fits into every budget that it names."""
        judged = (one.after for one in self.targets if one.set_after)
        return all(one is None or one.word == "met" for one in judged) and all(self.two.fits.values())

    @property
    def budgets(self) -> tuple[tuple[str, bool | None, bool | None], ...]:
        """Each budget that a plan names, and whether everything fitted into it before and after."""
        names = dict.fromkeys([*self.two.fits, *self.one.fits])
        return tuple((name, self.one.fits.get(name), self.two.fits.get(name)) for name in names)

    def holds(self, most: float | None = None) -> bool:
        """Whether targets are met and nothing can cost more than `most` above the first file."""
        if most is None:
            return self.met
        asked = checks.real("at-most-more", most)
        costs = [change.cost for change in self.changes] if self.one.separate else [self.cost]
        return self.met and all(cost is not None and cost.upper <= asked for cost in costs)

    def to_json(self) -> dict[str, Any]:
        """A plain dictionary that `json.dumps(..., allow_nan=False)` accepts."""
        return {
            "schema": SCHEMA,
            "kind": self.one.kind,
            "titles": [self.one.title, self.two.title],
            "delta": self.delta,
            "before": None if self.before is None else self.before.to_json(),
            "after": None if self.after is None else self.after.to_json(),
            "cost": None if self.cost is None else self.cost.to_json(),
            "met": self.met,
            "changes": [
                {
                    "name": change.name,
                    "kind": change.kind,
                    "before": None if change.before is None else change.before.said,
                    "after": None if change.after is None else change.after.said,
                    "cost": None if change.cost is None else change.cost.to_json(),
                    "note": change.note or None,
                }
                for change in self.changes
            ],
            "settings": [attrs.asdict(setting) for setting in self.settings],
            "targets": [
                {
                    **judged.target.model_dump(),
                    "before": None if judged.before is None else judged.before.word,
                    "after": None if judged.after is None else judged.after.word,
                    "set_before": judged.set_before,
                    "set_after": judged.set_after,
                }
                for judged in self.targets
            ],
            "budgets": [{"name": name, "before": was, "after": now} for name, was, now in self.budgets],
            "unchanged": self.kept,
        }


def differences(before: Any, after: Any, delta: float | None = None) -> Difference:
    """Compare two plans, table plans, priors, worlds, budget files, or objects with an epsilon."""
    one, two = side_of(before), side_of(after)
    if one.kind != two.kind:
        raise InvalidParameter("the two files", f"{one.kind} and {two.kind}", "of one kind")
    delta = asked_delta(delta, (*two.targets, *one.targets))
    settings = _settings(one.settings, two.settings)
    pairs = _pairs(one, two)
    if one.separate:
        changes = tuple(_separate(one, delta, *pair) for pair in pairs)
        return Difference(one, two, delta, None, None, None, changes, settings, (), _kept(one, pairs), (None, None))
    curves = one.whole(), two.whole()
    was, now = (None if curve is None else _epsilon(curve, delta) for curve in curves)
    signs = {_sign(*pair) for pair in pairs} | ({0} if settings else set())
    cost = None
    if was is not None and now is not None:
        sign = signs.pop() if len(signs) == 1 and one.monotone else 0
        cost = Cost.of(was, now, sign) if pairs or settings else Cost(0.0, 0.0)
    changes = tuple(_change(one, was if len(pairs) <= MOST_PRICED else None, delta, *pair) for pair in pairs)
    targets = _judged(one, two, curves)
    return Difference(one, two, delta, was, now, cost, changes, settings, targets, _kept(one, pairs), curves)


Pair = tuple[Piece | None, Piece | None]


def _pairs(one: Side, two: Side) -> list[Pair]:
    """The pieces that differ: changed and removed in the order of the first file, then those that are new."""
    pairs: list[Pair] = []
    for name, piece in one.pieces.items():
        other = two.pieces.get(name)
        if other is None or other.said != piece.said:
            pairs.append((piece, other))
    return pairs + [(None, piece) for name, piece in two.pieces.items() if name not in one.pieces]


def _kept(one: Side, pairs: list[Pair]) -> int:
    return len(one.pieces) - sum(piece is not None for piece, _ in pairs)


def _epsilon(curve: Curve, delta: float) -> Bracket:
    return curve.epsilon(delta, rtol=FINE)


def _sign(before: Piece | None, after: Piece | None) -> int:
    """What the difference of two pieces does to a composition, when that is known from their lists alone."""
    if before is None or after is None:
        return 1 if before is None else -1
    if before.mechanism is None or before.mechanism != after.mechanism:
        return 0
    return (after.count > before.count) - (after.count < before.count)


def _change(one: Side, total: Bracket | None, delta: float, before: Piece | None, after: Piece | None) -> Change:
    """One change alone, made to the first file."""
    if total is None:
        return Change(before, after)
    values = [after if piece is before else piece for piece in one.pieces.values()]
    values += [after] if before is None else []
    try:
        curve = one.curve([piece.value for piece in values if piece is not None])
    except UnboundedLossError:
        return Change(before, after, note="no finite epsilon follows")
    except QuiltworkError as error:
        return Change(before, after, note=f"not possible alone: {str(error).splitlines()[0]}")
    if curve is None:
        return Change(before, after)
    return Change(before, after, Cost.of(total, _epsilon(curve, delta), one.monotone * _sign(before, after)))


def _separate(one: Side, delta: float, before: Piece | None, after: Piece | None) -> Change:
    """A limit of its own before and after; what is not there allows nothing."""
    ends = [_limit(one, piece, delta) for piece in (before, after)]
    deltas = {piece.value.delta for piece in (before, after) if piece is not None and piece.value.epsilon is not None}
    if len(deltas) == 1:  # stated at one delta: the limits themselves are compared
        ends = [_stated(piece) or end for piece, end in zip((before, after), ends, strict=True)]
    return Change(before, after, None if ends[0] is None or ends[1] is None else Cost.of(ends[0], ends[1]))


def _limit(one: Side, piece: Piece | None, delta: float) -> Bracket | None:
    curve = compose() if piece is None else one.curve([piece.value])
    return None if curve is None else _epsilon(curve, delta)


def _stated(piece: Piece | None) -> Bracket | None:
    stated = None if piece is None else piece.value.epsilon
    return None if stated is None else Bracket(stated, stated, "epsilon")


def _settings(before: dict[str, str], after: dict[str, str]) -> tuple[Setting, ...]:
    names = dict.fromkeys([*before, *after])
    return tuple(
        Setting(name, before.get(name), after.get(name)) for name in names if before.get(name) != after.get(name)
    )


def _judged(one: Side, two: Side, curves: tuple[Curve | None, Curve | None]) -> tuple[Retargeted, ...]:
    """Every target of either file, held against both."""
    targets = list(dict.fromkeys((*two.targets, *one.targets)))

    def said(curve: Curve | None, target: Target) -> Verdict | None:
        return None if curve is None else verdict_of(curve, target)  # type: ignore[arg-type]

    return tuple(
        Retargeted(t, said(curves[0], t), said(curves[1], t), t in one.targets, t in two.targets) for t in targets
    )
