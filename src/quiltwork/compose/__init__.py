"""Many losses, one certified curve.

`quiltwork.compose` is a room and a verb: the package holds the methods, and calling it composes losses.
"""

from __future__ import annotations

import sys

from quiltwork.compose.loss import ComposingRoom

sys.modules[__name__].__class__ = ComposingRoom
