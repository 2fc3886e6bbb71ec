"""Binary entries that like, or dislike, to agree: the Ising model on a small graph."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import attrs
import numpy as np

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.curves.bracket import Bracket
from quiltwork.errors import InvalidParameter
from quiltwork.kinds import document
from quiltwork.numbers.rounding import UNIT
from quiltwork.pufferfish.prior import Atoms, SamePrior
from quiltwork.pufferfish.priors.joint.cases import check_secrets
from quiltwork.pufferfish.priors.joint.law import JointLaw
from quiltwork.pufferfish.priors.joint.supermodular import Gauge
from quiltwork.pufferfish.secrets import EntryValues, Secrets

MOST_ENTRIES = 16
MAX_STRENGTH = 1e6  # of a coupling or a field; long before that one weight takes all
MAX_LOG_RANGE = 650.0  # log of the largest over the smallest weight


def _edges(value: Any) -> dict[tuple[int, int], float]:
    """{(i, j): J}, i < j, from such a mapping or from a symmetric matrix with a zero diagonal."""
    if not isinstance(value, Mapping):
        matrix = checks.numbers(
            "couplings", value, "a symmetric matrix of moderate numbers", -MAX_STRENGTH, MAX_STRENGTH
        )
        if matrix.ndim != 2 or not np.array_equal(matrix, matrix.T) or np.any(np.diag(matrix)):
            raise InvalidParameter("couplings", value, "a symmetric matrix with a zero diagonal, or {(i, j): coupling}")
        value = {(i, j): float(matrix[i, j]) for i, j in zip(*np.nonzero(np.triu(matrix)), strict=True)}
    found: dict[tuple[int, int], float] = {}
    for pair, strength in value.items():
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise InvalidParameter("couplings", pair, "{(i, j): coupling}")
        one, two = sorted(checks.count("entry", entry) for entry in pair)
        if one == two or (one, two) in found:
            raise InvalidParameter("couplings", pair, "pairs of different entries, each pair once")
        found[one, two] = checks.real("a coupling", strength)
        if abs(found[one, two]) > MAX_STRENGTH:
            raise InvalidParameter("a coupling", strength, f"between -{MAX_STRENGTH:g} and {MAX_STRENGTH:g}")
    return found


@document("ising/1")
@attrs.frozen(eq=False, repr=False)
class Ising(SamePrior):
    """Entries x_i in {0, 1} with spins s_i = 2 x_i - 1 and weights exp(sum J_ij s_i s_j + sum h_i s_i).

    `couplings` is {(i, j): J} or a symmetric matrix, each pair counted once; `fields` one number or one for each entry.
    J > 0 means that two entries like to agree.  If signs can be made positive by exchanging the values of some entries
    (always on a tree), the translation is exact in closed form.  At most 16 entries.

    >>> ring = Ising({(i, (i + 1) % 7): 0.4 for i in range(7)}, fields=-0.2)
    >>> round(float(ring.translations()[0].epsilons(0.5).max()), 6)
    1.089061
    """

    couplings: dict[tuple[int, int], float] = attrs.field(converter=_edges)
    fields: FloatArray = attrs.field(default=0.0)

    def __attrs_post_init__(self) -> None:
        least = 1 + max((two for _, two in self.couplings), default=0)
        if least > MOST_ENTRIES:
            hint = "all data are listed; a Network takes more"
            raise InvalidParameter("an entry of couplings", least - 1, f"below {MOST_ENTRIES}", hint)
        fields = checks.numbers("fields", self.fields, "moderate numbers", -MAX_STRENGTH, MAX_STRENGTH)
        if not fields.ndim:
            fields = np.full(least, float(fields))
        if fields.ndim != 1 or not least <= fields.size <= MOST_ENTRIES:
            allowed = f"one number for each entry, for at least {least} and at most {MOST_ENTRIES} entries"
            raise InvalidParameter("fields", self.fields, allowed)
        checks.settle(self, fields=fields.copy())

    @property
    def entries(self) -> int:
        return int(self.fields.size)

    @property
    def words(self) -> str:
        return f"the {self.entries} binary entries follow an Ising model with {len(self.couplings)} couplings"

    def __repr__(self) -> str:
        return f"<Ising of {self.entries} entries, {len(self.couplings)} couplings>"

    def joint(self) -> JointLaw:
        """The law of all entries together."""
        return self._same

    @cached_property
    def _same(self) -> JointLaw:
        """The law written out.

        An exponent is a sum of `terms` numbers of total size T, off by at most terms T units; exp adds a few.
        """
        energy, every = np.zeros((2,) * self.entries), range(self.entries)
        spins = [np.array([-1.0, 1.0]).reshape([-1 if axis == i else 1 for axis in every]) for i in every]
        for (one, two), strength in self.couplings.items():
            energy = energy + strength * spins[one] * spins[two]
        for spin, field in zip(spins, self.fields, strict=True):
            energy = energy + field * spin
        size = float(np.abs(self.fields).sum()) + sum(map(abs, self.couplings.values()))
        if not float(np.ptp(energy)) <= MAX_LOG_RANGE:
            raise InvalidParameter(
                "couplings", size, f"so that log weights differ by at most {MAX_LOG_RANGE}", "scale them down"
            )
        weights = np.exp(energy - energy.max())
        error = ((len(self.couplings) + self.entries + 4) * size + 8.0) * UNIT
        return JointLaw(weights / weights.sum(), relative_error=error, gauge=self._gauge())

    def _gauge(self) -> Gauge | None:
        """Flips that make every coupling positive: two colours along the edges; None when a cycle contradicts them."""
        flips: dict[int, bool] = {}
        for start in range(self.entries):
            waiting = [] if start in flips else [start]
            flips.setdefault(start, False)
            while waiting:
                here = waiting.pop()
                for pair, strength in self.couplings.items():
                    if strength and here in pair:
                        there = pair[0] + pair[1] - here
                        wanted = flips[here] != (strength < 0)
                        if there not in flips:
                            flips[there] = wanted
                            waiting.append(there)
                        elif flips[there] != wanted:
                            return None
        return Gauge(tuple(flips[entry] for entry in range(self.entries)))

    def check(self, secrets: Secrets | None = None) -> None:
        """Entries that there are, and values 0 and 1."""
        check_secrets(((0, 1),) * self.entries, EntryValues() if secrets is None else secrets)

    def atoms(self, case: int, size: int, secrets: Secrets | None = None) -> Atoms:
        """The law of what is told from outside the best set of this size."""
        return self._same.atoms(case, size, secrets)

    def worst_case(self, per_entry: float, secrets: Secrets | None = None) -> Bracket:
        """The exact leak of each case, from both sides, by linear programs."""
        return self._same.worst_case(per_entry, secrets)
