"""Laws of finitely many losses, composed without leaving any out: polynomials on a lattice, else every multiset.

A loss that is stated (plus or minus epsilon, a multiple of 1/scale) is kept as an exact rational, to be compared with
epsilon exactly; other losses are balls, and one that touches epsilon contributes anything from 0 to its most.

Reference: theory/proof.md section 4; constraints: theory/multi-constraints.md section 2.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from typing import Any

import attrs

from quiltwork.proof.balls import Enclosure, ball, flint
from quiltwork.proof.description import Composition, Release
from quiltwork.proof.fields import Refused

MAX_ATOMS = 200_000
FEW_ATOMS = 2_000  # up to which they are listed before a contour is tried
KINDS = ("pure", "approximate", "constraints", "profile", "pair", "discrete_laplace", "randomized_response")


@attrs.frozen
class Atom:
    """An outcome: its mass in both worlds, and log p/q, exact where it is stated."""

    p: Any
    q: Any
    loss: Any  # Fraction, ball, or None where one of the masses is 0

    def turned(self) -> Atom:
        """With the worlds exchanged."""
        return Atom(self.q, self.p, None if self.loss is None else -self.loss)


Law = list[Atom]


def _response(epsilon: Fraction, weight: Any, values: int = 2) -> Law:
    """Randomized response of this weight."""
    if epsilon == 0:
        return [Atom(weight, weight, Fraction(0))]
    total = 1 + (values - 1) * (-ball(epsilon)).exp()
    high = weight / total
    low = high * (-ball(epsilon)).exp()
    middle = [Atom(low * (values - 2), low * (values - 2), Fraction(0))] if values > 2 else []
    return [Atom(low, high, -epsilon), *middle, Atom(high, low, epsilon)]


def _reveal(weight: Any) -> Law:
    return [] if weight.is_zero() else [Atom(weight, ball(0), None), Atom(ball(0), weight, None)]


def _constraints(points: Any) -> Law:
    """The slope jumps of the lower convex hull of (e^eps, delta) with the anchor (-1, 1) weigh randomized responses."""
    best: dict[Fraction, Fraction] = {}
    for e, d in points:
        best[e] = min(d, best.get(e, Fraction(1)))
    falling: list[tuple[Fraction, Fraction]] = []
    for e, d in sorted(best.items()):
        if d < (falling[-1][1] if falling else 1):
            falling.append((e, d))
    if not falling:
        return _reveal(ball(1))
    hull: list[tuple[Any, Any, Fraction | None]] = [(ball(-1), ball(1), None)]
    for e, d in falling:
        here = ball(e).exp(), ball(d)
        while len(hull) > 1 and not _below(hull[-2], hull[-1], here):
            hull.pop()
        hull.append((*here, e))
    slopes = [(b[1] - a[1]) / (b[0] - a[0]) for a, b in pairwise(hull)] + [ball(0)]
    law = _reveal(hull[-1][1])
    for (s, _, at), before, after in zip(hull[1:], slopes[:-1], slopes[1:], strict=True):
        law += _response(at or Fraction(0), (1 + s) * (after - before))
    return law


def _below(left: Any, middle: Any, right: Any) -> bool:
    """Whether the middle point lies strictly under the chord of the others."""
    gap = (right[1] - left[1]) * (middle[0] - left[0]) - (middle[1] - left[1]) * (right[0] - left[0])
    if gap > 0 or gap < 0:
        return bool(gap > 0)
    raise Refused("constraints that lie on one line to all digits")


def _pair(release: Release) -> Law:
    law = []
    for p, q in zip(release.node["p"], release.node["q"], strict=True):
        known = None if not p or not q else Fraction(0) if p == q else ball(p / q).log()
        law.append(Atom(ball(p), ball(q), known))
    return law


def _discrete_laplace(release: Release) -> Law:
    """P(x) = c t^|x| with t = e^(-1/scale): losses from -shift/scale to shift/scale."""
    unit, shift = 1 / release.number("scale"), int(release.number("sensitivity"))
    if shift > MAX_ATOMS:
        raise Refused("a list of losses that is too long")
    t = (-ball(unit)).exp()
    end = 1 / (1 + t)  # all x <= 0
    inner = (1 - t) / (1 + t)
    masses = [end, *(inner * t**x for x in range(1, shift)), end * t**shift]
    losses = [unit * (shift - 2 * x) for x in range(shift + 1)]
    return [Atom(p, q, loss) for p, q, loss in zip(masses, masses[::-1], losses, strict=True)]


def law_of(release: Release) -> Law:
    """The law of one release in its direction; Refused where it is not finite."""
    base, node = release.kind, release.node
    if base == "pure":
        law = _response(release.number("epsilon"), ball(1))
    elif base == "approximate":
        delta = release.number("delta")
        law = _response(release.number("epsilon"), ball(1 - delta)) + _reveal(ball(delta))
    elif base == "randomized_response":
        law = _response(release.number("epsilon"), ball(1), int(release.number("values")))
    elif base in ("constraints", "profile"):
        law = _constraints(node["points"])
    elif base == "discrete_laplace":
        law = _discrete_laplace(release)
    elif base == "pair":
        law = _pair(release)
    elif base == "mixture":  # its parts are in this direction already
        return [
            Atom(atom.p * ball(weight), atom.q * ball(weight), atom.loss)
            for weight, one in node["components"]
            for atom in law_of(release.inside(one))
        ]
    elif base == "poisson":
        law = _sampled(law_of(Release(node["base"], "remove", 1)), release.number("rate"))
    else:
        raise Refused(f"no finite list of losses for {base}")
    return law if release.direction == "remove" else [atom.turned() for atom in law]


def _sampled(law: Law, rate: Fraction) -> Law:
    r = ball(rate)
    found = []
    for atom in law:
        p = (1 - r) * atom.q + r * atom.p
        if atom.q.is_zero():
            found.append(Atom(p, atom.q, None))
        elif isinstance(atom.loss, Fraction) and atom.loss == 0:
            found.append(Atom(p, atom.q, Fraction(0)))
        elif atom.p.is_zero():
            found.append(Atom(p, atom.q, (1 - r).log() if rate < 1 else None))
        else:
            found.append(Atom(p, atom.q, (r * ball(atom.loss).expm1()).log1p()))
    return found


# ---- composed


Listed = list[tuple[Any, Any]]  # mass and loss


def single(law: Law) -> tuple[Listed, Any]:
    """Losses of one release that are finite, and the mass that reveals the world."""
    listed = [(atom.p, atom.loss) for atom in law if atom.loss is not None and not atom.p.is_zero()]
    return listed, sum((atom.p for atom in law if atom.q.is_zero()), ball(0))


def divergence(listed: Listed, reveal: Any, epsilon: Any) -> Any:
    """reveal + sum of p (1 - e^(eps - loss))+."""
    total, e = reveal, ball(epsilon)
    for mass, loss in listed:
        if isinstance(loss, Fraction) and isinstance(epsilon, Fraction):
            if loss > epsilon:
                total += mass * -ball(epsilon - loss).expm1()
            continue
        gap = e - ball(loss)
        if gap < 0:
            total += mass * -gap.expm1()
        elif not gap >= 0:
            total += ball(0).union((mass * -gap.lower().expm1()).upper())
    return total


def _lattice(parts: list[tuple[Listed, int]], most: int) -> Listed | None:
    """All sums by powers of polynomials, where all losses are multiples of one unit and these are few."""
    losses = [loss for listed, _ in parts for _, loss in listed]
    if not all(isinstance(loss, Fraction) for loss in losses):
        return None
    top = math.lcm(*(loss.denominator for loss in losses))
    lowest = [min(loss for _, loss in listed) for listed, _ in parts]
    gaps = [loss - low for (listed, _), low in zip(parts, lowest, strict=True) for _, loss in listed]
    unit = Fraction(math.gcd(*(int(gap * top) for gap in gaps)) or 1, top)
    highest = [max(loss for _, loss in listed) for listed, _ in parts]
    widths = [int((high - low) / unit) for low, high in zip(lowest, highest, strict=True)]
    if sum(width * count for width, (_, count) in zip(widths, parts, strict=True)) > most:
        return None
    made = flint().arb_poly([1])
    for (listed, count), low, width in zip(parts, lowest, widths, strict=True):
        row = [ball(0)] * (width + 1)
        for mass, loss in listed:
            row[int((loss - low) / unit)] += mass
        made = made * flint().arb_poly(row) ** count
    start = sum((low * count for low, (_, count) in zip(lowest, parts, strict=True)), Fraction(0))
    # a mass is not negative: what a ball says below 0 is rounding
    return [(mass.max(ball(0)), start + unit * i) for i, mass in enumerate(made.coeffs())]


def _multisets(count: int, kinds: int) -> Iterator[tuple[int, ...]]:
    if kinds == 1:
        yield (count,)
        return
    for first in range(count + 1):
        for rest in _multisets(count - first, kinds - 1):
            yield first, *rest


def _power(listed: Listed, count: int) -> Listed:
    """Sums of `count` losses, one for each multiset."""
    powers = []
    for mass, _ in listed:
        row = [ball(1)]
        for _ in range(count):
            row.append(row[-1] * mass)
        powers.append(row)
    found = []
    for chosen in _multisets(count, len(listed)):
        ways = math.factorial(count) // math.prod(map(math.factorial, chosen))
        mass = ball(flint().fmpz(ways))
        for row, times in zip(powers, chosen, strict=True):
            mass *= row[times]
        loss: Any = Fraction(0)
        for (_, one), times in zip(listed, chosen, strict=True):
            loss = _plus(loss, one * times) if times else loss
        found.append((mass, loss))
    return found


def _plus(one: Any, other: Any) -> Any:
    if isinstance(one, Fraction) and isinstance(other, Fraction):
        return one + other
    return ball(one) + ball(other)


def _merged(listed: Listed) -> Listed:
    """Equal stated losses once."""
    exact: dict[Fraction, Any] = {}
    for mass, loss in listed:
        if isinstance(loss, Fraction):
            exact[loss] = exact.get(loss, ball(0)) + mass
    return [(mass, loss) for loss, mass in exact.items()] + [m for m in listed if not isinstance(m[1], Fraction)]


def composed(releases: tuple[Release, ...], most: int = MAX_ATOMS) -> tuple[Listed, Any, str]:
    """Every sum of losses with its mass, the mass that reveals the world, and how they were listed."""
    parts, kept = [], ball(1)
    for release in releases:
        listed, reveal = single(law_of(release))
        if not listed:
            return [], ball(1), "everything is revealed"
        parts.append((_merged(listed), release.count))
        kept *= (1 - reveal) ** release.count
    size = math.prod(math.comb(count + len(listed) - 1, count) for listed, count in parts)
    whole = _lattice(parts, min(most, 4 * size)) if parts else [(ball(1), Fraction(0))]
    if whole is not None:
        return whole, 1 - kept, "every loss on its lattice"
    if size > most:
        raise Refused("a list of losses that is too long")
    whole = [(ball(1), Fraction(0))]
    for listed, count in parts:
        power = _power(listed, count)
        whole = [(a * b, _plus(x, y)) for a, x in whole for b, y in power]
    return whole, 1 - kept, "every loss listed"


def judge_few(composition: Composition, epsilon: Fraction) -> Enclosure | None:
    """The enclosure by listing everything, where that is a short list."""
    return judge(composition, epsilon, FEW_ATOMS)


def judge(composition: Composition, epsilon: Fraction, most: int = MAX_ATOMS) -> Enclosure | None:
    """The enclosure by listing everything; Refused where the losses are not finite or too many."""
    listed, reveal, how = composed(composition.releases, most)
    value = divergence(listed, reveal, epsilon)
    return Enclosure.of(value, how, falls=_falls(listed, epsilon))


def _falls(listed: Listed, epsilon: Fraction) -> bool | None:
    """Whether some loss at or above epsilon surely has mass; False where all losses are surely below."""
    e = ball(epsilon)
    at_least = [
        (mass, loss >= epsilon if isinstance(loss, Fraction) else _surely(ball(loss), e)) for mass, loss in listed
    ]
    if any(above and mass > 0 for mass, above in at_least):
        return True
    return False if all(above is False for _, above in at_least) else None


def _surely(loss: Any, e: Any) -> bool | None:
    return True if loss >= e else False if loss < e else None
