"""The design problem as one linear program with a hinge for every pair, old output and new output."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

from quiltwork.confounding.design.program import Problem


def full_program(problem: Problem) -> tuple[float, np.ndarray]:
    """The optimal cost and an optimal channel; hinges count in units of delta, if there is any."""
    inputs, outputs, old = problem.inputs, problem.outputs, problem.joint.shape[2]
    pairs, priors = len(problem.pairs), len(problem.weights)
    unit = problem.delta if problem.delta > 0 else 1.0
    channel, hinges = inputs * outputs, pairs * old * outputs * (problem.delta > 0)
    seen = sp.vstack([sp.kron(sp.csr_matrix(problem.signed(p) / unit), sp.identity(outputs)) for p in range(pairs)])
    top = sp.csr_matrix((seen.shape[0], 1))
    if hinges:
        share = sp.kron(sp.identity(pairs), np.ones((1, old * outputs)))
        rows = [
            sp.hstack([seen, -sp.identity(hinges), top]),
            sp.hstack([sp.csr_matrix((pairs, channel)), share, sp.csr_matrix((pairs, 1))]),
        ]
    else:
        rows = [sp.hstack([seen, top])]
    flat = problem.weights.reshape(priors, channel)
    rows.append(sp.hstack([sp.csr_matrix(flat), sp.csr_matrix((priors, hinges)), -np.ones((priors, 1))]))
    sums = sp.hstack([sp.kron(sp.identity(inputs), np.ones((1, outputs))), sp.csr_matrix((inputs, hinges + 1))])
    limits = np.concatenate([np.zeros(seen.shape[0]), np.ones(pairs * (hinges > 0)), np.zeros(priors)])
    if priors == 1:
        # without several priors the epigraph only slows the solver down
        costs = np.concatenate([flat[0], np.zeros(hinges + 1)])
        rows, limits = rows[:-1], limits[:-1]
    else:
        costs = np.concatenate([np.zeros(channel + hinges), [1.0]])
    result = linprog(
        costs,
        A_ub=sp.vstack(rows).tocsr(),
        b_ub=limits,
        A_eq=sums.tocsr(),
        b_eq=np.ones(inputs),
        bounds=[(0, None)] * (channel + hinges) + [(None, None) if priors > 1 else (0, 0)],
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if result.status != 0:
        raise ArithmeticError(result.message)
    return float(result.fun), result.x[:channel].reshape(inputs, outputs)
