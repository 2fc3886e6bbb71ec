"""Attackers, each named with what it knows; torch and scikit-learn are asked for when one that needs them trains."""

from quiltwork.game.attackers.features import FeatureHead, SupportVector, Tree
from quiltwork.game.attackers.knowledge import Attacker, Budget, Fitted, Knowledge
from quiltwork.game.attackers.likelihood import AdaptiveThreshold, Calibrated, FixedThreshold, Score
from quiltwork.game.attackers.linear import LinearGaussian, Ridge
from quiltwork.game.attackers.neural import Neural
from quiltwork.game.attackers.optimal import OptimalTest

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
