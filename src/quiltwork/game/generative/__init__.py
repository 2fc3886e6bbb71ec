"""Defences learned in a game (BNGP of seed 004): trained networks, the gate they must pass, and a certified finish.

A learned defence is no guarantee.  Names load on first use, because training needs torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

_HOMES = {
    "Accepted": "gate",
    "BoundedOdds": "odds",
    "Certified": "finish",
    "Finish": "finish",
    "Generative": "options",
    "History": "history",
    "InLoop": "history",
    "Learned": "defence",
    "Measured": "gate",
    "Trained": "defence",
    "accept": "gate",
    "bisect_odds": "odds",
    "finished": "finish",
    "gate_attackers": "gate",
    "train": "run",
}

if TYPE_CHECKING:
    from quiltwork.game.generative.defence import Learned, Trained
    from quiltwork.game.generative.finish import Certified, Finish, finished
    from quiltwork.game.generative.gate import Accepted, Measured, accept, gate_attackers
    from quiltwork.game.generative.history import History, InLoop
    from quiltwork.game.generative.odds import BoundedOdds, bisect_odds
    from quiltwork.game.generative.options import Generative
    from quiltwork.game.generative.run import train

__all__ = [
    "Accepted",
    "BoundedOdds",
    "Certified",
    "Finish",
    "Generative",
    "History",
    "InLoop",
    "Learned",
    "Measured",
    "Trained",
    "accept",
    "bisect_odds",
    "finished",
    "gate_attackers",
    "train",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
