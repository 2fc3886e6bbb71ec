"""Totals of Gaussian mechanisms, the next one, and its noise, against elimination in fractions."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import attrs
import numpy as np
from tests.soundness import game_truth as truth
from tests.soundness.confounding_checks import Check, at_most
from tests.soundness.game_checks import chance, matrix_of, mu_of
from tests.soundness.game_people import correlation

from quiltwork.errors import Unreachable
from quiltwork.game.composition import as_loss, composed_auc_ceiling, next_mechanism, next_sigma, total

STEP = Fraction(1, 10**9)  # beyond the ends of what is admissible


@attrs.frozen(eq=False)
class Planned:
    """Mechanisms that are out, with the correlation of their noises and of the next."""

    existing: tuple[float, ...]
    correlation: Any
    target: float
    delta: float = 0.0
    sensitivity: float = 1.0

    @property
    def size(self) -> int:
        """For picking the smallest counterexample."""
        return len(self.existing)

    def to_json(self) -> dict[str, Any]:
        """All that is needed to look at it again."""
        return {**attrs.asdict(self), "correlation": np.asarray(self.correlation).tolist()}

    def square(self, *more: Fraction) -> Fraction:
        """e'R^-1 e of those that are out and of these."""
        values = [*(typed(value) for value in self.existing), *more]
        whole = matrix_of(self.correlation, len(self.existing) + 1)
        return truth.inverse_form([row[: len(values)] for row in whole[: len(values)]], values)


def typed(value: float) -> Fraction:
    """A double as it is typed."""
    return Fraction(repr(float(value)))


def _number(rng: np.random.Generator) -> float:
    value = float(10.0 ** rng.uniform(-2, 2))
    return float(f"{value:.2g}") if rng.random() < 0.6 else value


def planned(rng: np.random.Generator) -> Planned:
    """A target around what the mechanisms have already."""
    count = int(rng.integers(1, 6))
    existing = tuple(_number(rng) for _ in range(count)) if rng.random() < 0.7 else (_number(rng),) * count
    given = correlation(rng, count + 1)
    spent = math.sqrt(float(Planned(existing, given, 1.0).square()))
    target = spent * float(rng.choice([rng.uniform(0.9, 1.2), rng.uniform(1.0, 3.0), 1.0 + 10.0 ** rng.uniform(-6, 0)]))
    return Planned(existing, given, float(f"{target:.3g}") if rng.random() < 0.5 else target)


def allowed(case: Planned, rng: np.random.Generator) -> Iterator[Check]:
    """Totals hold the truth; what may come next keeps the target, and a little more does not."""
    count = len(case.existing)
    small = case.correlation
    if small is not None and np.ndim(small):
        small = np.asarray(small)[:count, :count]
    square = case.square()
    found = total(case.existing, small)
    yield at_most("total, lower end", typed(found.lower) ** 2, square)
    yield at_most("total, upper end", square, typed(found.upper) ** 2)
    width, constant = _number(rng), _number(rng)
    scaled = square * typed(width) ** 2 / typed(constant)
    mu = Fraction(mu_of(as_loss(case.existing, small, sensitivity=width, constant=constant)))
    yield at_most("as_loss: mu", scaled, mu**2, f"sensitivity {width!r}, constant {constant!r}")
    if rng.random() < 0.1:
        yield chance("AUC ceiling", truth.gaussian_area(square), composed_auc_ceiling(case.existing, small))
    yield from _next(case, rng)


