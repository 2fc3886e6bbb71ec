"""The BGBP constraint on a finite channel, met exactly: as little of a constant release mixed in as it takes.

    P_t(x | b) = (1 - t) P(x | b) + t q(x),     q the mean of the rows.

The odds ratio of two neighbouring rows moves towards 1 as t grows (its derivative has the sign of q (p' - p)), so the
least t is found by bisection, with every level evaluated exactly.  A penalty on an attacker's log-odds cannot do this.

Reference: seed 004 Proposition 6 and P.6; theory/game.md sections 1 (Prop. 6 corrected) and 5.

A certified end of a learned defence: hold its output in a ball around a public centre, then add Gaussian noise.

    released = clip(c + ball_r(y - c) + s z),       y = exact + G(b, nu),  ball_r(v) = v min(1, r / |v|)

Given nu, and the noise inside G, the mean lies in a ball of radius r whatever the membership vector is, so that any two
vectors move it by at most 2r: the release is mu-GDP with mu = 2 r / s for every change of membership, not only of one
person.  nu is drawn independently of b and not released; clipping and leaving it out are post-processing.  s is the
least for which the exact Gaussian curve meets the target; the learned part may be anything.

Reference: theory/game.md sections 0 (item 5) and 5 (closed form or bisection on the exact curve, never a bare penalty);
Dong, Roth and Su 2022 for Gaussian differential privacy.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, ClassVar

import attrs
import numpy as np

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.compose.calibrate import calibrate
from quiltwork.compose.constructors import gdp
from quiltwork.curves.bracket import Bracket
from quiltwork.curves.guarantee import Guarantee
from quiltwork.errors import InvalidParameter, Unreachable, Unsupported
from quiltwork.game.defenders.certificates import Rows
from quiltwork.game.defenders.noise import POOL
from quiltwork.game.finite.membership import individuals
from quiltwork.game.finite.odds import worst_informed
from quiltwork.game.people.population import Members, Statistic, rows_of_people
from quiltwork.game.releases import Channel, Defence
from quiltwork.kinds import document
from quiltwork.numbers.digits import at_most
from quiltwork.numbers.laws import Table, read_laws
from quiltwork.numbers.rounding import UNIT, up

_WIDEN = 1.0 + 1e-9
_TRIES = 60
_MIN_RADIUS = 1e-9  # a radius below which the ball is a point for all purposes


@document("finish/1")
@attrs.frozen(eq=False)
class Finish:
    """A ball around `centre` and the noise `sigma` that meets (epsilon, delta) for it."""

    epsilon: float
    delta: float
    centre: FloatArray
    radius: float
    sigma: float

    @property
    def spread(self) -> float:
        """How far apart two means can be: 2r, rounded up.

        The computed mean leaves the ball by rounding alone: a relative (m + 8) units for norm, quotient and product,
        and one unit of each coordinate of centre + move, which are at most 1 and r large.
        """
        size = len(self.centre)
        moved = 2.0 * self.radius * (1.0 + (size + 16.0) * UNIT)
        return up(moved + 4.0 * UNIT * math.sqrt(size) * (1.0 + self.radius), 8)

    @property
    def mu(self) -> float:
        """The spread in units of the noise, rounded up."""
        return up(self.spread / self.sigma)

    def mean(self, values: FloatArray) -> FloatArray:
        """Each row pulled back into the ball; a row that is not finite becomes the centre, whoever is in the data."""
        finite = np.isfinite(values).all(axis=1, keepdims=True)
        moved = np.where(finite, values, self.centre) - self.centre
        length = np.sqrt((moved**2).sum(axis=1, keepdims=True))
        factor = np.where(length > self.radius, self.radius / np.where(length > 0, length, 1.0), 1.0)
        return self.centre + moved * factor

    @property
    def holds(self) -> bool:
        """Whether the certified curve meets the target: asked again, outside the search that found sigma."""
        loss = gdp(self.mu)
        return bool(loss.epsilon(self.delta).safe <= self.epsilon and loss.delta(self.epsilon).safe <= self.delta)


def finished(epsilon: float, delta: float, centre: FloatArray, radius: float) -> Finish:
    """The least noise for this ball whose certified curve meets the target."""
    held = max(float(radius), _MIN_RADIUS)
    if not math.isfinite(held):
        raise InvalidParameter("radius", radius, "a finite number")
    mu = calibrate(gdp, epsilon, delta)
    finish = Finish(epsilon, delta, centre, held, 1.0)
    finish = attrs.evolve(finish, sigma=up(finish.spread / mu, 2))
    for _ in range(_TRIES):
        if finish.holds:
            return finish
        finish = attrs.evolve(finish, sigma=finish.sigma * _WIDEN)
    raise Unreachable(f"epsilon {epsilon:g} at delta {delta:g}", "the noise around the calibrated one")


@rows_of_people
@attrs.frozen(eq=False)
class Certified:
    """A defence behind a finish; without `base` it is the exact statistic behind it, for comparison."""

    statistic: Statistic
    finish: Finish
    base: Defence | None = None
    channel: ClassVar[Channel | None] = None  # the ball is not linear

    @property
    def name(self) -> str:
        """What is finished, and to which target."""
        what = "exact statistic" if self.base is None else self.base.name
        return f"{what}, certified ({self.finish.epsilon:g}, {self.finish.delta:g})"

    def defend(self, exact: FloatArray, members: Members, rng: np.random.Generator) -> FloatArray:
        """Simulated outputs; for people, draw the noise on `mean` with `quiltwork.mechanisms`."""
        mean = self.mean(exact, members, rng)
        return mean + self.finish.sigma * rng.standard_normal(mean.shape)

    def mean(self, exact: FloatArray, members: Members, rng: np.random.Generator) -> FloatArray:
        """What Gaussian noise of `finish.sigma` must still be added to."""
        if self.base is None:
            return self.finish.mean(exact)
        return self.finish.mean(np.clip(self.base.defend(exact, members, rng), 0.0, 1.0))

    def certificate(self, rows: Rows | None = None) -> Guarantee:
        """mu-GDP for every change of membership."""
        if rows not in (None, "pool"):
            because = "centre, radius and network follow the candidates' rows"
            raise Unsupported("a guarantee for any rows", because, "ask for rows='pool'")
        people, noise = self.statistic.population.size[0], at_most(self.finish.sigma, 6)
        return Guarantee(
            gdp(self.finish.mu),
            f"which of the {people} candidates are in the data: any two sets of members",
            (
                POOL,
                "centre, radius, noise and network were fixed without looking at who is in the data",
                f"what is released is the mean plus real Gaussian noise of standard deviation {noise}, "
                "and the network's own random input stays secret",
            ),
            ("means in a ball of radius r, Gaussian noise s: mu = 2 r / s (generative/finish.py)",),
            "two sets of members at opposite points of the ball",
        )


def reach(defence: Defence, centre: FloatArray, rng: np.random.Generator, quantile: float, count: int = 400) -> float:
    """A quantile of the distance from the centre over simulated members: it looks at the prior, never at the data."""
    population = defence.statistic.population
    members = population.prior.draw(count, population.size[0], rng)
    outputs = np.clip(defence.defend(defence.statistic.exact(members), members, rng), 0.0, 1.0)
    return float(np.quantile(np.sqrt(((outputs - centre) ** 2).sum(axis=1)), quantile))


_ALLOWED = "a law of outputs for each of the 2^K membership vectors, one a row"
_BITS = 30


@document("bounded_odds/1")
@attrs.frozen(eq=False)
class BoundedOdds:
    """A channel of fractions whose informed odds ratios are at most e^epsilon, and the share mixed in."""

    channel: Table
    share: Fraction
    level: Bracket


def bisect_odds(channel: Any, epsilon: float, *, bits: int = _BITS) -> BoundedOdds:
    """The least share, to `bits` binary digits, for which the channel is epsilon-DP for every single membership.

    >>> found = bisect_odds([["3/4", "1/4"], ["1/4", "3/4"]], 0.5, bits=20)
    >>> round(float(found.share), 5), bool(found.level.safe <= 0.5)
    (0.51016, True)
    """
    target = checks.positive("epsilon", epsilon)
    steps = checks.count("bits", bits, 1)
    given = read_laws("channel", channel, 2, _ALLOWED)
    individuals(len(given), "channel")
    exact = np.array([[Fraction(entry) for entry in row] for row in given.tolist()], dtype=object)
    exact = exact / exact.sum(axis=1)[:, None]  # rows of floats sum to one only nearly
    centre = exact.sum(axis=0) / len(exact)

    def mixed(share: Fraction) -> BoundedOdds:
        table = (1 - share) * exact + share * centre[None, :]
        return BoundedOdds(table, share, worst_informed(table).level)

    best = mixed(Fraction(0))
    if best.level.safe <= target:
        return best
    low, best = Fraction(0), mixed(Fraction(1))  # all rows equal: level 0
    for _ in range(steps):
        middle = mixed((low + best.share) / 2)
        if middle.level.safe <= target:
            best = middle
        else:
            low = middle.share
    return best
