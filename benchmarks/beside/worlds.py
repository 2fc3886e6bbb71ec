"""Questions of growing size about chains, hidden secrets and tables; each returns the call that answers one size."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

import quiltwork as qw
from benchmarks import confounding_cases, pufferfish, tables
from benchmarks.beside.parts import table
from quiltwork.confounding import World
from quiltwork.pufferfish import MarkovChain, guarantee, translate
from quiltwork.tables import Int, Plan, Table, add_remove, on_input

DELTA, EPSILON = 1e-6, 0.1


def states(count: int) -> Callable[[], Any]:
    """What an epsilon of 0.1 on one entry is worth about any entry."""
    return pufferfish.fresh(lambda chain: translate(chain, 0.1), functools.partial(pufferfish.chain, count))


def counts_on_chain(count: int) -> Callable[[], Any]:
    made = functools.partial(pufferfish.chain, count)
    return pufferfish.fresh(lambda chain: guarantee(1000 * qw.gaussian(500.0), chain).epsilon(DELTA), made)


def length(entries: int) -> Callable[[], Any]:
    """A chain that stays with probability 0.8."""

    def run() -> Any:
        pufferfish._remembered.cache_clear()
        return translate(MarkovChain([[0.8, 0.2], [0.2, 0.8]], length=entries), 0.1)

    return run


def _hidden(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Two secrets, four values of the data, and what is put out about each."""
    rng = np.random.default_rng(3)
    return rng.dirichlet(np.ones(4), 2), rng.dirichlet(np.ones(count), 4)


def outputs(count: int) -> Callable[[], Any]:
    """delta of one release about a hidden secret."""
    data, channel = _hidden(count)
    return lambda: World(data=data).release(channel).delta(EPSILON)


@functools.lru_cache(maxsize=1)
def laws(count: int) -> tuple[list[float], list[float]]:
    """How likely each output is for each secret: what a peer is told of the same world."""
    data, channel = _hidden(count)
    p, q = (data @ channel).tolist()
    return p, q


def exact(count: int) -> float:
    """Its delta, summed in extended precision."""
    data, channel = (array.astype(np.longdouble) for array in _hidden(count))
    p, q = data @ channel
    growth = np.exp(np.longdouble(EPSILON))
    return float(max(np.sum(np.maximum(a - growth * b, 0)) for a, b in ((p, q), (q, p))))


def tabled(outputs: int, count: int, rtol: float = 1e-3) -> Any:
    """epsilon of a table of outputs that is released again and again."""
    return (count * qw.pair(*map(list, table(outputs)))).epsilon(DELTA, rtol=rtol)


def designed(count: int) -> Callable[[], Any]:
    """The next mechanism after one with this many outputs: a linear program with one block for each."""
    return confounding_cases.rough(2, 16, count).design


def queries(count: int) -> Callable[[], Any]:
    """Random conjunctions of six kinds of noise, one record added or removed."""

    def run() -> Any:
        return tables.drawn(tables.LOSSES["six losses"], add_remove(), 0, count).guarantee().epsilon(DELTA)

    return run


def partitions(count: int) -> Callable[[], Any]:
    """One count for each value of a column."""

    def run() -> Any:
        rows = Table(cell=Int(1, count))
        plan = Plan(rows, add_remove())
        plan.split("counts", by=rows.cell, count=True, loss=qw.gaussian(5.0), holds=on_input(add_remove()))
        return plan.guarantee().epsilon(DELTA)

    return run
