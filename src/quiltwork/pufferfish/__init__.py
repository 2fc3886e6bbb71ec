"""Pufferfish privacy: what correlated records tell about each other, and how it composes.

Priors say how entries depend on each other, secrets what must not be told apart; `influence` and `translate` say what a
per-entry private mechanism leaks, `guarantee` composes any number of them, and the releases draw the noise.
"""

from quiltwork.pufferfish.composable.leakage import Leakage, leakage
from quiltwork.pufferfish.composable.verdict import Verdict, composable
from quiltwork.pufferfish.guarantee import guarantee
from quiltwork.pufferfish.papers.collapse import Collapse, case_labels, paired_datasets, xor_of_bits
from quiltwork.pufferfish.papers.simple_rules import Totals, totals
from quiltwork.pufferfish.prior import Prior
from quiltwork.pufferfish.priors.any_of import AnyOf
from quiltwork.pufferfish.priors.binary_chains import BinaryChains
from quiltwork.pufferfish.priors.blocks import Blocks, Independent
from quiltwork.pufferfish.priors.chain.chain import MarkovChain
from quiltwork.pufferfish.priors.gaussian.box import GaussianBox, kernel_covariance
from quiltwork.pufferfish.priors.gaussian.prior import AutoRegressive, GaussianPrior
from quiltwork.pufferfish.priors.hidden_chain import HiddenMarkov
from quiltwork.pufferfish.priors.ising import Ising
from quiltwork.pufferfish.priors.joint.law import JointLaw
from quiltwork.pufferfish.priors.network.network import Network
from quiltwork.pufferfish.priors.tree import Tree
from quiltwork.pufferfish.releases import Released, gaussian, histogram, laplace, markov_quilt, top_k
from quiltwork.pufferfish.secrets import entry_values, function_values, joint_values
from quiltwork.pufferfish.translation.influence import InfluenceCurve
from quiltwork.pufferfish.translation.translate import per_entry_epsilon, translate

__all__ = [
    "AnyOf",
    "AutoRegressive",
    "BinaryChains",
    "Blocks",
    "Collapse",
    "GaussianBox",
    "GaussianPrior",
    "HiddenMarkov",
    "Independent",
    "InfluenceCurve",
    "Ising",
    "JointLaw",
    "Leakage",
    "MarkovChain",
    "Network",
    "Prior",
    "Released",
    "Totals",
    "Tree",
    "Verdict",
    "case_labels",
    "composable",
    "entry_values",
    "function_values",
    "gaussian",
    "guarantee",
    "histogram",
    "joint_values",
    "kernel_covariance",
    "laplace",
    "leakage",
    "markov_quilt",
    "paired_datasets",
    "per_entry_epsilon",
    "top_k",
    "totals",
    "translate",
    "xor_of_bits",
]
