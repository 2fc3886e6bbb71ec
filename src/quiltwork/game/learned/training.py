"""The general-sum game, one generator step at a time: the attacker moves first, several times, then the generator.

Every random number of a run comes from one numpy generator, and nothing depends on how many steps are still to come:
a run that stops after any step and goes on from its state is the run that never stopped, bit for bit.

Reference: seed 004 section 3.2 and P.8; theory/game.md section 4.

What happened during training: for curiosity and early stopping, not evidence of protection.

Reference: theory/game.md section 0, item 1.
"""

from __future__ import annotations

import math
from typing import Any

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.errors import InvalidParameter
from quiltwork.game.attackers.neural import torch
from quiltwork.game.learned.networks import cross_entropy, odds_excess, players, price, privacy
from quiltwork.game.learned.options import Settings
from quiltwork.game.people.statistic import Statistic
from quiltwork.kinds import document

__all__ = ["NOT_PROTECTION", "Game", "History", "InLoop", "settled"]

NOT_PROTECTION = "in-loop attacker: not a measure of protection"
COLUMNS = ("attacker_loss", "privacy", "error", "objective")


@document("history/1")
@attrs.frozen(eq=False)
class History:
    """One row a generator step: the attacker's cross entropy, the generator's privacy loss, mean |delta|, objective."""

    rows: FloatArray
    stopped: str

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def attacker_loss(self) -> FloatArray:
        """Cross entropy of the attacker's last step, in nats a decision."""
        return self.rows[:, 0]

    @property
    def privacy(self) -> FloatArray:
        """The generator's privacy loss."""
        return self.rows[:, 1]

    @property
    def error(self) -> FloatArray:
        """Mean |delta| before clipping."""
        return self.rows[:, 2]

    @property
    def objective(self) -> FloatArray:
        """What the generator minimised."""
        return self.rows[:, 3]

    def __str__(self) -> str:
        return f"{len(self)} steps, {self.stopped}"


@document("in_loop/1")
@attrs.frozen
class InLoop:
    """How the attacker that trained along did against the finished generator."""

    attacker: str
    auc: float
    note: str = NOT_PROTECTION

    def __str__(self) -> str:
        return f"AUC {self.auc:.3f} ({self.note})"


def settled(objective: FloatArray, window: int, patience: int, tolerance: float) -> bool:
    """Whether the moving average of the last `patience` steps stays within `tolerance` of where it stood before.

    Not "no improvement": the attacker learns too, so that the generator's objective is best at the very beginning,
    when the attacker knows nothing yet.
    """
    needed = window + patience
    if len(objective) < needed:
        return False
    totals = np.concatenate([[0.0], np.cumsum(objective[-needed:])])
    averages = (totals[window:] - totals[:-window]) / window
    return bool(np.all(np.abs(averages - averages[0]) <= tolerance))


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
