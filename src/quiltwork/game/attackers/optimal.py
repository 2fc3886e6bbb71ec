"""The informed optimal test: it knows the mechanism, all rows, and who of the others is a member (T3).

For person k it compares the two data sets that differ in k alone, by the exact log-likelihood ratio of the released
numbers; no other score of them tells the two apart better (Neyman and Pearson).  This is the adversary of differential
privacy, and the one that audits should use.  Under Gaussian noise its AUC is Phi(mu_k / sqrt 2), with
mu_k^2 = sum_j (x1_j - x0_j)^2 / V_j.

Clipped numbers are used exactly where each share has noise of its own: a share that was clipped to 0 or 1 contributes
the probability of that event.  Where noise follows the data, shares are dependent and taken as if none was clipped.

Reference: theory/game.md sections 1 (Theorem 2 and Lemma 1, corrected) and 3; seed 004 Appendix C.
"""

from __future__ import annotations

import attrs
import numpy as np
from scipy.special import log_ndtr

from quiltwork.checks import FloatArray
from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.game.attackers.knowledge import Budget, Fitted, Knowledge
from quiltwork.game.people.population import Members, members_of
from quiltwork.game.releases import Channel, Release, SummaryStatistics
from quiltwork.kinds import document

_AT_ONCE = 2_000_000  # numbers of releases that are held at once: 16 MB


@attrs.frozen(eq=False)
class _FittedTest:
    release: SummaryStatistics
    channel: Channel

    def scores(self, outputs: FloatArray, members: Members | None = None) -> FloatArray:
        if members is None:
            raise InvalidParameter("members", None, "the membership of everybody: this attacker knows the others'")
        inside = members_of(members, self.release.population.size[0])
        found = np.zeros(inside.shape)
        channel = self.channel
        if not channel.informative:
            return found
        # coordinates are linear in the statistic: transform the candidates' rows once, not every pair of statistics
        rows = self.release.population.candidates
        if channel.basis is None and bool(np.all((rows == 0.0) | (rows == 1.0))):
            return _of_binary_rows(self.release, channel, outputs, inside)
        points = rows if channel.basis is None else rows @ channel.basis
        centre = channel.centre if channel.basis is None else channel.centre @ channel.basis
        coordinates = channel.coordinates(outputs)
        for row, b in enumerate(inside):
            with_k, without_k = _neighbours(points, b, self.release.statistic.denominator)
            pair = with_k - centre, without_k - centre
            ratios = _ratios(channel, self.release.clip, outputs[row, None], coordinates[row, None], *pair)
            found[row] = ratios.sum(axis=1)
        return found


