"""The penalty method, as a comparison only: nothing here is certified, and nothing here may be released.

Seed 000 trains its mechanisms by a penalty method.  Two forms are kept for comparison with the linear program of
`world.design`: `penalised` minimises the same cost with a hinge penalty on the exact delta, and ended a little outside
the target in every case that was tried; `paper_objective` minimises the printed loss of Task-1, whose optimum need not
be private.

Reference: theory/confounding.md sections 3 (b) and 4; seed 000, section IV and appendix M.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NoReturn

import attrs
import numpy as np

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.confounding.design.design import task_after
from quiltwork.confounding.design.program import Problem
from quiltwork.confounding.design.task import relaxed, split_options
from quiltwork.errors import InvalidParameter, NotCertified
from quiltwork.kinds import document
from quiltwork.numbers.laws import laws

if TYPE_CHECKING:
    from quiltwork.confounding.world import World

_STAGES = 10  # how often the weight of the penalty grows, and by what
_GROWTH = 2.5
_START = 0.1  # spread of the first parameters


@document("penalised/1")
@attrs.frozen(eq=False)
class Penalised:
    """Where the penalty method ended: a channel (X, Z), its cost and its delta, all in plain floats."""

    channel: FloatArray
    cost: float
    delta: float
    target: float
    certified: bool = attrs.field(init=False, default=False)

    @property
    def excess(self) -> float:
        """By how much the delta exceeds its target; negative when it does not."""
        return self.delta - self.target

    def guarantee(self) -> NoReturn:
        """Refused: a penalty pulls towards the target and does not stop at it."""
        raise NotCertified("the channel of the penalty method", "use world.design, which certifies its answer")


@attrs.frozen(eq=False)
class PaperPenalty:
    """Where the printed objective ended: the channel gamma (X, Z), the response pi (S, Z), and what was promised."""

    channel: FloatArray
    response: FloatArray
    loss: float
    epsilon: float
    promised: float
    certified: bool = attrs.field(init=False, default=False)

    def guarantee(self) -> NoReturn:
        """Refused: the printed constraint binds the attacker's response, not what the channel tells."""
        raise NotCertified(
            "the channel of the printed objective", f"promised {self.promised:.4g}, epsilon is {self.epsilon:.4g}"
        )


class _Adam:
    """The usual steps of Adam (Kingma and Ba 2015) on one array."""

    def __init__(self, start: FloatArray, rate: float) -> None:
        self.place, self.rate, self.count = start, rate, 0
        self.mean, self.square = np.zeros_like(start), np.zeros_like(start)

    def step(self, slope: FloatArray) -> None:
        self.count += 1
        self.mean = 0.9 * self.mean + 0.1 * slope
        self.square = 0.999 * self.square + 0.001 * slope**2
        mean, square = self.mean / (1.0 - 0.9**self.count), self.square / (1.0 - 0.999**self.count)
        self.place = self.place - self.rate * mean / (np.sqrt(square) + 1e-12)


def _softmax(places: FloatArray) -> FloatArray:
    weights = np.exp(places - places.max(axis=1, keepdims=True))
    answer: FloatArray = weights / weights.sum(axis=1, keepdims=True)
    return answer


def _through(channel: FloatArray, slope: FloatArray) -> FloatArray:
    """The gradient in the parameters of a softmax, from the gradient in its rows."""
    answer: FloatArray = channel * (slope - (channel * slope).sum(axis=1, keepdims=True))
    return answer


def penalised(problem: Problem, steps: int = 4000, rate: float = 0.02, seed: int = 0) -> Penalised:
    """Minimise cost + weight * sum over pairs of (delta_pair - delta)_+^2 by Adam; the weight grows in ten stages."""
    if not isinstance(problem, Problem):
        raise InvalidParameter("problem", problem, "a Problem")
    steps, rate, rng = _settings(steps, rate, seed)
    signed = np.stack([problem.signed(pair) for pair in range(len(problem.pairs))])
    shape = (problem.inputs, problem.outputs)
    search, weight = _Adam(_START * rng.standard_normal(shape), rate), 1.0
    for step in range(1, steps + 1):
        channel = _softmax(search.place)
        costs = np.tensordot(problem.weights, channel, axes=2)
        slope = problem.weights[int(np.argmax(costs))].astype(float)
        seen = signed @ channel
        excess = np.maximum(np.maximum(seen, 0.0).sum(axis=(1, 2)) - problem.delta, 0.0)
        for pair in np.flatnonzero(excess):
            slope = slope + 2.0 * weight * excess[pair] * (signed[pair].T @ (seen[pair] > 0))
        search.step(_through(channel, slope))
        weight *= _growth(step, steps)
    channel = _softmax(search.place)
    worst = float(problem.deltas(channel).max(initial=0.0))
    return Penalised(channel, problem.cost(channel), worst, float(problem.delta))


