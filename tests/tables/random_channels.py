"""Random mechanisms that keep to a stated loss, and the exact divergences of what they release together.

Every mechanism looks at its input through a level, a function that moves by at most one for one step of the statement.
`respects` checks the statement on every single step before a mechanism is used.
"""

from __future__ import annotations

import math
from typing import Any

import attrs
import numpy as np
from scipy.special import ndtr
from tests.tables.random_plans import Ask, Setting, inputs

import quiltwork as qw

KINDS = ("pure", "approximate", "gdp", "zcdp", "laplace", "gaussian", "pair")
MOST_LEVEL = 6


@attrs.frozen
class Stated:
    """A loss as words and numbers, and in the library."""

    kind: str
    numbers: tuple[Any, ...]

    @property
    def loss(self) -> Any:
        more = {"sensitivity": 1.0} if self.kind in ("laplace", "gaussian") else {}
        return getattr(qw, self.kind)(*self.numbers, **more)

    @property
    def mu(self) -> float:
        """The shift of the Gaussian that it allows for one step."""
        number = float(self.numbers[0])
        return {"gdp": number, "zcdp": math.sqrt(2 * number), "gaussian": 1 / number}[self.kind]

    @property
    def epsilon(self) -> float:
        number = float(self.numbers[0])
        return 1 / number if self.kind == "laplace" else number


def draw_stated(rng: np.random.Generator, ask: Ask, step: Any, kinds: tuple[str, ...] = KINDS) -> Stated:
    stated = ask.holds.notion or step
    single = stated.kind in ("add_remove", "edge")
    pushed = ask.via is not None and ask.via[0] in ("clip", "join")  # a record that comes may push another row out
    fine = single if ask.holds.input else not (single and pushed)
    usable = [k for k in kinds if k != "pair" or fine]
    kind = str(rng.choice(usable))
    if kind == "approximate":
        return Stated(kind, (float(rng.choice([0.0, 0.3, 0.8])), float(rng.choice([0.01, 0.1]))))
    if kind == "pair":
        p, q = (np.round(rng.dirichlet(np.ones(3)), 3) for _ in range(2))
        p[2], q[2] = round(1 - p[0] - p[1], 3), round(1 - q[0] - q[1], 3)
        return Stated(kind, (tuple(p.tolist()), tuple(q.tolist())))
    low, high = {"laplace": (1.0, 3.0), "gaussian": (1.0, 3.0), "zcdp": (0.05, 0.5)}.get(kind, (0.2, 1.2))
    return Stated(kind, (round(float(rng.uniform(low, high)), 2),))


@attrs.frozen(eq=False)
class Channel:
    """Levels of every table and the output law of every level."""

    levels: np.ndarray  # place of each table's law
    laws: np.ndarray


class Seen:
    """What one query sees of every table, with distances; computed once."""

    def __init__(self, setting: Setting, ask: Ask) -> None:
        self.ask, self.setting = ask, setting
        self.versions = [self._of(kept) for kept in (ask.kept, ask.twin) if kept is not None]

    def _of(self, kept: np.ndarray) -> tuple[np.ndarray, ...]:
        return inputs(self.ask, self.setting.universe, self.setting.notion, self.setting.lengths, kept)

    def far(self) -> np.ndarray:
        """The distance of the inputs of every two tables, the largest of its versions."""
        return np.max([far[np.ix_(labels, labels)] for labels, far, _, _ in self.versions], axis=0)


def draw_channel(rng: np.random.Generator, seen: Seen, stated: Stated, version: int, table: int | None) -> Channel:
    """A mechanism for one query; `table` is a table from whose input its level is measured."""
    labels, far, single, sizes = seen.versions[version % len(seen.versions)]
    notion = seen.ask.holds.notion or seen.setting.notion
    if stated.kind == "pair":
        level = _flag(rng, notion, single, sizes, labels)
        laws = np.array([stated.numbers[1], stated.numbers[0]], dtype=float)
        laws = laws / laws.sum(axis=1, keepdims=True)
        places = level
        if not pair_respected(stated, notion, single, sizes, level, laws):
            raise AssertionError("a drawn pair breaks its own statement")
        return Channel(places[labels], laws)
    start = int(labels[int(rng.integers(len(labels))) if table is None else table])
    level = np.minimum(far[start], MOST_LEVEL)
    if table is None and rng.random() < 0.3:  # another function of the same kind: the nearest of two places
        level = np.minimum(level, far[int(rng.choice(labels))])
    apart = ~np.isfinite(far[start])
    whole = bool(np.all(level == np.round(level)))
    if stated.kind == "approximate" and not whole:
        level = np.ceil(level - 1e-9)
    values, places = np.unique(level, return_inverse=True)
    laws = _laws(rng, stated, values, table is not None)
    # what no chain of steps reaches may be told outright
    laws = np.hstack([laws, np.zeros((len(laws), 1))])
    laws = np.vstack([laws, np.eye(laws.shape[1])[-1]])
    places = np.where(apart, len(laws) - 1, places.ravel())
    if not respects(stated, single, places, laws):
        raise AssertionError(f"a drawn mechanism breaks its own statement {stated}")
    return Channel(places[labels], laws)


def _flag(
    rng: np.random.Generator, notion: Any, single: np.ndarray, sizes: np.ndarray, labels: np.ndarray
) -> np.ndarray:
    """0 or 1 for every input: more rows never turn 1 into 0 where rows come and go."""
    if notion.kind in ("add_remove", "edge"):
        chosen = rng.random(sizes.shape[1]) < 0.5 if sizes.shape[1] > 1 else np.ones(sizes.shape[1], dtype=bool)
        return (sizes[:, chosen].sum(axis=1) >= rng.integers(1, 3)).astype(int)
    return (rng.random(len(sizes)) < 0.5).astype(int)


