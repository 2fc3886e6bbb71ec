"""Joint laws and spins: no coupling is built, but every set of rows can be hidden and the rest told outright.

Reference: theory/joining.md section 2, Theorem 3 (reveal); "Other priors" (Ising, JointLaw).
"""

from __future__ import annotations

from functools import cached_property

from quiltwork.joined.meeting import Law
from quiltwork.joined.patterns import Patterns
from quiltwork.joined.revealing import HIDDEN, REVEALED, Revealed, merged
from quiltwork.joined.under.tree import TRANSLATED, Listed
from quiltwork.pufferfish.priors.ising import Ising
from quiltwork.pufferfish.priors.joint.law import JointLaw


class InJointLaw(Listed):
    """The entries of a law that is written out are the ticks, in their order."""

    because = (REVEALED, TRANSLATED)
    prior: JointLaw

    def __init__(self, patterns: Patterns, prior: JointLaw | Ising) -> None:
        super().__init__(patterns, prior.joint() if isinstance(prior, Ising) else prior)

    @cached_property
    def laws(self) -> list[tuple[str, Law]]:
        everything = self.patterns.all_of(range(len(self.patterns.ticks)))
        return [(case.name, {everything: 1.0}) for case in self.prior.cases()]

    @property
    def told(self) -> tuple[int, ...]:  # type: ignore[override]
        """Entries of which every two contents of a row are asked for."""
        law, every = self.prior.law, range(self.prior.law.ndim)
        shown = [bool((law.sum(axis=tuple(one for one in every if one != axis)) > 0).all()) for axis in every]
        return tuple(axis for axis in every if shown[axis] and law.shape[axis] == self.patterns.contents)

    def _revealed(self, case: int) -> tuple[Revealed, ...]:
        entries, found = self.prior.entries, []
        for size in sorted({min(entries, one) for one in HIDDEN}):
            atoms = self.prior.atoms(case, size)
            number = self.patterns.number(self.patterns.all_of(self.prior.hidden(case, size)))
            found.append(Revealed.of(number, merged(atoms.weights, atoms.losses)))
        return tuple(dict.fromkeys(found))
