"""Certificates of defended statistics against every neighbouring pair: each check is one claim about one case."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from tests.soundness import game_truth as truth
from tests.soundness.confounding_checks import Check, at_most
from tests.soundness.game_people import People, correlation, people, spread, weights
from tests.soundness.game_truth import Move

from quiltwork.errors import Unsupported
from quiltwork.game import CorrelatedGaussian, Gaussian, Laplace, RateDistortion, WaterFilling


def mu_of(curve: Any) -> float:
    """The mu of a curve that is G_mu; 0 of one that tells nothing."""
    return float(curve.single("mu").mu) if curve.parts else 0.0


def chance(claim: str, least: Any, upper: float, note: str = "") -> Check:
    """A chance is at most its bound; a bound of 1 says nothing, and has no margin."""
    return Check(claim, least <= 1, note=note) if upper == 1.0 else at_most(claim, least, upper, note)


def strong_enough(claim: str, curve: Any, squares: list[Fraction], rng: np.random.Generator) -> Iterator[Check]:
    """mu^2 of the widest move is within the certificate, and the certified delta is no less than that of the widest."""
    certified = Fraction(mu_of(curve)) ** 2
    yield at_most(f"{claim}: mu", max(squares), certified)
    widest, places = max(squares), [0.0, float(rng.exponential(1.0)), float(rng.exponential(0.1))]
    uppers = curve.delta(np.array(places)).upper
    for place, upper in zip(places, uppers, strict=True):
        least = truth.gaussian_delta(widest, place)
        yield chance(f"{claim}: delta", least, float(upper), f"epsilon {place!r}")
    share = float(10.0 ** rng.uniform(-9, -0.3))
    found = float(curve.epsilon(share).upper)
    if math.isfinite(found):
        left = truth.gaussian_delta(widest, found)
        yield at_most(f"{claim}: epsilon", left, share, f"delta {share!r}, epsilon {found!r}")


def pure_enough(claim: str, curve: Any, moves: list[Move], variance: Any, rng: np.random.Generator) -> Iterator[Check]:
    """sum_j |d_j| / scale_j of the widest move is within the pure epsilon; delta is asked now and then."""
    bound = float(curve.epsilon(0.0).upper)
    kept = [j for j, value in enumerate(variance.tolist()) if value > 0]
    sizes = {j: truth.mp.sqrt(truth.many(Fraction(float(variance[j])) / 2)) for j in kept}
    losses = [sum((truth.many(abs(move[j])) / sizes[j] for j in kept), truth.mp.zero) for move in moves]
    yield at_most(f"{claim}: pure epsilon", truth.rational(max(losses)) * (1 - truth.NEAR), bound)
    if rng.random() < 0.1 and max(losses) > 1e-6:
        move = moves[int(np.argmax([float(loss) for loss in losses]))]
        yield from cells(claim, curve, [float(move[j] / truth.rational(sizes[j])) for j in kept], rng)


def cells(claim: str, curve: Any, shifts: list[float], rng: np.random.Generator) -> Iterator[Check]:
    """delta of a curve is no less than that of Laplace noises with these shifts, in units of their scales."""
    shifts = [shift for shift in shifts if shift]
    if not shifts or max(map(abs, shifts)) > 30.0:
        return
    laws = truth.laplace_cells(shifts, {1: 4000, 2: 120, 3: 24}.get(len(shifts), 10))
    places = [0.0, float(rng.uniform(0.0, sum(map(abs, shifts))))]
    for place, upper in zip(places, curve.delta(np.array(places)).upper, strict=True):
        least = truth.least_delta(*laws, place)
        yield chance(f"{claim}: delta", least, float(upper), f"epsilon {place!r}, shifts {shifts}")


def corner(case: People) -> list[Move]:
    """The moves of people of whom one has all attributes and the others none: the widest of any rows."""
    rows = np.zeros_like(case.population.candidates)
    rows[0] = 1.0
    return truth.moves(rows, case.half, case.fixed)


# ---- defenders


def gaussian(rng: np.random.Generator) -> People:
    """Gaussian noise, priced or not."""
    return people(rng, lambda rng, width: Gaussian(spread(rng), weights(rng, width)))


def laplace(rng: np.random.Generator) -> People:
    """Laplace noise, priced or not."""
    return people(rng, lambda rng, width: Laplace(spread(rng), weights(rng, width)), attributes=3)


def filling(rng: np.random.Generator) -> People:
    """Noise that follows the covariance of the statistic."""
    return people(rng, lambda rng, width: WaterFilling(min(spread(rng), 5.0), weights(rng, width)))


def distortion(rng: np.random.Generator) -> People:
    """The same after shrinking."""
    return people(rng, lambda rng, width: RateDistortion(0.1 * min(spread(rng), 5.0), weights(rng, width)))


def certified(case: People, rng: np.random.Generator) -> Iterator[Check]:
    """Both certificates of plain noise, for this pool and for any rows, against all moves of both."""
    defence = case.defender.prepare(case.population, denominator=case.denominator)
    channel, name = defence.channel, type(case.defender).__name__
    pool, any_rows = truth.moves(case.population.candidates, case.half, case.fixed), corner(case)
    for rows, moves in (("pool", pool), ("any", [*pool, *any_rows])):
        curve, claim = defence.certificate(rows).curve, f"{name}, {rows} rows"
        if isinstance(case.defender, Laplace):
            yield from pure_enough(claim, curve, moves, channel.variance, rng)
            continue
        squares = [truth.strength(move, None, channel.scale, channel.variance) for move in moves]
        if case.defender.weights is None:  # the noise as it was stated, read either way
            for sigma in (Fraction(case.defender.sigma), Fraction(repr(case.defender.sigma))):
                squares.append(max(sum(part**2 for part in move) for move in moves) / sigma**2)
        yield from strong_enough(claim, curve, squares, rng)
        if rows == "pool" and case.population.binary and not case.whole and max(squares):
            wide = max(squares) * (1 + Fraction(1, 10**9))
            yield at_most(f"{claim}: no wider than needed", Fraction(mu_of(curve)) ** 2, wide)


def followed(case: People, rng: np.random.Generator) -> Iterator[Check]:
    """Noise in the basis of the statistic: certified for the pool, refused where one person may be all of the data."""
    defence = case.defender.prepare(case.population, denominator=case.denominator)
    name = type(case.defender).__name__
    if case.whole:
        try:
            defence.certificate("pool")
        except Unsupported:
            yield Check(f"{name}: refuses a random number of members", True)
        else:
            yield Check(f"{name}: refuses a random number of members", False)
        return
    channel, curve = defence.channel, defence.certificate("pool").curve
    moves = truth.moves(case.population.candidates, case.half, case.fixed)
    squares = [truth.strength(move, channel.basis, channel.scale, channel.variance) for move in moves]
    yield from strong_enough(f"{name}, pool rows", curve, squares, rng)


# ---- several releases with correlated noise


def correlated(rng: np.random.Generator) -> People:
    """Copies of one statistic."""
    count = int(rng.integers(1, 5))
    sigmas = tuple(spread(rng) for _ in range(count))
    return people(rng, lambda *_: None, attributes=3, sigmas=sigmas, correlation=correlation(rng, count))


def matrix_of(given: Any, count: int) -> list[list[Fraction]]:
    """A correlation as it was typed."""
    if given is None or np.ndim(given) == 0:
        rho = Fraction(0) if given is None else Fraction(repr(float(given)))
        return [[Fraction(1) if i == j else rho for j in range(count)] for i in range(count)]
    return [[Fraction(repr(float(entry))) for entry in row] for row in np.asarray(given).tolist()]


def copies(case: People, rng: np.random.Generator) -> Iterator[Check]:
    """mu^2 = |d|^2 1'S^-1 1 of every move, by elimination in fractions."""
    sigmas, given = case.options["sigmas"], case.options["correlation"]
    release = CorrelatedGaussian(case.statistic, sigmas, given)
    inverse = [1 / Fraction(repr(sigma)) for sigma in sigmas]
    precision = truth.inverse_form(matrix_of(given, len(sigmas)), inverse)
    pool, any_rows = truth.moves(case.population.candidates, case.half, case.fixed), corner(case)
    for rows, moves in (("pool", pool), ("any", [*pool, *any_rows])):
        squares = [precision * sum(part**2 for part in move) for move in moves]
        yield from strong_enough(f"CorrelatedGaussian, {rows} rows", release.certificate(rows).curve, squares, rng)
