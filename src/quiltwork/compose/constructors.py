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
from quiltwork.losses.family import NEIGHBORS, Family, families

Given = ParamSpec("Given")


MOVES = "how far one step between neighbouring tables moves the answer."
OF_A_FAMILY = """{about}

Parameters
----------
{parameters}

Returns
-------
Loss
    One release; `k * loss` and `compose` add releases up.

Raises
------
InvalidParameter
    A value is outside its domain; the message says which, and what is allowed.

Examples
--------
{example}
"""


def constructor(family: Callable[Given, Family], example: str = "", **about: str) -> Callable[Given, Loss]:
    """A function with the parameters of a family that makes a loss of one release; `about` says what each one is."""
    known: Any = family
    own, types = inspect.signature(family), {a.name: a.type for a in attrs.fields(known)}
    taken = [one.replace(annotation=types[one.name]) for one in own.parameters.values()]

    def make(*args: Given.args, **kwargs: Given.kwargs) -> Loss:
        return Loss.of(family(*args, **kwargs))

    make.__name__, make.__qualname__, make.__doc__ = known.kind, known.kind, known.__doc__
    if example:
        said = "\n".join(f"{name}\n    {words}" for name, words in about.items())
        make.__doc__ = OF_A_FAMILY.format(about=inspect.cleandoc(known.__doc__), parameters=said, example=example)
    make.__signature__ = own.replace(parameters=taken, return_annotation="Loss")  # type: ignore[attr-defined]
    return make


gaussian = constructor(
    Gaussian,
    ">>> round(gaussian(4.0).epsilon(1e-5).safe, 3)\n0.926",
    sigma="Standard deviation of the noise.",
    sensitivity=f"In the l2 norm, {MOVES}",
)
laplace = constructor(
    Laplace,
    ">>> round(laplace(10.0).epsilon(0.0).safe, 6)\n0.1",
    scale="Scale of the noise.",
    sensitivity=f"In the l1 norm, {MOVES}",
)
discrete_gaussian = constructor(
    DiscreteGaussian,
    ">>> round(discrete_gaussian(4.0).epsilon(1e-5).safe, 3)\n0.927",
    sigma="Parameter sigma of the noise.",
    sensitivity=f"A whole number, {MOVES}",
)
discrete_laplace = constructor(
    DiscreteLaplace,
    ">>> round(discrete_laplace(10.0).epsilon(0.0).safe, 6)\n0.1",
    scale="Scale of the noise.",
    sensitivity=f"A whole number, {MOVES}",
)
pure = constructor(
    Pure,
    ">>> (3 * pure(0.1)).epsilon(0.0).safe\n0.3",
    epsilon="The epsilon that is stated, at delta 0.",
)
approximate = constructor(
    Approximate,
    ">>> round((2 * approximate(0.1, 1e-9)).epsilon(1e-6).safe, 4)\n0.2",
    epsilon="The epsilon that is stated.",
    delta="The delta that it is stated at.",
)
gdp = constructor(
    GaussianPrivacy,
    ">>> round(gdp(0.25).epsilon(1e-5).safe, 3)\n0.926",
    mu="The distance of two normal laws of variance 1 that are no easier to tell apart.",
)
zcdp = constructor(
    ZeroConcentrated,
    ">>> round(zcdp(0.005).epsilon(1e-6).safe, 3)\n0.43",
    rho="The Rényi divergence of every order a is at most a * rho.",
)
exponential = constructor(
    Exponential,
    ">>> round((10 * exponential(0.1)).epsilon(1e-6).safe, 3)\n0.634",
    epsilon="The epsilon that is stated for the selection.",
)
noisy_max = constructor(
    NoisyMax,
    ">>> round((10 * noisy_max(0.1)).epsilon(1e-6).safe, 3)\n0.999",
    epsilon="The epsilon that is stated for the selection.",
)
randomized_response = constructor(
    RandomizedResponse,
    ">>> randomized_response(1.0, values=5).epsilon(0.0).safe\n1.0",
    epsilon="The logarithm of the odds of the true answer against each other one.",
    values="How many answers there are.",
)


def constraints(points: Iterable[tuple[float, float]]) -> Loss:
    """A release that satisfies every listed (epsilon, delta) at once.

    Parameters
    ----------
    points
        Pairs (epsilon, delta).

    Returns
    -------
    Loss
        One release; `k * loss` and `compose` add releases up.

    Raises
    ------
    InvalidParameter
        A value is outside its domain; the message says which, and what is allowed.

    Examples
    --------
    >>> round(constraints([(0.5, 1e-3), (1.0, 1e-5)]).delta(0.5).safe, 6)
    0.001
    """
    return Loss.of(Constraints(points))


