"""Steps of training as Opacus writes them down: triples (noise multiplier, sample rate, steps)."""

from __future__ import annotations

from typing import Any

from quiltwork import checks
from quiltwork.compose.constructors import gaussian, poisson
from quiltwork.compose.loss import Loss
from quiltwork.errors import InvalidParameter

MECHANISMS = ("rdp", "gdp", "prv", "quiltwork")  # accountants that keep the same triples
TRIPLE = "a triple (noise multiplier, sample rate, steps)"


def three(place: int, triple: Any) -> tuple[Any, Any, Any]:
    """The three numbers of an entry."""
    if not isinstance(triple, (list, tuple)) or len(triple) != 3:
        raise InvalidParameter(f"entry {place} of the history", triple, TRIPLE, "give the list of all entries")
    return triple[0], triple[1], triple[2]


def steps_of(place: int, triple: Any) -> Loss:
    """So many steps of Gaussian noise on a clipped sum, each on a Poisson sample."""
    where = f"of entry {place} of the history"
    noise, rate, steps = three(place, triple)
    sigma = checks.positive(f"the noise multiplier {where}", noise, "without noise nothing bounds the loss")
    share = checks.rate(f"the sample rate {where}", rate, "it is the chance that a record is sampled")
    return checks.count(f"the steps {where}", steps) * poisson(gaussian(sigma, 1.0), share)
