"""From the JSON of one release to its law in one direction, by the formulas of theory/sampling.md.

Some losses are known between two pairs only (batches of fixed size, truncated batches, bounded range): `upper`
says which pair is meant.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from flint import arb, fmpq

from quiltwork.proof.contour.balls import Undecided, exact, fraction, hi, near
from quiltwork.proof.contour.gaussians import MovedGaussians
from quiltwork.proof.contour.law import (
    DiscreteGaussian,
    Exponential,
    Finite,
    Gaussian,
    Laplace,
    Law,
    Mixture,
    Revealing,
)
from quiltwork.proof.contour.panels import FixedSizeGaussian, FixedSizeLaplace, MovedLaplaces
from quiltwork.proof.contour.random_allocation.epochs import epoch

Node = Mapping[str, Any]
MOST_RECORDS, MOST_IN_ALL = 2_000, 2_000_000  # of a group, and of truncated batches: binomials are computed exactly
BETWEEN = ("fixed_size", "truncated_poisson", "exponential", "random_allocation")  # known from both sides only


def two_sided(node: Node) -> bool:
    """Whether this release is known between two pairs only."""
    if node["kind"] == "mixture":
        return any(two_sided(part) for _, part in node["components"])
    if node["kind"] in ("turned", "poisson"):
        return two_sided(node["base"])
    return node["kind"] in BETWEEN


def law_of(node: Node, removed: bool, upper: bool) -> Law:
    """The law of the loss of one release."""
    kind = node["kind"]
    if int(node.get("group", 1)) != 1:
        raise Undecided("a group of this loss")
    if kind == "turned":
        return law_of(node["base"], not removed, upper)
    if kind == "mixture":
        return Mixture([(exact(w), law_of(part, removed, upper)) for w, part in node["components"]])
    if kind in ("gaussian", "gdp"):
        return Gaussian(_move(node) if kind == "gaussian" else exact(node["mu"]))
    if kind == "laplace":
        return Laplace(_move(node))
    if kind == "exponential":
        return Exponential(exact(node["epsilon"])) if upper else _two_outcomes(node)
    if kind == "discrete_gaussian":
        return DiscreteGaussian(fraction(node["sigma"]), int(node.get("sensitivity", 1)))
    if kind == "poisson":
        return _poisson(node, removed, upper)
    if kind == "sampled_group":
        return _sampled_group(node, removed)
    if kind == "gaussian_mixture":
        sigma = fraction(node["sigma"])
        means = [
            (exact(w), exact(fraction(c) / sigma)) for c, w in zip(node["sensitivities"], node["weights"], strict=True)
        ]
        still = [(arb(1), arb(0))]
        return MovedGaussians(means, still) if removed else MovedGaussians(still, means)
    if kind == "fixed_size":
        return _fixed_size(node, upper)
    if kind == "random_allocation":
        base = node["base"]
        if base["kind"] not in ("gaussian", "gdp"):
            raise Undecided("random allocation of " + base["kind"])
        move = _ratio(base) if base["kind"] == "gaussian" else fraction(base["mu"])
        found = epoch(move, int(node["steps"]), upper)
        return found if removed else found.swapped()
    if kind == "truncated_poisson":
        return _truncated(node, removed, upper)
    found = _finite(node)
    return found if removed else found.swapped()


def _ratio(node: Node) -> Fraction:
    """Sensitivity over scale."""
    scale = fraction(node["sigma"] if node["kind"] == "gaussian" else node["scale"])
    return fraction(node.get("sensitivity", 1)) / scale


def _move(node: Node) -> arb:
    return exact(_ratio(node))


def _sampled(base: Node, first: list[tuple[Fraction, int]], second: list[tuple[Fraction, int]]) -> Law:
    """Weights and multiples of the move; the means of the second law lie to the left."""
    move = _ratio(base)
    if base["kind"] == "gaussian":
        return MovedGaussians(
            [(exact(p), exact(move * i)) for p, i in first], [(exact(q), exact(move * i)) for q, i in second]
        )
    return MovedLaplaces([(exact(p), move * i) for p, i in first], [(exact(q), move * i) for q, i in second])


def _poisson(node: Node, removed: bool, upper: bool) -> Law:
    base, rate = node["base"], fraction(node["rate"])
    if rate == 1:
        return law_of(base, removed, upper)
    if base["kind"] == "gdp":
        base = {"kind": "gaussian", "sigma": 1, "sensitivity": base["mu"]}
    if base["kind"] in ("gaussian", "laplace"):
        mixed, still = [(1 - rate, 0), (rate, 1)], [(Fraction(1), 0)]
        return _sampled(base, mixed, still) if removed else _sampled(base, still, mixed)
    found = _finite(base).sampled(exact(rate))
    return found if removed else found.swapped()


def _sampled_group(node: Node, removed: bool) -> Law:
    """Each of `size` records joins with chance `rate`: binomially many moves (theory/sampling.md sections 3 and 6)."""
    base, rate, size = node["base"], fraction(node["rate"]), int(node["size"])
    if base["kind"] not in ("gaussian", "laplace") or size > MOST_RECORDS:
        raise Undecided(f"a sampled group of {size} records and " + base["kind"])
    mixed = [(math.comb(size, i) * rate**i * (1 - rate) ** (size - i), i) for i in range(size + 1)]
    mixed = [(p, i) for p, i in mixed if p]
    still = [(Fraction(1), 0)]
    if node.get("exchanged"):
        return _sampled(base, mixed, mixed)
    return _sampled(base, mixed, still) if removed else _sampled(base, still, mixed)


def _fixed_size(node: Node, upper: bool) -> Law:
    base, rate = node["base"], Fraction(int(node["batch"]), int(node["of"]))
    if base["kind"] not in ("gaussian", "laplace"):
        raise Undecided("batches of fixed size of " + base["kind"])
    if rate == 1:
        return law_of(base, True, upper)
    if not upper:
        return _sampled(base, [(1 - rate, 0), (rate, 1)], [(Fraction(1), 0)])
    make = FixedSizeGaussian if base["kind"] == "gaussian" else FixedSizeLaplace
    return make(_move(base), exact(rate))


def _truncated(node: Node, removed: bool, upper: bool) -> Law:
    """Theory/sampling.md section 5: full batches move by twice the norm, at the rate that is left to the record."""
    if node.get("exchanged") or node.get("zeroed") or node["base"]["kind"] != "gaussian":
        raise Undecided("truncated batches of this kind")
    rate, most, of = fraction(node["rate"]), int(node["most"]), int(node["of"])
    if of > MOST_IN_ALL:
        raise Undecided(f"truncated batches of {of} records")
    q = exact(rate)

    def above(n: int, least: int) -> arb:
        """P(Bin(n, q) >= least): each term from the one before, until what is left is less than the last."""
        term = arb(fmpq(math.comb(n, least))) * q**least * (1 - q) ** (n - least)
        result, odds = arb(0), q / (1 - q)
        for k in range(least, n + 1):
            result += term
            ratio = odds * (n - k) / (k + 1)  # falls in k
            if ratio < 0.5 and term < result * arb(2) ** -200:
                return result + arb(0).union(hi(term))
            term = term * ratio
        return result

    cut = above(of - 1, most)
    full = most * above(of, most + 1) / (of * cut)
    move = _move(node["base"])

    def sampled(chance: arb, size: arb) -> Law:
        mixed, still = [(1 - chance, arb(0)), (chance, size)], [(arb(1), arb(0))]
        return MovedGaussians(mixed, still) if removed else MovedGaussians(still, mixed)

    if upper and node.get("revealed"):  # full batches tell everything: no better for the record
        return Mixture([(1 - cut, sampled(q, move)), (cut, Revealing())])
    if upper:
        return Mixture([(1 - cut, sampled(q, move)), (cut, sampled(full, 2 * move))])
    return sampled(q * (1 - cut) + cut * full, move)


def _two_outcomes(node: Node) -> Law:
    """A mechanism of bounded range: losses t and t - eps; any t is attained, eps/2 unless another was chosen."""
    stated = fraction(node["epsilon"])
    top = fraction(node.get("top", stated / 2))
    if not 0 < top < stated:
        raise Undecided("a mechanism that tells nothing")
    whole, part = exact(stated).exp(), exact(top).exp()
    p = (whole - part) / (whole - 1)
    q = p / part
    return Finite([(p, q), (1 - p, 1 - q)], [top, top - stated])


def _finite(node: Node) -> Finite:
    kind = node["kind"]
    if kind in ("pure", "approximate"):
        return _response(fraction(node["epsilon"]), fraction(node.get("delta", 0)))
    if kind == "randomized_response":
        stated, others = fraction(node["epsilon"]), int(node["values"]) - 1
        grown = exact(stated).exp()
        scale = grown + others
        pairs = [(grown / scale, 1 / scale), (1 / scale, grown / scale)]
        if others > 1:
            pairs.append(((others - 1) / scale, (others - 1) / scale))
        return Finite(pairs, [stated, -stated, Fraction(0)][: len(pairs)])
    if kind == "pair":
        return Finite([(exact(p), exact(q)) for p, q in zip(node["p"], node["q"], strict=True)])
    if kind == "discrete_laplace":
        return _discrete_laplace(1 / fraction(node["scale"]), int(node.get("sensitivity", 1)))
    if kind in ("constraints", "profile"):
        return _constraints([(fraction(e), fraction(d)) for e, d in node["points"]])
    raise Undecided("no method for " + str(kind))


def _response(epsilon: Fraction, delta: Fraction) -> Finite:
    grown, kept = exact(epsilon).exp(), exact(1 - delta)
    pairs = [(kept * grown / (1 + grown), kept / (1 + grown)), (kept / (1 + grown), kept * grown / (1 + grown))]
    stated: list[Fraction | None] = [epsilon, -epsilon]
    if delta:
        pairs += [(exact(delta), arb(0)), (arb(0), exact(delta))]
        stated += [None, None]
    return Finite(pairs, stated)


def _discrete_laplace(rate: Fraction, move: int) -> Finite:
    """P(x) ~ e^{-rate |x|} against its shift by `move`: losses rate (move - 2x), x = 0 .. move."""
    fall = exact(-rate).exp()
    scale = (1 - fall) / (1 + fall)
    masses = [scale / (1 - fall)] + [scale * fall**x for x in range(1, move)] + [scale * fall**move / (1 - fall)]
    return Finite(list(zip(masses, masses[::-1], strict=True)), [rate * (move - 2 * x) for x in range(move + 1)])


def _constraints(points: list[tuple[Fraction, Fraction]]) -> Finite:
    """The pair whose trade-off function is the maximum of the lines 1 - d - e^e a, e^{-e}(1 - d - a) and 0."""
    lines: list[tuple[Fraction | None, arb, arb]] = [(None, arb(0), arb(0))]  # loss, slope, value at 0
    for e, d in points:
        grown, kept = exact(e).exp(), exact(1 - d)
        lines += [(e, grown, kept), (-e, 1 / grown, kept / grown)]
    smallest = min(d for _, d in points)
    at, loss = arb(0), min(e for e, d in points if d == smallest)
    grown, height = exact(loss).exp(), exact(1 - smallest)
    current: tuple[Fraction | None, arb, arb] = (loss, grown, height)
    pairs: list[tuple[arb, arb]] = []
    stated: list[Fraction | None] = []
    if smallest:
        pairs.append((exact(smallest), arb(0)))
        stated.append(None)
    while current[0] is not None:
        flatter = [line for line in lines if line[1] < current[1]]
        crossings = sorted(
            (((current[2] - line[2]) / (current[1] - line[1]), line) for line in flatter), key=lambda c: near(c[0])
        )
        place, following = crossings[0]
        if not place > at or any(not other > place for other, _ in crossings[1:]):
            raise Undecided("constraints that touch in one point")
        length = place - at
        pairs.append((current[1] * length, length))
        stated.append(current[0])
        at, current = place, following
    rest = 1 - at
    if not rest.is_zero() and smallest:
        pairs.append((arb(0), rest))
        stated.append(None)
    return Finite(pairs, stated)
