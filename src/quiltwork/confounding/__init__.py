"""Secrets that are inferred from the data: what several releases tell about them together, and what to release next.

A `World` says how secret and data hang together, `world.release` what mechanisms tell about the secret, `world.design`
which mechanism to release next so that everything together meets a target.
"""

from quiltwork.confounding.channels import adaptive, independent, merged, noise_channel, randomized_response, repeated
from quiltwork.confounding.cluster import Clustered, clustered
from quiltwork.confounding.costs import remapped
from quiltwork.confounding.design import Design
from quiltwork.confounding.noise import Noise, noise
from quiltwork.confounding.pairs import within
from quiltwork.confounding.realise import realised
from quiltwork.confounding.release import Release
from quiltwork.confounding.world import World

__all__ = [
    "Clustered",
    "Design",
    "Noise",
    "Release",
    "World",
    "adaptive",
    "clustered",
    "independent",
    "merged",
    "noise",
    "noise_channel",
    "randomized_response",
    "realised",
    "remapped",
    "repeated",
    "within",
]
