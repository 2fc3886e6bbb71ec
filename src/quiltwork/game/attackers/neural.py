"""Networks that read the whole release and name all candidates at once: the paper's attacker, and better started ones.

    paper    logits = C relu(BN(B A z)),                    z the outputs, each standardised (BatchNorm without affine)
    linear   logits = L z,                                  L started at ridge regression
    hybrid   logits = L z + C relu(BN(B A z)), C = 0 first: contains the ridge attacker and begins as it

A network has weights for each candidate: it learns these rows and does not carry over to other people.

Learned attackers are sums of small networks, trained until validation stops to improve.  The caller's random state is
left alone: torch is seeded from the caller's numpy generator inside a fork of its own state, and everything runs on one
thread, so that one seed gives one attacker, and because small steps on two threads wait for each other.

Reference: seed 004 section 4 and P.3 (Adam, binary cross-entropy); theory/game.md sections 0 (item 7: 684 ms against
12 ms a step on a busy machine), 3 (timings, memorisation) and 4 (hybrid).
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import attrs
import numpy as np

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.errors import InvalidParameter, imported
from quiltwork.game.attackers.knowledge import Budget, Fitted, Knowledge, Scoring
from quiltwork.game.attackers.linear import Decoder, outputs_of
from quiltwork.game.people.population import Members
from quiltwork.game.releases import Release
from quiltwork.kinds import document


def torch() -> Any:
    """The torch module, set to one thread."""
    module = imported("torch", "torch", "game", "pip install torch==2.13.0")
    if module.get_num_threads() != 1:
        module.set_num_threads(1)
    return module


Batch = tuple[Any, Any]
_VALIDATION_CHECKS = 25  # looks at the validation releases during training
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
    parts: Any, batch: Callable[[int], Batch], validation: Batch, *, steps: int, rate: float, decay: float = 0.0
) -> float:
    """Adam on the binary cross-entropy with a cosine schedule; the state with the best validation loss is kept.

    The start counts as a state: what begins as a known attacker cannot end worse than it on the validation releases.
    """
    module = torch()
    loss = module.nn.functional.binary_cross_entropy_with_logits
    optimiser = module.optim.AdamW(parts.parameters(), lr=rate, weight_decay=decay)
    best, since = _loss(parts, validation), 0
    kept = copy.deepcopy(parts.state_dict())
    every = max(1, math.ceil(steps / _VALIDATION_CHECKS))
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


_MAX_RIDGE_ENTRIES = 40_000_000  # entries of the outputs that ridge starts from: more of them only where each is small
_BLOCK_ENTRIES = 2_000_000  # entries of outputs that are drawn together
_WIDEST = 512
_RATE, _LINEAR_RATE = 1e-3, 3e-4
_DECAY = 1e-4
_SCORED_RELEASES = 4096  # releases that are scored at once


def _sizes(value: Any) -> tuple[int, int] | None:
    """Two layer sizes, or None for those that go with the problem."""
    if value is None:
        return None
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise InvalidParameter("hidden", value, "two layer sizes, for example (512, 256)")
    return checks.count("hidden", value[0], 1), checks.count("hidden", value[1], 1)


@document("neural/1")
@attrs.frozen
class Neural:
    """The paper's network; or `linear`, a logistic regression; or `hybrid`, the sum of both, started at ridge (T1).

    `hidden`: two layer sizes, by default 512 and 256, less for releases of fewer than 257 numbers.
    """

    hybrid: bool = attrs.field(default=False, validator=checks.field(checks.flag))
    linear: bool = attrs.field(default=False, validator=checks.field(checks.flag))
    hidden: tuple[int, int] | None = attrs.field(default=None, converter=_sizes)
    knows: Knowledge = Knowledge.T1

    def __attrs_post_init__(self) -> None:
        if self.hybrid and self.linear:
            raise InvalidParameter("hybrid and linear", (True, True), "not both", "hybrid contains the linear one")

    @property
    def name(self) -> str:
        """Which network it is."""
        return "ridge + network" if self.hybrid else "logistic" if self.linear else "network"

    def fit(self, release: Release, rng: np.random.Generator, budget: Budget) -> Fitted:
        """Train on `steps` batches of fresh simulated releases, and stop early on validation releases."""
        with seeded(rng) as torch:
            check = release.draw(max(64, budget.calibrate), rng)
            decoder = None
            if self.hybrid or self.linear:
                most = max(
                    budget.train,
                    min(10 * budget.train, budget.steps * budget.batch, _MAX_RIDGE_ENTRIES // release.dimension),
                )
                decoder = Decoder.learned(release, rng, most)
            first = outputs_of(release.draw(max(2, budget.train), rng).outputs, release.dimension)
            centre, deviation = first.mean(axis=0), first.std(axis=0)
            spread = np.where(deviation > 1e-9, deviation, 1.0)
            parts = self._parts(torch, release, decoder, centre, spread)
            stream = _batches(release, rng, budget.batch)

            def ready(outputs: FloatArray, members: Members) -> Batch:
                values = (outputs_of(outputs, release.dimension) - centre) / spread
                return torch.from_numpy(values.astype(np.float32)), torch.from_numpy(members.astype(np.float32))

            def batch(step: int) -> Batch:
                return ready(*next(stream))

            rate = _LINEAR_RATE if self.linear else _RATE
            validation = ready(check.outputs, check.members)
            descend(parts, batch, validation, steps=budget.steps, rate=rate, decay=_DECAY)

        def scores(outputs: FloatArray) -> FloatArray:
            values = (outputs_of(outputs, release.dimension) - centre) / spread
            starts = range(0, len(values), _SCORED_RELEASES)
            found = [evaluate(parts, values[start : start + _SCORED_RELEASES]) for start in starts]
            return np.concatenate([np.empty((0, release.population.size[0])), *found])

        return Scoring(scores)

    def _parts(
        self, torch: Any, release: Release, decoder: Decoder | None, centre: FloatArray, spread: FloatArray
    ) -> Any:
        nn, numbers, people = torch.nn, release.dimension, release.population.size[0]
        parts = []
        if decoder is not None:
            straight = nn.Linear(numbers, people)
            offset = decoder.offset + (centre - decoder.centre) @ decoder.weights
            with torch.no_grad():
                straight.weight.copy_(torch.from_numpy((decoder.weights * spread[:, None]).T.astype(np.float32)))
                straight.bias.copy_(torch.from_numpy(offset.astype(np.float32)))
            parts.append(straight)
        if not self.linear:
            first = min(_WIDEST, max(32, 2 ** math.ceil(math.log2(max(2, numbers)))))
            wide, narrow = self.hidden if self.hidden is not None else (first, first // 2)
            last = nn.Linear(narrow, people)
            if self.hybrid:
                nn.init.zeros_(last.weight)
                nn.init.zeros_(last.bias)
            parts.append(
                nn.Sequential(
                    nn.Linear(numbers, wide), nn.Linear(wide, narrow), nn.BatchNorm1d(narrow), nn.ReLU(), last
                )
            )
        return nn.ModuleList(parts)


def _batches(release: Release, rng: np.random.Generator, size: int) -> Iterator[tuple[FloatArray, Members]]:
    """Fresh releases without end, drawn many batches at a time because that is cheaper."""
    together = max(1, min(32, _BLOCK_ENTRIES // (size * release.dimension)))
    while True:
        draws = release.draw(size * together, rng)
        for start in range(0, len(draws), size):
            yield draws.outputs[start : start + size], draws.members[start : start + size]
