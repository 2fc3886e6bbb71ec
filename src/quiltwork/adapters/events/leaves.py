"""Single events of dp_accounting: what each says of its release, for one record added or removed, exchanged, or zeroed.

Noise is stated for values of bounded norm C.  A record added, removed or zeroed moves their sum by at most C, one that
is exchanged by at most 2 C (triangle inequality).  Everything else states its own pair or its own guarantee.

Reference: theory/sampling.md section 11.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from quiltwork import checks
from quiltwork.adapters.events.fields import NEIGHBORS, Revealed, fields, name_of, noise
from quiltwork.compose import constructors as losses
from quiltwork.compose.loss import Loss, compose
from quiltwork.compose.matrix_mechanism import tree_aggregation
from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.losses.families.gaussian import Gaussian
from quiltwork.losses.families.sampling.truncated_poisson import TruncatedPoisson
from quiltwork.numbers.stated import Stated, above, below, log_above

NOISE = ("GaussianDpEvent", "LaplaceDpEvent", "DiscreteLaplaceDpEvent")  # added to a sum of records
NON_PRIVATE = "NonPrivateDpEvent"
REFUSED = {
    "DpEvent": "it describes no mechanism",
    NON_PRIVATE: "it has no finite loss",
    "UnsupportedDpEvent": "it describes no mechanism",
    "SampledWithReplacementDpEvent": "not built here: batches drawn with replacement",
    "RandomAllocationDpEvent": "its record does not say which tables are neighbours",
}
INSTEAD = {
    NON_PRIVATE: "an accountant answers an infinite epsilon",
    "SampledWithReplacementDpEvent": "the group of as many records as a batch holds, not sampled, is safe",
    "RandomAllocationDpEvent": "state quiltwork.random_allocation",
}


def leaf(event: Any, relation: str) -> Loss:
    """The loss of one event that is no composition and no sample."""
    name = name_of(event)
    if name in LEAVES:
        return LEAVES[name](event, relation)
    if name in REFUSED:
        refusal = Unsupported(name, REFUSED[name], INSTEAD.get(name, ""))
        raise Revealed(refusal) if name == NON_PRIVATE else refusal
    if name.endswith("DpEvent"):
        instead = "state its loss with quiltwork, at the least as quiltwork.profile of what is known of it"
        raise Unsupported(name, "not built here: a translation of this event", instead)
    raise InvalidParameter("event", name, "a DpEvent of dp_accounting")


def _nothing(event: Any, relation: str) -> Loss:
    fields(event)
    return compose()


def _multiplier(event: Any) -> float:
    return noise(event, "noise_multiplier", *fields(event, "noise_multiplier"))


def _gaussian(event: Any, relation: str) -> Loss:
    return losses.gaussian(_multiplier(event), float(NEIGHBORS[relation]))


def _laplace(event: Any, relation: str) -> Loss:
    """Noise on one number is the worst case of noise on a vector that moves by the same l1 norm.

    Weigh the law of the loss by e^(-L/2): a move of a (in scales) gives the symmetric measure T_a = e^(-a/2) (atoms 1/2
    at -a and a, density 1/4 between). A move of a and b in two coordinates gives the convolution T_a * T_b, which is
    T_(a+b) with an atom of e^(-(a+b)/2)/4 taken from each end and mass added further inside. Both have the same
    integral of cosh(L/2), and for s >= 0 the hockey stick integrates sinh((L - s)/2)+, which is cosh(L/2) times an
    increasing function of L >= 0: moving mass inward lowers it. More coordinates follow one by one. On the integers
    the same holds, with the trapezoid sum in place of the density.
    """
    return losses.laplace(_multiplier(event), float(NEIGHBORS[relation]))


def _discrete_laplace(event: Any, relation: str) -> Loss:
    given, sensitivity = fields(event, "noise_parameter", "sensitivity")
    moved = NEIGHBORS[relation] * checks.count("DiscreteLaplaceDpEvent.sensitivity", sensitivity)
    if not moved:
        checks.non_negative("DiscreteLaplaceDpEvent.noise_parameter", given)
        return compose()
    rate = noise(event, "noise_parameter", given)  # of decay; the peer, too, takes none for a release without noise
    return losses.discrete_laplace(below(1 / Stated(rate).most), moved)


def _discrete_gaussian(event: Any, relation: str) -> Loss:
    """Noise on one whole number exactly, on a vector of them by its zCDP, which adds up over coordinates.

    Whether the sensitivity is that of an exchange, or of one value, is not said: for exchanged records it is doubled.
    Reference: Canonne, Kamath and Steinke 2020, Theorem 14.
    """
    given, sensitivity, dimension = fields(event, "sigma", "sensitivity", "dimension")
    moved = NEIGHBORS[relation] * checks.non_negative(f"{name_of(event)}.sensitivity", sensitivity)
    one = dimension is not None and checks.count(f"{name_of(event)}.dimension", dimension, 1) == 1
    sigma = checks.non_negative(f"{name_of(event)}.sigma", given)
    if not moved:
        return compose()
    if not sigma:
        noise(event, "sigma", given)
    if one:
        return losses.discrete_gaussian(sigma, math.ceil(moved))
    return losses.zcdp(above((Stated(moved).most / Stated(sigma).least) ** 2 / 2))


def _concentrated(event: Any, relation: str) -> Loss:
    rho, xi = fields(event, "rho", "xi")
    rho = checks.non_negative("ZCDpEvent.rho", rho)
    if checks.non_negative("ZCDpEvent.xi", xi) > 0:
        instead = "state its Rényi divergences at some orders with quiltwork.rdp"
        raise Unsupported("ZCDpEvent with xi > 0", "only rho-zCDP adds up to a loss of its own kind", instead)
    return losses.zcdp(rho)


def _approximate(event: Any, relation: str) -> Loss:
    epsilon, delta = fields(event, "epsilon", "delta")
    epsilon = checks.non_negative("EpsilonDeltaDpEvent.epsilon", epsilon)
    delta = checks.probability("EpsilonDeltaDpEvent.delta", delta)
    return losses.approximate(epsilon, delta) if delta else losses.pure(epsilon)


def _randomized_response(event: Any, relation: str) -> Loss:
    """A bucket kept with probability 1 - p, else drawn from all k.

    Exchanged records: two inputs give their own bucket with 1 - p + p/k, the other's with p/k, and the rest alike:
    randomized response among k answers at epsilon = log(1 + k (1 - p)/p).  Zeroed records: a uniform answer against
    1 - p + p/k.  A smaller p can be made a larger one by answering at random more often, so p is rounded down.
    """
    given, number = fields(event, "noise_parameter", "num_buckets")
    if relation == "add_remove":
        because, instead = "an absent record has no output law", "use neighbors='replace'"
        raise Unsupported("RandomizedResponseDpEvent for added or removed records", because, instead)
    kept = checks.probability("RandomizedResponseDpEvent.noise_parameter", given)
    buckets = checks.count("RandomizedResponseDpEvent.num_buckets", number, 1)
    if buckets == 1 or kept == 1:
        return compose()
    share = Stated(noise(event, "noise_parameter", given)).least
    if relation == "replace_special":
        own, each = 1 - share + share / buckets, Fraction(1, buckets)
        return losses.pair([own, 1 - own], [each, 1 - each])
    epsilon = log_above(1 + buckets * (1 - share) / share)
    return losses.pure(epsilon) if buckets == 2 else losses.randomized_response(epsilon, buckets)


def _epsilon(event: Any) -> float:
    """Of a selection mechanism, stated for whichever records change."""
    return checks.loss_bound(f"{name_of(event)}.epsilon", *fields(event, "epsilon"))


def _exponential(event: Any, relation: str) -> Loss:
    epsilon = _epsilon(event)
    return losses.exponential(epsilon) if epsilon else compose()


def _permute_and_flip(event: Any, relation: str) -> Loss:
    epsilon = _epsilon(event)
    return losses.noisy_max(epsilon) if epsilon else compose()


def _gaussian_mixture(event: Any, relation: str) -> Loss:
    deviation, sensitivities, weights = fields(event, "standard_deviation", "sensitivities", "sampling_probs")
    if relation == "replace":
        because = "the event says what one side of the exchange looks like, not both"
        instead = "gaussian of twice the largest sensitivity is safe"
        raise Unsupported("MixtureOfGaussiansDpEvent for exchanged records", because, instead)
    spread = checks.non_negative("MixtureOfGaussiansDpEvent.standard_deviation", deviation)
    found = losses.gaussian_mixture(sensitivities, weights, spread or 1.0)
    if found.parts[0].family.reveals_nothing:
        return compose()
    noise(event, "standard_deviation", deviation)
    return found


def _truncated(event: Any, relation: str) -> Loss:
    """Poisson batches of which at most so many records are kept (theory/sampling.md section 5)."""
    names = "dataset_size", "sampling_probability", "truncated_batch_size", "noise_multiplier"
    records, rate, most, given = fields(event, *names)
    records = checks.count(f"{name_of(event)}.dataset_size", records)
    rate = checks.probability(f"{name_of(event)}.sampling_probability", rate)
    most = checks.count(f"{name_of(event)}.truncated_batch_size", most)
    sigma = checks.non_negative(f"{name_of(event)}.noise_multiplier", given)
    if not (records and rate and most):
        return compose()
    if not sigma:
        noise(event, "noise_multiplier", given)
    step = Gaussian(sigma, 1.0)
    return Loss.of(
        TruncatedPoisson(
            step, rate, most, records, exchanged=relation == "replace", zeroed=relation == "replace_special"
        )
    )


def _tree(event: Any, relation: str) -> Loss:
    """Each record is in one leaf of one tree: that of the longest one is the worst."""
    given, steps = fields(event, "noise_multiplier", "step_counts")
    if relation != "replace_special":
        because, instead = "it is defined for records that are zeroed", "use neighbors='replace_special'"
        raise Unsupported("SingleEpochTreeAggregationDpEvent for other neighbours", because, instead)
    where = "SingleEpochTreeAggregationDpEvent.step_counts"
    listed = list(steps) if isinstance(steps, (list, tuple)) else [steps]
    if not listed:
        raise InvalidParameter(where, steps, "a whole number or a list of them", "an empty one says nothing")
    most = max(checks.count(where, one) for one in listed)
    sigma = checks.non_negative("SingleEpochTreeAggregationDpEvent.noise_multiplier", given)
    if not most:
        return compose()
    if not sigma:
        noise(event, "noise_multiplier", given)
    return tree_aggregation(most, sigma)


LEAVES: dict[str, Callable[[Any, str], Loss]] = {
    "NoOpDpEvent": _nothing,
    "GaussianDpEvent": _gaussian,
    "LaplaceDpEvent": _laplace,
    "DiscreteLaplaceDpEvent": _discrete_laplace,
    "DiscreteGaussianDpEvent": _discrete_gaussian,
    "ZCDpEvent": _concentrated,
    "EpsilonDeltaDpEvent": _approximate,
    "RandomizedResponseDpEvent": _randomized_response,
    "ExponentialMechanismDpEvent": _exponential,
    "PermuteAndFlipDpEvent": _permute_and_flip,
    "MixtureOfGaussiansDpEvent": _gaussian_mixture,
    "TruncatedSubsampledGaussianDpEvent": _truncated,
    "SingleEpochTreeAggregationDpEvent": _tree,
}
