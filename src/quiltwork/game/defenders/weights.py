"""Prices of the attributes: kappa_j says how much an error in attribute j costs; 0 says that nobody needs it.

An attribute of price 0 is not published at all: its reference frequency stands in, which tells nothing about members.

Reference: seed 004 P.3 (position-dependent weights); theory/game.md section 4.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.errors import InvalidParameter

__all__ = ["prices", "stated"]

_HIGHEST = 1e6


def stated(weights: Any) -> tuple[float, ...] | None:
    """Prices as a tuple of numbers, or None when all attributes cost the same."""
    if weights is None:
        return None
    values = checks.numbers("weights", weights, f"numbers in [0, {_HIGHEST:g}], one an attribute", 0.0, _HIGHEST)
    if values.ndim != 1:
        raise InvalidParameter("weights", f"shape {values.shape}", "a list of numbers, one an attribute")
    if bool(np.any((values > 0) & (values < 1 / _HIGHEST))):
        raise InvalidParameter("weights", weights, f"0, or from {1 / _HIGHEST:g} to {_HIGHEST:g}")
    return tuple(float(value) for value in values)


def prices(weights: tuple[float, ...] | None, attributes: int) -> FloatArray:
    """One price an attribute."""
    if weights is None:
        return np.ones(attributes)
    if len(weights) != attributes:
        raise InvalidParameter("weights", len(weights), f"{attributes} numbers, one an attribute")
    return np.asarray(weights, dtype=float)
