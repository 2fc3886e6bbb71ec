"""Truths on the line to 30 digits with mpmath only: densities, distribution functions, hockey sticks of mixtures."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise

import mpmath as mp

from quiltwork.confounding.line.laws.components import Component, Mixture

DIGITS = 34
Function = Callable[[mp.mpf], mp.mpf]


def number(value: Fraction) -> mp.mpf:
    return mp.mpf(value.numerator) / value.denominator


def typed(value: float) -> mp.mpf:
    return mp.mpf(repr(float(value)))


def density(part: Component) -> Function:
    exact = [number(value) for value in part.exact]
    if part.kind == "normal":
        return lambda x: mp.npdf(x, exact[0], mp.sqrt(exact[1]))
    if part.kind == "laplace":
        return lambda x: mp.exp(-abs(x - exact[0]) / exact[1]) / (2 * exact[1])
    if part.kind == "uniform":
        return lambda x: 1 / (exact[1] - exact[0]) if exact[0] <= x <= exact[1] else mp.mpf(0)
    mean, sd, scale = exact[0], mp.sqrt(exact[1]), exact[2]
    ratio = sd / scale

    def both(x: mp.mpf) -> mp.mpf:
        z, base = (x - mean) / sd, ratio**2 / 2
        left = mp.exp(base - ratio * z) * mp.erfc((ratio - z) / mp.sqrt(2))
        right = mp.exp(base + ratio * z) * mp.erfc((ratio + z) / mp.sqrt(2))
        return (left + right) / (4 * scale)

    return both


def below(part: Component) -> Function:
    """The distribution function."""
    exact = [number(value) for value in part.exact]
    if part.kind == "normal":
        return lambda x: mp.erfc((exact[0] - x) / mp.sqrt(2 * exact[1])) / 2
    if part.kind == "laplace":

        def laplace(x: mp.mpf) -> mp.mpf:
            tail = mp.exp(-abs(x - exact[0]) / exact[1]) / 2
            return tail if x < exact[0] else 1 - tail

        return laplace
    if part.kind == "uniform":
        return lambda x: min(max((x - exact[0]) / (exact[1] - exact[0]), mp.mpf(0)), mp.mpf(1))
    mean, sd, scale = exact[0], mp.sqrt(exact[1]), exact[2]
    ratio = sd / scale

    def both(x: mp.mpf) -> mp.mpf:
        z, base = (x - mean) / sd, ratio**2 / 2
        up = mp.exp(base - ratio * z) * mp.erfc((ratio - z) / mp.sqrt(2))
        down = mp.exp(base + ratio * z) * mp.erfc((ratio + z) / mp.sqrt(2))
        return mp.erfc(-z / mp.sqrt(2)) / 2 - (up - down) / 4

    return both


def spread(part: Component) -> mp.mpf:
    exact = [number(value) for value in part.exact]
    if part.kind == "uniform":
        return exact[1] - exact[0]
    return {"normal": lambda: mp.sqrt(exact[1]), "laplace": lambda: exact[1]}.get(
        part.kind, lambda: mp.sqrt(exact[1]) + exact[2]
    )()


def difference(p: Mixture, q: Mixture, epsilon: float, of: Callable[[Component], Function]) -> Function:
    """x -> p - t q, of densities or of distribution functions; weights and epsilon are the decimals typed."""
    odds = mp.exp(typed(epsilon))
    terms = [(typed(w), of(part)) for w, part in zip(p.weights, p.components, strict=True)]
    terms += [(-odds * typed(w), of(part)) for w, part in zip(q.weights, q.components, strict=True)]
    return lambda x: mp.fsum(weight * function(x) for weight, function in terms)


def stick(p: Mixture, q: Mixture, epsilon: float, steps: int = 40) -> mp.mpf:
    """E_t(p||q): zeros of p - t q by bisection between the places of a scan, then distribution functions.

    Kinks and jumps end the pieces that are scanned, so that a zero can only be missed together with its neighbour.
    """
    parts = (*p.components, *q.components)
    at = difference(p, q, epsilon, density)
    total = difference(p, q, epsilon, below)
    ends = {number(value) for part in parts for value in part.exact[: 2 if part.kind == "uniform" else 1]}
    places = set(ends)
    for part in parts:
        centre, size = number(part.exact[0]), spread(part)
        places |= {centre + size * mp.mpf(k) * 12 / steps for k in range(-steps, steps + 1)}
        places |= {centre + sign * size * 12 * mp.mpf("1.1") ** k for sign in (-1, 1) for k in range(1, 40)}
    hair = mp.mpf(10) ** -25
    ordered = sorted(place + shift for place in places for shift in ((-hair, hair) if place in ends else (mp.mpf(0),)))
    values = [at(place) for place in ordered]
    cuts = [-(mp.mpf(10) ** 6)]
    for a, b, u, v in zip(ordered, ordered[1:], values, values[1:], strict=False):
        if mp.sign(u) != mp.sign(v):
            cuts.append(_zero(at, a, b, u))
    cuts.append(mp.mpf(10) ** 6)
    sums = [total(place) for place in cuts]
    return mp.fsum(max(b - a, mp.mpf(0)) for a, b in pairwise(sums))


def _zero(at: Function, a: mp.mpf, b: mp.mpf, u: mp.mpf) -> mp.mpf:
    for _ in range(100):
        middle = (a + b) / 2
        value = at(middle)
        if mp.sign(u) == mp.sign(value):
            a = middle
        else:
            b = middle
    return a