def _next(case: Planned, rng: np.random.Generator) -> Iterator[Check]:
    goal = typed(case.target) ** 2
    try:
        plan = next_mechanism(case.existing, case.target, case.correlation)
    except Unreachable:
        # nothing on a grid of epsilons may keep the target by more than the spacing of doubles
        for place in 10.0 ** rng.uniform(-4, 4, 6):
            tried = case.square(Fraction(float(place)))
            yield at_most("next: refused only if nothing will do", goal * (1 - STEP), tried, f"epsilon {place!r}")
        return
    upper, lower = typed(plan.upper), typed(plan.lower)
    yield at_most("next: upper keeps the target", case.square(upper), goal)
    yield at_most("next: beyond upper it breaks", goal, case.square(upper * (1 + STEP)), f"upper {plan.upper!r}")
    inside = lower + (upper - lower) * Fraction(float(rng.random()))
    if inside > 0:
        yield at_most("next: inside keeps the target", case.square(inside), goal, f"epsilon {float(inside)!r}")
        held = plan.total(inside)
        yield at_most("next: total, lower end", typed(held.lower) ** 2, case.square(inside))
        yield at_most("next: total, upper end", case.square(inside), typed(held.upper) ** 2)
    if lower > 0:
        yield at_most("next: lower keeps the target", case.square(lower), goal)
        yield at_most("next: below lower it breaks", goal, case.square(lower * (1 - STEP)), f"lower {plan.lower!r}")
    yield from _sigma(case, plan, goal, typed(_number(rng)))


def _sigma(case: Planned, plan: Any, goal: Fraction, unit: Fraction) -> Iterator[Check]:
    """The noise of variance unit^2 / eps^2 that goes with the largest epsilon."""
    try:
        sigma = plan.sigma(unit**2)
    except Unreachable:
        narrow = plan.upper * (1 - float(STEP)) <= plan.lower
        yield Check("next: no sigma only where epsilons are a point", narrow, note=f"unit {unit}")
        return
    for reading in (Fraction(sigma), typed(sigma)):
        yield at_most("next: sigma keeps the target", case.square(unit / reading), goal, f"sigma {sigma!r}")
    broken = case.square(unit / (Fraction(sigma) * (1 - STEP)))
    yield at_most("next: less than sigma breaks", goal, broken, f"sigma {sigma!r}")


def budgeted(rng: np.random.Generator) -> Planned:
    """Standard deviations, and an (epsilon, delta) for everything together."""
    case = planned(rng)
    epsilon = float(f"{10.0 ** rng.uniform(-1.5, 1.0):.2g}")
    delta = float(f"{10.0 ** rng.uniform(-9, -1):.1g}")
    scale = 10.0 ** float(rng.uniform(0.3, 1.5)) / epsilon
    sigmas = tuple(float(value * scale / min(case.existing)) for value in case.existing)
    return attrs.evolve(case, existing=sigmas, target=epsilon, delta=delta, sensitivity=_number(rng) ** 0.25)


def least_noise(case: Planned, rng: np.random.Generator) -> Iterator[Check]:
    """Everything together keeps (epsilon, delta) at the sigma found, and does not with a little less noise."""
    width = typed(case.sensitivity)
    strengths = [width / typed(sigma) for sigma in case.existing]
    whole = matrix_of(case.correlation, len(strengths) + 1)

    def leaked(sigma: Fraction) -> Fraction:
        square = truth.inverse_form(whole, [*strengths, width / sigma])
        return truth.gaussian_delta(square, case.target)

    try:
        found = next_sigma(case.sensitivity, list(case.existing), case.target, case.delta, case.correlation)
    except Unreachable:
        alone = truth.inverse_form([row[:-1] for row in whole[:-1]], strengths)
        for place in 10.0 ** rng.uniform(-2, 4, 4) * case.sensitivity:
            least = typed(case.delta) * (1 - Fraction(1, 10**6))
            note = f"sigma {place!r}, spent {float(alone)!r}"
            yield at_most("next sigma: refused only if nothing will do", least, leaked(Fraction(float(place))), note)
        return
    for reading in (Fraction(found.sigma), typed(found.sigma)):
        yield at_most("next sigma: keeps delta", leaked(reading), Fraction(case.delta), f"sigma {found.sigma!r}")
    less = leaked(Fraction(found.sigma) * (1 - Fraction(1, 10**6)))
    yield at_most("next sigma: less noise breaks delta", Fraction(case.delta), less, f"sigma {found.sigma!r}")
    if math.isfinite(found.most):
        yield at_most("next sigma: most keeps delta", leaked(Fraction(found.most)), Fraction(case.delta))
    yield at_most("next sigma: certified epsilon", float(found.certified.upper), case.target)
