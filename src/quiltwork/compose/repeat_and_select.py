"""The best of a random number of runs: hyperparameters tuned on the private data, and only the winner published.

K runs are made, K drawn beforehand, and the output of the best by a score is told, where the score is part of the
output.  With phi(s) = E s^K and the law F of the score the winner has the density p(y) phi'(F_P(y)).  Where phi'(F_P)
is at most R phi'(F_Q),

    (p phi'(F_P) - tau q phi'(F_Q))+  <=  phi'(F_P) (p - (tau / R) q)+,  so  delta(eps) <= E[K] delta_1(eps - log R)

with the profile delta_1 of one run, since phi' <= phi'(1) = E[K].  Two survival functions of one score obey
S_Q <= min(1, e^e S_P + delta_1(e)) at every e.  For the truncated negative binomial law, phi'(s) proportional to
(gamma + (1 - gamma)(1 - s))^(-shape - 1), the ratio is monotone along each of the two pieces, so that

    log R = (shape + 1) min over e of log max(1 + (1/gamma - 1) delta_1(e),
                                              1 / (gamma + (1 - gamma)(1 - delta_1(e)) e^-e)),

and for the Poisson law of mean m, phi'(s) = m e^(m(s-1)), it is log R = m delta_1(0).  At eps = 0 the runs' total
variations add up: delta(0) <= E[K] delta_1(0).  Ties of scores are broken by a coin, which is part of the order.

Reference: theory/sampling.md section 8; Papernot and Steinke 2022; Koskela, Redberg and Wang 2024.
"""

from __future__ import annotations

import math
from fractions import Fraction

import attrs
import numpy as np

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.compose.constructors import profile
from quiltwork.compose.loss import Loss, loss_of
from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.numbers.stated import Stated, above

POINTS = 512  # of the profile of one run
LEAST_DELTA = 1e-30  # of one run, where nothing is revealed: what is rarer counts as revealed
NEAR_REVEAL = 1e-3  # relative: a profile is followed to where it is this near to what is revealed
REFINEMENTS, FINE = 3, 32  # of the order at which R is smallest
HALVINGS = 200
MAX_MEAN = 1e6
LEAST_SHAPE, MAX_SHAPE = -0.9, 1e3
SHAPES = f"a number from {LEAST_SHAPE:g} to {MAX_SHAPE:g}, or infinity"
SLACK = 1e-12  # relative, far more than the rounding of what is evaluated in doubles


def repeat_and_select(loss: Loss, mean: float, shape: float = 1.0) -> Loss:
    """The best of K runs of `loss`, as a privacy profile; K has this mean and does not depend on the data.

    `shape` names the law of K: 1 is geometric, 0 logarithmic, infinity Poisson (no run at all is then possible), any
    other number a truncated negative binomial.  The score that decides must be part of what a run puts out.
    The profile is a bound: which scores are worst is not known.  For one Gaussian run epsilon is 11 to 70 % above what
    is attained, the more the more runs there are, and 9 to 30 % below the bound by Rényi divergences.

    Parameters
    ----------
    loss
        One run.
    mean
        The mean number of runs.
    shape
        Which law the number of runs has.

    Returns
    -------
    Loss
        The published winner, as a profile.

    Raises
    ------
    Unsupported
        A loss in one direction only: scores compare both.

    Examples
    --------
    >>> from quiltwork import gaussian
    >>> [round(loss.epsilon(1e-6).safe, 2) for loss in (gaussian(2.0), repeat_and_select(gaussian(2.0), mean=5))]
    [2.25, 3.05]
    """
    loss = loss_of(loss)
    if loss.side != "worst":
        raise Unsupported("selection in one direction", "scores compare both worlds", "leave out .direction(...)")
    if shape != math.inf:
        shape = checks.real("shape", shape, SHAPES)
    if not (LEAST_SHAPE <= shape <= MAX_SHAPE or shape == math.inf):
        raise InvalidParameter("shape", shape, SHAPES)
    mean = checks.positive("mean", mean, "it is the mean number of runs")
    least = 0.0 if shape == math.inf else 1.0
    if not least <= mean <= MAX_MEAN:
        hint = "" if mean > 1 else "at least one run is made, but for the Poisson law"
        raise InvalidParameter("mean", mean, f"from {least:g} to {MAX_MEAN:g}", hint)
    if not loss.parts or (mean == 1 and shape != math.inf):
        return loss
    places = np.linspace(0.0, _reach(loss), POINTS + 1)
    deltas = _deltas(loss, places)
    moved = Fraction(_log_ratio(loss, places, deltas, mean, shape))
    most = Stated(mean).most
    points = [(0.0, most * Fraction(float(deltas[0])))]
    points += [
        (above(Fraction(at) + moved), most * Fraction(delta))
        for at, delta in zip(places.tolist(), deltas.tolist(), strict=True)
    ]
    kept = [(epsilon, above(delta)) for epsilon, delta in points if delta < 1]
    if not kept:
        raise Unsupported(f"the best of {mean:g} runs of {loss}", "each of them may reveal too much", "add noise")
    return attrs.evolve(profile(*zip(*kept, strict=True)), neighbors=loss.neighbors)  # of the change of each run


def _deltas(loss: Loss, places: FloatArray) -> FloatArray:
    return np.asarray(loss.delta(places).upper, dtype=float)


def _reach(loss: Loss) -> float:
    """An epsilon at which hardly more than what is revealed is left."""
    revealed = float(loss.delta(math.inf).upper)
    found = float(loss.epsilon(min(max(LEAST_DELTA, revealed * (1 + NEAR_REVEAL)), 1.0)).upper)
    if not math.isfinite(found):
        raise Unsupported(f"selection among runs of {loss}", "it has no finite epsilon", "state a loss that is bounded")
    return max(found, LEAST_DELTA)


def _log_ratio(loss: Loss, places: FloatArray, deltas: FloatArray, mean: float, shape: float) -> float:
    """An upper bound on log R."""
    if shape == math.inf:
        return mean * float(deltas[0]) * (1 + SLACK)
    log_inverse = _log_inverse_gamma(mean, shape)
    for _ in range(REFINEMENTS):
        logs = _logs(places, deltas, log_inverse)
        best = int(np.argmin(logs))
        places = np.linspace(places[max(best - 1, 0)], places[min(best + 1, places.size - 1)], FINE + 1)
        deltas = _deltas(loss, places)
    least = float(min(logs[best], _logs(places, deltas, log_inverse).min()))
    return (shape + 1) * least * (1 + SLACK) + SLACK


def _logs(places: FloatArray, deltas: FloatArray, log_inverse: float) -> FloatArray:
    """log of the larger of the two ends of the pieces, for each e."""
    gamma, more = math.exp(-log_inverse), -math.expm1(-log_inverse)
    at_none = np.log1p(math.expm1(log_inverse) * deltas)
    where_certain = -np.log(gamma + more * (1 - deltas) * np.exp(-places))
    return np.asarray(np.maximum(at_none, where_certain))


def _log_inverse_gamma(mean: float, shape: float) -> float:
    """log(1 / gamma) of the truncated negative binomial law of at least this mean, by halving.

    The mean is shape (1/gamma - 1) / (1 - gamma^shape), rising in 1/gamma; R rises with it, too.
    """

    def reached(log_inverse: float) -> bool:
        fall = -math.expm1(-shape * log_inverse) / shape if shape else log_inverse
        return math.expm1(log_inverse) / fall >= mean * (1 + SLACK)

    low, high = 0.0, 1.0
    while not reached(high):
        high *= 2
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high
