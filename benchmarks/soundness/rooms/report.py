"""Printed numbers: read again, they are on the safe side of what was computed, and near it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

import quiltwork as qw
from benchmarks.soundness.claims import Check, Kind, at_most
from quiltwork.compose.filters.costs import short
from quiltwork.numbers.digits import at_least, pair
from quiltwork.numbers.digits import at_most as printed_at_most

EPSILON = re.compile(r"epsilon is at most ([0-9.e+-]+):")
PERCENT = re.compile(r"in at most ([0-9.e+-]+)% of cases")


def drawn(rng: np.random.Generator) -> dict[str, Any]:
    """Numbers of every size, next to round ones too."""
    numbers = (10.0 ** rng.uniform(-300, 300, 6)).tolist() + (10.0 ** rng.uniform(-8, 8, 24)).tolist()
    for digits in rng.integers(1, 9, 10).tolist():
        near = float(f"{10.0 ** rng.uniform(-4, 4):.{digits}g}")
        numbers += [near, math.nextafter(near, math.inf), math.nextafter(near, 0.0)]
    gaps = (10.0 ** -rng.uniform(0, 17, len(numbers))).tolist()
    return {"numbers": numbers, "gaps": gaps, "digits": int(rng.integers(1, 9))}


def rounded(case: dict[str, Any]) -> Iterator[Check]:
    """Up after "at most", down after "at least", outward for two ends; by less than a unit of the last digit."""
    digits = case["digits"]
    if digits < 1:
        return
    for value in case["numbers"]:
        exact = Fraction(value)
        unit = 1 + Fraction(1, 10 ** (digits - 1))
        above, below = Fraction(printed_at_most(value, digits)), Fraction(at_least(value, digits))
        yield at_most("at most", exact, above, repr(value))
        yield at_most("at least", below, exact, repr(value))
        yield at_most("at most, by less than a digit", above, exact * unit, repr(value))
        yield at_most("at least, by less than a digit", exact, below * unit, repr(value))
        yield at_most("a cost, rounded up", exact, Fraction(short(exact, digits=digits)), repr(value))
        yield at_most(
            "what is left, rounded down", Fraction(short(exact, left=True, digits=digits)), exact, repr(value)
        )
    for value, gap in zip(case["numbers"], case["gaps"], strict=False):
        upper = value * (1 + gap)
        if value < upper < math.inf and value > 1e-290:
            low, high = _read(pair(value, upper))
            yield at_most("two ends, the lower one", low, Fraction(value), f"{value!r}, {upper!r}")
            yield at_most("two ends, the upper one", Fraction(upper), high, f"{value!r}, {upper!r}")


def _read(text: str) -> tuple[Fraction, Fraction]:
    """[14.3756, 14.3847], or 14.3847, within 1e-9, as two numbers."""
    if ", within " in text:
        end, width = map(Fraction, text.split(", within "))
        return end - width, end
    found = re.fullmatch(r"([^\[]*)\[([^,]*), ([^\]]*)\](.*)", text)
    if found is None:
        return Fraction(text), Fraction(text)
    shared, low, high, tail = found.groups()
    return Fraction(shared + low + tail), Fraction(shared + high + tail)


def promised(rng: np.random.Generator) -> dict[str, Any]:
    """A loss of one kind, and deltas."""
    name, low, high = [("gaussian", 0, 3), ("laplace", 0, 3), ("pure", -3, 0.7), ("gdp", -3, 0.5)][int(rng.integers(4))]
    deltas = [float(f"{d:.2g}") for d in 10.0 ** -rng.uniform(1, 9, 4)]
    count = int(rng.integers(1, 3 if name == "laplace" else 30))  # many Laplace noises take seconds
    return {"family": name, "number": float(10.0 ** rng.uniform(low, high)), "count": count, "deltas": deltas}


def explained(case: dict[str, Any]) -> Iterator[Check]:
    """What a guarantee says in words is no better than what it computed."""
    if case["number"] <= 0 or case["count"] < 1:
        return
    loss = case["count"] * getattr(qw, case["family"])(case["number"])
    promise = loss.guarantee()
    for delta in case["deltas"]:
        text = promise.explain(delta)
        upper = float(loss.epsilon(delta).upper)
        found = EPSILON.search(text)
        if math.isfinite(upper):
            said = Fraction(found.group(1)) if found else Fraction(-1)
            yield at_most("explain: epsilon", Fraction(upper), said, f"delta {delta!r}")
            yield at_most(
                "explain: epsilon, by less than a digit",
                said,
                Fraction(upper) * (1 + Fraction(1, 100)),
                f"delta {delta!r}",
            )
        for alarm, percent in zip((0.05, 0.001), PERCENT.findall(text), strict=True):
            power = 100 * (1 - Fraction(float(loss.beta(alarm).lower)))
            yield at_most(
                "explain: detected", power, Fraction(percent) * (1 + Fraction(1, 2**50)), f"false alarms {alarm}"
            )


KINDS = [Kind("report", "digits", drawn, rounded), Kind("report", "words", promised, explained)]
