"""Lipschitz propagation along a junction tree.

A mechanism that is e-DP for every entry has a likelihood V, and log V changes by at most e when one entry changes.
Each entry has one bag as its home.  For the entries beyond a separator S, averaged out given x_S, the log of V then
varies by at most told(S)[s, s'] as a function of x_S.  Seen from a bag B,

    T[b, b'] = e * (entries at home in B where b and b' differ) + sum of told(S)[b_S, b'_S] over separators S of B

bounds how log V varies with the values b of the bag, one separator after the other.  What a part a of the bag tells (a
separator, or one entry), with r the rest of the bag, follows in two steps: change a and keep r, then change the law of
r from P(r | a) to P(r | a'), which is Psi of propagation with slope T at a fixed part:

    told[a, a'] <= max_r T[(a, r), (a', r)] + Psi_{P(r|.)}(T[(a', .), (a', .)])[a, a'],

or the same with the part kept at a.  Where the rest that is possible given one value is impossible given the other, the
bound is the largest T between the two.  On a tree of single dependences this is the propagation of `Tree`, and exact
for two values.

Reference: theory/pufferfish.md 3.5.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.numbers.rounding import UNIT, up
from quiltwork.pufferfish.priors.network.junction import Factor, Junction, Scope
from quiltwork.pufferfish.priors.tree import total
from quiltwork.pufferfish.translation.propagation import Spread

MOST_BAG = 128  # values of one bag


@attrs.frozen(eq=False)
class Part:
    """A part of a bag: which of its values each value of the bag has, and the laws of the rest given each of them."""

    scope: Scope
    values: np.ndarray  # (parts, entries): the values of the part that are possible
    of: np.ndarray  # for each value of the bag
    at: np.ndarray  # (parts, rests): the value of the bag, -1 where impossible
    laws: tuple[Spread, ...]  # for each anchor: laws of its rests given the parts that have no other rest

    @classmethod
    def of_bag(cls, bag: Scope, cells: np.ndarray, weights: FloatArray, scope: Scope, error: float) -> Part:
        """`cells` are the possible values of the bag, `weights` what they weigh."""
        inside = [bag.index(entry) for entry in scope]
        outside = [place for place in range(len(bag)) if place not in inside]
        (values, of), (_, rest) = _groups(cells[:, inside]), _groups(cells[:, outside])
        at = np.full((len(values), int(rest.max(initial=0)) + 1), -1)
        at[of, rest] = np.arange(len(cells))
        law = np.where(at >= 0, weights[at], 0.0)
        law = law / law.sum(axis=1, keepdims=True)
        laws: list[Spread] = []
        whole, rounding = bool(np.all(at >= 0)), 2.0 * error + (2 * at.shape[1] + 4) * UNIT
        for anchor in range(len(values)):
            if whole and laws:
                laws.append(laws[0])
                continue
            columns = np.nonzero(at[anchor] >= 0)[0]
            rows = _within(at, anchor)
            inner = law[np.ix_(rows, columns)]
            laws.append(Spread.of(inner, at[np.ix_(rows, columns)] >= 0, rounding))
        return cls(scope, values, of, at, tuple(laws))

    def told(self, slopes: FloatArray) -> FloatArray:
        """How much log V can vary with the part, when it varies by `slopes` with the bag."""
        count = len(self.values)
        found = np.full((count, count), np.inf)
        for anchor in range(count):
            rows, columns = _within(self.at, anchor), np.nonzero(self.at[anchor] >= 0)[0]
            here = self.at[anchor][columns]
            psi = self.laws[anchor].through(slopes[np.ix_(here, here)])
            place = int(np.nonzero(rows == anchor)[0][0])
            for row, other in enumerate(rows):
                kept = np.nonzero(self.at[other] >= 0)[0]
                mine, theirs = self.at[other][kept], self.at[anchor][kept]
                forth, back = float(slopes[mine, theirs].max()), float(slopes[theirs, mine].max())
                found[other, anchor] = min(found[other, anchor], up(forth + psi[row, place]))
                found[anchor, other] = min(found[anchor, other], up(back + psi[place, row]))
        for one, two in zip(*np.nonzero(np.isinf(found)), strict=True):
            mine, theirs = self.at[one][self.at[one] >= 0], self.at[two][self.at[two] >= 0]
            found[one, two] = float(slopes[np.ix_(mine, theirs)].max())
        np.fill_diagonal(found, 0.0)
        return found


def _groups(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The different rows, and which of them each one is."""
    if not rows.shape[1]:
        return rows[:1], np.zeros(len(rows), dtype=np.int64)
    found, of = np.unique(rows, axis=0, return_inverse=True)
    return found, of.ravel()


