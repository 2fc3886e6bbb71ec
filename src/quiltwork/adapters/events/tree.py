"""How often each leaf of a tree of compositions runs.

Trees may be deep (no recursion) and may share branches: each node is visited once, in an order in which parents come
before children, and passes the number of its runs on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import attrs

from quiltwork import checks
from quiltwork.errors import InvalidParameter

Runs = list[tuple[Any, int]]  # events, each with a number of runs


@attrs.frozen(eq=False)
class Node:
    """One event, and what it runs; a leaf runs nothing because it is no composition."""

    event: Any
    runs: Runs | None

    @property
    def below(self) -> Runs:
        return self.runs or []


def children_first(root: Any, runs: Callable[[Any], Runs | None]) -> list[Node]:
    """Every event once, after all that it runs; an event inside itself is refused."""
    done: dict[int, Node] = {}
    opened: dict[int, Node] = {}  # nodes hold their events, so that no identity is used twice
    stack: list[tuple[Node, Iterator[tuple[Any, int]]]] = []

    def enter(event: Any) -> None:
        node = opened[id(event)] = Node(event, runs(event))
        stack.append((node, iter(node.below)))

    enter(root)
    while stack:
        node, rest = stack[-1]
        for child, _ in rest:
            if id(child) in opened:
                raise InvalidParameter("event", type(child).__name__, "a finite tree", "this event contains itself")
            if id(child) not in done:
                enter(child)
                break
        else:
            stack.pop()
            done[id(node.event)] = opened.pop(id(node.event))
    return list(done.values())


def leaf_runs(root: Any, runs: Callable[[Any], Runs | None]) -> Runs:
    """The leaves in order of appearance, each with the number of times it runs in all."""
    order = children_first(root, runs)
    total = {id(node.event): 0 for node in order}
    total[id(root)] = 1
    for node in reversed(order):
        for child, times in node.below:
            total[id(child)] = checks.count("the number of runs", total[id(child)] + total[id(node.event)] * times)
    return [(node.event, total[id(node.event)]) for node in order if node.runs is None]
