"""What was counted in an audit, the distribution-free bound that follows from it, and the Gaussian one.

An attacker says "in" or "out" about runs with and without a record. If the mechanism is (epsilon, delta)-private, then
TPR <= e^epsilon FPR + delta and TNR <= e^epsilon FNR + delta. With confidence c, both TPR >= TPR_lo and FPR <= FPR_hi
(one-sided Clopper-Pearson limits at (1 - c)/2 each), so that epsilon is at least
max(log((TPR_lo - delta) / FPR_hi), log((TNR_lo - delta) / FNR_hi)), for every delta at once.

Against a mu-GDP mechanism no test has Phi^-1(TPR) - Phi^-1(FPR) > mu. At the corner of the two limits this difference
is a lower bound on mu, whatever the mechanism: mu-GDP is refuted for every smaller mu. Turning mu into an epsilon at
some delta needs more: that the worst pair of output laws *is* Gaussian.

Reference: theory/game.md section 6, items 1 and 2; C. Clopper and E. Pearson, 1934; J. Dong, A. Roth and W. Su,
Gaussian differential privacy, 2022.
"""

from __future__ import annotations

import math
from typing import Any

import attrs
import numpy as np
from scipy.special import ndtri

from quiltwork import checks
from quiltwork.audit.bounds.binomial import upper_limit
from quiltwork.checks import FloatArray
from quiltwork.compose.constructors import gdp
from quiltwork.errors import InvalidParameter
from quiltwork.kinds import document
from quiltwork.numbers.rounding import UNIT, down
from quiltwork.numbers.stated import error_level

GAUSSIAN = (
    "the worst pair of output laws is Gaussian, as for Gaussian noise; without this only mu-GDP with a mu below "
    "mu_lower is refuted, and the epsilon does not follow"
)
_LEAST_MU = 1e-100  # a smaller mu says nothing
_QUANTILE_ULPS = 64.0  # assumed accuracy of the normal quantile
MAX_STEPS_DRAWN = 600  # steps in a picture


@document("audit_counts/1")
@attrs.frozen
class Counts:
    """How often the attacker said "in": of the runs with the record (true) and of those without it (false)."""

    true_positives: int
    trials_in: int
    false_positives: int
    trials_out: int

    def __attrs_post_init__(self) -> None:
        for name, trials in (("true_positives", "trials_in"), ("false_positives", "trials_out")):
            most = checks.count(trials, getattr(self, trials), least=1)
            found = checks.count(name, getattr(self, name))
            if found > most:
                raise InvalidParameter(name, found, f"an integer from 0 to {trials}, which is {most}")
            checks.settle(self, **{trials: most, name: found})

    @property
    def detected(self) -> float:
        """Share of the runs with the record that were recognised."""
        return self.true_positives / self.trials_in

    @property
    def false_alarms(self) -> float:
        """Share of the runs without the record that were taken for one with it."""
        return self.false_positives / self.trials_out

    def limits(self, confidence: float) -> Limits:
        """Where both rates of error lie with this confidence, jointly."""
        level = error_level(confident(confidence)) / 2.0
        fpr, tnr = upper_limit(self.false_positives, self.trials_out, level)
        fnr, tpr = upper_limit(self.trials_in - self.true_positives, self.trials_in, level)
        return Limits(fpr, fnr, tpr, tnr)

    def to_json(self) -> dict[str, Any]:
        """The four numbers."""
        return attrs.asdict(self)


@document("audit_limits/1")
@attrs.frozen
class Limits:
    """A corner: with the stated confidence the true errors of the attacker are no larger than fpr and fnr.

    `tpr` and `tnr` are the complements, rounded down.
    """

    fpr: float
    fnr: float
    tpr: float
    tnr: float

    def epsilon(self, delta: float) -> float:
        """The least epsilon that these errors leave possible, rounded down; one corner serves every delta."""
        return max(0.0, _log_ratio(self.tpr, delta, self.fpr), _log_ratio(self.tnr, delta, self.fnr))


def confident(value: Any) -> float:
    """A confidence strictly between 0 and 1."""
    allowed = "strictly between 0 and 1, such as 0.95"
    hint = "no number of trials gives certainty"
    return checks.ranged("confidence", value, allowed, lambda number: 0.0 < number < 1.0, hint)


def _log_ratio(hit: float, delta: float, error: float) -> float:
    """log((hit - delta) / error), rounded down; no less than 0."""
    above = down(hit - delta)
    if above <= error:
        return 0.0
    return max(0.0, down(math.log(down(above / error)), 2))


def mu_lower(limits: Limits) -> float:
    """A mu below which mu-GDP is refuted, rounded down; 0 when nothing is."""
    if limits.tpr <= 0.0 or limits.tnr <= 0.0:
        return 0.0
    miss, alarm = _quantile(limits.fnr, limits.tpr), _quantile(limits.fpr, limits.tnr)
    return max(0.0, -miss - alarm)


def epsilon_of(mu: float, delta: float) -> float:
    """The certified lower end of epsilon of mu-GDP at this delta."""
    if mu < _LEAST_MU:
        return 0.0
    return float(gdp(mu).epsilon(delta).lower)


def _quantile(rate: float, rest: float) -> float:
    """Phi^-1(rate), rounded up; of rate and 1 - rate the smaller one is used, since it keeps its digits."""
    found = float(ndtri(rate)) if rate <= rest else -float(ndtri(rest))
    return found + _QUANTILE_ULPS * UNIT * (1.0 + abs(found))


@document("audit_steps/1")
@attrs.frozen(eq=False)
class Steps:
    """False alarms and misses, from "nobody is in" (0, 1) to "everybody is in" (1, 0), for a picture: no bound."""

    false_alarms: FloatArray
    misses: FloatArray


def steps(scores_in: FloatArray, scores_out: FloatArray) -> Steps:
    """One point for each different score, so that equal scores move together; thinned when there are many.

    >>> found = steps(np.array([1.0, 2.0]), np.array([0.0, 1.0]))
    >>> found.false_alarms.tolist(), found.misses.tolist()
    ([0.0, 0.0, 0.5, 1.0], [1.0, 0.5, 0.0, 0.0])
    """
    levels = np.unique(np.concatenate([scores_in, scores_out]))[::-1]
    if levels.size > MAX_STEPS_DRAWN:  # evenly along the curve's ends, where few scores make many steps, and between
        place = 0.5 - 0.5 * np.cos(np.linspace(0.0, np.pi, MAX_STEPS_DRAWN))
        levels = levels[np.unique((place * (levels.size - 1)).round().astype(int))]
    sorted_in, sorted_out = np.sort(scores_in), np.sort(scores_out)
    alarms = 1.0 - np.searchsorted(sorted_out, levels) / sorted_out.size
    misses = np.searchsorted(sorted_in, levels) / sorted_in.size
    return Steps(np.concatenate([[0.0], alarms]), np.concatenate([[1.0], misses]))
