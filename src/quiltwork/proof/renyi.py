"""Statements by Rényi divergences: an upper end by one order, a lower end by the Gaussian that they allow.

For every order a > 1, D(eps) <= e^((a-1)(R(a) - eps)) (1/a) (1 - 1/a)^(a-1).  The same bound, with the moments of known
laws, holds for any composition.

Reference: theory/proof.md section 4.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from quiltwork.proof import finite
from quiltwork.proof.balls import Enclosure, ball, guess
from quiltwork.proof.balls import stated as stated_number
from quiltwork.proof.closed_forms import gaussian, gaussian_square
from quiltwork.proof.description import Composition, Refused, Release

Moment = Callable[[Fraction], Any]  # (a - 1) R(a) of an order, as a ball
ORDERS = (
    [Fraction(i, 1000) for i in range(1, 1000, 37)]
    + [Fraction(i, 16) for i in range(16, 1024)]
    + [Fraction(round(2 ** (6 + i / 8))) for i in range(1, 160)]
)


def _table(release: Release) -> dict[Fraction, Fraction]:
    pairs = zip(release.node["orders"], release.node["epsilons"], strict=True)
    return {stated_number("orders", a): stated_number("epsilons", e) for a, e in pairs if str(e) != "inf"}


def _moment(release: Release) -> Moment:
    square = gaussian_square(release)
    if square is not None or release.kind == "zcdp":
        rho = release.number("rho") if square is None else square / 2
        return lambda a: ball((a - 1) * a * rho)
    if release.kind == "rdp":
        table = _table(release)
        return lambda a: ball((a - 1) * table[a])
    listed, reveal = finite.single(finite.law_of(release))
    if not reveal.is_zero():
        raise Refused("a Rényi bound beside a release that may reveal everything")
    return lambda a: sum((mass * (ball(loss) * ball(a - 1)).exp() for mass, loss in listed), ball(0)).log()


def _attained(release: Release) -> Fraction:
    """mu^2 of a Gaussian that the statement allows."""
    if release.kind == "zcdp":
        return 2 * release.number("rho")
    if release.kind == "rdp":
        return min((2 * e / a for a, e in _table(release).items()), default=Fraction(0))
    return gaussian_square(release) or Fraction(0)


def judge(composition: Composition, epsilon: Fraction) -> Enclosure | None:
    """The enclosure where some release is stated by Rényi divergences, or None."""
    stated = [release for release in composition.releases if release.kind in ("zcdp", "rdp")]
    if not stated:
        return None
    tables = [set(_table(release)) for release in stated if release.kind == "rdp"]
    orders = sorted(set.intersection(*tables)) if tables else [1 + x for x in ORDERS]
    moments = [(_moment(release), release.count) for release in composition.releases]
    e = ball(epsilon)

    def bound(a: Fraction) -> Any:
        total = sum((count * moment(a) for moment, count in moments), ball(0))
        share = ball(1 - 1 / a).log() * ball(a - 1) - ball(a).log()
        return total - ball(a - 1) * e + share

    usable = [a for a in orders if a > 1]
    if not usable:
        return None
    best = min(usable, key=lambda a: _or_infinite(guess(bound(a))))
    if not tables:  # between the two neighbours
        place = usable.index(best)
        low, high = usable[max(place - 1, 0)], usable[min(place + 1, len(usable) - 1)]
        fine = [low + (high - low) * i / 200 for i in range(201)]
        best = min(fine, key=lambda a: _or_infinite(guess(bound(a))))
    high = bound(best).exp().min(ball(1))
    square = sum((_attained(release) * release.count for release in composition.releases), Fraction(0))
    low = gaussian(ball(square).sqrt(), epsilon) if square else ball(0)
    words = f"Rényi order {float(best):g}, and the Gaussian that is allowed"
    return Enclosure(low.lower(), high.upper(), words, falls=None)


def _or_infinite(number: float) -> float:
    return number if math.isfinite(number) else math.inf
