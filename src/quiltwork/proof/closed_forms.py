"""Divergences in closed form: Gaussians of any number, and one release of many kinds.

Sampling of a base pair (P0, Q0) at rate q, with t = e^eps:

    removed  D = q D0(log((t - 1 + q) / q)),              1 - t where the logarithm has no argument;
    added    D = c D0'(log(t q / c)), c = 1 - t (1 - q),   0 where c <= 0,

with D0' the divergence of the base with the worlds exchanged.

Reference: theory/proof.md section 4; theory/engine.md section 1.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from quiltwork.proof import discrete_gaussians, finite
from quiltwork.proof.balls import Enclosure, ball, normal_tail
from quiltwork.proof.description import Composition, Release
from quiltwork.proof.fields import Refused


def gaussian_square(release: Release) -> Fraction | None:
    """mu^2 of one release, exactly; None for what is no Gaussian."""
    if release.kind == "gaussian":
        return (release.number("sensitivity") / release.number("sigma")) ** 2
    return release.number("mu") ** 2 if release.kind == "gdp" else None


def gaussian_sum(composition: Composition) -> Fraction | None:
    """mu^2 of all releases together, exactly; None where one is no Gaussian."""
    squares = [gaussian_square(release) for release in composition.releases]
    if None in squares:
        return None
    return sum((s * r.count for s, r in zip(squares, composition.releases, strict=True) if s), Fraction(0))


def gaussian(mu: Any, epsilon: Any) -> Any:
    """Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu)."""
    e = ball(epsilon)
    return normal_tail(e / mu - mu / 2) - e.exp() * normal_tail(e / mu + mu / 2)


def laplace(top: Fraction, epsilon: Any) -> Any:
    """1 - e^(-(top - eps)/2) between -top and top."""
    e, t = ball(epsilon), ball(top)
    if epsilon >= top if isinstance(epsilon, Fraction) else e >= t:
        return ball(0)
    if e <= -t:
        return -e.expm1()
    if e >= -t and e <= t:
        return -((e - t) / 2).expm1()
    if e > -t:  # at the top: both sides of it
        return ball(0).union((-((e - t) / 2).expm1()).upper())
    raise Refused("a loss at the very bottom of Laplace noise")


def bounded_range(top: Fraction, epsilon: Any) -> Any:
    """(1 - e^(-(top - eps)/2))^2 / (1 - e^-top): one release of range `top` (Dong, Durfee and Rogers 2020)."""
    e, t = ball(epsilon), ball(top)
    if e >= t:
        return ball(0)
    if e <= -t:
        return -e.expm1()
    if e > -t and e < t:
        return ((e - t) / 2).expm1() ** 2 / -(-t).expm1()
    raise Refused("a loss at the very end of a bounded range")


def release_divergence(release: Release, epsilon: Any) -> Any:
    """D(epsilon) of one release as a ball; Refused where no closed form is known."""
    kind = release.kind
    square = gaussian_square(release)
    if square is not None:
        return gaussian(ball(square).sqrt(), epsilon) if square else _nothing(epsilon)
    if kind == "laplace":
        return laplace(release.number("sensitivity") / release.number("scale"), epsilon)
    if kind == "exponential":
        return bounded_range(release.number("epsilon"), epsilon)
    if kind == "mixture":
        return sum(
            (ball(w) * release_divergence(release.inside(node), epsilon) for w, node in release.node["components"]),
            ball(0),
        )
    if kind == "discrete_gaussian":
        return discrete_gaussians.divergence(release, 1, epsilon)
    if kind == "poisson":
        return _sampled(release, epsilon)
    law = finite.law_of(release)
    return finite.divergence(*finite.single(law), epsilon)


def _nothing(epsilon: Any) -> Any:
    e = ball(epsilon)
    return ball(0) if e >= 0 else -e.expm1()


def _sampled(release: Release, epsilon: Any) -> Any:
    rate, base = release.number("rate"), release.node["base"]
    e, q = ball(epsilon), ball(rate)
    if not 0 < rate <= 1:
        raise Refused(f"a sampling rate of {rate}")
    if release.direction == "remove":
        odds = e.expm1() + q
        if odds <= 0:
            return -e.expm1()
        if odds > 0:
            return q * release_divergence(release.inside(base), (odds / q).log())
        raise Refused("an epsilon at the least possible loss")
    rest = q - e.expm1() * (1 - q)  # c = 1 - t (1 - q)
    if rest <= 0:
        return ball(0)
    if rest > 0:
        return rest * release_divergence(release.inside(base), e + (q / rest).log())
    raise Refused("an epsilon at the largest possible loss")


def judge(composition: Composition, epsilon: Fraction) -> Enclosure | None:
    """The enclosure by a closed form, or None."""
    total = gaussian_sum(composition)
    if total is not None:
        value = gaussian(ball(total).sqrt(), epsilon) if total else _nothing(epsilon)
        words = "closed form of Gaussians" if total else "nothing is told"
        return Enclosure.of(value, words, falls=bool(total) or epsilon <= 0)
    single = composition.single
    if single is None or single.kind in finite.KINDS:
        return None
    return Enclosure.of(release_divergence(single, epsilon), "closed form of one release", falls=None)
