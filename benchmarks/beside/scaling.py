"""How time, width and error grow: with releases, with 1/delta, with different losses, states, outputs and queries."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from benchmarks import verdicts
from benchmarks.beside import ours, worlds
from benchmarks.beside.asks import Ask, Peer
from benchmarks.beside.measured import Pace
from benchmarks.beside.parts import LAPLACE, RESPONSE, Part, distinct, table
from benchmarks.beside.questions import STORED, Question, dpsgd
from benchmarks.timing import interleaved, peak_megabytes, quiet
from benchmarks.verdicts import BOTH, OUR_ROUNDING, ROUNDED, UPPER_IDEAL

CHOSEN = {  # the ways of asking that are followed; the others behave like one of them
    "dp_accounting": ("PLD h 1e-4", "Rényi"),
    "prv_accountant": ("eps_error 0.1",),
    "autodp": ("Rényi",),
    "Opacus": ("RDP", "PRV"),
    "riskcal": ("CTD h 1e-4",),
    "OpenDP": ("zCDP", "added up"),
}
DISTINCT = 500
OUTPUTS = 10  # of the table that is released again and again
TRACED = 0.5  # seconds that a call may take for its memory to be traced
Asks = dict[str, Ask]


@dataclasses.dataclass(frozen=True)
class Series:
    """A question of growing size; `asks`: every method at one size, ours under its own name; `truth` where known."""

    name: str
    axis: str
    sizes: Sequence[float]
    asks: Callable[[float], Asks]
    show: Callable[[float], str] = "{:,.0f}".format
    truth: Callable[[float], float] = lambda size: math.nan


@dataclasses.dataclass(frozen=True)
class Point:
    """One method at one size. width, error: relative; fails: why there is no answer; unsound: what is wrong with it."""

    series: str
    method: str
    size: float
    seconds: float
    width: float = math.nan
    error: float = math.nan
    claim: str = ""
    fails: str = ""
    unsound: str = ""
    megabytes: float = math.nan
    shown: str = ""

    @property
    def ours(self) -> bool:
        return self.method.startswith(ours.NAME)

    @property
    def answered(self) -> bool:
        return not self.fails

    @property
    def sound(self) -> bool:
        return not self.fails and not self.unsound


def grown(series: Series, pace: Pace) -> Iterator[Point]:
    """Sizes in order; a method that was stopped, or refused for memory, is not asked at larger ones."""
    gone: set[str] = set()
    for size in series.sizes:
        asks = {name: ask for name, ask in series.asks(size).items() if name not in gone}
        truth = series.truth(size)
        calls = {name: ask.call for name, ask in asks.items()}
        for name, timing in interleaved(calls, pace.repeats, pace.patience, pace.limit).items():
            if timing.refusal.startswith("more than"):
                gone.add(name)
            point = Point(series.name, name, size, timing.seconds, claim=asks[name].claim, shown=series.show(size))
            if timing.refusal:
                yield dataclasses.replace(point, fails=timing.refusal)
                continue
            point = judged(point, timing.value, truth)
            if pace.slow and timing.seconds < TRACED:
                point = dataclasses.replace(point, megabytes=peak_megabytes(quiet(calls[name]), warm=True))
            yield point


def judged(point: Point, value: Any, truth: float) -> Point:
    """Its width, and its error where the truth is known; an infinite answer is none."""
    if hasattr(value, "gap"):
        return dataclasses.replace(point, width=float(value.gap))
    low, high = verdicts.ends(value)
    if math.isnan(high) or math.isinf(high):
        return dataclasses.replace(point, fails="nan" if math.isnan(high) else "inf")
    width = (high - low) / high if high and low > -math.inf else math.nan
    if math.isnan(truth):
        return dataclasses.replace(point, width=width)
    unsound = verdicts.beside(low, high, truth, OUR_ROUNDING if point.ours else ROUNDED)
    return dataclasses.replace(point, width=width, error=high / truth - 1, unsound=unsound)


def without_twins(points: Sequence[Point]) -> list[Point]:
    """Our sharper answers are left out of a series in which they are the default ones."""
    first = {point.size: point for point in points if point.method == ours.NAME}
    sharper = [point for point in points if point.ours and point.method != ours.NAME]
    told = any(point.fails or abs(point.width - first[point.size].width) > 1e-8 for point in sharper)
    return [point for point in points if told or point not in sharper]


def exponent(points: Sequence[Point], last: int = 0, least: int = 3) -> float:
    """Slope of log time over log size by least squares, over the `last` answers or all; nan below `least` of them."""
    kept = [(math.log(p.size), math.log(p.seconds)) for p in points if p.answered][-last:]
    if len(kept) < least:
        return math.nan
    x, y = np.array(kept).T
    return float(np.polyfit(x, y, 1)[0])


# ---- questions that peers answer too


def _everybody(question: Question, peers: dict[Peer, tuple[Any, str]]) -> Asks:
    found = _ours(functools.partial(ours.answer, question), functools.partial(ours.answer, question, ours.SHARP))
    for peer, (module, _) in peers.items():
        for ask in module.asks(question) if module else ():
            if ask.method in CHOSEN.get(peer.name, ()):
                found[f"{peer.name} {ask.method}"] = ask
    return found


def _ours(call: Callable[[], Any], sharper: Callable[[], Any] | None = None) -> Asks:
    found = {ours.NAME: Ask("", BOTH, call)}
    if sharper:
        found[f"{ours.NAME}, {ours.SHARPER}"] = Ask(ours.SHARPER, BOTH, sharper)
    return found


def _question(parts: Sequence[Part], delta: float) -> Question:
    return Question("", "", tuple(parts), delta)


def _stored(name: Callable[[float], str]) -> Callable[[float], float]:
    """The truth at a size from truths.json, the larger of two directions; nan where there is none."""
    return lambda size: max(map(float, STORED["epsilon"].get(name(size), {"": "nan"}).values()))


def _fast(pace: Pace, sizes: Sequence[float], fewer: Sequence[float]) -> Sequence[float]:
    return sizes if pace.slow else fewer


def compared(peers: dict[Peer, tuple[Any, str]], pace: Pace) -> list[Series]:
    """Those with peers."""
    counts = _fast(pace, [10.0**j for j in range(1, 7)], [10.0, 1e3, 1e5])
    deltas = _fast(pace, [5.0, 8.0, 12.0, 20.0, 50.0, 100.0], [5.0, 20.0, 100.0])
    losses = _fast(pace, [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, float(DISTINCT)], [1.0, 10.0, 100.0])

    def steps(count: float) -> Asks:
        return _everybody(dpsgd("", 0.8, 0.01, int(count), 1e-5), peers)

    def responses(count: float) -> Asks:
        return _everybody(_question([Part(RESPONSE, 0.01, int(count))], 1e-6), peers)

    def noises(count: float) -> Asks:
        return _everybody(_question([Part(LAPLACE, 100.0, int(count))], 1e-6), peers)

    def small(digits: float) -> Asks:
        return _everybody(dpsgd("", 0.8, 0.01, 10_000, 10.0**-digits), peers)

    def different(count: float) -> Asks:
        return _everybody(_question(distinct(int(count)), 1e-6), peers)

    return [
        Series("steps of DP-SGD (sigma 0.8, rate 0.01, delta 1e-5)", "steps", counts, steps,
               truth=_stored(lambda size: f"dpsgd 0.8 0.01 {size:.0f} 1e-05")),
        Series("randomized responses (0.01, delta 1e-6)", "releases", counts, responses,
               truth=_stored(lambda size: f"response 0.01 {size:.0f} 1e-06")),
        *([Series("Laplace releases (scale 100, delta 1e-6)", "releases", counts, noises,
                  truth=_stored(lambda size: f"laplace 0.01 {size:.0f} 1e-06"))] if pace.slow else []),
        Series("small deltas (DP-SGD, sigma 0.8, rate 0.01, T 10,000)", "digits of delta", deltas, small,
               "1e-{:g}".format, _stored(lambda size: f"dpsgd 0.8 0.01 10000 {10.0**-size:g}")),
        Series("different subsampled Gaussians, 50 of each, delta 1e-6", "losses", losses, different,
               truth=_stored(lambda size: f"distinct {size:.0f} 1e-06")),
        *_tables(peers, pace),
    ]  # fmt: skip


def _tables(peers: dict[Peer, tuple[Any, str]], pace: Pace) -> list[Series]:
    """Releases that are given by how likely each output is; of the peers dp_accounting takes those."""
    outputs = _fast(pace, [10.0**j for j in range(1, 7)], [10.0, 1e3, 1e5])
    counts = _fast(pace, [1.0, 10.0, 100.0, 1e3, 1e4], [1.0, 100.0, 1e4])
    grid = next((module for peer, (module, _) in peers.items() if peer.name == "dp_accounting"), None)

    def once(count: float) -> Asks:
        def theirs() -> float:
            return float(grid.tabled(*worlds.laws(int(count))).get_delta_for_epsilon(worlds.EPSILON))

        return _ours(worlds.outputs(int(count))) | beside(theirs)

    def often(count: float) -> Asks:
        def theirs() -> float:
            return float(grid.tabled(*table(OUTPUTS)).self_compose(int(count)).get_epsilon_for_delta(worlds.DELTA))

        mine = functools.partial(worlds.tabled, OUTPUTS, int(count))
        return _ours(mine, functools.partial(mine, ours.SHARP)) | beside(theirs)

    def beside(theirs: Callable[[], float]) -> Asks:
        return {"dp_accounting PLD h 1e-4": Ask("", UPPER_IDEAL, theirs)} if grid else {}

    return [
        Series("outputs of a release about a hidden secret, |Y|: delta at epsilon 0.1", "outputs", outputs, once,
               truth=lambda size: worlds.exact(int(size))),
        Series(f"a table of {OUTPUTS} outputs, released again and again, delta 1e-6", "releases", counts, often,
               truth=_stored(lambda size: f"table {OUTPUTS} x {size:.0f} 1e-06")),
    ]  # fmt: skip


def alone(pace: Pace) -> list[Series]:
    """Those for which no way of asking a peer was found."""
    mine = lambda make: lambda size: _ours(make(int(size)))  # noqa: E731
    states = _fast(pace, [2.0, 5.0, 10.0, 20.0, 50.0], [2.0, 10.0, 30.0])
    lengths = _fast(pace, [10.0, 30.0, 100.0, 1e3, 1e4, 1e5], [10.0, 100.0, 1e4])
    designs = _fast(pace, [16.0, 64.0, 256.0, 1024.0, 4096.0], [16.0, 64.0, 256.0])
    queries = _fast(pace, [10.0, 30.0, 100.0, 300.0, 1e3], [10.0, 100.0, 300.0])
    splits = _fast(pace, [10.0, 100.0, 1e3, 1e4], [10.0, 100.0, 1e3])
    return [
        Series("states of a random chain: one entry translated", "states", states, mine(worlds.states)),
        Series("states of a random chain: 1,000 Gaussian counts", "states", states, mine(worlds.counts_on_chain)),
        Series("length of a binary chain", "length", lengths, mine(worlds.length)),
        Series("earlier outputs of a design, |Y|", "outputs", designs, mine(worlds.designed)),
        Series("overlapping queries on a table", "queries", queries, mine(worlds.queries)),
        Series("partitions of a table", "partitions", splits, mine(worlds.partitions)),
    ]
