"""Attackers that can read a table with one row a query: rows are matched one at a time, or assigned all at once.

Matching is the closed form in `row_matching`.  In an assignment no image is queried twice, and each row has an image.
The posterior of a query set is a sum over assignments of rows to different candidates (a permanent), which nobody can
sum for 50 rows.  Messages between rows and candidates (belief propagation) approach the marginals:

    row to candidate    m_ik = w_k p_ik / sum_{l != k} w_l p_il v_il
    candidate to row    v_ik = 1 / (1 + sum_{j != i} m_jk)
    odds of k           sum_i m_ik

with w_k the prior odds of k.  Exact for one row; close to the truth on all games small enough to sum (see tests).

Reference: Williams and Lau 2014 (data association by belief propagation); Vontobel 2013 (the Bethe permanent);
theory/game.md section 3 (T1: the marginal posterior is the best score); seed 004 Figure 1h (Bayesian, decision tree,
support vectors).
"""

from __future__ import annotations

import attrs
import numpy as np
from scipy.special import logit

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.errors import Unsupported
from quiltwork.game.attackers.features import FeatureHead, SupportVector, Tree
from quiltwork.game.attackers.knowledge import Attacker, Budget, Fitted, Knowledge, Scoring
from quiltwork.game.attackers.linear import Ridge
from quiltwork.game.attackers.neural import Neural
from quiltwork.game.classifier.row_matching import CERTAIN, matching_odds, others, relative
from quiltwork.game.classifier.table import QueryRows
from quiltwork.game.people.population import Members
from quiltwork.game.releases import Release
from quiltwork.kinds import document


def table_of(release: Release, name: str) -> QueryRows:
    """The release, if it is a table of rows whose noise is known."""
    if not isinstance(release, QueryRows):
        raise Unsupported(f"{name} on {release.name}", "it reads tables with one row a query", "use QueryRows")
    return release


@document("row_matching/1")
@attrs.frozen
class RowMatching:
    """Each candidate's likelihood ratio, with the other candidates as a mixture; nothing is learned."""

    name: str = "row matching"
    knows: Knowledge = Knowledge.T1

    def fit(self, release: Release, rng: np.random.Generator, budget: Budget) -> Fitted:
        """Nothing is drawn: the law of the noise and all candidates are known."""
        table = table_of(release, self.name)
        return Scoring(lambda outputs: table.evidence(outputs, matching_odds))


_ASSIGNED_FLOOR = -280.0  # with the cap on messages, products stay above the smallest float
_CAP = 1e150
_SETTLED = 1e-4  # change of the log-odds in a round


def assignment_odds(
    logs: FloatArray, filled: Members, prior: FloatArray, weights: FloatArray, rounds: int
) -> FloatArray:
    """Log-odds of each candidate after so many rounds, or when they have settled."""
    shares = relative(logs + np.log(weights), filled, _ASSIGNED_FLOOR)
    empty = ~filled[:, :, None]
    back: FloatArray = np.ones(shares.shape)
    odds: FloatArray = np.zeros(prior.shape)
    for _ in range(rounds):
        message = np.minimum(shares / (others(shares * back, 2) + empty), _CAP)
        back = 1.0 / (1.0 + others(message, 1))
        before, odds = odds, np.asarray(np.log(np.maximum(message.sum(axis=1), 1.0 / _CAP)))
        if float(np.abs(odds - before).max()) < _SETTLED:
            break
    return np.where(np.abs(prior) >= CERTAIN, prior, odds)


@document("row_assignment/1")
@attrs.frozen
class RowAssignment:
    """Marginal posteriors by belief propagation; nothing is learned."""

    rounds: int = attrs.field(default=30, validator=checks.field(checks.count, 1))
    name: str = "row assignment"
    knows: Knowledge = Knowledge.T1

    def fit(self, release: Release, rng: np.random.Generator, budget: Budget) -> Fitted:
        """Nothing is drawn: the law of the noise and all candidates are known."""
        table = table_of(release, self.name)
        odds = np.asarray(logit(table.population.prior.rates(table.population.size[0])))
        weights = np.exp(odds - odds.max())  # a common factor of all cancels, because the size is known

        def read(logs: FloatArray, filled: Members, prior: FloatArray) -> FloatArray:
            return assignment_odds(logs, filled, prior, weights, self.rounds)

        return Scoring(lambda outputs: table.evidence(outputs, read))


def row_attackers(*, quick: bool = False) -> tuple[Attacker, ...]:
    """Those with a closed form, ridge, and those that learn from features; `quick` leaves out networks and machines."""
    few: tuple[Attacker, ...] = (RowAssignment(), RowMatching(), Ridge(), Tree())
    if checks.flag("quick", quick):
        return few
    learners = (Tree(linear=True), SupportVector(), SupportVector(linear=True), FeatureHead(linear=False))
    return (*few, *learners, FeatureHead(), Neural(linear=True), Neural())
