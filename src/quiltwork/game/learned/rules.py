"""Attackers that do not learn, made smooth for a generator: they claim a member with chance sigmoid(statistic - t).

    fixed       log-likelihood ratio against the level that it passes for a share `level` of others without a defence
    adaptive    the ratio against its mean over the tenth of the reference people that look most like members
    score       <d_k - p, x - p> against such a level, in units of its standard deviation

Statistics are larger for members here, the negative of the printed lrs.

Reference: seed 004 Appendix C and P.2; theory/game.md section 1 (signs).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from quiltwork.errors import Unsupported
from quiltwork.game.attackers.likelihood import FLOOR, mean_reference_score, member_llr
from quiltwork.game.attackers.neural import torch
from quiltwork.game.learned.options import Settings
from quiltwork.game.people.population import Population, Statistic

SHARE = 0.1  # of the reference people that set the adaptive threshold
LOOKS = 200  # data sets that set the fixed threshold


def rule_of(settings: Settings, statistic: Statistic, rng: np.random.Generator) -> Any:
    """A module from releases to the logits of the rule."""
    people = statistic.population
    members = people.prior.draw(LOOKS, people.size[0], rng)
    exact, usual = statistic.exact(members), people.frequencies
    if settings.attacker == "score":
        values = mean_reference_score(people.candidates, exact, usual)
        return _score(people, _threshold(values[~members], settings.level), float(values.std()))
    if not people.binary:
        raise Unsupported("a response to a likelihood ratio", "it needs attributes that are 0 or 1")
    values = member_llr(people.candidates, exact, usual)
    adaptive = settings.attacker == "adaptive"
    return _ratio(people, None if adaptive else _threshold(values[~members], settings.level))


def _threshold(others: Any, level: float) -> float:
    return float(np.quantile(others, 1.0 - level))


def _tensor(values: Any) -> Any:
    return torch().from_numpy(np.ascontiguousarray(values, dtype=np.float32))


def _ratio(people: Population, threshold: float | None) -> Any:
    """The likelihood ratio less its threshold; None takes the adaptive one."""
    library = torch()
    rows, reference = _tensor(people.candidates).T, _tensor(people.reference).T
    usual = _tensor(np.clip(people.frequencies, FLOOR, 1.0 - FLOOR))
    most = max(1, int(SHARE * len(people.reference)))

    class Ratio(library.nn.Module):  # type: ignore[misc,name-defined]
        def forward(self, released: Any) -> Any:
            share = library.clamp(released, FLOOR, 1.0 - FLOOR)
            present, absent = library.log(share / usual), library.log((1.0 - share) / (1.0 - usual))
            base = absent.sum(dim=1, keepdim=True)
            statistic = (present - absent) @ rows + base
            if threshold is not None:
                return statistic - threshold
            others = (present - absent) @ reference + base
            return statistic - others.topk(most, dim=1).values.mean(dim=1, keepdim=True)

    return Ratio()


def _score(people: Population, threshold: float, spread: float) -> Any:
    """The score less its threshold, in units of its spread without a defence."""
    library = torch()
    usual, rows = _tensor(people.frequencies), _tensor(people.candidates - people.frequencies).T
    unit = spread if spread > 0 else 1.0  # candidates that are all alike

    class Score(library.nn.Module):  # type: ignore[misc,name-defined]
        def forward(self, released: Any) -> Any:
            return ((released - usual) @ rows - threshold) / unit

    return Score()
