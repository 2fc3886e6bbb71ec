"""One turn: a random case of one kind, all its checks, and what they amount to."""

from __future__ import annotations

import collections
import contextlib
import json
import math
import random
import signal
import time
import zlib
from collections.abc import Iterator
from typing import Any

import attrs
import numpy as np

from benchmarks.soundness.claims import EQUAL, Check, Kind, Skip, protecting
from benchmarks.soundness.minimise import minimised, size_of

PATIENCE = 20.0  # seconds of one case
KEPT = 40  # widths that one slice hands on, drawn at random
SMALLER, TRIES = 15.0, 2000  # seconds for making a counterexample smaller, at the most, and how often it is tried
AGAIN = 3.0  # seconds for drawing the cases of a lost slice again


@attrs.define
class Tally:
    """What was checked: of a kind, a room or a claim."""

    cases: int = 0
    checks: int = 0
    wrong: int = 0
    errors: int = 0
    late: int = 0
    skipped: int = 0
    margin: float = math.inf
    widest: float = 0.0
    seconds: float = 0.0
    widths: list[float] = attrs.field(factory=list)

    def add(self, check: Any) -> None:
        """Count one check."""
        self.checks += 1
        self.wrong += not check.holds
        if check.holds and EQUAL < check.margin < self.margin and protecting(check.claim):
            self.margin = check.margin
        width = getattr(check, "width", math.nan)
        if math.isfinite(width):
            self.widths.append(width)
            self.widest = max(self.widest, width)

    def merge(self, other: Tally) -> None:
        """Count what another one counted."""
        for name in ("cases", "checks", "wrong", "errors", "late", "skipped", "seconds"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.margin, self.widest = min(self.margin, other.margin), max(self.widest, other.widest)
        self.widths += other.widths


@attrs.define
class Slice:
    """What a worker hands back: a tally, claims, counterexamples."""

    title: str
    tally: Tally
    claims: dict[str, list[int]]
    failures: list[dict[str, Any]]


def draws(kind: Kind, seed: int, block: int, turn: int) -> np.random.Generator:
    """The random numbers of one case; the same ones when it is drawn again."""
    return np.random.default_rng([seed, zlib.crc32(kind.title.encode()), block, turn])


@contextlib.contextmanager
def alarm(seconds: float) -> Iterator[None]:
    """TimeoutError after this much of the process's own time; a question may have an alarm of another kind inside."""

    def ring(*_: Any) -> None:
        raise TimeoutError(f"no end within {seconds:g} s")

    before = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def asked(kind: Kind, case: Any, rng: np.random.Generator) -> Iterator[Any]:
    """All checks of a case."""
    return kind.ask(case) if kind.plain else kind.ask(case, rng)


def run(kind: Kind, seed: int, block: int, seconds: float, turns: int | None = None) -> Slice:
    """Cases of one kind until the time is over: at least one, at most `turns`."""
    found, begin = Slice(kind.title, Tally(), {}, []), time.monotonic()
    turn = 0
    while turn == 0 or (time.monotonic() - begin < seconds and (turns is None or turn < turns)):
        _turn(found, kind, {"room": kind.room, "kind": kind.name, "seed": seed, "block": block, "turn": turn})
        turn += 1
    tally = found.tally
    tally.seconds = time.monotonic() - begin
    tally.widths = random.Random(block).sample(tally.widths, min(KEPT, len(tally.widths)))
    return found


def _turn(found: Slice, kind: Kind, origin: dict[str, Any]) -> None:
    tally, case, wrong = found.tally, None, None
    tally.cases += 1
    rng = draws(kind, origin["seed"], origin["block"], origin["turn"])
    try:
        with alarm(PATIENCE):
            case = kind.draw(rng)
            for check in asked(kind, case, rng):
                if isinstance(check, Skip):
                    tally.skipped += 1
                    continue
                tally.add(check)
                count = found.claims.setdefault(check.claim, [0, 0])
                count[0], count[1] = count[0] + 1, count[1] + (not check.holds)
                if not check.holds and wrong is None:
                    wrong = {"claim": check.claim, "note": check.note}
    except TimeoutError:
        tally.late += 1
    except Exception as error:  # a crash is a counterexample to the promise of an answer
        tally.errors += 1
        wrong = wrong or {"claim": "an answer", "error": type(error).__name__, "note": str(error)}
    if wrong is not None and len(found.failures) < 3:
        found.failures.append(_failure(kind, case, {**origin, **wrong}))


def _failure(kind: Kind, case: Any, words: dict[str, Any]) -> dict[str, Any]:
    """A counterexample in plain values, as small as it gets."""
    if not kind.plain:
        shown = case.to_json() if hasattr(case, "to_json") else repr(case)
        size = float(getattr(case, "size", len(str(shown))))
        return {**words, "size": size, "shown": json.loads(json.dumps(shown, default=str))}
    begin = size_of(case)
    if case is not None:
        with contextlib.suppress(TimeoutError), alarm(2 * SMALLER):
            case = minimised(case, lambda smaller: same(kind, smaller, words), TRIES)
    note = same(kind, case, words) if case is not None else None
    return {**words, "note": note or words["note"], "case": case, "size": size_of(case), "size before": begin}


def same(kind: Kind, case: Any, words: dict[str, Any]) -> str | None:
    """The note of the same failure of another case; None when it does not fail in the same way.

    All of it is asked: a case that fails first and cannot be asked to its end is no simpler one, but a broken one.
    """
    try:
        for check in list(kind.ask(case)):
            if not isinstance(check, Skip) and not check.holds and check.claim == words["claim"]:
                return str(check.note) or "fails"
    except TimeoutError:
        raise
    except Exception as error:
        if type(error).__name__ == words.get("error") and str(error)[:30] == words["note"][:30]:
            return str(error)
    return None


def again(kinds: dict[str, Kind], failure: dict[str, Any]) -> list[Check]:
    """The checks of a saved counterexample that still fail; an exception is raised again.

    A slice that was lost with its process has no case: its cases are drawn again, and may end this process too.
    """
    kind = kinds[f"{failure['room']}: {failure['kind']}"]
    if failure.get("lost"):
        found = run(kind, failure["seed"], failure["block"], AGAIN).failures
        return [Check(one["claim"], False, note=one["note"]) for one in found]
    rng = draws(kind, failure["seed"], failure["block"], failure["turn"])
    case = failure.get("case")
    answers = asked(kind, kind.draw(rng) if case is None else case, rng)
    return [check for check in answers if not isinstance(check, Skip) and not check.holds]


def counted(slices: list[Slice]) -> dict[str, list[int]]:
    """Checks and violations of every claim."""
    found: dict[str, list[int]] = collections.defaultdict(lambda: [0, 0])
    for one in slices:
        for claim, (checks, wrong) in one.claims.items():
            found[claim][0] += checks
            found[claim][1] += wrong
    return dict(found)
