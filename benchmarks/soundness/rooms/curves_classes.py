"""Observed classes of curves, and areas under the best test.

Truth: whole numbers; the area of the likelihood ratio test by its corners. Questions: delta of `mixture`,
`auc_ceiling_of`.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

import quiltwork as qw
from benchmarks.soundness.claims import Check, Kind, at_most, ends
from benchmarks.soundness.listed import Listed, delta_check
from benchmarks.soundness.rooms import curves, dyadic
from quiltwork.curves import auc_ceiling_of, mixture


def classes(rng: np.random.Generator) -> dict[str, Any]:
    """Two laws of the same bits, in shares; as profiles."""
    bits = int(rng.integers(4, 24))
    laws = [dyadic.law(rng, 5, bits) for _ in range(2)]
    fine = int(rng.integers(1, 10))
    top = int(rng.integers(1, 2**fine)) if fine > 0 else 1
    truth = Listed.of(_both(laws, top, fine), bits + fine)
    return {"laws": laws, "share": [top, fine], **dyadic.questions(rng, [truth], 24)}


def _both(laws: list[Any], top: int, fine: int) -> list[list[int]]:
    return [[w * p, w * q] for w, law in zip((top, 2**fine - top), laws, strict=True) for p, q in dyadic.outcomes(law)]


def averaged(case: dict[str, Any]) -> Iterator[Check]:
    """The observed class adds deltas by weight; no test has more area than the ceiling."""
    top, fine = case["share"]
    if not 0 < top < 2**fine or len(case["laws"]) != 2 or case["laws"][0]["bits"] != case["laws"][1]["bits"]:
        return
    truth = Listed.of(_both(case["laws"], top, fine), case["laws"][0]["bits"] + fine)
    profiles = [curves.forms(curves.truth_of(law))["profile"] for law in case["laws"]]
    found = mixture([(top / 2**fine, profiles[0]), (1 - top / 2**fine, profiles[1])])
    for place, (_, upper) in zip(case["epsilons"], ends(found.delta(np.array(case["epsilons"]))), strict=True):
        yield delta_check("classes: delta", [truth], place, 0.0, upper, f"epsilon {place!r}")
    unit = Fraction(1, 1 << truth.bits)
    area = (
        sum(
            (
                Fraction(p * (2 * (sum(b for _, b in truth.outcomes[i + 1 :])) + q), 2)
                for i, (p, q) in enumerate(truth.outcomes)
            ),
            Fraction(0),
        )
        * unit
        * unit
    )
    yield at_most("classes: area", area, auc_ceiling_of(found), "AUC of the likelihood ratio")
    loss = qw.pair(*dyadic.masses(case["laws"][0]))
    one = curves.truth_of(case["laws"][0])
    unit = Fraction(1, 1 << one.bits)
    area = (
        sum(
            (
                Fraction(p * (2 * sum(b for _, b in one.outcomes[i + 1 :]) + q), 2)
                for i, (p, q) in enumerate(one.outcomes)
            ),
            Fraction(0),
        )
        * unit
        * unit
    )
    yield at_most("loss: area", area, auc_ceiling_of(loss), "AUC of the likelihood ratio")


KINDS = [Kind("curves", "classes and areas", classes, averaged)]