def rdp(orders: Any, epsilons: Any) -> Loss:
    """A release with Rényi divergence at most epsilons[i] at order orders[i], all at once.

    Parameters
    ----------
    orders
        Orders above 1, rising.
    epsilons
        The divergence at each order.

    Returns
    -------
    Loss
        One release; `k * loss` and `compose` add releases up.

    Raises
    ------
    InvalidParameter
        A value is outside its domain; the message says which, and what is allowed.

    Examples
    --------
    >>> round(rdp([2.0, 8.0, 32.0], [0.1, 0.4, 1.6]).epsilon(1e-5).safe, 3)
    1.614
    """
    return Loss.of(Renyi(orders, epsilons))


def tradeoff(f: Callable[[float], float] | Iterable[tuple[float, float]], *, symmetric: bool = False) -> Loss:
    """A release whose test has at least this type II error: vertices (alpha, beta), or a convex function.

    A function is held between two finite pairs, as finely as each question needs; its values are taken as exact to
    4e-16, or to the rounding noise they show. `symmetric` says that it is its own inverse: then only the half with
    f(alpha) > alpha is read, and tests in both directions keep their digits.

    Parameters
    ----------
    f
        Vertices (alpha, beta), or a convex decreasing function of alpha.
    symmetric
        Whether a function is its own inverse.

    Returns
    -------
    Loss
        One release; `k * loss` and `compose` add releases up.

    Raises
    ------
    InvalidParameter
        A value is outside its domain; the message says which, and what is allowed.

    Examples
    --------
    >>> round(tradeoff([(0.0, 0.9), (0.4, 0.4), (0.9, 0.0), (1.0, 0.0)]).beta(0.4).safe, 6)
    0.4
    """
    symmetric = checks.flag("symmetric", symmetric)
    if callable(f):
        return Loss.of(Sandwich(f, symmetric))
    if symmetric:
        raise InvalidParameter("symmetric", symmetric, "left out for vertices", "they say themselves what they are")
    return Loss.of(from_vertices(f))


def profile(epsilons: Iterable[float], deltas: Iterable[float]) -> Loss:
    """A release whose privacy profile is known at some points: delta(epsilons[i]) <= deltas[i], both directions.

    Parameters
    ----------
    epsilons
        Where the profile is known.
    deltas
        What it is there at most.

    Returns
    -------
    Loss
        One release; `k * loss` and `compose` add releases up.

    Raises
    ------
    InvalidParameter
        A value is outside its domain; the message says which, and what is allowed.

    Examples
    --------
    >>> profile([0.1, 1.0], [1e-2, 1e-4]).delta(1.0).safe
    0.0001
    """
    return Loss.of(ProfilePoints.from_entries(epsilons=epsilons, deltas=deltas))


def pair(p: Any, q: Any) -> Loss:
    """Two explicit laws on the same outcomes: p when the record is there, q when it is not.

    Parameters
    ----------
    p
        Probabilities of the outcomes when the record is there.
    q
        The same when it is not.

    Returns
    -------
    Loss
        One release; `k * loss` and `compose` add releases up.

    Raises
    ------
    InvalidParameter
        A value is outside its domain; the message says which, and what is allowed.

    Examples
    --------
    >>> round(pair([0.6, 0.4], [0.4, 0.6]).epsilon(0.0).safe, 4)
    0.4055
    """
    return Loss.of(FiniteLaws(p, q))


