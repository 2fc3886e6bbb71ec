"""Hidden Markov chains: the data are what the states of a chain emit.

The secret is either a hidden state x_i or an emission o_i itself.  Let S_L and S_R bound what each side of entry i
tells about x_i, where every entry is veiled: its own share is Psi_E(e), with E the emission law.

    hidden state:  Psi_E(e)[u, v] + S_L[u, v] + S_R[u, v]
    emission:      e + Psi_W(max over (u, v) of S_L + S_R)[o, o'],    W[o] = P(x_i | o_i = o).

For the second, V(o, rest) <= e^e V(o', rest) pays for the own entry; then F(x) = E[V(o', rest) | x_i = x] varies by at
most S_L + S_R, and it is averaged with the weights W[o] and W[o'].  The influence curve follows in the same way: the
emissions outside H tell about x_i at most what the nearest hidden states outside H tell, and W veils it once more.

With two hidden states directions are followed one by one; the bounds are then attained by events that are products of
one factor in [1, e^e] for each entry.

Reference: theory/pufferfish.md 3.5 and 4.4.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import cached_property
from typing import Any, Literal

import attrs
import numpy as np

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.kinds import document
from quiltwork.numbers.matrices import made_as_stored, powers, refuse_lost, stationary_error, stochastic
from quiltwork.numbers.rounding import UNIT, up
from quiltwork.pufferfish.prior import ATTAINED, ChainPrior, Translation
from quiltwork.pufferfish.priors.chain.chain import MarkovChain
from quiltwork.pufferfish.priors.chain.influence import Place, Sides, curve_at, sides
from quiltwork.pufferfish.priors.chain.propagation import ChainTranslator
from quiltwork.pufferfish.priors.joint.cases import check_secrets
from quiltwork.pufferfish.priors.joint.law import JointLaw
from quiltwork.pufferfish.secrets import AskedPairs, EntryValues, Secrets, asked_pairs
from quiltwork.pufferfish.translation.influence import InfluenceCurve
from quiltwork.pufferfish.translation.propagation import Spread

BECAUSE = "Lipschitz propagation along the hidden chain, each entry veiled by its emission law"
METHOD = "the nearest hidden states outside an interval (theory 4.2, 4.4)"
FIRST_DEPTH, DEPTH, SMALL = 32, 256, 1e-4  # sizes are doubled until the curve is this small
SHORT = 32  # lengths up to which each entry is looked at by itself
REACH = 128  # entries on each side that the lower end looks at


def _emission(value: Any) -> FloatArray:
    return stochastic("emission", value, square=False)


@document(
    "hidden_markov/1",
    fields="transition emission",
    optional="length states symbols secret",
    read=lambda **said: made_as_stored(HiddenMarkov, said),
)
@attrs.frozen(eq=False, repr=False)
class HiddenMarkov(ChainPrior):
    """Emissions o_1, o_2, ... of a hidden stationary chain; emission[x, o] = P(o_i = o | x_i = x).

    `secret` is "hidden" (the states are secret) or "emission" (the entries themselves are).  With a `length` of None
    the guarantee holds for every length.

    >>> bits = HiddenMarkov([[0.9, 0.1], [0.1, 0.9]], [[0.8, 0.2], [0.2, 0.8]])
    >>> [round(float(value), 4) for value in bits.influence(2).values]
    [4.3944, 3.7136]
    """

    transition: FloatArray
    emission: FloatArray = attrs.field(converter=_emission)
    length: int | None = None
    states: tuple[Hashable, ...] = attrs.field(default=None)
    symbols: tuple[Hashable, ...] = attrs.field(default=None)
    secret: Literal["hidden", "emission"] = "hidden"
    chain: MarkovChain = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        chain = MarkovChain(self.transition, length=self.length, states=self.states)
        count, width = self.emission.shape
        if count != len(chain.states):
            raise InvalidParameter("the number of rows of emission", count, f"{len(chain.states)}, one a hidden state")
        given: Any = self.symbols
        names = tuple(range(width)) if given is None else tuple(given)
        if len(names) != width or len(set(names)) != width:
            raise InvalidParameter("symbols", self.symbols, f"{width} different names")
        if self.secret not in ("hidden", "emission"):
            raise InvalidParameter("secret", self.secret, "'hidden' or 'emission'")
        checks.settle(self, chain=chain, emission=self.emission, symbols=names)
        checks.settle(self, transition=chain.transition, length=chain.length, states=chain.states)
        if self.secret == "emission" and self._seen.size < 2:
            raise InvalidParameter("the number of symbols that occur", self._seen.size, "at least 2")

    @property
    def words(self) -> str:
        count = f"{self.length} entries are" if self.length else "the entries are"
        return f"{count} emitted by the given stationary hidden Markov chain of {len(self.states)} states"

    def __repr__(self) -> str:
        counts = f"{len(self.states)} states, {len(self.symbols)} symbols"
        return f"<HiddenMarkov {counts}, {self._long()}, secret: {self.secret}>"

    # ---- tables, for the states and symbols that occur

    @cached_property
    def _emitted(self) -> FloatArray:
        return np.asarray(self.emission[self.chain.occurring])

    @cached_property
    def _seen(self) -> np.ndarray:
        return np.nonzero((self._emitted > 0).any(axis=0))[0]

    @cached_property
    def _posterior(self) -> Spread:
        """W: the law of the hidden state given its emission, one row for each symbol that occurs."""
        weights = (self.chain.stationary[:, None] * self._emitted)[:, self._seen].T
        refuse_lost(weights, (self._emitted[:, self._seen] > 0).T)
        size = len(self.chain.matrix)
        error = 2.2 * stationary_error(size) + (size + 8) * UNIT
        return Spread.of(weights / weights.sum(axis=1, keepdims=True), (self._emitted[:, self._seen] > 0).T, error)

    @cached_property
    def _translator(self) -> ChainTranslator:
        veil = Spread.of(self._emitted, self._emitted > 0, 4 * UNIT)
        return ChainTranslator(self.chain.matrix, self.chain.stationary, self.length, veil)

    # ---- influence

    def influence(self, max_size: int | None = None, secrets: Secrets | None = None) -> InfluenceCurve:
        """a(b) for b = 1 .. max_size; without it, until the curve is small."""
        view = self._view(secrets)
        if view is None:
            return self.joint().influence(max_size, secrets)
        depth = FIRST_DEPTH if max_size is None else checks.count("max_size", max_size, least=1)
        while True:
            curve = self._curve(min(depth, self.length or depth), view)
            enough = curve.values[-1] <= SMALL or depth >= min(DEPTH, self.length or DEPTH)
            if max_size is not None or enough:
                return curve
            depth *= 2

    def _curve(self, depth: int, view: AskedPairs) -> InfluenceCurve:
        tables = sides(powers(self.chain.matrix, depth))
        places = self._places(view)
        by_place = curve_at if self.secret == "hidden" else self._shown
        cases = np.concatenate([by_place(tables, place, depth)[:, view.first, view.second].T for place in places])
        if depth == self.length:
            cases[:, -1] = 0.0  # H is everything

        names = [f"the {'state' if self.secret == 'hidden' else 'emission'} of {place.name}" for place in places]
        return InfluenceCurve(
            np.arange(1, depth + 1), cases, "certified", name_of=lambda index: view.name(index, names), method=METHOD
        )

    def _shown(self, tables: Sides, place: Place, depth: int) -> FloatArray:
        """What is told about x_i, averaged with W; one interval must serve for every two hidden states."""
        binary = tables.right.shape[1] == 2  # there each ordered pair of symbols depends on one direction alone
        return np.stack(
            [self._posterior.through(slope) for slope in curve_at(tables, place, depth, one_set=not binary)]
        )

    def _places(self, view: AskedPairs) -> list[Place]:
        """Interior entries bound all others (theory 4.2, Lemma)."""
        logs = np.log(self.chain.stationary)
        shift = logs[None, :] - logs[:, None]
        shift = shift + 2.5 * stationary_error(len(logs)) + 8.0 * UNIT * (1.0 + 2.0 * np.abs(logs).max())
        asked = view.entries
        if asked is None and self.length is not None and self.length <= SHORT:
            asked = tuple(range(self.length))
        if asked is None:
            return [Place("an entry", None, None, shift)]
        after = [None if self.length is None else self.length - 1 - entry for entry in asked]
        return [Place(f"entry {i}", i, rest, shift) for i, rest in zip(asked, after, strict=True)]

    # ---- translation

    def tells_itself(self, secrets: Secrets | None = None) -> bool:
        """A hidden state is only seen through its emission."""
        return self.secret == "emission" and super().tells_itself(secrets)

    def translations(self, secrets: Secrets | None = None) -> tuple[Translation, ...]:
        """Propagation; for two hidden states a long finite stretch is attained and gives the lower end."""
        view = self._view(secrets)
        if view is None:
            return self.joint().translations(secrets)
        places = self._places(view)

        def bounds(epsilon: float, sides: Sequence[Sequence[int | None]]) -> FloatArray:
            found = np.concatenate([self._at(epsilon, *side)[view.first, view.second] for side in sides])
            return found if self.length is None else np.minimum(found, up(self.length * epsilon))

        def epsilons(epsilon: float) -> FloatArray:
            return bounds(epsilon, [(place.before, place.after) for place in places])

        def lower(epsilon: float) -> float:
            reach = REACH if self.length is None else min(REACH, (self.length - 1) // 2)
            far = [[reach if count is None else count for count in (p.before, p.after)] for p in places]
            return max(float(bounds(epsilon, far).max()) * (1.0 - ATTAINED) - ATTAINED, 0.0)

        binary = len(self.chain.matrix) == 2
        exact = binary and (self.length is None or all(place.after is not None for place in places))
        return (Translation("propagation", BECAUSE, epsilons, exact, lower if binary else None),)

    def _at(self, epsilon: float, before: int | None, after: int | None) -> FloatArray:
        if self.secret == "hidden":
            return self._translator.at(epsilon, [(before, after)])[0]
        own = self._translator.own(epsilon)
        parts = [
            side.settled(own) if count is None else side.after(own, count)
            for side, count in ((self._translator.left, before), (self._translator.right, after))
        ]
        return np.asarray(up(epsilon + self._posterior.through(up(parts[0] + parts[1])), 2))

    # ---- secrets

    def joint(self, length: int | None = None) -> JointLaw:
        """The explicit law of all emissions, for small spaces and for secrets about several of them."""
        count = len(self._lists(length))
        table = self.chain.stationary[None, :] * self._emitted.T  # one axis for each emission, the last for the state
        seen, step = self._emitted.T > 0, self.chain.matrix > 0
        possible = seen
        for _ in range(count - 1):
            table = (table @ self.chain.matrix)[..., None, :] * self._emitted.T
            possible = (possible @ step)[..., None, :] & seen
        refuse_lost(table, possible)
        law, size = table.sum(axis=-1), len(self.chain.matrix)
        error = 2.2 * stationary_error(size) + count * (2 * size + 12) * UNIT
        return JointLaw(law / law.sum(), values=self._lists(count), relative_error=error)

    def _lists(self, length: int | None = None) -> tuple[tuple[Hashable, ...], ...]:
        """The values of each entry, where all data can be listed."""
        if self.secret == "hidden":
            raise Unsupported("the joint law of hidden states", "the data are the emissions", "use secret='emission'")
        count = self.length if length is None else checks.count("length", length, least=1)
        if count is None or len(self.symbols) ** count > 1 << 20:
            raise InvalidParameter("length", count, "so small that all data can be listed (2^20 at most)")
        return (self.symbols,) * count

    def check(self, secrets: Secrets | None = None) -> None:
        """Values and entries that there are; of several emissions together, as long as all data can be listed."""
        if self._view(secrets) is None and secrets is not None:
            check_secrets(self._lists(), secrets)

    def _view(self, secrets: Secrets | None) -> AskedPairs | None:
        """Entries and ordered pairs of secrets that occur; None for secrets that need the explicit law."""
        if self.secret == "emission":
            return asked_pairs(secrets, self.symbols, self._seen, self.length, "values")
        if not isinstance(secrets, EntryValues | None):
            raise InvalidParameter(
                "secrets", secrets, "entry_values(...)", "secrets about several entries: 'emission' only"
            )
        return asked_pairs(secrets, self.states, self.chain.occurring, self.length, "values")
