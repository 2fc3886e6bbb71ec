"""Attackers, defenders, games, leaderboards and audits as documents.

Whatever holds the rows of people, or is a trained network, is not written: keep the file or the seed that it came from.
"""

from __future__ import annotations

from typing import Any

from quiltwork.spec.objects.kinds import Kind, Refusal

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
    "score": "attackers.likelihood:Score",
    "support_vector": "attackers.sklearn:SupportVector",
    "tree_attacker": "attackers.sklearn:Tree",
    "row_assignment": "classifier.attackers:RowAssignment",
    "row_matching": "classifier.attackers:RowMatching",
    "half": "people.priors:Half",
    "independent_members": "people.priors:Independent",
    "constant_defender": "defenders.constant:Constant",
    "exact_defender": "defenders.constant:Exact",
    "gaussian_defender": "defenders.noise:Gaussian",
    "laplace_defender": "defenders.noise:Laplace",
    "rate_distortion": "defenders.closed_forms:RateDistortion",
    "water_filling": "defenders.closed_forms:WaterFilling",
    "generative": "learned.options:Generative",
    "finish": "learned.certified_end:Finish",
    "history": "learned.training:History",
    "in_loop": "learned.training:InLoop",
    "measured": "learned.gate:Measured",
    "bounded_odds": "learned.certified_end:BoundedOdds",
    "bwma": "measures.advantage:Bwma",
    "roc": "measures.roc:Roc",
    "interval": "measures.roc:Interval",
    "trials": "trials:Trials",
    "finite_game": "finite.game:FiniteGame",
    "equilibrium": "finite.equilibria.equilibria:Equilibrium",
    "expected_counts": "measures.advantage:ExpectedCounts",
    "gaussian_test": "finite.theorems.gaussian_tests:GaussianTest",
    "loss_identity": "finite.theorems.identities:LossIdentity",
    "posterior_identity": "finite.theorems.identities:PosteriorIdentity",
    "odds_test": "finite.odds:OddsTest",
    "worst_odds": "finite.odds:Worst",
    "composition_identity": "finite.theorems.composition:CompositionIdentity",
    "composition_terms": "finite.theorems.composition:Terms",
    "next_mechanism": "gaussian.next_mechanism:NextMechanism",
    "next_sigma": "gaussian.next_sigma:NextSigma",
    "next_forms": "gaussian.correlations:Forms",
    "next_approximate": "papers.sampled_searches:Approximate",
}
_AUDITS = {
    "audit_counts": "bounds.counts:Counts",
    "audit_limits": "bounds.counts:Limits",
    "audit_guesses": "bounds.one_run:Guesses",
    "audit_row": "report:Row",
    "audit_steps": "bounds.counts:Steps",
}
KINDS = (
    *(Kind(name, _GAME + home) for name, home in _PLAIN.items()),
    Kind("knows", _GAME + "attackers.knowledge:Knowledge", fields=("name",), write=lambda value: {"name": value.name},
         read=_knows),
    Kind("leaderboard_entry", _GAME + "leaderboard:Entry", write=_entry, read=_read_entry,
         fields=("name", "knows", "validation", "auc", "found_at", "roc"), optional=("individual_auc", "seconds")),
    Kind("leaderboard", _GAME + "leaderboard:Leaderboard", 2),
    Kind("published", _GAME + "publish:Published", 2),
    *(Kind(name, _AUDIT + home) for name, home in _AUDITS.items()),
    Kind("audit", _AUDIT + "result:Audit", 2),
    Kind("audit_report", _AUDIT + "report:AuditReport", 2),
)  # fmt: skip
REFUSED = {
    _GAME + "attackers.knowledge:Attacker": _WORDS,
    _GAME + "attackers.knowledge:Fitted": _WORDS,
    _GAME + "people.population:Population": _PEOPLE,
    _GAME + "people.statistic:Statistic": _PEOPLE,
    _GAME + "gaussian.correlated_release:CorrelatedGaussian": _PEOPLE,
    _GAME + "releases.release:SummaryStatistics": _PEOPLE,
    _GAME + "releases.release:Several": _PEOPLE,
    _GAME + "releases.release:Draws": _DRAWN,
    _GAME + "classifier.table:QueryRows": _PEOPLE,
    _GAME + "classifier.digits:DigitsGame": _PEOPLE,
    _GAME + "classifier.digits:PublicClassifier": _TRAINED,
    _GAME + "defenders.certified_channel:PlainDefence": _PEOPLE,
    _GAME + "learned.defence:Learned": _TRAINED,
    _GAME + "learned.defence:Trained": _TRAINED,
    _GAME + "learned.gate:Accepted": _TRAINED,
    _GAME + "learned.certified_end:Certified": _PEOPLE,
}
