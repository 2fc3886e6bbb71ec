"""Curves: trade-off functions, profiles, regions and guarantees of one law, and envelopes of stated points."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from tests.truth.numbers import mp

import quiltwork as qw
from benchmarks.soundness.claims import Check, Kind, ends, inside, ordered
from benchmarks.soundness.listed import Listed
from benchmarks.soundness.rooms import dyadic
from quiltwork.curves import Guarantee, Profile, Region, TradeOff

NEAR = mp.mpf(10) ** -55  # of the many digits
SAME = ("region", "guarantee")


# ---- one law in every form


def drawn(rng: np.random.Generator) -> dict[str, Any]:
    """One law of few bits, so that every vertex is a double."""
    given = dyadic.law(rng, largest=7, bits=int(rng.integers(4, 50)))
    return {"law": given, **dyadic.questions(rng, [truth_of(given)], 40)}


def truth_of(given: dyadic.Law) -> Listed:
    return Listed.of(dyadic.outcomes(given), given["bits"])


def forms(truth: Listed) -> dict[str, Any]:
    """The curve as vertices, as knots, and back; and two that hold the knots; all of them speak of one law."""
    unit = 1 << truth.bits
    corners = list(dict.fromkeys(truth.above))
    last = next(i for i, (a, _) in enumerate(corners) if a == unit)
    kept = [corner for i, corner in enumerate(corners[: last + 1]) if i == last or corner[1] != corners[i + 1][1]]
    vertices = TradeOff([b / unit for _, b in kept], [1 - a / unit for a, _ in kept], [a / unit for a, _ in kept])
    profile = vertices.profile()
    return {
        "trade-off": vertices,
        "profile": profile,
        "trade-off of the profile": profile.tradeoff(),
        "region": Region(profile),
        "guarantee": Guarantee(profile, "one record"),
    }


def converted(case: dict[str, Any]) -> Iterator[Check]:
    """Every form answers every question about the same truth; what was converted twice is a bound on one side only."""
    truth = truth_of(case["law"])
    found = forms(truth)
    for name, curve in found.items():
        if name not in SAME:
            yield from dyadic.asked(name, curve, [truth], case, outward=name.startswith("trade-off of"))
    for name in SAME:  # they pass the question on: one claim for all of them
        if name in found and case["epsilons"]:
            pairs = [list(ends(found[each].delta(np.array(case["epsilons"])))) for each in (name, "profile")]
            yield Check(f"{name}: answers as its profile", pairs[0] == pairs[1])


# ---- envelopes of stated points


def points(rng: np.random.Generator, most: int = 6) -> list[list[float]]:
    """Points (epsilon, delta) in any order, some of them useless."""
    count = int(rng.integers(1, most))
    top = float(10.0 ** rng.uniform(-2, 1.2)) if rng.random() < 0.9 else float(rng.uniform(30, 700))
    found = []
    for _ in range(count):
        delta = float(rng.choice([0.0, rng.uniform(), 10.0 ** -rng.uniform(0, 20)]))
        found.append([float(rng.choice([0.0, rng.uniform(0, top), top * 10.0 ** -rng.uniform(0, 9)])), delta])
    return found


def stated(rng: np.random.Generator) -> dict[str, Any]:
    """Stated points, as a profile in one or both orders of the worlds, or as a loss."""
    given = points(rng)
    top = max(point[0] for point in given) or 1.0
    epsilons = [0.0, *(point[0] for point in given), *rng.uniform(0, 1.1 * top, 12).tolist()]
    epsilons += (-rng.exponential(1.0, 4)).tolist()
    deltas = [0.0, *(point[1] for point in given), *(10.0 ** -rng.uniform(0, 16, 8)).tolist()]
    form = str(rng.choice(["one order", "both orders", "constraints", "profile of a loss"]))
    return {
        "points": given, "form": form, "epsilons": list(dict.fromkeys(epsilons)), "deltas": list(dict.fromkeys(deltas))
    }  # fmt: skip


class Envelope:
    """The lower convex envelope of points (e^epsilon, delta), an anchor where delta = 1, and the direction (1, 0)."""

    def __init__(self, given: list[list[float]], anchor: int) -> None:
        self.both = anchor == -1
        self.points = [(mp.mpf(anchor), mp.one), *((mp.exp(e), mp.mpf(d)) for e, d in given)]
        self.chords = [
            (a, b, (b[1] - a[1]) / (b[0] - a[0])) for a, b in itertools.permutations(self.points, 2) if a[0] < b[0]
        ]

    def delta(self, epsilon: float) -> Any:
        """By all points and all chords."""
        t = mp.exp(mp.mpf(epsilon))
        if self.both and epsilon < 0:
            return 1 - t + t * self.delta(-epsilon)
        values = [d for place, d in self.points if place <= t]
        values += [a[1] + (t - a[0]) * slope for a, b, slope in self.chords if a[0] <= t <= b[0]]
        return max(min(values), mp.zero)


def enveloped(case: dict[str, Any]) -> Iterator[Check]:
    """delta, and epsilon by delta at both ends."""
    form, given = case["form"], case["points"]
    truth = Envelope(given, 0 if form == "one order" else -1)
    first, second = [e for e, _ in given], [d for _, d in given]
    curve: Any = {
        "one order": lambda: Profile(first, second),
        "both orders": lambda: Profile(first, second, symmetric=True),
        "constraints": lambda: qw.constraints(map(tuple, given)),
        "profile of a loss": lambda: qw.profile(first, second),
    }[form]()
    if case["epsilons"]:
        found = curve.delta(np.array(case["epsilons"]))
        for place, (lower, upper) in zip(case["epsilons"], ends(found), strict=True):
            exact = truth.delta(place)
            low, high = exact * (1 - NEAR) - NEAR, exact * (1 + NEAR) + NEAR
            yield inside(f"points, {form}: delta", lower, low, high, upper, f"epsilon {place!r}")
        yield ordered(f"points, {form}: delta falls", found, case["epsilons"])
    if case["deltas"]:
        for share, (lower, upper) in zip(case["deltas"], ends(curve.epsilon(np.array(case["deltas"]))), strict=True):
            yield _epsilon(f"points, {form}: epsilon", truth, share, lower, upper)


def _epsilon(claim: str, truth: Envelope, share: float, lower: float, upper: float) -> Check:
    asked = mp.mpf(share)
    least = min(d for _, d in truth.points)
    top = truth.delta(lower) if math.isfinite(lower) else least
    bottom = truth.delta(upper) if math.isfinite(upper) else mp.zero
    under = lower <= 0 or (top >= asked - NEAR if math.isfinite(lower) else least > asked - NEAR)
    holds = bool(lower <= upper and under and bottom <= asked + NEAR)
    width = (upper - lower) / upper if math.isfinite(upper) and upper else math.nan
    return Check(claim, holds, math.nan, f"delta {share!r}, said [{lower!r}, {upper!r}]", width)


KINDS = [
    Kind("curves", "one law in every form", drawn, converted),
    Kind("curves", "envelopes of points", stated, enveloped),
]
