"""Budgets: costs of losses, and whole histories, against sums of fractions that are kept here."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

import quiltwork as qw
from benchmarks.soundness.claims import Check, Kind, at_most, decided, relative
from quiltwork.compose.filters.opening import gdp_filter, pure_filter, zcdp_filter
from quiltwork.errors import BudgetExceeded
from quiltwork.ledger import Ledger

NEARLY = 1 + Fraction(1, 10**9)
FOLDER = "QUILTWORK_SOUNDNESS_FOLDER"  # of short-lived files; a run sets it and clears it away
UNITS = {"pure": "epsilon", "zcdp": "rho", "gdp": "mu"}


def number(rng: np.random.Generator, low: float = -2.0, high: float = 0.7) -> float:
    """Few digits, or all of them."""
    found = float(10.0 ** rng.uniform(low, high))
    return round(found, 3) or 0.001 if rng.random() < 0.6 else found


def exact(value: float) -> Fraction:
    """As typed."""
    return Fraction(repr(value))


# ---- what a release costs


def priced(rng: np.random.Generator) -> dict[str, Any]:
    """Releases with a cost that is known in fractions."""
    kind = str(rng.choice(list(UNITS)))
    families = {"pure": ["pure", "laplace"], "zcdp": ["zcdp", "gaussian"], "gdp": ["gdp", "gaussian"]}[kind]
    releases = [
        {"family": str(rng.choice(families)), "number": number(rng), "count": int(rng.integers(1, 50))}
        for _ in range(8)
    ]
    return {"kind": kind, "releases": releases}


def cost(kind: str, family: str, value: float, count: int) -> Fraction:
    """epsilon, rho or mu^2."""
    size = exact(value)
    one = {
        "pure": lambda: size if family == "pure" else 1 / size,
        "zcdp": lambda: size if family == "zcdp" else 1 / size**2 / 2,
        "gdp": lambda: size**2 if family == "gdp" else 1 / size**2,
    }[kind]()
    return count * one


def charged(case: dict[str, Any]) -> Iterator[Check]:
    """A cost is no less than the exact one, and hardly more; costs of a composition add up."""
    kind = case["kind"]
    kept = {"pure": lambda: pure_filter(100), "zcdp": lambda: zcdp_filter(100), "gdp": lambda: gdp_filter(100)}[kind]()
    total, losses = Fraction(0), []
    for release in case["releases"]:
        if release["number"] <= 0 or release["count"] < 1:
            continue
        loss = release["count"] * getattr(qw, release["family"])(release["number"])
        least = cost(kind, release["family"], release["number"], release["count"])
        found = kept.cost(loss)[0]
        total, losses = total + least, [*losses, loss]
        yield at_most(f"cost in a {kind} filter", least, found, str(release))
        yield at_most(f"cost in a {kind} filter, hardly more", found, least * NEARLY, str(release))
    if losses:
        found = kept.cost(qw.compose(*losses))[0]
        yield at_most(f"cost of all in a {kind} filter", total, found)
        yield at_most(f"cost of all in a {kind} filter, hardly more", found, total * NEARLY)


# ---- histories


def lived(rng: np.random.Generator) -> dict[str, Any]:
    """A budget of few spends, then spends, reservations, starts, refunds and settlements in any order."""
    kind, limit = str(rng.choice(list(UNITS))), number(rng, -0.5, 1.0)
    family = {"pure": "pure", "zcdp": "zcdp", "gdp": "gdp"}[kind]
    share = float(rng.uniform(0.1, 0.6))
    acts = []
    for _ in range(int(rng.integers(4, 16))):
        act = str(rng.choice(["spend", "spend", "reserve", "reserve", "start", "refund", "settle"]))
        size = round(limit * share * float(rng.random()), 3) or 0.001
        if rng.random() < 0.2:
            size = limit  # all of it
        acts.append(
            {"act": act, "number": size, "times": int(rng.choice([1, 1, 1, 2, 3])), "which": int(rng.integers(100))}
        )
    return {"kind": kind, "family": family, "limit": limit, "acts": acts}


def replayed(case: dict[str, Any]) -> Iterator[Check]:
    """Granted if and only if the exact sum fits; what is said to be spent and left holds it; the chain verifies."""
    if case["limit"] <= 0:
        return
    folder = tempfile.mkdtemp(prefix="quiltwork-", dir=os.environ.get(FOLDER))
    try:
        with Ledger(f"sqlite:///{folder}/budgets.db") as ledger:
            yield from _history(case, ledger)
    finally:
        shutil.rmtree(folder)


def _history(case: dict[str, Any], ledger: Any) -> Iterator[Check]:
    kind, make = case["kind"], getattr(qw, case["family"])
    ledger.open("budget", protects="one record", **{UNITS[kind]: case["limit"]})
    power = 2 if kind == "gdp" else 1
    limit, spent, held = exact(case["limit"]) ** power, Fraction(0), []
    for turn, act in enumerate(case["acts"]):
        note = f"act {turn}: {act}"
        if act["act"] in ("spend", "reserve"):
            if act["number"] <= 0 or act["times"] < 1:
                continue
            least = act["times"] * exact(act["number"]) ** power
            fits = spent + least <= limit
            try:
                options = {"lease": 3600} if act["act"] == "reserve" else {}
                receipt = getattr(ledger, act["act"])("budget", act["times"] * make(act["number"]), **options)
                granted = True
            except BudgetExceeded:
                granted = False
            yield decided(kind, fits, granted, note)
            if granted:
                spent += least
                held += [(receipt.seq, least, "held")] if act["act"] == "reserve" else []
        elif held:
            spot = act["which"] % len(held)
            seq, least, state = held[spot]
            allowed = {"start": state == "held", "refund": state == "held", "settle": state == "started"}[act["act"]]
            try:
                getattr(ledger, act["act"])(seq)
                done = True
            except qw.QuiltworkError:
                done = False
            yield Check(f"{act['act']} by its state only", done == allowed, note=f"{note}, {state}")
            if done and act["act"] == "refund":
                spent -= least
            if done:
                held[spot] = seq, least, "started" if act["act"] == "start" else "ended"
        else:
            continue  # nothing to act on
        yield from _balance(kind, ledger.balance("budget"), spent, limit, note)
    yield Check("the chain verifies", bool(ledger.verify().holds))


def _balance(kind: str, said: Any, spent: Fraction, limit: Fraction, note: str) -> Iterator[Check]:
    """Brackets of what is spent and left hold the exact sums, in the unit of the filter."""
    for name, bracket, true in (("spent", said.spent, spent), ("left", said.left, limit - spent)):
        low, high = (Fraction(repr(float(end))) for end in (bracket.lower, bracket.upper))
        text = f"{note}: {bracket}, {float(true)!r}"
        room = high - true if name == "spent" else true - low
        yield Check(f"{kind}: {name} holds the sum", low <= true <= high, relative(room, true), text)


KINDS = [Kind("ledger", "costs", priced, charged), Kind("ledger", "histories", lived, replayed)]
