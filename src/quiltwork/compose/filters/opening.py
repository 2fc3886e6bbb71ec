"""Filters by name, by their amounts, by a loss, or as large as an (epsilon, delta) allows; and how they are stored.

Reference: theory/granularity.md section 3.2; the theorems are in kinds.py, renyi.py, several_orders.py, units.py,
windows.py and counted.py.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np

from quiltwork import checks
from quiltwork.compose.calibrate import calibrate
from quiltwork.compose.constructors import gdp, zcdp
from quiltwork.compose.engines.characteristic import log_peak
from quiltwork.compose.filters.costs import Cost, added, bounded
from quiltwork.compose.filters.counted import CountFilter
from quiltwork.compose.filters.filter import SCHEMA, Filter
from quiltwork.compose.filters.kinds import GaussianFilter, PureFilter, ZeroConcentratedFilter
from quiltwork.compose.filters.renyi import LEAST_ORDER, MOST_ORDER, OrdersFilter, RenyiFilter
from quiltwork.compose.filters.several_orders import SeveralOrdersFilter, several_orders_filter
from quiltwork.compose.filters.units import UnitsFilter, units_filter
from quiltwork.compose.filters.windows import WindowsFilter
from quiltwork.compose.loss import Loss
from quiltwork.compose.scaling import is_symmetric
from quiltwork.errors import InvalidParameter, NotCertified, Unreachable, Unsupported
from quiltwork.kinds import document
from quiltwork.losses.families.pure import Approximate
from quiltwork.losses.families.renyi import Renyi
from quiltwork.losses.family import Costs
from quiltwork.numbers.stated import typed

__all__ = [
    "FILTERS",
    "KINDS",
    "LIMITS",
    "Cost",
    "Filter",
    "GaussianFilter",
    "PureFilter",
    "RenyiFilter",
    "SeveralOrdersFilter",
    "UnitsFilter",
    "WindowsFilter",
    "ZeroConcentratedFilter",
    "added",
    "bounded",
    "filter_below",
    "filter_for",
    "filter_from_json",
    "filter_of",
    "gdp_filter",
    "pure_filter",
    "renyi_filter",
    "several_orders_filter",
    "units_filter",
    "zcdp_filter",
]

Kind = TypeVar("Kind", bound=Filter)
KINDS = ("pure", "zcdp", "renyi", "gdp", "several_orders")
STORED = (*KINDS, UnitsFilter.kind, WindowsFilter.kind)
LIMITS = {"approximate": ("epsilon", "delta"), "pure": ("epsilon",), "zcdp": ("rho",), "gdp": ("mu",)}
FILTERS = {
    "approximate": ("several_orders", "renyi", "zcdp", "gdp", "pure"),  # the first one by default
    "pure": ("pure",),
    "zcdp": ("zcdp",),
    "gdp": ("gdp",),
}
OWN_FIELDS = {
    "renyi": ("order",),
    "several_orders": ("reveal", "orders", "weights"),
    "units": ("loss",),
}  # beside kind and limit
AMOUNT = re.compile(r"[0-9]{1,2000}/[1-9][0-9]{0,1999}")
TILTS = np.geomspace(LEAST_ORDER - 1.0, MOST_ORDER - 1.0, 4001)
SHORT = 12  # significant digits of a limit that was searched for
ROOM = (0.0, 1e-11, 1e-10, 1e-9, 1e-8, 1e-6, 1e-4)  # by which a limit is lowered until its promise is certified


def pure_filter(epsilon: Any, delta: Any = 0.0) -> PureFilter:
    """epsilon, and delta, in all."""
    return PureFilter((_exact("epsilon", epsilon), _exact("delta", delta)))


def zcdp_filter(rho: Any) -> ZeroConcentratedFilter:
    """rho of zCDP in all."""
    return ZeroConcentratedFilter((_exact("rho", rho),))


def gdp_filter(mu: Any) -> GaussianFilter:
    """mu-GDP in all."""
    return GaussianFilter((_exact("mu", mu) ** 2,))


def renyi_filter(order: Any, divergence: Any, reveal: Any = 0.0) -> RenyiFilter:
    """A Rényi divergence of one order in all, and a probability with which the world may be revealed outright."""
    return RenyiFilter((_exact("divergence", divergence), _exact("reveal", reveal)), order)


def _exact(name: str, value: Any) -> Fraction:
    """Fractions and whole numbers as they are, floats as they were typed."""
    number = checks.non_negative(name, value)
    return Fraction(value) if isinstance(value, (Fraction, int)) else typed(number)


def usual_kind(limit: str, order: Any = None) -> str:
    """The kind that keeps a limit, one of LIMITS, when none is named: a single order is asked of the Rényi filter."""
    return "renyi" if order is not None and limit == "approximate" else FILTERS[limit][0]


def filter_below(limit: str, stated: Sequence[float], kind: str, order: Any = None, reveal: float = 0.0) -> Filter:
    """The filter of this kind that keeps what is chosen adaptively below a limit, one of LIMITS."""
    if limit == "approximate" and kind != "pure":
        return filter_for(kind, stated[0], stated[1], order=order, reveal=reveal)
    makers: dict[str, Callable[..., Filter]] = {"pure": pure_filter, "zcdp": zcdp_filter, "gdp": gdp_filter}
    return makers[kind](*stated)


def filter_of(budget: Any) -> Filter:
    """The filter whose limit is this loss: sums of epsilon, rho, mu^2 or divergences, or a number of equal releases.

    One (epsilon, delta) is kept by several Rényi orders.
    """
    if not isinstance(budget, Loss) or not budget.parts or budget.side != "worst":
        raise InvalidParameter(
            "budget", budget, "a loss such as pure(1.0), zcdp(0.5), gdp(1.0), rdp(...) or 10 * laplace(5)"
        )
    families = [part.family for part in budget.parts]
    if all(family.points and family.costs().epsilon is not None for family in families):
        return PureFilter((_sum(budget, lambda costs: costs.epsilon), Fraction(0)))
    if all(family.square is not None and not family.has_pair for family in families):
        return ZeroConcentratedFilter((_sum(budget, lambda costs: costs.rho),))
    if all(family.square is not None and family.has_pair for family in families):
        return GaussianFilter((2 * _sum(budget, lambda costs: costs.half_square),))
    family, count = families[0], budget.parts[0].count
    if len(budget.parts) == 1 and isinstance(family, Renyi):
        known = [(a, e) for a, e in zip(family.orders, family.epsilons, strict=True) if math.isfinite(e)]
        return OrdersFilter(tuple(count * typed(e) for _, e in known), tuple(a for a, _ in known))
    if len(budget.parts) == 1 and count == 1 and isinstance(family, Approximate) and 0 < family.delta < 1:
        return several_orders_filter(family.epsilon, family.delta)
    if len(budget.parts) == 1 and is_symmetric(budget) and family.pairs():
        return CountFilter((Fraction(count),), family)
    raise Unsupported(
        f"an adaptive budget of {budget}",
        "when conditions depend on outputs only epsilon, delta, zCDP, GDP, Rényi or equal symmetric releases add up",
        "state it as pure, approximate, zcdp, gdp, rdp, or a number of equal releases",
    )


def _sum(budget: Loss, cost: Callable[[Costs], Fraction | None]) -> Fraction:
    return sum((part.count * (cost(part.family.costs()) or Fraction(0)) for part in budget.parts), Fraction(0))


def filter_for(kind: str, epsilon: float, delta: float, *, order: float | None = None, reveal: float = 0.0) -> Filter:
    """The filter of this kind with the largest limit, rounded down, that promises (epsilon, delta).

    Without an order the Rényi filter takes the one that admits most Gaussian noise. `reveal` is the part of delta that
    is set aside for releases with a delta of their own: with that probability they may tell everything.
    """
    if kind not in KINDS:
        raise InvalidParameter("kind", kind, "one of " + ", ".join(map(repr, KINDS)))
    if (kind != "renyi" and order is not None) or (kind not in ("renyi", "several_orders") and reveal != 0.0):
        raise InvalidParameter("order and reveal", (order, reveal), "left out", "only Rényi filters have them")
    epsilon, delta = checks.non_negative("epsilon", epsilon), checks.probability("delta", delta)
    if kind == "pure":
        return _certified(pure_filter(epsilon, delta), epsilon, delta)
    if not 0 < delta < 1:
        raise Unreachable(
            f"delta {delta:g}", f"limits of a {kind} filter", "it needs 0 < delta < 1; use the kind 'pure' without one"
        )
    if kind == "several_orders":
        return several_orders_filter(epsilon, delta, reveal=reveal or None)
    if kind == "renyi":
        return _renyi_for(epsilon, delta, order, checks.probability("reveal", reveal))
    if epsilon == 0:
        raise Unreachable(f"epsilon 0 at delta {delta:g}", f"limits of a {kind} filter", "give epsilon > 0")
    if kind == "zcdp":
        start = epsilon**2 / (4 * (epsilon - math.log(delta)))  # about where the usual conversion puts it
        rho = calibrate(zcdp, epsilon, delta, start=start, rtol=1e-9)
        return _lowered(rho, zcdp_filter, epsilon, delta)
    mu = calibrate(gdp, epsilon, delta, start=epsilon / math.sqrt(2 * (epsilon - math.log(delta))), rtol=1e-9)
    return _lowered(mu, gdp_filter, epsilon, delta)


def _renyi_for(epsilon: float, delta: float, order: float | None, reveal: float) -> RenyiFilter:
    if reveal >= delta:
        raise InvalidParameter("reveal", reveal, f"below delta = {delta:g}", "it is a part of delta")
    if order is None:
        room = _divergence(TILTS, epsilon, delta, reveal) / (1 + TILTS)
        order = float(f"{1 + TILTS[int(np.argmax(room))]:.4g}")
        order = min(max(order, LEAST_ORDER), MOST_ORDER)
    empty = renyi_filter(order, 0, reveal)  # checks the order
    divergence = float(_divergence(np.array([empty.order - 1.0]), epsilon, delta, reveal)[0])
    # the rounding that the engine allows for
    divergence -= 1e-11 * (1 - math.log(delta - reveal)) / (empty.order - 1.0)
    return _lowered(divergence, lambda most: renyi_filter(order, most, reveal), epsilon, delta)


def _divergence(theta: np.ndarray, epsilon: float, delta: float, reveal: float) -> np.ndarray:
    """The B whose promise has this delta: (1-R) g(theta) e^(theta (B' - eps)) = delta - R, B' = B given no reveal."""
    hidden = math.log1p(-reveal)
    given = epsilon + (math.log(delta - reveal) - hidden - log_peak(theta)) / theta
    value: np.ndarray = given + (1 + theta) / theta * hidden
    return value


def _lowered(most: float, make: Callable[[Fraction], Kind], epsilon: float, delta: float) -> Kind:
    """The filter of this limit, or of one a little lower, whose promise is certified."""
    for room in ROOM:
        value = _shortened(most * (1 - room))
        if value <= 0:
            break
        made = make(value)
        if _meets(made, epsilon, delta) and float(made.promise.epsilon(delta).upper) <= epsilon:
            return made
    hint = "give a larger epsilon or delta, or for a Rényi filter another order or none"
    raise Unreachable(f"epsilon {epsilon:g} at delta {delta:g}", "limits > 0", hint)


def _shortened(number: float) -> Fraction:
    """A number of few digits that is not above."""
    if number <= 0:
        return Fraction(0)
    unit = Fraction(10) ** (math.floor(math.log10(number)) + 1 - SHORT)
    return (Fraction(number) // unit) * unit


def _meets(made: Filter, epsilon: float, delta: float) -> bool:
    return float(made.promise.delta(epsilon).upper) <= delta


def _certified(made: Kind, epsilon: float, delta: float) -> Kind:
    if not _meets(made, epsilon, delta):
        raise NotCertified(f"a {made.kind} filter for epsilon {epsilon:g} at delta {delta:g}", "its promise is above")
    return made


def filter_from_json(value: Any) -> Filter:
    """The inverse of Filter.to_json."""
    if not isinstance(value, dict) or value.get("schema") != SCHEMA:
        raise InvalidParameter("filter", value, f"an object with schema {SCHEMA!r}")
    kind, limit = value.get("kind"), value.get("limit")
    if kind not in STORED:
        raise InvalidParameter("kind", kind, "one of " + ", ".join(map(repr, STORED)))
    if set(value) - {"schema", "kind", "limit"} != set(OWN_FIELDS.get(kind, ())):
        raise InvalidParameter("filter", sorted(value), "given with exactly its own fields")
    amounts = _amounts("limit", limit)
    if kind == "renyi":
        return RenyiFilter(amounts, value["order"])
    if kind == "several_orders":
        (reveal,), weights = _amounts("reveal", [value["reveal"]]), _amounts("weights", value["weights"])
        return SeveralOrdersFilter(amounts, reveal, value["orders"], weights)
    if kind == UnitsFilter.kind:
        return UnitsFilter(amounts, Loss.from_json(value["loss"]))
    leaves: dict[str, type[PureFilter | ZeroConcentratedFilter | GaussianFilter | WindowsFilter]] = {
        "pure": PureFilter,
        "zcdp": ZeroConcentratedFilter,
        "gdp": GaussianFilter,
        "windows": WindowsFilter,
    }
    return leaves[kind](amounts)


def _amounts(name: str, value: Any) -> Cost:
    if not isinstance(value, list) or not all(isinstance(one, str) and AMOUNT.fullmatch(one) for one in value):
        raise InvalidParameter(name, value, "a list of fractions such as '1/10'")
    return tuple(map(Fraction, value))


for _filter in (
    PureFilter, ZeroConcentratedFilter, GaussianFilter, RenyiFilter, SeveralOrdersFilter, UnitsFilter, WindowsFilter,
):  # fmt: skip
    document("filter/1", plain=True, read=filter_from_json)(_filter)
