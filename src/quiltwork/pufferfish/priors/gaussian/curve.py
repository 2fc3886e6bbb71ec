"""Composition under a Gaussian prior: what the rest tells is itself a Gaussian loss, composed with the mechanism's.

Reference: theory/pufferfish.md 3.6 (ii) and 4.4.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.compose.constructors import gdp
from quiltwork.compose.loss import Loss
from quiltwork.compose.releases import one_sided
from quiltwork.curves.curve import BaseCurve, Ends
from quiltwork.errors import Unsupported
from quiltwork.kinds import document
from quiltwork.numbers.digits import at_most
from quiltwork.pufferfish.priors.gaussian.prior import AutoRegressive, GaussianPrior
from quiltwork.pufferfish.secrets import Secrets
from quiltwork.pufferfish.translation.curve import stated_loss

__all__ = ["GaussianLeaks"]

METHOD = "translated once"
MOST_SIZES = 24
MOST_TOLD = 1e4  # mu beyond which nothing is left to protect


class GaussianLeaks(BaseCurve):
    """The best size b of gdp(leak(b)) composed with the loss of b entries: each of them holds, so the least does."""

    because = (
        "the entries outside a set of b tell the secret through a Gaussian loss, composed with that of the releases"
    )

    def __init__(self, loss: Loss, prior: AutoRegressive | GaussianPrior, secrets: Secrets | None = None) -> None:
        if one_sided(loss.parts):
            raise Unsupported(
                "a Gaussian prior with a loss that is not symmetric",
                "its worse direction may change with what the rest tells",
                "state the release as constraints or as a Rényi bound",
            )
        self.loss, self.prior, self.secrets = loss, prior, secrets
        spread = np.unique(np.geomspace(1, len(prior.sizes), MOST_SIZES).round().astype(int)) - 1
        self.sizes = [int(prior.sizes[i]) for i in spread]
        found = {size: prior.leak(size, secrets) for size in self.sizes}
        self.composed = {size: self._composed(size, told) for size, told in found.items() if told <= MOST_TOLD}
        if not self.composed:
            raise Unsupported(
                "a guarantee under this prior",
                f"the other entries tell an entry apart by {min(found.values()):.3g} standard deviations",
                "narrow the gap, or give the prior a length",
            )
        self.sizes = list(self.composed)

    def _composed(self, size: int, told: float) -> Loss:
        group = self.loss.group(size)
        return group if told == 0.0 else gdp(told) + group

    def _epsilon(self, delta: FloatArray, rtol: float) -> Ends:
        upper = np.full(delta.shape, math.inf)
        for size, loss in self.composed.items():
            group = np.asarray(self.loss.group(size).epsilon(delta, rtol=rtol).upper)
            if bool(np.all(group >= upper)):
                break  # larger groups cost more
            upper = np.minimum(upper, loss.epsilon(delta, rtol=rtol).upper)
        return Ends(np.minimum(self.loss.epsilon(delta, rtol=rtol).lower, upper), upper, METHOD)

    def _delta(self, epsilon: FloatArray, rtol: float) -> Ends:
        upper = np.min([np.asarray(loss.delta(epsilon, rtol=rtol).upper) for loss in self.composed.values()], axis=0)
        return Ends(np.minimum(self.loss.delta(epsilon, rtol=rtol).lower, upper), upper, METHOD)

    def _beta(self, alpha: FloatArray) -> Ends:
        lower = np.max([np.asarray(loss.beta(alpha).lower) for loss in self.composed.values()], axis=0)
        return Ends(lower, np.maximum(self.loss.beta(alpha).upper, lower), METHOD)

    def __repr__(self) -> str:
        return f"<GaussianLeaks of {self.loss} under {self.prior}>"

    def witness(self, delta: float) -> str:
        """The size that decides."""
        best = min(self.sizes, key=lambda size: float(self.composed[size].epsilon(delta).upper))
        told = self.prior.leak(best, self.secrets)
        return f"sets of {best} entries; the rest tells at most a Gaussian loss of mu = {at_most(told)}"


# ---- as a document


def _read(loss: Any, prior: Any, secrets: Any = None) -> GaussianLeaks:
    return GaussianLeaks(stated_loss(loss), prior, secrets)


document("gaussian_leaks/1", fields="loss prior", optional="secrets", read=_read)(GaussianLeaks)
