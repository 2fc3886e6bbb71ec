"""Two pure mechanisms that papers compare with: noise that is small in every share at once, and peeling.

sup-norm    noise with density proportional to exp(-|z|_oo / b): a Gamma(m + 1) radius times a uniform point of the
            cube.  A change of membership moves no share by more than `step`, and |.|_oo is a norm, so that the loss is
            step / b, exactly, whatever the number of shares.
peeling     s times the name of the largest share plus Laplace noise among those left; then these s shares with fresh
            Laplace noise of the same scale b.  A change moves two shares against each other by 2 step, so that a name
            is noisy max at 2 step / b and a share a Laplace mechanism at step / b; these are composed, not added.
            b = 3 s step / epsilon makes their sum epsilon.  A share without a name is its public reference frequency.

Both hold for any rows in [0, 1].  What a curve says from below is that of the worst mechanism with this loss.

Reference: seed 004 section 5 (Figures 1e and 1f); Steinke and Ullman 2016; Dwork, Su and Zhang 2018; Cai, Wang and
Zhang 2021, whose smaller scales are for (epsilon, delta) with a small epsilon; theory/sampling.md section 2.3.
"""

from __future__ import annotations

import attrs
import numpy as np

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.compose.constructors import laplace, noisy_max, pure
from quiltwork.compose.loss import compose
from quiltwork.curves.guarantee import Guarantee
from quiltwork.errors import InvalidParameter
from quiltwork.game.defenders.certificates import DrawnDefence, Neighbours, Rows, neighbours, statistic_of
from quiltwork.game.defenders.noise import asked_rows, nothing, promise
from quiltwork.game.people.population import Population, Statistic
from quiltwork.kinds import document
from quiltwork.numbers.rounding import down, up

_SURELY = 64  # units by which noise is larger, so that what is computed from it is not above the epsilon asked for
NAMED = 4  # one share in so many is named by default


@document("sup_norm_noise/1")
@attrs.frozen
class SupNormNoise:
    """Noise with density proportional to exp(-epsilon |z|_oo / step): exactly epsilon-DP for any number of shares."""

    epsilon: float = attrs.field(validator=checks.field(checks.moderate))

    @property
    def name(self) -> str:
        """With its epsilon."""
        return f"sup-norm noise, epsilon {self.epsilon:g}"

    def prepare(self, population: Population | Statistic, *, denominator: str = "members") -> DrawnDefence:
        """The defence of one statistic."""
        statistic = statistic_of(population, denominator)
        moves = neighbours(statistic)
        scale = up(moves.step / self.epsilon, _SURELY)

        def draw(exact: FloatArray, rng: np.random.Generator) -> FloatArray:
            count, attributes = exact.shape
            radius = rng.gamma(attributes + 1.0, scale, (count, 1))
            return exact + radius * rng.uniform(-1.0, 1.0, (count, attributes))

        def prove(rows: Rows | None) -> Guarantee:
            chosen = asked_rows(rows)
            share = 1.0 if chosen == "any" or moves.whole else _widest_share(moves)
            if share == 0:
                return nothing(moves)
            loss = pure(up(share * moves.step / down(scale), 4))
            return promise(moves, loss, chosen, None, "a norm moves by no more than its argument (private.py)")

        return DrawnDefence(self.name, statistic, draw, prove)


def _widest_share(moves: Neighbours) -> float:
    """The largest move of any one share, before the step, rounded up."""
    rows = moves.rows
    widest = rows.max(axis=0) - rows.min(axis=0) if moves.swap else np.abs(rows).max(axis=0)
    most = float(widest.max(initial=0.0))
    return most if most == 0 else min(up(most), 1.0)


@document("peeling_mean/1")
@attrs.frozen
class PeelingMean:
    """The `named` largest shares, found and published with Laplace noise; a quarter of them if it is not said."""

    epsilon: float = attrs.field(validator=checks.field(checks.moderate))
    named: int | None = attrs.field(default=None, validator=attrs.validators.optional(checks.field(checks.count, 1)))

    @property
    def name(self) -> str:
        """With its epsilon."""
        return f"peeling, epsilon {self.epsilon:g}"

    def prepare(self, population: Population | Statistic, *, denominator: str = "members") -> DrawnDefence:
        """The defence of one statistic."""
        statistic = statistic_of(population, denominator)
        attributes = statistic.population.size[1]
        named = max(1, attributes // NAMED) if self.named is None else self.named
        if named > attributes:
            raise InvalidParameter("named", named, f"at most {attributes}, the number of attributes")
        moves, usual = neighbours(statistic), statistic.population.frequencies
        scale = up(3.0 * named * moves.step / self.epsilon, _SURELY)

        def draw(exact: FloatArray, rng: np.random.Generator) -> FloatArray:
            left, rows = np.ones(exact.shape, dtype=np.bool_), np.arange(len(exact))
            for _ in range(named):
                noisy = np.where(left, exact + rng.laplace(0.0, scale, exact.shape), -np.inf)
                left[rows, noisy.argmax(axis=1)] = False
            return np.where(left, usual, exact + rng.laplace(0.0, scale, exact.shape))

        def prove(rows: Rows | None) -> Guarantee:
            asked_rows(rows)  # the pool moves a share by no less, unless all candidates are alike
            name = noisy_max(up(2.0 * moves.step / down(scale), 4))
            loss = compose(named * name, named * laplace(down(scale), moves.step))
            because = f"{named} times noisy max and Laplace noise, composed (private.py)"
            return promise(moves, loss, "any", None, because)

        return DrawnDefence(self.name, statistic, draw, prove)
