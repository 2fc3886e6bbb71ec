"""The general-sum game of two networks: a generator of perturbations and the attacker it learns against.

    noisy     delta = tanh(MLP(b, nu) + e^s z) / 2          z standard Gaussian, s learned, one an attribute
    paper     delta = sigmoid(MLP(b, nu)) - 1/2             no noise but nu
    linear    logits = W BN(x) + c                          batch-normalised logistic regression
    neural    logits = MLP(BN(x))                           the paper's attacker; beside its generator without the BN
    optimal   logits = MLP(x) - their (1 - level)-quantile over people who are not in the data
    fixed, adaptive, score                                  rules that stand still (`rules.py`)

MLP of the generator: a linear layer of each width but the last two, as in the paper's P.9, then two hidden layers with
batch normalisation, ReLU after the first and LeakyReLU after the second.  What the two players minimise:

    attacker    cross entropy of its membership probabilities p (its minimiser: the marginal posteriors)
    cel         minus that cross entropy: zero-sum up to the price of utility, so Nash = Stackelberg = minimax
    tpr         mean of p_k b_k, the paper's proxy: general-sum, its Nash point is not the best commitment
    utility     kappa mean_j(w_j |delta_j|); with norm 2, kappa times the root mean square of w_j delta_j
    sum         instead of means: sum_k p_k b_k, or K cross entropies, and kappa |w delta|_norm
    odds        mean of max(0, |logit p_k - logit theta_k| - limit): the BGBP constraint as a penalty.  It looks at one
                attacker on samples, so it bounds no supremum and is no guarantee (corrected Prop. 6).

One generator step at a time: the attacker moves first, several times, then the generator.  Every random number of a
run comes from one numpy generator, and nothing depends on how many steps are still to come: a run that stops after any
step and goes on from its state is the run that never stopped, bit for bit.

Reference: seed 004 section 3.2, equation (4), P.3, P.6 and P.8; theory/game.md sections 0 (item 1), 1 (Theorem 1,
Props. 6 and 8), 4 (recommended settings) and 5.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.errors import InvalidParameter
from quiltwork.game.attackers.neural import torch
from quiltwork.game.learned.options import OPTIMAL, RULES, Settings
from quiltwork.game.learned.rules import rule_of
from quiltwork.game.people.population import Members, Statistic
from quiltwork.kinds import document

LEAK = 0.2
TINY = 1e-12  # under a root, whose slope at 0 is infinite
FIRST_STEP = 0.1  # the last layer starts small, so that training begins near the exact statistic


@attrs.frozen(eq=False)
class Perturbing:
    """The generator: `net` maps (b, nu) to m numbers, `log_scale` is the noise path's s, or None without one."""

    net: Any
    log_scale: Any
    nu: int
    attributes: int

    @property
    def parameters(self) -> list[Any]:
        """What the optimiser moves."""
        return [*self.net.parameters(), *([] if self.log_scale is None else [self.log_scale])]

    def inputs(self, members: Members, rng: np.random.Generator) -> tuple[Any, Any]:
        """(b, nu) and z for each data set; z is None without a noise path."""
        library, count = torch(), len(members)
        nu = rng.random((count, self.nu), dtype=np.float32) - np.float32(0.5)
        joined = library.from_numpy(np.concatenate([members.astype(np.float32), nu], axis=1))
        if self.log_scale is None:
            return joined, None
        return joined, library.from_numpy(rng.standard_normal((count, self.attributes), dtype=np.float32))

    def delta(self, inputs: tuple[Any, Any]) -> Any:
        """The perturbation, in [-1/2, 1/2]."""
        library, (joined, z) = torch(), inputs
        raw = self.net(joined)
        if self.log_scale is None:
            return library.sigmoid(raw) - 0.5
        return 0.5 * library.tanh(raw + library.exp(self.log_scale) * z)

    def frozen(self, members: Members, rng: np.random.Generator) -> FloatArray:
        """Perturbations of the trained network: its normalisation is fixed, so releases do not touch each other."""
        self.net.eval()
        with torch().no_grad():
            return np.asarray(self.delta(self.inputs(members, rng)).numpy(), dtype=float)


@attrs.frozen(eq=False)
class Attacking:
    """The attacker in the loop: logits of membership, one a candidate."""

    net: Any

    def frozen(self, outputs: FloatArray) -> FloatArray:
        """Logits of the trained network."""
        self.net.eval()
        library = torch()
        with library.no_grad():
            return np.asarray(self.net(library.from_numpy(outputs.astype(np.float32))).numpy(), dtype=float)


def players(settings: Settings, statistic: Statistic, seed: int) -> tuple[Perturbing, Attacking]:
    """Both players before training; torch's own random state is left as it was."""
    library, (candidates, attributes) = torch(), statistic.population.size
    with library.random.fork_rng(devices=[]):
        library.manual_seed(seed)
        generator = _perturbing(settings, candidates, attributes)
        if settings.attacker in RULES:
            return generator, Attacking(rule_of(settings, statistic, np.random.default_rng([seed, 9])))
        return generator, _attacking(settings, candidates, attributes)