def pair_respected(
    stated: Stated, notion: Any, single: np.ndarray, sizes: np.ndarray, level: np.ndarray, laws: np.ndarray
) -> bool:
    """Whether a step that takes a row away is below (P, Q); where nothing comes or goes, either way round."""
    if notion.kind not in ("add_remove", "edge"):
        return True  # the laws of any two inputs are equal, (P, Q) or (Q, P)
    a, b = np.nonzero(single == 1)
    smaller = sizes[a].sum(axis=1) < sizes[b].sum(axis=1)
    return bool((level[a[smaller]] <= level[b[smaller]]).all())


def _laws(rng: np.random.Generator, stated: Stated, values: np.ndarray, sharp: bool) -> np.ndarray:
    """The output law at every level."""
    if stated.kind == "approximate":
        return _revealing(rng, stated, values)
    top = float(values[np.isfinite(values)].max())
    inner = np.sort(rng.uniform(-0.5, top + 0.5, int(rng.integers(1, 3))))
    if stated.kind in ("pure", "laplace"):
        # with an end of the outputs at level 0 and one at the top, the loss is attained
        edges = np.array([0.0, *inner[(inner > 0) & (inner < top)], top]) if sharp else inner
        edges = np.unique(edges)
        below = _laplace(stated.epsilon * (edges[None, :] - values[:, None]))
    else:
        below = ndtr(stated.mu * (np.unique(inner)[None, :] - values[:, None]) + rng.normal() * (not sharp))
    ends = [np.zeros((len(values), 1)), below, np.ones((len(values), 1))]
    return np.maximum(np.diff(np.hstack(ends), axis=1), 0.0)


def _laplace(x: np.ndarray) -> np.ndarray:
    return np.where(x < 0, 0.5 * np.exp(np.minimum(x, 0)), 1 - 0.5 * np.exp(-np.maximum(x, 0)))


def _revealing(rng: np.random.Generator, stated: Stated, values: np.ndarray) -> np.ndarray:
    """(epsilon, delta): a chain that grows as fast as it may, or randomized response that sometimes tells all."""
    epsilon, delta = stated.numbers
    grow = math.exp(epsilon)
    if rng.random() < 0.5:
        chance = [0.0]
        while len(chance) <= values.max():
            up = min(grow * chance[-1] + delta, 1 - (1 - chance[-1] - delta) / grow)
            chance.append(min(max(up, chance[-1]), 1.0))
        p = np.array(chance)[values.astype(int)]
        return np.column_stack([p, 1 - p])
    high = values >= (values.max() if rng.random() < 0.5 else 1)
    told = np.column_stack([np.where(high, delta, 0.0), np.where(high, 0.0, delta)])
    honest = np.where(high, grow, 1.0) / (1 + grow) * (1 - delta)
    return np.column_stack([told, honest, (1 - delta) - honest])


def respects(stated: Stated, single: np.ndarray, places: np.ndarray, laws: np.ndarray) -> bool:
    """Whether the stated loss holds for every single step, directly from the output laws."""
    a, b = np.nonzero(np.isfinite(single) & (places[:, None] != places[None, :]))
    if not a.size:
        return True
    seen, which = np.unique(places[a] * len(laws) + places[b], return_inverse=True)
    # the shortest step between two levels: the others may lose more
    length = np.full(len(seen), np.inf)
    np.minimum.at(length, which.ravel(), single[a, b])
    p, q = laws[seen // len(laws)], laws[seen % len(laws)]
    if stated.kind in ("pure", "laplace"):
        return bool((p <= np.exp(stated.epsilon * length)[:, None] * q * (1 + 1e-9) + 1e-15).all())
    if stated.kind == "approximate":
        near = length <= 1 + 1e-9
        return bool((hockey(p[near], q[near], float(stated.numbers[0])) <= stated.numbers[1] * (1 + 1e-9)).all())
    mu = stated.mu * length
    for epsilon in np.linspace(-2, 4, 25):
        bound = ndtr(mu / 2 - epsilon / mu) - np.exp(epsilon) * ndtr(-mu / 2 - epsilon / mu)
        if (hockey(p, q, float(epsilon)) > bound + 1e-12).any():
            return False
    return True


def hockey(p: np.ndarray, q: np.ndarray, epsilon: float) -> np.ndarray:
    """Exact divergences of many pairs of laws."""
    return np.asarray(np.maximum(p - math.exp(epsilon) * q, 0.0).sum(axis=-1))


def largest_loss(p: np.ndarray, q: np.ndarray) -> float:
    """The pure loss over many pairs of laws."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(p > 1e-300, p / q, 0.0)
    return float(np.log(max(1.0, ratio.max())))


def joint(channels: list[list[Channel]], tables: np.ndarray, turns: list[np.ndarray]) -> np.ndarray:
    """The law of all outputs for some tables; `turns[i]` says which version of query i follows each earlier output."""
    total = np.ones((len(tables), 1))
    for versions, turn in zip(channels, turns, strict=True):
        width = max(channel.laws.shape[1] for channel in versions)
        laws = np.zeros((len(versions), len(tables), width))
        for k, channel in enumerate(versions):
            laws[k, :, : channel.laws.shape[1]] = channel.laws[channel.levels[tables]]
        follow = np.resize(turn, total.shape[1]) % len(versions)
        total = (total[:, :, None] * laws[follow].transpose(1, 0, 2)).reshape(len(tables), -1)
    return total
