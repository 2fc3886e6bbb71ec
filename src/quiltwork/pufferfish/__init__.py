"""Pufferfish privacy: what correlated records tell about each other, and how it composes."""

from quiltwork.pufferfish.baselines import totals
from quiltwork.pufferfish.chain import MarkovChain
from quiltwork.pufferfish.collapse import case_labels, paired_datasets, xor_of_bits
from quiltwork.pufferfish.composable import Verdict, composable
from quiltwork.pufferfish.gaussian import AutoRegressive, GaussianPrior
from quiltwork.pufferfish.guarantees import guarantee
from quiltwork.pufferfish.influence import InfluenceCurve
from quiltwork.pufferfish.prior import Prior
from quiltwork.pufferfish.releases import Released, gaussian, histogram, laplace, markov_quilt, top_k
from quiltwork.pufferfish.secrets import entry_values, function_values, joint_values
from quiltwork.pufferfish.translate import per_entry_epsilon, translate

__all__ = [
    "AutoRegressive",
    "GaussianPrior",
    "InfluenceCurve",
    "MarkovChain",
    "Prior",
    "Released",
    "Verdict",
    "case_labels",
    "composable",
    "entry_values",
    "function_values",
    "gaussian",
    "guarantee",
    "histogram",
    "joint_values",
    "laplace",
    "markov_quilt",
    "paired_datasets",
    "per_entry_epsilon",
    "top_k",
    "totals",
    "translate",
    "xor_of_bits",
]
