"""Junction trees: sums over all data of a product of factors, one group of entries at a time.

Entries are eliminated in the order of least fill.  The entries that meet when one is eliminated are a *bag*; every
factor lies in some bag, and bags joined along their *separators* are a tree in which the bags of one entry hang
together.  Two passes of messages give the weights of every bag.  All numbers are >= 0, so that errors are relative and
only add up: each addition, product and division counts one unit.

Reference: Lauritzen and Spiegelhalter (1988); Koller and Friedman (2009), chapters 9 and 10.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from functools import cached_property

import attrs
import numpy as np

from quiltwork.errors import InvalidParameter
from quiltwork.numbers.matrices import TINY, refuse_lost
from quiltwork.numbers.rounding import UNIT

MOST_CELLS = 2**16  # numbers in one table

Scope = tuple[int, ...]


@attrs.frozen(eq=False)
class Factor:
    """A table of weights with one axis for each entry of its scope, entries rising."""

    scope: Scope
    table: np.ndarray

    def over(self, scope: Scope) -> np.ndarray:
        """The table with one axis for each entry of a larger scope."""
        return self.table.reshape(
            [self.table.shape[self.scope.index(entry)] if entry in self.scope else 1 for entry in scope]
        )

    def onto(self, kept: Iterable[int]) -> Factor:
        """The other entries summed out, one axis after the other; where truths are kept, "some"."""
        scope, table, left = self.scope, self.table, set(kept)
        for entry in self.scope:
            if entry not in left:
                axis = scope.index(entry)
                table = np.asarray(table.any(axis) if table.dtype == bool else table.sum(axis))
                scope = (*scope[:axis], *scope[axis + 1 :])
        return Factor(scope, table)

    def scaled(self) -> Factor:
        """Divided by the largest weight, so that products of many factors stay in range."""
        if self.table.dtype == bool:
            return self
        top = float(self.table.max())
        return Factor(self.scope, self.table / top) if top > 0 else self


def product(factors: Sequence[Factor], scope: Scope, size: int) -> Factor:
    """The product of factors inside a scope, in its own scale; refused where a possible value has lost its digits."""
    if factors and factors[0].table.dtype == bool:
        return Factor(scope, _possible(factors, scope, size))
    table = np.ones((size,) * len(scope))
    for factor in factors:
        table = table * factor.scaled().over(scope)
        table = table / (float(table.max()) or 1.0)
        if float(table.min()) < TINY:  # a zero, or a number that what comes later may raise, without its digits
            refuse_lost(table, _possible(factors, scope, size))
    return Factor(scope, table)


def _possible(factors: Sequence[Factor], scope: Scope, size: int) -> np.ndarray:
    """Where no factor is 0."""
    found = np.ones((size,) * len(scope), dtype=bool)
    for factor in factors:
        found = found & (factor.over(scope) > 0)
    return found


def elimination(scopes: Iterable[Scope], entries: Iterable[int], kept: Iterable[int] = ()) -> list[tuple[int, Scope]]:
    """Entries in the order of least fill, each with its bag: itself and what then touches it."""
    near: dict[int, set[int]] = {entry: set() for entry in entries}
    for scope in scopes:
        for entry in scope:
            near[entry] |= set(scope) - {entry}
    waiting, found = set(near) - set(kept), []
    while waiting:
        _, _, chosen = min((_fill(near, entry), len(near[entry]), entry) for entry in waiting)
        waiting.discard(chosen)
        around = near.pop(chosen)
        found.append((chosen, tuple(sorted({chosen, *around}))))
        for entry in around:
            near[entry] = (near[entry] | around) - {entry, chosen}
    return found


def _fill(near: dict[int, set[int]], entry: int) -> int:
    """How many pairs of neighbours do not touch each other yet."""
    around = near[entry]
    return sum(two not in near[one] for one, two in itertools.combinations(around, 2))


@attrs.frozen(eq=False)
class Junction:
    """Bags, the bag that each hangs on (None for the root), and which bag each factor is multiplied into."""

    bags: tuple[Scope, ...]  # children before parents, the root last
    above: tuple[int | None, ...]
    size: int  # values of an entry

    @cached_property
    def below(self) -> list[list[int]]:
        """The bags that hang on each."""
        found: list[list[int]] = [[] for _ in self.bags]
        for child, parent in enumerate(self.above):
            if parent is not None:
                found[parent].append(child)
        return found

    @classmethod
    def of(cls, scopes: Sequence[Scope], entries: int, size: int) -> Junction:
        """The junction tree of factors on these scopes; bags inside others are left out."""
        bags = [bag for _, bag in elimination(scopes, range(entries))]
        widest = max(map(len, bags))
        if float(size) ** widest > MOST_CELLS:
            allowed = f"so small that {size}^width is at most {MOST_CELLS:,}"
            hint = "entries depend on too many others at once: leave out weak dependences, or merge values"
            raise InvalidParameter("the induced width of the network", widest, allowed, hint)
        # a bag has an entry that no later one has, so that only earlier ones can contain it
        kept = [set(bag) for place, bag in enumerate(bags) if not any(set(bag) <= set(one) for one in bags[:place])]
        order, parents = _spanning(kept)
        places = {bag: place for place, bag in enumerate(reversed(order))}
        above = [places[parents[bag]] if bag in parents else None for bag in reversed(order)]
        return cls(tuple(tuple(sorted(kept[bag])) for bag in reversed(order)), tuple(above), size)

    def separator(self, bag: int) -> Scope:
        """What a bag shares with the one it hangs on."""
        parent = self.above[bag]
        return () if parent is None else tuple(sorted(set(self.bags[bag]) & set(self.bags[parent])))

    def home(self, scope: Iterable[int]) -> int:
        """The first bag with these entries."""
        wanted = set(scope)
        return next(place for place, bag in enumerate(self.bags) if wanted <= set(bag))

    def weights(self, factors: Sequence[Factor]) -> list[Factor]:
        """The weight of every value of every bag, each bag up to a factor of its own."""
        own: list[list[Factor]] = [[] for _ in self.bags]
        for factor in factors:
            own[self.home(factor.scope)].append(factor)
        plain = [product(found or _ones(factors), bag, self.size) for found, bag in zip(own, self.bags, strict=True)]
        raised: list[Factor] = []
        for place, table in enumerate(plain):
            below = [raised[child] for child in self.below[place]]
            raised.append(product([table, *below], table.scope, self.size).onto(self.separator(place)).scaled())
        found: list[Factor | None] = [None] * len(self.bags)
        lowered: list[Factor | None] = [None] * len(self.bags)  # what comes to each bag from above
        for place in reversed(range(len(self.bags))):
            children = self.below[place]
            from_above = [message for message in [lowered[place]] if message is not None]
            coming = [plain[place], *from_above, *(raised[child] for child in children)]
            found[place] = product(coming, self.bags[place], self.size).scaled()
            for child in children:
                others = [plain[place], *from_above, *(raised[other] for other in children if other != child)]
                lowered[child] = product(others, self.bags[place], self.size).onto(self.separator(child)).scaled()
        return [one for one in found if one is not None]

    def calibrated(self, factors: Sequence[Factor]) -> tuple[list[Factor], list[np.ndarray]]:
        """The weights of every bag and which of its values are possible; refused where digits were lost."""
        weights = self.weights(factors)
        possible = [one.table for one in self.weights([Factor(f.scope, f.table > 0) for f in factors])]
        if not possible[0].any():
            raise InvalidParameter("the factors", "data of which none are possible", "some data with a weight above 0")
        for weight, mask in zip(weights, possible, strict=True):
            refuse_lost(weight.table, mask)
        return weights, possible

    def error(self, factors: int) -> float:
        """Relative error of one weight: every operation behind it, wherever it was."""
        cells = sum(float(self.size) ** len(bag) for bag in self.bags)
        return (2.0 * cells + 4.0 * factors + 16.0 * len(self.bags)) * UNIT


def _ones(factors: Sequence[Factor]) -> list[Factor]:
    """The factor that says nothing, of the kind of the others."""
    return [Factor((), np.ones((), dtype=factors[0].table.dtype))]


def marginal(factors: Sequence[Factor], kept: Scope, size: int) -> tuple[Factor, float] | None:
    """The weights of the kept entries, everything else summed out, and their relative error; None when too wide."""
    scopes = [factor.scope for factor in factors]
    steps = elimination(scopes, {*itertools.chain(*scopes), *kept}, kept)
    if float(size) ** max([len(kept), *(len(bag) for _, bag in steps)]) > MOST_CELLS:
        return None
    left, operations = list(factors), 4.0 * len(factors) + len(kept)
    for gone, bag in steps:
        met = [factor for factor in left if gone in factor.scope]
        left = [factor for factor in left if gone not in factor.scope]
        left.append(product(met or _ones(factors), bag, size).onto(set(bag) - {gone}).scaled())
        operations += size + len(met) + 4.0
    return product(left, tuple(sorted(kept)), size), operations * UNIT


def _spanning(bags: Sequence[set[int]]) -> tuple[list[int], dict[int, int]]:
    """A tree of bags, parents first, whose separators are as large as can be: then entries hang together in it."""
    order: list[int] = [0]
    parents: dict[int, int] = {}
    best = {place: (len(bag & bags[0]), 0) for place, bag in enumerate(bags) if place}
    while best:
        chosen = max(best, key=lambda place: (best[place][0], -place))
        parents[chosen] = best.pop(chosen)[1]
        order.append(chosen)
        for place, (shared, _) in best.items():
            more = len(bags[place] & bags[chosen])
            if more > shared:
                best[place] = (more, chosen)
    return order, parents
