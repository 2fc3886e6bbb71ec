"""Noise: scales, sums, selections and discrete noises against fractions, many digits and all outputs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from tests.truth import convolution
from tests.truth.numbers import mp

from benchmarks.soundness.claims import Check, Kind, at_most, covers, ends, inside, relative
from quiltwork import mechanisms
from quiltwork.adapters.opendp import from_opendp
from quiltwork.mechanisms.totals import integer_sigma
from quiltwork.numbers.stated import Stated, above

NEAR = mp.mpf(10) ** -45


# ---- scales of pure mechanisms


def calibrated(rng: np.random.Generator) -> dict[str, Any]:
    """Epsilons to be met, of a count, a histogram and a selection."""
    epsilons = (10.0 ** rng.uniform(-4, 2, 8)).tolist() + [round(float(e), 2) for e in rng.uniform(0.01, 5, 8)]
    reach = int(rng.choice([1, 2, 5, 100])) if rng.random() < 0.7 else float(10.0 ** rng.uniform(-3, 3))
    return {"epsilons": epsilons, "sensitivity": reach, "k": int(rng.integers(1, 6))}


def met(case: dict[str, Any]) -> Iterator[Check]:
    """What is drawn with the scale is within the epsilon, both numbers read as doubles or as typed; and hardly more."""
    reach, k = case["sensitivity"], case["k"]
    most = Fraction(reach) if isinstance(reach, int) else max(Fraction(reach), Fraction(repr(reach)))
    if most <= 0 or k < 1:
        return
    for epsilon in case["epsilons"]:
        asked = min(Fraction(epsilon), Fraction(repr(epsilon)))
        for name, scale, numerator in (
            ("count", mechanisms.laplace_scale(epsilon, reach), most),
            ("histogram", mechanisms.histogram_scale(epsilon), Fraction(2)),
            ("selection", mechanisms.top_k_scale(epsilon, k), Fraction(k + 1)),
        ):
            spent = numerator / Fraction(Stated(scale).above)
            near, note = spent >= asked * (1 - Fraction(1, 10**9)), f"epsilon {epsilon!r}, scale {scale!r}"
            yield Check(f"scale of a {name}", spent <= asked, relative(asked - spent, asked), note)
            yield Check(f"scale of a {name}, no more noise than needed", near, note=note)


# ---- discrete noises


def discrete(rng: np.random.Generator) -> dict[str, Any]:
    """Noise on an integer, one or two releases."""
    kind = str(rng.choice(["laplace", "gaussian"]))
    size = float(10.0 ** rng.uniform(-0.7, 1.2)) if rng.random() < 0.8 else float(10.0 ** rng.uniform(-1.5, -0.5))
    reach = int(rng.choice([1, 1, 2, 3]))
    epsilons = [0.0, *(rng.uniform(0, 8, 12) * reach / size).tolist(), *(-rng.uniform(0, 2, 3)).tolist()]
    return {"kind": kind, "size": size, "sensitivity": reach, "count": int(rng.integers(1, 3)), "epsilons": epsilons}


def told(case: dict[str, Any]) -> Iterator[Check]:
    """Exact probabilities of the noise that is drawn: delta of the loss that is claimed is no less, and hardly more."""
    size, reach, count = case["size"], case["sensitivity"], case["count"]
    if count < 1 or reach < 1 or size <= 0 or not case["epsilons"]:
        return
    if case["kind"] == "laplace":
        loss, law = mechanisms.laplace_loss(size, reach), convolution.discrete_laplace(Stated(size).above, reach)
    else:
        loss = mechanisms.gaussian_loss(size, reach)
        law = convolution.discrete_gaussian(integer_sigma(size, reach), reach)
    truth = convolution.lattice(*law, count)
    for place, (lower, upper) in zip(
        case["epsilons"], ends((count * loss).delta(np.array(case["epsilons"]))), strict=True
    ):
        exact = truth.delta(place)
        low, high = exact * (1 - NEAR), exact * (1 + NEAR)
        if case["kind"] == "laplace":  # a little more noise is drawn than is claimed
            yield covers("discrete laplace", low, upper, f"epsilon {place!r}")
        else:
            yield inside("discrete gaussian", lower, low, high, upper, f"epsilon {place!r}")


# ---- sums and selections


def summed(rng: np.random.Generator) -> dict[str, Any]:
    """Entries, and another value for some of them."""
    count = int(rng.integers(1, 8))
    wide = float(10.0 ** rng.uniform(-3, 12))
    if rng.random() < 0.4:
        values, others = (rng.integers(-20, 21, count).tolist() for _ in range(2))
        return {"values": values, "others": others, "low": int(rng.integers(-10, 1)), "high": int(rng.integers(1, 11))}
    values, others = (rng.normal(0, wide, count).tolist() for _ in range(2))
    return {"values": values, "others": others, "low": float(-wide * rng.random()), "high": float(wide * rng.random())}


def moved(case: dict[str, Any]) -> Iterator[Check]:
    """No changed entry moves the sum, as it is computed, by more than its sensitivity."""
    values, others, low, high = case["values"], case["others"], case["low"], case["high"]
    if not values or not low < high or len({type(x) for x in (*values, *others, low, high)}) > 1:
        return
    before = mechanisms.bounded_sum(values, low, high)
    found = []
    for index, other in enumerate(others[: len(values)]):
        for value in (other, low, high):
            after = mechanisms.bounded_sum([*values[:index], value, *values[index + 1 :]], low, high)
            found.append((abs(Fraction(after.value) - Fraction(before.value)), f"entry {index} to {value!r}"))
    if found:
        most, where = max(found)
        yield at_most("sensitivity of a sum", most, Fraction(before.sensitivity), where)


def selected(rng: np.random.Generator) -> dict[str, Any]:
    """Counts and a changed entry; a scale; a number of rounds."""
    categories = int(rng.integers(2, 6))
    counts = rng.integers(0, int(rng.choice([3, 10, 60])), categories) + 1
    gives, takes = (int(n) for n in rng.permutation(categories)[:2])
    return {
        "counts": counts.tolist(), "gives": gives, "takes": takes, "k": int(rng.integers(1, categories + 1)),
        "scale": float(10.0 ** rng.uniform(-0.7, 1.5)),
    }  # fmt: skip


def peeled(case: dict[str, Any]) -> Iterator[Check]:
    """All ordered outcomes: the largest log ratio of their probabilities is within the claimed epsilon."""
    counts, k, scale = case["counts"], case["k"], case["scale"]
    gives, takes = case["gives"], case["takes"]
    if (
        not 1 <= k <= len(counts)
        or gives == takes
        or max(gives, takes) >= len(counts)
        or counts[gives] < 1
        or scale <= 0
    ):
        return
    other = list(counts)
    other[gives], other[takes] = other[gives] - 1, other[takes] + 1
    bound = float(mechanisms.top_k_loss(k, scale).epsilon(0.0).upper)
    size = mp.mpf(Stated(scale).above)
    likely = [[mp.exp(mp.mpf(c) / size) for c in each] for each in (counts, other)]
    ratio, outcome = max(
        (abs(mp.log(_chance(likely[0], one)) - mp.log(_chance(likely[1], one))), one)
        for one in itertools.permutations(range(len(counts)), k)
    )
    yield covers("selection: the worst outcome", ratio * (1 - NEAR), bound, f"{outcome}")


def _chance(likely: list[Any], outcome: tuple[int, ...]) -> Any:
    left, found = sum(likely), mp.one
    for category in outcome:
        found *= likely[category] / left
        left = mp.fsum(w for i, w in enumerate(likely) if i not in outcome[: outcome.index(category) + 1])
    return found


# ---- what OpenDP says


def measured(rng: np.random.Generator) -> dict[str, Any]:
    """Scales and distances."""
    return {"scales": (10.0 ** rng.uniform(-2, 3, 3)).tolist(), "distances": [int(n) for n in rng.integers(1, 50, 2)]}


def translated(case: dict[str, Any]) -> Iterator[Check]:
    """epsilon of discrete Laplace noise is d / scale, rho of discrete Gaussian noise d^2 / (2 scale^2)."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.atom_domain(T=int), dp.absolute_distance(T=int)
    for scale, distance in itertools.product(case["scales"], case["distances"]):
        if distance < 1 or scale <= 0:
            continue
        note = f"scale {scale!r}, distance {distance}"
        exact = Fraction(distance) / Fraction(scale)
        found = float(from_opendp(dp.m.make_laplace(*space, scale=scale), distance).epsilon(0.0).upper)
        yield at_most("OpenDP: epsilon", exact, found, note)
        yield at_most("OpenDP: epsilon, hardly more", Fraction(found), exact * (1 + Fraction(1, 10**9)), note)
        loss = from_opendp(dp.m.make_gaussian(*space, scale=scale), distance)
        rho = Fraction(float(loss.single("rho").rho))
        yield at_most("OpenDP: rho", exact**2 / 2, rho, note)
        yield at_most("OpenDP: rho, hardly more", rho, exact**2 / 2 * (1 + Fraction(1, 10**9)), note)


