"""Statements by Rényi divergences: an upper end by one order; a lower end is that of Gaussians that they allow.

For every order a > 1, D(eps) <= e^((a-1)(R(a) - eps)) (1/a) (1 - 1/a)^(a-1).  The same bound, with the moments of known
laws, holds for any composition.

Reference: theory/proof.md section 4.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from typing import Any

import attrs

from quiltwork.proof import finite
from quiltwork.proof.balls import Enclosure, ball, guess
from quiltwork.proof.closed_forms import gaussian_square
from quiltwork.proof.description import Composition, Release
from quiltwork.proof.fields import Refused

Moment = Callable[[Fraction], Any]  # (a - 1) R(a) of an order, as a ball
Transform = Callable[[Release], tuple[Moment, Any]]  # and the mass that reveals nothing
ORDERS = (
    [Fraction(i, 1000) for i in range(1, 1000, 37)]
    + [Fraction(i, 16) for i in range(16, 1024)]
    + [Fraction(round(2 ** (6 + i / 8))) for i in range(1, 160)]
)


def _table(release: Release) -> dict[Fraction, Fraction]:
    pairs = zip(release.node["orders"], release.node["epsilons"], strict=True)
    return {a: e for a, e in pairs if e is not None}


def _chords(table: dict[Fraction, Fraction]) -> list[tuple[Fraction, Fraction]]:
    """(a - 1) R(a) is convex in a and 0 at a = 1: it lies below the chords of its least points."""
    hull = [(Fraction(1), Fraction(0))]
    for a, e in sorted(table.items()):
        here = a, (a - 1) * e
        while len(hull) > 1 and _rise(hull[-2], hull[-1]) >= _rise(hull[-2], here):
            hull.pop()
        hull.append(here)
    return hull


def _rise(one: tuple[Fraction, Fraction], other: tuple[Fraction, Fraction]) -> Fraction:
    return (other[1] - one[1]) / (other[0] - one[0])


def _on_chords(hull: list[tuple[Fraction, Fraction]], a: Fraction) -> Fraction:
    for left, right in pairwise(hull):
        if left[0] <= a <= right[0]:
            return left[1] + _rise(left, right) * (a - left[0])
    raise Refused("an order above all that are stated")


def _moment(release: Release, transform: Transform) -> tuple[Moment, Any]:
    """The moment of one release, and the mass that does not reveal the world."""
    square = gaussian_square(release)
    if square is not None or release.kind == "zcdp":
        rho = release.number("rho") if square is None else square / 2
        return (lambda a: ball((a - 1) * a * rho)), ball(1)
    if release.kind == "rdp":
        hull = _chords(_table(release))
        return (lambda a: ball(_on_chords(hull, a))), ball(1)
    try:
        listed, reveal = finite.single(finite.law_of(release))
    except Refused:
        return transform(release)
    if not listed:
        raise Refused("everything is revealed")
    return (
        lambda a: sum((mass * (ball(loss) * ball(a - 1)).exp() for mass, loss in listed), ball(0)).log()
    ), 1 - reveal


def attained(composition: Composition) -> Composition:
    """The composition with a Gaussian that each statement allows in its place."""
    return attrs.evolve(composition, releases=tuple(_allowed(release) for release in composition.releases))


def _allowed(release: Release) -> Release:
    if release.kind == "zcdp":
        square = 2 * release.number("rho")
    elif release.kind == "rdp":
        square = min((2 * e / a for a, e in _table(release).items()), default=Fraction(0))
    else:
        return release
    grid = 10**60
    mu = Fraction(math.isqrt(square.numerator * grid**2 // square.denominator), grid)  # not above its root
    return attrs.evolve(release, node={"kind": "gdp", "mu": mu})


def judge(composition: Composition, epsilon: Fraction, transform: Transform) -> Enclosure:
    """The upper end where some release is stated by Rényi divergences; the lower one is 0.

    `transform` gives the moments of laws that are neither stated nor finite.
    """
    stated = [release for release in composition.releases if release.kind in ("zcdp", "rdp")]
    tables = [_table(release) for release in stated if release.kind == "rdp"]
    if not all(tables):
        raise Refused("a table without a finite order")
    top = min((max(table) for table in tables), default=None)
    known = {1 + x for x in ORDERS} | {a for table in tables for a in table}
    orders = sorted(a for a in known if top is None or a <= top)
    moments = [(*_moment(release, transform), release.count) for release in composition.releases]
    e = ball(epsilon)

    def bound(a: Fraction) -> Any:
        total = sum((count * moment(a) for moment, _, count in moments), ball(0))
        share = ball(1 - 1 / a).log() * ball(a - 1) - ball(a).log()
        return total - ball(a - 1) * e + share

    best = _least(bound, orders)
    place = orders.index(best)  # and between the two neighbours
    low, high = orders[max(place - 1, 0)], orders[min(place + 1, len(orders) - 1)]
    best = _least(bound, [low + (high - low) * i / 200 for i in range(201)])
    kept = ball(1)
    for _, one, count in moments:
        kept *= one**count
    most = (bound(best).exp() + 1 - kept).min(ball(1))
    return Enclosure(ball(0), most.upper(), f"Rényi order {float(best):g}", falls=None)


def _least(bound: Moment, orders: list[Fraction]) -> Fraction:
    """The order of the least bound, by floats: it is convex in the order."""
    known: dict[int, float] = {}

    def at(place: int) -> float:
        if place not in known:
            found = guess(bound(orders[place]))
            known[place] = found if math.isfinite(found) else math.inf
        return known[place]

    low, high = 0, len(orders) - 1
    while low < high:
        middle = (low + high) // 2
        if at(middle) == math.inf or at(middle) <= at(middle + 1):  # beyond what has a moment, or falling no more
            high = middle
        else:
            low = middle + 1
    return orders[min(known, key=lambda place: known[place])] if known else orders[low]
