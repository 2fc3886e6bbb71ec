"""Batches, groups and random sensitivities composed, up to 100,000 times, and their Rényi divergences.

Truth: two contours of the exact moment generating function, in 70 digits, which must agree; divergences are that
function itself, by two rules of different refinement. Of batches of fixed size, or cut at one, an answer holds what a
pair of tables attains and the test that is proved; of bounded range, two outcomes of any t and the envelope.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from tests.truth import contour, factors, moved_noise
from tests.truth.numbers import Refused, mp

import quiltwork as qw
from benchmarks.soundness.claims import Check, Kind, Skip, at_most, ends, inside
from quiltwork.compose.loss import Loss

NEAR = mp.mpf(10) ** -18
TINY = mp.mpf(10) ** -130
AGREED = mp.mpf(10) ** -25
SCHEMES = ("exchanged", "group", "random sensitivity", "fixed size", "cut")
BETWEEN = ("fixed size", "cut")  # whose truth is known between two tests
LISTED = ("response", "range")
BESIDE = 15  # questions beside one: each has a truth of its own, and hardly costs what their contour does
SPREAD = 6.0  # of the total loss, beyond which nothing is asked


def drawn(rng: np.random.Generator) -> dict[str, Any]:
    """A scheme, its noise and rate, how often, and where to ask in standard deviations of the total."""
    scheme = str(rng.choice([*SCHEMES, *LISTED]))
    places = rng.uniform(-1.0, SPREAD, 8 if scheme in LISTED else 2)
    if scheme in SCHEMES:  # near questions share a contour
        places = np.concatenate([place + np.append(0.0, rng.normal(0, 0.2, BESIDE)) for place in places])
    return {
        "scheme": scheme,
        "noise": str(rng.choice(["gaussian", "laplace"])),
        "scale": float(10.0 ** rng.uniform(-0.2, 1.0)),
        "rate": float(10.0 ** rng.uniform(-2.5, -0.2)),
        "size": int(rng.choice([1, 2, 3])),
        "side": str(rng.choice(["remove", "add"])),
        "batch": [int(rng.integers(1, 20)), int(rng.integers(20, 400))],
        "count": int(10.0 ** rng.uniform(0.7, 5)),
        "share": float(rng.uniform(0.02, 0.98)),
        "places": places.tolist(),
        "orders": [0.5, 2.0, *(1 + 10.0 ** rng.uniform(-1, 1.3, 2)).tolist(), float(rng.uniform(0.05, 0.95))],
    }


def _law(case: dict[str, Any]) -> tuple[Loss, Any, Any]:
    """One release, and the tests that lie below and above it: what some tables attain, and what is proved."""
    scheme, scale, rate = case["scheme"], case["scale"], case["rate"]
    noise = "gaussian" if scheme == "random sensitivity" else case["noise"]
    base, move = getattr(qw, noise)(scale), 1.0 / scale
    if scheme == "fixed size":
        law = _sampled(noise, move, mp.mpf(case["batch"][0]) / case["batch"][1])
        return qw.fixed_size(base, *case["batch"]), factors.Moved(law), factors.Moved(law, symmetrised=True)
    if scheme == "cut":
        return _cut(case, base, noise, move)
    if scheme == "exchanged":
        exact = factors.Moved(moved_noise.sampled_group(noise, move, rate, 1, True))
        return qw.poisson(base, rate, "replace_one"), exact, exact
    if scheme == "group":
        size = max(case["size"], 2)
        loss, law = qw.poisson(base, rate).group(size), moved_noise.sampled_group(noise, move, rate, size)
    else:
        weights, moves = [1 - rate, 3 * rate / 4, rate / 4], [0.0, 1.0, 1.0 + case["share"]]
        loss = qw.gaussian_mixture(moves, weights, scale)
        law = moved_noise.gaussian_mixture([m / scale for m in moves], weights)
    exact = factors.Moved(law.swapped() if case["side"] == "add" else law)
    return loss.direction(case["side"]), exact, exact


def _sampled(noise: str, move: float, share: Any) -> Any:
    """A Poisson sample at a rate that no double need be."""
    law = moved_noise.sampled_group(noise, move, 0.5, 1)
    law.p = [1 - share, share]
    return law


def _cut(case: dict[str, Any], base: Loss, noise: str, move: float) -> tuple[Loss, Any, Any]:
    """Poisson batches that are cut: all others at zero; and two moves at once where a batch is full, which is told."""
    records, rate = case["batch"][1], mp.mpf(case["rate"])
    most = min(max(math.ceil(records * case["rate"] * (1 + case["share"])), 1), records - 1)

    def beyond(size: int, least: int) -> Any:
        return mp.fsum(mp.binomial(size, k) * rate**k * (1 - rate) ** (size - k) for k in range(least, size + 1))

    full = beyond(records - 1, most)
    inside = most * beyond(records, most + 1) / (records * full)
    mean = rate * (1 - full) + full * inside
    laws = [_sampled(noise, move, mean), _sampled(noise, move, rate), _sampled(noise, 2 * move, inside)]
    low, whole, moved = (factors.Moved(law.swapped() if case["side"] == "add" else law) for law in laws)
    loss = qw.truncated_poisson(base, case["rate"], most, records).direction(case["side"])
    return loss, low, factors.Mixture([(1 - full, whole), (full, moved)])


def composed(case: dict[str, Any]) -> Iterator[Any]:
    """Brackets of delta hold the truth; those of epsilon hold where delta meets the target."""
    if not 0.3 <= case["scale"] <= 30 or not 1e-4 < case["rate"] < 1 or case["count"] < 1:
        return
    try:
        yield from _listed(case) if case["scheme"] in LISTED else _smooth(case)
    except Refused as refusal:
        yield Skip(str(refusal))


def _smooth(case: dict[str, Any]) -> Iterator[Any]:
    if case["scheme"] in BETWEEN and case["batch"][0] >= case["batch"][1]:
        return
    (one, below, above), count, scheme = _law(case), case["count"], case["scheme"]
    words, loss = f"{scheme}, {case['noise']}, composed", case["count"] * one
    high = contour.Composition([(above, count)])
    places = _places(high, case)
    found = ends(loss.delta(np.array(places)))
    if scheme in BETWEEN:
        low = contour.Composition([(below, count)])
        for place, (lower, upper) in zip(places, found, strict=True):
            note = f"epsilon {place!r}, {count} times"
            proved, attained = high.delta(place), low.delta(place)
            yield at_most(f"{words}: what is proved", proved * (1 - NEAR), mp.mpf(upper), note)
            yield at_most(f"{words}: one pair of tables", attained * (1 - NEAR), mp.mpf(upper), note)
            most = proved if scheme == "fixed size" else attained
            yield at_most(f"{words}: lower end", mp.mpf(lower), most * (1 + NEAR) + TINY, note)
        return
    for place, (lower, upper) in zip(places, found, strict=True):
        yield _held(f"{words}: delta", high.delta(place), lower, upper, f"epsilon {place!r}, {count} times")
    place = places[0]
    if place > 0:
        share = float(high.delta(place))
        if 1e-100 < share < 1:
            lower, upper = next(iter(ends(loss.epsilon(share))))
            room = 1e-12 * (1 + place)  # the target is a double
            note = f"delta {share!r}, {count} times, said [{lower!r}, {upper!r}] and not {place!r}"
            yield Check(f"{words}: epsilon", lower <= place + room and upper >= place - room, note=note)


def _held(claim: str, value: Any, lower: float, upper: float, note: str) -> Check:
    low, high = (value * (1 - NEAR), value * (1 + NEAR)) if value > TINY else (mp.zero, 2 * TINY)
    return inside(claim, lower, low, high, upper, note)


def _places(total: Any, case: dict[str, Any]) -> list[float]:
    """Epsilons some standard deviations from the mean loss."""
    return [float(total.mean + place * total.deviation) for place in case["places"]]


def _listed(case: dict[str, Any]) -> Iterator[Any]:
    """Randomized response, and two outcomes of a bounded range, on lattices."""
    count, size = case["count"], min(1.0 / case["scale"], 1.5)
    top, response = mp.mpf(size), case["scheme"] == "response"
    if response:
        values = case["size"] + 1
        whole = mp.expm1(top) + values
        law = [(top, mp.exp(top) / whole), (-top, 1 / whole), (mp.zero, (values - 2) / whole)]
        law, origin = [(loss, mass) for loss, mass in law if mass], -count * top
        step = top if values > 2 else 2 * top
        loss = count * qw.randomized_response(size, values)
    else:
        t = top * mp.mpf(case["share"])
        likely = (mp.exp(top) - mp.exp(t)) / mp.expm1(top)
        law, origin, step = [(t, likely), (t - top, 1 - likely)], count * (t - top), top
        loss = count * qw.exponential(size)
    total = contour.Composition([(factors.Atoms(*zip(*law, strict=True)), count)], lattice=(origin, step))
    places = [place for place in _places(total, case) if abs(place) < count * size]
    for place, (lower, upper) in zip(places, ends(loss.delta(np.array(places))), strict=True):
        value, note = total.delta(place), f"epsilon {place!r}, {count} times"
        if response:
            yield _held("response, composed: delta", value, lower, upper, note)
        else:
            yield at_most("range, composed: two outcomes", value * (1 - NEAR), mp.mpf(upper), note)


def diverged(case: dict[str, Any]) -> Iterator[Any]:
    """Rényi divergences against the moment generating function by two rules."""
    if not 0.3 <= case["scale"] <= 30 or not 1e-4 < case["rate"] < 1 or case["count"] < 1:
        return
    if case["scheme"] in LISTED or case["batch"][0] >= case["batch"][1]:
        return
    (one, _, above), count, scheme = _law(case), case["count"], case["scheme"]
    loss = count * one
    for order in case["orders"]:
        if not 0 < order < 60 or order == 1:
            continue
        lower, upper = next(iter(ends(loss.renyi(order))))
        note = f"order {order!r}, {count} times"
        try:
            value = _divergence(above, order) * count
        except Refused as refusal:
            yield Skip(str(refusal))
            continue
        words = f"{scheme}, {case['noise']}: renyi"
        if scheme in BETWEEN:
            yield at_most(words, value * (1 - NEAR), mp.mpf(upper), note)
            yield at_most(f"{words}, lower end", mp.mpf(lower), value * (1 + NEAR), note)
        else:
            yield inside(words, lower, value * (1 - NEAR), value * (1 + NEAR), upper, note)


def _divergence(factor: Any, order: float) -> Any:
    theta = mp.mpf(order) - 1
    parts = factor.weighted if isinstance(factor, factors.Mixture) else [(mp.one, factor)]
    one, two = (
        mp.log(mp.fsum(w * mp.exp(part.nodes(theta, 0.0, refine).log_mgf(theta)) for w, part in parts)) / theta
        for refine in (1.0, 1.3)
    )
    if abs(one - two) > AGREED * abs(two):
        raise Refused(f"divergence of order {float(order):g}")
    return two


KINDS = [
    Kind("losses", "batches, composed", drawn, composed),
    Kind("losses", "divergences of batches", drawn, diverged),
]
