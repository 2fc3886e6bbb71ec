"""The exponential mechanism, and every release of bounded range: its privacy loss lies in [t - eps, t] for some t.

A release of bounded range is dominated by two outcomes B_t with losses t and t - eps; over all t in [0, eps] the
trade-off functions of B_t have the envelope f(a) = (1 - a) / (1 + (e^eps - 1) a), which one release attains at each a.
Its privacy loss has the density e^(l/2) / (4 sinh(eps/2)) on [-eps, eps] under P: that of Laplace noise without its
atoms.  Composed, f is only a bound; what adaptive releases of range eps can reach is computed by the recursion of
compose/engines/bounded_range.py, and B_(eps/2), randomized response at eps/2, is always among them.

Rényi divergences are those of the worst B_t: E_Q phi(X) is largest for two outcomes, whatever convex phi, divergences
add up on adaptive paths, and the same t attains them each time.  With y = e^t and w = e^(-theta eps)

    E_P e^(theta L) = y^theta (e^eps - w - (1 - w) y) / (e^eps - 1),  worst at (1 + theta)(1 - w) y = theta (e^eps - w).

Noisy max with Gumbel noise is the exponential mechanism; with exponential or Laplace noise it is `noisy_max`.

Reference: theory/sampling.md section 2; Dong, Durfee and Rogers 2020.
"""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import ClassVar

import attrs
import numpy as np

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.losses.dominating_pair import Cells, Pair
from quiltwork.losses.families.laplace import LaplacePair
from quiltwork.losses.families.pure import response_pair
from quiltwork.losses.family import POSITIVE, Costs, Family, parameter
from quiltwork.losses.transforms.transform import EllipseBound, Nodes, PanelTransform, Transform, panel_rule
from quiltwork.numbers.rounding import UNIT
from quiltwork.numbers.stated import times, typed

DIGITS = 60


class BoundedRangePair(Pair):
    """The pair of f: a density on [-eps, eps], symmetric."""

    def __init__(self, epsilon: float) -> None:
        self.top = self.high = epsilon
        self.low = -epsilon
        self.whole = -math.expm1(-epsilon)

    def above(self, loss: FloatArray) -> tuple[FloatArray, FloatArray]:
        inside = np.clip(loss, self.low, self.top)
        p = -np.expm1(-(self.top - inside) / 2) / self.whole
        return p, np.exp(-(self.top + inside) / 2) * p

    def below(self, loss: FloatArray) -> tuple[FloatArray, FloatArray]:
        q, p = self.above(-loss)
        return p, q

    def stick(self, loss: FloatArray) -> FloatArray:
        """(1 - e^(-(eps-l)/2))^2 / (1 - e^-eps), and 1 - e^l below all losses."""
        rest = -np.expm1(-np.maximum(self.top - loss, 0.0) / 2)
        return np.where(loss < self.low, -np.expm1(np.minimum(loss, 0.0)), rest * (rest / self.whole))

    def stick_error(self, loss: FloatArray) -> FloatArray:
        room = np.maximum(self.top - loss, 1e-300)
        moved = (self.top + np.abs(loss)) * np.maximum(1.0, 1.0 / room)
        error: FloatArray = UNIT * (64 + 16 * moved)
        return np.minimum(error, 1e300)

    def tail_error(self, loss: FloatArray) -> FloatArray:
        return self.stick_error(np.abs(loss))

    def swapped(self) -> Pair:
        return self

    def cells(self, edges: FloatArray) -> Cells:
        """Those of Laplace noise, over the mass that its density has."""
        found, share = LaplacePair(self.top).cells(edges), 2.0 / self.whole
        slack = 4 * UNIT
        return Cells(
            share * found.mass,
            share * found.stick,
            share * (found.mass_error + slack * found.mass),
            share * (found.stick_error + slack * found.stick),
        )

    def transform(self, count: int) -> Transform:
        return BoundedRangeTransform(self.top, count)


