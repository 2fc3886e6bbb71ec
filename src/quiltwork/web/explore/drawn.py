"""A guarantee at many places for a picture, also when questions to it take long.

A curve with a closed form or a short list of values is asked everywhere, and both ends are shown. Of any other some
answers are taken, or the bounds that Rényi moments give where one answer takes too long; what is drawn is the worst
curve under which all of them hold (`Profile`). That is a certified upper end of delta and lower end of beta: nothing is
promised that was not proved, only the other ends are missing.

Reference: theory/multi-constraints.md section 2 (the worst curve); theory/engine.md section 6 (Rényi moments).
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.compose.accountant.moments import delta_bound, worst_moments
from quiltwork.compose.loss import Loss
from quiltwork.curves.bracket import Bracket
from quiltwork.curves.curve import Curve
from quiltwork.curves.guarantee import Guarantee
from quiltwork.curves.polygons.profile import Profile
from quiltwork.document.charts import cosine, spoken
from quiltwork.errors import QuiltworkError
from quiltwork.losses.transforms.transform import TooCostly

__all__ = ["Drawn", "drawn"]

CHEAP = {"closed form", "exact tails", "exact atoms", "lattice", "exact profile", "nothing"}  # methods asked everywhere
PLACES = 121
STEPS = ((0.004, 1), (0.012, 2), (0.3, 5))  # so many seconds for one answer: every so many-th place is asked
ROUGH = 5  # every so many-th place for the moments
USUAL_FLOOR = 1e-12
WIDER = 1.3  # how much farther than the answer a slow curve is drawn

Targets = Sequence[tuple[float, float]]


@attrs.frozen(eq=False)
class Drawn:
    """Both curves at many places; `curve` is what tables are read off: the guarantee, or a curve that is no better."""

    alpha: FloatArray
    beta: Bracket
    epsilon: FloatArray
    delta: Bracket
    floor: float  # the least delta of the picture
    curve: Curve
    whole: bool  # whether both ends are known everywhere


def drawn(curve: Curve, total: Bracket, delta: float, targets: Targets = ()) -> Drawn:
    """The guarantee whose epsilon at delta is `total`."""
    floor, alpha = floor_of(delta, targets), cosine()
    most = float(total.upper)
    began = time.perf_counter()
    middle = 0.5 * most if 0 < most < math.inf else 1.0
    probe = curve.delta(middle)
    seconds = time.perf_counter() - began
    if set(probe.method.split(" + ")) <= CHEAP:
        epsilon = _places(_end(curve, floor, most), targets)
        return Drawn(alpha, curve.beta(alpha), epsilon, curve.delta(epsilon), floor, curve, whole=True)
    epsilon = _places(WIDER * most if 0 < most < math.inf else 1.0, targets)
    known, bounds = [middle], [float(probe.upper)]
    if math.isfinite(most):
        known, bounds = [*known, most], [*bounds, delta]
    places, upper = _asked(curve, epsilon, seconds)
    worst = Profile([*known, *places.tolist()], [*bounds, *upper.tolist()], symmetric=True)
    beta = worst.beta(alpha)
    least = Bracket(beta.lower, np.nextafter(1.0 - alpha, 2.0), "beta", beta.method)
    over = Bracket(np.zeros(PLACES), worst.delta(epsilon).upper, "delta")
    return Drawn(alpha, least, epsilon, over, floor, worst, whole=False)


def _asked(curve: Curve, epsilon: FloatArray, seconds: float) -> tuple[FloatArray, FloatArray]:
    """Upper ends of delta at some of these places: as many answers as can be waited for, or what moments give."""
    step = next((step for limit, step in STEPS if seconds <= limit), None)
    if step is not None:
        some = epsilon[::step]
        return some, np.ravel(curve.delta(some).upper)
    some = epsilon[::ROUGH]
    upper = _moments(curve, some)
    return (some, upper) if upper is not None else (some[:0], some[:0])


def floor_of(delta: float, targets: Targets) -> float:
    """A tenth of the smallest delta that somebody asks for."""
    asked = [each for each in (delta, *(t[1] for t in targets)) if each > 0]
    return max(min(asked, default=USUAL_FLOOR) / 10, 1e-300)


def _end(curve: Curve, floor: float, most: float) -> float:
    """Where the curve leaves the picture."""
    bottom = float(curve.epsilon(floor).upper)
    return next((end for end in (bottom, most) if 0 < end < math.inf), 1.0)


def _places(end: float, targets: Targets) -> FloatArray:
    """From 0 past the end, and past every target that is not far away."""
    near = [epsilon for epsilon, _ in targets if epsilon <= 3 * end]
    return spoken(np.linspace(0.0, 1.08 * max([end, *near]), PLACES))


def _moments(curve: Curve, epsilon: FloatArray) -> FloatArray | None:
    """What Rényi moments of every order certify; None for a curve that has none."""
    loss = curve.curve if isinstance(curve, Guarantee) else curve
    if not isinstance(loss, Loss) or not loss.parts or loss.side != "worst":
        return None
    try:
        with np.errstate(all="ignore"):
            found = delta_bound(*worst_moments(loss.parts), epsilon)
    except (QuiltworkError, TooCostly, OverflowError):
        return None
    return None if np.isnan(found).any() else np.minimum(found, 1.0)
