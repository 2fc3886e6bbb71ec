"""Regions: those of compositions against whole numbers; several constraints, composed, against many digits."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from tests.truth import constraints
from tests.truth.numbers import mp

import quiltwork as qw
from benchmarks.soundness.claims import Check, Kind, at_most, covers, ends, inside
from benchmarks.soundness.rooms import compose, curves, dyadic

NEAR = mp.mpf(10) ** -50


def drawn(rng: np.random.Generator) -> dict[str, Any]:
    """One law, composed a few times, as a region; points of the square to look for in it."""
    given = dyadic.law(rng, largest=4)
    count = int(rng.integers(1, 6))
    truth = compose._truth([{**given, "count": count}])
    assert truth is not None
    square = rng.uniform(0, 1, (20, 2)).tolist()
    return {"law": given, "count": count, "square": square, **dyadic.questions(rng, dyadic.sides(truth, "worst"), 40)}


def held(case: dict[str, Any]) -> Iterator[Check]:
    """The region's curves hold the truth, and every pair of errors that a test reaches is inside."""
    truth = compose._truth([{**case["law"], "count": case["count"]}])
    if truth is None:
        return
    laws = dyadic.sides(truth, "worst")
    region = qw.pair(*dyadic.masses(case["law"])).region(case["count"])
    upper = np.asarray(region.delta(np.array(case["epsilons"])).upper) if case["epsilons"] else ()
    for place, most in zip(case["epsilons"], upper, strict=True):
        found = max(Fraction(one.stick(place)[0], 1 << one.stick(place)[2]) for one in laws)
        yield covers("region: delta from above", found, float(most), f"epsilon {place!r}")
    for alpha, beta in case["square"]:
        least = min(one.beta(alpha) for one in laws)
        back = min(one.beta(1.0 - alpha) for one in laws)
        reached = (
            least <= Fraction(beta) and back <= 1 - Fraction(beta) and Fraction(1.0 - alpha) == 1 - Fraction(alpha)
        )
        if reached:
            yield Check(
                "region: holds what a test reaches", bool(region.contains(alpha, beta)), note=f"{alpha!r}, {beta!r}"
            )
    if case["alphas"]:
        for alpha, (lower, _) in zip(case["alphas"], ends(region.beta(np.array(case["alphas"]))), strict=True):
            exact = min(one.beta(alpha) for one in laws)
            yield at_most("region: beta from below", lower, exact, f"alpha {alpha!r}")


def listed(rng: np.random.Generator) -> dict[str, Any]:
    """One or two mechanisms with several constraints each, composed."""
    lists = []
    for _ in range(int(rng.integers(1, 3))):
        given = [[round(min(e, 6.0), 3), d] for e, d in curves.points(rng, 4)]
        lists.append({"points": given, "count": int(rng.integers(1, 5))})
    top = sum(max(e for e, _ in one["points"]) * one["count"] for one in lists) or 1.0
    epsilons = [0.0, *rng.uniform(0, top, 16).tolist(), top]
    return {"lists": lists, "epsilons": list(dict.fromkeys(epsilons)), "region": bool(rng.random() < 0.5)}


def composed(case: dict[str, Any]) -> Iterator[Check]:
    """delta of the composition, of the loss or of its region."""
    if not case["lists"] or not all(one["points"] for one in case["lists"]) or not case["epsilons"]:
        return
    loss = qw.compose(*(one["count"] * qw.constraints(map(tuple, one["points"])) for one in case["lists"]))
    truth = constraints.composed([([(repr(e), d) for e, d in one["points"]], one["count"]) for one in case["lists"]])
    curve = loss.region() if case["region"] else loss
    name = "constraints, region" if case["region"] else "constraints"
    for place, (lower, upper) in zip(case["epsilons"], ends(curve.delta(np.array(case["epsilons"]))), strict=True):
        exact = min(mp.one, truth.delta(constraints.real(Fraction(repr(place)))))  # epsilons are read as typed
        low, high = exact * (1 - NEAR), exact * (1 + NEAR)
        if case["region"]:
            yield covers(f"{name}: delta", low, upper, f"epsilon {place!r}")
        else:
            yield inside(f"{name}: delta", lower, low, high, upper, f"epsilon {place!r}")


KINDS = [Kind("regions", "of finite laws", drawn, held), Kind("regions", "several constraints", listed, composed)]