def _perturbing(settings: Settings, candidates: int, attributes: int) -> Perturbing:
    library = torch()
    nn, (*before, first, second) = library.nn, settings.hidden
    noisy = settings.architecture == "noisy"
    last = nn.Linear(second, attributes)
    if noisy:
        with library.no_grad():
            last.weight.mul_(FIRST_STEP)
            last.bias.zero_()
    widths = [candidates + settings.nu, *before, first]
    net = nn.Sequential(
        *(nn.Linear(one, two) for one, two in itertools.pairwise(widths)),
        nn.BatchNorm1d(first),
        nn.ReLU(),
        nn.Linear(first, second),
        nn.BatchNorm1d(second),
        nn.LeakyReLU(LEAK),
        last,
    )
    scale = nn.Parameter(library.full((attributes,), settings.initial_noise)) if noisy else None
    return Perturbing(net, scale, settings.nu, attributes)


def _attacking(settings: Settings, candidates: int, attributes: int) -> Attacking:
    library = torch()
    nn, (first, second) = library.nn, settings.attacker_hidden
    printed = settings.architecture == "paper" and settings.attacker != "linear"
    normal = [] if printed else [nn.BatchNorm1d(attributes, affine=False)]
    if settings.attacker == "linear":
        linear = nn.Linear(attributes, candidates)
        nn.init.zeros_(linear.weight)
        return Attacking(nn.Sequential(*normal, linear))
    return Attacking(
        nn.Sequential(
            *normal,
            nn.Linear(attributes, first),
            nn.Linear(first, second),
            nn.BatchNorm1d(second),
            nn.ReLU(),
            nn.Linear(second, candidates),
        )
    )


def cross_entropy(logits: Any, members: Any) -> Any:
    """The attacker's loss, in nats a decision."""
    return torch().nn.functional.binary_cross_entropy_with_logits(logits, members)


def privacy(settings: Settings, logits: Any, members: Any) -> Any:
    """The generator's privacy loss: smaller is better for the people in the data."""
    if settings.attacker == OPTIMAL:
        logits = logits - torch().quantile(logits[members == 0], 1.0 - settings.level)
    people = members.shape[1] if settings.reduction == "sum" else 1
    if settings.objective == "tpr":
        return people * (torch().sigmoid(logits) * members).mean()
    return -people * cross_entropy(logits, members)


def price(settings: Settings, delta: Any, weights: Any) -> Any:
    """The generator's utility loss."""
    moved = delta if weights is None else delta * weights
    if settings.norm == 1:
        attributes = delta.shape[1] if settings.reduction == "sum" else 1
        return settings.kappa * attributes * moved.abs().mean()
    attributes = 1 if settings.reduction == "sum" else delta.shape[1]
    return settings.kappa * ((moved.square().sum(dim=1) + TINY) / attributes).sqrt().mean()


NOT_PROTECTION = "in-loop attacker: not a measure of protection"


def _column(place: int, words: str) -> property:
    """A property that is this column of the rows."""
    return property(lambda history: history.rows[:, place], doc=words)


@document("history/1")
@attrs.frozen(eq=False)
class History:
    """One row a generator step: the attacker's cross entropy, the generator's privacy loss, mean |delta|, objective."""

    rows: FloatArray
    stopped: str

    def __len__(self) -> int:
        return len(self.rows)

    attacker_loss = _column(0, "Cross entropy of the attacker's last step, in nats a decision.")
    privacy = _column(1, "The generator's privacy loss.")
    error = _column(2, "Mean |delta| before clipping.")
    objective = _column(3, "What the generator minimised.")

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
        people, _ = statistic.population.size
        self.generator, self.attacker = players(settings, statistic, seed)
        adam, decay = library.optim.Adam, settings.weight_decay
        self.generator_adam = adam(self.generator.parameters, settings.learning_rate, weight_decay=decay)
        learns = list(self.attacker.net.parameters())  # a rule has none
        self.attacker_adam = adam(learns, settings.attacker_rate, weight_decay=decay) if learns else None
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
        self._slow_down()
        row = (self._attack(), *self._generate())
        if not all(map(math.isfinite, row)):
            hint = f"training diverged at step {self.step + 1}: take a smaller learning_rate or attacker_rate"
            raise InvalidParameter("the objective", row[3], "finite in every step", hint)
        self.rows.append(row)
        self.whole = True

    def _slow_down(self) -> None:
        """Both rates after so many epochs: they follow from the step, so that a resumed run has them too."""
        chosen = self.settings
        factor = chosen.decay ** (self.step // chosen.epoch)
        rates = (self.generator_adam, chosen.learning_rate), (self.attacker_adam, chosen.attacker_rate)
        for adam, rate in rates:
            for group in [] if adam is None else adam.param_groups:
                group["lr"] = rate * factor

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
            loss = cross_entropy(self.attacker.net(released), members)
            if self.attacker_adam is not None:
                self.attacker_adam.zero_grad()
                loss.backward()
                self.attacker_adam.step()
        return float(loss.detach()) if loss is not None else math.nan

    def _generate(self) -> tuple[float, float, float]:
        library, chosen = torch(), self.settings
        members, exact, inputs = self._sample()
        delta = self.generator.delta(inputs)
        logits = self.attacker.net(library.clamp(exact + delta, 0.0, 1.0))
        private = privacy(chosen, logits, members)
        objective = private + price(chosen, delta, self._weights)
        if chosen.odds_limit is not None:
            beyond = library.relu((logits - self._prior_logits).abs() - chosen.odds_limit)  # of the band of the prior
            objective = objective + chosen.odds_weight * beyond.mean()
        self.generator_adam.zero_grad()
        objective.backward()
        self.generator_adam.step()
        return float(private.detach()), float(delta.detach().abs().mean()), float(objective.detach())
