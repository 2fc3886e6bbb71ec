"""Draws from a table of whole numbers: exact probabilities, fresh bits of the operating system, no floats.

No sampler of OpenDP draws from a given table.  A row sums to 2^bits, so `bits` random bits choose an output with
exactly the stated probability, which is what was certified.  The time a draw takes is not hidden.

Reference: theory/confounding.md section 4 (sampling must use the certified table).
"""

from __future__ import annotations

import secrets
from typing import Any

import numpy as np

from quiltwork import checks
from quiltwork.errors import InvalidParameter

MOST_BITS = 62  # so that sums stay within 64 bits
AT_ONCE = 2**18  # draws that are in memory together


def draw(counts: Any, bits: int) -> int:
    """One output, by its number, with probability counts[z] / 2^bits."""
    return int(np.searchsorted(_steps(counts, bits), np.uint64(secrets.randbits(bits)), side="right"))


def draw_many(counts: Any, bits: int, number: int) -> list[int]:
    """How often each output came in so many draws, each of fresh bits."""
    steps = _steps(counts, bits)
    found = np.zeros(steps.size, dtype=np.int64)
    for start in range(0, number, AT_ONCE):
        size = min(AT_ONCE, number - start)
        drawn = np.frombuffer(secrets.token_bytes(8 * size), dtype=np.uint64) >> np.uint64(64 - bits)
        found += np.bincount(np.searchsorted(steps, drawn, side="right"), minlength=steps.size)
    return [int(n) for n in found]


def _steps(counts: Any, bits: int) -> np.ndarray:
    bits = checks.count("bits", bits, least=1)
    if bits > MOST_BITS:
        raise InvalidParameter("bits", bits, f"from 1 to {MOST_BITS}")
    row = np.asarray(counts)
    whole = row.ndim == 1 and row.size > 0 and row.dtype.kind in "iu"
    if not whole or bool(np.any(row < 0)) or sum(map(int, row)) != 1 << bits:
        raise InvalidParameter("counts", counts, f"whole numbers >= 0 that sum to 2^{bits}")
    return np.cumsum(row.astype(np.uint64))
