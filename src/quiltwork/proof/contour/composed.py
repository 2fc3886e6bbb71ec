"""A composition in one direction, by one bound of each release: its methods in order, until a ball is narrow enough."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from flint import arb, ctx

from quiltwork.proof.contour.balls import Budget, Undecided, between, fraction, hi, lo, met, near, precision, total
from quiltwork.proof.contour.cut import cut
from quiltwork.proof.contour.gaussians import MovedGaussians
from quiltwork.proof.contour.lattice import lattice, shared_lattice
from quiltwork.proof.contour.law import Exponential, Finite, Gaussian, Laplace, Law, Mixture
from quiltwork.proof.contour.line import Line, Parts, log_moment, rough, scale, steer
from quiltwork.proof.contour.nodes import law_of
from quiltwork.proof.contour.powers import powers
from quiltwork.proof.contour.random_allocation.mean import one_epoch
from quiltwork.proof.contour.single import one_release

BITS = 128
COARSE = ((64, 1e-4), (96, 1e-7))  # bits for coarse accuracies: fewer nodes, and shorter products
MORE_BITS = 1000
ATOMS = 400  # multisets of finite parts beside what has a closed form
MAX_POINTS = 6_000  # sums of points that are listed
LINE, APART, FEW_POINTS = 0.6, 0.2, 0.02  # of the work that is left, before smoothing
POINT, RELEASE = 60, 3e4  # products of balls that one of them, and one release in closed form, are counted as
POWER = 250
Described = Sequence[tuple[dict[str, Any], int]]


class Composed:
    """A composition in one direction, by one bound of each release that is known between two pairs only."""

    def __init__(self, parts: Described, upper: bool) -> None:
        self.parts, self.upper = list(parts), upper
        self._laws: dict[int, list[tuple[Law, int]]] = {}
        self._lines: dict[tuple[int, float | None, bool], Line] = {}
        self._points: dict[int, list[tuple[arb, arb]]] = {}

    def laws(self) -> list[tuple[Law, int]]:
        """The laws with as many bits as are asked for now; all Gaussians are one."""
        if ctx.prec not in self._laws:
            self._laws[ctx.prec] = _gathered([(law_in(law, self.upper), count) for law, count in self.parts])
        return self._laws[ctx.prec]

    def line(self, smoothing: float | None = None, apart: bool = False) -> Line:
        """The sums along lines of all that is asked about it."""
        key = ctx.prec, smoothing, apart
        if key not in self._lines:
            self._lines[key] = Line(self.laws(), smoothing, apart)
        return self._lines[key]

    def points(self) -> list[tuple[arb, arb]]:
        """Masses and losses of all releases on their points."""
        if ctx.prec not in self._points:
            laws = self.laws()
            if math.prod(math.comb(count + len(law.points) - 1, count) for law, count in laws) > MAX_POINTS:
                raise Undecided("too many sums of points")
            found = [(arb(1), arb(0))]
            for law, count in laws:
                listed = multisets(law.points, count)
                found = [(p * m, x + y) for p, x in found for m, y in listed]
            self._points[ctx.prec] = found
        return self._points[ctx.prec]

    def at(self, eps: arb, accuracy: float, budget: Budget) -> arb:
        """A ball of the divergence at eps."""
        with precision(next((bits for bits, least in COARSE if accuracy >= least), BITS)):
            if _allocated_once(self.parts):
                return _allocated(self.parts[0][0], eps)
            laws = self.laws()
            if not laws:
                ball = 1 - eps.exp()
                return between(lo(ball) if lo(ball) > 0 else arb(0), hi(ball) if hi(ball) > 0 else arb(0))
            keep = total([count * (-law.reveal).log1p() for law, count in laws])
            tops = [count * law.largest for law, count in laws if law.largest is not None]
            beyond = len(tops) == len(laws) and bool(eps >= total(tops))  # no finite loss is larger
            result = (arb(0) if beyond else _compose(self, eps, accuracy, budget)) - keep.expm1()
            return between(lo(result) if lo(result) > 0 else arb(0), lo(hi(result).min(arb(1))))


def _allocated_once(parts: Described) -> bool:
    """One epoch of random allocation, which is known without bounds."""
    if len(parts) != 1:
        return False
    law, count = parts[0]
    return count == 1 and law["loss"]["kind"] == "random_allocation"


def _allocated(law: dict[str, Any], epsilon: arb) -> arb:
    """One epoch: the law of a mean, not of a sum."""
    node, base = law["loss"], law["loss"]["base"]
    if base["kind"] not in ("gaussian", "gdp"):
        raise Undecided("random allocation of " + base["kind"])
    move = (
        fraction(base["mu"])
        if base["kind"] == "gdp"
        else fraction(base.get("sensitivity", 1)) / fraction(base["sigma"])
    )
    return one_epoch(move, int(node["steps"]), law["direction"] == "remove", epsilon)


def law_in(law: dict[str, Any], upper: bool) -> Law:
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


def _compose(one: Composed, eps: arb, accuracy: float, budget: Budget) -> arb:
    """The methods in order; balls are intersected, the first that is narrow enough ends the search."""
    laws = one.laws()
    methods: list[Callable[[], arb]] = []
    if len(laws) == 1 and laws[0][1] == 1:
        law = laws[0][0]
        if isinstance(law, MovedGaussians):
            methods.append(lambda: one_release(law, eps))
        if isinstance(law, Mixture) and all(isinstance(part, MovedGaussians) for _, part in law.parts):
            methods.append(lambda: _seen(law, eps))
        if isinstance(law, Gaussian):
            mu = law.variance.sqrt()
            methods.append(lambda: one_release(MovedGaussians([(arb(1), mu)], [(arb(1), arb(0))]), eps))
    if (one_of := _beside_finite(laws)) is not None:
        methods.append(lambda: _with_finite(one_of, laws, eps, budget))
    known = shared_lattice(laws) is not None
    if known:
        share = FEW_POINTS if all(law.finite for law, _ in laws) else 1.0
        methods.append(lambda: _with_share(budget, share, lambda part: lattice(laws, eps, accuracy, part)))
    if _has_power(laws):
        methods.append(lambda: _with_power(one, eps, accuracy, budget))
    if not all(law.finite for law, _ in laws):
        methods.append(lambda: _with_share(budget, LINE, lambda part: one.line().at(eps, accuracy, part)))
        if all(law.points for law, _ in laws):
            methods.append(lambda: _with_share(budget, APART, lambda part: _apart(one, eps, accuracy, part)))
    if len(laws) == 1 and isinstance(laws[0][0], MovedGaussians):
        methods.append(lambda: _cut(one, eps, accuracy, budget))
    methods.append(lambda: _smoothed(one, eps, accuracy, budget))
    if known:
        methods.append(lambda: lattice(laws, eps, accuracy, budget))
    best: arb | None = None
    for method in methods:
        try:
            found = method()
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


def _with_share(budget: Budget, share: float, method: Callable[[Budget], arb]) -> arb:
    """A method that leaves work for those after it."""
    part = Budget(share * budget.left)
    try:
        return method(part)
    finally:
        budget.left -= share * budget.left - part.left


def _apart(one: Composed, eps: arb, accuracy: float, budget: Budget) -> arb:
    """What is on points only as it is listed, everything else by the line."""
    points = one.points()
    budget.spend(POINT * len(points))
    try:
        result = one.line(apart=True).at(eps, accuracy, budget)
    except Undecided:  # at least what is on points; and Chernoff's bound
        theta = arb(steer(one.laws(), near(eps)).theta)
        peak = theta * (theta / (1 + theta)).log() - (1 + theta).log()
        result = arb(0).union(hi((log_moment(one.laws(), theta, budget) - theta * eps + peak).exp()))
    for mass, loss in points:
        gap = eps - loss
        if gap < 0:
            result = result - mass * gap.expm1()
        elif not gap >= 0:
            result = result + arb(0).union(hi(-mass * lo(gap).expm1()))
    return result


def _beside_finite(laws: Parts) -> MovedGaussians | None:
    """One sampled Gaussian beside few multisets of finite losses."""
    rest = [law for law, _ in laws if not isinstance(law, Finite)]
    if len(rest) != 1 or len(laws) == 1 or not isinstance(rest[0], MovedGaussians):
        return None
    sizes = [math.comb(n + len(law.points) - 1, n) for law, n in laws if isinstance(law, Finite)]
    single = all(n == 1 for law, n in laws if law is rest[0])
    return rest[0] if single and math.prod(sizes) <= ATOMS else None


def _with_finite(one: MovedGaussians, laws: Parts, eps: arb, budget: Budget) -> arb:
    """Sum over the losses of the finite parts of the divergence of one release at what is left of epsilon."""
    atoms = _atoms(laws)
    budget.spend(RELEASE * len(atoms))
    return total([p * one_release(one, eps - x) for p, x in atoms])


def _atoms(laws: Parts) -> list[tuple[arb, arb]]:
    """Masses and losses of all finite parts together."""
    found = [(arb(1), arb(0))]
    for law, count in laws:
        if isinstance(law, Finite):
            listed = multisets(law.points, count)
            found = [(p * m, x + y) for p, x in found for m, y in listed]
    return found


def _seen(law: Mixture, eps: arb) -> arb:
    """One release of which it is seen which of several it is."""
    return total([w * one_release(one, eps) for w, one in law.parts if isinstance(one, MovedGaussians)])


def _cut(one: Composed, eps: arb, accuracy: float, budget: Budget) -> arb:
    """Jumps are a difference of two near 1: as many more bits as D is small."""
    at = steer(one.laws(), near(eps))
    small = at.theta * near(eps) - rough(one.laws(), at.theta)
    with precision(BITS + min(max(math.ceil(small / math.log(2)), 0), MORE_BITS)):
        law, count = one.laws()[0]
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
    return math.prod(math.comb(count + len(law.points) - 1, count) for law, count in rest) <= ATOMS


def _with_power(one: Composed, eps: arb, accuracy: float, budget: Budget) -> arb:
    """Sum over the losses of the finite parts of the power's divergence at what is left of epsilon."""
    atoms = _atoms(one.laws())
    power, count = next(part for part in one.laws() if isinstance(part[0], (Laplace, Exponential)))
    if not isinstance(power, (Laplace, Exponential)):
        raise Undecided("no power")
    kind = "laplace" if isinstance(power, Laplace) else "exponential"
    node = next((law["loss"] for law, _ in one.parts if law["loss"]["kind"] == kind), {"kind": "none"})
    return total([p * powers(type(power), _top(node), count, eps - x, accuracy, budget) for p, x in atoms])


def _top(node: dict[str, Any]) -> Any:
    if node["kind"] == "laplace":
        return fraction(node.get("sensitivity", 1)) / fraction(node["scale"])
    if node["kind"] == "exponential":
        return fraction(node["epsilon"])
    raise Undecided("no power")


def multisets(atoms: Sequence[tuple[arb, arb]], count: int) -> list[tuple[arb, arb]]:
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


def _smoothed(one: Composed, eps: arb, accuracy: float, budget: Budget) -> arb:
    """One more small Gaussian; larger until the work suffices. A wide ball is better than none."""
    at = steer(one.laws(), near(eps))
    mu = scale(math.sqrt(0.4 * accuracy) / (at.theta + 1), 1)
    while mu < 0.3:
        try:
            return one.line(mu).at(eps, accuracy, budget)
        except Undecided:
            mu *= 2
    raise Undecided("smoothing")
