"""The numbers behind `quiltwork train`: what a run of DP-SGD costs, or the noise or the epochs that a target leaves."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from typing import Any, Literal

import attrs

from quiltwork import checks
from quiltwork.compose.calibrate import calibrate
from quiltwork.compose.loss import Loss, compose
from quiltwork.compose.releases import Part
from quiltwork.compose.training import SAMPLING, training
from quiltwork.curves.bracket import Bracket
from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.losses.families.gaussian import Gaussian
from quiltwork.losses.families.poisson import Poisson
from quiltwork.losses.families.sampling.shuffled import Shuffled
from quiltwork.numbers.digits import at_most
from quiltwork.numbers.stated import typed
from quiltwork.report.answers.account import Verdict, judged
from quiltwork.spec.files.plan import Target

SCHEMA = "quiltwork/training/1"
DIGITS = 4  # of a noise multiplier that was found
LEAST_NOISE = {"poisson": 0.25, "shuffle": 0.25, "fixed_size": 0.5, "random_allocation": 0.5}
MOST_NOISE = 1e5  # beyond, there is next to nothing to tell
RTOL = 1e-3  # asked of epsilon, in the search and after it alike
NEAR = 1e-9  # rates this near to one over a whole number of batches were meant as that

Solved = Literal["epsilon", "noise multiplier", "epochs", ""]


@attrs.frozen
class Stage:
    """Steps of one noise multiplier and one sampling rate."""

    noise_multiplier: float
    rate: float
    steps: int

    def to_json(self) -> dict[str, Any]:
        """The triple by name."""
        return {"noise_multiplier": self.noise_multiplier, "sampling_rate": self.rate, "steps": self.steps}


@attrs.frozen(eq=False)
class Training:
    """A run, and the answers to the usual questions at one delta.

    `other` is what the same run costs under the other kind of loader: shuffled batches; for these, Poisson sampling.
    """

    sampling: str
    stages: tuple[Stage, ...]
    sizes: tuple[int, int] | None  # examples and batch, where they are known
    epochs: float | None
    solved: Solved
    loss: Loss
    delta: float
    epsilon: Bracket
    advantage: Bracket
    other: Bracket
    verdict: Verdict | None

    @property
    def neighbors(self) -> str:
        """The neighbouring tables that all numbers are about."""
        return SAMPLING[self.sampling]

    @property
    def other_sampling(self) -> str:
        """The loader that `other` is about."""
        return "poisson" if self.sampling == "shuffle" else "shuffle"

    @property
    def steps(self) -> int:
        """Of all stages."""
        return sum(stage.steps for stage in self.stages)

    @property
    def met(self) -> bool:
        """Whether the target holds, if there is one."""
        return self.verdict is None or self.verdict.word == "met"

    def to_json(self) -> dict[str, Any]:
        """A plain dictionary that `json.dumps(..., allow_nan=False)` accepts."""
        examples, batch = self.sizes or (None, None)
        first = self.stages[0] if len(self.stages) == 1 else None
        verdict = self.verdict
        return {
            "schema": SCHEMA,
            "sampling": self.sampling,
            "neighbors": self.neighbors,
            "examples": examples,
            "batch": batch,
            "epochs": self.epochs,
            "noise_multiplier": None if first is None else first.noise_multiplier,
            "sampling_rate": None if first is None else first.rate,
            "steps": self.steps,
            "stages": [stage.to_json() for stage in self.stages],
            "solved": self.solved or None,
            "delta": self.delta,
            "epsilon": self.epsilon.to_json(),
            "advantage": self.advantage.to_json(),
            "instead": {"sampling": self.other_sampling, "epsilon": self.other.to_json()},
            "target": None if verdict is None else {**verdict.target.model_dump(), "verdict": verdict.word},
            "met": self.met,
            "loss": self.loss.to_json(),
        }


@attrs.frozen
class Asked:
    """What is known of a run; None for what is to be found."""

    examples: int
    batch: int
    sampling: str
    delta: float
    epochs: float | None
    noise_multiplier: float | None
    epsilon: float | None

    def loss(self, epochs: float, noise_multiplier: float, sampling: str = "") -> Loss:
        """The run with these two filled in."""
        return training(self.examples, self.batch, epochs, noise_multiplier, sampling or self.sampling)

    def solve(self) -> tuple[Solved, float, float]:
        """What was unknown, and then epochs and noise multiplier.

        The least noise is rounded up before it is tried, so that the number that is said is the one that was certified.
        """
        epochs, noise, epsilon = self.epochs, self.noise_multiplier, self.epsilon
        if epochs is not None and noise is not None:
            return ("epsilon" if epsilon is None else ""), epochs, noise
        solve = partial(calibrate, epsilon=epsilon, delta=self.delta, rtol=RTOL)
        if epochs is not None:
            known = epochs
            found = solve(lambda z: safe_side(self.loss(known, _rounded(z))), tolerance=1e-5)
            return "noise multiplier", epochs, _rounded(found)
        if noise is None or epsilon is None:
            raise InvalidParameter("the run", "too little", "two of epochs, noise multiplier and epsilon")
        level = noise
        most = solve(lambda passes: safe_side(self.loss(passes, level)), integer=True)
        return "epochs", most, noise


def train(asked: Asked) -> Training:
    """The run that was asked about, with what was unknown solved from the safe side."""
    if asked.noise_multiplier is not None:
        check_noise(asked.noise_multiplier, asked.sampling)
    solved, epochs, noise = asked.solve()
    if not LEAST_NOISE[asked.sampling] <= noise <= MOST_NOISE:
        hint = f"{noise:g} would do here; nobody is protected by less, and more tells nothing"
        bounds = f"one that takes a noise multiplier from {LEAST_NOISE[asked.sampling]} to {MOST_NOISE:g}"
        raise InvalidParameter("epsilon", asked.epsilon, bounds, hint)
    loss = asked.loss(epochs, noise)
    other = asked.loss(epochs, noise, "poisson" if asked.sampling == "shuffle" else "shuffle")
    batches = math.ceil(Fraction(asked.examples, asked.batch))
    whole = asked.sampling in ("shuffle", "random_allocation")  # both count whole passes
    steps = math.ceil(epochs) * batches if whole else math.ceil(typed(epochs) * asked.examples / asked.batch)
    stage = Stage(noise, asked.batch / asked.examples, steps)
    sizes = asked.examples, asked.batch
    return _answered(asked.sampling, (stage,), sizes, epochs, solved, loss, other, asked.delta, asked.epsilon)


def train_recorded(loss: Loss, delta: float, epsilon: float | None) -> Training:
    """A run that an accountant wrote down as steps of Poisson-sampled Gaussian noise."""
    stages, shuffled = [], []
    for part in loss.parts:
        family = part.family
        rate, base = (family.rate, family.base) if isinstance(family, Poisson) else (1.0, family)
        if not isinstance(base, Gaussian) or base.sensitivity != 1:
            raise Unsupported(f"a training run of {family}", "its steps are not Gaussian noise on clipped gradients")
        check_noise(base.sigma, "poisson")
        stages.append(Stage(base.sigma, rate, part.count))
        batches = max(1, math.floor((1 + NEAR) / rate))  # at least so many in each pass: no fewer passes are counted
        passes = math.ceil(Fraction(part.count, batches))
        shuffled.append(passes * Loss.of(Shuffled(base, batches)))
    if not stages:
        raise InvalidParameter("the history", [], "at least one step")
    other = compose(*shuffled)
    return _answered("poisson", tuple(stages), None, None, "epsilon", loss, other, delta, epsilon)


def _answered(
    sampling: str,
    stages: tuple[Stage, ...],
    sizes: tuple[int, int] | None,
    epochs: float | None,
    solved: Solved,
    loss: Loss,
    other: Loss,
    delta: float,
    target: float | None,
) -> Training:
    delta = checks.probability("delta", delta)
    epsilon = loss.epsilon(delta, rtol=RTOL)
    verdict = None if target is None else judged(Target(epsilon=target, delta=delta), epsilon)
    return Training(
        sampling, stages, sizes, epochs, solved, loss, delta, epsilon, loss.advantage(), other.epsilon(delta), verdict
    )


def check_noise(noise_multiplier: float, sampling: str) -> None:
    """Refuse noise with which a report would take long and say nothing: epsilon in the hundreds, or none."""
    least = LEAST_NOISE[sampling]
    if not least <= checks.positive("noise_multiplier", noise_multiplier) <= MOST_NOISE:
        hint = "nobody is protected by less, and more tells nothing; quiltwork.training prices any"
        raise InvalidParameter("noise_multiplier", noise_multiplier, f"from {least} to {MOST_NOISE:g}", hint)


def safe_side(loss: Loss) -> Loss:
    """A loss with the same upper end: of shuffled batches one release an epoch, without the work for the lower end."""
    if not any(isinstance(part.family, Shuffled) for part in loss.parts):
        return loss
    parts = [Part(p.family.base, p.count) if isinstance(p.family, Shuffled) else p for p in loss.parts]
    return Loss(tuple(parts), loss.side)


def _rounded(noise: float) -> float:
    return float(at_most(noise, DIGITS))
