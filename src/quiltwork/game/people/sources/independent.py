"""People whose attributes are independent coins: the lightest population, and the one without any structure."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.errors import InvalidParameter
from quiltwork.game.people.population import MAX_ENTRIES, Population, Prior

SHAPE = 0.5  # Beta(1/2, 1/2): most attributes are rare or common, as are genetic variants
EDGE = 0.01  # frequencies stay this far from 0 and 1


def independent(
    candidates: int = 100,
    reference: int = 400,
    attributes: int = 500,
    *,
    frequencies: ArrayLike | None = None,
    prior: Prior | None = None,
    seed: int = 0,
) -> Population:
    """Simulated people: attribute j holds with probability f_j, independently of everything else.

    Without `frequencies` each f_j is 0.01 + 0.98 B with B from a Beta(1/2, 1/2), which is U-shaped.

    >>> str(independent(10, 20, 30))
    '10 candidates, 20 reference people, 30 attributes: simulated independent attributes (seed 0)'
    """
    people = checks.count("candidates", candidates, 1) + checks.count("reference", reference, 1)
    width = checks.count("attributes", attributes, 1)
    if people * width > MAX_ENTRIES:
        raise InvalidParameter("people times attributes", people * width, f"at most {MAX_ENTRIES}")
    rng = np.random.default_rng(checks.count("seed", seed))
    if frequencies is None:
        chances: FloatArray = EDGE + (1.0 - 2.0 * EDGE) * rng.beta(SHAPE, SHAPE, width)
    else:
        allowed = f"{width} numbers in [0, 1], one an attribute"
        chances = checks.numbers("frequencies", frequencies, allowed, 0.0, 1.0)
        if chances.shape != (width,):
            raise InvalidParameter("frequencies", f"an array of shape {chances.shape}", allowed)
    rows = rng.random((people, width)) < chances
    source = f"simulated independent attributes (seed {seed})"
    return Population.of(rows, candidates, reference, prior=prior, seed=rng, source=source)
