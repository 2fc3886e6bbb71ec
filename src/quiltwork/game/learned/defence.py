"""Learned defences as mechanisms: the trained network alone, which proves nothing, and the result of `train`.

Reference: theory/game.md sections 0 (item 1) and 4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.curves.guarantee import Guarantee
from quiltwork.document.draw import notebook as markup
from quiltwork.errors import NotCertified
from quiltwork.game.defenders.distances import Rows
from quiltwork.game.learned.networks import Perturbing
from quiltwork.game.learned.training import NOT_PROTECTION, History, InLoop
from quiltwork.game.people.priors import Members
from quiltwork.game.people.statistic import Statistic
from quiltwork.game.releases.channel import Channel
from quiltwork.game.releases.release import Defence, SummaryStatistics
from quiltwork.kinds import not_written

if TYPE_CHECKING:
    from quiltwork.game.learned.gate import Accepted

__all__ = ["Learned", "Trained"]

SCHEMA = "quiltwork/trained/1"
_CHUNK = 4096  # releases that go through the network at once


@not_written("it holds a trained network", "keep the options and the seed, and train it again")
@attrs.frozen(eq=False)
class Learned:
    """What is released is exact + G(b, nu): a network that saw one attacker, and no guarantee against others."""

    name: str
    statistic: Statistic
    generator: Perturbing

    @property
    def channel(self) -> Channel | None:
        """None: the network is not linear."""
        return None

    def defend(self, exact: FloatArray, members: Members, rng: np.random.Generator) -> FloatArray:
        """Simulated outputs, before clipping."""
        parts = [self.generator.frozen(members[i : i + _CHUNK], rng) for i in range(0, len(members), _CHUNK)]
        return np.asarray(exact + np.concatenate(parts))

    def certificate(self, rows: Rows | None = None) -> Guarantee:
        """Refused: nothing is proven."""
        why = (
            "it was trained against one attacker, and attackers trained afterwards may read what that one could not "
            "(theory/game.md section 0, item 1); ask for certify=(epsilon, delta)"
        )
        raise NotCertified("the privacy of a learned defence", why)


@not_written("it holds a trained network", "keep the options and the seed, and train it again")
@attrs.frozen(eq=False)
class Trained:
    """The defence that `train` found fit for use, with how it was found.

    `defence` is in force: the learned one, or the closed form that the gate preferred; `verdict` says which and why
    (None without a gate).  `error` is the mean |released - exact| of `defence`, `in_loop` how the attacker in the loop
    did against `learned`: not a measure of protection.
    """

    defence: Defence
    error: float
    learned: Defence | None = None
    history: History | None = None
    in_loop: InLoop | None = None
    verdict: Accepted | None = None

    @property
    def name(self) -> str:
        """Of the defence in force."""
        return self.defence.name

    @property
    def statistic(self) -> Statistic:
        """What is defended."""
        return self.defence.statistic

    @property
    def channel(self) -> Channel | None:
        """Of the defence in force."""
        return self.defence.channel

    def defend(self, exact: FloatArray, members: Members, rng: np.random.Generator) -> FloatArray:
        """Simulated outputs of the defence in force."""
        return self.defence.defend(exact, members, rng)

    def certificate(self, rows: Rows | None = None) -> Guarantee:
        """What the defence in force proves; a learned one without a certified finish proves nothing and refuses."""
        return self.defence.certificate() if rows is None else self.defence.certificate(rows)

    def release(self, clip: bool = True) -> SummaryStatistics:
        """The defence in force as a release that anybody can draw from and attack."""
        return SummaryStatistics(self.defence, clip)

    def to_json(self) -> dict[str, Any]:
        """A plain dictionary; what the attacker in the loop reached is labelled as no measure of protection."""
        loop, verdict = self.in_loop, self.verdict
        return {
            "schema": SCHEMA,
            "defence": self.name,
            "error": self.error,
            "training": None if self.history is None else str(self.history),
            "in_loop": None if loop is None else {"auc": loop.auc, "note": NOT_PROTECTION},
            "accepted": None if verdict is None else verdict.accepted,
            "reason": None if verdict is None else verdict.reason,
        }

    def _repr_html_(self) -> str:
        return markup.block(markup.paragraphs(str(self).splitlines()))

    def __str__(self) -> str:
        lines = [f"{self.name}: mean error {self.error:.4g}"]
        if self.history is not None:
            lines.append(f"training: {self.history}")
        if self.in_loop is not None:
            lines.append(f"in the loop: {self.in_loop}")
        if self.verdict is not None:
            lines.append(str(self.verdict))
        return "\n".join(lines)
