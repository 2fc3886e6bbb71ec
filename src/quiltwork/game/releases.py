"""Releases: a frozen mechanism bound to one population, from which anybody can draw; channels of additive noise.

Attackers and defenders meet here.  Everything is simulation: these draws come from numpy and protect nobody; what is
published is drawn by `quiltwork.mechanisms`.

Reference: seed 004 sections 3 and 4; theory/game.md sections 3 to 5.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, Protocol, runtime_checkable

import attrs
import numpy as np

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.compose.loss import Loss, compose
from quiltwork.curves.guarantee import Guarantee
from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.game.people.population import Members, Population, Statistic, members_of, rows_of_people
from quiltwork.kinds import not_written


@attrs.frozen(eq=False)
class LinearModel:
    """y = mean + gain (b - E b) + noise of these variances, where y = project(outputs)."""

    mean: FloatArray
    gain: FloatArray
    variance: FloatArray
    prior_variances: FloatArray
    prior_rates: FloatArray
    project: Callable[[FloatArray], FloatArray]

    @classmethod
    def stacked(cls, models: Sequence[LinearModel], widths: Sequence[int]) -> LinearModel:
        """Releases with independent noise, side by side; `widths` are the columns of each one's outputs."""
        cuts = np.cumsum(widths)[:-1]

        def project(outputs: FloatArray) -> FloatArray:
            parts = np.split(outputs, cuts, axis=1)
            return np.concatenate([model.project(part) for model, part in zip(models, parts, strict=True)], axis=1)

        return cls(
            np.concatenate([model.mean for model in models]),
            np.concatenate([model.gain for model in models]),
            np.concatenate([model.variance for model in models]),
            models[0].prior_variances,
            models[0].prior_rates,
            project,
        )


@attrs.frozen(eq=False)
class Channel:
    """How a defence draws: the family of its noise, a basis, a scale and a variance for each direction.

    It releases centre + S (scale * B'(x - centre) + noise): with B and S the identity and scale 1 it is plain noise.
    Whatever B and S are, the output is a function of scale * B'(x - centre) + noise, which is what certificates are
    about.
    """

    family: Literal["gaussian", "laplace", "none"]
    variance: FloatArray
    scale: FloatArray
    centre: FloatArray
    basis: FloatArray | None = None
    synthesis: FloatArray | None = None  # S; the basis itself if not given

    @property
    def informative(self) -> bool:
        """Whether the output depends on the data at all."""
        return bool(np.any(self.scale > 0))

    def coordinates(self, values: FloatArray) -> FloatArray:
        """B'(x - centre)."""
        moved = values - self.centre
        return moved if self.basis is None else moved @ self.basis

    def draw(self, exact: FloatArray, rng: np.random.Generator) -> FloatArray:
        """One output for each row of exact values."""
        signal = self.coordinates(exact) * self.scale
        if self.family == "gaussian":
            signal = signal + rng.standard_normal(signal.shape) * np.sqrt(self.variance)
        elif self.family == "laplace":
            signal = signal + rng.laplace(size=signal.shape) * np.sqrt(self.variance / 2.0)
        if self.basis is None:
            return self.centre + signal
        return self.centre + signal @ (self.basis if self.synthesis is None else self.synthesis).T

    def linear(self, statistic: Statistic) -> LinearModel:
        """The linear model of this channel behind a statistic."""
        kept = self.scale > 0
        gain = statistic.gain if self.basis is None else self.basis.T @ statistic.gain
        people = statistic.population.size[0]
        return LinearModel(
            (self.scale * self.coordinates(statistic.mean[None, :])[0])[kept],
            (self.scale[:, None] * gain)[kept],
            self.variance[kept],
            statistic.variances,
            statistic.population.prior.rates(people),
            lambda outputs: self.coordinates(outputs)[:, kept],
        )


@not_written("it is a simulation", "draw it again with the same seed")
@attrs.frozen(eq=False)
class Draws:
    """Data sets, what would be published about each without a defence, and what was released."""

    members: Members
    outputs: FloatArray
    exact: FloatArray

    def __len__(self) -> int:
        return len(self.members)

    @property
    def error(self) -> float:
        """Mean |released - exact| over releases and attributes: the utility loss."""
        return float(np.mean(np.abs(self.outputs - self.exact)))

    def weighted_error(self, weights: FloatArray) -> float:
        """Mean of kappa_j |released_j - exact_j|: the utility loss with a price for each attribute."""
        price = checks.numbers("weights", weights, "numbers >= 0, one an attribute", 0.0, np.inf)
        if price.shape not in ((), self.outputs.shape[1:]):
            raise InvalidParameter("weights", f"shape {price.shape}", f"{self.outputs.shape[1]} numbers")
        return float(np.mean(np.abs(self.outputs - self.exact) * price))


@runtime_checkable
class Release(Protocol):
    """A frozen mechanism and the people it is about."""

    @property
    def population(self) -> Population: ...

    @property
    def name(self) -> str: ...

    @property
    def dimension(self) -> int: ...

    def draw(self, count: int, rng: np.random.Generator, members: Members | None = None) -> Draws:
        """Draw data sets from the prior, or take the members given, and release each."""
        ...

    def linear(self) -> LinearModel | None:
        """The linear model that a linear-Gaussian attacker may invert; None where there is none."""
        return None

    def features(self, outputs: FloatArray) -> FloatArray | None:
        """Features of each candidate (releases x candidates x features), where the mechanism has some of its own."""
        return None


