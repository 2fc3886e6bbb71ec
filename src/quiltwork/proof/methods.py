"""The methods, in the order in which they are tried: each encloses D(epsilon) of one composition, or declines."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import attrs

from quiltwork.errors import InvalidParameter
from quiltwork.proof import chords, closed_forms, discrete_gaussians, finite, largest, renyi
from quiltwork.proof.balls import BITS, Enclosure, ball, precision
from quiltwork.proof.description import Composition, Release
from quiltwork.proof.fields import Refused

Method = Callable[[Composition, Fraction], Enclosure | None]
Decides = Callable[[Enclosure], bool]

CONTOUR_ACCURACIES = (1e-3, 1e-4, 1e-5, 1e-6, 1e-8, 1e-11, 1e-15)  # of which the coarsest that likely decides is taken
CONTOUR_WORK = 5e7  # products of balls for a law: a few seconds
NO_BETTER = 0.9  # of the width before: a finer sum that leaves so much is the last
CONTOUR = f"{__package__}.contour.divergence"  # asked only where it is there


STATED = ("zcdp", "rdp")
METHODS: tuple[Method, ...] = (
    largest.judge,
    closed_forms.judge,
    discrete_gaussians.judge,
    finite.judge_few,
)


def _by_contour(composition: Composition, epsilon: Fraction, decides: Decides, end: str) -> Enclosure | None:
    """Contour sums in balls: first of the law that can show what is claimed, as fine as is likely to decide."""
    if find_spec(CONTOUR) is None:
        return None
    parts = [({"loss": dict(r.node), "direction": r.direction}, r.count) for r in composition.releases]
    with precision(BITS):
        question: Any = import_module(CONTOUR).Question(parts, ball(epsilon), CONTOUR_WORK)
    falls = largest.falls(composition, epsilon)
    found: Enclosure | None = None
    for upper in sorted(question.sides, reverse=end == "upper"):
        one: Enclosure | None = None  # what is known of this law
        two = len(question.sides) > 1
        level: int | None = 0
        while level is not None:
            value = question.ball(upper, CONTOUR_ACCURACIES[level])
            if value is None:
                break
            before, one = one, Enclosure.of(value, "contour sums in balls", 128, falls)
            if before is not None and not two:  # each accuracy may choose another of several laws above D, or below it
                one = _both(before, one)
            bounds = _of_side(one, two, upper)
            found = bounds if found is None else _both(found, bounds)
            if decides(found):
                return found
            if before is not None and not one.high - one.low < NO_BETTER * (before.high - before.low):
                break
            level = _next(one, level + 1, partial(_decided, decides, two, upper))
    return found


def _decided(decides: Decides, two: bool, upper: bool, found: Enclosure) -> bool:
    """Whether it decides, found of one law."""
    return decides(_of_side(found, two, upper))


def _next(found: Enclosure, level: int, decides: Decides) -> int | None:
    """The accuracy that likely decides, else the next one; None where the divergence of this law would not decide."""
    ends = (attrs.evolve(found, high=found.low), attrs.evolve(found, low=found.high))
    if level == len(CONTOUR_ACCURACIES) or not any(decides(end) for end in ends):
        return None
    middle = (found.low + found.high) / 2
    for place in range(level, len(CONTOUR_ACCURACIES)):
        room = 2 * middle * CONTOUR_ACCURACIES[place]
        if decides(attrs.evolve(found, low=middle - room, high=middle + room)):
            return place
    return level


def _of_side(found: Enclosure, two: bool, upper: bool) -> Enclosure:
    """What a law says of D that is only above it, or below."""
    if not two:
        return found
    return attrs.evolve(found, low=ball(0)) if upper else attrs.evolve(found, high=ball(1))


def _transform(release: Release) -> tuple[renyi.Moment, Any]:
    """Moments of what has no list of losses, by the nodes of its contour."""
    if find_spec(CONTOUR) is None:
        raise Refused(f"no moments of {release.kind}")
    law: Any = import_module(CONTOUR).Moments({"loss": dict(release.node), "direction": release.direction})
    return (lambda a: law.log(a - 1)), law.kept


def _stated(composition: Composition, epsilon: Fraction, decides: Decides, end: str) -> Enclosure:
    """Statements by Rényi divergences: above by one order, below by Gaussians that they allow."""
    try:
        with precision(BITS):
            above = renyi.judge(composition, epsilon, _transform)
    except Refused as reason:
        above = Enclosure(ball(0), ball(1), str(reason), falls=None)
    if decides(above):
        return above
    try:
        allowed = renyi.attained(composition)
        below = enclose(allowed, epsilon, lambda one: decides(attrs.evolve(one, high=above.high)), end=end)
    except Refused:
        return above
    words = f"{above.method}, and the Gaussian that is allowed: {below.method}"
    return Enclosure(below.low, above.high, words, max(above.bits, below.bits), None)


def enclose(
    composition: Composition, epsilon: Fraction, decides: Decides, long: bool = True, end: str = "upper"
) -> Enclosure:
    """D(epsilon) between two ends by the first method that knows, long lists and fine grids last; Refused if none.

    `end` says which bound of D can show the claim; the other one can only refute it.
    """
    if any(release.kind in STATED for release in composition.releases):
        return _stated(composition, epsilon, decides, end)
    reasons: list[str] = []
    for method in METHODS:
        short = _tried(method, composition, epsilon, reasons)
        if short is not None:
            return short
    found: Enclosure | None = None
    slower: list[Method] = [
        lambda one, e: _by_contour(one, e, decides, end),
        finite.judge,
        lambda one, e: chords.judge(one, e, decides),
    ]
    if not long:
        slower.pop()
    if chords.first(composition):
        slower.insert(0, lambda one, e: chords.judge(one, e, decides, coarse=True))
    for slow in slower:
        now = _tried(slow, composition, epsilon, reasons)
        if now is not None:
            found = now if found is None else _both(found, now)
            if decides(found):
                break
    if found is not None:
        return found
    kinds = ", ".join(dict.fromkeys(release.kind for release in composition.releases))
    raise Refused("; ".join(dict.fromkeys(reasons)) or f"no method for {kinds}")


def _both(one: Enclosure, other: Enclosure) -> Enclosure:
    low, high = other.low.max(one.low), other.high.min(one.high)
    if low > high:
        raise Refused(f"two methods contradict each other, please report it: {one}; {other}")
    return attrs.evolve(other, low=low, high=high, falls=other.falls or one.falls)


def _tried(method: Method, composition: Composition, epsilon: Fraction, reasons: list[str]) -> Enclosure | None:
    """What a method finds, or None and the reason."""
    try:
        with precision(BITS):
            found = method(composition, epsilon)
    except InvalidParameter:
        raise
    except Refused as reason:
        reasons.append(str(reason))
        return None
    except (ArithmeticError, ValueError):
        reasons.append("numbers too large or too small to steer by")
        return None
    if found is None or not _finite(found):
        return None
    return found if found.falls is not None else attrs.evolve(found, falls=largest.falls(composition, epsilon))


def _finite(found: Enclosure) -> bool:
    return bool(found.low.is_finite() and found.high.is_finite())
