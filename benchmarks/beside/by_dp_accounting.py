"""dp_accounting: distributions on a grid (both directions), Rényi moments, and its closed forms."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import dp_accounting
from dp_accounting import dp_event
from dp_accounting.pld import accountant, common
from dp_accounting.pld import privacy_loss_distribution as pld
from dp_accounting.pld import privacy_loss_mechanism as noise
from dp_accounting.pld.pld_privacy_accountant import PLDAccountant
from dp_accounting.rdp.rdp_privacy_accountant import RdpAccountant

from benchmarks.beside.asks import Ask
from benchmarks.beside.parts import APPROXIMATE, GAUSSIAN, LAPLACE, RESPONSE, SAMPLED, Part
from benchmarks.beside.questions import DELTAS, EPSILON, SIGMA, Question
from benchmarks.verdicts import NO, UPPER_IDEAL

STEP, FINE = 1e-4, 1e-5
TAIL, SMALL_TAIL = 1e-15, 1e-25  # mass that a composition may cut off: the default, and what smaller deltas need
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


def composed(parts: Sequence[Part], step: float = STEP, tail: float = TAIL) -> pld.PrivacyLossDistribution:
    """All releases."""
    first, *others = (one(part, step).self_compose(part.count, tail) for part in parts)
    for other in others:
        first = first.compose(other, tail)
    return first


def accounted(question: Question) -> PLDAccountant:
    """Its accountant, which knows that Gaussians add up to one."""
    found = PLDAccountant()
    for part in question.parts:
        found.compose(event(part))
    return found


def event(part: Part) -> dp_event.DpEvent:
    """What its accountants read."""
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


def whole(question: Question) -> float:
    """The sigma of the one Gaussian that all of them add up to."""
    return 1 / math.sqrt(sum(part.count / part.scale**2 for part in question.parts))


def deep(question: Question) -> float:
    """One Gaussian of the whole size, cut off at e^-300."""
    found = pld.from_gaussian_mechanism(whole(question), log_mass_truncation_bound=DEEP)
    return float(found.get_epsilon_for_delta(question.at))


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


def tabled(p: Sequence[float], q: Sequence[float]) -> pld.PrivacyLossDistribution:
    """A release with finitely many outputs, both directions."""
    upper, lower = ({place: math.log(mass) for place, mass in enumerate(law)} for law in (p, q))
    return pld.from_two_probability_mass_functions(lower, upper, symmetric=False)


def asks(question: Question) -> list[Ask]:
    """All its ways."""
    if question.kind == DELTAS:
        return _deltas(question)
    if question.kind == SIGMA:
        return _sigmas(question)
    if question.kind != EPSILON:
        return []
    of_noise = question.kinds == {GAUSSIAN}
    alone = len(question.parts) == 1

    def asked(**more: float) -> Callable[[], float]:
        return lambda: float(composed(question.parts, **more).get_epsilon_for_delta(question.at))

    found = [Ask("PLD h 1e-4, self_compose" if of_noise else "PLD h 1e-4", UPPER_IDEAL, asked())]
    if alone and question.at <= 1e-12:
        found.append(Ask("PLD h 1e-4, tail 1e-25", UPPER_IDEAL, asked(tail=SMALL_TAIL)))
    if alone and question.kinds == {SAMPLED} and question.parts[0].count <= 10**5:
        found.append(Ask("PLD h 1e-5", UPPER_IDEAL, asked(step=FINE), slow=True))
    if of_noise:
        found.insert(
            0, Ask("PLDAccountant h 1e-4", UPPER_IDEAL, lambda: float(accounted(question).get_epsilon(question.at)))
        )
        found.append(
            Ask("closed form", NO, lambda: float(dp_accounting.get_epsilon_gaussian(whole(question), question.at)))
        )
        if question.at <= 1e-12:
            found.append(Ask("PLD of one Gaussian, cut at e^-300", UPPER_IDEAL, lambda: deep(question)))
    if alone and question.kinds <= {RESPONSE, APPROXIMATE}:
        found.append(Ask("optimal composition, formula", UPPER_IDEAL, lambda: optimal(question)))
    if APPROXIMATE not in question.kinds:
        found.append(Ask("Rényi", UPPER_IDEAL, lambda: renyi(question)))
    return found


def _deltas(question: Question) -> list[Ask]:
    """Of a Gaussian composition; all of them take many epsilons at once."""
    points = list(question.points)
    return [
        Ask("PLDAccountant h 1e-4", UPPER_IDEAL, lambda: accounted(question).get_delta(points)),
        Ask("PLD h 1e-4, self_compose", UPPER_IDEAL, lambda: composed(question.parts).get_delta_for_epsilon(points)),
        Ask("closed form", NO, lambda: noise.GaussianPrivacyLoss(whole(question)).get_delta_for_epsilon(points)),
    ]


def _sigmas(question: Question) -> list[Ask]:
    coarse = lambda: PLDAccountant(value_discretization_interval=1e-3)  # noqa: E731
    return [
        Ask("PLD h 1e-3, tol 1e-4", UPPER_IDEAL, lambda: calibrated(question, coarse)),
        Ask("PLD h 1e-4, tol 1e-4", UPPER_IDEAL, lambda: calibrated(question, PLDAccountant)),
        Ask("its subsampled Gaussian search", UPPER_IDEAL, lambda: smallest(question), slow=True),
        Ask("Rényi, tol 1e-4", UPPER_IDEAL, lambda: calibrated(question, RdpAccountant)),
    ]
