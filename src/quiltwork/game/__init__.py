"""The game against membership inference: what the best attacker can tell, and which defence holds it back.

A `Population` has candidates, some of whom are in the data.  A defender turns the exact statistic into a release,
attackers score every candidate, and `ladder` retrains all of them against the frozen release.  Certified numbers come
from closed forms only; attacks give lower bounds.
"""

from quiltwork.game import classifier, composition, finite, populations
from quiltwork.game.attackers.features import FeatureHead, SupportVector, Tree
from quiltwork.game.attackers.knowledge import Attacker, Budget, Fitted, Knowledge
from quiltwork.game.attackers.likelihood import AdaptiveThreshold, Calibrated, FixedThreshold, Score
from quiltwork.game.attackers.linear import LinearGaussian, Ridge
from quiltwork.game.attackers.neural import Neural
from quiltwork.game.attackers.optimal import OptimalTest
from quiltwork.game.defenders import (
    Constant,
    Exact,
    Gaussian,
    Laplace,
    PeelingMean,
    RateDistortion,
    SupNormNoise,
    WaterFilling,
)
from quiltwork.game.finite import composition_identity
from quiltwork.game.gaussian.correlated_release import CorrelatedGaussian
from quiltwork.game.ladder import default_attackers, ladder
from quiltwork.game.leaderboard import Leaderboard
from quiltwork.game.learned import (
    AdaptiveResponse,
    FixedResponse,
    Generative,
    OptimalResponse,
    ScoreResponse,
    train,
)
from quiltwork.game.measures import (
    Bwma,
    Roc,
    auc,
    auc_interval,
    bwma,
    expected_false_positives,
    expected_true_positives,
    individual_auc,
    roc,
    threshold_decisions,
    tpr_at,
)
from quiltwork.game.people.population import Half, Independent, Population, Statistic
from quiltwork.game.publish import Published, publish
from quiltwork.game.releases import Draws, Several, SummaryStatistics
from quiltwork.game.trials import Trials, trials

__all__ = [
    "AdaptiveResponse",
    "AdaptiveThreshold",
    "Attacker",
    "Budget",
    "Bwma",
    "Calibrated",
    "Constant",
    "CorrelatedGaussian",
    "Draws",
    "Exact",
    "FeatureHead",
    "Fitted",
    "FixedResponse",
    "FixedThreshold",
    "Gaussian",
    "Generative",
    "Half",
    "Independent",
    "Knowledge",
    "Laplace",
    "Leaderboard",
    "LinearGaussian",
    "Neural",
    "OptimalResponse",
    "OptimalTest",
    "PeelingMean",
    "Population",
    "Published",
    "RateDistortion",
    "Ridge",
    "Roc",
    "Score",
    "ScoreResponse",
    "Several",
    "Statistic",
    "SummaryStatistics",
    "SupNormNoise",
    "SupportVector",
    "Tree",
    "Trials",
    "WaterFilling",
    "auc",
    "auc_interval",
    "bwma",
    "classifier",
    "composition",
    "composition_identity",
    "default_attackers",
    "expected_false_positives",
    "expected_true_positives",
    "finite",
    "individual_auc",
    "ladder",
    "populations",
    "publish",
    "roc",
    "threshold_decisions",
    "tpr_at",
    "train",
    "trials",
]
