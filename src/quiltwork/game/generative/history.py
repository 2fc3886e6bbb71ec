"""What happened during training: for curiosity and early stopping, not evidence of protection.

Reference: theory/game.md section 0, item 1.
"""

from __future__ import annotations

import attrs
import numpy as np

from quiltwork.checks import FloatArray

__all__ = ["NOT_PROTECTION", "History", "InLoop", "settled"]

NOT_PROTECTION = "in-loop attacker: not a measure of protection"
COLUMNS = ("attacker_loss", "privacy", "error", "objective")


@attrs.frozen(eq=False)
class History:
    """One row a generator step: the attacker's cross entropy, the generator's privacy loss, mean |delta|, objective."""

    rows: FloatArray
    stopped: str

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def attacker_loss(self) -> FloatArray:
        """Cross entropy of the attacker's last step, in nats a decision."""
        return self.rows[:, 0]

    @property
    def privacy(self) -> FloatArray:
        """The generator's privacy loss."""
        return self.rows[:, 1]

    @property
    def error(self) -> FloatArray:
        """Mean |delta| before clipping."""
        return self.rows[:, 2]

    @property
    def objective(self) -> FloatArray:
        """What the generator minimised."""
        return self.rows[:, 3]

    def __str__(self) -> str:
        return f"{len(self)} steps, {self.stopped}"


@attrs.frozen
class InLoop:
    """How the attacker that trained along did against the finished generator."""

    attacker: str
    auc: float
    note: str = NOT_PROTECTION

    def __str__(self) -> str:
        return f"AUC {self.auc:.3f} ({self.note})"


def settled(objective: FloatArray, window: int, patience: int, tolerance: float) -> bool:
    """Whether the moving average of the last `patience` steps stays within `tolerance` of where it stood before.

    Not "no improvement": the attacker learns too, so that the generator's objective is best at the very beginning,
    when the attacker knows nothing yet.
    """
    needed = window + patience
    if len(objective) < needed:
        return False
    totals = np.concatenate([[0.0], np.cumsum(objective[-needed:])])
    averages = (totals[window:] - totals[:-window]) / window
    return bool(np.all(np.abs(averages - averages[0]) <= tolerance))
