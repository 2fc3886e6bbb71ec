"""Defences that learn against an attacker that does not learn: the responses of Appendix C to LRT and score attackers.

The generator is the library's.  In the place of the attacker's network stands its rule, made smooth as in Appendix P.2:
a member is claimed with probability sigmoid(statistic - threshold), and the generator minimises

    mean_k of that probability times b_k  +  kappa mean_j |delta_j|.

fixed       lrs against the level that it passes for one in twenty others when nothing is defended
adaptive    lrs against its mean over the tenth of the reference people that look most like members in that release
score       <d_k - p, x - p> against the same level, in units of its standard deviation

Statistics are larger for members here, the negative of the printed lrs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from quiltwork.game.attackers.likelihood import FLOOR, mean_reference_score, member_llr
from quiltwork.game.attackers.neural import torch
from quiltwork.game.defenders.certificates import statistic_of
from quiltwork.game.learned import Generative
from quiltwork.game.learned.defence import Learned
from quiltwork.game.learned.training import Attacking, Game
from quiltwork.game.people.population import Population, Statistic

LEVEL = 0.05  # of false alarms without a defence
SHARE = 0.1  # of the reference people that set the adaptive threshold
LOOKS = 200  # data sets that set the fixed threshold


class Responding(Game):
    """The general-sum game with an attacker that stands still."""

    def __init__(self, defender: Generative, rule: str, statistic: Statistic, seed: int) -> None:
        super().__init__(defender.settings(*statistic.population.size), statistic, seed)
        self.attacker = Attacking(rule_of(rule, statistic, np.random.default_rng([seed, 9])))

    def _attack(self) -> float:
        return 0.0


def respond(defender: Generative, rule: str, population: Population, seed: int) -> Learned:
    """Train `defender.steps` steps against the rule."""
    statistic = statistic_of(population, "members")
    game = Responding(defender, rule, statistic, seed)
    for _ in range(defender.steps):
        game.advance()
    return Learned(f"response to the {rule}, kappa {defender.kappa:g}", statistic, game.generator)


def rule_of(rule: str, statistic: Statistic, rng: np.random.Generator) -> Any:
    """A module from releases to the logits of the rule."""
    nn, people = torch().nn, statistic.population
    members = people.prior.draw(LOOKS, people.size[0], rng)
    exact, usual = statistic.exact(members), people.frequencies
    if rule == "score":
        values = mean_reference_score(people.candidates, exact, usual)
        return _score(nn, people, _threshold(values[~members]), float(values.std()))
    values = member_llr(people.candidates, exact, usual)
    return _ratio(nn, people, None if rule == "adaptive LRT" else _threshold(values[~members]))


def _threshold(others: Any) -> float:
    return float(np.quantile(others, 1.0 - LEVEL))


def _tensor(values: Any) -> Any:
    return torch().from_numpy(np.ascontiguousarray(values, dtype=np.float32))


def _ratio(nn: Any, people: Population, threshold: float | None) -> Any:
    """The likelihood ratio less its threshold; None takes the adaptive one."""
    library = torch()
    rows, reference = _tensor(people.candidates).T, _tensor(people.reference).T
    usual = _tensor(np.clip(people.frequencies, FLOOR, 1.0 - FLOOR))
    most = max(1, int(SHARE * len(people.reference)))

    class Ratio(nn.Module):  # type: ignore[misc]
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


def _score(nn: Any, people: Population, threshold: float, spread: float) -> Any:
    """The score less its threshold, in units of its spread without a defence."""
    usual, rows = _tensor(people.frequencies), _tensor(people.candidates - people.frequencies).T

    class Score(nn.Module):  # type: ignore[misc]
        def forward(self, released: Any) -> Any:
            return ((released - usual) @ rows - threshold) / spread

    return Score()
