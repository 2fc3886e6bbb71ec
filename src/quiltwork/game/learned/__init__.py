"""Defences learned in a game (BNGP of seed 004): trained networks, the gate they must pass, and a certified finish.

A learned defence is no guarantee.  torch is asked for when training begins.
"""

from quiltwork.game.learned.certified_end import BoundedOdds, Certified, Finish, bisect_odds, finished
from quiltwork.game.learned.defence import Accepted, Learned, Measured, Trained, accept, gate_attackers
from quiltwork.game.learned.following import Following
from quiltwork.game.learned.options import (
    AdaptiveResponse,
    FixedResponse,
    Generative,
    OptimalResponse,
    ScoreResponse,
)
from quiltwork.game.learned.run import train
from quiltwork.game.learned.training import History, InLoop

__all__ = [
    "Accepted",
    "AdaptiveResponse",
    "BoundedOdds",
    "Certified",
    "Finish",
    "FixedResponse",
    "Following",
    "Generative",
    "History",
    "InLoop",
    "Learned",
    "Measured",
    "OptimalResponse",
    "ScoreResponse",
    "Trained",
    "accept",
    "bisect_odds",
    "finished",
    "gate_attackers",
    "train",
]
