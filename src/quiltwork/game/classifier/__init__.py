"""Classifier outputs on a query set: who was asked about?  The MNIST game of the paper's appendix P.5, specified.

QueryRows       a table with one noisy row of class probabilities a query
query_shares    the shares of the query set in bins of each class probability, as ordinary summary statistics
RowMatching     the closed-form attacker of tables, one candidate at a time
RowAssignment   the attacker that assigns rows to candidates all at once
digits_game     all of it for scikit-learn's digits, or MNIST

Reference: seed 004 appendix P.5; theory/game.md sections 3 and 8.
"""

from __future__ import annotations

from quiltwork.game.classifier.attackers import RowAssignment, RowMatching, row_attackers
from quiltwork.game.classifier.digits import DigitsGame, PublicClassifier, digits_game, query_shares, train_classifier
from quiltwork.game.classifier.table import QueryRows

__all__ = [
    "DigitsGame",
    "PublicClassifier",
    "QueryRows",
    "RowAssignment",
    "RowMatching",
    "digits_game",
    "query_shares",
    "row_attackers",
    "train_classifier",
]
