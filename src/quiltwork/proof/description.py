"""What the JSON of a loss says: compositions, each a list of releases by direction.

A claim may stand for several compositions (each kind of neighbours of a plan, each direction): it is true when it holds
for all of them, and its lower end is attained when one attains it.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import attrs

from quiltwork.errors import InvalidParameter
from quiltwork.proof.fields import Node, Refused, read, whole

SCHEMA, VECTOR = "quiltwork/loss/1", "worst_vector"
MEMBERS = {"schema", "side", "releases", "neighbors"}
SAME = "both directions"  # which are one test
OTHER = {"remove": "add", "add": "remove"}
SYMMETRIC = (
    "gaussian", "gdp", "laplace", "discrete_gaussian", "discrete_laplace", "pure", "approximate", "constraints",
    "profile", "randomized_response", "exponential", "zcdp", "rdp",
)  # fmt: skip
MAX_COMPOSITIONS = 1000


@attrs.frozen
class Release:
    """One kind of release in one direction, and how often it occurs; its parameters are exact."""

    node: Node
    direction: str
    count: int

    @property
    def kind(self) -> str:
        """Its family."""
        return str(self.node["kind"])

    def number(self, name: str) -> Fraction:
        """A parameter."""
        return Fraction(self.node[name])

    def inside(self, node: Node) -> Release:
        """A release inside of it, once."""
        return directed(node, self.direction, 1)


@attrs.frozen
class Composition:
    """Releases that one attacker sees, in one direction of the neighbouring relation."""

    direction: str
    releases: tuple[Release, ...]
    name: str = ""
    exact: bool = True  # or only a bound from above on what neighbours can reach
    others: tuple[tuple[Release, ...], ...] = ()  # further bounds, of which the least holds

    @property
    def single(self) -> Release | None:
        """The only release, if there is one."""
        return self.releases[0] if len(self.releases) == 1 and self.releases[0].count == 1 else None

    def __str__(self) -> str:
        return f"{self.name}{self.direction}"


def directed(node: Node, direction: str, count: int) -> Release:
    """A release with its turns undone, and without samples of everybody."""
    if node["kind"] == "turned":
        return directed(node["base"], OTHER[direction], count)
    if node["kind"] == "poisson" and node["rate"] == 1:
        return directed(node["base"], direction, count)
    return Release(node, direction, count)


def compositions(loss: Any) -> list[Composition]:
    """Every composition that a loss stands for; directions that are the same test are asked once."""
    _check(loss)
    side = loss.get("side", "worst")
    if side not in ("worst", *OTHER):
        raise InvalidParameter("side", side, "'worst', 'remove' or 'add'")
    found = []
    for name, bounds, exact in _vectors(loss["releases"]):
        same = all(_same_both_ways(node) for items in bounds for node, _ in items)
        for direction in ("remove", "add") if side == "worst" and not same else ("remove" if same else side,):
            least, *others = (
                tuple(directed(node, direction, count) for node, count in items if count and not _still(node))
                for items in bounds
            )
            found.append(Composition(SAME if same else direction, least, name, exact, tuple(others)))
    return found


def _check(loss: Any) -> None:
    if not isinstance(loss, Mapping) or not isinstance(loss.get("releases"), list):
        raise InvalidParameter("loss", loss, "the JSON of a loss, with its releases")
    other = sorted(map(str, set(loss) - MEMBERS))
    if loss.get("schema") != SCHEMA or other:
        raise InvalidParameter("loss", other or loss.get("schema"), f"an object of schema {SCHEMA!r}, of known members")


Listed = tuple[
    str, list[list[tuple[Node, int]]], bool
]  # name, bounds of which the least holds, whether one is attained


def _vectors(items: list[Any]) -> list[Listed]:
    """Each list of releases; a release that stands for several losses (of a table plan) is replaced by each in turn.

    Of several such releases neighbours need not have the worst vectors together: these lists are bounds from above, and
    what some neighbours attain is one of them beside all other releases.
    """
    plain = [_counted(item) for item in items if not _several(item)]
    vectors = [_each(item) for item in items if _several(item)]
    lists: list[Listed] = [("", [plain], True)]
    for each in vectors:
        if len(lists) * len(each) > MAX_COMPOSITIONS:
            raise Refused(f"more than {MAX_COMPOSITIONS} compositions")
        lists = [
            (name + more, [[*x, *y] for x in have for y in further], here and there and len(vectors) == 1)
            for name, have, here in lists
            for more, further, there in each
        ]
    if len(vectors) > 1:
        alone = [one for each in vectors for one in each if one[2]]
        lists += [(f"{name}alone, ", [[*plain, *known]], True) for name, [known], _ in alone]
    return lists


def _several(item: Any) -> bool:
    return isinstance(item, Mapping) and item.get("kind") == VECTOR


def _each(item: Mapping[str, Any]) -> list[Listed]:
    """The vectors that one release stands for."""
    steps, other = item.get("steps"), sorted(map(str, set(item) - {"kind", "count", "steps"}))
    if not isinstance(steps, list) or not steps or other:
        raise InvalidParameter("steps", other or steps, "a list of vectors that is not empty, and no other members")
    count = whole(0)("count", item.get("count", 1))
    found: list[Listed] = [
        (f"vector {place}, ", [[(node, n * count) for node, n in nodes] for nodes in bounds], reached)
        for place, step in enumerate(steps, 1)
        for bounds, reached in _step(step)
    ]
    if count > 1 and len(found) > 1:
        raise Refused("several vectors released more than once: each release may take another one")
    return found


def _counted(item: Any) -> tuple[Node, int]:
    """A release as it is read, and how often it occurs."""
    if not isinstance(item, Mapping):
        raise InvalidParameter("a release of the loss", item, "an object with a kind")
    return read({name: field for name, field in item.items() if name != "count"}), whole(0)(
        "count", item.get("count", 1)
    )


def _step(step: Any) -> list[tuple[list[list[tuple[Node, int]]], bool]]:
    """What bounds one vector, and what neighbours attain: one list where they are the same."""
    if (
        not isinstance(step, Mapping)
        or not {"losses"} <= set(step) <= {"losses", "attained"}
        or not (isinstance(step["losses"], list) and step["losses"])
    ):
        raise InvalidParameter("a vector of the loss", step, "an object with losses and attained")
    bounds, attained = step["losses"], step.get("attained")
    listed = [(bounds, [attained] == bounds)]
    if attained is not None and [attained] != bounds:
        listed.append(([attained], True))
    for one in (one for each, _ in listed for one in each):
        _check(one)
        if one.get("side", "worst") != "worst":
            raise Refused("a vector of one direction only")
    return [([[_counted(item) for item in one["releases"]] for one in each], reached) for each, reached in listed]


def _still(node: Node) -> bool:
    """A sample in which nobody ever is."""
    return node["kind"] in ("poisson", "sampled_group") and node["rate"] == 0


def _same_both_ways(node: Node) -> bool:
    kind = node["kind"]
    if kind == "mixture":
        return all(_same_both_ways(one) for _, one in node["components"])
    if kind == "turned" or (kind == "poisson" and node["rate"] == 1):
        return _same_both_ways(node["base"])
    return kind in SYMMETRIC
