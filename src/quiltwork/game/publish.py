"""`publish`: one real release of a defended statistic, with noise that protects people.

Everything else in this room simulates with numpy.  Here OpenDP draws, on the lattice of doubles, and the guarantee is
for what is really computed: the statistic is evaluated in floating point, so two data sets may differ by a little more
than their exact statistics do, and that little is added to the sensitivity.

In units of the noise, coordinate i of the statistic is evaluated with an error of at most

    r_i = (K + m + 12) u (scale_i / s_i) sum_j |B_ji| (2 + |centre_j|),

u = 2^-53 and s_i the size of the noise: sums of K rows, a quotient, a difference, a product with m terms, a quotient.
A swap then moves the vector of coordinates by at most mu + 2 |r| instead of mu.

Reference: theory/game.md section 4 (certificate); theory/pufferfish.md 7.6 (noise on doubles).
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.compose.constructors import zcdp
from quiltwork.compose.loss import Loss, compose
from quiltwork.curves.guarantee import Guarantee
from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.game.defenders.certificates import Neighbours, PlainDefence, neighbours, widest
from quiltwork.game.defenders.noise import POOL
from quiltwork.game.learned.defence import Trained
from quiltwork.game.people.population import Statistic, members_of
from quiltwork.game.releases import Channel
from quiltwork.kinds import document
from quiltwork.mechanisms import sampling
from quiltwork.mechanisms.totals import laplace_loss
from quiltwork.numbers.rounding import UNIT, down, up
from quiltwork.numbers.stated import above

SCHEMA = "quiltwork/published/1"


@document("published/2")
@attrs.frozen(eq=False)
class Published:
    """Shares that may be published, and what they promise about the members."""

    shares: tuple[float, ...]
    guarantee: Guarantee
    noise: str

    def to_json(self) -> dict[str, Any]:
        """A plain dictionary."""
        return {
            "schema": SCHEMA,
            "shares": list(self.shares),
            "noise": self.noise,
            "guarantee": self.guarantee.to_json(),
        }


def publish(defence: PlainDefence | Trained, members: Any) -> Published:
    """Release the defended shares of one data set; the guarantee is known before anything is drawn.

    Only for the exactly-half prior, whose size is public, or a fixed denominator.  The candidates' rows are public, and
    the guarantee is for this pool of candidates.
    """
    given = defence.defence if isinstance(defence, Trained) else defence  # the gate may have chosen a closed form
    if not isinstance(given, PlainDefence):
        because = "only the noise of closed-form defences is drawn for people here"
        raise Unsupported("publishing", because, "prepare one of them, for example RateDistortion(0.025)")
    statistic, channel = given.statistic, given.channel
    inside = members_of(np.atleast_2d(np.asarray(members)), statistic.population.size[0])
    if len(inside) != 1:
        raise InvalidParameter("members", f"{len(inside)} data sets", "one data set")
    size = statistic.fixed_size
    if size is not None and int(inside.sum()) != size:
        raise InvalidParameter("members", f"{int(inside.sum())} members", f"{size}, half of the candidates")
    if not channel.informative:
        return Published(tuple(map(float, np.clip(channel.centre, 0.0, 1.0))), given.certificate(), "no noise")
    if channel.family == "none":
        raise Unsupported("publishing without noise", "it protects nobody")
    guarantee = _guarantee(statistic, channel)
    kept = channel.scale > 0
    unit = _unit(channel)
    values = (channel.coordinates(statistic.exact(inside))[0] * channel.scale)[kept] / unit
    draw = sampling.lattice_laplaces if channel.family == "laplace" else sampling.lattice_gaussians
    drawn = np.zeros(len(kept))
    drawn[kept] = np.asarray(draw([float(value) for value in values], 1.0)) * unit
    synthesis = channel.basis if channel.synthesis is None else channel.synthesis
    shares = channel.centre + (drawn if synthesis is None else synthesis @ drawn)
    law = "Laplace" if channel.family == "laplace" else "Gaussian"
    return Published(tuple(map(float, np.clip(shares, 0.0, 1.0))), guarantee, f"{law} on multiples of 2^-1074")


def _guarantee(statistic: Statistic, channel: Channel) -> Guarantee:
    moves = neighbours(statistic)
    if moves.whole:
        because = "one person may be all of the data"
        raise Unsupported("publishing means of a random number of members", because, "use a fixed denominator")
    loss = _laplace(statistic, channel, moves) if channel.family == "laplace" else _gaussian(statistic, channel, moves)
    because = "noise of OpenDP on doubles; theory/game.md section 4, with the rounding of the statistic added"
    return Guarantee(loss, moves.protects, (POOL,), (because,))


def _strength(channel: Channel) -> FloatArray:
    """scale / size of the noise of each coordinate that is released, rounded up."""
    return np.asarray(up(channel.scale[channel.scale > 0] / down(_unit(channel), 2), 2))


def _unit(channel: Channel) -> FloatArray:
    """The size of the noise of each coordinate that is released."""
    return np.asarray(np.sqrt(channel.variance[channel.scale > 0] / (2.0 if channel.family == "laplace" else 1.0)))


def _rounding(statistic: Statistic, channel: Channel) -> FloatArray:
    """r_i: how far the evaluated coordinates may be from the exact ones, in units of the noise."""
    people, attributes = statistic.population.size
    bulk = 2.0 + np.abs(channel.centre)  # with a fixed denominator, a share may come to 2
    kept = channel.scale > 0
    reach = bulk[kept] if channel.basis is None else bulk @ np.abs(channel.basis[:, kept])
    return np.asarray((people + attributes + 12.0) * UNIT * _strength(channel) * reach * (1.0 + 1e-6))


def _gaussian(statistic: Statistic, channel: Channel, moves: Neighbours) -> Loss:
    """zCDP with rho = mu^2 / 2, which discrete Gaussian noise has on every lattice."""
    kept = channel.scale > 0
    strength = _strength(channel)
    if channel.basis is None:
        transform = np.zeros(len(kept))
        transform[kept] = strength
    else:
        transform = channel.basis[:, kept] * strength
    mu, _ = widest(moves, "pool", transform)
    rounding = _rounding(statistic, channel)
    total = up(mu + 2.0 * float(np.sqrt(np.sum(rounding**2))) * (1.0 + 1e-6), 4)
    return zcdp(above(Fraction(total) ** 2 / 2))


def _laplace(statistic: Statistic, channel: Channel, moves: Neighbours) -> Loss:
    """One Laplace mechanism a share, each with the most that a change can move it."""
    reach = up(_strength(channel) * moves.step + 2.0 * _rounding(statistic, channel), 4)
    values, counts = np.unique(reach, return_counts=True)
    return compose(*(int(n) * laplace_loss(1.0, float(value)) for value, n in zip(values, counts, strict=True)))
