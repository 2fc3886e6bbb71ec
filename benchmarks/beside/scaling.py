"""How time and width grow: with releases, with 1/delta, with different losses, states, outputs and queries."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from benchmarks.beside import ours, worlds
from benchmarks.beside.asks import Peer
from benchmarks.beside.measured import Pace
from benchmarks.beside.questions import LAPLACE, RESPONSE, SAMPLED, Part, Question, dpsgd
from benchmarks.timing import interleaved

Call = Callable[[], Any]
CHOSEN = {  # the ways of asking that are followed; the others behave like one of them
    "dp_accounting": ("PLD h 1e-4", "Rényi"),
    "prv_accountant": ("eps_error 0.1",),
    "autodp": ("Rényi",),
    "Opacus": ("PRV",),
    "OpenDP": ("zCDP",),
}
DISTINCT = 500


@dataclasses.dataclass(frozen=True)
class Series:
    """A question of growing size; `calls` gives every method at one size, ours under its own name."""

    name: str
    axis: str
    sizes: Sequence[float]
    calls: Callable[[float], dict[str, Call]]
    show: Callable[[float], str] = "{:,.0f}".format


@dataclasses.dataclass(frozen=True)
class Point:
    """One method at one size; `width` of our bracket is relative."""

    series: str
    method: str
    size: float
    seconds: float
    width: float = math.nan
    fails: str = ""


def grown(series: Series, pace: Pace) -> Iterator[Point]:
    """Sizes in order; a method that was stopped, or refused for memory, is not asked at larger ones."""
    gone: dict[str, str] = {}
    for size in series.sizes:
        calls = {name: call for name, call in series.calls(size).items() if name not in gone}
        for name, timing in interleaved(calls, pace.repeats, pace.patience, pace.limit).items():
            if timing.refusal.startswith("more than"):
                gone[name] = timing.refusal
            infinite = isinstance(timing.value, float) and math.isinf(timing.value)
            fails = timing.refusal or ("inf" if infinite else "")
            yield Point(series.name, name, size, timing.seconds, _width(timing.value), fails)


def _width(value: Any) -> float:
    """Relative width of a bracket, of an interval, or the gap of a design."""
    if hasattr(value, "gap"):
        return float(value.gap)
    if hasattr(value, "lower"):
        low, high = float(value.lower), float(value.upper)
    elif isinstance(value, tuple):
        low, high = value
    else:
        return math.nan
    return (high - low) / high if high else math.nan


def exponent(points: Sequence[Point], last: int = 0, least: int = 3) -> float:
    """Slope of log time over log size by least squares, over the `last` answers or all; nan below `least` of them."""
    kept = [(math.log(p.size), math.log(p.seconds)) for p in points if not p.fails][-last:]
    if len(kept) < least:
        return math.nan
    x, y = np.array(kept).T
    return float(np.polyfit(x, y, 1)[0])


# ---- questions that peers answer too


def _everybody(question: Question, peers: dict[Peer, tuple[Any, str]]) -> dict[str, Call]:
    calls: dict[str, Call] = {ours.NAME: functools.partial(ours.answer, question)}
    for peer, (module, _) in peers.items():
        for ask in module.asks(question) if module else ():
            if ask.method in CHOSEN.get(peer.name, ()):
                calls[f"{peer.name} {ask.method}"] = ask.call
    return calls


def _question(parts: Sequence[Part], delta: float) -> Question:
    return Question("", "", tuple(parts), delta)


def _fast(pace: Pace, sizes: Sequence[float], fewer: Sequence[float]) -> Sequence[float]:
    return sizes if pace.slow else fewer


def compared(peers: dict[Peer, tuple[Any, str]], pace: Pace) -> list[Series]:
    """Those with peers."""
    counts = _fast(pace, [10.0**j for j in range(1, 7)], [10.0, 1e3, 1e5])
    deltas = _fast(pace, [5.0, 8.0, 12.0, 20.0, 50.0, 100.0], [5.0, 20.0, 100.0])
    losses = _fast(pace, [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, float(DISTINCT)], [1.0, 10.0, 100.0])

    def steps(count: float) -> dict[str, Call]:
        return _everybody(dpsgd("", 0.8, 0.01, int(count), 1e-5), peers)

    def responses(count: float) -> dict[str, Call]:
        return _everybody(_question([Part(RESPONSE, 0.01, int(count))], 1e-6), peers)

    def noises(count: float) -> dict[str, Call]:
        return _everybody(_question([Part(LAPLACE, 100.0, int(count))], 1e-6), peers)

    def small(digits: float) -> dict[str, Call]:
        return _everybody(dpsgd("", 0.8, 0.01, 10_000, 10.0**-digits), peers)

    def different(count: float) -> dict[str, Call]:
        parts = [Part(SAMPLED, 1 + 0.01 * j, 50, 0.005) for j in range(int(count))]
        return _everybody(_question(parts, 1e-6), peers)

    return [
        Series("steps of DP-SGD (sigma 0.8, rate 0.01, delta 1e-5)", "steps", counts, steps),
        Series("randomized responses (0.01, delta 1e-6)", "releases", counts, responses),
        *([Series("Laplace releases (scale 100, delta 1e-6)", "releases", counts, noises)] if pace.slow else []),
        Series(
            "small deltas (DP-SGD, sigma 0.8, rate 0.01, T 10,000)", "digits of delta", deltas, small, "1e-{:g}".format
        ),
        Series("different subsampled Gaussians, 50 of each, delta 1e-6", "losses", losses, different),
    ]


def alone(pace: Pace) -> list[Series]:
    """Those that no peer answers."""
    mine = lambda make: lambda size: {ours.NAME: make(int(size))}  # noqa: E731
    states = _fast(pace, [2.0, 5.0, 10.0, 20.0, 50.0], [2.0, 10.0, 30.0])
    lengths = _fast(pace, [10.0, 30.0, 100.0, 1e3, 1e4, 1e5], [10.0, 100.0, 1e4])
    outputs = _fast(pace, [10.0**j for j in range(1, 7)], [10.0, 1e3, 1e5])
    designs = _fast(pace, [16.0, 64.0, 256.0, 1024.0, 4096.0], [16.0, 64.0, 256.0])
    queries = _fast(pace, [10.0, 30.0, 100.0, 300.0, 1e3], [10.0, 100.0, 300.0])
    splits = _fast(pace, [10.0, 100.0, 1e3, 1e4], [10.0, 100.0, 1e3])
    return [
        Series("states of a random chain: one entry translated", "states", states, mine(worlds.states)),
        Series("states of a random chain: 1,000 Gaussian counts", "states", states, mine(worlds.counts_on_chain)),
        Series("length of a binary chain", "length", lengths, mine(worlds.length)),
        Series("outputs of a release about a hidden secret, |Y|", "outputs", outputs, mine(worlds.outputs)),
        Series("earlier outputs of a design, |Y|", "outputs", designs, mine(worlds.designed)),
        Series("overlapping queries on a table", "queries", queries, mine(worlds.queries)),
        Series("partitions of a table", "partitions", splits, mine(worlds.partitions)),
    ]