@runtime_checkable
class Defence(Protocol):
    """A defender made ready for one statistic: it turns exact values into what is released."""

    @property
    def name(self) -> str: ...

    @property
    def statistic(self) -> Statistic: ...

    @property
    def channel(self) -> Channel | None: ...

    def defend(self, exact: FloatArray, members: Members, rng: np.random.Generator) -> FloatArray: ...

    def certificate(self, rows: Literal["any", "pool"] | None = None) -> Guarantee: ...


@rows_of_people
@attrs.frozen(eq=False)
class SummaryStatistics(Release):
    """Shares of the members that have each attribute, defended; clipping to [0, 1] is post-processing."""

    defence: Defence
    clip: bool = True

    def __attrs_post_init__(self) -> None:
        checks.flag("clip", self.clip)
        if not isinstance(self.defence, Defence):
            raise InvalidParameter("defence", self.defence, "a defence, for example Gaussian(0.1).prepare(population)")

    @property
    def population(self) -> Population:
        """Whom the release is about."""
        return self.defence.statistic.population

    @property
    def statistic(self) -> Statistic:
        """What would be released without a defence."""
        return self.defence.statistic

    @property
    def name(self) -> str:
        """The defence's name."""
        return self.defence.name

    @property
    def dimension(self) -> int:
        """Numbers in one release."""
        return self.population.size[1]

    def draw(self, count: int, rng: np.random.Generator, members: Members | None = None) -> Draws:
        """Draw data sets from the prior, or take the members given, and release each."""
        chosen = drawn_members(self.population, count, rng, members)
        exact = self.statistic.exact(chosen)
        released = self.defence.defend(exact, chosen, rng)
        return Draws(chosen, np.clip(released, 0.0, 1.0) if self.clip else released, exact)

    def linear(self) -> LinearModel | None:
        """The model without clipping."""
        channel = self.defence.channel
        return None if channel is None else channel.linear(self.statistic)

    def certificate(self, rows: Literal["any", "pool"] | None = None) -> Guarantee:
        """What the defence proves; clipping cannot make it worse."""
        return self.defence.certificate() if rows is None else self.defence.certificate(rows)


def _tuple(releases: Iterable[Release]) -> tuple[Release, ...]:
    return tuple(checks.listed("releases", releases, "one release or more, in a list"))


@rows_of_people
@attrs.frozen(eq=False)
class Several(Release):
    """Several releases about the same members, each with its own noise: the composition of mechanisms."""

    releases: tuple[Release, ...] = attrs.field(converter=_tuple)

    def __attrs_post_init__(self) -> None:
        if not self.releases or not all(isinstance(release, Release) for release in self.releases):
            raise InvalidParameter("releases", self.releases, "one release or more")
        if any(release.population is not self.population for release in self.releases):
            raise InvalidParameter("releases", "several populations", "releases about one and the same population")

    @property
    def population(self) -> Population:
        """Whom the releases are about."""
        return self.releases[0].population

    @property
    def name(self) -> str:
        """All names."""
        return " + ".join(release.name for release in self.releases)

    @property
    def dimension(self) -> int:
        """Numbers in all releases together."""
        return sum(release.dimension for release in self.releases)

    def draw(self, count: int, rng: np.random.Generator, members: Members | None = None) -> Draws:
        """The same members behind each release; outputs side by side."""
        chosen = drawn_members(self.population, count, rng, members)
        parts = [release.draw(count, rng, chosen) for release in self.releases]
        outputs = np.concatenate([part.outputs for part in parts], axis=1)
        return Draws(chosen, outputs, np.concatenate([part.exact for part in parts], axis=1))

    def linear(self) -> LinearModel | None:
        """The models side by side, if each release has one."""
        models = [release.linear() for release in self.releases]
        known = [model for model in models if model is not None]
        widths: Sequence[int] = [release.dimension for release in self.releases]
        return LinearModel.stacked(known, widths) if len(known) == len(models) else None

    def certificate(self, rows: Literal["any", "pool"] | None = None) -> Guarantee:
        """What all releases together prove: their noises are independent, so their losses compose."""
        parts = [_promise(release, rows) for release in self.releases]
        if len({part.protects for part in parts}) > 1:
            different = "they protect different changes of the data: " + "; ".join(part.protects for part in parts)
            raise Unsupported("one certificate of several releases", different, "use one prior and one denominator")
        assumes = tuple(dict.fromkeys(words for part in parts for words in part.assumes))
        reasons = tuple(dict.fromkeys(words for part in parts for words in part.because))
        losses = [part.curve for part in parts if isinstance(part.curve, Loss)]
        if len(losses) < len(parts):
            raise Unsupported("one certificate of several releases", "some of them have a curve that does not compose")
        because = (*reasons, "composition of independent releases")
        return Guarantee(compose(*losses), parts[0].protects, assumes, because)


def _promise(release: Release, rows: Literal["any", "pool"] | None) -> Guarantee:
    certificate = getattr(release, "certificate", None)
    if not callable(certificate):
        raise Unsupported(f"a certificate of {release.name!r}", "this release has none of its own")
    found = certificate() if rows is None else certificate(rows)
    if not isinstance(found, Guarantee):
        raise InvalidParameter("certificate", found, "a Guarantee")
    return found


def drawn_members(population: Population, count: Any, rng: np.random.Generator, members: Members | None) -> Members:
    """The members given, or `count` data sets from the prior."""
    checks.generator(rng)
    sets = checks.count("count", count, 1)
    if members is None:
        return population.prior.draw(sets, population.size[0], rng)
    given = members_of(members, population.size[0])
    if len(given) != sets:
        raise InvalidParameter("members", f"{len(given)} data sets", f"{sets}, as many as are to be drawn")
    return given
