"""The Gauss-Legendre rule for tails of slices, with a proven error; q, u, t, g and J are those of `slice_tails`.

Truncation, for n nodes and N panels of half-length h.  erfcx(z) = (2/sqrt pi) integral of e^(-2 z r - r^2) dr over r >
0 gives |erfcx(z)| <= erfcx(Re z), so that |Phi(-(t + i r))| <= e^(r^2/2) Phi(-t), and |q(u + i r)| <= q(u) e^((1 +
g^2) r^2/2) for real u and r.  In the Bernstein ellipse of parameter R around a panel, |r| <= B = h (R - 1/R)/2 and u
is within A = h (R + 1/R)/2 of the panel's middle; hence |q| <= M = q(p) e^(|k| (d + A - h) + (1 + g^2) B^2/2) with d
the distance from p to that end of J towards which the tangent at p rises.  Chebyshev coefficients of q on the panel
are at most 2 M R^-m.  The rule is exact to degree 2n - 1 and, like the integral, zero for odd ones; its weights are
positive and sum to two, and the integral of an even T_m is at most 2/(m^2 - 1) in size.  So the error of a panel is at
most

    h 4 (1 + 1/(4n^2 - 1)) M R^-2n / (1 - R^-2),        and N h is half the length of J.

Any R > 1 serves; the one used nearly minimises the bound, and panels are short enough (3 w, and a fall of e^-8) to make
it 1e-16.  Neither p nor R has to be right for the bound to hold.

Rounding.  Errors e_u, e_t of the pair (u, t), in units, move log q by |u + xi_e| e_u + (max(t, 0) + 1) e_t; the
exponent adds 8 units of itself, erfcx, weights and sums 96.

Reference: Trefethen 2013, theorem 19.3, for the bound (proved above).
"""

from __future__ import annotations

import math

import attrs
import numpy as np
from scipy.special import erfcx

from quiltwork.checks import FloatArray

__all__ = ["CHUNK", "COUNT", "Panels", "Sided", "gauss", "truncation"]

# Gauss-Legendre, 16 nodes, rounded from 40 digits
NODES = np.array([
    0.0950125098376374402, 0.2816035507792589132, 0.4580167776572273863, 0.6178762444026437484,
    0.7554044083550030339, 0.8656312023878317439, 0.9445750230732325761, 0.9894009349916499326,
])  # fmt: skip
WEIGHTS = np.array([
    0.1894506104550684963, 0.1826034150449235889, 0.1691565193950025382, 0.1495959888165767321,
    0.1246289712555338720, 0.0951585116824927848, 0.0622535239386478929, 0.0271524594117540949,
])  # fmt: skip
NODES, WEIGHTS = np.concatenate((-NODES[::-1], NODES)), np.concatenate((WEIGHTS[::-1], WEIGHTS))
COUNT = NODES.size
ROOT2 = math.sqrt(2.0)
PANELS = 64
CHUNK = 2_000_000  # numbers held at once


@attrs.frozen(eq=False)
class Sided:
    """The numbers of each component, as seen by a right tail."""

    near: FloatArray
    low: FloatArray
    high: FloatArray
    rest_near: FloatArray
    rest_low: FloatArray
    rest_high: FloatArray
    past_low: FloatArray
    past_high: FloatArray
    xi: FloatArray
    sd: FloatArray
    noise: FloatArray
    g: FloatArray
    c: FloatArray
    width: FloatArray

    def picked(self, rows: np.ndarray) -> Sided:
        return Sided(*(getattr(self, field.name)[rows] for field in attrs.fields(Sided)))


@attrs.frozen(eq=False)
class Panels:
    """J: where it starts or ends (a pair u, t), which way it goes, how long it is, and its errors in units."""

    u: FloatArray
    t: FloatArray
    way: FloatArray
    length: FloatArray
    error_u: FloatArray
    error_t: FloatArray


def gauss(k: Sided, panels: Panels, slope: FloatArray, log_q: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The integral over J, over q at its largest; its rounding in units; and the number of panels."""
    parts = np.maximum(panels.length / (3.0 * k.c), panels.length * np.abs(slope) / 8.0)
    parts = np.clip(np.ceil(np.where(np.isfinite(parts), parts, 1.0)), 1, PANELS)
    total, units = np.empty(parts.shape), np.empty(parts.shape)
    for count in np.unique(parts):
        which = np.flatnonzero(parts == count)
        steps = ((2.0 * np.arange(count)[:, None] + 1.0 + NODES) / (2.0 * count)).ravel()
        weights = np.tile(WEIGHTS, int(count)) / (2.0 * count)
        some, length = max(CHUNK // steps.size, 1), panels.length
        for at in range(0, which.size, some):
            pick = which[at : at + some]
            way, xi, g = panels.way[pick, None], k.xi[pick, None], k.g[pick, None]
            far = length[pick, None] * steps
            u, t = panels.u[pick, None] + way * far, panels.t[pick, None] - way * g * far
            above = np.maximum(t, 0.0)
            small = np.exp(-0.5 * t * t)
            mills = 0.5 * erfcx(np.abs(t) / ROOT2)
            exponent = 0.5 * (u * (u + 2.0 * xi) + above * above)
            share = np.exp(-exponent - log_q[pick, None]) * np.where(t > 0, mills, 1.0 - small * mills)
            rough = 8.0 * exponent + np.abs(u + xi) * panels.error_u[pick, None]
            rough = rough + (above + 1.0) * panels.error_t[pick, None]
            plain = share @ weights
            total[pick] = length[pick] * plain
            units[pick] = 96.0 + 2.0 * steps.size + np.where(plain > 0, (share * rough) @ weights / plain, 0.0)
    return total, units, parts


def truncation(k: Sided, length: FloatArray, parts: FloatArray, slope: FloatArray, rise: FloatArray) -> FloatArray:
    """The bound of the rule over J, over q at its largest."""
    half = 0.5 * length / parts
    steep, bent = np.abs(slope) * half, (half / k.c) ** 2
    size = np.clip(4.0 * COUNT / (0.5 * steep + np.sqrt(0.25 * steep**2 + 2.0 * COUNT * bent)), 1.5, 1e3)
    log = np.abs(slope) * rise + steep * (0.5 * (size + 1.0 / size) - 1.0) + bent * (size - 1.0 / size) ** 2 / 8.0
    log = log - 2.0 * COUNT * np.log(size) - np.log1p(-(size**-2.0))
    return 0.5 * length * 4.01 * np.exp(np.minimum(log, 700.0))
