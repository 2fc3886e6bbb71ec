"""The linear-Gaussian attacker: the best linear estimate of membership when rows, mechanism and prior are known.

With y = mean + G (b - E b) + noise, noise N = diag(variance), Cov(b) acting as V = diag(v) on G,

    W = V G' (G V G' + N)^-1  =  (G' N^-1 G + V^-1)^-1 G' N^-1,

the second, K x K form when there are more numbers than people.  The score is the log-odds of the normal picture: W_k'y
has mean r_k (b_k - E b_k) and variance r_k (1 - r_k) Var(b_k), where r_k = (W G)_kk v_k / Var(b_k) is the share of
Var(b_k) that y explains (v_k is larger than Var(b_k) when exactly half are members).
No training is needed, and in every case measured it was at least as good as the paper's network.

Reference: theory/game.md sections 0 (item 3) and 3.
"""

from __future__ import annotations

import attrs
import numpy as np
from scipy.linalg import cho_factor, cho_solve

from quiltwork.checks import FloatArray
from quiltwork.errors import Unsupported
from quiltwork.game.attackers.knowledge import Budget, Fitted, Knowledge
from quiltwork.game.people.priors import Members
from quiltwork.game.releases.channel import LinearModel
from quiltwork.game.releases.release import Release
from quiltwork.kinds import document

__all__ = ["LinearGaussian"]

_FLOOR = 1e-9  # of the mean signal variance: noise that an exact release is given, so that its matrix can be inverted
_CLOSE = 1e-9  # an explained share is kept this far from 0 and 1


@attrs.frozen(eq=False)
class _FittedLinear:
    model: LinearModel
    weights: FloatArray
    offset: FloatArray

    def scores(self, outputs: FloatArray, members: Members | None = None) -> FloatArray:
        return np.asarray((self.model.project(outputs) - self.model.mean) @ self.weights + self.offset)


def decoder(model: LinearModel) -> FloatArray:
    """W' (numbers x people), by the smaller of the two systems."""
    gain, spread = model.gain, model.prior_variances
    numbers, people = gain.shape
    signal = float(np.mean((gain**2) @ spread)) if numbers else 0.0
    noise = np.maximum(model.variance, _FLOOR * signal + np.finfo(float).tiny)
    if numbers > people:
        weighted = gain / noise[:, None]
        system = gain.T @ weighted
        system[np.diag_indices(people)] += 1.0 / spread
        return np.asarray(cho_solve(cho_factor(system, lower=True), weighted.T).T)
    system = (gain * spread) @ gain.T
    system[np.diag_indices(numbers)] += noise
    return np.asarray(cho_solve(cho_factor(system, lower=True), gain * spread))


@document("linear_gaussian/1")
@attrs.frozen
class LinearGaussian:
    """The closed form; it knows all candidates' rows and the mechanism (T1)."""

    name: str = "linear-Gaussian"
    knows: Knowledge = Knowledge.T1

    def fit(self, release: Release, rng: np.random.Generator, budget: Budget) -> Fitted:
        """One linear system; nothing is drawn."""
        model = release.linear()
        if model is None:
            raise Unsupported(f"the {self.name} attack on {release.name}", "it needs the linear model of the mechanism")
        weights = decoder(model)
        rates = model.prior_rates
        variances = rates * (1.0 - rates)
        share = np.einsum("rk,rk->k", weights, model.gain) * model.prior_variances / variances
        explained = np.clip(share, _CLOSE, 1.0 - _CLOSE)
        rest = (1.0 - explained) * variances
        offset = np.log(rates) - np.log1p(-rates) + (rates - 0.5) * explained / rest
        return _FittedLinear(model, weights / rest, offset)
