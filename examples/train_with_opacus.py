"""Train a small torch model with Opacus: noise for a target, certificate, audit with canaries, spend from a ledger.

    python examples/train_with_opacus.py [FOLDER]

A bag-of-words classifier is trained with DP-SGD.  Each canary is a document with one word that nobody else uses; a fair
coin decides whether it takes part.  Scores of all canaries go to FOLDER/canaries.csv, which `quiltwork audit --one-run`
reads, and the run is spent from FOLDER/budgets.db.  Then the same model is trained with a tenth of the noise, as if a
digit had been mistyped, and the audit contradicts the certificate.  Takes a few seconds of one core.
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import torch
from opacus import PrivacyEngine
from torch.utils.data import DataLoader, TensorDataset

import quiltwork as qw
from quiltwork import audit
from quiltwork.adapters.opacus import Accountant, Canaries, from_opacus
from quiltwork.audit import AuditReport

COMMON, RARE = 50, 1000  # words that documents are made of; words that only canaries have, one each
EXAMPLES, BATCH, EPOCHS, CLIPPING_NORM = 1250, 500, 10, 1.0
EPSILON, DELTA = 2.0, 1e-5
GUESSES = 100  # fixed before the run
BATCHES = 4  # of an epoch: enough for 1,250 documents and any number of canaries that coins are likely to include


def documents(rng: np.random.Generator) -> TensorDataset:
    """Counts of words, centred, and the subject of the document, which common words tell."""
    weights = rng.normal(size=COMMON)
    words = np.zeros((EXAMPLES, COMMON + RARE))
    words[:, :COMMON] = rng.normal(size=(EXAMPLES, COMMON))
    return tensors(words, words[:, :COMMON] @ weights > 0)


def rare_documents(rng: np.random.Generator) -> TensorDataset:
    """Canaries: a word of its own in each, and a subject that is chosen at random."""
    words = np.zeros((RARE, COMMON + RARE))
    words[:, COMMON:] = 4.0 * np.eye(RARE)
    return tensors(words, rng.random(RARE) < 0.5)


def tensors(inputs: np.ndarray, targets: np.ndarray) -> TensorDataset:
    """A dataset of torch."""
    return TensorDataset(torch.tensor(inputs, dtype=torch.float32), torch.tensor(targets, dtype=torch.long))


def planned(noise_multiplier: float) -> qw.Loss:
    """The run before it starts; Opacus samples at the rate one over the number of batches."""
    return EPOCHS * BATCHES * qw.poisson(qw.gaussian(noise_multiplier), 1 / BATCHES)


def noise_for(epsilon: float) -> float:
    """The least noise multiplier for the target."""
    return qw.calibrate(planned, epsilon=epsilon, delta=DELTA, rtol=1e-4)


def spend(loss: qw.Loss, url: str) -> qw.Bracket:
    """Take the run from a budget before it starts; returns what is spent then.

    An adaptive budget must hold whatever is asked next, and its filter asks more for sampled noise than the run leaks:
    it refuses one that needs the whole epsilon.  A planned budget names the run beforehand and takes it at its tight
    price.
    """
    ledger = qw.Ledger(url)
    ledger.open(
        "classifier",
        epsilon=EPSILON,
        delta=DELTA,
        kind="planned",
        plan=[("first model", loss)],
        protects="one document, added or removed",
    )
    ledger.spend("classifier", release="first model", note="trained with Opacus")
    return ledger.balance("classifier").spent


@attrs.frozen(eq=False)
class Run:
    """A trained model, what its accountant wrote down, and what an attacker who saw all steps says of the canaries."""

    loss: qw.Loss
    epsilon: float  # as the accountant in Opacus says it
    accuracy: float
    canaries: Canaries


def train(noise_multiplier: float, seed: int) -> Run:
    """One run of DP-SGD with Opacus, on one thread.

    The generator of torch is seeded to repeat the example; for data about people use `secure_mode=True`.
    """
    warnings.filterwarnings("ignore", "Secure RNG turned off|Full backward hook")  # an example, not people
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    data, canaries = documents(rng), Canaries(rare_documents(rng), seed=seed)
    loader = DataLoader(canaries.insert(data), batch_size=BATCH)
    if len(loader) != BATCHES:
        raise SystemExit(f"the coins made {len(loader)} batches: take another seed")
    model: Any = torch.nn.Linear(COMMON + RARE, 2)
    optimizer: Any = torch.optim.SGD(model.parameters(), lr=0.5)
    criterion = torch.nn.CrossEntropyLoss()
    engine = PrivacyEngine(accountant=Accountant.mechanism())
    model, optimizer, loader = engine.make_private(
        module=model,
        optimizer=optimizer,
        data_loader=loader,
        noise_multiplier=noise_multiplier,
        max_grad_norm=CLIPPING_NORM,
    )
    canaries.watch(model, optimizer, criterion)
    for _ in range(EPOCHS):
        for inputs, targets in loader:
            optimizer.zero_grad()
            criterion(model(inputs), targets).backward()
            optimizer.step()
    with torch.no_grad():
        right = model(data.tensors[0]).argmax(1) == data.tensors[1]
    return Run(from_opacus(engine), engine.get_epsilon(DELTA), float(right.float().mean()), canaries)


def held_against(certificate: qw.Loss, canaries: Canaries) -> AuditReport:
    """What the canaries show, beside what was certified."""
    shown = audit.one_run(canaries.scores, canaries.included, delta=DELTA, guesses=GUESSES)
    return AuditReport.of(certificate, shown, title="Audit of a training run")


def main(arguments: list[str]) -> int:
    """Print everything; 0 when the audit of the right run does not contradict, and that of the wrong one does."""
    folder = Path(arguments[0]) if arguments else Path(tempfile.mkdtemp())
    noise = noise_for(EPSILON)
    print(f"noise multiplier {noise:.3f} for epsilon {EPSILON} at delta {DELTA}")
    spent = spend(planned(noise), f"sqlite:///{folder / 'budgets.db'}")
    print(f"spent from the budget of {EPSILON}: epsilon {spent.safe:.3f}")
    run = train(noise, seed=1)
    certified = run.loss.epsilon(DELTA)
    print(f"{run.loss}: epsilon in [{certified.lower:.3f}, {certified.upper:.3f}]; accuracy {run.accuracy:.2f}")
    run.canaries.write(folder / "canaries.csv")
    right = held_against(run.loss, run.canaries)
    print(f"audit: epsilon is at least {right.audit.epsilon_lower:.2f}. {right.verdict()}")
    mistyped = train(noise / 10, seed=1)
    wrong = held_against(run.loss, mistyped.canaries)
    print(f"a tenth of the noise: epsilon is at least {wrong.audit.epsilon_lower:.2f}. {wrong.verdict()}")
    return 0 if wrong.contradicted and not right.contradicted else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
