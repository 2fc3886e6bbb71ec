"""Table plans in worlds: the content of one record is drawn given a secret, and random mechanisms see the table.

Truth: the exact law of all outputs given each secret, the rows of everybody fixed but for that record; where a plan
uses some rows of a person only, by any rule that looks at that person's rows. Questions: delta at some epsilons, and
epsilon at delta 0.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

import quiltwork as qw
from benchmarks.soundness.claims import Check, Kind, at_most, covers
from benchmarks.soundness.rooms.joined import EPSILONS, NEAR, channel, loss_of
from quiltwork.confounding import World

MECHANISMS = 8
DAYS, STATES = 3, 3


def drawn(rng: np.random.Generator) -> dict[str, Any]:
    """Laws of a state given a secret, queries that may overlap, and how many rows of a person are used."""
    values, secrets = int(rng.integers(2, STATES + 1)), int(rng.integers(2, 4))
    queries = []
    kinds = ["pure"] if rng.random() < 0.5 else ["pure", "gaussian", "approximate"]
    for _ in range(int(rng.integers(1, 4))):
        days = sorted(rng.choice(DAYS, size=int(rng.integers(1, DAYS + 1)), replace=False).tolist())
        states = sorted(rng.choice(STATES, size=int(rng.integers(1, STATES + 1)), replace=False).tolist())
        kind = str(rng.choice(kinds))
        size = round(float(rng.uniform(0.5, 4.0) if kind == "gaussian" else rng.uniform(0.1, 1.2)), 2)
        queries.append({"ticks": days, "states": states, "kind": kind, "size": size})
    data = (1 + rng.multinomial(64 - values, rng.dirichlet(np.ones(values)), secrets)) / 64
    return {
        "data": data.tolist(), "queries": queries, "used": int(rng.integers(0, 3)),
        "rows": int(rng.integers(1, 4)), "mechanisms": int(rng.integers(2**31)),
    }  # fmt: skip


def plan_of(case: dict[str, Any]) -> Any:
    """Counts of rows on some days and in some states; of each person at most `used` rows, unless that is 0."""
    t = qw.Table(person=qw.Id(), day=qw.Int(0, DAYS - 1), state=qw.Cat(*range(STATES)))
    clip = qw.clip_rows("person", case["used"]) if case["used"] else None
    plan = qw.Plan(t, neighbors=qw.add_remove(), contribution=clip)
    for index, query in enumerate(case["queries"]):
        where = t.day.isin(query["ticks"]) & t.state.isin(query["states"])
        holds = qw.on_input(qw.add_remove())
        plan.add(f"q{index}", where=where, count=True, loss=loss_of(query), holds=holds)
    return plan


def told(rng: np.random.Generator, case: dict[str, Any]) -> np.ndarray:
    """P(outputs | value of the data), for one choice of everything else."""
    values = len(case["data"][0])
    contents = rng.permutation(STATES)[:values]
    days = rng.integers(DAYS, size=case["rows"])
    others = rng.integers(STATES, size=case["rows"])
    rank = rng.permutation(DAYS * STATES)  # the rule by which rows are picked
    elsewhere = rng.integers(0, 3, size=len(case["queries"]))
    rows = []
    for content in contents.tolist():
        mine = [(int(days[0]), content), *zip(days[1:].tolist(), others[1:].tolist(), strict=True)]
        if case["used"]:
            mine = sorted(mine, key=lambda row: rank[row[0] * STATES + row[1]])[: case["used"]]
        rows.append(mine)
    table = np.ones((values, 1))
    for query, more in zip(case["queries"], elsewhere.tolist(), strict=True):
        counts = [more + sum(d in query["ticks"] and s in query["states"] for d, s in mine) for mine in rows]
        law = channel(rng, query, int(max(counts)) + 1)[counts]
        table = (table[:, :, None] * law[:, None, :]).reshape(values, -1)
    return table


def _responses(case: dict[str, Any], data: np.ndarray) -> np.ndarray:
    """delta of randomised responses to all queries, for the worst two states of a record on the worst day."""
    grown, worst = np.exp(EPSILONS)[:, None], np.zeros(len(EPSILONS))
    for day, states in itertools.product(range(DAYS), itertools.permutations(range(STATES), 2)):
        laws = [np.ones(1), np.ones(1)]
        for query in case["queries"]:
            right = 1.0 / (1.0 + math.exp(-query["size"]))
            kept = [day in query["ticks"] and state in query["states"] for state in states]
            laws = [
                np.multiply.outer(law, [right, 1.0 - right] if k else [1.0 - right, right]).ravel()
                for law, k in zip(laws, kept, strict=True)
            ]
        shown = data @ np.array(laws)
        for one, other in itertools.permutations(shown, 2):
            worst = np.maximum(worst, np.maximum(one - grown * other, 0.0).sum(axis=1))
    return worst


def asked(case: dict[str, Any]) -> Iterator[Check]:
    """The promise of the plan against what each mechanism really tells."""
    data = np.array(case["data"])
    if min(data.shape) < 2 or data.min() < 0 or not case["queries"] or case["rows"] < 1:
        return
    promise = plan_of(case).guarantee(world=World(data=data), changes=["state"])
    allowed, pure = np.asarray(promise.delta(np.array(EPSILONS)).upper), float(promise.epsilon(0.0).upper)
    name = "plan in a world" + (", some rows of a person" if case["used"] else "")
    if len(data[0]) == 2 and not case["used"] and all(query["kind"] == "pure" for query in case["queries"]):
        found = np.asarray(promise.delta(np.array(EPSILONS)).lower)
        for epsilon, truth, least in zip(EPSILONS, _responses(case, data).tolist(), found.tolist(), strict=True):
            yield at_most(f"{name}: lower end", least, truth * (1 + NEAR) + 1e-15, f"at {epsilon}")
    rng, grown = np.random.default_rng(case["mechanisms"]), np.exp(EPSILONS)
    for _ in range(MECHANISMS):
        shown = data @ told(rng, case)
        truth, odds = np.zeros(len(EPSILONS)), 1.0
        for one, other in itertools.permutations(shown, 2):
            truth = np.maximum(truth, np.maximum(one - grown[:, None] * other, 0.0).sum(axis=1))
            with np.errstate(divide="ignore", invalid="ignore"):
                odds = max(odds, float(np.max(np.where(one > 0, one / other, 0.0))))
        for epsilon, found, most in zip(EPSILONS, truth.tolist(), allowed.tolist(), strict=True):
            yield covers(f"{name}: delta", max(found * (1 - NEAR) - 1e-12, 0.0), most, f"at {epsilon}")
        if math.isfinite(pure):
            yield covers(f"{name}: epsilon at delta 0", math.log(odds) * (1 - NEAR) - 1e-12, pure)


KINDS = [Kind("joined", "table plans in worlds", drawn, asked)]
