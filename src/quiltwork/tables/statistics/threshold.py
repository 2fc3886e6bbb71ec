"""From which noisy count on a key that nobody listed is shown, and how likely that shows a person who is alone with it.

A key of one person alone is shown with probability P(1 + Z >= tau). With m keys a person all of them stay hidden with
probability (1 - p)^m, so that each may be shown with p <= 1 - (1 - delta)^(1/m), which is more than delta / m.

Reference: theory/release.md section 5.3.
"""

from __future__ import annotations

import math

from quiltwork.errors import InvalidParameter

SPARE = 1e-11  # relative: far above the rounding of the sums and exponentials below
MOST_TERMS = 2_000_000


def single_key(delta: float, keys: int) -> float:
    """The chance with which each of a person's keys may be shown."""
    return -math.expm1(math.log1p(-delta) / keys) * (1 - SPARE)


def reveal(law: str, size: float, tau: int) -> float:
    """P(1 + Z >= tau) for discrete noise, rounded up; tau is at least 2."""
    if law == "laplace":
        return math.exp(-(tau - 1) / size) / (1 + math.exp(-1 / size)) * (1 + SPARE)
    return _gaussian_tail(tau - 1, size) * (1 + SPARE)


def _gaussian_tail(start: int, sigma: float) -> float:
    """P(Z >= start) of the discrete Gaussian: masses added up, each far tail below a geometric series."""
    last = math.ceil(start + 12 * sigma + 10)
    if last - start > MOST_TERMS:
        raise InvalidParameter("sigma", sigma, f"below {MOST_TERMS // 13:,} for keys")
    above = math.fsum(math.exp(-0.5 * (k / sigma) ** 2) for k in range(start, last))
    ratio = math.exp(-last / sigma**2)  # of two masses next to each other, from `last` on at most
    above += math.exp(-0.5 * (last / sigma) ** 2) / -math.expm1(-last / sigma**2) if ratio < 1 else 0.0
    # all masses: at least those of a Gaussian integral (Poisson summation), and at least the one at 0
    whole = max(sigma * math.sqrt(2 * math.pi), 1 + 2 * math.exp(-0.5 / sigma**2))
    return min(above / whole, 1.0)


def threshold(law: str, size: float, chance: float) -> int:
    """The least tau >= 2 at which a person who is alone with a key is shown with at most this chance."""
    if law == "laplace":
        tau = 1 + max(1, math.floor(size * (-math.log(chance) - math.log1p(math.exp(-1 / size)))))
        while reveal(law, size, tau) > chance:
            tau += 1
        return tau
    low, high = 1, 2  # shown too often at `low`, or below all thresholds
    while reveal(law, size, high) > chance:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if reveal(law, size, middle) > chance else (low, middle)
    return high
