"""Two mixtures of one noise on the integers, moved by whole steps: the list of all losses with their masses.

At the integers the ratios are those of the noise on the line, and the law is log-concave, so that the largest moves are
the worst (one test, many means).  Discrete Laplace noise has a constant ratio beyond the outermost places: its tails
are two atoms.  Discrete Gaussian noise is listed until nothing is left that a double holds.

Reference: theory/sampling.md sections 1.1, 3 and 6.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.errors import InvalidParameter
from quiltwork.losses.families.discrete import MOST_ATOMS, SPAN, DiscreteGaussian, DiscreteLaplace
from quiltwork.losses.families.finite import FinitePair
from quiltwork.losses.moved_ratio import GaussianNoise, LaplaceNoise, MovedRatio, Noise
from quiltwork.numbers.rounding import UNIT
from quiltwork.numbers.stated import typed

BLOCK = 1 << 20  # terms at a time
LogMass = Callable[[FloatArray, FloatArray], FloatArray]  # of a component at this place, at these outputs


def moved_lattice(
    base: DiscreteGaussian | DiscreteLaplace,
    places: list[int],
    p: FloatArray,
    q: FloatArray,
    gaps: FloatArray,
    reading: float = 0.0,
) -> FinitePair:
    """sum p_k N(. - c_k) against sum q_k N(. - c_k), the places ascending."""
    if isinstance(base, DiscreteGaussian):
        reach, scale, noise, log_mass = math.ceil(SPAN * base.sigma) + 1, base.sigma, _GAUSSIAN, _gaussian(base.sigma)
    else:
        reach, scale, noise, log_mass = 0, base.scale, _LAPLACE, _laplace(base.scale, places[0], places[-1])
    if places[-1] - places[0] + 2 * reach >= MOST_ATOMS:
        moves = places[-1] - places[0]
        raise InvalidParameter(
            "moves of the noise, in steps", moves, f"fewer than {MOST_ATOMS}", "use the continuous family"
        )
    x = np.arange(places[0] - reach, places[-1] + reach + 1, dtype=float)
    ratio = MovedRatio(noise, np.array(places) / scale, p, q, gaps, reading)
    rows = max(1, BLOCK // len(places))
    found = [_listed(ratio, log_mass, places, x[i : i + rows], scale) for i in range(0, x.size, rows)]
    losses, wrong, log_p, log_q, off = (np.concatenate(column) for column in zip(*found, strict=True))
    ends = None if noise.bounded else ratio.far_ends()
    masses = np.exp(log_p), np.exp(log_q)
    kept = (masses[0] > 0) | (masses[1] > 0)
    return FinitePair(
        np.maximum.accumulate(losses[kept]),
        masses[0][kept],
        masses[1][kept],
        log_p=log_p[kept],
        relative=float(off[kept].max()),
        loss_error=2.0 * float(wrong[kept].max()),  # places and outputs are rounded, and so is the scale as typed
        ends=ends,
    )


def _listed(
    ratio: MovedRatio, log_mass: LogMass, places: list[int], x: FloatArray, scale: float
) -> tuple[FloatArray, ...]:
    """Losses and what they are off by, log masses under P and Q and what these are off by."""
    with np.errstate(all="ignore"):
        losses, wrong = ratio.loss(x / scale)
        logs = log_mass(np.array(places, dtype=float)[:, None], x)
        off = UNIT * (16.0 + 6.0 * np.abs(logs))
        (log_p, p_off), (log_q, q_off) = (ratio.log_sum(weights, logs, off) for weights in (ratio.p, ratio.q))
    live = [np.where(np.isfinite(log), error, 0.0) for log, error in ((log_p, p_off), (log_q, q_off))]
    return losses, wrong, log_p, log_q, np.maximum(*live)


_GAUSSIAN: Noise = GaussianNoise()
_LAPLACE: Noise = LaplaceNoise()


def _gaussian(sigma: float) -> LogMass:
    reach = math.ceil(SPAN * sigma) + 1
    log_total = math.log(math.fsum(np.exp(-0.5 * (np.arange(-reach, reach + 1) / sigma) ** 2)))
    return lambda place, x: -0.5 * ((x - place) / sigma) ** 2 - log_total


def _laplace(scale: float, first: int, last: int) -> LogMass:
    """Everything beyond the outermost places sits on them."""
    a = float(1 / typed(scale))
    middle, end = math.log(math.tanh(a / 2)), -math.log1p(math.exp(-a))
    return lambda place, x: np.where((x == first) | (x == last), end, middle) - a * np.abs(x - place)
