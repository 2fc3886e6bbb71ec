"""Theorem 3 of seed 002 as printed, the way a reader of the paper would type it in.

Two constraints (eps_1, delta_1), (eps_2, delta_2) composed k times: for every pair (u, v) with a non-negative slope, a
sum over all (a, b, c, d) with a + b + c + d = k. That is O(k^5) terms; the printed ceil and alpha are kept, in double
precision, with their faults (theory/multi-constraints.md, section 1).
"""

import math


def faces(epsilons: tuple[float, float], deltas: tuple[float, float], k: int) -> list[tuple[float, float]]:
    """Every (eps_uv, delta_uv), with the reveal mass 1 - (1 - delta_1)^k mixed in."""
    (e1, e2), (d1, d2) = epsilons, deltas
    alpha = ((1 - d1) * math.exp(e2) - (1 - d2) * math.exp(e1) + (d2 - d1)) / ((math.exp(e2) - math.exp(e1)) * (1 - d1))
    reveal = 1 - (1 - d1) ** k
    found = []
    for u in range(k + 1):
        for v in range(k + 1):
            if u >= math.ceil((k * e1 - v * (e1 - e2)) / (e1 + e2)):
                epsilon = e1 * (u + v - k) + e2 * (u - v)
                delta = _delta(e1, e2, alpha, k, u, v)
                found.append((epsilon, reveal + (1 - reveal) * delta))
    return found


def _delta(e1: float, e2: float, alpha: float, k: int, u: int, v: int) -> float:
    total = 0.0
    for a in range(k + 1):
        for b in range(k + 1 - a):
            for c in range(k + 1 - a - b):
                d = k - a - b - c
                if (a + k - d - u - v) * e1 + (b + v - c - u) * e2 > 0:
                    total += (
                        _multinomial(k, a, b, c, d)
                        * ((1 - alpha) / (math.exp(e1) + 1)) ** (a + d)
                        * (alpha / (math.exp(e2) + 1)) ** (b + c)
                        * (math.exp(a * e1 + b * e2) - math.exp((d + u + v - k) * e1 + (c + u - v) * e2))
                    )
    return total


def _multinomial(k: int, *parts: int) -> int:
    return math.factorial(k) // math.prod(map(math.factorial, parts))
