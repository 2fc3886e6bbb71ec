"""A composition as a multiset of releases, simplified symbolically before anything is computed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import attrs

from quiltwork import checks
from quiltwork.losses.dominating_pair import Pair
from quiltwork.losses.families.gaussian import GaussianPair
from quiltwork.losses.family import Family

DIRECTIONS = ("remove", "add")


@attrs.frozen
class Part:
    """`count` releases of one family."""

    family: Family
    count: int


def merged(parts: Iterable[Part]) -> tuple[Part, ...]:
    """Equal families added up, counts of 0 dropped, order of first appearance kept."""
    counts: dict[Family, int] = {}
    for part in parts:
        if part.count:
            counts[part.family] = checks.count("count", counts.get(part.family, 0) + part.count)
    return tuple(Part(family, count) for family, count in counts.items())


def telling(parts: Sequence[Part]) -> tuple[Part, ...]:
    """The parts that reveal something at all."""
    return tuple(part for part in parts if not part.family.reveals_nothing)


def is_renyi(part: Part) -> bool:
    """Whether the part is known only by a Rényi bound."""
    return not part.family.has_pair


Counted = list[tuple[Pair, int]]


def directed(parts: Sequence[Part], optimistic: bool = False) -> dict[str, Counted]:
    """Numerical pairs by direction: {"both": ...}, or {"remove": ..., "add": ...} when the two tests differ.

    All Gaussians become one. A Rényi bound stands for the Gaussian that attains it, and `optimistic` takes the upper
    polygon of a sandwiched trade-off function: both are the lower side of a bracket.
    """
    variances: list[float] = []
    found: list[tuple[dict[str, Pair], int]] = []
    for part in parts:
        family, mu = part.family, part.family.attained_mu
        if mu is not None:
            variances.append(part.count * mu**2)
        else:
            found.append((family.optimistic() if optimistic else family.pairs(), part.count))
    variance = math.fsum(variances)
    if variance > 0:
        found.append(({"both": GaussianPair(math.sqrt(variance))}, 1))
    names = ("both",) if all("both" in pairs for pairs, _ in found) else DIRECTIONS
    return {name: [(pairs.get(name) or pairs["both"], count) for pairs, count in found] for name in names}


def one_sided(parts: Sequence[Part]) -> int:
    """How many releases change when the two worlds are exchanged."""
    return sum(part.count for part in parts if not part.family.symmetric)


def sandwiched(parts: Sequence[Part]) -> bool:
    """Whether some family is known only between two polygons, so that both sides must be composed."""
    return any(part.family.sandwiched for part in parts)


def refined(parts: Sequence[Part], step: float) -> tuple[Part, ...]:
    """Functions that leave their accuracy open, held on a grid of this step."""
    return tuple(Part(part.family.refined(step), part.count) for part in parts)


def is_open(part: Part) -> bool:
    """Whether the part is a function that waits for a question to say how finely it must be held."""
    return part.family.is_open
