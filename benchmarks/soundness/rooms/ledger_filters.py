"""Filters and their readings against the best adaptive adversary.

Truth: the largest P(A) - e^epsilon Q(A) over every rule that picks the next release, or stops, after each answer, among
all that the filter still admits; by dynamic programming over all answers in whole numbers, e^epsilon enclosed in 75
digits. Question: whether it is within delta, at the budget's epsilon, and for odometers at each path's own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import attrs
import numpy as np

import quiltwork as qw
from benchmarks.soundness.claims import Check, Kind, at_most
from benchmarks.soundness.listed import exp_ends
from quiltwork.compose.filters.opening import Filter, filter_for, units_filter
from quiltwork.errors import QuiltworkError, Unsupported

FILTERS = ("several_orders", "several_orders", "several_orders", "renyi", "zcdp", "gdp", "pure", "units")
SHIFT = 300  # binary digits of e^epsilon as a whole number
Law = list[tuple[int, int]]  # (weight under P, weight under Q) of each answer
Used = tuple[int, ...]  # how often each release of the menu has run


def law(rng: np.random.Generator, bits: int, reveals: bool) -> Law:
    """Random answers, a randomised response, or a rare large loss; some reveal outright."""
    unit, style = 1 << bits, rng.random()
    if style < 0.4:
        answers = int(rng.integers(2, 4))
        p, q = (0.85 * rng.dirichlet(np.ones(answers)) + 0.15 / answers for _ in range(2))
    elif style < 0.75:
        right = 1 / (1 + math.exp(-rng.uniform(0.1, 1.2)))
        p, q = np.array([right, 1 - right]), np.array([1 - right, right])
    else:
        rare = 10 ** rng.uniform(-2.5, -1)
        p = np.array([rare, 1 - rare])
        q = np.array([rare * math.exp(-rng.uniform(0.7, 3.0)), 0.0])
        q[1] = 1 - q[0]
    weights = [np.maximum(np.round(one * unit), 1).astype(int) for one in (p, q)]
    for one in weights:
        one[int(np.argmax(one))] += unit - int(one.sum())
    found = [(int(a), int(b)) for a, b in zip(*weights, strict=True)]
    if reveals and rng.random() < 0.6:
        largest = max(range(len(found)), key=lambda i: found[i][0])
        mass = max(1, int(unit * 10 ** rng.uniform(-4, -2)))
        found[largest] = (found[largest][0] - mass, found[largest][1])
        found.append((mass, 0))
    return found


def filtered(rng: np.random.Generator) -> dict[str, Any]:
    """A menu of releases, a budget that a few of them fill, and a filter."""
    kind = str(rng.choice(FILTERS))
    bits = int(rng.integers(8, 15))
    reveals = kind in ("several_orders", "renyi") and rng.random() < 0.4
    menu = [law(rng, bits, bool(reveals)) for _ in range(1 if kind == "units" else int(rng.integers(2, 4)))]
    largest = max(abs(math.log(p / q)) for one in menu for p, q in one if p and q)
    return {
        "kind": kind,
        "bits": bits,
        "menu": menu,
        "epsilon": round(float(largest * rng.uniform(0.3, 2.5)), 3) or 0.1,
        "delta": float(f"{10 ** -rng.uniform(0.7, 3.5):.3g}"),
        "share": round(float(rng.uniform(0.05, 0.6)), 2) if reveals and rng.random() < 0.7 else 0.0,
        "first": int(rng.integers(len(menu))),
        "rounds": int(rng.integers(2, 6 - (len(menu) == 3))),
    }


@attrs.define
class Adversary:
    """What the best rule reaches, in units of 2^-(bits rounds)."""

    menu: list[Law]
    bits: int
    rounds: int
    admitted: Callable[[Used], bool]
    limit: Callable[[Used], int]  # e^epsilon times 2^SHIFT, rounded down, with this much spent
    known: dict[tuple[int, ...], int] = attrs.field(factory=dict)

    def reaches(self) -> Fraction:
        """The largest P(A) - e^epsilon Q(A), rounded up in the last of 75 digits."""
        self.places = [0]
        for one in self.menu:
            self.places.append(self.places[-1] + len(one))
        start = (0,) * self.places[-1]
        return Fraction(self._best(start, (0,) * len(self.menu), 1, 1), 1 << (self.bits * self.rounds + SHIFT))

    places: list[int] = attrs.field(factory=list)

    def _best(self, answers: tuple[int, ...], used: Used, p: int, q: int) -> int:
        """Of the paths with so many of each answer: p and q are the weights of each of them."""
        if answers in self.known:
            return self.known[answers]
        done = sum(used)
        rest = self.bits * (self.rounds - done)
        found = max(0, (p << SHIFT) - self.limit(used) * q) << rest
        if done < self.rounds:
            for k, one in enumerate(self.menu):
                more = (*used[:k], used[k] + 1, *used[k + 1 :])
                if not self.admitted(more):
                    continue
                total = 0
                for j, (a, b) in enumerate(one):
                    if not a:
                        continue
                    if not b:  # the world is known: nothing more can be gained on this path
                        total += (p * a << SHIFT) << (rest - self.bits)
                        continue
                    spot = self.places[k] + j
                    following = (*answers[:spot], answers[spot] + 1, *answers[spot + 1 :])
                    total += self._best(following, more, p * a, q * b)
                found = max(found, total)
        self.known[answers] = found
        return found


def grown(epsilon: float) -> int:
    """e^epsilon times 2^SHIFT, rounded down."""
    low, _, exponent = exp_ends(epsilon)
    return low << (exponent + SHIFT) if exponent + SHIFT >= 0 else low >> -(exponent + SHIFT)


def opened(case: dict[str, Any], losses: list[Any]) -> Filter:
    """The filter of a case; what it leaves open is chosen for its first release."""
    kind, epsilon, delta = case["kind"], case["epsilon"], case["delta"]
    if kind == "units":
        return units_filter(losses[0], None, epsilon, delta)
    options = {"reveal": case["share"] * delta} if kind in ("several_orders", "renyi") else {}
    return filter_for(kind, epsilon, delta, **options).chosen_for(losses[case["first"]])


def resisted(case: dict[str, Any]) -> Iterator[Check]:
    """No rule passes delta, in either direction."""
    unit, menu = 1 << case["bits"], [[(int(p), int(q)) for p, q in one] for one in case["menu"]]
    if case["epsilon"] <= 0 or not 0 < case["delta"] < 1 or not 0 < case["rounds"] <= 6 or not menu:
        return
    if any(sum(one[side] for one in law) != unit for law in menu for side in (0, 1)) or case["first"] >= len(menu):
        return
    losses = [qw.pair([p / unit for p, _ in one], [q / unit for _, q in one]) for one in menu]
    try:
        kept = opened(case, losses)
    except QuiltworkError:
        return  # no such budget
    usable, costs = [], []
    for one, loss in zip(menu, losses, strict=True):
        try:
            costs.append(kept.cost(loss))
        except Unsupported:
            continue
        usable.append(one)
    if not usable:
        return
    sums: dict[Used, tuple[Fraction, ...]] = {}
    admitted: dict[Used, bool] = {}

    def total(used: Used) -> tuple[Fraction, ...]:
        if used not in sums:
            each = [tuple(count * one for one in cost) for count, cost in zip(used, costs, strict=True)]
            sums[used] = tuple(map(sum, zip(*each, strict=True)))
        return sums[used]

    def fits(used: Used) -> bool:
        if used not in admitted:
            admitted[used] = kept.admits(total(used))
        return admitted[used]

    readings: dict[Used, int] = {}

    def own(used: Used) -> int:
        if used not in readings:
            readings[used] = grown(kept.epsilon(total(used), case["delta"]))
        return readings[used]

    whole, delta = grown(case["epsilon"]), Fraction(repr(case["delta"]))
    for way, laws in (("", usable), (", other way", [[(q, p) for p, q in one] for one in usable])):
        claims = [("filter", lambda used: whole)] + ([("odometer", own)] if kept.always_reads else [])
        for claim, limit in claims:
            truth = Adversary(laws, case["bits"], case["rounds"], fits, limit).reaches()
            yield at_most(f"{claim}, {case['kind']}{way}", truth, delta, f"{float(truth)!r} of {case['delta']!r}")
    if kept.always_reads:
        most = Fraction(repr(case["epsilon"]))
        shown = [Fraction(repr(kept.epsilon(total(used), case["delta"]))) for used, fine in admitted.items() if fine]
        if shown:
            yield at_most("a reading is never above the budget", max(shown), most)


KINDS = [Kind("ledger", "filters", filtered, resisted)]