def _within(at: np.ndarray, anchor: int) -> np.ndarray:
    """The parts whose rests are all possible beside the anchor, too."""
    return np.nonzero(~np.any((at >= 0) & (at[anchor] < 0), axis=1))[0]


@attrs.frozen(eq=False)
class Propagation:
    """Everything about a network that does not depend on epsilon."""

    junction: Junction
    differ: tuple[FloatArray, ...]  # for each bag: how many entries at home differ between two of its values
    upper: tuple[Part, ...]  # the separator towards the parent, as part of the bag
    lower: tuple[Part | None, ...]  # the same, as part of the parent
    single: tuple[tuple[int, Part], ...]  # for each entry: its home, and itself as a part

    @classmethod
    def of(cls, junction: Junction, weights: Sequence[Factor], possible: Sequence[np.ndarray], error: float,
           entries: int) -> Propagation:  # fmt: skip
        """Laws of all separators and entries given the rest of their bags."""
        cells = [np.argwhere(mask) for mask in possible]
        heavy = [weight.table[mask] for weight, mask in zip(weights, possible, strict=True)]

        def part(bag: int, scope: Scope) -> Part:
            return Part.of_bag(junction.bags[bag], cells[bag], heavy[bag], scope, error)

        homes = [junction.home([entry]) for entry in range(entries)]
        differ = []
        for place, bag in enumerate(junction.bags):
            own = [axis for axis, entry in enumerate(bag) if homes[entry] == place]
            differ.append((cells[place][:, None, own] != cells[place][None, :, own]).sum(axis=2).astype(float))
        upper = tuple(part(place, junction.separator(place)) for place in range(len(junction.bags)))
        lower = tuple(
            None if parent is None else part(parent, junction.separator(place))
            for place, parent in enumerate(junction.above)
        )
        single = tuple((home, part(home, (entry,))) for entry, home in enumerate(homes))
        return cls(junction, tuple(differ), upper, lower, single)

    def tables(self, epsilon: float) -> list[tuple[np.ndarray, FloatArray]]:
        """For each entry the values that it can have, and what each two of them leak at most."""
        bags = range(len(self.differ))
        slopes = [np.asarray(up(epsilon * differ)) for differ in self.differ]
        raised: list[FloatArray] = []
        for place in bags:  # children first: what the bag and all below it tell about its separator
            inside = [slopes[place], *(self._seen(child, raised[child]) for child in self.junction.below[place])]
            raised.append(self.upper[place].told(total(inside, slopes[place].shape)))
        whole: list[FloatArray] = list(slopes)
        lowered: list[FloatArray | None] = [None] * len(slopes)
        for place in reversed(bags):
            children, told = self.junction.below[place], lowered[place]
            parts = [slopes[place], *(self._seen(child, raised[child]) for child in children)]
            if told is not None:
                parts.append(told[np.ix_(self.upper[place].of, self.upper[place].of)])
            whole[place] = total(parts, slopes[place].shape)
            for index, child in enumerate(children, 1):
                lower = self.lower[child]
                if lower is not None:
                    others = total([one for at, one in enumerate(parts) if at != index], slopes[place].shape)
                    lowered[child] = lower.told(others)
        return [(part.values[:, 0], part.told(whole[home])) for home, part in self.single]

    def _seen(self, child: int, told: FloatArray) -> FloatArray:
        """What is told about a child's separator, for every two values of the parent."""
        lower = self.lower[child]
        return np.zeros((1, 1)) if lower is None else told[np.ix_(lower.of, lower.of)]
