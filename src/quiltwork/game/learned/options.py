"""What a user chooses about a learned defence, and what these choices come to for a number of candidates.

Two architectures.  `noisy` (recommended): G = tanh(MLP(b, nu) + e^s z) / 2 with z standard Gaussian, one entry an
attribute, so that the noise has full rank.  `paper`: a scaled sigmoid of MLP(b, nu) with 30 entries of nu and no such
noise, with the widths, rates and decay of the paper's Appendix P.8; it is here to reproduce the paper, and its releases
are decoded by attackers that are trained afterwards.

The paper prints a decay of .988 and not how many steps it is for: `epoch` is our reading.  Nor does it print whether
losses are sums or means, nor p of |delta|_p: `reduction` and `norm`.  A price kappa of sums is kappa m / K of means.

Reference: seed 004 sections 3.2, P.2 and P.8; theory/game.md sections 0 and 4 (recommended settings, ablations).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import attrs
import numpy as np

from quiltwork import checks
from quiltwork.errors import InvalidParameter
from quiltwork.kinds import document

ARCHITECTURES = ("noisy", "paper")
OBJECTIVES = ("cel", "tpr")
IN_LOOP = ("linear", "neural")
RULES = ("fixed", "adaptive", "score")  # attackers that stand still
OPTIMAL = "optimal"  # a network that is read as the likelihood-ratio test at one level of false alarms
REDUCTIONS = ("mean", "sum")
PAPER_NU = 30
PAPER_DECAY = 0.988
EPOCH = 20
PAPER_HIDDEN, PAPER_ATTACKER = (1500, 1100, 500), (3400, 2000)  # Tables 1a and 2a
SMALL_HIDDEN, SMALL_ATTACKER = (256, 256), (256, 128)


def _numbers(widths: Sequence[int]) -> tuple[int, ...]:
    return tuple(int(width) for width in widths)


@attrs.frozen
class Settings:
    """Everything that decides a training run, except how long it is: two runs with equal settings are equal."""

    architecture: str
    objective: str
    attacker: str
    nu: int
    hidden: tuple[int, ...] = attrs.field(converter=_numbers)
    attacker_hidden: tuple[int, ...] = attrs.field(converter=_numbers)
    kappa: float = attrs.field(converter=float)
    weights: tuple[float, ...] | None
    attacker_steps: int
    learning_rate: float = attrs.field(converter=float)
    attacker_rate: float = attrs.field(converter=float)
    weight_decay: float = attrs.field(converter=float)
    batch: int = attrs.field(converter=int)
    initial_noise: float = attrs.field(converter=float)
    odds_limit: float | None
    odds_weight: float = attrs.field(converter=float)
    patience: int | None
    window: int = attrs.field(converter=int)
    tolerance: float = attrs.field(converter=float)
    decay: float = attrs.field(converter=float)
    epoch: int = attrs.field(converter=int)
    reduction: str
    norm: int
    level: float = attrs.field(converter=float)


def _widths(name: str, value: Any, most: int = 2) -> tuple[int, ...]:
    if not isinstance(value, (tuple, list)) or not 2 <= len(value) <= most:
        words = "two whole numbers" if most == 2 else "two or three whole numbers"
        raise InvalidParameter(name, value, f"{words}, the widths of the hidden layers")
    return tuple(checks.count(name, width, 1) for width in value)


def _norm(name: str, value: Any) -> int:
    if checks.count(name, value, 1) > 2:
        raise InvalidParameter(name, value, "1 or 2")
    return int(value)


def _weights(value: Any) -> tuple[float, ...] | None:
    if value is None:
        return None
    allowed = "a list of numbers >= 0, one an attribute, not all of them 0"
    weights = checks.numbers("weights", value, allowed, 0.0, 1e9)
    if weights.ndim != 1 or not bool(np.any(weights > 0)):
        raise InvalidParameter("weights", value, allowed)
    return tuple(float(weight) for weight in weights)


def _target(value: Any) -> tuple[float, float] | None:
    if value is None:
        return None
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise InvalidParameter("certify", value, "a pair (epsilon, delta)")
    hint = "Gaussian noise has no finite epsilon at delta = 0"
    delta = checks.ranged("delta", value[1], "in (0, 1)", lambda number: 0.0 < number < 1.0, hint)
    return checks.positive("epsilon", value[0]), delta


def _if_given(check: Callable[..., Any], *more: Any) -> Any:
    return attrs.validators.optional(checks.field(check, *more))


@document("generative/1")
@attrs.frozen
class Generative:
    """A defence learned in a general-sum game against an attacker that learns as well (BNGP of seed 004).

    The generator minimises privacy loss + kappa mean_j(weights_j |delta_j|); None stands for the architecture's
    default.  `objective` "cel" is minus the attacker's cross entropy (zero-sum: Nash and Stackelberg agree), "tpr" the
    paper's mean of p_k b_k.  `odds_limit` adds a penalty where the in-loop attacker's log-odds move by more: a help in
    training, never a guarantee.  `certify` = (epsilon, delta) turns that on and ends with noise that is a guarantee.
    Training stops early when the moving average of the objective stays within `tolerance` for `patience` steps.
    Both learning rates are multiplied by `decay` every `epoch` steps.  `reduction` "sum" adds privacy loss and
    |delta|_norm up instead of averaging over people and attributes.
    """

    architecture: str = attrs.field(default="noisy", validator=checks.field(checks.one_of, ARCHITECTURES))
    objective: str | None = attrs.field(default=None, validator=_if_given(checks.one_of, OBJECTIVES))
    kappa: float = attrs.field(default=2.0, validator=checks.field(checks.non_negative))
    weights: tuple[float, ...] | None = attrs.field(default=None, converter=_weights)
    nu: int | None = attrs.field(default=None, validator=_if_given(checks.count, 1))
    attacker: str | None = attrs.field(default=None, validator=_if_given(checks.one_of, IN_LOOP))
    attacker_steps: int | None = attrs.field(default=None, validator=_if_given(checks.count, 1))
    learning_rate: float | None = attrs.field(default=None, validator=_if_given(checks.rate))
    attacker_rate: float | None = attrs.field(default=None, validator=_if_given(checks.rate))
    weight_decay: float = attrs.field(default=1e-5, validator=checks.field(checks.non_negative))
    batch: int = attrs.field(default=64, validator=checks.field(checks.count, 2))
    steps: int = attrs.field(default=1200, validator=checks.field(checks.count, 1))
    initial_noise: float = attrs.field(default=-2.0, validator=checks.field(checks.real))
    hidden: tuple[int, ...] | None = attrs.field(default=None, validator=_if_given(_widths, 3))
    attacker_hidden: tuple[int, ...] | None = attrs.field(default=None, validator=_if_given(_widths))
    odds_limit: float | None = attrs.field(default=None, validator=_if_given(checks.positive))
    odds_weight: float = attrs.field(default=10.0, validator=checks.field(checks.non_negative))
    patience: int | None = attrs.field(default=400, validator=_if_given(checks.count, 1))
    window: int = attrs.field(default=100, validator=checks.field(checks.count, 1))
    tolerance: float = attrs.field(default=1e-3, validator=checks.field(checks.non_negative))
    certify: tuple[float, float] | None = attrs.field(default=None, converter=_target)
    radius_quantile: float = attrs.field(default=0.9, validator=checks.field(checks.rate))
    decay: float | None = attrs.field(default=None, validator=_if_given(checks.rate))
    epoch: int | None = attrs.field(default=None, validator=_if_given(checks.count, 1))
    reduction: str | None = attrs.field(default=None, validator=_if_given(checks.one_of, REDUCTIONS))
    norm: int | None = attrs.field(default=None, validator=_if_given(_norm))

    against: ClassVar[str | None] = None  # the attacker of a response; others choose theirs

    @property
    def name(self) -> str:
        """For tables."""
        weighted = "" if self.weights is None else ", weighted"
        what = "generative" if self.against is None else f"response to {self.against}"
        return f"{what} ({self.architecture}, kappa {self.kappa:g}{weighted})"

    def settings(self, candidates: int, attributes: int) -> Settings:
        """The choices with every default filled in."""
        if self.weights is not None and len(self.weights) != attributes:
            raise InvalidParameter("weights", len(self.weights), f"{attributes} numbers, one an attribute")
        paper = self.architecture == "paper"
        attacker = self.attacker or ("neural" if paper else "linear")
        neural = attacker == "neural"
        if self.against is not None:
            attacker, neural = self.against, self.against == OPTIMAL
        response = self.against is not None
        limit = self.odds_limit
        if limit is None and self.certify is not None and not response:
            limit = self.certify[0]
        own = {"level": 0.0} | attrs.asdict(self, recurse=False)  # a level of false alarms is for responses alone
        filled = {field.name: own[field.name] for field in attrs.fields(Settings)}
        return Settings(
            **filled
            | {
                "objective": self.objective or ("tpr" if paper or response else "cel"),
                "attacker": attacker,
                "nu": self.nu or (PAPER_NU if paper else max(candidates, PAPER_NU)),
                "attacker_steps": 1 if attacker in RULES else self.attacker_steps or (2 if paper else 6),
                "learning_rate": self.learning_rate or (1e-3 if paper else 3e-4),
                "attacker_rate": self.attacker_rate or ((1e-4 if paper else 1e-3) if neural else 3e-3),
                "hidden": self.hidden or (PAPER_HIDDEN if paper else SMALL_HIDDEN),
                "attacker_hidden": self.attacker_hidden or (PAPER_ATTACKER if paper else SMALL_ATTACKER),
                "decay": self.decay or (PAPER_DECAY if paper else 1.0),
                "epoch": self.epoch or EPOCH,
                "reduction": self.reduction or "mean",
                "norm": self.norm or 1,
                "odds_limit": limit,
            }
        )

    def prepare(self, population: Any, *, denominator: str = "members", seed: int = 0) -> Any:
        """Train with these options, pass the gate, and return the defence; `train` offers more."""
        from quiltwork.game.learned.run import train

        return train(self, None, population, denominator=denominator, seed=seed)


@attrs.frozen
class _Response(Generative):
    """A generator that answers one attacker; `level` is that attacker's share of false alarms without a defence."""

    level: float = attrs.field(default=0.05, validator=checks.field(checks.rate))

    def __attrs_post_init__(self) -> None:
        if self.attacker is not None:
            raise InvalidParameter("attacker", self.attacker, "left out: a response has its own")
        if self.odds_limit is not None:
            raise InvalidParameter("odds_limit", self.odds_limit, "left out: a response bounds nobody's odds")


@document("fixed_response/1")
@attrs.frozen
class FixedResponse(_Response):
    """The best response to the fixed-threshold likelihood-ratio attacker: (FixedLRT) of seed 004, Appendix C."""

    against = "fixed"


@document("adaptive_response/1")
@attrs.frozen
class AdaptiveResponse(_Response):
    """The best response to the adaptive-threshold likelihood-ratio attacker: (AdaptLRT) of seed 004, Appendix C."""

    against = "adaptive"


@document("score_response/1")
@attrs.frozen
class ScoreResponse(_Response):
    """The best response to the score attacker of Dwork et al. 2015: Figure 1g of seed 004."""

    against = "score"


@document("optimal_response/1")
@attrs.frozen
class OptimalResponse(_Response):
    """The response to the optimal likelihood-ratio test of one level: (OptLRT) of seed 004, Appendix C.

    The ratio of densities of a network's releases has no formula; the attacker's network, which learns as the defence
    moves, has it as its logit (Neyman and Pearson), and the test claims those above the level's quantile of others.
    """

    against = OPTIMAL
