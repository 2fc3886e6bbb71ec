"""The divergence of a composition as a ball: which method, and when to stop."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from flint import arb

from quiltwork.proof.contour.balls import Budget, Undecided, between, fraction, hi, lo, met, near, precision, total
from quiltwork.proof.contour.cut import cut
from quiltwork.proof.contour.gaussians import MovedGaussians
from quiltwork.proof.contour.lattice import lattice, shared_lattice
from quiltwork.proof.contour.law import Exponential, Finite, Gaussian, Laplace, Law, Mixture
from quiltwork.proof.contour.line import Parts, line, rough, steer
from quiltwork.proof.contour.nodes import law_of, two_sided
from quiltwork.proof.contour.powers import powers
from quiltwork.proof.contour.random_allocation.mean import one_epoch
from quiltwork.proof.contour.ranges import best_top, likely_top
from quiltwork.proof.contour.single import one_release

BITS = 128
MORE_BITS = 1000
ATOMS = 400  # multisets of finite parts beside a power of Laplace noise
POWER = 250
UNDECIDED = (Undecided, OverflowError, ZeroDivisionError, ValueError, KeyError, TypeError)
Described = Sequence[tuple[dict[str, Any], int]]


def divergence(parts: Described, reveal: Any, epsilon: arb, accuracy: float, work: float) -> arb | None:
    """A ball that contains D(epsilon) = sup_E P(E) - e^epsilon Q(E) of the composition, or None.

    parts: (law, count), law = {"loss": JSON of one release, "direction": "remove" or "add"}; for losses that are known
    between two pairs only, "bound": "upper" or "lower" asks for one of them, else the ball holds both.
    accuracy: the relative width aimed at. work: products of balls allowed; no clock is read.
    """
    if reveal != 0:
        return None
    with precision(BITS):
        try:
            merged = _merged(parts)
            if len(merged) == 1 and merged[0][1] == 1 and merged[0][0]["loss"]["kind"] == "random_allocation":
                return _allocated(merged[0][0]["loss"], merged[0][0]["direction"] == "remove", epsilon)
            if all("bound" in law or not two_sided(law["loss"]) for law, _ in merged):
                return _bounded(merged, True, epsilon, accuracy, work)
            if sum(count for _, count in merged) == 1 and epsilon >= 0:
                kind = merged[0][0]["loss"]["kind"]
                if kind in ("fixed_size", "exponential"):  # attained by one release
                    return _bounded(merged, kind == "exponential", epsilon, accuracy, work)
            low = _or_none(lambda: _bounded(_chosen(merged, epsilon), False, epsilon, accuracy, work))
            high = _or_none(lambda: _bounded(merged, True, epsilon, accuracy, work))
            if low is None and high is None:
                return None
            return _sides(arb(0) if low is None else low, arb(1) if high is None else high)
        except UNDECIDED:
            return None


def _or_none(bound: Callable[[], arb]) -> arb | None:
    """One of the two sides where it is found: the other end is judged without it."""
    try:
        return bound()
    except UNDECIDED:
        return None


def _sides(low: arb, high: arb) -> arb:
    """From the lower end of one law to the upper end of another that is above it."""
    if lo(low) > hi(high):
        raise Undecided("two laws contradict each other, please report it")
    return between(low, high)


def _allocated(node: dict[str, Any], removed: bool, epsilon: arb) -> arb:
    """One epoch: the law of a mean, not of a sum."""
    base = node["base"]
    if base["kind"] not in ("gaussian", "gdp"):
        raise Undecided("random allocation of " + base["kind"])
    move = (
        fraction(base["mu"])
        if base["kind"] == "gdp"
        else fraction(base.get("sensitivity", 1)) / fraction(base["sigma"])
    )
    return one_epoch(move, int(node["steps"]), removed, epsilon)


def _merged(parts: Described) -> list[tuple[dict[str, Any], int]]:
    """Equal releases once."""
    found: dict[str, tuple[dict[str, Any], int]] = {}
    for law, count in parts:
        loss = {name: value for name, value in law["loss"].items() if name != "count"}
        law = {**law, "loss": loss}
        key = json.dumps(law, sort_keys=True, default=str)
        found[key] = (law, found.get(key, (law, 0))[1] + int(count))
    return [(law, count) for law, count in found.values() if count > 0]


def _chosen(parts: list[tuple[dict[str, Any], int]], eps: arb) -> list[tuple[dict[str, Any], int]]:
    """Mechanisms of bounded range with the two outcomes that cost most, so far as floats know."""
    for place, (law, count) in enumerate(parts):
        if law["loss"]["kind"] == "exponential" and fraction(law["loss"]["epsilon"]):
            parts = _with_top(parts, place, law, count, near(eps))
    return parts


def _with_top(
    parts: list[tuple[dict[str, Any], int]], place: int, law: dict[str, Any], count: int, at: float
) -> list[tuple[dict[str, Any], int]]:
    def taken(top: Fraction) -> list[tuple[dict[str, Any], int]]:
        return [*parts[:place], ({**law, "loss": {**law["loss"], "top": top}}, count), *parts[place + 1 :]]

    def height(top: Fraction) -> float:
        made = [(_law(one, False), n) for one, n in taken(top)]
        theta = steer(made, at).theta
        return rough(made, theta) - theta * at - math.log(theta * (1 + theta))

    stated = fraction(law["loss"]["epsilon"])
    return taken(best_top(stated, count, at) if len(parts) == 1 else likely_top(stated, height))


def _bounded(parts: Described, upper: bool, eps: arb, accuracy: float, work: float) -> arb:
    def made() -> list[tuple[Law, int]]:
        """The laws with as many bits as are asked for now."""
        return [(_law(law, upper), count) for law, count in parts]

    laws = made()
    if not laws:
        ball = 1 - eps.exp()
        return between(lo(ball) if lo(ball) > 0 else arb(0), hi(ball) if hi(ball) > 0 else arb(0))
    keep = total([count * (-law.reveal).log1p() for law, count in laws])
    value = _compose(laws, made, parts, eps, accuracy, work)
    result = value - keep.expm1()
    return between(lo(result) if lo(result) > 0 else arb(0), lo(hi(result).min(arb(1))))


def _law(law: dict[str, Any], upper: bool) -> Law:
    if law["direction"] not in ("remove", "add"):
        raise Undecided("direction")
    bound = law.get("bound")
    return law_of(law["loss"], law["direction"] == "remove", upper if bound is None else bound == "upper")


def _gathered(parts: Parts) -> list[tuple[Law, int]]:
    """All Gaussians as one."""
    gaussians = [(law, count) for law, count in parts if isinstance(law, Gaussian)]
    others = [(law, count) for law, count in parts if not isinstance(law, Gaussian)]
    if not gaussians:
        return others
    one = Gaussian(arb(1))
    one.variance = total([count * law.variance for law, count in gaussians])
    return [*others, (one, 1)]


def _compose(
    laws: list[tuple[Law, int]], made: Callable[[], Parts], parts: Described, eps: arb, accuracy: float, work: float
) -> arb:
    """The methods in order; balls are intersected, the first that is narrow enough ends the search."""
    gathered = _gathered(laws)
    methods: list[Callable[[Budget], arb]] = []
    if len(gathered) == 1 and gathered[0][1] == 1:
        law = gathered[0][0]
        if isinstance(law, MovedGaussians):
            methods.append(lambda _: one_release(law, eps))
        if isinstance(law, Mixture) and all(isinstance(one, MovedGaussians) for _, one in law.parts):
            methods.append(lambda _: _seen(law, eps))
        if isinstance(law, Gaussian):
            mu = law.variance.sqrt()
            methods.append(lambda _: one_release(MovedGaussians([(arb(1), mu)], [(arb(1), arb(0))]), eps))
    if shared_lattice(gathered) is not None:
        methods.append(lambda budget: lattice(gathered, eps, accuracy, budget))
    if _has_power(laws):
        methods.append(lambda budget: _with_power(laws, parts, eps, accuracy, budget))
    if not all(isinstance(law, Finite) for law, _ in gathered):
        methods.append(lambda budget: line(gathered, eps, accuracy, budget))
    if all(isinstance(law, MovedGaussians) and law.v.trivial for law, _ in gathered) and len(gathered) == 1:
        methods.append(lambda budget: _cut(gathered, made, eps, accuracy, budget))
    methods.append(lambda budget: _smoothed(gathered, eps, accuracy, budget))
    best: arb | None = None
    budget = Budget(work)  # of all methods together
    for method in methods:
        try:
            found = method(budget)
        except (Undecided, OverflowError, ZeroDivisionError, ValueError):
            continue
        if not found.is_finite():
            continue
        best = met(best, found)
        if hi(best) - lo(best) <= 2 * accuracy * hi(best):
            break
    if best is None:
        raise Undecided("no method")
    return best


def _seen(law: Mixture, eps: arb) -> arb:
    """One release of which it is seen which of several it is."""
    return total([w * one_release(one, eps) for w, one in law.parts if isinstance(one, MovedGaussians)])


def _cut(parts: Parts, made: Callable[[], Parts], eps: arb, accuracy: float, budget: Budget) -> arb:
    """Jumps are a difference of two near 1: as many more bits as D is small."""
    at = steer(parts, near(eps))
    small = at.theta * near(eps) - rough(parts, at.theta)
    with precision(BITS + min(max(math.ceil(small / math.log(2)), 0), MORE_BITS)):
        law, count = made()[0]
        if not isinstance(law, MovedGaussians):
            raise Undecided("no cut")
        return cut(law, count, eps, accuracy, budget)


def _has_power(laws: Parts) -> bool:
    """One Laplace or bounded range, not too often, beside few multisets."""
    rest = [(law, count) for law, count in laws if not isinstance(law, (Laplace, Exponential))]
    if len(laws) - len(rest) != 1 or not all(isinstance(law, Finite) for law, _ in rest):
        return False
    if max(count for law, count in laws if isinstance(law, (Laplace, Exponential))) > POWER:
        return False
    return math.prod(math.comb(count + len(law.atoms or ()) - 1, count) for law, count in rest) <= ATOMS


def _with_power(laws: Parts, parts: Described, eps: arb, accuracy: float, budget: Budget) -> arb:
    """Sum over the losses of the finite parts of the power's divergence at what is left of epsilon."""
    atoms = [(arb(1), arb(0))]
    for law, count in laws:
        if isinstance(law, Finite):
            listed = _multisets(law.atoms or [], count)
            atoms = [(p * m, x + y) for p, x in atoms for m, y in listed]
    (law, count), described = next(
        (part, node) for part, (node, _) in zip(laws, parts, strict=True) if isinstance(part[0], (Laplace, Exponential))
    )
    if not isinstance(law, (Laplace, Exponential)):
        raise Undecided("no power")
    make, node = type(law), described["loss"]
    return total([p * powers(make, _top(node), count, eps - x, accuracy, budget) for p, x in atoms])


