"""What noisy copies of continuous data tell about the secret."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from quiltwork.compose.constructors import gaussian, laplace
from quiltwork.compose.loss import compose
from quiltwork.confounding.finite import ignoring as words
from quiltwork.confounding.line.enclosure.curve import EnclosedCurve
from quiltwork.confounding.line.gaussian import GaussianCurve, marginal_separations, separations, worst_square
from quiltwork.confounding.line.laws.components import Mixture, Point, exactly
from quiltwork.confounding.line.readings import Readings
from quiltwork.confounding.line.simulation import estimate
from quiltwork.curves.bracket import Bracket, Quantity
from quiltwork.curves.curve import Curve, SameCurve
from quiltwork.curves.from_delta import FromDelta
from quiltwork.curves.guarantee import Guarantee
from quiltwork.errors import NotCertified, Unsupported
from quiltwork.kinds import document
from quiltwork.numbers.stated import typed_above

if TYPE_CHECKING:
    from quiltwork.confounding.line.world import ContinuousWorld


@document(
    "readout/1", fields="world readings", read=lambda world, readings: Readout(world, readings, *world._curve(readings))
)
class Readout(SameCurve):
    """All readings of the data together: a curve about the secret, where there is one."""

    def __init__(self, world: ContinuousWorld, readings: Readings, curve: Curve | None, why: str) -> None:
        self.world, self.readings, self.curve, self.why = world, readings, curve, why

    def _same(self, quantity: Quantity) -> Curve:
        if self.curve is None:
            raise Unsupported(
                quantity, self.why, "try estimate(...), a simulation, or bound(), from the law of the data"
            )
        return self.curve

    def estimate(
        self, epsilon: Any, samples: int = 100_000, confidence: float = 0.999, *, rng: np.random.Generator
    ) -> Bracket:
        """delta by simulation, with an interval that holds with this confidence; no guarantee."""
        return estimate(self.world.sampler(self.readings), self.world.ordered, epsilon, samples, confidence, rng)

    def ignoring_confounder(self) -> IgnoringGaussian:
        """What composing each reading on its own would say; a diagnostic, never a bound."""
        if not self.readings.gaussian or self.world.common is None:
            raise Unsupported(
                "ignoring the confounder", "the product of the marginals has no closed form for this world",
                "it is computed for normal data of one covariance with Gaussian noise",
            )  # fmt: skip
        return IgnoringGaussian(self)

    def bound(self) -> Curve:
        """A proven bound whatever the noise: what the data themselves tell (Theorem A), or better.

        For finite data it is Theorem B with the noise as the engine composes it.
        """
        world = self.world
        if world.finite is not None:
            from quiltwork.confounding.bounds import Amplified

            return Amplified.of_known(world.finite, self._loss())
        if world.common is not None:
            zero = [law.means[0] for law in world.laws if not isinstance(law, Mixture)]
            return GaussianCurve(
                worst_square(separations(world.common, zero), world.ordered), "cap: the data themselves"
            )
        line = self.readings.direction()
        laws = None if line is None else world.read(line[0])
        if laws is None or any(isinstance(part, Point) for law in laws for part in law.components):
            raise Unsupported("a bound from the data themselves", "what is read of them has no density on the line")
        return EnclosedCurve.of(laws, world.ordered, "cap: the data themselves")

    def _loss(self) -> Any:
        """The noises as differentially private releases of the values of finite data."""
        if self.readings.correlation is not None:
            raise Unsupported("the bound of Theorem B", "it is written for independent noises here")
        values = [exactly("a value", value) for value in self.world.finite.exact_values]
        widest, losses = max(values) - min(values), []
        for row, kind, scale in zip(self.readings.rows, self.readings.kinds, self.readings.scales, strict=True):
            if row[0] and widest:
                reach = typed_above(abs(row[0]) * widest)
                losses.append((gaussian if kind == "gaussian" else laplace)(float(scale), reach))
        return compose(*losses)

    def guarantee(self) -> Guarantee:
        """The curve with its words; refused when only a simulation is known."""
        if self.curve is None:
            raise NotCertified("this release", self.why)
        return Guarantee(
            self.curve,
            protects=self.world.protects,
            assumes=self.world.assumes,
            because=(
                "joint law of all outputs given the secret (seed 000 Definition 1; theory/confounding.md 1)",
                *_reasons(self.curve),
            ),
        )

    def __repr__(self) -> str:
        how = "simulation only" if self.curve is None else getattr(self.curve, "method", "certified")
        return f"<Readout of {len(self.readings.rows)} noisy readings: {how}>"


def _reasons(curve: Curve) -> tuple[str, ...]:
    """How the ends of a curve are known."""
    if isinstance(curve, FromDelta):
        return curve.because
    return ("closed form for normal laws" if isinstance(curve, GaussianCurve) else "certified cells on the line",)


class IgnoringGaussian(SameCurve):
    """The product of the marginals of normal outputs; not certified as a statement about the release."""

    def __init__(self, release: Readout) -> None:
        world, found = release.world, release.readings
        square, means = world.covariance(found), world.means(found)
        self.truth = worst_square(separations(square, means), world.ordered)
        self.claim = worst_square(marginal_separations(square, means), world.ordered)
        self.curve = GaussianCurve(self.claim, "ignoring the confounder", certified=False)

    def _same(self, quantity: Quantity) -> Curve:
        return self.curve

    def __repr__(self) -> str:
        return f"<IgnoringGaussian: {self.direction}>"

    @cached_property
    def direction(self) -> str:
        """The same for every epsilon and delta, since these curves are ordered by mu (theory/confounding.md 2.2(5))."""
        if self.truth == self.claim:
            return words.SAME
        if self.truth is None or (self.claim is not None and self.claim < self.truth):
            return words.UNDER
        return words.OVER

    def errs(self, epsilon: float) -> str:
        """Whether it underestimates, overestimates or agrees with the truth at this epsilon."""
        return self.direction

    def explain(self, delta: float = 1e-6) -> str:
        """In words, with both epsilons."""
        true, claimed = GaussianCurve(self.truth).epsilon(delta), self.epsilon(delta)
        said, is_true = float(claimed.midpoint), float(true.midpoint)
        return (
            f"Ignoring the confounder {self.direction} here, at every epsilon and delta alike. "
            f"At delta = {delta:g} it says epsilon {said:.6g}, the truth is {is_true:.6g}."
        )
