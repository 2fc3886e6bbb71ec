"""Budgets about correlated rows that pay for windows, against the best adaptive adversary.

Truth: the largest P(A | one value) - e^epsilon P(A | another) of every row, over every rule that picks the next release
of a menu, or stops, after each answer, among all that the filter still admits; every sequence of rows is listed.
Question: whether it is within delta, at the budget's epsilon. Releases are table plans, paid in windows, and statements
about all rows at once of which only the loss for one row is known.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import attrs
import numpy as np

import quiltwork as qw
from benchmarks.soundness.claims import Check, Kind, at_most
from benchmarks.soundness.rooms.joined import NEAR, laws_of, prior_of
from quiltwork.errors import QuiltworkError, Unreachable
from quiltwork.joined.windows import in_windows, windows_filter

SHAPES = ("rows", "rows", "total", "bare")


def menu_of(rng: np.random.Generator) -> dict[str, Any]:
    """A chain of two states, a target, and releases of which a few fit."""
    length, epsilon = int(rng.integers(2, 5)), round(float(rng.uniform(0.05, 1.0)), 2)
    stay = (rng.integers(34, 63, 2) / 64).tolist()
    menu = []
    for _ in range(int(rng.integers(1, 4))):
        ticks = sorted(rng.choice(length, size=int(rng.integers(1, length + 1)), replace=False).tolist())
        size = round(float(rng.uniform(0.1, 0.7)), 3)
        menu.append({"shape": str(rng.choice(SHAPES)), "ticks": ticks, "size": size})
    return {
        "prior": "chain", "length": length, "states": 2, "start": None,
        "transition": [[stay[0], 1 - stay[0]], [1 - stay[1], stay[1]]], "emission": [[0.5, 0.5]],
        "epsilon": epsilon, "delta": float(f"{10 ** -rng.uniform(0.5, 1.8):.3g}"), "menu": menu,
        "expects": bool(rng.random() < 0.5), "rounds": int(rng.integers(3, 6)),
    }  # fmt: skip


def paid(release: dict[str, Any], length: int) -> Any:
    """What a ledger is told of a release."""
    if release["shape"] == "bare":
        return qw.pure(release["size"])
    t = qw.Table(person=qw.Id(), hour=qw.Int(0, length - 1), state=qw.Cat(0, 1))
    plan = qw.Plan(t, neighbors=qw.add_remove())
    groups = [[tick] for tick in release["ticks"]] if release["shape"] == "rows" else [release["ticks"]]
    for index, ticks in enumerate(groups):
        where = t.hour.isin(ticks) & (t.state == 1)
        holds = qw.on_input(qw.add_remove())
        plan.add(f"q{index}", where=where, count=True, loss=qw.pure(release["size"]), holds=holds)
    return in_windows(t, plan.queries, "person", "hour")


def answers(release: dict[str, Any], words: np.ndarray) -> np.ndarray:
    """P(answer | sequence): randomised responses, for each row, for whether most of them are 1, or for their parity."""
    right, kept = 1 / (1 + math.exp(-release["size"])), words[:, release["ticks"]]
    if release["shape"] == "rows":
        asked = kept
    elif release["shape"] == "total":
        asked = (kept.sum(axis=1, keepdims=True) > kept.shape[1] // 2).astype(int)
    else:
        asked = kept.sum(axis=1, keepdims=True) % 2
    found = np.ones((len(words), 1))
    for said in asked.T:
        law = np.where(said[:, None] == np.arange(2), right, 1 - right)
        found = (found[:, :, None] * law[:, None, :]).reshape(len(words), -1)
    return found


@attrs.define
class Adversary:
    """What the best rules reach, for all rows and pairs of values at once."""

    given: np.ndarray  # of each pair: the law of the sequence given the first value
    other: np.ndarray
    grown: float
    tables: list[np.ndarray]
    fits: Any  # whether so many runs of each are admitted
    rounds: int
    known: dict[tuple[tuple[int, ...], ...], np.ndarray] = attrs.field(factory=dict)

    def reaches(self, seen: tuple[tuple[int, ...], ...], chance: np.ndarray) -> np.ndarray:
        """After so many of each answer, which have this chance given each sequence."""
        if seen in self.known:
            return self.known[seen]
        best = np.maximum(self.given @ chance - self.grown * (self.other @ chance), 0.0)
        runs = tuple(map(sum, seen))
        for k, table in enumerate(self.tables):
            more = (*runs[:k], runs[k] + 1, *runs[k + 1 :])
            if sum(more) > self.rounds or not self.fits(more):
                continue
            total = np.zeros_like(best)
            for j, law in enumerate(table.T):
                here = (*seen[k][:j], seen[k][j] + 1, *seen[k][j + 1 :])
                total += self.reaches((*seen[:k], here, *seen[k + 1 :]), chance * law)
            best = np.maximum(best, total)
        self.known[seen] = best
        return best


def resisted(case: dict[str, Any]) -> Iterator[Check]:
    """No rule passes delta."""
    menu, epsilon, delta, length = case["menu"], case["epsilon"], case["delta"], case["length"]
    prior = prior_of(case)
    try:
        losses = [paid(one, length) for one in menu]
        shape = next((one for one in losses if case["expects"] and not isinstance(one, qw.Loss) and one.rhos[0]), None)
        kept = windows_filter(prior, epsilon, delta, shape)
    except (Unreachable, IndexError):
        return
    except QuiltworkError:
        if epsilon <= 0 or not 0 < delta < 1:
            return
        raise
    costs, known = [kept.cost(loss) for loss in losses], dict[tuple[int, ...], bool]()

    def fits(runs: tuple[int, ...]) -> bool:
        if runs not in known:
            sums = (sum(n * one[b] for n, one in zip(runs, costs, strict=True)) for b in range(length))
            known[runs] = kept.admits(tuple(sums))
        return known[runs]

    words, laws = laws_of(case)
    pairs = [two for row in laws for two in itertools.permutations(row, 2)]
    tables = [answers(one, words) for one in menu]
    given, other = (np.array([pair[side] for pair in pairs]) for side in (0, 1))
    adversary = Adversary(given, other, math.exp(epsilon), tables, fits, case["rounds"])
    start = tuple((0,) * table.shape[1] for table in tables)
    truth = float(adversary.reaches(start, np.ones(len(words))).max())
    yield at_most("windows filter", truth, delta * (1 + NEAR) + NEAR, f"{truth!r} of {delta!r}")


KINDS = [Kind("ledger", "windows of correlated rows", menu_of, resisted)]
