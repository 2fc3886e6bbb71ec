"""Pufferfish privacy: what correlated records tell about each other, and how it composes.

Priors say how entries depend on each other, secrets what must not be told apart; `influence` and `translate` say what a
per-entry private mechanism leaks, `guarantee` composes any number of them, and the releases draw the noise.
"""

from quiltwork.pufferfish.any_of import AnyOf
from quiltwork.pufferfish.baselines import Totals, totals
from quiltwork.pufferfish.binary_chains import BinaryChains
from quiltwork.pufferfish.blocks import Blocks, Independent
from quiltwork.pufferfish.chain import MarkovChain
from quiltwork.pufferfish.collapse import Collapse, case_labels, paired_datasets, xor_of_bits
from quiltwork.pufferfish.composable import Verdict, composable
from quiltwork.pufferfish.composable_leakage import Leakage, leakage
from quiltwork.pufferfish.gaussian import AutoRegressive, GaussianPrior
from quiltwork.pufferfish.gaussian_box import GaussianBox, kernel_covariance
from quiltwork.pufferfish.guarantees import guarantee
from quiltwork.pufferfish.hidden import HiddenMarkov
from quiltwork.pufferfish.influence import InfluenceCurve
from quiltwork.pufferfish.ising import Ising
from quiltwork.pufferfish.joint import JointLaw
from quiltwork.pufferfish.prior import Prior
from quiltwork.pufferfish.releases import Released, gaussian, histogram, laplace, markov_quilt, top_k
from quiltwork.pufferfish.secrets import entry_values, function_values, joint_values
from quiltwork.pufferfish.translate import per_entry_epsilon, translate
from quiltwork.pufferfish.tree import Tree

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
