"""Appendix D.2: the example of smoothing, digit by digit, and what smoothing does to the influence."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from tests.errata import printed_pufferfish as printed

from examples.gallery.item import Check, Effort, Finding, alone
from quiltwork.document.blocks import Grid
from quiltwork.pufferfish import MarkovChain, translate

# Small counts whose shares have the digits of the printed matrix; the last state is "others", without transitions.
COUNTS = ((9, 0, 3, 1, 5, 0), (2, 5, 2, 1, 4, 0), (3, 1, 39, 11, 29, 0), (0, 0, 7, 36, 35, 0), (4, 8, 32, 29, 245, 0))
PRINTED_SMOOTHED = (
    (0.49999, 1e-05, 0.16666, 0.05555, 0.27777, 1e-05),
    (0.14286, 0.35714, 0.14286, 0.07143, 0.28571, 1e-05),
    (0.03614, 0.01205, 0.46987, 0.13253, 0.34939, 1e-05),
    (1e-05, 1e-05, 0.08974, 0.46152, 0.44870, 1e-05),
    (0.01258, 0.02516, 0.10063, 0.09119, 0.77043, 1e-05),
    (0.19999, 0.19999, 0.19999, 0.19999, 0.19999, 1e-05),
)
DIGITS = 5


def example_measured(effort: Effort) -> Mapping[str, Finding]:
    """The smoothed matrix of the example from counts that explain its unsmoothed one."""
    rows = np.vstack([np.array(COUNTS, dtype=float), [1, 1, 1, 1, 1, 0]])
    rows /= rows.sum(axis=1, keepdims=True)
    cut = np.floor(rows[:5, :5] * 1e4) / 1e4  # the unsmoothed matrix is printed with its digits cut off, or rounded
    before = np.all(np.abs(np.array(printed.EXAMPLE_D2) - cut) < 1.01e-4)
    ours = printed.smoothed(rows)
    target = np.array(PRINTED_SMOOTHED)
    same = np.round(ours, DIGITS) == target
    sums = target.sum(axis=1)
    missing = 1 - sums.min()
    cells = [
        tuple(
            f"{ours[i, j]:.{DIGITS + 1}f}" + ("" if same[i, j] else f" (printed {target[i, j]:.{DIGITS}f})")
            for j in range(6)
        )
        for i in range(6)
    ]
    return {
        "pufferfish-appendix-d2-example": Finding(
            f"From whole counts that explain the first matrix, {int(same.sum())} of {same.size} smoothed entries come "
            f"out as printed to {DIGITS} digits; the last row sums to {sums[-1]:.5f} in print.",
            f"The rule gives {ours[-1, 0]:.6f} where the last row has {target[-1, 0]:.5f}: a unit in the last digit, "
            f"five times, so that {missing:.0e} of its mass is missing. Whoever types the matrix in has to divide its "
            "rows by their sums.",
            [
                Check("the unsmoothed matrix is that of the counts, to its digits", before),
                Check("the first five rows are as printed", bool(np.all(same[:5]))),
                Check(
                    "so is the row of the added state",
                    bool(np.all(same[5])),
                    ours=f"{ours[-1, 0]:.6f}",
                    printed="0.19999",
                ),
            ],
            [Grid([(str(j + 1), "number") for j in range(6)], cells, "The smoothed matrix, computed")],
        )
    }


def curve_measured(effort: Effort) -> Mapping[str, Finding]:
    """Curves of the example with and without smoothing, and exact leakage of a chain of two states."""
    rows = np.array(printed.EXAMPLE_D2)
    rows = rows / rows.sum(axis=1, keepdims=True)
    sizes = 8
    smoothed = printed.smoothed(rows)
    plain, smooth = (MarkovChain(one).influence(sizes).values for one in (rows, smoothed))
    small = np.array([[0.2, 0.8], [1.0, 0.0]])
    claimed, truth = (translate(MarkovChain(one), 1.0) for one in (printed.smoothed(small), small))
    finite = int(np.argmax(np.isfinite(plain))) + 1
    return {
        "pufferfish-appendix-d2": Finding(
            f"The example's own chain has an infinite influence up to b = {finite - 1} and {plain[finite - 1]:.4f} at "
            f"b = {finite}; smoothed {smooth[0]:.4f} at b = 1 and {smooth[finite - 1]:.4f} at b = {finite}. A chain "
            f"of two states leaks {truth.lower:.6f} at per-entry epsilon 1, its smoothed one at most "
            f"{claimed.upper:.6f}.",
            "Zeros do no harm where enough steps fill them: the curve is finite from there on and needs no smoothing. "
            "The smoothed chain is another prior, with less influence, so that noise calibrated to it is a "
            "little too small "
            "for the fitted one. The appendix does not say otherwise: it presents a numerical measure.",
            [
                Check(
                    "the smoothed matrix avoids zeros and stays stochastic",
                    bool(np.all(smoothed > 0)) and np.allclose(smoothed.sum(axis=1), 1.0, rtol=1e-12),
                ),
                Check(
                    "it is another prior: its curve lies below that of the fitted chain",
                    bool(np.all(smooth < plain)),
                    ours=f"{smooth[finite - 1]:.4f} below {plain[finite - 1]:.4f}",
                ),
                Check(
                    "a chain of two states leaks more than its smoothed one (certified)",
                    truth.lower > claimed.upper,
                    ours=f"{truth.lower:.6f} above {claimed.upper:.6f}",
                ),
                Check("without smoothing the curve is finite from some size on", math.isfinite(plain[-1])),
            ],
            [
                Grid(
                    ["a(b), nats", *((f"b = {size}", "number") for size in range(1, sizes + 1))],
                    [
                        (name, *("infinite" if math.isinf(value) else f"{value:.4f}" for value in curve))
                        for name, curve in (("as fitted", plain), ("smoothed", smooth))
                    ],
                    "The chain of the example, with and without smoothing",
                )
            ],
        )
    }


STUDIES = (
    alone(
        "pufferfish-appendix-d2-example",
        "Appendix D.2, example",
        "A 5 x 5 transition matrix gets a row and a column for others and is smoothed with 1e-5; the 6 x 6 result is "
        "printed, its last row 0.19999 five times and 1e-5.",
        example_measured,
        errata="Smaller things",
    ),
    alone(
        "pufferfish-appendix-d2",
        "Appendix D.2",
        "Smoothing with 1e-5 ensures numerical stability; it preserves stochasticity and avoids zero-probability "
        "states.",
        curve_measured,
        errata="Appendix D.2: smoothing",
    ),
)
