"""torch, asked for when a network is trained: one thread, because small steps on two threads wait for each other.

Reference: theory/game.md section 0, item 7 (684 ms against 12 ms a step on a busy machine).
"""

from __future__ import annotations

from typing import Any

from quiltwork.errors import MissingExtra

__all__ = ["torch"]


def torch() -> Any:
    """The torch module, set to one thread."""
    try:
        import torch as module
    except ImportError:
        raise MissingExtra("torch", "game", "pip install torch==2.13.0") from None
    if module.get_num_threads() != 1:
        module.set_num_threads(1)
    return module
