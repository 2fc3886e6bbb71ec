"""Tables: counts that overlap, worst category by listing; plans of every notion, worst tables by listing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import attrs
import numpy as np
from tests.tables import plan_checks
from tests.tables.random_plans import NOTIONS
from tests.truth import closed, convolution
from tests.truth.numbers import mp

import quiltwork as qw
from benchmarks.soundness.claims import Check, Kind, Skip, ends, inside, relative
from benchmarks.soundness.listed import composed, delta_check
from benchmarks.soundness.rooms import dyadic
from quiltwork.tables import Cat, Plan, Table, add_remove, on_input

NEAR = mp.mpf(10) ** -45
TINY = mp.mpf(10) ** -60  # what sums of 70 digits leave where the truth is 0: at the very sum of all epsilons


# ---- overlapping counts of a category


def drawn(rng: np.random.Generator) -> dict[str, Any]:
    """Counts of unions of categories, each with a loss of its own; all of one kind."""
    categories, kind = int(rng.integers(1, 7)), str(rng.choice(["pure", "gdp", "law"]))
    queries = []
    for _ in range(int(rng.integers(1, 7))):
        members = [c for c in range(categories) if rng.random() < rng.choice([0.2, 0.5, 0.9])]
        loss: Any = round(float(10.0 ** rng.uniform(-2, 0.5)), 4)
        queries.append({"members": members, "loss": dyadic.law(rng, 3, 12) if kind == "law" else loss})
    epsilons = [0.0, *np.round(rng.exponential(1.0, 20), 4).tolist(), *(-rng.exponential(0.5, 2)).tolist()]
    return {"categories": categories, "kind": kind, "queries": queries, "epsilons": list(dict.fromkeys(epsilons))}


def plan_of(case: dict[str, Any]) -> Any:
    """The plan in the library's words."""
    table = Table(a=Cat(*(f"c{i}" for i in range(case["categories"]))))
    plan, stated = Plan(table, neighbors=add_remove()), on_input(add_remove())
    make = {"pure": qw.pure, "gdp": qw.gdp, "law": lambda law: qw.pair(*dyadic.masses(law))}[case["kind"]]
    for index, query in enumerate(case["queries"]):
        where = table.a.isin([f"c{i}" for i in query["members"]])
        plan.add(f"q{index}", where=where, count=True, loss=make(query["loss"]), holds=stated)
    return plan


def counted(case: dict[str, Any]) -> Iterator[Check]:
    """A record of each category is read by the queries that hold it: the worst category decides."""
    read = [[q["loss"] for q in case["queries"] if c in q["members"]] for c in range(case["categories"])]
    if not any(read) or any(c >= case["categories"] for q in case["queries"] for c in q["members"]):
        return
    if not all(q["members"] for q in case["queries"]):
        return  # a condition without members keeps nothing
    said = plan_of(case).guarantee()
    found = list(zip(case["epsilons"], ends(said.delta(np.array(case["epsilons"]))), strict=True))
    if case["kind"] == "pure":
        # losses are typed decimals; so are the places
        top = max(sum((Fraction(repr(loss)) for loss in one), Fraction(0)) for one in read)
        both = said.epsilon(0.0)
        low, high = (Fraction(repr(float(end))) for end in (both.lower, both.upper))  # read as typed, too
        margin = relative(high - top, top)
        yield Check("overlapping counts: pure epsilon", low <= top <= high, margin, f"sum {top}, said {both}")
        laws = [responses(one) for one in read if one]
        for place, (lower, upper) in found:
            yield _held(max(law.delta(mp.mpf(repr(place))) for law in laws), place, lower, upper)
    elif case["kind"] == "gdp":
        mu = mp.sqrt(max(sum(mp.mpf(repr(loss)) ** 2 for loss in one) for one in read))
        for place, (lower, upper) in found:
            yield _held(closed.gaussian_delta(mu, mp.mpf(repr(place))), place, lower, upper)
    else:
        truths = [composed((dyadic.outcomes(law), law["bits"], 1) for law in one) for one in read if one]
        laws = [one for truth in truths if truth is not None for one in (truth, truth.mirrored)]
        for place, (lower, upper) in found:
            yield delta_check("overlapping counts: delta", laws, place, lower, upper, f"at {place!r}")


# ---- partitions