def paper_objective(
    prior: Any,
    data: Any,
    tau: float,
    *,
    outputs: int | None = None,
    steps: int = 2000,
    rate: float = 0.05,
    seed: int = 0,
) -> PaperPenalty:
    """The printed Task-1 at delta = 0 by its penalty, with nothing released before.

    min over gamma(z | x) and pi(s | z) of - sum P(s) P(x | s) gamma(z | x) log pi(s | z), with a penalty on
    P(s) / tau <= pi(s | z) <= tau P(s).  Promised: log(1 + (tau - 1) / min P).  For a fixed pi the loss is linear in
    gamma, so that it ends in a deterministic gamma, however private that is.
    """
    table = laws("data", data, row_word="secret")
    shares = laws("prior", [prior] if np.ndim(prior) == 1 else prior, 1).values[0]
    if shares.size != table.shape[0]:
        raise InvalidParameter("prior", prior, f"{table.shape[0]} probabilities, one for each secret")
    if not bool(np.all(shares > 0)):
        raise InvalidParameter("prior", prior, "positive probabilities")
    ratio = checks.ranged("tau", tau, "a number >= 1", lambda number: number >= 1)
    steps, rate, rng = _settings(steps, rate, seed)
    count = table.shape[1] if outputs is None else checks.count("outputs", outputs, least=1)
    joint = shares[:, None] * table.values  # P(s, x)
    channels = _Adam(rng.standard_normal((table.shape[1], count)), rate)
    responses = _Adam(_START * rng.standard_normal((count, len(shares))), rate)
    weight = 1.0
    for step in range(1, steps + 1):
        gamma, pi = _softmax(channels.place), _softmax(responses.place)
        seen = joint @ gamma  # P(s, z)
        below, above = np.maximum(shares / ratio - pi, 0.0), np.maximum(pi - ratio * shares, 0.0)
        slope = -seen.T / pi + 2.0 * weight * (above - below)
        channels.step(_through(gamma, -joint.T @ np.log(pi).T))
        responses.step(_through(pi, slope))
        if _growth(step, steps) > 1.0:  # the memory of steep slopes would stop it
            weight, responses = weight * _GROWTH, _Adam(responses.place, 0.7 * responses.rate)
    gamma, pi = _softmax(channels.place), _softmax(responses.place)
    loss = -float((joint @ gamma * np.log(pi).T).sum())
    promised = math.log1p((ratio - 1.0) / float(shares.min()))
    return PaperPenalty(gamma, pi.T, loss, _largest_ratio(table.values @ gamma), promised)


def _settings(steps: Any, rate: Any, seed: Any) -> tuple[int, float, np.random.Generator]:
    chosen = checks.count("steps", steps, least=1), checks.positive("rate", rate)
    return *chosen, np.random.default_rng(checks.count("seed", seed))


def _growth(step: int, steps: int) -> float:
    """By how much the weight grows after this step: at the end of each stage only."""
    return _GROWTH if step % max(1, steps // _STAGES) == 0 else 1.0


def _largest_ratio(effective: FloatArray) -> float:
    """The epsilon at delta = 0 of a table P(z | s), in plain floats."""
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(effective)
        apart = logs.max(axis=0) - logs.min(axis=0)
    return float(np.max(apart[effective.max(axis=0) > 0]))


def penalised_design(world: World, existing: Any, options: dict[str, Any]) -> Penalised:
    """The penalty method on the task that `world.design` would solve; `steps`, `rate` and `seed` steer it."""
    target, search = split_options(options)
    return penalised(relaxed(task_after(world, existing, target))[0], **search)
