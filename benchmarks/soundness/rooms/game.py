"""The game and audits: the kinds of these rooms, and the coverage of audits by exact binomial sums."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from tests.soundness.game_kinds import KINDS as OLDER

from benchmarks.soundness.claims import Check, Kind
from benchmarks.soundness.listed import exp_ends
from quiltwork.audit import from_counts
from quiltwork.audit.bounds.counts import Counts

AUDITS = ("limits, few trials", "limits, many trials", "counts", "mu to epsilon", "guesses")


def drawn(rng: np.random.Generator) -> dict[str, Any]:
    """True rates of an attacker, in fractions, numbers of trials, a confidence; worlds with the same trials."""
    below = int(rng.choice([10, 100, 1000]))
    worlds = []
    for _ in range(12):
        true, false = sorted((int(n) for n in rng.integers(0, below + 1, 2)), reverse=True)
        worlds.append([true, false, float(rng.choice([0.0, 0.0, 1e-5, rng.uniform(0, 0.2)]))])
    trials = [int(n) for n in rng.integers(1, 31, 2)]
    return {
        "below": below,
        "worlds": worlds,
        "trials": trials,
        "confidence": float(rng.choice([0.5, 0.8, 0.9, 0.95, 0.99])),
    }


def _masses(count: int, hits: int, below: int) -> list[int]:
    """Chances of k successes, times below^count."""
    return [math.comb(count, k) * hits**k * (below - hits) ** (count - k) for k in range(count + 1)]


def covered(case: dict[str, Any]) -> Iterator[Check]:
    """The chance, summed over all counts, that the lower bound passes the truth is at most 1 - confidence.

    The mechanism is the attacker's own coin: epsilon = log max((TPR - delta) / FPR, (TNR - delta) / FNR).
    """
    (one, two), confidence = case["trials"], case["confidence"]
    if min(one, two) < 1 or not 0 < confidence < 1:
        return
    limits = {(x, y): Counts(x, one, y, two).limits(confidence) for x in range(one + 1) for y in range(two + 1)}
    level = 1 - Fraction(repr(confidence))
    for index, (true, false, delta) in enumerate(case["worlds"]):
        tpr, fpr = Fraction(true, case["below"]), Fraction(false, case["below"])
        if not (0 <= fpr <= 1 and 0 <= tpr <= 1 and 0 <= delta < 1):
            continue
        odds = _odds(tpr, fpr, Fraction(delta))
        first, second = _masses(one, true, case["below"]), _masses(two, false, case["below"])
        passed = []
        for (x, y), found in limits.items():
            # the public function in the first world, what it is made of in the others
            said = found.epsilon(delta) if index else from_counts(x, one, y, two, delta=delta, confidence=confidence)
            passed += [(x, y)] if _passes(said, odds) else []
        missed = Fraction(sum(first[x] * second[y] for x, y in passed), case["below"] ** (one + two))
        margin = abs(float((level - missed) / level)) if missed else math.nan
        note = f"rates {tpr}, {fpr}, delta {delta!r}: missed {float(missed):.4g} of {float(level):.4g}"
        yield Check("coverage of the lower bound", missed <= level, margin, note)


def _odds(tpr: Fraction, fpr: Fraction, delta: Fraction) -> Fraction | None:
    """The least e^epsilon of these rates; None when there is none."""
    found = [Fraction(1)]
    for hit, error in ((tpr, fpr), (1 - fpr, 1 - tpr)):
        if hit > delta and error == 0:
            return None
        if error:
            found.append((hit - delta) / error)
    return max(found)


def _passes(epsilon: float, odds: Fraction | None) -> bool:
    """Whether e^epsilon > odds, by floats where they are far apart."""
    if odds is None:
        return False
    near = math.log(odds)
    if abs(epsilon - near) > 1e-9 * (1 + near):
        return epsilon > near
    low, _, exponent = exp_ends(epsilon)
    return Fraction(low) * Fraction(2) ** exponent > odds


KINDS = [
    *(Kind("audit" if name in AUDITS else "game", name, draw, ask, plain=False) for name, (draw, ask) in OLDER.items()),
    Kind("audit", "coverage", drawn, covered),
]
