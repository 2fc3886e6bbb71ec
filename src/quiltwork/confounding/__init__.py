"""Secrets that are inferred from the data: what several releases tell about them together, and what to release next.

A `World` says how secret and data hang together, `world.release` what mechanisms tell about the secret, `world.design`
which mechanism to release next so that everything together meets a target.
"""

from quiltwork.confounding.bounds import Amplified, Bounds
from quiltwork.confounding.copula_noise import CopulaPerturbation, effective_correlation, gaussian_copula
from quiltwork.confounding.design.costs import remapped
from quiltwork.confounding.design.design import Design
from quiltwork.confounding.finite.channels import (
    adaptive,
    independent,
    merged,
    noise_channel,
    randomized_response,
    realised,
    repeated,
)
from quiltwork.confounding.finite.clusters import Clustered, clustered
from quiltwork.confounding.finite.ignoring import Ignoring
from quiltwork.confounding.finite.release import Release
from quiltwork.confounding.line.laws.components import Laplace, Mixture, Normal, NormalLaplace, Uniform
from quiltwork.confounding.line.laws.user import Unimodal
from quiltwork.confounding.line.laws.vectors import NormalVectors
from quiltwork.confounding.line.readings import Noise, noise
from quiltwork.confounding.line.release import Readout
from quiltwork.confounding.line.world import ContinuousWorld
from quiltwork.confounding.pairs import within
from quiltwork.confounding.papers.penalty import Penalised, paper_objective, penalised
from quiltwork.confounding.posteriors import (
    delta_from_posterior,
    epsilon_of_posterior_ratio,
    from_bayesian,
    posterior,
    smallest_tau,
    tight_epsilon_of_posterior_ratio,
)
from quiltwork.confounding.process import Process
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
    "Process",
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
