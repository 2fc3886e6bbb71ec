"""Attackers, each named with what it knows; one file each.

Names load on first use, because some need torch or scikit-learn.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

_HOMES = {
    "AdaptiveThreshold": "thresholds",
    "Attacker": "knowledge",
    "Budget": "knowledge",
    "Calibrated": "thresholds",
    "FeatureHead": "feature_head",
    "Fitted": "knowledge",
    "FixedThreshold": "thresholds",
    "Knowledge": "knowledge",
    "LinearGaussian": "linear_gaussian",
    "Neural": "neural",
    "OptimalTest": "optimal",
    "Ridge": "ridge",
    "Score": "likelihood",
    "SupportVector": "sklearn",
    "Tree": "sklearn",
}

if TYPE_CHECKING:
    from quiltwork.game.attackers.feature_head import FeatureHead
    from quiltwork.game.attackers.knowledge import Attacker, Budget, Fitted, Knowledge
    from quiltwork.game.attackers.likelihood import Score
    from quiltwork.game.attackers.linear_gaussian import LinearGaussian
    from quiltwork.game.attackers.neural import Neural
    from quiltwork.game.attackers.optimal import OptimalTest
    from quiltwork.game.attackers.ridge import Ridge
    from quiltwork.game.attackers.sklearn import SupportVector, Tree
    from quiltwork.game.attackers.thresholds import AdaptiveThreshold, Calibrated, FixedThreshold

__all__ = [
    "AdaptiveThreshold",
    "Attacker",
    "Budget",
    "Calibrated",
    "FeatureHead",
    "Fitted",
    "FixedThreshold",
    "Knowledge",
    "LinearGaussian",
    "Neural",
    "OptimalTest",
    "Ridge",
    "Score",
    "SupportVector",
    "Tree",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
