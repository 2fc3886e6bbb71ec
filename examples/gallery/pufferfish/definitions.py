"""Table 6: definitions that Pufferfish generalises, each asked here as the instance that it is."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import quiltwork as qw
from examples.gallery.item import Check, Effort, Finding, Study, alone
from quiltwork import pufferfish as pf
from quiltwork.document.blocks import Grid

EPSILON, NEAR = 0.5, 1e-6
LINE = [("low", "middle"), ("middle", "high")]
WITHOUT = (
    "noiseless privacy",
    "partial knowledge",
    "Bayesian",
    "distribution",
)  # finite worlds, see docs/pufferfish.md


def network(seed: int) -> pf.Network:
    """Five binary entries, each with up to two parents."""
    rng = np.random.default_rng(seed)
    parents = [tuple(rng.choice(i, min(i, 2), replace=False).tolist()) for i in range(5)]
    return pf.Network.bayesian(parents, [rng.dirichlet([1.0, 1.0], size=(2,) * len(above)) for above in parents])


def instances(effort: Effort) -> Mapping[str, Finding]:
    """Differential, Blowfish, dependent and inferential privacy as secrets and priors."""
    plain = pf.guarantee(qw.pure(EPSILON), pf.Independent()).epsilon(0.0).upper
    prior = pf.JointLaw(np.full((3, 3), 1 / 9), values=["low", "middle", "high"])
    policy = prior.translations(pf.entry_values(pairs=LINE))[0].epsilons(EPSILON)
    rows, held = [], []
    for seed in range(int(effort.pick(6, 3))):
        found = network(effort.seed + seed)
        bound = found.translations()[0]
        worst = found.joint().worst_case(EPSILON)
        upper, least = float(bound.epsilons(EPSILON).max()), float(np.max(worst.lower))
        held.append(bool(np.all(bound.epsilons(EPSILON) >= np.asarray(worst.lower) - NEAR)))
        rows.append([str(found), f"{least:.4f}", f"{upper:.4f}", f"{5 * EPSILON:g}"])
    street = pf.Network({(i, j): [[0.6, 0.4], [0.4, 0.6]] for i in range(40) for j in (i + 1, i + 2) if j < 40})
    theorem = street.translations()[0]
    told, attained = float(theorem.epsilons(EPSILON).max()), theorem.leaked(EPSILON)
    columns = ["prior", ("worst mechanism", "number"), ("bound", "number"), ("group of all", "number")]
    return {
        "pufferfish-table-6": Finding(
            f"At {EPSILON:g} for each entry: independent entries leak {plain:.6g}; a policy of which two neighbouring "
            f"values must not be told apart asks {len(policy)} ordered pairs and each leaks at most "
            f"{float(policy.max()):.6g}; 40 entries on a street of neighbours leak {attained:.5f} to {told:.5f}.",
            "Differential privacy, Blowfish policies without constraints, dependent privacy and inferential privacy "
            "are secrets and priors of the library; four others are finite worlds of the confounding room "
            f"({', '.join(WITHOUT)}). Blowfish constraints on whole tables are refused: neighbours change several "
            "records at once, and the sensitivity is NP-hard in general. The reasons are in docs/pufferfish.md.",
            [
                Check("independent entries: differential privacy", abs(plain - EPSILON) < NEAR, ours=f"{plain:.9g}"),
                Check(
                    "a Blowfish policy without constraints leaks what one entry costs",
                    len(policy) == 2 * 2 * len(LINE) and float(policy.max()) <= EPSILON * (1 + NEAR),
                    ours=f"{float(policy.max()):.9g}",
                ),
                Check("Bayesian networks: the bound holds for the worst mechanism of a linear program", all(held)),
                Check(
                    "a network that likes to agree is answered from both sides",
                    0 <= told - attained < NEAR,
                    ours=f"{attained:.9g} to {told:.9g}",
                ),
            ],
            [Grid(columns, rows, "Five entries with up to two parents each.")],
        )
    }


STUDIES: tuple[Study, ...] = (
    alone(
        "pufferfish-table-6",
        "Table 6",
        "Pufferfish generalises ten definitions, among them differential, Blowfish, dependent and inferential privacy.",
        instances,
        seconds=(4.0, 2.0),
    ),
)
