"""Batches of a fixed size made by shuffling: one pass over the table, each record in exactly one batch.

Nothing is gained by the unknown place of the record.  Where it sits one other fewer sits, so that the places of the
others tell: with a record that points the other way than all others, one batch of t is moved by two norms where it is
present and by one where it is zeroed,

    P = average over i of N(2 s e_i), Q = average over i of N(s e_i),

and the largest of the t outputs tells them nearly as well as a full pass without sampling does.  Proved from above:
tell the place, one full release an epoch.  From below: the law of the largest output, on cells.  Neither random
allocation nor Poisson sampling bounds it.

Reference: theory/sampling.md section 7.3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import attrs
import numpy as np
from scipy.special import log_ndtr

from quiltwork.errors import Unsupported
from quiltwork.losses.families.finite import FinitePair
from quiltwork.losses.families.gaussian import GaussianPair
from quiltwork.losses.family import RELEASE, WHOLE, Family, parameter

if TYPE_CHECKING:
    from quiltwork.checks import FloatArray
    from quiltwork.losses.dominating_pair import Pair

CELLS, REACH = 1 << 10, 12.0  # of the largest output, and how far beyond the places they go
ACCURACY = 1e-9  # relative, of each mass: both tails are known to about 1e-13 of themselves, and fall within few cells
LEAST_MASS = 1e-250


@attrs.frozen
class Shuffled(Family):
    """One epoch over a table that is shuffled and cut into `batches` batches; one record is zeroed, or was a zero."""

    kind: ClassVar[str] = "shuffled"
    words: ClassVar[str] = "{of}, on {batches:g} shuffled batches (no amplification is proved)"
    because: ClassVar[str] = "shuffled batches of a fixed size: one full release an epoch, the place of the record told"
    base: Family = attrs.field(**parameter("of", RELEASE))
    batches: int = attrs.field(**parameter("batches", WHOLE))

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.base.pairs().get("both"), GaussianPair):
            raise Unsupported(
                f"shuffled batches of {self.base.kind}",
                "not built here: what they attain is known for Gaussian noise only",
                "one release without sampling for each epoch is safe",
            )

    def pairs(self) -> dict[str, Pair]:
        return self.base.pairs()

    @property
    def sandwiched(self) -> bool:
        return self.batches > 1

    def optimistic(self) -> dict[str, Pair]:
        """The largest output, on cells that hold no less than doubles can tell."""
        if self.batches == 1:
            return self.base.pairs()
        pair = self.base.pairs()["both"]
        move = pair.mu if isinstance(pair, GaussianPair) else 0.0
        edges = np.linspace(-REACH, 2 * move + REACH, CELLS + 1)
        logs = [(self.batches - 1) * log_ndtr(edges) + log_ndtr(edges - place) for place in (2 * move, move)]
        p, q = (_masses(log) for log in logs)
        together = _grouped(np.minimum(p, q) >= LEAST_MASS)
        p, q = (np.maximum(np.bincount(together, mass), 0.0) for mass in (p, q))
        losses = np.log(p / q)
        order = np.argsort(losses, kind="stable")
        removed = FinitePair(losses[order], p[order], q[order], relative=ACCURACY, loss_error=2 * ACCURACY)
        return {"remove": removed, "add": removed.swapped()}

    def group(self, size: int) -> Family:
        if self.batches == 1:
            return attrs.evolve(self, base=self.base.group(size))
        raise Unsupported(
            "group privacy of shuffled batches",
            "not built here: what records in several batches attain together is not known",
            "the group privacy of one release without sampling for each epoch is safe",
        )

    def subsampled(self, rate: float) -> Family:
        raise Unsupported(
            "Poisson subsampling of shuffled batches",
            "not built here: the table that is shuffled is not fixed",
            "without the Poisson sample it costs no less",
        )


def _masses(log_below: FloatArray) -> FloatArray:
    """Masses between edges, and of both ends, from the log of the law."""
    below, above = np.exp(log_below), -np.expm1(log_below)
    inner = np.where(below[1:] < 0.5, np.diff(below), -np.diff(above))
    return np.concatenate(([below[0]], inner, [above[-1]]))


def _grouped(heavy: np.ndarray) -> np.ndarray:
    """The cell in which each one is counted: light ones go to the next heavy one on the left, or to the first."""
    return np.asarray(np.maximum(np.cumsum(heavy) - 1, 0))
