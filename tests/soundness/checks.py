"""Ask the library, compare with the truth: every check is one bracket against one many-digit value."""

import contextlib
import math
import random
import signal
import time
from dataclasses import dataclass
from functools import partial

import numpy as np
from tests.soundness.cases import FAMILIES
from tests.truth.numbers import Refused, mp

import quiltwork as qw

TOLERANCES = (*[None] * 6, 1e-6, 1e-8)
PATIENCE = 10
"""Seconds of a processor after which a question counts as not answered."""


@dataclass(frozen=True)
class Check:
    """One question, the bracket that came back, and where the truth lies in it."""

    family: str
    releases: int
    question: str
    lower: float
    upper: float
    holds: bool
    width: float
    margin: float
    method: str
    met: bool
    seconds: float
    note: str = ""


@dataclass(frozen=True)
class Failure:
    """The library raised instead of answering."""

    family: str
    releases: int
    question: str
    note: str


@dataclass(frozen=True)
class Skip:
    """The truth itself was refused."""

    family: str
    note: str


@dataclass(frozen=True)
class Late:
    """The library took too long; no verdict."""

    family: str
    note: str


class Worst:
    """The truth over several directions: the largest delta, the least beta."""

    def __init__(self, truths):
        self.truths = truths

    def delta(self, epsilon):
        if math.isinf(epsilon):
            return max(getattr(t, "reveal", mp.zero) for t in self.truths)
        return min(mp.one, max(t.delta(epsilon) for t in self.truths))  # sums of many masses may round above one

    def beta(self, alpha):
        return min(t.beta(alpha) for t in self.truths)


class Kept:
    """The truth of one direction, whose values are remembered."""

    def __init__(self, truth, name, remember):
        self.truth, self.name, self.remember = truth, name, remember
        self.reveal = getattr(truth, "reveal", mp.zero)

    def delta(self, epsilon):
        return self.remember(f"{self.name} delta {epsilon!r}", lambda: self.truth.delta(epsilon))

    def beta(self, alpha):
        return self.remember(f"{self.name} beta {alpha!r}", lambda: self.truth.beta(alpha))


def examine(family, seed, tolerances=TOLERANCES, remember=None):
    """All checks of one random case; the seed (any hashable text) fixes it; truths may be remembered."""
    rng = random.Random(f"{family}:{seed}")
    case = FAMILIES[family](rng)
    if remember is not None:
        case.truths = {d: Kept(truth, f"{family} {seed} {d}", remember) for d, truth in case.truths.items()}
    for direction in [None, *(d for d in case.truths if d != "both")]:
        truth = Worst(list(case.truths.values()) if direction is None else [case.truths[direction]])
        code = f"({case.code})" + (f".direction({direction!r})" if direction else "")
        try:
            loss = eval(code, {"qw": qw})
        except Exception as error:
            yield Failure(family, case.releases, code, f"{type(error).__name__}: {error}")
            continue
        asker = _Asker(family, case.releases, code, loss, rng, tolerances)
        depth = rng.uniform(0.7, min(case.smallest, rng.choice([6, 6, 20, 100])))
        deltas = [10 ** -(depth * rng.uniform(0.85, 1.15)) for _ in range(8)]
        epsilons = [0.0]
        for delta, answer in asker.ask("epsilon", deltas):
            yield asker.judge(answer, partial(_epsilon, truth, delta))
            if isinstance(answer, tuple) and math.isfinite(answer[1]):
                epsilons.append(answer[1] * rng.uniform(0.85, 1.1))
        for epsilon, answer in asker.ask("delta", epsilons[-6:]):
            yield asker.judge(answer, partial(_value, truth.delta, epsilon))
        if case.beta:
            alphas = [rng.uniform(0.01, 0.99), 10 ** -rng.uniform(0.3, rng.choice([3, 12]))]
            for alpha, answer in asker.ask("beta", alphas):
                yield asker.judge(answer, partial(_value, truth.beta, alpha, protects="lower"))