def lifted(rng: np.random.Generator) -> dict[str, Any]:
    """Any fractions."""
    return {"fractions": [[int(a), int(b)] for a, b in rng.integers(1, 10**9, (20, 2))]}


def rounded(case: dict[str, Any]) -> Iterator[Check]:
    """Numbers that are raised are no smaller, read either way, and hardly larger."""
    for top, bottom in case["fractions"]:
        if bottom < 1 or top < 1:
            continue
        exact = Fraction(top, bottom)
        found = above(exact)
        yield at_most("raised number, as a double", exact, Fraction(found), f"{exact}")
        yield at_most("raised number, as typed", exact, Fraction(repr(found)), f"{exact}")
        near = math.nextafter(math.nextafter(math.nextafter(float(exact), math.inf), math.inf), math.inf)
        yield Check("raised number, hardly larger", found <= near, note=f"{exact}")
        size = float(exact)
        yield Check(
            "scale that is drawn",
            Stated(size).above >= size and Fraction(Stated(size).above) >= Fraction(repr(size)),
            note=repr(size),
        )


KINDS = [
    Kind("mechanisms", "scales", calibrated, met),
    Kind("mechanisms", "discrete noise", discrete, told),
    Kind("mechanisms", "sums", summed, moved),
    Kind("mechanisms", "selection", selected, peeled),
    Kind("mechanisms", "OpenDP", measured, translated),
    Kind("mechanisms", "rounding", lifted, rounded),
]