class BoundedRangeTransform(PanelTransform):
    """Gauss-Legendre panels on the density: M(z) = sinh(eps (z + 1/2)) / ((2 z + 1) sinh(eps/2))."""

    def _scale(self) -> float:
        return -math.log(2.0) - self.top / 2 - math.log(-math.expm1(-self.top))

    def ellipse_bound(self, theta: float, frequency: float) -> EllipseBound:
        tilt, scale = theta + 0.5, self._scale()

        def bound(centre: FloatArray, radius: float, along: float, across: float) -> FloatArray:
            return scale + tilt * centre + abs(tilt) * along + frequency * across

        return bound

    def least_log_mgf(self, reach: float) -> float:
        """By Jensen's inequality: the mean loss is at least 0."""
        return 0.0

    def nodes(self, panels: int, quadrature: float) -> Nodes:
        x, log_weight = panel_rule(self.top, panels)
        return Nodes(self._scale() + x / 2 + log_weight, x, 0.0, self.relative, quadrature)

    def layers(self, theta: float, edges: FloatArray) -> tuple[FloatArray, FloatArray]:
        log_density = self._scale() + (theta + 0.5) * edges
        return np.diff(edges), np.minimum(log_density[:-1], log_density[1:])


class AttainedRangePair(Pair):
    """Some release of this range: randomized response at eps/2, unless an engine knows a worse one."""

    def __init__(self, epsilon: float) -> None:
        self.top = epsilon
        self.response = response_pair(epsilon / 2)
        self.low, self.high, self.relative = -epsilon, epsilon, self.response.relative  # a worse one reaches further

    def above(self, loss: FloatArray) -> tuple[FloatArray, FloatArray]:
        return self.response.above(loss)

    def below(self, loss: FloatArray) -> tuple[FloatArray, FloatArray]:
        return self.response.below(loss)

    def stick(self, loss: FloatArray) -> FloatArray:
        return self.response.stick(loss)

    def swapped(self) -> Pair:
        return self

    def cells(self, edges: FloatArray) -> Cells:
        return self.response.cells(edges)

    def atoms(self) -> tuple[FloatArray, FloatArray]:
        return self.response.atoms()

    def transform(self, count: int) -> Transform | None:
        return self.response.transform(count)


def worst_range_moment(epsilon: float, theta: float) -> float:
    """log E_P e^(theta L) of the two outcomes with the largest Rényi divergence of order 1 + theta >= 0, theta not 0.

    At the worst y the second factor of the moment is (e^eps - w) / ((1 + theta)(e^eps - 1)).  In logarithms, since
    e^eps may overflow, and with digits for ranges whose squares are all that is left of them.
    """
    if theta <= -1.0:
        return 0.0
    digits = DIGITS + 2 * math.ceil(max(-math.log10(epsilon), 0.0)) + math.ceil(max(math.log10(abs(theta)), 0.0))
    with localcontext(prec=digits, Emin=-(10**17), Emax=10**17):
        tilt, top = Decimal(theta), Decimal(epsilon)
        whole, share, rest = (_log_below_one(x) for x in (top, abs(tilt) * top, (1 + tilt) * top))
        log_y = (abs(tilt) / (1 + tilt)).ln() + rest - share + (top if theta > 0 else (1 + tilt) * top)
        return float(tilt * log_y + rest - whole - (1 + tilt).ln())


def _log_below_one(x: Decimal) -> Decimal:
    """log(1 - e^-x)."""
    return (1 - (-x).exp()).ln()


@attrs.frozen
class Exponential(Family):
    """An exponential mechanism that is epsilon-DP: utilities enter as e^(epsilon u / (2 sensitivity)).

    Where one record can only raise utilities, or only lower them, the factor 2 is not needed.
    """

    kind: ClassVar[str] = "exponential"
    words: ClassVar[str] = "exponential mechanism, epsilon {epsilon:g}"
    label: ClassVar[str] = "Exponential mechanism"
    dial: ClassVar[str] = "epsilon"
    because: ClassVar[str] = "bounded range of the exponential mechanism (Dong, Durfee and Rogers 2020)"
    epsilon: float = attrs.field(**parameter("epsilon", POSITIVE, "Epsilon", "0.1", check=checks.loss_bound))

    def __attrs_post_init__(self) -> None:
        checks.moderate("epsilon", self.epsilon)

    def pairs(self) -> dict[str, Pair]:
        return {"both": BoundedRangePair(self.epsilon)}

    @property
    def sandwiched(self) -> bool:
        return True

    def optimistic(self) -> dict[str, Pair]:
        return {"both": AttainedRangePair(self.epsilon)}

    def group(self, size: int) -> Family:
        """Ranges add up along a path of neighbours."""
        return Exponential(times(size, self.epsilon))

    def costs(self) -> Costs:
        """log E_Q e^(aL) is 0 at a = 0 and 1, its second derivative at most eps^2/4: rho = eps^2/8."""
        exact = typed(self.epsilon)
        return Costs(epsilon=exact, rho=exact**2 / Fraction(8))

    def rung(self) -> tuple[object, float]:
        return self.kind, self.epsilon
