"""Every peer on one question: time over ours, error, claim, failure."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

import quiltwork as qw
from benchmarks.beside import ours
from benchmarks.beside.asks import BOTH, NO, PEERS, UPPER, Ask, Peer
from benchmarks.beside.questions import BETAS, DELTAS, EPSILON, SIGMA, Question
from benchmarks.report import milliseconds
from benchmarks.timing import Timing, interleaved

ROUNDED = 1e-13  # a peer that is below the truth by less (relative; of curves, absolute) is right up to rounding
OUR_ROUNDING = 1e-15  # of the truth itself, as a double; our brackets get no more than that


@dataclasses.dataclass(frozen=True)
class Pace:
    """How patient a run is."""

    repeats: int
    patience: float  # seconds that all repeats of one call may take
    limit: float  # seconds that one call may take
    slow: bool  # whether slow methods are asked at all


FULL, QUICK = Pace(5, 3.0, 30.0, True), Pace(1, 0.3, 3.0, False)


@dataclasses.dataclass(frozen=True)
class Row:
    """One method on one question. error: of the reported value, relative; of a curve the worst, absolute."""

    key: str
    question: str
    peer: str
    method: str
    seconds: float = math.nan
    ratio: float = math.nan
    error: float = math.nan
    width: float = math.nan
    claim: str = ""
    fails: str = ""
    repeats: int = 0
    kind: str = EPSILON

    @property
    def answered(self) -> bool:
        return not math.isnan(self.error)

    @property
    def sound(self) -> bool:
        """A finite answer that is not on the wrong side of the truth."""
        return self.answered and math.isfinite(self.error) and not self.fails

    @property
    def cells(self) -> list[str]:
        method = f"{self.peer} {self.method}".strip()
        return [
            self.question,
            method,
            milliseconds(1e3 * self.seconds),
            "" if math.isnan(self.ratio) else f"{self.ratio:.3g}",
            shown_error(self.error),
            "" if math.isnan(self.width) else f"{self.width:.1e}",
            self.claim,
            self.fails,
            str(self.repeats or ""),
        ]


HEAD = ["question", "method", "ms", "x ours", "error", "width", "claims", "fails", "n"]
RIGHT = {2, 3, 4, 5, 8}


def shown_error(error: float) -> str:
    return "" if math.isnan(error) else "inf" if math.isinf(error) else f"{error:+.1e}"


def loaded() -> dict[Peer, tuple[Any, str]]:
    """Every peer: the module that asks it, or why there is none."""
    return {peer: peer.load() for peer in PEERS}


def asked(question: Question, peers: dict[Peer, tuple[Any, str]], pace: Pace) -> Iterator[Row]:
    """Ours first, then everybody who has a way; one that is not here gets one line."""
    calls: dict[str, Callable[[], Any]] = {"": functools.partial(ours.answer, question)}
    ways: list[tuple[Peer, Ask]] = []
    left: list[Row] = []
    for peer, (module, why) in peers.items():
        if module is None:
            left.append(Row(question.key, question.name, peer.name, "", claim=NO, fails=why))
            continue
        for ask in module.asks(question):
            if ask.slow and not pace.slow:
                left.append(Row(question.key, question.name, peer.name, ask.method, fails="left out of the quick run"))
            else:
                ways.append((peer, ask))
                calls[f"{peer.name} {ask.method}"] = ask.call
    found = interleaved(calls, pace.repeats, pace.patience, pace.limit)
    mine = found[""]
    yield own(question, mine)
    for peer, ask in ways:
        yield judged(question, peer.name, ask, found[f"{peer.name} {ask.method}"], mine.seconds)
    yield from left


def own(question: Question, timing: Timing) -> Row:
    """Our own line; a bracket that misses the truth is said so."""
    row = Row(
        question.key, question.name, ours.NAME, "", timing.seconds, 1.0, repeats=timing.repeats, kind=question.kind
    )
    if timing.refusal:
        return dataclasses.replace(row, fails=timing.refusal, claim=NO)
    value = timing.value
    if not isinstance(value, qw.Bracket):
        error = value / question.truth - 1
        return dataclasses.replace(row, error=error, claim=UPPER, fails="unsafe" if error < -OUR_ROUNDING else "")
    low, high, truth = (np.asarray(x, dtype=float) for x in (value.lower, value.upper, question.truth))
    slack = OUR_ROUNDING * np.abs(truth)
    missed = int(np.sum((low > truth + slack) | (high < truth - slack)))
    scale = truth if question.kind == EPSILON else 1.0
    reported = low if question.kind == BETAS else high
    sign = -1.0 if question.kind == BETAS else 1.0
    return dataclasses.replace(
        row,
        method=f"({value.method})" if isinstance(value.method, str) else "",
        error=worst(sign * (reported - truth) / scale),
        width=float(np.max((high - low) / scale)),
        claim=BOTH,
        fails=f"misses the truth {missed} times" if missed else "",
    )


def worst(errors: Any) -> float:
    """The error of the largest size, with its sign; positive is safe."""
    errors = np.atleast_1d(errors)
    return float(errors[np.argmax(np.abs(errors))])


def judged(question: Question, peer: str, ask: Ask, timing: Timing, seconds: float) -> Row:
    """A peer's answer beside the truth."""
    row = Row(question.key, question.name, peer, ask.method, timing.seconds, timing.seconds / seconds,
              claim=ask.claim, repeats=timing.repeats, kind=question.kind)  # fmt: skip
    if timing.refusal:
        stopped = timing.refusal.startswith("more than")
        words = timing.refusal if stopped else f"refuses: {timing.refusal}"
        return dataclasses.replace(row, fails=words, ratio=math.nan if stopped else row.ratio)
    if question.kind in (DELTAS, BETAS):
        return _curve(question, row, timing.value)
    low, high = timing.value if isinstance(timing.value, tuple) else (-math.inf, timing.value)
    truth = question.truth
    error = high / truth - 1
    width = math.nan if low == -math.inf else (high - low) / truth
    fails = ""
    if math.isnan(high):
        fails, error = "nan", math.inf
    elif math.isinf(high):
        fails = "inf"
    elif error < -ROUNDED:
        fails = "below truth" if question.kind != SIGMA else "too little noise"
    elif low > truth * (1 + ROUNDED):
        fails = "truth below the interval"
    return dataclasses.replace(row, error=error, width=width, fails=fails)


def _curve(question: Question, row: Row, value: Any) -> Row:
    safe = (1.0 if question.kind == DELTAS else -1.0) * (np.asarray(value, dtype=float) - question.truth)
    if not np.all(np.isfinite(safe)):
        return dataclasses.replace(row, error=math.inf, fails="not finite")
    under = int(np.sum(safe < -ROUNDED))
    fails = f"unsafe by {-safe.min():.1e} at {under} points" if under else ""
    return dataclasses.replace(row, error=worst(safe), fails=fails)


def grouped(rows: Iterable[Row]) -> list[Row]:
    """The question is named on its first line only."""
    found, last = [], ""
    for row in rows:
        found.append(dataclasses.replace(row, question="" if row.question == last else f"{row.key}: {row.question}"))
        last = row.question
    return found
