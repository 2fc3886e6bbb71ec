"""A `PrivacyAccountant` of dp_accounting: its events in, upper ends of certified brackets out."""

from __future__ import annotations

import math
from typing import Any

from dp_accounting.privacy_accountant import NeighboringRelation, PrivacyAccountant

from quiltwork.adapters.events.fields import relation_of
from quiltwork.adapters.events.reader import Reader
from quiltwork.compose.loss import Loss, compose
from quiltwork.errors import InvalidParameter, Unsupported

RTOL = 1e-6  # asked of every bracket: a search for a parameter needs answers that rise and fall smoothly


class Accountant(PrivacyAccountant):  # type: ignore[misc]
    """Composes events as `from_dp_accounting` reads them; epsilon and delta are never too small.

    Works wherever dp_accounting takes an accountant, also in `calibrate_dp_mechanism(Accountant, ...)`. A release
    without noise and `NonPrivateDpEvent` cost an infinite epsilon and a delta of 1. What has no proven translation is
    not supported, and the error names it.

    Reference: theory/sampling.md section 11.
    """

    def __init__(
        self, neighboring_relation: NeighboringRelation = NeighboringRelation.ADD_OR_REMOVE_ONE, *, rtol: float = RTOL
    ) -> None:
        super().__init__(neighboring_relation)
        self._relation = relation_of(neighboring_relation)
        self._rtol = rtol
        self._loss, self._revealed = compose(), False

    @property
    def loss(self) -> Loss:
        """Everything composed so far: ask it for both ends, for beta, or compose it with other releases."""
        if self._revealed:
            raise Unsupported("the loss of releases without noise", "nothing bounds it")
        return self._loss

    def _maybe_compose(self, event: Any, count: int, do_compose: bool) -> Any:
        reader = Reader(self._relation, keep_revealed=True)
        try:
            loss = self._loss + count * reader.read(event)
        except Unsupported as error:
            return self.CompositionErrorDetails(reader.at, str(error))
        except InvalidParameter as error:
            if error.name != "event":  # a number that no event may have is no question of support
                raise
            return self.CompositionErrorDetails(reader.at, str(error))
        if do_compose:
            self._loss, self._revealed = loss, self._revealed or (count > 0 and reader.reveals(event))
        return None

    def get_epsilon(self, target_delta: float) -> float:
        """An epsilon that holds at this delta."""
        bracket = self._asked.epsilon(target_delta, rtol=self._rtol)
        return math.inf if self._revealed else float(bracket.upper)

    def get_delta(self, target_epsilon: float) -> float:
        """A delta that holds at this epsilon."""
        bracket = self._asked.delta(target_epsilon, rtol=self._rtol)
        return 1.0 if self._revealed else float(bracket.upper)

    @property
    def _asked(self) -> Loss:
        """What a question goes to; where all is revealed, only the question is checked."""
        return compose() if self._revealed else self._loss
