"""A year of releases about correlated records, out of one budget about the secrets.

    python examples/ledger_secrets.py

Every person's day is a sequence of 24 hours, home or out, correlated as a Markov chain says. Nobody shall be able to
tell where anybody was at any one hour, with epsilon 3 at delta 1e-6 for the whole year. The limit is translated once,
into one for an hour that changes alone; releases are paid in that, and which release comes next depends on the answer
before. All numbers are made up.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

import quiltwork as qw
from quiltwork import pufferfish as pf
from quiltwork.numbers.digits import at_most

EPSILON, DELTA, STAY, HOURS = 3.0, 1e-6, 0.9, 24
FINE, COARSE = 50.0, 100.0  # noise on counts of hours
BUSY = 1000.0


def main() -> None:
    """Tell the story."""
    with tempfile.TemporaryDirectory() as folder, qw.Ledger(f"sqlite:///{Path(folder)}/secrets.db") as ledger:
        tell(ledger)


def tell(ledger: qw.Ledger) -> None:
    """Open, spend until it is refused, and check."""
    chain = pf.MarkovChain([[STAY, 1 - STAY], [1 - STAY, STAY]], length=HOURS)
    budget = ledger.open("whereabouts", epsilon=EPSILON, delta=DELTA, prior=chain, filter="zcdp")
    print(budget.explain(), end="\n\n")

    released = pf.laplace(12, chain, 1.0, sensitivity=1)
    print(f"A release of epsilon 1 about the secrets has the loss {released.loss}.")
    ledger.open("people", epsilon=EPSILON, delta=DELTA, protects="one person")
    for what in ("guarantee", "loss"):
        try:
            ledger.spend("people", getattr(released, what))
        except qw.QuiltworkError as refused:
            print(f"Refused from a budget about persons, its {what}: {refused}")

    rng, noise, losses = np.random.default_rng(2026), COARSE, []
    for week in range(1, 53):
        loss = qw.gaussian(noise)
        try:
            ledger.spend("whereabouts", loss, note=f"hours out, week {week}")
        except qw.errors.BudgetExceeded as refused:
            print(f"Week {week}: {refused}")
            break
        losses.append(loss)
        answer = BUSY + rng.normal(scale=noise)  # in earnest: mechanisms.gaussian(total, noise)
        noise = FINE if answer > BUSY else COARSE  # a busy week is looked at more closely: adaptive
    print(f"\n{len(losses)} weekly releases were granted. {ledger.balance('whereabouts').explain()}")

    told = pf.guarantee(qw.compose(*losses), chain)
    print(
        f"If results had not chosen them, all of them would tell epsilon {at_most(float(told.epsilon(DELTA).upper))} "
        f"of {EPSILON:g} about the secrets."
    )
    print(ledger.verify().explain())


if __name__ == "__main__":
    main()
