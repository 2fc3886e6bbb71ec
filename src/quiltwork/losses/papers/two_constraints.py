"""A smooth symmetric trade-off function f between a few (epsilon, delta) constraints, as the paper does it with two.

Below f lie its tangents, above it the chords through points of it; both give constraint sets for `qw.constraints`. The
points are chosen so that the area between is least. Everything here is ordinary floating point: tangents lie below f,
and chords above, only up to the rounding of f and of the chosen points. It is for comparison with the paper; the
certified way is `qw.tradeoff(f)`.

Least area is not the best composed bound: over many releases the smallest delta, which is revealed each time, counts
most, and Proposition 1 beats the true minimiser there (theory/multi-constraints.md, item 3).

Reference: seed 002, section IV; theory/multi-constraints.md, items 2 to 6.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from scipy.integrate import quad
from scipy.optimize import brentq

from quiltwork import checks
from quiltwork.curves.polygons.profile import Profile
from quiltwork.curves.polygons.region import Region
from quiltwork.errors import InvalidParameter
from quiltwork.losses.families.constraints import Constraint, Constraints

Function = Callable[[float], float]
CRITERIA = ("area", "rotated")
SIMILAR = 1e-7  # how closely f must be its own inverse, and its slope its derivative
TRIALS = (0.03, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.97)


def tangents(f: Function, slope: Function, pieces: int = 2, criterion: str = "area") -> list[Constraint]:
    """Constraints below f: tangents at chosen points, the largest epsilon first.

    A tangent at x is the constraint epsilon = ln(-f'(x)), delta = 1 - f(x) + x f'(x). In the best choice each tangent
    touches f in the middle of the piece that it serves. With "area" the first piece begins at alpha = 0 and the area
    between f and the constraints is least, eq. (8). With "rotated" it begins where the tangent passes
    beta - alpha = f(0), left of the unit square; this is the paper's Proposition 1, which minimises (8) and the
    triangle outside.

    f must be strictly convex and its own inverse, with derivative `slope` inside (0, 1).

    Reference: seed 002, Proposition 1; theory/multi-constraints.md, items 2 and 3.

    >>> from scipy.special import ndtr, ndtri
    >>> gauss = lambda x: ndtr(-ndtri(x) - 1.0)
    >>> steep = lambda x: -math.exp(-ndtri(x) - 0.5) if x > 0 else -math.inf
    >>> [(round(epsilon, 6), round(delta, 6)) for epsilon, delta in tangents(gauss, steep)]
    [(1.108059, 0.108306), (0.329159, 0.284991)]
    """
    if criterion not in CRITERIA:
        raise InvalidParameter("criterion", criterion, "'area' or 'rotated'")
    pieces = checks.count("pieces", pieces, least=1)
    top, fixed = _examined(f, slope)

    def touched(first: float) -> tuple[float, list[float]]:
        """How high above the diagonal the last piece ends, and all points of contact, given the first one."""
        points = [first]
        start = 0.0 if criterion == "area" else (_tangent(f, slope, first, 0.0) - top) / (1.0 - slope(first))
        while True:
            end = 2.0 * points[-1] - start
            height = _tangent(f, slope, points[-1], end)
            if len(points) == pieces:
                return height - end, points
            # the next point of contact lies left of the fixed point, so this piece must end above the tangent there
            if height <= max(end, _tangent(f, slope, fixed, end)):
                return -1.0, points
            points.append(_contact(f, slope, end, height, fixed))
            start = end

    first = _solved(lambda x: touched(x)[0], fixed / 2.0)
    return [(math.log(-slope(x)), _share(1.0 - _tangent(f, slope, x, 0.0))) for x in touched(first)[1]]


def chords(f: Function, slope: Function, pieces: int = 2) -> list[Constraint]:
    """Constraints above f: chords from (0, f(0)) to the diagonal, the largest epsilon first.

    The area between is least when f at each inner node is parallel to the chord of its two neighbours, eq. (9).

    Reference: seed 002, Proposition 2; theory/multi-constraints.md, item 5.

    >>> from scipy.special import ndtr, ndtri
    >>> gauss = lambda x: ndtr(-ndtri(x) - 1.0)
    >>> steep = lambda x: -math.exp(-ndtri(x) - 0.5) if x > 0 else -math.inf
    >>> [(round(epsilon, 6), round(delta, 6)) for epsilon, delta in chords(gauss, steep)]
    [(1.378382, 0.0), (0.38215, 0.239322)]
    """
    pieces = checks.count("pieces", pieces, least=1)
    top, fixed = _examined(f, slope)

    def walked(first: float) -> tuple[float, list[float]]:
        """How much the diagonal is missed (positive: too early), and all inner nodes, given the first one."""
        nodes = [first]
        left = 0.0
        while True:
            missed = _above_chord(f, slope, left, nodes[-1], fixed)
            if len(nodes) == pieces - 1:
                return missed, nodes
            if missed <= 0:
                return -1.0, nodes
            left, right = nodes[-1], _far_end(f, slope, left, nodes[-1], fixed)
            nodes.append(right)

    inner = walked(_solved(lambda x: walked(x)[0], fixed))[1] if pieces > 1 else []
    nodes, heights = [0.0, *inner, fixed], [top, *(float(f(x)) for x in inner), fixed]
    out = []
    for i in range(pieces):
        steep = (heights[i] - heights[i + 1]) / (nodes[i + 1] - nodes[i])
        out.append((math.log(steep), _share(1.0 - heights[i] - steep * nodes[i])))
    return out


def area(constraints: Iterable[Constraint]) -> float:
    """The area under the trade-off function of these constraints: 1/2 when nothing leaks, 0 when everything does.

    >>> area([(0.0, 0.5)])
    0.125
    """
    points = Constraints(constraints).points
    profile = Profile([epsilon for epsilon, _ in points], [delta for _, delta in points], symmetric=True)
    return (1.0 - Region(profile).area()) / 2.0


def gap(f: Function, constraints: Iterable[Constraint]) -> float:
    """The area under f less the area under the constraints: positive for tangents, negative for chords.

    Reference: seed 002, equations (8) and (9).

    >>> abs(gap(lambda x: (1.0 - x**0.5) ** 2, [(0.0, 0.5)]) - (1 / 6 - 1 / 8)) < 1e-14
    True
    """
    if not callable(f):
        raise InvalidParameter("f", f, "a trade-off function of one number in [0, 1]")
    # both ends of f may be vertical or flat: x = s^4 smooths the left, symmetry spares the right
    fixed = _fixed(f)
    half = quad(lambda s: 4.0 * s**3 * f(s**4), 0.0, fixed**0.25, epsabs=1e-15, epsrel=1e-13, full_output=1)[0]
    return 2.0 * half - fixed * fixed - area(constraints)


def _examined(f: Any, slope: Any) -> tuple[float, float]:
    """f(0) and the fixed point, after a look at whether f is what it must be."""
    if not callable(f):
        raise InvalidParameter("f", f, "a trade-off function of one number in [0, 1]")
    if not callable(slope):
        raise InvalidParameter("slope", slope, "the derivative of f, a function of one number in (0, 1)")
    fixed, top = _fixed(f), float(f(0.0))
    places = [fixed * share for share in TRIALS]
    heights, slopes = [float(f(x)) for x in places], [float(slope(x)) for x in places]
    if not all(math.isfinite(s) and s < 0 for s in slopes):
        raise InvalidParameter("slope", slopes, "finite and negative inside (0, 1)")
    if any(abs(f(y) - x) > SIMILAR for x, y in zip(places, heights, strict=True)):
        raise InvalidParameter("f", f, "its own inverse", "use qw.tradeoff(f), which needs no symmetry")
    rows = list(zip(places, heights, slopes, strict=True))
    if any(y + s * (at - x) > height + SIMILAR for x, y, s in rows for at, height, _ in rows):
        raise InvalidParameter("slope", slope, "the derivative of a convex f", "a tangent passes above f")
    if top - 2.0 * fixed < SIMILAR:
        raise InvalidParameter("f", f, "strictly convex", "it is straight, so it is one constraint by itself")
    return top, fixed


def _fixed(f: Function) -> float:
    """The point with f(c) = c."""
    top = float(f(0.0))
    if not 0.0 < top <= 1.0 or not float(f(1.0)) < 1.0:
        raise InvalidParameter("f", (top, float(f(1.0))), "falling from f(0) in (0, 1] to f(1) = 0")
    return _root(lambda x: f(x) - x, 0.0, 1.0)


def _tangent(f: Function, slope: Function, at: float, x: float) -> float:
    """The tangent at one place, read at another."""
    return float(f(at) + slope(at) * (x - at))


def _contact(f: Function, slope: Function, x: float, height: float, fixed: float) -> float:
    """Where the tangent through a point below f touches f, right of the point."""
    return _root(lambda at: _tangent(f, slope, at, x) - height, x, fixed)


def _above_chord(f: Function, slope: Function, left: float, node: float, x: float) -> float:
    """f at x less the line from f at `left` that is parallel to f at the node."""
    return float(f(x) - f(left) - slope(node) * (x - left))


def _far_end(f: Function, slope: Function, left: float, node: float, fixed: float) -> float:
    """The right end of the chord from `left` that is parallel to f at the node."""
    return _root(lambda x: _above_chord(f, slope, left, node, x), node, fixed)


def _solved(residual: Function, high: float) -> float:
    """The root of a residual that is positive near 0 and negative at the high end."""
    low = high / 2.0
    while residual(low) <= 0 and low > 1e-290:
        high, low = low, low / 2.0
    return _root(residual, low, high)


def _root(function: Function, low: float, high: float) -> float:
    try:
        return float(brentq(function, low, high, xtol=1e-300, rtol=4 * 2.0**-52))
    except ValueError:  # no change of sign
        raise InvalidParameter("f", "a function without such tangents or chords", "strictly convex") from None


def _share(value: float) -> float:
    return min(max(float(value), 0.0), 1.0)
