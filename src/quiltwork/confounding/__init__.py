"""Secrets that are inferred from the data: what several releases tell about them together, and what to release next.

A `World` says how secret and data hang together, `world.release` what mechanisms tell about the secret, `world.design`
which mechanism to release next so that everything together meets a target.
"""

from quiltwork.confounding.bounds import Amplified, Bounds
from quiltwork.confounding.channels import adaptive, independent, merged, noise_channel, randomized_response, repeated
from quiltwork.confounding.cluster import Clustered, clustered
from quiltwork.confounding.components import Laplace, Normal, NormalLaplace, Uniform, Unimodal
from quiltwork.confounding.continuous import ContinuousWorld
from quiltwork.confounding.copula import CopulaPerturbation, effective_correlation
from quiltwork.confounding.costs import remapped
from quiltwork.confounding.coupling import gaussian_copula
from quiltwork.confounding.design import Design
from quiltwork.confounding.ignoring import Ignoring
from quiltwork.confounding.mixtures import Mixture
from quiltwork.confounding.noise import Noise, noise
from quiltwork.confounding.pairs import within
from quiltwork.confounding.penalty import Penalised, paper_objective, penalised
from quiltwork.confounding.posteriors import (
    delta_from_posterior,
    epsilon_of_posterior_ratio,
    from_bayesian,
    posterior,
    smallest_tau,
    tight_epsilon_of_posterior_ratio,
)
from quiltwork.confounding.readout import Readout
from quiltwork.confounding.realise import realised
from quiltwork.confounding.release import Release
from quiltwork.confounding.vectors import NormalVectors
from quiltwork.confounding.world import World

__all__ = [
    "Amplified",
    "Bounds",
    "Clustered",
    "ContinuousWorld",
    "CopulaPerturbation",
    "Design",
    "Ignoring",
    "Laplace",
    "Mixture",
    "Noise",
    "Normal",
    "NormalLaplace",
    "NormalVectors",
    "Penalised",
    "Readout",
    "Release",
    "Uniform",
    "Unimodal",
    "World",
    "adaptive",
    "clustered",
    "delta_from_posterior",
    "effective_correlation",
    "epsilon_of_posterior_ratio",
    "from_bayesian",
    "gaussian_copula",
    "independent",
    "merged",
    "noise",
    "noise_channel",
    "paper_objective",
    "penalised",
    "posterior",
    "randomized_response",
    "realised",
    "remapped",
    "repeated",
    "smallest_tau",
    "tight_epsilon_of_posterior_ratio",
    "within",
]
