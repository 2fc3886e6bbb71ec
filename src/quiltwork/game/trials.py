"""Trials for an audit: the mechanism is run again and again in two worlds that one change tells apart.

The pair is the worst one of the pool of candidates, and the score is the log-likelihood ratio between the two worlds,
the best there is (Neyman and Pearson): exact, except that clipping is ignored where noise follows the data.  Every
trial draws the rest of the data afresh and tells the score about it, as the adversary of differential privacy is told.
Trials are independent, as audits need.

Reference: theory/game.md section 6 (audit with the informed score when the mechanism can be run again).
"""

from __future__ import annotations

from collections.abc import Callable

import attrs
import numpy as np

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.errors import Unsupported
from quiltwork.game.attackers.optimal import log_ratio
from quiltwork.game.defenders.certificates import farthest, neighbours
from quiltwork.game.gaussian.correlated_release import CorrelatedGaussian
from quiltwork.game.people.population import Members, Statistic
from quiltwork.game.releases import Channel, Release, SummaryStatistics
from quiltwork.kinds import document

_AT_ONCE = 2_000_000  # numbers of releases that are held at once: 16 MB


@document("trials/1")
@attrs.frozen(eq=False)
class Trials:
    """Scores of the runs with the person in the data, and of those without."""

    inside: FloatArray
    outside: FloatArray
    pair: str


def trials(release: Release, count: int, rng: np.random.Generator) -> Trials:
    """`count` runs, each in one of the two worlds by a fair coin.

    For one release of shares, or several with correlated noise, whose best combination is then what is scored.
    """
    statistic, channel, clip, read = _reading(release)
    runs, people = checks.count("count", count, 2), release.population.size[0]
    moves = neighbours(statistic)
    first, second = _worst(moves.rows, moves.swap, channel) if not moves.whole else (0, 0)
    members = release.population.prior.draw(runs, people, rng)
    if moves.swap:  # keep the size: exactly one of the pair is in the data
        both = members[:, first] == members[:, second]
        members[both] = _with_one_of(members[both], first, second, rng)
    world = rng.random(runs) < 0.5
    with_first, without = members.copy(), members.copy()
    with_first[:, first], without[:, first] = True, False
    if moves.swap:
        with_first[:, second], without[:, second] = False, True
    scores = np.empty(runs)
    size = max(1, _AT_ONCE // release.dimension)
    for part in (slice(start, start + size) for start in range(0, runs, size)):
        one, zero = with_first[part], without[part]
        draws = release.draw(len(one), rng, np.where(world[part, None], one, zero))
        scores[part] = log_ratio(channel, clip, read(draws.outputs), statistic.exact(one), statistic.exact(zero))
    pair = f"candidate {first} in the place of candidate {second}" if moves.swap else f"candidate {first} in or out"
    return Trials(scores[world], scores[~world], pair)


def _reading(release: Release) -> tuple[Statistic, Channel, bool, Callable[[FloatArray], FloatArray]]:
    """The statistic, the noise on it, whether shares are clipped, and how outputs are read as noisy statistics."""
    if isinstance(release, CorrelatedGaussian):
        model, attributes = release.linear(), release.population.size[1]
        channel = Channel("gaussian", model.variance, np.ones(attributes), np.zeros(attributes))
        return release.statistic, channel, False, model.project
    if not isinstance(release, SummaryStatistics):
        because = "the worst pair is found for shares with noise of their own, or with correlated noise"
        raise Unsupported("trials for an audit", because, "audit SummaryStatistics(defence), or scores of an attacker")
    if release.defence.channel is None or release.defence.channel.family == "none":
        raise Unsupported("trials for an audit", "the law of the noise is not stated, or there is no noise")
    return release.statistic, release.defence.channel, release.clip, np.asarray


def _worst(rows: FloatArray, swap: bool, channel: Channel) -> tuple[int, int]:
    """The pair that moves the release most, in units of its noise."""
    kept = channel.scale > 0
    strength = channel.scale[kept] / np.sqrt(channel.variance[kept])
    points = (rows[:, kept] if channel.basis is None else rows @ channel.basis[:, kept]) * strength
    return farthest(points, swap)[1]


def _with_one_of(members: Members, first: int, second: int, rng: np.random.Generator) -> Members:
    """Data sets with both or neither of the pair, changed by one other person so that just one of them is in."""
    changed = members.copy()
    others = np.delete(np.arange(members.shape[1]), [first, second])
    for row in changed:
        had = bool(row[first])
        row[second] = not had
        choices = others[row[others] != had]  # someone enters for the one who left, or leaves for the one who entered
        row[rng.choice(choices)] = had
    return changed
