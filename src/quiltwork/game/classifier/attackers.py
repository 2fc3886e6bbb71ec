"""All attackers that can read a table with one row a query, for `ladder`.

Reference: theory/game.md section 3; seed 004 Figure 1h (Bayesian, decision tree, support vectors).
"""

from __future__ import annotations

from quiltwork import checks
from quiltwork.game.attackers.knowledge import Attacker
from quiltwork.game.classifier.assignment import RowAssignment
from quiltwork.game.classifier.matching import RowMatching

__all__ = ["row_attackers"]


def row_attackers(*, quick: bool = False) -> tuple[Attacker, ...]:
    """Those with a closed form, ridge, and those that learn from features; `quick` leaves out networks and machines."""
    from quiltwork.game.attackers.feature_head import FeatureHead
    from quiltwork.game.attackers.neural import Neural
    from quiltwork.game.attackers.ridge import Ridge
    from quiltwork.game.attackers.support_vector import SupportVector
    from quiltwork.game.attackers.tree import Tree

    few: tuple[Attacker, ...] = (RowAssignment(), RowMatching(), Ridge(), Tree())
    if checks.flag("quick", quick):
        return few
    learners = (Tree(linear=True), SupportVector(), SupportVector(linear=True), FeatureHead(linear=False))
    return (*few, *learners, FeatureHead(), Neural(linear=True), Neural())
