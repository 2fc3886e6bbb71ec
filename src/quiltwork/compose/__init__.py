"""Many losses, one certified curve.

`quiltwork.compose` is a room and a verb: the package holds the methods, and calling it composes losses.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from quiltwork.compose.loss import Loss


class _CallableRoom(ModuleType):
    """Importing any file of this room binds the room's name on the package; calling it must work all the same."""

    def __call__(self, *losses: Loss) -> Loss:
        """All of these releases together; with none, nothing was released (epsilon 0)."""
        from quiltwork.compose.loss import compose

        return compose(*losses)


sys.modules[__name__].__class__ = _CallableRoom