class _Asker:
    """Asks one loss, as a vector or one by one, and turns answers into checks."""

    def __init__(self, family, releases, code, loss, rng, tolerances):
        self.family, self.releases, self.code, self.loss, self.rng = family, releases, code, loss, rng
        self.tolerances, self.question, self.seconds = tolerances, "", 0.0

    def ask(self, kind, values):
        """(value, (lower, upper, method, met)) for every value, or (value, exception)."""
        rtol = None if kind == "beta" else self.rng.choice(self.tolerances)
        options = {} if rtol is None else {"rtol": rtol}
        groups = [values] if self.rng.random() < 0.5 else [[v] for v in values]
        for group in groups:
            argument = np.array(group) if len(group) > 1 else group[0]
            begin = time.perf_counter()
            try:
                with patience(PATIENCE):
                    bracket = getattr(self.loss, kind)(argument, **options)
                answers = _rows(bracket, len(group))
            except Exception as error:
                answers = [error] * len(group)
            self.seconds = (time.perf_counter() - begin) / len(group)
            if isinstance(answers[0], TimeoutError):  # its neighbours would be as slow
                self.question = f"{self.code}.{kind}({argument!r}, {options})"
                yield group[0], answers[0]
                return
            for value, answer in zip(group, answers, strict=True):
                shown = f"{group!r}, asked together" if len(group) > 1 else ""
                self.question = (
                    f"{self.code}.{kind}({value!r}{''.join(f', {k}={v!r}' for k, v in options.items())})  # {shown}"
                )
                yield value, answer

    def judge(self, answer, compare):
        """The check of one answer; ``compare`` gives (holds, width, margin, note)."""
        if isinstance(answer, TimeoutError):
            return Late(self.family, f"{self.question}: {answer}")
        if isinstance(answer, Exception):
            return Failure(self.family, self.releases, self.question, f"{type(answer).__name__}: {answer}")
        lower, upper, method, met = answer
        seconds, question = self.seconds, self.question
        try:
            if not lower <= upper:
                holds, width, margin, note = False, math.nan, math.nan, "the bracket is not ordered"
            else:
                holds, width, margin, note = compare(answer)
        except Refused as refusal:
            return Skip(self.family, f"{question}: {refusal}")
        return Check(
            self.family, self.releases, question, lower, upper, holds, width, margin, method, met, seconds, note
        )


@contextlib.contextmanager
def patience(seconds):
    """Raise TimeoutError in the main thread when the body takes too long."""

    def ring(*_):
        raise TimeoutError(f"no answer within {seconds} s of a processor")

    before = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _rows(bracket, count):
    columns = (
        np.broadcast_to(np.asarray(x), (count,)) for x in (bracket.lower, bracket.upper, bracket.method, bracket.met)
    )
    return [(float(a), float(b), str(m), bool(met)) for a, b, m, met in zip(*columns, strict=True)]


def _epsilon(truth, delta, answer):
    """epsilon(delta) lies in [lower, upper] iff delta(lower) >= delta (or lower = 0) and delta(upper) <= delta."""
    lower, upper, *_ = answer
    target = mp.mpf(delta)
    at_lower = None if lower <= 0 else truth.delta(lower)
    at_upper = mp.zero if math.isinf(upper) else truth.delta(upper)
    low_holds, high_holds = at_lower is None or at_lower >= target, at_upper <= target
    if math.isinf(lower):
        return low_holds, 0.0, math.nan, "infinite"
    width = (upper - lower) / upper if upper > 0 else 0.0
    top = at_lower if at_lower is not None else truth.delta(0.0)
    margin = float((target - at_upper) / (top - at_upper)) if top > at_upper else math.nan
    ends = [mp.nstr((at if at is not None else target) / target - 1, 5) for at in (at_lower, at_upper)]
    note = "" if low_holds and high_holds else f"true delta / asked - 1: {ends[0]} at lower, {ends[1]} at upper"
    return low_holds and high_holds, width, math.nan if lower <= 0 else margin, note


def _value(function, argument, answer, protects="upper"):
    """A plain value in its bracket; the width is relative to the value, the margin is that of the end that protects."""
    value = function(argument)
    lower, upper, *_ = answer
    holds = lower <= value <= upper
    room = upper - value if protects == "upper" else value - lower
    width = float((mp.mpf(upper) - lower) / value) if value > 0 else upper - lower
    margin = float(room / (mp.mpf(upper) - lower)) if upper > lower else math.nan
    return holds, width, margin, "" if holds else f"truth {mp.nstr(value, 20)}"
