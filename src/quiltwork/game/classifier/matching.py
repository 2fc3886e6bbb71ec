"""The attacker that matches rows to candidates one at a time.

Reference: the closed form in `evidence`; theory/game.md section 3 (T1).
"""

from __future__ import annotations

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.errors import Unsupported
from quiltwork.game.attackers.knowledge import Budget, Fitted, Knowledge
from quiltwork.game.classifier.evidence import Evidence, matching_odds
from quiltwork.game.classifier.rows import QueryRows
from quiltwork.game.priors import Members
from quiltwork.game.release import Release

__all__ = ["FittedReader", "RowMatching", "table_of"]


@attrs.frozen(eq=False)
class FittedReader:
    """Scores that are read off the likelihoods of rows and candidates."""

    release: QueryRows
    read: Evidence

    def scores(self, outputs: FloatArray, members: Members | None = None) -> FloatArray:
        """Log-odds of membership, one a release and candidate."""
        return self.release.evidence(outputs, self.read)


def table_of(release: Release, name: str) -> QueryRows:
    """The release, if it is a table of rows whose noise is known."""
    if not isinstance(release, QueryRows):
        raise Unsupported(f"{name} on {release.name}", "it reads tables with one row a query", "use QueryRows")
    return release


@attrs.frozen
class RowMatching:
    """Each candidate's likelihood ratio, with the other candidates as a mixture; nothing is learned."""

    name: str = "row matching"
    knows: Knowledge = Knowledge.T1

    def fit(self, release: Release, rng: np.random.Generator, budget: Budget) -> Fitted:
        """Nothing is drawn: the law of the noise and all candidates are known."""
        return FittedReader(table_of(release, self.name), matching_odds)