def parted(rng: np.random.Generator) -> dict[str, Any]:
    """Columns, each split into its values, and a count of everything now and then."""
    columns = [
        {"values": int(rng.integers(1, 5)), "epsilon": round(float(10.0 ** rng.uniform(-2, 0.5)), 4)}
        for _ in range(int(rng.integers(1, 5)))
    ]
    whole = [round(float(rng.uniform(0.01, 1)), 3) for _ in range(int(rng.integers(0, 3)))]
    return {"columns": columns, "whole": whole, "kind": str(rng.choice(["pure", "gdp"])),
            "epsilons": [0.0, *np.round(rng.exponential(1.0, 12), 4).tolist()]}  # fmt: skip


def split(case: dict[str, Any]) -> Iterator[Check]:
    """A record is in one part of each split: a split costs as much as one of its parts."""
    columns = case["columns"]
    if not columns or not all(one["values"] > 0 and one["epsilon"] > 0 for one in columns) or not case["epsilons"]:
        return
    names = {f"x{i}": Cat(*(f"v{n}" for n in range(one["values"]))) for i, one in enumerate(columns)}
    table, stated = Table(**names), on_input(add_remove())
    plan, make = Plan(table, neighbors=add_remove()), {"pure": qw.pure, "gdp": qw.gdp}[case["kind"]]
    for name, one in zip(names, columns, strict=True):
        plan.split(f"by {name}", by=table[name], loss=make(one["epsilon"]), holds=stated)
    for index, number in enumerate(case["whole"]):
        plan.add(f"all {index}", count=True, loss=make(number), holds=stated)
    read = [*(one["epsilon"] for one in columns), *case["whole"]]
    if case["kind"] == "pure":
        law = responses(read)
    mu = mp.sqrt(sum(mp.mpf(repr(number)) ** 2 for number in read))
    said = plan.guarantee().delta(np.array(case["epsilons"]))
    for place, (lower, upper) in zip(case["epsilons"], ends(said), strict=True):
        typed = mp.mpf(repr(place))
        exact = law.delta(typed) if case["kind"] == "pure" else closed.gaussian_delta(mu, typed)
        yield _held(exact, place, lower, upper, "partitions: delta")


def _held(exact: Any, place: float, lower: float, upper: float, claim: str = "overlapping counts: delta") -> Check:
    low, high = max(exact * (1 - NEAR) - TINY, mp.zero), exact * (1 + NEAR) + TINY
    return inside(claim, lower, low, high, upper, f"at {place!r}")


def responses(losses: list[float]) -> Any:
    law = None
    for loss in losses:
        one = convolution.response(mp.mpf(repr(loss)))
        law = one if law is None else law * one
    return law


# ---- plans of every notion, all small tables listed


Checked = Callable[[np.random.Generator, str, plan_checks.Tally], None]


@attrs.frozen
class Listing:
    """Where the random numbers of a plan begin; they are drawn once more to show it."""

    notion: str
    seed: int
    check: Checked

    @property
    def size(self) -> int:
        """All are small."""
        return 1

    def tally(self) -> plan_checks.Tally:
        """What the listing finds."""
        found = plan_checks.Tally()
        self.check(np.random.default_rng(self.seed), self.notion, found)
        return found

    def to_json(self) -> dict[str, Any]:
        """What the listing found."""
        return {"notion": self.notion, "seed": self.seed, "violations": self.tally().violations}


def listing(notion: str) -> Kind:
    """Random plans of one notion: all tables of a small universe, their neighbours, exact divergences."""
    return _listed(notion, "plans", "no legal mechanism loses more", plan_checks.check_plan)


UNLISTED = ("edge", "node", "node rewire", "node counted", "free_lunch")  # their small tables are a part of the domain


def bracketed(notion: str) -> Kind:
    """Random plans: lower end <= what the worst mechanism loses on the worst neighbours <= upper end."""
    return _listed(notion, "both ends", "the truth lies between both ends", plan_checks.check_ends)


def _listed(notion: str, title: str, claim: str, check: Checked) -> Kind:
    def ask(case: Listing, rng: np.random.Generator) -> Iterator[Check | Skip]:
        tally = case.tally()
        if not tally.cases:  # refused, or no neighbours
            yield Skip(f"no plan to compare: {tally}")
            return
        for index in range(min(tally.cases, len(plan_checks.EPSILONS) + 1)):  # not each pair of tables for itself
            yield Check(f"plans, {notion}: {claim}", index >= len(tally.violations))

    def draw(rng: np.random.Generator) -> Listing:
        return Listing(notion, int(rng.integers(2**62)), check)

    return Kind("tables", f"{title}, {notion}", draw, ask, plain=False)


KINDS = [
    Kind("tables", "overlapping counts", drawn, counted),
    Kind("tables", "partitions", parted, split),
    *map(listing, NOTIONS),
    *map(bracketed, (notion for notion in NOTIONS if notion not in UNLISTED)),
]
