"""Attackers, defenders, games, leaderboards and audits as documents.

Whatever holds the rows of people, or is a trained network, is not written: keep the file or the seed that it came from.
"""

from __future__ import annotations

from typing import Any

from quiltwork.spec.object_kinds import Kind, Refusal

__all__ = ["KINDS", "REFUSED"]

_GAME, _AUDIT = "quiltwork.game.", "quiltwork.audit."
_PEOPLE = Refusal("it holds the rows of people", "keep the file that they came from, and its seed")
_DRAWN = Refusal("it is a simulation", "draw it again with the same seed")
_TRAINED = Refusal("it holds a trained network", "keep the options and the seed, and train it again")
_WORDS = Refusal("it is what attackers have in common, not a value")


def _knows(name: str) -> Any:
    from quiltwork.errors import InvalidParameter
    from quiltwork.game.attackers.knowledge import Knowledge

    if name not in Knowledge.__members__:
        raise InvalidParameter("name", name, f"one of {', '.join(Knowledge.__members__)}")
    return Knowledge[name]


def _entry(value: Any) -> dict[str, Any]:
    from math import isnan

    names = ("name", "knows", "validation", "auc", "individual_auc", "found_at", "roc", "seconds")
    found = {name: getattr(value, name) for name in names}
    # not a number where one person is never, or always, a member
    return {**found, "individual_auc": None if isnan(value.individual_auc) else value.individual_auc}


def _read_entry(individual_auc: float | None = None, **fields: Any) -> Any:
    from quiltwork.game.leaderboard import Entry

    return Entry(individual_auc=float("nan") if individual_auc is None else individual_auc, **fields)


_PLAIN = {
    "attacker_budget": "attackers.knowledge:Budget",
    "adaptive_threshold": "attackers.thresholds:AdaptiveThreshold",
    "calibrated_attacker": "attackers.thresholds:Calibrated",
    "fixed_threshold": "attackers.thresholds:FixedThreshold",
    "feature_head": "attackers.feature_head:FeatureHead",
    "linear_gaussian": "attackers.linear_gaussian:LinearGaussian",
    "neural": "attackers.neural:Neural",
    "optimal_test": "attackers.optimal:OptimalTest",
    "ridge": "attackers.ridge:Ridge",
    "score": "attackers.score:Score",
    "support_vector": "attackers.support_vector:SupportVector",
    "tree_attacker": "attackers.tree:Tree",
    "row_assignment": "classifier.assignment:RowAssignment",
    "row_matching": "classifier.matching:RowMatching",
    "half": "priors:Half",
    "independent_members": "priors:Independent",
    "constant_defender": "defenders.constant:Constant",
    "exact_defender": "defenders.constant:Exact",
    "gaussian_defender": "defenders.noise:Gaussian",
    "laplace_defender": "defenders.noise:Laplace",
    "rate_distortion": "defenders.closed_forms:RateDistortion",
    "water_filling": "defenders.closed_forms:WaterFilling",
    "generative": "generative.options:Generative",
    "finish": "generative.finish:Finish",
    "history": "generative.history:History",
    "in_loop": "generative.history:InLoop",
    "measured": "generative.gate:Measured",
    "bounded_odds": "generative.odds:BoundedOdds",
    "bwma": "bwma:Bwma",
    "roc": "roc:Roc",
    "interval": "roc:Interval",
    "trials": "trials:Trials",
    "finite_game": "finite.games:FiniteGame",
    "equilibrium": "finite.equilibria:Equilibrium",
    "expected_counts": "finite.counts:ExpectedCounts",
    "gaussian_test": "finite.gaussian_tests:GaussianTest",
    "loss_identity": "finite.propositions:LossIdentity",
    "posterior_identity": "finite.propositions:PosteriorIdentity",
    "odds_test": "finite.privacy_tests:OddsTest",
    "worst_odds": "finite.odds:Worst",
    "composition_identity": "finite.composition:CompositionIdentity",
    "composition_terms": "finite.composition:Terms",
    "next_mechanism": "composition.fifth:NextMechanism",
    "next_sigma": "composition.calibrated:NextSigma",
    "next_forms": "composition.correlations:Forms",
    "next_approximate": "composition.sampled:Approximate",
}
_AUDITS = {
    "audit_counts": "counts:Counts",
    "audit_limits": "counts:Limits",
    "audit_guesses": "guessing:Guesses",
    "audit_row": "comparison:Row",
    "audit_steps": "roc:Steps",
}
KINDS = (
    *(Kind(name, _GAME + home) for name, home in _PLAIN.items()),
    Kind("knows", _GAME + "attackers.knowledge:Knowledge", fields=("name",), write=lambda value: {"name": value.name},
         read=_knows),
    Kind("leaderboard_entry", _GAME + "leaderboard:Entry", write=_entry, read=_read_entry,
         fields=("name", "knows", "validation", "auc", "found_at", "roc"), optional=("individual_auc", "seconds")),
    Kind("leaderboard", _GAME + "leaderboard:Leaderboard", 2),
    Kind("published", _GAME + "publishing:Published", 2),
    *(Kind(name, _AUDIT + home) for name, home in _AUDITS.items()),
    Kind("audit", _AUDIT + "result:Audit", 2),
    Kind("audit_report", _AUDIT + "reports:AuditReport", 2),
)  # fmt: skip
REFUSED = {
    _GAME + "attackers.knowledge:Attacker": _WORDS,
    _GAME + "attackers.knowledge:Fitted": _WORDS,
    _GAME + "population:Population": _PEOPLE,
    _GAME + "statistics:Statistic": _PEOPLE,
    _GAME + "correlated:CorrelatedGaussian": _PEOPLE,
    _GAME + "release:SummaryStatistics": _PEOPLE,
    _GAME + "release:Several": _PEOPLE,
    _GAME + "release:Draws": _DRAWN,
    _GAME + "classifier.rows:QueryRows": _PEOPLE,
    _GAME + "classifier.digits:DigitsGame": _PEOPLE,
    _GAME + "classifier.training:PublicClassifier": _TRAINED,
    _GAME + "defenders.plain:PlainDefence": _PEOPLE,
    _GAME + "generative.defence:Learned": _TRAINED,
    _GAME + "generative.defence:Trained": _TRAINED,
    _GAME + "generative.gate:Accepted": _TRAINED,
    _GAME + "generative.finish:Certified": _PEOPLE,
}
