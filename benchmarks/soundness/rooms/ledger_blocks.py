"""Budgets with a delta, and budgets in blocks.

Truth: epsilons and deltas of the worst blocks with what reads everything, summed apart in fractions. Question: granted
or refused.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

import quiltwork as qw
from benchmarks.soundness.claims import Check, Kind, decided
from benchmarks.soundness.rooms.ledger import FOLDER, exact, number
from quiltwork.errors import BudgetExceeded
from quiltwork.ledger import Blocks, Ledger


def opened(rng: np.random.Generator) -> dict[str, Any]:
    """A budget of epsilon and delta, in blocks or not, and spends."""
    blocks = int(rng.choice([0, 0, 2, 4]))
    acts = []
    for _ in range(int(rng.integers(4, 12))):
        chosen = (
            sorted(set(rng.integers(0, max(blocks, 1), int(rng.integers(1, 3))).tolist()))
            if blocks and rng.random() < 0.8
            else []
        )
        delta = float(rng.choice([0.0, float(f"{10.0 ** rng.uniform(-8, -6):.2g}")]))
        acts.append(
            {
                "epsilon": round(number(rng, -2, -0.3), 3) or 0.001,
                "delta": delta,
                "times": int(rng.choice([1, 1, 2, 3])),
                "blocks": chosen,
            }
        )
    return {
        "epsilon": round(float(rng.uniform(0.5, 2)), 2),
        "delta": 1e-6,
        "blocks": blocks,
        "most": int(rng.choice([1, 1, 2])),
        "acts": acts,
    }


def kept(case: dict[str, Any]) -> Iterator[Check]:
    """What the worst `most` blocks cost with what reads everything: epsilon and delta apart, in fractions."""
    folder = tempfile.mkdtemp(prefix="quiltwork-", dir=os.environ.get(FOLDER))
    try:
        with Ledger(f"sqlite:///{folder}/budgets.db") as ledger:
            yield from _spends(case, ledger)
    finally:
        shutil.rmtree(folder)


def _spends(case: dict[str, Any], ledger: Any) -> Iterator[Check]:
    names = [f"b{i}" for i in range(case["blocks"])]
    options = {"blocks": Blocks("block", names, case["most"])} if names else {}
    ledger.open("budget", protects="one record", epsilon=case["epsilon"], delta=case["delta"], filter="pure", **options)
    limit = [exact(case["epsilon"]), exact(case["delta"])]
    everywhere, each = [Fraction(0)] * 2, {name: [Fraction(0)] * 2 for name in names}
    for turn, act in enumerate(case["acts"]):
        if act["epsilon"] <= 0 or act["times"] < 1 or any(b >= len(names) for b in act["blocks"]):
            continue
        cost = [act["times"] * exact(act["epsilon"]), act["times"] * exact(act["delta"])]
        chosen = [names[b] for b in act["blocks"]]
        after = {
            name: [a + (c if name in chosen else 0) for a, c in zip(one, cost, strict=True)]
            for name, one in each.items()
        }
        base = everywhere if chosen else [a + c for a, c in zip(everywhere, cost, strict=True)]
        total = [
            base[j] + sum(sorted((one[j] for one in after.values()), reverse=True)[: case["most"]]) for j in range(2)
        ]
        fits = all(one <= most for one, most in zip(total, limit, strict=True))
        loss = qw.approximate(act["epsilon"], act["delta"]) if act["delta"] else qw.pure(act["epsilon"])
        try:
            ledger.spend("budget", act["times"] * loss, **({"blocks": chosen} if chosen else {}))
            granted = True
        except BudgetExceeded:
            granted = False
        note = f"act {turn}: {act}"
        yield decided("epsilon and delta", fits, granted, note)
        if granted:
            everywhere, each = base, after


KINDS = [Kind("ledger", "delta and blocks", opened, kept)]
