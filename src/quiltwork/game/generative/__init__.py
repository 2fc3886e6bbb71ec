"""Defences learned in a game (BNGP of seed 004): trained networks, the gate they must pass, and a certified finish.

A learned defence is no guarantee.  torch is asked for when training begins.
"""

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
