"""Words and numbers of a design, for the terminal and for pages."""

from __future__ import annotations

from quiltwork.confounding.design.design import Design
from quiltwork.numbers.digits import at_most, single
from quiltwork.report.design.view import View

__all__ = ["DIGITS", "kept", "least", "price", "target"]

DIGITS = 6


def target(found: View) -> str:
    """What was asked for."""
    odds = "" if found.odds is None else f" (e^epsilon = {found.odds})"
    return f"epsilon {found.epsilon or 0.0:.{DIGITS}g}{odds} at delta {single(float(found.delta))}"


def price(cost: float, made: Design) -> str:
    """A cost, to the nearest digit as it is no promise of privacy; what is only rounding is shown as 0."""
    return f"{cost:.{DIGITS}g}" if abs(cost) > 1e-12 * made.task.size else "0"


def kept(delta: float, made: Design) -> str:
    """A delta that meets the target, rounded up, but not beyond the target itself (0.05 is a double above 1/20)."""
    text = at_most(delta, DIGITS)
    return single(made.task.delta) if delta <= made.task.delta < float(text) else text


def least(made: Design) -> tuple[str, str] | None:
    """What every mechanism that meets the target costs at least, and the gap; None when that is not known."""
    if made.lower_bound is None or made.gap is None:
        return None
    never_paid = float(made.task.weights.min()) >= 0  # then no cost is below 0, whatever the search knows
    bound, gap = (max(made.lower_bound, 0.0), min(made.gap, 1.0)) if never_paid else (made.lower_bound, made.gap)
    return price(bound, made), at_most(gap, 2)
