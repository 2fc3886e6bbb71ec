"""The general-sum game, one generator step at a time: the attacker moves first, several times, then the generator.

Every random number of a run comes from one numpy generator, and nothing depends on how many steps are still to come:
a run that stops after any step and goes on from its state is the run that never stopped, bit for bit.

Reference: seed 004 section 3.2 and P.8; theory/game.md section 4.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.errors import InvalidParameter
from quiltwork.game.generative.history import settled
from quiltwork.game.generative.networks import players
from quiltwork.game.generative.objectives import cross_entropy, odds_excess, price, privacy
from quiltwork.game.generative.options import Settings
from quiltwork.game.statistics import Statistic
from quiltwork.game.torching import torch

__all__ = ["Game"]


class Game:
    """Both players, their optimisers, the random state and the history: everything a checkpoint holds."""

    def __init__(self, settings: Settings, statistic: Statistic, seed: int) -> None:
        library = torch()
        self.settings, self.statistic, self.seed = settings, statistic, seed
        people, attributes = statistic.population.size
        self.generator, self.attacker = players(settings, people, attributes, seed)
        adam, decay = library.optim.Adam, settings.weight_decay
        self.generator_adam = adam(self.generator.parameters, settings.learning_rate, weight_decay=decay)
        self.attacker_adam = adam(self.attacker.net.parameters(), settings.attacker_rate, weight_decay=decay)
        self.rng = np.random.default_rng([seed, 0])
        self.rows: list[tuple[float, float, float, float]] = []
        self.whole = True  # between two steps, when the state may be written
        rates = statistic.population.prior.rates(people)
        with np.errstate(divide="ignore"):
            odds = np.log(rates) - np.log1p(-rates)
        self._prior_logits = library.from_numpy(odds.astype(np.float32))
        weights = settings.weights
        self._weights = None if weights is None else library.tensor(weights, dtype=library.float32)

    @property
    def step(self) -> int:
        """Generator steps that are done."""
        return len(self.rows)

    @property
    def history(self) -> FloatArray:
        """One row a step."""
        return np.asarray(self.rows, dtype=float).reshape(-1, 4)

    @property
    def settled(self) -> bool:
        """Whether early stopping applies after the steps that are done."""
        chosen = self.settings
        if chosen.patience is None or self.step < chosen.window + chosen.patience:
            return False
        recent = np.asarray([row[3] for row in self.rows[-(chosen.window + chosen.patience) :]])
        return settled(recent, chosen.window, chosen.patience, chosen.tolerance)

    def advance(self) -> None:
        """One generator step, after the attacker's."""
        self.whole = False
        self.generator.net.train()
        self.attacker.net.train()
        row = (self._attack(), *self._generate())
        if not all(map(math.isfinite, row)):
            hint = f"training diverged at step {self.step + 1}: take a smaller learning_rate or attacker_rate"
            raise InvalidParameter("the objective", row[3], "finite in every step", hint)
        self.rows.append(row)
        self.whole = True

    def _sample(self) -> tuple[Any, Any, Any]:
        """Membership as numbers, the exact statistic, and the generator's inputs."""
        library, chosen = torch(), self.settings
        population = self.statistic.population
        members = population.prior.draw(chosen.batch, population.size[0], self.rng)
        exact = library.from_numpy(self.statistic.exact(members).astype(np.float32))
        return library.from_numpy(members.astype(np.float32)), exact, self.generator.inputs(members, self.rng)

    def _attack(self) -> float:
        library, loss = torch(), None
        for _ in range(self.settings.attacker_steps):
            members, exact, inputs = self._sample()
            with library.no_grad():
                released = library.clamp(exact + self.generator.delta(inputs), 0.0, 1.0)
            self.attacker_adam.zero_grad()
            loss = cross_entropy(self.attacker.net(released), members)
            loss.backward()
            self.attacker_adam.step()
        return float(loss.detach()) if loss is not None else math.nan

    def _generate(self) -> tuple[float, float, float]:
        library, chosen = torch(), self.settings
        members, exact, inputs = self._sample()
        delta = self.generator.delta(inputs)
        logits = self.attacker.net(library.clamp(exact + delta, 0.0, 1.0))
        private = privacy(chosen.objective, logits, members)
        objective = private + price(delta, chosen.kappa, self._weights)
        if chosen.odds_limit is not None:
            objective = objective + chosen.odds_weight * odds_excess(logits, self._prior_logits, chosen.odds_limit)
        self.generator_adam.zero_grad()
        objective.backward()
        self.generator_adam.step()
        return float(private.detach()), float(delta.detach().abs().mean()), float(objective.detach())
