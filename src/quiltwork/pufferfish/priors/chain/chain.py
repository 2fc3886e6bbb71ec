"""Markov chains as priors: traces, activity logs, anything where an entry tells about the next one."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterator, Sequence
from functools import cached_property, lru_cache
from typing import Any

import attrs
import numpy as np

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.data.counts import Counts, labels
from quiltwork.errors import InvalidParameter, PrivateFitWarning, Unsupported
from quiltwork.kinds import document
from quiltwork.numbers.matrices import (
    law,
    made_as_stored,
    powers,
    recurrent,
    refuse_lost,
    stationary,
    stationary_error,
    stochastic,
)
from quiltwork.numbers.rounding import UNIT
from quiltwork.pufferfish.prior import Atoms, ChainPrior, Translation
from quiltwork.pufferfish.priors.chain.attained import favoured_counts
from quiltwork.pufferfish.priors.chain.described import described
from quiltwork.pufferfish.priors.chain.influence import (
    FEW_STATES,
    Place,
    Sides,
    any_places,
    curve_at,
    given_laws,
    given_places,
    sides_until_mixed,
    stationary_places,
)
from quiltwork.pufferfish.priors.chain.propagation import (
    MOST_STATES,
    AnyTranslator,
    ChainTranslator,
    GivenTranslator,
    chain_atoms,
)
from quiltwork.pufferfish.priors.chain.propagation import MOST_WORK as MOST_GIVEN
from quiltwork.pufferfish.priors.joint.cases import check_secrets
from quiltwork.pufferfish.priors.joint.law import JointLaw
from quiltwork.pufferfish.secrets import AskedPairs, Secrets, asked_pairs
from quiltwork.pufferfish.translation.influence import InfluenceCurve, Status

LOUD = (
    "a prior that is fitted on the private data themselves carries no guarantee: its numbers assume that the chain was "
    "known before; pass public=True if these sequences are other, public data"
)
QUIET = "fitted, not known beforehand: no guarantee if the private data were used"
ANY, STATIONARY = "any", "stationary"
FIRST_DEPTH, DEPTH, SMALL = 32, 256, 1e-6  # sizes are doubled until the curve is this small
MOST_SIZES, MOST_ENTRIES = 4096, 100_000  # of a curve; of a chain whose first entry has a given law
MOST_CELLS = 4e7  # numbers in the per-case table; more places are merged
MOST_WORK = 4e8  # multiplications for entries that are looked at one by one


def _transition(value: Any) -> FloatArray:
    return stochastic("transition", value)


def _states(value: Any) -> tuple[Hashable, ...]:
    return () if value is None else labels(value)


@document(
    "markov_chain/1",
    fields="transition",
    optional="initial length states note",
    read=lambda **said: made_as_stored(MarkovChain, said),
)
@attrs.frozen(eq=False, repr=False)
class MarkovChain(ChainPrior):
    """Entries x_1, x_2, ... of a chain with these transition probabilities.

    `initial` is "stationary", a probability vector (then `length` is needed), or "any": the guarantee then holds for
    every initial law.  `length` may be None: the guarantee then holds for every length.

    >>> chain = MarkovChain([[0.8, 0.2], [0.2, 0.8]])
    >>> [round(float(value), 4) for value in chain.influence(3).values]
    [2.7726, 2.1401, 1.5075]
    """

    transition: FloatArray = attrs.field(converter=_transition)
    initial: Any = STATIONARY
    length: int | None = None
    states: tuple[Hashable, ...] = attrs.field(default=(), converter=_states)
    note: str = attrs.field(default="", kw_only=True)
    _depths: dict[int, Sides] = attrs.field(init=False, factory=dict)

    def __attrs_post_init__(self) -> None:
        count = len(self.transition)
        names = self.states or tuple(range(count))
        if len(names) != count or len(set(names)) != count:
            raise InvalidParameter("states", self.states, f"{count} different names")
        if count < 2:
            raise InvalidParameter("the number of states", count, "at least 2", "one state has no secret")
        checks.settle(self, length=None if self.length is None else checks.count("length", self.length, least=1))
        start = self.initial
        if isinstance(start, str):
            if start not in (STATIONARY, ANY):
                raise InvalidParameter("initial", start, "'stationary', 'any' or a probability vector")
        else:
            start = law("initial", start, count)
            if self.length is None or self.length > MOST_ENTRIES:
                allowed = f"a number of entries up to {MOST_ENTRIES} when an initial law is given"
                raise InvalidParameter("length", self.length, allowed)
        checks.settle(self, transition=self.transition, states=names, initial=start)
        if len(self.occurring) < 2:  # this also refuses a chain without a single stationary law
            raise InvalidParameter(
                "transition", "one state that is never left", "at least two states that keep occurring", "give initial="
            )

    # ---- what it is

    @property
    def words(self) -> str:
        count = f"{self.length} entries follow" if self.length else "the entries follow"
        start = {STATIONARY: "started in its stationary law", ANY: "whatever its first state"}
        given = start.get(self.initial, "") if isinstance(self.initial, str) else "started in the given law"
        text = f"{count} the given Markov chain of {len(self.states)} states, {given}, independent of other sequences"
        return f"{text} ({self.note})" if self.note else text

    @property
    def is_stationary(self) -> bool:
        """Whether every entry has the stationary law."""
        return isinstance(self.initial, str) and self.initial == STATIONARY

    @cached_property
    def occurring(self) -> np.ndarray:
        """Indices of the states that can occur."""
        return recurrent(self.transition) if self.is_stationary else np.arange(len(self.states))

    @cached_property
    def matrix(self) -> FloatArray:
        """The transition matrix of the states that can occur."""
        kept = self.occurring
        return np.asarray(self.transition[np.ix_(kept, kept)])

    @cached_property
    def stationary(self) -> FloatArray:
        """The stationary law of the states that can occur (of the one closed class)."""
        kept = recurrent(self.transition)
        full = np.zeros(len(self.states))
        full[kept] = stationary(self.transition[np.ix_(kept, kept)])
        return np.asarray(full[self.occurring])

    @classmethod
    def fit(
        cls,
        sequences: Any,
        states: Sequence[Hashable] | None = None,
        *,
        smoothing: float | None = None,
        public: bool = False,
        length: int | None = None,
    ) -> MarkovChain:
        """A chain with the transition frequencies of these sequences.

        `sequences` are lists of states, or counts from `quiltwork.data`.  With `smoothing` every transition that was
        never seen gets this probability: another prior, not a safer bound.  A prior that is fitted on the private data
        themselves carries no guarantee, and says so, unless `public=True` states that the sequences are other,
        public data.

        Reference: theory/pufferfish.md 4.3 and 3.1 (last line).
        """
        counts = _counted(sequences, states)
        matrix, words = _frequencies(counts, smoothing)
        if not checks.flag("public", public):
            warnings.warn(PrivateFitWarning(LOUD), stacklevel=2)
            words = f"{words}; {QUIET}"
        return cls(matrix, length=length, states=counts.states, note=words)

    def joint(self, length: int | None = None) -> JointLaw:
        """The explicit law of all entries, for small spaces and for secrets about several entries."""
        count = len(self._lists(length))
        start = self.stationary if isinstance(self.initial, str) else self.initial
        table, possible = np.array(start), np.asarray(start) > 0
        for _ in range(count - 1):
            table, possible = table[..., None] * self.matrix, possible[..., None] & (self.matrix > 0)
        refuse_lost(table, possible)
        error = stationary_error(len(self.matrix)) + 8.0 * count * UNIT
        return JointLaw(table / table.sum(), values=self._lists(count), relative_error=error)

    def _lists(self, length: int | None = None) -> tuple[tuple[Hashable, ...], ...]:
        """The values of each entry, where all data can be listed."""
        count = self.length if length is None else checks.count("length", length, least=1)
        if count is None:
            raise InvalidParameter("length", None, "a number of entries, to list all data")
        if isinstance(self.initial, str) and self.initial == ANY:
            raise Unsupported("the joint law of a chain with any initial law", "it is a set of laws", "give one")
        if len(self.matrix) ** count > 1 << 20:
            raise InvalidParameter("length", count, "so small that all data can be listed (2^20 at most)")
        return (tuple(self.states[i] for i in self.occurring),) * count

    # ---- influence

    def influence(self, max_size: int | None = None, secrets: Secrets | None = None) -> InfluenceCurve:
        """a(b) for b = 1 .. max_size; without it, until the curve is small.

        Of many states, sizes are left out from where a(b) stays the same.
        """
        if max_size is None:
            return self._until_small(secrets)
        view = self._view(secrets)
        if view is None:
            return self.joint().influence(max_size, secrets)
        if checks.count("max_size", max_size, least=1) > MOST_SIZES:
            raise InvalidParameter("max_size", max_size, f"from 1 to {MOST_SIZES}")
        return self._curve(max_size, view)

    @lru_cache(maxsize=8)  # noqa: B019 - few chains are kept: translation asks for the same curve more than once
    def _until_small(self, secrets: Secrets | None) -> InfluenceCurve:
        view, depth = self._view(secrets), FIRST_DEPTH
        while view is not None:
            whole = self.length is not None and depth >= self.length
            curve = self._curve(min(depth, self.length or depth), view)
            if curve.values[-1] <= SMALL or depth >= (DEPTH if len(self.matrix) <= FEW_STATES else DEPTH // 2) or whole:
                return curve
            depth *= 2
        return self.joint().influence(None, secrets)

    def _curve(self, depth: int, view: AskedPairs) -> InfluenceCurve:
        reach = min(depth, self.length or depth)
        places, status = self._places(reach, view)
        found = list(self._curves(places, reach, view))
        whole = self.length is not None and depth >= self.length
        columns = reach if whole else max(len(one) for one in found)
        cases, names = np.empty((len(places) * view.first.size, columns)), [place.name for place in places]
        for case, place in zip(np.split(cases, len(places)), places, strict=True):
            one = found.pop(0)
            case[:, : len(one)], case[:, len(one) :] = one.T, one[-1][:, None]
            case[self._silent(place, view)] = 0.0
        del one  # of hundreds of states each copy is large
        if whole:
            cases[:, reach - 1] = 0.0  # H is everything
        sizes = np.arange(1, columns + 1)
        if columns < reach:  # nothing changes in between
            sizes, cases = np.append(sizes, reach), np.concatenate((cases, cases[:, -1:]), axis=1)
        return InfluenceCurve(
            sizes,
            cases,
            status,
            name_of=lambda index: view.name(index, names),
            method="exact split of a chain (theory 4.2)",
        )

    def _curves(self, places: list[Place], reach: int, view: AskedPairs) -> Iterator[FloatArray]:
        """a(b) of the asked pairs, (sizes, pairs), at each place."""
        asked = slice(None), view.first, view.second
        if len(self.matrix) > FEW_STATES and len(places) == 1:
            yield curve_at(sides_until_mixed(self.matrix, reach), places[0], reach, given_up=True)[asked]
            return
        for place in places:
            yield curve_at(self._sides(reach), place, reach)[asked]

    def _sides(self, depth: int) -> Sides:
        if depth not in self._depths:
            self._depths.clear()
            self._depths[depth] = sides_until_mixed(self.matrix, depth)
        return self._depths[depth]

    def _silent(self, place: Place, view: AskedPairs) -> np.ndarray:
        """Pairs of which one value cannot occur at this place: there is nothing to tell apart."""
        shift = place.shift[view.first, view.second]
        return np.asarray(np.isnan(shift))

    def _places(self, depth: int, view: AskedPairs) -> tuple[list[Place], Status]:
        """Entries that are looked at, and whether the result is exact."""
        size = len(self.matrix)
        budget = min(MOST_CELLS / (size**2 * depth), MOST_WORK / (size**2 * depth**2))
        if self.is_stationary:
            return stationary_places(self.stationary, self.length, view.entries, depth, budget)
        if isinstance(self.initial, str):
            return any_places(self.matrix, self.length, view.entries, depth, budget)
        return given_places(self._laws, view.entries, depth, budget)

    @cached_property
    def _laws(self) -> list[tuple[FloatArray, np.ndarray]]:
        return given_laws(self.matrix, np.asarray(self.initial), self.length or 1)

    # ---- translation

    def translations(self, secrets: Secrets | None = None) -> tuple[Translation, ...]:
        """Propagation of what one entry tells."""
        view = self._view(secrets)
        if view is None:
            return self.joint().translations(secrets)
        places, _ = self._places(int(self.influence(None, secrets).sizes[-1]), view)
        if self.is_stationary:
            return self._translator.translations(places, view.first, view.second)
        if isinstance(self.initial, str):
            few = len(self.matrix) <= MOST_STATES
            return AnyTranslator(self.matrix).translations(places, view.first, view.second) if few else ()
        if len(self._laws) * len(self.matrix) ** 3 > MOST_GIVEN:
            return ()
        silent = [self._silent(place, view) for place in places]
        return self._given.translations(places, silent, view.first, view.second)

    @cached_property
    def _given(self) -> GivenTranslator:
        return GivenTranslator(self.matrix, self._laws)

    @cached_property
    def _translator(self) -> ChainTranslator:
        return ChainTranslator(self.matrix, self.stationary, self.length)

    def tells_itself(self, secrets: Secrets | None = None) -> bool:
        """Whether some entry can have both values of some pair."""
        view = self._view(secrets)
        if view is None or isinstance(self.initial, str):
            return super().tells_itself(secrets)
        asked = range(len(self._laws)) if view.entries is None else view.entries
        possible = [self._laws[i][1] for i in asked]
        return any(bool(np.any(one[view.first] & one[view.second])) for one in possible)

    def query_laws(self, case: int, secrets: Secrets | None = None) -> tuple[FloatArray, FloatArray] | None:
        """Laws of the number of entries that the first state favours."""
        view = self._view(secrets)
        if view is None or not self.is_stationary:
            return None
        places, _ = self._places(int(self.influence(None, secrets).sizes[-1]), view)
        place, pair = divmod(case, view.first.size)
        sides: tuple[int | None, int | None] = places[place].before, places[place].after
        if self.length is not None and sides[0] is None:  # the middle entry
            sides = (self.length - 1) // 2, self.length // 2
        return favoured_counts(self.matrix, self.stationary, int(view.first[pair]), int(view.second[pair]), *sides)

    def atoms(self, case: int, size: int, secrets: Secrets | None = None) -> Atoms | None:
        """The law of the two nearest entries outside the best interval of this size, in an endless chain."""
        view = self._view(secrets)
        if view is None:
            return self.joint().atoms(case, size, secrets)
        if not self.is_stationary:
            return None
        # a short stationary chain is part of an endless one: a mechanism that reads it is one that reads no more
        pair = case % view.first.size
        told = int(view.first[pair]), int(view.second[pair])
        return chain_atoms(powers(self.matrix, size), self.stationary, *told, size)

    # ---- secrets

    def check(self, secrets: Secrets | None = None) -> None:
        """Values and entries that the chain has; of several entries together, as long as all data can be listed."""
        if self._view(secrets) is None and secrets is not None:
            check_secrets(self._lists(), secrets)

    def _view(self, secrets: Secrets | None) -> AskedPairs | None:
        """Entries and ordered pairs of states; None for secrets that need the explicit law."""
        if not isinstance(secrets, Secrets | None):
            raise InvalidParameter("secrets", secrets, "entry_values(...), joint_values(...) or function_values(...)")
        return asked_pairs(secrets, self.states, self.occurring, self.length, "states")

    to_prove = described

    def __repr__(self) -> str:
        start = self.initial if isinstance(self.initial, str) else "given start"
        return f"<MarkovChain {len(self.states)} states, {start}, {self._long()}>"


# ---- fitting


def _counted(sequences: Any, states: Sequence[Any] | None) -> Counts:
    """Counts of lists of states, of a table read by `quiltwork.data`, or counts as they are."""
    if hasattr(sequences, "transition_counts"):
        found: Counts = sequences.transition_counts(states)
    elif isinstance(sequences, Counts):
        found = sequences
        if states is not None and tuple(states) != found.states:
            raise InvalidParameter("states", states, f"those of the counts, {found.states}")
    else:
        found = Counts.of(sequences, states)
    if not found.steps:
        raise InvalidParameter("sequences", f"{found.people} sequences", "sequences with at least one transition")
    return found


def _frequencies(counts: Counts, smoothing: float | None) -> tuple[FloatArray, str]:
    """Rows of frequencies; with smoothing, what was never seen gets that probability and the rest shrinks."""
    matrix = counts.matrix.astype(float)
    sums = matrix.sum(axis=1, keepdims=True)
    if smoothing is None:
        if bool(np.any(sums == 0)):
            state = counts.states[int(np.argmax(sums[:, 0] == 0))]
            raise InvalidParameter(
                "sequences", f"state {state!r} is never left", "a transition out of every state", "or give smoothing"
            )
        return matrix / sums, "transition frequencies"
    size = len(matrix)
    tau = checks.positive("smoothing", smoothing)
    if tau * size >= 1.0:
        raise InvalidParameter("smoothing", smoothing, f"below 1 / {size}, the number of states")
    # a state that is never left goes anywhere else with equal chances
    matrix = np.where(sums > 0, matrix, 1.0 - np.eye(size))
    matrix = matrix / matrix.sum(axis=1, keepdims=True)
    missing = matrix == 0
    smooth = np.where(missing, tau, matrix * (1.0 - tau * missing.sum(axis=1, keepdims=True)))
    return smooth, f"transition frequencies smoothed by {tau:g}, which is another prior and not a safer bound"
