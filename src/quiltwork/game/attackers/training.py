"""Gradient descent for the learned attackers: a sum of small networks, trained until validation stops to improve.

The caller's random state is left alone: torch is seeded from the caller's numpy generator inside a fork of its own
state, and everything runs on one thread, so that one seed gives one attacker.

Reference: theory/game.md sections 0 (item 7) and 3; seed 004 P.3 (Adam, binary cross-entropy).
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.game.torching import torch

__all__ = ["Batch", "descend", "evaluate", "seeded"]

Batch = tuple[Any, Any]
_CHECKS = 25  # looks at the validation releases during training
_PATIENCE = 8  # of them without a better loss end it


@contextmanager
def seeded(rng: np.random.Generator) -> Iterator[Any]:
    """The torch module with a seed drawn from `rng`; its global random state is put back afterwards."""
    module = torch()
    seed = int(rng.integers(2**62))
    with module.random.fork_rng(devices=[]):
        module.random.default_generator.manual_seed(seed)
        yield module


def total(parts: Sequence[Any], inputs: Any) -> Any:
    """The logits of all parts, added."""
    return sum(part(inputs) for part in parts[1:]) + parts[0](inputs)


def descend(
    parts: Any,
    batch: Callable[[int], Batch],
    validation: Batch,
    *,
    steps: int,
    rate: float,
    decay: float = 0.0,
) -> float:
    """Adam on the binary cross-entropy with a cosine schedule; the state with the best validation loss is kept.

    The start counts as a state: what begins as a known attacker cannot end worse than it on the validation releases.
    """
    module = torch()
    loss = module.nn.functional.binary_cross_entropy_with_logits
    optimiser = module.optim.AdamW(parts.parameters(), lr=rate, weight_decay=decay)
    best, since = _loss(parts, validation), 0
    kept = copy.deepcopy(parts.state_dict())
    every = max(1, math.ceil(steps / _CHECKS))
    for step in range(steps):
        for group in optimiser.param_groups:
            group["lr"] = rate * 0.5 * (1.0 + math.cos(math.pi * step / steps))
        inputs, targets = batch(step)
        parts.train()
        optimiser.zero_grad()
        loss(total(parts, inputs), targets).backward()
        optimiser.step()
        if (step + 1) % every == 0 or step + 1 == steps:
            now = _loss(parts, validation)
            since += 1
            if now < best:
                best, since, kept = now, 0, copy.deepcopy(parts.state_dict())
            if since >= _PATIENCE:
                break
    parts.load_state_dict(kept)
    parts.eval()
    return best


def _loss(parts: Any, pair: Batch) -> float:
    module = torch()
    parts.eval()
    with module.no_grad():
        loss = module.nn.functional.binary_cross_entropy_with_logits(total(parts, pair[0]), pair[1])
    value = float(loss)
    return value if math.isfinite(value) else math.inf


def evaluate(parts: Any, inputs: FloatArray) -> FloatArray:
    """Logits in double precision of inputs in double precision."""
    module = torch()
    with module.no_grad():
        logits = total(parts, module.from_numpy(np.ascontiguousarray(inputs, dtype=np.float32)))
    return np.asarray(logits.numpy(), dtype=float)