def _of_binary_rows(release: SummaryStatistics, channel: Channel, outputs: FloatArray, inside: Members) -> FloatArray:
    """The same for shares of 0 and 1, by products of matrices.

    The ratio of share j takes one of two values in a release for all members, and one of two for all others: r_0 of
    those without the attribute and r_1 of those with it, so that person k has sum_j r_0j + d_kj (r_1j - r_0j).
    """
    rows = release.population.candidates
    found = np.empty(inside.shape)
    size = max(1, _AT_ONCE // rows.shape[1])
    for part in (slice(start, start + size) for start in range(0, len(inside), size)):
        b = inside[part]
        total, number = b.astype(float) @ rows, b.sum(axis=1, keepdims=True)
        if release.statistic.denominator == "fixed":
            now = fewer = more = 2.0 / len(rows)
        else:
            now, fewer, more = (1.0 / np.maximum(number + step, 1) for step in (0, -1, 1))
        coordinates = channel.coordinates(outputs[part])
        sides = []
        for member in (True, False):
            ends = []
            for has in (0.0, 1.0):
                one, zero = (total * now, (total - has) * fewer) if member else ((total + has) * more, total * now)
                pair = one - channel.centre, zero - channel.centre
                ends.append(_ratios(channel, release.clip, outputs[part], coordinates, *pair))
            sides.append(ends[0].sum(axis=1, keepdims=True) + (ends[1] - ends[0]) @ rows[:, channel.scale > 0].T)
        found[part] = np.where(b, *sides)
    return found


def log_ratio(
    channel: Channel, clip: bool, outputs: FloatArray, with_k: FloatArray, without_k: FloatArray
) -> FloatArray:
    """Log-likelihood of each output under one exact statistic, less that under another, row by row."""
    pair = channel.coordinates(with_k), channel.coordinates(without_k)
    return np.asarray(_ratios(channel, clip, outputs, channel.coordinates(outputs), *pair).sum(axis=1))


def _ratios(
    channel: Channel,
    clip: bool,
    outputs: FloatArray,
    coordinates: FloatArray,
    with_k: FloatArray,
    without_k: FloatArray,
) -> FloatArray:
    """The log-ratio of each number that is released, from coordinates B'(x - centre)."""
    kept = channel.scale > 0
    one, zero = (with_k * channel.scale)[:, kept], (without_k * channel.scale)[:, kept]
    spread = np.sqrt(channel.variance[kept])
    ratios = _plain(channel.family, coordinates[:, kept], one, zero, spread)
    if channel.basis is None and clip:
        shares = np.broadcast_to(outputs[:, kept], ratios.shape)
        for side, end in ((1.0, shares <= 0.0), (-1.0, shares >= 1.0)):
            where, column = np.nonzero(end)
            edge, unit = (0.0 if side > 0 else 1.0) - channel.centre[kept][column], spread[column]
            tail_one = _log_tail(channel.family, side * (edge - one[where, column]) / unit)
            tail_zero = _log_tail(channel.family, side * (edge - zero[where, column]) / unit)
            ratios[where, column] = tail_one - tail_zero
    return ratios


def _neighbours(rows: FloatArray, members: Members, denominator: str) -> tuple[FloatArray, FloatArray]:
    """The statistic of these rows with each person in, and with each person out: one row a person both."""
    total, inside = members @ rows, members[:, None]
    with_k, without_k = total + rows * ~inside, total - rows * inside
    if denominator == "fixed":
        scale = 2.0 / len(rows)
        return with_k * scale, without_k * scale
    size = int(members.sum())
    return np.asarray(with_k / (size + ~inside)), without_k / np.maximum(size - inside.astype(int), 1)


def _plain(family: str, y: FloatArray, one: FloatArray, zero: FloatArray, spread: FloatArray) -> FloatArray:
    """Log-ratio of each number that was not clipped."""
    if family == "laplace":
        return np.asarray((np.abs(y - zero) - np.abs(y - one)) * (np.sqrt(2.0) / spread))
    return np.asarray((one - zero) * (y - 0.5 * (one + zero)) / spread**2)


def _log_tail(family: str, standard: FloatArray) -> FloatArray:
    """Log-probability of noise below this many standard deviations."""
    if family == "gaussian":
        return np.asarray(log_ndtr(standard))
    units = np.sqrt(2.0) * standard  # Laplace of scale 1 has variance 2
    return np.asarray(np.where(units < 0, units - np.log(2.0), np.log1p(-0.5 * np.exp(-np.maximum(units, 0.0)))))


@document("optimal_test/1")
@attrs.frozen
class OptimalTest:
    """The likelihood ratio between two data sets that differ in one person."""

    name: str = "informed optimal test"
    knows: Knowledge = Knowledge.T3

    def fit(self, release: Release, rng: np.random.Generator, budget: Budget) -> Fitted:
        """Nothing is learned: the law of the noise is known."""
        channel = release.defence.channel if isinstance(release, SummaryStatistics) else None
        if not isinstance(release, SummaryStatistics) or channel is None:
            raise Unsupported(
                f"the {self.name} on {release.name}", "it needs the law of the noise, which is not stated"
            )
        if channel.family == "none" and channel.informative:
            raise Unsupported(f"the {self.name} on {release.name}", "without noise the two data sets simply differ")
        return _FittedTest(release, channel)
