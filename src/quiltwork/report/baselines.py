"""What simpler composition rules would say about the same plan; for comparison only.

Every release enters with the best single-release parameters that the engine certifies, so that each rule is shown at
its strongest.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np

from quiltwork.compose.accountant.moments import epsilon_bound, worst_moments
from quiltwork.compose.constructors import zcdp
from quiltwork.compose.loss import Loss
from quiltwork.compose.papers.simple_rules import Release, advanced, basic
from quiltwork.kinds import not_written
from quiltwork.losses.families.discrete import DiscreteGaussian
from quiltwork.losses.families.gaussian import Gaussian, GaussianPrivacy
from quiltwork.losses.families.mixture import Mixture
from quiltwork.losses.families.renyi import ZeroConcentrated
from quiltwork.losses.family import Family
from quiltwork.spec.files.plan import Plan


@not_written("it is a line of an account", "write the plan")
@attrs.frozen
class Baseline:
    """One rule's epsilon at the asked delta; None where it does not apply, and then `note` says why."""

    name: str
    epsilon: float | None
    note: str

    def to_json(self) -> dict[str, Any]:
        """A plain dictionary; an infinite epsilon is the string "inf"."""
        value = "inf" if self.epsilon == math.inf else self.epsilon
        return {"name": self.name, "epsilon": value, "note": self.note}


@attrs.frozen
class _Single:
    """One release of a plan, made `count` times."""

    name: str
    family: Family
    count: int
    reveal: float  # delta that no epsilon removes
    top: float  # largest privacy loss apart from a reveal, often infinite

    def epsilon(self, extra: float) -> float:
        """Epsilon of one release when it may use this much delta beyond its own."""
        return self.top if math.isfinite(self.top) else _upper(Loss.of(self.family), self.reveal + extra)


def _upper(loss: Loss, delta: float) -> float:
    return float(loss.epsilon(delta).upper)


def _single(name: str, family: Family, count: int) -> _Single:
    loss = Loss.of(family)
    reveal = float(loss.delta(math.inf).upper)
    return _Single(name, family, count, reveal, _upper(loss, reveal))


def compared(plan: Plan, delta: float) -> tuple[Baseline, ...]:
    """Basic, advanced and zero-concentrated composition, and the moments accountant."""
    singles = [
        _single(release.name, part.family, release.count)
        for release in plan.releases
        for part in release.mechanism.loss().parts
    ]
    spare = delta - math.fsum(single.count * single.reveal for single in singles)
    rules = (_basic, _advanced, _concentrated)
    return (*(rule(singles, spare) for rule in rules), _moments(plan.loss(), delta, spare))


def _spent(spare: float, name: str) -> Baseline | None:
    if spare < 0:
        return Baseline(name, None, "does not apply: the deltas of single releases add up to more than the asked delta")
    return None


def _releases(singles: Sequence[_Single], spare: float) -> list[Release]:
    """Each release at its own epsilon, with the spare delta shared by those that have no bounded loss.

    What these epsilons cost in delta is already taken from the asked delta, so it is left out here.
    """
    users = sum(single.count for single in singles if math.isinf(single.top))
    return [(single.epsilon(spare / users if users else 0.0), 0.0, single.count) for single in singles]


def _basic(singles: Sequence[_Single], spare: float) -> Baseline:
    name, note = "basic composition", "epsilons and deltas add up (Dwork et al. 2006)"
    return _spent(spare, name) or Baseline(name, basic(_releases(singles, spare))[0], note)


def _advanced(singles: Sequence[_Single], spare: float) -> Baseline:
    """Half of the delta for the releases, half for the rule; the basic sum where that is better."""
    name, note = "advanced composition", "Kairouz, Oh and Viswanath 2015, Theorem 3.5"
    spent = _spent(spare, name)
    if spent is not None:
        return spent
    bounded = all(math.isfinite(single.top) for single in singles)
    slack = spare if bounded else spare / 2
    best, _ = basic(_releases(singles, spare))
    if slack > 0:
        best = min(best, advanced(_releases(singles, spare - slack), slack)[0])
    return Baseline(name, best, note)


def _concentrated(singles: Sequence[_Single], spare: float) -> Baseline:
    name = "zCDP composition"
    rhos = [(_rho(single.family, single.top), single) for single in singles]
    lacking = next((single.name for rho, single in rhos if rho is None), None)
    if lacking is not None:
        return Baseline(name, None, f"does not apply: {lacking!r} has no zCDP bound")
    total = math.fsum(rho * single.count for rho, single in rhos if rho is not None)
    note = "Bun and Steinke 2016, converted by Canonne, Kamath and Steinke 2020"
    return _spent(spare, name) or Baseline(name, _upper(zcdp(total), spare) if total > 0 else 0.0, note)


def _rho(family: Family, top: float) -> float | None:
    """rho of one release: exact for Gaussians, epsilon^2 / 2 for a loss bounded by epsilon; None if there is none."""
    if isinstance(family, (Gaussian, GaussianPrivacy)):
        return family.mu**2 / 2
    if isinstance(family, DiscreteGaussian):
        return (family.sensitivity / family.sigma) ** 2 / 2
    if isinstance(family, ZeroConcentrated):
        return family.rho
    if math.isfinite(top):
        return top**2 / 2
    if isinstance(family, Mixture):
        parts = [_rho(part, _single("", part, 1).top) for _, part in family.components]
        known = [rho for rho in parts if rho is not None]
        return max(known) if len(known) == len(parts) else None
    return None


def _moments(loss: Loss, delta: float, spare: float) -> Baseline:
    name, note = "moments accountant", "Rényi moments of every order (Abadi et al. 2016), converted tightly"
    if not loss.parts:
        return Baseline(name, 0.0, note)
    moments, reveal = worst_moments(loss.parts)
    return _spent(spare, name) or Baseline(name, float(epsilon_bound(moments, reveal, np.array([delta]))[0]), note)
