"""Bayesian and Markov networks of small induced width: diagnoses, sensors, households with more than one bond.

The law is a product of factors, each a table of weights >= 0 on a few entries; a Bayesian network is the product of
its conditional laws.  A junction tree gives every sum exactly, and hundreds of entries are no more than many groups:

    translation   propagation along the junction tree (`slopes`), and for binary networks whose factors are
                  log-supermodular after an exchange of values the exact leak (`tilted`)
    influence     a ball of entries is hidden; by the Markov property only those at its border tell about the
                  secret, so that a(b) is at most the largest log ratio of P(border | s) to P(border | s')

Reference: seed 003 Table 6 (dependent differential privacy); theory/pufferfish.md 3.1, 3.4 and 3.5.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import attrs
import numpy as np

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.errors import InvalidParameter
from quiltwork.kinds import document
from quiltwork.numbers.matrices import log_ratios
from quiltwork.numbers.rounding import UNIT, down, up
from quiltwork.pufferfish.prior import Translation
from quiltwork.pufferfish.priors.joint.law import JointLaw
from quiltwork.pufferfish.priors.network.junction import Factor, Junction, marginal, product
from quiltwork.pufferfish.priors.network.slopes import MOST_BAG, Propagation
from quiltwork.pufferfish.priors.network.tilted import BECAUSE as TILTED
from quiltwork.pufferfish.priors.network.tilted import Tilted
from quiltwork.pufferfish.priors.same_states import SameStates
from quiltwork.pufferfish.secrets import AskedPairs, Secrets
from quiltwork.pufferfish.translation.influence import InfluenceCurve

MOST_ENTRIES, MAX_BALL = 500, 64
LEAST, MOST = 1e-100, 1e100  # weights of factors that are not 0
RAREST = 1e-250  # a value of a border that is rarer is not divided by
BECAUSE = "Lipschitz propagation along the junction tree: each group of entries lets through what its law allows"
METHOD = "balls around an entry, and what their border tells (Markov property)"


def _factors(value: Any) -> tuple[Factor, ...]:
    allowed = "a mapping from tuples of entries to tables with one axis for each entry"
    pairs = value.items() if isinstance(value, Mapping) else value
    try:
        pairs = [(tuple(scope), table) for scope, table in pairs]
    except (TypeError, ValueError):
        raise InvalidParameter("factors", value, allowed) from None
    found = []
    for scope, table in pairs:
        entries = [checks.count("an entry", entry) for entry in scope]
        weights = checks.numbers("a factor", table, "weights, 0 or between 1e-100 and 1e100", 0.0, MOST)
        if len(set(entries)) < len(entries) or not entries or weights.ndim != len(entries):
            raise InvalidParameter("a factor", f"{weights.ndim} axes for the entries {scope}", allowed)
        if np.any((weights > 0) & (weights < LEAST)):
            raise InvalidParameter("a factor", float(weights[weights > 0].min()), "weights, 0 or at least 1e-100")
        order = np.argsort(entries)
        found.append(Factor(tuple(sorted(entries)), np.ascontiguousarray(weights.transpose(order))))
    sizes = {size for factor in found for size in factor.table.shape}
    if len(sizes) != 1 or min(sizes) < 2:
        raise InvalidParameter("the axes of factors", sorted(sizes), "of one length, the number of states, at least 2")
    count = 1 + max(factor.scope[-1] for factor in found)
    if count > MOST_ENTRIES:
        raise InvalidParameter("an entry", count - 1, f"below {MOST_ENTRIES}")
    unnamed = sorted(set(range(count)).difference(*(factor.scope for factor in found)))
    if unnamed:
        hint = "give it a factor of its own, its law"
        raise InvalidParameter("factors", f"none for entry {unnamed[0]}", "every entry in some factor", hint)
    return tuple(found)


@attrs.frozen(eq=False, repr=False)
class Network(SameStates):
    """Entries whose law is a product of factors, {(i, j, ...): table of weights}; up to 500 entries of small width.

    >>> agree = [[0.8, 0.2], [0.2, 0.8]]
    >>> ladder = Network({(i, j): agree for i in range(40) for j in (i + 1, i + 2) if j < 40})
    >>> round(float(ladder.translations()[0].epsilons(0.5).max()), 4) < 40 * 0.5
    True
    """

    factors: tuple[Factor, ...] = attrs.field(converter=_factors)
    states: tuple[Hashable, ...] = attrs.field(default=None)

    def __attrs_post_init__(self) -> None:
        count = self.factors[0].table.shape[0]
        given: Any = self.states
        names: tuple[Hashable, ...] = tuple(range(count)) if given is None else tuple(given)
        if len(names) != count or len(set(names)) != count:
            raise InvalidParameter("states", given, f"{count} different names")
        checks.settle(self, states=names)
        _ = self._calibrated  # refuses what is too wide, impossible, or too rare, at once

    @classmethod
    def bayesian(cls, parents: Sequence[Iterable[int]], tables: Sequence[Any], states: Any = None) -> Network:
        """A Bayesian network: the parents of each entry, and its law given them (last axis: its own value)."""
        if len(parents) != len(tables):
            raise InvalidParameter("tables", len(tables), f"{len(parents)}, one for each entry")
        found, above = [], []
        for entry, (others, table) in enumerate(zip(parents, tables, strict=True)):
            scope = (*(checks.count("a parent", one) for one in others), entry)
            weights = checks.numbers(f"the law of entry {entry}", table, "probabilities", 0.0, 1.0)
            if weights.ndim != len(scope) or not np.allclose(weights.sum(axis=-1), 1.0, rtol=0.0, atol=1e-9):
                allowed = f"{len(scope)} axes, the last one (its own value) adding up to 1"
                raise InvalidParameter(f"the law of entry {entry}", weights.shape, allowed)
            found.append((scope, weights / weights.sum(axis=-1, keepdims=True)))
            above.append(set(scope[:-1]))
        left = set(range(len(above)))
        while left:
            free = {entry for entry in left if not above[entry] & left}
            if not free or max((one for ones in above for one in ones), default=0) >= len(above):
                raise InvalidParameter("parents", parents, "other entries of the network, without a cycle")
            left -= free
        return cls(found, states)

    @property
    def entries(self) -> int:
        return 1 + max(factor.scope[-1] for factor in self.factors)

    @property
    def words(self) -> str:
        return (
            f"the {self.entries} entries of {len(self.states)} states follow a network of {len(self.factors)} factors"
        )

    def __repr__(self) -> str:
        widest = max(map(len, self.junction.bags))
        return f"<Network {self.entries} entries, {len(self.states)} states, groups of up to {widest}>"

    @cached_property
    def junction(self) -> Junction:
        """The junction tree."""
        scopes = [factor.scope for factor in self.factors]
        return Junction.of(scopes, self.entries, len(self.states))

    @cached_property
    def _calibrated(self) -> tuple[list[Factor], list[np.ndarray]]:
        return self.junction.calibrated(self.factors)

    @cached_property
    def _propagation(self) -> Propagation | None:
        """None where some group of entries has too many values."""
        weights, possible = self._calibrated
        if max(int(mask.sum()) for mask in possible) > MOST_BAG:
            return None
        error = self.junction.error(len(self.factors))
        return Propagation.of(self.junction, weights, possible, error, self.entries)

    @cached_property
    def _tilted(self) -> Tilted | None:
        return Tilted.of(self.junction, self.factors, self.entries)

    # ---- translation

    def translations(self, secrets: Secrets | None = None) -> tuple[Translation, ...]:
        """Exact for binary networks that like to agree; propagation otherwise, with the leak of one mechanism below."""
        view = self._view(secrets)
        if view is None:
            return self.joint().translations(secrets)
        tilted = self._tilted

        def below(epsilon: float) -> float:
            tables = tilted.table(epsilon, above=False) if tilted is not None and epsilon else None
            return 0.0 if tables is None else max(0.0, float(down(self._cases(self._full(tables), view).max())))

        def exactly(epsilon: float) -> FloatArray:
            tables = tilted.table(epsilon, above=True) if tilted is not None and epsilon else None
            if tables is None:
                return propagated(epsilon)
            most = up(self.entries * epsilon)
            return np.asarray(np.clip(self._cases(self._full(tables), view), 0.0, most))

        def propagated(epsilon: float) -> FloatArray:
            most = np.full(len(self._asked(view)) * view.first.size, up(self.entries * epsilon))
            if self._propagation is None:
                return most
            found = self._cases(self._full(*zip(*self._propagation.tables(epsilon), strict=True)), view)
            return np.asarray(np.minimum(found, most))

        if tilted is not None and tilted.slack is not None:
            return (Translation("log-supermodular network", TILTED, exactly, lower=below),)
        return (Translation("propagation", BECAUSE, propagated, lower=below),)

    def tells_itself(self, secrets: Secrets | None = None) -> bool:
        """Whether some entry can have both values of some pair."""
        view = self._view(secrets)
        if view is None:
            return super().tells_itself(secrets)
        can = np.array([self._possible(entry) for entry in self._asked(view)])
        return bool(np.any(can[:, view.first] & can[:, view.second]))

    def _possible(self, entry: int) -> np.ndarray:
        """Which values an entry can take."""
        home = self.junction.home([entry])
        return Factor(self.junction.bags[home], self._calibrated[1][home]).onto([entry]).table

    # ---- influence

    def influence(self, max_size: int | None = None, secrets: Secrets | None = None) -> InfluenceCurve:
        """a(b) for b = 1 .. max_size, from balls in the graph of the network; 0 for all entries."""
        view = self._view(secrets)
        if view is None:
            return self.joint().influence(max_size, secrets)
        largest = min(MAX_BALL if max_size is None else checks.count("max_size", max_size, least=1), self.entries)
        rows = [self._balls(entry, largest, view) for entry in self._asked(view)]
        sizes = list(range(1, largest + 1))
        cases = np.concatenate(rows)
        if largest < self.entries and (max_size is None or max_size >= self.entries):  # H is everything
            sizes, cases = [*sizes, self.entries], np.concatenate([cases, np.zeros((len(cases), 1))], axis=1)
        names = [f"entry {i}" for i in self._asked(view)]
        return InfluenceCurve(sizes, cases, "certified", name_of=lambda index: view.name(index, names), method=METHOD)

    def _balls(self, entry: int, largest: int, view: AskedPairs) -> FloatArray:
        """(pairs, sizes): the best ball of at most so many entries."""
        found = np.full((view.first.size, largest), math.inf)
        hidden, border = {entry}, self._near[entry] - {entry}
        while len(hidden) <= largest:
            told = self._told(entry, hidden, tuple(sorted(border)))
            if told is not None:
                place = len(hidden) - 1
                found[:, place] = np.minimum(found[:, place], told[view.first, view.second])
            if not border:
                break
            hidden = hidden | border
            border = set().union(*(self._near[one] for one in border)) - hidden
        return np.minimum.accumulate(found, axis=1)

    @cached_property
    def _near(self) -> list[set[int]]:
        """The entries that share a factor with each."""
        near: list[set[int]] = [set() for _ in range(self.entries)]
        for factor in self.factors:
            for entry in factor.scope:
                near[entry] |= set(factor.scope)
        return near

    def _told(self, entry: int, hidden: set[int], border: tuple[int, ...]) -> FloatArray | None:
        """The largest log ratio of the laws of the border given two values of an entry; None where it cannot be had.

        What lies beyond the border weighs every value of the secret alike, so that only factors inside are summed;
        where some weights are 0 all of them are, to know which values of the border are possible.
        """
        size = len(self.states)
        if not border:
            return np.zeros((size, size))
        inside = [factor for factor in self.factors if not self._positive or hidden & set(factor.scope)]
        kept = tuple(sorted({entry, *border}))
        try:
            found = marginal(inside, kept, size)
        except InvalidParameter:  # digits were lost
            return None
        masks = marginal([Factor(f.scope, f.table > 0) for f in inside], kept, size)
        if found is None or masks is None:
            return None
        (weights, error), (mask, _) = found, masks
        axis, own = kept.index(entry), self._own(entry)
        table = np.moveaxis(weights.table, axis, 0).reshape(size, -1)
        possible = np.moveaxis(mask.table, axis, 0).reshape(size, -1)
        can = own > 0
        if bool(np.any(possible & (table < RAREST))):
            return None
        told = np.zeros((size, size))
        error += self.junction.error(len(self.factors)) + 2.0 * UNIT
        told[np.ix_(can, can)] = log_ratios(table[can] / own[can][:, None], possible[can], error)
        return np.maximum(told, 0.0)

    @cached_property
    def _positive(self) -> bool:
        return all(bool(np.all(factor.table > 0)) for factor in self.factors)

    def _own(self, entry: int) -> FloatArray:
        """The weights of the values of one entry."""
        home = self.junction.home([entry])
        return self._calibrated[0][home].onto([entry]).table

    # ---- secrets

    def joint(self) -> JointLaw:
        """The explicit law of all entries, for small networks and for secrets about several entries."""
        lists, size = self._lists(), len(self.states)
        scope = tuple(range(self.entries))
        table = product(self.factors, scope, size).table
        return JointLaw(table / table.sum(), values=lists, relative_error=(4 * len(self.factors) + 8) * UNIT)

    def _full(self, values: Sequence[Any], tables: Sequence[FloatArray] | None = None) -> list[FloatArray]:
        """Tables over all states; 0 where one of two values cannot occur, since there is nothing to tell apart."""
        if tables is None:
            return list(values)
        found: list[FloatArray] = []
        for here, table in zip(values, tables, strict=True):
            full = np.zeros((len(self.states),) * 2)
            full[np.ix_(here, here)] = table
            found.append(full)
        return found

    def _cases(self, tables: Sequence[FloatArray], view: AskedPairs) -> FloatArray:
        """The pairs that are asked for, entry by entry."""
        return np.concatenate([tables[entry][view.first, view.second] for entry in self._asked(view)])


# ---- as a document


def _written(network: Network) -> dict[str, Any]:
    return {
        "scopes": [factor.scope for factor in network.factors],
        "tables": [factor.table for factor in network.factors],
        "states": network.states,
    }


def _read(scopes: Any, tables: Any, states: Any = None) -> Network:
    if len(scopes) != len(tables):
        raise InvalidParameter("tables", len(tables), f"{len(scopes)}, one for each scope")
    return Network(list(zip(scopes, tables, strict=True)), states)


document("network/1", fields="scopes tables", optional="states", write=_written, read=_read)(Network)
