"""dp_accounting: distributions on a grid (both directions), Rényi moments, and its closed forms."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import dp_accounting
from dp_accounting import dp_event
from dp_accounting.pld import accountant, common
from dp_accounting.pld import privacy_loss_distribution as pld
from dp_accounting.pld.pld_privacy_accountant import PLDAccountant
from dp_accounting.rdp.rdp_privacy_accountant import RdpAccountant

from benchmarks.beside.asks import NO, UPPER, Ask
from benchmarks.beside.questions import (
    APPROXIMATE,
    DELTAS,
    EPSILON,
    GAUSSIAN,
    LAPLACE,
    RESPONSE,
    SAMPLED,
    SIGMA,
    Part,
    Question,
)

STEP, FINE = 1e-4, 1e-5
DEEP = -300.0  # logarithm of the mass that may be cut off, for deltas that the default cut of e^-50 cannot see


def one(part: Part, step: float) -> pld.PrivacyLossDistribution:
    """A single release, pessimistic, both directions."""
    at = {"value_discretization_interval": step}
    if part.kind in (GAUSSIAN, SAMPLED):
        rate = part.more if part.kind == SAMPLED else 1.0
        return pld.from_gaussian_mechanism(part.scale, sampling_prob=rate, **at)
    if part.kind == LAPLACE:
        return pld.from_laplace_mechanism(part.scale, **at)
    given = common.DifferentialPrivacyParameters(part.scale, part.more)
    return pld.from_privacy_parameters(given, **at)


def composed(parts: Sequence[Part], step: float = STEP) -> pld.PrivacyLossDistribution:
    """All releases."""
    first, *others = (one(part, step).self_compose(part.count) for part in parts)
    for other in others:
        first = first.compose(other)
    return first


def event(part: Part) -> dp_event.DpEvent:
    """What its Rényi accountant reads."""
    if part.kind == LAPLACE:
        single: dp_event.DpEvent = dp_event.LaplaceDpEvent(part.scale)
    elif part.kind == RESPONSE:
        single = dp_event.RandomizedResponseDpEvent(2 / (1 + math.exp(part.scale)), 2)
    else:
        single = dp_event.GaussianDpEvent(part.scale)
        if part.kind == SAMPLED:
            single = dp_event.PoissonSampledDpEvent(part.more, single)
    return dp_event.SelfComposedDpEvent(single, part.count)


def renyi(question: Question) -> float:
    """Default orders. Randomized response changes a record, so that it is asked for a replaced one."""
    relation = dp_accounting.NeighboringRelation
    replaced = question.kinds == {RESPONSE}
    found = RdpAccountant(neighboring_relation=relation.REPLACE_ONE if replaced else relation.ADD_OR_REMOVE_ONE)
    for part in question.parts:
        found.compose(event(part))
    return float(found.get_epsilon(question.at))


def deep(question: Question) -> float:
    """One Gaussian of the whole size, cut off at e^-300."""
    sigma = 1 / math.sqrt(sum(part.count / part.scale**2 for part in question.parts))
    return float(pld.from_gaussian_mechanism(sigma, log_mass_truncation_bound=DEEP).get_epsilon_for_delta(question.at))


def closed(question: Question) -> float:
    """Gaussians add up to one."""
    sigma = 1 / math.sqrt(sum(part.count / part.scale**2 for part in question.parts))
    return float(dp_accounting.get_epsilon_gaussian(sigma, question.at))


def optimal(question: Question) -> float:
    """Its formula for k equal (epsilon, delta) releases, at the points of a lattice."""
    (part,) = question.parts
    given = common.DifferentialPrivacyParameters(part.scale, part.more)
    return float(accountant.advanced_composition(given, part.count, question.at))


def calibrated(question: Question, make: Callable[[], Any]) -> float:
    """Its general search, to 1e-4 in sigma."""
    (part,) = question.parts
    return float(
        dp_accounting.calibrate_dp_mechanism(
            make,
            lambda sigma: event(Part(SAMPLED, sigma, part.count, part.more)),
            question.target,
            question.at,
            dp_accounting.LowerEndpointAndGuess(0.5, 4.0),
            tol=1e-4,
        )
    )


def smallest(question: Question) -> float:
    """Its search for subsampled Gaussians."""
    (part,) = question.parts
    goal = common.DifferentialPrivacyParameters(question.target, question.at)
    return float(accountant.get_smallest_subsampled_gaussian_noise(goal, part.count, 1, part.more))


def asks(question: Question) -> list[Ask]:
    """All its ways."""
    if question.kind == DELTAS:
        return [Ask("PLD h 1e-4", UPPER, lambda: composed(question.parts).get_delta_for_epsilon(question.points))]
    if question.kind == SIGMA:
        return [
            Ask(
                "PLD h 1e-3, tol 1e-4",
                UPPER,
                lambda: calibrated(question, lambda: PLDAccountant(value_discretization_interval=1e-3)),
            ),
            Ask("PLD h 1e-4, tol 1e-4", UPPER, lambda: calibrated(question, PLDAccountant)),
            Ask("its subsampled Gaussian search", UPPER, lambda: smallest(question), slow=True),
            Ask("Rényi", UPPER, lambda: calibrated(question, RdpAccountant)),
        ]
    if question.kind != EPSILON:
        return []
    found = [Ask("PLD h 1e-4", UPPER, lambda: float(composed(question.parts).get_epsilon_for_delta(question.at)))]
    if question.kinds == {SAMPLED} and len(question.parts) == 1 and question.parts[0].count <= 10**5:
        fine = lambda: float(composed(question.parts, FINE).get_epsilon_for_delta(question.at))  # noqa: E731
        found.append(Ask("PLD h 1e-5", UPPER, fine, slow=True))
    if question.kinds == {GAUSSIAN}:
        found.append(Ask("closed form", NO, lambda: closed(question)))
        if question.at <= 1e-12:
            found.append(Ask("PLD of one Gaussian, cut at e^-300", UPPER, lambda: deep(question)))
    if question.kinds <= {RESPONSE, APPROXIMATE} and len(question.parts) == 1:
        found.append(Ask("optimal composition, formula", UPPER, lambda: optimal(question)))
    if APPROXIMATE not in question.kinds:
        found.append(Ask("Rényi", UPPER, lambda: renyi(question)))
    return found