def _top(node: dict[str, Any]) -> Any:
    if node["kind"] == "laplace":
        return fraction(node.get("sensitivity", 1)) / fraction(node["scale"])
    if node["kind"] == "exponential":
        return fraction(node["epsilon"])
    raise Undecided("no power")


def _multisets(atoms: list[tuple[arb, arb]], count: int) -> list[tuple[arb, arb]]:
    """Masses and losses of `count` copies."""

    def walk(place: int, left: int) -> list[tuple[arb, arb]]:
        p, x = atoms[place]
        if place == len(atoms) - 1:
            return [(p**left, x * left)]
        return [
            (math.comb(left, taken) * p**taken * mass, x * taken + loss)
            for taken in range(left + 1)
            for mass, loss in walk(place + 1, left - taken)
        ]

    return walk(0, count)


def _smoothed(parts: Parts, eps: arb, accuracy: float, budget: Budget) -> arb:
    """One more small Gaussian; larger until the work suffices. A wide ball is better than none."""
    at = steer(parts, near(eps))
    mu = math.sqrt(0.4 * accuracy / (at.theta + 1) ** 2)
    while mu < 0.3:
        try:
            return line(parts, eps, accuracy, budget, smoothing=mu)
        except Undecided:
            mu *= 2
    raise Undecided("smoothing")
