"""One training run, four ways of drawing its batches, and an attack that tells two of them apart.

    python examples/training.py

Prices a run of DP-SGD under Poisson sampling, batches of a fixed size and a shuffling loader; finds the noise
multiplier that a target needs; then simulates a worst-case canary and audits the Poisson price of a shuffled run, which
does not hold.
"""

from __future__ import annotations

import sys

import numpy as np

import quiltwork as qw
from quiltwork import audit
from quiltwork.audit.report import AuditReport
from quiltwork.compose.training import SAMPLING
from quiltwork.losses.family import families

EXAMPLES, BATCH, EPOCHS, NOISE, DELTA = 1000, 10, 1, 1.0, 1e-6
TARGET = 2.0
RUNS = 4000


def ways() -> list[str]:
    """The ways of drawing batches that this version prices."""
    return [name for name in SAMPLING if name != "random_allocation" or name in families()]


def priced() -> dict[str, qw.Bracket]:
    """Epsilon of the run, by how its batches are drawn."""
    return {name: qw.training(EXAMPLES, BATCH, EPOCHS, NOISE, name).epsilon(DELTA) for name in ways()}


def noise_for(target: float) -> dict[str, float]:
    """The least noise multiplier for the target under Poisson sampling, and under a loader that shuffles.

    The safe end of a shuffled epoch is one release without sampling: that is what is calibrated.
    """
    sampled = qw.calibrate(lambda z: qw.training(EXAMPLES, BATCH, EPOCHS, z), epsilon=target, delta=DELTA, rtol=1e-3)
    return {"poisson": sampled, "shuffle": qw.calibrate(lambda z: EPOCHS * qw.gaussian(z), epsilon=target, delta=DELTA)}


def shuffled_scores(runs: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Scores of an attacker on one shuffled epoch: the largest noisy sum, with the canary and with a zero in its place.

    All other gradients point the other way than the canary's. Relative to a full batch of them, the batch with the
    canary is two clipping norms higher, and the batch with the zero only one.
    """
    sums = rng.normal(0.0, NOISE, (2, runs, EXAMPLES // BATCH))
    sums[0, :, 0] += 2.0
    sums[1, :, 0] += 1.0
    inside, outside = sums.max(axis=2)
    return inside, outside


def audited(sampling: str, runs: int = RUNS, seed: int = 3) -> AuditReport:
    """The price of this way of drawing batches, held against an attack on a shuffled run."""
    claim = qw.training(EXAMPLES, BATCH, EPOCHS, NOISE, sampling)
    scores = shuffled_scores(runs, np.random.default_rng(seed))
    return audit.report(claim, *scores, delta=DELTA, method="claim", seed=seed)


def main() -> int:
    """Print prices, noise and the two audits; 0 when the audits say what the theory says."""
    print(f"{EXAMPLES} examples, batches of {BATCH}, {EPOCHS} epoch, noise multiplier {NOISE}, delta {DELTA}")
    for name, epsilon in priced().items():
        print(f"  {name:18} epsilon in [{epsilon.lower:.3f}, {epsilon.upper:.3f}]  neighbours: {SAMPLING[name]}")
    for name, noise in noise_for(TARGET).items():
        print(f"  {name:18} needs noise multiplier {noise:.4f} for epsilon {TARGET}")
    wrong, right = audited("poisson"), audited("shuffle")
    print(f"A shuffled run, accounted as Poisson: {wrong.verdict()}")
    print(f"A shuffled run, accounted as shuffled: {right.verdict()}")
    return 0 if wrong.contradicted and not right.contradicted else 1


if __name__ == "__main__":
    sys.exit(main())
