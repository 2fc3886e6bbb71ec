"""The appendices: proofs whose words, lines or indices say something else than what is used."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from tests.errata import printed
from tests.errata.conjugates import conjugate
from tests.errata.rotation import fixed_point
from tests.losses.smooth import gauss

import quiltwork as qw
from examples.gallery.constraints.figure_3 import MU
from examples.gallery.constraints.showing import number, power
from examples.gallery.item import Check, Effort, Finding, Item, Study
from quiltwork.document.blocks import Grid

APPENDICES = "Appendices"

NEVER = Item(
    "constraints-appendix-d",
    "Appendix D",
    "The probability that k releases never pick the revealing mechanism is 1 - (1 - delta_1)^k.",
    APPENDICES,
)
SLOPES = Item(
    "constraints-appendix-e",
    "Appendix E",
    "The differences (a - d, b - c) of all outputs are the set B of pairs (x, y) with |x| + |y| at most k and x + y "
    "as odd or even as k; B is in bijection with the pairs (u, v) of numbers from 0 to k and has (k + 1)^2 elements.",
    APPENDICES,
)
LINE = Item(
    "constraints-appendix-f-line",
    "Appendix F",
    "A tangent is the line -e^(epsilon_i t) + (1 - delta_i).",
    APPENDICES,
)
BEND = Item(
    "constraints-appendix-f-convexity",
    "Appendix F and Definition 5",
    "The rotation g is convex as a composition of convex functions; g'' = 2 sqrt(2) f'' / (1 - f')^3.",
    APPENDICES,
)
CONJUGATE = Item(
    "constraints-appendix-h",
    "Appendix H, Proposition 5",
    "The conjugate of the maximum of m lines on the real line is the maximum of t_j s - f(t_j) with the index from "
    "0 to m, where t_j is defined for j = 1, ..., m - 1; mixtures are computed by conjugating twice.",
    APPENDICES,
)


def never(effort: Effort) -> dict[str, Finding]:
    """All picks of k releases, written out."""
    delta, rows, same = Fraction(1, 50), [], True
    for k in (1, 3, 10):
        chance = Fraction(0)
        for picks in itertools.product((True, False), repeat=k):
            chance += math.prod((delta if picked else 1 - delta for picked in picks), start=Fraction(not any(picks)))
        literal = printed.never_revealed(delta, k)
        revealed = (k * qw.constraints([(0.3, float(delta)), (0.15, 0.05)])).delta(math.inf)
        # a stated delta is read as its decimal, and an end that is one is the nearest double
        inside = revealed.lower * (1 - 1e-15) <= 1 - chance <= revealed.upper * (1 + 1e-15)
        same = same and chance == (1 - delta) ** k and inside
        rows.append([str(k), number(literal), number(chance)])
    return {
        NEVER.key: Finding(
            f"delta_1 = {float(delta):g}, k = 3: the printed value is {rows[1][1]}; counted over all picks, never has "
            f"probability {rows[1][2]}.",
            "A slip of one word: the printed value is the probability of at least once. The theorem uses it "
            "rightly: what no epsilon hides is the chance of at least one reveal.",
            [
                Check("never has the printed probability", rows[1][1] == rows[1][2], rows[1][1], rows[1][2],
                      disproves=True),
                Check("never is (1 - delta_1)^k, and this library reveals with the rest", same),
            ],
            [Grid([("k", "number"), ("never, printed", "number"), ("never, counted", "number")], rows)],
        )
    }  # fmt: skip


def slopes(effort: Effort) -> dict[str, Finding]:
    """The differences (a - d, b - c) of all outputs against the pairs (u, v)."""
    counts = effort.pick(range(1, 26), range(1, 11))
    wrong, odd = 0, 0
    for k in counts:
        places = {
            (a - d, b - (k - a - b - d))
            for a in range(k + 1) for b in range(k + 1 - a) for d in range(k + 1 - a - b)
        }  # fmt: skip
        found = {(u + v - k, u - v) for u in range(k + 1) for v in range(k + 1)}
        wrong += found != places or len(found) != (k + 1) ** 2
        steps = range(-k, k + 1)
        odd += places != {(x, y) for x in steps for y in steps if abs(x) + abs(y) <= k and (x + y - k) % 2 == 0}
    last = max(counts)
    distinct = len({2 * (u + v - 20) + (u - v) for u in range(21) for v in range(21)})
    return {
        SLOPES.key: Finding(
            f"For every k up to {last} the differences of all outputs are the (k + 1)^2 pairs of the appendix, "
            f"{(last + 1) ** 2} at k = {last}. For Figure 2 with k = 20 only {distinct} of {21**2} slopes are "
            "distinct, since one epsilon is twice the other.",
            "All three sets were written out. The printed (x, y) in A is a misprint for A tilde.",
            [
                Check(
                    "the differences are the pairs (u, v), one for one",
                    wrong == 0,
                    ours=f"{wrong} counts differ",
                    disproves=True,
                ),
                Check("they are the set B", odd == 0, ours=f"{odd} counts differ", disproves=True),
            ],
        )
    }


def line(effort: Effort) -> dict[str, Finding]:
    """The printed line against the trade-off function of one constraint."""
    epsilon, delta = 0.5, 0.1
    bound = qw.constraints([(epsilon, delta)])
    places = (0.0, 0.05, 0.1, 0.2, 0.3)
    true = bound.beta(np.array(places))
    literal = [printed.line_of_constraint(epsilon, delta, t) for t in places]
    right = [1 - delta - math.exp(epsilon) * t for t in places]
    apart = max(abs(a - b) for a, b in zip(right, true.lower, strict=True))
    rows = [[f"{t:g}", *(number(v) for v in row)] for t, *row in zip(places, literal, right, true.lower, strict=True)]
    return {
        LINE.key: Finding(
            f"At t = 0 the printed line is {rows[0][1]}, and the trade-off function of ({epsilon:g}, {delta:g}) is "
            f"{rows[0][3]}.",
            "A slip of typesetting, if it is one: in the text that we read t stands in the exponent, where "
            "-e^epsilon t + (1 - delta) is meant. The epsilon and delta that the paper reads off the line are right.",
            [
                Check("the printed line is the trade-off function near 0", abs(literal[0] - right[0]) < 1e-9,
                      rows[0][1], rows[0][3]),
                Check("the corrected line is", apart < 1e-9, ours=power(apart)),
            ],
            [Grid([("t", "number"), ("line, printed", "number"), ("corrected", "number"),
                   ("trade-off function", "number")], rows, f"epsilon = {epsilon:g}, delta = {delta:g}.")],
        )
    }  # fmt: skip


def bend(effort: Effort) -> dict[str, Finding]:
    """The outer function of the composition, and g'' by its formula against differences of g'."""
    f, slope = gauss(MU)
    c = fixed_point(f)
    places = np.linspace(0.02 * c, c, 60)
    sums = np.array([x + f(x) for x in places])
    errors, least, step = [], math.inf, 1e-5
    for x in places[:-1]:
        ends = (x - step, x + step)
        curved = (slope(ends[1]) - slope(ends[0])) / (2 * step)
        rotated = [(1 + slope(y)) / (1 - slope(y)) for y in ends]
        along = [(y - f(y)) / math.sqrt(2) for y in ends]
        found = (rotated[1] - rotated[0]) / (along[1] - along[0])
        formula = 2 * math.sqrt(2) * curved / (1 - slope(x)) ** 3
        errors.append(abs(found / formula - 1))
        least = min(least, formula)
    return {
        BEND.key: Finding(
            f"For the Gaussian with mu = 1, x + f(x) falls from {number(sums[0])} to {number(sums[-1])} on [0, c]. The "
            f"formula for g'' agrees with differences of g' up to {power(max(errors))}, and is at least "
            f"{number(least, 3)}.",
            "A gap in a proof. A convex function of a convex one is convex when the outer one rises; here it falls, "
            "so this argument does not show it. The conclusion is right, by the formula for g'', which the paper "
            "also prints.",
            [
                Check("the outer function rises, as the argument needs", np.all(np.diff(sums) >= 0),
                      ours=f"falls at {int(np.sum(np.diff(sums) < 0))} of {len(sums) - 1} steps"),
                Check("g'' has the printed formula and is positive", max(errors) < 1e-5 and least > 0,
                      ours=power(max(errors))),
            ],
        )
    }  # fmt: skip


