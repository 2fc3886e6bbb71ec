"""Truths that are closed forms or finite sums: Gaussians, randomized responses, Laplace noise, one sampled Gaussian.

Everything takes decimals as strings, because the questions are about those and not about the nearest doubles.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import mpmath


def root(delta_at: Callable[[Any], Any], delta: str, high: Any, digits: int) -> Any:
    """Where a falling function passes delta between 0 and `high`: bisected until secants are safe."""
    goal, low = mpmath.mpf(delta), mpmath.mpf(0)
    for _ in range(16):
        middle = (low + high) / 2
        low, high = (middle, high) if delta_at(middle) > goal else (low, middle)
    one, two = low, (low + high) / 2
    first, second = (mpmath.log(delta_at(place) / goal) for place in (one, two))
    while second != first and abs(two - one) > abs(two) * mpmath.mpf(10) ** -digits:
        one, two, first = two, two - second * (two - one) / (second - first), second
        second = mpmath.log(delta_at(two) / goal)
    return two


# ---- Gaussians


def gaussian_delta(mu: Any, epsilon: Any) -> Any:
    """delta of a Gaussian composition."""
    return mpmath.ncdf(-epsilon / mu + mu / 2) - mpmath.exp(epsilon) * mpmath.ncdf(-epsilon / mu - mu / 2)


def gaussian_epsilon(squared: str, delta: str) -> Any:
    """Root of the closed form for mu^2 = `squared`, in 120 digits."""
    with mpmath.workdps(120):
        mu = mpmath.sqrt(mpmath.mpf(squared))
        return root(lambda epsilon: gaussian_delta(mu, epsilon), delta, mpmath.mpf(200), 60)


def sampled_epsilon(sigma: str, rate: str, delta: str, direction: str) -> Any:
    """One Gaussian on a sample: its loss grows (remove) or falls (add) with the output, so that tails are normal ones.

    Above x: P has (1 - q) N(0) + q N(1) and Q has N(0); for add they change places, and the tail is the one below x.
    """
    s, q = mpmath.mpf(sigma), mpmath.mpf(rate)
    removed = direction == "remove"
    side = 1 if removed else -1

    def delta_at(epsilon: Any) -> Any:
        ratio = mpmath.exp(side * epsilon)
        x = s**2 * mpmath.log((ratio - 1 + q) / q) + mpmath.mpf(1) / 2
        plain, moved = mpmath.ncdf(-side * x / s), mpmath.ncdf(side * (1 - x) / s)
        mixed = (1 - q) * plain + q * moved
        return mixed - ratio * plain if removed else plain - mixed / ratio

    return root(delta_at, delta, mpmath.mpf(10) if removed else -mpmath.log1p(-q), mpmath.mp.dps - 5)


# ---- randomized responses


@functools.cache
def lattice(groups: tuple[tuple[int, int], ...], step: str) -> list[tuple[Any, Any]]:
    """Losses and masses of randomized responses with epsilon = multiple * step; groups: (multiple, count)."""
    masses = {0: mpmath.mpf(1)}
    base = mpmath.mpf(step)
    for multiple, count in groups:
        p = 1 / (1 + mpmath.exp(-multiple * base))
        found: dict[int, Any] = {}
        for ones in range(count + 1):
            mass = mpmath.binomial(count, ones) * p**ones * (1 - p) ** (count - ones)
            for loss, before in masses.items():
                at = loss + (2 * ones - count) * multiple
                found[at] = found.get(at, 0) + before * mass
        masses = found
    return sorted((base * loss, mass) for loss, mass in masses.items())


def lattice_epsilon(groups: tuple[tuple[int, int], ...], step: str, delta: str, reveal: Any = 0) -> Any:
    """Exact: between two losses of the lattice delta is linear in e^epsilon."""
    with mpmath.workdps(60):
        goal = (mpmath.mpf(delta) - reveal) / (1 - reveal)
        points = lattice(groups, step)[::-1]
        return _crossed(((loss, mass, mass * mpmath.exp(-loss)) for loss, mass in points), goal)


def response_epsilon(epsilon: str, count: int, delta: str) -> Any:
    """The same for equal responses, from the largest loss down: each mass is a multiple of the one before."""
    with mpmath.workdps(60):
        base = mpmath.mpf(epsilon)
        p, q = 1 / (1 + mpmath.exp(-base)), 1 / (1 + mpmath.exp(base))
        falls, rises = q / p, p / q

        def points() -> Any:
            mass, other = p**count, q**count
            for rare in range(count + 1):
                yield base * (count - 2 * rare), mass, other
                share = mpmath.mpf(count - rare) / (rare + 1)
                mass, other = mass * falls * share, other * rises * share

        return _crossed(points(), mpmath.mpf(delta))


def _crossed(points: Any, goal: Any) -> Any:
    """Where delta passes the goal; points: losses from the largest down, and their masses under P and Q."""
    above, weighted, last = mpmath.mpf(0), mpmath.mpf(0), None
    for loss, mass, other in points:
        if above > goal and (epsilon := mpmath.log((above - goal) / weighted)) >= loss:
            return min(epsilon, last)
        above, weighted, last = above + mass, weighted + other, loss
    if above > goal:
        return min(mpmath.log((above - goal) / weighted), last)
    raise ArithmeticError("delta is not reached")


# ---- Laplace noise


def laplace_delta(noise: str, count: int, epsilon: Any) -> Any:
    """delta of `count` releases with epsilon `noise` each: a finite sum, as an interval of mpmath.iv that holds it.

    With z = s + 1/2 the moment M(s) is e^(-noise/2)/2 (e^(z noise) (1 + 1/2z) + e^(-z noise) (1 - 1/2z)). Its power is
    a sum of e^(z (2j - count) noise) times a polynomial in 1/z, and the contour integral of each term is its residue at
    0, plus one at 1/2 for j = count. Terms with (2j - count) noise below epsilon vanish. The residue at 0 is
    2 sum_m a[count-1-m] y^m / m! with y = ((2j - count) noise - epsilon)/2, where a are the coefficients of
    (w + 1)^(j-1) (w - 1)^(count-j-1).
    """
    iv = mpmath.iv
    one, epsilon = iv.mpf(noise), iv.mpf(epsilon)
    sums = list(itertools.accumulate(math.comb(count - 1, n) for n in range(count)))
    y = (count * one - epsilon) / 2
    total = 2**count * iv.exp(y) - 2 * _series(sums[::-1], y)
    coefficients = [math.comb(count - 2, n) for n in range(count - 1)]  # of j = count - 1
    for j in range(count - 1, 0, -1):
        y = ((2 * j - count) * one - epsilon) / 2
        if not y > 0:
            break
        total += 2 * math.comb(count, j) * _series([0, *coefficients[::-1]], y)
        coefficients = _shifted(coefficients)
    return iv.exp((epsilon - count * one) / 2) / 2**count * total


def _series(coefficients: list[int], y: Any) -> Any:
    """sum_m coefficients[m] y^m / m!, with powers between two whole numbers: faster than intervals of floats."""
    bits = mpmath.iv.prec
    with mpmath.workprec(2 * bits):
        least, most = int(mpmath.floor(mpmath.ldexp(y.a, bits))), int(mpmath.ceil(mpmath.ldexp(y.b, bits)))
    low = high = 1 << bits
    bottom = top = 0
    for m, coefficient in enumerate(coefficients):
        one, two = (low, high) if coefficient > 0 else (high, low)
        bottom, top = bottom + coefficient * one, top + coefficient * two
        low, high = low * least // ((m + 1) << bits), -(-high * most // ((m + 1) << bits))
    return mpmath.iv.mpf([bottom, top]) / 2**bits


def _shifted(coefficients: list[int]) -> list[int]:
    """One factor w + 1 divided out, and one factor w - 1 multiplied in; whole numbers, lowest power first."""
    quotient, carry = [0] * (len(coefficients) - 1), 0
    for n in range(len(coefficients) - 1, 0, -1):
        carry = coefficients[n] - carry
        quotient[n - 1] = carry
    return [a - b for a, b in zip([0, *quotient], [*quotient, 0], strict=True)]


def laplace_epsilon(noise: str, count: int, delta: str, digits: int) -> Any:
    """The root, enclosed: just below it delta is certainly above its goal, and just above it certainly below."""
    bits = 400 + count + int(3 * count * math.sqrt(float(noise)))  # coefficients, and what cancels among them
    before, mpmath.iv.prec = mpmath.iv.prec, bits
    try:
        with mpmath.workprec(bits):
            found = root(
                lambda epsilon: mpmath.mpf(laplace_delta(noise, count, epsilon).mid),
                delta,
                count * mpmath.mpf(noise),
                digits + 5,
            )
            apart, goal = mpmath.mpf(10) ** -digits, mpmath.iv.mpf(delta)
            if not (
                laplace_delta(noise, count, found * (1 - apart))
                > goal
                > laplace_delta(noise, count, found * (1 + apart))
            ):
                raise ArithmeticError(f"epsilon {mpmath.nstr(found, 20)} is not enclosed")
    finally:
        mpmath.iv.prec = before
    return found


# ---- any table of outputs, a few times


def table_epsilon(p: tuple[float, ...], q: tuple[float, ...], count: int, delta: str) -> Any:
    """A release with finitely many outputs: every way in which `count` of them can fall, which must not be many."""
    laws = [[mpmath.mpf(mass) for mass in law] for law in (p, q)]
    powers = [[[mass**n / math.factorial(n) for n in range(count + 1)] for mass in law] for law in laws]
    whole = math.factorial(count)
    points = []
    for counts in _ways(count, len(p)):
        one, two = (whole * math.prod(power[n] for power, n in zip(law, counts, strict=True)) for law in powers)
        points.append((mpmath.log(one / two), one, two))
    return _crossed(sorted(points, reverse=True), mpmath.mpf(delta))


def _ways(count: int, places: int) -> Iterator[tuple[int, ...]]:
    """All ways of putting `count` things into so many places."""
    if places == 1:
        yield (count,)
        return
    for first in range(count + 1):
        for others in _ways(count - first, places - 1):
            yield (first, *others)
