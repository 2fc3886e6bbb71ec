"""The two players: a generator of perturbations and the attacker it learns against.

    noisy     delta = tanh(MLP(b, nu) + e^s z) / 2          z standard Gaussian, s learned, one an attribute
    paper     delta = sigmoid(MLP(b, nu)) - 1/2             no noise but nu
    linear    logits = W BN(x) + c                          batch-normalised logistic regression
    neural    logits = MLP(BN(x))                           the paper's attacker, behind a normalised input

MLP of the generator: two hidden layers with batch normalisation, ReLU after the first and LeakyReLU after the second.

Reference: seed 004 P.8; theory/game.md section 4 (recommended settings).

What the two players minimise.

    attacker    cross entropy of its membership probabilities p (its minimiser: the marginal posteriors)
    cel         minus that cross entropy: zero-sum up to the price of utility, so Nash = Stackelberg = minimax
    tpr         mean of p_k b_k, the paper's proxy: general-sum, its Nash point is not the best commitment
    utility     kappa mean_j(w_j |delta_j|)
    odds        mean of max(0, |logit p_k - logit theta_k| - limit): the BGBP constraint as a penalty.  It looks at one
                attacker on samples, so it bounds no supremum and is no guarantee (corrected Prop. 6).

Reference: seed 004 equation (4), P.3 and P.6; theory/game.md section 1 (Theorem 1, Props. 6 and 8) and section 5.
"""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.game.attackers.neural import torch
from quiltwork.game.learned.options import Settings
from quiltwork.game.people.priors import Members

__all__ = ["Attacking", "Perturbing", "cross_entropy", "odds_excess", "players", "price", "privacy"]

LEAK = 0.2
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


def players(settings: Settings, candidates: int, attributes: int, seed: int) -> tuple[Perturbing, Attacking]:
    """Both networks before training; torch's own random state is left as it was."""
    library = torch()
    with library.random.fork_rng(devices=[]):
        library.manual_seed(seed)
        return _perturbing(settings, candidates, attributes), _attacking(settings, candidates, attributes)


def _perturbing(settings: Settings, candidates: int, attributes: int) -> Perturbing:
    library = torch()
    nn, (first, second) = library.nn, settings.hidden
    last = nn.Linear(second, attributes)
    with library.no_grad():
        last.weight.mul_(FIRST_STEP)
        last.bias.zero_()
    net = nn.Sequential(
        nn.Linear(candidates + settings.nu, first),
        nn.BatchNorm1d(first),
        nn.ReLU(),
        nn.Linear(first, second),
        nn.BatchNorm1d(second),
        nn.LeakyReLU(LEAK),
        last,
    )
    noisy = settings.architecture == "noisy"
    scale = nn.Parameter(library.full((attributes,), settings.initial_noise)) if noisy else None
    return Perturbing(net, scale, settings.nu, attributes)


def _attacking(settings: Settings, candidates: int, attributes: int) -> Attacking:
    library = torch()
    nn, (first, second) = library.nn, settings.attacker_hidden
    normal = nn.BatchNorm1d(attributes, affine=False)
    if settings.attacker == "linear":
        linear = nn.Linear(attributes, candidates)
        nn.init.zeros_(linear.weight)
        return Attacking(nn.Sequential(normal, linear))
    return Attacking(
        nn.Sequential(
            normal,
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


def privacy(objective: str, logits: Any, members: Any) -> Any:
    """The generator's privacy loss: smaller is better for the people in the data."""
    if objective == "tpr":
        return (torch().sigmoid(logits) * members).mean()
    return -cross_entropy(logits, members)


def price(delta: Any, kappa: float, weights: Any) -> Any:
    """The generator's utility loss."""
    size = delta.abs() if weights is None else delta.abs() * weights
    return kappa * size.mean()


def odds_excess(logits: Any, prior_logits: Any, limit: float) -> Any:
    """By how much the attacker's log-odds leave the band around the prior, on average."""
    return torch().relu((logits - prior_logits).abs() - limit).mean()
