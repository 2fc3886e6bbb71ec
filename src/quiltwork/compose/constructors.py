"""The losses that users write down. A family whose parameters are plain numbers is called as its class is."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any, ParamSpec

import attrs

from quiltwork import checks
from quiltwork.compose.loss import Loss, loss_of
from quiltwork.compose.releases import Part
from quiltwork.curves.guarantee import Guarantee
from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.losses.families.constraints import Constraints, ProfilePoints
from quiltwork.losses.families.discrete import DiscreteGaussian, DiscreteLaplace
from quiltwork.losses.families.exponential import Exponential
from quiltwork.losses.families.finite import FiniteLaws
from quiltwork.losses.families.gaussian import Gaussian, GaussianPrivacy
from quiltwork.losses.families.laplace import Laplace
from quiltwork.losses.families.mixture import Mixture
from quiltwork.losses.families.noisy_max import NoisyMax
from quiltwork.losses.families.pure import Approximate, Pure
from quiltwork.losses.families.randomized_response import RandomizedResponse
from quiltwork.losses.families.renyi import Renyi, ZeroConcentrated
from quiltwork.losses.families.sampling.fixed_size import FixedSize
from quiltwork.losses.families.sampling.gaussian_mixture import GaussianMixture
from quiltwork.losses.families.sampling.random_allocation import RandomAllocation, blocks
from quiltwork.losses.families.sampling.sampled_group import SampledGroup
from quiltwork.losses.families.sampling.truncated_poisson import TruncatedPoisson
from quiltwork.losses.families.tradeoff.function import Sandwich
from quiltwork.losses.families.tradeoff.vertices import from_vertices
from quiltwork.losses.family import Family, families
from quiltwork.losses.sensitivity import NEIGHBORS

Given = ParamSpec("Given")


def constructor(family: Callable[Given, Family]) -> Callable[Given, Loss]:
    """A function with the parameters of a family that makes a loss of one release."""
    known: Any = family
    own, types = inspect.signature(family), {a.name: a.type for a in attrs.fields(known)}
    taken = [one.replace(annotation=types[one.name]) for one in own.parameters.values()]

    def make(*args: Given.args, **kwargs: Given.kwargs) -> Loss:
        return Loss.of(family(*args, **kwargs))

    make.__name__, make.__qualname__, make.__doc__ = known.kind, known.kind, known.__doc__
    make.__signature__ = own.replace(parameters=taken, return_annotation="Loss")  # type: ignore[attr-defined]
    return make


gaussian = constructor(Gaussian)
laplace = constructor(Laplace)
discrete_gaussian = constructor(DiscreteGaussian)
discrete_laplace = constructor(DiscreteLaplace)
pure = constructor(Pure)
approximate = constructor(Approximate)
gdp = constructor(GaussianPrivacy)
zcdp = constructor(ZeroConcentrated)
exponential = constructor(Exponential)
noisy_max = constructor(NoisyMax)
randomized_response = constructor(RandomizedResponse)


def constraints(points: Iterable[tuple[float, float]]) -> Loss:
    """A release that satisfies every listed (epsilon, delta) at once."""
    return Loss.of(Constraints(points))


def rdp(orders: Any, epsilons: Any) -> Loss:
    """A release with Rényi divergence at most epsilons[i] at order orders[i], all at once."""
    return Loss.of(Renyi(orders, epsilons))


def tradeoff(f: Callable[[float], float] | Iterable[tuple[float, float]], *, symmetric: bool = False) -> Loss:
    """A release whose test has at least this type II error: vertices (alpha, beta), or a convex function.

    A function is held between two finite pairs, as finely as each question needs; its values are taken as exact to
    4e-16, or to the rounding noise they show. `symmetric` says that it is its own inverse: then only the half with
    f(alpha) > alpha is read, and tests in both directions keep their digits.
    """
    symmetric = checks.flag("symmetric", symmetric)
    if callable(f):
        return Loss.of(Sandwich(f, symmetric))
    if symmetric:
        raise InvalidParameter("symmetric", symmetric, "left out for vertices", "they say themselves what they are")
    return Loss.of(from_vertices(f))


def profile(epsilons: Iterable[float], deltas: Iterable[float]) -> Loss:
    """A release whose privacy profile is known at some points: delta(epsilons[i]) <= deltas[i], both directions."""
    return Loss.of(ProfilePoints.from_entries(epsilons=epsilons, deltas=deltas))


def pair(p: Any, q: Any) -> Loss:
    """Two explicit laws on the same outcomes: p when the record is there, q when it is not."""
    return Loss.of(FiniteLaws(p, q))


def poisson(loss: Loss, rate: float, neighbors: str = "add_remove") -> Loss:
    """The release run on a Poisson sample: each record takes part with probability `rate`.

    With `neighbors="replace_one"` one record is exchanged for another; the sensitivity of the loss is then still what
    one record can move (the clipping norm), not twice that.
    """
    rate = checks.probability("rate", rate, "it is the chance that a record is sampled")
    family = _sampled(loss, neighbors).single("Poisson subsampling")
    if neighbors not in NEIGHBORS:
        raise InvalidParameter("neighbors", neighbors, "one of " + ", ".join(map(repr, NEIGHBORS)))
    if rate == 0:
        return Loss(())
    if neighbors == "replace_one":
        return Loss.of(SampledGroup(family, rate, exchanged=True))
    return loss if rate == 1 else Loss.of(family.subsampled(rate))


def _sampled(given: Any, neighbors: str) -> Loss:
    """The loss to be run on a sample; that of a guarantee must be about the records that are sampled."""
    kind = getattr(getattr(given, "notion", None), "kind", neighbors)
    if isinstance(given, Guarantee) and (kind != neighbors or kind != "add_remove"):
        raise Unsupported(
            f"Poisson subsampling of a guarantee for {given.protects!r}",
            "it holds for a guarantee about adding or removing one of the records that are sampled",
            "ask for that change first: plan.guarantee().to(add_remove())",
        )
    return loss_of(given)


def fixed_size(loss: Loss, batch: int, of: int) -> Loss:
    """The release run on a batch of `batch` records, drawn without replacement from `of`; one record is exchanged.

    `loss` is what one exchanged record of the batch costs: with clipping norm C it is gaussian(sigma, 2 * C).
    """
    return Loss.of(FixedSize(loss_of(loss).single("batches of a fixed size"), batch, of))


def truncated_poisson(loss: Loss, rate: float, most: int, of: int) -> Loss:
    """The release run on a Poisson sample of `of` records of which at most `most`, chosen at random, are kept."""
    family = loss_of(loss).single("cut Poisson batches")
    if checks.probability("rate", rate, "it is the chance that a record is sampled") == 0:
        TruncatedPoisson(family, 1.0, most, of)  # the rest of what was said must be right as well
        return Loss(())
    return Loss.of(TruncatedPoisson(family, rate, most, of))


def gaussian_mixture(sensitivities: Any, weights: Any, sigma: float) -> Loss:
    """Gaussian noise on an answer whose sensitivity is random and not seen: sensitivities[i] with weights[i]."""
    return Loss.of(GaussianMixture(sensitivities, weights, sigma))


def random_allocation(loss: Loss, steps: int, times: int = 1) -> Loss:
    """Each record takes part in `times` of `steps` steps, drawn for itself, independently of all others.

    Not shuffling: there the places of the others tell where the record is. One epoch is one such loss, and epochs with
    new draws compose. For `times` > 1 the bracket is open: above, a random partition into blocks is told; below, only
    all outputs together are seen.
    """
    steps, times = checks.count("steps", steps, least=1), checks.count("times", times, least=1)
    if times > steps:
        raise InvalidParameter("times", times, f"at most steps = {steps}")
    family = loss_of(loss).single("random allocation")
    if times == steps:  # every step: nothing is drawn
        return times * loss
    if times == 1:
        return Loss.of(RandomAllocation(family, steps))
    return Loss(tuple(Part(block, count) for block, count in blocks(family, steps, times)))


def mixture(components: Iterable[tuple[float, Loss]]) -> Loss:
    """One of several releases, chosen at random with the given weights and named in the output."""
    try:
        found = [(weight, loss) for weight, loss in components]
    except (TypeError, ValueError):
        raise InvalidParameter("components", components, "a list of (weight, loss)") from None
    return Loss.of(Mixture([(weight, loss_of(loss).single("a mixture")) for weight, loss in found]))


def __getattr__(name: str) -> Callable[..., Loss]:
    """The constructor of a family that was added later, by its kind."""
    known = families()
    if name not in known:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return constructor(known[name])
