"""The report of a curve that was saved: a loss, a profile, a trade-off function, a region, or a guarantee."""

from __future__ import annotations

import numpy as np

from quiltwork.curves.curve import Curve
from quiltwork.curves.guarantee import Guarantee
from quiltwork.document.blocks import Facts, Grid, Section
from quiltwork.document.page import Report
from quiltwork.numbers.digits import at_least, at_most, single
from quiltwork.report.accounts import USUAL_DELTA
from quiltwork.report.figures import Lone, profile_picture, tradeoff_picture
from quiltwork.report.parts import SUMMARY, assumed, loss_fact, promised, why

__all__ = ["curve_report"]

DELTAS = (1e-3, 1e-5, 1e-6, 1e-9, 1e-12)
ALARMS = (0.001, 0.01, 0.05, 0.1, 0.5)
DIGITS = 6


def curve_report(curve: Curve, delta: float | None = None, title: str = "A guarantee") -> Report:
    """The usual questions to a curve, at this delta or at the usual one."""
    delta = USUAL_DELTA if delta is None else delta
    told = curve if isinstance(curve, Guarantee) else Guarantee(curve, protects="whatever this curve is about")
    total = told.epsilon(delta)
    lone = Lone(told, delta, total)
    epsilons = np.ravel(told.epsilon(np.array(DELTAS)).upper)
    betas = np.ravel(told.beta(np.array(ALARMS)).lower)
    pairs = [(single(at), at_most(float(found), DIGITS)) for at, found in zip(DELTAS, epsilons, strict=True)]
    misses = [(single(at), at_least(float(found), DIGITS)) for at, found in zip(ALARMS, betas, strict=True)]
    sections = [
        Section(SUMMARY, [Facts([loss_fact(total, delta)])]),
        Section("In plain words", promised(told, delta)),
        *assumed(told.assumes),
        Section("The curves", [tradeoff_picture(lone), profile_picture(lone)]),
        Section(
            "The numbers",
            [
                Grid((("delta", "number"), ("epsilon at most", "number")), pairs, "epsilon for usual deltas."),
                Grid(
                    (("false alarms", "number"), ("misses at least", "number")), misses, "What a test can do at best."
                ),
            ],
        ),
        *why(told.because),
    ]
    return Report(title, f"Protected: {told.protects}.", sections, {"kind": "curve", "guarantee": told.to_json()})
