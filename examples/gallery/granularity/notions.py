"""Section VI: approximate, zero-concentrated and Gaussian privacy, and the numbers that are printed for them."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
from quiltwork.report.figures import plain_powers
from tests.errata import printed_granularity as printed

from examples.gallery.granularity.classes import near, shown
from examples.gallery.granularity.mechanisms import Tally, hockey_sticks
from examples.gallery.item import Check, Effort, Finding, Study, alone
from quiltwork.checks import FloatArray
from quiltwork.document.blocks import Grid
from quiltwork.document.draw.style import COLOURS
from quiltwork.document.draw.svg import picture
from quiltwork.tables.notions.spaces import Space, add_remove, multisets, quotient
from quiltwork.tables.papers.small_channels import hockey_stick, joint

PRINTED_EPSILON, PRINTED_DELTA, PRINTED_GROUP = 1.0, 1e-5, 13


# ---- Theorem VI.3 and its number


def group_bound(size: int) -> float:
    """delta [d]_epsilon."""
    return PRINTED_DELTA * math.expm1(PRINTED_EPSILON * size) / math.expm1(PRINTED_EPSILON)


def group_truth(most: int) -> list[float]:
    """The largest probability of an event at each distance from a database where it has none.

    One step gives p -> min(e p + delta, 1 - (1 - p - delta) / e), and a chain of databases attains it. At the epsilon
    of the distance this is the largest possible delta: starting above 0 gains less than it costs.
    """
    grow, found = math.exp(PRINTED_EPSILON), [0.0]
    while len(found) <= most:
        p = found[-1]
        found.append(min(1.0, grow * p + PRINTED_DELTA, 1 - (1 - p - PRINTED_DELTA) / grow))
    return found


def groups(effort: Effort) -> dict[str, Finding]:
    """Where the delta of a group passes one."""
    sizes = range(1, 31)
    bound = {size: group_bound(size) for size in sizes}
    truth = group_truth(sizes[-1])
    first = min(size for size in sizes if bound[size] > 1)
    certain = min((size for size in sizes if truth[size] >= 1), default=None)
    chain = [np.array([p, 1 - p]) for p in truth]
    steps = max(hockey_stick(*pair, PRINTED_EPSILON) for one in itertools.pairwise(chain) for pair in (one, one[::-1]))
    private = steps <= PRINTED_DELTA * (1 + 1e-6)  # the step is a difference of numbers near 1
    exact = all(hockey_stick(chain[d], chain[0], PRINTED_EPSILON * d) <= min(1.0, bound[d]) * (1 + 1e-9) for d in sizes)
    rows = [[str(d), f"{bound[d]:.6g}", f"{truth[d]:.6g}"] for d in (1, 6, 10, 11, 12, 13, 14, 20)]
    met = max(d for d in sizes if near(bound[d], truth[d]))
    checks = [
        Check("delta passes one at distance 13", first == PRINTED_GROUP, "13", str(first), disproves=True),
        Check("the chain keeps to epsilon and delta at every step", private),
        Check("no distance of the chain exceeds the bound", exact),
    ]
    found = Finding(
        f"The bound is {bound[12]:.6f} at distance 12 and {bound[13]:.6f} at 13. An output that is impossible for one "
        f"table has probability up to {truth[13]:.4f} for another at distance 13"
        + (f", and may be certain from distance {certain} on." if certain else "."),
        f"The bound is attained up to distance {met}. Beyond, it is loose, because the probability of an output is "
        "also bounded from its other side: a mechanism may still hide something where the theorem promises nothing.",
        checks,
        [
            picture(
                "granularity-vi-3",
                "Theorem VI.3: the delta of a group, bound and truth",
                "epsilon is 1 and delta 10^-5 for one step. In red the bound of the theorem, in blue the largest "
                "delta that a mechanism reaches; the dotted line is the distance that the paper names.",
                lambda axes: _growth(axes, bound, truth),
            ),
            Grid([("distance", "number"), ("printed bound", "number"), ("worst mechanism", "number")], rows),
        ],
    )
    return {"granularity-theorem-vi-3-number": found}


def _growth(axes: Any, bound: dict[int, float], truth: list[float]) -> None:
    axes.set_yscale("log")
    axes.plot(list(bound), list(bound.values()), color=COLOURS["bad"], label="bound", linewidth=1.6)
    axes.plot(list(bound), truth[1:], color=COLOURS["accent"], label="worst mechanism", linewidth=2.0)
    axes.axhline(1.0, color=COLOURS["muted"], linewidth=0.8)
    axes.axvline(PRINTED_GROUP, color=COLOURS["muted"], linewidth=1.0, linestyle=(0, (1, 2)))
    axes.set(xlabel="distance", ylabel="delta", ylim=(5e-6, 30), xlim=(1, 30))
    plain_powers(axes)
    axes.legend(loc="lower right")


# ---- Theorem VI.7


def other_tables(effort: Effort) -> dict[str, Finding]:
    """A delta that is taken from other databases, and the corrected minimum on random mechanisms."""
    first, second = np.array([0.5, 0.5]), np.array([0.0, 1.0])
    channel = [first, second, first, first]
    space = Space(range(4), lambda x, y: {x, y} in ({0, 1}, {2, 3}))
    distances, labels = PRINTED_EPSILON * space.distances, list(range(4))
    deltas, seen = _deltas(channel, distances), quotient(PRINTED_EPSILON * space.distances, range(4))
    claim = printed.theorem_vi7_delta(distances, seen, deltas, (0, 1))
    true, right = float(deltas[0, 1]), _constrained(distances, seen, deltas, labels, (0, 1))
    corrected, claimed = _random_minimum(effort)
    laws = " and ".join(f"({', '.join(map(shown, law))})" for law in (first, second))
    checks = [
        Check("the printed minimum bounds the delta of every pair", claim >= true, shown(claim), shown(true), True),
        Check("the minimum over pairs with the same images does, here", right >= true, "", shown(right)),
        Check(
            "and for two random mechanisms together, each of which reads its f alone",
            corrected.holds,
            "",
            f"ratio {corrected.ratio}",
        ),
    ]
    found = Finding(
        f"Two neighbours with laws {laws}, and two others with equal laws at the same distance: the printed delta is "
        f"{shown(claim)}, the truth {shown(true)}. {corrected.mechanisms} random pairs of mechanisms with deltas that "
        f"are no function of the distance: the sum of the printed deltas is below the truth for {claimed.above} of "
        f"{claimed.pairs} ordered pairs of tables, the corrected sum for {corrected.above}; where both mechanisms "
        f"count, the largest ratio of truth to corrected sum is {corrected.ratio}.",
        "The minimum must run over pairs that f takes to the same two values, as it does for the distance. Where "
        "delta is a function of the distance, as for (epsilon, delta)-DP, both are the same.",
        checks,
    )
    return {"granularity-theorem-vi-7": found}


def _deltas(channel: list[FloatArray], distances: FloatArray) -> FloatArray:
    """The least delta of every pair at its own distance."""
    count = range(len(channel))
    return np.array([[hockey_stick(channel[i], channel[j], distances[i, j]) for j in count] for i in count])


def _constrained(
    distances: FloatArray, seen: FloatArray, deltas: FloatArray, labels: list[int], pair: tuple[int, int]
) -> float:
    """delta^f as corrected."""
    i, j = pair
    return min(
        float(deltas[k, m])
        for k, m in itertools.product(range(len(labels)), repeat=2)
        if (labels[k], labels[m]) == (labels[i], labels[j]) and distances[k, m] == seen[pair]
    )


def _random_minimum(effort: Effort) -> tuple[Tally, Tally]:
    """Two random mechanisms together, against the sum of their deltas: as corrected, and as printed.

    Each mechanism promises more than it needs, by an amount that differs from pair to pair: a delta that is a function
    of the distance would make the printed minimum and the corrected one the same.
    """
    rng = np.random.default_rng([effort.seed, 7])
    space = Space(multisets("ab", 2), add_remove)
    shape = (len(space.databases),) * 2
    corrected, claimed = Tally(), Tally()
    for _ in range(effort.pick(200, 40)):
        parts = [_promised(rng, space) for _ in range(2)]
        distance, bound, claim, apart = (np.zeros(shape) for _ in range(4))
        for _, distances, labels, deltas in parts:
            seen = quotient(distances, labels)
            distance += seen
            apart += seen > 0
            for pair in np.ndindex(*shape):
                bound[pair] += _constrained(distances, seen, deltas, labels, pair)
                claim[pair] += printed.theorem_vi7_delta(distances, seen, deltas, pair)
        true = hockey_sticks(joint([channel for channel, _, _, _ in parts]), distance)
        corrected.compare(true, bound, apart > 1)
        claimed.compare(true, claim, apart > 1)
    return corrected, claimed


def _promised(rng: np.random.Generator, space: Space) -> tuple[FloatArray, FloatArray, list[int], FloatArray]:
    """A mechanism that reads labels alone, its distances, the labels, and what it promises for every pair of tables."""
    count = len(space.databases)
    labels = [int(x) for x in rng.integers(0, 3, count)]
    laws = rng.dirichlet(np.full(3, 0.5), 3)
    channel, distances = [laws[label] for label in labels], float(rng.uniform(0.1, 1.0)) * space.distances
    slack = rng.exponential(0.1, (count, count)) * (rng.random((count, count)) < 0.7)
    return np.array(channel), distances, labels, _deltas(channel, distances) + slack


STUDIES: tuple[Study, ...] = (
    alone(
        "granularity-theorem-vi-3-number",
        "After Theorem VI.3",
        "With delta = 10^-5 and epsilon = 1 the delta of a group exceeds 1 for all distances of at least 13, so that "
        "an attacker may likely tell such databases apart.",
        groups,
        seconds=(0.1, 0.1),
    ),
    alone(
        "granularity-theorem-vi-7",
        "Theorem VI.7",
        "Mechanisms that read f_i(D) alone are private for the sum of δ_i^f, where δ_i^f(D, D') is the minimum of "
        "δ_i over all pairs at distance d_i^f(D, D').",
        other_tables,
        "Theorem VI.7: the delta of other tables",
        (4.0, 0.8),
    ),
)
