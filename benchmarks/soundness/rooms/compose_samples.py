"""Samples, samples of samples and observed classes of finite laws, both directions.

Truth: the definition, (1 - r) Q + r P against Q and w_i P_i against w_i Q_i, in whole numbers. Questions: delta,
epsilon and beta of compositions.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import quiltwork as qw
from benchmarks.soundness.claims import Check, Kind
from benchmarks.soundness.listed import Listed, composed
from benchmarks.soundness.rooms import dyadic


def sampled(rng: np.random.Generator) -> dict[str, Any]:
    """One or two laws, each on a sample (of a sample), or one of two that is named; repeated."""
    while True:
        parts = []
        for _ in range(int(rng.choice([1, 1, 2]))):
            form = str(rng.choice(["sample", "sample", "sample of a sample", "classes"]))
            laws = [dyadic.law(rng, 3, int(rng.integers(4, 22))) for _ in range(2 if form == "classes" else 1)]
            if form == "classes":
                laws[1]["bits"], laws[1]["weights"] = laws[0]["bits"], dyadic.law(rng, 3, laws[0]["bits"])["weights"]
            fine = int(rng.integers(2, 14))
            rates = [[int(rng.integers(1, 2**fine)), fine], [int(rng.integers(1, 16)), 4]]
            parts.append({"form": form, "laws": laws, "rates": rates, "count": int(rng.integers(1, 5))})
        found = _truth(parts)
        if found is not None:
            break
    side = str(rng.choice(dyadic.SIDES))
    return {"parts": parts, "side": side, **dyadic.questions(rng, dyadic.sides(found, side), 100)}


def _outcomes(part: dict[str, Any]) -> tuple[list[list[int]], int]:
    """Weights of all outcomes and their bits: (1 - r) Q + r P against Q, or w_i P_i against w_i Q_i."""
    laws, (top, fine) = [dyadic.outcomes(law) for law in part["laws"]], part["rates"][0]
    bits = part["laws"][0]["bits"]
    if part["form"] == "classes":
        shares = [top, 2**fine - top]
        return [[w * p, w * q] for w, law in zip(shares, laws, strict=True) for p, q in law], bits + fine
    if part["form"] == "sample of a sample":
        top, fine = top * part["rates"][1][0], fine + part["rates"][1][1]
    return [[(2**fine - top) * q + top * p, 2**fine * q] for p, q in laws[0]], bits + fine


def _truth(parts: list[dict[str, Any]]) -> Listed | None:
    return composed((*_outcomes(part), part["count"]) for part in parts)


def _loss(part: dict[str, Any]) -> Any:
    laws, (top, fine) = [qw.pair(*dyadic.masses(law)) for law in part["laws"]], part["rates"][0]
    if part["form"] == "classes":
        return part["count"] * qw.mixture([(top / 2**fine, laws[0]), (1 - top / 2**fine, laws[1])])
    loss = qw.poisson(laws[0], top / 2**fine)
    if part["form"] == "sample of a sample":
        loss = qw.poisson(loss, part["rates"][1][0] / 2 ** part["rates"][1][1])
    return part["count"] * loss


def held(case: dict[str, Any]) -> Iterator[Check]:
    """Both directions, from their definition."""
    found = _truth(case["parts"]) if case["parts"] else None
    if found is None or not all(0 < top < 2**fine for part in case["parts"] for top, fine in part["rates"]):
        return
    loss = qw.compose(*map(_loss, case["parts"]))
    loss = loss if case["side"] == "worst" else loss.direction(case["side"])
    forms = "+".join(sorted({part["form"] for part in case["parts"]}))
    yield from dyadic.asked(f"finite, {forms}", loss, dyadic.sides(found, case["side"]), case)


KINDS = [Kind("compose", "samples and classes of finite laws", sampled, held)]