def lines_of(rng: random.Random) -> list[tuple[float, float]]:
    """Lines that all matter: each is steeper by 1 and meets the last one at the next corner."""
    found = [(float(rng.randint(-9, 0)), 0.0)]
    for corner in sorted(rng.sample(range(-20, 21), rng.randint(0, 5))):
        steep, offset = found[-1]
        found.append((steep + 1.0, offset - corner))
    return found


def defined(lines: Sequence[tuple[float, float]], s: float) -> bool:
    """Whether the printed maximum can be computed at all."""
    try:
        printed.proposition_5(lines, s)
    except KeyError:
        return False
    return True


def conjugates(effort: Effort) -> dict[str, Finding]:
    """The printed index range, the corrected one against a search, and mixtures without any conjugate."""
    rng = random.Random(f"{effort.seed} appendix h")
    cases, computed, error = effort.pick(400, 80), 0, 0.0
    grid = np.linspace(-25.0, 25.0, 501)  # holds every corner
    for _ in range(cases):
        lines = lines_of(rng)
        s = rng.uniform(lines[0][0], lines[-1][0])
        computed += defined(lines, s)
        searched = float(np.max(s * grid - np.max([a * grid + b for a, b in lines], axis=0)))
        error = max(error, abs(conjugate(lines, s) - searched))
    parts = [(0.25, (0.8, 0.01)), (0.75, (0.3, 0.05))]
    mixed = qw.mixture([(weight, qw.approximate(*point)) for weight, point in parts])
    places = (0.0, 0.2, 0.5, 0.9)
    sums = [sum(weight * float(qw.approximate(*point).delta(p).upper) for weight, point in parts) for p in places]
    linear = max(abs(total - float(mixed.delta(p, rtol=1e-9).upper)) for total, p in zip(sums, places, strict=True))
    return {
        CONJUGATE.key: Finding(
            f"{computed} of {cases} random maxima of lines can be conjugated by the letter, since t_0 and t_m are not "
            f"defined. With j from 1 to m - 1 the formula agrees with a search up to {power(error)}.",
            "A slip of an index, carried over from Proposition 4, where t_0 and t_m are the ends of the domain. "
            "Here they could only be minus and plus infinity, which as limits add nothing, except for one line "
            "alone. Nothing of it is needed: the delta of a mixture is the mean of the deltas, here up to "
            f"{power(linear)}.",
            [
                Check("all corners that the maximum names are defined", computed == cases, "0, ..., m",
                      f"{computed} of {cases}"),
                Check("with the corners that exist it is the conjugate", error < 1e-9, ours=power(error)),
                Check("deltas of mixtures are means of deltas", linear < 1e-12, ours=power(linear)),
            ],
        )
    }  # fmt: skip


STUDIES = (
    Study((NEVER,), never, (0.1, 0.1)),
    Study((SLOPES,), slopes, (0.1, 0.1)),
    Study((LINE,), line, (0.1, 0.1)),
    Study((BEND,), bend, (0.1, 0.1)),
    Study((CONJUGATE,), conjugates, (0.1, 0.1)),
)
