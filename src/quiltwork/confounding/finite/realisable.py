"""Can a mechanism that only sees the data show a given law of outputs for each secret?

alpha(z | s) = sum_x P(x | s) g(z | x) must have a solution g, which is a linear program.  Where it has one, the law of
the new output alone is alpha; together with earlier outputs it is that of g, not of alpha with noise of its own, so
evaluate the release again.

Reference: theory/confounding.md section 3(b) (an alpha that no g realises) and section 4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.errors import Unreachable, Unsupported
from quiltwork.numbers.laws import laws

if TYPE_CHECKING:
    from quiltwork.confounding.world import World

__all__ = ["realised"]

MAX_DISTANCE = 1e-9


def realised(world: World, alpha: Any) -> FloatArray:
    """A channel on the data whose effective mechanism is alpha, to 1e-9; refused with the least distance if none is.

    >>> from quiltwork.confounding.world import World
    >>> world = World(data=[[0.6, 0.4], [0.4, 0.6]])
    >>> np.round(realised(world, [[0.55, 0.45], [0.45, 0.55]]), 6) + 0.0
    array([[0.75, 0.25],
           [0.25, 0.75]])
    """
    if world.priors > 1:
        raise Unsupported("alpha under several priors", "it is one law for each secret", "choose one prior")
    wanted = laws("alpha", alpha, world.count, row_word="secret").values
    channel, distance = _nearest(world.data, wanted)
    if distance > MAX_DISTANCE:
        raise Unreachable(
            "these laws of outputs",
            "all mechanisms that see the data only",
            f"the nearest one is {distance:.3g} away in total; let it read the secret, or design on the data",
        )
    return channel


def _nearest(data: FloatArray, wanted: FloatArray) -> tuple[FloatArray, float]:
    """The channel with the least sum of |A g - alpha|, by linear programming."""
    from scipy.optimize import linprog
    from scipy.sparse import coo_array, hstack, identity, kron, vstack

    secrets, inputs = data.shape
    outputs = wanted.shape[1]
    effect = kron(coo_array(data), identity(outputs))
    size = secrets * outputs
    normal = kron(identity(inputs), coo_array(np.ones((1, outputs))))
    zero = coo_array((inputs, 2 * size))
    blocks: Any = vstack([hstack([effect, identity(size), -identity(size)]), hstack([normal, zero])])
    rows = blocks.tocsr()
    cost = np.concatenate([np.zeros(inputs * outputs), np.ones(2 * size)])
    target = np.concatenate([wanted.ravel(), np.ones(inputs)])
    found: Any = linprog(cost, A_eq=rows, b_eq=target, bounds=(0.0, None), method="highs")
    if found.status != 0:
        raise Unsupported("this law of outputs", f"the solver stopped: {found.message}")
    channel = np.clip(found.x[: inputs * outputs].reshape(inputs, outputs), 0.0, None)
    channel = channel / channel.sum(axis=1, keepdims=True)
    return channel, float(np.abs(data @ channel - wanted).sum())
