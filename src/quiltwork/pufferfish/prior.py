"""What a prior must be able to say: how its entries tell about each other.

A prior is one law of the data, or a set of laws, over entries x_1, ..., x_n.  A *case* is one law, one ordered pair of
secrets (s, s') and, for secrets about one entry, that entry.  Everything a prior answers is an array over its cases, in
one fixed order, and maxima over cases are taken last: sup min <= min sup.

Reference: theory/pufferfish.md sections 3.1, 3.2 (e) and 7.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.kinds import not_written

if TYPE_CHECKING:
    from quiltwork.pufferfish.secrets import Secrets
    from quiltwork.pufferfish.translation.influence import InfluenceCurve

ENTRY = "one entry, alone"  # the change that a loss under a prior is stated for: one value, all other entries fixed
ATTAINED = 1e-7  # exact theorems are computed to better than this, relative and absolute


@attrs.frozen(eq=False)
class Translation:
    """A theorem that turns a per-entry epsilon into one for the secrets.

    `epsilons(e)` is an upper bound for each case, over every mechanism that is e-DP for each entry; it rises with e.
    One number stands for all cases.  `exact` says that some mechanism attains it, up to rounding; `lower(e)` is what
    some mechanism leaks in the worst case that it found.
    """

    name: str
    because: str
    epsilons: Callable[[float], FloatArray]
    exact: bool = False
    lower: Callable[[float], float] | None = None

    def leaked(self, epsilon: float) -> float:
        """What some mechanism leaks; 0 where the theorem does not say."""
        if self.lower is not None:
            return self.lower(epsilon)
        return float(np.max(self.epsilons(epsilon))) * (1.0 - ATTAINED) - ATTAINED if self.exact else 0.0


@attrs.frozen(eq=False)
class Atoms:
    """What the entries outside a set tell, as a finite law: with weight w_m, given the first secret, the loss l_m.

    Weights and losses are rounded up; a loss may be infinite.

    Reference: theory/pufferfish.md 3.6 (ii).
    """

    weights: FloatArray
    losses: FloatArray


@not_written("it is what priors have in common, not a value")
class Prior(ABC):
    """One law of the data or a set of them."""

    @property
    @abstractmethod
    def entries(self) -> int | None:
        """How many entries there are; None when the answers hold for every number."""

    @property
    @abstractmethod
    def words(self) -> str:
        """The assumption, as half a sentence: "the entries follow ..."."""

    @abstractmethod
    def influence(self, max_size: int | None = None, secrets: Secrets | None = None) -> InfluenceCurve:
        """a(b) of every case for b = 1 .. max_size."""

    def check(self, secrets: Secrets | None = None) -> None:
        """Refuse secrets that have no answer here, as far as a look at them tells; nothing is computed."""
        return None

    def tells_itself(self, secrets: Secrets | None = None) -> bool:
        """Whether the secret is an entry's own value, so that a release of this entry alone leaks its whole loss."""
        from quiltwork.pufferfish.secrets import EntryValues

        return secrets is None or isinstance(secrets, EntryValues)

    def translations(self, secrets: Secrets | None = None) -> tuple[Translation, ...]:
        """Theorems other than Theorem 6, on the same cases as `influence`."""
        return ()

    def query_laws(self, case: int, secrets: Secrets | None = None) -> tuple[FloatArray, FloatArray] | None:
        """Laws of some count that one entry changes by at most 1, under the two secrets of a case: a lower end."""
        return None

    def atoms(self, case: int, size: int, secrets: Secrets | None = None) -> Atoms | None:
        """The law of what is told from outside the best set of this size; None when only a(b) is known."""
        return None


@not_written("it is what priors have in common, not a value")
class ChainPrior(Prior):
    """A prior on a sequence of `length` entries, or of any number of them when that is None."""

    length: int | None

    @property
    def entries(self) -> int | None:
        """The length."""
        return self.length

    def _long(self) -> str:
        """The length in words."""
        return "any length" if self.length is None else f"length {self.length}"


@not_written("it is what priors have in common, not a value")
class SamePrior(Prior):
    """A prior for which another one answers: its law written out, or the worst members of a set."""

    @property
    @abstractmethod
    def _same(self) -> Prior:
        """The prior that answers."""

    def influence(self, max_size: int | None = None, secrets: Secrets | None = None) -> InfluenceCurve:
        """a(b) of the prior that answers."""
        self.check(secrets)
        return self._same.influence(max_size, secrets)

    def translations(self, secrets: Secrets | None = None) -> tuple[Translation, ...]:
        """The theorems of the prior that answers."""
        self.check(secrets)
        return self._same.translations(secrets)

    def query_laws(self, case: int, secrets: Secrets | None = None) -> tuple[FloatArray, FloatArray] | None:
        """The laws of a count under the prior that answers."""
        self.check(secrets)
        return self._same.query_laws(case, secrets)

    def atoms(self, case: int, size: int, secrets: Secrets | None = None) -> Atoms | None:
        """What is told from outside under the prior that answers."""
        self.check(secrets)
        return self._same.atoms(case, size, secrets)
