"""OpenDP: what a measurement's privacy map promises."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any

from quiltwork import checks
from quiltwork.compose.constructors import approximate, profile, pure, rdp, zcdp
from quiltwork.compose.loss import Loss
from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.numbers.stated import above, below

ORDERS = (
    *(1 + 2.0**power for power in range(-6, 0)),
    *(step / 4 for step in range(8, 32)),
    *(float(order) for order in range(8, 65)),
    *(2.0**power for power in range(7, 13)),
)
MESH = 256  # equal steps to where a profile is down to
NEGLIGIBLE = 1e-25  # or to its own floor, if that is higher
POWERS = range(-30, 11)  # of two: where that may be


def from_opendp(
    measurement: Any, d_in: Any, *, epsilons: Iterable[float] | None = None, orders: Iterable[float] | None = None
) -> Loss:
    """The loss of a measurement between inputs at distance d_in, by its output measure.

    - `MaxDivergence`: pure(epsilon); `ZeroConcentratedDivergence`: zcdp(rho).
    - `Approximate<MaxDivergence>`: approximate(epsilon, delta).
    - `Approximate<ZeroConcentratedDivergence>`: zcdp(rho) + approximate(0, delta). Outside events of probability delta,
      made equal by a coin, the two output laws are rho-zCDP: so the release is a function of a rho-zCDP one and of a
      full reveal of probability delta.
    - `SmoothedMaxDivergence`: the profile at `epsilons`, by default a mesh down to where delta is negligible; any true
      points are a bound.
    - `RenyiDivergence`: rdp at `orders`.

    Maps of OpenDP round up, and their numbers are kept, or raised so far that the decimal one would type is no smaller.
    The measure is known by its type, never by its printed name, which users may choose for their own divergences.

    Reference: OpenDP's documentation of its measures; Bun and Steinke 2016, Definition 8.1 (approximate zCDP).
    """
    measure, mapped = getattr(measurement, "output_measure", None), getattr(measurement, "map", None)
    if measure is None or not callable(mapped):
        hint = "complete a partial constructor with its input space; an odometer has no map"
        raise InvalidParameter("measurement", type(measurement).__name__, "an OpenDP measurement", hint)
    kind = str(getattr(measure, "type", ""))
    if kind not in READERS:
        because = f"only {', '.join(READERS)} have a translation"
        raise Unsupported(f"the output measure {kind or type(measure).__name__}", because)
    for name, given, owner in (("epsilons", epsilons, "SmoothedMaxDivergence"), ("orders", orders, "RenyiDivergence")):
        if given is not None and kind != owner:
            raise InvalidParameter(name, given, f"left out for {kind}", f"only {owner} is read at chosen points")
    try:
        distance = mapped(d_in)
    except Exception as error:  # the peer's own family, which need not be installed here
        raise InvalidParameter("d_in", d_in, "a distance that the measurement maps", _line(error)) from error
    return READERS[kind](distance, epsilons if orders is None else orders)


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:200]


def _stated(name: str, value: Any) -> float:
    """A bound as OpenDP gives it, no smaller when read as a typed decimal."""
    if isinstance(value, float) and value == math.inf:
        raise Unsupported(f"a loss of infinite {name}", "the measurement promises nothing at this d_in")
    return above(Fraction(checks.non_negative(name, value)))


def _two(distance: Any) -> tuple[Any, float]:
    try:
        bound, delta = distance
    except (TypeError, ValueError):
        raise InvalidParameter("the mapped distance", distance, "a pair with delta last") from None
    return bound, min(1.0, _stated("delta", checks.probability("delta", delta)))


def _approximate(distance: Any, points: Any) -> Loss:
    bound, delta = _two(distance)
    epsilon = _stated("epsilon", bound)
    return approximate(epsilon, delta) if delta else pure(epsilon)


def _approximate_concentrated(distance: Any, points: Any) -> Loss:
    bound, delta = _two(distance)
    rho = zcdp(_stated("rho", bound))
    return rho + approximate(0.0, delta) if delta else rho


def _smoothed(distance: Any, points: Any) -> Loss:
    asked = getattr(distance, "delta", None)
    if not callable(asked):
        raise InvalidParameter("the mapped distance", type(distance).__name__, "a privacy profile")

    def delta(epsilon: float) -> float:
        return checks.probability(f"delta at epsilon {epsilon!r}", _called(asked, epsilon))

    places = _mesh(delta) if points is None else _listed("epsilons", points, checks.non_negative)
    found = [(above(Fraction(e)), min(1.0, above(Fraction(delta(e))))) for e in places]
    if all(value == 1 for _, value in found):
        raise Unsupported("a privacy profile that is 1 at every epsilon asked", "it promises nothing", "ask elsewhere")
    return profile([e for e, _ in found], [value for _, value in found])


def _mesh(delta: Callable[[float], float]) -> list[float]:
    """Equal binary steps from 0 to the least power of two where delta is negligible or as low as it gets.

    Points at which the curve fails to answer are left out: fewer points are still a bound.
    """

    def asked(epsilon: float) -> float | None:
        try:
            return delta(epsilon)
        except InvalidParameter:
            return None

    top, floor = 0.0, 1.0
    for power in reversed(POWERS):
        value = asked(2.0**power)
        if value is None:
            continue
        floor = floor if top else max(NEGLIGIBLE, value)
        if value > floor or value == 1:
            break
        top = 2.0**power
    if not top:
        because = f"it promises nothing up to epsilon {2.0 ** POWERS[-1]:g}"
        raise Unsupported("a mesh for this privacy profile", because, "give epsilons")
    steps = [top * step / MESH for step in range(MESH + 1)]
    return [epsilon for epsilon in steps if asked(epsilon) is not None]


def _renyi(distance: Any, points: Any) -> Loss:
    if not callable(distance):
        raise InvalidParameter("the mapped distance", type(distance).__name__, "a function of the order")
    orders = ORDERS if points is None else sorted(set(_listed("orders", points, _order)))
    found = [(below(Fraction(order)), _divergence(order, _called(distance, order))) for order in orders]
    if all(math.isinf(bound) for _, bound in found):
        raise Unsupported("a Rényi bound that is infinite at every order asked", "it promises nothing", "give orders")
    return rdp([order for order, _ in found], [bound for _, bound in found])


def _divergence(order: float, bound: Any) -> float:
    if isinstance(bound, float) and bound == math.inf:
        return math.inf
    return _stated(f"the Rényi divergence of order {order!r}", bound)


def _order(name: str, value: Any, hint: str = "") -> float:
    order = checks.real(name, value, "numbers > 1", hint)
    if order <= 1:
        raise InvalidParameter(name, value, "numbers > 1", hint)
    return order


def _listed(name: str, values: Any, check: Callable[..., float]) -> list[float]:
    try:
        found = [check(name, value) for value in values]
    except TypeError:
        raise InvalidParameter(name, values, "a list of numbers") from None
    if not found:
        raise InvalidParameter(name, values, "a list of numbers", "an empty one asks nothing")
    return found


def _called(function: Callable[[float], Any], point: float) -> Any:
    try:
        return function(point)
    except Exception as error:  # as above
        raise InvalidParameter("a point of the curve", point, "one at which it has a value", _line(error)) from error


READERS: dict[str, Callable[[Any, Any], Loss]] = {
    "MaxDivergence": lambda distance, points: pure(_stated("epsilon", distance)),
    "ZeroConcentratedDivergence": lambda distance, points: zcdp(_stated("rho", distance)),
    "Approximate<MaxDivergence>": _approximate,
    "Approximate<ZeroConcentratedDivergence>": _approximate_concentrated,
    "SmoothedMaxDivergence": _smoothed,
    "RenyiDivergence": _renyi,
}
