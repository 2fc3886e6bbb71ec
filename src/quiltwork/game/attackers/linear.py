"""Linear estimates of membership: the best one when rows, mechanism and prior are known, and ridge regression.

Linear-Gaussian.  With y = mean + G (b - E b) + noise, noise N = diag(variance), Cov(b) acting as V = diag(v) on G,

    W = V G' (G V G' + N)^-1  =  (G' N^-1 G + V^-1)^-1 G' N^-1,

the second, K x K form when there are more numbers than people.  The score is the log-odds of the normal picture: W_k'y
has mean r_k (b_k - E b_k) and variance r_k (1 - r_k) Var(b_k), where r_k = (W G)_kk v_k / Var(b_k) is the share of
Var(b_k) that y explains (v_k is larger than Var(b_k) when exactly half are members).
No training is needed, and in every case measured it was at least as good as the paper's network.

Ridge regression of membership on what was released, learned from simulated releases:

    W = (X'X + n lambda I)^-1 X'(b - E b)  =  X'(X X' + n lambda I)^-1 (b - E b),

the second form when there are fewer releases than numbers in one.  It approaches the linear-Gaussian attacker as the
releases grow, but needs the mechanism only as a program to run: no law of the noise, no linear model.

Reference: theory/game.md sections 0 (items 1: retrained ridge decodes what the in-loop attacker cannot, and 3) and 3.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

import attrs
import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.game.attackers.knowledge import Budget, Fitted, Knowledge, Scoring
from quiltwork.game.people.population import Members
from quiltwork.game.releases import LinearModel, Release
from quiltwork.kinds import document

_FLOOR = 1e-9  # of the mean signal variance: noise that an exact release is given, so that its matrix can be inverted
_CLOSE = 1e-9  # an explained share is kept this far from 0 and 1


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
        scaled = weights / rest
        return Scoring(lambda outputs: (model.project(outputs) - model.mean) @ scaled + offset)


PENALTIES = (10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 1e-2, 1e-3, 1e-4, 1e-6, 1e-8)  # of the mean variance of a number
_CHUNK_ENTRIES = 4_000_000  # entries of outputs that are held at once: 32 MB
_MAX_SEPARATION = 8.0  # separation in standard deviations beyond which a person counts as decided: log-odds of +-32


def outputs_of(outputs: FloatArray, dimension: int) -> FloatArray:
    """Releases, one a row, as finite floats."""
    values = np.asarray(outputs)
    allowed = f"finite numbers, one row a release and {dimension} columns"
    if values.ndim != 2 or values.shape[1] != dimension or values.dtype.kind not in "biuf":
        raise InvalidParameter("outputs", f"{values.dtype} of shape {values.shape}", allowed)
    clean = np.asarray(values, dtype=float)
    if not bool(np.all(np.isfinite(clean))):
        raise InvalidParameter("outputs", "infinite numbers or not numbers", allowed)
    return clean


@attrs.frozen(eq=False)
class Sums:
    """Releases and members, centred: the rows themselves when they are few, else their normal equations."""

    count: int
    centre: FloatArray
    rates: FloatArray
    gram: FloatArray
    cross: FloatArray
    rows: FloatArray | None

    @classmethod
    def of(cls, parts: Iterator[tuple[FloatArray, Members]], count: int, dimension: int) -> Sums:
        """`count` releases that come in parts; the centre is that of the first, so that sums of squares stay small."""
        if count < dimension:
            pairs = list(parts)
            outputs = np.concatenate([part for part, _ in pairs])
            targets = np.concatenate([inside for _, inside in pairs]).astype(float)
            centre, rates = outputs.mean(axis=0), targets.mean(axis=0)
            rows = outputs - centre
            return cls(count, centre, rates, rows @ rows.T, targets - rates, rows)
        first = next(parts)
        centre, rates = first[0].mean(axis=0), first[1].mean(axis=0)
        gram, cross = np.zeros((dimension, dimension)), np.zeros((dimension, len(rates)))
        shift, share = np.zeros(dimension), np.zeros(len(rates))
        for outputs, members in chain([first], parts):
            rows, targets = outputs - centre, members - rates
            gram += rows.T @ rows
            cross += rows.T @ targets
            shift, share = shift + rows.sum(axis=0), share + targets.sum(axis=0)
        gram -= np.outer(shift, shift) / count
        cross -= np.outer(shift, share) / count
        return cls(count, centre + shift / count, rates + share / count, gram, cross, None)

    @property
    def scale(self) -> float:
        """n times the mean variance of one released number: what penalties are multiples of."""
        dimension = len(self.centre)
        return float(np.trace(self.gram)) / dimension


def solve(sums: Sums, penalty: float) -> FloatArray:
    """The solution at this multiple of the mean variance: weights of the numbers, or, in the second form, of rows."""
    if sums.scale <= np.finfo(float).tiny:  # a constant release: nothing to learn
        return np.zeros_like(sums.cross)
    system = sums.gram.copy()
    step = penalty * sums.scale
    for _ in range(12):  # rounding can leave a singular matrix slightly indefinite: penalise more until it is not
        system[np.diag_indices(len(system))] += step
        try:
            factor = cho_factor(system, lower=True, check_finite=False)
        except LinAlgError:
            step *= 10.0
            continue
        return np.asarray(cho_solve(factor, sums.cross, check_finite=False))
    raise Unsupported("ridge regression", "its normal equations are not numbers that can be solved")


def choose(sums: Sums, outputs: FloatArray, members: Members) -> tuple[float, FloatArray]:
    """The penalty with the least squared error on held-out releases, and the estimates it gives there.

    From the largest penalty down, until the error has grown twice: it has one valley.
    """
    moved, target = outputs - sums.centre, members - sums.rates
    basis = moved if sums.rows is None else moved @ sums.rows.T
    best, penalty, estimates, worse = np.inf, PENALTIES[0], np.zeros(target.shape), 0
    for candidate in PENALTIES:
        guess = basis @ solve(sums, candidate)
        loss = float(np.mean((guess - target) ** 2))
        if loss < best:
            best, penalty, estimates, worse = loss, candidate, guess, 0
        else:
            worse += 1
        if worse == 2:
            break
    return penalty, estimates


def log_odds(estimates: FloatArray, members: Members) -> tuple[FloatArray, FloatArray]:
    """Slope and offset, for each person, that turn estimates into log-odds of membership.

    Two normal laws with their own mean and one variance: slope (m1 - m0) / v, zero at the midpoint when both are
    equally likely.  People of whom the release tells more get steeper scores, which the pooled ROC needs.
    """
    inside = members.sum(axis=0)
    outside = len(members) - inside
    mean_in = (estimates * members).sum(axis=0) / np.maximum(inside, 1)
    mean_out = (estimates * ~members).sum(axis=0) / np.maximum(outside, 1)
    gap = np.where((inside > 0) & (outside > 0), mean_in - mean_out, 0.0)
    variance = np.mean((estimates - np.where(members, mean_in, mean_out)) ** 2, axis=0)
    floor = np.maximum((gap / _MAX_SEPARATION) ** 2, np.finfo(float).tiny)
    slope = np.maximum(gap, 0.0) / np.maximum(variance, floor)
    prior = np.log((inside + 0.5) / (outside + 0.5))
    return slope, prior - slope * 0.5 * (mean_in + mean_out)


@attrs.frozen(eq=False)
class Decoder:
    """Log-odds that are linear in what was released: (x - centre) W + offset."""

    centre: FloatArray
    weights: FloatArray
    offset: FloatArray
    penalty: float

    def scores(self, outputs: FloatArray, members: Members | None = None) -> FloatArray:
        """One score a release and candidate; larger means more likely a member."""
        return np.asarray((outputs_of(outputs, len(self.centre)) - self.centre) @ self.weights + self.offset)

    @classmethod
    def learned(cls, release: Release, rng: np.random.Generator, releases: int) -> Decoder:
        """Choose the penalty on a held-out quarter by squared error, then fit again with all releases."""
        held = max(1, releases // 4)
        test = release.draw(held, rng)
        outputs, members = outputs_of(test.outputs, release.dimension), test.members
        sums = Sums.of(_stream(release, rng, releases - held), releases - held, release.dimension)
        penalty, estimates = choose(sums, outputs, members)
        slope, offset = log_odds(estimates, members)
        whole = _joined(sums, outputs, members)
        solution = solve(whole, penalty)
        weights = solution if whole.rows is None else whole.rows.T @ solution
        return cls(whole.centre, weights * slope, offset, penalty)


def _stream(release: Release, rng: np.random.Generator, count: int) -> Iterator[tuple[FloatArray, Members]]:
    """`count` simulated releases, a few at a time."""
    size = max(16, _CHUNK_ENTRIES // max(1, release.dimension))
    for start in range(0, count, size):
        draws = release.draw(min(size, count - start), rng)
        yield outputs_of(draws.outputs, release.dimension), draws.members


def _joined(sums: Sums, outputs: FloatArray, members: Members) -> Sums:
    """The same sums with the held-out releases, around the old centre, which the calibration was made for."""
    rows, targets = outputs - sums.centre, members - sums.rates
    count = sums.count + len(rows)
    if sums.rows is None:
        gram, cross = sums.gram + rows.T @ rows, sums.cross + rows.T @ targets
        return Sums(count, sums.centre, sums.rates, gram, cross, None)
    every = np.concatenate([sums.rows, rows])
    return Sums(count, sums.centre, sums.rates, every @ every.T, np.concatenate([sums.cross, targets]), every)


@document("ridge/1")
@attrs.frozen
class Ridge:
    """Ridge regression on `budget.train` simulated releases, or on `releases` of them; it knows T1."""

    releases: int | None = attrs.field(default=None, validator=attrs.validators.optional(checks.field(checks.count, 8)))
    knows: Knowledge = Knowledge.T1

    @property
    def name(self) -> str:
        """On how many releases, if that was chosen."""
        return "ridge" if self.releases is None else f"ridge on {self.releases} releases"

    def fit(self, release: Release, rng: np.random.Generator, budget: Budget) -> Fitted:
        """Train from scratch on draws of the frozen release."""
        return Decoder.learned(release, rng, budget.train if self.releases is None else self.releases)
