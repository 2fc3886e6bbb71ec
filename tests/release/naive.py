"""Enforcement and exact answers in plain Python, for tables in which nobody is above a contribution bound."""

from __future__ import annotations

import math


def usable(value, low, high):
    """A number moved to the nearer end; None for what is no number."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    return min(max(value, low), high)


def declared(row, nullable, swapped):
    """A declared row, or None for one that is left out."""
    region = row["region"] if row["region"] in ("North", "South") else None
    age, cost = usable(row["age"], 0, 120), usable(row["cost"], -40.0, 60.0)
    if not nullable and swapped:
        region, age, cost = region or "North", 0 if age is None else age, -40.0 if cost is None else cost
    found = {"region": region, "age": age, "cost": cost}
    return None if not nullable and None in found.values() else found


def integer(value, low, high):
    """K of a real number: a product of doubles, rounded to even."""
    factor = 2**28 / max(abs(low), abs(high))
    scaled = min(max(value, low), high) * factor
    return round(scaled)  # Python rounds ties of doubles to even


def answers(rows, nullable, swapped=False):
    kept = [found for row in rows if (found := declared(row, nullable, swapped)) is not None]
    within = [r for r in kept if r["age"] is not None and 3 <= r["age"] < 65]
    out = {
        "all": len(kept),
        "adults": sum(r["age"] is not None and r["age"] >= 18 and r["region"] == "North" for r in kept),
        "cost": sum(integer(r["cost"], -40.0, 60.0) for r in within if r["cost"] is not None),
        "narrow": sum(integer(r["cost"], 50.0, 60.0) for r in kept if r["cost"] is not None),
        "ages": sum(min(max(r["age"], 10), 70) for r in kept if r["age"] is not None and r["region"] == "South"),
    }
    return out
