"""What an attacker knows, and how much it may train.

Reference: theory/game.md section 3: an attack that knows more is no better inference, so each says what it knows.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Protocol, runtime_checkable

import attrs
import numpy as np

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.game.people.population import Members
from quiltwork.game.releases import Release
from quiltwork.kinds import document, not_written


class Knowledge(Enum):
    """The threat models of theory/game.md, by what the attacker has besides the release."""

    T1 = "all candidates' rows and the mechanism, as a program to run"
    T2 = "the row of the person in question and a reference sample"
    T3 = "all candidates' rows, the mechanism, and who of the others is a member"

    @property
    def sentence(self) -> str:
        """For tables and explanations."""
        return f"{self.name} knows {self.value}"


@document("attacker_budget/1")
@attrs.frozen
class Budget:
    """How many releases an attacker may simulate, and how long it may train."""

    train: int = attrs.field(default=4000, validator=checks.field(checks.count, 2))
    calibrate: int = attrs.field(default=400, validator=checks.field(checks.count, 2))
    steps: int = attrs.field(default=1000, validator=checks.field(checks.count, 1))
    batch: int = attrs.field(default=128, validator=checks.field(checks.count, 2))


@not_written("it is what attackers have in common, not a value")
@runtime_checkable
class Fitted(Protocol):
    """An attacker ready to attack one frozen release."""

    def scores(self, outputs: FloatArray, members: Members | None = None) -> FloatArray:
        """One score a release and candidate; larger means more likely a member."""
        ...


@attrs.frozen(eq=False)
class Scoring:
    """A fitted attacker whose scores are a function of what was released: it need not know the other members."""

    score: Callable[[FloatArray], FloatArray]

    def scores(self, outputs: FloatArray, members: Members | None = None) -> FloatArray:
        """One score a release and candidate; larger means more likely a member."""
        return np.asarray(self.score(outputs))


@not_written("it is what attackers have in common, not a value")
@runtime_checkable
class Attacker(Protocol):
    """A way to attack: options only, nothing learned yet."""

    @property
    def name(self) -> str: ...

    @property
    def knows(self) -> Knowledge: ...

    def fit(self, release: Release, rng: np.random.Generator, budget: Budget) -> Fitted:
        """Train from scratch on draws of the frozen release."""
        ...


def _read(name: str) -> Knowledge:
    return Knowledge[checks.one_of("name", name, Knowledge.__members__)]


document("knows/1", fields="name", read=_read)(Knowledge)
