"""A soundness campaign: kinds of random cases take turns until the time is over, and every claim is counted."""

from __future__ import annotations

import argparse
import collections
import dataclasses
import json
import math
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from tests.soundness.confounding_checks import Check

from benchmarks.report import plain

ROOT = Path(__file__).resolve().parents[1]
Draw = Callable[[np.random.Generator], Any]
Ask = Callable[[Any, np.random.Generator], Iterator[Check]]
Kinds = dict[str, tuple[Draw, Ask]]


@dataclasses.dataclass
class Tally:
    """What was checked for one kind of case, or one claim."""

    cases: int = 0
    checks: int = 0
    wrong: int = 0
    margin: float = math.inf
    seconds: float = 0.0

    def add(self, check: Check) -> None:
        self.checks += 1
        self.wrong += not check.holds
        if not math.isnan(check.margin):
            self.margin = min(self.margin, check.margin)


@dataclasses.dataclass
class Campaign:
    """Kinds take turns by the time they have used; the smallest counterexample is kept."""

    seed: int
    kinds: Kinds
    order: list[str]  # of all kinds, so that a kind alone draws the cases it draws among others
    by_kind: dict[str, Tally] = dataclasses.field(default_factory=lambda: collections.defaultdict(Tally))
    by_claim: dict[str, Tally] = dataclasses.field(default_factory=lambda: collections.defaultdict(Tally))
    failure: dict[str, Any] | None = None

    def run(self, seconds: float) -> None:
        """Until the time is over, and every kind at least once."""
        end = time.monotonic() + seconds
        while True:
            kind = min(self.kinds, key=lambda name: self.by_kind[name].seconds)
            if time.monotonic() >= end and self.by_kind[kind].cases:
                return
            self.turn(kind)

    def turn(self, kind: str) -> None:
        """One random case."""
        tally, (draw, ask) = self.by_kind[kind], self.kinds[kind]
        begin = time.monotonic()
        tally.cases += 1
        rng = np.random.default_rng([self.seed, self.order.index(kind), tally.cases])
        case, claim = None, "drawing a case"
        try:
            case, claim = draw(rng), "an answer"
            for check in ask(case, rng):
                tally.add(check)
                self.by_claim[check.claim].add(check)
                if not check.holds:
                    words = {"claim": check.claim, "margin": check.margin, "note": check.note}
                    self._wrong(kind, tally.cases, case, words)
        except Exception as error:  # a crash is a counterexample to the promise of an answer
            tally.wrong += 1
            self._wrong(kind, tally.cases, case, {"claim": claim, "error": f"{type(error).__name__}: {error}"})
        tally.seconds += time.monotonic() - begin

    def _wrong(self, kind: str, turn: int, case: Any, words: dict[str, Any]) -> None:
        size = math.inf if case is None else case.size
        if self.failure is None or size < self.failure["size"]:
            shown = {} if case is None else case.to_json()
            self.failure = {"kind": kind, "seed": self.seed, "turn": turn, "size": size, **words, **shown}


def _row(name: str, tally: Tally, first: bool) -> list[str]:
    margin = "" if math.isinf(tally.margin) else f"{tally.margin:.1e}"
    counted = [f"{tally.cases:,}"] if first else []
    return [name, *counted, f"{tally.checks:,}", str(tally.wrong), margin]


def campaign(kinds: Kinds, name: str, description: str | None) -> int:
    """Run it from the command line; a counterexample is kept in build/NAME.json, and the exit code is then 1."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--kind", choices=list(kinds))
    options = parser.parse_args()
    chosen = kinds if options.kind is None else {options.kind: kinds[options.kind]}
    run = Campaign(options.seed, chosen, list(kinds))
    run.run(60.0 * options.minutes)
    head = ["kind", "cases", "checks", "wrong", "least margin"]
    print(plain([head, *(_row(*item, True) for item in run.by_kind.items())], right={1, 2, 3, 4}))
    head = ["claim", "checks", "wrong", "least margin"]
    print("\n" + plain([head, *(_row(*item, False) for item in sorted(run.by_claim.items()))], right={1, 2, 3}))
    counted, cases = (sum(getattr(t, field) for t in run.by_kind.values()) for field in ("checks", "cases"))
    print(f"\n{counted:,} checks of {cases:,} cases, seed {options.seed}")
    if run.failure is None:
        return 0
    path = ROOT / "build" / f"{name}.json"
    path.parent.mkdir(exist_ok=True)
    text = json.dumps(run.failure, indent=1, default=str)
    path.write_text(text + "\n", encoding="utf-8")
    print(f"counterexample, also in {path.relative_to(ROOT)}:\n{text}")
    return 1
