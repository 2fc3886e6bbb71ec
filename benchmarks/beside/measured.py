"""Every peer on one question: time over ours, error, claim, failure."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

import quiltwork as qw
from benchmarks import verdicts
from benchmarks.beside import ours
from benchmarks.beside.asks import PEERS, Ask, Peer
from benchmarks.beside.questions import BETAS, DELTAS, EPSILON, SIGMA, Question
from benchmarks.report import milliseconds
from benchmarks.timing import Timing, interleaved
from benchmarks.verdicts import BOTH, BY_ROUNDING, NO, OUR_ROUNDING, ROUNDED, SLIGHT, UPPER

SAME = 1e-8  # two brackets of ours whose ends are nearer than this are one answer


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
    n: str = ""
    kind: str = EPSILON
    widest: float = math.inf

    @property
    def answered(self) -> bool:
        return not math.isnan(self.error)

    @property
    def sound(self) -> bool:
        """A finite answer that is not on the wrong side of the truth."""
        return self.answered and math.isfinite(self.error) and not self.fails

    @property
    def slight(self) -> bool:
        """On the wrong side, but by rounding only."""
        return self.answered and verdicts.slight(self.fails)

    @property
    def wide(self) -> bool:
        """Of ours: sound, but farther from the truth than it promised."""
        return self.sound and max(abs(self.error), 0.0 if math.isnan(self.width) else self.width) > self.widest

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
            self.n,
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
    if question.kind == EPSILON:
        calls[ours.SHARPER] = functools.partial(ours.answer, question, ours.SHARP)
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
    if ours.SHARPER in found and not same(mine.value, found[ours.SHARPER].value):
        sharper = own(question, found[ours.SHARPER])
        ratio = sharper.seconds / mine.seconds
        yield dataclasses.replace(sharper, ratio=ratio, method=f"{ours.SHARPER} {sharper.method}", widest=math.inf)
    for peer, ask in ways:
        yield judged(question, peer.name, ask, found[f"{peer.name} {ask.method}"], mine.seconds)
    yield from left


def same(one: Any, two: Any) -> bool:
    """Whether a second bracket adds nothing to the first."""
    if not (isinstance(one, qw.Bracket) and isinstance(two, qw.Bracket)):
        return False
    pairs = ((one.lower, two.lower), (one.upper, two.upper))
    return all(math.isclose(float(a), float(b), rel_tol=SAME) for a, b in pairs)


def own(question: Question, timing: Timing) -> Row:
    """Our own line; a bracket that misses the truth, or says nothing, is said so."""
    row = Row(question.key, question.name, ours.NAME, "", timing.seconds, 1.0, n=timing.n, kind=question.kind,
              widest=question.widest)  # fmt: skip
    if timing.refusal:
        return dataclasses.replace(row, fails=timing.refusal, claim=NO)
    value = timing.value
    if not isinstance(value, qw.Bracket):
        error = float(value) / question.truth - 1
        fails = verdicts.beside(-math.inf, float(value), question.truth, OUR_ROUNDING, "unsafe")
        return dataclasses.replace(row, error=math.inf if math.isnan(error) else error, claim=UPPER, fails=fails)
    low, high, truth = (np.asarray(x, dtype=float) for x in (value.lower, value.upper, question.truth))
    slack = OUR_ROUNDING * np.abs(truth)
    missed = int(np.sum(~((low <= truth + slack) & (high >= truth - slack))))
    scale = truth if question.kind == EPSILON else 1.0
    reported = low if question.kind == BETAS else high
    sign = -1.0 if question.kind == BETAS else 1.0
    finite = bool(np.all(np.isfinite(low) & np.isfinite(high)))
    return dataclasses.replace(
        row,
        method=f"({value.method})" if isinstance(value.method, str) else "",
        error=worst(sign * (reported - truth) / scale) if finite else math.inf,
        width=float(np.max((high - low) / scale)) if finite else math.inf,
        claim=BOTH,
        fails="inf" if not finite else f"misses the truth {missed} times" if missed else "",
    )


def worst(errors: Any) -> float:
    """The error of the largest size, with its sign; positive is safe."""
    errors = np.atleast_1d(errors)
    return float(errors[np.argmax(np.abs(errors))])


def judged(question: Question, peer: str, ask: Ask, timing: Timing, seconds: float) -> Row:
    """A peer's answer beside the truth."""
    row = Row(question.key, question.name, peer, ask.method, timing.seconds, timing.seconds / seconds,
              claim=ask.claim, n=timing.n, kind=question.kind)  # fmt: skip
    if timing.refusal:
        stopped = timing.refusal.startswith("more than")
        words = timing.refusal if stopped else f"refuses: {timing.refusal}"
        return dataclasses.replace(row, fails=words, ratio=math.nan if stopped else row.ratio)
    if question.kind in (DELTAS, BETAS):
        return _curve(question, row, timing.value)
    low, high = verdicts.ends(timing.value)
    truth = question.truth
    fails = verdicts.beside(low, high, truth, below="below truth" if question.kind != SIGMA else "too little noise")
    error = math.inf if math.isnan(high) else high / truth - 1
    width = math.nan if low == -math.inf else (high - low) / truth
    return dataclasses.replace(row, error=error, width=width, fails=fails)


def _curve(question: Question, row: Row, value: Any) -> Row:
    safe = (1.0 if question.kind == DELTAS else -1.0) * (np.asarray(value, dtype=float) - question.truth)
    if not np.all(np.isfinite(safe)):
        return dataclasses.replace(row, error=math.inf, fails="not finite")
    under, least = int(np.sum(safe < -ROUNDED)), float(-safe.min())
    words = f"unsafe: by {least:.1e} at {under} points" if least >= SLIGHT else f"unsafe{BY_ROUNDING}"
    return dataclasses.replace(row, error=worst(safe), fails=words if under else "")


def grouped(rows: Iterable[Row]) -> list[Row]:
    """The question is named on its first line only."""
    found, last = [], ""
    for row in rows:
        found.append(dataclasses.replace(row, question="" if row.question == last else f"{row.key}: {row.question}"))
        last = row.question
    return found
