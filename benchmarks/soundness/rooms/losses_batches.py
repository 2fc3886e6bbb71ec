"""How batches are drawn: attacks on small tables, listed in full, and limits in closed form for many releases.

An attack is a set of outputs: what it tells apart, in 70 digits, no upper end may be below. Tables have few records of
norm 1, every subset is listed, and the set is where one law has more density than the other times e^epsilon.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from tests.truth import closed, random_allocation
from tests.truth.numbers import Refused, mp

import quiltwork as qw
from benchmarks.soundness.claims import Check, Kind, Skip, at_most, ends, inside, ordered
from quiltwork.compose.loss import Loss
from quiltwork.losses.families.sampling.shuffled import Shuffled
from quiltwork.losses.families.sampling.truncated_poisson import TruncatedPoisson

RELATIONS = ("removed", "zeroed", "exchanged")
NEAR = mp.mpf(10) ** -40
Law = dict[int, Fraction]  # chances of the sum of a batch


# ---- attacks on small tables


def small_table(rng: np.random.Generator) -> dict[str, Any]:
    """Records of norm 1 and the size of batches."""
    records = int(rng.integers(2, 6))
    return {
        "scheme": str(rng.choice(["truncated", "fixed size", "poisson"])),
        "relation": str(rng.choice(RELATIONS)),
        "others": rng.integers(-1, 2, records - 1).tolist(),
        "record": int(rng.choice([-1, 1])),
        "most": int(rng.integers(1, records + 1)),
        "rate": float(rng.choice([0.1, 0.25, 0.5, 0.9, rng.uniform(0.01, 0.99)])),
        "sigma": float(10.0 ** rng.uniform(-0.5, 0.8)),
        "epsilons": [0.0, *rng.uniform(0.0, 3.0, 5).tolist(), float(rng.uniform(3.0, 12.0))],
    }


def _cut(values: list[int], rate: Fraction, most: int) -> Law:
    """The sum of a Poisson sample of which at most `most` are kept at random."""
    law: Law = defaultdict(Fraction)
    for chosen in itertools.product((False, True), repeat=len(values)):
        kept = [value for value, taken in zip(values, chosen, strict=True) if taken]
        chance = rate ** len(kept) * (1 - rate) ** (len(values) - len(kept))
        subsets = list(itertools.combinations(kept, min(most, len(kept))))
        for subset in subsets:
            law[sum(subset)] += chance / len(subsets)
    return law


def _fixed(values: list[int], size: int) -> Law:
    law: Law = defaultdict(Fraction)
    subsets = list(itertools.combinations(values, size))
    for subset in subsets:
        law[sum(subset)] += Fraction(1, len(subsets))
    return law


def _attack(p: Law, q: Law, sigma: float, epsilon: float) -> Any:
    """What the best union of intervals tells apart: P - e^epsilon Q of noise moved by either law."""
    places = sorted(set(p) | set(q))
    x = np.arange(places[0] - 9 * sigma, places[-1] + 9 * sigma, sigma / 60)
    gain = np.zeros(x.size)
    for place in places:
        weight = float(p.get(place, 0)) - math.exp(epsilon) * float(q.get(place, 0))
        gain += weight * np.exp(-(((x - place) / sigma) ** 2) / 2)
    edges = np.flatnonzero(np.diff(np.concatenate(([False], gain > 0, [False])).astype(int)))
    tau, total = mp.exp(mp.mpf(epsilon)), mp.zero
    for left, right in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        low = mp.mpf(float(x[left])) if left else -mp.inf
        high = mp.mpf(float(x[right])) if right < x.size else mp.inf
        for place in places:
            weight = _mp(p.get(place, Fraction(0))) - tau * _mp(q.get(place, Fraction(0)))
            total += weight * (_below((high - place) / sigma) - _below((low - place) / sigma))
    return total


def _mp(value: Fraction) -> Any:
    return mp.mpf(value.numerator) / value.denominator


def _below(x: Any) -> Any:
    return mp.mpf(x > 0) if mp.isinf(x) else mp.erfc(-x / mp.sqrt(2)) / 2


def attacked(case: dict[str, Any]) -> Iterator[Check]:
    """No upper end is below what an attack on some table attains, in either order."""
    others, record, relation = list(case["others"]), case["record"], case["relation"]
    rate, sigma, records = case["rate"], case["sigma"], len(case["others"]) + 1
    most = min(max(case["most"], 1), records)
    if not 0 < rate < 1 or sigma <= 0:
        return
    noise = qw.gaussian(sigma)
    scheme = case["scheme"]
    if scheme == "fixed size":
        relation = "exchanged"
    without = {"removed": others, "zeroed": [*others, 0], "exchanged": [*others, -record]}[relation]
    if scheme == "fixed size":
        loss = qw.fixed_size(qw.gaussian(sigma, 2.0), most, records)
        p, q = _fixed([*others, record], most), _fixed(without, most)
    else:
        cap = most if scheme == "truncated" else records
        p, q = _cut([*others, record], Fraction(rate), cap), _cut(without, Fraction(rate), cap)
        base = noise.single("")
        loss = Loss.of(
            TruncatedPoisson(base, rate, cap, records, exchanged=relation == "exchanged", zeroed=relation == "zeroed")
        )
        if scheme == "poisson":
            loss = qw.poisson(noise, rate, "replace_one") if relation == "exchanged" else qw.poisson(noise, rate)
    for side, (first, second) in (("remove", (p, q)), ("add", (q, p))):
        found = loss.direction(side).delta(np.array(case["epsilons"]))
        for place, (lower, upper) in zip(case["epsilons"], ends(found), strict=True):
            attack = _attack(first, second, sigma, place)
            note = f"{side}, epsilon {place!r}"
            yield at_most(f"{scheme}, {relation}: an attack", attack * (1 - NEAR), mp.mpf(upper), note)
            yield Check(f"{scheme}, {relation}: ends in order", bool(0 <= lower <= upper <= 1), note=note)


# ---- limits


def limit(rng: np.random.Generator) -> dict[str, Any]:
    """A scheme at a limit where it is Gaussian or a lattice, and how often it is used."""
    return {
        "scheme": str(rng.choice(["exchanged", "mixture", "group", "whole batch", "shuffled", "response", "range"])),
        "sigma": float(10.0 ** rng.uniform(-0.3, 2.5)),
        "count": int(10.0 ** rng.uniform(0, 5)),
        "size": int(rng.integers(1, 5)),
        "epsilons": [0.0, *rng.uniform(0.0, 1.0, 6).tolist()],
        "place": float(rng.uniform(0.5, 5.0)),
    }


def limited(case: dict[str, Any]) -> Iterator[Any]:
    """Answers hold closed forms, or lie on the right side of them."""
    scheme, sigma, count, size = case["scheme"], case["sigma"], max(case["count"], 1), max(case["size"], 1)
    if sigma <= 0:
        return
    if scheme == "shuffled":
        sigma = sigma**0.3  # noise at which an attack on one epoch tells something
    if scheme == "response":
        yield from _responses(case, min(count, 60), size + 1)
        return
    if scheme == "range":
        yield from _ranges(case, min(count, 40))
        return
    moves = {"exchanged": 2, "mixture": size, "group": size, "whole batch": 2, "shuffled": 1}
    loss = {
        "exchanged": lambda: qw.poisson(qw.gaussian(sigma), 1.0, "replace_one"),
        "mixture": lambda: qw.gaussian_mixture([float(size)], [1.0], sigma),
        "group": lambda: qw.poisson(qw.gaussian(sigma), 1.0).group(size),
        "whole batch": lambda: qw.fixed_size(qw.gaussian(sigma, 2.0), size, size),
        "shuffled": lambda: Loss.of(Shuffled(qw.gaussian(sigma).single(""), 100)),
    }[scheme]()
    if scheme == "shuffled" and size % 2:
        yield from _attacked(loss, sigma, case)
        return
    mu = mp.mpf(moves[scheme]) / mp.mpf(sigma) * mp.sqrt(count)
    if mu > 25:
        return
    places = [float(mu) * (float(mu) / 2 + 6) * part for part in case["epsilons"]]
    found = (count * loss).delta(np.array(places)) if count > 1 else loss.delta(np.array(places))
    for place, (lower, upper) in zip(places, ends(found), strict=True):
        value = closed.gaussian_delta(mu, mp.mpf(place), 700)
        note = f"epsilon {place!r}, {count} times"
        if scheme != "shuffled":
            room = mp.mpf(10) ** -13 * value * (1 + mp.mpf(place))  # 1 / sigma as a double, composed
            yield inside(f"{scheme}: delta", lower, value - room, value + room, upper, note)
            continue
        yield at_most("shuffled: at most the full release", mp.mpf(lower), value * (1 + NEAR), note)
    yield ordered(f"{scheme}: delta falls", found, places)


def _attacked(loss: Loss, sigma: float, case: dict[str, Any]) -> Iterator[Check]:
    """One epoch of a hundred shuffled batches: is the largest output beyond a place?"""
    s = 1 / mp.mpf(sigma)
    places = [float(s) * (float(s) / 2 + 4) * part for part in case["epsilons"]]
    for place, (_, upper) in zip(places, ends(loss.delta(np.array(places))), strict=True):
        for c in (mp.mpf(case["place"]), 3 + s, 4 + s):
            p, q = (-mp.expm1(99 * mp.log(_below(c)) + mp.log(_below(c - k * s))) for k in (2, 1))
            found = p - mp.exp(mp.mpf(place)) * q
            yield at_most("shuffled: an attack", found, mp.mpf(upper), f"epsilon {place!r}, beyond {float(c):.3g}")


def _responses(case: dict[str, Any], count: int, values: int) -> Iterator[Check]:
    """Randomized response, by all net counts."""
    size = min(case["sigma"] / 20, 3.0)
    grown = mp.exp(mp.mpf(size))
    total = grown + values - 1
    law = {0: mp.mpf(1)}
    for _ in range(count):
        following: dict[int, Any] = defaultdict(lambda: mp.zero)
        for net, mass in law.items():
            following[net + 1] += mass * grown / total
            following[net - 1] += mass / total
            following[net] += mass * (values - 2) / total
        law = following
    places = [part * size * count for part in case["epsilons"]]
    found = (count * qw.randomized_response(size, values)).delta(np.array(places))
    for place, (lower, upper) in zip(places, ends(found), strict=True):
        value = mp.fsum(
            mass * -mp.expm1(mp.mpf(place) - net * mp.mpf(size))
            for net, mass in law.items()
            if net * mp.mpf(size) > place
        )
        room = value * NEAR + mp.mpf(10) ** -60
        yield inside("response: delta", lower, value - room, value + room, upper, f"epsilon {place!r}, {count} times")


def _ranges(case: dict[str, Any], count: int) -> Iterator[Check]:
    """Exponential mechanisms: two outcomes of the same range, any t, attain a lower end of the truth."""
    size = min(case["sigma"] / 20, 3.0)
    top, t = mp.mpf(size), mp.mpf(size) * min(case["place"] / 5, 1.0)
    likely = (mp.exp(top) - mp.exp(t)) / mp.expm1(top)
    places = [part * size * count for part in case["epsilons"]]
    found = (count * qw.exponential(size)).delta(np.array(places))
    for place, (lower, upper) in zip(places, ends(found), strict=True):
        attained = mp.zero
        for k in range(count + 1):
            loss = k * t + (count - k) * (t - top)
            if loss > place:
                mass = mp.binomial(count, k) * likely**k * (1 - likely) ** (count - k)
                attained += mass * -mp.expm1(mp.mpf(place) - loss)
        note = f"epsilon {place!r}, {count} times"
        yield at_most("range: two outcomes", attained * (1 - NEAR), mp.mpf(upper), note)
        pure = -mp.expm1(mp.mpf(place) - count * top) if place < count * size else mp.zero
        yield at_most("range: no more than pure", mp.mpf(lower), max(pure, mp.zero) + mp.mpf(10) ** -15, note)


# ---- random allocation


def allocation(rng: np.random.Generator) -> dict[str, Any]:
    """Noise, steps, epochs, and where to ask: near the middle, in the tails, and beyond what integrals know."""
    mu, steps = float(10.0 ** rng.uniform(-1.3, 0.6)), int(10.0 ** rng.uniform(0.31, 3.3))
    epochs = int(rng.choice([1, 1, 1, 1, 2, 4, int(10.0 ** rng.uniform(0, 5))]))
    spread = min(mu, 2.0) * math.sqrt(epochs / steps)
    places = [*(spread * rng.normal(0, 2, 3)), *(spread * rng.uniform(0, 8, 3)), *(mu * rng.uniform(0, 9, 3))]
    return {
        "mu": mu,
        "steps": steps,
        "side": str(rng.choice(["remove", "add"])),
        "epsilons": [float(place) for place in places],
        "asked": [float(place) for place in rng.choice(places[:6], 2, replace=False)],
        "delta": float(10.0 ** -rng.uniform(1, 18)),
        "epochs": epochs,
        "orders": rng.choice(np.arange(2, 31), 3, replace=False).tolist(),
    }


def _log_moments(mu: float, steps: int, most: int) -> list[Any]:
    """log E_Q S^n: n! times coefficients of (sum_k e^(mu^2 k (k-1) / 2) (y/t)^k / k!)^t, a power of a series."""
    one = [mp.exp(mp.mpf(mu) ** 2 * k * (k - 1) / 2) / mp.mpf(steps) ** k / mp.factorial(k) for k in range(most + 1)]
    total = [mp.one]
    for n in range(1, most + 1):
        total.append(mp.fsum((k * steps - n + k) * one[k] * total[n - k] for k in range(1, n + 1)) / n)
    return [mp.log(mp.factorial(n) * value) for n, value in enumerate(total)]


def allocated(case: dict[str, Any]) -> Iterator[Any]:
    """Integrals in more digits; the Gaussian of all outputs below, one step and Chernoff's bound above; divergences of
    whole orders by sums; what an epsilon was answered for.
    """
    mu, steps, count = case["mu"], case["steps"], case["epochs"]
    if not 0.05 <= mu <= 5 or steps < 2 or count < 1:
        return
    removed = case["side"] == "remove"
    one = qw.random_allocation(qw.gdp(mu), steps)
    loss = (count * one if count > 1 else one).direction(case["side"])
    places = case["epsilons"]
    found = loss.delta(np.array(places))
    exact, logs = mp.mpf(mu) * mp.sqrt(count), _log_moments(mu, steps, max(case["orders"], default=2))
    for order in case["orders"] if removed else ():
        low, high = next(iter(ends(loss.renyi(float(order)))))
        value = count * logs[order] / (order - 1)
        note = f"order {order}, {count} times"
        yield inside("allocation: renyi", low, value * (1 - NEAR), value * (1 + NEAR), high, note)
    for place, (lower, upper) in zip(places, ends(found), strict=True):
        note = f"epsilon {place!r}"
        least = closed.gaussian_delta(exact / mp.sqrt(steps), mp.mpf(place), 700)
        yield at_most("allocation: all outputs together", least * (1 - NEAR), mp.mpf(upper), note)
        yield at_most("allocation: one step", mp.mpf(lower), closed.gaussian_delta(exact, mp.mpf(place), 700), note)
        if removed:
            most = min(mp.exp(count * logs[n] - (n - 1) * mp.mpf(place)) for n in range(2, len(logs)))
            yield at_most("allocation: Chernoff's bound", mp.mpf(lower), most, note)
    yield ordered("allocation: delta falls", found, places)
    if count > 1:
        return
    for place in case["asked"]:
        lower, upper = next(iter(ends(loss.delta(np.array([place])))))
        try:
            low, high = random_allocation.delta_ends(mu, steps, place, removed)
        except Refused as refusal:
            yield Skip(str(refusal))
            continue
        yield inside("allocation: delta", lower, low, high, upper, f"epsilon {place!r}")
    lower, upper = next(iter(ends(loss.epsilon(case["delta"]))))
    share = mp.mpf(case["delta"])
    for end, sign in ((lower, 1), (upper, -1)):
        if not 0 < end < math.inf:
            continue
        try:
            low, high = random_allocation.delta_ends(mu, steps, end, removed)
        except Refused as refusal:
            yield Skip(str(refusal))
            continue
        holds = bool(high >= share) if sign > 0 else bool(low <= share)
        yield Check("allocation: epsilon", holds, note=f"delta {case['delta']!r}, said [{lower!r}, {upper!r}]")


KINDS = [
    Kind("losses", "batches of small tables", small_table, attacked),
    Kind("losses", "limits of sampling", limit, limited),
    Kind("losses", "random allocation", allocation, allocated),
]
