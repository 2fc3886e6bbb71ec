"""The analytic half of a proof: divergences of compositions as balls, by contour sums.

Nothing here knows the engine; a loss is its JSON. Theory: theory/proof.md sections 3 and 4.
"""

from __future__ import annotations

from quiltwork.proof.contour.divergence import divergence

__all__ = ["divergence"]