def poisson(loss: Loss, rate: float, neighbors: str = "add_remove") -> Loss:
    """The release run on a Poisson sample: each record takes part with probability `rate`.

    With `neighbors="replace_one"` one record is exchanged for another; the sensitivity of the loss is then still what
    one record can move (the clipping norm), not twice that.

    Parameters
    ----------
    loss
        One release on the sample.
    rate
        Probability that a record takes part.
    neighbors
        "add_remove" or "replace_one".

    Returns
    -------
    Loss
        One release; a training run is `steps * poisson(gaussian(noise_multiplier), rate)`.

    Raises
    ------
    Unsupported
        The loss is a composition: sample each release first.

    Examples
    --------
    >>> round((1000 * poisson(gaussian(1.0), 0.01)).epsilon(1e-5).safe, 3)
    1.828
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
    found = loss_of(given)
    return attrs.evolve(found, neighbors="") if isinstance(given, Guarantee) else found


def fixed_size(loss: Loss, batch: int, of: int) -> Loss:
    """The release run on a batch of `batch` records, drawn without replacement from `of`; one record is exchanged.

    `loss` is what one exchanged record of the batch costs: with clipping norm C it is gaussian(sigma, 2 * C).

    Parameters
    ----------
    loss
        What one exchanged record of the batch costs.
    batch
        Records in a batch.
    of
        Records of the table.

    Returns
    -------
    Loss
        One release; `k * loss` and `compose` add releases up.

    Raises
    ------
    Unsupported
        The loss is a composition: sample each release first.

    Examples
    --------
    >>> round((100 * fixed_size(gaussian(2.0, 2.0), 100, 10_000)).epsilon(1e-5).safe, 3)
    0.768
    """
    return Loss.of(FixedSize(loss_of(loss).single("batches of a fixed size"), batch, of))


def truncated_poisson(loss: Loss, rate: float, most: int, of: int) -> Loss:
    """The release run on a Poisson sample of `of` records of which at most `most`, chosen at random, are kept.

    Parameters
    ----------
    loss
        One release on the batch.
    rate
        Probability that a record is drawn.
    most
        The most records that a batch keeps.
    of
        Records of the table.

    Returns
    -------
    Loss
        One release; `k * loss` and `compose` add releases up.

    Raises
    ------
    Unsupported
        The loss is a composition: sample each release first.

    Examples
    --------
    >>> round((100 * truncated_poisson(gaussian(2.0), 0.01, 150, 10_000)).epsilon(1e-5).safe, 3)
    0.19
    """
    family = loss_of(loss).single("cut Poisson batches")
    if checks.probability("rate", rate, "it is the chance that a record is sampled") == 0:
        TruncatedPoisson(family, 1.0, most, of)  # the rest of what was said must be right as well
        return Loss(())
    return Loss.of(TruncatedPoisson(family, rate, most, of))


def gaussian_mixture(sensitivities: Any, weights: Any, sigma: float) -> Loss:
    """Gaussian noise on an answer whose sensitivity is random and not seen: sensitivities[i] with weights[i].

    Parameters
    ----------
    sensitivities
        The sensitivities that may occur.
    weights
        Their probabilities.
    sigma
        Standard deviation of the noise.

    Returns
    -------
    Loss
        One release; `k * loss` and `compose` add releases up.

    Raises
    ------
    InvalidParameter
        A value is outside its domain; the message says which, and what is allowed.

    Examples
    --------
    >>> round(gaussian_mixture([0.0, 1.0, 2.0], [0.9, 0.09, 0.01], 2.0).epsilon(1e-5).safe, 3)
    0.541
    """
    return Loss.of(GaussianMixture(sensitivities, weights, sigma))


def random_allocation(loss: Loss, steps: int, times: int = 1) -> Loss:
    """Each record takes part in `times` of `steps` steps, drawn for itself, independently of all others.

    Not shuffling: there the places of the others tell where the record is. One epoch is one such loss, and epochs with
    new draws compose. For `times` > 1 the bracket is open: above, a random partition into blocks is told; below, only
    all outputs together are seen.

    Parameters
    ----------
    loss
        One step.
    steps
        Steps of an epoch.
    times
        In how many of them a record takes part.

    Returns
    -------
    Loss
        One epoch.

    Raises
    ------
    Unsupported
        The loss is a composition: allocate each release first.

    Examples
    --------
    >>> round(random_allocation(gaussian(1.0), 100).epsilon(1e-5).safe, 3)
    0.621
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
    """One of several releases, chosen at random with the given weights and named in the output.

    Parameters
    ----------
    components
        Pairs (weight, loss); the weights sum to 1.

    Returns
    -------
    Loss
        One release; `k * loss` and `compose` add releases up.

    Raises
    ------
    Unsupported
        A component is a composition, not one release.

    Examples
    --------
    >>> round(mixture([(0.9, pure(0.1)), (0.1, pure(1.0))]).delta(0.1).safe, 4)
    0.0434
    """
    try:
        found: list[tuple[float, Any]] = [(weight, loss) for weight, loss in components]
    except (TypeError, ValueError):
        raise InvalidParameter("components", components, "a list of (weight, loss)") from None
    losses = [loss_of(loss) for _, loss in found]
    about = {loss.neighbors for loss, (_, given) in zip(losses, found, strict=True) if isinstance(given, Guarantee)}
    if len(about) == 1:  # guarantees about one change, and so is the mixture
        losses = [attrs.evolve(loss, neighbors="") if loss.neighbors in about else loss for loss in losses]
    parts = [(weight, loss.single("a mixture")) for (weight, _), loss in zip(found, losses, strict=True)]
    return Loss((Part(Mixture(parts), 1),), neighbors=next(iter(about), ""))


def __getattr__(name: str) -> Callable[..., Loss]:
    """The constructor of a family that was added later, by its kind."""
    known = families()
    if name not in known:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return constructor(known[name])
