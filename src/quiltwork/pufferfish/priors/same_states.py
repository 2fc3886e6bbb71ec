"""A fixed number of entries with one list of states: which secrets are asked for, and when all data can be listed."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Sequence

from quiltwork.errors import InvalidParameter
from quiltwork.pufferfish.prior import Prior
from quiltwork.pufferfish.priors.joint.cases import check_secrets
from quiltwork.pufferfish.secrets import AskedPairs, Secrets, asked_pairs

MOST_LISTED = 1 << 20  # data, in an explicit law


class SameStates(Prior):
    """Every entry is in one of `states`."""

    states: tuple[Hashable, ...]

    @property
    @abstractmethod
    def entries(self) -> int:
        """How many there are."""

    def _lists(self) -> tuple[tuple[Hashable, ...], ...]:
        """The values of each entry, where all data can be listed."""
        if len(self.states) ** self.entries > MOST_LISTED:
            allowed = "so small that all data can be listed (2^20 at most)"
            raise InvalidParameter("the number of entries", self.entries, allowed)
        return (self.states,) * self.entries

    def check(self, secrets: Secrets | None = None) -> None:
        """Values and entries of the prior; of several entries together, as long as all data can be listed."""
        if self._view(secrets) is None and secrets is not None:
            check_secrets(self._lists(), secrets)

    def _view(self, secrets: Secrets | None) -> AskedPairs | None:
        """Entries and ordered pairs of states; None for secrets that need the explicit law."""
        return asked_pairs(secrets, self.states, range(len(self.states)), self.entries, "states")

    def _asked(self, view: AskedPairs) -> Sequence[int]:
        return range(self.entries) if view.entries is None else view.entries
