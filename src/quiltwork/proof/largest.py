"""The largest finite loss: from there on D is the mass that reveals the world, and up to there it falls.

D(x) - D(epsilon) > 0 for every x < epsilon if and only if some finite losses lie above x, so D falls strictly just left
of epsilon where epsilon is at most the largest finite loss (its essential supremum), and only there.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from quiltwork.proof import finite
from quiltwork.proof.balls import Enclosure, ball
from quiltwork.proof.closed_forms import gaussian_square
from quiltwork.proof.description import Composition, Release
from quiltwork.proof.fields import Refused

INFINITE = ("discrete_gaussian", "fixed_size", "random_allocation")  # of Gaussian noise
NOISE = ("gaussian", "gdp", "laplace", "gaussian_mixture", "discrete_gaussian", "discrete_laplace")
SAMPLED = ("sampled_group", "fixed_size", "truncated_poisson", "random_allocation")  # as their base, nothing reveals


def of_release(release: Release) -> tuple[Any, Any]:
    """(the largest finite loss, exact where it is stated; P(loss = inf)) in its direction."""
    node, kind = release.node, release.kind
    square = gaussian_square(release)
    if square is not None:
        return (_infinite() if square else Fraction(0)), ball(0)
    if kind in ("laplace", "exponential"):
        stated = kind == "exponential"
        return release.number("epsilon") if stated else release.number("sensitivity") / release.number("scale"), ball(0)
    if kind == "mixture":
        found = [(weight, *of_release(release.inside(one))) for weight, one in node["components"] if weight]
        return _most([top for _, top, _ in found]), sum((ball(w) * reveal for w, _, reveal in found), ball(0))
    if kind == "poisson":
        return _sampled(release.direction, release.number("rate"), *of_release(release.inside(node["base"])))
    if kind == "gaussian_mixture":
        moved = [w for c, w in zip(node["sensitivities"], node["weights"], strict=True) if c]
        return _of_rate(release.direction, sum(moved, Fraction(0))), ball(0)
    if kind in INFINITE and node.get("base", node).get("sigma") and node.get("base", node)["sensitivity"]:
        return _infinite(), ball(0)
    law = finite.law_of(release)
    listed, reveal = finite.single(law)
    return (_most([loss for _, loss in listed]) if listed else -_infinite()), reveal


def _infinite() -> Any:
    return ball(0).exp() * float("inf")


def _most(losses: list[Any]) -> Any:
    if all(isinstance(loss, Fraction) for loss in losses):
        return max(losses)
    found = ball(losses[0])
    for loss in losses[1:]:
        found = found.max(ball(loss))
    return found


def _of_rate(direction: str, rate: Fraction) -> Any:
    """A sample of unbounded losses."""
    if not rate:
        return Fraction(0)
    return _infinite() if direction == "remove" or rate == 1 else -ball(1 - rate).log()


def _sampled(direction: str, rate: Fraction, top: Any, reveal: Any) -> tuple[Any, Any]:
    """A sample of a release with this largest finite loss and this mass that reveals."""
    if rate in (0, 1):
        return (top, reveal) if rate else (Fraction(0), ball(0))
    unbounded = bool(ball(top) > 0 and not ball(top).is_finite())
    if direction == "remove":
        mass = ball(rate) * reveal
        return (_infinite() if unbounded else (ball(rate) * ball(top).expm1()).log1p()), mass
    if unbounded or reveal > 0:  # an infinite loss of the base ends at that of the chance to be left out
        return _of_rate(direction, rate), ball(0)
    if not reveal.is_zero():
        raise Refused("a mass that reveals, or none")
    return -(ball(rate) * (-ball(top)).expm1()).log1p(), ball(0)


def of_composition(composition: Composition) -> tuple[Any, Any]:
    """The same of all releases together."""
    top: Any = Fraction(0)
    kept = ball(1)
    for release in composition.releases:
        one, reveal = of_release(release)
        both = isinstance(top, Fraction) and isinstance(one, Fraction)
        top = top + release.count * one if both else ball(top) + release.count * ball(one)
        kept *= (1 - reveal) ** release.count
    return top, 1 - kept


def revealed_by(release: Release) -> Any:
    """P(loss = inf) of one release, also where its largest finite loss is not known."""
    node, kind = release.node, release.kind
    if kind in NOISE or kind == "zcdp" or (kind == "rdp" and any(e is not None for e in node["epsilons"])):
        return ball(0)  # a finite divergence of an order above 1 leaves no room for it
    if kind in SAMPLED and node["base"]["kind"] in NOISE:
        return ball(0)
    if kind == "mixture":
        parts = [ball(weight) * revealed_by(release.inside(one)) for weight, one in node["components"] if weight]
        return sum(parts, ball(0))
    if kind == "poisson" and node["rate"] < 1:
        inside = ball(node["rate"]) * revealed_by(release.inside(node["base"]))
        return inside if release.direction == "remove" else ball(0)
    return of_release(release)[1]


def revealed(composition: Composition) -> Any:
    """The same of all releases together."""
    kept = ball(1)
    for release in composition.releases:
        kept *= (1 - revealed_by(release)) ** release.count
    return 1 - kept


def falls(composition: Composition, epsilon: Fraction) -> bool | None:
    """Whether D falls strictly just left of epsilon; None where that is not known."""
    try:
        top, _ = of_composition(composition)
    except Refused:
        return None
    if isinstance(top, Fraction):
        return epsilon <= top
    e = ball(epsilon)
    return True if e <= top else False if e > top else None


def judge(composition: Composition, epsilon: Fraction) -> Enclosure | None:
    """The enclosure where no finite loss is above epsilon, or None."""
    top, reveal = of_composition(composition)
    if epsilon >= top if isinstance(top, Fraction) else ball(epsilon) >= top:
        return Enclosure.of(reveal, "no finite loss is larger")
    return None
