"""The Gaussian bound: which mu the errors of an attacker refute, and what epsilon that is.

Against a mu-GDP mechanism no test has Phi^-1(TPR) - Phi^-1(FPR) > mu. At the corner of the two Clopper-Pearson limits
this difference is a lower bound on mu, whatever the mechanism: mu-GDP is refuted for every smaller mu. Turning mu into
an epsilon at some delta needs more: that the worst pair of output laws *is* Gaussian.

Reference: theory/game.md section 6, item 2; J. Dong, A. Roth and W. Su, Gaussian differential privacy, 2022.
"""

from __future__ import annotations

from scipy.special import ndtri

from quiltwork.audit.bounds.counts import Limits
from quiltwork.numbers.rounding import UNIT

GAUSSIAN = (
    "the worst pair of output laws is Gaussian, as for Gaussian noise; without this only mu-GDP with a mu below "
    "mu_lower is refuted, and the epsilon does not follow"
)
_LEAST = 1e-100  # a smaller mu says nothing
_ULPS = 64.0  # assumed accuracy of the normal quantile


def mu_lower(limits: Limits) -> float:
    """A mu below which mu-GDP is refuted, rounded down; 0 when nothing is."""
    if limits.tpr <= 0.0 or limits.tnr <= 0.0:
        return 0.0
    miss, alarm = _quantile(limits.fnr, limits.tpr), _quantile(limits.fpr, limits.tnr)
    return max(0.0, -miss - alarm)


def epsilon_of(mu: float, delta: float) -> float:
    """The certified lower end of epsilon of mu-GDP at this delta."""
    if mu < _LEAST:
        return 0.0
    from quiltwork.compose.constructors import gdp

    return float(gdp(mu).epsilon(delta).lower)


def _quantile(rate: float, rest: float) -> float:
    """Phi^-1(rate), rounded up; of rate and 1 - rate the smaller one is used, since it keeps its digits."""
    found = float(ndtri(rate)) if rate <= rest else -float(ndtri(rest))
    return found + _ULPS * UNIT * (1.0 + abs(found))
