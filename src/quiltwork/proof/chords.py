"""Chords on a grid: few releases, each with a closed form when it is alone and with losses bounded on one side.

With t = e^eps the put U(t) = D - 1 + t = E_Q (t - e^L)+ is convex, and the put of independent releases rises with that
of each. Chords between the points t_k = e^(x + kh) lie above U and are the put of a law on the lattice. Two neighbours
of a chord, continued, lie below U on its interval; chords of U lowered at each point by the most that they are apart
lie below U as well, and are the put of a law if their slopes rise. Laws of one lattice are multiplied as polynomials,
of which only the losses below eps are needed:  D = 1 - t + sum of q_S (t - e^S)+.

Losses that are bounded above only are turned:  D(eps) = t U'(1/t), with U' the put of the exchanged worlds.

Reference: theory/engine.md (chords on a grid), here in balls.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from typing import Any

import attrs

from quiltwork.proof import finite, largest
from quiltwork.proof.balls import Enclosure, ball, flint, guess, precision
from quiltwork.proof.closed_forms import release_divergence
from quiltwork.proof.description import OTHER, Composition, Release
from quiltwork.proof.fields import Refused

SIZES = (2**11, 2**13, 2**15)  # points of the grid
MOST_COUNT = 100_000  # releases
MAX_POINTS = 2**17  # of the grids of all releases together
KINDS = ("gaussian", "gdp", "laplace", "discrete_gaussian", *finite.KINDS)
FIRST_BITS, MORE_BITS = 400, 140  # bits at first; later, bits beyond those by which D is small
MOST_BITS = 1_500
CERTAIN = Fraction(1, 2**20)  # of h: how far below the least loss a lattice begins
SLACK_BITS = 60  # above rounding: by how much more points are lowered
Atoms = list[Any]  # masses of Q on a lattice


def judge(composition: Composition, epsilon: Fraction, decides: Callable[[Enclosure], bool]) -> Enclosure | None:
    """The enclosure on finer and finer grids, until it decides; Refused where the releases are of other kinds."""
    if not 1 < sum(release.count for release in composition.releases) <= MOST_COUNT:
        raise Refused("chords are for a few releases")
    if not all(_attained(release.node) for release in composition.releases):
        raise Refused("chords are for pairs that a release attains")
    turned = attrs.evolve(composition, releases=tuple(_turned(release) for release in composition.releases))
    for exchanged, one, other in ((False, composition, turned), (True, turned, composition)):
        least = [_least(release) for release in other.releases]
        if all(x is not None for x in least):
            at = -epsilon if exchanged else epsilon
            return _finer(one.releases, [x for x in least if x is not None], at, exchanged, epsilon, decides)
    raise Refused("losses that are bounded on no side")


def _attained(node: Any) -> bool:
    """Whether the closed form is that of one pair, so that releases together have the product of their pairs."""
    if node["kind"] == "mixture":
        return all(_attained(one) for _, one in node["components"])
    return _attained(node["base"]) if node["kind"] == "poisson" else node["kind"] in KINDS


def _turned(release: Release) -> Release:
    return attrs.evolve(release, direction=OTHER[release.direction])


def _least(release: Release) -> float | None:
    """Minus the largest loss of the exchanged worlds, by floats; None where it is not finite or not known."""
    top, reveal = largest.of_release(release)
    return -guess(top) if reveal.is_zero() and ball(top).is_finite() else None


def _width(release: Release, least: float) -> float:
    """From the least to the largest loss, by floats; 0 where it is not finite."""
    top, _ = largest.of_release(release)
    return guess(top) - least if ball(top).is_finite() else 0.0


def _finer(
    releases: tuple[Release, ...], least: list[float], at: Fraction, exchanged: bool, epsilon: Fraction,
    decides: Callable[[Enclosure], bool],
) -> Enclosure | None:  # fmt: skip
    window = guess(at) - sum(x * release.count for x, release in zip(least, releases, strict=True))
    if window <= 0:
        raise Refused("an epsilon below the least loss")
    sizes = [points for points in SIZES if points * len(releases) <= MAX_POINTS]
    if not sizes:
        raise Refused("a grid for each of too many different releases")
    found, bits = None, FIRST_BITS
    widths = [x for x in map(_width, releases, least) if x > 0]
    for place, points in enumerate(sizes, 1):
        grid, size = Fraction(window) / points, points
        if widths and widths[0] > grid:  # the largest loss is on the lattice: laws that end there have an atom
            grid = Fraction(widths[0]) / math.ceil(widths[0] / grid)
            size = math.ceil(window / grid)
        with precision(bits):
            low, high = _between(releases, least, at, grid, size)
            t = ball(epsilon).exp()
            ends = [t * x if exchanged else 1 - t + x for x in (low, high)]
        now = Enclosure(ends[0].lower().max(ball(0)), ends[1].upper(), f"chords on {size} points", bits)
        found = now if found is None else attrs.evolve(now, low=now.low.max(found.low), high=now.high.min(found.high))
        if decides(found) or not decides(_hoped(found, len(sizes) - place)):
            break
        small = guess(found.high)
        lost = -math.log2(small) if small > 0 else FIRST_BITS
        bits = min(math.ceil(lost) + MORE_BITS, MOST_BITS)
    return found


def _hoped(found: Enclosure, steps: int) -> Enclosure:
    """About what so many finer grids will find: the error falls with the square of the points, most of it below."""
    width = found.high - found.low
    at, room = found.high - width / 8, width / (4 * 16**steps)
    return attrs.evolve(found, low=at - room, high=at + room)


def _between(
    releases: tuple[Release, ...], least: list[float], at: Fraction, h: Fraction, size: int
) -> tuple[Any, Any]:
    """Puts at e^at on one grid: above by chords, below by chords that were lowered."""
    above = below = flint().arb_poly([1])
    start, kept = Fraction(0), ball(1)
    for release, x in zip(releases, least, strict=True):
        first = Fraction(x) - h * CERTAIN
        high, low, lost = _laws(release, first, h, size + 4)
        above = (above * _power(high, release.count, size + 2)).truncate(size + 2)
        below = (below * _power(low, release.count, size + 2)).truncate(size + 2)
        start += first * release.count
        kept *= (1 - lost) ** release.count
    t, needed = ball(at).exp(), math.floor((at - start) / h) + 1
    if needed > size + 2:
        raise Refused("a window that is too short")
    gains = [t - ball(start + h * k).exp() for k in range(needed)]
    high, low = (
        sum((mass * gain for mass, gain in zip(poly.coeffs(), gains, strict=False)), ball(0)) for poly in (above, below)
    )
    return low, high + (1 - kept) * t


def _power(law: Atoms, count: int, size: int) -> Any:
    """The law of so many losses, as far as the lattice is needed."""
    found, square = None, flint().arb_poly(law).truncate(size)
    while count:
        if count & 1:
            found = square if found is None else (found * square).truncate(size)
        count >>= 1
        if count:
            square = (square * square).truncate(size)
    return found


def _laws(release: Release, first: Fraction, h: Fraction, size: int) -> tuple[Atoms, Atoms, Any]:
    """Masses at first + kh of a law above and of one below, and the mass above at no loss of the lattice, -inf."""
    places = [first + h * k for k in range(-1, size + 1)]
    t = [ball(x).exp() for x in places]
    u = [(release_divergence(release, x) + s - 1).max(ball(0)) for x, s in zip(places, t, strict=True)]
    slopes = [(b - a) / (s - r) for (a, b), (r, s) in zip(pairwise(u), pairwise(t), strict=True)]
    lost = (u[1] / t[1]).upper()  # one chord from t = 0 to the first point
    above = [slopes[1] - lost, *(b - a for a, b in pairwise(slopes[1:]))]
    return [mass.upper().max(ball(0)) for mass in above], _below(t, u, slopes), lost


def _below(t: list[Any], u: list[Any], slopes: list[Any]) -> Atoms:
    """Masses of what is positive of the lower hull of points that were lowered, by the slack of two hulls more."""
    apart = [ball(0)]  # of the chord from each point, and the larger of its neighbours continued, where these meet
    for k in range(1, len(slopes) - 1):
        rise, fall = ((b - a).max(ball(0)) for a, b in pairwise(slopes[k - 1 : k + 2]))
        width, both = t[k + 1] - t[k], rise + fall
        apart.append((width * rise * fall / both).upper() if both > 0 else (width * rise.min(fall)).upper())
    slack = max(x.rad() for x in u) * 2**SLACK_BITS
    d = [x.lower() - a.max(b) - 2 * slack for x, (a, b) in zip(u[1:], pairwise(apart), strict=False)]
    corners = _hull(t[1:], d, slack)
    above = next((i for i, k in enumerate(corners) if d[k] > 0), 0)
    if not above or not d[corners[above - 1]] <= 0:
        return []
    # from the first point at which the hull is not below 0, on a chord to what follows
    left, right = corners[above - 1], corners[above]
    rise = (d[right] - d[left]) / (t[right + 1] - t[left + 1])
    zero = next((k for k in range(left, right) if d[right] >= rise * (t[right + 1] - t[k + 1])), right)
    d[zero] = ball(0)
    places = [zero, *(k for k in corners[above:] if k > zero)]
    corners = [places[i] for i in _hull([t[k + 1] for k in places], [d[k] for k in places], slack)]
    rises = [ball(0), *((d[b] - d[a]) / (t[b + 1] - t[a + 1]) for a, b in pairwise(corners))]
    masses = [ball(0)] * (corners[-1] + 1)
    for k, (before, after) in zip(corners, pairwise(rises), strict=False):
        masses[k] = (after - before).lower().max(ball(0))
    return masses


def _hull(t: list[Any], d: list[Any], slack: Any) -> list[int]:
    """Places of the corners of the lower hull; what is cut off although it may lie below is within the slack."""
    corners: list[int] = []
    missed = ball(0)
    for k in range(len(d)):
        while len(corners) > 1:
            a, b = corners[-2:]
            chord = d[a] + (d[k] - d[a]) * ((t[b] - t[a]) / (t[k] - t[a]))
            if chord > d[b]:
                break
            missed += (chord - d[b]).max(ball(0)).upper()
            corners.pop()
        corners.append(k)
    if not missed <= slack:
        raise Refused("a hull that these bits do not show")
    return corners
