"""dp_accounting: trees of DpEvents, read as losses, and an accountant for whatever asks for one of theirs."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from quiltwork.adapters.events.fields import NEIGHBORS, RELATIONS, relation_of
from quiltwork.adapters.events.leaves import LEAVES, REFUSED
from quiltwork.adapters.events.reader import Reader
from quiltwork.compose.loss import Loss

if TYPE_CHECKING:
    from quiltwork.adapters.accountants.dp_accounting import Accountant

__all__ = ["LEAVES", "NEIGHBORS", "REFUSED", "RELATIONS", "Accountant", "from_dp_accounting"]


def from_dp_accounting(event: Any, *, neighbors: Any = "add_remove") -> Loss:
    """The loss of a DpEvent for one record added or removed, exchanged ("replace") or zeroed ("replace_special").

    - `GaussianDpEvent`, `LaplaceDpEvent`, `DiscreteLaplaceDpEvent`: noise on a sum of values of bounded norm; an
      exchanged record moves it twice as far.
    - `DiscreteGaussianDpEvent`: its law for one number, its zCDP for vectors; twice the sensitivity for exchanges.
    - `ZCDpEvent` without xi, `EpsilonDeltaDpEvent`, `ExponentialMechanismDpEvent`, `PermuteAndFlipDpEvent`: the
      guarantee that they state, for whichever records are meant.
    - `RandomizedResponseDpEvent`: its exact pair, for exchanged or zeroed records.
    - `MixtureOfGaussiansDpEvent`: its pair, for records added, removed or zeroed.
    - `SingleEpochTreeAggregationDpEvent`: one Gaussian release, for zeroed records.
    - `ComposedDpEvent`, `SelfComposedDpEvent`: sums and multiples (adaptive composition, Zhu, Dong and Wang 2022,
      Theorem 10), to any depth.
    - `PoissonSampledDpEvent`: the sampled pair of one release, or of Gaussian releases on the same sample, which are
      one Gaussian release; for exchanged or zeroed records of noise only.
    - `SampledWithoutReplacementDpEvent`: Gaussian or Laplace noise on batches of fixed size, for exchanged records.
    - `TruncatedSubsampledGaussianDpEvent`: Poisson batches that are cut; `dataset_size` counts the record in question.

    Everything else is refused by name, also inside a tree. Nothing is read but the events: no bound of an accountant.

    Reference: theory/sampling.md section 11.
    """
    return Reader(relation_of(neighbors)).read(event)


def __getattr__(name: str) -> Any:
    if name != "Accountant":  # which needs dp_accounting itself
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module("quiltwork.adapters.accountants.dp_accounting").Accountant
