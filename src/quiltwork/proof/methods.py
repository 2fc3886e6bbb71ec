"""The methods, in the order in which they are tried: each encloses D(epsilon) of one composition, or declines."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import attrs

from quiltwork.errors import InvalidParameter
from quiltwork.proof import chords, closed_forms, discrete_gaussians, finite, largest, renyi
from quiltwork.proof.balls import BITS, Enclosure, ball, precision
from quiltwork.proof.description import Composition
from quiltwork.proof.fields import Refused

Method = Callable[[Composition, Fraction], Enclosure | None]
Decides = Callable[[Enclosure], bool]

CONTOUR_ACCURACIES = (1e-3, 1e-6, 1e-11, 1e-15)
CONTOUR_WORK = 2e7  # products of balls, at each accuracy: about ten seconds
NO_BETTER = 0.9  # of the width before: a finer sum that leaves so much is the last
CONTOUR = f"{__package__}.contour"  # asked only where it is there


STATED = ("zcdp", "rdp")
METHODS: tuple[Method, ...] = (
    largest.judge,
    closed_forms.judge,
    discrete_gaussians.judge,
    finite.judge_few,
)


def _by_contour(composition: Composition, epsilon: Fraction, decides: Decides) -> Enclosure | None:
    """Contour sums in balls, finer until the answer decides."""
    if find_spec(CONTOUR) is None:
        return None
    divergence: Any = import_module(CONTOUR).divergence
    parts = [({"loss": dict(r.node), "direction": r.direction}, r.count) for r in composition.releases]
    found: Enclosure | None = None
    falls = largest.falls(composition, epsilon)
    for accuracy in CONTOUR_ACCURACIES:
        with precision(BITS):
            e = ball(epsilon)
        value = divergence(parts, 0, e, accuracy, CONTOUR_WORK)
        if value is None:
            break
        before, found = found, Enclosure.of(value, "contour sums in balls", 128, falls)
        if before is not None:
            found = _both(before, found)
        if decides(found):
            break
        if before is not None and not found.high - found.low < NO_BETTER * (before.high - before.low):
            break
    return found


def _stated(composition: Composition, epsilon: Fraction, decides: Decides) -> Enclosure:
    """Statements by Rényi divergences: above by one order, below by Gaussians that they allow."""
    try:
        with precision(BITS):
            above = renyi.judge(composition, epsilon)
    except Refused as reason:
        above = Enclosure(ball(0), ball(1), str(reason), falls=None)
    if decides(above):
        return above
    try:
        below = enclose(renyi.attained(composition), epsilon, lambda one: decides(attrs.evolve(one, high=above.high)))
    except Refused:
        return above
    words = f"{above.method}, and the Gaussian that is allowed: {below.method}"
    return Enclosure(below.low, above.high, words, max(above.bits, below.bits), None)


def enclose(composition: Composition, epsilon: Fraction, decides: Decides, long: bool = True) -> Enclosure:
    """D(epsilon) between two ends by the first method that knows, long lists and fine grids last; Refused if none."""
    if any(release.kind in STATED for release in composition.releases):
        return _stated(composition, epsilon, decides)
    reasons: list[str] = []
    for method in METHODS:
        short = _tried(method, composition, epsilon, reasons)
        if short is not None:
            return short
    found: Enclosure | None = None
    slower: list[Method] = [
        lambda one, e: _by_contour(one, e, decides),
        finite.judge,
        lambda one, e: chords.judge(one, e, decides),
    ]
    if chords.first(composition):
        slower = [slower[2], *slower[:2]]
    for slow in slower if long or chords.first(composition) else slower[:2]:
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
