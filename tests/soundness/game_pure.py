"""Sup-norm noise, peeling, and a fresh reading behind other releases, against every neighbouring pair of data sets."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import attrs
import numpy as np
from tests.soundness import game_truth as truth
from tests.soundness.confounding_checks import Check, at_most
from tests.soundness.game_checks import cells, chance, corner
from tests.soundness.game_people import People, people, spread

from quiltwork.compose.loss import compose
from quiltwork.errors import Unreachable
from quiltwork.game import Gaussian, PeelingMean, SupNormNoise
from quiltwork.game.defenders.certificates import neighbours
from quiltwork.game.learned.following import fresh_noise

CELLS = 40  # of a share between the two places that it is moved between
NARROW = 1e-6  # of the scale: a move below it has no cells, whose masses would be differences of like numbers


@attrs.define
class Recorder:
    """In the place of a generator: the scale that a mechanism asks for, and no noise."""

    scale: float = math.nan

    def gamma(self, shape: float, scale: float, size: Any) -> Any:
        self.scale = scale
        return np.zeros(size)

    def laplace(self, centre: float, scale: float, size: Any) -> Any:
        self.scale = scale
        return np.zeros(size)

    def uniform(self, low: float, high: float, size: Any) -> Any:
        return np.zeros(size)


def scale_of(defence: Any) -> float:
    """What the noise is multiplied by."""
    recorder = Recorder()
    defence.draw(np.zeros((1, defence.statistic.population.size[1])), recorder)
    return recorder.scale


def _epsilon(rng: np.random.Generator) -> float:
    return float(f"{10.0 ** rng.uniform(-2, 2):.3g}")


# ---- sup-norm noise


def sup_norm(rng: np.random.Generator) -> People:
    """Noise that is small in every share at once."""
    return people(rng, lambda rng, width: SupNormNoise(_epsilon(rng)))


def widest(case: People, rng: np.random.Generator) -> Iterator[Check]:
    """The loss of a move is its largest share over the scale, attained far out along that share."""
    defence = case.defender.prepare(case.population, denominator=case.denominator)
    scale = Fraction(scale_of(defence))
    pool = truth.moves(case.population.candidates, case.half, case.fixed)
    for rows, moves in (("pool", pool), ("any", [*pool, *corner(case)])):
        curve = defence.certificate(rows).curve
        losses = [max(abs(entry) for entry in move) / scale for move in moves]
        bound = float(curve.epsilon(0.0).upper)
        yield at_most(f"sup-norm noise, {rows} rows: epsilon", max(losses), bound)
        yield at_most(f"sup-norm noise, {rows} rows: no more than asked for", bound, case.defender.epsilon)
        if case.population.size[1] == 1:  # one share: Laplace noise
            yield from cells("sup-norm noise", curve, [float(max(losses))], rng)


# ---- peeling


def peeled(rng: np.random.Generator) -> People:
    """The larger of two shares, found and published, or the only one there is."""
    case = people(rng, lambda rng, width: PeelingMean(_epsilon(rng), named=1), most=4, attributes=2)
    return attrs.evolve(case, options={"epsilon": float(rng.uniform(0.0, 1.0))})


def _first(gap: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """P(gap + z > z') for independent Laplace noises of scale 1."""
    size = np.abs(gap)
    tail = np.exp(-size) * (0.5 + 0.25 * size)
    return np.where(gap >= 0, 1.0 - tail, tail)


def _laws(one: Any, two: Any, scale: float) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Which share is named, and the cell that it falls into, for two data sets."""
    found: list[list[np.ndarray[Any, Any]]] = [[], []]
    for name in range(len(one)):
        low, high = sorted((one[name], two[name]))
        cuts = np.linspace(low, high, CELLS + 1 if high - low > NARROW * scale else 2)[: None if high > low else 1]
        for place, shares in enumerate((one, two)):
            moved = (cuts - shares[name]) / scale
            below = np.where(moved < 0, 0.5 * np.exp(-np.abs(moved)), 1.0 - 0.5 * np.exp(-np.abs(moved)))
            law = np.diff(np.concatenate([[0.0], below, [1.0]]))
            other = shares[name] - shares[1 - name] if len(shares) == 2 else math.inf
            named = 1.0 if math.isinf(other) else float(_first(np.array(other / scale)))
            found[place].append(named * np.maximum(law, 0.0))
    return np.concatenate(found[0]), np.concatenate(found[1])


def named(case: People, rng: np.random.Generator) -> Iterator[Check]:
    """Every neighbouring pair: the name and the share, in cells, which are a function of what is published."""
    defence = case.defender.prepare(case.population, denominator=case.denominator)
    curve, scale = defence.certificate().curve, scale_of(defence)
    bound, share = float(curve.epsilon(0.0).upper), case.options["epsilon"]
    yield at_most("peeling: no more than asked for", bound, case.defender.epsilon)
    place = share * min(bound, 20.0)
    upper = float(curve.delta(place).upper)
    most, least = 0.0, 0.0
    for one, two in _pairs(case):
        first, second = _laws(one, two, scale)
        kept = np.minimum(first, second) > 1e-9 * np.maximum(first, second).max()
        most = max(most, float(np.abs(np.log(first[kept]) - np.log(second[kept])).max()))
        least = max(least, truth.least_delta(first, second, place), truth.least_delta(second, first, place))
    yield at_most("peeling: epsilon", most * (1.0 - 1e-9) - 1e-12, bound)
    yield chance("peeling: delta", least, upper, f"epsilon {place!r}")


def _pairs(case: People) -> Iterator[tuple[Any, Any]]:
    """The shares of every two neighbouring data sets."""
    people, statistic = case.population.size[0], case.statistic
    for members in itertools.product((False, True), repeat=people):
        if case.half and sum(members) != people // 2:
            continue
        for other in truth._neighbours(tuple(map(int, members)), case.half):
            both = np.array([members, tuple(map(bool, other))])
            one, two = statistic.exact(both)
            yield one, two


# ---- the next release behind others


def behind(rng: np.random.Generator) -> People:
    """One to three Gaussian releases, and a target somewhat above what they have."""
    sizes = [spread(rng) for _ in range(int(rng.integers(1, 4)))]
    delta = float(10.0 ** rng.uniform(-6, -1))
    more = float(rng.choice([1.001, 1.1, 1.5, 3.0]))
    return people(rng, lambda rng, width: [Gaussian(size) for size in sizes], delta=delta, more=more)


def followed(case: People, rng: np.random.Generator) -> Iterator[Check]:
    """All readings together are one Gaussian experiment, for every move: the total holds it, and meets the target."""
    parts = [one.prepare(case.population, denominator=case.denominator) for one in case.defender]
    before = compose(*(part.certificate("pool").curve for part in parts))
    delta = case.options["delta"]
    epsilon = float(before.epsilon(delta).upper) * case.options["more"]
    if not 1e-6 < epsilon < 1e3:
        return
    try:
        sigma, loss = fresh_noise(before, neighbours(case.statistic), epsilon, delta)
    except Unreachable:
        return
    precision = 1 / Fraction(sigma) ** 2 + sum(1 / Fraction(one.sigma) ** 2 for one in case.defender)
    moves = truth.moves(case.population.candidates, case.half, case.fixed)
    square = max(sum(entry**2 for entry in move) for move in moves) * precision
    yield chance("behind others: the target", truth.gaussian_delta(square, epsilon), delta, f"epsilon {epsilon!r}")
    for place in (0.0, float(rng.exponential(1.0))):
        upper = float(loss.delta(place).upper)
        yield chance("behind others: delta", truth.gaussian_delta(square, place), upper, f"epsilon {place!r}")
