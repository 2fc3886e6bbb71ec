"""Log-supermodular binary laws: the exact translation in closed form.

A law of binary entries is log-supermodular (MTP2) when p(x or y) p(x and y) >= p(x) p(y) for all data x, y.  With N the
number of ones, the leak about x_i over all mechanisms that are e-DP for each entry is

    log E[e^(eps N) | x_i = 1] / E[e^(eps N) | x_i = 0]      for the secrets (1, 0),
    log E[e^(-eps N) | x_i = 0] / E[e^(-eps N) | x_i = 1]    for the secrets (0, 1).

Proof of the first: h = V / e^(eps N) does not rise with any entry.  The law tilted by e^(eps N) is log-supermodular
too, so that given x_i = 1 it dominates itself given x_i = 0 (Holley), and h has the smaller mean there.  Exchanging the
names of the values of some entries changes no distance between datasets, so a law may be *flipped* first.

Floats: let p miss the condition by the factor e^-tau for any two data that cannot be ordered.  Then
p'(x) = p(x) exp(tau sum_{i<j} x_i x_j) meets it, since the sum gains at least 1 there, and p <= p' <= e^c p with
c = tau n (n-1) / 2.  Every conditional mean under p and p' agrees up to e^(+-c), hence every ratio of two of them up to
e^(+-2c); going to p' and back, the formula holds for p up to 4c.

Reference: theory/pufferfish.md 3.4; R. Holley, Remarks on the FKG inequalities, 1974.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.errors import InvalidParameter
from quiltwork.kinds import document
from quiltwork.numbers.rounding import UNIT, log_sum, up
from quiltwork.pufferfish.priors.joint.cases import clean_law

LATTICE = 1024  # datasets up to which all pairs of data are compared, needed when some have probability zero
FRACTIONS = 4096  # datasets up to which fractions are compared as such
MAX_SLACK = 5e-10  # the most that 4c may add


@document("gauge/1")
@attrs.frozen
class Gauge:
    """Entries whose two values are exchanged so that the law is log-supermodular, up to the factor e^-tau."""

    flips: tuple[bool, ...]
    tau: float = 0.0


def is_supermodular(law: Any) -> bool:
    """Whether a law of binary entries is log-supermodular: exactly for fractions, up to rounding for floats.

    >>> is_supermodular([[0.4, 0.1], [0.1, 0.4]]), is_supermodular([[0.1, 0.4], [0.4, 0.1]])
    (True, False)
    """
    fractions, floats = clean_law(law)
    if any(size > 2 for size in floats.shape):
        raise InvalidParameter("law", floats.shape, "a law of entries with two values")
    return close_enough(floats.ndim, missed(floats, fractions, 0.0 if fractions is None else UNIT))


def flipped_supermodular(law: FloatArray, fractions: np.ndarray | None, relative_error: float) -> Gauge | None:
    """The exchange of values that makes the law log-supermodular; None when there is none, or none was found.

    Entries of a log-supermodular law are never negatively correlated, and groups of them without correlation are
    independent.  So the signs of the correlations tell which entries to flip; the outcome is checked.
    """
    if any(size > 2 for size in law.shape):
        return None
    flips = _signs(law)
    axes = tuple(axis for axis, flip in enumerate(flips) if flip)
    exact = None if fractions is None else np.flip(fractions, axes)
    tau = missed(np.flip(law, axes), exact, relative_error)
    return Gauge(flips, tau) if close_enough(law.ndim, tau) else None


def moment_leaks(
    law: FloatArray, bits: Sequence[tuple[int, int]], gauge: Gauge, relative_error: float = 0.0
) -> Callable[[float], FloatArray]:
    """The formula for cases (entry, index of the first value): a function of the epsilon for each entry, rounded up."""
    flipped = np.flip(law, tuple(axis for axis, flip in enumerate(gauge.flips) if flip))
    count = sum(size > 1 for size in law.shape)
    tables = {axis: tuple(_log_counts(flipped, axis, value) for value in (0, 1)) for axis, _ in bits}
    cases = [(tables[axis], start ^ int(gauge.flips[axis])) for axis, start in bits]
    extreme = max(float(np.abs(table[np.isfinite(table)]).max()) for pair in tables.values() for table in pair)
    fixed = 4.0 * _slack(law.ndim, gauge.tau) + 4.01 * relative_error

    def leaks(per_entry: float) -> FloatArray:
        if not per_entry:
            return np.zeros(len(cases))
        tilt = per_entry * np.arange(count + 1.0)
        found = [_leak(pair[first], pair[1 - first], tilt if first else -tilt) for pair, first in cases]
        # four sums of at most count + 1 terms, each the result of as many additions; exponents up to extreme + tilt
        error = fixed + UNIT * (64.0 * (extreme + float(tilt[-1]) + 1.0) + 16.0 * count)
        return np.asarray(np.clip(up(np.array(found) + error), 0.0, up(count * per_entry)))

    return leaks


def _leak(one: FloatArray, two: FloatArray, tilt: FloatArray) -> float:
    """log E[e^tilt | first] / E[e^tilt | second] from log weights by number of ones."""
    return (log_sum(one + tilt) - log_sum(one)) - (log_sum(two + tilt) - log_sum(two))


def _log_counts(law: FloatArray, entry: int, value: int) -> FloatArray:
    """log of the weight of each number of ones among all entries, where one entry has this value.

    One axis after the other is folded into the last one, so that each sum takes as many additions as there are entries.
    """
    counts: np.ndarray = np.take(law, [value], axis=entry)[..., None]
    while counts.ndim > 1:
        if len(counts) == 1:
            counts = counts[0]
        else:
            folded = np.zeros((*counts.shape[1:-1], counts.shape[-1] + 1))
            folded[..., :-1] = counts[0]
            folded[..., 1:] += counts[1]
            counts = folded
    with np.errstate(divide="ignore"):
        logs: FloatArray = np.log(np.concatenate([np.zeros(value), counts, np.zeros(1 - value)]))
    return logs


def _signs(law: FloatArray) -> tuple[bool, ...]:
    """Flips that make as many strong correlations positive as a forest can."""
    group, flips = list(range(law.ndim)), [False] * law.ndim
    strengths = []
    for one, two in itertools.combinations([axis for axis, size in enumerate(law.shape) if size == 2], 2):
        table = law.sum(axis=tuple(axis for axis in range(law.ndim) if axis not in (one, two)))
        strengths.append((float(table[1, 1] * table[0, 0] - table[1, 0] * table[0, 1]), one, two))
    for strength, one, two in sorted(strengths, key=lambda item: -abs(item[0])):
        if strength and group[one] != group[two]:
            turn, old = (strength < 0) != (flips[one] != flips[two]), group[two]
            for entry in range(law.ndim):
                if group[entry] == old:
                    group[entry], flips[entry] = group[one], flips[entry] != turn
    return tuple(flips)


def missed(law: FloatArray, fractions: np.ndarray | None, relative_error: float) -> float:
    """tau: log of the factor by which the condition may be missed; infinite where no factor helps."""
    use_fractions = fractions is not None and fractions.size <= FRACTIONS
    table: np.ndarray = np.squeeze(fractions if use_fractions and fractions is not None else law)
    if bool(np.all(table > 0)):
        worst = max((_pairwise(table, i, j) for i, j in itertools.combinations(range(table.ndim), 2)), default=1)
    elif table.size <= LATTICE:
        worst = _lattice(table.ravel())
    else:
        return math.inf
    if use_fractions and worst <= 1:
        return 0.0
    # three roundings, and four weights
    return max(math.log(float(worst)), 0.0) + 4.0 * UNIT + 4.0 * relative_error if worst < math.inf else math.inf


def _pairwise(table: np.ndarray, i: int, j: int) -> Any:
    """max of p(10) p(01) / (p(11) p(00)) over the other entries; two entries suffice for a positive law."""
    corner = np.moveaxis(table, (i, j), (0, 1))
    with np.errstate(over="ignore"):
        return np.max((corner[0, 1] / corner[0, 0]) / (corner[1, 1] / corner[1, 0]))


def _lattice(table: np.ndarray) -> Any:
    """max of p(x) p(y) / (p(x or y) p(x and y)) over all x, y with p(x) p(y) > 0."""
    kept = np.flatnonzero(table > 0)
    x, y = kept[:, None], kept[None, :]
    joined, met = table[x | y], table[x & y]
    if bool(np.any(joined == 0)) or bool(np.any(met == 0)):
        return math.inf
    with np.errstate(over="ignore"):
        return np.max((table[x] / joined) / (met / table[y]))


def _slack(entries: int, tau: float) -> float:
    """c = tau n (n-1) / 2, with room for its own rounding."""
    return tau * entries * (entries - 1) / 2.0 * (1.0 + 8.0 * UNIT)


def close_enough(entries: int, tau: float) -> bool:
    return tau < math.inf and 4.0 * _slack(entries, tau) <= MAX_SLACK
