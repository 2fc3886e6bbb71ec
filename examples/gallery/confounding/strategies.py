"""Theorem 2 (iii) and the strategies of section IV: what an answer of Task-2 says, and what a mechanism can do."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from tests.errata import confounding_worlds as worlds
from tests.errata import printed_confounding as printed

from examples.gallery.item import Check, Effort, Finding, Item, Study, alone
from quiltwork.confounding import World, randomized_response, realised
from quiltwork.errors import Unreachable

FAIR = [0.5, 0.5]


def only_if(effort: Effort) -> Mapping[str, Finding]:
    """Theorem 2 (iii), both directions."""
    prior, tau, odds = [1 / 3] * 3, 1.5, 2.4
    channel = randomized_response(3, math.log(odds))
    epsilon = float(World(data=np.eye(3)).release(channel).epsilon(0).upper)
    promised = printed.epsilon_of(tau, prior)
    shares = np.asarray(channel) / np.asarray(channel).sum(axis=0)
    inside = all(printed.in_pi(column, prior, tau, 0) for column in shares.T)
    large, joint = 100.0, 0.5 * np.array([[0.7, 0.3], [0.3, 0.7]])
    values = [printed.task_2(joint, one) for one in (5 / 3, 2.0, large)]
    truth = worlds.released(worlds.SECRET_ITSELF, worlds.LIES).epsilon(0)
    flat = max(values) - min(values)
    return {
        "confounding-theorem-2-iii": Finding(
            f"Randomized response of three equal secrets with odds {odds:g} has epsilon {epsilon:.4f}, below the "
            f"{promised:.4f} of tau = {tau:g}, and its posterior is outside Pi. A bit with lies of {worlds.LIES[0][1]} "
            f"has epsilon {float(truth.upper):.4f}; tau = {large:g} solves Task-2 as well, a promise of "
            f"{printed.epsilon_of(large, FAIR):.4f}.",
            "Only if fails: privacy does not put the posterior in the set. And the objective does not contain tau: "
            f"once the posterior is inside, every larger tau has the same value (they differ by {flat:.0e}), so that "
            "the solution is not the tightest parameter. Task-2 is an evaluation.",
            [
                Check(
                    "private implies that tau is a solution (certified)",
                    not (epsilon <= promised and not inside),
                    disproves=True,
                ),
                Check(
                    "a solution of Task-2 is the tightest parameter (certified)",
                    flat > 1e-12 or printed.epsilon_of(large, FAIR) <= float(truth.lower),
                    disproves=True,
                ),
            ],
        )
    }


def strategies(effort: Effort) -> Mapping[str, Finding]:
    """Section IV: alpha(z | s) that no mechanism on the data has."""
    data, alpha = np.array([[0.6, 0.4], [0.4, 0.6]]), np.array([[0.9, 0.1], [0.1, 0.9]])
    needed = np.linalg.solve(data, alpha)
    try:
        realised(World(data=data), alpha)
        refused = ""
    except Unreachable as error:
        refused = error.hint
    reach = realised(World(data=data), data @ alpha)
    return {
        "confounding-strategies": Finding(
            f"P(x | s) lies with probability {data[0, 1]:g}, alpha with {alpha[0, 1]:g}: the only solution of alpha = "
            f"A g has the entries {needed[0, 0]:.1f} and {needed[0, 1]:.1f}.",
            "A mechanism reads the data, not the secret, and cannot tell more than they do. The library says so: "
            f"{refused}.",
            [
                Check(
                    "every strategy on the secret is that of a mechanism (exact)", needed.min() >= 0.0, disproves=True
                ),
                Check("realised() refuses this one", bool(refused)),
                Check("realised() finds one where there is one", np.allclose(np.asarray(reach), alpha, atol=1e-6)),
            ],
        )
    }


STUDIES = (
    Study(
        (
            Item(
                "confounding-theorem-2-iii",
                "Theorem 2 (iii)",
                "The composition is eps(tau)-private if and only if tau solves Task-2, which is the tightest "
                "parameter.",
                'Theorem 2 (iii): "if and only if"',
            ),
        ),
        only_if,
    ),
    alone(
        "confounding-strategies",
        "Section IV, strategies",
        "The new mechanism is determined by a strategy alpha from secrets to outputs.",
        strategies,
        "Section IV: strategies that no mechanism has",
    ),
)
